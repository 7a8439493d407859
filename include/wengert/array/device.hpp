// A device: memory that elements lie in, and what is done with them there, as a table of functions. A block knows its device by a
// number; 0 is the host, whose part of the table is the library's own code.
//
// Nothing above this layer touches elements of a block that lies elsewhere: it calls the table, or asks for a copy on the host
// (array/elsewhere.hpp) where a user wants values.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "../base/dtype.hpp"
#include "../base/error.hpp"
#include "../base/shape.hpp"

namespace wengert {

struct Backend;
struct Block;
struct Primitive;
struct RandomDraw;
template <class X> class Ref;

/// What a device has done since the program began, or since the counts were reset.
struct DeviceCounts {
    std::atomic<std::int64_t> kernels{0};   ///< elementwise primitives
    std::atomic<std::int64_t> programs{0};  ///< index programs
    std::atomic<std::int64_t> host_calls{
        0};  ///< primitives that are computed on the host, their operands and results copied
    std::atomic<std::int64_t> to_host{
        0};  ///< copies that somebody asked for: values of the user, indices that are looked at
    std::atomic<std::int64_t> from_host{0};  ///< copies of what was made on the host: lists, constants, files

    void reset() noexcept
    {
        for (auto* count : {&kernels, &programs, &host_calls, &to_host, &from_host})
            count->store(0, std::memory_order_relaxed);
    }
};

/// What this thread computes on a device at the moment, for the device's errors.
struct Operation {
    std::string_view name;
    Site at;
    static Operation& now() noexcept;
};
namespace detail {
inline constinit thread_local Operation operation_now __attribute__((visibility("default")));
}
inline Operation& Operation::now() noexcept { return detail::operation_now; }

/// Says so while it lives.
class Computing {
public:
    Computing(std::string_view name, const Site& at) noexcept : before_(Operation::now())
    {
        Operation::now() = {name, at};
    }
    Computing(const Computing&) = delete;
    Computing& operator=(const Computing&) = delete;
    ~Computing() { Operation::now() = before_; }

private:
    Operation before_;
};

/// What a host call computes: blocks of the host from blocks of the host.
using HostFunction = std::vector<Ref<Block>> (*)(void* context, std::vector<Ref<Block>>& in);

/// Operands and results of these functions lie on the device, in any layout unless something else is said. Results exist: no function
/// but `host_call` and `structural` makes a block.
struct DeviceTable {
    std::string_view name;

    /// At least so many bytes, `capacity` of them. Throws MemoryError.
    std::byte* (*take)(std::size_t bytes, std::size_t& capacity);
    void (*give)(std::byte* p, std::size_t capacity) noexcept;
    void (*to_host)(void* to, const std::byte* from, std::size_t bytes);
    void (*from_host)(std::byte* to, const void* from, std::size_t bytes);

    /// Shapes are equal, elements do not overlap.
    void (*copy)(const Block& from, Block& to);
    /// Every element is the one at `element`, which is on the host.
    void (*fill)(Block& to, const void* element);
    /// to += from, where to's shape is that of `from` or one that broadcasts to it.
    void (*add)(Block& to, const Block& from);
    bool (*all_zero)(const Block&);
    bool (*all_finite)(const Block&);

    /// `out` has the operands' shapes broadcast, or more; it may be an operand. Operands of rank 0 may be on the host if `takes_numbers`.
    void (*elementwise)(const Primitive&, const Block* const* in, Block& out);
    /// Operands to the host, f, results back: an operand that f returns, or a view of one, comes back as such.
    std::vector<Ref<Block>> (*host_call)(HostFunction f, void* context, const Ref<Block>* in, std::size_t n);
    /// Primitive::compute.
    Ref<Block> (*structural)(const Primitive&, const void* op, const Ref<Block>* in, std::size_t n,
                             const Site&);

    DeviceCounts* counts;
    bool takes_numbers = false;
    bool replays = false;  ///< a graph runs there node by node; else the whole of it is a host call
    /// The elements of a draw, of a key's two words: false where the host has to make them.
    bool (*draw)(const RandomDraw&, const std::uint64_t* key, Block& out) = nullptr;
    const Backend* backend =
        nullptr;  ///< what runs graphs there better, on inputs from anywhere (graph/ir/executable.hpp)
    /// Contiguous elements from another device: false where they have to go by way of the host. Null: they always have to.
    bool (*from_device)(const Block& from, Block& to) = nullptr;
};

/// Where something is to run: the tag of a device, cpu{} or cuda{}.
struct Placement {
    Placement() = default;  ///< where its operands are
    template <class Device>
        requires requires(const Device& d) { number_of_device(d); }
    Placement(const Device& d) : number(number_of_device(d)), chosen(true)
    {}
    std::uint8_t number = 0;
    bool chosen = false;
};
inline std::uint8_t number_of_device(const cpu&) noexcept { return 0; }

namespace detail {

struct __attribute__((visibility("default"))) DeviceList {
    static constexpr std::size_t most = 16;
    std::mutex mutex;
    std::array<std::atomic<const DeviceTable*>, most> tables{};  ///< [0] stays empty: the host
    std::size_t count = 1;
    static DeviceList& get() noexcept
    {
        static DeviceList list;
        return list;
    }
};

/// The device of new tensors in threads that have not chosen one.
inline std::atomic<std::uint8_t> first_device __attribute__((visibility("default"))) = 0;

}  // namespace detail

/// The table of a device other than the host.
inline const DeviceTable& device_table(std::size_t device) noexcept
{
    return *detail::DeviceList::get().tables[device].load(std::memory_order_acquire);
}

inline std::string_view device_name(std::size_t device) noexcept
{
    return device ? device_table(device).name : std::string_view("cpu");
}

/// Has this program another device than the host?
inline bool has_devices() noexcept
{
    return detail::DeviceList::get().tables[1].load(std::memory_order_acquire) != nullptr;
}

/// The number of a device from now on; `table` stays. Throws DeviceError where there are too many.
inline std::uint8_t add_device(const DeviceTable& table)
{
    detail::DeviceList& list = detail::DeviceList::get();
    const std::lock_guard lock(list.mutex);
    if (list.count == detail::DeviceList::most)
        throw DeviceError("[device] there is no room for another one, " + std::string(table.name));
    list.tables[list.count].store(&table, std::memory_order_release);
    return static_cast<std::uint8_t>(list.count++);
}

}  // namespace wengert
