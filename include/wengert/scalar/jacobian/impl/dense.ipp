// The bodies of dense.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>

#include "../../../base/separate.hpp"
#include "../../real/lanes.hpp"
#include "../dense.hpp"

namespace wengert::detail {

/// J, m × n, in lanes: rows by cotangents, or columns by tangents where those are fewer.
class DenseLanes {
public:
    static constexpr std::size_t lanes = 8;
    DenseLanes(const ScalarStream& s, std::uint32_t first, std::size_t inputs,
               const std::vector<std::uint32_t>& results)
        : first_(first), n_(inputs), results_(results), sweep_(s, first, s.size()),
          out_(results.size() * inputs)
    {}
    std::vector<double> run()
    {
        n_ < results_.size() ? by_columns() : by_rows();
        return std::move(out_);
    }

private:
    void by_rows()
    {
        const std::size_t m = results_.size();
        for (std::size_t from = 0; from < m; from += lanes) {
            const std::size_t some = std::min(lanes, m - from);
            for (std::size_t l = 0; l < some; ++l)
                if (results_[from + l]) sweep_[results_[from + l]][l] += 1;
            sweep_.reverse();
            for (std::uint32_t j = 0; j < n_; ++j) {
                auto& g = sweep_[first_ + j];
                for (std::size_t l = 0; l < some; ++l) out_[(from + l) * n_ + j] = g[l];
                g = {};
            }
        }
    }
    void by_columns()
    {
        for (std::size_t from = 0; from < n_; from += lanes) {
            const std::size_t some = std::min(lanes, n_ - from);
            for (std::size_t l = 0; l < some; ++l)
                sweep_[first_ + static_cast<std::uint32_t>(from + l)][l] = 1;
            sweep_.forward();
            for (std::size_t i = 0; i < results_.size(); ++i)
                for (std::size_t l = 0; l < some && results_[i]; ++l)
                    out_[i * n_ + from + l] = sweep_[results_[i]][l];
            for (std::size_t l = 0; l < some; ++l) sweep_[first_ + static_cast<std::uint32_t>(from + l)] = {};
        }
    }
    std::uint32_t first_;
    std::size_t n_;
    const std::vector<std::uint32_t>& results_;
    LaneSweep<lanes> sweep_;
    std::vector<double> out_;
};

WENGERT_INLINE std::vector<double> jacobian_of_operations(const ScalarStream& s, std::uint32_t first,
                                                          std::size_t inputs,
                                                          const std::vector<std::uint32_t>& results)
{
    return DenseLanes(s, first, inputs, results).run();
}

}  // namespace wengert::detail
