// The library's rules on tensors, walked instead of compiled: one function for all of them in place of one for each.
//
// A rule evaluated on terms is a program (functions/term.hpp). Its steps are operations of the library, so the walk records what the
// rule evaluated on tensors would: the same operations on the same operands in the same order.
#pragma once

#include <atomic>

#include "library.hpp"

namespace wengert::detail {

class TensorRule;

/// The rule of a pull, written down at the first call; both are constant, so threads that write it at once keep either.
struct WalkedRule {
    Term (*describe)(const Term* in);
    DType dtype;
    std::atomic<const TensorRule*> written{nullptr};
};

/// The cotangent of an input from (g, the values that its rule reads), as RecordedRule::expand gives it. In wengert::compiled.
AnyTensor walk_rule(WalkedRule& rule, const AnyTensor* in, std::size_t n);

/// Is the rule walked? The code of all other rules is compiled: a debugger stops in it. So it is where tensors have an operation for
/// what terms write out.
template <class P, class Out, class... In> constexpr bool is_walked()
{
#ifdef WENGERT_COMPILED
    return is_library_elementwise<P>(List<Out>(), List<In...>()) && !requires { P::written_out; };
#else
    return false;
#endif
}

}  // namespace wengert::detail
