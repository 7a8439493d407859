// Pieces of different lengths along axis 0: allgatherv, gatherv, scatterv, reduce_scatterv, alltoallv. `rows` has one number for each
// rank, as in MPI.
#pragma once

#include "gather.hpp"

namespace wengert::mpi {

namespace detail {

/// How many elements go to each rank, or come from it, and where the first of them is.
struct Counts {
    std::vector<int> counts, places;
    Counts(const Call& call, const Extents& rows, const Shape& like, int own = -1)
    {
        std::size_t row = 1, place = 0;
        for (std::size_t i = 1; i < like.size(); ++i) row *= static_cast<std::size_t>(like[i]);
        for (std::size_t k = 0; k < rows.size(); ++k) {
            const std::size_t n =
                own < 0 || static_cast<int>(k) == own ? static_cast<std::size_t>(rows[k]) * row : 0;
            counts.push_back(count_of(call, n));
            places.push_back(count_of(call, place));
            place += n;
        }
    }
};
inline std::int64_t total_of(const Extents& rows)
{
    std::int64_t n = 0;
    for (const std::int64_t r : rows) n += r;
    return n;
}
inline Shape with_rows(Shape s, std::int64_t rows)
{
    s[0] = rows;
    return s;
}
/// Throws on every rank where one of them has other rows than it says, or they differ in what the rows are.
inline bool agree_on_rows(const Call& call, DType dtype, const Shape& x, const Extents& rows,
                          std::int64_t expected, bool variables)
{
    const bool good =
        !x.empty() && rows.size() == static_cast<std::size_t>(call.channel.size) && x[0] == expected;
    std::uint64_t h = 0;
    for (const std::int64_t r : rows) h = h * 0x100000001b3U + static_cast<std::uint64_t>(r);
    const Shape row = x.empty() ? x : Shape(x.data() + 1, x.size() - 1);
    const std::uint64_t flags =
        agree(call, dtype, row, static_cast<int>(h & 0x7fffffff), variables | (good ? 0U : 2U));
    if (flags & 2)
        call.fail<ShapeError>("on some rank the rows are not those of its tensor; here shape " +
                              to_string(x) + ", rows of the ranks " + to_string(rows));
    return (flags & 1) != 0;
}

template <class T>
Tensor<T> scattered_rows(const Tensor<T>& g, const Extents& rows, const ChannelRef& channel, const Site& at);

struct AllGatherRows {
    static constexpr std::string_view name = "allgatherv";
    static constexpr std::size_t operands = 1;
    ChannelRef channel;
    Extents rows;

    Shape predicted(const Block* x) const { return with_rows(x->shape, total_of(rows)); }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        const auto mine = static_cast<std::size_t>(channel->rank);
        const std::int64_t own = mine < rows.size() ? rows[mine] : -1;
        variables = agree_on_rows(call, dtype_of<T>(), x->shape, rows, own, variables);
        auto y = make_block(dtype_of<T>(), predicted(x.get()));
        const Counts c(call, rows, x->shape);
        const int n = count_of(call, x->count);
        const MPI_Datatype t = type_of(dtype_of<T>());
        const int *counts = c.counts.data(), *places = c.places.data();
        collective(call, {x, y}, MPI_Allgatherv, MPI_Iallgatherv, x->data, n, t, y->data, counts, places, t,
                   channel->comm);
        return y;
    }
    template <class T> Tensor<T> pull(const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, bool) const
    {
        return scattered_rows(g, rows, channel, Site{});
    }
};

struct ReduceScatterRows {
    static constexpr std::string_view name = "reduce_scatterv";
    static constexpr std::size_t operands = 1;
    ChannelRef channel;
    Extents rows;

    Shape predicted(const Block* x) const
    {
        return with_rows(x->shape, rows[static_cast<std::size_t>(channel->rank)]);
    }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        const MPI_Op op = op_of<T>(call, sum);
        variables = agree_on_rows(call, dtype_of<T>(), x->shape, rows, total_of(rows), variables);
        auto y = make_block(dtype_of<T>(), predicted(x.get()));
        const Counts c(call, rows, x->shape);
        const MPI_Datatype t = type_of(dtype_of<T>());
        collective(call, {x, y}, MPI_Reduce_scatter, MPI_Ireduce_scatter, x->data, y->data, c.counts.data(),
                   t, op, channel->comm);
        return y;
    }
    template <class T> Tensor<T> pull(const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, bool) const
    {
        return communicate<AllGatherRows, T>({channel, rows}, Site{}, g);
    }
};

template <class T>
Tensor<T> scattered_rows(const Tensor<T>& g, const Extents& rows, const ChannelRef& channel, const Site& at)
{
    return communicate<ReduceScatterRows, T>({channel, rows}, at, g);
}

/// From rank k come from[k] rows, to it go to[k]. With these two exchanged it is its own transpose; gatherv and scatterv are cases.
struct AllToAllRows {
    static constexpr std::string_view name = "alltoallv";
    static constexpr std::size_t operands = 1;
    ChannelRef channel;
    Extents to, from;

    Shape predicted(const Block* x) const { return with_rows(x->shape, total_of(from)); }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        variables = agree_on_parts(call, dtype_of<T>(), x->shape, variables);
        auto y = make_block(dtype_of<T>(), predicted(x.get()));
        const Counts a(call, to, x->shape), b(call, from, x->shape);
        const MPI_Datatype t = type_of(dtype_of<T>());
        const int *n = a.counts.data(), *i = a.places.data(), *m = b.counts.data(), *j = b.places.data();
        collective(call, {x, y}, MPI_Alltoallv, MPI_Ialltoallv, x->data, n, i, t, y->data, m, j, t,
                   channel->comm);
        return y;
    }
    template <class T> Tensor<T> pull(const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, bool) const
    {
        return communicate<AllToAllRows, T>({channel, from, to}, Site{}, g);
    }
    /// What each rank sends is what the other one awaits, and the rows are alike.
    bool agree_on_parts(const Call& call, DType dtype, const Shape& x, bool variables) const
    {
        const auto n = static_cast<std::size_t>(channel->size);
        const bool good = !x.empty() && to.size() == n && from.size() == n && x[0] == total_of(to);
        const Shape row = x.empty() ? x : Shape(x.data() + 1, x.size() - 1);
        std::uint64_t flags = agree(call, dtype, row, 0, variables | (good ? 0U : 2U));
        const Ref<Block> words = make_block(DType::int64, Shape{n});
        auto* const told = words->as<std::int64_t>();
        if (!(flags & 2)) {
            collective(call, {words}, MPI_Alltoall, MPI_Ialltoall, to.data(), 1, MPI_INT64_T, told, 1,
                       MPI_INT64_T, channel->comm);
            const bool fits = std::equal(told, told + n, from.begin());
            flags |= agree(call, dtype, row, 0, fits ? 0U : 2U);
        }
        if (flags & 2)
            call.fail<ShapeError>("on some rank the rows that come are not those awaited; here " +
                                  text_of(x));
        return (flags & 1) != 0;
    }

private:
    std::string text_of(const Shape& x) const
    {
        return "shape " + to_string(x) + ", rows to the ranks " + to_string(to) + ", from the ranks " +
               to_string(from);
    }
};

/// `rows` for rank `root` and no others.
inline Extents only_at(int root, std::int64_t rows, int size)
{
    Extents e = Extents::filled(static_cast<std::size_t>(size));
    if (root >= 0 && root < size) e[static_cast<std::size_t>(root)] = rows;
    return e;
}

}  // namespace detail

/// The rows of all ranks, one after another, on every rank. Rank k has rows[k] of them.
template <class T>
Tensor<T> allgatherv(const Tensor<T>& x, const Extents& rows, const Comm& comm,
                     Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::communicate<detail::AllGatherRows, T>({comm.channel(), rows}, at, x);
}
/// The sum of all ranks' x, of which rank k gets rows[k] rows.
template <class T>
Tensor<T> reduce_scatterv(const Tensor<T>& x, const Extents& rows, const Comm& comm,
                          Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::scattered_rows(x, rows, comm.channel(), at);
}
/// To rank k go to[k] rows of x, in order; from it come from[k].
template <class T>
Tensor<T> alltoallv(const Tensor<T>& x, const Extents& to, const Extents& from, const Comm& comm,
                    Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::communicate<detail::AllToAllRows, T>({comm.channel(), to, from}, at, x);
}
/// The rows of all ranks on rank `root`, none on the others.
template <class T>
Tensor<T> gatherv(const Tensor<T>& x, const Extents& rows, int root, const Comm& comm,
                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    comm.channel()->check_rank(root, "root", "gatherv", at);
    const std::int64_t mine = x.shape("gatherv", at).empty() ? 0 : x.shape()[0];
    return alltoallv(x, detail::only_at(root, mine, comm.size()),
                     comm.rank() == root ? rows : Extents::filled(rows.size()), comm, at);
}
/// rows[k] rows of rank root's x on rank k. The others pass a tensor without rows.
template <class T>
Tensor<T> scatterv(const Tensor<T>& x, const Extents& rows, int root, const Comm& comm,
                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    comm.channel()->check_rank(root, "root", "scatterv", at);
    const auto mine = static_cast<std::size_t>(comm.rank());
    return alltoallv(x, comm.rank() == root ? rows : Extents::filled(rows.size()),
                     detail::only_at(root, mine < rows.size() ? rows[mine] : 0, comm.size()), comm, at);
}

}  // namespace wengert::mpi
