// Memory of a device that others have made, and memory of ours for others: pointers, in the order of streams.
#pragma once

#include "tensor.hpp"

namespace wengert::detail::gpu {

/// The user's memory: work of ours that is under way when its last tensor ends is done before its owner is released.
class Borrowed {
public:
    Borrowed(Gpu& gpu, Address at, std::size_t bytes, Queue* theirs, LentOwner owner)
        : gpu_(gpu), at_(at), bytes_(bytes), theirs_(theirs), owner_(std::move(owner))
    {
        if (theirs_) {
            gpu.queues().mark(*theirs_);
            gpu.pool().uses().note(*theirs_, at, bytes, true, theirs_->ticket());
        } else if (gpu.orders()) {
            gpu.pool().uses().take(gpu.queue(), at, bytes);
        }
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
            gpu.queues().several() ? gpu.pool().uses().give(at_, bytes_) : gpu.pool().uses().unknown();
        for (const Use& u : uses)
            if (theirs_)
                gpu.queues().wait(*theirs_, *u.queue, u.used);
            else if (owner_)
                gpu.queues().wait_here(*u.queue);
    }

    Gpu& gpu_;
    Address at_;
    std::size_t bytes_;
    Queue* theirs_;
    LentOwner owner_;
};

/// The user's memory as a block: flat from its first to its last element, and a view of that where it has strides.
inline Ref<Block> borrowed(std::uint8_t device, DType dtype, const Shape& shape, const Strides* strides,
                           const void* data, LentOwner owner, Queue* theirs)
{
    std::int64_t span = element_count(shape) ? 1 : 0;
    for (std::size_t d = 0; span && d < shape.size(); ++d)
        span += (shape[d] - 1) * (strides ? (*strides)[d] : row_major(shape)[d]);
    const std::size_t bytes = static_cast<std::size_t>(span) * size_of(dtype);
    auto* const first = static_cast<std::byte*>(const_cast<void*>(data));
    if (bytes)
        owner = std::make_shared<const Borrowed>(gpu_with(device), reinterpret_cast<Address>(first), bytes,
                                                 theirs, std::move(owner));
    const bool plain = !strides || *strides == row_major(shape);
    const Ref<Block> whole =
        make_borrowed_elsewhere(device, dtype, plain ? shape : Shape{span}, first, std::move(owner));
    return plain ? whole : make_view(whole, shape, strides, 0);
}

/// A tensor's memory for others, who have a stream.
class LentMemory {
public:
    LentMemory(Ref<Block> b, const CudaStream& to) : block_(std::move(b)), to_(to)
    {
        const OnStream theirs(to_);
        Gpu& gpu = gpu_of(*block_);
        Ordered order(gpu);
        order.reads(*block_);
    }
    LentMemory(LentMemory&&) = default;
    LentMemory& operator=(LentMemory&&) = delete;
    ~LentMemory()
    {
        if (!block_) return;
        try {
            const OnStream theirs(to_);
            Ordered order(gpu_of(*block_));
            order.reads(*block_);  // up to here
        } catch (...) {            // the device has failed for good
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
    Strides strides = {};  ///< in elements, none of them negative; empty: row-major
    std::shared_ptr<const void> owner =
        {};  ///< keeps the memory, and is released after the last tensor that reads it
    const cuda::Stream* stream =
        nullptr;            ///< whose work has written it, and is to come to what follows after it is read
    void* event = nullptr;  ///< a CUevent or cudaEvent_t, after which it has been written
    int device = -1;        ///< −1: the current one
};

/// Elements of a tensor for a stream of the user's, as long as this lives: until then nobody writes there, and the memory is handed out
/// again after what that stream was given by then.
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
    if (strided && (of.strides.size() != shape.size() ||
                    std::any_of(of.strides.begin(), of.strides.end(), [](auto s) { return s < 0; })))
        fail<ShapeError>("borrow",
                         "strides are one number for each axis, 0 or more, and shape " + to_string(shape) +
                             " was given " + to_string(of.strides),
                         at);
    const int device = of.device >= 0 ? of.device : of.stream ? of.stream->device() : current();
    const std::uint8_t number = detail::gpu::number_of(device);
    detail::gpu::Gpu& gpu = detail::gpu::gpu_with(number);
    if (of.event)
        detail::gpu::check(detail::gpu::Driver::get().wait_in_stream(
                               gpu.stream(), static_cast<detail::gpu::Event*>(of.event), 0),
                           "cuStreamWaitEvent");
    return Tensor<T, cuda>(
        AnyTensor{detail::gpu::borrowed(number, dtype_of<T>(), shape, strided ? &of.strides : nullptr, data,
                                        of.owner, of.stream ? &of.stream->queue() : nullptr),
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

}  // namespace wengert
