// All that WENGERT_COMPILED keeps out of a program's other sources: for one source of it.
#pragma once

#include "graph/compiler_source.hpp"
#include "graph/emit/emit_cpp_source.hpp"
#include "graph/emit/native_source.hpp"
#include "graph/freeze_source.hpp"
#include "ops/library_source.hpp"
#include "scalar/compiled_source.hpp"
#include "transforms/eager_source.hpp"
