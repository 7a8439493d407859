// The bodies of sparse.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>
#include <cmath>

#include "../../../base/separate.hpp"
#include "../../real/rules.hpp"
#include "../../real/tangents.hpp"
#include "../sparse.hpp"

namespace wengert::detail {

WENGERT_INLINE void SparseRow::send(std::uint32_t position, double g)
{
    adjoint_[position] += g;
    if (std::exchange(met_[position], true)) return;
    queue_.push_back(position);
    std::push_heap(queue_.begin(), queue_.end());
}

WENGERT_INLINE const std::vector<SparseRow::Found>& SparseRow::sweep(std::uint32_t position)
{
    found_.clear();
    send(position, 1.0);
    while (!queue_.empty()) {
        std::pop_heap(queue_.begin(), queue_.end());
        const std::uint32_t i = queue_.back();
        queue_.pop_back();
        met_[i] = false;
        const double g = std::exchange(adjoint_[i], 0.0);
        const ScalarEntry& e = stream_.entries()[i];
        if (e.op() == ScalarOp::input) {
            found_.emplace_back(i, g);
            continue;
        }
        const auto value = [&](std::uint32_t k) { return stream_.entries()[k].value; };
        pull(e, i, g, value, [&](std::uint32_t k, double r) {
            const double sent = unless_zero_cotangent(g, 0.0, r);
            if (stream_.tape().anomaly && std::isfinite(g) && !std::isfinite(sent)) [[unlikely]]
                refuse_birth(stream_, i, "sweep");
            send(k, sent);
        });
    }
    return found_;
}

}  // namespace wengert::detail
