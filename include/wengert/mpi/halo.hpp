// halo: an array with a margin of its neighbours' elements.
#pragma once

#include "point_to_point.hpp"

namespace wengert::mpi {

/// A margin along one axis.
struct Halo {
    std::int64_t axis = 0;
    std::int64_t width = 1;
    bool periodic = false;
};

/// Ranks as the points of a grid, the last axis the fastest, as in MPI_Cart_create.
class Grid {
public:
    /// Throws ShapeError where the extents' product is not the number of ranks.
    Grid(const Comm& comm, const Shape& extents, Site at = {__builtin_FILE(), __builtin_LINE()})
        : comm_(comm), extents_(extents)
    {
        if (element_count(extents) != static_cast<std::size_t>(comm.size()))
            fail<ShapeError>(
                "Grid", "a grid " + to_string(extents) + " for " + std::to_string(comm.size()) + " ranks",
                at);
    }
    const Comm& comm() const noexcept { return comm_; }
    const Shape& extents() const noexcept { return extents_; }
    /// This rank's position along an axis.
    std::int64_t position(std::size_t axis) const { return comm_.rank() / stride(axis) % extents_[axis]; }
    /// The rank `step` further along an axis; -1 beyond the end of one that is not periodic.
    int neighbour(std::size_t axis, std::int64_t step, bool periodic) const
    {
        const std::int64_t n = extents_[axis], here = position(axis);
        std::int64_t there = here + step;
        if (periodic) there = (there % n + n) % n;
        if (there < 0 || there >= n) return detail::nobody;
        return static_cast<int>(comm_.rank() + (there - here) * stride(axis));
    }

private:
    std::int64_t stride(std::size_t axis) const
    {
        std::int64_t s = 1;
        for (std::size_t i = axis + 1; i < extents_.size(); ++i) s *= extents_[i];
        return s;
    }
    Comm comm_;
    Shape extents_;
};

namespace detail {

inline Shape with_extent(Shape s, std::size_t axis, std::int64_t extent)
{
    s[axis] = extent;
    return s;
}
/// Elements [first, first + n) along an axis.
inline Ref<Block> slab(const Ref<Block>& b, std::size_t axis, std::int64_t first, std::int64_t n)
{
    const Strides strides = b->strides();
    return make_view(b, with_extent(b->shape, axis, n), &strides, first * strides[axis]);
}

/// The tags of both directions, which no user's message has.
inline constexpr int to_upper = 32001, to_lower = 32002;

/// The ranks to send to and to receive from.
struct Neighbours {
    int to_lower, to_upper, from_lower, from_upper;
    Neighbours(int lower, int upper) : to_lower(lower), to_upper(upper), from_lower(lower), from_upper(upper)
    {}
};

/// What both neighbours send, given what is for them: blocks from the lower one and from the upper one, null from nobody.
inline std::pair<Received, Received> from_neighbours(const Call& call, const Ref<Block>& for_lower,
                                                     const Ref<Block>& for_upper, const Neighbours& ranks,
                                                     Envelope e)
{
    Sending down, up;
    const auto start = [&](Sending& s, const Ref<Block>& b, int to, int tag) {
        if (to == nobody) return;
        s.envelope = e;
        s.elements = b;
        s.start(call, to, tag);
    };
    start(down, for_lower, ranks.to_lower, to_lower);
    start(up, for_upper, ranks.to_upper, to_upper);
    std::pair<Received, Received> in;
    const auto dtype = static_cast<DType>(e.dtype);
    if (ranks.from_lower != nobody) in.first = receive(call, ranks.from_lower, to_upper, dtype);
    if (ranks.from_upper != nobody) in.second = receive(call, ranks.from_upper, to_lower, dtype);
    down.finish(call);
    up.finish(call);
    return in;
}

/// A rank that cannot take part tells its neighbours before it throws.
inline void refuse_width(const Call& call, const Shape& shape, std::size_t axis, std::int64_t width,
                         int lower, int upper)
{
    if (shape[axis] >= width) return;
    Envelope e = envelope_of(call, DType::boolean, Shape{0}, false);
    e.failed = 1;
    call.channel.broken = true;
    Sending down, up;
    down.envelope = up.envelope = e;
    if (lower != nobody) down.start(call, lower, to_lower);
    if (upper != nobody) up.start(call, upper, to_upper);
    call.fail<ShapeError>("a margin of " + std::to_string(width) + " along axis " + std::to_string(axis) +
                          " of shape " + to_string(shape) +
                          ": a neighbour has no more elements than there are");
}

/// x̄ = the inner part of ȳ, to which the neighbours add what they have of it: first the lower one, then the upper.
struct FoldMargin {
    static constexpr std::string_view name = "halo";
    static constexpr std::size_t operands = 1;
    ChannelRef channel;
    int lower, upper;
    std::int64_t axis, width;
    /// Which neighbours want their part, and does this rank want what it is owed?
    bool lower_wants = true, upper_wants = true, wants = true;

    std::size_t along() const { return static_cast<std::size_t>(axis); }
    Shape predicted(const Block* x) const
    {
        return with_extent(x->shape, along(), x->shape[along()] - 2 * width);
    }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool&);
    template <class T> Tensor<T> pull(const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, bool) const;
    template <class T> Tensor<T> push(const Tensor<T>& dx, const Tensor<T>&, const Tensor<T>&) const
    {
        return communicate<FoldMargin, T>(*this, Site{}, dx);
    }
};

/// y = x between the nearest `width` elements of both neighbours; zeros where there is none.
struct Margin {
    static constexpr std::string_view name = "halo";
    static constexpr std::size_t operands = 1;
    ChannelRef channel;
    int lower, upper;
    std::int64_t axis, width;
    /// Whose elements depend on a variable of backward()?
    bool lower_varies = false, upper_varies = false, varies = false;

    std::size_t along() const { return static_cast<std::size_t>(axis); }
    Shape predicted(const Block* x) const
    {
        return with_extent(x->shape, along(), x->shape[along()] + 2 * width);
    }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        const std::int64_t n = x->shape[along()];
        refuse_width(call, x->shape, along(), width, lower, upper);
        const Ref<Block> low = contiguous(slab(x, along(), 0, width)),
                         high = contiguous(slab(x, along(), n - width, width));
        const Envelope e = envelope_of(call, dtype_of<T>(), low->shape, variables);
        const auto [below, above] = from_neighbours(call, low, high, Neighbours(lower, upper), e);
        auto y = make_block(dtype_of<T>(), predicted(x.get()));
        const Ref<Block> places[] = {slab(y, along(), 0, width), slab(y, along(), n + width, width)};
        const Received* const came[] = {&below, &above};
        for (int k = 0; k < 2; ++k) {
            const Ref<Block>& from = came[k]->elements;
            if (from) check_shape(call, *came[k], places[k]->shape, k == 0 ? lower : upper);
            copy_elements(from ? *from : *zeros_block(dtype_of<T>(), places[k]->shape), *places[k]);
        }
        varies = variables;
        lower_varies = below.envelope.variables != 0;
        upper_varies = above.envelope.variables != 0;
        variables = varies || lower_varies || upper_varies;
        copy_elements(*x, *slab(y, along(), width, n));
        return y;
    }
    template <class T> Tensor<T> pull(const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, bool all) const
    {
        return communicate<FoldMargin, T>(
            {channel, lower, upper, axis, width, all || lower_varies, all || upper_varies, all || varies},
            Site{}, g);
    }
    template <class T> Tensor<T> push(const Tensor<T>& dx, const Tensor<T>&, const Tensor<T>&) const
    {
        return communicate<Margin, T>(*this, Site{}, dx);
    }
};

template <class T> Ref<Block> FoldMargin::exchange(const Ref<Block>& x, const Call& call, bool&)
{
    const std::int64_t n = x->shape[along()] - 2 * width;
    const Ref<Block> low = contiguous(slab(x, along(), 0, width)),
                     high = contiguous(slab(x, along(), n + width, width));
    const Envelope e = envelope_of(call, dtype_of<T>(), low->shape, false);
    Neighbours ranks(lower, upper);
    if (!lower_wants) ranks.to_lower = nobody;
    if (!upper_wants) ranks.to_upper = nobody;
    if (!wants) ranks.from_lower = ranks.from_upper = nobody;
    const auto [below, above] = from_neighbours(call, low, high, ranks, e);
    auto y = copy_of(*slab(x, along(), width, n));
    const auto add = [&](const Received& r, std::int64_t first) {
        if (r.elements) add_into(*slab(y, along(), first, width), *r.elements);
    };
    add(below, 0);
    add(above, n - width);
    return y;
}

template <class T>
Tensor<T> FoldMargin::pull(const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, bool) const
{
    return communicate<Margin, T>({channel, lower, upper, axis, width}, Site{}, g);
}

}  // namespace detail

/// u with a margin along each of these axes, of the neighbours' elements on a grid of ranks: one after another, so that
/// corners come along. Beyond an end that is not periodic the margin is 0. Throws ShapeError where it is wider than a piece,
/// also on the neighbours of a rank whose piece is too small.
template <class T>
Tensor<T> halo(const Tensor<T>& u, const std::vector<Halo>& margins, const Grid& grid,
               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    Tensor<T> y = u;
    const Shape& shape = u.shape("halo", at);
    for (const Halo& m : margins) {
        const auto axis = static_cast<std::size_t>(normalize_axis("halo", m.axis, shape, at));
        if (axis >= grid.extents().size() || m.width < 0)
            fail<ShapeError>("halo",
                             "a margin of " + std::to_string(m.width) + " along axis " +
                                 std::to_string(axis) + " on a grid " + to_string(grid.extents()),
                             at);
        const int lower = grid.neighbour(axis, -1, m.periodic), upper = grid.neighbour(axis, 1, m.periodic);
        y = detail::communicate<detail::Margin, T>(
            {grid.comm().channel(), lower, upper, static_cast<std::int64_t>(axis), m.width}, at, y);
    }
    return y;
}

/// The same along one axis, with the ranks in a row.
template <class T>
Tensor<T> halo(const Tensor<T>& u, Halo margin, const Comm& comm,
               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const int n = comm.size(), r = comm.rank();
    const auto axis = static_cast<std::int64_t>(normalize_axis("halo", margin.axis, u.shape("halo", at), at));
    if (margin.width < 0) fail<ShapeError>("halo", "a margin of " + std::to_string(margin.width), at);
    const int lower = margin.periodic ? (r + n - 1) % n : r - 1,
              upper = margin.periodic ? (r + 1) % n : (r + 1 < n ? r + 1 : detail::nobody);
    return detail::communicate<detail::Margin, T>({comm.channel(), lower, upper, axis, margin.width}, at, u);
}

}  // namespace wengert::mpi
