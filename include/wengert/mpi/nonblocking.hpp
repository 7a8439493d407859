// isend, irecv, wait: messages behind which the program computes.
//
// The transposes (Schanen, Naumann, Hascoet & Utke 2010): where the program waits for a message that comes, the sweep starts to send
// its cotangent, and waits for that where the program began to receive. So a sweep overlaps what the program does.
#pragma once

#include "point_to_point.hpp"

namespace wengert::mpi {

namespace detail {

/// A message on its way, known to the operation that starts it and to the one that waits.
struct Slot : OnItsWay<Slot> {
    Sending sending;
    Received coming;

    ~Slot()
    {
        if (request != MPI_REQUEST_NULL) keep_for_ever(coming.elements);
    }
    void receive(const Call& call, DType dtype, const Shape& shape, int from, int tag)
    {
        coming.elements = make_block(dtype, shape);
        MPI_Datatype both = type_of_both(call, coming.envelope, *coming.elements);
        call.check(MPI_Irecv(MPI_BOTTOM, 1, both, from, tag, call.channel.comm, &request));
        MPI_Type_free(&both);
    }
    Ref<Block> received(const Call& call, DType wanted, const Shape& shape, int from, int tag)
    {
        complete(call, request, {coming.elements});
        const Envelope& e = coming.envelope;
        check_mark(call, e);
        const auto sent = static_cast<DType>(e.dtype);
        const bool fits = sent == wanted && e.shape() == shape;
        // it is taken where it does not fit, too: who sent it may wait for that
        if (e.follow) receive_rest(call, fits ? coming.elements : make_block(sent, e.shape()), from, tag);
        check_envelope(call, e, wanted, from);
        if (!fits) refuse_shape(call, e.shape(), shape, from);
        return std::move(coming.elements);
    }
};

/// A message, at either end: from whom or to whom, of what shape.
struct Message {
    std::shared_ptr<Slot> slot = std::make_shared<Slot>();
    int partner, tag;
    Shape shape = {};
    Message adjoint() const { return {Slot::of(slot->adjoint), partner, tag, shape}; }
    Message tangent() const { return {Slot::of(slot->tangent), partner, tag, shape}; }
};

/// Begins to send x. The result is a number that nobody reads.
struct StartSend {
    static constexpr std::string_view name = "isend";
    static constexpr bool begins = true;
    static constexpr std::size_t operands = 1;
    ChannelRef channel;
    Message message;

    void look(const Block& x) { message.shape = x.shape; }
    Shape predicted(const Block*) const { return {}; }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        const auto& [slot, to, tag, shape] = message;
        channel->check_rank(to, "the rank to send to,", name, call.at);
        slot->sending.envelope = envelope_of(call, dtype_of<T>(), x->shape, variables);
        slot->sending.elements = x;
        slot->sending.start(call, to, tag, Form::joined);
        return zeros_block(dtype_of<T>(), Shape());
    }
    template <class T> Tensor<T> pull(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&, bool all) const;
    template <class T> Tensor<T> push(const Tensor<T>& dx, const Tensor<T>&, const Tensor<T>&) const
    {
        return communicate<StartSend, T>({channel, message.tangent()}, Site{}, dx);
    }
};

/// Waits until x has gone: it is an operand, so that nothing is written there before.
struct EndSend {
    static constexpr std::string_view name = "wait";
    static constexpr bool waits = true;
    static constexpr std::size_t operands = 1;
    ChannelRef channel;
    Message message;

    void look(const Block& x) { message.shape = x.shape; }
    Shape predicted(const Block*) const { return {}; }
    template <class T> Ref<Block> exchange(const Ref<Block>&, const Call& call, bool&)
    {
        message.slot->sending.finish(call);
        return zeros_block(dtype_of<T>(), Shape());
    }
    template <class T> Tensor<T> pull(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&, bool all) const;
    template <class T> Tensor<T> push(const Tensor<T>& dx, const Tensor<T>&, const Tensor<T>&) const
    {
        return communicate<EndSend, T>({channel, message.tangent()}, Site{}, dx);
    }
};

/// Begins to receive.
struct StartReceive {
    static constexpr std::string_view name = "irecv";
    static constexpr bool begins = true;
    static constexpr std::size_t operands = 0;
    ChannelRef channel;
    Message message;

    Shape predicted(const Block*) const { return {}; }
    template <class T> Ref<Block> exchange(const Ref<Block>&, const Call& call, bool&)
    {
        const auto& [slot, from, tag, shape] = message;
        channel->check_rank(from, "the rank to receive from,", name, call.at);
        slot->receive(call, dtype_of<T>(), shape, from, tag);
        return zeros_block(dtype_of<T>(), Shape());
    }
    template <class T> void pull(const Tensor<T>&, bool all) const
    {
        if (!all) return;
        const Message back = message.adjoint();
        const AnyTensor g = std::exchange(back.slot->kept, {});
        communicate<EndSend, T>({channel, back}, Site{}, Tensor<T>(g));
    }
    template <class T> Tensor<T> push() const
    {
        return communicate<StartReceive, T>({channel, message.tangent()}, Site{});
    }
};

/// y, when it has come.
struct EndReceive {
    static constexpr std::string_view name = "wait";
    static constexpr bool waits = true;
    static constexpr std::size_t operands = 0;
    ChannelRef channel;
    Message message;

    Shape predicted(const Block*) const { return message.shape; }
    template <class T> Ref<Block> exchange(const Ref<Block>&, const Call& call, bool& variables)
    {
        const auto& [slot, from, tag, shape] = message;
        Ref<Block> y = slot->received(call, dtype_of<T>(), shape, from, tag);
        variables = slot->coming.envelope.variables != 0;
        return y;
    }
    template <class T> void pull(const Tensor<T>& g, bool all) const
    {
        if (!all) {  // the other operation is not recorded at level 0
            communicate<Send, T>({channel, message.partner, message.tag}, Site{}, g);
            return;
        }
        const Message back = message.adjoint();
        back.slot->kept = g.any();
        communicate<StartSend, T>({channel, back}, Site{}, g);
    }
    template <class T> Tensor<T> push() const
    {
        return communicate<EndReceive, T>({channel, message.tangent()}, Site{});
    }
};

template <class T>
Tensor<T> StartSend::pull(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&, bool all) const
{
    if (!all) return received<T>(message.shape, true, message.partner, message.tag, channel, Site{});
    return communicate<EndReceive, T>({channel, message.adjoint()}, Site{});
}
template <class T>
Tensor<T> EndSend::pull(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&, bool all) const
{
    if (all) communicate<StartReceive, T>({channel, message.adjoint()}, Site{});
    return Tensor<T>();
}

}  // namespace detail

/// A message that is being sent: to be waited for.
template <class T> struct Sent {
    detail::EndSend end;
    Tensor<T> x;
};
/// A message that is to come: to be waited for.
template <class T> struct Coming {
    detail::EndReceive end;
};

/// Begins to send x to rank `to`. Every message is waited for, and its ranks begin and wait in the same order in the sweep, backwards.
template <class T>
[[nodiscard]] Sent<T> isend(const Tensor<T>& x, int to, const Comm& comm, Tag tag = {},
                            Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const detail::Message m{.partner = to, .tag = tag.value};
    static_cast<void>(detail::communicate<detail::StartSend, T>({comm.channel(), m}, at, x));
    return {{comm.channel(), m}, x};
}
/// Begins to receive a tensor of this shape from rank `from`.
template <class T>
[[nodiscard]] Coming<T> irecv(const Shape& shape, int from, const Comm& comm, Tag tag = {},
                              Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const detail::Message m{.partner = from, .tag = tag.value, .shape = shape};
    static_cast<void>(detail::communicate<detail::StartReceive, T>({comm.channel(), m}, at));
    return {{comm.channel(), m}};
}
/// Waits until a message has gone.
template <class T> void wait(const Sent<T>& s, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    static_cast<void>(detail::communicate<detail::EndSend, T>(s.end, at, s.x));
}
/// What has come. Throws ShapeError or DTypeError where that is something else.
template <class T> Tensor<T> wait(const Coming<T>& c, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::communicate<detail::EndReceive, T>(c.end, at);
}

}  // namespace wengert::mpi
