// NumPy's .npz: a zip archive of .npy files (PKWARE APPNOTE 6.3, sections 4.3 to 4.5). Entries are written
// stored, with a fixed date, so that equal arrays give equal files. Stored entries are read; deflated ones
// (np.savez_compressed) where the user defines WENGERT_USE_ZLIB and links zlib.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "npy.hpp"

#if __has_include(<zlib.h>)
#define WENGERT_HAS_ZLIB 1
#endif
#if defined(WENGERT_HAS_ZLIB) && defined(WENGERT_USE_ZLIB)
#include <zlib.h>
#endif

namespace wengert {

/// The argument of write_npz: an NpyArray that owns nothing.
struct NpyView {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::span<const std::byte> bytes;
};

namespace zip {

/// Unpacks a stream of raw deflate that fills `size` bytes; false where it is damaged. The program's own: the library needs no zlib.
using Inflate = bool (*)(const std::byte* from, std::uint64_t packed, std::byte* to, std::size_t size);
#if defined(WENGERT_HAS_ZLIB) && defined(WENGERT_USE_ZLIB)
inline bool inflate_by_zlib(const std::byte* from, std::uint64_t packed, std::byte* to, std::size_t size)
{
    std::byte none{};
    z_stream z{};
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from));
    z.avail_in = static_cast<uInt>(packed);
    z.next_out = reinterpret_cast<Bytef*>(size == 0 ? &none : to);
    z.avail_out = static_cast<uInt>(size);
    int status = inflateInit2(&z, -MAX_WBITS);  // raw deflate, no zlib header
    if (status == Z_OK) {
        status = ::inflate(&z, Z_FINISH);
        inflateEnd(&z);
    }
    return status == Z_STREAM_END && z.avail_out == 0;
}
inline constexpr Inflate inflate = inflate_by_zlib;
#else
inline constexpr Inflate inflate = nullptr;
#endif

}  // namespace zip

/// All arrays of a .npz by name, without the ending .npy; entries of other kinds are left out. Throws Error.
std::map<std::string, NpyArray> read_npz(const std::string& path, zip::Inflate inflate = zip::inflate);

/// Writes arrays of different names in the order given. Throws Error, also where the archive would need zip64
/// (4 GiB, 65,535 arrays); the file then is as it was before.
void write_npz(const std::string& path, const std::vector<std::pair<std::string, NpyView>>& arrays);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/npz.ipp"
#endif
