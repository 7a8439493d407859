// Runs a graph group by group, as the plan of the tile executor does, but each value in memory of its own; compares with
// `interpret`.
#pragma once

#include "catch.hpp"
#include "same_bits.hpp"

#include <wengert/graph/ir/interpret.hpp>
#include <wengert/graph/tile/fused.hpp>
#include <wengert/graph/tile/fused_compile.hpp>
#include <wengert/ops/elementwise/activations.hpp>
#include <wengert/ops/elementwise/cast.hpp>
#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/selection.hpp>

namespace fused_test {

using namespace wengert;

/// The same bits, but that any NaN is like any other: which operand's NaN survives is the compiler's choice.
struct Counts {
    std::size_t kernels = 0, singles = 0, nodes = 0, straight = 0;
};

class Runner {
public:
    Runner(const Graph& g, const std::vector<Ref<Block>>& inputs)
        : g_(g), layouts_(tiling::layouts_of(g)), groups_(tiling::fuse(g, layouts_)), values_(g.size())
    {
        for (ValueId v = 0; v < g.size(); ++v) {
            if (g.node(v).kind == Graph::Kind::input) values_[v] = inputs[g.node(v).index];
            if (g.node(v).kind == Graph::Kind::constant) values_[v] = g.node(v).constant;
        }
    }

    Counts counts;

    void run()
    {
        for (const tiling::Group& group : groups_) {
            const auto kernel = tiling::FusedKernel::compile(g_, layouts_, group);
            if (kernel)
                run_kernel(group, *kernel);
            else
                for (ValueId v : group.nodes) run_node(v), ++counts.singles;
        }
    }
    const Ref<Block>& value(ValueId v)
    {
        const tiling::Layout& l = layouts_[v];
        if (!values_[v] && l.is_view(v)) {
            REQUIRE(values_[l.root]);
            values_[v] = make_view(values_[l.root], g_.node(v).shape, &l.strides,
                                   l.offset / static_cast<std::int64_t>(size_of(g_.node(v).dtype)));
        }
        REQUIRE(values_[v]);
        return values_[v];
    }

private:
    void run_node(ValueId v)
    {
        std::vector<Ref<Block>> in;
        for (ValueId i : g_.node(v).inputs) in.push_back(value(i));
        values_[v] = compute_node(g_.node(v), in.data());
    }

    void run_kernel(const tiling::Group& group, const tiling::FusedKernel& kernel)
    {
        ++counts.kernels;
        counts.nodes += group.nodes.size();
        std::vector<const std::byte*> operands;
        for (ValueId v : group.operands) operands.push_back(value(v)->data);
        const auto memory = make_block(DType::float64, {kernel.scratch_bytes() / 8 + 8});
        REQUIRE(reinterpret_cast<std::uintptr_t>(memory->data) % 64 == 0);
        std::vector<Ref<Block>> first = results(group), split = results(group), straight = results(group);
        kernel.run(operands.data(), addresses(first).data(), memory->data);
        run_parts(kernel, operands, addresses(split), memory->data);
        for (std::size_t r = 0; r < first.size(); ++r) REQUIRE(same_bits(*first[r], *split[r]));
        if (kernel.program().straight) {
            ++counts.straight;
            run_straight(kernel, operands, addresses(straight), memory->data);
            for (std::size_t r = 0; r < first.size(); ++r) REQUIRE(same_bits(*first[r], *straight[r]));
        }
        share(group, kernel, first, memory->data);
        for (std::size_t r = 0; r < first.size(); ++r) values_[group.results[r]] = first[r];
    }

    /// In as many parts as there can be, the last first.
    static void run_parts(const tiling::FusedKernel& kernel, const std::vector<const std::byte*>& operands,
                          const std::vector<std::byte*>& results, std::byte* scratch)
    {
        std::vector<std::size_t> cuts{0};
        while (cuts.back() < kernel.elements()) cuts.push_back(kernel.next_cut(cuts.back() + 1));
        std::vector<double> sums(kernel.sums_bytes() / 8 + 1, NAN);
        auto* room = reinterpret_cast<std::byte*>(sums.data());
        for (std::size_t k = cuts.size() - 1; k-- > 0;)
            kernel.run_part(cuts[k], cuts[k + 1], operands.data(), results.data(), scratch, room);
        kernel.finish(results.data(), room);
    }

    std::vector<Ref<Block>> results(const tiling::Group& group) const
    {
        std::vector<Ref<Block>> out;
        for (ValueId v : group.results) {
            out.push_back(make_block(g_.node(v).dtype, g_.node(v).shape));
            std::memset(out.back()->data, 0x55, out.back()->bytes());
        }
        return out;
    }
    static std::vector<std::byte*> addresses(const std::vector<Ref<Block>>& blocks)
    {
        std::vector<std::byte*> out;
        for (const auto& b : blocks) out.push_back(b->data);
        return out;
    }

    /// With every result where an operand lies that it may share with.
    void share(const tiling::Group& group, const tiling::FusedKernel& kernel,
               const std::vector<Ref<Block>>& expected, std::byte* scratch)
    {
        std::vector<Ref<Block>> out = results(group);
        std::vector<const std::byte*> operands;
        for (ValueId v : group.operands) operands.push_back(value(v)->data);
        std::vector<bool> taken(group.operands.size(), false);
        for (std::size_t r = 0; r < out.size(); ++r)
            for (std::size_t k = 0; k < operands.size(); ++k)
                if (!taken[k] && kernel.may_share(r, k)) {
                    REQUIRE(element_count(g_.node(group.operands[k]).shape) == out[r]->count);
                    std::memcpy(out[r]->data, operands[k], out[r]->bytes());
                    operands[k] = out[r]->data;
                    taken[k] = true;
                    break;
                }
        kernel.run(operands.data(), addresses(out).data(), scratch);
        for (std::size_t r = 0; r < out.size(); ++r) REQUIRE(same_bits(*expected[r], *out[r]));
    }

    /// Each kernel once, on whatever lies at its slots, as the steps of small groups are.
    static void run_straight(const tiling::FusedKernel& kernel, const std::vector<const std::byte*>& operands,
                             const std::vector<std::byte*>& results, std::byte* scratch)
    {
        const tiling::FusedProgram& p = kernel.program();
        std::size_t begin = 0;  // of a tile
        const auto address = [&](tiling::Slot slot) -> std::byte* {
            if (slot < p.streams.size()) {
                const auto& s = p.streams[slot];
                if (s.kind == tiling::FusedProgram::Source::fixed) return scratch + s.scratch;
                return (s.result ? results[s.number] : const_cast<std::byte*>(operands[s.number])) +
                       begin * s.size;
            }
            const std::size_t rest = slot - p.streams.size();
            return rest < p.literals.size() ? p.literals[rest].get()
                                            : scratch + p.registers[rest - p.literals.size()];
        };
        for (const auto& s : p.streams)
            if (s.kind == tiling::FusedProgram::Source::fixed)
                tiling::detail::spread(operands[s.number], s.size, p.fill, scratch + s.scratch);
        for (; begin < p.count; begin += p.tile)
            for (const auto& i : p.program) {
                const void* in[kernels::max_operands] = {};
                for (std::size_t k = 0; k < i.arity; ++k) in[k] = address(i.in[k]);
                i.kernel(std::min(p.tile, p.count - begin), in, address(i.out));
            }
        begin = 0;
        for (const auto& t : p.totals) {
            const void* in[] = {address(t.from)};
            t.whole(p.count, in, results[t.result]);
        }
    }

    const Graph& g_;
    tiling::Layouts layouts_;
    std::vector<tiling::Group> groups_;
    std::vector<Ref<Block>> values_;
};

inline Counts check_fused(const Graph& g, const std::vector<Ref<Block>>& inputs)
{
    const std::vector<Ref<Block>> expected = interpret(g, inputs);
    Runner runner(g, inputs);
    runner.run();
    for (ValueId v : g.outputs()) {
        CAPTURE(v);
        REQUIRE(same_bits(*readable(expected[v]), *readable(runner.value(v))));
    }
    return runner.counts;
}

}  // namespace fused_test
