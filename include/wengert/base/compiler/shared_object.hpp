// Text to code: the system's compiler makes a shared object of it, which is kept on disk under the hash of everything that
// it depends on. docs/freezing.md says where and what is checked.
//
// The folder is the user's own ($XDG_CACHE_HOME/wengert or ~/.cache/wengert, mode 0700). A folder or file that belongs to
// somebody else, or that others may write to, is not used. Objects are written beside their place and renamed to it, so
// that two processes never see half of one; each ends with a hash of its bytes, and says which text it was made from.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../error.hpp"
#include "hash.hpp"
#include "process.hpp"

namespace wengert::detail {

/// Code that has been loaded, for as long as this lives.
class SharedObject {
public:
    explicit SharedObject(void* handle) noexcept : handle_(handle) {}
    SharedObject(const SharedObject&) = delete;
    SharedObject& operator=(const SharedObject&) = delete;
    ~SharedObject() { ::dlclose(handle_); }
    void* symbol(const char* name) const noexcept { return ::dlsym(handle_, name); }

private:
    void* handle_;
};

/// Everything in a file that is this user's and nobody else may write to; false for others.
inline bool read_private(const std::string& path, std::string& content)
{
    const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return false;
    struct Closer {
        int fd;
        ~Closer() { ::close(fd); }
    } closer{fd};
    struct stat s;
    if (::fstat(fd, &s) != 0 || !S_ISREG(s.st_mode) || s.st_uid != ::geteuid() || (s.st_mode & 022))
        return false;
    content.resize(static_cast<std::size_t>(s.st_size));
    std::size_t done = 0;
    while (done < content.size()) {
        const ssize_t n = ::read(fd, content.data() + done, content.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += static_cast<std::size_t>(n);
    }
    return true;
}

/// A new file that cannot be written whole, as on a full disk, is not left behind.
inline bool write_file(const std::string& path, std::string_view content, int flags)
{
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
    if (fd < 0) return false;
    std::size_t done = 0;
    while (done < content.size()) {
        const ssize_t n = ::write(fd, content.data() + done, content.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        done += static_cast<std::size_t>(n);
    }
    const bool whole = ::close(fd) == 0 && done == content.size();
    if (!whole && (flags & O_EXCL)) ::unlink(path.c_str());
    return whole;
}

/// A folder that this user owns and others cannot write to, made if it is not there.
inline bool private_folder(const std::string& path)
{
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return false;
    struct stat s;
    return ::lstat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == ::geteuid() &&
           !(s.st_mode & 022) && ::access(path.c_str(), W_OK | X_OK) == 0;
}

/// The folder of cached objects, or "".
inline std::string cache_folder()
{
    std::string base;
    if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && xdg[0] == '/') base = xdg;
    if (base.empty()) {
        const char* home = std::getenv("HOME");
        if (!home || home[0] != '/') return {};
        base = std::string(home) + "/.cache";
    }
    ::mkdir(base.c_str(), 0700);
    base += "/wengert";
    return private_folder(base) ? base : std::string();
}

/// A folder that goes with everything in it that this process has put there.
class TemporaryFolder {
public:
    TemporaryFolder()
    {
        const char* tmp = std::getenv("TMPDIR");
        path_ = std::string(tmp && tmp[0] == '/' ? tmp : "/tmp") + "/wengert-XXXXXX";
        if (!::mkdtemp(path_.data())) path_.clear();
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder()
    {
        if (path_.empty()) return;
        for (const std::string& name : files_) ::unlink(name.c_str());
        ::rmdir(path_.c_str());
    }
    const std::string& path() const noexcept { return path_; }
    std::string file(const char* name)
    {
        files_.push_back(path_ + "/" + name);
        return files_.back();
    }

private:
    std::string path_;
    std::vector<std::string> files_;
};

/// The compiler's command, and what its objects depend on.
struct Compiler {
    std::vector<std::string> command;  ///< empty: there is none
    std::string identity;              ///< its version and this processor
};

/// The description of the processor, on which -march=native depends.
inline std::string processor()
{
    std::string text;
    const int fd = ::open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return text;
    text.resize(16384);
    const ssize_t n = ::read(fd, text.data(), text.size());
    ::close(fd);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    std::string kept;
    for (const char* key : {"model name", "flags", "CPU part", "Features"}) {
        const std::size_t at = text.find(key);
        if (at != std::string::npos)
            kept += text.substr(at, std::min(text.find('\n', at), text.size()) - at) + "\n";
    }
    return kept;
}

/// The first of these commands that is there.
inline Compiler find_compiler(std::string_view preferred)
{
    for (const std::string_view name :
         {preferred, std::string_view("g++"), std::string_view("clang++"), std::string_view("c++")}) {
        std::vector<std::string> command = words_of(name);
        if (command.empty() || (command[0] = find_program(command[0])).empty()) continue;
        TemporaryFolder folder;
        if (folder.path().empty()) return {};
        const std::string output = folder.file("version");
        std::vector<std::string> ask = command;
        ask.push_back("--version");
        std::string version;
        if (run_program(ask, output) != 0 || !read_private(output, version)) continue;
        return {std::move(command), version + processor()};
    }
    return {};
}

/// $CXX, g++, clang++ or c++; asked for its version once for each value of $CXX and $PATH.
inline const Compiler& compiler_now()
{
    static thread_local std::string known;
    static thread_local Compiler compiler;
    const char *cxx = std::getenv("CXX"), *path = std::getenv("PATH");
    const std::string now = std::string(cxx ? cxx : "") + '\n' + (path ? path : "");
    if (now != known || compiler.command.empty()) {
        compiler = find_compiler(cxx ? cxx : "");
        known = now;
    }
    return compiler;
}

/// Code of a text that defines `wg_hash`, or null and what went wrong.
struct Compiled {
    std::shared_ptr<SharedObject> object;
    std::string message;
    bool from_cache = false;
};

inline constexpr std::string_view object_seal = "wengert object ";

inline std::string seal_of(std::string_view bytes)
{
    return std::string(object_seal) + Hash128().add(bytes).text();
}

/// An object in its place, if it is whole and was made from this text.
inline std::shared_ptr<SharedObject> load_object(const std::string& path, const std::string& hash)
{
    std::string content;
    const std::size_t seal = object_seal.size() + 32;
    if (!read_private(path, content) || content.size() < seal) return {};
    const std::string_view bytes(content.data(), content.size() - seal);
    if (std::string_view(content).substr(bytes.size()) != seal_of(bytes)) return {};
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) return {};
    auto object = std::make_shared<SharedObject>(handle);
    const auto* said = static_cast<const char*>(object->symbol("wg_hash"));
    return said && hash == said ? object : nullptr;
}

/// Compiles `text` into folder/hash.so.
inline std::string build_object(const Compiler& compiler, const std::vector<std::string>& flags,
                                const std::string& text, const std::string& folder, const std::string& hash,
                                int number)
{
    const std::string mine =
        folder + "/" + hash + "." + std::to_string(::getpid()) + "." + std::to_string(number);
    const std::string source = mine + ".cpp", object = mine + ".so", log = mine + ".log";
    struct Files {
        std::vector<std::string> names;
        ~Files()
        {
            for (const std::string& n : names) ::unlink(n.c_str());
        }
    } files;
    if (!write_file(source, text, O_EXCL)) return "cannot write to " + folder;
    files.names = {source, object, log};
    std::vector<std::string> command = compiler.command;
    command.insert(command.end(), flags.begin(), flags.end());
    for (const std::string& word : {std::string("-o"), object, source}) command.push_back(word);
    std::string content;
    const int status = run_program(command, log);
    if (status == stopped)
        return command[0] + " was stopped after " + std::to_string(compiler_seconds()) + " s";
    if (status != 0) {
        if (!read_private(log, content) || content.empty()) content = "it did not run";
        return command[0] + " failed: " + content.substr(0, 2000);
    }
    ::chmod(object.c_str(), 0600);
    if (!read_private(object, content)) return "cannot read what " + command[0] + " wrote to " + folder;
    if (!write_file(object, seal_of(content), O_APPEND) ||
        ::rename(object.c_str(), (folder + "/" + hash + ".so").c_str()) != 0)
        return "cannot write to " + folder;
    return {};
}

/// The text as code: from the cache, or compiled now. Without a usable cache it is compiled into a folder that goes away.
inline Compiled compile_text(const std::string& text, const std::vector<std::string>& flags)
{
    static std::atomic<int> number{0};
    const Compiler& compiler = compiler_now();
    if (compiler.command.empty())
        return {{},
                "there is no C++ compiler (looked for $CXX, g++, clang++, c++): the graph runs as tiles",
                false};
    Hash128 h;
    h.add(compiler.identity).add(text);
    for (const auto* list : {&compiler.command, &flags})
        for (const std::string& word : *list) h.add(word);
    const std::string hash = h.text();
    const std::string whole =
        text + "\nextern \"C\" { extern const char wg_hash[]; const char wg_hash[] = \"" + hash + "\"; }\n";
    std::string folder = cache_folder();
    if (!folder.empty())
        if (auto object = load_object(folder + "/" + hash + ".so", hash))
            return {std::move(object), {}, true};
    std::unique_ptr<TemporaryFolder> temporary;
    if (folder.empty()) {
        temporary = std::make_unique<TemporaryFolder>();
        folder = temporary->path();
        if (folder.empty()) return {{}, "there is no folder to compile in: the graph runs as tiles", false};
        temporary->file((hash + ".so").c_str());
    }
    const std::string failed = build_object(compiler, flags, whole, folder, hash, ++number);
    if (!failed.empty()) return {{}, failed + ": the graph runs as tiles", false};
    auto object = load_object(folder + "/" + hash + ".so", hash);
    if (!object)
        return {{}, "cannot load what was compiled in " + folder + ": the graph runs as tiles", false};
    return {std::move(object), {}, false};
}

}  // namespace wengert::detail
