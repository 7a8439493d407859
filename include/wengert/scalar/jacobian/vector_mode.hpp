// vjps: cotangents of many results through one recording, several of them in each sweep (vector reverse mode).
#pragma once

#include <functional>

#include "../real/lanes.hpp"
#include "dense.hpp"

namespace wengert {

namespace detail {

/// What vjps returns: Xs for Ys. Operations on reals alone are kept here, and need the tape no more.
template <class X, class Y> class VectorPullback {
public:
    using T = typename first_real<X>::type;
    using One = std::function<X(const Y&, const Site&)>;

    VectorPullback(X like, One one) : like_(std::move(like)), one_(std::move(one)) {}
    void keep(const ScalarStream& s, std::uint32_t first, std::vector<std::uint32_t> results)
    {
        first_ = first;
        results_ = std::move(results);
        entries_.assign(s.entries() + first, s.entries() + s.size());
    }

    /// The cotangent of x for each cotangent of y. Derivatives of them, too, where these are reals that are recorded.
    std::vector<X> operator()(const std::vector<Y>& cotangents,
                              Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        std::vector<X> out;
        out.reserve(cotangents.size());
        std::vector<std::vector<T>> seeds;
        for (const Y& c : cotangents) seeds.push_back(plain(c, at));
        const bool in_lanes = !entries_.empty() && std::none_of(seeds.begin(), seeds.end(),
                                                                [](const auto& s) { return s.empty(); });
        if (!in_lanes) {
            for (const Y& c : cotangents) out.push_back(one_(c, at));
            return out;
        }
        LaneSweep<lanes> sweep(entries_.data(), first_, first_ + static_cast<std::uint32_t>(entries_.size()));
        for (std::size_t from = 0; from < seeds.size(); from += lanes)
            several(sweep, std::span(seeds).subspan(from, std::min(lanes, seeds.size() - from)), out);
        return out;
    }

private:
    static constexpr std::size_t lanes = 8;

    /// The numbers of a cotangent; none where one of them is recorded.
    std::vector<T> plain(const Y& cotangent, const Site& at) const
    {
        std::vector<T> s;
        bool active = false;
        tree::for_each(
            [&](const Real<T>& r) {
                active = active || r.is_active();
                s.push_back(r.plain());
            },
            cotangent);
        if (!entries_.empty() && s.size() != results_.size())
            fail<ShapeError>("vjps",
                             "a cotangent of " + std::to_string(s.size()) + " numbers for " +
                                 std::to_string(results_.size()) + " results",
                             at);
        return active ? std::vector<T>() : s;
    }
    void several(LaneSweep<lanes>& sweep, std::span<const std::vector<T>> seeds, std::vector<X>& out) const
    {
        for (std::size_t l = 0; l < seeds.size(); ++l)
            for (std::size_t i = 0; i < results_.size(); ++i)
                if (results_[i]) sweep[results_[i]][l] += static_cast<double>(seeds[l][i]);
        sweep.reverse();
        for (std::size_t l = 0; l < seeds.size(); ++l) {
            X g = tree::detail::copied(like_);
            std::uint32_t position = first_;
            for (Real<T>* r : reals_in<T>(g)) *r = static_cast<T>(sweep[position++][l]);
            out.push_back(std::move(g));
        }
        sweep.clear();
    }

    X like_;
    One one_;
    std::uint32_t first_ = 0;
    std::vector<std::uint32_t> results_;
    std::vector<ScalarEntry> entries_;
};

}  // namespace detail

/// (f(x), pullback) of a function of reals: pullback(cotangents) gives for each of many cotangents of f(x) that of x. Where f does operations on
/// reals alone, eight of them come from one sweep, and the pullback, which keeps the operations, may be called on any thread.
template <class F, class X> auto vjps(F f, const X& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    using T = typename detail::first_real<X>::type;
    using Y = std::remove_cvref_t<decltype(detail::call_with(f, x, at))>;
    Tape& tape = Tape::current();
    const Tape::Position before{tape.next_sequence()};
    const auto again = [f, x](const Y& c, const Site& line) mutable {
        return vjp(f, x, line).second(c, line);
    };
    detail::VectorPullback<X, Y> pullback(x, again);
    std::optional<Y> value;
    const Tensor<T> flat = detail::flattened<T>(x, at);
    const auto keep = [&](const ScalarStream& s, std::uint32_t first, const auto& positions, const Y& y) {
        pullback.keep(s, first, positions);
        value = tree::detail::copied(y);
        for (Real<T>* r : detail::reals_in<T>(*value))
            if (s.is_from(first, r->handle())) *r = r->detach();
    };
    if (detail::with_operations<T>(f, x, flat, "vjps", at, keep))
        return std::pair(std::move(*value), std::move(pullback));
    tape.rewind(before, at);  // what f has recorded for levels below, which it records again
    auto [y, one] = vjp(f, x, at);
    return std::pair(std::move(y), detail::VectorPullback<X, Y>(
                                       x, [one](const Y& c, const Site& line) { return one(c, line); }));
}

}  // namespace wengert
