// The kernels of all groups of a graph, in one text; what a group's launch asks and folds.
#pragma once

#include "group_text.hpp"
#include "loops.hpp"
#include "../eager/moves.hpp"
#include "row_text.hpp"

namespace wengert::detail::gpu {

/// Groups that differ in their addresses only share their kernels.
class GroupKernels {
public:
    GroupKernels(const Graph& g, const tiling::Layouts& layouts, const GroupPreferences& wants)
        : g_(g), layouts_(layouts), wants_(wants)
    {}
    /// Steps have to stay where they are until the text is compiled.
    void add(const tiling::Group& group, ReplayStep& s)
    {
        if (wants_.in_rows(group)) {
            const RowText text(g_, layouts_, group, wants_, helpers_);
            s.addresses = text.addresses(), s.count = text.count();
            steps_.emplace_back(&s, rows(text));
        } else {
            const GroupText text(g_, layouts_, group, wants_, helpers_);
            s.addresses = text.addresses(), s.count = text.threads(), s.fold = text.fold();
            steps_.emplace_back(&s, s.fold == no_value ? map(text) : fold(text, s.chain));
        }
        for (ValueId v : group.nodes)
            if (is_described(*g_.node(v).primitive) && uses_positions(g_, g_.node(v)))
                s.positions.push_back(v);
    }
    void compile(Gpu& gpu)
    {
        if (kernels_.empty()) return;
        const std::string whole =
            NumberFunctions("wg_", helpers_).text() + std::string(group_prelude) + kernels_;
        const Computing now("freeze", {});
        Hash128 hash;
        hash.add(whole);
        const std::string key = "graph " + hash.text();
        for (auto& [step, name] : steps_) {
            step->chain.key = key;
            step->kernel = Kernels::of(gpu).find(gpu, key, name.c_str(), [&] { return whole; });
        }
    }

private:
    /// The kernel, or of those of a fold the one that begins.
    std::string map(const GroupText& text)
    {
        const auto [at, fresh] = names_.emplace(text.text(), "wg_" + std::to_string(names_.size()));
        if (fresh) kernels_ += "extern \"C\" __global__ void " + at->second + at->first;
        return at->second;
    }
    std::string rows(const RowText& text)
    {
        const auto [at, fresh] = names_.emplace(text.text(""), "wg_" + std::to_string(names_.size()));
        if (fresh) kernels_ += text.text(at->second);
        return at->second + "_rows";
    }
    std::string fold(const GroupText& text, FoldChain& of)
    {
        const GraphNode& n = g_.node(text.fold());
        const FoldText::Chain chain = text.chain();
        const FoldProgram& program = formulas_of(*n.primitive->fold);
        const FoldTypes types(program, g_.node(n.inputs[0]).dtype, n.dtype);
        const FoldText folding(program, types, 1, &chain);
        helpers_.insert(folding.helpers().begin(), folding.helpers().end());
        const auto [at, fresh] = names_.emplace(folding.text(""), "wg_" + std::to_string(names_.size()));
        if (fresh) kernels_ += folding.text(at->second);
        of.names = at->second + "_";
        return of.names + (chain.columns ? "columns_0" : "rows_0");
    }

    const Graph& g_;
    const tiling::Layouts& layouts_;
    const GroupPreferences& wants_;
    std::set<std::string> helpers_;
    std::unordered_map<std::string, std::string> names_;  ///< by text
    std::vector<std::pair<ReplayStep*, std::string>> steps_;
    std::string kernels_;
};

/// Checks that elements that an operation uses as positions are valid ones. `block(i)` is operand i, or null where that is known.
template <class Blocks> void ask_positions_of(Gpu& gpu, const Graph& g, ValueId v, const Blocks& block)
{
    const GraphNode& n = g.node(v);
    each_program(g, n, [&](const Index& p, std::span<const ValueId> in) {
        each_given(p, [&](const GivenUse& use) {
            const Ref<Block> b = block(in[use.operand]);
            if (!b) return;
            if (b->device() == 0)
                check_given(use, n.primitive->name, b, n.at);
            else
                check_positions(gpu, use, n.primitive->name, b, n.at, n.at);
        });
        return true;
    });
}

/// A fold whose elements are made where they are folded. `parameters` are what the group is given.
inline void fold_chain(Gpu& gpu, const Graph& g, ReplayStep& s, const std::vector<std::uintptr_t>& parameters,
                       Block& out)
{
    const GraphNode &n = g.node(s.fold), &x = g.node(n.inputs[0]);
    Fold f;
    fold_of(n, f);
    s.chain.parameters.assign(parameters.begin(), parameters.end());
    DeviceFold(gpu, *n.primitive, f, x.shape, x.dtype, static_cast<std::uint8_t>(out.device()), s.chain)
        .run_into(out);
}

}  // namespace wengert::detail::gpu
