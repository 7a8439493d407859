// The bodies of sweep_observer.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "../../base/error.hpp"
#include "../../base/separate.hpp"
#include "../sweep_observer.hpp"

namespace wengert::detail {

WENGERT_INLINE FinalCotangents::FinalCotangents(SweepObserver& observer, const Node* newest,
                                                std::size_t level, std::uint64_t start)
    : observer_(observer)
{
    std::unordered_map<std::uint64_t, std::uint64_t> read_by;  // the oldest reader, as the newest come first
    for (const Node* n = newest; n && n->sequence >= start; n = n->previous) {
        if (n->leaf() && n->level == level) variables_.push_back(Ref<Node>(const_cast<Node*>(n)));
        for (std::size_t i = 0; i < n->input_count; ++i)
            if (const Node* const x = n->inputs[i]; x && x->leaf()) read_by[x->sequence] = n->sequence;
        if (n->primitive->variables_beside && n->op)
            for (const std::uint64_t x : n->primitive->variables_beside(n->op)) read_by[x] = n->sequence;
    }
    std::reverse(variables_.begin(), variables_.end());
    for (std::size_t k = 0; k < variables_.size(); ++k) {
        const auto first = read_by.find(variables_[k]->sequence);
        first_reads_.emplace_back(
            first == read_by.end() ? std::numeric_limits<std::uint64_t>::max() : first->second, k);
    }
    std::sort(first_reads_.begin(), first_reads_.end());
    observer_.begin(variables_);
}

WENGERT_INLINE void FinalCotangents::tell(std::uint64_t position)
{
    while (!first_reads_.empty() && first_reads_.back().first > position) {
        const std::size_t k = first_reads_.back().second;
        first_reads_.pop_back();
        observer_.take(k, std::exchange(variables_[k]->cotangent, {}));
    }
}

WENGERT_INLINE void FinalCotangents::end()
{
    tell(0);
    for (std::size_t k = 0; k < variables_.size(); ++k) {
        Node& variable = *variables_[k];
        if (variable.cotangent.value)
            fail<TapeError>("grad",
                            "something was added to a gradient of shape " + to_string(variable.shape) +
                                " after it had been taken for final",
                            variable.at);
        variable.cotangent = observer_.give(k);
    }
}

}  // namespace wengert::detail
