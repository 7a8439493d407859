// Graphs as values that one can compute with: run, differentiated, compared. What freeze does is faster (graph/freeze.hpp);
// this serves graphs that were built by hand or read from a file.
#pragma once

#include "../../transforms/section.hpp"
#include "../ir/interpret.hpp"
#include "text.hpp"
#include "../loops/loop_rules.hpp"
#include "../ir/trace.hpp"

namespace wengert {

/// The outputs of a graph, in order.
class Outputs : public std::vector<AnyTensor> {
public:
    using std::vector<AnyTensor>::vector;
    Outputs(std::vector<AnyTensor> values) : std::vector<AnyTensor>(std::move(values)) {}
    /// Output i. Throws IndexError when there is none, DTypeError when it is no tensor of T.
    template <class T> Tensor<T> get(std::size_t i, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        if (i >= size())
            fail<IndexError>("graph",
                             "there is no output " + std::to_string(i) + " of " + std::to_string(size()), at);
        const DType d = (*this)[i].value->dtype;
        if (d != dtype_of<T>())
            fail<DTypeError>("graph",
                             "output " + std::to_string(i) + " is " + std::string(name_of(d)) + ", not " +
                                 std::string(name_of(dtype_of<T>())),
                             at);
        return Tensor<T>((*this)[i]);
    }
};

/// The outputs of a graph on tensors of its inputs' dtypes and shapes, each operation by the library's dispatch: it may be
/// differentiated. Throws ShapeError, DTypeError; TapeError where a guard does not hold.
inline Outputs run(const Graph& g, const std::vector<AnyTensor>& inputs,
                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    std::vector<Ref<Block>> blocks;
    for (const AnyTensor& x : inputs) blocks.push_back(x.value);
    detail::check_inputs("graph", g, blocks, at);
    if (g.guards().empty()) return replay(g, inputs);
    std::vector<AnyTensor> out = replay(with_guards_as_outputs(g), inputs);
    for (std::size_t k = 0; k < g.guards().size(); ++k) {
        const Guard& guard = g.guards()[k];
        const Block& found = *out[g.outputs().size() + k].value;
        if (!same_elements(*contiguous(Ref<Block>(const_cast<Block*>(&found))), *guard.expected))
            fail<TapeError>("graph",
                            "the graph does not hold for these inputs: %" + std::to_string(guard.value) +
                                " is " + detail::elements_text(found, 4) + ", not " +
                                detail::elements_text(*guard.expected, 4),
                            guard.at);
    }
    out.resize(g.outputs().size());
    return out;
}
template <class... T> Outputs run(const Graph& g, const Tensor<T>&... inputs)
{
    return run(g, std::vector<AnyTensor>{inputs.any()...}, Site{});
}

/// A graph of the same inputs whose outputs are those of g and then the gradients of the first one, of one floating-point
/// element, with respect to each floating-point input. Guards and updates stay. Throws TapeError for another first output,
/// and where a part of the graph has no derivative that can be had.
inline Graph differentiate(const Graph& g, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (g.outputs().empty()) fail<TapeError>("graph", "no output to differentiate", at);
    const GraphNode& first = g.node(g.outputs()[0]);
    if (!differentiable(first.dtype) || element_count(first.shape) != 1)
        fail<TapeError>(
            "graph",
            "the first output must be one number, it is " + detail::type_text(first.dtype, first.shape), at);
    const Graph all = with_guards_as_outputs(g);
    // What hooks bring back are other blocks, which the graph would take for constants.
    const Restore<std::shared_ptr<SavedHooks>> unpacked(Tape::current().hooks, nullptr);
    Trace trace;
    const detail::Speculation example;  // a loop need not end on zeros
    std::vector<AnyTensor> x, y;
    std::vector<bool> wanted;
    for (ValueId v : g.inputs()) {
        const GraphNode& n = g.node(v);
        x.push_back({zeros_block(n.dtype, n.shape), {}});
        trace.input(x.back().value, n.at);
        wanted.push_back(differentiable(n.dtype));
    }
    std::vector<AnyTensor> cotangents(all.outputs().size());
    cotangents[0].value = make_block(first.dtype, first.shape);
    with_dtype(first.dtype, [&]<class T>() { cotangents[0].value->template as<T>()[0] = T(1); });
    const auto gradients =
        detail::pull_by_running([&](const std::vector<AnyTensor>& in) { return y = replay(all, in); }, x,
                                cotangents, wanted, "graph", at);
    for (std::size_t k = 0; k < g.outputs().size(); ++k) trace.output(y[k].value, g.node(g.outputs()[k]).at);
    for (std::size_t i = 0; i < x.size(); ++i)
        if (wanted[i]) {
            const GraphNode& n = g.node(g.inputs()[i]);
            trace.output(gradients[i].value ? gradients[i].value : zeros_block(n.dtype, n.shape), n.at);
        }
    trace.stop();
    Graph& out = trace.graph();
    for (std::size_t k = 0; k < g.guards().size(); ++k) {
        Guard guard = g.guards()[k];
        guard.value = trace.value_of(*y[g.outputs().size() + k].value, guard.at);
        out.guard(std::move(guard));
    }
    for (std::size_t i = 0; i < g.updates().size(); ++i)
        if (g.updates()[i] != no_value) out.update(i, g.updates()[i]);
    return std::move(out);
}

namespace detail {

inline std::string node_difference(const GraphNode& a, const GraphNode& b)
{
    if (a.kind != b.kind) return "kinds differ: " + node_text(a) + " and " + node_text(b);
    if (a.primitive && !same_primitive(*a.primitive, *b.primitive))
        return "primitives differ: " + std::string(a.primitive->name) + " and " +
               std::string(b.primitive->name);
    if (a.dtype != b.dtype || !(a.shape == b.shape))
        return "types differ: " + type_text(a.dtype, a.shape) + " and " + type_text(b.dtype, b.shape);
    if (a.inputs != b.inputs)
        return "operands differ: " + list_text(a.inputs) + " and " + list_text(b.inputs);
    if (!same_parameters(a, b))
        return "parameters differ: {" + fields_text(a) + "} and {" + fields_text(b) + "}";
    if (a.constant && !same_elements(*contiguous(a.constant), *contiguous(b.constant)))
        return "elements differ: " + elements_text(*a.constant, 8) + " and " + elements_text(*b.constant, 8);
    if (a.segment != b.segment)
        return "segments differ: " + std::to_string(a.segment) + " and " + std::to_string(b.segment);
    if (a.index != b.index)
        return "numbers differ: " + std::to_string(a.index) + " and " + std::to_string(b.index);
    return {};
}
inline std::string guard_difference(const Guard& a, const Guard& b)
{
    if (a.value == b.value && a.what == b.what && same_elements(*a.expected, *b.expected)) return {};
    return "%" + std::to_string(a.value) + " = " + elements_text(*a.expected, 4) + " and %" +
           std::to_string(b.value) + " = " + elements_text(*b.expected, 4);
}
template <class T> std::string count_difference(const char* what, const T& a, const T& b)
{
    if (a.size() == b.size()) return {};
    return std::to_string(a.size()) + " and " + std::to_string(b.size()) + " " + what;
}

}  // namespace detail

/// The first difference of two graphs in words, empty when there is none. Lines of source are not compared.
inline std::string difference(const Graph& a, const Graph& b)
{
    const std::size_t n = std::min(a.size(), b.size());
    for (ValueId v = 0; v < n; ++v)
        if (std::string d = detail::node_difference(a.node(v), b.node(v)); !d.empty())
            return "%" + std::to_string(v) + ": " + d;
    if (std::string d = detail::count_difference("values", a.nodes(), b.nodes()); !d.empty()) return d;
    if (std::string d = detail::count_difference("guards", a.guards(), b.guards()); !d.empty()) return d;
    for (std::size_t k = 0; k < a.guards().size(); ++k)
        if (std::string d = detail::guard_difference(a.guards()[k], b.guards()[k]); !d.empty())
            return "guard " + std::to_string(k) + ": " + d;
    if (a.outputs() != b.outputs())
        return "outputs differ: " + detail::list_text(a.outputs()) + " and " + detail::list_text(b.outputs());
    if (a.updates() != b.updates()) return "updates differ";
    return {};
}
inline bool equal(const Graph& a, const Graph& b) { return difference(a, b).empty(); }

}  // namespace wengert
