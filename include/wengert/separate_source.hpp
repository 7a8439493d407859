// All that WENGERT_COMPILED keeps out of a program's other sources: for one source of it.
#pragma once

#include "impl/graph.ipp"
#include "impl/tile.ipp"
#include "impl/library.ipp"
#include "impl/scalar.ipp"
#include "impl/eager.ipp"
#include "impl/implicit.ipp"
#include "impl/linalg.ipp"
