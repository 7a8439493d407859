// The index program of a node: what every executor runs or writes for an operation that has a description.
#pragma once

#include "../../ops/index/run_index.hpp"
#include "graph.hpp"

namespace wengert {

/// Is its description what runs on the host?
inline bool runs_index(const Primitive& p) noexcept { return p.index && !p.overridden; }

/// Of operand shapes that live as long as the program.
inline Index index_of(const Primitive& p, const void* op, const Shape* const* shapes, std::size_t n,
                      const Site& at)
{
    Index program(shapes, n);
    describe_index(program, p.name, p.index, op, at);
    return program;
}
/// The same from the shapes in the graph.
inline Index index_of(const Graph& g, const GraphNode& n)
{
    const Shape* shapes[Index::most_operands] = {};
    for (std::size_t k = 0; k < n.inputs.size() && k < Index::most_operands; ++k)
        shapes[k] = &g.node(n.inputs[k]).shape;
    return index_of(*n.primitive, n.op.get(), shapes, n.inputs.size(), n.at);
}

/// An operation with a description, ready to run again and again on the same headers.
struct IndexStep {
    Index program;
    std::string_view name;
    std::vector<Ref<Block>> in;
    Ref<Block> out;
    Site at;
    IndexStep(const GraphNode& n, std::vector<Ref<Block>> operands, Ref<Block> result)
        : program(described(n, operands)), name(n.primitive->name), in(std::move(operands)),
          out(std::move(result)), at(n.at)
    {}
    void run() const { run_index(program, name, in.data(), *out, at); }

private:
    static Index described(const GraphNode& n, const std::vector<Ref<Block>>& operands)
    {
        const Shape* shapes[Index::most_operands] = {};
        for (std::size_t k = 0; k < operands.size() && k < Index::most_operands; ++k)
            shapes[k] = &operands[k]->shape;
        return index_of(*n.primitive, n.op.get(), shapes, operands.size(), n.at);
    }
};

}  // namespace wengert
