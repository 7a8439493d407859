// Communication together with what else the library has: hooks on what is saved, dynamic shapes, AnomalyMode, threads, other devices,
// native loops. What graphs of derivatives send, and in which order they compute and communicate.
#include "../apart.hpp"
#include "ranks.hpp"

#include <wengert/graph/look/graph_text.hpp>
#include <wengert/graph/plan/plan.hpp>
#include <wengert/native.hpp>

#include <functional>
#include <thread>

namespace {

using Function = std::function<D(const D&)>;

D start(const mpi::Comm& w, double n = 6.0) { return sin(wg::arange<double>(n) + n * w.rank()); }
D step(const D& u, const mpi::Comm& w)
{
    const auto n = static_cast<std::int64_t>(u.size());
    const D h = mpi::halo(u, {.axis = 0, .width = 1, .periodic = true}, w);
    return u + 0.2 * (view(h, wg::range(0, n)) * u - view(h, wg::range(2, n + 2)));
}
/// Communications of every kind of rule: linear, one that reads its operand and its result, one that reads the others' elements.
D mixed(const D& t, const mpi::Comm& w)
{
    const D y = step(step(sin(t), w), w);
    return y * mpi::allreduce(y * y, mpi::max, w) + mpi::allreduce(cos(y), mpi::product, w);
}
D loss(const D& t, const mpi::Comm& w) { return sum(square(mixed(t, w))); }
D marched(const D& t, const mpi::Comm& w)
{
    return wg::scan([&](const D& u) { return std::pair(step(u, w), std::tuple<>()); }, t, 6).first;
}

std::size_t count(const std::string& text, const std::string& part)
{
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

void saved_values(const mpi::Comm& w)
{
    const D x = start(w);
    const auto f = [&](const D& t) { return loss(t, w); };
    const D wanted = wg::grad(f)(x);
    int packed = 0;
    const wg::SavedTensorHooks hooks(
        [&](const D& t) {
            ++packed;
            return t * 1.0;
        },
        [](const D& t) { return t; });
    CHECK(wg::allclose(wg::grad(f)(x), wanted, 0.0) && packed > 0);
    CHECK(wg::allclose(wg::grad([&](const D& t) { return sum(square(marched(t, w))); })(x),
                       wg::grad([&](const D& t) { return sum(square(marched(t, w))); })(x), 0.0));
}

void dynamic_shapes(const mpi::Comm& w)
{
    const auto f = [&](const D& t) { return loss(t, w); };
    wg::FreezeOptions options;
    options.dynamic = {0};
    auto frozen = wg::freeze(wg::grad(f), options);
    for (int i = 0; i < 2; ++i)
        for (const double n : {4.0, 6.0, 9.0, 13.0}) {
            const D x = start(w, n);
            CHECK(wg::allclose(frozen(x), wg::grad(f)(x), 1e-13));
        }
}

void anomalies(const mpi::Comm& w)
{
    const wg::AnomalyMode on;
    const D x = start(w);
    CHECK(wg::allclose(wg::grad([&](const D& t) { return sum(t * mpi::allreduce(t, mpi::sum, w)); })(x),
                       2.0 * mpi::allreduce(x, mpi::sum, w), 1e-13));
    // a NaN that comes from a neighbour is no anomaly of the exchange
    const std::string text = thrown<wg::Error>([&] {
        static_cast<void>(
            wg::grad([&](const D& t) { return sum(mpi::allreduce(log(t - 100.0), mpi::sum, w)); })(x));
    });
    CHECK(has(text, "log") && has(text, "test_pairs.cpp"));
}

void threads(const mpi::Comm& w)
{
    const D x = sin(wg::arange<double>(50000.0) + w.rank());
    const auto f = [&](const D& t) { return loss(t, w); };
    auto frozen = wg::freeze(wg::grad(f), {.threads = 2});
    const D wanted = wg::grad(f)(x);
    for (int i = 0; i < 3; ++i) CHECK(wg::allclose(frozen(x), wanted, 1e-13));
}

void another_device(const mpi::Comm& w)
{
    const D x = start(w), wanted = wg::grad([&](const D& t) { return loss(t, w); })(x);
    D there;
    {
        const wg::OnDevice apart(wg::apart::device());
        there = wg::grad([&](const D& t) { return loss(t, w); })(start(w));
        auto frozen = wg::freeze(wg::grad([&](const D& t) { return loss(t, w); }));
        for (int i = 0; i < 3; ++i) CHECK(wg::allclose(frozen(start(w)), there, 1e-13));
    }
    for (std::int64_t i = 0; i < 6; ++i) CHECK(std::abs(there(i).item() - wanted(i).item()) < 1e-12);
}

/// The derivative of a scan sends cotangents, and what the scan sent before is kept where it is read.
void sent_once(const mpi::Comm& w)
{
    const auto linear = [&](const D& t) {
        return wg::scan(
                   [&](const D& u) {
                       const D h = mpi::halo(u, {.axis = 0, .width = 1, .periodic = true}, w);
                       return std::pair(u + view(h, wg::range(0, 6)) - view(h, wg::range(2, 8)),
                                        std::tuple<>());
                   },
                   t, 5)
            .first;
    };
    const D x = start(w);
    for (const Function& f : {Function(linear), Function([&](const D& t) { return marched(t, w); })}) {
        const auto gradient = wg::grad([&](const D& t) { return sum(square(f(t))); });
        for (const wg::Backend& backend : std::vector<wg::Backend>{wg::interpret, wg::tile, wg::native}) {
            auto frozen = wg::freeze(gradient, {.backend = backend});
            for (int i = 0; i < 3; ++i) CHECK(wg::allclose(frozen(x), gradient(x), 1e-13));
            CHECK(count(to_text(frozen.graph(x)), "= halo(") == 2);
            CHECK(count(to_text(frozen.graph(x)), "(5, 6)") == 0);  // no states are kept of what is linear
        }
        auto twice = wg::freeze(
            [&](const D& t) { return wg::hvp([&](const D& u) { return sum(square(f(u))); })(t, t); });
        for (int i = 0; i < 3; ++i)
            CHECK(
                wg::allclose(twice(x), wg::hvp([&](const D& u) { return sum(square(f(u))); })(x, x), 1e-12));
    }
}

/// Under a transform a frozen function that communicates runs eagerly, and says so.
void under_transforms(const mpi::Comm& w)
{
    const D x = start(w);
    auto frozen = wg::freeze([&](const D& t) { return loss(t, w); });
    for (int i = 0; i < 2; ++i) frozen(x);
    const auto before = static_cast<std::size_t>(frozen.stats().eager_calls);
    CHECK(wg::allclose(wg::grad(frozen)(x), wg::grad([&](const D& t) { return loss(t, w); })(x), 1e-13));
    CHECK(frozen.stats().eager_calls == before + 1);
    CHECK(has(frozen.explain(), "freeze(grad(f))"));
}

/// The order in which a graph runs: begun early, waited for late, and communications in the order of the program.
void overlap(const mpi::Comm& w)
{
    const int n = w.size(), r = w.rank(), next = (r + 1) % n, before = (r + n - 1) % n;
    const auto f = [&](const D& t) {
        const D work = exp(sin(t)) * cos(t);
        const auto coming = mpi::irecv<double>({6}, before, w);
        const auto going = mpi::isend(t, next, w);
        const D y = mpi::wait(coming);
        mpi::wait(going);
        return y * cumsum(work, 0) + cumsum(work * t, 0);
    };
    const D x = start(w);
    auto frozen = wg::freeze(f);
    for (int i = 0; i < 3; ++i) CHECK(wg::allclose(frozen(x), f(x), 0.0));
    const wg::Graph g = frozen.graph(x);
    const wg::tiling::Plan plan(g, wg::PlanOptions{});
    std::vector<std::string> order;
    for (const auto& task : plan.tasks) {
        const auto* const p = g.node(task.group.nodes[0]).primitive;
        order.push_back(p->communicates ? std::string(p->name) : "compute");
    }
    const auto place = [&](const char* name) {
        return std::find(order.begin(), order.end(), name) - order.begin();
    };
    CHECK(place("irecv") == 0 && place("isend") == 1 && place("wait") > 3);
    CHECK(std::count(order.begin(), order.end(), "wait") == 2);
}

}  // namespace

int main(int argc, char** argv)
{
    return run_tests(argc, argv,
                     {saved_values, dynamic_shapes, anomalies, threads, another_device, sent_once,
                      under_transforms, overlap});
}
