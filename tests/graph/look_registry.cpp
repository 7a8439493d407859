// The code of every primitive, once for all tests that read graphs.
#include <wengert/graph/look/registry.hpp>

template wengert::Registry& wengert::registry<xsimd::default_arch>();
