// A frozen function called by the only thread that there is, while a second one starts and calls it, too. The thread that was
// alone excludes others without an atomic exchange until then (FrozenLock, graph/freeze/frozen_lock.hpp), which happens once a process:
// hence the children.
#include <atomic>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>

#include "check.hpp"

using namespace wengert;
using D = Tensor<double>;

namespace {

/// Who starts first is left to chance: `delay` calls are made before the second thread.
void two_threads(int delay)
{
    std::atomic<int> inside = 0;
    std::atomic<bool> seen = false;
    const auto f = freeze(
        [](const D& x) { return sin(x) * x + 1.0; },
        {.backend = interpret, .check = false, .callback = [&](const GraphNode&, ValueId, const Block&) {
             CHECK(inside.fetch_add(1, std::memory_order_relaxed) == 0);
             inside.fetch_sub(1, std::memory_order_relaxed);
         }});
    const auto call = [&f](double a) {
        const D x(a);
        CHECK(f(x).item() == (sin(x) * x + 1.0).item());
    };
    for (int i = 0; i < delay; ++i) call(0.5);
    CHECK(!several_threads || !fence_everywhere::exists());
    std::thread second([&] {
        for (int i = 0; i < 300; ++i) call(1.0 + i), seen = true;
    });
    for (int i = 0; i < 300 || !seen; ++i) call(2.0 + i % 7);
    second.join();
    CHECK(several_threads);
    CHECK(f.stats().replays > 0);
}

/// Called by itself it is no other's call.
void within_itself()
{
    std::function<D(const D&)> inner;
    const auto f = freeze([&inner](const D& x) { return inner(x) * x; });
    int depth = 0;
    inner = [&](const D& x) { return depth++ ? x : f(x); };
    CHECK(f(D(3.0)).item() == 27.0);
}

}  // namespace

int main()
{
    for (int k = 0; k < 20; ++k) {
        const pid_t child = fork();
        if (child == 0) {
            within_itself();
            two_threads(1 + k);
            _exit(failures > 0);
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    std::printf("%d checks, %d failures\n", checks.load(), failures.load());
    return failures > 0;
}
