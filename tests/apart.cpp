// WENGERT_TEST_DEVICE=apart: all tensors of the tests go to the device apart (wengert/devices/apart.hpp).
#include <cstdlib>
#include <cstring>

#include <wengert/devices/apart.hpp>

namespace {

[[maybe_unused]] const bool chosen = [] {
    const char* const name = std::getenv("WENGERT_TEST_DEVICE");
    if (!name || std::strcmp(name, "apart") != 0) return false;
    wengert::detail::first_device = wengert::apart::device();
    if (wengert::this_thread) wengert::this_thread->device = wengert::apart::device();
    return true;
}();

}  // namespace
