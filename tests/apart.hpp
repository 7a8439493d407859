// apart: a device for tests. Its memory is one file that is mapped twice: blocks point into a mapping that nobody may read or write,
// and only the functions of its table know the way to the other one. What touches elements past the table ends at that line, with
// a segmentation fault. Memory that is not in use is full of 0xFF: NaNs, and indices that are out of range.
//
//     const wengert::OnDevice there(wengert::apart::device());  // new tensors of this thread go there
//
// Kernels are the host's, with addresses that have been translated. What has neither terms nor a description is a host call, and
// counted; this device spares itself the copies.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include <wengert/ops/index/alias.hpp>
#include <wengert/ops/describe/structural.hpp>

namespace wengert::apart {

namespace detail {

/// The file, and which parts of it are in use.
class Memory {
public:
    static Memory& get()
    {
        static auto* memory = new Memory;
        return *memory;
    }
    std::byte* take(std::size_t bytes, std::size_t& capacity)
    {
        const std::lock_guard lock(mutex_);
        if (bytes > size) refuse(bytes);
        const std::size_t c = memory::Pool::class_of(bytes);
        capacity = memory::Pool::bytes_of(c);
        if (!free_[c].empty()) {
            std::byte* const p = free_[c].back();
            free_[c].pop_back();
            return p;
        }
        if (capacity > size - used_) refuse(capacity);
        std::byte* const p = guarded_ + used_;
        used_ += capacity;
        std::memset(reachable(p), 0xff, capacity);
        return p;
    }
    void give(std::byte* p, std::size_t capacity) noexcept
    {
        std::memset(reachable(p), 0xff, capacity);
        const std::lock_guard lock(mutex_);
        free_[memory::Pool::class_of(capacity)].push_back(p);
    }
    /// Where the elements at p can be touched. Throws Error for what lies elsewhere.
    std::byte* reachable(const std::byte* p) const
    {
        if (!contains(p))
            throw Error("[apart] elements of another device were handed to this one's functions");
        return open_ + (p - guarded_);
    }
    bool contains(const void* p) const noexcept { return p >= guarded_ && p <= guarded_ + size; }

private:
    static constexpr std::size_t size = std::size_t{1}
                                        << 36;  // of addresses: pages come when they are touched

    Memory()
    {
        const int file = ::memfd_create("wengert apart", MFD_CLOEXEC);
        const bool there = file >= 0 && ::ftruncate(file, static_cast<off_t>(size)) == 0;
        if (there) guarded_ = mapped(file, PROT_NONE), open_ = mapped(file, PROT_READ | PROT_WRITE);
        if (file >= 0) ::close(file);
        if (!guarded_ || !open_) throw DeviceError("[device] apart: no memory file can be mapped here");
    }
    [[noreturn]] static void refuse(std::size_t bytes)
    {
        const auto holders = memory::holders.load();
        throw MemoryError("[memory] cannot allocate " + std::to_string(bytes) + " bytes on apart" +
                          (holders ? holders() : std::string()));
    }
    static std::byte* mapped(int file, int access)
    {
        void* const p = ::mmap(nullptr, size, access, MAP_SHARED | MAP_NORESERVE, file, 0);
        return p == MAP_FAILED ? nullptr : static_cast<std::byte*>(p);
    }

    std::mutex mutex_;
    std::byte *guarded_ = nullptr, *open_ = nullptr;
    std::size_t used_ = 0;
    std::vector<std::byte*> free_[memory::Pool::classes];
};

inline std::byte* reachable(const std::byte* p) { return Memory::get().reachable(p); }

/// b as a block of the host, on the same elements; it keeps b's owner.
inline Ref<Block> host_view(const Block& b)
{
    Block& owner = b.base ? *b.base : const_cast<Block&>(b);
    auto whole = make_lent(owner.dtype, owner.shape, reachable(owner.data),
                           std::make_shared<const Ref<Block>>(&owner));
    if (!b.base) return whole;
    const Strides strides = b.strides();
    return make_view(whole, b.shape, &strides,
                     (b.data - owner.data) / static_cast<std::ptrdiff_t>(size_of(b.dtype)));
}
inline std::vector<Ref<Block>> host_views(const Ref<Block>* in, std::size_t n)
{
    std::vector<Ref<Block>> views(n);
    for (std::size_t k = 0; k < n; ++k) views[k] = host_view(*in[k]);
    return views;
}

inline DeviceCounts& counts()
{
    static DeviceCounts all;
    return all;
}

inline std::uint8_t number();

/// What a host call has made of views: an operand, a view of one, or elements that are copied to the device.
inline Ref<Block> brought_back(const Ref<Block>& y, const std::vector<Ref<Block>>& views,
                               const Ref<Block>* in, bool described = false)
{
    const Block* const owner = y->base ? y->base : y.get();
    for (std::size_t k = 0; k < views.size(); ++k) {
        if (y.get() == views[k].get()) return in[k];
        const Block* const seen = views[k]->base ? views[k]->base : views[k].get();
        if (owner != seen) continue;
        const Strides strides = y->strides();
        return make_view(Ref<Block>(in[k]->base ? in[k]->base : in[k].get()), y->shape, &strides,
                         (y->data - seen->data) / static_cast<std::ptrdiff_t>(size_of(y->dtype)));
    }
    (described ? counts().programs : counts().host_calls).fetch_add(1, std::memory_order_relaxed);
    return placed(y, number());
}

inline void copy(const Block& from, Block& to)
{
    const Strides s = from.strides(), d = to.strides();
    if (from.count > 0)
        kernels::copy_strided(from.shape.size(), from.shape.data(), s.data(), reachable(from.data), d.data(),
                              reachable(to.data), size_of(from.dtype));
}
inline void fill(Block& to, const void* element)
{
    const Strides s = Strides::filled(to.shape.size()), d = to.strides();
    if (to.count > 0)
        kernels::copy_strided(to.shape.size(), to.shape.data(), s.data(),
                              static_cast<const std::byte*>(element), d.data(), reachable(to.data),
                              size_of(to.dtype));
}
inline void elementwise(const Primitive& p, const Block* const* in, Block& out)
{
    const auto seen = [&](const Block& b) {
        kernels::Operand o = operand(b, out.shape);
        o.data = reachable(b.data);
        return o;
    };
    kernels::Operand operands[kernels::max_operands] = {seen(out)};
    for (std::size_t k = 0; k < p.arity; ++k) operands[k + 1] = seen(*in[k]);
    kernels::execute(p.value, out.shape, p.dtype, operands, p.arity + 1U, kernels::Store::assign);
}
/// `in` are views of `own`, which lie on the device.
inline Ref<Block> index_program(const Primitive& p, const void* op, const std::vector<Ref<Block>>& in,
                                const Ref<Block>* own, const Site& at)
{
    Index program(in.size(), [&](std::size_t k) -> const Shape& { return in[k]->shape; });
    describe_index(program, p.name, p.index, op, at);
    Alias view;
    if (p.overridden && in.size() == 1 && in[0]->dtype == p.dtype &&
        alias_of(program, in[0]->strides(), view))
        return make_view(own[0], program.shown(), &view.strides, view.offset);
    auto out =
        make_elsewhere(current_thread(), number(), p.dtype, program.shown(), element_count(program.result));
    run_index(program, p.name, in.data(), *host_view(*out), at);
    counts().programs.fetch_add(1, std::memory_order_relaxed);
    return out;
}
/// The same where their number varies: each writes its part.
inline Ref<Block> index_parts(const Primitive& p, const void* op, const std::vector<Ref<Block>>& in,
                              const Site& at)
{
    Ref<Block> out;
    for (std::size_t k = 0; k < in.size(); ++k) {
        const Shape* const shapes[] = {&in[k]->shape};
        Index part(shapes, 1);
        p.part(op, k, part);
        part.check(p.name, at);
        if (!out)
            out =
                make_elsewhere(current_thread(), number(), p.dtype, part.result, element_count(part.result));
        run_index(part, p.name, &in[k], *host_view(*out), at);
    }
    counts().programs.fetch_add(1, std::memory_order_relaxed);
    return out;
}
inline std::vector<Ref<Block>> host_call(HostFunction f, void* context, const Ref<Block>* in, std::size_t n)
{
    const OnDevice host(0);
    const auto views = host_views(in, n);
    std::vector<Ref<Block>> seen = views, results = f(context, seen);
    for (Ref<Block>& y : results)
        if (y) y = brought_back(y, views, in);
    return results;
}
inline Ref<Block> structural(const Primitive& p, const void* op, const Ref<Block>* in, std::size_t n,
                             const Site& at)
{
    const OnDevice host(0);
    const auto views = host_views(in, n);
    if (p.index) return index_program(p, op, views, in, at);
    if (p.part) return index_parts(p, op, views, at);
    return brought_back(p.compute(op, views.data(), n, at), views, in, p.fold != nullptr);
}
inline const DeviceTable& table()
{
    static const DeviceTable all{
        .name = "apart",
        .take = [](std::size_t bytes, std::size_t& capacity) { return Memory::get().take(bytes, capacity); },
        .give = [](std::byte* p, std::size_t capacity) noexcept { Memory::get().give(p, capacity); },
        .to_host = [](void* to, const std::byte* from,
                      std::size_t bytes) { std::memcpy(to, reachable(from), bytes); },
        .from_host = [](std::byte* to, const void* from,
                        std::size_t bytes) { std::memcpy(reachable(to), from, bytes); },
        .copy = copy,
        .fill = fill,
        .add = [](Block& to, const Block& from) { add_into(*host_view(to), *host_view(from)); },
        .all_zero = [](const Block& b) { return wengert::all_zero(*host_view(b)); },
        .all_finite = [](const Block& b) { return wengert::all_finite(*host_view(b)); },
        .elementwise = elementwise,
        .host_call = host_call,
        .structural = structural,
        .counts = &counts(),
        .replays = true};
    return all;
}

inline std::uint8_t number()
{
    static const std::uint8_t one = add_device(table());
    return one;
}

}  // namespace detail

/// Its number, for OnDevice. Throws DeviceError where there are no memory files.
inline std::uint8_t device()
{
    static_cast<void>(detail::Memory::get());
    return detail::number();
}

inline DeviceCounts& counts() { return detail::counts(); }

/// True when p is an address that nobody may touch: for a handler of segmentation faults.
inline bool contains(const void* p) noexcept { return detail::Memory::get().contains(p); }

}  // namespace wengert::apart
