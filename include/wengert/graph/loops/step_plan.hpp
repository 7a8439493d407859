// A graph in memory of its own, for loops that run it a million times: a value has one place for all steps, views are made
// once, and a step is a run over instructions that know their addresses. The kernels are those of eager, so are the bits.
#pragma once

#include <unordered_map>

#include "../../kernels/cpu/lane.hpp"
#include "../ir/interpret.hpp"

namespace wengert::detail {

/// One step of a loop, ready to be repeated. Headers of inputs and outputs stay where they are.
class BodyPlan {
public:
    virtual ~BodyPlan() = default;
    /// Input i has those elements from now on. They stay where they are, but small ones are copied.
    virtual void bind(std::size_t i, std::byte* data) = 0;
    /// Input i in memory of the plan.
    virtual std::byte* own(std::size_t i) = 0;
    virtual const Block& input(std::size_t i) const = 0;
    virtual const Block& output(std::size_t k) const = 0;
    /// Does an output show an input, so that it is to be read before the step?
    virtual bool known_before(std::size_t k) const = 0;
    /// What does not change from step to step, once the inputs are bound.
    virtual void begin() {}
    virtual void run() = 0;
    /// The next values become the present ones.
    virtual void advance() = 0;
};

class StepPlan : public BodyPlan {
public:
    /// The first `states` outputs are the next values of the first `states` inputs, and may be computed where these lie.
    /// Other outputs that show an input are to be read before the step. Inputs from number `fixed` on, and what depends on
    /// them alone, stay the same from begin() on.
    StepPlan(std::shared_ptr<const Graph> g, std::size_t states, std::size_t fixed)
        : graph_(std::move(g)), states_(states), fixed_from_(fixed), values_(graph_->size()),
          memory_(graph_->size()), adopted_(graph_->size()), expanded_(graph_->size()),
          roots_(graph_->size()), last_(graph_->size(), 0), fixed_(graph_->size())
    {
        for (ValueId v = 0; v < graph_->size(); ++v) place(v);
        count_uses();
        for (ValueId v = 0; v < graph_->size(); ++v)
            if (graph_->node(v).kind == Graph::Kind::operation && roots_[v] == v) add_instruction(v);
        for (std::size_t i = 0; i < states_; ++i) plan_move(i);
    }
    StepPlan(const StepPlan&) = delete;
    StepPlan& operator=(const StepPlan&) = delete;

    void bind(std::size_t i, std::byte* data) override
    {
        const ValueId v = graph_->inputs()[i];
        if (memory_[v])
            std::memcpy(values_[v]->data, data, values_[v]->bytes());
        else
            move(v, data);
    }
    std::byte* own(std::size_t i) override
    {
        const ValueId v = graph_->inputs()[i];
        if (!memory_[v]) give_memory(v);
        return values_[v]->data;
    }
    const Block& input(std::size_t i) const override { return *values_[graph_->inputs()[i]]; }
    const Block& output(std::size_t k) const override { return *values_[graph_->outputs()[k]]; }
    bool known_before(std::size_t k) const override
    {
        return graph_->node(roots_[graph_->outputs()[k]]).kind == Graph::Kind::input;
    }

    void begin() override
    {
        for (const Instruction& i : once_) i.run(*this, i);
    }
    void run() override
    {
        for (const Instruction& i : code_) i.run(*this, i);
    }
    void advance() override
    {
        for (std::size_t k = 0; k < staged_.size(); ++k) copy_elements(output(staged_[k]), *stage_[k]);
        for (const Move& m : moves_)
            if (m.from->data != m.to->data) copy_elements(*m.from, *m.to);
        for (std::size_t k = 0; k < staged_.size(); ++k)
            copy_elements(*stage_[k], const_cast<Block&>(input(staged_[k])));
    }

private:
    struct Instruction {
        void (*run)(StepPlan&, const Instruction&) = nullptr;
        TileKernel kernel = nullptr;
        std::size_t count = 0;
        Block* out = nullptr;
        const Block* in[kernels::max_operands] = {};
        std::uint8_t n = 0, scalar[kernels::max_operands] = {};
        ValueId value = 0;
        std::size_t operands = 0;
    };
    struct Move {
        const Block* from;
        Block* to;
    };
    struct View {
        ValueId root;
        Block* header;
        std::ptrdiff_t offset;
    };

    // Places. Memory of the plan has room for a whole register behind the last element, so that small arrays need no tail.

    static constexpr std::size_t room = 16, small_bytes = Block::inline_bytes, expandable = 64;

    void place(ValueId v)
    {
        const GraphNode& n = graph_->node(v);
        roots_[v] = v;
        fixed_[v] = n.kind == Graph::Kind::constant ||
                    (n.kind == Graph::Kind::input && n.index >= fixed_from_) ||
                    (n.kind == Graph::Kind::operation && !n.primitive->effects &&
                     std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId i) { return fixed_[i]; }));
        if (n.kind == Graph::Kind::operation && place_view(v, n)) return;
        values_[v] = make_borrowed(n.dtype, n.shape, nowhere());
        if (n.kind != Graph::Kind::operation && values_[v]->bytes() <= small_bytes) give_memory(v);
        if (n.kind == Graph::Kind::constant) {
            const Ref<Block> b = contiguous(n.constant);
            if (memory_[v])
                std::memcpy(values_[v]->data, b->data, b->bytes());
            else
                values_[v]->data = (adopted_[v] = b)->data;
        }
    }
    static std::byte* nowhere() noexcept { return reinterpret_cast<std::byte*>(std::uintptr_t{1} << 44); }
    static Ref<Block> roomy(DType d, std::size_t count) { return zeros_block(d, Shape{count + room}); }
    void give_memory(ValueId v)
    {
        memory_[v] = roomy(values_[v]->dtype, values_[v]->count);
        move(v, memory_[v]->data);
    }

    /// Primitives whose result shows elements of the operand, whatever these are.
    static bool makes_view(std::string_view name)
    {
        static constexpr std::string_view names[] = {"reshape",      "transpose",   "view",
                                                     "broadcast_to", "expand_dims", "squeeze",
                                                     "split",        "diagonal",    "unpack"};
        return std::find(std::begin(names), std::end(names), name) != std::end(names);
    }
    bool place_view(ValueId v, const GraphNode& n)
    {
        if (n.inputs.size() != 1 || !makes_view(n.primitive->name)) return false;
        const Ref<Block>& x = values_[n.inputs[0]];
        if (x->dtype != n.dtype || (x->strided && n.primitive->name != "transpose" &&
                                    n.primitive->name != "view" && n.primitive->name != "broadcast_to"))
            return false;
        const Ref<Block> y = n.primitive->compute(n.op.get(), &x, 1, n.at);
        const ValueId root = roots_[n.inputs[0]];
        if (y->base != values_[root].get() && y.get() != values_[root].get()) return false;
        roots_[v] = root;
        const Strides strides = y->strides();
        values_[v] = y->is_view() ? y : make_view(y, y->shape, &strides, 0);
        views_.push_back({root, values_[v].get(), values_[v]->data - values_[root]->data});
        return true;
    }
    /// The last operation that reads each root. Results are read at the end, what is fixed in all steps.
    void count_uses()
    {
        for (ValueId v = 0; v < graph_->size(); ++v)
            for (ValueId i : graph_->node(v).inputs) last_[roots_[i]] = std::max(last_[roots_[i]], v);
        for (std::size_t k = 0; k < graph_->outputs().size(); ++k)
            if (k < states_ || !known_before(k)) last_[roots_[graph_->outputs()[k]]] = no_value;
        for (ValueId v = 0; v < graph_->size(); ++v)
            if (fixed_[v]) last_[roots_[v]] = no_value;
    }
    void move(ValueId root, std::byte* data)
    {
        values_[root]->data = data;
        for (const auto& view : views_)
            if (view.root == root) view.header->data = data + view.offset;
    }

    /// Can v, an operation that may write over its operands, lie where u lies?
    bool ends_with(ValueId u, ValueId v) const
    {
        if (fixed_[v] || last_[u] == no_value || last_[u] > v || !memory_[u] ||
            graph_->node(u).dtype != graph_->node(v).dtype || values_[u]->count != values_[v]->count)
            return false;
        const auto owner = taken_.find(memory_[u].get());
        return owner != taken_.end() && owner->second == u;
    }
    void give_place(ValueId v, bool over_operands)
    {
        const GraphNode& n = graph_->node(v);
        ValueId from = no_value;
        for (ValueId i : n.inputs)
            if (over_operands && graph_->node(roots_[i]).kind == Graph::Kind::operation &&
                ends_with(roots_[i], v))
                from = roots_[i];
        for (std::size_t i = 0; i < states_ && over_operands; ++i)
            if (const ValueId u = graph_->inputs()[i]; graph_->outputs()[i] == v) {
                own(i);
                taken_.emplace(memory_[u].get(), u);
                if (ends_with(u, v)) from = u;
            }
        if (from == no_value) {
            give_memory(v);
        } else {
            memory_[v] = memory_[from];
            move(v, memory_[v]->data);
        }
        taken_[memory_[v].get()] = v;
    }
    void plan_move(std::size_t i)
    {
        const ValueId to = graph_->inputs()[i], from = graph_->outputs()[i];
        if (from == to) return;
        own(i);
        const GraphNode& n = graph_->node(roots_[from]);
        if (n.kind != Graph::Kind::input || n.index >= states_)
            return moves_.push_back({values_[from].get(), values_[to].get()});
        staged_.push_back(i);
        stage_.push_back(make_block(n.dtype, graph_->node(from).shape));
    }

    // Instructions.

    void emit(const Instruction& i, bool fixed) { (fixed ? once_ : code_).push_back(i); }

    void add_instruction(ValueId v)
    {
        const GraphNode& n = graph_->node(v);
        Instruction i;
        i.value = v;
        i.out = values_[v].get();
        i.count = i.out->count;
        if (!n.primitive->value) {
            i.run = compute;
            if (i.out->bytes() <= small_bytes) give_place(v, false);
            return emit(i, fixed_[v]);
        }
        i.kernel = n.primitive->value;
        i.n = static_cast<std::uint8_t>(n.inputs.size());
        const bool direct = plan_operands(i, n);
        give_place(v, direct);
        if (direct)
            fill_register(i, n);
        else
            plan_strided(i, n);
        emit(i, fixed_[v]);
    }
    /// Operands in order and of the result's size, or single elements?
    bool plan_operands(Instruction& i, const GraphNode& n)
    {
        bool whole = true, direct = true;
        for (std::size_t k = 0; k < n.inputs.size(); ++k) {
            const Block& b = *values_[n.inputs[k]];
            i.in[k] = &b;
            if (!b.strided && b.count == i.count) continue;
            if (!b.strided && b.count == 1 && i.count > 1 && i.count <= expandable) {
                i.in[k] = expand(n.inputs[k], i.count);
                continue;
            }
            whole = false;
            i.scalar[k] = static_cast<std::uint8_t>(size_of(b.dtype));
            direct = direct && !b.strided && b.count == 1;
        }
        for (std::size_t k = 0; k < n.inputs.size() && !whole; ++k)
            direct = direct && (i.scalar[k] || size_of(i.in[k]->dtype) == size_of(n.dtype));
        static constexpr void (*runs[])(StepPlan&, const Instruction&) = {run_whole<1>, run_whole<2>,
                                                                          run_whole<3>, run_whole<4>};
        i.run = whole ? runs[i.n - 1] : run_scalars;
        return direct;
    }
    /// One element, repeated: in every step where it changes.
    const Block* expand(ValueId v, std::size_t count)
    {
        auto& known = expanded_[v];
        for (const Ref<Block>& b : known)
            if (b->count >= count + room) return b.get();
        Instruction i;
        i.run = run_fill;
        i.in[0] = values_[v].get();
        known.push_back(roomy(values_[v]->dtype, count));
        i.out = known.back().get();
        i.count = i.out->count;
        emit(i, fixed_[v]);
        return i.out;
    }
    /// Floating-point operands in memory of the plan: whole registers, whatever lies behind the last element.
    void fill_register(Instruction& i, const GraphNode& n) const
    {
        if (i.run == run_scalars || !differentiable(n.dtype)) return;
        for (std::size_t k = 0; k < n.inputs.size(); ++k) {
            const ValueId root = roots_[n.inputs[k]];
            if (i.in[k]->dtype != n.dtype || (i.in[k] == values_[n.inputs[k]].get() && !memory_[root]))
                return;
        }
        const std::size_t width = n.dtype == DType::float32 ? Lane<float>::width : Lane<double>::width;
        i.count = (i.count + width - 1) / width * width;
    }
    void plan_strided(Instruction& i, const GraphNode& n)
    {
        i.run = run_strided;
        for (std::size_t k = 0; k < n.inputs.size(); ++k) i.in[k] = values_[n.inputs[k]].get();
        i.operands = operands_.size();
        operands_.push_back(operand(*i.out, n.shape));
        for (std::size_t k = 0; k < n.inputs.size(); ++k) operands_.push_back(operand(*i.in[k], n.shape));
    }

    template <std::size_t n> static void run_whole(StepPlan&, const Instruction& i)
    {
        const void* data[n];
        for (std::size_t k = 0; k < n; ++k) data[k] = i.in[k]->data;
        i.kernel(i.count, data, i.out->data);
    }
    static void run_fill(StepPlan&, const Instruction& i)
    {
        kernels::gather(i.in[0]->data, 0, size_of(i.out->dtype), i.count, i.out->data);
    }
    static void run_scalars(StepPlan&, const Instruction& i)
    {
        const void* data[kernels::max_operands];
        for (std::size_t k = 0; k < i.n; ++k) data[k] = i.in[k]->data;
        run_direct(i.kernel, i.count, data, i.scalar, i.n, i.out->data, size_of(i.out->dtype));
    }
    static void run_strided(StepPlan& p, const Instruction& i)
    {
        if (i.count == 0) return;
        kernels::Operand operands[kernels::max_operands];  // execute() merges axes in place
        std::copy_n(p.operands_.begin() + static_cast<std::ptrdiff_t>(i.operands), i.n + 1U, operands);
        operands[0].data = i.out->data;
        for (std::size_t k = 0; k < i.n; ++k) operands[k + 1].data = i.in[k]->data;
        kernels::execute(i.kernel, i.out->shape, i.out->dtype, operands, i.n + 1U, kernels::Store::assign);
    }
    /// By the primitive itself: a large result keeps its memory until the next step.
    static void compute(StepPlan& p, const Instruction& i)
    {
        const GraphNode& n = p.graph_->node(i.value);
        auto& in = p.scratch_;
        in.clear();
        for (ValueId v : n.inputs) in.push_back(p.values_[v]);
        Ref<Block> r = n.primitive->compute(n.op.get(), in.data(), in.size(), n.at);
        in.clear();
        if (r->bytes() > Block::inline_bytes && !r->strided && may_write(*r)) {
            p.move(i.value, r->data);
            p.adopted_[i.value] = std::move(r);
            return;
        }
        Ref<Block>& memory = p.memory_[i.value];
        if (!memory) memory = roomy(n.dtype, i.out->count);
        if (i.out->data != memory->data) p.move(i.value, memory->data);
        copy_elements(*r, *i.out);
    }

    std::shared_ptr<const Graph> graph_;
    std::size_t states_, fixed_from_;
    std::vector<Ref<Block>>
        values_;  ///< headers of all values; their addresses may change, the objects do not
    std::vector<Ref<Block>> memory_;   ///< of values with memory of the plan
    std::vector<Ref<Block>> adopted_;  ///< large results of primitives until the next step, large constants
    std::vector<std::vector<Ref<Block>>> expanded_;  ///< single elements, repeated
    std::vector<Ref<Block>> scratch_, stage_;
    std::vector<Move> moves_;
    std::vector<std::size_t> staged_;
    std::vector<ValueId> roots_, last_;
    std::vector<bool> fixed_;
    std::unordered_map<const Block*, ValueId>
        taken_;  ///< whose a piece of memory is while instructions are made
    std::vector<View> views_;
    std::vector<kernels::Operand> operands_;
    std::vector<Instruction> once_, code_;
};

}  // namespace wengert::detail
