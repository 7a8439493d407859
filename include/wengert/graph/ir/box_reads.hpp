// What moves elements as boxes: rolls, parts, paddings, concatenations, sums of parts, and the transposes of these. In each box of
// the result the elements are those of an operand in their order, or a number.
#pragma once

#include <optional>

#include "index_program.hpp"

namespace wengert::detail {

/// Where an element is read along an axis: first + step · i, i its place along `axis` of what reads it.
struct BoxPlace {
    static constexpr std::uint8_t nowhere = 0xff;  ///< it depends on no axis
    std::uint8_t axis = nowhere;
    std::int64_t step = 0, first = 0;
    auto operator<=>(const BoxPlace&) const = default;
};
using BoxPlaces = std::vector<BoxPlace>;  ///< one for each axis of what is read

/// In [low, high) of the result the operand's elements, or a number, meet what is there.
struct BoxRead {
    std::vector<std::int64_t> low, high;
    ValueId operand = no_value;  ///< no_value: the number
    double number = 0;
    BoxPlaces at;
    Combine how = Combine::assign;
    bool minus = false;
};

/// An operation as reads of boxes, in order, of a result that begins as `start` says.
struct BoxReads {
    static constexpr std::size_t most = 64;

    Index::Start start = Index::Start::nothing;
    double fill = 0;
    ValueId base = no_value;
    std::vector<BoxRead> reads;

    /// Empty where the operation is no such thing.
    static std::optional<BoxReads> of(const Graph& g, const GraphNode& n)
    {
        BoxReads b;
        if (n.kind != Graph::Kind::operation || n.primitive->value || !is_described(*n.primitive)) return {};
        const bool all = element_count(n.shape) > 0 &&
                         each_program(g, n, [&](const Index& p, std::span<const ValueId> in) {
                             return b.take(g, n, p, in);
                         });
        if (!all || b.reads.empty() || (n.dtype == DType::boolean && !b.only_moves())) return {};
        return b;
    }

private:
    using Rule = Position::Rule;
    static constexpr std::size_t no_axis = ~std::size_t{0};

    /// A part [begin, end) of an axis of a program: its element i is written at written + i and read at first + step · i.
    struct Span {
        std::int64_t begin, end, written = 0, first = 0, step = 0;
        bool outside = false;  ///< a number is read
    };
    /// An axis of a program: which axis of the result and of the operand it runs along.
    struct Axis {
        std::size_t to = no_axis, from = no_axis;
        std::vector<Span> spans;
    };

    bool only_moves() const
    {
        bool moves = start != Index::Start::fill && start != Index::Start::operand;
        for (const BoxRead& r : reads) moves = moves && r.operand != no_value && r.how == Combine::assign;
        return moves;
    }
    bool take(const Graph& g, const GraphNode& n, const Index& p, std::span<const ValueId> in)
    {
        if (p.arranged || p.given_count > 0 || p.scanned != Scan::none || p.neutral || !(p.result == n.shape))
            return false;
        start = p.start, fill = p.fill;
        if (start == Index::Start::operand) {
            base = in[p.base];
            if (!(g.node(base).shape == n.shape) || g.node(base).dtype != n.dtype) return false;
        }
        for (std::size_t k = 0; k < p.read_count; ++k) {
            const Index::Read& r = p.reads[k];
            const bool number = r.operand == Index::no_operand;
            if (number || g.node(in[r.operand]).dtype != n.dtype) return false;
            if (r.how != Combine::assign && r.how != Combine::add) return false;
            if (!read(p, r, in[r.operand])) return false;
        }
        return true;
    }
    /// The spans of every axis, and a read of each of their combinations.
    bool read(const Index& p, const Index::Read& r, ValueId operand)
    {
        const Positions& to = p.writes[r.write];
        const Shape &result = p.result, &array = p.shape(r.operand);
        std::vector<Axis> axes(p.extents.size());
        BoxRead whole{{}, {}, operand, r.fill, BoxPlaces(array.size()), r.how, r.minus};
        for (std::size_t a = 0; a < axes.size(); ++a) axes[a].spans.push_back({0, p.extents.data()[a]});
        if (!meet(p, to, result, axes, true) || !meet(p, r.at, array, axes, false)) return false;
        for (std::size_t d = 0; d < result.size(); ++d) {
            whole.low.push_back(to.data()[d].offset);
            whole.high.push_back(to.data()[d].offset + 1);
        }
        for (std::size_t d = 0; d < array.size(); ++d) whole.at[d].first = r.at.data()[d].offset;
        for (std::size_t a = 0; a < axes.size(); ++a)  // elements that meet in one place
            if (axes[a].to == no_axis && p.extents.data()[a] != 1) return false;
        return combine(axes, 0, whole, false);
    }
    /// Cuts axes where positions wrap around or leave the array.
    static bool meet(const Index& p, const Positions& at, const Shape& array, std::vector<Axis>& axes,
                     bool written)
    {
        for (std::size_t d = 0; d < at.size(); ++d) {
            const Position& q = at.data()[d];
            std::size_t t = 0, moving = 0;
            for (std::size_t k = 0; k < q.terms; ++k)
                if (p.extents.data()[q.axis[k]] != 1 && q.step[k] != 0) t = k, ++moving;
            if (moving == 0 && q.offset >= 0 && q.offset < array[d]) continue;
            if (moving != 1 || q.step[t] != 1 || array[d] == 0 || q.rule == Rule::mirrored ||
                q.rule == Rule::invalid)
                return false;
            Axis& x = axes[q.axis[t]];
            if ((written ? x.to : x.from) != no_axis || (written && q.rule == Rule::clamped)) return false;
            (written ? x.to : x.from) = d;
            std::vector<Span> cut;
            for (const Span& s : x.spans)
                if (!cut_span(s, q, array[d], written, cut)) return false;
            x.spans = std::move(cut);
        }
        return true;
    }
    static bool cut_span(const Span& s, const Position& q, std::int64_t n, bool written,
                         std::vector<Span>& cut)
    {
        for (std::int64_t i = s.begin; i < s.end;) {
            const std::int64_t at = i + q.offset, lap = (at >= 0 ? at : at - (n - 1)) / n;
            Span part = s;
            part.begin = i;
            part.end = std::min(s.end, lap < 0 && q.rule != Rule::wrapped   ? -q.offset
                                       : lap > 0 && q.rule != Rule::wrapped ? s.end
                                                                            : n * (lap + 1) - q.offset);
            std::int64_t first = q.offset, step = 1;
            if (q.rule == Rule::wrapped) first -= lap * n;
            if (lap != 0 && q.rule == Rule::clamped) first = lap < 0 ? 0 : n - 1, step = 0;
            if (written)
                part.written = first;
            else
                part.first = first, part.step = step, part.outside = lap != 0 && q.rule == Rule::masked;
            if (!(written && lap != 0 && q.rule == Rule::masked)) cut.push_back(part);
            if (cut.size() > most) return false;
            i = part.end;
        }
        return true;
    }
    bool combine(const std::vector<Axis>& axes, std::size_t a, const BoxRead& now, bool outside)
    {
        if (a == axes.size()) {
            reads.push_back(now);
            if (outside) reads.back().operand = no_value;
            return reads.size() <= most;
        }
        for (const Span& s : axes[a].spans) {
            BoxRead next = now;
            if (axes[a].to != no_axis) {
                next.low[axes[a].to] = s.written + s.begin;
                next.high[axes[a].to] = s.written + s.end;
            }
            if (axes[a].from != no_axis)
                next.at[axes[a].from] = {static_cast<std::uint8_t>(axes[a].to), s.step,
                                         s.first - s.step * s.written};
            if (!combine(axes, a + 1, next, outside || s.outside)) return false;
        }
        return true;
    }
};

}  // namespace wengert::detail
