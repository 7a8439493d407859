// The unknowns of a problem as one vector, and the user's function as one from vectors to vectors.
#pragma once

#include <functional>

#include "../linalg/matrices.hpp"
#include "../transforms/derivatives.hpp"

namespace wengert::detail {

/// The user's function, as solvers take it. They are compiled once for a V, not again for each function.
template <class V> using VectorFunction = std::function<V(const V&)>;
/// f(y, t) of ẏ = f(y, t).
template <class V> using SlopeFunction = std::function<V(const V&, const V&)>;

/// The type of the tensors in a tree: that of the first one. void where there is none.
template <class X> consteval auto leaf_type();
template <class Tuple, std::size_t... I> consteval auto first_leaf_type(std::index_sequence<I...>)
{
    if constexpr (sizeof...(I) == 0) {
        return std::type_identity<void>{};
    } else {
        constexpr std::size_t at = [] {
            const bool holds[] = {
                tree::contains_leaf<std::remove_cvref_t<std::tuple_element_t<I, Tuple>>>...};
            std::size_t k = 0;
            while (k + 1 < sizeof...(I) && !holds[k]) ++k;
            return k;
        }();
        return leaf_type<std::remove_cvref_t<std::tuple_element_t<at, Tuple>>>();
    }
}
template <class X> consteval auto leaf_type()
{
    using enum tree::detail::Kind;
    constexpr tree::detail::Kind k = tree::detail::kind<X>;
    if constexpr (k == leaf) {
        return std::type_identity<X>{};
    } else if constexpr (!tree::contains_leaf<X>) {
        return std::type_identity<void>{};
    } else if constexpr (k == map) {
        return leaf_type<typename X::mapped_type>();
    } else if constexpr (k == optional || k == sequence) {
        return leaf_type<std::remove_cvref_t<typename X::value_type>>();
    } else if constexpr (k == variant) {
        return leaf_type<std::variant_alternative_t<0, X>>();
    } else if constexpr (k == tree::detail::Kind::tuple) {
        return first_leaf_type<X>(std::make_index_sequence<std::tuple_size_v<X>>());
    } else {
        using Parts = decltype(tree::detail::fields_of(std::declval<X&>()));
        return first_leaf_type<Parts>(std::make_index_sequence<std::tuple_size_v<Parts>>());
    }
}
/// The vector that holds a tree's numbers.
template <class X> using Flat = typename decltype(leaf_type<X>())::type;

/// The numbers of a tree, one tensor after the other.
template <class X> Flat<X> flatten_tree(const X& x, std::string_view name, const Site& at)
{
    using V = Flat<X>;
    static_assert(!std::is_void_v<V>, "wengert: the unknowns hold no tensors");
    static_assert(is_differentiable<typename V::value_type>, "wengert: the unknowns are float or double");
    std::vector<V> parts;
    tree::for_each(
        [&](const auto& t) {
            static_assert(std::is_same_v<std::remove_cvref_t<decltype(t)>, V>,
                          "wengert: all unknowns of a problem have one dtype and one device");
            const V part = t;
            parts.push_back(part.shape(name, at).size() == 1
                                ? part
                                : reshape(part, {static_cast<std::int64_t>(part.size())}, at));
        },
        x);
    if (parts.size() == 1) return parts[0];
    if (parts.empty()) fail<ShapeError>(name, "the struct of unknowns is empty", at);
    return concatenate(parts, 0, at);
}

/// A tree with shapes like those of `like` and these numbers, which lie in the last axis; axes before it come first in each tensor.
template <class X> X unflatten_tree(const X& like, const Flat<X>& numbers, const Site& at)
{
    std::int64_t first = 0;
    return tree::map(
        [&]<class T, class D>(const Tensor<T, D>& t) {
            const auto count = static_cast<std::int64_t>(t.size());
            Shape shape(numbers.shape().data(), numbers.dimension() - 1);
            for (const std::int64_t n : t.shape()) shape.push_back(n);
            const bool whole = count == numbers.shape().back();
            const Tensor<T, D> part = whole ? numbers : linalg::detail::part(numbers, -1, first, count, at);
            first += count;
            return shape == part.shape() ? part : reshape(part, shape, at);
        },
        like);
}

/// A function of the user's runs at its own lines, not at that of the call.
class OwnLines {
public:
    OwnLines() : line_(Tape::current().site_override, Site{}) {}

private:
    Restore<Site> line_;
};

/// v ↦ f(v, p…) on vectors, of which each call takes a tree like `like`. Throws ShapeError where f returns other shapes.
template <class F, class Y, class... P> class FlatFunction {
public:
    FlatFunction(F f, Y like, std::string_view name, const Site& at, const P&... p)
        : f_(std::move(f)), like_(std::move(like)), p_(p...), name_(name), at_(at)
    {}
    Flat<Y> operator()(const Flat<Y>& v) const
    {
        const Y y = unflatten_tree(like_, v, at_);
        const auto r = [&] {
            const OwnLines own;
            return std::apply([&](const auto&... p) { return Y(f_(y, p...)); }, p_);
        }();
        zip_at(
            name_, at_,
            [&](const auto& a, const auto& b) {
                if (!(a.shape() == b.shape(name_, at_)))
                    fail<ShapeError>(name_,
                                     "the function returned shape " + to_string(b.shape()) + " where " +
                                         to_string(a.shape()) + " is needed",
                                     at_);
            },
            like_, r);
        return flatten_tree(r, name_, at_);
    }

private:
    F f_;
    Y like_;
    std::tuple<P...> p_;
    std::string_view name_;
    Site at_;
};

/// Is a graph being traced?
inline bool is_traced()
{
    Recorder* const r = recorder();
    return r && (r->trace() || r->trace_of_loops());
}

}  // namespace wengert::detail
