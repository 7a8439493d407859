#pragma once

// Every workload registers systems (wengert, floor, plain, libtorch, xla) for its variants. All systems of a
// variant are checked against the floor and then timed in turn, A B C A B C ..., so that a change of the
// machine's speed meets all of them. A sample is as many runs as take 2 ms; the median of at least 15 samples
// is reported.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// The loss first, then each gradient, flattened.
using Results = std::vector<std::vector<double>>;

/// One system, ready to run: `run` is what is timed, `results` is the same computation handed out for
/// comparison.
struct Case {
    std::function<void()> run;
    std::function<Results()> results;
    std::function<double(std::size_t)> sample =
        {};  ///< seconds of so many runs, for one that measures itself
};

struct Entry {
    std::string workload, variant, system;
    std::function<Case()> make;
    double tolerance = 1e-9;        // of max |difference| / max |floor|, result by result
    std::string per = "iteration";  // what one reported time is of,
    double parts = 1;               // and how many of them one run holds
};

using Registry = std::vector<Entry>;

inline Registry& registry()
{
    static Registry entries;
    return entries;
}

inline bool add(Entry entry)
{
    registry().push_back(std::move(entry));
    return true;
}

template <class Range> std::vector<double> flat(const Range& values)
{
    return std::vector<double>(values.begin(), values.end());
}

/// Deterministic inputs, the same on every machine and for every system: a 64-bit LCG (Knuth's MMIX
/// constants).
class Numbers {
public:
    explicit Numbers(std::uint64_t seed) : state_(seed * 2654435761u + 88172645463325252u) {}

    double uniform(double low, double high)
    {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return low + (high - low) * (static_cast<double>(state_ >> 11) * 0x1p-53);
    }

    template <class T> std::vector<T> vector(std::size_t n, double low, double high)
    {
        std::vector<T> out(n);
        for (T& v : out) v = static_cast<T>(uniform(low, high));
        return out;
    }

private:
    std::uint64_t state_;
};

inline double now()
{
    using clock = std::chrono::steady_clock;
    return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

inline double seconds_of(const std::function<void()>& run, std::size_t times)
{
    const double start = now();
    for (std::size_t i = 0; i < times; ++i) run();
    return now() - start;
}

inline double seconds_of(const Case& one, std::size_t times)
{
    return one.sample ? one.sample(times) : seconds_of(one.run, times);
}

struct Row {
    std::string workload, variant, system;
    double seconds, min, max;
    std::string per;
};

/// Largest |a - b| relative to the largest |b|; infinite where the sizes differ or a value is no number.
inline double distance(const std::vector<double>& a, const std::vector<double>& b)
{
    if (a.size() != b.size()) return HUGE_VAL;
    double difference = 0, scale = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return HUGE_VAL;
        difference = std::max(difference, std::abs(a[i] - b[i]));
        scale = std::max(scale, std::abs(b[i]));
    }
    return difference == 0 ? 0 : difference / scale;
}

/// A system may hand out fewer results than the floor (`plain` has no gradient), never different ones.
inline void check(const Entry& entry, const Results& got, const Results& expected)
{
    if (got.empty() || got.size() > expected.size())
        throw std::runtime_error(entry.system + ": wrong number of results");
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double d = distance(got[i], expected[i]);
        if (d <= entry.tolerance) continue;
        throw std::runtime_error(entry.workload + ' ' + entry.variant + ' ' + entry.system + ": result " +
                                 std::to_string(i) + " differs from the floor by " + std::to_string(d) +
                                 " (relative)");
    }
}

class Sampler {
public:
    Sampler(const Entry& entry, Case one) : entry_(entry), case_(std::move(one)) {}

    /// Warms up for 20 ms or two runs, then chooses the runs of one sample.
    void calibrate()
    {
        double spent = 0, fastest = HUGE_VAL;
        for (int i = 0; i < 2 || (spent < 0.02 && i < 100000); ++i) {
            const double t = seconds_of(case_, 1);
            fastest = std::min(fastest, t);
            spent += t;
        }
        inner_ = static_cast<std::size_t>(std::ceil(std::max(1.0, 2e-3 / fastest)));
    }

    void sample()
    {
        seconds_of(case_, 1);  // the system before it left the caches cold; --peak shows the cold call
        samples_.push_back(seconds_of(case_, inner_) / (static_cast<double>(inner_) * entry_.parts));
    }

    Row row() const
    {
        std::vector<double> s = samples_;
        std::sort(s.begin(), s.end());
        return {entry_.workload, entry_.variant, entry_.system, s[s.size() / 2],
                s.front(),       s.back(),       entry_.per};
    }

    const Entry& entry() const { return entry_; }
    Results results() const { return case_.results(); }

private:
    Entry entry_;
    Case case_;
    std::size_t inner_ = 1;
    std::vector<double> samples_;
};

inline std::string title(const Entry& e) { return e.workload + ' ' + e.variant; }

/// The entries of one variant, made, checked against the floor and warmed up.
inline std::vector<Sampler> prepare(const Registry& entries)
{
    std::vector<Sampler> samplers;
    for (const Entry& e : entries) samplers.emplace_back(e, e.make());
    const auto is_floor = [](const Sampler& s) { return s.entry().system == "floor"; };
    const auto floor = std::find_if(samplers.begin(), samplers.end(), is_floor);
    if (floor != samplers.end()) {
        const Results expected = floor->results();
        for (const Sampler& s : samplers) check(s.entry(), s.results(), expected);
    }
    for (Sampler& s : samplers) s.calibrate();
    return samplers;
}

/// All systems of one variant in turn: 15 rounds, and up to 51 while they take less than a second in all.
inline std::vector<Row> measure(const Registry& entries)
{
    std::fprintf(stderr, "%-28s checking", title(entries.front()).c_str());
    std::vector<Sampler> samplers = prepare(entries);
    const double start = now();
    for (int round = 0; round < 15 || (round < 51 && now() - start < 1.0); ++round) {
        std::fprintf(stderr, "\r%-28s round %d   ", title(entries.front()).c_str(), round + 1);
        for (Sampler& s : samplers) s.sample();
    }
    std::fprintf(stderr, "\r%-28s done in %.1f s\n", title(entries.front()).c_str(), now() - start);
    std::vector<Row> rows;
    for (const Sampler& s : samplers) rows.push_back(s.row());
    return rows;
}

}  // namespace bench
