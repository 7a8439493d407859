// Who is told, while a reverse sweep goes on, that nothing will be added to a variable's cotangent any more.
#pragma once

#include <vector>

#include "node.hpp"

namespace wengert {

/// Takes the cotangents of a transform's variables as soon as they are final (mpi::averaged sends them then). Tape::observer
/// is that of the next transform in reverse mode.
class SweepObserver {
public:
    SweepObserver() = default;
    SweepObserver(const SweepObserver&) = delete;
    SweepObserver& operator=(const SweepObserver&) = delete;
    virtual ~SweepObserver() = default;
    /// Before the sweep: the variables, as they were made.
    virtual void begin(const std::vector<Ref<Node>>& variables) = 0;
    /// The k-th variable's cotangent is final. It has no value where none arrived.
    virtual void take(std::size_t k, AnyTensor cotangent) = 0;
    /// After the sweep: what stands in its place.
    virtual AnyTensor give(std::size_t k) = 0;
};

namespace detail {

/// The variables of one sweep, in the order in which their cotangents become final. A cotangent is final when the first operation
/// that reads its variable has been swept, which is the last one that adds to it.
class FinalCotangents {
public:
    /// Of a level that began at `start`, on a tape whose newest node is `newest`.
    FinalCotangents(SweepObserver& observer, const Node* newest, std::size_t level, std::uint64_t start);
    /// Nothing is left to be swept but nodes up to this sequence number.
    void tell(std::uint64_t position);
    /// Puts what the observer gives in the variables' cotangents. Throws TapeError where one of them was not final.
    void end();
    const std::vector<Ref<Node>>& variables() const noexcept { return variables_; }

private:
    SweepObserver& observer_;
    std::vector<Ref<Node>> variables_;
    std::vector<std::pair<std::uint64_t, std::size_t>>
        first_reads_;  ///< and whose; those to be told next at the end
};

}  // namespace detail
}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/sweep_observer.ipp"
#endif
