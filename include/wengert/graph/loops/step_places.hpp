// Where the values of a loop's body lie: each has one place for all steps, views are made once, and the next states may lie
// where the present ones do.
#pragma once

#include <unordered_map>

#include "../../kernels/cpu/lane.hpp"
#include "../ir/interpret.hpp"
#include "../tile/layout.hpp"

namespace wengert::detail {

/// One step of a loop, ready to be repeated. Headers of inputs and outputs stay where they are.
class BodyPlan {
public:
    virtual ~BodyPlan() = default;
    /// Input i has those elements from now on. They stay where they are, but small ones are copied.
    virtual void bind(std::size_t i, std::byte* data) = 0;
    /// Input i in memory of the plan.
    virtual std::byte* own(std::size_t i) = 0;
    /// The same with these elements.
    virtual void load(std::size_t i, const std::byte* data) { std::memcpy(own(i), data, input(i).bytes()); }
    /// Inputs that show a row each of larger arrays: row k from now on.
    struct Slice {
        std::size_t input;
        std::byte* first;    ///< row
        std::size_t stride;  ///< bytes
    };
    virtual void bind_rows(const std::vector<Slice>& slices, std::size_t k)
    {
        for (const Slice& s : slices) bind(s.input, s.first + k * s.stride);
    }
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

/// The places, and the moves from one step to the next.
class StepPlaces : public BodyPlan {
public:
    StepPlaces(std::shared_ptr<const Graph> g, std::size_t states, std::size_t fixed)
        : graph_(std::move(g)), states_(states), fixed_from_(fixed), layouts_(tiling::layouts_of(*graph_)),
          values_(graph_->size()), memory_(graph_->size()), last_(graph_->size(), 0), fixed_(graph_->size())
    {
        for (ValueId v = 0; v < graph_->size(); ++v) place(v);
        count_uses();
    }
    StepPlaces(const StepPlaces&) = delete;
    StepPlaces& operator=(const StepPlaces&) = delete;

    void bind(std::size_t i, std::byte* data) override { bind_input(graph_->inputs()[i], data); }
    void bind_rows(const std::vector<Slice>& slices, std::size_t k) override
    {
        for (const Slice& s : slices) bind_input(graph_->inputs()[s.input], s.first + k * s.stride);
    }
    void load(std::size_t i, const std::byte* data) override
    {
        own(i);
        copy_small(*values_[graph_->inputs()[i]], data);
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
        return graph_->node(root(graph_->outputs()[k])).kind == Graph::Kind::input;
    }

    void advance() override
    {
        for (std::size_t k = 0; k < staged_.size(); ++k) copy_elements(output(staged_[k]), *stage_[k]);
        for (const Move& m : moves_) {
            if (m.from->data == m.to->data) continue;
            if (m.registers)
                for (std::size_t j = 0; j < m.from->bytes(); j += sizeof(Lane<double>))
                    copy_register(m.from->data + j, m.to->data + j);
            else
                copy_elements(*m.from, *m.to);
        }
        for (std::size_t k = 0; k < staged_.size(); ++k)
            copy_elements(*stage_[k], const_cast<Block&>(input(staged_[k])));
    }

protected:
    /// Memory of the plan has room for a whole register behind the last element, so that small arrays need no tail.
    static constexpr std::size_t room = 16, small_bytes = Block::inline_bytes;

    ValueId root(ValueId v) const { return layouts_[v].root; }
    static Ref<Block> roomy(DType d, std::size_t count) { return zeros_block(d, Shape{count + room}); }
    void give_memory(ValueId v)
    {
        memory_[v] = roomy(values_[v]->dtype, values_[v]->count);
        move(v, memory_[v]->data);
    }
    void move(ValueId root, std::byte* data)
    {
        values_[root]->data = data;
        for (const auto& view : views_)
            if (view.root == root) view.header->data = data + view.offset;
    }
    /// Memory for v, that of an operand or of the state that it replaces where nobody needs that any more.
    void give_place(ValueId v, bool over_operands)
    {
        const GraphNode& n = graph_->node(v);
        ValueId from = no_value;
        for (ValueId i : n.inputs)
            if (over_operands && graph_->node(root(i)).kind == Graph::Kind::operation &&
                ends_with(root(i), v))
                from = root(i);
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
    /// A box of v's elements as an array that stays with v.
    const Block* box_of_value(ValueId v, const Shape& extents, const Strides& strides, std::int64_t first)
    {
        const Block& whole = *values_[root(v)];
        boxes_.push_back(make_view(values_[v], extents, &strides, first));
        views_.push_back({root(v), boxes_.back().get(), boxes_.back()->data - whole.data});
        return boxes_.back().get();
    }
    /// What a step does with the next value of state i when it ends.
    void plan_move(std::size_t i)
    {
        const ValueId to = graph_->inputs()[i], from = graph_->outputs()[i];
        if (from == to) return;
        own(i);
        const GraphNode& n = graph_->node(root(from));
        if (n.kind != Graph::Kind::input || n.index >= states_)
            return moves_.push_back({values_[from].get(), values_[to].get(),
                                     memory_[root(from)] && memory_[to] && differentiable(n.dtype) &&
                                         !values_[from]->strided && values_[to]->bytes() <= small_bytes});
        staged_.push_back(i);
        stage_.push_back(make_block(n.dtype, graph_->node(from).shape));
    }

    std::shared_ptr<const Graph> graph_;
    std::size_t states_, fixed_from_;
    tiling::Layouts layouts_;
    std::vector<Ref<Block>>
        values_;  ///< headers of all values; their addresses may change, the objects do not
    std::vector<Ref<Block>> memory_;  ///< of values with memory of the plan
    std::vector<ValueId> last_;
    std::vector<bool> fixed_;

private:
    struct Move {
        const Block* from;
        Block* to;
        bool registers;  ///< small and in memory of the plan
    };
    struct View {
        ValueId root;
        Block* header;
        std::ptrdiff_t offset;
    };

    void bind_input(ValueId v, std::byte* data)
    {
        if (memory_[v])
            copy_small(*values_[v], data);
        else
            move(v, data);
    }
    /// A store of whole registers can be had by the load of one that follows; that of a few elements would be waited for.
    static void copy_register(const std::byte* from, std::byte* to)
    {
        Lane<double>::load(reinterpret_cast<const double*>(from)).store(reinterpret_cast<double*>(to));
    }
    /// Of one element there are copies in the whole register, so that what is computed beside it is nothing special.
    static void copy_small(Block& to, const std::byte* from)
    {
        const auto fill = [&]<class T>() {
            using V = Lane<T>;
            const T* const x = reinterpret_cast<const T*>(from);
            (to.count == 1 ? V(*x) : V::load_part(x, to.count)).store(to.as<T>());
        };
        if (to.bytes() > sizeof(Lane<double>) || !differentiable(to.dtype) || to.count == 0)
            std::memcpy(to.data, from, to.bytes());
        else
            with_real(to.dtype, fill);
    }

    void place(ValueId v)
    {
        const GraphNode& n = graph_->node(v);
        fixed_[v] = n.kind == Graph::Kind::constant ||
                    (n.kind == Graph::Kind::input && n.index >= fixed_from_) ||
                    (n.kind == Graph::Kind::operation && !n.primitive->effects &&
                     std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId i) { return fixed_[i]; }));
        if (const tiling::Layout& l = layouts_[v]; l.is_view(v)) {
            values_[v] = tiling::detail::header_on(values_[l.root], n.shape, l);
            views_.push_back({l.root, values_[v].get(), l.offset});
            return;
        }
        values_[v] = make_borrowed(n.dtype, n.shape, tiling::detail::nowhere());
        if (n.kind != Graph::Kind::operation && values_[v]->bytes() <= small_bytes) give_memory(v);
        if (n.kind == Graph::Kind::constant) {
            const Ref<Block> b = contiguous(n.constant);
            if (memory_[v])
                copy_small(*values_[v], b->data);
            else
                values_[v]->data = constants_.emplace_back(b)->data;
        }
    }
    /// The last operation that reads each root. Results are read at the end, what is fixed in all steps.
    void count_uses()
    {
        for (ValueId v = 0; v < graph_->size(); ++v)
            for (ValueId i : graph_->node(v).inputs) last_[root(i)] = std::max(last_[root(i)], v);
        for (std::size_t k = 0; k < graph_->outputs().size(); ++k)
            if (k < states_ || !known_before(k)) last_[root(graph_->outputs()[k])] = no_value;
        for (ValueId v = 0; v < graph_->size(); ++v)
            if (fixed_[v]) last_[root(v)] = no_value;
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

    std::vector<Ref<Block>> stage_;
    std::vector<Move> moves_;
    std::vector<std::size_t> staged_;
    std::unordered_map<const Block*, ValueId>
        taken_;  ///< whose a piece of memory is while instructions are made
    std::vector<View> views_;
    std::vector<Ref<Block>> boxes_, constants_;
};

}  // namespace wengert::detail
