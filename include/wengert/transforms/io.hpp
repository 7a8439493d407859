// Structs of tensors to and from .npz files.
#pragma once

#include "../ops/io.hpp"
#include "level.hpp"

namespace wengert {

namespace detail {

inline std::string joined(const std::string& path, const std::string& name)
{
    return path.empty() ? name : path + "." + name;
}

template <class K> std::string key_text(const K& key)
{
    if constexpr (std::is_arithmetic_v<K>)
        return std::to_string(key);
    else
        return std::string(key);
}

/// fn(path, tensor) for all tensors of a tree. A path is made of field and element numbers and of keys: "0.2.weight".
template <class F, class X> void walk_named(const std::string& path, F& fn, X& x)
{
    using Plain = std::remove_const_t<X>;
    namespace td = tree::detail;
    const auto fields = [&](auto&& tuple) {
        std::apply(
            [&](auto&... field) {
                std::size_t i = 0;
                (walk_named(joined(path, std::to_string(i++)), fn, field), ...);
            },
            tuple);
    };
    if constexpr (tree::is_leaf<Plain>) {
        fn(path.empty() ? std::string("arr_0") : path, x);
    } else if constexpr (!tree::contains_leaf<Plain>) {
        return;
    } else if constexpr (td::optional_like<Plain>) {
        if (x.has_value()) walk_named(path, fn, *x);
    } else if constexpr (td::map_like<Plain>) {
        for (auto& entry : x) walk_named(joined(path, key_text(entry.first)), fn, entry.second);
    } else if constexpr (td::range_like<Plain>) {
        std::size_t i = 0;
        for (auto& element : x) walk_named(joined(path, std::to_string(i++)), fn, element);
    } else if constexpr (reflect::detail::tuple_like<Plain>) {
        fields(x);
    } else {
        fields(reflect::tie(x));
    }
}

}  // namespace detail

/// A tensor, or all tensors of a struct, tuple, vector or map of them, as one .npz file. Their names are their paths:
/// numbers of fields and elements, keys of maps. Throws Error when it cannot be written.
template <class X> void save_npz(const std::string& path, const X& x)
{
    std::vector<Ref<Block>> blocks;
    std::vector<std::pair<std::string, NpyView>> views;
    auto add = [&]<class T>(const std::string& name, const Tensor<T>& t) {
        note_read(*t.any().value, Read::elements, {});
        const Block& b = *blocks.emplace_back(contiguous(t.any().value));
        views.push_back({name, {npy_dtype<T>(), detail::shape_vector(b.shape), {b.data, b.bytes()}}});
    };
    detail::walk_named("", add, x);
    write_npz(path, views);
}

/// A copy of `like` with its tensors read from a file that save_npz wrote, as constants. Throws Error when one is missing,
/// ShapeError or DTypeError when it is another one than in `like`.
template <class X> X load_npz(const std::string& path, const X& like)
{
    const auto arrays = read_npz(path);
    X out = like;
    auto read = [&]<class T>(const std::string& name, Tensor<T>& t) {
        const auto found = arrays.find(name);
        if (found == arrays.end()) throw Error("[load_npz] '" + path + "' has no array '" + name + "'");
        Tensor<T> loaded = detail::tensor_from<T>(path + ":" + name, found->second);
        if (!(loaded.shape() == t.shape()))
            throw ShapeError("[load_npz] '" + path + ":" + name + "' has shape " + to_string(loaded.shape()) +
                             ", not " + to_string(t.shape()));
        t = std::move(loaded);
    };
    detail::walk_named("", read, out);
    return out;
}

}  // namespace wengert
