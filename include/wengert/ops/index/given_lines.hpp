// Gathers and scatters: programs in which one position is an element of an integer operand and all others are affine, as loops
// over axes that are merged where they can be. The order is that of index.hpp.
#pragma once

#include "scan_lines.hpp"

namespace wengert::detail {

class GivenLines {
public:
    static bool can(const Index::Read& read, const Access& x, const Access& y)
    {
        if (read.minus || (read.how != Combine::assign && read.how != Combine::add)) return false;
        if (!x.rules().empty() || !y.rules().empty() || x.givens().size() + y.givens().size() != 1)
            return false;
        for (const Position& q : (x.given() ? x : y).givens().data()->given->at)
            if (!q.plain()) return false;
        return true;
    }
    GivenLines(const Index& p, const Access& x, const Access& y)
        : x_(x.data()), y_(y.data()), x_offset_(x.offset()), y_offset_(y.offset()), gathers_(x.given())
    {
        const Access::Givens& g = *(x.given() ? x : y).givens().data();
        const Block& v = *g.in[g.given->operand];
        const Strides strides = v.strides();
        stride_ = g.stride;
        extent_ = g.given->from_end ? g.extent : 0;
        v_ = v.as<std::int64_t>();
        for (std::size_t d = 0; d < g.given->at.size(); ++d) v_ += g.given->at[d].offset * strides[d];
        for (std::size_t a = 0; a < p.extents.size(); ++a) {
            Axis axis{p.extents.data()[a], x.strides().data()[a], y.strides().data()[a], 0};
            for (std::size_t d = 0; d < g.given->at.size(); ++d)
                axis.v += g.given->at[d].step_along(a) * strides[d];
            add(axis);
        }
    }
    void run(DType d, Combine how) const
    {
        if (how == Combine::assign)
            return size_of(d) == 8   ? over<std::uint64_t, PutAssigned>()
                   : size_of(d) == 4 ? over<std::uint32_t, PutAssigned>()
                                     : over<std::uint8_t, PutAssigned>();
        switch (d) {
        case DType::int32: return over<std::int32_t, PutSum>();
        case DType::int64: return over<std::int64_t, PutSum>();
        case DType::boolean: refuse_truth();
        default: return of_real<Sums>(d, *this);
        }
    }

private:
    struct Sums {
        template <class T> static void of(const GivenLines& g) { g.over<T, PutSum>(); }
    };
    /// An extent, and how far apart its elements lie: of x, y and the integers.
    struct Axis {
        std::int64_t n, x, y, v;
    };

    void add(const Axis& a)
    {
        if (a.n == 1) return;
        if (!axes_.empty()) {
            Axis& outer = axes_.back();
            if (outer.x == a.x * a.n && outer.y == a.y * a.n && outer.v == a.v * a.n) {
                outer = {outer.n * a.n, a.x, a.y, a.v};
                return;
            }
        }
        axes_.push_back(a);
    }
    /// The place of the element that an integer names. A negative integer counts from the end.
    std::int64_t place(std::int64_t i) const noexcept { return (i + (i >> 63 & extent_)) * stride_; }

    template <class T, class Put> void over() const
    {
        const std::size_t rank = axes_.size(), outer = rank > 2 ? rank - 2 : 0;
        const Axis one{1, 0, 0, 0};
        const Axis &lines = rank > 1 ? axes_.data()[rank - 2] : one,
                   &line = rank > 0 ? axes_.data()[rank - 1] : one;
        SmallVector<std::int64_t, 8> at;
        at.resize(outer);
        for (std::int64_t& a : at) a = 0;
        const T* x = reinterpret_cast<const T*>(x_) + x_offset_;
        T* y = reinterpret_cast<T*>(y_) + y_offset_;
        const std::int64_t* v = v_;
        for (;;) {
            if (line.v == 0)
                whole_lines<T, Put>(lines, line, x, y, v);
            else
                elements<T, Put>(lines, line, x, y, v);
            std::size_t a = outer;
            for (; a-- > 0;) {
                const Axis& axis = axes_.data()[a];
                x += axis.x, y += axis.y, v += axis.v;
                if (++at.data()[a] < axis.n) break;
                x -= axis.x * axis.n, y -= axis.y * axis.n, v -= axis.v * axis.n;
                at.data()[a] = 0;
            }
            if (a == ~std::size_t{0}) return;
        }
    }
    template <class T, class Put>
    void whole_lines(const Axis& lines, const Axis& line, const T* x, T* y, const std::int64_t* v) const
    {
        const std::int64_t n = line.n;
        for (std::int64_t k = 0; k < lines.n; ++k) {
            const std::int64_t i = place(v[k * lines.v]);
            const T* from = x + k * lines.x + (gathers_ ? i : 0);
            T* to = y + k * lines.y + (gathers_ ? 0 : i);
            if (line.x == 1 && line.y == 1)
                for (std::int64_t j = 0; j < n; ++j) Put::put(to[j], from[j]);
            else
                for (std::int64_t j = 0; j < n; ++j) Put::put(to[j * line.y], from[j * line.x]);
        }
    }
    template <class T, class Put>
    void elements(const Axis& lines, const Axis& line, const T* x, T* y, const std::int64_t* v) const
    {
        for (std::int64_t k = 0; k < lines.n; ++k) {
            const T* from = x + k * lines.x;
            T* to = y + k * lines.y;
            const std::int64_t* index = v + k * lines.v;
            if (gathers_)
                for (std::int64_t j = 0; j < line.n; ++j)
                    Put::put(to[j * line.y], from[j * line.x + place(index[j * line.v])]);
            else
                for (std::int64_t j = 0; j < line.n; ++j)
                    Put::put(to[j * line.y + place(index[j * line.v])], from[j * line.x]);
        }
    }

    std::byte *x_, *y_;
    std::int64_t x_offset_, y_offset_, stride_ = 0, extent_ = 0;
    const std::int64_t* v_ = nullptr;
    SmallVector<Axis, 8> axes_;
    bool gathers_;
};

}  // namespace wengert::detail
