#include "../memory.hpp"
#include "frozen_common.hpp"
#include "problems.hpp"

namespace bench {
namespace {

using T = wengert::Tensor<double>;

bool add_all(std::size_t n)
{
    const auto problem = [n] {
        const SmallOp p(n);
        const T x(p.h);
        const auto loss = [x](const std::vector<T>& w) {
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
        };
        return std::pair(std::vector<T>{T(p.a), T(p.b)}, loss);
    };
    return add_wengert<double>(
        {"small_op", "n=" + std::to_string(n), {}, {}, 1e-9, "operation", SmallOp::operations}, problem);
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

const bool added = add_all(1) && add_all(8) && add_all(64) && probe(1) && probe(8) && probe(64);

}  // namespace
}  // namespace bench
