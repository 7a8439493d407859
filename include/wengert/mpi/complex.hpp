// Communication of complex tensors: of the real tensor that each of them is, whose last axis has both parts. Sums, pieces and margins
// are linear over the real numbers, so the rules are those of their parts. docs/mpi.md.
//
//     const Tensor<std::complex<double>> all = wengert::mpi::allreduce(mine, wengert::mpi::sum, world);
#pragma once

#include "../complex/tensor.hpp"
#include "halo.hpp"
#include "trees.hpp"

namespace wengert::mpi {

namespace detail {

using wengert::detail::as_complex;

template <class C> inline constexpr bool is_complex = false;
template <class T> inline constexpr bool is_complex<std::complex<T>> = true;
template <class C>
concept ComplexType = is_complex<C>;
template <class T> using Complex = Tensor<std::complex<T>>;

/// Throws DTypeError for what complex numbers have not: a product is not the product of the parts, and they have no order.
inline void demand_sum(Reduction how, const Site& at)
{
    if (how.number != sum.number)
        fail<DTypeError>("allreduce", "of complex numbers there is mpi::sum alone; gather them for a product",
                         at);
}
/// Margins along axes of z, not of its parts.
inline Halo of_parts(Halo margin, const Shape& z, const Site& at)
{
    margin.axis = static_cast<decltype(margin.axis)>(normalize_axis("halo", margin.axis, z, at));
    return margin;
}

}  // namespace detail

/// The sum of all ranks' elements, on every rank. Throws DTypeError where another reduction is asked for.
template <class T>
detail::Complex<T> allreduce(const detail::Complex<T>& z, Reduction how, const Comm& comm,
                             Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_sum(how, at);
    return detail::as_complex(allreduce(z.parts("allreduce", at), how, comm, at));
}
template <class T>
detail::Complex<T> reduce(const detail::Complex<T>& z, int root, const Comm& comm,
                          Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(reduce(z.parts("reduce", at), root, comm, at));
}
template <class T>
detail::Complex<T> bcast(const detail::Complex<T>& z, int root, const Comm& comm,
                         Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(bcast(z.parts("bcast", at), root, comm, at));
}
template <class T>
detail::Complex<T> allgather(const detail::Complex<T>& z, const Comm& comm,
                             Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(allgather(z.parts("allgather", at), comm, at));
}
template <class T>
detail::Complex<T> gather(const detail::Complex<T>& z, int root, const Comm& comm,
                          Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(gather(z.parts("gather", at), root, comm, at));
}
template <class T>
detail::Complex<T> scatter(const detail::Complex<T>& z, int root, const Comm& comm,
                           Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(scatter(z.parts("scatter", at), root, comm, at));
}
template <class T>
detail::Complex<T> reduce_scatter(const detail::Complex<T>& z, const Comm& comm,
                                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(reduce_scatter(z.parts("reduce_scatter", at), comm, at));
}
template <class T>
detail::Complex<T> alltoall(const detail::Complex<T>& z, const Comm& comm,
                            Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(alltoall(z.parts("alltoall", at), comm, at));
}

template <class T>
detail::Complex<T> sendrecv(const detail::Complex<T>& z, int to, int from, const Comm& comm, Tag tag = {},
                            Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(sendrecv(z.parts("sendrecv", at), to, from, comm, tag, at));
}
template <class T>
void send(const detail::Complex<T>& z, int to, const Comm& comm, Tag tag = {},
          Site at = {__builtin_FILE(), __builtin_LINE()})
{
    send(z.parts("send", at), to, comm, tag, at);
}
/// A complex tensor of this shape. Throws DTypeError or ShapeError for anything else.
template <detail::ComplexType C>
Tensor<C> recv(const Shape& shape, int from, const Comm& comm, Tag tag = {},
               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    using T = typename C::value_type;
    return detail::as_complex(recv<T>(wengert::detail::with_parts(shape), from, comm, tag, at));
}

/// u with a margin along each of these axes, as of real tensors.
template <class T>
detail::Complex<T> halo(const detail::Complex<T>& u, std::vector<Halo> margins, const Grid& grid,
                        Site at = {__builtin_FILE(), __builtin_LINE()})
{
    for (Halo& m : margins) m = detail::of_parts(m, u.shape("halo", at), at);
    return detail::as_complex(halo(u.parts("halo", at), margins, grid, at));
}
template <class T>
detail::Complex<T> halo(const detail::Complex<T>& u, Halo margin, const Comm& comm,
                        Site at = {__builtin_FILE(), __builtin_LINE()})
{
    margin = detail::of_parts(margin, u.shape("halo", at), at);
    return detail::as_complex(halo(u.parts("halo", at), margin, comm, at));
}

}  // namespace wengert::mpi
