// Emitted headers have the bits of the library's functions, element by element.
#include "emit_programs.hpp"

#include <cstring>
#include <limits>

#include <wengert/ops/activations.hpp>
#include <wengert/ops/arg_reductions.hpp>
#include <wengert/ops/cast.hpp>
#include <wengert/ops/pairs.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/softmax.hpp>
#include <wengert/ops/trigonometry.hpp>

namespace {

/// Numbers of every size, and edges.
template <class T> Tensor<T> wide(std::size_t n, int seed)
{
    using L = std::numeric_limits<T>;
    const T edges[] = {T(0),     T(-0.0), L::infinity(), -L::infinity(), L::quiet_NaN(), L::denorm_min(),
                       L::max(), T(1),    T(-1)};
    std::vector<T> v(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double k = static_cast<double>(i + 1);
        v[i] = i % 13 == 5
                   ? edges[(i / 13 + static_cast<std::size_t>(seed)) % 9]
                   : static_cast<T>(std::sin(k * (1.3 + seed)) * std::pow(10.0, std::fmod(k * 7, 31) - 15));
    }
    return v;
}

template <class T> Program functions(std::string name)
{
    return program<T>(std::move(name), {wide<T>(900, 0), wide<T>(900, 3)},
                      [](const std::vector<Tensor<T>>& in, const auto& out) {
                          const Tensor<T>&x = in[0], &a = in[1];
                          for (const auto& y :
                               {exp(x),    expm1(x),       log(x),      log1p(x),    log2(x),
                                log10(x),  sin(x),         cos(x),      tan(x),      asin(x),
                                acos(x),   atan(x),        sinh(x),     cosh(x),     tanh(x),
                                erf(x),    sigmoid(x),     softplus(x), gelu(x),     silu(x),
                                pow(x, a), pow(abs(x), a), atan2(x, a), hypot(x, a), floor(x) * a + x})
                              out(y);
                      });
}

/// Every fold along each axis, of an array and of its transpose.
template <class T> Program folds(std::string name, const Shape& shape)
{
    const Tensor<T> x = reshape(wide<T>(element_count(shape), 2), shape);
    return program<T>(std::move(name), {x}, [](const std::vector<Tensor<T>>& in, const auto& out) {
        for (const Tensor<T>& y : {in[0], transpose(in[0]), in[0] * T(1e-30)})
            for (std::int64_t a = 0; a < static_cast<std::int64_t>(y.dimension()); ++a) {
                for (const auto& z : {sum(y, {a}), mean(y, {a}), prod(y, {a}), var(y, {a}, false, 1),
                                      norm(y, {a}), logsumexp(y, {a}, true), log_softmax(y, a)})
                    out(z);
                out(softmax(y, a)), out(all(y > T(0), {a})), out(any(y > T(0), {a}));
                if (y.size() == 0) continue;
                out(amax(y, {a})), out(amin(y, {a}, true)), out(argmax(y, a)), out(argmin(y, a));
            }
        const Tensor<T>& y = in[0];
        out(sum(y)), out(norm(y)), out(logsumexp(y)), out(var(y)), out(sum(cast<std::int64_t>(y > T(0))));
        if (y.dimension() == 3) out(sum(y, {0, 2})), out(norm(y, {0, 2})), out(var(y, {0, 2}));
    });
}

void same_bits(const Program& p, const detail::SharedObject& object)
{
    std::vector<void*> pointers;
    for (const auto& b : p.inputs) pointers.push_back(b->data);
    std::vector<Ref<Block>> out;
    for (const auto& want : p.expected) {
        out.push_back(make_block(want->dtype, want->shape));
        pointers.push_back(out.back()->data);
    }
    const auto call = reinterpret_cast<int (*)(void**)>(object.symbol(("call_" + p.name).c_str()));
    REQUIRE(call);
    REQUIRE(call(pointers.data()) == 0);
    for (std::size_t k = 0; k < out.size(); ++k) {
        INFO(p.name << ", output " << k);
        with_dtype(out[k]->dtype, [&]<class T>() {
            std::size_t different = 0;
            for (std::size_t i = 0; i < out[k]->count; ++i) {
                const T a = p.expected[k]->as<T>()[i], b = out[k]->as<T>()[i];
                different += std::memcmp(&a, &b, sizeof a) != 0 && (a == a || b == b);
            }
            CHECK(different == 0);
        });
    }
}

}  // namespace

TEST_CASE("emitted functions of numbers have the library's bits", "[emit]")
{
    const std::vector<Program> list = {functions<float>("singles"), functions<double>("doubles")};
    const Compiled all(list);
    if (!all.object) return;
    for (const Program& p : list) same_bits(p, *all.object);
}

TEST_CASE("emitted folds have the library's bits, their order included", "[emit]")
{
    const std::vector<Program> list = {
        folds<float>("row_f", {3, 5000}),     folds<double>("row_d", {3, 5000}),
        folds<float>("few_f", {3, 70, 3}),    folds<double>("few_d", {3, 70, 3}),
        folds<double>("short_d", {2, 3, 4}),  folds<float>("short_f", {1, 2, 1}),
        folds<double>("blocks_d", {600, 9}),  folds<float>("middle_f", {40, 37}),
        folds<double>("nothing_d", {4, 0, 2})};
    const Compiled all(list);
    if (!all.object) return;
    for (const Program& p : list) same_bits(p, *all.object);
}
