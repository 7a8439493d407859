// Pieces of all ranks, put together and taken apart: allgather, gather, scatter, reduce_scatter, alltoall, barrier.
#pragma once

#include "../ops/shape.hpp"
#include "../ops/slices.hpp"
#include "reduce.hpp"

namespace wengert::mpi {

namespace detail {

inline Shape with_ranks(const Shape& x, std::int64_t n)
{
    Shape s{n};
    for (const std::int64_t e : x) s.push_back(e);
    return s;
}
/// The shape of one rank's piece of an x whose first axis has one for each.
inline Shape piece_of(const Shape& x, const Call& call)
{
    if (x.empty() || x[0] != call.channel.size)
        call.fail<ShapeError>("shape " + to_string(x) + ": the first axis has one piece for each of the " +
                              std::to_string(call.channel.size) + " ranks");
    return Shape(x.data() + 1, x.size() - 1);
}

template <class T> Tensor<T> scattered_sum(const Tensor<T>& x, const ChannelRef& channel, const Site& at);

/// y[k] = the x of rank k, on every rank.
struct AllGather {
    static constexpr std::string_view name = "allgather";
    static constexpr std::size_t operands = 1;
    ChannelRef channel;

    Shape predicted(const Block* x) const { return with_ranks(x->shape, channel->size); }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        variables = agree(call, dtype_of<T>(), x->shape, 0, variables) != 0;
        auto y = make_block(dtype_of<T>(), predicted(x.get()));
        const int n = count_of(call, x->count);
        const MPI_Datatype type = type_of(dtype_of<T>());
        collective(call, {x, y}, MPI_Allgather, MPI_Iallgather, x->data, n, type, y->data, n, type,
                   channel->comm);
        return y;
    }
    template <class T> Tensor<T> pull(const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, bool) const
    {
        return scattered_sum(g, channel, Site{});
    }
};

/// y = Σ of all ranks' x[own rank].
struct ReduceScatter {
    static constexpr std::string_view name = "reduce_scatter";
    static constexpr std::size_t operands = 1;
    ChannelRef channel;

    Shape predicted(const Block* x) const { return piece_of(x->shape, {*channel, name, {}}); }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        const MPI_Op op = op_of<T>(call, sum);
        variables = agree(call, dtype_of<T>(), x->shape, 0, variables) != 0;
        auto y = make_block(dtype_of<T>(), piece_of(x->shape, call));
        const int n = count_of(call, y->count);
        const MPI_Datatype type = type_of(dtype_of<T>());
        collective(call, {x, y}, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, x->data, y->data, n,
                   type, op, channel->comm);
        return y;
    }
    template <class T> Tensor<T> pull(const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, bool) const
    {
        return communicate<AllGather, T>({channel}, Site{}, g);
    }
};

template <class T> Tensor<T> scattered_sum(const Tensor<T>& x, const ChannelRef& channel, const Site& at)
{
    return communicate<ReduceScatter, T>({channel}, at, x);
}

/// y[k] = the x[own rank] of rank k: its own transpose.
struct AllToAll {
    static constexpr std::string_view name = "alltoall";
    static constexpr std::size_t operands = 1;
    ChannelRef channel;

    Shape predicted(const Block* x) const { return x->shape; }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        variables = agree(call, dtype_of<T>(), x->shape, 0, variables) != 0;
        const int n = count_of(call, element_count(piece_of(x->shape, call)));
        auto y = make_block(dtype_of<T>(), x->shape);
        const MPI_Datatype type = type_of(dtype_of<T>());
        collective(call, {x, y}, MPI_Alltoall, MPI_Ialltoall, x->data, n, type, y->data, n, type,
                   channel->comm);
        return y;
    }
    template <class T> Tensor<T> pull(const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, bool) const
    {
        return communicate<AllToAll, T>(*this, Site{}, g);
    }
};

template <class T>
Tensor<T> scattered(const Tensor<T>& x, int root, const ChannelRef& channel, const Site& at);

/// y[k] = the x of rank k on the root; no elements, shape (0, …), on the others.
struct Gather {
    static constexpr std::string_view name = "gather";
    static constexpr std::size_t operands = 1;
    ChannelRef channel;
    int root;

    Shape predicted(const Block* x) const
    {
        return with_ranks(x->shape, channel->rank == root ? channel->size : 0);
    }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        channel->check_rank(root, "root", name, call.at);
        variables = agree(call, dtype_of<T>(), x->shape, root, variables) != 0;
        auto y = make_block(dtype_of<T>(), predicted(x.get()));
        const int n = count_of(call, x->count);
        const MPI_Datatype type = type_of(dtype_of<T>());
        collective(call, {x, y}, MPI_Gather, MPI_Igather, x->data, n, type, y->data, n, type, root,
                   channel->comm);
        return y;
    }
    template <class T> Tensor<T> pull(const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, bool) const
    {
        return scattered(g, root, channel, Site{});
    }
};

/// y = the root's x[own rank]. The others' x has the root's shape, or a first axis of 0.
struct Scatter {
    static constexpr std::string_view name = "scatter";
    static constexpr std::size_t operands = 1;
    ChannelRef channel;
    int root;
    Shape from = {};  ///< of this rank's x

    void look(const Block& x) { from = x.shape; }
    Shape predicted(const Block* x) const { return Shape(x->shape.data() + 1, x->shape.size() - 1); }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        channel->check_rank(root, "root", name, call.at);
        const bool pieces = !x->shape.empty() && (channel->rank != root || x->shape[0] == channel->size);
        const Shape piece = pieces ? predicted(x.get()) : x->shape;
        variables = agree(call, dtype_of<T>(), piece, pieces ? root : -1 - root, variables) != 0;
        if (!pieces) static_cast<void>(piece_of(x->shape, call));
        auto y = make_block(dtype_of<T>(), piece);
        const int n = count_of(call, y->count);
        const MPI_Datatype type = type_of(dtype_of<T>());
        collective(call, {x, y}, MPI_Scatter, MPI_Iscatter, x->data, n, type, y->data, n, type, root,
                   channel->comm);
        return y;
    }
    template <class T> Tensor<T> pull(const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, bool) const
    {
        const Tensor<T> x = communicate<Gather, T>({channel, root}, Site{}, g);
        return channel->rank == root
                   ? x
                   : Tensor<T>(AnyTensor{zeros_beside(*g.any().value, dtype_of<T>(), from), {}});
    }
};

template <class T>
Tensor<T> scattered(const Tensor<T>& x, int root, const ChannelRef& channel, const Site& at)
{
    return communicate<Scatter, T>({channel, root}, at, x);
}

template <class T> Tensor<T> of_others(const Tensor<T>& x, const ChannelRef& channel)
{
    const Tensor<T> all = communicate<AllGather, T>({channel}, Site{}, x);
    Tensor<T> others = ones_like(x);
    for (int k = 0; k < channel->size; ++k)
        if (k != channel->rank) others = others * all(k, Site{});
    return others;
}

}  // namespace detail

/// The x of all ranks, shape (ranks, …), on every rank.
template <class T>
Tensor<T> allgather(const Tensor<T>& x, const Comm& comm, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::communicate<detail::AllGather, T>({comm.channel()}, at, x);
}
/// The x of all ranks on rank `root`, shape (ranks, …); shape (0, …) on the others.
template <class T>
Tensor<T> gather(const Tensor<T>& x, int root, const Comm& comm,
                 Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::communicate<detail::Gather, T>({comm.channel(), root}, at, x);
}
/// x[k] of rank `root` on rank k. The others pass a tensor of that shape, or one with a first axis of 0, as `gather` gives.
template <class T>
Tensor<T> scatter(const Tensor<T>& x, int root, const Comm& comm,
                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::scattered(x, root, comm.channel(), at);
}
/// The sum of all ranks' x[k] on rank k.
template <class T>
Tensor<T> reduce_scatter(const Tensor<T>& x, const Comm& comm, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::scattered_sum(x, comm.channel(), at);
}
/// On rank r, y[k] is the x[r] of rank k.
template <class T>
Tensor<T> alltoall(const Tensor<T>& x, const Comm& comm, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::communicate<detail::AllToAll, T>({comm.channel()}, at, x);
}

}  // namespace wengert::mpi
