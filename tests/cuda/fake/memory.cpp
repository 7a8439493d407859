// Memory of the fake devices: see fake.hpp.
#include "fake.hpp"

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace fake {

namespace {

constexpr std::size_t space = std::size_t{1} << 36, zone = 256, page = 4096;
constexpr unsigned char zone_byte = 0xA5, nothing = 0xFF;

/// Of a device.
struct Region {
    unsigned char* base = nullptr;
    std::size_t used = 0, taken = 0;
    std::map<std::size_t, std::vector<Address>> free_lists = {};  ///< by bytes
};
struct Memory {
    std::recursive_mutex mutex;
    unsigned char* base = nullptr;
    std::size_t limit = std::size_t{1} << 30;
    int open = 0;
    std::map<Address, std::size_t> live;  ///< address, bytes
    Region regions[most_devices];
    Region& of(Address p) { return regions[(p - reinterpret_cast<Address>(base)) / (space / most_devices)]; }
};
Memory& memory()
{
    static auto* const m = [] {
        auto* made = new Memory;
        void* const p = ::mmap(nullptr, space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) std::abort();
        made->base = static_cast<unsigned char*>(p);
        for (int d = 0; d < most_devices; ++d)
            made->regions[d].base = made->base + static_cast<std::size_t>(d) * (space / most_devices);
        if (const std::string s = setting("BYTES"); !s.empty()) made->limit = std::stoull(s);
        return made;
    }();
    return *m;
}
std::size_t rounded(std::size_t bytes) { return (bytes + zone - 1) / zone * zone; }
unsigned char* bytes_at(Address p) { return reinterpret_cast<unsigned char*>(p); }
/// Under AddressSanitizer nobody reads what is not given, either: not a byte beyond it.
#ifdef __SANITIZE_ADDRESS__
void forbid(Address p, std::size_t bytes) { ASAN_POISON_MEMORY_REGION(bytes_at(p), bytes); }
void allow(Address p, std::size_t bytes) { ASAN_UNPOISON_MEMORY_REGION(bytes_at(p), bytes); }
#else
void forbid(Address, std::size_t) {}
void allow(Address, std::size_t) {}
#endif
void protect(const Region& r, int access)
{
    if (r.used && ::mprotect(r.base, (r.used + page - 1) / page * page, access) != 0) std::abort();
}
void protect(const Memory& m, int access)
{
    for (const Region& r : m.regions) protect(r, access);
}

}  // namespace

void open_memory()
{
    Memory& m = memory();
    m.mutex.lock();
    if (m.open++ == 0) protect(m, PROT_READ | PROT_WRITE);
}
void close_memory()
{
    Memory& m = memory();
    if (--m.open == 0) protect(m, PROT_NONE);
    m.mutex.unlock();
}

OnlyMemoryOf::OnlyMemoryOf(int device) : device_(device)
{
    for (int d = 0; d < most_devices; ++d)
        if (d != device_) protect(memory().regions[d], PROT_NONE);
}
OnlyMemoryOf::~OnlyMemoryOf()
{
    for (int d = 0; d < most_devices; ++d)
        if (d != device_) protect(memory().regions[d], PROT_READ | PROT_WRITE);
}

Result take(Address* p, std::size_t bytes, int device)
{
    Memory& m = memory();
    const std::lock_guard lock(m.mutex);
    if (bytes == 0) return invalid_value;
    const std::size_t n = rounded(bytes);
    Region& r = m.regions[device];
    if (r.taken + n > m.limit || r.used + n + 2 * zone > space / most_devices) return out_of_memory;
    auto& list = r.free_lists[n];
    if (!list.empty()) {
        *p = list.back();
        list.pop_back();
    } else {
        *p = reinterpret_cast<Address>(r.base + r.used + zone);
        r.used += n + 2 * zone;
        if (m.open) protect(r, PROT_READ | PROT_WRITE);
    }
    m.live[*p] = bytes;
    r.taken += n;
    return success;
}
void fill_fresh(Address p)
{
    const std::size_t n = rounded(memory().live[p]), bytes = memory().live[p];
    allow(p - zone, n + 2 * zone);
    std::memset(bytes_at(p) - zone, zone_byte, zone);
    std::memset(bytes_at(p), nothing, bytes);
    std::memset(bytes_at(p) + bytes, zone_byte, n - bytes + zone);
    forbid(p - zone, zone);
    forbid(p + bytes, n - bytes + zone);
}
void give(Address p)
{
    Memory& m = memory();
    const auto found = m.live.find(p);
    if (found == m.live.end()) return fail_for_good("memory is given back that has not been taken");
    std::memset(bytes_at(p), nothing, found->second);
    forbid(p, found->second);
    const std::size_t n = rounded(found->second);
    m.of(p).free_lists[n].push_back(p);
    m.of(p).taken -= n;
    m.live.erase(found);
}
bool is_live(Address p, std::size_t bytes)
{
    Memory& m = memory();
    const std::lock_guard lock(m.mutex);
    const auto after = m.live.upper_bound(p);
    if (after == m.live.begin()) return false;
    const auto& [at, n] = *std::prev(after);
    return p + bytes <= at + n;
}
static __attribute__((no_sanitize("address"))) bool whole(const unsigned char* z, std::size_t n)
{
    for (std::size_t i = 0; i < n; ++i)
        if (z[i] != zone_byte) return false;
    return true;
}
bool red_zones_are_whole()
{
    for (const auto& [p, bytes] : memory().live)
        if (!whole(bytes_at(p) - zone, zone) || !whole(bytes_at(p) + bytes, rounded(bytes) - bytes + zone))
            return false;
    return true;
}

}  // namespace fake

long fake_cuda_bytes_taken()
{
    std::size_t all = 0;
    for (const auto& r : fake::memory().regions) all += r.taken;
    return static_cast<long>(all);
}
int fake_cuda_contains(const void* p)
{
    const auto* const at = static_cast<const unsigned char*>(p);
    return at >= fake::memory().base && at < fake::memory().base + fake::space;
}
