// Where the operations of scalar code lie on disk when memory is limited: a file of no name, mapped, of which the kernel keeps in
// memory what is in use. A sweep goes through it backwards.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>

#include "../../base/error.hpp"
#include "lines.hpp"

#if __has_include(<sys/mman.h>)
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#define WENGERT_SPILL 1
#endif

namespace wengert::detail {

#ifdef WENGERT_SPILL
class SpillFile {
public:
    explicit SpillFile(const std::string& folder) : folder_(folder)
    {
        std::string name = folder + "/wengert_XXXXXX";
        file_ = mkstemp(name.data());
        if (file_ < 0)
            fail<MemoryError>("scalar code", "no file can be made in " + folder_ + " for operations",
                              line_of_user());
        unlink(name.c_str());
    }
    SpillFile(const SpillFile&) = delete;
    SpillFile& operator=(const SpillFile&) = delete;
    ~SpillFile()
    {
        if (data_) munmap(data_, bytes_);
        close(file_);
    }
    /// Its first bytes stay. What has been written may leave memory. Throws MemoryError where the disk is full.
    void* grow(std::size_t bytes)
    {
        if (posix_fallocate(file_, 0, static_cast<off_t>(bytes)) != 0)
            fail<MemoryError>("scalar code",
                              "no room in " + folder_ + " for " + std::to_string(bytes >> 20) +
                                  " MiB of operations; checkpoint() drops those inside of a function",
                              line_of_user());
        void* const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
        if (p == MAP_FAILED)
            fail<MemoryError>("scalar code", "a file in " + folder_ + " cannot be mapped", line_of_user());
        if (data_) munmap(data_, bytes_);
        data_ = p;
        bytes_ = bytes;
        return p;
    }
    /// Whole pages of this part leave the process; they come back from the file when they are read.
    void rest(std::size_t from, std::size_t to) const noexcept
    {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        from = (from + page - 1) / page * page, to = std::min(to, bytes_) / page * page;
        if (from < to) madvise(static_cast<char*>(data_) + from, to - from, MADV_DONTNEED);
    }

private:
    std::string folder_;
    int file_;
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};
#else
class SpillFile {
public:
    explicit SpillFile(const std::string&)
    {
        fail<MemoryError>("scalar code", "operations cannot be kept on disk on this system", line_of_user());
    }
    void* grow(std::size_t) { return nullptr; }
    void rest(std::size_t, std::size_t) const noexcept {}
};
#endif

}  // namespace wengert::detail
