// The bodies of shape.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <bit>

#include "../separate.hpp"
#include "../shape.hpp"

namespace wengert {

WENGERT_INLINE void Extents::resize_on_heap(std::size_t rank)
{
    // there is room for the next power of two, so that a list which grows one by one is not copied each time
    if (rank > inline_rank && rank > rank_ && (!on_heap() || rank > std::bit_ceil(rank_))) {
        auto* grown = new std::int64_t[std::bit_ceil(rank)];
        std::memcpy(grown, data(), rank_ * sizeof(std::int64_t));
        release();
        heap_ = grown;
    } else if (rank <= inline_rank) {
        std::int64_t* old = heap_;
        std::memcpy(inline_, old, rank * sizeof(std::int64_t));
        delete[] old;
    }
    rank_ = static_cast<std::uint32_t>(rank);
}

WENGERT_INLINE std::string to_string(const Extents& shape)
{
    std::string text = "(";
    for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
    return text + ")";
}

WENGERT_INLINE void check_shape(std::string_view primitive, const Shape& shape, const Site& at)
{
    std::int64_t n = 1;
    for (auto e : shape) {
        if (e < 0) fail<ShapeError>(primitive, "a shape has no negative extents: " + to_string(shape), at);
        if (e != 0 && (__builtin_mul_overflow(n, e, &n) || n > static_cast<std::int64_t>(max_elements)))
            fail<ShapeError>(primitive, "shape " + to_string(shape) + " has too many elements", at);
    }
}

WENGERT_INLINE Shape broadcast_shapes(std::string_view primitive, const Shape& a, const Shape& b,
                                      const Site& at)
{
    const Shape& longer = a.size() >= b.size() ? a : b;
    const Shape& shorter = a.size() >= b.size() ? b : a;
    Shape out = longer;
    const std::size_t lead = longer.size() - shorter.size();
    for (std::size_t i = 0; i < shorter.size(); ++i) {
        std::int64_t& e = out[lead + i];
        if (e == shorter[i] || shorter[i] == 1) continue;
        if (e != 1)
            fail<ShapeError>(
                primitive,
                "shapes " + to_string(a) + " and " + to_string(b) + " cannot be broadcast together", at);
        e = shorter[i];
    }
    return out;
}

WENGERT_INLINE Shape arranged(std::string_view primitive, Shape asked, const Shape& from, const Site& at)
{
    Shape shape = asked;
    std::size_t unknown = shape.size();
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] == -1 && unknown == shape.size())
            unknown = i;
        else if (shape[i] < 0)
            fail<ShapeError>(primitive, "negative extents in " + to_string(asked), at);
    }
    const bool open = unknown < shape.size();
    if (open) shape[unknown] = 1;
    check_shape(primitive, shape, at);
    const std::size_t known = element_count(shape), size = element_count(from);
    if (open && known > 0) shape[unknown] = static_cast<std::int64_t>(size / known);
    if ((open && known == 0) || element_count(shape) != size)
        fail<ShapeError>(primitive,
                         "cannot arrange the " + std::to_string(size) + " elements of shape " +
                             to_string(from) + " as " + to_string(asked),
                         at);
    return shape;
}

WENGERT_INLINE void check_broadcast(std::string_view primitive, const Shape& from, const Shape& to,
                                    const Site& at)
{
    check_shape(primitive, to, at);
    if (from.size() > to.size() || !(broadcast_shapes(primitive, from, to, at) == to))
        fail<ShapeError>(primitive, "shape " + to_string(from) + " cannot be broadcast to " + to_string(to),
                         at);
}

}  // namespace wengert
