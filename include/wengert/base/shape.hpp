// Shapes and strides: short lists of 64-bit extents that live in line up to rank 6.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "error.hpp"

namespace wengert {

/// Any integer, so that `{n, 3}` with a std::size_t n is a list of extents without a narrowing error.
struct Extent {
    template <class I>
        requires std::is_integral_v<I>
    constexpr Extent(I i) : value(static_cast<std::int64_t>(i))
    {}
    std::int64_t value;
};

class Extents;
/// "(3, 4)", "(3,)" is written "(3)", rank 0 "()".
std::string to_string(const Extents& shape);

/// A small vector of extents. No heap below rank 7; copies touch only the used entries.
class Extents {
public:
    using value_type = std::int64_t;
    static constexpr std::size_t inline_rank = 6;

    Extents() noexcept {}
    /// `rank` times `fill`. No constructor: in templates clang 16 would prefer it to a list of extents.
    static Extents filled(std::size_t rank, std::int64_t fill = 0)
    {
        Extents result;
        result.resize(rank);
        for (auto& e : result) e = fill;
        return result;
    }
    Extents(std::initializer_list<Extent> list)
    {
        resize(list.size());
        for (std::size_t i = 0; i < list.size(); ++i) data()[i] = list.begin()[i].value;
    }
    Extents(const std::int64_t* first, std::size_t rank) { assign(first, rank); }
    Extents(const std::vector<std::int64_t>& v) { assign(v.data(), v.size()); }
    Extents(const std::vector<std::size_t>& v)
    {
        resize(v.size());
        for (std::size_t i = 0; i < v.size(); ++i) (*this)[i] = static_cast<std::int64_t>(v[i]);
    }
    Extents(const Extents& o)
    {
        if (o.on_heap())
            assign(o.heap_, o.rank_);
        else
            copy_inline(o);
    }
    Extents(Extents&& o) noexcept { take(o); }
    Extents& operator=(const Extents& o)
    {
        if (on_heap() || o.on_heap()) {
            if (this != &o) assign(o.data(), o.rank_);
        } else {
            copy_inline(o);
        }
        return *this;
    }
    Extents& operator=(Extents&& o) noexcept
    {
        if (this != &o) {
            release();
            take(o);
        }
        return *this;
    }
    ~Extents() { release(); }

    std::size_t size() const noexcept { return rank_; }
    bool empty() const noexcept { return rank_ == 0; }
    std::int64_t* data() noexcept { return on_heap() ? heap_ : inline_; }
    const std::int64_t* data() const noexcept { return on_heap() ? heap_ : inline_; }
    std::int64_t& operator[](std::size_t i) noexcept { return data()[i]; }
    const std::int64_t& operator[](std::size_t i) const noexcept { return data()[i]; }
    std::int64_t* begin() noexcept { return data(); }
    std::int64_t* end() noexcept { return data() + rank_; }
    const std::int64_t* begin() const noexcept { return data(); }
    const std::int64_t* end() const noexcept { return data() + rank_; }
    std::int64_t& back() noexcept { return data()[rank_ - 1]; }
    const std::int64_t& back() const noexcept { return data()[rank_ - 1]; }
    operator std::span<const std::int64_t>() const noexcept { return {data(), rank_}; }

    void resize(std::size_t rank)
    {
        if (rank > inline_rank || on_heap()) [[unlikely]]
            return resize_on_heap(rank);
        rank_ = static_cast<std::uint32_t>(rank);
    }
    void push_back(std::int64_t e)
    {
        resize(rank_ + 1);
        back() = e;
    }

    /// Copies all six words, used or not: cheaper than a loop over the used ones. Neither side may be on the heap.
    void copy_inline(const Extents& o) noexcept
    {
        rank_ = o.rank_;
        std::memcpy(inline_, o.inline_, sizeof inline_);
    }

    /// "(3, 4)"; a template, so that no stream is needed here.
    template <class Char, class Traits>
    friend std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out,
                                                        const Extents& e)
    {
        return out << to_string(e).c_str();
    }
    friend bool operator==(const Extents& a, const Extents& b) noexcept
    {
        if (a.rank_ != b.rank_) return false;
        if (a.rank_ == 1) return a.inline_[0] == b.inline_[0];
        const std::int64_t *p = a.data(), *q = b.data();
        for (std::size_t i = 0; i < a.rank_; ++i)
            if (p[i] != q[i]) return false;
        return true;
    }

private:
    bool on_heap() const noexcept { return rank_ > inline_rank; }
    void release() noexcept
    {
        if (on_heap()) delete[] heap_;
        rank_ = 0;
    }
    /// resize() where the old or the new rank is on the heap.
    void resize_on_heap(std::size_t rank);
    void assign(const std::int64_t* first, std::size_t rank)
    {
        resize(rank);
        std::int64_t* to = data();
        for (std::size_t i = 0; i < rank; ++i) to[i] = first[i];
    }
    void take(Extents& o) noexcept
    {
        copy_inline(o);  // the pointer lies there, too
        o.rank_ = 0;
    }
    std::uint32_t rank_ = 0;
    union {
        std::int64_t inline_[inline_rank] = {};
        std::int64_t* heap_;
    };
};

using Shape = Extents;
using Strides = Extents;  ///< in elements, zero along broadcast axes
using Axes = Extents;

/// Axes as an argument: several in braces, or one as a number.
struct AxesArgument : Axes {
    using Axes::Axes;
    AxesArgument() = default;
    AxesArgument(const Axes& axes) : Axes(axes) {}
    template <class I>
        requires(std::is_integral_v<I> && !std::is_same_v<I, bool>)
    AxesArgument(I axis) : Axes{axis}
    {}
};

inline std::size_t element_count(const Shape& shape) noexcept
{
    std::size_t n = 1;
    for (auto e : shape) n *= static_cast<std::size_t>(e);
    return n;
}

/// The shape of n arrays of shape `one`, stacked along a new first axis.
inline Shape stacked_shape(std::int64_t n, const Shape& one)
{
    Shape s{n};
    for (const auto e : one) s.push_back(e);
    return s;
}

inline Strides row_major(const Shape& shape)
{
    Strides strides = Strides::filled(shape.size());
    std::int64_t step = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
        strides[i] = step;
        step *= shape[i];
    }
    return strides;
}

/// The most elements of a shape: then the bytes of an array and every stride fit in 63 bits, whatever the dtype.
inline constexpr std::size_t max_elements = std::size_t{1} << 59;

/// Non-negative extents, and those that are not 0 have a product of at most max_elements: (0, 2⁶²) is refused as
/// (2⁶², 0) is. Anything else is the caller's mistake.
void check_shape(std::string_view primitive, const Shape& shape, const Site& at);

/// An axis in [-rank, rank) made non-negative.
inline std::size_t normalize_axis(std::string_view primitive, std::int64_t axis, const Shape& shape,
                                  const Site& at)
{
    const auto rank = static_cast<std::int64_t>(shape.size());
    if (axis < -rank || axis >= rank)
        fail<ShapeError>(
            primitive, "axis " + std::to_string(axis) + " is out of range for shape " + to_string(shape), at);
    return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

/// NumPy's rule: shapes are aligned at their ends; extents are equal or one of them is 1.
Shape broadcast_shapes(std::string_view primitive, const Shape& a, const Shape& b, const Site& at);

/// `asked` for the elements of shape `from`: one extent may be −1. Throws ShapeError when the sizes differ.
Shape arranged(std::string_view primitive, Shape asked, const Shape& from, const Site& at);

/// Refuses what `from` does not broadcast to.
void check_broadcast(std::string_view primitive, const Shape& from, const Shape& to, const Site& at);

/// Strides that read an array of `shape` as if it had the larger shape `to`: 0 along broadcast axes.
inline Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& to)
{
    Strides out = Strides::filled(to.size());
    const std::size_t lead = to.size() - shape.size();
    for (std::size_t i = 0; i < shape.size(); ++i)
        out[lead + i] = shape[i] == 1 && to[lead + i] != 1 ? 0 : strides[i];
    return out;
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/shape.ipp"
#endif
