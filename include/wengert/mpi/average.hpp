// Data-parallel training in one line: average(gradients, world). And barrier.
#pragma once

#include "../ops/moves.hpp"
#include "../ops/shape.hpp"
#include "../ops/view.hpp"
#include "../transforms/tree.hpp"
#include "nonblocking_sum.hpp"

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

/// The tensors of one type of elements, in messages of some size: the last ones go first, as a sweep makes their gradients first.
template <class T> class Buckets {
public:
    static constexpr std::size_t bytes = std::size_t{1} << 20;

    void add(const Tensor<T>& x) { parts_.push_back(x); }
    void begin(const Comm& comm, const Site& at)
    {
        for (std::size_t first = parts_.size(), last = first; last > 0; last = first) {
            std::vector<Tensor<T>> flat;
            std::size_t held = 0;
            do {
                const Tensor<T>& x = parts_[--first];
                flat.push_back(reshape(x, Shape{x.size()}));
                held += x.size() * sizeof(T);
            } while (first > 0 && held < bytes);
            const Tensor<T> x = flat.size() == 1 ? flat[0] : concatenate(flat, 0, at);
            const auto slot = std::make_shared<SumSlot>();
            static_cast<void>(communicate<StartSum, T>({comm.channel(), slot}, at, x));
            sums_.push_back({{comm.channel(), slot}, x});
        }
    }
    void end(const Comm& comm, const Site& at)
    {
        std::size_t k = parts_.size();
        for (const auto& [sum, x] : sums_) {
            const Tensor<T> all = communicate<EndSum, T>(sum, at, x) / static_cast<T>(comm.size());
            for (std::int64_t i = 0; i < x.shape()[0] || (k > 0 && parts_[k - 1].size() == 0);) {
                Tensor<T>& part = parts_[--k];
                const auto n = static_cast<std::int64_t>(part.size());
                part = reshape(view(all, range(i, i + n)), part.shape(), at);
                i += n;
            }
        }
    }
    const Tensor<T>& next() { return parts_[next_++]; }

private:
    std::vector<Tensor<T>> parts_;
    std::vector<std::pair<EndSum, Tensor<T>>> sums_;  ///< begun, and of what
    std::size_t next_ = 0;
};

}  // namespace detail

/// Waits until all ranks have come here.
inline void barrier(const Comm& comm, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    static_cast<void>(detail::communicate<detail::Barrier, std::int32_t>({comm.channel()}, at));
}

/// The mean over the ranks of every real tensor of a struct, in messages of about a megabyte. Other tensors stay. Inside of a frozen
/// function each message goes around as soon as its gradients are there, while the sweep goes on.
template <class Tree>
Tree average(const Tree& gradients, const Comm& comm, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    std::tuple<detail::Buckets<float>, detail::Buckets<double>> buckets;
    Tree mean = gradients;
    const auto each_real = [&](const auto& f) {
        tree::for_each(
            [&]<class T, class D>(Tensor<T, D>& t) {
                if constexpr (is_differentiable<T>)
                    if (t.defined()) f(t, std::get<detail::Buckets<T>>(buckets));
            },
            mean);
    };
    each_real([](auto& t, auto& bucket) { bucket.add(t); });
    std::apply([&](auto&... b) { (b.begin(comm, at), ...), (b.end(comm, at), ...); }, buckets);
    each_real([](auto& t, auto& bucket) { t = bucket.next(); });
    return mean;
}

}  // namespace wengert::mpi
