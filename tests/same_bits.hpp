/// Equal to the bit: how tests compare what executors compute.
#pragma once

#include <wengert/graph/ir/fields.hpp>
#include <wengert/tape/tensor.hpp>

#include <cstring>

/// The same bits, or two NaNs: sign and payload of a NaN come from either operand, as the compiler orders them.
template <class T>
    requires std::is_arithmetic_v<T>
bool same_bits(T a, T b)
{
    return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}
/// How many elements of blocks of one dtype and shape differ.
inline std::size_t different_elements(const wengert::Block& a, const wengert::Block& b)
{
    const auto block = [](const wengert::Block& x) {
        return wengert::readable(wengert::Ref<wengert::Block>(const_cast<wengert::Block*>(&x)));
    };
    const auto x = block(a), y = block(b);
    return wengert::with_dtype(a.dtype, [&]<class T>() {
        std::size_t n = 0;
        for (std::size_t i = 0; i < x->count; ++i)
            n += !same_bits(x->template as<T>()[i], y->template as<T>()[i]);
        return n;
    });
}
inline bool same_bits(const wengert::Block& a, const wengert::Block& b)
{
    return a.dtype == b.dtype && a.shape == b.shape && different_elements(a, b) == 0;
}
template <class T> bool same_bits(const wengert::Tensor<T>& a, const wengert::Tensor<T>& b)
{
    return same_bits(*a.any().value, *b.any().value);
}

/// The same bits, those of NaNs too.
inline bool identical(const wengert::Block& a, const wengert::Block& b)
{
    const auto block = [](const wengert::Block& x) {
        return wengert::readable(wengert::Ref<wengert::Block>(const_cast<wengert::Block*>(&x)));
    };
    return wengert::same_elements(*block(a), *block(b));
}
template <class T> bool identical(const wengert::Tensor<T>& a, const wengert::Tensor<T>& b)
{
    return identical(*a.any().value, *b.any().value);
}
