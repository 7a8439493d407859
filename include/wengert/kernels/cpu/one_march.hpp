// A source that takes kernels from wengert::compiled needs them for its own instruction set. Where they are for another one, or where
// the library is not linked, the linker says so first, in the name of a function that nobody calls.
#pragma once

#include "simd.hpp"

namespace wengert {

#ifdef WENGERT_COMPILED
/// Of the library, for its instruction set.
template <class InstructionSet>
void wengert_compiled_is_not_linked_or_was_built_for_another_march__give_both_the_same_flags();

namespace detail {

/// Linkers report by section, and this one is in front.
[[gnu::used, gnu::section(".text.unlikely")]] static void (*needs_kernels_of_its_march())()
{
    return wengert_compiled_is_not_linked_or_was_built_for_another_march__give_both_the_same_flags<
        xsimd::default_arch>;
}

}  // namespace detail
#endif

}  // namespace wengert
