// libcuda of the fake devices: see fake.hpp.
#include "fake.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

namespace fake {

/// How often an event has been recorded, and how many of those its streams have come to.
struct Event {
    std::uint64_t recorded = 0, reached = 0;
    Stream* stream = nullptr;
};
struct Work {
    std::function<void()> run;
    std::shared_ptr<Event> event = {};  ///< which it waits for
    std::uint64_t reached = 0;
    bool ready() const { return !event || event->reached >= reached; }
};
struct Stream {
    std::deque<Work> work;
    bool captures = false, spoilt = false;  ///< it writes down; somebody has waited for what it writes
    std::vector<std::function<void()>> written = {};
};
/// Work that was written down.
struct Graph {
    std::vector<std::function<void()>> work;
};
struct Module {
    void* library;
};

std::string setting(const char* name)
{
    const char* const s = std::getenv((std::string("WENGERT_FAKE_CUDA_") + name).c_str());
    return s ? s : "";
}

namespace {

struct Failure {
    int after = 0, times = 0;
    Result result = 0;
};
struct State {
    std::recursive_mutex mutex;
    std::map<std::string, long> calls;
    std::map<std::string, Failure> failures;
    std::vector<std::unique_ptr<Stream>> streams;
    std::mt19937 generator{12345};
    std::map<const char*, std::size_t> pinned;
    std::map<Event*, std::shared_ptr<Event>> events;
    int patience =
        0;  ///< of streams that nobody waits for: 0 they run when they must, 1 at once, 2 now and then
    Result failed = success;
};
/// "forwards", "backwards", "random:7": of threads and blocks; of streams, as the number draws it.
void set_all_orders(State& all, const std::string& s)
{
    const auto colon = s.find(':');
    const auto seed = colon == s.npos ? 1U : static_cast<unsigned>(std::atoi(s.c_str() + colon + 1));
    if (colon != s.npos) all.generator.seed(seed);
    set_order(s == "forwards" ? Order::forwards : s == "backwards" ? Order::backwards : Order::random, seed);
}
State& state()
{
    static auto* const s = [] {
        auto* made = new State;
        if (const std::string order = setting("ORDER"); !order.empty()) set_all_orders(*made, order);
        if (const std::string f = setting("FAIL"); !f.empty()) {
            char name[64] = {};
            Failure what;
            if (std::sscanf(f.c_str(), "%63[^:]:%d:%d:%d", name, &what.after, &what.times, &what.result) == 4)
                made->failures[name] = what;
        }
        return made;
    }();
    return *s;
}
int number_of(const char* name, int otherwise)
{
    const std::string s = setting(name);
    return s.empty() ? otherwise : std::atoi(s.c_str());
}
/// Of PTX, whose architecture is negative here, and of machine code.
bool runs_on_these(int made_for)
{
    const int device = number_of("ARCHITECTURE", 90);
    return made_for < 0 ? -made_for <= device : made_for <= device && made_for / 10 == device / 10;
}
bool is_pinned(const void* p)
{
    const auto& all = state().pinned;
    const auto after = all.upper_bound(static_cast<const char*>(p));
    return after != all.begin() &&
           static_cast<const char*>(p) < std::prev(after)->first + std::prev(after)->second;
}

/// One piece of work that is ready: of `s`, or of another stream, as it comes; of another one if s waits for it.
void step(Stream& s)
{
    State& all = state();
    std::vector<Stream*> ready;
    for (const auto& other : all.streams)
        if (!other->work.empty() && other->work.front().ready()) ready.push_back(other.get());
    if (ready.empty()) return fail_for_good("streams wait for each other");
    const auto own = std::find(ready.begin(), ready.end(), &s);
    const bool has_own = own != ready.end();
    if (has_own && ready.size() > 1 && all.patience < 2) {
        std::iter_swap(own, ready.begin());
        if (all.patience == 0)
            ready.resize(1);
        else
            ready.erase(ready.begin());
    }
    Stream& one = *ready[all.generator() % ready.size()];
    const Work work = std::move(one.work.front());
    one.work.pop_front();
    if (work.run) work.run();
}
template <class Done> Result run_until(Stream& s, const Done& done)
{
    State& all = state();
    all.patience = static_cast<int>(all.generator() % 3);
    open_memory();
    while (!done() && !all.failed) step(s);
    if (!red_zones_are_whole()) fail_for_good("something has been written beyond the end of device memory");
    close_memory();
    return all.failed;
}

}  // namespace

namespace {
/// What a call of this name returns by order of a test: 0 for nothing.
Result ordered(State& s, const char* function)
{
    const auto f = s.failures.find(function);
    if (f == s.failures.end() || f->second.after == 0) return success;
    Failure& what = f->second;
    if (what.after > 1) {
        --what.after;
        return success;
    }
    if (what.times == 0) return success;
    if (--what.times == 0) what.after = 0;
    return what.result;
}
Result counted(State& s, const char* function)
{
    Result r = success;
    for (const char* name : {function, "*"}) {
        ++s.calls[name];
        if (const Result one = ordered(s, name)) r = one;
    }
    return r ? r : s.failed;
}
}  // namespace
Call::Call(const char* function) : result(0), lock_(state().mutex) { result = counted(state(), function); }
void fail_for_good(const std::string& why)
{
    std::fprintf(stderr, "fake CUDA: %s\n", why.c_str());
    state().failed = illegal_address;
    for (const auto& s : state().streams) s->work.clear();
    for (const auto& [_, e] : state().events) e->reached = e->recorded;
}
Stream* existing(Stream* s);
void put(Stream* s, std::function<void()> work)
{
    s = existing(s);
    if (s->captures) return s->written.push_back(std::move(work));
    s->work.push_back({std::move(work)});
    if (s->work.size() > 20000) run(s);
}
/// The default streams are the numbers 0, 1 and 2.
Stream* existing(Stream* s)
{
    const auto number = reinterpret_cast<std::uintptr_t>(s);
    if (number > 2) return s;
    static std::map<std::uintptr_t, Stream*> defaults;
    Stream*& one = defaults[number];
    if (!one) {
        state().streams.push_back(std::make_unique<Stream>());
        one = state().streams.back().get();
    }
    return one;
}
Result run(Stream* s)
{
    s = existing(s);
    return run_until(*s, [&] { return s->work.empty(); });
}
Result run_all()
{
    for (const auto& s : state().streams)
        if (const Result r = run(s.get())) return r;
    return success;
}

}  // namespace fake

using fake::Address;
using fake::Result;

void fake_cuda_fail(const char* function, int after, int times, int result)
{
    fake::state().failures[function] = {after, times, result};
}
void fake_cuda_order(const char* order) { fake::set_all_orders(fake::state(), order); }
long fake_cuda_calls(const char* function) { return fake::state().calls[function]; }
void fake_cuda_break() { fake::fail_for_good("broken by a test"); }
void fake_cuda_heal() { fake::state().failed = fake::success; }

FAKE_EXPORT Result cuInit(unsigned) { return fake::Call(__func__).result; }
FAKE_EXPORT Result cuDriverGetVersion(int* version)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    *version = fake::number_of("VERSION", 12000);
    return fake::success;
}
FAKE_EXPORT Result cuGetErrorName(Result r, const char** name)
{
    *name = r == 1     ? "CUDA_ERROR_INVALID_VALUE"
            : r == 2   ? "CUDA_ERROR_OUT_OF_MEMORY"
            : r == 100 ? "CUDA_ERROR_NO_DEVICE"
            : r == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
            : r == 500 ? "CUDA_ERROR_NOT_FOUND"
            : r == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : r == 900 ? "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
            : r == 905 ? "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"
            : r == 999 ? "CUDA_ERROR_UNKNOWN"
                       : nullptr;
    return *name ? fake::success : fake::invalid_value;
}
FAKE_EXPORT Result cuGetErrorString(Result r, const char** text)
{
    *text = r == 2 ? "out of memory" : r == 700 ? "an illegal memory access was encountered" : "an error";
    return fake::success;
}
FAKE_EXPORT Result cuDeviceGetCount(int* count)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    *count = fake::number_of("DEVICES", 1);
    return fake::success;
}
FAKE_EXPORT Result cuDeviceGet(int* device, int ordinal)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    *device = ordinal;
    return ordinal < fake::number_of("DEVICES", 1) ? fake::success : 101;
}
FAKE_EXPORT Result cuDeviceGetName(char* name, int size, int)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    std::snprintf(name, static_cast<std::size_t>(size), "fake device");
    return fake::success;
}
FAKE_EXPORT Result cuDeviceGetAttribute(int* value, int attribute, int)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    const int architecture = fake::number_of("ARCHITECTURE", 90);
    *value = attribute == 16    ? 4
             : attribute == 75  ? architecture / 10
             : attribute == 76  ? architecture % 10
             : attribute == 115 ? 1
                                : 0;
    return fake::success;
}
FAKE_EXPORT Result cuDevicePrimaryCtxRetain(void** context, int)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    static char one;
    *context = &one;
    return fake::success;
}
FAKE_EXPORT Result cuCtxSetCurrent(void* context)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    return context ? fake::success : fake::invalid_value;
}
FAKE_EXPORT Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    *total = std::size_t{1} << 30;
    *free = *total - static_cast<std::size_t>(fake_cuda_bytes_taken());
    return fake::success;
}

FAKE_EXPORT Result cuStreamCreate(fake::Stream** stream, unsigned)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    fake::state().streams.push_back(std::make_unique<fake::Stream>());
    *stream = fake::state().streams.back().get();
    return fake::success;
}
FAKE_EXPORT Result cuStreamSynchronize(fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    stream = fake::existing(stream);
    if (stream->captures) return stream->spoilt = true, 900;
    return fake::run(stream);
}
FAKE_EXPORT Result cuStreamBeginCapture_v2(fake::Stream* stream, int)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (stream->captures) return fake::invalid_value;
    stream->captures = true, stream->spoilt = false;
    stream->written.clear();
    return fake::success;
}
FAKE_EXPORT Result cuStreamEndCapture(fake::Stream* stream, fake::Graph** graph)
{
    const fake::Call call(__func__);
    stream->captures = false;
    if (call.result) return call.result;
    if (stream->spoilt) return 901;
    *graph = new fake::Graph{std::move(stream->written)};
    return fake::success;
}
FAKE_EXPORT Result cuGraphInstantiateWithFlags(fake::Graph** exec, fake::Graph* graph, unsigned long long)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    *exec = new fake::Graph(*graph);
    return fake::success;
}
FAKE_EXPORT Result cuGraphLaunch(fake::Graph* exec, fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    for (const auto& work : exec->work) fake::put(stream, work);
    return fake::success;
}
FAKE_EXPORT Result cuGraphDestroy(fake::Graph* graph)
{
    const fake::Call call(__func__);
    delete graph;
    return call.result;
}
FAKE_EXPORT Result cuGraphExecDestroy(fake::Graph* exec)
{
    const fake::Call call(__func__);
    delete exec;
    return call.result;
}
FAKE_EXPORT Result cuEventCreate(fake::Event** event, unsigned)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    const auto made = std::make_shared<fake::Event>();
    fake::state().events[*event = made.get()] = made;
    return fake::success;
}
FAKE_EXPORT Result cuEventDestroy_v2(fake::Event* event)
{
    const fake::Call call(__func__);
    fake::state().events.erase(event);
    return call.result;
}
FAKE_EXPORT Result cuEventRecord(fake::Event* event, fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    const std::shared_ptr<fake::Event> it = fake::state().events.at(event);
    it->stream = fake::existing(stream);
    if (it->stream->captures) return 900;
    fake::put(stream, [it, n = ++it->recorded] { it->reached = std::max(it->reached, n); });
    return fake::success;
}
FAKE_EXPORT Result cuStreamWaitEvent(fake::Stream* stream, fake::Event* event, unsigned)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    const std::shared_ptr<fake::Event> it = fake::state().events.at(event);
    stream = fake::existing(stream);
    if (stream->captures) return 905;  // CUDA_ERROR_STREAM_CAPTURE_ISOLATION
    if (fake::ordered(fake::state(), "a wait")) return fake::success;
    if (it->reached < it->recorded) stream->work.push_back({nullptr, it, it->recorded});
    return fake::success;
}
FAKE_EXPORT Result cuEventSynchronize(fake::Event* event)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    const std::shared_ptr<fake::Event> it = fake::state().events.at(event);
    if (it->reached == it->recorded) return fake::success;
    return fake::run_until(*it->stream, [it, n = it->recorded] { return it->reached >= n; });
}

FAKE_EXPORT Result cuMemAlloc_v2(Address* p, std::size_t bytes)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (const Result r = fake::take(p, bytes)) return r;
    fake::open_memory();
    fake::fill_fresh(*p);
    fake::close_memory();
    return fake::success;
}
FAKE_EXPORT Result cuMemFree_v2(Address p)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (const Result r = fake::run_all()) return r;
    fake::open_memory();
    fake::give(p);
    fake::close_memory();
    return fake::success;
}
FAKE_EXPORT Result cuMemAllocAsync(Address* p, std::size_t bytes, fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (const Result r = fake::take(p, bytes)) return r;
    fake::open_memory();
    fake::fill_fresh(*p);
    fake::close_memory();
    fake::put(stream, [at = *p] { fake::fill_fresh(at); });
    return fake::success;
}
FAKE_EXPORT Result cuMemFreeAsync(Address p, fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    fake::put(stream, [p] { fake::give(p); });
    return fake::success;
}
FAKE_EXPORT Result cuMemHostAlloc(void** p, std::size_t bytes, unsigned)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    *p = std::malloc(bytes);
    fake::state().pinned[static_cast<const char*>(*p)] = bytes;
    return *p ? fake::success : fake::out_of_memory;
}

// Of pageable memory a copy is made at once, as the driver stages it; pinned memory is read when the copy runs.
FAKE_EXPORT Result cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (!fake::is_live(to, bytes)) return fake::invalid_value;
    if (fake::is_pinned(from)) {
        fake::put(stream, [=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
    } else {
        const auto* const first = static_cast<const char*>(from);
        fake::put(stream, [to, staged = std::vector<char>(first, first + bytes)] {
            std::memcpy(reinterpret_cast<void*>(to), staged.data(), staged.size());
        });
    }
    return fake::success;
}
FAKE_EXPORT Result cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (!fake::is_live(from, bytes)) return fake::invalid_value;
    fake::put(stream, [=] { std::memcpy(to, reinterpret_cast<const void*>(from), bytes); });
    return fake::is_pinned(to) ? fake::success : fake::run(stream);
}
FAKE_EXPORT Result cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (!fake::is_live(from, bytes) || !fake::is_live(to, bytes)) return fake::invalid_value;
    fake::put(stream,
              [=] { std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes); });
    return fake::success;
}
FAKE_EXPORT Result cuMemcpyPeerAsync(Address to, void* here, Address from, void* there, std::size_t bytes,
                                     fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (!here || !there || !fake::is_live(from, bytes) || !fake::is_live(to, bytes))
        return fake::invalid_value;
    fake::put(stream,
              [=] { std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes); });
    return fake::success;
}
FAKE_EXPORT Result cuMemsetD8Async(Address to, unsigned char value, std::size_t count, fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (!fake::is_live(to, count)) return fake::invalid_value;
    fake::put(stream, [=] { std::memset(reinterpret_cast<void*>(to), value, count); });
    return fake::success;
}
FAKE_EXPORT Result cuMemsetD32Async(Address to, unsigned value, std::size_t count, fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (!fake::is_live(to, 4 * count)) return fake::invalid_value;
    fake::put(stream, [=] { std::fill_n(reinterpret_cast<unsigned*>(to), count, value); });
    return fake::success;
}

FAKE_EXPORT Result cuModuleLoadDataEx(fake::Module** module, const void* image, unsigned, int*, void**)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    std::size_t bytes = 0;
    char kind[8] = {};
    int made_for = 0;
    const auto* const text = static_cast<const char*>(image);
    if (std::sscanf(text, "fake %7s %d %zu", kind, &made_for, &bytes) != 3) return fake::no_binary;
    if (!fake::runs_on_these(made_for)) return fake::no_binary;
    std::string object(text + 48, bytes), log;
    if (kind[0] == 't') object = fake::shared_object(object, log);
    char file[] = "/tmp/fake-cuda-XXXXXX";  // a name of its own: dlopen knows libraries by it
    const int to = ::mkstemp(file);
    if (to < 0 || ::write(to, object.data(), object.size()) != static_cast<ssize_t>(object.size()))
        return fake::no_binary;
    ::close(to);
    void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    ::unlink(file);
    if (!library) {
        std::fprintf(stderr, "fake CUDA: %s\n%s\n", ::dlerror(), log.c_str());
        return fake::no_binary;
    }
    *static_cast<fake::Now**>(::dlsym(library, "fake_now")) = fake::now();
    *module = new fake::Module{library};
    return fake::success;
}
FAKE_EXPORT Result cuModuleGetFunction(const fake::Kernel** kernel, fake::Module* module, const char* name)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    *kernel = static_cast<const fake::Kernel*>(
        ::dlsym(module->library, (std::string("fake_kernel_") + name).c_str()));
    return *kernel ? fake::success : fake::not_found;
}
FAKE_EXPORT Result cuLaunchKernel(const fake::Kernel* kernel, unsigned bx, unsigned by, unsigned bz,
                                  unsigned tx, unsigned ty, unsigned tz, unsigned, fake::Stream* stream,
                                  void** parameters, void**)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (std::size_t{tx} * ty * tz == 0 || std::size_t{tx} * ty * tz > 1024 || bx == 0 || by == 0 || bz == 0 ||
        by > 65535 || bz > 65535)
        return fake::invalid_value;
    std::size_t bytes = 0;
    for (int i = 0; i < kernel->count; ++i) bytes += (kernel->sizes[i] + 15) / 16 * 16;
    if (bytes > 4096) return fake::invalid_value;
    // parameters are read when the kernel is launched
    auto copy = std::make_shared<std::vector<std::max_align_t>>(bytes / sizeof(std::max_align_t) + 1);
    auto* at = reinterpret_cast<char*>(copy->data());
    std::vector<void*> each;
    for (int i = 0; i < kernel->count; ++i) {
        std::memcpy(at, parameters[i], kernel->sizes[i]);
        each.push_back(at);
        at += (kernel->sizes[i] + 15) / 16 * 16;
    }
    fake::put(stream, [=]() mutable {
        if (fake::ordered(fake::state(), "a kernel")) return fake::fail_for_good("a kernel fails by order");
        fake::run_kernel(*kernel, each.data(), {bx, by, bz}, {tx, ty, tz});
        static_cast<void>(copy);
    });
    return fake::success;
}
