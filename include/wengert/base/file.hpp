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

#include <sys/stat.h>
#include <unistd.h>

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
/// The same of what the system has just refused, for want of memory or for another reason.
[[noreturn]] inline void fail_by_system(const std::string& path, const std::string& what)
{
    const int reason = errno;
    const std::string text = "[file] '" + path + "': " + what + ": " + std::strerror(reason);
    if (reason == ENOMEM) throw MemoryError(text);
    throw Error(text);
}

/// Bytes for a whole file. Throws MemoryError rather than fill a machine's memory: a sparse file claims any size.
inline std::vector<std::byte> room_for(const std::string& path, std::size_t bytes)
{
    const auto pages = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES));
    try {
        if (bytes / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) < pages)
            return std::vector<std::byte>(bytes);
    } catch (const std::bad_alloc&) {  // said below
    }
    throw MemoryError("[file] '" + path + "': " + std::to_string(bytes) +
                      " bytes are more than memory can hold");
}

inline std::vector<std::byte> read(const std::string& path)
{
    const Handle f(std::fopen(path.c_str(), "rb"));
    if (!f) fail_by_system(path, "cannot open for reading");
    // A folder opens, and its size is nonsense; only reading tells.
    if (std::fgetc(f.get()) == EOF && std::ferror(f.get())) fail_by_system(path, "cannot read");
    const long size = std::fseek(f.get(), 0, SEEK_END) == 0 ? std::ftell(f.get()) : -1;
    if (size < 0 || std::fseek(f.get(), 0, SEEK_SET) != 0) fail(path, "cannot read: not an ordinary file");
    std::vector<std::byte> bytes = room_for(path, static_cast<std::size_t>(size));
    if (!bytes.empty() && std::fread(bytes.data(), 1, bytes.size(), f.get()) != bytes.size())
        fail(path, "cannot read to its end");
    return bytes;
}

/// The file that a symbolic link stands for, whether it exists or not: writing through a link must not replace it.
inline std::string resolve_links(std::string path)
{
    char target[4096];
    for (int links = 0; links < 40; ++links) {  // as many as Linux follows
        const ssize_t n = ::readlink(path.c_str(), target, sizeof target);
        if (n < 0 || n == static_cast<ssize_t>(sizeof target)) return path;
        const std::string to(target, static_cast<std::size_t>(n));
        const std::size_t slash = path.rfind('/');
        path = to[0] == '/' || slash == std::string::npos ? to : path.substr(0, slash + 1) + to;
    }
    fail(path, "cannot write: its symbolic links go round in a circle");
}

/// A new file beside `path`, or beside the file that it links to, that commit() renames to it; without commit() it disappears.
class Writer {
public:
    explicit Writer(const std::string& path) : path_(resolve_links(path))
    {
        struct stat what;
        if (::stat(path_.c_str(), &what) == 0 && !S_ISREG(what.st_mode))
            fail(path_, "cannot write: it is no regular file, and would be replaced by one");
        // "x" refuses an existing file, so that two processes never write the same one.
        for (int i = 0; i < 1000 && !file_; ++i) {
            partial_ = path_ + ".partial" + std::to_string(i);
            file_.reset(std::fopen(partial_.c_str(), "wbx"));
            if (!file_ && errno != EEXIST) break;
        }
        if (!file_) fail_by_system(path_, "cannot create " + partial_);
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
            fail_by_system(path_, "cannot write");
    }
    void write(const std::string& text) { write(text.data(), text.size()); }

    void commit()
    {
        if (std::fclose(file_.release()) != 0) fail_by_system(path_, "cannot write");
        if (std::rename(partial_.c_str(), path_.c_str()) != 0)
            fail_by_system(path_, "cannot rename " + partial_);
        committed_ = true;
    }

private:
    std::string path_, partial_;
    Handle file_;
    bool committed_ = false;
};

/// A file that is this text.
inline void write(const std::string& path, const std::string& text)
{
    Writer out(path);
    out.write(text);
    out.commit();
}

}  // namespace wengert::file
