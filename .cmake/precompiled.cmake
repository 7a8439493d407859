# wengert::precompiled: wengert.hpp read once for each target that links it, and not for each of the target's sources. Reading it
# once more, to write it down, takes as long as three sources save.
add_library(wengert_precompiled INTERFACE)
add_library(wengert::precompiled ALIAS wengert_precompiled)
target_precompile_headers(wengert_precompiled INTERFACE <wengert/wengert.hpp>)
