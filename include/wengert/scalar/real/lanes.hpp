// Several derivatives of recorded scalar code in one pass over it: N cotangents, N tangents, N columns of a Hessian. Partial
// derivatives are computed once for all of them.
#pragma once

#include <array>

#include "../../kernels/cpu/lane_type.hpp"
#include "directions.hpp"

namespace wengert::detail {

/// A part of a stream that nothing but numbers of its own goes into.
template <std::size_t N> class LaneSweep {
public:
    using Lanes = std::array<double, N>;

    LaneSweep(const ScalarStream& s, std::uint32_t begin, std::uint32_t end)
        : LaneSweep(s.entries() + begin, begin, end)
    {}
    /// Of entries that were the stream's from `begin` to `end`.
    LaneSweep(const ScalarEntry* entries, std::uint32_t begin, std::uint32_t end)
        : entries_(entries), begin_(begin), end_(end), lanes_(end - begin), guarded_(true)
    {}
    Lanes& operator[](std::uint32_t position) { return lanes_[position - begin_]; }
    void clear() { std::fill(lanes_.begin(), lanes_.end(), Lanes{}); }

    /// Cotangents, from the newest operation on; those of inputs stay.
    void reverse()
    {
        for (std::uint32_t i = end_; i-- > begin_;) {
            if (entry(i).op() == ScalarOp::input) continue;
            const Lanes g = std::exchange((*this)[i], Lanes{});
            if (g == Lanes{}) continue;
            partials(i, [&](std::uint32_t k, double partial) { add(k, g, partial); });
        }
    }
    /// Tangents, from the oldest on; those of inputs are given.
    void forward()
    {
        for (std::uint32_t i = begin_; i < end_; ++i) {
            if (entry(i).op() == ScalarOp::input) continue;
            (*this)[i] = Lanes{};
            partials(i, [&](std::uint32_t k, double partial) {
                if (k >= begin_) add(i, (*this)[k], partial);
            });
        }
    }
    /// f(operand, ∂ of entry i by it)
    template <class F> void partials(std::uint32_t i, const F& f) const
    {
        pull(
            entry(i), i, 1.0, [&](std::uint32_t k) { return entry(k).value; }, f);
    }

private:
    const ScalarEntry& entry(std::uint32_t i) const { return entries_[i - begin_]; }
    /// A derivative of 0 makes no NaN of an infinite partial one.
    void add(std::uint32_t to, const Lanes& g, double partial)
    {
        if (to < begin_) return;
        Lanes& out = (*this)[to];
        if (guarded_ && !std::isfinite(partial)) {
            for (std::size_t l = 0; l < N; ++l)
                if (g[l] != 0.0) out[l] += g[l] * partial;
        } else {
            add_products(out, g, partial);
        }
    }
    /// Each product and each sum is rounded, as in the sweeps of one cotangent.
    static void add_products(Lanes& out, const Lanes& g, double partial)
    {
        using L = Lane<double>;
        if constexpr (N % L::width == 0)
            for (std::size_t l = 0; l < N; l += L::width)
                (L::load(&out[l]) + L::load(&g[l]) * L(partial)).store(&out[l]);
        else
            for (std::size_t l = 0; l < N; ++l) out[l] += unfused(g[l] * partial);
    }
    const ScalarEntry* entries_;
    std::uint32_t begin_, end_;
    std::vector<Lanes> lanes_;
    bool guarded_;
};

/// Columns of a Hessian, N at once: the sweep on numbers that carry their tangents (forward over reverse).
template <std::size_t N> class HessianSweep {
public:
    using Number = Tangents<double, N>;
    using Lanes = std::array<double, N>;

    HessianSweep(const ScalarStream& s, std::uint32_t begin, std::uint32_t end)
        : entries_(s.entries()), begin_(begin), end_(end), tangents_(s, begin, end), adjoints_(end - begin)
    {}
    /// Direction l of the input at a position.
    void seed(std::uint32_t position, std::size_t l) { tangents_[position][l] = 1; }
    void run(std::uint32_t result)
    {
        tangents_.forward();
        std::fill(adjoints_.begin(), adjoints_.end(), Number());
        adjoints_[result - begin_] = 1.0;
        const auto value = [&](std::uint32_t k) {
            Number x(entries_[k].value);
            for (std::size_t l = 0; l < N; ++l) x.tangent(l) = tangents_[k][l];
            return x;
        };
        for (std::uint32_t i = end_; i-- > begin_;) {
            if (entries_[i].op() == ScalarOp::input) continue;
            const Number g = adjoints_[i - begin_];
            if (g.plain() == 0.0 && g.tangents() == Lanes{}) continue;
            pull(entries_[i], i, g, value, [&](std::uint32_t k, const Number& r) {
                if (is_zero_by_rule(g.plain(), 0.0, r.plain())) return;
                adjoints_[k - begin_] += r;
            });
        }
        tangents_.clear();
    }
    /// Row of the input at a position, in the directions of this run.
    const Lanes& row(std::uint32_t position) const { return adjoints_[position - begin_].tangents(); }

private:
    const ScalarEntry* entries_;
    std::uint32_t begin_, end_;
    LaneSweep<N> tangents_;
    std::vector<Number> adjoints_;
};

}  // namespace wengert::detail
