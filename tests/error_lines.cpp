// No error that a test provokes names a line of the library: it names the user's, or none. Linked to every program of Catch2 tests, this
// looks at each exception as it is thrown; a program in which one did so fails at its end.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <typeinfo>

#include <wengert/tape/apply.hpp>

#include "sanitizers.hpp"

namespace {

/// Thrown and caught within the library: a rule read what its operation has not saved.
bool is_of_a_rule(const std::type_info& type)
{
    return type == typeid(wengert::detail::EmptyTensor) && wengert::Tape::current().in_rule;
}

/// Names of the library's files, and the errors that named one of them.
struct Lines {
    Lines()
    {
        const auto include = std::filesystem::path(WENGERT_TESTS_DIR).parent_path() / "include" / "wengert";
        for (const auto& file : std::filesystem::recursive_directory_iterator(include))
            if (file.is_regular_file()) library.insert(file.path().filename().string());
    }
    ~Lines()
    {
        if (wrong.empty()) return;
        std::fprintf(stderr, "errors that name a line of the library instead of the user's:\n");
        for (const std::string& text : wrong) std::fprintf(stderr, "    %s\n", text.c_str());
        std::fflush(nullptr);
        _exit(1);
    }
    void look_at(const std::string& text)
    {
        const std::size_t open = text.rfind('('), colon = text.rfind(':');
        if (open == text.npos || colon == text.npos || colon < open) return;
        const std::lock_guard hold(turn);
        if (library.count(text.substr(open + 1, colon - open - 1))) wrong.insert(text);
    }
    std::mutex turn;
    std::set<std::string> library, wrong;
};

Lines& lines()
{
    static Lines all;
    return all;
}
[[maybe_unused]] const Lines& first = lines();  // after main() it is the last to go

}  // namespace

#if defined(WENGERT_TESTS_ASAN)
extern "C" void __asan_handle_no_return();
#endif

extern "C" [[noreturn]] void __cxa_throw(void* thrown, void* type, void (*destroy)(void*))
{
    using Throw = void(void*, void*, void (*)(void*));
    static Throw* const next = reinterpret_cast<Throw*>(dlsym(RTLD_NEXT, "__cxa_throw"));
    void* error = thrown;
    const auto& thrown_type = *static_cast<const std::type_info*>(type);
    if (typeid(wengert::Error).__do_catch(&thrown_type, &error, 1) && !is_of_a_rule(thrown_type))
        lines().look_at(static_cast<const wengert::Error*>(error)->what());
#if defined(WENGERT_TESTS_ASAN)
    __asan_handle_no_return();
#endif
    next(thrown, type, destroy);
    std::abort();
}
