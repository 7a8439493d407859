// A sum over the ranks that goes on while the program computes: begun here, waited for there.
//
// It is its own transpose, as allreduce is: where the program waits for the sum, the sweep begins that of the cotangents, and it
// waits for it where the program began.
#pragma once

#include "reduce.hpp"

namespace wengert::mpi {

namespace detail {

/// A sum on its way, known to the operation that begins it and to the one that waits.
struct SumSlot : OnItsWay<SumSlot> {
    Ref<Block> mine = {}, all = {};
    bool variables = false;

    ~SumSlot()
    {
        if (request == MPI_REQUEST_NULL) return;
        keep_for_ever(mine);
        keep_for_ever(all);
    }
};
using SumSlotRef = std::shared_ptr<SumSlot>;

/// Begins the sum of all ranks' x. The result is a number that nobody reads.
struct StartSum {
    static constexpr std::string_view name = "allreduce";
    static constexpr std::size_t operands = 1;
    static constexpr bool begins = true;
    ChannelRef channel;
    SumSlotRef slot;

    Shape predicted(const Block*) const { return {}; }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        const MPI_Op op = op_of<T>(call, sum);
        variables = agree(call, dtype_of<T>(), x->shape, sum.number, variables) != 0;
        slot->variables = variables;
        slot->mine = x;
        slot->all = make_block(dtype_of<T>(), x->shape);
        call.check(MPI_Iallreduce(x->data, slot->all->data, count_of(call, x->count), type_of(dtype_of<T>()),
                                  op, channel->comm, &slot->request));
        return zeros_block(dtype_of<T>(), Shape());
    }
    template <class T> Tensor<T> pull(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&, bool) const;
    template <class T> Tensor<T> push(const Tensor<T>& dx, const Tensor<T>&, const Tensor<T>&) const
    {
        return communicate<StartSum, T>({channel, SumSlot::of(slot->tangent)}, Site{}, dx);
    }
};

/// The sum, when it is there. x is an operand, so that nothing is written there before.
struct EndSum {
    static constexpr std::string_view name = "allreduce";
    static constexpr std::size_t operands = 1;
    static constexpr bool waits = true;
    ChannelRef channel;
    SumSlotRef slot;

    Shape predicted(const Block* x) const { return x->shape; }
    template <class T> Ref<Block> exchange(const Ref<Block>&, const Call& call, bool& variables)
    {
        complete(call, slot->request, {slot->mine, slot->all});
        slot->mine = {};
        variables = slot->variables;
        return std::move(slot->all);
    }
    template <class T> Tensor<T> pull(const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, bool) const
    {
        const SumSlotRef back = SumSlot::of(slot->adjoint);
        back->kept = g.any();
        communicate<StartSum, T>({channel, back}, Site{}, g);
        return Tensor<T>();
    }
    template <class T> Tensor<T> push(const Tensor<T>& dx, const Tensor<T>&, const Tensor<T>&) const
    {
        return communicate<EndSum, T>({channel, SumSlot::of(slot->tangent)}, Site{}, dx);
    }
};

template <class T> Tensor<T> StartSum::pull(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&, bool) const
{
    const SumSlotRef back = SumSlot::of(slot->adjoint);
    const AnyTensor g = std::exchange(back->kept, {});
    return communicate<EndSum, T>({channel, back}, Site{}, Tensor<T>(g));
}

}  // namespace detail

}  // namespace wengert::mpi
