// The backend of random programs: tiles, threads, the interpreter, native code and emitted text side by side.
#include "graph/random/random_programs_together.hpp"

#include <wengert/base/compiler/shared_object.hpp>
#include <wengert/graph/freeze/compiler.hpp>
#include <wengert/graph/c/cpp_writer.hpp>
#include <wengert/graph/c/emit_cpp.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/ops/gemm.hpp>
#include <wengert/graph/loops/loop_graphs.hpp>

#include <cmath>
#include <cstring>
#include <sstream>

#include "graph/threads/seven_threads.hpp"

namespace random_programs {

namespace wg = wengert;
constexpr const char* about = " (about)";
using Blocks = std::vector<wg::Ref<wg::Block>>;

Counts& counts()
{
    static Counts all;
    return all;
}

std::string difference(const wg::Block& a, const wg::Block& b, bool exact, double slack)
{
    if (!(a.shape == b.shape) || a.dtype != b.dtype)
        return " has shape " + wg::to_string(a.shape) + " for " + wg::to_string(b.shape);
    std::string what;
    wg::with_dtype(a.dtype, [&]<class T>() {
        const T *x = a.as<T>(), *y = b.as<T>();
        for (std::size_t i = 0; i < a.count && what.empty(); ++i) {
            if ((x[i] != x[i] && y[i] != y[i]) || std::memcmp(x + i, y + i, sizeof(T)) == 0) continue;
            const auto p = static_cast<double>(x[i]), q = static_cast<double>(y[i]);
            const double tolerance = slack * (sizeof(T) == 4 ? 2e-3 : 1e-8);
            if (!exact && (std::isinf(p) || std::isinf(q) || p != p || q != q ||
                           std::abs(p - q) <= tolerance * (1 + std::abs(q))))
                continue;
            std::ostringstream out;
            out.precision(17);
            out << ", element " << i << ": " << p << " for " << q << (exact ? "" : about);
            what = out.str();
        }
    });
    return what;
}

namespace {

unsigned wanted = without_compiler;

/// A graph as a function of an emitted header, which is called with pointers.
class EmittedGraph : public wg::Executable {
public:
    EmittedGraph(const wg::Graph& g, std::shared_ptr<wg::detail::SharedObject> object,
                 const std::string& name)
        : graph_(g), object_(std::move(object)),
          call_(reinterpret_cast<int (*)(void**)>(object_->symbol(("call_" + name).c_str())))
    {}
    std::size_t run(Blocks& inputs, Blocks& outputs) override
    {
        std::vector<void*> pointers;
        for (const auto& b : inputs) pointers.push_back(b->data);
        Blocks made;
        for (wg::ValueId v : graph_.outputs()) {
            made.push_back(wg::make_block(graph_.node(v).dtype, graph_.node(v).shape));
            pointers.push_back(made.back()->data);
        }
        const int status = call_(pointers.data());
        if (status < 0) throw wg::Error("an emitted function met an index which is none");
        if (status > 0) return static_cast<std::size_t>(status) - 1;
        outputs = std::move(made);
        return graph_.guards().size();
    }
    /// Its header, and a function that takes pointers.
    static std::string text(const wg::Graph& g, const std::string& name)
    {
        std::string s = wg::emit_cpp(g, name), list;
        const std::size_t n = g.inputs().size(), m = g.outputs().size();
        for (std::size_t i = 0; i < n + m; ++i) {
            const wg::GraphNode& node = g.node(i < n ? g.inputs()[i] : g.outputs()[i - n]);
            list += std::string(i ? ", (" : "(") + (i < n ? "const " : "") +
                    wg::detail::c_type(node.dtype, wg::detail::Dialect::numbers) + "*)p[" +
                    std::to_string(i) + "]";
        }
        return s + "extern \"C\" int call_" + name + "(void** p) { (void)p; return " + name + "(" + list +
               "); }\n";
    }

private:
    wg::Graph graph_;
    std::shared_ptr<wg::detail::SharedObject> object_;
    int (*call_)(void**);
};

struct Outcome {
    std::size_t guard = 0;
    Blocks outputs = {};
    std::string thrown = {};
};

/// Executors of one graph, the first of which answers.
struct Executors {
    explicit Executors(const wg::Graph& g) : graph(g) {}
    struct One {
        const char* name;
        std::unique_ptr<wg::Executable> executable;
        bool exact = true, says_why = true, first_guard = false;
    };
    wg::Graph graph;
    std::vector<One> all;

    /// Inputs that lend their memory to updates are copied for each.
    Outcome run(const One& one, const Blocks& inputs) const
    {
        Outcome o;
        Blocks in = inputs;
        for (auto& b : in) b = wg::copy_of(*b);
        try {
            o.guard = one.executable->run(in, o.outputs);
        } catch (const std::exception& e) {
            o.thrown = e.what();
        }
        return o;
    }
    /// Of several guards that do not hold any may be named; emitted text and the interpreter name the first.
    bool agree(const One& a, std::size_t guard, const Outcome& y) const
    {
        if (a.first_guard && guard != failed_guard_) return false;
        return (guard == graph.guards().size()) == (y.guard == graph.guards().size());
    }
    std::string compared(const One& a, const Outcome& x, const Outcome& y) const
    {
        // an operation may be run, and throw, before the guard that would have kept from it
        const auto failed = [&](const Outcome& o) {
            return !o.thrown.empty() || o.guard != graph.guards().size();
        };
        if (x.thrown.empty() != y.thrown.empty() && failed(x) && failed(y)) return {};
        if (a.says_why ? x.thrown != y.thrown : x.thrown.empty() != y.thrown.empty())
            return "threw '" + x.thrown + "' for '" + y.thrown + "'";
        if (!y.thrown.empty()) return {};
        if (!agree(a, x.guard, y))
            return "guard " + std::to_string(x.guard) + " for " + std::to_string(y.guard);
        for (std::size_t k = 0; k < std::min(x.outputs.size(), y.outputs.size()); ++k)
            if (std::string d = difference(*wg::readable(x.outputs[k]), *wg::readable(y.outputs[k]), a.exact);
                !d.empty())
                return "output " + std::to_string(k) + " of shape " + wg::to_string(y.outputs[k]->shape) + d;
        return {};
    }
    std::size_t run(Blocks& inputs, Blocks& outputs) const
    {
        if (all.size() > 1) {
            const Outcome first = run(all.front(), inputs);
            failed_guard_ = first.guard;
            if (first.guard != graph.guards().size() && first.thrown.empty()) {
                Blocks in = inputs, out;
                failed_guard_ = wg::detail::interpret_guarded(graph, in, out, {});
            }
            for (std::size_t k = 1; k < all.size() && complaint.empty(); ++k)
                if (std::string d = compared(all[k], run(all[k], inputs), first); !d.empty())
                    complaint = std::string(all[k].name) + " beside " + all.front().name + ": " + d;
        }
        return all.front().executable->run(inputs, outputs);
    }

private:
    mutable std::size_t failed_guard_ = 0;
};

class SideBySide : public wg::Executable {
public:
    explicit SideBySide(std::shared_ptr<Executors> e) : executors_(std::move(e)) {}
    std::size_t run(Blocks& inputs, Blocks& outputs) override { return executors_->run(inputs, outputs); }

private:
    std::shared_ptr<Executors> executors_;
};

/// Graphs that wait for the compiler.
std::vector<std::shared_ptr<Executors>> waiting;

bool holds_product(const wg::Graph& g)
{
    for (const auto& n : g.nodes()) {
        if (n.kind != wg::GraphNode::Kind::operation) continue;
        if (n.primitive->product) return true;
        if (const auto* loop = wg::loop_parameters(n))
            for (const auto& body : {loop->body, loop->other, loop->pull})
                if (body && holds_product(*body)) return true;
    }
    return false;
}

std::unique_ptr<wg::Executable> compile_side_by_side(const wg::Graph& g, const wg::PlanOptions& options)
{
    auto e = std::make_shared<Executors>(g);
    ++counts().graphs;
    wg::PlanOptions several = options;
    several.threads = 3;
    several.wake_cost = 0;
    e->all.push_back({"tile", wg::Backend(wg::tile).compile(g, options)});
    if (wanted & threads) e->all.push_back({"threads", wg::Backend(wg::tile).compile(g, several)});
    if (wanted & interpreter) e->all.push_back({"interpreter", wg::interpret.compile(g, options)});
    if (compiles()) waiting.push_back(e);
    return std::make_unique<SideBySide>(std::move(e));
}

void compile_native_code(const std::vector<std::shared_ptr<Executors>>& list)
{
    std::vector<wg::Graph> graphs;
    for (const auto& e : list) graphs.push_back(e->graph);
    auto made = wg::compile_native_together(graphs, {});
    for (std::size_t k = 0; k < list.size(); ++k) {
        if (made[k]->stats.uncompiled < made[k]->stats.kernels) ++counts().native;
        list[k]->all.push_back({"native", std::move(made[k])});
    }
    ++counts().objects;
}

void compile_emitted_text(const std::vector<std::shared_ptr<Executors>>& list)
{
    std::string text;
    std::vector<bool> told;
    for (std::size_t k = 0; k < list.size(); ++k) {
        try {
            text += EmittedGraph::text(list[k]->graph, "g" + std::to_string(k));
            told.push_back(true);
        } catch (const wg::TapeError&) {  // what has no form in C++ says so
            told.push_back(false);
            ++counts().untold;
        }
    }
    const wg::detail::Compiled compiled =
        wg::detail::compile_text(text, {"-std=c++17", "-O0", "-w", "-shared", "-fPIC"});
    if (!compiled.object) throw std::runtime_error("emitted text: " + compiled.message);
    for (std::size_t k = 0; k < list.size(); ++k) {
        if (!told[k]) continue;
        ++counts().emitted;
        list[k]->all.push_back(
            {"emitted",
             std::make_unique<EmittedGraph>(list[k]->graph, compiled.object, "g" + std::to_string(k)),
             !holds_product(list[k]->graph), false, true});
    }
    ++counts().objects;
}

/// Code for all that waits.
void compile_waiting()
{
    std::vector<std::shared_ptr<Executors>> list;
    for (auto& e : waiting)
        if (e.use_count() > 1) list.push_back(std::move(e));
    waiting.clear();
    if (list.empty()) return;
    if (wanted & native_code) compile_native_code(list);
    if (wanted & emitted_text) compile_emitted_text(list);
}

template <class F> std::string caught(const F& f)
{
    try {
        return f();
    } catch (const std::exception& e) {
        return std::string("threw ") + e.what();
    }
}

std::unique_ptr<Session> session_of(const Program& p)
{
    return p.twice ? session_double(p) : session_float(p);
}

/// Sums in another order may leave no digit: a term of 1e307 and its opposite absorb all that is added between them. What is wrong in
/// floats is so in doubles, too, and where data have no edges.
bool is_rounding(const std::string& what, const Program& p)
{
    if (what.find(about) == std::string::npos) return false;
    if (session_of(p)->is_unstable()) return true;
    if (p.twice && !p.edges()) return false;
    Program q = p;
    q.twice = true;
    if (q.edges()) q.seed -= Program::flags;
    return failures({q}, wanted).front().empty();
}

}  // namespace

bool compiles() { return wanted & (native_code | emitted_text); }

const wg::Backend side_by_side{"side by side", &compile_side_by_side};

std::vector<std::string> failures(const std::vector<Program>& programs, unsigned executors)
{
    wanted = executors;
    wg::memory::keep(std::int64_t{256} << 20);  // sizes are ever others
    std::vector<std::string> found(programs.size());
    std::vector<std::unique_ptr<Session>> sessions;
    for (std::size_t k = 0; k < programs.size(); ++k) {
        sessions.push_back(session_of(programs[k]));
        found[k] = caught([&] { return sessions[k]->start(); });
        if (found[k].empty() && !compiles()) found[k] = caught([&] { return sessions[k]->finish(); });
        if (!found[k].empty() || !compiles()) sessions[k].reset();
    }
    compile_waiting();
    for (std::size_t k = 0; k < programs.size(); ++k)
        if (sessions[k]) {
            found[k] = caught([&] { return sessions[k]->finish(); });
            sessions[k].reset();
        }
    waiting.clear();
    complaint.clear();
    for (std::size_t k = 0; k < programs.size(); ++k)
        if (is_rounding(found[k], programs[k])) found[k].clear();
    return found;
}

}  // namespace random_programs
