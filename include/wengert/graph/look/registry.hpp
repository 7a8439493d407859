// Every primitive of the library by name and dtypes: what reading graphs, and building them by name, need. Opt-in, because
// it makes the code of them all.
//
//     wengert::registry().add_elementwise<MyPrimitive, double, double>();   // before other threads read it
#pragma once

#include "../../base/separate.hpp"
#include "../../ops/arg_reductions.hpp"
#include "../../ops/creation.hpp"
#include "../../ops/gemm.hpp"
#include "../../ops/losses.hpp"
#include "../../ops/random.hpp"
#include "../../ops/shape.hpp"
#include "../../ops/take.hpp"
#include "../../ops/view.hpp"
#include "../loops/loop_rules.hpp"
#include "entries.hpp"

namespace wengert {

namespace detail {

/// One for each instruction set, as its descriptors are.
template <class A> Registry make_registry();
#ifdef WENGERT_COMPILED
extern template Registry make_registry<xsimd::default_arch>();
#endif

}  // namespace detail

/// The library's primitives, and those that the program has added. Adding is not synchronised.
template <class A = xsimd::default_arch> Registry& registry()
{
    static Registry all = detail::make_registry<A>();
    return all;
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "registry_source.hpp"
#endif
