// Whole files in and out: what is written appears under its name complete or not at all.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "error.hpp"

namespace wengert::file {

struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
};
using Handle = std::unique_ptr<std::FILE, Close>;

[[noreturn]] inline void fail(const std::string& path, const std::string& what)
{
    throw Error("[file] '" + path + "': " + what);
}

inline std::vector<std::byte> read(const std::string& path)
{
    const Handle f(std::fopen(path.c_str(), "rb"));
    if (!f) fail(path, std::string("cannot open for reading: ") + std::strerror(errno));
    // A folder opens, and its size is nonsense; only reading tells.
    if (std::fgetc(f.get()) == EOF && std::ferror(f.get()))
        fail(path, std::string("cannot read: ") + std::strerror(errno));
    const long size = std::fseek(f.get(), 0, SEEK_END) == 0 ? std::ftell(f.get()) : -1;
    if (size < 0 || std::fseek(f.get(), 0, SEEK_SET) != 0) fail(path, "cannot read: not an ordinary file");
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    if (std::fread(bytes.data(), 1, bytes.size(), f.get()) != bytes.size())
        fail(path, "cannot read to its end");
    return bytes;
}

/// A new file beside `path` that commit() renames to it; without commit() it disappears.
class Writer {
public:
    explicit Writer(std::string path) : path_(std::move(path))
    {
        // "x" refuses an existing file, so that two processes never write the same one.
        for (int i = 0; i < 1000 && !file_; ++i) {
            partial_ = path_ + ".partial" + std::to_string(i);
            file_.reset(std::fopen(partial_.c_str(), "wbx"));
            if (!file_ && errno != EEXIST) break;
        }
        if (!file_) fail(path_, std::string("cannot create ") + partial_ + ": " + std::strerror(errno));
    }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer()
    {
        if (committed_) return;
        file_.reset();
        std::remove(partial_.c_str());
    }

    void write(const void* data, std::size_t bytes)
    {
        if (bytes > 0 && std::fwrite(data, 1, bytes, file_.get()) != bytes)
            fail(path_, std::string("cannot write: ") + std::strerror(errno));
    }
    void write(const std::string& text) { write(text.data(), text.size()); }

    void commit()
    {
        if (std::fclose(file_.release()) != 0)
            fail(path_, std::string("cannot write: ") + std::strerror(errno));
        if (std::rename(partial_.c_str(), path_.c_str()) != 0)
            fail(path_, std::string("cannot rename ") + partial_ + ": " + std::strerror(errno));
        committed_ = true;
    }

private:
    std::string path_, partial_;
    Handle file_;
    bool committed_ = false;
};

}  // namespace wengert::file
