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

/// Envelope and elements of so many bytes together are one message. The elements of a longer one follow as a message of their own,
/// from where they lie and to where they are wanted: a datatype of two pieces would be copied piece by piece.
inline constexpr std::size_t most_copied = 4096;

inline bool is_long(std::size_t bytes) noexcept { return sizeof(Envelope) + bytes > most_copied; }

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
    void start(const Call& call, int to, int tag)
    {
        const std::size_t bytes = elements ? elements->bytes() : 0;
        const bool follow = is_long(bytes);
        const MPI_Comm comm = call.channel.comm;
        const int count = follow ? count_of(call, bytes) : 0;
        packed = make_block(DType::boolean, Shape{sizeof envelope + (follow ? 0 : bytes)});
        std::memcpy(packed->data, &envelope, sizeof envelope);
        if (bytes && !follow) std::memcpy(packed->data + sizeof envelope, elements->data, bytes);
        call.check(MPI_Isend(packed->data, static_cast<int>(packed->count), MPI_BYTE, to, tag, comm, &first));
        if (follow) call.check(MPI_Isend(elements->data, count, MPI_BYTE, to, tag, comm, &rest));
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

/// The envelope that a message begins with; throws where it has none.
inline Envelope opened(const Call& call, const std::byte* first, std::size_t bytes)
{
    Envelope e;
    if (bytes >= sizeof e) std::memcpy(&e, first, sizeof e);
    if (bytes < sizeof e || e.magic != Envelope::mark)
        call.fail<CommunicationError>("a message that the library did not send");
    return e;
}
inline std::size_t bytes_of(const Envelope& e)
{
    return element_count(e.shape()) * size_of(static_cast<DType>(e.dtype));
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

/// The elements of a message that has come, of whatever shape it says. They come to lie in `place`, where they fit. `wanted` is the
/// dtype.
inline Received read_message(const Call& call, MPI_Message& message, const MPI_Status& status, DType wanted,
                             const Ref<Block>& place)
{
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    std::byte first[most_copied];
    if (bytes > static_cast<int>(sizeof first))
        call.fail<CommunicationError>("a message that the library did not send");
    call.check(MPI_Mrecv(first, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE));
    Received r{opened(call, first, static_cast<std::size_t>(bytes)), {}};
    const Envelope& e = r.envelope;
    const auto sent = static_cast<DType>(e.dtype);
    const Shape shape = e.shape();
    r.elements = place && sent == wanted && place->shape == shape ? place : make_block(sent, shape);
    if (is_long(r.elements->bytes()))
        receive_rest(call, r.elements, status.MPI_SOURCE, status.MPI_TAG);
    else if (r.elements->count > 0)
        std::memcpy(r.elements->data, first + sizeof e, r.elements->bytes());
    check_envelope(call, e, wanted, status.MPI_SOURCE);
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
