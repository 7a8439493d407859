// What ranks tell each other before a collective: whether all of them do the same. 24 bytes go around where they do.
#pragma once

#include <cstring>
#include <vector>

#include "../array/layout.hpp"
#include "wait.hpp"

namespace wengert::mpi::detail {

/// What a rank is about to do, in full: exchanged where it is not what the others do.
struct Intent {
    char name[24] = {};
    std::int32_t dtype = -1, rank = 0, detail = 0, line = 0;  ///< `detail`: a root, the way of reducing
    std::int64_t extents[Extents::inline_rank] = {};
    char file[48] = {};

    std::uint64_t hash() const noexcept
    {
        std::uint64_t h = 0xcbf29ce484222325U;  // FNV-1a, without the line
        const auto mix = [&](const void* p, std::size_t n) {
            for (std::size_t i = 0; i < n; ++i)
                h = (h ^ static_cast<const unsigned char*>(p)[i]) * 0x100000001b3U;
        };
        mix(name, sizeof name);
        mix(&dtype, 3 * sizeof dtype);
        mix(extents, sizeof extents);
        return h;
    }
    Shape shape() const { return Shape(extents, static_cast<std::size_t>(rank)); }
    std::string text() const
    {
        return std::string(name) + " of " + std::string(name_of(static_cast<DType>(dtype))) + ", shape " +
               to_string(shape()) + ", " + std::to_string(detail) + " (" + file + ":" + std::to_string(line) +
               ")";
    }
};

template <std::size_t n> void put_text(char (&to)[n], std::string_view from)
{
    const std::size_t k = std::min(from.size(), n - 1);
    std::memcpy(to, from.data() + (from.size() - k), k);
}

inline Intent intent_of(const Call& call, DType dtype, const Shape& shape, int detail)
{
    Intent i;
    put_text(i.name, call.name);
    i.dtype = static_cast<std::int32_t>(dtype);
    i.rank = static_cast<std::int32_t>(shape.size());
    i.detail = detail;
    i.line = call.at.line;
    if (shape.size() > Extents::inline_rank)
        call.fail<ShapeError>("shape " + to_string(shape) + ": at most 6 axes travel between ranks");
    std::copy(shape.begin(), shape.end(), i.extents);
    const std::string_view file = call.at.file;
    put_text(i.file, file.substr(file.find_last_of('/') + 1));
    return i;
}

/// All ranks come here, and all of them throw the same.
[[noreturn]] inline void disagree(const Call& call, const Intent& mine)
{
    std::vector<Intent> all(static_cast<std::size_t>(call.channel.size));
    constexpr int bytes = sizeof(Intent);
    collective(call, {}, MPI_Allgather, MPI_Iallgather, &mine, bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE,
               call.channel.comm);
    std::size_t other = 1;
    while (all[other].hash() == all[0].hash()) ++other;
    const Intent &a = all[0], &b = all[other];
    const std::string text =
        "ranks 0 and " + std::to_string(other) + " do not do the same: " + a.text() + " and " + b.text();
    if (std::strcmp(a.name, b.name) != 0) call.fail<CommunicationError>(text);
    if (a.dtype != b.dtype) call.fail<DTypeError>(text);
    if (!(a.shape() == b.shape())) call.fail<ShapeError>(text);
    call.fail<CommunicationError>(text);
}

/// Throws on every rank where they differ in operation, dtype, shape or `detail`. Returns the flags of all of them, joined.
inline std::uint64_t agree(const Call& call, DType dtype, const Shape& shape, int detail, std::uint64_t flags)
{
    call.channel.check_thread(call.name, call.at);
    const Intent mine = intent_of(call, dtype, shape, detail);
    const std::uint64_t h = mine.hash();
    const Ref<Block> words = make_block(DType::int64, Shape{6});
    auto* const in = reinterpret_cast<std::uint64_t*>(words->data);
    const std::uint64_t* const out = in + 3;
    in[0] = h;
    in[1] = ~h;
    in[2] = flags;
    collective(call, {words}, MPI_Allreduce, MPI_Iallreduce, in, in + 3, 3, MPI_UINT64_T, MPI_BOR,
               call.channel.comm);
    if ((out[0] & out[1]) != 0) disagree(call, mine);
    return out[2];
}

}  // namespace wengert::mpi::detail
