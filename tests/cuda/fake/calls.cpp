// Calls of functions, counted, and those that are to fail: see fake.hpp.
#include "fake.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>

namespace fake {

std::string setting(const char* name)
{
    const char* const s = std::getenv((std::string("WENGERT_FAKE_CUDA_") + name).c_str());
    return s ? s : "";
}
int number_of(const char* name, int otherwise)
{
    const std::string s = setting(name);
    return s.empty() ? otherwise : std::atoi(s.c_str());
}

namespace {

struct Failure {
    int after = 0, times = 0;
    Result result = 0;
};
struct Calls {
    std::recursive_mutex mutex;
    std::map<std::string, long> counts, bytes;
    std::map<std::string, Failure> failures;
    Result failed = success;
};
Calls& calls()
{
    static auto* const all = [] {
        auto* made = new Calls;
        if (const std::string f = setting("FAIL"); !f.empty()) {
            char name[64] = {};
            Failure what;
            if (std::sscanf(f.c_str(), "%63[^:]:%d:%d:%d", name, &what.after, &what.times, &what.result) == 4)
                made->failures[name] = what;
        }
        return made;
    }();
    return *all;
}
Result counted(const char* function)
{
    Result r = success;
    for (const char* name : {function, "*"}) {
        ++calls().counts[name];
        if (const Result one = ordered(name)) r = one;
    }
    return r ? r : calls().failed;
}

}  // namespace

Result ordered(const char* function)
{
    const auto f = calls().failures.find(function);
    if (f == calls().failures.end() || f->second.after == 0) return success;
    Failure& what = f->second;
    if (what.after > 1) {
        --what.after;
        return success;
    }
    if (what.times == 0) return success;
    if (--what.times == 0) what.after = 0;
    return what.result;
}

Call::Call(const char* function) : result(0), lock_(calls().mutex) { result = counted(function); }
void moved(const char* function, std::size_t bytes) { calls().bytes[function] += static_cast<long>(bytes); }
Result failed() { return calls().failed; }
void fail_for_good(const std::string& why)
{
    std::fprintf(stderr, "fake CUDA: %s\n", why.c_str());
    calls().failed = illegal_address;
    drop_all_work();
}

}  // namespace fake

void fake_cuda_fail(const char* function, int after, int times, int result)
{
    fake::calls().failures[function] = {after, times, result};
}
long fake_cuda_calls(const char* function) { return fake::calls().counts[function]; }
long fake_cuda_bytes_moved(const char* function) { return fake::calls().bytes[function]; }
void fake_cuda_break() { fake::fail_for_good("broken by a test"); }
void fake_cuda_heal() { fake::calls().failed = fake::success; }
