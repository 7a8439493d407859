// What a trace begins with, and the question whether a value of the trace is still held outside of it.
#pragma once

#include "value_list.hpp"
#include "trees.hpp"

namespace wengert::detail {

/// Declares a block as the next input, under a header of its own, by which a trace can tell it apart.
AnyTensor traced_input(Trace& trace, const Ref<Block>& b, const Site& at);

/// The values of a trace, of its first `inputs` and the results of operations, that something outside still holds.
/// Such a holder is a variable, which a replay would leave as it was. Or it is a function made in the trace, which would keep its
/// array.
std::vector<ValueId> escaped(Trace& trace, const HeldBlocks& held, std::size_t inputs = ~std::size_t{0});

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/traced_inputs.ipp"
#endif
