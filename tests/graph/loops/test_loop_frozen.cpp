// Loops with snapshots whose steps are frozen: what the graphs capture is seen in every step.
#include "catch.hpp"

#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/transforms/checkpoint_loop.hpp>
#include <wengert/transforms/derivatives.hpp>

using namespace wengert;
using D = Tensor<double>;

TEST_CASE("a variable that a frozen step captures on some of its paths")
{
    const D three(3.0);
    for (std::uint64_t s : {1U, 2U, 50U}) {
        const auto kept = [&](const D& w, bool frozen) {
            // 1, 2, 3, then times w while it is more: 3w, 3w², 3w³
            const auto step = [w](const D& s) { return s.item() > 2.5 ? s * w : s + 1.0; };
            const LoopOptions<D> o{.steps = 5, .snapshots = s};
            return frozen ? checkpoint_loop(freeze(step), D(1.0), o) : checkpoint_loop(step, D(1.0), o);
        };
        CHECK(grad([&](const D& w) { return kept(w, false); })(three).item() == 81.0);
        CHECK(grad([&](const D& w) { return kept(w, true); })(three).item() == 81.0);
    }
}

TEST_CASE("a frozen step runs as a graph, but for the first time that its path is taken")
{
    const D u{0.5, -1.0}, nu(0.1);
    const auto step = [](const D& u, const D& nu) { return u + nu * sin(u); };
    const auto loop = [&](const auto& f) {
        return [&f](const D& u, const D& nu) {
            const auto one = [&f, nu](const D& u) { return f(u, nu); };
            return sum(checkpoint_loop(one, u, {.steps = 100, .snapshots = 3}));
        };
    };
    const auto frozen = freeze(step, {.check = false});
    const auto a = grad<0, 1>(loop(step))(u, nu), b = grad<0, 1>(loop(frozen))(u, nu);
    CHECK(allclose(std::get<0>(a), std::get<0>(b), 1e-14));
    CHECK(allclose(std::get<1>(a), std::get<1>(b), 1e-14));
    const auto before = frozen.stats();
    LoopReport report;
    const auto once_more = [&](const D& u, const D& nu) {
        const auto one = [&, nu](const D& u) { return frozen(u, nu); };
        return sum(checkpoint_loop(one, u, {.steps = 100, .snapshots = 3, .report = &report}));
    };
    static_cast<void>(grad<0, 1>(once_more)(u, nu));
    CHECK(frozen.stats().inlined == before.inlined + 1);
    CHECK(frozen.stats().replays - before.replays == report.forward + report.recorded);
}
