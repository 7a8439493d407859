// Memory of the fake devices as the driver hands it out, and copies: see fake.hpp.
#include "fake.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

using fake::Address;
using fake::Result;

namespace {

std::map<const char*, std::size_t>& pinned()
{
    static auto* const all = new std::map<const char*, std::size_t>;
    return *all;
}
bool is_pinned(const void* p)
{
    const auto after = pinned().upper_bound(static_cast<const char*>(p));
    return after != pinned().begin() &&
           static_cast<const char*>(p) < std::prev(after)->first + std::prev(after)->second;
}
Result take_filled(Address* p, std::size_t bytes, int device)
{
    if (const Result r = fake::take(p, bytes, device)) return r;
    fake::open_memory();
    fake::fill_fresh(*p);
    fake::close_memory();
    return fake::success;
}

}  // namespace

FAKE_EXPORT Result cuMemAlloc_v2(Address* p, std::size_t bytes)
{
    const fake::UnsafeCall call(__func__);
    if (call.result) return call.result;
    return take_filled(p, bytes, fake::current_device());
}
FAKE_EXPORT Result cuMemFree_v2(Address p)
{
    const fake::UnsafeCall call(__func__);
    if (call.result) return call.result;
    if (const Result r = fake::run_all()) return r;
    fake::open_memory();
    fake::give(p);
    fake::close_memory();
    return fake::success;
}
FAKE_EXPORT Result cuMemAllocAsync(Address* p, std::size_t bytes, fake::Stream* stream)
{
    const fake::UnsafeCall call(__func__);
    if (call.result) return call.result;
    if (fake::is_body(stream)) return fake::spoil(stream);
    if (const Result r = take_filled(p, bytes, fake::device_of(stream))) return r;
    fake::put(stream, [at = *p] { fake::fill_fresh(at); });
    return fake::success;
}
FAKE_EXPORT Result cuMemFreeAsync(Address p, fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (fake::is_body(stream)) return fake::spoil(stream);
    fake::put(stream, [p] { fake::give(p); });
    return fake::success;
}
FAKE_EXPORT Result cuMemHostAlloc(void** p, std::size_t bytes, unsigned)
{
    const fake::UnsafeCall call(__func__);
    if (call.result) return call.result;
    *p = std::malloc(bytes);
    pinned()[static_cast<const char*>(*p)] = bytes;
    return *p ? fake::success : fake::out_of_memory;
}

// Of pageable memory a copy is made at once, as the driver stages it; pinned memory is read when the copy runs.
FAKE_EXPORT Result cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    fake::moved(__func__, bytes);
    if (!fake::is_live(to, bytes)) return fake::invalid_value;
    if (is_pinned(from)) {
        fake::put(stream, [=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
    } else {
        const auto* const first = static_cast<const char*>(from);
        fake::put(stream, [to, staged = std::vector<char>(first, first + bytes)] {
            std::memcpy(reinterpret_cast<void*>(to), staged.data(), staged.size());
        });
    }
    return fake::success;
}
FAKE_EXPORT Result cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    fake::moved(__func__, bytes);
    if (!fake::is_live(from, bytes)) return fake::invalid_value;
    fake::put(stream, [=] { std::memcpy(to, reinterpret_cast<const void*>(from), bytes); });
    return is_pinned(to) ? fake::success : fake::run(stream);
}
FAKE_EXPORT Result cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    fake::moved(__func__, bytes);
    if (!fake::is_live(from, bytes) || !fake::is_live(to, bytes)) return fake::invalid_value;
    fake::put(stream,
              [=] { std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes); });
    return fake::success;
}
FAKE_EXPORT Result cuMemcpyPeerAsync(Address to, void* here, Address from, void* there, std::size_t bytes,
                                     fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    fake::moved(__func__, bytes);
    if (!here || !there || !fake::is_live(from, bytes) || !fake::is_live(to, bytes))
        return fake::invalid_value;
    fake::put(stream,
              [=] { std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes); });
    return fake::success;
}
FAKE_EXPORT Result cuMemsetD8Async(Address to, unsigned char value, std::size_t count, fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    fake::moved(__func__, count);
    if (fake::device_of(stream) != fake::current_device()) return fake::invalid_handle;
    if (!fake::is_live(to, count)) return fake::invalid_value;
    fake::put(stream, [=] { std::memset(reinterpret_cast<void*>(to), value, count); });
    return fake::success;
}
FAKE_EXPORT Result cuMemsetD32Async(Address to, unsigned value, std::size_t count, fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    fake::moved(__func__, 4 * count);
    if (fake::device_of(stream) != fake::current_device()) return fake::invalid_handle;
    if (!fake::is_live(to, 4 * count)) return fake::invalid_value;
    fake::put(stream, [=] { std::fill_n(reinterpret_cast<unsigned*>(to), count, value); });
    return fake::success;
}
