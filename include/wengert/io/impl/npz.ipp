// What npz.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include <array>
#include <cstring>

#include "../../base/file.hpp"
#include "../../base/separate.hpp"
#include "../crc.hpp"
#include "../npz.hpp"
#include "npy.ipp"

namespace wengert {

namespace zip {

inline constexpr std::uint32_t local_mark = 0x04034B50, central_mark = 0x02014B50, end_mark = 0x06054B50;
inline constexpr std::size_t local_size = 30, central_size = 46, end_size = 22;
inline constexpr std::uint64_t zip64 = 0xFFFFFFFF;  // in a 32-bit field: the value is elsewhere

[[noreturn]] inline void fail(const std::string& path, const std::string& what)
{
    throw Error("[npz] '" + path + "': " + what);
}

/// Little-endian fields of a record.
class Record {
public:
    Record& u16(std::size_t v)
    {
        text_ += static_cast<char>(v & 255);
        text_ += static_cast<char>(v >> 8 & 255);
        return *this;
    }
    Record& u32(std::size_t v) { return u16(v & 0xFFFF).u16(v >> 16); }
    const std::string& text() const { return text_; }

private:
    std::string text_;
};

struct Entry {
    std::string name;
    std::uint64_t flags = 0, method = 0, crc = 0, packed = 0, size = 0, offset = 0;
};

/// The fields that local and central headers share: flags (bit 11: the name is UTF-8) to the length of the
/// name.
inline void put_common(Record& r, const Entry& e)
{
    r.u16(e.flags).u16(0).u16(0).u16(0x21);  // stored; midnight, 1 January 1980
    r.u32(e.crc).u32(e.size).u32(e.size).u16(e.name.size()).u16(0);
}

inline std::string local_header(const Entry& e)
{
    Record r;
    r.u32(local_mark).u16(20);
    put_common(r, e);
    return r.text() + e.name;
}

inline std::string central_header(const Entry& e)
{
    Record r;
    r.u32(central_mark).u16(20).u16(20);
    put_common(r, e);
    r.u16(0).u16(0).u16(0).u32(0).u32(e.offset);
    return r.text() + e.name;
}

inline std::string end_record(std::size_t entries, std::size_t size, std::size_t offset)
{
    Record r;
    r.u32(end_mark).u16(0).u16(0).u16(entries).u16(entries).u32(size).u32(offset).u16(0);
    return r.text();
}

class Reader {
public:
    Reader(const std::string& path, Inflate by) : path_(path), inflate_(by), bytes_(file::read(path)) {}

    /// All entries, as the central directory tells; it alone has sizes that are always right.
    std::vector<Entry> entries() const
    {
        const std::size_t end = find_end();
        const std::uint64_t count = get(end + 10, 2), size = get(end + 12, 4), begin = get(end + 16, 4);
        if (count == 0xFFFF || size == zip64 || begin == zip64) too_large();
        if (get(end + 4, 4) != 0) fail(path_, "an archive in several parts");
        if (begin > end || size > end - begin) fail(path_, "its directory lies outside of the file");
        std::vector<Entry> all;
        std::uint64_t at = begin, packed = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            all.push_back(central(at));
            if ((packed += all.back().packed) > bytes_.size()) fail(path_, "entries that overlap");
        }
        if (at != begin + size) fail(path_, "a directory of the wrong size");
        return all;
    }

    std::vector<std::byte> extract(const Entry& e) const
    {
        const auto begin = data_at(e);
        std::vector<std::byte> data;
        if (e.method == 0) {
            if (e.packed != e.size) fail(path_, "entry '" + e.name + "': two sizes of stored data");
            const auto from = bytes_.begin() + static_cast<std::ptrdiff_t>(begin);
            data.assign(from, from + static_cast<std::ptrdiff_t>(e.size));
        } else if (e.method == 8) {
            data = inflated(e, begin);
        } else {
            fail(path_, "entry '" + e.name + "' is packed by an unknown method; write it with np.savez");
        }
        Crc crc;
        crc.add(data.data(), data.size());
        if (crc.value() != e.crc) fail(path_, "entry '" + e.name + "': the checksum does not fit the data");
        return data;
    }

private:
    [[noreturn]] void too_large() const
    {
        fail(path_,
             "a zip64 archive (4 GiB or 65,535 arrays and more) cannot be read; split it, or use np.save");
    }

    std::uint64_t get(std::uint64_t at, std::size_t count) const
    {
        if (at > bytes_.size() || count > bytes_.size() - at) fail(path_, "truncated, or not a zip archive");
        std::uint64_t v = 0;
        std::memcpy(&v, bytes_.data() + at, count);
        return v;
    }

    std::string text(std::uint64_t at, std::uint64_t size) const
    {
        if (at > bytes_.size() || size > bytes_.size() - at) fail(path_, "truncated in a name");
        return {reinterpret_cast<const char*>(bytes_.data()) + at, size};
    }

    /// The end record is followed by a comment of at most 65,535 bytes.
    std::size_t find_end() const
    {
        for (std::size_t tail = end_size; tail <= bytes_.size() && tail <= end_size + 0xFFFF; ++tail) {
            const std::size_t at = bytes_.size() - tail;
            if (get(at, 4) == end_mark && get(at + 20, 2) == tail - end_size) return at;
        }
        fail(path_, "truncated, or not a zip archive");
    }

    Entry central(std::uint64_t& at) const
    {
        if (get(at, 4) != central_mark) fail(path_, "a damaged directory");
        Entry e;
        e.flags = get(at + 8, 2), e.method = get(at + 10, 2), e.crc = get(at + 16, 4);
        e.packed = get(at + 20, 4), e.size = get(at + 24, 4), e.offset = get(at + 42, 4);
        e.name = text(at + central_size, get(at + 28, 2));
        if (e.packed == zip64 || e.size == zip64 || e.offset == zip64) too_large();
        if (e.flags & 1) fail(path_, "entry '" + e.name + "' is encrypted");
        at += central_size + get(at + 28, 2) + get(at + 30, 2) + get(at + 32, 2);
        return e;
    }

    std::uint64_t data_at(const Entry& e) const
    {
        const std::uint64_t name_size = get(e.offset + 26, 2);
        const bool same = get(e.offset, 4) == local_mark && text(e.offset + local_size, name_size) == e.name;
        if (!same || get(e.offset + 8, 2) != e.method)
            fail(path_, "entry '" + e.name + "': a damaged header");
        const std::uint64_t begin = e.offset + local_size + name_size + get(e.offset + 28, 2);
        if (begin > bytes_.size() || e.packed > bytes_.size() - begin)
            fail(path_, "entry '" + e.name + "' is truncated");
        return begin;
    }

    std::vector<std::byte> inflated(const Entry& e, std::uint64_t begin) const
    {
        if (!inflate_)
            fail(path_, "entry '" + e.name +
                            "' is compressed; write it with np.savez instead of np.savez_compressed, or "
                            "define WENGERT_USE_ZLIB and link with -lz");
        // Deflate packs 1032 to 1 at best: a damaged size asks for no more memory than that.
        if (e.size > 1032 * e.packed + 64) fail(path_, "entry '" + e.name + "': impossible size");
        std::vector<std::byte> data(e.size);
        if (!inflate_(bytes_.data() + begin, e.packed, data.data(), data.size()))
            fail(path_, "entry '" + e.name + "': damaged deflated data");
        return data;
    }

    const std::string& path_;
    Inflate inflate_;
    std::vector<std::byte> bytes_;
};

/// Entry for an array about to be written at `offset`: name, checksum and size.
inline Entry describe(const std::string& path, const std::string& name, const std::string& header,
                      std::span<const std::byte> data, std::uint64_t offset)
{
    Entry e;
    e.name = name + ".npy";
    for (const char c : name)
        if (static_cast<unsigned char>(c) > 127) e.flags = 0x800;
    if (e.name.size() > 0xFFFF) fail(path, "a name of more than 65,535 bytes");
    e.size = std::uint64_t{header.size()} + data.size();
    e.offset = offset;
    if (e.offset >= zip64 || e.size >= zip64 - e.offset)
        fail(path, "4 GiB and more need zip64, which is not written; use several files, or write_npy for "
                   "large arrays");
    Crc crc;
    crc.add(header.data(), header.size());
    crc.add(data.data(), data.size());
    e.crc = crc.value();
    return e;
}

}  // namespace zip

WENGERT_INLINE std::map<std::string, NpyArray> read_npz(const std::string& path, zip::Inflate inflate)
{
    const zip::Reader reader(path, inflate);
    std::map<std::string, NpyArray> arrays;
    for (const zip::Entry& e : reader.entries()) {
        if (e.name.size() < 4 || e.name.substr(e.name.size() - 4) != ".npy") continue;
        const std::string name = e.name.substr(0, e.name.size() - 4);
        NpyArray array = npy::parse(path + ":" + name, reader.extract(e));
        if (!arrays.emplace(name, std::move(array)).second)
            zip::fail(path, "two arrays are named '" + name + "'");
    }
    return arrays;
}

WENGERT_INLINE void write_npz(const std::string& path,
                              const std::vector<std::pair<std::string, NpyView>>& arrays)
{
    if (arrays.size() >= 0xFFFF) zip::fail(path, "more than 65,534 arrays need zip64, which is not written");
    std::map<std::string, bool> seen;
    file::Writer out(path);
    std::uint64_t at = 0;
    std::string directory;
    for (const auto& [name, array] : arrays) {
        if (!seen.emplace(name, true).second) zip::fail(path, "two arrays are named '" + name + "'");
        const std::string header =
            npy::header_text(path + ":" + name, array.dtype, array.shape, array.bytes.size());
        const zip::Entry e = zip::describe(path, name, header, array.bytes, at);
        const std::string local = zip::local_header(e);
        out.write(local + header);
        out.write(array.bytes.data(), array.bytes.size());
        at += local.size() + e.size;
        directory += zip::central_header(e);
    }
    if (at + directory.size() >= zip::zip64)
        zip::fail(path, "4 GiB and more need zip64, which is not written");
    out.write(directory + zip::end_record(arrays.size(), directory.size(), at));
    out.commit();
}

}  // namespace wengert
