// All that WENGERT_COMPILED keeps out of a program's other sources: for one source of it.
#pragma once

#include "graph/freeze/impl/compiler.ipp"
#include "graph/c/impl/emit_cpp.ipp"
#include "graph/native/impl/native.ipp"
#include "impl/freeze.ipp"
#include "impl/library.ipp"
#include "impl/scalar.ipp"
#include "impl/eager.ipp"
