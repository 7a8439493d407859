// Operations that are not fused, as steps: the kernels that eager uses, on addresses that are known, or where there is none
// such the primitive itself, told where to put its result.
#pragma once

#include "added_rows.hpp"
#include "emit.hpp"

namespace wengert::tiling {

namespace detail {

/// C = α op(A) op(B) + βC.
template <class T> struct Product {
    bool ta = false, tb = false;
    std::size_t m = 0, n = 0, k = 0, lda = 1, ldb = 1;
    T beta{};
    const T *a = nullptr, *b = nullptr;
    T* c = nullptr;

    void multiply(T alpha, T scale, T* to) const
    {
        kernels::gemm<T>(ta, tb, m, n, k, alpha, a, lda, b, ldb, scale, to, std::max<std::size_t>(n, 1));
    }
    static bool run(const void* self, Run&)
    {
        const auto& p = *static_cast<const Product*>(self);
        p.multiply(T(1), p.beta, p.c);
        return true;
    }
};

/// An operand as gemm reads it. Nothing is read here: rule_of has seen to it that no copy is needed.
inline wengert::detail::Matrices matrices(Emitter& e, ValueId v, bool op, bool column)
{
    const Ref<Block>& x = e.header(v);
    const Shape shape = x->shape.size() == 2 ? x->shape
                        : column             ? MatMul::as_columns(x->shape)
                                             : MatMul::as_rows(x->shape);
    return wengert::detail::matrices_of(x, shape, op);
}

template <class T>
void set_gemm(Emitter& e, Product<T>& g, ValueId a, bool ta, ValueId b, bool tb, T beta, ValueId c)
{
    const auto ma = matrices(e, a, ta, false), mb = matrices(e, b, tb, true);
    g.ta = ma.transposed;
    g.tb = mb.transposed;
    g.m = ma.rows;
    g.n = mb.columns;
    g.k = ma.columns;
    g.lda = ma.ld;
    g.ldb = mb.ld;
    g.beta = beta;
    e.bind(&g.a, a);
    e.bind(&g.b, b);
    e.bind(&g.c, c);
}

/// The primitive's own function, for what the fast path leaves out.
struct Call {
    const Primitive* primitive = nullptr;
    const void* op = nullptr;
    std::vector<Ref<Block>> in;
    Ref<Block> out;
    bool foreign = false;  ///< code that may keep what it makes: it is not told where to put it
    Site at;

    /// The result comes to lie where `out` does: as a rule the primitive puts it there itself.
    void compute(Thread& t) const
    {
        struct Planned {
            Thread& t;
            ~Planned() { t.place = {}; }
        } planned{t};
        if (!foreign) t.place = {out->data, out->bytes()};
        const Ref<Block> r =
            primitive->effects ? on_copies() : primitive->compute(op, in.data(), in.size(), at);
        if (r->count != out->count || r->dtype != out->dtype)
            fail<TapeError>(primitive->name, "gave a result of another shape than when it was traced", at);
        if (r->data == out->data && !r->strided) return;
        t.place = {};
        if (r->strided) return copy_elements(*copy_of(*r), *out);
        std::memmove(out->data, r->data, out->bytes());
    }
    void update() const { primitive->update(op, *out, in.data() + 1, in.size() - 1, at); }

    static bool run_compute(const void* self, Run& run)
    {
        static_cast<const Call*>(self)->compute(run.thread);
        return true;
    }
    static bool run_update(const void* self, Run&)
    {
        static_cast<const Call*>(self)->update();
        return true;
    }

private:
    /// The host may keep what it is given: it gets memory of its own.
    Ref<Block> on_copies() const
    {
        std::vector<Ref<Block>> copies;
        for (const auto& b : in) copies.push_back(copy_of(*b));
        return primitive->compute(op, copies.data(), copies.size(), at);
    }
};

/// Looks for functions and graphs among the parameters.
struct FindsCode : FieldVisitor {
    bool found = false;
    void boolean(bool&) override {}
    void integer(std::int64_t&) override {}
    void real(double&) override {}
    void extents(Extents&) override {}
    void opaque(const void*, std::string_view) override { found = true; }
};
inline bool is_foreign(const GraphNode& n)
{
    FindsCode code;
    if (n.op && n.primitive->fields) n.primitive->fields(const_cast<void*>(n.op.get()), code);
    return code.found || n.primitive->effects;
}

inline Call* make_call(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    auto call = std::make_shared<Call>();
    call->primitive = n.primitive;
    call->op = n.op.get();
    call->at = n.at;
    call->foreign = is_foreign(n);
    call->out = e.header(v);
    for (ValueId i : n.inputs) call->in.push_back(e.header(i));
    e.program.owned().push_back(call);
    e.program.parameters().push_back(n.op);
    return call.get();
}

/// C += ± α op(A) op(B). Where all of g is 0, elements of the product that are not finite count as 0 (the zero-cotangent
/// rule); `room` is memory for the product then.
template <class T> struct AddedProduct {
    Product<T> product;
    const T* alpha = nullptr;  ///< 1 where there is none
    bool minus = false;
    const Block* g = nullptr;  ///< null: the rule does not hold
    bool always = true;        ///< the rule holds whatever kernels::zero_cotangent says
    T* room = nullptr;

    static bool run(const void* self, Run&)
    {
        const auto& s = *static_cast<const AddedProduct*>(self);
        const T factor = !s.alpha ? T(1) : s.minus ? -*s.alpha : *s.alpha;
        if (s.g && (s.always || kernels::zero_cotangent == 0.0) && all_zero(*s.g))
            s.add_quietly(factor);
        else
            s.product.multiply(factor, T(1), s.product.c);
        return true;
    }

private:
    /// As Gemm and ZeroWhereSilent have it: a product of zeros leaves −0 as it is, a cotangent of 0 is added.
    void add_quietly(T factor) const
    {
        const std::size_t count = product.m * product.n;
        product.multiply(T(1), T(0), room);
        for (std::size_t i = 0; i < count; ++i) {
            const bool finite = is_finite(room[i]);
            if (alpha) {
                if (finite) product.c[i] += factor * room[i];
            } else {
                product.c[i] += finite ? room[i] : T(0);
            }
        }
    }
};

template <class T> struct Summed {
    const T* x = nullptr;
    T* y = nullptr;
    std::size_t outer = 1, n = 1, inner = 1;
    bool mean = false;  ///< divided by n, which may be 0
    Team* team = nullptr;
    const std::size_t* cuts = nullptr;  ///< in elements of x
    std::size_t parts = 0;              ///< 0: undivided
    T* sums = nullptr;                  ///< of blocks, where rows are longer than one

    bool long_rows() const { return inner == 1 && SumStream<T>::blocks_of(n) > 1; }
    std::size_t next_cut(std::size_t at) const
    {
        return long_rows() ? SumStream<T>::next_start(at, n)
                           : (at + n * inner - 1) / (n * inner) * (n * inner);
    }
    void run_part(std::size_t begin, std::size_t end) const
    {
        if (!long_rows())
            return kernels::sum(x + begin, (end - begin) / (n * inner), n, inner, y + begin / n);
        SumStream<T> stream;
        stream.start(reinterpret_cast<std::byte*>(y), n, false, begin, sums);
        stream.add(x + begin, end - begin);
    }
    void run_parts() const
    {
        team->run(parts, [&](std::size_t k, std::size_t) { run_part(cuts[k], cuts[k + 1]); });
        if (long_rows()) SumStream<T>::add_blocks(sums, outer, n, false, reinterpret_cast<std::byte*>(y));
    }
    static bool run(const void* self, Run&)
    {
        const auto& s = *static_cast<const Summed*>(self);
        if (s.parts == 0)
            kernels::sum(s.x, s.outer, s.n, s.inner, s.y);
        else
            s.run_parts();
        if (s.mean) {
            const T d = static_cast<T>(s.n);
            for (std::size_t i = 0; i < s.outer * s.inner; ++i) s.y[i] /= d;
        }
        return true;
    }
};

/// Elements of one block to another of the same shape.
struct Copied {
    const Block *from = nullptr, *to = nullptr;
    bool clear = false;  ///< the whole of `all` is 0 otherwise
    const Block* all = nullptr;

    static bool run(const void* self, Run&)
    {
        const auto& s = *static_cast<const Copied*>(self);
        if (s.clear) std::memset(s.all->data, 0, s.all->bytes());
        copy_elements(*s.from, const_cast<Block&>(*s.to));
        return true;
    }
};

/// Contiguous memory to contiguous memory, unless it is the same.
struct Moved {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::size_t bytes = 0;

    static bool run(const void* self, Run&)
    {
        const auto& s = *static_cast<const Moved*>(self);
        if (s.from != s.to) std::memcpy(s.to, s.from, s.bytes);
        return true;
    }
};

/// part += or −= x.
struct Added {
    TileKernel kernel = nullptr;
    const Block *part = nullptr, *x = nullptr;

    static bool run(const void* self, Run&)
    {
        const auto& s = *static_cast<const Added*>(self);
        kernels::Operand operands[] = {operand(*s.part, s.part->shape), operand(*s.part, s.part->shape),
                                       operand(*s.x, s.part->shape)};
        kernels::execute(s.kernel, s.part->shape, s.part->dtype, operands, 3, kernels::Store::assign);
        return true;
    }
};

/// zero_where_silent in the memory of its input: where all of g is 0, what is not finite becomes 0.
template <class T> struct Silenced {
    const Block *g = nullptr, *out = nullptr;

    static bool run(const void* self, Run&)
    {
        const auto& s = *static_cast<const Silenced*>(self);
        if (all_zero(*s.g)) wengert::detail::ZeroWhereOther::mask<T>(const_cast<Block&>(*s.out), *s.out);
        return true;
    }
};

/// Input 0 comes to lie where the result is to be, unless the plan has put it there.
inline void bring(Emitter& e, ValueId from, ValueId v)
{
    const Spot a = e.spot(from), b = e.spot(v);
    const bool plain = !e.plan.layouts[from].strided;
    if (plain && a.kind == b.kind && a.index == b.index && a.address == b.address && a.offset == b.offset)
        return;
    if (element_count(e.plan.graph.node(v).shape) == 0) return;
    if (!plain) {
        auto& s = *e.step<Copied>();
        s.from = e.header(from).get();
        s.to = e.header(v).get();
        return;
    }
    auto& s = *e.step<Moved>();
    s.bytes = e.plan.bytes_of(v);
    e.bind(&s.from, a);
    e.bind(&s.to, b);
}

template <class T> void emit_gemm(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    const auto& op = *static_cast<const MatMul*>(n.op.get());
    set_gemm<T>(e, *e.step<Product<T>>(), n.inputs[0], op.ta, n.inputs[1], op.tb, T(0), v);
}

template <class T> AddedProduct<T>& added_product(Emitter& e, ValueId v, ValueId g)
{
    bring(e, e.plan.graph.node(v).inputs[0], v);
    T* room = g == no_value ? nullptr : reinterpret_cast<T*>(e.scratch(e.plan.bytes_of(v)));
    auto& s = *e.step<AddedProduct<T>>();
    s.g = g == no_value ? nullptr : e.header(g).get();
    s.room = room;
    return s;
}

/// (Ā, Ȳ, B) or (B̄, Ȳ, A): the four forms of MatMul::accumulate.
template <class T> void emit_add_gemm(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    const auto& op = *static_cast<const MatMul*>(n.op.get());
    const ValueId g = n.inputs[1], x = n.inputs[2];
    auto& s = added_product<T>(e, v, g);
    s.always = false;
    if (n.primitive->name.back() == '0')
        op.ta ? set_gemm<T>(e, s.product, x, op.tb, g, true, T(1), v)
              : set_gemm<T>(e, s.product, g, false, x, !op.tb, T(1), v);
    else
        op.tb ? set_gemm<T>(e, s.product, g, true, x, op.ta, T(1), v)
              : set_gemm<T>(e, s.product, x, !op.ta, g, false, T(1), v);
}

/// (C, A, B, α).
template <class T> void emit_scaled_gemm(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    const auto& op = *static_cast<const wengert::Gemm*>(n.op.get());
    auto& s = added_product<T>(e, v, op.silent ? n.inputs[static_cast<std::size_t>(op.silent)] : no_value);
    s.minus = op.minus;
    e.bind(&s.alpha, n.inputs[3]);
    set_gemm<T>(e, s.product, n.inputs[1], op.ta, n.inputs[2], op.tb, T(1), v);
}

template <class T> void emit_sum(Emitter& e, ValueId v, const Axes& axes, bool mean)
{
    const ValueId x = e.plan.graph.node(v).inputs[0];
    const Reduction r = reduction_of(e.header(x), axes);
    auto& s = *e.step<Summed<T>>();
    s.outer = r.outer;
    s.n = r.n;
    s.inner = r.inner;
    s.mean = mean;
    e.bind(&s.x, x);
    e.bind(&s.y, v);
    const auto cuts = e.cuts(r.outer * r.n * r.inner, [&](std::size_t at) { return s.next_cut(at); });
    if (cuts.empty()) return;
    s.team = e.team.get();
    s.cuts = e.kept(cuts);
    s.parts = cuts.size() - 1;
    if (s.long_rows()) s.sums = e.program.memory.array<T>(s.outer * SumStream<T>::blocks_of(s.n));
}

/// A part of v and x read as if it had the part's shape.
struct PartAndSource {
    Ref<Block> part, x;
    bool solid() const { return !part->strided && !x->strided; }  ///< one piece of memory each
};
inline PartAndSource part_and_source(Emitter& e, ValueId v, const Selection& part, ValueId x)
{
    return {part.view(e.header(v)), broadcast_view(e.header(x), part.shape)};
}
/// Where a view of v's header lies.
inline Spot spot_of(Emitter& e, ValueId v, const Block& view)
{
    Spot s = e.spot(v);
    const std::int64_t offset = view.data - e.header(v)->data;
    s.address += offset;
    s.offset += offset;
    return s;
}

/// part = x, by a plain move where that does.
inline void assign_part(Emitter& e, ValueId v, const Selection& part, ValueId x)
{
    const PartAndSource p = part_and_source(e, v, part, x);
    if (p.solid()) {
        auto& s = *e.step<Moved>();
        s.bytes = p.part->bytes();
        e.bind(&s.from, spot_of(e, x, *p.x));
        e.bind(&s.to, spot_of(e, v, *p.part));
        return;
    }
    auto& s = *e.step<Copied>();
    s.from = e.keep(x, p.x).get();
    s.to = e.keep(v, p.part).get();
}

/// part = kernel(part, x), by one call of the kernel where that does.
inline void update_part(Emitter& e, TileKernel kernel, ValueId v, const Selection& part, ValueId x)
{
    const PartAndSource p = part_and_source(e, v, part, x);
    if (p.solid() && p.part->count <= ~0U) {
        Direct* d = e.direct(kernel, p.part->count, 2);
        e.bind(&d->out, spot_of(e, v, *p.part));
        e.bind(d->in(), spot_of(e, v, *p.part));
        e.bind(d->in() + 1, spot_of(e, x, *p.x));
        return;
    }
    auto& s = *e.step<Added>();
    s.kernel = kernel;
    s.part = e.keep(v, p.part).get();
    s.x = e.keep(x, p.x).get();
}

template <class T> TileKernel part_kernel(bool minus)
{
    using A = xsimd::default_arch;
    return minus ? elementwise_primitive<Subtract, A, T, T, T>.value
                 : elementwise_primitive<Add, A, T, T, T>.value;
}

/// Where add_view, subtract_view and the cotangent of a view add.
inline const Selection& part_of(const GraphNode& n)
{
    if (n.primitive->name == "view.pull0") return static_cast<const Select*>(n.op.get())->part;
    if (n.primitive->name == "subtract_view") return static_cast<const AddView<true>*>(n.op.get())->part;
    return static_cast<const AddView<false>*>(n.op.get())->part;
}

/// A part whose rows are rows of the array and of x.
inline bool by_rows(const Emitter& e, ValueId v, const Selection& part, ValueId x)
{
    const std::size_t rank = e.plan.graph.node(v).shape.size();
    if (rank == 0 || part.shape.size() != rank || !(e.plan.graph.node(x).shape == part.shape)) return false;
    for (std::size_t a = 0; a < rank; ++a)
        if (part.from[a] != static_cast<std::int64_t>(a) || part.step[a] != 1) return false;
    return e.plan.layouts[x].strides[rank - 1] == 1;
}

template <class T> void add_rows(Emitter& e, ValueId v, const Selection& part, ValueId x, bool minus)
{
    const Shape& shape = e.plan.graph.node(v).shape;
    auto* rows = e.continued<AddedRows<T>>(e.plan.values[v].store);
    if (!rows) {
        rows = e.step<AddedRows<T>>();
        rows->axes = shape.size() - 1;
        std::copy_n(shape.data(), rows->axes, rows->extents);
        rows->row = shape.back();
        e.bind(&rows->to, v);
        e.may_continue(rows, e.plan.values[v].store);
    }
    auto& p = *e.program.memory.make<AddedPart<T>>();
    p.minus = minus;
    p.n = part.shape.back();
    p.column = part.start[rows->axes];
    for (std::size_t a = 0; a < rows->axes; ++a) {
        p.first[a] = part.start[a];
        p.count[a] = part.shape[a];
        p.step[a] = e.plan.layouts[x].strides[a];
    }
    e.bind(&p.x, x);
    rows->add(&p);
}

template <class T> void emit_add_part(Emitter& e, ValueId v, bool minus)
{
    const GraphNode& n = e.plan.graph.node(v);
    const Selection& part = part_of(n);
    bring(e, n.inputs[0], v);
    if (element_count(part.shape) == 0) return;
    if (by_rows(e, v, part, n.inputs[1])) return add_rows<T>(e, v, part, n.inputs[1], minus);
    update_part(e, part_kernel<T>(minus), v, part, n.inputs[1]);
}

inline void emit_assign_part(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    const Selection& part = static_cast<const AssignView*>(n.op.get())->part;
    bring(e, n.inputs[0], v);
    if (element_count(part.shape) > 0) assign_part(e, v, part, n.inputs[1]);
}

inline void emit_embed(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    const PartAndSource p = part_and_source(e, v, static_cast<const Embed*>(n.op.get())->part, n.inputs[0]);
    auto& s = *e.step<Copied>();
    s.clear = true;
    s.all = e.header(v).get();
    s.from = e.keep(n.inputs[0], p.x).get();
    s.to = e.keep(v, p.part).get();
}

template <class Op> void emit_join(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    const Op& op = *static_cast<const Op*>(n.op.get());
    for (std::size_t i = 0; i < n.inputs.size(); ++i)
        if (element_count(e.plan.graph.node(n.inputs[i]).shape) > 0)
            assign_part(e, v, op.part(i), n.inputs[i]);
}

/// copy, and reshape of what does not lie in order.
inline void emit_copy(Emitter& e, ValueId v)
{
    const ValueId x = e.plan.graph.node(v).inputs[0];
    if (!e.plan.layouts[x].strided) return bring(e, x, v);
    auto& s = *e.step<Copied>();
    s.from = e.header(x).get();
    s.to = e.keep(v, make_view(e.header(v), e.plan.graph.node(x).shape, nullptr, 0)).get();
}

template <class T> void emit_silent(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    bring(e, n.inputs[0], v);
    auto& s = *e.step<Silenced<T>>();
    s.g = e.header(n.inputs[1]).get();
    s.out = e.header(v).get();
}

template <class T> bool emit_real(Emitter& e, ValueId v, Rule r)
{
    const GraphNode& n = e.plan.graph.node(v);
    switch (r) {
    case Rule::gemm: emit_gemm<T>(e, v); return true;
    case Rule::add_gemm: emit_add_gemm<T>(e, v); return true;
    case Rule::scaled_gemm: emit_scaled_gemm<T>(e, v); return true;
    case Rule::sum: emit_sum<T>(e, v, static_cast<const Sum*>(n.op.get())->axes, false); return true;
    case Rule::mean: emit_sum<T>(e, v, static_cast<const Mean*>(n.op.get())->along.axes, true); return true;
    case Rule::add_part: emit_add_part<T>(e, v, false); return true;
    case Rule::subtract_part: emit_add_part<T>(e, v, true); return true;
    case Rule::silent: emit_silent<T>(e, v); return true;
    default: return false;
    }
}

inline void emit_call(Emitter& e, ValueId v, bool update)
{
    if (update) bring(e, e.plan.graph.node(v).inputs[0], v);
    const Call* call = make_call(e, v);
    e.step(update ? Call::run_update : Call::run_compute, call);
}

}  // namespace detail

inline void emit_library(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    const Rule r = rule_of(e.plan.graph, e.plan.layouts, v);
    if (n.dtype == DType::float32 ? detail::emit_real<float>(e, v, r)
                                  : n.dtype == DType::float64 && detail::emit_real<double>(e, v, r))
        return;
    switch (r) {
    case Rule::copy: return detail::emit_copy(e, v);
    case Rule::embed: return detail::emit_embed(e, v);
    case Rule::assign_part: return detail::emit_assign_part(e, v);
    case Rule::join:
        return n.primitive->name == "stack" ? detail::emit_join<Stack>(e, v)
                                            : detail::emit_join<Concatenate>(e, v);
    default: return detail::emit_call(e, v, r == Rule::update);
    }
}

}  // namespace wengert::tiling
