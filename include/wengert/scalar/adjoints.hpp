// The adjoints of scalar code in one walk: in doubles, or in reals where a level below wants the sweep recorded.
#pragma once

#include "../tape/walk.hpp"
#include "rules.hpp"

namespace wengert::detail {

/// The adjoints of one walk. They belong to places in the stream, from the first that the walk can reach.
class ScalarAdjoints {
public:
    explicit ScalarAdjoints(ScalarStream& s, const Walk& walk) : stream_(s), base_(s.size())
    {
        const auto& all = s.stretches();
        for (std::size_t i = all.size(); i-- > 0 && !walk.is_older(*all[i]->node);) {
            base_ = all[i]->begin;
            start_ = all[i]->node->sequence;
        }
    }

    ScalarAdjoints(const ScalarAdjoints&) = delete;
    ScalarAdjoints& operator=(const ScalarAdjoints&) = delete;
    /// What checkpoints have recorded again for a level that has ended before goes with the walk.
    ~ScalarAdjoints()
    {
        stream_.drop_dead(start_);
        if (plain_.empty()) return;
        if (swept_ != used_) std::fill(plain_.begin(), plain_.end(), 0.0);  // else the sweep has done it
        plain_[0] = 0;
        stream_.zeros = std::move(plain_);
    }

    static ScalarAdjoints& of(Walk& walk)
    {
        if (!walk.attached)
            walk.attached = std::make_shared<ScalarAdjoints>(ScalarStream::of(walk.tape()), walk);
        return *static_cast<ScalarAdjoints*>(walk.attached.get());
    }

    /// Places from here on count, too: what was older than the walk when it began may have gone since.
    void cover(std::uint32_t begin)
    {
        if (begin >= base_) return;
        const std::size_t more = base_ - begin;
        if (recorded_) {
            rich_.insert(rich_.begin(), more, Real<double>());
        } else if (used_ > 0) {
            plain_[0] = 0;
            plain_.insert(plain_.begin(), more, 0.0);
            used_ += more;
        }
        base_ = begin;
    }
    void grow()
    {
        const std::size_t n = stream_.size() - base_;
        if (recorded_ && rich_.size() < n) rich_.resize(n);
        if (recorded_ || used_ >= n) return;
        if (plain_.empty()) plain_.swap(stream_.zeros);
        if (plain_.size() < n + 1) plain_.resize(n + 1);
        used_ = n;
    }
    /// From now on in reals.
    void become_recorded()
    {
        if (std::exchange(recorded_, true)) return;
        if (used_ > 0)
            rich_.assign(plain_.begin() + 1, plain_.begin() + 1 + static_cast<std::ptrdiff_t>(used_));
        plain_ = {};
        grow();
    }
    bool recorded() const noexcept { return recorded_; }

    void add(std::uint32_t place, const Real<double>& g)
    {
        if (g.is_active()) become_recorded();
        grow();
        if (place < base_) return;
        if (recorded_)
            rich_[place - base_] += g;
        else
            plain_[slot(place)] += g.plain();
    }
    /// The same for numbers that depend on nothing; places of 0 are none.
    template <class T> void add(const std::vector<std::uint32_t>& places, const T* g)
    {
        grow();
        for (std::size_t k = 0; k < places.size(); ++k)
            if (places[k] && places[k] >= base_) plain_[slot(places[k])] += static_cast<double>(g[k]);
    }
    /// Takes plain adjoints out, from this place on; is any of them not 0?
    template <class T> bool take(std::uint32_t place, std::uint32_t count, T* to)
    {
        bool any = false;
        double* const from = plain_.data() + slot(place);
        for (std::uint32_t k = 0; k < count; ++k) {
            any = any || from[k] != 0.0;
            to[k] = static_cast<T>(std::exchange(from[k], 0.0));
        }
        return any;
    }
    /// Takes an adjoint out.
    Real<double> take(std::uint32_t place)
    {
        return recorded_ ? std::exchange(rich_[place - base_], Real<double>())
                         : Real<double>(std::exchange(plain_[slot(place)], 0.0));
    }

    /// These stay where they are: nobody takes them out.
    void leave(std::uint32_t count) noexcept { swept_ -= count; }

    /// `inside`: its operands are of this part alone.
    void sweep(std::uint32_t begin, std::uint32_t end, bool guarded, bool inside)
    {
        grow();
        constexpr std::uint32_t cached = 40'000;
        const bool far = end - begin > cached;
        if (recorded_)
            sweep_recorded(begin, end, guarded);
        else if (!guarded)
            sweep_plain<false, false, false>(begin, end);
        else if (inside)
            far ? sweep_plain<true, true, true>(begin, end) : sweep_plain<true, true, false>(begin, end);
        else
            sweep_plain<true, false, false>(begin, end);
        swept_ += end - begin;
    }

private:
    /// In plain_ the first slot takes what is sent to places before base_, which nobody asks for.
    std::uint32_t slot(std::uint32_t place) const noexcept { return place - base_ + 1; }

    /// A cotangent of 0 is passed over: it never makes a NaN of an infinite derivative (docs/design.md). What an operation
    /// sends to the one before it, most often its operand, stays in a register: through memory a chain waits twice as long.
    /// An adjoint that has been used is 0 again.
    template <bool guarded, bool inside, bool far> void sweep_plain(std::uint32_t begin, std::uint32_t end)
    {
        if (begin == end) return;
        const ScalarEntry* const entries = stream_.entries();
        const std::uint32_t base = base_;
        // the slot of place 0, were there one: slots are counted from plain_, places from the stream's beginning
        const auto origin = reinterpret_cast<std::uintptr_t>(plain_.data() + 1) - base * sizeof(double);
        const auto adjoint = [=](std::uint32_t k) __attribute__((always_inline))->double&
        {
            return *reinterpret_cast<double*>(origin + k * sizeof(double));
        };
        const auto value = [=](std::uint32_t k) { return entries[k].value; };
        double next = adjoint(end - 1);
        for (std::uint32_t i = end; i-- > begin;) {
            const ScalarEntry& e = entries[i];
            if constexpr (
                far) {  // operands of long ago are in no cache, and in an order that no prefetcher knows
                const std::uint32_t k = entries[i < 32 ? 0 : i - 32].a();
                __builtin_prefetch(&entries[k]);
                __builtin_prefetch(&adjoint(k), 1);
            }
            const double g = std::exchange(next, adjoint(i - 1));
            if (e.op() == ScalarOp::input) {
                adjoint(i) = g;
                continue;
            }
            adjoint(i) = 0;
            if (guarded && g == 0.0) continue;
            if (e.op() > ScalarOp::sqrt) {
                adjoint(i - 1) = next;
                pull_function(i, g);
                next = adjoint(i - 1);
                continue;
            }
            pull_arithmetic(
                e, i, g, value, [&](std::uint32_t k, double r) __attribute__((always_inline)) {
                    if (k + 1 == i)
                        next += r;
                    else
                        adjoint(inside || k >= base ? k : base - 1) += r;
                });
        }
        adjoint(begin - 1) = next;
    }
    /// Apart, so that the loop above has its registers for itself.
    __attribute__((noinline)) void pull_function(std::uint32_t i, double g)
    {
        const ScalarEntry* const entries = stream_.entries();
        pull(
            entries[i], i, g, [=](std::uint32_t k) { return entries[k].value; },
            [this](std::uint32_t k, double r) { plain_[k >= base_ ? slot(k) : 0] += r; });
    }
    /// Operations that it records come behind `end`, and may move the entries.
    void sweep_recorded(std::uint32_t begin, std::uint32_t end, bool guarded)
    {
        const auto value = [&](std::uint32_t k) {
            return Real<double>(stream_.entries()[k].value, stream_.mark(k));
        };
        for (std::uint32_t i = end; i-- > begin;) {
            const ScalarEntry e = stream_.entries()[i];
            if (e.op() == ScalarOp::input) continue;
            const Real<double> g = take(i);
            if (!g.is_active() && g.plain() == 0.0 && guarded) continue;
            pull(e, i, g, value, [&](std::uint32_t k, const Real<double>& r) {
                if (guarded && g.plain() == 0.0 && !std::isfinite(r.plain())) return;
                if (k >= base_) rich_[k - base_] += r;
            });
        }
    }

    ScalarStream& stream_;
    std::uint64_t start_ =
        std::numeric_limits<std::uint64_t>::max();  ///< sequence number from which it counts
    std::uint32_t base_;
    bool recorded_ = false;
    std::size_t used_ = 0, swept_ = 0;  ///< slots of plain_ that have an adjoint, and those that are 0 again
    std::vector<double> plain_;
    std::vector<Real<double>> rich_;
};

/// Announces a stretch to the walk; what it sends back lies with the adjoints.
inline void announce(Walk& walk, Node& stretch)
{
    if (walk.reaches(&stretch) && !stretch.cotangent.value) walk.deliver(stretch, {token_block(), {}});
}

}  // namespace wengert::detail
