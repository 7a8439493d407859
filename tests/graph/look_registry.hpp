/// Reading graphs; the code of all primitives is in look_registry.cpp.
#pragma once

#include <wengert/graph/look/parse.hpp>

extern template wengert::Registry& wengert::registry<xsimd::default_arch>();
