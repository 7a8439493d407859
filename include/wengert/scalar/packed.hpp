// Structs of reals as structs of tensors and back: what lets every transform of tensors serve functions of reals.
#pragma once

#include <memory>

#include "../transforms/level.hpp"
#include "exchange.hpp"

namespace wengert::detail {

/// The precision of the numbers in a container.
template <class X> struct first_real : first_real<typename X::value_type> {};
template <class T> struct first_real<Real<T>> {
    using type = T;
};

/// The reals of a precision, in order.
template <class T, class X> std::vector<Real<T>*> reals_in(X& x)
{
    std::vector<Real<T>*> all;
    tree::for_each([&](Real<T>& r) { all.push_back(&r); }, x);
    return all;
}

/// An X without its differentiable leaves, and these: all reals of a precision as one tensor, then the tensors.
template <class X> struct Packed {
    std::shared_ptr<const X> shell;
    std::vector<Tensor<double>> doubles;
    std::vector<Tensor<float>> floats;

    auto fields() { return std::tie(doubles, floats); }
    template <class T> std::vector<Tensor<T>>& of()
    {
        if constexpr (std::is_same_v<T, float>)
            return floats;
        else
            return doubles;
    }
};

template <class X> using packed_t = std::conditional_t<tree::contains_number<X>, Packed<X>, X>;

template <class T, class X> void pack_as(const X& x, std::vector<Tensor<T>>& out, const Site& at)
{
    std::vector<Real<T>> reals;
    bool any = false;
    std::vector<Tensor<T>> tensors;
    tree::for_each(
        [&]<class L>(const L& leaf) {
            if constexpr (is_real<L>) {
                any = true;
                if constexpr (std::is_same_v<typename L::value_type, T>) reals.push_back(leaf);
            } else if constexpr (std::is_same_v<typename L::value_type, T>) {
                if (leaf.defined()) tensors.push_back(leaf);
            }
        },
        x);
    if (any && !reals.empty()) out.push_back(stack(reals, at));
    out.insert(out.end(), tensors.begin(), tensors.end());
}

template <class X> packed_t<X> pack(const X& x, const Site& at)
{
    if constexpr (!tree::contains_number<X>) {
        return x;
    } else {
        Packed<X> p{std::make_shared<const X>(x), {}, {}};
        pack_as<double>(x, p.doubles, at);
        pack_as<float>(x, p.floats, at);
        return p;
    }
}

/// Puts leaves of one precision back.
template <class T, class X> void unpack_as(X& x, const std::vector<Tensor<T>>& from, const Site& at)
{
    bool any = false;
    tree::for_each(
        [&]<class L>(const L&) {
            if constexpr (std::is_same_v<L, Real<T>>) any = true;
        },
        x);
    std::size_t next = any ? 1 : 0, k = 0;
    const std::vector<Real<T>> reals = any ? elements(from[0], at) : std::vector<Real<T>>();
    tree::for_each(
        [&]<class L>(L& leaf) {
            if constexpr (std::is_same_v<L, Real<T>>)
                leaf = reals[k++];
            else if constexpr (std::is_same_v<L, Tensor<T>>)
                if (leaf.defined()) leaf = from[next++];
        },
        x);
}

template <class X> X unpack(const packed_t<X>& p, const Site& at)
{
    if constexpr (!tree::contains_number<X>) {
        return p;
    } else {
        X x = tree::detail::copied(*p.shell);
        unpack_as<double>(x, p.doubles, at);
        unpack_as<float>(x, p.floats, at);
        return x;
    }
}

/// A gradient: what has no derivative is 0 in it.
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
