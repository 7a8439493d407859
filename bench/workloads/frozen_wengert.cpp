// The backends of the frozen rows.
#include <wengert/graph/native/native.hpp>

#include "frozen_common.hpp"

namespace bench {

const wengert::Backend& tile_backend() { return wengert::tile; }
const wengert::Backend& native_backend() { return wengert::native; }

}  // namespace bench
