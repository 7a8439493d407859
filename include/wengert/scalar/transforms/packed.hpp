// Structs of reals as structs of tensors and back: what lets every transform of tensors serve functions of reals.
#pragma once

#include <memory>
#include <optional>
#include <variant>

#include "../../transforms/level.hpp"
#include "exchange.hpp"

namespace wengert::detail {

template <class X> consteval auto precision();

template <class Tuple, std::size_t... k> consteval auto precision_of_elements(std::index_sequence<k...>)
{
    using First = std::tuple<decltype(precision<std::remove_cvref_t<std::tuple_element_t<k, Tuple>>>())...,
                             std::type_identity<double>>;
    constexpr bool some[] = {tree::contains_number<std::remove_cvref_t<std::tuple_element_t<k, Tuple>>>...,
                             true};
    return std::tuple_element_t<static_cast<std::size_t>(std::find(some, some + sizeof...(k), true) - some),
                                First>{};
}
template <class X> struct AlternativesOf;
template <class... A> struct AlternativesOf<std::variant<A...>> {
    using type = std::tuple<A...>;
};
/// The precision of the first numbers in a container or struct.
template <class X> consteval auto precision()
{
    using tree::detail::Kind;
    constexpr Kind k = tree::detail::kind<X>;
    if constexpr (!tree::contains_number<X>) {
        return std::type_identity<double>{};
    } else if constexpr (is_real<X>) {
        return std::type_identity<typename X::plain_type>{};
    } else if constexpr (k == Kind::map) {
        return precision<typename X::mapped_type>();
    } else if constexpr (k == Kind::optional || k == Kind::sequence) {
        return precision<typename X::value_type>();
    } else if constexpr (k == Kind::tuple) {
        return precision_of_elements<X>(std::make_index_sequence<std::tuple_size<X>::value>{});
    } else if constexpr (k == Kind::variant) {
        using Alternatives = typename AlternativesOf<X>::type;
        return precision_of_elements<Alternatives>(
            std::make_index_sequence<std::tuple_size<Alternatives>::value>{});
    } else {
        using Fields = decltype(tree::detail::fields_of(std::declval<X&>()));
        return precision_of_elements<Fields>(std::make_index_sequence<std::tuple_size<Fields>::value>{});
    }
}
template <class X> struct first_real : decltype(precision<X>()) {};

/// Is all that an X holds reals?
template <class X> consteval bool only_reals_in()
{
    using tree::detail::Kind;
    constexpr Kind k = tree::detail::kind<X>;
    if constexpr (k == Kind::sequence)
        return only_reals_in<typename X::value_type>();
    else if constexpr (k == Kind::fields)
        return []<class... F>(std::type_identity<std::tuple<F&...>>) {
            return (only_reals_in<std::remove_const_t<F>>() && ...);
        }(std::type_identity<decltype(tree::detail::fields_of(std::declval<X&>()))>());
    else if constexpr (k == Kind::tuple)
        return []<std::size_t... i>(std::index_sequence<i...>) {
            return (only_reals_in<std::tuple_element_t<i, X>>() && ...);
        }(std::make_index_sequence<std::tuple_size<X>::value>());
    else
        return is_real<X>;
}
template <class X, class Is> consteval bool has_leaf();
template <class Tuple, class Is> consteval bool has_leaf_in()
{
    return []<std::size_t... k>(std::index_sequence<k...>) {
        return (false || ... || has_leaf<std::remove_cvref_t<std::tuple_element_t<k, Tuple>>, Is>());
    }(std::make_index_sequence<std::tuple_size<Tuple>::value>());
}
/// Are there leaves in it of which Is is true? True where the type does not say.
template <class X, class Is> consteval bool has_leaf()
{
    using tree::detail::Kind;
    constexpr Kind k = tree::detail::kind<X>;
    if constexpr (k == Kind::leaf)
        return Is()(std::type_identity<X>());
    else if constexpr (!tree::contains_leaf<X>)
        return false;
    else if constexpr (k == Kind::map)
        return has_leaf<typename X::mapped_type, Is>();
    else if constexpr (k == Kind::optional || k == Kind::sequence)
        return has_leaf<std::remove_cv_t<typename X::value_type>, Is>();
    else if constexpr (k == Kind::tuple)
        return has_leaf_in<X, Is>();
    else if constexpr (k == Kind::fields)
        return has_leaf_in<decltype(tree::detail::fields_of(std::declval<X&>())), Is>();
    else
        return true;
}
struct IsTensor {
    template <class L> consteval bool operator()(std::type_identity<L>) const { return !is_real<L>; }
};
template <class T> struct IsOfPrecision {
    template <class L> consteval bool operator()(std::type_identity<L>) const { return false; }
    consteval bool operator()(std::type_identity<Real<T>>) const { return true; }
    template <class D> consteval bool operator()(std::type_identity<Tensor<T, D>>) const { return true; }
};
/// Are there tensors in it?
template <class X> consteval bool has_tensors() { return has_leaf<X, IsTensor>(); }
/// Can there be reals and tensors of T in it? What is done for each precision is compiled for those alone.
template <class X, class T> inline constexpr bool may_hold = has_leaf<X, IsOfPrecision<T>>();

/// Is it a sequence of reals, which has no form but its size?
template <class X> consteval bool has_many_reals()
{
    if constexpr (tree::detail::kind<X> == tree::detail::Kind::sequence && !tree::detail::spanned<X>)
        return is_real<typename X::value_type>;
    else
        return false;
}

/// The reals of a precision, in order.
template <class T, class X> std::vector<Real<T>*> reals_in(X& x)
{
    std::vector<Real<T>*> all;
    tree::for_each([&](Real<T>& r) { all.push_back(&r); }, x);
    return all;
}

/// An X in two parts: its form, and its differentiable leaves. All reals of a precision are one tensor; tensors follow.
template <class X> struct Packed {
    std::shared_ptr<const X> shell;
    std::vector<Tensor<double>> doubles;
    std::vector<Tensor<float>> floats;

    auto fields()
    {
        if constexpr (!may_hold<X, float>)
            return std::tie(doubles);
        else if constexpr (!may_hold<X, double>)
            return std::tie(floats);
        else
            return std::tie(doubles, floats);
    }
};

template <class X> using packed_t = std::conditional_t<tree::contains_number<X>, Packed<X>, X>;

/// Calls fn(leaf) on the reals of a precision, and other(leaf) on its tensors.
template <class T, class X, class Fn, class Other> void each_of(X& x, const Fn& fn, const Other& other)
{
    tree::for_each(
        [&]<class L>(L& leaf) {
            if constexpr (is_real<std::remove_const_t<L>>) {
                if constexpr (std::is_same_v<std::remove_const_t<L>, Real<T>>) fn(leaf);
            } else if constexpr (std::is_same_v<typename L::value_type, T>) {
                other(leaf);
            }
        },
        x);
}
template <class T, class X> std::size_t count_reals(const X& x)
{
    if constexpr (has_many_reals<X>()) {
        return std::is_same_v<typename X::value_type, Real<T>> ? x.size() : 0;
    } else {
        std::size_t n = 0;
        each_of<T>(
            x, [&](const auto&) { ++n; }, [](const auto&) {});
        return n;
    }
}

template <class T, class X> void pack_as(const X& x, std::vector<Tensor<T>>& out, const Site& at)
{
    std::vector<Tensor<T>> tensors;
    const auto keep = [&](const auto& t) {
        if (t.defined()) tensors.push_back(on<cpu>(t));
    };
    if (const std::size_t n = count_reals<T>(x)) {
        Gathering<T> reals(Shape{n}, at, "scalar code");
        each_of<T>(
            x, [&](const Real<T>& r) { reals.add(r); }, keep);
        out.push_back(Tensor<T>(reals.made()));
    } else {
        each_of<T>(
            x, [](const auto&) {}, keep);
    }
    out.insert(out.end(), tensors.begin(), tensors.end());
}

/// x's form: x without the leaves that are packed.
template <class X> std::shared_ptr<const X> shell_of(const X& x)
{
    X shell = tree::detail::copied(x);
    tree::for_each(
        []<class L>(L& leaf) {
            if constexpr (is_real<L>)
                leaf = leaf.detach();
            else if constexpr (is_differentiable<typename L::value_type>)
                take_out(leaf.any_unchecked());
        },
        shell);
    return std::make_shared<const X>(std::move(shell));
}

template <class X> bool same_form(const X& a, const X& b)
{
    if constexpr (has_many_reals<X>()) {
        return a.size() == b.size();
    } else {
        try {
            tree::zip_for_each([](const auto&, const auto&) {}, a, b);
            return true;
        } catch (const tree::Mismatch&) {
            return false;
        }
    }
}

/// `like`: a shell that is used again where x has the same form.
template <class X> packed_t<X> pack(const X& x, const Site& at, const std::shared_ptr<const X>& like = {})
{
    if constexpr (!tree::contains_number<X>) {
        return x;
    } else {
        Packed<X> p;
        if constexpr (only_reals_in<X>())
            if (like && same_form(x, *like)) p.shell = like;
        if (!p.shell) p.shell = shell_of(x);
        if constexpr (may_hold<X, double>) pack_as<double>(x, p.doubles, at);
        if constexpr (may_hold<X, float>) pack_as<float>(x, p.floats, at);
        return p;
    }
}

/// Puts leaves of one precision back.
template <class T, class X> void unpack_as(X& x, const std::vector<Tensor<T>>& from, const Site& at)
{
    std::size_t next = 0;
    std::optional<Elements<T>> reals;
    if (count_reals<T>(x)) reals.emplace(from[next++].any("elements", at), at);
    each_of<T>(
        x, [&](Real<T>& r) { r = reals->next(); },
        [&]<class D>(Tensor<T, D>& t) {
            if (!was_empty(t.any_unchecked())) t = on<D>(from[next++]);
        });
}

/// Into an x of the shell's form.
template <class X> void unpack_into(X& x, const Packed<X>& p, const Site& at)
{
    if constexpr (may_hold<X, double>) unpack_as<double>(x, p.doubles, at);
    if constexpr (may_hold<X, float>) unpack_as<float>(x, p.floats, at);
}
template <class X> X unpack(const packed_t<X>& p, const Site& at)
{
    if constexpr (!tree::contains_number<X>) {
        return p;
    } else {
        X x = tree::detail::copied(*p.shell);
        unpack_into(x, p, at);
        return x;
    }
}

/// A gradient as an X. What has no derivative is 0.
template <class X> X unpack_gradient(const packed_t<X>& p, const Site& at)
{
    X x = unpack<X>(p, at);
    if constexpr (tree::contains_number<X>)
        tree::for_each(
            [&]<class L>(L& leaf) {
                if constexpr (!is_real<L>)
                    if constexpr (!is_differentiable<typename L::value_type>)
                        if (leaf.defined())
                            leaf =
                                L(AnyTensor{zeros_beside(*leaf.any().value, L::dtype(), leaf.shape()), {}});
            },
            x);
    return x;
}

}  // namespace wengert::detail
