// Every primitive of the library by name and dtypes: what reading graphs, and building them by name, need. Opt-in, because
// it makes the code of them all.
//
//     wengert::registry().add_elementwise<MyPrimitive, double, double>();   // before other threads read it
#pragma once

#include "../../base/separate.hpp"
#include "entries.hpp"
#include "shape_rules.hpp"

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
