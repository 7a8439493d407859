// Nodes of work that is captured whose body runs as often as a number on the device says: once or not at all, or again and again.
#pragma once

#include "capture.hpp"

namespace wengert::detail::gpu {

/// A node of what this thread captures. A kernel that is captured before it, and at the end of a body that repeats, sets its
/// condition.
class Conditional {
public:
    using Kind = ConditionalParameters::Kind;

    Conditional(Gpu& gpu, Kind kind) : gpu_(gpu)
    {
        constexpr unsigned none_at_first = 0, in_each_launch = 1;
        parameters_.kind = kind, parameters_.context = gpu.context();
        const InsertionPoint here(gpu);
        check(Driver::get().make_condition(&parameters_.condition, here.graph, gpu.context(), none_at_first,
                                           in_each_launch),
              "cuGraphConditionalHandleCreate");
    }
    Conditional(const Conditional&) = delete;
    Conditional& operator=(const Conditional&) = delete;

    /// The handle of the condition that kernels set.
    unsigned long long number() const noexcept { return parameters_.condition; }
    /// The node, after all that has been captured; its body is what `write` asks for.
    template <class Write> void body(const Write& write)
    {
        const Driver& d = Driver::get();
        constexpr unsigned instead = 1;
        WorkNode* node = nullptr;
        const InsertionPoint here(gpu_);
        check(d.add_node(&node, here.graph, here.last, nullptr, here.count, &parameters_), "cuGraphAddNode");
        check(d.set_last(gpu_.stream(), &node, 1, instead), "cuStreamUpdateCaptureDependencies");
        Body inside(parameters_.bodies[0]);
        write();
        inside.end();
    }

private:
    /// The place in the capture where the next piece of work is added.
    struct InsertionPoint {
        explicit InsertionPoint(const Gpu& gpu)
        {
            int status = 0;
            constexpr int writes = 1;
            check(Driver::get().capture_info(gpu.stream(), &status, nullptr, &graph, &last, &count),
                  "cuStreamGetCaptureInfo");
            if (status != writes) refuse("CUDA: the driver has given up what is captured");
        }
        WorkGraph* graph = nullptr;
        WorkNode* const* last = nullptr;
        std::size_t count = 0;
    };
    /// While it lives this thread's work is written to the body.
    class Body {
    public:
        explicit Body(WorkGraph* body) : outer_(capturing_now->stream)
        {
            Stream* const stream = next();
            check(Driver::get().begin_capture_to(stream, body, nullptr, nullptr, 0, whatever_else_is_called),
                  "cuStreamBeginCaptureToGraph");
            capturing_now->stream = stream;
            ++capturing_now->depth;
        }
        Body(const Body&) = delete;
        Body& operator=(const Body&) = delete;
        ~Body() { static_cast<void>(leave()); }
        void end() { check(leave(), "cuStreamEndCapture"); }

    private:
        static Stream* next()
        {
            std::vector<Stream*>& all = *capturing_now->inner;
            constexpr unsigned beside_others = 1;
            if (all.size() == capturing_now->depth) {
                Stream* made = nullptr;
                check(Driver::get().make_stream(&made, beside_others), "cuStreamCreate");
                all.push_back(made);
            }
            return all[capturing_now->depth];
        }
        Result leave()
        {
            if (!outer_) return success;
            Stream* const mine = std::exchange(capturing_now->stream, std::exchange(outer_, nullptr));
            --capturing_now->depth;
            if (capturing_now->lost)
                return success;  // the driver is not to touch what is around the lost one
            WorkGraph* body = nullptr;
            const Result r = Driver::get().end_capture(mine, &body);
            capturing_now->lost = r != success;
            return r;
        }
        Stream* outer_;
    };

    Gpu& gpu_;
    ConditionalParameters parameters_;
};

}  // namespace wengert::detail::gpu
