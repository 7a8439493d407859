// How ranks' elements are combined: allreduce and reduce.
//
// The objective is the sum of what the ranks return, so the cotangent of a sum that every rank has is the sum of their cotangents:
// the allreduce of a sum is its own transpose, and reduce and bcast are each other's (Utke et al. 2009).
#pragma once

#include "../ops/elementwise/cast.hpp"
#include "../ops/elementwise/choices.hpp"
#include "primitive.hpp"

namespace wengert::mpi {

/// How elements of several ranks become one.
struct Reduction {
    std::int32_t number;
    friend bool operator==(const Reduction&, const Reduction&) = default;
};
inline constexpr Reduction sum{0}, product{1}, max{2}, min{3};

namespace detail {

/// In the order of DType.
inline MPI_Datatype type_of(DType d)
{
    const MPI_Datatype types[] = {MPI_FLOAT, MPI_DOUBLE, MPI_INT32_T, MPI_INT64_T, MPI_CXX_BOOL};
    return types[static_cast<std::size_t>(d)];
}

/// The larger, or the smaller; a NaN stays, as in maximum and minimum of tensors.
template <class T, bool larger> void choose(void* in, void* inout, int* n, MPI_Datatype*)
{
    const T* const a = static_cast<const T*>(in);
    T* const b = static_cast<T*>(inout);
    for (int i = 0; i < *n; ++i)
        if (a[i] != a[i] || (b[i] == b[i] && (larger ? a[i] > b[i] : a[i] < b[i]))) b[i] = a[i];
}
template <class T, bool larger> MPI_Op choosing()
{
    static const MPI_Op op = [] {
        MPI_Op made = MPI_OP_NULL;
        MPI_Op_create(choose<T, larger>, 1, &made);
        return made;
    }();
    return op;
}

template <class T> MPI_Op op_of(const Call& call, Reduction how)
{
    if constexpr (std::is_same_v<T, bool>) {
        if (how == sum)
            call.fail<DTypeError>(
                "truth values have no sum: reduce with max, any of them, or with min, all of them");
        return how == max ? MPI_LOR : MPI_LAND;
    } else {
        if (how == sum) return MPI_SUM;
        if (how == product) return MPI_PROD;
        return how == max ? choosing<T, true>() : choosing<T, false>();
    }
}

template <class T>
Tensor<T> allreduced(const Tensor<T>& x, Reduction how, const ChannelRef& channel, const Site& at);
/// The product of the other ranks' elements, zeros or not.
template <class T> Tensor<T> of_others(const Tensor<T>& x, const ChannelRef& channel);

/// y = Σ, Π, max or min of all ranks' x, on every rank.
struct AllReduce {
    static constexpr std::string_view name = "allreduce";
    static constexpr std::size_t operands = 1;
    static constexpr unsigned saves = 0b11;
    ChannelRef channel;
    Reduction how;

    Shape predicted(const Block* x) const { return x->shape; }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        const MPI_Op op = op_of<T>(call, how);
        variables = agree(call, dtype_of<T>(), x->shape, how.number, variables) != 0;
        auto y = make_block(dtype_of<T>(), x->shape);
        const int n = count_of(call, x->count);
        const MPI_Datatype type = type_of(dtype_of<T>());
        collective(call, {x, y}, MPI_Allreduce, MPI_Iallreduce, x->data, y->data, n, type, op, channel->comm);
        return y;
    }
    /// x̄ = Σ ȳ; of the largest, the ranks that have it share that alike; of a product times the others' elements.
    template <class T> Tensor<T> pull(const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& y, bool) const
    {
        const Tensor<T> all = allreduced(g, sum, channel, Site{});
        if (how == sum) return all;
        if (how == product) return all * of_others(x, channel);
        return all * share(x, y);
    }
    template <class T> Tensor<T> push(const Tensor<T>& dx, const Tensor<T>& x, const Tensor<T>& y) const
    {
        if (how == sum) return allreduced(dx, sum, channel, Site{});
        return allreduced(dx * (how == product ? of_others(x, channel) : share(x, y)), sum, channel, Site{});
    }

private:
    template <class T> Tensor<T> share(const Tensor<T>& x, const Tensor<T>& y) const
    {
        const Tensor<T> mine = cast<T>(x == y);
        return mine / allreduced(mine, sum, channel, Site{});
    }
};

template <class T>
Tensor<T> allreduced(const Tensor<T>& x, Reduction how, const ChannelRef& channel, const Site& at)
{
    return communicate<AllReduce, T>({channel, how}, at, x);
}

template <class T>
Tensor<T> broadcasted(const Tensor<T>& x, int root, const ChannelRef& channel, const Site& at);

/// y = Σ of all ranks' x on the root, zeros elsewhere.
struct Reduce {
    static constexpr std::string_view name = "reduce";
    static constexpr std::size_t operands = 1;
    ChannelRef channel;
    int root;

    Shape predicted(const Block* x) const { return x->shape; }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        const MPI_Op op = op_of<T>(call, sum);
        channel->check_rank(root, "root", name, call.at);
        variables = agree(call, dtype_of<T>(), x->shape, root, variables) != 0;
        auto y = zeros_block(dtype_of<T>(), x->shape);
        const int n = count_of(call, x->count);
        const MPI_Datatype type = type_of(dtype_of<T>());
        collective(call, {x, y}, MPI_Reduce, MPI_Ireduce, x->data, y->data, n, type, op, root, channel->comm);
        return y;
    }
    template <class T> Tensor<T> pull(const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, bool) const
    {
        return broadcasted(g, root, channel, Site{});
    }
};

/// y = the root's x on every rank; the others' x say the shape.
struct Broadcast {
    static constexpr std::string_view name = "bcast";
    static constexpr std::size_t operands = 1;
    ChannelRef channel;
    int root;

    Shape predicted(const Block* x) const { return x->shape; }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        channel->check_rank(root, "root", name, call.at);
        variables = agree(call, dtype_of<T>(), x->shape, root, variables) != 0;
        auto y = make_block(dtype_of<T>(), x->shape);
        if (channel->rank == root) std::memcpy(y->data, x->data, x->bytes());
        const int n = count_of(call, y->count);
        const MPI_Datatype type = type_of(dtype_of<T>());
        collective(call, {y}, MPI_Bcast, MPI_Ibcast, y->data, n, type, root, channel->comm);
        return y;
    }
    template <class T> Tensor<T> pull(const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, bool) const
    {
        return communicate<Reduce, T>({channel, root}, Site{}, g);
    }
};

template <class T>
Tensor<T> broadcasted(const Tensor<T>& x, int root, const ChannelRef& channel, const Site& at)
{
    return communicate<Broadcast, T>({channel, root}, at, x);
}

}  // namespace detail

/// The sum, product, largest or least of all ranks' elements, on every rank. Of equal largest ones all ranks have the same share
/// of the derivative, as in amax. MPI's own order of summation: the bits depend on how many ranks there are. Throws ShapeError or
/// DTypeError on every rank where they differ.
template <class T>
Tensor<T> allreduce(const Tensor<T>& x, Reduction how, const Comm& comm,
                    Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::allreduced(x, how, comm.channel(), at);
}

/// The sum of all ranks' x on rank `root`, zeros on the others.
template <class T>
Tensor<T> reduce(const Tensor<T>& x, int root, const Comm& comm,
                 Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::communicate<detail::Reduce, T>({comm.channel(), root}, at, x);
}

/// The x of rank `root` on every rank. The others pass a tensor of that shape, whose elements do not matter.
template <class T>
Tensor<T> bcast(const Tensor<T>& x, int root, const Comm& comm,
                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::broadcasted(x, root, comm.channel(), at);
}

}  // namespace wengert::mpi
