// WENGERT_TEST_DEVICE=apart: all tensors of the tests go to the device apart (tests/apart.hpp).
#include <cstdlib>
#include <cstring>

#include "apart.hpp"

namespace {

/// Before anything else begins: tensors with static storage go there, too.
[[gnu::constructor(101)]] void choose()
{
    const char* const name = std::getenv("WENGERT_TEST_DEVICE");
    if (!name || std::strcmp(name, "apart") != 0) return;
    wengert::detail::first_device = wengert::apart::device();
    if (wengert::this_thread) wengert::this_thread->device = wengert::apart::device();
}

}  // namespace
