// Forward mode through scalar code: the tangents of entries, computed in one pass over what is new when one is asked for.
#pragma once

#include "rules.hpp"

namespace wengert::detail {

/// Real<T>(x), explicit where it is narrower.
template <class T> Real<T> narrowed(const Real<double>& x) { return Real<T>(x); }

/// The stream of a tape that must have one, as one of its numbers is an operand.
inline ScalarStream& stream_of(Tape& tape, std::string_view operation, const Site& at = {})
{
    if (!tape.extension) ScalarStream::refuse(operation, at);
    return static_cast<ScalarStream&>(*tape.extension);
}

/// Is it a constant 0?
inline bool is_passive_zero(double x) { return x == 0; }
inline bool is_passive_zero(const Real<double>& x) { return !x.is_active() && x.plain() == 0; }

/// Is the product r of g no term of a sum, by the zero-cotangent rule? A recording is then right only where g is 0: the comparison is a
/// branch of it.
inline bool is_no_term(const Real<double>& g, const Real<double>& r)
{
    return is_zero_by_rule(g.plain(), 0.0, r.plain()) && g == 0.0;
}

/// Under AnomalyMode: a derivative of an entry is no number, those of its operands are.
[[noreturn]] void refuse_birth(ScalarStream& s, ScalarPosition p, std::string_view pass);

class ScalarForward {
public:
    /// Of a forward level that is open.
    ScalarForward(ScalarStream& s, std::size_t level) : stream_(s), level_(level), at_(find()) {}

    /// The tangent of an entry. A sum that begins with 0 is never −0, whether or not it is recorded.
    Real<double> of(ScalarPosition position)
    {
        advance(position + 1);
        return dot(position) + 0.0;
    }
    /// All entries so far are dealt with.
    void advance(ScalarPosition to);
    /// For tangents of other variables, through the same entries.
    void restart()
    {
        stream_.tangents[at_].cut(0);
        stream_.tangents[at_].plain = true;
    }
    void set(ScalarPosition position, const Real<double>& dot)
    {
        ScalarTangents& t = stream_.tangents[at_];
        t.set(position - t.base, dot.plain(), dot.handle());
    }
    /// The same for entries from `first` on: dot(k) is the tangent of the k-th.
    template <class Dot> void set(ScalarPosition first, std::size_t count, const Dot& dot)
    {
        advance(first + count);
        for (std::size_t k = 0; k < count; ++k) set(first + k, Real<double>(dot(k)));
    }
    /// The tangents of all entries up to a position, if none of them is recorded, else null.
    const ScalarTangents* plain_up_to(ScalarPosition end)
    {
        advance(end);
        return stream_.tangents[at_].plain ? &stream_.tangents[at_] : nullptr;
    }

private:
    std::size_t find()
    {
        auto& all = stream_.tangents;
        const std::uint64_t start = stream_.tape().level(level_).start;
        std::erase_if(all, [&](const ScalarTangents& t) { return t.level == level_ && t.start != start; });
        for (std::size_t k = 0; k < all.size(); ++k)
            if (all[k].level == level_) return k;
        all.push_back({level_, start, first_position(start), std::exchange(stream_.dots, {})});
        return all.size() - 1;
    }
    ScalarPosition first_position(std::uint64_t start) const
    {
        ScalarPosition first = stream_.end();
        const auto& spans = stream_.spans();
        for (std::size_t i = spans.size(); i-- > 0 && spans[i]->node->sequence >= start;)
            first = spans[i]->begin;
        return first;
    }
    // the list may move: other levels are found while this one advances
    std::vector<double>& dots() { return stream_.tangents[at_].dots; }
    ScalarPosition base() { return stream_.tangents[at_].base; }

    Real<double> dot(ScalarPosition position) const
    {
        const ScalarTangents& t = stream_.tangents[at_];
        if (position < t.base) return {};
        return Real<double>(t.dots[position - t.base], t.handle(position - t.base));
    }
    ScalarPosition advance_plain(ScalarPosition i, ScalarPosition to);
    void look_for_births(ScalarPosition from, ScalarPosition to);
    Real<double> step(ScalarPosition i);

    ScalarStream& stream_;
    std::size_t level_, at_;
};

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/tangents.ipp"
#endif
