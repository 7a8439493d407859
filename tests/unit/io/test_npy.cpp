// .npy and .npz: round trips, files as NumPy writes them (byte for byte), and damaged ones.
#include "catch.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <wengert/base/file.hpp>
#include <wengert/io/crc.hpp>
#include <wengert/io/npy.hpp>
#include <wengert/io/npz.hpp>

namespace fs = std::filesystem;
using wengert::Error;
using wengert::NpyArray;
using wengert::NpyView;

namespace {

/// A folder of this test's own, removed with it.
struct Folder {
    fs::path path;
    Folder()
    {
        for (int i = 0; path.empty(); ++i) {
            const fs::path p = fs::temp_directory_path() / ("wengert-npy-" + std::to_string(i));
            if (fs::create_directory(p)) path = p;
        }
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { fs::remove_all(path); }
    std::string operator/(const char* name) const { return (path / name).string(); }
    std::ptrdiff_t files() const
    {
        return std::distance(fs::directory_iterator(path), fs::directory_iterator());
    }
};

void put(const std::string& path, const std::string& bytes)
{
    wengert::file::Writer out(path);
    out.write(bytes);
    out.commit();
}

std::string get(const std::string& path)
{
    const auto bytes = wengert::file::read(path);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class T> std::vector<T> values(const NpyArray& a)
{
    std::vector<T> v(a.bytes.size() / sizeof(T));
    if (!v.empty()) std::memcpy(v.data(), a.bytes.data(), a.bytes.size());
    return v;
}

std::string file_of(const std::string& dict, const std::string& data, char version = 1)
{
    std::string head = "\x93NUMPY";
    head += version;
    head += '\0';
    head += static_cast<char>(dict.size());
    head += '\0';
    if (version > 1) head += std::string(2, '\0');
    return head + dict + data;
}

/// What reading a file of these bytes says; empty if it can be read.
std::string complaint(const Folder& dir, const char* name, const std::string& bytes)
{
    put(dir / name, bytes);
    try {
        if (std::string(name).find(".npz") != std::string::npos)
            wengert::read_npz(dir / name);
        else
            wengert::read_npy(dir / name);
    } catch (const Error& e) {
        return e.what();
    }
    return {};
}

bool says(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("npy files are NumPy's own bytes")
{
    const Folder dir;
    const double x[] = {1.0, 2.0, 3.0};
    wengert::write_npy(dir / "x.npy", "f8", {3}, x, sizeof x);
    std::string expected =
        std::string("\x93NUMPY\x01\0v\0", 10) + "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }";
    expected += std::string(127 - expected.size(), ' ') + '\n';
    expected.append(reinterpret_cast<const char*>(x), sizeof x);
    CHECK(get(dir / "x.npy") == expected);
    CHECK(dir.files() == 1);
}

TEST_CASE("npy round trips of every dtype and rank")
{
    const Folder dir;
    for (const std::string dtype : {"f4", "f8", "i8", "i4", "b1"})
        for (const std::vector<std::int64_t>& shape :
             {std::vector<std::int64_t>{}, {5}, {3, 4}, {2, 0, 3}, {2, 1, 3, 2}}) {
            std::size_t bytes = static_cast<std::size_t>(dtype[1] - '0');
            for (const std::int64_t n : shape) bytes *= static_cast<std::size_t>(n);
            std::vector<std::byte> data(bytes);
            for (std::size_t i = 0; i < bytes; ++i) data[i] = std::byte(dtype == "b1" ? i % 2 : i * 7);
            wengert::write_npy(dir / "a.npy", dtype, shape, data.data(), bytes);
            const NpyArray a = wengert::read_npy(dir / "a.npy");
            CHECK(a.dtype == dtype);
            CHECK(a.shape == shape);
            CHECK(a.bytes == data);
        }
    CHECK(std::string(wengert::npy_dtype<bool>()) == "b1");
    CHECK(std::string(wengert::npy_dtype<std::int64_t>()) == "i8");
    CHECK(std::string(wengert::npy_dtype<float>()) == "f4");
}

TEST_CASE("Fortran order, other versions and odd but legal headers are read")
{
    const Folder dir;
    std::string data;
    for (const std::int32_t v : {1, 4, 2, 5, 3, 6}) data.append(reinterpret_cast<const char*>(&v), 4);
    const std::vector<std::int32_t> expected{1, 2, 3, 4, 5, 6};
    for (const char version : {char(1), char(2), char(3)}) {
        put(dir / "f.npy",
            file_of("{\"shape\":(2, 3L), 'fortran_order':True ,'descr': '<i4'}\n", data, version));
        const NpyArray a = wengert::read_npy(dir / "f.npy");
        CHECK(a.shape == std::vector<std::int64_t>{2, 3});
        CHECK(values<std::int32_t>(a) == expected);
    }
    put(dir / "b.npy",
        file_of("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", std::string("\0\x02\x01", 3)));
    CHECK(wengert::read_npy(dir / "b.npy").bytes ==
          std::vector<std::byte>{std::byte{0}, std::byte{1}, std::byte{1}});
}

TEST_CASE("damaged npy files are refused with the reason")
{
    const Folder dir;
    const auto npy = [&](const std::string& bytes) { return complaint(dir, "bad.npy", bytes); };
    const auto shaped = [&](const std::string& shape) {
        return npy(file_of("{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }",
                           std::string(8, 'x')));
    };
    CHECK(shaped("(1,)").empty());
    CHECK(shaped("()").empty());
    CHECK(says(shaped("(2,)"), "promises 16 bytes"));
    CHECK(says(shaped("(0, 3)"), "promises 0 bytes"));
    CHECK(says(shaped("(-1,)"), "malformed"));
    CHECK(says(shaped("(1"), "malformed"));
    CHECK(says(shaped("(99999999999, 99999999999)"), "too large"));
    CHECK(says(npy("not numpy at all"), "not a .npy"));
    CHECK(says(npy(""), "not a .npy"));
    CHECK(says(npy(file_of("{}", "")), "malformed"));
    CHECK(says(npy(file_of("{'descr': '>f8', 'fortran_order': False, 'shape': (), }", "")), "astype"));
    CHECK(says(npy(file_of("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (), }", "")),
               "structured"));
    CHECK_THROWS_AS(wengert::read_npy(dir / "missing.npy"), Error);
    CHECK_THROWS_AS(wengert::read_npy(dir.path.string()), Error);
}

TEST_CASE("a write that fails leaves the old file and nothing else")
{
    const Folder dir;
    const float x[] = {1, 2};
    wengert::write_npy(dir / "x.npy", "f4", {2}, x, 8);
    const std::string before = get(dir / "x.npy");
    CHECK_THROWS_AS(wengert::write_npy(dir / "x.npy", "f4", {3}, x, 8), Error);
    CHECK_THROWS_AS(wengert::write_npy(dir / "x.npy", "c8", {1}, x, 8), Error);
    CHECK_THROWS_AS(wengert::write_npy(dir / "no/x.npy", "f4", {2}, x, 8), Error);
    const NpyView view{"f4", {2}, std::as_bytes(std::span(x))};
    CHECK_THROWS_AS(wengert::write_npz(dir / "x.npy", {{"a", view}, {"a", view}}), Error);
    // the size is refused before anything is read
    const NpyView huge{"b1", {std::int64_t{1} << 32}, {view.bytes.data(), std::size_t{1} << 32}};
    CHECK_THROWS_AS(wengert::write_npz(dir / "x.npy", {{"a", view}, {"b", huge}}), Error);
    CHECK(get(dir / "x.npy") == before);
    CHECK(dir.files() == 1);
}

TEST_CASE("what is no regular file is neither written nor replaced")
{
    const Folder dir;
    const float x[] = {1, 2};
    const std::string pipe = dir / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THROWS_AS(wengert::write_npy(pipe, "f4", {2}, x, 8), Error);
    CHECK_THROWS_AS(wengert::write_npy(dir.path.string(), "f4", {2}, x, 8), Error);
    CHECK(fs::is_fifo(pipe));
    CHECK(dir.files() == 1);
}

TEST_CASE("npz round trip; equal arrays give equal files")
{
    const Folder dir;
    const double x[] = {1.5, -2.5, 3.5, 4.5};
    const std::int64_t l[] = {7};
    const std::vector<std::pair<std::string, NpyView>> arrays{
        {"layers/0/weight", {"f8", {2, 2}, std::as_bytes(std::span(x))}},
        {"größe", {"i8", {}, std::as_bytes(std::span(l))}},
        {"empty", {"f4", {0, 3}, {}}}};
    wengert::write_npz(dir / "a.npz", arrays);
    wengert::write_npz(dir / "b.npz", arrays);
    CHECK(get(dir / "a.npz") == get(dir / "b.npz"));
    const auto back = wengert::read_npz(dir / "a.npz");
    REQUIRE(back.size() == 3);
    CHECK(values<double>(back.at("layers/0/weight")) == std::vector<double>(x, x + 4));
    CHECK(back.at("layers/0/weight").shape == std::vector<std::int64_t>{2, 2});
    CHECK(values<std::int64_t>(back.at("größe")) == std::vector<std::int64_t>{7});
    CHECK(back.at("empty").shape == std::vector<std::int64_t>{0, 3});
    wengert::write_npz(dir / "none.npz", {});
    CHECK(wengert::read_npz(dir / "none.npz").empty());
    wengert::zip::Crc crc;
    crc.add("123456789", 9);
    CHECK(crc.value() == 0xCBF43926u);  // the check value of CRC-32
}

TEST_CASE("every truncation and every flipped bit of a npz is noticed or harmless")
{
    const Folder dir;
    const double x[] = {1.5, -2.5};
    wengert::write_npz(dir / "a.npz", {{"a", {"f8", {2}, std::as_bytes(std::span(x))}}});
    const std::string good = get(dir / "a.npz");
    for (std::size_t size = 0; size < good.size(); ++size)
        if (complaint(dir, "bad.npz", good.substr(0, size)).empty()) FAIL("truncated at " << size);
    const std::size_t data = 30 + 5;  // local header and name
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
        std::string bad = good;
        bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
        const bool refused = !complaint(dir, "bad.npz", bad).empty();
        if (bit / 8 >= data && bit / 8 < data + 128 + sizeof x && !refused) FAIL("bit " << bit);
    }
    std::string deflated = good;
    deflated[8] = 8;
    deflated[good.size() - 22 - 51 + 10] = 8;
    CHECK(!complaint(dir, "bad.npz", deflated).empty());
}

TEST_CASE("writing through a symbolic link keeps the link")
{
    const Folder dir;
    fs::create_directory(dir / "data");
    const double x = 2.5, y = 3.5;
    wengert::write_npy(dir / "data/real.npy", "f8", {}, &x, 8);
    fs::create_symlink("data/real.npy", dir / "link.npy");
    fs::create_symlink("link.npy", dir / "second.npy");
    wengert::write_npy(dir / "second.npy", "f8", {}, &y, 8);
    CHECK(fs::is_symlink(dir / "link.npy"));
    CHECK(fs::is_symlink(dir / "second.npy"));
    CHECK(values<double>(wengert::read_npy(dir / "data/real.npy")) == std::vector<double>{3.5});
    fs::create_symlink("data/new.npy", dir / "ahead.npy");  // to what is not there yet
    wengert::write_npy(dir / "ahead.npy", "f8", {}, &y, 8);
    CHECK(fs::is_regular_file(dir / "data/new.npy"));
    fs::create_symlink("b.npy", dir / "a.npy");
    fs::create_symlink("a.npy", dir / "b.npy");
    CHECK_THROWS_WITH(wengert::write_npy(dir / "a.npy", "f8", {}, &y, 8), contains("circle"));
}

TEST_CASE("a sparse file that claims more than memory is refused by name and size")
{
    const Folder dir;
    put(dir / "sparse.npy", "x");
    std::error_code no;
    fs::resize_file(dir / "sparse.npy", std::uintmax_t{1} << 42, no);  // 4 TiB
    if (no) return;                                                    // this file system has no such files
    CHECK_THROWS_AS(wengert::read_npy(dir / "sparse.npy"), wengert::MemoryError);
    CHECK_THROWS_WITH(wengert::read_npy(dir / "sparse.npy"),
                      contains("sparse.npy") && contains("4398046511104"));
}
