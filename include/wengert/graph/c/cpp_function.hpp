// A graph as the statements of one function: its fused loops, its other operations, its guards.
#pragma once

#include "../loops/body_plan.hpp"
#include "../passes/dead_code.hpp"
#include "../passes/inlining.hpp"
#include "cpp_guards.hpp"
#include "cpp_structural.hpp"

namespace wengert::detail {

class CppFunction {
public:
    CppFunction(CppModule& m, const Graph& g, const std::string& tag = "",
                std::optional<tiling::Rotation> rotation = {})
        : w_(m, g, tag, rotation), states_(rotation ? rotation->states : 0), guards_(w_)
    {
        for (const std::uint32_t s : w_.plan.staged)
            if (s >= states_) stage(s);
        for (std::size_t k = states_; k < g.outputs().size(); ++k)
            if (w_.plan.read_before(k)) hand_out(k);
        guards_.check(0);
        for (std::size_t t = 0; t < w_.plan.tasks.size(); ++t) {
            task(w_.plan.tasks[t]);
            guards_.check(t + 1);
        }
        outputs();
    }
    std::size_t workspace() const { return w_.workspace(); }
    const std::set<ValueId>& failures() const { return w_.failures; }
    bool fails() const { return !w_.failures.empty(); }
    std::vector<std::size_t> states() const
    {
        std::vector<std::size_t> at;
        for (std::size_t i = 0; i < states_; ++i)
            at.push_back(w_.plan.stores[w_.plan.values[w_.graph.inputs()[i]].store].offset);
        return at;
    }

    /// Where the next values of states are made that trade places with these, and npos for others.
    std::vector<std::size_t> next_states() const
    {
        std::vector<std::size_t> at;
        for (std::size_t i = 0; i < states_; ++i)
            at.push_back(
                w_.plan.swaps(i)
                    ? w_.plan.stores[w_.plan.values[w_.plan.root(w_.graph.outputs()[i])].store].offset
                    : CppModule::Body::stays);
        return at;
    }

    /// The statements of the function, without the final `return 0;`.
    std::string text() const
    {
        std::string unused;
        const auto look = [&](const std::string& name, ValueId, bool) {
            if (!mentions(w_.body, name)) unused += "    (void)" + name + ";\n";
        };
        each_argument(look);
        look("arena", no_value, true);
        return unused + w_.body;
    }
    /// const T* in0, …, T* out0, …
    std::string arguments() const
    {
        std::string s;
        each_argument([&](const std::string& name, ValueId v, bool output) {
            s += filled(output ? "$$* $" : "$const $* $", s.empty() ? "" : ", ",
                        c_type(w_.graph.node(v).dtype, Dialect::numbers), name);
        });
        return s;
    }
    /// f(name, value, is it an output?)
    template <class F> void each_argument(const F& f) const
    {
        const Graph& g = w_.graph;
        for (std::size_t i = 0; i < states_; ++i) {
            if (!w_.plan.swaps(i)) continue;
            f("state" + std::to_string(i), g.inputs()[i], true);
            f("next" + std::to_string(i), g.inputs()[i], true);
        }
        for (std::size_t i = states_; i < g.inputs().size(); ++i)
            f("in" + std::to_string(i), g.inputs()[i], false);
        for (std::size_t k = states_; k < g.outputs().size(); ++k)
            f("out" + std::to_string(k), g.outputs()[k], true);
    }

private:
    static bool mentions(const std::string& text, const std::string& name)
    {
        const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
        for (std::size_t i = text.find(name); i != std::string::npos; i = text.find(name, i + 1))
            if (!(i > 0 && letter(text[i - 1])) && !letter(text[i + name.size()])) return true;
        return false;
    }

    void stage(std::uint32_t i)
    {
        const ValueId v = w_.graph.inputs()[i];
        w_.line("memcpy($, in$, $);", w_.pointer(v), i, w_.plan.bytes_of(v));
    }
    void task(const tiling::Task& t)
    {
        if (t.group.fused) return w_.cpp.native ? native_loop(t) : loop(t);
        const ValueId v = t.group.nodes[0];
        if (element_count(w_.graph.node(v).shape) == 0 && !w_.graph.node(v).primitive->index) return;
        if (w_.graph.node(v).primitive->value) w_.refuse(v, "its rule is no program of numbers");
        CppStructural(w_).write(v, !t.over.empty() && t.over[0] != no_value &&
                                       w_.plan.root(w_.graph.node(v).inputs[0]) == t.over[0]);
    }
    /// A call of the loop that native code has for this group.
    void native_loop(const tiling::Task& t)
    {
        std::string list;
        for (const auto* values : {&t.group.operands, &t.group.results})
            for (ValueId v : *values)
                list += filled(list.empty() ? "(void*)($)" : ", (void*)($)", w_.pointer(v));
        if (w_.groups.in_strips(t.group)) {
            const StripFunction f = strip_function(w_.cpp, w_.graph, w_.plan.layouts, t.group);
            w_.line("{ void* const p[] = {$}; $(p, arena + $, $, run->zero); }", list, f.name,
                    w_.scratch_begin(), f.count);
            w_.scratch = std::max(w_.scratch, f.workspace);
            return;
        }
        const std::string f = w_.cpp.once('f', CppModule::fused, fused_text(w_.graph, w_.plan, t, w_.groups));
        w_.line("{ void* const p[] = {$}; $(p, run->zero); }", list, f);
    }
    /// What the results of a loop are made from, they included: a rule may leave an operand out.
    std::set<ValueId> read_in(const tiling::Group& group) const
    {
        const Graph& g = w_.graph;
        std::set<ValueId> read(group.results.begin(), group.results.end());
        for (std::size_t k = group.nodes.size(); k-- > 0;) {
            const ValueId v = group.nodes[k];
            if (!read.contains(v)) continue;
            const auto& x = g.node(v).inputs;
            const std::vector<bool> of = TermCode::read(program_of(g, w_.plan.layouts, v, true), x.size());
            for (std::size_t i = 0; i < x.size(); ++i)
                if (of[i]) read.insert(x[i]);
        }
        return read;
    }
    void loop(const tiling::Task& t)
    {
        const Graph& g = w_.graph;
        const auto &in = t.group.operands, &results = t.group.results;
        const Shape& shape = g.node(t.group.nodes[0]).shape;
        std::vector<Strides> of;
        for (ValueId v : in)
            of.push_back(broadcast_strides(g.node(v).shape, w_.plan.layouts[v].strides, shape));
        of.resize(in.size() + results.size(), row_major(shape));
        const LoopSpace space(shape, of, 0);
        const Shape box(space.extents.data(), space.rank());
        const auto place = [&](std::size_t k) {
            return CppWriter::index(box, Strides(space.strides[k].data(), space.rank()));
        };
        std::unordered_map<ValueId, std::string> names;
        std::vector<std::string> loads;
        const std::set<ValueId> read = read_in(t.group);
        w_.open("{");
        for (std::size_t k = 0; k < in.size(); ++k) {
            if (!read.contains(in[k])) continue;
            double value = 0;
            const bool known = text_literal(g, w_.plan.layouts, in[k], value, true);
            names[in[k]] = known ? literal_text(value, g.node(in[k]).dtype) : "x" + std::to_string(k);
            if (known) continue;
            w_.declare("a" + std::to_string(k), w_.operand(in[k]), false);
            loads.push_back(filled("const $ x$ = a$[$];", w_.type(in[k]), k, k, place(k)));
        }
        for (std::size_t k = 0; k < results.size(); ++k)
            w_.declare("o" + std::to_string(k), w_.operand(results[k]), true);
        w_.open_loops(box);
        for (const std::string& l : loads) w_.line(l);
        TermCode code(w_.body, w_.indent(), w_.prefix, w_.cpp.helpers);
        for (ValueId v : t.group.nodes) {
            if (!read.contains(v)) continue;
            std::vector<std::string> x;
            for (ValueId i : g.node(v).inputs) x.push_back(names[i]);
            names[v] = code.write(program_of(g, w_.plan.layouts, v, true), x);
        }
        for (std::size_t k = 0; k < results.size(); ++k)
            w_.line("o$[$] = $;", k, place(in.size() + k), names[results[k]]);
        w_.close_loops(box);
        w_.close();
    }

    /// Copies results that are not in the memory of their output.
    void outputs()
    {
        const Graph& g = w_.graph;
        for (std::size_t k = states_; k < g.outputs().size(); ++k) {
            const ValueId v = g.outputs()[k];
            const tiling::Placed& p = w_.plan.values[w_.plan.root(v)];
            const bool in_place =
                p.home == tiling::Home::output && w_.plan.stores[p.store].output == k && w_.plan.whole(v);
            if (!in_place && !w_.plan.read_before(k)) hand_out(k);
        }
        move_states();
    }
    void hand_out(std::size_t k)
    {
        const CppOperand x = w_.operand(w_.graph.outputs()[k]);
        if (element_count(x.shape) > 0) w_.copy(x, "out" + std::to_string(k), row_major(x.shape));
    }
    /// Copies next states that lie elsewhere to their places. Those that are states themselves are set aside first.
    void move_states()
    {
        const Graph& g = w_.graph;
        std::vector<std::pair<std::size_t, CppOperand>> moves;
        std::size_t aside = w_.scratch_begin();
        for (std::size_t i = 0; i < states_; ++i) {
            if (w_.plan.in_place(i) || w_.plan.swaps(i) || w_.plan.bytes_of(g.outputs()[i]) == 0) continue;
            CppOperand x = w_.operand(g.outputs()[i]);
            if (w_.plan.is_state(w_.plan.root(g.outputs()[i]))) {
                const std::string to = "(" + x.type + "*)(arena + " + std::to_string(aside) + ")";
                aside += tiling::aligned(w_.plan.bytes_of(g.outputs()[i]));
                w_.copy(x, to, row_major(x.shape));
                x.pointer = to;
                x.strides = row_major(x.shape);
            }
            moves.emplace_back(i, std::move(x));
        }
        w_.scratch = std::max(w_.scratch, aside - w_.scratch_begin());
        for (const auto& [i, x] : moves) w_.copy(x, w_.pointer(g.inputs()[i]), row_major(x.shape));
    }

    CppWriter w_;
    std::size_t states_;  ///< of a loop: they lie in the arena
    CppGuards guards_;
};

inline CppModule::Body CppModule::function(const Graph& g, std::optional<tiling::Rotation> rotation)
{
    const std::string tag = "b" + std::to_string(tags_++) + "_", name = prefix + tag + "step";
    const CppFunction f(*this, g, tag, rotation);
    functions += std::string("static ") + (f.fails() ? "int " : "void ") + name + "(" + f.arguments() +
                 (f.arguments().empty() ? "" : ", ") +
                 (native ? "char* arena, const wg_run* run)\n{\n" : "char* arena)\n{\n") + f.text() +
                 (f.fails() ? "    return 0;\n}\n\n" : "}\n\n");
    return {name, f.workspace(), f.fails(), f.states(), f.next_states()};
}

inline const CppModule::LoopBody& CppModule::body(const std::shared_ptr<const Graph>& g,
                                                  const tiling::Rotation& rotation)
{
    const std::tuple key(g.get(), rotation.states, rotation.fixed);
    if (const auto known = bodies_.find(key); known != bodies_.end()) return known->second;
    const BodyCompiler* const c = body_compiler().load();
    const auto whole =
        std::make_shared<const Graph>(c ? c->optimize(*g) : passes::dead_code(passes::composed(*g)));
    const HoistedBody parts = hoisted(whole, rotation.fixed);
    kept_.insert(kept_.end(), {g, parts.step});
    LoopBody made{parts.before, {}, {}};
    if (parts.before) made.first = function(*parts.before);
    made.step = function(*parts.step, tiling::Rotation{rotation.states, rotation.fixed, 1});
    return bodies_[key] = std::move(made);
}

}  // namespace wengert::detail
