// Structs of tensors to and from .npz files.
#pragma once

#include <span>

#include "../base/field_names.hpp"
#include "arrays.hpp"
#include "../transforms/level.hpp"

namespace wengert {

namespace detail {

/// The path of a tensor in a tree. It consists of names of fields, numbers of elements and keys, "layers.2.weight". Files without
/// names used numbers of fields, "0.2.0".
struct TreePath {
    std::string name, number;
    TreePath then(const std::string& n) const { return then(n, n); }
    TreePath then(const std::string& n, const std::string& old) const
    {
        return {name.empty() ? n : name + "." + n, number.empty() ? old : number + "." + old};
    }
    TreePath or_array() const { return name.empty() ? TreePath{"arr_0", "arr_0"} : *this; }
};

template <class K> std::string key_text(const K& key)
{
    if constexpr (std::is_enum_v<K>)
        return std::to_string(static_cast<std::int64_t>(key));
    else if constexpr (std::is_arithmetic_v<K>)
        return std::to_string(key);
    else
        return std::string(key);
}

/// The name of a field: its own, or that which a hook gives it, or its number.
template <class X, std::size_t I> std::string name_of_field(const X& x)
{
    if constexpr (tree::detail::hooked<X>) {
        const auto list = tree::detail::listed(x);
        const auto& field = std::get<I>(list);
        if constexpr (requires {
                          field.name;
                          field.part;
                      })
            return field.name;
        else
            return std::to_string(I);
    } else {
        return std::string(reflect::field_name<X, I>);
    }
}

template <class F, class X> void walk_named(const TreePath& path, F& fn, X& x);

/// Fields of a struct, or elements of a tuple.
template <bool named, class F, class X, class Tuple, std::size_t... I>
void walk_named_fields(const TreePath& path, F& fn, X& x, Tuple&& fields, std::index_sequence<I...>)
{
    const auto one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
        if constexpr (tree::contains_leaf<std::tuple_element_t<K, std::remove_cvref_t<Tuple>>>) {
            std::string number = std::to_string(K), name = number;
            if constexpr (named) name = name_of_field<std::remove_const_t<X>, K>(x);
            walk_named(path.then(name, number), fn, std::get<K>(fields));
        }
    };
    (one(std::integral_constant<std::size_t, I>{}), ...);
}

/// Do numbers that record lie here one after another?
template <class X> consteval bool is_row_of_numbers()
{
    if constexpr (tree::detail::kind<X> == tree::detail::Kind::sequence)
        return tree::is_number<std::remove_cv_t<typename X::value_type>> &&
               requires(X& x) { tree::detail::elements_in(x).data(); };
    else
        return false;
}

/// fn(path, tensor) for all tensors of a tree, fn(path, numbers, shape) for numbers that record, rows of them as one.
template <class F, class X> void walk_named(const TreePath& path, F& fn, X& x)
{
    using Plain = std::remove_const_t<X>;
    namespace td = tree::detail;
    constexpr td::Kind k = td::kind<Plain>;
    if constexpr (tree::is_number<Plain>) {
        fn(path.or_array(), std::span(&x, 1), Shape());
    } else if constexpr (is_row_of_numbers<Plain>()) {
        auto&& row = td::elements_in(x);
        fn(path.or_array(), std::span(row.data(), row.size()), Shape{row.size()});
    } else if constexpr (k == td::Kind::leaf) {
        fn(path.or_array(), x);
    } else if constexpr (!tree::contains_leaf<Plain>) {
        return;
    } else if constexpr (k == td::Kind::optional) {
        if (x.has_value()) walk_named(path, fn, *x);
    } else if constexpr (k == td::Kind::map) {
        for (auto& entry : x) walk_named(path.then(key_text(entry.first)), fn, entry.second);
    } else if constexpr (k == td::Kind::sequence) {
        std::size_t i = 0;
        for (auto& element : td::elements_in(x)) walk_named(path.then(std::to_string(i++)), fn, element);
    } else if constexpr (k == td::Kind::variant) {
        const auto held = [&](auto& value) { walk_named(path, fn, value); };
        std::visit(held, x);
    } else if constexpr (k == td::Kind::tuple) {
        walk_named_fields<false>(path, fn, x, x, std::make_index_sequence<std::tuple_size<Plain>::value>{});
    } else {
        using Fields = decltype(td::fields_of(x));
        walk_named_fields<true>(path, fn, x, td::fields_of(x),
                                std::make_index_sequence<std::tuple_size<Fields>::value>{});
    }
}

template <class... F> struct Overloads : F... {
    using F::operator()...;
};
template <class... F> Overloads(F...) -> Overloads<F...>;

/// The same of types that can be looked into, all of them.
template <class F, class X> void walk_all_named(F& fn, X& x)
{
    if constexpr (tree::detail::look_into<std::remove_const_t<X>>) walk_named({}, fn, x);
}

template <class X> void save_tree(const std::string& path, const X& x, const Site& line)
{
    std::vector<Ref<Block>> blocks;
    std::vector<std::pair<std::string, NpyView>> views;
    const auto add_numbers = [&]<class N>(const TreePath& at, std::span<N> row, const Shape& shape) {
        using T = typename N::plain_type;
        Block& b = *blocks.emplace_back(make_block(dtype_of<T>(), shape));
        for (std::size_t k = 0; k < row.size(); ++k) b.template as<T>()[k] = row[k].plain();
        views.push_back({at.name, {npy_dtype<T>(), shape_vector(shape), {b.data, b.bytes()}}});
    };
    const auto add = [&]<class T, class D>(const TreePath& at, const Tensor<T, D>& t) {
        if (!t.defined()) return;
        note_read(*t.any().value, Read::elements, line);
        const Block& b = *blocks.emplace_back(readable(t.any().value));
        views.push_back({at.name, {npy_dtype<T>(), shape_vector(b.shape), {b.data, b.bytes()}}});
    };
    const Overloads both{add, add_numbers};
    walk_all_named(both, x);
    write_npz(path, views);
}

template <class X> X load_tree(const std::string& path, const X& like)
{
    const auto arrays = read_npz(path);
    X out = tree::detail::copied(like);
    const auto read = [&]<class T, class D>(const TreePath& at, Tensor<T, D>& t) {
        auto found = arrays.find(at.name);
        if (found == arrays.end()) found = arrays.find(at.number);
        if (!t.defined() && found == arrays.end()) return;
        if (found == arrays.end()) throw Error("[load_npz] '" + path + "' has no array '" + at.name + "'");
        const std::string& name = found->first;
        Tensor<T, D> loaded = tensor_from<T, D>(path + ":" + name, found->second);
        if (t.defined() && !(loaded.shape() == t.shape()))
            throw ShapeError("[load_npz] '" + path + ":" + name + "' has shape " + to_string(loaded.shape()) +
                             ", not " + to_string(t.shape()));
        t = std::move(loaded);
    };
    const auto read_numbers = [&]<class N>(const TreePath& at, std::span<N> row, const Shape& shape) {
        using T = typename N::plain_type;
        Tensor<T> t(AnyTensor{make_block(dtype_of<T>(), shape), {}});
        read(at, t);
        const Ref<Block> b = readable(t.any().value);
        for (std::size_t k = 0; k < row.size(); ++k) row[k] = N(b->template as<T>()[k]);
    };
    const Overloads both{read, read_numbers};
    walk_all_named(both, out);
    return out;
}

}  // namespace detail

/// A tensor, or all tensors and Reals of a struct, tuple, vector or map of them, as one .npz file. Their names are their paths:
/// names of fields, numbers of elements, keys of maps, "layers.2.weight". Throws Error when it cannot be written.
template <class X>
void save_npz(const std::string& path, const X& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::located("save_npz", at, [&] { detail::save_tree(path, x, at); });
}

/// A copy of `like` with its tensors read from a file that save_npz wrote, as constants; names are numbers of fields in files of
/// older versions. Throws Error when one is missing,
/// ShapeError or DTypeError when it is another one than in `like`.
template <class X>
X load_npz(const std::string& path, const X& like, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::located("load_npz", at, [&] { return detail::load_tree(path, like); });
}

}  // namespace wengert
