// What special functions have in common. Each is one struct: `number`, the value of plain numbers, by Boost.Math, and the `pull` of each
// input, as those of functions/rules/. They are opaque to compiled graphs, which call their kernel.
#pragma once

#if !__has_include(<boost/math/policies/policy.hpp>)
#error "wengert/special.hpp needs the headers of Boost.Math: install libboost-dev (Debian), boost (Homebrew)"
#endif

#include <boost/math/policies/policy.hpp>

#include <cmath>
#include <concepts>
#include <limits>
#include <tuple>

#include "../elementwise/math.hpp"
#include "../elementwise/pairs.hpp"
#include "../elementwise/special.hpp"

namespace wengert {

namespace detail {

namespace boost_policies = boost::math::policies;
/// Boost throws nothing and sets no errno: NaN stands for what is undefined, ∞ for what is too large.
using Quiet =
    boost_policies::policy<boost_policies::domain_error<boost_policies::ignore_error>,
                           boost_policies::pole_error<boost_policies::ignore_error>,
                           boost_policies::overflow_error<boost_policies::ignore_error>,
                           boost_policies::underflow_error<boost_policies::ignore_error>,
                           boost_policies::denorm_error<boost_policies::ignore_error>,
                           boost_policies::rounding_error<boost_policies::ignore_error>,
                           boost_policies::evaluation_error<boost_policies::ignore_error>,
                           boost_policies::indeterminate_result_error<boost_policies::ignore_error>>;

template <class T> inline constexpr T nan_of = std::numeric_limits<T>::quiet_NaN();
template <class T> inline constexpr T inf_of = std::numeric_limits<T>::infinity();

/// F::number, which is never asked for a NaN: Boost's loops might not end.
template <class F, class T, class... X> T special_number(T x, X... more)
{
    if (std::isnan(x) || (std::isnan(more) || ...)) return nan_of<T>;
    return F::number(x, more...);
}

/// F of values of any kind that a rule is evaluated on.
template <class F, class V, class... X> constexpr V special(const V& x, const X&... more)
{
    if constexpr (std::is_same_v<V, Uses>) {
        return merge_uses(x, more...);
    } else if constexpr (std::floating_point<V>) {
        return special_number<F>(x, more...);
    } else if constexpr (HasBlock<V>) {
        return apply_elementwise<F, typename V::value_type>(Site{}, x, more...);
    } else {
        using T = typename V::value_type;
        T in[1 + sizeof...(X)][V::width], out[V::width];
        std::size_t i = 0;
        for (const V* v : {&x, &more...}) v->store(in[i++]);
        for (std::size_t j = 0; j < V::width; ++j)
            out[j] = [&]<std::size_t... k>(std::index_sequence<k...>) {
                return special_number<F>(in[k][j]...);
            }(std::index_sequence_for<V, X...>());
        return V::load(out);
    }
}

/// A derivative that no closed form is known of. Throws TapeError: 0 would be wrong.
template <class F, class V> constexpr V unknown_derivative(const char* by, const V& g, const V& x)
{
    if constexpr (std::is_same_v<V, Uses>) {
        return g * x;
    } else {
        const std::string reason = std::string("its derivative in ") + by +
                                   " has no closed form and is not here: pass stop_gradient(" + by +
                                   ") if it is meant to be a constant";
        if constexpr (HasBlock<V>)
            fail<TapeError>(F::name, reason, Tape::current().site_override);
        else
            throw RefusedInKernel(F::name, reason);
    }
}

/// What the arguments of a call say of its result: the tensor among them, or the number that records.
template <class X> struct SpecialArgument {
    static constexpr int kind = std::is_arithmetic_v<X> ? 0 : -1;
    using number = std::conditional_t<std::floating_point<X>, X, double>;
};
template <class T, class D> struct SpecialArgument<Tensor<T, D>> {
    static constexpr int kind = 2;
    using number = T;
    using device = D;
};
template <class X>
    requires requires(const X& x, const Site& at) {
        typename X::plain_type;
        tensor(x, at);
    }
struct SpecialArgument<X> {
    static constexpr int kind = 1;
    using number = typename X::plain_type;
};

/// Arguments of a special function: tensors of one type, numbers that record, plain ones.
template <class... X>
concept SpecialArguments = ((SpecialArgument<X>::kind >= 0) && ...);
/// The same where <cmath> has the function for plain numbers, and scalar.hpp for those that record.
template <class... X>
concept SpecialTensors = SpecialArguments<X...> && ((SpecialArgument<X>::kind == 2) || ...);

/// The first of the argument types that has the largest kind.
template <class A, class... X> struct ChosenArgument {
    using type = A;
};
template <class A, class B, class... X> struct ChosenArgument<A, B, X...> {
    static constexpr bool first = SpecialArgument<A>::kind >= SpecialArgument<B>::kind;
    using type = typename ChosenArgument<std::conditional_t<first, A, B>, X...>::type;
};

/// An argument as a tensor beside others.
template <class T, class D, class X> Tensor<T, D> special_operand(const X& x, const Site& at)
{
    if constexpr (std::is_arithmetic_v<X>)
        return number<T, D>(x);
    else if constexpr (SpecialArgument<X>::kind == 1)
        return on<D>(tensor(x, at));
    else
        return x;
}

/// The public functions: F of tensors and numbers that broadcast; of numbers alone a number.
template <class F, class... X> auto special_call(const Site& at, const X&... x)
{
    using Chosen = typename ChosenArgument<X...>::type;
    using Argument = SpecialArgument<Chosen>;
    using T = typename Argument::number;
    if constexpr (Argument::kind == 0) {
        using Plain = std::common_type_t<typename SpecialArgument<X>::number...>;
        return special_number<F>(static_cast<Plain>(x)...);
    } else if constexpr (Argument::kind == 1) {
        return real(apply_elementwise<F, T>(at, special_operand<T, cpu>(x, at)...), at);
    } else {
        return apply_elementwise<F, T>(at, special_operand<T, typename Argument::device>(x, at)...);
    }
}

/// The struct of a special function derives from this.
template <class F> struct Special {
    static constexpr bool opaque = true;
    template <class V, class... X> static V value(const V& x, const X&... more)
    {
        return special<F>(x, more...);
    }
};

}  // namespace detail

}  // namespace wengert
