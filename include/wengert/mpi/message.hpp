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

/// Up to here envelope and elements are copied into one buffer: cheaper than a datatype of two pieces.
inline constexpr std::size_t most_copied = 4096;

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
    MPI_Request request = MPI_REQUEST_NULL;
    Envelope envelope;
    Ref<Block> elements;
    Ref<Block> packed;

    Sending() = default;
    Sending(const Sending&) = delete;
    Sending& operator=(const Sending&) = delete;
    /// One that an error has left on its way still reads its memory.
    ~Sending()
    {
        if (request == MPI_REQUEST_NULL) return;
        keep_for_ever(elements);
        keep_for_ever(packed);
    }
    void start(const Call& call, int to, int tag)
    {
        const std::size_t bytes = elements ? elements->bytes() : 0, whole = sizeof envelope + bytes;
        const MPI_Comm comm = call.channel.comm;
        if (whole <= most_copied) {
            packed = make_block(DType::boolean, Shape{whole});
            std::memcpy(packed->data, &envelope, sizeof envelope);
            if (bytes) std::memcpy(packed->data + sizeof envelope, elements->data, bytes);
            return call.check(
                MPI_Isend(packed->data, static_cast<int>(whole), MPI_BYTE, to, tag, comm, &request));
        }
        MPI_Datatype both = type_of_both(call, envelope, *elements);
        call.check(MPI_Isend(MPI_BOTTOM, 1, both, to, tag, comm, &request));
        MPI_Type_free(&both);
    }
    void finish(const Call& call)
    {
        if (request != MPI_REQUEST_NULL) complete(call, request, {elements, packed});
        elements = packed = {};
    }
};

struct Received {
    Envelope envelope;
    Ref<Block> elements;
};

/// Throws where rank `from` has sent something else than elements of that dtype.
inline void check_envelope(const Call& call, const Envelope& e, DType wanted, int from)
{
    if (e.magic != Envelope::mark) call.fail<CommunicationError>("a message that the library did not send");
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

/// The elements of a message that has come, of whatever shape it says. `wanted` is the dtype.
inline Received read_message(const Call& call, MPI_Message& message, const MPI_Status& status, DType wanted)
{
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    const auto whole = static_cast<std::size_t>(bytes);
    Received r;
    if (whole < sizeof(Envelope)) call.fail<CommunicationError>("a message that the library did not send");
    if (whole <= most_copied) {
        std::byte buffer[most_copied];
        call.check(MPI_Mrecv(buffer, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE));
        std::memcpy(&r.envelope, buffer, sizeof(Envelope));
        r.elements = make_block(DType::boolean, Shape{whole - sizeof(Envelope)});
        std::memcpy(r.elements->data, buffer + sizeof(Envelope), r.elements->bytes());
    } else {
        r.elements = make_block(DType::boolean, Shape{whole - sizeof(Envelope)});
        MPI_Datatype both = type_of_both(call, r.envelope, *r.elements);
        call.check(MPI_Mrecv(MPI_BOTTOM, 1, both, &message, MPI_STATUS_IGNORE));
        MPI_Type_free(&both);
    }
    const Envelope& e = r.envelope;
    check_envelope(call, e, wanted, status.MPI_SOURCE);
    r.elements->dtype = wanted;
    r.elements->shape = e.shape();
    r.elements->count = element_count(r.elements->shape);
    return r;
}

inline Received receive(const Call& call, int from, int tag, DType wanted)
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
    return read_message(call, message, status, wanted);
}

/// Throws ShapeError where a message has not the shape that is asked for.
inline void check_shape(const Call& call, const Received& r, const Shape& wanted, int from)
{
    if (!(r.elements->shape == wanted)) refuse_shape(call, r.elements->shape, wanted, from);
}

}  // namespace wengert::mpi::detail
