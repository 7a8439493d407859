// Parts of tensors: view(x, …) to read and to write, x(i, j).
#pragma once

#include "slices.hpp"
#include "update.hpp"
#include "writer.hpp"

namespace wengert {

namespace detail {
/// Operand 1 goes to a part of what operand 0 is. Its places in the part, which it is broadcast to.
inline Positions describe_store(Index& p, const Selection& part, const Shape& from)
{
    const Positions i = p.axes(selected(part, p.shape(0)));
    stated(from, p.shape(1));
    p.write_into(part.positions(i), 0);
    return p.broadcast(i, 1);
}
}  // namespace detail

/// y = base with a part replaced by v, broadcast;  b̄ = ȳ with zeros in the part,  v̄ = Σ of ȳ's part over broadcast axes
struct AssignView {
    static constexpr std::string_view name = "assign_view";
    static constexpr bool linear = true;
    Selection part;
    Shape from;  ///< of v
    template <class T> Ref<Block> value(const Ref<Block>& base, const Ref<Block>& v, const Site&) const
    {
        auto out = copy_of(*base);
        copy_elements(*broadcast_view(v, part.shape), *part.view(out));
        return out;
    }
    void describe(Index& p) const { p.read(1, detail::describe_store(p, part, from)); }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<AssignView, T>(AssignView{part, {}}, Site{}, g, zero_like(g));
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, const Tensor<T>&) const
    {
        return sum_to(apply<Select, T>(Select{part}, Site{}, g), from);
    }
    /// b̄, made of ȳ in place.
    void change(wrt<0>, const Ref<Block>& g) const
    {
        copy_elements(*broadcast_view(zeros_block(g->dtype, Shape()), part.shape), *part.view(g));
    }
};

/// y = base with v added to (or subtracted from) its part;  base̅ = ȳ,  v̅ = ± the part of ȳ. Nothing is copied backwards, so
/// a time step written with slices costs what it touches.
template <bool minus> struct AddView {
    static constexpr std::string_view name = minus ? "subtract_view" : "add_view";
    static constexpr bool linear = true;
    Selection part;
    Shape from;  ///< of v
    template <class T> Ref<Block> value(const Ref<Block>& base, const Ref<Block>& v, const Site&) const
    {
        auto out = copy_of(*base);
        update<T>(*part.view(out), *v);
        return out;
    }
    void describe(Index& p) const
    {
        const Positions v = detail::describe_store(p, part, from);
        p.adding();
        minus ? p.read_minus(1, v) : p.read(1, v);
    }
    template <class T> static void update(Block& place, const Block& v)
    {
        const TileKernel kernel =
            detail::elementwise_of<std::conditional_t<minus, Subtract, Add>, xsimd::default_arch, T, T, T>()
                .value;
        kernels::Operand operands[] = {operand(place, place.shape), operand(place, place.shape),
                                       operand(v, place.shape)};
        kernels::execute(kernel, place.shape, place.dtype, operands, 3, kernels::Store::assign);
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, const Tensor<T>&) const
    {
        return g;
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, const Tensor<T>&) const
    {
        const Tensor<T> v = sum_to(apply<Select, T>(Select{part}, Site{}, g), from);
        return minus ? -v : v;
    }
};

/// y = one element of x, copied;  x̄ = ȳ added there
struct Element {
    static constexpr std::string_view name = "element";
    static constexpr bool linear = true;
    std::size_t offset;  ///< in row-major order
    Shape of;
    Selection part() const
    {
        Selection s(Selection::Empty{}, of);
        std::size_t rest = offset;
        for (std::size_t axis = of.size(); axis-- > 0; rest /= static_cast<std::size_t>(of[axis]))
            s.start[axis] = static_cast<std::int64_t>(rest % static_cast<std::size_t>(of[axis]));
        return s;
    }
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const
    {
        return copy_of(*part().view(x));
    }
    void describe(Index& p) const
    {
        detail::stated(of, p.shape(0));
        detail::demand(offset < element_count(of),
                       "element " + std::to_string(offset) + " is not in shape " + to_string(of));
        p.write({});
        p.read(0, part().positions({}));
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<Embed, T>(Embed{part()}, Site{}, g);
    }
    void accumulate(wrt<0>, Block& into, const Block& g) const
    {
        with_real(g.dtype, [&]<class T>() { into.as<T>()[offset] += *g.as<T>(); });
    }
    std::string parameters() const { return "index=" + to_string(part().start); }
};

namespace detail {
__attribute__((cold, noinline)) inline Ref<Block> element_elsewhere(const Ref<Block>& x, std::int64_t offset)
{
    auto out = make_block_beside(*x, x->dtype, Shape(), 1);
    device_table(x->device()).copy(*make_view(x, Shape(), nullptr, offset), *out);
    return out;
}
/// A copy of the element at `offset`, which lies where x does.
template <class T>
[[gnu::always_inline]] inline Ref<Block> one_element(const Ref<Block>& x, std::int64_t offset)
{
    if (x->access.device) [[unlikely]]
        return element_elsewhere(x, offset);
    auto out = make_small_block(current_thread(), dtype_of<T>(), Shape(), 1);
    *out->template as<T>() = x->as<T>()[offset];
    return out;
}
}  // namespace detail

template <class T, class D>
Tensor<T, D> ops::element(const Tensor<T, D>& x, std::span<const std::int64_t> index, const Site& at)
{
    const AnyTensor& any = x.any("element", at);
    const Block& b = *any.value;
    const std::size_t rank = b.shape.size();
    if (index.size() > rank) detail::too_many_indices("element", index.size(), b.shape, at);
    if (index.size() < rank) {
        Selection part(Selection::Empty{}, b.shape);
        for (std::size_t axis = 0; axis < rank; ++axis)
            if (axis >= index.size())
                part.keep(axis, 0, 1, b.shape[axis]);
            else
                part.start[axis] = detail::normalize_index("element", index[axis], axis, b.shape, at);
        return apply<Select, T>(Select{part}, at, x);
    }
    std::int64_t flat = 0, offset = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        const std::int64_t i = detail::normalize_index("element", index[axis], axis, b.shape, at);
        flat = flat * b.shape[axis] + i;
        if (b.strided) offset += i * b.view_strides[axis];
    }
    auto out = detail::one_element<T>(any.value, b.strided ? offset : flat);
    if (!any.node && !recorder() && !b.access.unrecorded && !b.access.traced)
        return Tensor<T, D>(AnyTensor{std::move(out), {}});
    const Element op{static_cast<std::size_t>(flat), b.shape};
    const AnyTensor* const in[] = {&any};
    return Tensor<T, D>(record(detail::structural_of<Element, T, T>(), in, 1, std::move(out), &op, at));
}

namespace detail {

/// x with `part` replaced by v, where v's memory is used if nobody can tell the difference. x is as before after a throw.
template <class T, class D>
void assign_part(AnyTensor& x, const Selection& part, const Tensor<T, D>& v, const Site& at)
{
    check_target(AssignView::name, x, part.of, at);
    const AnyTensor* const in[] = {&x, &v.any(AssignView::name, at)};
    const AssignView op{part, v.shape()};
    const std::uint64_t mask = Tape::current().dependence(in, 2, op.name, at);
    refuse_writer(op.name, x, at);
    check_stores(op.name, v.shape(), part.shape, at);
    const Primitive& p = structural_of<AssignView, T, T, T>();
    Ref<Node> kept = mask ? Ref<Node>() : node_kept(x, at);
    if (!writable_in_place(x) || v.any().value.get() == x.value.get())
        return commit_write(
            x,
            record(p, in, 2, compute_structural(p, &op, std::array{x.value, v.any().value}.data(), 2, at),
                   &op, at),
            std::move(kept));
    const Ref<Block> to = part.view(x.value), from = broadcast_view(v.any().value, part.shape);
    AnyTensor result = record(p, in, 2, x.value, &op, at);
    copy_elements(*from, *to);  // the last step: it cannot fail
    commit_write(x, std::move(result), std::move(kept));
}

/// part of x += v, or −= v, in place like assign_part.
template <bool minus, class T, class D>
void add_part(AnyTensor& x, const Selection& part, const Tensor<T, D>& v, const Site& at)
{
    check_target(AddView<minus>::name, x, part.of, at);
    const AnyTensor* const in[] = {&x, &v.any(AddView<minus>::name, at)};
    const AddView<minus> op{part, v.shape()};
    Tape& tape = Tape::current();
    const std::uint64_t mask = tape.dependence(in, 2, op.name, at);
    refuse_writer(op.name, x, at);
    check_stores(op.name, v.shape(), part.shape, at);
    const Primitive& p = structural_of<AddView<minus>, T, T, T>();
    Ref<Node> kept = mask ? Ref<Node>() : node_kept(x, at);
    if (!writable_in_place(x) || v.any().value.get() == x.value.get() || tape.anomaly ||
        (mask & tape.forward_levels))
        return commit_write(
            x,
            record(p, in, 2, compute_structural(p, &op, std::array{x.value, v.any().value}.data(), 2, at),
                   &op, at),
            std::move(kept));
    const Ref<Block> place = part.view(x.value);
    AnyTensor result = record(p, in, 2, x.value, &op, at);
    if (element_count(part.shape) > 0) {
        if (place->access.device) [[unlikely]]
            compute_in_place(update_primitive<T>(minus ? ops::Update::subtract : ops::Update::add), *place,
                             *v.any().value);
        else
            AddView<minus>::template update<T>(*place, *v.any().value);
    }
    commit_write(x, std::move(result), std::move(kept));
}

}  // namespace detail

/// A part of a tensor variable: a Tensor to read from, and a place to assign to, which writes the variable. It must not
/// be written through after the variable's end.
template <class T, class Device = cpu> class View : public Tensor<T, Device> {
public:
    using Arg = Operand<T, Device>;
    using Whole = Tensor<T, Device>;

    View(Whole& target, const Selection& part, const Site& at)
        : Whole(apply<Select, T>(Select{part}, at, target)), target_(&target), part_(part)
    {}
    View(const View&) = default;

    /// A part of a variable is none itself, and the next write would make it forget: Tensor<T> w = view(…) can be one.
    template <class... X> void requires_grad(X&&...) = delete;

    void operator=(Arg v) && { store(*v, v.at); }
    void operator=(const View& v) && { store(v, {}); }
    void operator+=(Arg v) && { add<false>(*v, v.at); }
    void operator-=(Arg v) && { add<true>(*v, v.at); }
    void operator*=(Arg v) && { store(ops::multiply<T>(*this, *v, v.at), v.at); }
    void operator/=(Arg v) && { store(ops::divide<T>(*this, *v, v.at), v.at); }

    // A view with a name shows what has been written through it.
    View& operator=(Arg v) & { return again(*v, v.at); }
    View& operator=(const View& v) & { return again(v, {}); }
    View& operator+=(Arg v) & { return again(ops::add<T>(now(v.at), *v, v.at), v.at); }
    View& operator-=(Arg v) & { return again(ops::subtract<T>(now(v.at), *v, v.at), v.at); }
    View& operator*=(Arg v) & { return again(ops::multiply<T>(now(v.at), *v, v.at), v.at); }
    View& operator/=(Arg v) & { return again(ops::divide<T>(now(v.at), *v, v.at), v.at); }

private:
    /// The part as its variable has it now: that may have been written since.
    Whole now(const Site& at) const
    {
        detail::check_target("view", target_->any_unchecked(), part_.of, at);
        return View(*target_, part_, at);
    }
    View& again(const Whole& v, const Site& at)
    {
        detail::assign_part(target_->any_unchecked(), part_, v, at);
        this->any_unchecked() = View(*target_, part_, at).any();
        return *this;
    }
    template <bool minus> void add(const Whole& v, const Site& at)
    {
        this->any_unchecked() = {};
        detail::add_part<minus>(target_->any_unchecked(), part_, v, at);
    }
    /// This view's own hold of the elements must go first, or it would force a copy.
    void store(const Whole& v, const Site& at)
    {
        this->any_unchecked() = {};
        detail::assign_part(target_->any_unchecked(), part_, v, at);
    }

    Whole* target_;
    Selection part_;
};

/// Part of a tensor, as NumPy's x[a, b, …]: no copy. On a variable (a non-const tensor with a name) the part can also be
/// assigned to. Throws IndexError for an index out of range and for more subscripts than axes.
template <class T, class D>
Tensor<T, D> view(const Tensor<T, D>& x, const std::vector<Slice>& slices,
                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return apply<Select, T>(Select{detail::resolve(slices.data(), slices.size(), x.shape("view", at), at)},
                            at, x);
}
template <class T, class D>
View<T, D> view(Tensor<T, D>& x, const std::vector<Slice>& slices,
                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return {x, detail::resolve(slices.data(), slices.size(), x.shape("view", at), at), at};
}

/// The same with up to six subscripts; with none it is all of x: view(x) = 0.0.
template <class T, class D>
Tensor<T, D> view(const Tensor<T, D>& x, Slice a = {}, Slice b = {}, Slice c = {}, Slice d = {}, Slice e = {},
                  Slice f = {}, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Slice slices[] = {a, b, c, d, e, f};
    return apply<Select, T>(Select{detail::resolve(slices, detail::given(slices), x.shape("view", at), at)},
                            at, x);
}
template <class T, class D>
View<T, D> view(Tensor<T, D>& x, Slice a = {}, Slice b = {}, Slice c = {}, Slice d = {}, Slice e = {},
                Slice f = {}, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Slice slices[] = {a, b, c, d, e, f};
    return {x, detail::resolve(slices, detail::given(slices), x.shape("view", at), at), at};
}

}  // namespace wengert
