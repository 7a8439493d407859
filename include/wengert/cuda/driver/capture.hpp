// Work on a device as one thing: what a thread asks for is captured once, and done again and again by one call of the driver.
#pragma once

#include "ordered.hpp"

namespace wengert::detail::gpu {

/// Work that can be done any number of times. Memory that was given back while it was captured is its own.
class CapturedWork {
public:
    CapturedWork(Gpu& gpu, WorkGraphExec* exec, std::vector<std::pair<std::byte*, std::size_t>> memory)
        : gpu_(gpu), exec_(exec), memory_(std::move(memory))
    {}
    CapturedWork(const CapturedWork&) = delete;
    CapturedWork& operator=(const CapturedWork&) = delete;
    ~CapturedWork()
    {
        static_cast<void>(Driver::get().end_executable(exec_));
        give_back();
    }
    /// The same work with other addresses. False where the driver does not see it as the same.
    bool becomes(WorkGraph* graph, std::vector<std::pair<std::byte*, std::size_t>>& memory)
    {
        UpdateResult why;
        const Driver& d = Driver::get();
        if (!d.update || d.update(exec_, graph, &why) != success) return false;
        give_back();
        memory_ = std::exchange(memory, {});
        return true;
    }
    /// In this thread's stream, which comes after the one where it was done before.
    void launch()
    {
        runs_.begin(gpu_);
        check(Driver::get().launch_graph(exec_, gpu_.stream()), "cuGraphLaunch");
        runs_.put();
        gpu_.asked();
    }

private:
    void give_back() noexcept
    {
        for (const auto& [p, capacity] : memory_) {
            runs_.end(p, capacity);
            gpu_.pool().give(p, capacity);
        }
    }

    Gpu& gpu_;
    WorkGraphExec* exec_;
    std::vector<std::pair<std::byte*, std::size_t>> memory_;
    OrderedRuns runs_;
};

/// While it lives this thread's work on the device is captured and not done; other threads' is not. What waits for the device, or
/// copies from or to the host, throws DeviceError.
class Capture {
public:
    Capture(Gpu& gpu, Workspace& workspace) : gpu_(gpu), lock_(of(gpu).mutex)
    {
        const Driver& d = Driver::get();
        Stream*& stream = of(gpu).stream;
        constexpr unsigned beside_others = 1;
        if (!stream) check(d.make_stream(&stream, beside_others), "cuStreamCreate");
        check(d.begin_capture(stream, whatever_else_is_called), "cuStreamBeginCapture");
        now_.pool = &gpu.pool(), now_.stream = stream, now_.inner = &of(gpu).inner;
        now_.workspace = &workspace;
        capturing_now = &now_;
    }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    ~Capture()
    {
        if (WorkGraph* const graph = capturing_now == &now_ ? written() : nullptr)
            static_cast<void>(Driver::get().end_graph(graph));
        for (const auto& [p, capacity] : now_.kept) gpu_.pool().give(p, capacity);
    }
    /// What has been captured; it takes the place of work that nobody needs any more, if there is some.
    std::unique_ptr<CapturedWork> finish(std::unique_ptr<CapturedWork> before = {})
    {
        WorkGraph* const graph = written();
        if (!graph) refuse("CUDA: cuStreamEndCapture failed");
        const bool same = before && before->becomes(graph, now_.kept);
        WorkGraphExec* exec = nullptr;
        const Result r = same ? success : Driver::get().instantiate(&exec, graph, 0);
        static_cast<void>(Driver::get().end_graph(graph));
        check(r, "cuGraphInstantiate");
        if (same) return before;
        return std::make_unique<CapturedWork>(gpu_, exec, std::exchange(now_.kept, {}));
    }

private:
    struct One {
        std::mutex mutex;
        Stream* stream = nullptr;
        std::vector<Stream*> inner;
    };
    static One& of(const Gpu& gpu)
    {
        static auto* const all = new std::array<One, Gpu::most>;
        return (*all)[static_cast<std::size_t>(gpu.ordinal())];
    }
    /// Null where the driver has given up on it. One that has lost a body is left as it is, with its streams: libcuda frees such a body
    /// when its own capture ends, and again with the graph around it (github.com/NVIDIA/cuda-python/issues/2918).
    WorkGraph* written()
    {
        capturing_now = nullptr;
        if (now_.lost) return of(gpu_).stream = nullptr, of(gpu_).inner.clear(), nullptr;
        WorkGraph* graph = nullptr;
        const bool good = Driver::get().end_capture(now_.stream, &graph) == success;
        return good ? graph : nullptr;
    }

    Gpu& gpu_;
    std::lock_guard<std::mutex> lock_;
    Capturing now_;
};

}  // namespace wengert::detail::gpu
