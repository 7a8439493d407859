// A trace of what a function with a rule of the user's consists of. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../trace.hpp"

namespace wengert {

namespace detail {

/// The trace of such an operation's inside. It may be given up, which is no error.
class InsideTrace : public Trace {
public:
    struct GivenUp {};
    InsideTrace() : Trace(recorder_table<InsideTrace>) {}
    [[noreturn]] void refuse(std::string_view, const Site&) { throw GivenUp(); }

    /// It depends on nothing but its inputs and numbers, and does nothing but compute.
    bool whole()
    {
        const auto plain = [](const GraphNode& n) {
            if (n.kind == Graph::Kind::constant) return n.shape.empty();
            return n.kind == Graph::Kind::input ||
                   (n.kind == Graph::Kind::operation && !n.primitive->effects);
        };
        const std::vector<GraphNode>& nodes = graph().nodes();
        return captured().empty() && graph().guards().empty() &&
               std::all_of(nodes.begin(), nodes.end(), plain);
    }
};

}  // namespace detail

WENGERT_INLINE std::shared_ptr<const Inside> Trace::inside(const std::vector<Ref<Block>>& in,
                                                           const InsideFunction& f, Ref<Block>& out,
                                                           const Site& at)
{
    detail::InsideTrace trace;
    trace.bodies_twice = bodies_twice;
    std::vector<Ref<Block>> headers;
    for (const Ref<Block>& b : in) {
        headers.push_back(another_header(b));
        trace.input(headers.back(), at);
    }
    auto& elsewhere = current_thread().used_elsewhere;
    const char* const before = elsewhere.exchange(nullptr);
    try {
        out = f(headers);
    } catch (const detail::InsideTrace::GivenUp&) {
        elsewhere = before;
        return nullptr;
    }
    if (elsewhere.exchange(before)) return nullptr;  // other threads compute, too
    trace.output(out, at);
    if (!trace.whole()) return nullptr;
    trace.stop();
    return std::make_shared<InsideGraph>(std::move(trace.graph()));
}

}  // namespace wengert
