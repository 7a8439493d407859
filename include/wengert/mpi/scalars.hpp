// Communication of scalar code: Reals and vectors of them, by way of tensors.
#pragma once

#include "../scalar/transforms/exchange.hpp"
#include "point_to_point.hpp"
#include "reduce.hpp"

namespace wengert::mpi {

namespace detail {

/// A cell of a kernel is recorded once and computed many times, in an order of the kernel's own.
inline void refuse_in_kernel(std::string_view name, const Site& at)
{
    const auto* const s = static_cast<const ScalarStream*>(Tape::current().extension);
    if (s && s->cell_tensors)
        fail<TapeError>(name,
                        "a kernel's cell cannot communicate: each rank has cells of its own, in an order of "
                        "their own; communicate outside of the kernel",
                        at);
}

/// f of a tensor, for the reals of a vector.
template <class T, class F>
std::vector<Real<T>> on_reals(std::string_view name, const std::vector<Real<T>>& x, const Site& at,
                              const F& f)
{
    refuse_in_kernel(name, at);
    const Shape shape{x.size()};
    const Tensor<T> y = f(Tensor<T>(wengert::detail::gathered(x.data(), x.size(), shape, at)));
    return wengert::detail::elements_of<T>(y.any(), at);
}

}  // namespace detail

/// The same for reals: sends x, and returns as many as come.
template <class T>
std::vector<Real<T>> sendrecv(const std::vector<Real<T>>& x, int to, int from, const Comm& comm, Tag tag = {},
                              Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::on_reals(detail::SendRecv::name, x, at,
                            [&](const Tensor<T>& t) { return sendrecv(t, to, from, comm, tag, at); });
}
template <class T>
Real<T> sendrecv(const Real<T>& x, int to, int from, const Comm& comm, Tag tag = {},
                 Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return sendrecv(std::vector<Real<T>>{x}, to, from, comm, tag, at).at(0);
}

template <class T>
std::vector<Real<T>> allreduce(const std::vector<Real<T>>& x, Reduction how, const Comm& comm,
                               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::on_reals(detail::AllReduce::name, x, at,
                            [&](const Tensor<T>& t) { return allreduce(t, how, comm, at); });
}
template <class T>
Real<T> allreduce(const Real<T>& x, Reduction how, const Comm& comm,
                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return allreduce(std::vector<Real<T>>{x}, how, comm, at)[0];
}

template <class T>
std::vector<Real<T>> bcast(const std::vector<Real<T>>& x, int root, const Comm& comm,
                           Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::on_reals(detail::Broadcast::name, x, at,
                            [&](const Tensor<T>& t) { return bcast(t, root, comm, at); });
}
template <class T>
void send(const std::vector<Real<T>>& x, int to, const Comm& comm, Tag tag = {},
          Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::refuse_in_kernel(detail::Send::name, at);
    send(Tensor<T>(wengert::detail::gathered(x.data(), x.size(), Shape{x.size()}, at)), to, comm, tag, at);
}
/// As many reals as rank `from` sends.
template <class T>
std::vector<Real<T>> recv_reals(int from, const Comm& comm, Tag tag = {},
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::refuse_in_kernel(detail::Receive::name, at);
    return wengert::detail::elements_of<T>(recv<T>(from, comm, tag, at).any(), at);
}

}  // namespace wengert::mpi
