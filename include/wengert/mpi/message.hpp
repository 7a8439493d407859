// Messages from one rank to another. Each begins with an envelope, so that whoever receives it knows dtype and shape.
#pragma once

#include "agree.hpp"

namespace wengert::mpi::detail {

/// What goes before the elements.
struct Envelope {
    static constexpr std::uint32_t mark = 0x57454e47;
    std::uint32_t magic = mark;
    std::uint8_t dtype = 0, rank = 0;
    std::uint8_t variables = 0;  ///< the sender's operand depends on a variable of backward()
    std::uint8_t failed = 0;     ///< the sender has thrown instead: the receiver throws as well
    std::uint8_t follow = 0;     ///< the elements come as the next message
    std::int64_t extents[Extents::inline_rank] = {};

    Shape shape() const { return Shape(extents, rank); }
};

inline Envelope envelope_of(const Call& call, DType dtype, const Shape& shape, bool variables)
{
    if (shape.size() > Extents::inline_rank)
        call.fail<ShapeError>("shape " + to_string(shape) + ": at most 6 axes travel between ranks");
    Envelope e;
    e.dtype = static_cast<std::uint8_t>(dtype);
    e.rank = static_cast<std::uint8_t>(shape.size());
    e.variables = variables;
    std::copy(shape.begin(), shape.end(), e.extents);
    return e;
}

/// Up to here envelope and elements are copied into one buffer.
inline constexpr std::size_t most_copied = 4096;

/// How more elements travel. A datatype of two pieces is copied piece by piece, but whoever is to receive it needs to know nothing
/// before, so that MPI can begin as soon as both have called it. As a message of their own they go from where they lie and to
/// where they are wanted.
enum class Form { joined, split };

/// Envelope and elements where they lie, as one datatype.
inline MPI_Datatype type_of_both(const Call& call, const Envelope& e, const Block& b)
{
    int lengths[] = {sizeof(Envelope), count_of(call, b.bytes())};
    MPI_Aint places[2];
    MPI_Get_address(&e, &places[0]);
    MPI_Get_address(b.data, &places[1]);
    MPI_Datatype types[] = {MPI_BYTE, MPI_BYTE}, both;
    call.check(MPI_Type_create_struct(2, lengths, places, types, &both));
    call.check(MPI_Type_commit(&both));
    return both;
}

/// A message on its way: it, and what it was made from, stay where they are until it has gone.
struct Sending {
    MPI_Request first = MPI_REQUEST_NULL, rest = MPI_REQUEST_NULL;
    Envelope envelope;
    Ref<Block> elements;
    Ref<Block> packed;  ///< the envelope, and few elements

    Sending() = default;
    Sending(const Sending&) = delete;
    Sending& operator=(const Sending&) = delete;
    /// One that an error has left on its way still reads its memory.
    ~Sending()
    {
        if (first == MPI_REQUEST_NULL && rest == MPI_REQUEST_NULL) return;
        keep_for_ever(elements);
        keep_for_ever(packed);
    }
    void start(const Call& call, int to, int tag, Form form = Form::split)
    {
        const std::size_t bytes = elements ? elements->bytes() : 0;
        const bool few = sizeof envelope + bytes <= most_copied;
        const MPI_Comm comm = call.channel.comm;
        if (!few && form == Form::joined) {
            MPI_Datatype both = type_of_both(call, envelope, *elements);
            call.check(MPI_Isend(MPI_BOTTOM, 1, both, to, tag, comm, &first));
            MPI_Type_free(&both);
            return;
        }
        const int count = few ? 0 : count_of(call, bytes);
        envelope.follow = !few;
        packed = make_block(DType::boolean, Shape{sizeof envelope + (few ? bytes : 0)});
        std::memcpy(packed->data, &envelope, sizeof envelope);
        if (bytes && few) std::memcpy(packed->data + sizeof envelope, elements->data, bytes);
        call.check(MPI_Isend(packed->data, static_cast<int>(packed->count), MPI_BYTE, to, tag, comm, &first));
        if (!few) call.check(MPI_Isend(elements->data, count, MPI_BYTE, to, tag, comm, &rest));
    }
    void finish(const Call& call)
    {
        for (MPI_Request* r : {&first, &rest})
            if (*r != MPI_REQUEST_NULL) complete(call, *r, {elements, packed});
        elements = packed = {};
    }
};

struct Received {
    Envelope envelope;
    Ref<Block> elements;
};

inline void check_mark(const Call& call, const Envelope& e)
{
    if (e.magic != Envelope::mark) call.fail<CommunicationError>("a message that the library did not send");
}

/// Throws where rank `from` has sent something else than elements of that dtype.
inline void check_envelope(const Call& call, const Envelope& e, DType wanted, int from)
{
    const std::string sender = "rank " + std::to_string(from);
    call.channel.broken = call.channel.broken || e.failed;
    if (e.failed) call.fail<CommunicationError>(sender + " has thrown an error where it should have sent");
    const auto sent = static_cast<DType>(e.dtype);
    if (sent != wanted)
        call.fail<DTypeError>(sender + " has sent " + std::string(name_of(sent)) + " where " +
                              std::string(name_of(wanted)) + " is received");
}
[[noreturn]] inline void refuse_shape(const Call& call, const Shape& sent, const Shape& wanted, int from)
{
    call.fail<ShapeError>("rank " + std::to_string(from) + " has sent shape " + to_string(sent) + " where " +
                          to_string(wanted) + " is received");
}

/// The elements that follow an envelope.
inline void receive_rest(const Call& call, const Ref<Block>& to, int from, int tag)
{
    MPI_Request request = MPI_REQUEST_NULL;
    call.check(
        MPI_Irecv(to->data, count_of(call, to->bytes()), MPI_BYTE, from, tag, call.channel.comm, &request));
    complete(call, request, {to});
}

/// One whose elements do not follow, with the envelope as one datatype.
inline Received read_joined(const Call& call, MPI_Message& message, std::size_t bytes)
{
    Received r;
    r.elements = make_block(DType::boolean, Shape{bytes - sizeof(Envelope)});
    MPI_Datatype both = type_of_both(call, r.envelope, *r.elements);
    call.check(MPI_Mrecv(MPI_BOTTOM, 1, both, &message, MPI_STATUS_IGNORE));
    MPI_Type_free(&both);
    check_mark(call, r.envelope);
    r.elements->dtype = static_cast<DType>(r.envelope.dtype);
    r.elements->shape = r.envelope.shape();
    r.elements->count = element_count(r.elements->shape);
    return r;
}

/// One that begins with an envelope. The elements come to lie in `place`, where they fit.
inline Received read_split(const Call& call, MPI_Message& message, const MPI_Status& status, int bytes,
                           const Ref<Block>& place)
{
    std::byte first[most_copied];
    call.check(MPI_Mrecv(first, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE));
    Received r;
    Envelope& e = r.envelope;
    std::memcpy(&e, first, sizeof e);
    check_mark(call, e);
    const auto sent = static_cast<DType>(e.dtype);
    const bool fits = place && place->dtype == sent && place->shape == e.shape();
    r.elements = fits ? place : make_block(sent, e.shape());
    if (e.follow)
        receive_rest(call, r.elements, status.MPI_SOURCE, status.MPI_TAG);
    else if (r.elements->count > 0)
        std::memcpy(r.elements->data, first + sizeof e, r.elements->bytes());
    return r;
}

/// The elements of a message that has come, of whatever shape it says. `wanted` is the dtype.
inline Received read_message(const Call& call, MPI_Message& message, const MPI_Status& status, DType wanted,
                             const Ref<Block>& place)
{
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    const auto whole = static_cast<std::size_t>(bytes);
    if (whole < sizeof(Envelope)) call.fail<CommunicationError>("a message that the library did not send");
    Received r = whole > most_copied ? read_joined(call, message, whole)
                                     : read_split(call, message, status, bytes, place);
    check_envelope(call, r.envelope, wanted, status.MPI_SOURCE);
    return r;
}

inline Received receive(const Call& call, int from, int tag, DType wanted, const Ref<Block>& place = {})
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    const MPI_Comm comm = call.channel.comm;
    if (Watchdog::limit() <= 0) {
        call.check(MPI_Mprobe(from, tag, comm, &message, &status));
    } else {
        const auto come = [&] {
            int flag = 0;
            call.check(MPI_Improbe(from, tag, comm, &flag, &message, &status));
            return flag != 0;
        };
        poll(call, come, [] {});
    }
    return read_message(call, message, status, wanted, place);
}

/// Throws ShapeError where a message has not the shape that is asked for.
inline void check_shape(const Call& call, const Received& r, const Shape& wanted, int from)
{
    if (!(r.elements->shape == wanted)) refuse_shape(call, r.elements->shape, wanted, from);
}

}  // namespace wengert::mpi::detail
