// Memory of a device that others have made, and memory of ours for others: pointers, in the order of streams.
#pragma once

#include "../io/dlpack.hpp"
#include "tensor.hpp"

namespace wengert::detail::gpu {

/// Work of one device does not touch another one's memory.
inline void of_one_device(int memory, const CudaStream& s)
{
    if (s.device() == memory) return;
    const std::string there = std::to_string(memory), here = std::to_string(s.device());
    refuse("CUDA: the elements are on cuda:" + there + " and the stream is one of cuda:" + here +
           ": to<cuda>(x, cuda{" + here + "}) brings a tensor there");
}

/// The user's memory: work of ours that is under way when its last tensor ends is done before its owner is released.
class Borrowed {
public:
    Borrowed(Gpu& gpu, Address at, std::size_t bytes, Queue* theirs, LentOwner owner)
        : gpu_(gpu), at_(at), bytes_(bytes), theirs_(theirs), owner_(std::move(owner))
    {
        if (theirs_) theirs_->refuse_capture(), gpu.queues().mark(*theirs_);
        if (gpu.orders()) gpu.pool().uses().add(theirs_ ? *theirs_ : gpu.queue(), at, bytes);
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    ~Borrowed()
    {
        try {
            end();
        } catch (...) {  // the device has failed for good, and nobody works with it any more
        }
    }

private:
    void end()
    {
        Gpu& gpu = Gpu::get(gpu_.ordinal());
        if (!owner_ && !theirs_ && !gpu.queues().several()) return;
        const Uses::List uses =
            gpu.queues().several() ? gpu.pool().uses().of(at_, bytes_) : gpu.pool().uses().unknown();
        const bool waits = theirs_ && !theirs_->is_captured();
        for (const Use& u : uses)
            if (waits)
                gpu.queues().wait(*theirs_, *u.queue, u.used);
            else if ((owner_ || theirs_) && u.queue != theirs_)
                gpu.queues().wait_here(*u.queue);
    }

    Gpu& gpu_;
    Address at_;
    std::size_t bytes_;
    Queue* theirs_;
    LentOwner owner_;
};

/// The user's memory as a block.
inline Ref<Block> borrowed(std::uint8_t device, DType dtype, const Shape& shape, const Strides& strides,
                           std::byte* data, LentOwner owner, Queue* theirs)
{
    const auto lend = [&](const Shape& whole, std::byte* first) {
        if (const std::size_t bytes = element_count(whole) * size_of(dtype))
            owner = std::make_shared<const Borrowed>(gpu_with(device), reinterpret_cast<Address>(first),
                                                     bytes, theirs, std::move(owner));
        return make_borrowed_elsewhere(device, dtype, whole, first, std::move(owner));
    };
    return wengert::detail::view_of_lent(shape, strides, data, size_of(dtype), lend);
}

/// A tensor's memory for others, who have a stream.
class LentMemory {
public:
    LentMemory(Ref<Block> b, const CudaStream& to) : block_(std::move(b)), to_(to)
    {
        Gpu& gpu = gpu_of(*block_);
        of_one_device(gpu.ordinal(), to_);
        to_.queue().refuse_capture();
        const OnStream theirs(to_);
        Ordered order(gpu);
        order.reads(*block_);
    }
    LentMemory(LentMemory&&) = default;
    LentMemory& operator=(LentMemory&&) = delete;
    ~LentMemory()
    {
        if (!block_) return;
        try {
            Ordered::note_reading(gpu_of(*block_), to_.queue(), *block_);  // up to here
        } catch (...) {                                                    // the device has failed for good
        }
    }
    const Block& block() const noexcept { return *block_; }
    /// After all that the stream was given before.
    CudaEvent ready() const { return to_.record(); }

private:
    Ref<Block> block_;
    CudaStream to_;
};

}  // namespace wengert::detail::gpu

namespace wengert {

/// What is known of memory that is borrowed.
struct cuda::Borrow {
    Strides strides = {};  ///< in elements, `data` is the first element; empty: row-major
    std::shared_ptr<const void> owner =
        {};  ///< keeps the memory, and is released after the last tensor that reads it
    const cuda::Stream* stream =
        nullptr;            ///< whose work has written it, and is to come to what follows after it is read
    void* event = nullptr;  ///< a CUevent or cudaEvent_t, after which it has been written
    int device = -1;        ///< −1: the current one
};

/// The elements of a tensor, lent to a stream of the user's as long as this lives. Until then nobody writes there. Afterwards the
/// memory is handed out again only after the work that the stream was given by then.
template <class T> class cuda::Lent {
public:
    Lent(const Tensor<T, cuda>& x, const Stream& to, const Site& at)
        : memory_((static_cast<void>(Computing("lend", at)), x.any("lend", at).value), to)
    {}
    const T* data() const noexcept { return memory_.block().template as<T>(); }
    const Shape& shape() const noexcept { return memory_.block().shape; }
    /// In elements.
    Strides strides() const { return memory_.block().strides(); }
    /// The elements are there: for other streams than the one that was named.
    Event ready() const { return memory_.ready(); }

private:
    detail::gpu::LentMemory memory_;
};

template <class T> Tensor<T, cuda> cuda::borrow(const T* data, const Shape& shape, const Borrow& of, Site at)
{
    const Computing now("borrow", at);
    check_shape("borrow", shape, at);
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    if ((!data && element_count(shape) > 0) || address % alignof(T) != 0)
        fail<Error>("borrow", data ? "the pointer is not aligned for its type" : "the pointer is null", at);
    const bool strided = of.strides.size() > 0;
    if (strided && of.strides.size() != shape.size())
        fail<ShapeError>("borrow",
                         "there is a stride for each axis, and shape " + to_string(shape) + " was given " +
                             to_string(of.strides),
                         at);
    const int device = of.device >= 0 ? of.device : of.stream ? of.stream->device() : current();
    if (of.stream) detail::gpu::of_one_device(device, *of.stream);
    const std::uint8_t number = detail::gpu::number_of(device);
    detail::gpu::Gpu& gpu = detail::gpu::gpu_with(number);
    if (of.event) detail::gpu::Queues::wait_for(gpu.queue(), static_cast<detail::gpu::Event*>(of.event));
    auto* const first = reinterpret_cast<std::byte*>(const_cast<T*>(data));
    return Tensor<T, cuda>(
        AnyTensor{detail::gpu::borrowed(number, dtype_of<T>(), shape, strided ? of.strides : row_major(shape),
                                        first, of.owner, of.stream ? &of.stream->queue() : nullptr),
                  {}});
}
template <class T> Tensor<T, cuda> cuda::borrow(const T* data, const Shape& shape, Site at)
{
    return borrow(data, shape, Borrow{}, at);
}

template <class T> cuda::Lent<T> cuda::lend(const Tensor<T, cuda>& x, const Stream& to, Site at)
{
    return Lent<T>(x, to, at);
}

/// x for another library, whose work in a stream may read it: what Python calls __dlpack__(stream), whose number is the pointer.
template <class M = dlpack::Managed, class T>
M* to_dlpack(const Tensor<T, cuda>& x, const cuda::Stream& to, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Computing now("to_dlpack", at);
    const Ref<Block>& b = detail::exported_elements(x, at);
    return detail::exported<M>(*b, {dlpack::cuda_device, detail::gpu::gpu_of(*b).ordinal()},
                               std::make_shared<const detail::gpu::LentMemory>(b, to));
}
/// For work in the default stream.
template <class M = dlpack::Managed, class T>
M* to_dlpack(const Tensor<T, cuda>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const int device = detail::gpu::gpu_of(*detail::exported_elements(x, at)).ordinal();
    return to_dlpack<M>(x, cuda::Stream(static_cast<void*>(nullptr), device), at);
}

/// A tensor of another library's array on a device, without a copy, as from_dlpack for the host. Whoever made the array was asked for it
/// in `stream`, which waits for us before the deleter is called; without one in this thread's stream, and then the host waits.
template <class T, class Device, class M>
    requires std::is_same_v<Device, cuda>
Tensor<T, cuda> from_dlpack(M* m, const cuda::Stream* stream = nullptr,
                            Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Computing now("from_dlpack", at);
    const dlpack::Array& a = m->array;
    if (a.device.type != dlpack::cuda_device && a.device.type != dlpack::cuda_managed)
        fail<DeviceError>("from_dlpack",
                          "the array lies on a device of type " + std::to_string(a.device.type), at);
    const auto in = detail::Imported::of<T>(a, at);
    const std::uint8_t device = detail::gpu::number_of(static_cast<int>(a.device.number));
    if (stream) detail::gpu::of_one_device(static_cast<int>(a.device.number), *stream);
    return Tensor<T, cuda>(AnyTensor{detail::taken_over(m,
                                                        [&](std::shared_ptr<const void> owner) {
                                                            return detail::gpu::borrowed(
                                                                device, dtype_of<T>(), in.shape, in.strides,
                                                                in.data, std::move(owner),
                                                                stream ? &stream->queue() : nullptr);
                                                        }),
                                     {}});
}

}  // namespace wengert
