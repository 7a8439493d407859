// The adjoints of scalar code in one walk: in doubles, or in reals where a level below wants the sweep recorded.
#pragma once

#include <map>

#include "../../tape/walk.hpp"
#include "rules.hpp"

namespace wengert::detail {

/// The adjoints of the places of one segment, from the first that the walk can reach.
struct SegmentAdjoints {
    SegmentAdjoints(ScalarPlace where, ScalarPlace first) : segment(where), base(first) {}
    std::size_t size() const noexcept { return std::max(used, rich.size()); }

    ScalarPlace segment, base;
    std::size_t used = 0, swept = 0;  ///< slots of plain that have an adjoint, and those that are 0 again
    std::vector<double>
        plain;  ///< the first slot takes what is sent to places before base, which nobody asks for
    std::vector<Real<double>> rich;

    std::size_t slot(ScalarPlace p) const noexcept { return p - base + 1; }
    double& at(ScalarPlace p) noexcept { return plain[slot(p)]; }
    /// Into the cache; places of others do no harm.
    void ask_for(ScalarPlace p) const noexcept
    {
        const auto first = reinterpret_cast<std::uintptr_t>(plain.data());
        __builtin_prefetch(reinterpret_cast<const void*>(first + slot(p) * sizeof(double)), 1);
    }
    /// Adjoints up to a place.
    void grow(ScalarPlace end, std::vector<double>& zeros)
    {
        const std::size_t n = end - base;
        if (used >= n) return;
        if (plain.empty()) plain.swap(zeros);
        if (plain.size() < n + 1) plain.resize(n + 1);
        used = n;
    }
    void begin_at(ScalarPlace begin)
    {
        if (begin >= base) return;
        const std::size_t more = base - begin;
        base = begin;
        if (!rich.empty()) rich.insert(rich.begin(), more, Real<double>());
        if (used == 0) return;
        plain[0] = 0;
        plain.insert(plain.begin(), more, 0.0);
        used += more;
    }
    void become_recorded()
    {
        if (used > 0) rich.assign(plain.begin() + 1, plain.begin() + 1 + static_cast<std::ptrdiff_t>(used));
        plain = {};
        used = 0;
    }
    /// Gives its memory back, as zeros.
    void give_up(std::vector<double>& zeros)
    {
        if (plain.empty() || plain.size() < zeros.size()) return;
        if (swept != used) std::fill(plain.begin(), plain.end(), 0.0);  // else the sweep has done it
        plain[0] = 0;
        zeros = std::move(plain);
    }
};

/// The adjoints of one walk, segment by segment: only where one has been sent to is there memory for them.
class ScalarAdjoints {
public:
    /// Of stretches from that sequence number on.
    ScalarAdjoints(ScalarStream& s, std::uint64_t since) : stream_(s), base_(s.end()), newest_(s.segment(), 0)
    {
        const auto& all = s.stretches();
        for (std::size_t i = all.size(); i-- > 0 && all[i]->node->sequence >= since;) {
            base_ = all[i]->begin;
            start_ = all[i]->node->sequence;
        }
        newest_.base = std::max(base_, newest_.segment);
    }

    ScalarAdjoints(const ScalarAdjoints&) = delete;
    ScalarAdjoints& operator=(const ScalarAdjoints&) = delete;
    /// What checkpoints have recorded again for a level that has ended before goes with the walk.
    ~ScalarAdjoints()
    {
        stream_.drop_dead(start_);
        each([&](SegmentAdjoints& part) { part.give_up(stream_.zeros); });
    }

    static ScalarAdjoints& of(Walk& walk)
    {
        if (!walk.attached)
            walk.attached = std::make_shared<ScalarAdjoints>(ScalarStream::of(walk.tape()), walk.start());
        return *static_cast<ScalarAdjoints*>(walk.attached.get());
    }

    /// Places from here on count, too: what was older than the walk when it began may have gone since.
    void cover(ScalarPlace begin)
    {
        if (begin >= base_) return;
        base_ = begin;
        each([&](SegmentAdjoints& part) { part.begin_at(std::max(begin, part.segment)); });
    }
    /// From now on in reals.
    void become_recorded()
    {
        if (std::exchange(recorded_, true)) return;
        each([](SegmentAdjoints& part) { part.become_recorded(); });
    }
    bool recorded() const noexcept { return recorded_; }

    void add(ScalarPlace place, const Real<double>& g)
    {
        if (g.is_active()) become_recorded();
        if (place < base_) return;
        SegmentAdjoints& part = part_of(place);
        if (recorded_)
            part.rich[place - part.base] += g;
        else
            part.at(place) += g.plain();
    }
    /// The same for numbers that depend on nothing; places of 0 are none.
    template <class T> void add(const std::vector<ScalarPlace>& places, const T* g)
    {
        SegmentAdjoints* part = nullptr;
        ScalarPlace from = 0, end = 0;
        for (std::size_t k = 0; k < places.size(); ++k) {
            const ScalarPlace p = places[k];
            if (p == 0 || p < base_) continue;
            if (p - from >= end - from) {
                part = &part_of(p);
                from = part->base, end = from + part->used;
            }
            if (k + 24 < places.size())
                part->ask_for(places[k + 24]);  // every so many lines one: more than prefetchers see
            part->at(p) += static_cast<double>(g[k]);
        }
    }
    /// Takes plain adjoints out, from this place on; is any of them not 0?
    template <class T> bool take(ScalarPlace place, std::uint32_t count, T* to)
    {
        bool any = false;
        double* const from = &part_of(place, count).at(place);
        for (std::uint32_t k = 0; k < count; ++k) {
            any = any || from[k] != 0.0;
            to[k] = static_cast<T>(std::exchange(from[k], 0.0));
        }
        return any;
    }
    /// Takes an adjoint out.
    Real<double> take(ScalarPlace place)
    {
        SegmentAdjoints& part = part_of(place);
        return recorded_ ? std::exchange(part.rich[place - part.base], Real<double>())
                         : Real<double>(std::exchange(part.at(place), 0.0));
    }

    /// These stay where they are: nobody takes them out.
    void leave(const ScalarStretch::Entered& e) noexcept { part_of(e.begin).swept -= e.count; }

    /// Through the operations of a stretch, down to `from`.
    void sweep(const ScalarStretch& s, ScalarPlace from, bool guarded);
    /// The sweep has been through a stretch and its inputs: a segment of which nothing is left needs no memory.
    void done(const ScalarStretch& s);

private:
    template <class Fn> void each(const Fn& fn)
    {
        fn(newest_);
        for (auto& [segment, part] : parts_) fn(part);
    }
    /// With adjoints for so many places from here on.
    SegmentAdjoints& part_of(ScalarPlace p, std::size_t count = 1)
    {
        if (last_ && p >= last_->base && p - last_->base + count <= last_->size()) return *last_;
        const ScalarPlace segment = stream_.segment_of(p), end = stream_.segment_end(p);
        last_ = segment == newest_.segment
                    ? &newest_
                    : &parts_.try_emplace(segment, segment, std::max(base_, segment)).first->second;
        recorded_ ? last_->rich.resize(std::max(last_->rich.size(), end - last_->base))
                  : last_->grow(end, stream_.zeros);
        return *last_;
    }

    template <bool guarded, bool inside>
    void sweep_plain(SegmentAdjoints& part, std::uint32_t begin, std::uint32_t end);
    void pull_function(SegmentAdjoints& part, std::uint32_t i, double g);
    void sweep_recorded(SegmentAdjoints& part, ScalarPlace begin, ScalarPlace end, bool guarded);

    ScalarStream& stream_;
    std::uint64_t start_ =
        std::numeric_limits<std::uint64_t>::max();  ///< sequence number from which it counts
    ScalarPlace base_;
    bool recorded_ = false;
    SegmentAdjoints newest_;  ///< of the segment that was the newest when the walk began
    std::map<ScalarPlace, SegmentAdjoints> parts_;  ///< of others
    SegmentAdjoints* last_ = nullptr;               ///< asked for last
};

/// Announces a stretch to the walk; what it sends back lies with the adjoints.
inline void announce(Walk& walk, Node& stretch)
{
    if (walk.reaches(&stretch) && !stretch.cotangent.value) walk.deliver(stretch, {token_block(), {}});
}

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/adjoints.ipp"
#endif
