// Every allocation fails once, in programs that freeze, loop, checkpoint, hook and read files: operator new's and the pool's.
// After each failure the thread is as it was, nothing has leaked, and the same program gives its result.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <new>
#include <string>

#include <dlfcn.h>
#include <unistd.h>

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/transforms/checkpoint.hpp>
#include <wengert/transforms/checkpoint_loop.hpp>
#include <wengert/transforms/custom.hpp>
#include <wengert/transforms/derivatives.hpp>
#include <wengert/io/trees.hpp>
#include <wengert/transforms/preaccumulate.hpp>
#include <wengert/transforms/saved_tensor_hooks.hpp>

#include "check.hpp"

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

/// Which of operator new's fail: as the pool's own.
thread_local constinit wg::memory::Injection injection;

bool fails() noexcept
{
    if (injection.fail_at == 0) return false;
    const auto n = ++injection.count - injection.fail_at;
    return n >= 0 && n < injection.times;
}

void* allocate(std::size_t bytes, std::size_t alignment = 0) noexcept
{
    if (fails()) return nullptr;
    bytes = bytes ? bytes : 1;
    return alignment ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
                     : std::malloc(bytes);
}
void* or_throw(void* p) { return p ? p : throw std::bad_alloc(); }

}  // namespace

/// The C library's own memory for a file may be what is missing.
extern "C" std::FILE* fopen(const char* name, const char* mode)
{
    if (fails()) {
        errno = ENOMEM;
        return nullptr;
    }
    using Open = std::FILE* (*)(const char*, const char*);
    static const auto open = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "fopen"));
    return open(name, mode);
}

void* operator new(std::size_t bytes) { return or_throw(allocate(bytes)); }
void* operator new[](std::size_t bytes) { return or_throw(allocate(bytes)); }
void* operator new(std::size_t bytes, std::align_val_t a)
{
    return or_throw(allocate(bytes, static_cast<std::size_t>(a)));
}
void* operator new[](std::size_t bytes, std::align_val_t a)
{
    return or_throw(allocate(bytes, static_cast<std::size_t>(a)));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }

namespace {

/// What a failure must leave as it was.
struct State {
    std::size_t nodes = wg::Tape::current().size();
    std::size_t depth = wg::Tape::current().depth();
    std::uint64_t active = wg::Tape::current().active;
    const void* recorder = wg::recorder();
    const void* keys = wg::key_hook;
    std::int64_t bytes = wg::memory::stats().current_bytes;

    bool same_thread(const State& s) const
    {
        return nodes == s.nodes && depth == s.depth && active == s.active && recorder == s.recorder &&
               keys == s.keys;
    }
};

/// How one run with failing allocations ended.
enum class End { whole, served, failed, other };

template <class F>
End run_failing(bool pool, const wg::memory::Injection& failing, const F& f, double& result)
{
    wg::memory::Injection& armed = pool ? wg::memory::injection : injection;
    const auto reached = [&] { return std::exchange(armed, {}).count >= failing.fail_at; };
    armed = failing;
    try {
        result = f();
        return reached() ? End::served : End::whole;  // served: another way was found
    } catch (const std::bad_alloc&) {
        reached();
        return End::failed;
    } catch (const wg::MemoryError&) {
        reached();
        return End::failed;
    } catch (const std::exception& e) {
        reached();
        std::printf("another exception: %s\n", e.what());
        return End::other;
    }
}

/// Unlike &&, all of them are looked at.
bool every(std::initializer_list<bool> checks) { return std::ranges::find(checks, false) == checks.end(); }

/// Each of the first allocations fails, then ever fewer of them: alone, with the next one, with all after it. What f keeps
/// from one run to the next may be gone after a failure, but not after the run that follows.
template <class F, class Check>
void under_fire(const std::string& name, bool keeps, const F& f, const Check& unchanged)
{
    const double want = f();
    f();
    const State before;
    int failures = 0;
    for (const bool pool : {true, false})
        for (const std::int64_t times : {std::int64_t{1}, std::int64_t{2}, std::int64_t{1} << 40})
            for (std::int64_t n = 1;; n += 1 + (n > 50 ? n / (times == 1 ? 20 : 8) : 0)) {
                double got = want;
                const End end = run_failing(pool, {n, 0, times}, f, got);
                const State after;
                bool good =
                    every({CHECK(end != End::other), CHECK(got == want), CHECK(after.same_thread(before)),
                           CHECK(unchanged()), keeps || CHECK(after.bytes == before.bytes)});
                if (wg::recorder()) std::abort();  // in a frame that is gone
                if (end == End::whole) break;
                ++failures;
                good = every({good, CHECK(f() == want), CHECK(State().same_thread(before)),
                              CHECK(State().bytes == before.bytes), CHECK(unchanged())});
                if (!good)
                    std::printf("  in %s, allocation %d of %s and %s\n", name.c_str(), static_cast<int>(n),
                                pool ? "the pool" : "operator new",
                                times == 1   ? "no other"
                                : times == 2 ? "the next"
                                             : "all after it");
            }
    CHECK(failures > 1);
}
template <class F> void under_fire(const std::string& name, const F& f)
{
    under_fire(name, false, f, [] { return true; });
}

const auto model = [](const D& x) { return sum(tanh(x * x + 0.5) * exp(0.1 * x)); };
const auto step = [](const D& s) { return s + 0.1 * sin(s); };
D at() { return {0.3, -0.2, 0.9}; }

/// A frozen function under fire: made and traced, replayed, checked.
template <class F> void frozen(const std::string& name, const F& f, const wg::FreezeOptions& options = {})
{
    const D x = at();
    under_fire(name + ", traced", [&] { return sum(wg::freeze(f, options)(x)).item(); });
    auto g = wg::freeze(f, options);
    static_cast<void>(g(x));
    under_fire(
        name + ", replayed", true, [&] { return sum(g(x)).item(); },
        [&] { return g.stats().traces == 1 && g.stats().eager_calls == 0; });
    auto checked = [&] {
        auto h = wg::freeze(f, options);
        double s = 0;
        for (int i = 0; i < 3; ++i) s = sum(h(x)).item();  // the replays 1 and 2 are checked
        return s;
    };
    under_fire(name + ", checked", checked);
}

void frozen_functions()
{
    frozen("a function", [](const D& x) { return tanh(x * x) + model(x); });
    frozen("a gradient", wg::grad(model));
    frozen("native code", wg::grad(model), {.backend = wg::native});
    frozen("scan", [](const D& x) {
        return wg::grad([](const D& u) {
            return sum(wg::scan([&u](const D& s) { return std::pair(step(s) * u, sum(s)); }, u, 4).first);
        })(x);
    });
    frozen("while_loop and cond", [](const D& x) {
        const D y =
            wg::while_loop([](const D& s) { return sum(s) < 3.0; }, [&x](const D& s) { return s + x; }, x);
        return wg::cond(
            sum(y) > 0.0, [](const D& s) { return s * s; }, [](const D& s) { return sin(s); }, y);
    });
    frozen("random numbers",
           [](const D& x) { return x * wg::normal<double>(wg::split(wg::Key(1)).first, {3}); });
    frozen("a rule", [](const D& x) {
        const auto rule = wg::custom_vjp([](const D& t) { return sin(t); },
                                         [](const D& g, const D&, const D& t) { return g * cos(t); });
        return wg::grad([&](const D& t) { return sum(rule(t)); })(x);
    });
}

/// A frozen function on variables: one section of the tape.
void frozen_sections()
{
    const D x = at();
    auto f = wg::freeze(model);
    static_cast<void>(f(x));
    under_fire(
        "a frozen function under grad", true,
        [&] { return sum(wg::grad([&](const D& t) { return f(t) * 2.0; })(x)).item(); },
        [&] { return f.stats().traces == 1; });
    under_fire("the same from the start", [&] {
        auto g = wg::freeze(model);
        return sum(wg::grad([&](const D& t) { return g(t) * 2.0; })(x)).item();
    });
}

/// Several graphs for one function: by a branch, and by the extent of a batch.
void several_paths()
{
    const D x = at();
    auto f = wg::freeze([](const D& t) { return sum(t).item() > 0.0 ? sum(t * t) : sum(sin(t)); });
    under_fire(
        "two branches", true, [&] { return f(x).item() + f(-x).item(); },
        [&] { return f.stats().traces == 2 && f.stats().eager_calls == 0; });
    under_fire("one graph for both branches", [&] {
        auto g = wg::freeze([](const D& t) {
            return wg::cond(
                sum(t) > 0.0, [](const D& s) { return sum(s * s); }, [](const D& s) { return sum(sin(s)); },
                t);
        });
        const double both = g(x).item() + g(-x).item();
        return both + 100.0 * static_cast<double>(g.stats().traces);
    });
    under_fire("a batch of any size", [] {
        auto g = wg::freeze([](const D& t) { return sum(t * t, {1}); }, {.dynamic = {0}});
        double s = 0;
        for (std::int64_t n : {2, 3, 5, 5}) s += sum(g(wg::ones<double>({n, 3}))).item();
        return s;
    });
}

void live_tensors()
{
    const D x = at();
    D state = x;
    auto f = wg::freeze([&](const D& t) {
        state = state + t;
        return sum(state);
    });
    f.live(state);
    under_fire(
        "a live tensor", true,
        [&] {
            state = x;
            static_cast<void>(f(x));
            return f(x).item();
        },
        [&] { return state.defined() && f.stats().traces <= 1; });
}

void loops_and_checkpoints()
{
    const D x = at();
    under_fire("scan with snapshots", [&] {
        return sum(wg::grad([](const D& u) {
                   return sum(wg::scan([](const D& s) { return std::pair(step(s), std::tuple()); }, u, 6,
                                       {.snapshots = 2})
                                  .first);
               })(x))
            .item();
    });
    under_fire("checkpoint", [&] {
        return sum(wg::grad([](const D& u) { return sum(wg::checkpoint(step)(u)); })(x)).item();
    });
    under_fire("checkpoint_loop", [&] {
        return sum(wg::grad([](const D& u) {
                   return sum(wg::checkpoint_loop(step, u, {.steps = 6, .snapshots = 2}));
               })(x))
            .item();
    });
    under_fire("checkpoint_loop on disk", [&] {
        return sum(wg::grad([](const D& u) {
                   return sum(wg::checkpoint_loop(
                       step, u, {.steps = 6, .snapshots = 2, .folder = "/tmp", .chunk = 2}));
               })(x))
            .item();
    });
    under_fire("preaccumulate", [&] {
        return sum(wg::grad([](const D& u) { return sum(square(wg::preaccumulate(step)(u))); })(x)).item();
    });
    under_fire("custom_vjp", [&] {
        const auto rule = wg::custom_vjp([](const D& t) { return sin(t); },
                                         [](const D& g, const D&, const D& t) { return g * cos(t); });
        return sum(wg::grad([&](const D& t) { return sum(rule(t)); })(x)).item();
    });
}

void hooks()
{
    const D x = wg::linspace<double>(0.1, 1.0, 200);  // smaller ones are not packed
    under_fire("save_as_float32", [&] {
        wg::SavedTensorHooks hooks(wg::save_as_float32());
        return sum(wg::grad(model)(x)).item();
    });
    under_fire("save_on_disk", [&] {
        wg::SavedTensorHooks hooks(wg::save_on_disk("/tmp"));
        return sum(wg::grad(model)(x)).item();
    });
}

void files()
{
    const auto both = std::pair(at(), wg::linspace<double>(0.0, 1.0, 20));
    char folder[] = "/tmp/wengert-allocation-XXXXXX";
    if (!CHECK(::mkdtemp(folder) != nullptr)) return;
    const std::string path = std::string(folder) + "/both.npz";
    under_fire("npz", [&] {
        wg::save_npz(path, both);
        const auto back = wg::load_npz(path, both);
        return sum(back.first).item() + sum(back.second).item();
    });
    under_fire("npz by name", [&] {
        const auto back = wg::load_npz<double>(path);
        return sum(back.begin()->second).item() + static_cast<double>(back.size());
    });
    CHECK(::unlink(path.c_str()) == 0);
    under_fire("npy", [&] {
        wg::save_npy(path, both.second);
        return sum(wg::load_npy<double>(path)).item();
    });
    CHECK(::unlink(path.c_str()) == 0);
    CHECK(::rmdir(folder) == 0);  // no temporary file is left
}

}  // namespace

int main()
{
    frozen_functions();
    frozen_sections();
    several_paths();
    live_tensors();
    loops_and_checkpoints();
    hooks();
    files();
    return report("allocation_failures");
}
