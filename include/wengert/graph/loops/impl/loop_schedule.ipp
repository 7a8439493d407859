// What loop_schedule.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../loop_schedule.hpp"

namespace wengert::detail {

WENGERT_INLINE std::vector<LoopSpan> schedule(LoopSpan steps)
{
    std::vector<LoopSpan> parts;
    while (steps.end - steps.begin > 1) {
        const std::uint64_t middle = steps.begin + revolve::split(steps.end - steps.begin, steps.snapshots);
        parts.push_back({steps.begin, middle, steps.snapshots});
        steps.begin = middle;
        steps.snapshots = std::max<std::uint64_t>(steps.snapshots, 2) - 1;
    }
    parts.push_back(steps);
    return parts;
}

}  // namespace wengert::detail
