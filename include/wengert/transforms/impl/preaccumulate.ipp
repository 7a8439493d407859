// The rule of preaccumulate.hpp. With WENGERT_COMPILED only wengert::compiled compiles it.
#pragma once

#include <algorithm>

#include "../../ops/elementwise/cast.hpp"
#include "../../ops/matmul.hpp"
#include "../preaccumulate.hpp"

namespace wengert::detail {

/// The rows of a Jacobian, 0 where the cotangent is: the zero-cotangent rule, as for the operations inside.
template <class T> Tensor<T> without_unseen_rows(const Tensor<T>& jacobian, const Tensor<T>& g)
{
    const Ref<Block> of = on_host(g.any().value), to = copy_of(*on_host(jacobian.any().value));
    const std::size_t rows = of->count, columns = rows ? to->count / rows : 0;
    const Ref<Block> seen = contiguous(of);
    for (std::size_t i = 0; i < rows; ++i)
        if (seen->template as<T>()[i] == 0) std::fill_n(to->template as<T>() + i * columns, columns, T(0));
    return Tensor<T>(AnyTensor{placed(to, jacobian.any().value->device()), {}});
}

/// In T, the wider of the two types, and then rounded to x's. A template, as JacobianRule is.
template <class> struct JacobianProduct {
    template <class T>
    static AnyTensor of(const AnyTensor& g, const AnyTensor& jacobian, const AnyTensor& x, const Site& at)
    {
        const auto as = [&](const AnyTensor& t) { return Tensor<T>(converted(t, dtype_of<T>(), at)); };
        const Tensor<T> row = reshape(as(g), {1, g.value->count}, at);
        const Tensor<T> all = reshape(as(jacobian), {g.value->count, x.value->count}, at);
        Tensor<T> sum = matmul(row, all, at);
        if (!Tape::current().allow_nan && !all_finite(*sum.any().value))
            sum = matmul(row, without_unseen_rows(all, row), at);
        return converted(reshape(sum, x.value->shape, at).any(), x.value->dtype, at);
    }
};
template <class> struct JacobianSum {
    template <class T> static AnyTensor of(const AnyTensor& a, const AnyTensor& b)
    {
        return add_any<T>(a, b);
    }
};

template <class X>
std::vector<AnyTensor> JacobianRule<X>::pull_jacobians(const SectionRule& rule,
                                                       const std::vector<AnyTensor>& inputs,
                                                       const std::vector<AnyTensor>& cotangents,
                                                       const std::vector<bool>& wanted, const Site& at)
{
    const auto& jacobians = static_cast<const JacobianRule&>(rule).jacobians;
    std::vector<AnyTensor> out(inputs.size());
    for (std::size_t k = 0; k < cotangents.size(); ++k)
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            if (!cotangents[k].value || !wanted[i] || !jacobians[k][i].value) continue;
            const DType d = wider(cotangents[k].value->dtype, inputs[i].value->dtype);
            const AnyTensor term =
                of_real<JacobianProduct<X>>(d, cotangents[k], jacobians[k][i], inputs[i], at);
            out[i] = out[i].value ? of_real<JacobianSum<X>>(term.value->dtype, out[i], term) : term;
        }
    return out;
}

}  // namespace wengert::detail
