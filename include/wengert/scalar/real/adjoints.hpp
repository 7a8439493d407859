// The adjoints of scalar code in one walk: in doubles; with tangents where one level of forward mode below wants no more than those
// (forward over reverse, in one pass); in reals where a level below wants the sweep recorded.
#pragma once

#include <map>

#include "../../tape/walk.hpp"
#include "adjoint_pairs.hpp"

namespace wengert::detail {

/// Values of a chunk's entries, by index: alone, or with their tangents.
struct ValuesOf {
    using Number = double;
    static constexpr std::size_t width = 1;  ///< doubles of an adjoint of this type
    const ScalarEntry* entries;
    [[gnu::always_inline]] double operator()(std::uint32_t k) const noexcept { return entries[k].value; }
};
struct PairsOf {
    using Number = WithTangent;
    static constexpr std::size_t width = 2;
    const ScalarEntry* entries;
    const double* dots;
    std::int64_t first;  ///< the index of the first dot
    [[gnu::always_inline]] WithTangent operator()(std::uint32_t k) const noexcept
    {
        WithTangent x(entries[k].value);
        if (k >= first) x.tangent(0) = dots[k - first];
        return x;
    }
};
/// What a function sends back to its operands' adjoints, which begin with that of entry `base`; before it there are none. Apart, so that
/// the loop of a sweep has its registers for itself, and once for all sweeps: it is long.
template <class N, class Values>
[[gnu::noinline]] void pull_apart(Values value, std::uint32_t i, N g, double* adjoints, std::uint32_t base,
                                  bool guarded)
{
    if (value.entries[i].op() >= ScalarOp::whole) return;  // flat
    pull_function(value.entries[i], i, g, value, [=](std::uint32_t k, const N& r) {
        if (k >= base) send(adjoints, k - base, g, r, guarded);
    });
}

/// The adjoints of the positions of one chunk, from the first that the walk can reach.
struct ChunkAdjoints {
    ChunkAdjoints(ScalarPosition where, ScalarPosition first) : chunk(where), base(first) {}
    std::size_t size() const noexcept { return std::max(used, rich.size()); }

    ScalarPosition chunk, base;
    std::size_t used = 0, swept = 0;  ///< slots of plain that have an adjoint, and those that are 0 again
    std::size_t width = 1;            ///< 2: a slot of plain has an adjoint and its tangent
    std::vector<double>
        plain;  ///< the first slot takes what is sent to positions before base, which nobody asks for
    std::vector<Real<double>> rich;

    std::size_t slot(ScalarPosition p) const noexcept { return (p - base + 1) * width; }
    double& at(ScalarPosition p) noexcept { return plain[slot(p)]; }
    void add(ScalarPosition p, const WithTangent& g) noexcept { add_pair(&at(p), g); }
    /// From now on adjoints have tangents, which are 0.
    void widen()
    {
        std::vector<double> wide(used ? 2 * (used + 1) : 0);
        for (std::size_t k = 0; 2 * k < wide.size(); ++k) wide[2 * k] = plain[k];
        plain = std::move(wide);
        width = 2;
    }
    /// Prefetches an adjoint. A position of another chunk does no harm.
    void ask_for(ScalarPosition p) const noexcept
    {
        const auto first = reinterpret_cast<std::uintptr_t>(plain.data());
        __builtin_prefetch(reinterpret_cast<const void*>(first + slot(p) * sizeof(double)), 1);
    }
    /// Adjoints up to a position.
    void grow(ScalarPosition end, std::vector<double>& zeros)
    {
        const std::size_t n = end - base;
        if (used >= n) return;
        if (plain.empty()) plain.swap(zeros);
        if (plain.size() < (n + 1) * width) plain.resize((n + 1) * width);
        used = n;
    }
    void begin_at(ScalarPosition begin)
    {
        if (begin >= base) return;
        const std::size_t more = base - begin;
        base = begin;
        if (!rich.empty()) rich.insert(rich.begin(), more, Real<double>());
        if (used == 0) return;
        std::fill_n(plain.begin(), width, 0.0);
        plain.insert(plain.begin(), more * width, 0.0);
        used += more;
    }
    void become_recorded()
    {
        if (used > 0) rich.assign(plain.begin() + 1, plain.begin() + 1 + static_cast<std::ptrdiff_t>(used));
        plain = {};
        used = 0;
    }
    /// Gives its memory back to `zeros`, filled with zeros. `once`: no position was swept a second time, so `swept` counts those
    /// that are 0 again.
    void give_up(std::vector<double>& zeros, bool once)
    {
        if (plain.empty() || plain.size() < zeros.size()) return;
        // Else the sweep has done it. Behind those that have been used there may be many, of a larger sweep.
        if (!once || swept != used) std::fill_n(plain.begin(), (used + 1) * width, 0.0);
        std::fill_n(plain.begin(), width, 0.0);
        zeros = std::move(plain);
    }
};

/// The adjoints of one walk, chunk by chunk. A chunk has memory once an adjoint has been added there.
class ScalarAdjoints {
public:
    /// Of spans from that sequence number on.
    ScalarAdjoints(ScalarStream& s, std::uint64_t since) : stream_(s), base_(s.end()), newest_(s.chunk(), 0)
    {
        const auto& all = s.spans();
        for (std::size_t i = all.size(); i-- > 0 && all[i]->node->sequence >= since;) {
            base_ = all[i]->begin;
            start_ = all[i]->node->sequence;
        }
        newest_.base = std::max(base_, newest_.chunk);
    }

    ScalarAdjoints(const ScalarAdjoints&) = delete;
    ScalarAdjoints& operator=(const ScalarAdjoints&) = delete;
    /// Drops what checkpoints have recorded again for a level that has ended before the walk.
    ~ScalarAdjoints()
    {
        stream_.drop_dead(start_);
        each([&](ChunkAdjoints& part) { part.give_up(stream_.zeros, has_not_grown()); });
    }

    static ScalarAdjoints& of(Walk& walk)
    {
        if (!walk.attached)
            walk.attached = std::make_shared<ScalarAdjoints>(ScalarStream::of(walk.tape()), walk.start());
        return *static_cast<ScalarAdjoints*>(walk.attached.get());
    }

    /// Takes in positions from here on, which were older than the walk when it began.
    void cover(ScalarPosition begin)
    {
        if (begin >= base_) return;
        base_ = begin;
        each([&](ChunkAdjoints& part) { part.begin_at(std::max(begin, part.chunk)); });
    }
    /// What is swept next ends at this position, and these levels below want the derivative of the sweep. One of forward mode has it by
    /// tangents; for others, and where tangents depend on levels themselves, the sweep is recorded.
    void serve(std::uint64_t levels, ScalarPosition end)
    {
        if (forward_) levels |= Tape::bit(forward_);
        if (levels && !carry_tangents(levels, end)) become_recorded();
    }
    /// From now on adjoints are reals.
    void become_recorded()
    {
        if (std::exchange(recorded_, true)) return;
        if (forward_) record_tangents();
        each([](ChunkAdjoints& part) { part.become_recorded(); });
    }
    bool recorded() const noexcept { return recorded_; }
    /// The level of forward mode that wants the derivative of a sweep up to this position, if no other does and tangents serve it, else 0.
    static std::size_t forward_alone(ScalarStream& s, std::uint64_t levels, ScalarPosition end);
    /// The level of forward mode at which adjoints have tangents, or 0.
    std::size_t forward_level() const noexcept { return recorded_ ? 0 : forward_; }

    void add(ScalarPosition position, const Real<double>& g)
    {
        if (g.is_active()) become_recorded();
        if (position < base_) return;
        ChunkAdjoints& part = part_of(position);
        if (recorded_)
            part.rich[position - part.base] += g;
        else
            part.at(position) += g.plain();
    }
    /// The same for plain numbers. Positions of 0 are left out.
    template <class T> void add(const std::vector<ScalarPosition>& positions, const T* g)
    {
        ChunkAdjoints* part = nullptr;
        ScalarPosition from = 0, end = 0;
        for (std::size_t k = 0; k < positions.size(); ++k) {
            const ScalarPosition p = positions[k];
            if (p == 0 || p < base_) continue;
            if (p - from >= end - from) {
                part = &part_of(p);
                from = part->base, end = std::min(from + part->used, stream_.chunk_end(from));
            }
            if (k + 24 < positions.size())
                part->ask_for(positions[k + 24]);  // every so many lines one: more than prefetchers see
            part->at(p) += static_cast<double>(g[k]);
        }
    }
    /// Is any adjoint of a span's numbers not 0?
    bool has_any(const Node& span);
    /// Takes plain adjoints out, from this position on; is any of them not 0?
    template <class T> bool take(ScalarPosition position, std::uint32_t count, T* to)
    {
        bool any = false;
        double* const from = &part_of(position, count).at(position);
        for (std::uint32_t k = 0; k < count; ++k) {
            any = any || from[k] != 0.0;
            to[k] = static_cast<T>(std::exchange(from[k], 0.0));
        }
        return any;
    }
    /// Adjoints and their tangents, null for zeros, in row-major order. Positions of 0 are left out.
    template <class T> void add(const std::vector<ScalarPosition>& positions, const T* g, const Block* dot)
    {
        const T* const dots = dot ? dot->as<T>() : nullptr;
        for (std::size_t k = 0; k < positions.size(); ++k) {
            if (positions[k] == 0) continue;
            WithTangent x(static_cast<double>(g[k]));
            if (dots) x.tangent(0) = static_cast<double>(dots[k]);
            add(positions[k], x);
        }
    }
    /// Takes adjoints with tangents out, from this position on. Which of both are not all 0?
    template <class T>
    std::pair<bool, bool> take_with_tangents(ScalarPosition position, std::uint32_t count, T* g, T* dots)
    {
        std::pair any(false, false);
        for (std::uint32_t k = 0; k < count; ++k) {
            const WithTangent x = take_with_tangent(position + k);
            any.first = any.first || x.plain() != 0.0;
            any.second = any.second || x.tangent(0) != 0.0;
            g[k] = static_cast<T>(x.plain());
            dots[k] = static_cast<T>(x.tangent(0));
        }
        return any;
    }
    WithTangent take_with_tangent(ScalarPosition position) { return taken(&part_of(position).at(position)); }
    /// Takes an adjoint out.
    Real<double> take(ScalarPosition position)
    {
        ChunkAdjoints& part = part_of(position);
        return recorded_ ? std::exchange(part.rich[position - part.base], Real<double>())
                         : Real<double>(std::exchange(part.at(position), 0.0));
    }

    /// After a span's sweep: nobody takes the adjoints of these elements out. A checkpoint may record there again, so they are 0
    /// afterwards.
    void leave(const ScalarSpan::Entered& e)
    {
        ChunkAdjoints& part = part_of(e.begin, e.count);
        if (recorded_)
            std::fill_n(part.rich.begin() + static_cast<std::ptrdiff_t>(e.begin - part.base), e.count,
                        Real<double>());
        else
            std::fill_n(&part.at(e.begin), e.count * part.width, 0.0);
    }

    /// Through the operations of a span, down to `from`.
    void sweep(const ScalarSpan& s, ScalarPosition from, bool guarded);
    /// The sweep has been through a span and its inputs, which are 0 again, or `wanted` by one who takes them out next. A chunk of which
    /// nothing is left needs no memory.
    void done(const ScalarSpan& s, bool wanted = false);

private:
    template <class Fn> void each(const Fn& fn)
    {
        fn(newest_);
        for (auto& [chunk, part] : parts_) fn(part);
    }
    /// The chunk of p, with memory for the adjoints of so many positions from p on.
    ChunkAdjoints& part_of(ScalarPosition p, std::size_t count = 1)
    {
        // a checkpoint that records again may begin chunks at other positions than before
        const ScalarPosition chunk = stream_.chunk_of(p);
        if (last_ && last_->chunk == chunk && p >= last_->base && p - last_->base + count <= last_->size())
            return *last_;
        const ScalarPosition end = stream_.chunk_end(p);
        last_ = chunk == newest_.chunk
                    ? &newest_
                    : &parts_.try_emplace(chunk, chunk, std::max(base_, chunk)).first->second;
        if (forward_ && last_->width == 1) last_->widen();
        recorded_ ? last_->rich.resize(std::max(last_->rich.size(), end - last_->base))
                  : last_->grow(end, stream_.zeros);
        return *last_;
    }

    void add(ScalarPosition position, const WithTangent& g)
    {
        if (position >= base_) part_of(position).add(position, g);
    }
    bool carry_tangents(std::uint64_t levels, ScalarPosition end);
    void record_tangents();

    /// Where nothing has been recorded since the walk began, no position has been given to another operation.
    bool has_not_grown() const noexcept { return stream_.begun() == begun_; }

    template <bool guarded, bool inside, bool far>
    void sweep_plain(ChunkAdjoints& part, std::uint32_t begin, std::uint32_t end);
    void sweep_function(ChunkAdjoints& part, std::uint32_t i, double g);
    void sweep_with_tangents(ChunkAdjoints& part, std::uint32_t begin, std::uint32_t end, bool guarded);
    void sweep_recorded(ChunkAdjoints& part, ScalarPosition begin, ScalarPosition end, bool guarded);

    ScalarStream& stream_;
    std::uint64_t start_ =
        std::numeric_limits<std::uint64_t>::max();  ///< sequence number from which it counts
    ScalarPosition base_;
    std::uint64_t begun_ = stream_.begun();
    bool recorded_ = false;
    std::size_t forward_ = 0;  ///< the level of the tangents that adjoints carry, or carried
    ChunkAdjoints newest_;     ///< of the chunk that was the newest when the walk began
    std::map<ScalarPosition, ChunkAdjoints> parts_;  ///< of others
    ChunkAdjoints* last_ = nullptr;                  ///< asked for last
};

/// Announces a span to the walk. Its cotangents are in ScalarAdjoints, not in the node. What an earlier sweep has used up, and gets
/// none, was read by other numbers of a later span than those that are swept.
inline void announce(Walk& walk, Node& span)
{
    if (!walk.reaches(&span) || span.cotangent.value) return;
    if ((span.flags & Node::consumed) && !ScalarAdjoints::of(walk).has_any(span)) return;
    walk.deliver(span, {token_block(), {}});
}

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/adjoints.ipp"
#endif
