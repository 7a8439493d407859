// halo: an array with a margin of its neighbours' elements.
#pragma once

#include "../ops/shape.hpp"
#include "../ops/view.hpp"
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

/// The tags of both directions, which no user's message has.
inline constexpr int to_upper = 32001, to_lower = 32002;

/// The neighbours along an axis, and how many elements each of them gets.
struct Edges {
    int lower, upper;
    std::int64_t axis, width;
};

/// A rank that cannot take part tells its neighbours before it throws.
[[noreturn]] inline void refuse_width(const Call& call, const Shape& shape, const Edges& edges)
{
    if (!wengert::detail::runs_example()) {
        Sending down, up;
        down.envelope = up.envelope = envelope_of(call, DType::boolean, Shape{0}, false);
        down.envelope.failed = up.envelope.failed = 1;
        call.channel.broken = true;
        if (edges.lower != nobody) down.start(call, edges.lower, to_lower);
        if (edges.upper != nobody) up.start(call, edges.upper, to_upper);
    }
    call.fail<ShapeError>("a margin of " + std::to_string(edges.width) + " along axis " +
                          std::to_string(edges.axis) + " of shape " + to_string(shape) +
                          ": a neighbour has no more elements than there are");
}

/// x[0] goes to the lower neighbour, x[1] to the upper one; y[0] comes from the lower one, y[1] from the upper one, zeros from
/// nobody. It is its own transpose: what was sent to a neighbour is what that one's cotangent comes back for.
struct Swap {
    static constexpr std::string_view name = "halo";
    static constexpr std::size_t operands = 1;
    ChannelRef channel;
    int lower, upper;
    /// Does what comes from a neighbour, does x depend on a variable of backward()? Where not, nothing is swept there.
    bool lower_varies = true, upper_varies = true, varies = true;
    /// In a sweep at level 0 it is known who waits for what.
    bool to_lower_goes = true, to_upper_goes = true, comes = true;

    Shape predicted(const Block* x) const { return x->shape; }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        const Shape half(x->shape.data() + 1, x->shape.size() - 1);
        const auto n = static_cast<std::int64_t>(element_count(half));
        Envelope e = envelope_of(call, dtype_of<T>(), half, variables);
        Sending down, up;
        const auto start = [&](Sending& s, int to, int tag, std::int64_t first) {
            s.envelope = e;
            s.elements = make_view(x, half, nullptr, first);
            s.start(call, to, tag);
        };
        if (lower != nobody && to_lower_goes) start(down, lower, to_lower, 0);
        if (upper != nobody && to_upper_goes) start(up, upper, to_upper, n);
        const auto y = make_block(dtype_of<T>(), x->shape);
        const auto receive_half = [&](int from, int tag, std::int64_t first) {
            const auto place = make_view(y, half, nullptr, first);
            if (from == nobody || !comes) {
                if (n > 0) std::memset(place->data, 0, place->bytes());
                return false;
            }
            const Received in = receive(call, from, tag, dtype_of<T>(), place);
            check_shape(call, in, half, from);
            if (in.elements.get() != place.get()) copy_elements(*in.elements, *place);
            return in.envelope.variables != 0;
        };
        varies = variables;
        lower_varies = receive_half(lower, to_upper, 0);
        upper_varies = receive_half(upper, to_lower, n);
        variables = varies || lower_varies || upper_varies;
        down.finish(call);
        up.finish(call);
        return y;
    }
    template <class T> Tensor<T> pull(const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, bool all) const
    {
        Swap back{channel, lower, upper};
        back.to_lower_goes = all || lower_varies;
        back.to_upper_goes = all || upper_varies;
        back.comes = all || varies;
        return communicate<Swap, T>(back, Site{}, g);
    }
};

/// u between the nearest elements of both neighbours. The sweep adds what comes from the lower one first.
template <class T>
Tensor<T> with_margins(const Tensor<T>& u, const Edges& edges, const ChannelRef& channel, const Site& at)
{
    const auto axis = static_cast<std::size_t>(edges.axis);
    const Shape& shape = u.shape(Swap::name, at);
    if (shape[axis] < edges.width) refuse_width({*channel, Swap::name, at}, shape, edges);
    const auto part = [&](const Tensor<T>& x, std::int64_t first) {
        std::vector<Slice> which(shape.size(), all());
        which[axis] = range(first, first + edges.width);
        return view(x, which, at);
    };
    const Tensor<T> high = part(u, shape[axis] - edges.width), low = part(u, 0);
    const Tensor<T> came =
        communicate<Swap, T>({channel, edges.lower, edges.upper}, at, stack({low, high}, 0, at));
    return concatenate({came(0, at), u, came(1, at)}, edges.axis, at);
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
        y = detail::with_margins(y, {lower, upper, static_cast<std::int64_t>(axis), m.width},
                                 grid.comm().channel(), at);
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
    return detail::with_margins(u, {lower, upper, axis, margin.width}, comm.channel(), at);
}

}  // namespace wengert::mpi
