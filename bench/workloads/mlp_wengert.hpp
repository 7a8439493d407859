#pragma once

// The MLP that `mlp`, `hvp` and `jvp` share, written as in examples/digits.

#include "frozen_common.hpp"
#include "problems.hpp"

namespace bench {

using F = wengert::Tensor<float>;

struct Net {
    F w1, b1, w2, b2, w3, b3;

    template <class Source> static Net from(const Source& s)
    {
        const std::size_t i = Mlp::in, h = Mlp::hidden, o = Mlp::out;
        return {F({i, h}, s.w1), F({h}, s.b1), F({h, h}, s.w2), F({h}, s.b2), F({h, o}, s.w3), F({o}, s.b3)};
    }

    std::vector<F*> all() { return {&w1, &b1, &w2, &b2, &w3, &b3}; }
    std::vector<const F*> all() const { return {&w1, &b1, &w2, &b2, &w3, &b3}; }
};

struct Samples {
    F x;
    wengert::Tensor<std::int64_t> labels;

    explicit Samples(const Mlp& p) : x({p.batch, Mlp::in}, p.x), labels(p.labels) {}
};

inline F loss(const Net& n, const F& x, const wengert::Tensor<std::int64_t>& labels)
{
    const F h1 = relu(matmul(x, n.w1) + n.b1);
    const F h2 = relu(matmul(h1, n.w2) + n.b2);
    return cross_entropy(matmul(h2, n.w3) + n.b3, labels);
}
inline F loss(const Net& n, const Samples& s) { return loss(n, s.x, s.labels); }

inline Results results(const F& value, const Net& n)
{
    Results r = {doubles(value)};
    for (const F* t : n.all()) r.push_back(doubles(*t));
    return r;
}

}  // namespace bench
