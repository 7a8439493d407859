// Which function an operation computes. Elementwise ones are known by the program of their rule (functions/term.hpp), all others by
// their description, so a name means nothing: a user's x + y is an addition, a user's `add` that multiplies is none, and
// whatever exchanges axes is a transpose.
#pragma once

#include "../../ops/elementwise/math.hpp"
#include "../ir/fold_of.hpp"
#include "../ir/index_program.hpp"
#include "moves.hpp"

namespace wengert::passes {

namespace detail {

using Program = std::vector<TermStep>;

struct Reference {
    Fn fn;
    std::size_t arity;
    Program program;
};

template <class P> Program pull_program()
{
    return written_rule(2, [](const Term* in) { return wengert::detail::describe_pull<P, 0, 0, 1, 2>(in); });
}

/// The functions that passes know, as the library's own rules write them.
const std::vector<Reference>& references();

Fn recognise(const Primitive& p);

}  // namespace detail

/// What p computes, whatever the shapes. Remembered for each descriptor.
Fn function_of(const Primitive& p);

/// Of Fn::zero_rule: the first operand is the one that may not be finite.
inline bool zero_rule_on_itself(const GraphNode& n) { return n.inputs.size() == 2; }

/// What n, a node of g or one that is about to be, computes; of a move the Selection as well.
std::pair<Fn, Selection> move_of(const Graph& g, const GraphNode& n);
inline Fn function_of(const Graph& g, const GraphNode& n) { return move_of(g, n).first; }
inline Selection part_of(const Graph& g, const GraphNode& n) { return move_of(g, n).second; }

}  // namespace wengert::passes

#ifndef WENGERT_COMPILED
#include "impl/functions.ipp"
#endif
