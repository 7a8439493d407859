// Which line of the program holds the memory: what the tape has saved, by primitive and source line.
#pragma once

#include <algorithm>
#include <ostream>
#include <string>

#include "../base/stable_sort.hpp"
#include "tape.hpp"

namespace wengert {

/// What the tape of a thread holds.
struct TapeReport {
    struct Row {
        std::string_view primitive;
        Site at;
        std::size_t nodes = 0;
        std::int64_t bytes = 0;  ///< saved values, each counted once, where it was saved first
    };
    std::vector<Row> rows;  ///< the largest first
    std::size_t nodes = 0;
    std::int64_t saved_bytes = 0;
    std::int64_t node_bytes = 0;  ///< of the nodes themselves
};

namespace detail {

/// Bytes that a value keeps from the pool: those of the block that owns its elements.
std::int64_t held_bytes(const Block& b);

}  // namespace detail

/// A table: bytes, share, nodes, primitive, line.
std::ostream& operator<<(std::ostream& out, const TapeReport& r);

namespace detail {

/// " The tape holds …": the largest rows, for the text of an error.
std::string largest_holders(const Tape& tape);

/// The lines that hold most memory, for the error of a pool that gets no memory. Reports may need memory themselves; then the text
/// is empty.
std::string holders_of_this_thread() noexcept;

}  // namespace detail
}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/report.ipp"
#endif
