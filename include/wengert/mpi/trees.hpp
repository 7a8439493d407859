// Communication of structs: of every tensor in them, one after another.
#pragma once

#include "../transforms/level.hpp"
#include "gather.hpp"
#include "point_to_point.hpp"

namespace wengert::mpi {

namespace detail {

/// A struct, a container, a tuple of tensors; no tensor by itself.
template <class X>
concept TreeOfTensors = !wengert::detail::is_tensor<X> && tree::contains_leaf<X>;

}  // namespace detail

template <detail::TreeOfTensors X>
X allreduce(const X& x, Reduction how, const Comm& comm, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return tree::map([&](const auto& t) { return allreduce(t, how, comm, at); }, x);
}
template <detail::TreeOfTensors X>
X reduce(const X& x, int root, const Comm& comm, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return tree::map([&](const auto& t) { return reduce(t, root, comm, at); }, x);
}
template <detail::TreeOfTensors X>
X bcast(const X& x, int root, const Comm& comm, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return tree::map([&](const auto& t) { return bcast(t, root, comm, at); }, x);
}
template <detail::TreeOfTensors X>
X sendrecv(const X& x, int to, int from, const Comm& comm, Tag tag = {},
           Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return tree::map([&](const auto& t) { return sendrecv(t, to, from, comm, tag, at); }, x);
}
template <detail::TreeOfTensors X>
X allgather(const X& x, const Comm& comm, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return tree::map([&](const auto& t) { return allgather(t, comm, at); }, x);
}

}  // namespace wengert::mpi
