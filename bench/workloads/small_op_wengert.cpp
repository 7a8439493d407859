#include "../memory.hpp"
#include "problems.hpp"
#include "wengert_common.hpp"

namespace bench {
namespace {

using T = wengert::Tensor<double>;

Entry entry(std::size_t n)
{
    const auto make = [n] {
        const SmallOp p(n);
        const T x(p.h);
        return differentiate<double>({leaf(p.a, {n}), leaf(p.b, {n})}, [x](const std::vector<T>& w) {
            T h = x;
            for (int op = 0; op < SmallOp::operations; ++op) {
                if (op % 3 == 0)
                    h = h * w[0];
                else if (op % 3 == 1)
                    h = h + w[1];
                else
                    h = tanh(h);
            }
            return sum(h);
        });
    };
    return {"small_op", "n=" + std::to_string(n), "wengert", make, 1e-9, "operation", SmallOp::operations};
}

/// A million operations kept alive by the last one.
bool probe(std::size_t n)
{
    tape_probes().push_back({"small_op n=" + std::to_string(n), [n](const std::function<void()>& recorded) {
                                 const SmallOp p(n);
                                 const T a = leaf(p.a, {n}), b = leaf(p.b, {n});
                                 T h(p.h);
                                 constexpr std::size_t rounds = 333333;
                                 for (std::size_t i = 0; i < rounds; ++i) h = tanh(h * a + b);
                                 recorded();
                                 return 3 * rounds;
                             }});
    return true;
}

const bool added = add(entry(1)) && add(entry(8)) && add(entry(64)) && probe(1) && probe(8) && probe(64);

}  // namespace
}  // namespace bench
