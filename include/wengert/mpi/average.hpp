// Data-parallel training in one line: average(gradients, world). And barrier.
#pragma once

#include "../ops/moves.hpp"
#include "../ops/shape.hpp"
#include "../ops/view.hpp"
#include "../transforms/tree.hpp"
#include "reduce.hpp"

namespace wengert::mpi {

namespace detail {

/// Nothing but a wait for all ranks: no derivative has one.
struct Barrier {
    static constexpr std::string_view name = "barrier";
    static constexpr std::size_t operands = 0;
    ChannelRef channel;

    Shape predicted(const Block*) const { return {}; }
    template <class T> Ref<Block> exchange(const Ref<Block>&, const Call& call, bool&)
    {
        collective(call, {}, MPI_Barrier, MPI_Ibarrier, channel->comm);
        return zeros_block(dtype_of<T>(), Shape());
    }
};

/// The tensors of one type of elements, as one that goes around at once.
template <class T> class Bucket {
public:
    void add(const Tensor<T>& x) { parts_.push_back(reshape(x, Shape{x.size()})); }
    void send(const Comm& comm, const Site& at)
    {
        if (parts_.empty()) return;
        const auto n = static_cast<T>(comm.size());
        all_ = allreduce(concatenate(parts_, 0, at), sum, comm, at) / n;
    }
    Tensor<T> next(const Shape& shape, const Site& at)
    {
        const auto n = static_cast<std::int64_t>(element_count(shape)),
                   first = std::exchange(first_, first_ + n);
        return reshape(view(all_, range(first, first + n)), shape, at);
    }

private:
    std::vector<Tensor<T>> parts_;
    Tensor<T> all_;
    std::int64_t first_ = 0;
};

}  // namespace detail

/// Waits until all ranks have come here.
inline void barrier(const Comm& comm, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    static_cast<void>(detail::communicate<detail::Barrier, std::int32_t>({comm.channel()}, at));
}

/// The mean over the ranks of every real tensor of a struct, one message for each type of elements. Other tensors stay.
template <class Tree>
Tree average(const Tree& gradients, const Comm& comm, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    std::tuple<detail::Bucket<float>, detail::Bucket<double>> buckets;
    Tree mean = gradients;
    const auto each_real = [&](const auto& f) {
        tree::for_each(
            [&]<class T, class D>(Tensor<T, D>& t) {
                if constexpr (is_differentiable<T>)
                    if (t.defined()) f(t, std::get<detail::Bucket<T>>(buckets));
            },
            mean);
    };
    each_real([](auto& t, auto& bucket) { bucket.add(t); });
    std::apply([&](auto&... b) { (b.send(comm, at), ...); }, buckets);
    each_real([&](auto& t, auto& bucket) { t = bucket.next(t.shape(), at); });
    return mean;
}

}  // namespace wengert::mpi
