// Graphs of the fake devices: see fake.hpp.
#include "graphs.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

namespace fake {

namespace {

/// Functions that a driver of this version has.
constexpr int conditional_nodes = 12040, else_bodies = 12080;

/// What is running, as handles know it.
std::map<std::uint64_t, std::shared_ptr<Condition>>* running = nullptr;

void add(Graph& g, Stream& s, std::shared_ptr<Node> n)
{
    n->after = s.last;
    s.last = {n.get()};
    g.nodes.push_back(std::move(n));
}
/// An order that its nodes allow; of several that may come next it is the one that was added last.
std::vector<std::shared_ptr<Node>> in_order(const Graph& g)
{
    std::vector<std::shared_ptr<Node>> left = g.nodes, out;
    const auto done = [&](const Node* n) {
        return std::any_of(out.begin(), out.end(), [&](const auto& o) { return o.get() == n; });
    };
    while (!left.empty()) {
        const auto next = std::find_if(left.rbegin(), left.rend(), [&](const auto& n) {
            return std::all_of(n->after.begin(), n->after.end(), done);
        });
        if (next == left.rend()) return fail_for_good("nodes of a graph wait for each other"), out;
        out.push_back(*next);
        left.erase(std::next(next).base());
    }
    return out;
}
void run_all_of(const Graph& g);
void run_node(const Node& n)
{
    if (!n.condition) return n.run();
    constexpr int many = 1000000;
    if (n.repeats) {
        for (int k = 0; n.condition->value; ++k) {
            if (k == many) return fail_for_good("a loop of a graph does not end");
            run_all_of(*n.bodies[0]);
        }
        return;
    }
    const std::size_t which = n.condition->value ? 0 : 1;
    if (which < n.bodies.size()) run_all_of(*n.bodies[which]);
}
void run_all_of(const Graph& g)
{
    for (const auto& n : in_order(g)) run_node(*n);
}
/// What NVIDIA's driver does with a graph whose body was freed beneath it.
void crash(const char* function)
{
    std::fprintf(stderr, "fake CUDA: %s of a graph one of whose bodies was given up\n", function);
    std::abort();
}
Result refuse_old(const char* function)
{
    if (version() >= conditional_nodes) return success;
    fail_for_good(std::string("a driver of this version has no ") + function);
    return not_found;
}

}  // namespace

void write(Stream& s, std::function<void()> work)
{
    add(*s.captures, s, std::make_shared<Node>(Node{std::move(work)}));
}
bool is_written(Stream* s) { return s && existing(s)->captures; }
namespace {

/// A capture that goes on, and who has begun it how.
struct Begun {
    Stream* stream;
    Mode mode;
    std::thread::id by = std::this_thread::get_id();
    bool is_mine() const { return by == std::this_thread::get_id(); }
};
std::vector<Begun> begun;
thread_local Mode mode_of_thread = Mode::global;

}  // namespace

bool thread_writes()
{
    return std::any_of(begun.begin(), begun.end(), [](const Begun& b) {
        return b.is_mine() && b.mode == Mode::relaxed && b.stream->captures && !b.stream->captures->freed;
    });
}
UnsafeCall::UnsafeCall(const char* function) : Call(function)
{
    for (const Begun& b : begun) {
        const bool forbids =
            b.is_mine() ? b.mode != Mode::relaxed : b.mode == Mode::global && mode_of_thread == Mode::global;
        if (mode_of_thread != Mode::relaxed && forbids) result = spoil(b.stream);
    }
}
bool is_body(Stream* s) { return s && existing(s)->captures && existing(s)->captures->outer; }
Result spoil(Stream* s)
{
    existing(s)->spoilt = true;
    return 900;
}
void set_condition(std::uint64_t handle, unsigned value)
{
    const auto found = running ? running->find(handle) : decltype(running->end()){};
    if (!running || found == running->end())
        return fail_for_good("a kernel sets a condition of no graph that runs");
    found->second->value = value;
}

}  // namespace fake

using fake::Result;

/// CUgraphNodeParams of a conditional node.
struct NodeParameters {
    int type, reserved[3];
    unsigned long long handle;
    int kind;
    unsigned size;
    fake::Graph** bodies;
    void* context;
    long long padding[25], end;
};
static_assert(sizeof(NodeParameters) == 256);

FAKE_EXPORT Result cuStreamIsCapturing(fake::Stream* stream, int* status)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    stream = fake::existing(stream);
    *status = !stream->captures ? 0 : stream->spoilt ? 2 : 1;
    return fake::success;
}
FAKE_EXPORT Result cuThreadExchangeStreamCaptureMode(int* mode)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    *mode = static_cast<int>(std::exchange(fake::mode_of_thread, static_cast<fake::Mode>(*mode)));
    return fake::success;
}
FAKE_EXPORT Result cuStreamBeginCapture_v2(fake::Stream* stream, int mode)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (stream->captures) return fake::invalid_value;
    stream->captures = new fake::Graph;
    fake::begun.push_back({stream, static_cast<fake::Mode>(mode)});
    stream->spoilt = false;
    stream->last.clear();
    return fake::success;
}
FAKE_EXPORT Result cuStreamBeginCaptureToGraph(fake::Stream* stream, fake::Graph* graph,
                                               const fake::Node* const* after, const void* edges,
                                               std::size_t count, int mode)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (const Result r = fake::refuse_old(__func__)) return r;
    if (stream->captures || edges || !graph->outer) return fake::invalid_value;
    stream->captures = graph;
    fake::begun.push_back({stream, static_cast<fake::Mode>(mode)});
    stream->spoilt = false;
    stream->last.assign(after, after + count);
    return fake::success;
}
FAKE_EXPORT Result cuStreamEndCapture(fake::Stream* stream, fake::Graph** graph)
{
    const fake::Call call(__func__);
    fake::Graph* const written = stream->captures;
    stream->captures = nullptr;
    std::erase_if(fake::begun, [&](const fake::Begun& b) { return b.stream == stream; });
    if (!written) return 401;  // CUDA_ERROR_ILLEGAL_STATE
    if (written->freed) fake::crash(__func__);
    if (call.result || stream->spoilt) {
        if (written->outer)
            for (fake::Graph* g = written->outer; g; g = g->outer) g->freed = true;
        else
            delete written;
        return call.result ? call.result : 901;
    }
    *graph = written;
    return fake::success;
}
FAKE_EXPORT Result cuStreamGetCaptureInfo_v2(fake::Stream* stream, int* status, unsigned long long* id,
                                             fake::Graph** graph, const fake::Node* const** after,
                                             std::size_t* count)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    *status = !stream->captures ? 0 : stream->spoilt ? 2 : 1;
    if (*status != 1) return fake::success;
    if (id) *id = 1;
    if (graph) *graph = stream->captures;
    if (after) *after = stream->last.data();
    if (count) *count = stream->last.size();
    return fake::success;
}
FAKE_EXPORT Result cuStreamUpdateCaptureDependencies(fake::Stream* stream, fake::Node** after,
                                                     std::size_t count, unsigned flags)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (!stream->captures || flags > 1) return fake::invalid_value;
    if (flags == 1) stream->last.clear();
    stream->last.insert(stream->last.end(), after, after + count);
    return fake::success;
}
FAKE_EXPORT Result cuGraphConditionalHandleCreate(unsigned long long* handle, fake::Graph* graph,
                                                  void* context, unsigned first, unsigned flags)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (const Result r = fake::refuse_old(__func__)) return r;
    if (flags > 1 || context != fake::context()) return fake::invalid_value;
    static std::uint64_t next = 0x100;
    const auto made = std::make_shared<fake::Condition>();
    made->first = first, made->assigns = flags == 1;
    graph->root().conditions[*handle = next++] = made;
    return fake::success;
}
FAKE_EXPORT Result cuGraphAddNode_v2(fake::Node** node, fake::Graph* graph, const fake::Node* const* after,
                                     const void* edges, std::size_t count, NodeParameters* p)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (const Result r = fake::refuse_old(__func__)) return r;
    constexpr int conditional = 13, if_node = 0, while_node = 1;
    bool good = p->type == conditional && !edges && p->context == fake::context();
    for (const long long zero : p->padding) good = good && zero == 0;
    for (const int zero : p->reserved) good = good && zero == 0;
    good = good && p->end == 0 && (p->kind == if_node || p->kind == while_node) &&
           (p->size == 1 || (p->size == 2 && p->kind == if_node && fake::version() >= fake::else_bodies));
    const auto known = graph->root().conditions.find(p->handle);
    good = good && known != graph->root().conditions.end() && !known->second->used;
    for (std::size_t k = 0; k < count; ++k)
        good = good && std::any_of(graph->nodes.begin(), graph->nodes.end(),
                                   [&](const auto& n) { return n.get() == after[k]; });
    if (!good) return fake::invalid_value;
    const auto made = std::make_shared<fake::Node>();
    made->after.assign(after, after + count);
    made->condition = known->second, made->repeats = p->kind == while_node;
    known->second->used = true;
    for (unsigned k = 0; k < p->size; ++k) {
        made->bodies.push_back(std::make_unique<fake::Graph>());
        made->bodies.back()->outer = graph;
        made->handed_out.push_back(made->bodies.back().get());
    }
    p->bodies = made->handed_out.data();
    graph->nodes.push_back(made);
    *node = made.get();
    return fake::success;
}
FAKE_EXPORT Result cuGraphInstantiateWithFlags(fake::Graph** exec, fake::Graph* graph, unsigned long long)
{
    const fake::UnsafeCall call(__func__);
    if (call.result) return call.result;
    for (const auto& [_, c] : graph->conditions)
        if (!c->used) return fake::invalid_value;
    if (!graph->conditions.empty() && *graph->launchable > 0) return fake::invalid_value;
    *exec = new fake::Graph{graph->nodes, graph->conditions, nullptr, false, graph->launchable};
    ++*graph->launchable;
    return fake::success;
}
// The same nodes, with other parameters: work that was launched before is as it was.
FAKE_EXPORT Result cuGraphExecUpdate_v2(fake::Graph* exec, fake::Graph* graph, int* why)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (!exec->conditions.empty() || exec->nodes.size() != graph->nodes.size()) return *why = 1, 910;
    exec->nodes = graph->nodes;
    return fake::success;
}
FAKE_EXPORT Result cuGraphLaunch(fake::Graph* exec, fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (fake::existing(stream)->captures && !exec->conditions.empty()) return 801;
    const auto conditions =
        std::make_shared<std::map<std::uint64_t, std::shared_ptr<fake::Condition>>>(exec->conditions);
    fake::put(stream, [conditions] {
        for (const auto& [_, c] : *conditions)
            if (c->assigns) c->value = c->first;
    });
    for (const auto& n : fake::in_order(*exec))
        fake::put(stream, [n, conditions] {
            fake::running = conditions.get();
            fake::run_node(*n);
            fake::running = nullptr;
        });
    return fake::success;
}
FAKE_EXPORT Result cuGraphDestroy(fake::Graph* graph)
{
    const fake::Call call(__func__);
    if (graph->freed) fake::crash(__func__);
    delete graph;
    return call.result;
}
FAKE_EXPORT Result cuGraphExecDestroy(fake::Graph* exec)
{
    const fake::Call call(__func__);
    --*exec->launchable;
    delete exec;
    return call.result;
}
