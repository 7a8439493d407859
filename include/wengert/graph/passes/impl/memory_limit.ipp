// What memory_limit.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../memory_limit.hpp"

namespace wengert::passes::detail {

WENGERT_INLINE PeakSearch::PeakSearch(const Schedule& s, const Schedule::Peak& p, bool products)
    : schedule_(s), peak_(p), products_(products), next_(s.occurrences().size(), 0),
      held_(s.occurrences().size(), false), users_(s.occurrences().size())
{
    const auto& occurrences = s.occurrences();
    const auto& order = s.order();
    for (std::size_t i = order.size(); i-- > p.position;)
        for (std::uint32_t in : occurrences[order[i]].inputs) next_[occurrences[in].root] = i;
    for (std::uint32_t in : occurrences[order[p.position]].inputs) held_[occurrences[in].root] = true;
    for (const Guard& g : s.guards()) held_[occurrences[g.value].root] = true;
    for (std::size_t i = 0; i < p.position; ++i)
        for (std::uint32_t in : occurrences[order[i]].inputs) users_[in].push_back(order[i]);
}

WENGERT_INLINE std::vector<PeakSearch::Candidate> PeakSearch::candidates() const
{
    std::vector<Candidate> found;
    for (std::size_t i = 0; i < peak_.position; ++i) {
        const std::uint32_t s = schedule_.order()[i];
        if (waits(s)) {
            Candidate c{{{s}, next_[s], {}}, 0};
            if (gather(c)) found.push_back(std::move(c));
        }
        for (const std::size_t most : {std::size_t{8}, std::size_t{48}}) {
            Candidate c;
            if (users_[s].size() > 0 && users_[s].size() < 64 && derive(s, most, c))
                found.push_back(std::move(c));
        }
    }
    wengert::detail::stable_sort(found, [](const auto& a, const auto& b) { return a.cost < b.cost; });
    return found;
}

WENGERT_INLINE bool PeakSearch::waits(std::uint32_t s) const
{
    return schedule_.occurrences()[s].bytes && !held_[s] && next_[s] > peak_.position;
}

WENGERT_INLINE bool PeakSearch::gather(Candidate& c) const
{
    constexpr std::size_t most = 64;
    const auto& occurrences = schedule_.occurrences();
    auto& again = c.repeat.again;
    std::vector<std::uint32_t> todo = c.repeat.values;
    double work = 0;
    while (!todo.empty()) {
        const std::uint32_t s = todo.back();
        todo.pop_back();
        if (std::find(again.begin(), again.end(), s) != again.end()) continue;
        if (!schedule_.may_repeat(s, products_) || again.size() == most) return false;
        again.push_back(s);
        work += occurrences[s].work;
        for (std::uint32_t i : occurrences[s].inputs)
            if (!schedule_.available(i, c.repeat.next)) todo.push_back(i);
    }
    std::sort(again.begin(), again.end(),
              [&](auto a, auto b) { return schedule_.position(a) < schedule_.position(b); });
    c.cost = work / static_cast<double>(occurrences[c.repeat.values[0]].bytes);
    return true;
}

WENGERT_INLINE void PeakSearch::keep_needed(const std::vector<std::uint32_t>& derived,
                                            Schedule::Repeat& r) const
{
    std::vector<std::uint32_t> needed;
    for (std::size_t k = derived.size(); k-- > 0;) {
        const std::uint32_t s = derived[k];
        const bool wanted = waits(s);
        if (!wanted && std::find(needed.begin(), needed.end(), s) == needed.end()) continue;
        if (wanted) r.values.push_back(s);
        r.again.push_back(s);
        const auto& in = schedule_.occurrences()[s].inputs;
        needed.insert(needed.end(), in.begin(), in.end());
    }
    std::reverse(r.again.begin(), r.again.end());
}

WENGERT_INLINE std::vector<std::uint32_t> PeakSearch::derived(std::uint32_t base, std::size_t most) const
{
    const auto& occurrences = schedule_.occurrences();
    std::vector<std::uint32_t> found, todo = users_[base];
    const auto has = [&](std::uint32_t s) {
        return s == base || occurrences[occurrences[s].root].bytes == 0 ||
               schedule_.last(occurrences[s].root) > peak_.position ||
               std::find(found.begin(), found.end(), s) != found.end();
    };
    const auto later = [&](std::uint32_t a, std::uint32_t b) {
        return schedule_.position(a) > schedule_.position(b);
    };
    std::make_heap(todo.begin(), todo.end(), later);
    while (!todo.empty() && found.size() < most) {
        std::pop_heap(todo.begin(), todo.end(), later);
        const std::uint32_t s = todo.back();
        todo.pop_back();
        if (!found.empty() && found.back() == s) continue;
        const auto& in = occurrences[s].inputs;
        if (!schedule_.may_repeat(s, products_) || !std::all_of(in.begin(), in.end(), has)) continue;
        found.push_back(s);
        for (std::uint32_t u : users_[s]) {
            todo.push_back(u);
            std::push_heap(todo.begin(), todo.end(), later);
        }
    }
    return found;
}

WENGERT_INLINE bool PeakSearch::derive(std::uint32_t base, std::size_t most, Candidate& c) const
{
    const auto& occurrences = schedule_.occurrences();
    keep_needed(derived(base, most), c.repeat);
    if (c.repeat.values.size() < 2) return false;
    double bytes = 0, work = 0;
    c.repeat.next = schedule_.order().size();
    for (std::uint32_t s : c.repeat.values) {
        bytes += static_cast<double>(occurrences[s].bytes);
        c.repeat.next = std::min(c.repeat.next, next_[s]);
    }
    const std::uint32_t root = occurrences[base].root;
    if (schedule_.last(root) <= peak_.position) bytes -= static_cast<double>(occurrences[root].bytes);
    for (std::uint32_t s : c.repeat.again) work += occurrences[s].work;
    c.cost = work / bytes;
    return bytes > 0;
}

WENGERT_INLINE bool lower_peak(Schedule& schedule, Schedule::Peak& p)
{
    constexpr std::size_t tries = 24;
    for (const bool products : {false, true}) {
        const auto found = PeakSearch(schedule, p, products).candidates();
        for (std::size_t k = 0; k < std::min(tries, found.size()); ++k) {
            Schedule trial = schedule;
            trial.apply(found[k].repeat, p);
            if (const auto q = trial.peak(); q.below(p)) {
                schedule = std::move(trial);
                p = q;
                return true;
            }
        }
    }
    return false;
}

}  // namespace wengert::passes::detail

namespace wengert {

WENGERT_INLINE Graph rematerialise(const Graph& g, std::size_t limit_bytes, RematReport& report,
                                   const CostModel& costs, Site at)
{
    passes::detail::Schedule schedule(g, costs);
    auto peak = schedule.peak();
    report = {};
    report.peak_before = peak.bytes;
    while (peak.bytes > limit_bytes)
        if (!passes::detail::lower_peak(schedule, peak)) {
            report.peak_after = peak.bytes;
            fail<MemoryError>("freeze",
                              "a memory limit of " + std::to_string(limit_bytes) + " bytes cannot be kept: " +
                                  std::to_string(peak.bytes) + " is the smallest that can be reached, " +
                                  std::to_string(report.peak_before) +
                                  " are needed when nothing is computed twice",
                              at);
        }
    report.peak_after = peak.bytes;
    return schedule.graph(report);
}

}  // namespace wengert
