// custom_vjp and custom_jvp of functions of reals, of structs of them and of mixtures with tensors: an operation on one tensor
// of all the numbers that go in.
#pragma once

#include <optional>

#include "../../ops/shape.hpp"
#include "../../ops/view.hpp"
#include "../../transforms/custom.hpp"
#include "transforms.hpp"

namespace wengert::detail {

/// All reals and tensors of one precision, in order, as one tensor of rank 1.
template <class T, class X> Tensor<T> numbers_of(const X& x, const Site& at)
{
    std::vector<Tensor<T>> parts;
    std::vector<Real<T>> reals;
    const auto flush = [&] {
        if (!reals.empty()) parts.push_back(stack(reals, at));
        reals.clear();
    };
    tree::for_each(
        [&]<class L>(const L& leaf) {
            using N = precision_of<L>;
            static_assert(!is_differentiable<N> || std::is_same_v<N, T>,
                          "wengert: a rule of your own, a frozen function of reals and a Jacobian are for "
                          "numbers of one precision; convert the others");
            if constexpr (is_real<L>) {
                reals.push_back(leaf);
            } else if constexpr (is_differentiable<N>) {
                if (!leaf.defined()) return;
                flush();
                parts.push_back(reshape(leaf, Shape{leaf.size()}, at));
            }
        },
        x);
    flush();
    return parts.empty()       ? Tensor<T>(AnyTensor{placed(zeros_block(dtype_of<T>(), Shape{0})), {}})
           : parts.size() == 1 ? parts[0]
                               : concatenate(parts, 0, at);
}

/// An X of such numbers.
template <class T, class X> X with_numbers(const X& form, const Tensor<T>& x, const Site& at)
{
    X out = tree::detail::copied(form);
    const std::vector<Real<T>> all = tree::contains_number<X> ? elements(x, at) : std::vector<Real<T>>();
    std::int64_t next = 0;
    tree::for_each(
        [&]<class L>(L& leaf) {
            if constexpr (is_real<L>) {
                static_assert(
                    std::is_same_v<L, Real<T>>,
                    "wengert: a function of reals that is frozen, or has a rule, has numbers of one "
                    "precision in its arguments and its result");
                if constexpr (std::is_same_v<L, Real<T>>) leaf = all[static_cast<std::size_t>(next++)];
            } else if constexpr (is_differentiable<typename L::value_type>) {
                if (!leaf.defined()) return;
                const Shape shape = leaf.shape();
                const auto n = static_cast<std::int64_t>(leaf.size());
                leaf = reshape(view(x, range(next, next + n), {}, {}, {}, {}, {}, at), shape, at);
                next += n;
            }
        },
        out);
    return out;
}

/// The same numbers as constants.
template <class X> X constants(const X& x)
{
    return tree::map([]<class L>(const L& leaf) { return leaf.detach(); }, x);
}

/// y = f(x…) with a rule; X… and Y are what f takes and gives, the operation's operand and its result the numbers in them.
template <class Rule, class T, class Functions, class Y, class... X> struct RuleOnReals {
    static constexpr std::string_view name = Rule::name;
    static constexpr unsigned saves = 0b011;
    using Form = std::tuple<X...>;

    Functions functions;  ///< f and the rule
    std::shared_ptr<const Form> form;
    std::shared_ptr<std::optional<Y>> result;  ///< its form, once it is known

    template <class Visit> void each(const Visit& visit) { visit(functions); }
    template <class> Ref<Block> value(const Ref<Block>& of, const Site& at) const
    {
        const Form x = with_numbers(*form, Tensor<T>(AnyTensor{of, {}}), at);
        Y y = std::apply(functions->first, x);
        tree::for_each([&](const auto& leaf) { refuse_active(leaf, at); }, y);
        const Tensor<T> numbers = numbers_of<T>(y, at);
        *result = constants(y);
        return contiguous(numbers.any().value);
    }
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& y) const
    {
        const Site at = line();
        const Y y_bar = with_numbers(**result, g, at), y0 = with_numbers(**result, y, at);
        const Form at_x = with_numbers(*form, x, at);
        if constexpr (Rule::gives_tangents) {
            const auto linear = [&](const X&... dot) { return pushed(std::tie(dot...), y0, at_x); };
            return std::apply(
                [&](const X&... like) {
                    return checked("cotangent", vjp_at(linear, Site{}, zeros_as(like)...).second(y_bar, at));
                },
                at_x);
        } else {
            return std::apply(
                [&](const X&... each) { return checked("cotangent", functions->second(y_bar, y0, each...)); },
                at_x);
        }
    }
    Tensor<T> push(const Tensor<T>& dot, const Tensor<T>& x, const Tensor<T>& y) const
    {
        if constexpr (!Rule::gives_tangents) {
            fail<NoForwardMode>(
                name, "a function with a custom_vjp rule has no forward mode; give it a custom_jvp rule",
                line());
        } else {
            const Site at = line();
            const Form dots = with_numbers(*form, dot, at), at_x = with_numbers(*form, x, at);
            const Y y_dot = pushed(dots, with_numbers(**result, y, at), at_x);
            check_form("tangent", y_dot, **result);
            return numbers_of<T>(y_dot, at);
        }
    }

private:
    static Site line() { return Tape::current().site_override; }

    template <class Dots> Y pushed(const Dots& dots, const Y& y, const Form& x) const
    {
        return std::apply(functions->second, std::tuple_cat(dots_of(dots), std::tie(y), dots_of(x)));
    }
    template <class Tuple> static auto dots_of(const Tuple& t)
    {
        return std::apply([](const auto&... e) { return std::tie(e...); }, t);
    }
    template <class A> static A zeros_as(const A& x)
    {
        return tree::map(
            []<class L>(const L& leaf) {
                if constexpr (is_real<L>)
                    return L(0);
                else
                    return L(AnyTensor{zeros_beside(*leaf.any().value, L::dtype(), leaf.shape()), {}});
            },
            x);
    }
    /// What a rule returned for the arguments: one X, or a tuple of them.
    template <class R> Tensor<T> checked(const char* what, const R& r) const
    {
        if constexpr (sizeof...(X) == 1 && !std::is_same_v<R, Form>) {
            static_assert(std::is_same_v<R, X...>,
                          "wengert: the rule of a function of one argument returns a cotangent of its type");
            return checked(what, Form(r));
        } else {
            static_assert(std::is_same_v<R, Form>,
                          "wengert: a rule for several arguments returns a tuple, a cotangent of each "
                          "argument's type");
            check_form(what, r, *form);
            return numbers_of<T>(r, line());
        }
    }
    template <class A> static void check_form(const char* what, const A& got, const A& like)
    {
        bool same = same_form(got, like);
        if (same)
            tree::zip_for_each(
                [&]<class L>(const L& a, const L& b) {
                    if constexpr (!is_real<L>) same = same && a.defined() && a.shape() == b.shape();
                },
                got, like);
        if (!same)
            fail<ShapeError>(name,
                             "the rule returned a " + std::string(what) +
                                 " of another form: it has the sizes and shapes of what it belongs to",
                             line());
    }
    template <class L> static void refuse_active(const L& leaf, const Site& at)
    {
        bool active = false;
        if constexpr (is_real<L>)
            active = leaf.is_active();
        else
            active = leaf.defined() && leaf.any().node;
        if (active)
            fail<TapeError>(name,
                            "the function captures a variable, which its rule cannot reach: pass it as an "
                            "argument",
                            at);
    }
};

template <class Rule, class Functions, class... X>
auto rule_on_reals(const Functions& functions, const Site& at, const X&... x)
{
    using T = typename first_real<std::tuple<X...>>::type;
    using Y = std::remove_cvref_t<decltype(functions->first(x...))>;
    using Op = RuleOnReals<Rule, T, Functions, Y, X...>;
    const std::tuple<X...> all(x...);
    const Op op{functions, std::make_shared<const std::tuple<X...>>(constants(all)),
                std::make_shared<std::optional<Y>>()};
    const Tensor<T> y = apply<Op, T>(op, at, numbers_of<T>(all, at));
    return with_numbers(**op.result, y, at);
}

}  // namespace wengert::detail
