// The binomial schedule of checkpoints (Griewank & Walther 2000, "Algorithm 799: revolve").
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace wengert::revolve {

/// β(s, r) = C(s + r, s): the most steps that s snapshots reverse when none is run more than r times. Saturates.
inline std::uint64_t reach(std::uint64_t snapshots, std::uint64_t repeats)
{
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max() / 2;
    std::uint64_t c = 1;
    const std::uint64_t n = std::min(snapshots, repeats), m = std::max(snapshots, repeats);
    if (n > 0 && m >= most) return most;
    for (std::uint64_t i = 1; i <= n; ++i) {
        if (c > most / (m + i)) return most;
        c = c * (m + i) / i;
    }
    return c;
}

/// The least r with β(s, r) ≥ steps.
inline std::uint64_t repeats(std::uint64_t steps, std::uint64_t snapshots)
{
    std::uint64_t r = 0;
    while (reach(snapshots, r) < steps) ++r;
    return r;
}

/// The least number of forward steps that reverse `steps` steps with `snapshots` snapshots, that of the initial state
/// included: r·l − C(s + r, r − 1). Steps run again in order to be recorded are not counted.
inline std::uint64_t forward_steps(std::uint64_t steps, std::uint64_t snapshots)
{
    if (steps <= 1) return 0;
    const std::uint64_t r = repeats(steps, snapshots);
    return r * steps - reach(std::min(snapshots, steps) + 1, r - 1);
}

/// Where to put the next snapshot: after how many of `steps` ≥ 2 steps. Any m with β(s, r − 2) ≤ m ≤ β(s, r − 1) and
/// β(s − 1, r − 1) ≤ l − m ≤ β(s − 1, r) is optimal (Griewank & Walther 2000, proposition 1); this is the largest.
inline std::uint64_t split(std::uint64_t steps, std::uint64_t snapshots)
{
    if (snapshots <= 1) return steps - 1;
    const std::uint64_t r = repeats(steps, snapshots);
    return std::min(reach(snapshots, r - 1), steps - reach(snapshots - 1, r - 1));
}

}  // namespace wengert::revolve
