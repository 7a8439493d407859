// Streams of a device, ours and the user's, and events between them.
#pragma once

#include <memory>

#include "../driver/ordered.hpp"
#include "../../tape/tape.hpp"

namespace wengert::detail::gpu {

/// A point in a stream: all work that was put there before.
class CudaEvent {
public:
    /// CUevent, cudaEvent_t
    void* raw() const noexcept { return event_.get(); }
    /// Waits until that work has been done. Throws DeviceError where some of it has failed.
    void synchronize() const
    {
        if (event_) check_wait(Driver::get().wait_for_event(event_.get()), "cuEventSynchronize");
    }

private:
    friend class CudaStream;
    std::shared_ptr<Event> event_;
};

/// Its work is done in order, beside that of other streams. Copies are the same stream. Tensors may be used in any stream: work waits
/// for what another stream makes, and memory is handed out again when all streams are done with it.
class CudaStream {
public:
    /// A new one.
    explicit CudaStream(int device)
        : gpu_(&Gpu::get(device)),
          queue_(&gpu_->queues().take(), [g = gpu_](Queue* q) { g->queues().give(*q); })
    {}
    /// The user's: CUstream, cudaStream_t; null is the device's default stream. It must live as long as a scope of it.
    CudaStream(void* raw, int device)
        : gpu_(&Gpu::get(device)), queue_(&gpu_->queues().of(static_cast<Stream*>(raw)), [](Queue*) {})
    {}
    /// CUstream, cudaStream_t
    void* raw() const noexcept { return queue_->stream(); }
    int device() const noexcept { return gpu_->ordinal(); }
    Queue& queue() const noexcept { return *queue_; }
    /// Waits until all that was put there has been done. Throws DeviceError where some of it has failed.
    void synchronize() const
    {
        const Restore<Queue*> there(now(), queue_.get());
        Gpu::get(gpu_->ordinal()).wait();
    }
    /// After all that was put there before.
    CudaEvent record() const
    {
        static_cast<void>(Gpu::get(gpu_->ordinal()));
        queue_->refuse_capture();
        const Driver& d = Driver::get();
        Event* made = nullptr;
        constexpr unsigned no_timing = 2;
        check(d.make_event(&made, no_timing), "cuEventCreate");
        CudaEvent out;
        out.event_ = {made, [](Event* e) { static_cast<void>(Driver::get().end_event(e)); }};
        check(d.record(made, queue_->stream()), "cuEventRecord");
        return out;
    }
    /// Later work in this stream waits for an event, or for all work that another stream has been given. The event may be a CUevent
    /// or cudaEvent_t of the program.
    void wait(const CudaEvent& e) const { wait(e.raw()); }
    void wait(const CudaStream& other) const
    {
        queue_->refuse_capture();
        wait(other.record());
    }
    void wait(void* event) const
    {
        static_cast<void>(Gpu::get(gpu_->ordinal()));
        if (event) Queues::wait_for(*queue_, static_cast<Event*>(event));
    }

private:
    friend class OnStream;
    Queue*& now() const noexcept { return queue_now[static_cast<std::size_t>(gpu_->ordinal())]; }
    Gpu* gpu_;
    std::shared_ptr<Queue> queue_;
};

/// While it lives, the work that this thread gives to the device goes to a stream.
class OnStream {
public:
    explicit OnStream(CudaStream stream) : stream_(std::move(stream)), before_(stream_.now())
    {
        static_cast<void>(Gpu::get(stream_.device()));
        stream_.gpu_->queues().enter(*stream_.queue_);
        stream_.now() = stream_.queue_.get();
    }
    OnStream(const OnStream&) = delete;
    OnStream& operator=(const OnStream&) = delete;
    ~OnStream()
    {
        stream_.now() = before_;
        stream_.gpu_->queues().leave(*stream_.queue_);
    }

private:
    CudaStream stream_;
    Queue* before_;
};

}  // namespace wengert::detail::gpu
