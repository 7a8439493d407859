// A device of CUDA: its context, its streams, its memory, and copies from and to the host.
#pragma once

#include <array>
#include <memory>

#include "pool.hpp"
#include "deferred_checks.hpp"
#include "staging.hpp"

namespace wengert::detail::gpu {

class Gpu {
public:
    static constexpr int most = most_devices;

    /// The device of this number, counted from 0. Its context becomes this thread's. Throws DeviceError.
    static Gpu& get(int ordinal)
    {
        const Driver& d = Driver::get();
        if (!d) refuse(d.reason);
        if (ordinal < 0 || ordinal >= std::min(d.devices, most))
            refuse("CUDA: there is no device " + std::to_string(ordinal) + ", the driver knows " +
                   std::to_string(d.devices));
        static auto* const all = new std::array<Slot, most>;  // they outlive whatever is destroyed at the end
        Slot& slot = (*all)[static_cast<std::size_t>(ordinal)];
        std::call_once(slot.once, [&] { slot.gpu.reset(new Gpu(ordinal)); });
        slot.gpu->enter();
        return *slot.gpu;
    }

    int ordinal() const noexcept { return ordinal_; }
    const std::string& name() const noexcept { return name_; }
    /// 90 for compute capability 9.0
    int architecture() const noexcept { return architecture_; }
    int multiprocessors() const noexcept { return multiprocessors_; }
    /// That of this thread's work, or of what it captures (capture.hpp).
    Stream* stream() const noexcept { return writes_down() ? capturing_now->stream : queue().stream(); }
    Queues& queues() const noexcept { return *queues_; }
    Queue& queue() const noexcept { return queues_->now(); }
    /// Has work to be ordered, since there are several streams? What is captured is in order by itself.
    bool orders() const noexcept { return queues_->several() && !writes_down(); }
    bool writes_down() const noexcept { return capturing_now && capturing_now->pool == pool_.get(); }
    /// Throws DeviceError if the program captures this thread's stream, or the library's own, which becomes part of a capture when it
    /// waits for an event of one.
    void refuse_capture() const
    {
        if (queues_->several() && !writes_down()) [[unlikely]]
            queue().refuse_capture();
    }
    Pool& pool() noexcept { return *pool_; }
    Context* context() const noexcept { return context_; }

    void from_host(std::byte* to, const void* from, std::size_t bytes) const
    {
        if (!bytes) return;
        not_captured();
        staging_->to_device(reinterpret_cast<Address>(to), from, bytes, stream());
        asked();
    }
    void to_host(void* to, const std::byte* from, std::size_t bytes) const
    {
        if (!bytes) return;
        not_captured();
        staging_->to_host(to, reinterpret_cast<Address>(from), bytes, stream());
        deferred_checks_->look(false);
    }
    void copy(std::byte* to, const std::byte* from, std::size_t bytes) const
    {
        if (!bytes) return;
        check(Driver::get().on_device(reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), bytes,
                                      stream()),
              "cuMemcpyDtoDAsync");
        asked();
    }
    /// From another device's memory: the stream here waits for the one there, and what comes there later waits for the copy.
    void from_peer(std::byte* to, const Gpu& other, const std::byte* from, std::size_t bytes) const
    {
        not_captured();
        other.enter();
        Stream* const there = other.stream();
        enter();
        other.sent_.wait(other, there, *this, stream());
        check(Driver::get().between_devices(reinterpret_cast<Address>(to), context_,
                                            reinterpret_cast<Address>(from), other.context_, bytes, stream()),
              "cuMemcpyPeerAsync");
        sent_.wait(*this, stream(), other, there);
        enter();
        asked();
    }
    /// Called when work has been put in this thread's stream.
    void asked() const
    {
        last_asked = Operation::now();
        if (waits_for_each().load(std::memory_order_relaxed) && !writes_down()) [[unlikely]]
            wait();
    }
    /// Waits for this thread's stream. Throws DeviceError where some of its work has failed.
    void wait() const
    {
        not_captured();
        check_wait(Driver::get().wait_for_stream(stream()), "cuStreamSynchronize");
        deferred_checks_->look(false);
    }
    /// Waits until all that was asked for has been done. Throws DeviceError where some of it has failed.
    void synchronize() const
    {
        not_captured();
        queues_->wait_for_all();
        deferred_checks_->look();
    }
    /// The checks that kernels make without the host waiting for them.
    DeferredChecks& deferred_checks() const noexcept { return *deferred_checks_; }

private:
    void not_captured() const
    {
        if (capturing_now) refuse("CUDA: the host has a part in work that is captured");
        refuse_capture();
    }
    struct Slot {
        std::once_flag once;
        std::unique_ptr<Gpu> gpu;
    };

    explicit Gpu(int ordinal) : ordinal_(ordinal)
    {
        const Driver& d = Driver::get();
        check(d.device(&device_, ordinal), "cuDeviceGet");
        check(d.retain_context(&context_, device_), "cuDevicePrimaryCtxRetain");
        enter();
        architecture_ = 10 * ask(Attribute::compute_major) + ask(Attribute::compute_minor);
        multiprocessors_ = ask(Attribute::multiprocessors);
        char text[256] = {};
        check(d.device_name(text, sizeof text - 1, device_), "cuDeviceGetName");
        name_ = text;
        constexpr unsigned beside_others = 1;
        Stream* stream = nullptr;
        check(d.make_stream(&stream, beside_others), "cuStreamCreate");
        queues_ = std::make_unique<Queues>(ordinal, stream);
        staging_ = std::make_unique<Staging>();
        deferred_checks_ = std::make_unique<DeferredChecks>(*queues_);
        pool_ = std::make_unique<Pool>("cuda:" + std::to_string(ordinal), *queues_,
                                       ask(Attribute::memory_pools) != 0);
    }
    /// An event of a device that is recorded again and again, for one thread at a time.
    class ReusableEvent {
    public:
        /// What is put in `later` comes after all that `before` was given.
        void wait(const Gpu& from, Stream* before, const Gpu& to, Stream* later) const
        {
            constexpr unsigned no_timing = 2;
            const Driver& d = Driver::get();
            const std::lock_guard lock(mutex_);
            from.enter();
            if (!event_) check(d.make_event(&event_, no_timing), "cuEventCreate");
            check(d.record(event_, before), "cuEventRecord");
            to.enter();
            check(d.wait_in_stream(later, event_, 0), "cuStreamWaitEvent");
        }

    private:
        mutable std::mutex mutex_;
        mutable Event* event_ = nullptr;
    };
    void enter() const { check(Driver::get().set_context(context_), "cuCtxSetCurrent"); }
    int ask(Attribute a) const
    {
        int value = 0;
        check(Driver::get().attribute(&value, a, device_), "cuDeviceGetAttribute");
        return value;
    }

    int ordinal_, device_ = 0, architecture_ = 0, multiprocessors_ = 1;
    std::string name_;
    Context* context_ = nullptr;
    ReusableEvent sent_;
    std::unique_ptr<Queues> queues_;
    std::unique_ptr<Staging> staging_;
    std::unique_ptr<DeferredChecks> deferred_checks_;
    std::unique_ptr<Pool> pool_;
};

}  // namespace wengert::detail::gpu
