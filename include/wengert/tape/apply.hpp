// Applying an operation: compute, record, push tangents. The one dispatch point of the library.
#pragma once

#include <algorithm>
#include <memory>

#include "../array/elsewhere.hpp"
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

/// No memory for a result: again, with the name of the operation and the user's line.
[[noreturn]] void refuse_memory(std::string_view primitive, const MemoryError& e, Site at);

[[noreturn]] void refuse_operand(std::string_view primitive, const Block& x, const Site& at);
/// Throws where an operand is being written, and where one that is recorded nowhere would pass for a constant. The library's own
/// runs, and rules, may take what they have saved.
void refuse_operands(const Primitive& p, const AnyTensor* const* in, std::size_t n, const Site& at);

/// Is a function being recorded, and does a node before `start` live at a level that records?
bool has_recorded(std::uint64_t start = ~std::uint64_t{0});
/// Throws where x comes from a run that was not recorded: it would be a constant of what has been recorded before node `start`.
inline void demand_recorded(const AnyTensor& x, std::string_view who, const Site& at,
                            std::uint64_t start = ~std::uint64_t{0})
{
    if (x.value->access.unrecorded && !x.node && has_recorded(start)) [[unlikely]]
        refuse_operand(who, *x.value, at);
}

/// Is what is made of these operands, where nothing is recorded, as little a constant as one of them? A NoGrad wants a constant.
inline bool is_unrecorded(const Tape& tape, const Primitive& p, const AnyTensor* const* in, std::size_t n,
                          const Site& at) noexcept
{
    bool unrecorded = false;
    for (std::size_t i = 0; i < n; ++i) {
        const Block& x = *in[i]->value;
        unrecorded |= x.access.unrecorded;
        if (x.access.traced) [[unlikely]]
            note_used(x, at);
    }
    return unrecorded && tape.passes_marks() && !p.is_flat();
}
/// Marks a result. An operand that is the result keeps its own header: it may be a constant that others have.
inline void mark_unrecorded(const Tape& tape, const Primitive& p, const AnyTensor* const* in, std::size_t n,
                            Ref<Block>& out, const Site& at)
{
    if (!is_unrecorded(tape, p, in, n, at) || out->access.unrecorded) return;
    if (std::any_of(in, in + n, [&](const AnyTensor* x) { return x->value.get() == out.get(); }))
        out = another_header(out);
    out->access.unrecorded = true;
}

/// The elements of a variable of levels that do not record here, as a trace knows them: saved, they come back without a node.
Block* seen_as(const Tape& tape, const AnyTensor& x);

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

namespace detail {

/// Does an operand lie elsewhere than on the host?
[[gnu::always_inline]] inline bool elsewhere(const Block* const* in, std::size_t n) noexcept
{
    unsigned device = in[0]->access.device | in[n - 1]->access.device;  // of two operands nearly always
    if (n > 2) [[unlikely]]
        for (std::size_t i = 1; i + 1 < n; ++i) device |= in[i]->access.device;
    return device != 0;
}
inline bool elsewhere(const Ref<Block>* in, std::size_t n) noexcept
{
    unsigned device = 0;
    for (std::size_t i = 0; i < n; ++i) device |= in[i]->access.device;
    return device != 0;
}

/// By the table of the operands' device. Numbers on the host (rank 0) go along; throws DeviceError where operands are of several
/// devices.
Ref<Block> compute_elsewhere(const Primitive& p, const Block* const* in, const Site& at);
/// A cotangent of y, where y lies; a number goes along. Throws DeviceError.
Ref<Block> beside(std::string_view name, Ref<Block> cotangent, const Block& y, const Site& at);
/// x = p(x, y), on the device of x.
void update_elsewhere(const Primitive& p, Block& x, const Block& y);
Ref<Block> structural_elsewhere(const Primitive& p, const void* op, const Ref<Block>* in, std::size_t n,
                                const Site& at);

/// Primitive::compute wherever the operands are.
inline Ref<Block> compute_structural(const Primitive& p, const void* op, const Ref<Block>* in, std::size_t n,
                                     const Site& at)
{
    if (elsewhere(in, n)) [[unlikely]]
        return structural_elsewhere(p, op, in, n, at);
    try {
        return p.compute(op, in, n, at);
    } catch (const MemoryError& e) {
        refuse_memory(p.name, e, at);
    }
}

}  // namespace detail

/// The values of an elementwise primitive over operands of any layout.
Ref<Block> compute_elementwise(Thread& t, const Primitive& p, const Block* const* in, const Site& at,
                               const Block* dying = nullptr);

/// An elementwise primitive on type-erased tensors; throws TapeError where one is empty. `temporaries` has a bit for each operand that ends with the expression.
AnyTensor apply_elementwise(const Primitive& p, const AnyTensor* const* in, const Site& at,
                            unsigned temporaries = 0);

/// Records a structural operation whose value has been computed. `op` holds its parameters; the node keeps a copy.
AnyTensor record(const Primitive& p, const AnyTensor* const* in, std::size_t n, Ref<Block> value,
                 const void* op, const Site& at);

/// A structural primitive on type-erased tensors, computed and recorded; throws TapeError where one is empty.
AnyTensor apply_structural(const Primitive& p, const void* op, const AnyTensor* const* in, std::size_t n,
                           const Site& at);

/// Any operation by its description: what replays a graph, and what a sweep under a recorder is made of.
AnyTensor apply_any(const Primitive& p, const void* op, const AnyTensor* in, std::size_t n, const Site& at);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/apply.ipp"
#include "impl/elsewhere.ipp"
#endif
