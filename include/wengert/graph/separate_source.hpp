// All that WENGERT_COMPILED keeps out of a program's other sources: for one source of it.
#pragma once

#include "../transforms/eager_source.hpp"
#include "compiler_source.hpp"
#include "emit/emit_cpp_source.hpp"
#include "emit/native_source.hpp"
#include "freeze_source.hpp"
#include "look/registry_source.hpp"
