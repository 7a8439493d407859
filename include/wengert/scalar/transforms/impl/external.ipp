// The bodies of external.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../../ops/describe/structural.hpp"
#include "../external.hpp"

namespace wengert::detail {

template <class T> template <class> Ref<Block> External<T>::value(const Ref<Block>& of, const Site&) const
{
    const Ref<Block> x = contiguous(of);
    auto y = zeros_block(dtype_of<T>(), Shape{outputs});
    data = rules->forward({x->template as<T>(), x->count}, {y->template as<T>(), y->count});
    return y;
}

template <class T>
Tensor<T> External<T>::push(const Tensor<T>& dot, const Tensor<T>& x, const Tensor<T>& y) const
{
    if (!rules->has_tangent())
        fail<NoForwardMode>(name, "it was given no tangent rule, so it has no forward mode",
                            Tape::current().site_override);
    return by_rule(Rule::tangent, outputs, x, y, dot);
}

/// On numbers; where a derivative of the derivative is asked for on reals, for which the rule must be a template.
template <class T>
Tensor<T> External<T>::by_rule(Rule rule, std::size_t n, const Tensor<T>& x, const Tensor<T>& y,
                               const Tensor<T>& g) const
{
    const Site line = Tape::current().site_override;
    const AnyTensor* const in[] = {&x.any(), &y.any(), &g.any()};
    if (Tape::current().dependence(in, 3, name, line) == 0) {
        const Ref<Block> blocks[] = {readable(x.any().value), readable(y.any().value),
                                     readable(g.any().value)};
        const auto numbers = [&](int i) {
            return std::span<const T>(blocks[i]->template as<T>(), blocks[i]->count);
        };
        auto out = zeros_block(dtype_of<T>(), Shape{n});
        rules->run(rule, data.get(),
                   ExternalSpans<T>{numbers(0), numbers(1), numbers(2), {out->template as<T>(), n}});
        return Tensor<T>(AnyTensor{made_in_run(placed(std::move(out), g.any().value->device())), {}});
    }
    const auto rx = elements(x), ry = elements(y), rg = elements(g);
    std::vector<Real<T>> out(n);
    if (!rules->run(rule, data.get(), ExternalSpans<Real<T>>{rx, ry, rg, out}))
        fail<TapeError>(name,
                        std::string("a derivative of its ") +
                            (rule == Rule::reverse ? "reverse" : "tangent") +
                            " rule is asked for, which takes numbers alone, or what forward has returned: "
                            "make it a template over the number, std::span<const Number>, in terms of "
                            "operations on x and y, with a forward that returns nothing",
                        line);
    return stack(out);
}

template <class T> const Primitive& external_description()
{
    return structural_primitive<External<T>, xsimd::default_arch, T, T>;
}

template <class T>
void call_external(const Primitive& p, std::shared_ptr<const ExternalRules<T>> rules,
                   std::span<const Real<T>> in, std::span<Real<T>> out, const Site& at)
{
    if (in_kernel())
        fail<TapeError>("external",
                        "a kernel's cells and frozen functions of Reals know operations on numbers alone: "
                        "call it outside of them",
                        at);
    const External<T> op{std::move(rules), out.size(), {}};
    const Tensor<T> x = stack(in, at);
    const AnyTensor* const operands[] = {&x.any()};
    const auto y = elements(Tensor<T>(apply_structural(p, &op, operands, 1, at)), at);
    std::copy(y.begin(), y.end(), out.begin());
}

}  // namespace wengert::detail
