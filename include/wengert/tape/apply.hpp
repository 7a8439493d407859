// Applying an operation: compute, record, push tangents. The one dispatch point of the library.
#pragma once

#include <memory>

#include "../array/layout.hpp"
#include "recorder.hpp"
#include "tape.hpp"

namespace wengert {

namespace detail {

/// Thrown for an empty tensor: default-constructed or moved from, or in a rule a value that the tape did not save.
struct EmptyTensor : TapeError {
    using TapeError::TapeError;
    const Node* source = nullptr;  ///< the node of the value that was not saved; null for a constant
};
[[noreturn]] void refuse_empty(std::string_view primitive, const AnyTensor& x, Site at);

void refuse_writers(const Primitive& p, const AnyTensor* const* in, std::size_t n, const Site& at);

/// The elements of a variable of levels that do not record here, as a trace knows them: saved, they come back without a node.
Block* seen_as(const Tape& tape, const AnyTensor& x);

/// What the derivatives of the dependent inputs read, and no more.
std::uint8_t needed(const Primitive& p, const AnyTensor* const* in, std::uint64_t mask);

/// A node that holds what its derivative will need and nothing else.
Ref<Node> make_node(Tape& tape, const Primitive& p, const AnyTensor* const* in, std::size_t n,
                    const Block& out, std::uint64_t mask, std::uint8_t saves, const Site& at);

}  // namespace detail

/// a and b hold the same elements in the same order: (32) and (1, 32).
inline bool equal_but_for_leading_ones(const Shape& a, const Shape& b) noexcept
{
    const Shape &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
    const std::size_t lead = longer.size() - shorter.size();
    for (std::size_t i = 0; i < longer.size(); ++i)
        if (longer[i] != (i < lead ? 1 : shorter[i - lead])) return false;
    return true;
}

/// The values of an elementwise primitive over operands of any layout.
Ref<Block> compute_elementwise(Thread& t, const Primitive& p, const Block* const* in, const Site& at,
                               const Block* dying = nullptr);

/// An elementwise primitive on type-erased tensors; throws TapeError where one is empty. `temporaries` has a bit for each operand that ends with the expression.
AnyTensor apply_elementwise(const Primitive& p, const AnyTensor* const* in, const Site& at,
                            unsigned temporaries = 0);

/// Records a structural operation whose value has been computed. `op` holds its parameters; the node keeps a copy.
AnyTensor record(const Primitive& p, const AnyTensor* const* in, std::size_t n, Ref<Block> value,
                 const void* op, const Site& at);

/// Any operation by its description: what replays a graph, and what a sweep under a recorder is made of.
AnyTensor apply_any(const Primitive& p, const void* op, const AnyTensor* in, std::size_t n, const Site& at);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "apply_source.hpp"
#endif
