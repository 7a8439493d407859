// From one rank to another: sendrecv, send, recv. The transpose of a send is a receive, and of a receive a send (Utke et al. 2009).
#pragma once

#include "message.hpp"
#include "primitive.hpp"

namespace wengert::mpi {

namespace detail {

/// Nobody: nothing is sent there, nothing comes from there.
inline constexpr int nobody = -1;

inline void check_partner(const Call& call, int rank, const char* what)
{
    if (rank != nobody) call.channel.check_rank(rank, what, call.name, call.at);
}

/// Sends x and receives y, whatever its shape, zeros of `like` from nobody.
inline Received exchanged(const Call& call, const Ref<Block>& x, bool variables, int to, int from, int tag)
{
    check_partner(call, to, "the rank to send to,");
    check_partner(call, from, "the rank to receive from,");
    Sending out;
    out.envelope = envelope_of(call, x->dtype, x->shape, variables);
    out.elements = x;
    if (to != nobody) out.start(call, to, tag);
    Received in;
    if (from != nobody) in = receive(call, from, tag, x->dtype);
    out.finish(call);
    return in;
}

/// x to rank `to`, y from rank `from`.
struct SendRecv {
    static constexpr std::string_view name = "sendrecv";
    static constexpr std::size_t operands = 1;
    ChannelRef channel;
    int to, from, tag;
    Shape nothing = {};  ///< of y from nobody
    /// Does x, does y depend on a variable of backward(), there where it was made? And the shape of x.
    bool sent = false, got = false;
    Shape shape = {};

    void look(const Block& x) { shape = x.shape; }
    Shape predicted(const Block* x) const { return from == nobody ? nothing : x->shape; }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        Received in = exchanged(call, x, variables, to, from, tag);
        sent = variables && to != nobody;
        got = in.elements && in.envelope.variables;
        variables = sent || got;
        return in.elements ? in.elements : zeros_block(dtype_of<T>(), nothing);
    }
    template <class T>
    Tensor<T> pull(const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>&, bool all) const
    {
        static_cast<void>(x);
        return communicate<SendRecv, T>(
            {channel, all || got ? from : nobody, all || sent ? to : nobody, tag, shape}, Site{}, g);
    }
};

template <class T>
Tensor<T> received(const Shape& shape, bool known, int from, int tag, const ChannelRef& channel,
                   const Site& at);

/// x to rank `to`. The result is a number that nobody reads.
struct Send {
    static constexpr std::string_view name = "send";
    static constexpr std::size_t operands = 1;
    ChannelRef channel;
    int to, tag;
    Shape shape = {};  ///< of x

    void look(const Block& x) { shape = x.shape; }
    Shape predicted(const Block*) const { return {}; }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        channel->check_rank(to, "the rank to send to,", name, call.at);
        Sending out;
        out.envelope = envelope_of(call, dtype_of<T>(), x->shape, variables);
        out.elements = x;
        out.start(call, to, tag);
        out.finish(call);
        return zeros_block(dtype_of<T>(), Shape());
    }
    template <class T> Tensor<T> pull(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&, bool) const
    {
        return received<T>(shape, true, to, tag, channel, Site{});
    }
};

/// y from rank `from`.
struct Receive {
    static constexpr std::string_view name = "recv";
    static constexpr std::size_t operands = 0;
    ChannelRef channel;
    int from, tag;
    Shape shape = {};
    bool known = true;  ///< the shape; else it comes along

    Shape predicted(const Block*) const
    {
        if (!known)
            wengert::fail<ShapeError>(name,
                                      "in the body of a loop or a branch that is traced a recv has a shape: "
                                      "recv<T>(shape, from, comm)",
                                      Tape::current().site_override);
        return shape;
    }
    template <class T> Ref<Block> exchange(const Ref<Block>&, const Call& call, bool& variables)
    {
        channel->check_rank(from, "the rank to receive from,", name, call.at);
        const Received in = receive(call, from, tag, dtype_of<T>());
        if (known) check_shape(call, in, shape, from);
        shape = in.elements->shape;
        variables = in.envelope.variables;
        return in.elements;
    }
    template <class T> void pull(const Tensor<T>& g, bool) const
    {
        communicate<Send, T>({channel, from, tag}, Site{}, g);
    }
    template <class T> Tensor<T> push() const
    {
        return communicate<Receive, T>({channel, from, tag, shape, true}, Site{});
    }
};

template <class T>
Tensor<T> received(const Shape& shape, bool known, int from, int tag, const ChannelRef& channel,
                   const Site& at)
{
    return communicate<Receive, T>({channel, from, tag, shape, known}, at);
}

}  // namespace detail

/// How a message is told from others between the same ranks.
struct Tag {
    int value = 0;
};

/// Sends x to rank `to` and returns what rank `from` sends, of the shape that comes.
template <class T>
Tensor<T> sendrecv(const Tensor<T>& x, int to, int from, const Comm& comm, Tag tag = {},
                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::communicate<detail::SendRecv, T>({comm.channel(), to, from, tag.value}, at, x);
}

/// Sends x to rank `to`, which calls recv. As in MPI it may wait until that has begun.
template <class T>
void send(const Tensor<T>& x, int to, const Comm& comm, Tag tag = {},
          Site at = {__builtin_FILE(), __builtin_LINE()})
{
    static_cast<void>(detail::communicate<detail::Send, T>({comm.channel(), to, tag.value}, at, x));
}

/// What rank `from` sends, of this shape. Throws ShapeError or DTypeError where it is another.
template <class T>
Tensor<T> recv(const Shape& shape, int from, const Comm& comm, Tag tag = {},
               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::received<T>(shape, true, from, tag.value, comm.channel(), at);
}
/// The same of the shape that comes along.
template <class T>
Tensor<T> recv(int from, const Comm& comm, Tag tag = {}, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::received<T>(Shape(), false, from, tag.value, comm.channel(), at);
}

}  // namespace wengert::mpi
