// Emitter: from a plan to the steps of a program. Knows where each value lies and writes its address wherever it is used.
#pragma once

#include "../../tape/apply.hpp"
#include "../tile/fused_recipe.hpp"
#include "../plan/plan.hpp"
#include "program.hpp"
#include "register_steps.hpp"
#include "../threads/schedule.hpp"

namespace wengert::tiling {

/// Steps of several strands, which the team runs at once. No guard is among them.
struct AtOnce {
    const Step* steps = nullptr;
    Division strands;

    void operator()(Run&) const
    {
        strands.run([&](std::size_t begin, std::size_t end, std::size_t) {
            Run own{current_thread()};
            for (std::size_t k = begin; k < end; ++k) steps[k].run(steps[k].self, own);
        });
    }
};

class Emitter {
public:
    Emitter(const Plan& p, Program& to) : plan(p), program(to), headers_(p.graph.size())
    {
        program.shape(p.graph.inputs().size(), p.graph.outputs().size(), p.graph.guards().size());
        if (p.arena.bytes == 0) return;
        const Ref<Block> memory = make_block(DType::boolean, Shape{p.arena.bytes + Buffer::alignment});
        std::memset(memory->data, 0, memory->bytes());
        arena_ = memory->data;
        program.blocks().push_back(memory);
    }

    const Plan& plan;
    Program& program;
    std::shared_ptr<Team> team;  ///< null where all runs on the caller's thread

    /// Steps may be divided from here on.
    void divide(unsigned threads)
    {
        const std::size_t size = Team::size_for(threads);
        if (size < 2) return;
        team = std::make_shared<Team>(size);
        program.owned().push_back(team);
    }
    /// How a step over `count` elements is divided; not at all where it is not worth it.
    template <class F> Division division(std::size_t count, const F& next_cut)
    {
        const auto cuts = cuts_for(team ? team->size() : 1, count, next_cut);
        if (cuts.empty()) return {};
        auto* kept = program.memory.array<std::size_t>(cuts.size());
        std::copy(cuts.begin(), cuts.end(), kept);
        divided_ = true;
        return {team.get(), kept, cuts.size() - 1};
    }
    /// How many threads the steps are spread over.
    std::size_t threads() const noexcept { return divided_ ? team->size() : 1; }

    /// Steps from here on are those of strand k of a wave; they share no scratch memory with the other strands'.
    void begin_strand(std::size_t k)
    {
        end_segment();
        open_ = {};
        scratch_at_ = k;
        strands_.push_back(program.steps().size());
    }
    /// Puts the strands since the first into one step, by which they run at once.
    void end_wave()
    {
        end_segment();
        open_ = {};
        scratch_at_ = 0;
        auto& steps = program.steps();
        const std::size_t first = strands_.front(), n = steps.size() - first;
        auto* cuts = program.memory.array<std::size_t>(strands_.size() + 1);
        for (std::size_t k = 0; k < strands_.size(); ++k) cuts[k] = strands_[k] - first;
        cuts[strands_.size()] = n;
        auto* own = program.memory.array<Step>(n);
        std::copy(steps.end() - static_cast<std::ptrdiff_t>(n), steps.end(), own);
        steps.resize(first);
        step(AtOnce{own, {team.get(), cuts, strands_.size()}});
        divided_ = true;
        strands_.clear();
    }

    /// Where the value's first element lies.
    Spot spot(ValueId v)
    {
        const ValueId from = plan.root(v);
        const Placed& p = plan.values[from];
        const std::int64_t offset = plan.layouts[v].offset;
        switch (p.home) {
        case Home::input:
            return {Spot::input, plan.graph.node(from).index, detail::nowhere() + offset, offset};
        case Home::output:
            return {Spot::output, plan.stores[p.store].output, detail::nowhere() + offset, offset};
        case Home::constant: return {Spot::fixed, 0, constant(from)->data + offset, 0, true};
        default: return {Spot::fixed, 0, arena_ + plan.stores[p.store].offset + offset, 0};
        }
    }
    /// The same for a view of v's header.
    Spot spot(ValueId v, const Block& view)
    {
        Spot s = spot(v);
        const std::int64_t offset = view.data - header(v)->data;
        s.address += offset;
        s.offset += offset;
        return s;
    }
    template <class P> void bind(P** slot, const Spot& s) { program.bind(slot, s); }
    template <class P> void bind(P** slot, ValueId v) { program.bind(slot, spot(v)); }
    /// Where the values lie at every run, in their order.
    template <class P = std::byte> P** addresses(const ValueList& values)
    {
        P** const at = program.memory.array<P*>(values.size());
        for (std::size_t k = 0; k < values.size(); ++k) bind(at + k, values[k]);
        return at;
    }

    /// The value as an array: a block that owns nothing and is there for all runs.
    const Ref<Block>& header(ValueId v)
    {
        Ref<Block>& h = headers_[v];
        if (h) return h;
        const GraphNode& n = plan.graph.node(v);
        const ValueId from = plan.root(v);
        if (from != v)
            h = detail::header_on(header(from), n.shape, plan.layouts[v]);
        else if (n.kind == Graph::Kind::constant)
            return h = constant(v);
        else
            h = make_borrowed(n.dtype, n.shape, detail::nowhere());
        bind(&h->data, spot(v));
        program.blocks().push_back(h);
        return h;
    }
    /// The same for a view of v's header that somebody made: it lies `offset` bytes on from v, whatever v's address.
    const Ref<Block>& keep(ValueId v, Ref<Block> view)
    {
        bind(&view->data, spot(v, *view));
        program.blocks().push_back(std::move(view));
        return program.blocks().back();
    }

    /// A step that calls f, which is kept.
    template <class F> F* step(const F& f)
    {
        end_segment();
        F* kept = program.memory.make(f);
        program.steps().push_back(Step::of(kept));
        return kept;
    }
    /// The step before, where it is of type S, works on the same memory and may take up more of it.
    template <class S> S* continued(std::uint32_t store) const
    {
        const bool there = open_.self && open_.run == Step::of<S>(nullptr).run && open_.store == store &&
                           !segment_ && registers_.empty() && program.steps().size() == open_.at;
        return there ? static_cast<S*>(open_.self) : nullptr;
    }
    template <class S> void may_continue(S* s, std::uint32_t store)
    {
        open_ = {s, Step::of<S>(nullptr).run, store, program.steps().size()};
    }
    /// kernel(n, in, out), on whole registers where all elements are of `size` bytes, in places where that may be (0: not so), and
    /// then without a call where the primitive's rule is arithmetic. Constants are read from copies where that may be beyond their end.
    void call(TileKernel kernel, std::size_t n, std::size_t size, const Spot* in, std::size_t arity,
              const Spot& out, const Primitive* primitive = nullptr)
    {
        const std::size_t more = size ? whole_registers(n, size) : n, bytes = Direct::bytes(arity);
        Spot at[kernels::max_operands];
        for (std::size_t k = 0; k < arity; ++k)
            at[k] = more > n && in[k].constant ? padded(in[k].address, n * size) : in[k];
        if (primitive && in_registers(*primitive, n, size, at, out)) return;
        if (room_ < bytes) {
            end_segment();
            room_ = std::size_t{1} << 14;
            records_ = program.memory.take(room_);
        }
        auto* d = new (records_) Direct{kernel, more, arity, nullptr};
        if (!segment_) {
            end_segment();
            segment_ = program.memory.make<Segment>();
            segment_->first = d;
        }
        records_ += bytes;
        room_ -= bytes;
        ++segment_->count;
        for (std::size_t k = 0; k < arity; ++k) bind(d->in() + k, at[k]);
        bind(&d->out, out);
    }
    /// The element at `from`, n times: in whole registers where `whole`, as in call().
    void spread(std::size_t n, DType d, bool whole, const Spot& from, const Spot& to)
    {
        const std::size_t size = size_of(d);
        if (whole && n * size <= most_in_registers)
            return registers(d, Arith::none, n, from.address, nullptr, to.address);
        call(detail::spread_kernel(size), n, whole ? size : 0, &from, 1, to);
    }
    void end_segment()
    {
        if (segment_) program.steps().push_back(Step::of(segment_));
        segment_ = nullptr;
        if (registers_.empty()) return;
        auto* steps = program.memory.array<RegisterStep>(registers_.size());
        std::copy(registers_.begin(), registers_.end(), steps);
        with_real(registers_of_, [&]<class T>() {
            program.steps().push_back(Step::of(program.memory.make(
                [steps, count = registers_.size()](Run&) { RegisterSteps<T>::run(steps, count); })));
        });
        registers_.clear();
    }

    /// Room that every step of a strand may use while it runs.
    std::byte* scratch(std::size_t bytes)
    {
        if (scratch_.size() <= scratch_at_) scratch_.resize(scratch_at_ + 1);
        Ref<Block>& b = scratch_[scratch_at_];
        if (!b || bytes > b->count) {
            b = make_block(DType::boolean, Shape{bytes});
            program.blocks().push_back(b);
        }
        return b->data;
    }
    /// Short operands are read and written by whole registers, since what a masked store wrote is not at once to be had by
    /// a load. This is the number of elements for a kernel that works on n of `size` bytes, all in places of the arena's
    /// alignment or padded().
    static std::size_t whole_registers(std::size_t n, std::size_t size) noexcept
    {
        return n * size > 2 * Buffer::alignment ? n : aligned(n * size) / size;
    }
    /// A copy of a short constant that may be read beyond its end.
    Spot padded(const std::byte* data, std::size_t bytes)
    {
        std::byte*& to = padded_[{data, bytes}];  // a row of a matrix begins where the matrix does
        if (!to) {
            to = program.memory.take(aligned(bytes) + Buffer::alignment);
            std::memcpy(to, data, bytes);
        }
        return {Spot::fixed, 0, to, 0};
    }

private:
    /// Bytes of arrays that are worked on in registers: more take longer than a call.
    static constexpr std::size_t most_in_registers = 2 * Buffer::alignment;

    /// n elements of `size` bytes, where the primitive's rule is one operation of arithmetic.
    bool in_registers(const Primitive& p, std::size_t n, std::size_t size, const Spot* in, const Spot& out)
    {
        if (size == 0 || n * size > most_in_registers) return false;
        const auto [known, fresh] = rules_.try_emplace(&p);
        if (fresh)
            if (const auto r = detail::RecipeWriter::write(p, numbers_);
                r.size() == 1 && r[0].op != Arith::fma)
                known->second = r[0];
        const detail::MachineNode& o = known->second;
        if (o.op == Arith::none) return false;
        const auto address = [&](ValueId v) -> const std::byte* {
            return detail::is_recipe_number(v) ? number(v, p.dtype) : in[v].address;
        };
        registers(p.dtype, o.op, n, address(o.left), address(o.right), out.address);
        return true;
    }
    void registers(DType d, Arith op, std::size_t n, const std::byte* a, const std::byte* b, std::byte* out)
    {
        if (segment_ || registers_of_ != d) end_segment();
        registers_of_ = d;
        with_real(d, [&]<class T>() {
            for (std::size_t j = 0; j < n * sizeof(T); j += RegisterSteps<T>::bytes)
                registers_.push_back(
                    RegisterSteps<T>::step(op, a + (b ? j : 0), b ? b + j : nullptr, out + j,
                                           registers_.empty() ? nullptr : &registers_.back()));
        });
    }
    /// The number in as many elements as are worked on in registers.
    const std::byte* number(ValueId v, DType d)
    {
        std::byte*& to = filled_[{v, d}];
        if (!to) {
            to = program.memory.take(most_in_registers);
            with_real(d, [&]<class T>() {
                std::fill_n(reinterpret_cast<T*>(to), most_in_registers / sizeof(T),
                            static_cast<T>(numbers_[v]));
            });
        }
        return to;
    }

    const Ref<Block>& constant(ValueId v)
    {
        Ref<Block>& h = headers_[v];
        if (!h) {
            h = contiguous(plan.graph.node(v).constant);
            program.blocks().push_back(h);
        }
        return h;
    }

    std::vector<Ref<Block>> headers_;
    struct Open {
        void* self = nullptr;
        bool (*run)(const void*, Run&) = nullptr;
        std::uint32_t store = 0;
        std::size_t at = 0;  ///< steps by then
    };
    Open open_;
    std::map<std::pair<const std::byte*, std::size_t>, std::byte*> padded_;
    std::byte* arena_ = nullptr;
    std::vector<Ref<Block>> scratch_;  ///< by strand; what is in no wave has that of the first
    std::size_t scratch_at_ = 0;
    std::vector<std::size_t> strands_;  ///< their first steps
    bool divided_ = false;              ///< a step is spread over the team
    Segment* segment_ = nullptr;
    std::vector<RegisterStep> registers_;  ///< since the last step of another kind
    DType registers_of_{};
    std::map<const Primitive*, detail::MachineNode> rules_;  ///< as one operation, where they are that
    detail::RecipeNumbers numbers_;
    std::map<std::pair<ValueId, DType>, std::byte*> filled_;
    std::byte* records_ = nullptr;
    std::size_t room_ = 0;
};

}  // namespace wengert::tiling
