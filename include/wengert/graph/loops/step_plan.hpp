// A graph in memory of its own, for loops that run it a million times: a step is a run over instructions that know their
// addresses. The kernels are those of eager, so are the bits.
#pragma once

#include <deque>

#include "../tile/call_steps.hpp"
#include "register_steps.hpp"
#include "step_places.hpp"

namespace wengert::detail {

class StepPlan : public StepPlaces {
public:
    /// The first `states` outputs are the next values of the first `states` inputs, and may be computed where these lie.
    /// Other outputs that show an input are to be read before the step. Inputs from number `fixed` on, and what depends on
    /// them alone, stay the same from begin() on.
    StepPlan(std::shared_ptr<const Graph> g, std::size_t states, std::size_t fixed)
        : StepPlaces(std::move(g), states, fixed), expanded_(graph_->size())
    {
        for (ValueId v = 0; v < graph_->size(); ++v)
            if (graph_->node(v).kind == Graph::Kind::operation && root(v) == v) add_instruction(v);
        for (std::size_t i = 0; i < states_; ++i) plan_move(i);
    }
    void begin() override
    {
        for (const Instruction& i : once_) i.run(*this, i);
    }
    void run() override
    {
        for (const Instruction& i : code_) i.run(*this, i);
    }

private:
    static constexpr std::size_t expandable = 64;

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

    template <class T> using Registers = std::vector<typename RegisterSteps<T>::Step>;

    void emit(const Instruction& i, bool fixed) { (fixed ? once_ : code_).push_back(i); }

    /// Steps over registers, one instruction as far as they follow one another.
    template <class T>
    void emit_registers(const typename RegisterSteps<T>::Rule& rule, const Block* a, const Block* b,
                        const Block* out, std::size_t count, bool fixed)
    {
        auto& code = fixed ? once_ : code_;
        auto& list = std::get<Registers<T>>(registers_[fixed]);
        if (code.empty() || code.back().run != run_registers<T>) {
            Instruction i;
            i.run = run_registers<T>;
            i.n = fixed;
            i.operands = list.size();
            code.push_back(i);
        }
        for (std::size_t j = 0; j < count; j += Lane<T>::width) {
            const std::size_t from = rule.repeats ? 0 : j;
            const bool follows = code.back().count++ > 0;
            list.push_back(RegisterSteps<T>::step(
                rule, a->template as<T>() + from, b ? b->template as<T>() + from : nullptr,
                const_cast<Block*>(out)->template as<T>() + j, follows ? &list.back() : nullptr));
        }
    }
    template <class T> static void run_registers(StepPlan& p, const Instruction& i)
    {
        const auto* first = std::get<Registers<T>>(p.registers_[i.n]).data() + i.operands;
        RegisterSteps<T>::run(first, first + i.count);
    }
    /// Whole registers in memory of the plan, whose addresses stay, and a kernel that needs no call?
    template <class T> bool emit_arithmetic(const Instruction& i, bool fixed)
    {
        const auto* rule = RegisterSteps<T>::rule_of(*graph_->node(i.value).primitive);
        if (!rule || i.count * sizeof(T) > small_bytes) return false;
        emit_registers<T>(*rule, i.in[0], i.n > 1 ? i.in[1] : nullptr, i.out, i.count, fixed);
        return true;
    }

    void add_instruction(ValueId v)
    {
        const GraphNode& n = graph_->node(v);
        Instruction i;
        i.value = v;
        i.out = values_[v].get();
        i.count = i.out->count;
        if (is_described(*n.primitive) && moves_boxes(*graph_, n)) return add_boxes(i, n);
        if (runs_index(*n.primitive)) {
            give_place(v, false);
            i.operands = indexed_.size();
            indexed_.emplace_back(n, headers(n), values_[v]);
            i.run = run_index_step;
            return emit(i, fixed_[v]);
        }
        if (!n.primitive->value) {
            give_place(v, false);
            i.operands = calls_.size();
            calls_.emplace_back(n, headers(n), values_[v]).copies |= n.primitive->inside != nullptr;
            i.run = run_call;
            return emit(i, fixed_[v]);
        }
        i.kernel = n.primitive->value;
        i.n = static_cast<std::uint8_t>(n.inputs.size());
        const bool direct = plan_operands(i, n);
        give_place(v, direct);
        if (!direct) {
            for (std::size_t k = 0; k < i.n; ++k) i.in[k] = values_[n.inputs[k]].get();
            plan_strided(i, n.shape);
        }
        if (direct && fill_register(i, n) &&
            with_real(n.dtype, [&]<class T>() { return emit_arithmetic<T>(i, fixed_[v]); }))
            return;
        emit(i, fixed_[v]);
    }
    void add_boxes(const Instruction& i, const GraphNode& n)
    {
        give_place(i.value, false);
        each_program(*graph_, n, [&](const Index& p, std::span<const ValueId> operands) {
            add_box(i, p, operands);
            return true;
        });
    }
    /// What the result begins with, then one box copied to it, or added.
    void add_box(Instruction i, const Index& p, std::span<const ValueId> operands)
    {
        const bool fixed = fixed_[i.value];
        i.run = p.start == Index::Start::fill ? run_clear : run_copy;
        if (p.start == Index::Start::operand) i.in[0] = values_[operands[p.base]].get();
        if (p.start != Index::Start::nothing) emit(i, fixed);
        const Index::Read& r = p.reads[0];
        const ValueId x = operands[r.operand];
        Box box;
        box_of(p, r, values_[x]->strides(), box);
        if (element_count(box.extents) == 0) return;
        i.out = const_cast<Block*>(box_of_value(i.value, box.extents, box.to, box.place));
        i.in[0] = box_of_value(x, box.extents, box.from, box.first);
        i.run = run_copy;
        if (r.how == Combine::add) {
            i.kernel = box_kernel(i.out->dtype, r.minus);
            i.n = 2;
            i.in[1] = std::exchange(i.in[0], i.out);
            plan_strided(i, box.extents);
        }
        emit(i, fixed);
    }
    /// Operands in order and of the result's size, or single elements?
    bool plan_operands(Instruction& i, const GraphNode& n)
    {
        bool whole = true, direct = true;
        for (std::size_t k = 0; k < n.inputs.size(); ++k) {
            const Block& b = *values_[n.inputs[k]];
            i.in[k] = &b;
            if (!b.strided && b.count == i.count) continue;
            if (b.count == 1 && i.count > 1 && i.count <= expandable && differentiable(b.dtype) &&
                memory_[root(n.inputs[k])]) {
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
        known.push_back(roomy(values_[v]->dtype, count));
        with_real(values_[v]->dtype, [&]<class T>() {
            emit_registers<T>(RegisterSteps<T>::repeat, values_[v].get(), nullptr, known.back().get(), count,
                              fixed_[v]);
        });
        return known.back().get();
    }
    /// Floating-point operands in memory of the plan: whole registers, whatever lies behind the last element.
    bool fill_register(Instruction& i, const GraphNode& n) const
    {
        if (i.run == run_scalars || !differentiable(n.dtype)) return false;
        for (std::size_t k = 0; k < n.inputs.size(); ++k) {
            if (i.in[k]->dtype != n.dtype ||
                (i.in[k] == values_[n.inputs[k]].get() && !memory_[root(n.inputs[k])]))
                return false;
        }
        const std::size_t width = with_real(n.dtype, [&]<class T>() { return Lane<T>::width; });
        i.count = (i.count + width - 1) / width * width;
        return true;
    }
    void plan_strided(Instruction& i, const Shape& extents)
    {
        i.run = run_strided;
        i.operands = operands_.size();
        operands_.push_back(operand(*i.out, extents));
        for (std::size_t k = 0; k < i.n; ++k) operands_.push_back(operand(*i.in[k], extents));
    }

    template <std::size_t n> static void run_whole(StepPlan&, const Instruction& i)
    {
        const void* data[n];
        for (std::size_t k = 0; k < n; ++k) data[k] = i.in[k]->data;
        i.kernel(i.count, data, i.out->data);
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
    static void run_clear(StepPlan&, const Instruction& i) { std::memset(i.out->data, 0, i.out->bytes()); }
    static void run_copy(StepPlan&, const Instruction& i) { copy_elements(*i.in[0], *i.out); }
    static void run_index_step(StepPlan& p, const Instruction& i) { p.indexed_[i.operands].run(); }
    static void run_call(StepPlan& p, const Instruction& i)
    {
        p.calls_[i.operands].compute(current_thread());
    }
    std::vector<Ref<Block>> headers(const GraphNode& n) const
    {
        std::vector<Ref<Block>> in;
        for (ValueId v : n.inputs) in.push_back(values_[v]);
        return in;
    }

    std::vector<std::vector<Ref<Block>>> expanded_;  ///< single elements, repeated
    std::deque<IndexStep> indexed_;
    std::deque<tiling::detail::Call> calls_;
    std::vector<kernels::Operand> operands_;
    std::vector<Instruction> once_, code_;
    std::tuple<Registers<float>, Registers<double>> registers_[2];  ///< of code_, of once_
};

}  // namespace wengert::detail
