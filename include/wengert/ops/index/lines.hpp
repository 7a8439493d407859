// Lines of index programs: an access along one axis, cut where a position is wrapped, clamped, mirrored or masked, so that in
// between it is affine.
#pragma once

#include "../../array/block.hpp"
#include "index.hpp"

namespace wengert::detail {

/// A position with its rule along one line: p + c j for j = 0, 1, …
struct RuledPosition {
    Position::Rule rule;
    std::int64_t p, c, extent, stride;
};
/// An integer operand along one line: its element's position in elements of the array is v · stride.
struct GivenPosition {
    const std::int64_t* v;
    std::int64_t step, stride, extent;  ///< the extent where negative ones count from the end, else 0
    std::int64_t at(std::int64_t j) const noexcept
    {
        const std::int64_t i = v[j * step];
        return (i + (i >> 63 & extent)) * stride;
    }
};

/// From where, by what, how far: the affine piece that begins at j = 0.
struct PositionPiece {
    std::int64_t position, slope, length;
    bool masked = false;
};

inline std::int64_t floored_modulo(std::int64_t a, std::int64_t n) noexcept
{
    const std::int64_t r = a % n;
    return r < 0 ? r + n : r;
}

inline PositionPiece position_piece(Position::Rule rule, std::int64_t p, std::int64_t c, std::int64_t n,
                                    std::int64_t length) noexcept
{
    using Rule = Position::Rule;
    const auto until =
        [&](std::int64_t way) {  // steps until p has gone by more than `way`, which is not negative
            return c == 0 ? length : std::min(length, way / (c < 0 ? -c : c) + 1);
        };
    switch (rule) {
    case Rule::wrapped: {
        const std::int64_t q = floored_modulo(p, n);
        return {q, c, until(c > 0 ? n - 1 - q : q)};
    }
    case Rule::clamped:
    case Rule::masked:
        if (p >= 0 && p < n) return {p, c, until(c > 0 ? n - 1 - p : p)};
        if (p < 0) return {0, 0, c > 0 ? until(-p - 1) : length, rule == Rule::masked};
        return {n - 1, 0, c < 0 ? until(p - n) : length, rule == Rule::masked};
    case Rule::mirrored: {
        if (n == 1) return {0, 0, length};
        const std::int64_t period = 2 * (n - 1), q = floored_modulo(p, period);
        if (q < n - 1 || (q == n - 1 && c <= 0)) return {q, c, until(c > 0 ? n - 1 - q : q)};
        return {period - q, -c, until(c > 0 ? period - 1 - q : q - (n - 1))};
    }
    default: return {p, c, length};
    }
}

/// One access along a line. Offsets and strides in elements.
struct Line {
    std::byte* data;
    std::int64_t offset = 0, stride = 0;
    bool masked = false;
    SmallVector<RuledPosition, 2> rules;
    SmallVector<GivenPosition, 2> givens;

    /// The affine piece from j on, of at most `length`.
    struct Piece {
        std::int64_t offset, stride, length;
        bool masked;
    };
    Piece piece(std::int64_t j, std::int64_t length) const noexcept
    {
        Piece x{offset + j * stride, stride, length, masked};
        for (const RuledPosition& r : rules) {
            const PositionPiece s = position_piece(r.rule, r.p + j * r.c, r.c, r.extent, x.length);
            x.offset += s.position * r.stride;
            x.stride += s.slope * r.stride;
            x.length = s.length;
            x.masked = x.masked || s.masked;
        }
        return x;
    }
    /// As if it ran from the other end.
    void turn_round(std::int64_t n) noexcept
    {
        offset += (n - 1) * stride;
        stride = -stride;
        for (RuledPosition& r : rules) {
            r.p += (n - 1) * r.c;
            r.c = -r.c;
        }
        for (GivenPosition& g : givens) {
            g.v += (n - 1) * g.step;
            g.step = -g.step;
        }
    }
};

/// An access of a program: strides of its axes, and the positions that are more than affine.
class Access {
public:
    /// `shape`: the array's, or what it is arranged in while it is written.
    Access(const Index& p, const Positions& at, const Block& array, const Shape& shape, const Ref<Block>* in)
        : data_(array.data)
    {
        strides_.resize(p.extents.size());
        for (std::int64_t& s : strides_) s = 0;
        std::int64_t rows = 1;
        for (std::size_t d = at.size(); d-- > 0;) {
            const Position& q = at.data()[d];
            const std::int64_t stride = array.strided ? array.view_strides.data()[d] : rows,
                               extent = shape.data()[d];
            rows *= extent;
            if (q.given)
                givens_.push_back({&p.givens[q.given - 1], in, stride, extent});
            else if (q.rule != Position::Rule::inside)
                rules_.push_back({&q, extent, stride});
            else
                add(q, stride);
        }
    }
    bool affine() const noexcept { return rules_.empty() && givens_.empty(); }
    bool given() const noexcept { return !givens_.empty(); }
    std::int64_t offset() const noexcept { return offset_; }
    const SmallVector<std::int64_t, 8>& strides() const noexcept { return strides_; }
    std::byte* data() const noexcept { return data_; }
    struct Ruled {
        const Position* at;
        std::int64_t extent, stride;
    };
    const SmallVector<Ruled, 4>& rules() const noexcept { return rules_; }
    struct Givens {
        const Index::Given* given;
        const Ref<Block>* in;
        std::int64_t stride, extent;
    };
    const SmallVector<Givens, 2>& givens() const noexcept { return givens_; }
    /// Does more than an affine step depend on the axis?
    bool special(std::size_t a) const noexcept
    {
        for (const Ruled& r : rules_)
            if (r.at->step_along(a) != 0) return true;
        for (const Givens& g : givens_)
            for (const Position& q : g.given->at)
                if (q.step_along(a) != 0) return true;
        return false;
    }

    /// The line along axis `inner`, with the other axes at `at`.
    void line(std::size_t inner, const std::int64_t* at, Line& out) const
    {
        out.data = data_;
        out.offset = offset_;
        out.stride = inner < strides_.size() ? strides_.data()[inner] : 0;
        out.masked = false;
        out.rules.clear();
        out.givens.clear();
        for (std::size_t a = 0; a < strides_.size(); ++a) out.offset += at[a] * strides_.data()[a];
        for (const Ruled& r : rules_) {
            const std::int64_t p = value(*r.at, at), c = r.at->step_along(inner);
            if (c != 0) {
                out.rules.push_back({r.at->rule, p, c, r.extent, r.stride});
                continue;
            }
            const PositionPiece s = position_piece(r.at->rule, p, 0, r.extent, 1);
            out.offset += s.position * r.stride;
            out.masked = out.masked || s.masked;
        }
        for (const Givens& g : givens_) {
            const Block& v = *g.in[g.given->operand];
            const Strides strides = v.strides();
            GivenPosition line{v.as<std::int64_t>(), 0, g.stride, g.given->from_end ? g.extent : 0};
            for (std::size_t d = 0; d < g.given->at.size(); ++d) {
                line.v += value(g.given->at[d], at) * strides[d];
                line.step += g.given->at[d].step_along(inner) * strides[d];
            }
            if (line.step == 0)
                out.offset += line.at(0);
            else
                out.givens.push_back(line);
        }
    }

private:
    void add(const Position& q, std::int64_t stride)
    {
        offset_ += q.offset * stride;
        for (std::size_t t = 0; t < q.terms; ++t) strides_.data()[q.axis[t]] += q.step[t] * stride;
    }
    /// The position at the axes `at`, with the inner axis at 0.
    static std::int64_t value(const Position& q, const std::int64_t* at)
    {
        std::int64_t p = q.offset;
        for (std::size_t t = 0; t < q.terms; ++t) p += q.step[t] * at[q.axis[t]];
        return p;
    }

    std::byte* data_;
    std::int64_t offset_ = 0;
    SmallVector<std::int64_t, 8> strides_;
    SmallVector<Ruled, 4> rules_;
    SmallVector<Givens, 2> givens_;
};

}  // namespace wengert::detail
