// Communication in frozen graphs on every backend, in loops and branches, in checkpoints, under derivatives of graphs.
#include "ranks.hpp"

#include <wengert/native.hpp>
#include <wengert/emit.hpp>

#include <functional>

namespace {

using Function = std::function<D(const D&)>;

D start(const mpi::Comm& w) { return sin(wg::arange<double>(4.0) + 4.0 * w.rank()); }

D step(const D& u, const mpi::Comm& w)
{
    const D h = mpi::halo(u, {.axis = 0, .width = 1, .periodic = true}, w);
    return u + 0.2 * (view(h, wg::range(0, 4)) - 2.0 * u + view(h, wg::range(2, 6)));
}

/// f frozen gives what f gives, to the bit, in replays, on every backend.
void check_frozen(const char* name, const Function& f, const mpi::Comm& w)
{
    const D x = start(w);
    const auto both = [&](const D& t) {
        return std::pair(f(t), wg::grad([&](const D& u) { return sum(square(f(u))); })(t));
    };
    const auto [value, gradient] = both(x);
    for (const wg::Backend& backend : std::vector<wg::Backend>{wg::interpret, wg::tile, wg::native}) {
        auto frozen = wg::freeze(both, {.backend = backend});
        for (int i = 0; i < 4; ++i) {
            const auto [y, g] = frozen(x);
            const bool same = wg::allclose(y, value, 0.0) && wg::allclose(g, gradient, 1e-14);
            if (!same) std::printf("%s, replay %d\n", name, i);
            CHECK(same);
        }
        if (frozen.stats().replays != 3) std::printf("%s: %s\n", name, frozen.explain().c_str());
        CHECK(frozen.stats().replays == 3);
    }
}

/// The ring's neighbours.
struct Ring {
    int next, before;
    explicit Ring(const mpi::Comm& w)
        : next((w.rank() + 1) % w.size()), before((w.rank() + w.size() - 1) % w.size())
    {}
};

void graphs(const mpi::Comm& w)
{
    const Ring ring(w);
    const int r = w.rank();
    check_frozen(
        "halo", [&](const D& t) { return step(step(sin(t), w), w) * 2.0; }, w);
    check_frozen(
        "allreduce", [&](const D& t) { return mpi::allreduce(exp(t), mpi::sum, w) * t; }, w);
    check_frozen(
        "max", [&](const D& t) { return mpi::allreduce(t * t, mpi::max, w) + t; }, w);
    check_frozen(
        "order",
        [&](const D& t) {
            const D a = mpi::sendrecv(t, ring.next, ring.before, w),
                    b = mpi::sendrecv(2.0 * t, ring.next, ring.before, w);
            const D c = mpi::sendrecv(t, ring.before, ring.next, w);
            return b * a + c;  // used in another order than they are made in
        },
        w);
    check_frozen(
        "the same twice",
        [&](const D& t) { return mpi::allreduce(t, mpi::sum, w) * mpi::allreduce(t, mpi::sum, w); }, w);
    check_frozen(
        "unused",
        [&](const D& t) {
            const D seen = mpi::sendrecv(t, ring.next, ring.before, w);
            return r == 0 ? seen * 2.0 : t * t;
        },
        w);
    check_frozen(
        "of a constant",
        [&](const D& t) { return t * mpi::allreduce(wg::full<double>({4}, 1.0 + r), mpi::sum, w); }, w);
    check_frozen(
        "nothing but messages",
        [&](const D& t) {
            if (r % 2 == 0 && r + 1 < w.size()) mpi::send(t, r + 1, w);
            return r % 2 == 1 ? mpi::recv<double>({4}, r - 1, w) : D(t);
        },
        w);
    check_frozen(
        "overlap",
        [&](const D& t) {
            const auto coming = mpi::irecv<double>({4}, ring.before, w);
            const auto going = mpi::isend(exp(t), ring.next, w);
            const D work = sin(t) * cos(t);
            const D y = mpi::wait(coming) * work;
            mpi::wait(going);
            return y;
        },
        w);
    check_frozen(
        "reproducible", [&](const D& t) { return t * mpi::reproducible_sum(t, w); }, w);
}

void loops(const mpi::Comm& w)
{
    const Ring ring(w);
    const int r = w.rank();
    check_frozen(
        "scan",
        [&](const D& t) {
            return wg::scan([&](const D& u) { return std::pair(step(u, w), sum(u)); }, t, 5).first;
        },
        w);
    check_frozen(
        "unused in a scan",
        [&](const D& t) {
            return wg::scan(
                       [&](const D& u) {
                           const D seen = mpi::sendrecv(u, ring.next, ring.before, w);
                           return std::pair(r == 0 ? seen * 0.5 : u * 0.9, std::tuple<>());
                       },
                       t, 3)
                .first;
        },
        w);
    check_frozen(
        "a scan of constants on some",
        [&](const D& t) {
            const D from = r == 0 ? t : wg::full<double>({4}, 1.0);
            return t +
                   wg::scan([&](const D& u) { return std::pair(mpi::bcast(u, 0, w) * 0.5, std::tuple<>()); },
                            from, 3)
                       .first;
        },
        w);
    check_frozen(
        "a scan that nobody uses on some",
        [&](const D& t) {
            const D y =
                wg::scan([&](const D& u) { return std::pair(step(u, w), std::tuple<>()); }, t, 2).first;
            return r == 0 ? y : t * t;
        },
        w);
    check_frozen(
        "while",
        [&](const D& t) {
            const auto small = [&](const std::pair<D, D>& s) { return s.second < 3.0; };
            const auto body = [&](const std::pair<D, D>& s) {
                return std::pair(step(s.first, w), s.second + 1.0);
            };
            return wg::while_loop(small, body, std::pair(t, D(0.0))).first;
        },
        w);
    check_frozen(
        "while until all agree",
        [&](const D& t) {
            const auto large = [&](const D& s) { return mpi::allreduce(amax(abs(s)), mpi::max, w) > 0.3; };
            return wg::while_loop(
                large, [&](const D& s) { return s * 0.5; }, t);
        },
        w);
    check_frozen(
        "cond",
        [&](const D& t) {
            const Tensor<bool> up = mpi::allreduce(sum(t), mpi::sum, w) > 0.0;
            return wg::cond(
                up, [&](const D& u) { return step(u, w); },
                [&](const D& u) { return mpi::allreduce(u, mpi::sum, w); }, t);
        },
        w);
    check_frozen(
        "a loop between messages",
        [&](const D& t) {
            const D a = mpi::sendrecv(t, ring.next, ring.before, w);
            const D b =
                wg::scan([&](const D& u) { return std::pair(step(u, w), std::tuple<>()); }, a, 2).first;
            return mpi::sendrecv(b, ring.next, ring.before, w) * t;
        },
        w);
}

void checkpoints(const mpi::Comm& w)
{
    const Ring ring(w);
    const int r = w.rank();
    const D x = start(w);
    const auto plain = [&](const D& t) { return step(step(step(t, w), w), w); };
    const D wanted = wg::grad([&](const D& t) { return sum(square(plain(t))); })(x);
    const auto saved = [&](const D& t) { return wg::checkpoint([&](const D& u) { return plain(u); })(t); };
    CHECK(wg::allclose(wg::grad([&](const D& t) { return sum(square(saved(t))); })(x), wanted, 1e-14));
    check_frozen("checkpoint", saved, w);
    const auto unused = [&](const D& t) {
        const D y = saved(t);
        return r == 0 ? sum(y) : sum(t);
    };
    const auto unused_plain = [&](const D& t) {
        const D y = plain(t);
        return r == 0 ? sum(y) : sum(t);
    };
    CHECK(wg::allclose(wg::grad(unused)(x), wg::grad(unused_plain)(x), 1e-14));
    for (const std::uint64_t snapshots : {1U, 2U, 5U}) {
        const auto loop = [&](const D& t) {
            return wg::checkpoint_loop([&](const D& u) { return step(u, w); }, t,
                                       {.steps = 7, .snapshots = snapshots});
        };
        D march = x;
        const auto serial = [&](D t) {
            for (int i = 0; i < 7; ++i) t = step(t, w);
            return t;
        };
        CHECK(wg::allclose(loop(x), serial(march), 0.0));
        CHECK(wg::allclose(wg::grad([&](const D& t) { return sum(square(loop(t))); })(x),
                           wg::grad([&](const D& t) { return sum(square(serial(t))); })(x), 1e-14));
        const auto lost = [&](const D& t) {
            const D y = loop(t);
            return r == 0 ? sum(y) : sum(t);
        };
        const auto lost_plain = [&](const D& t) {
            const D y = serial(t);
            return r == 0 ? sum(y) : sum(t);
        };
        CHECK(wg::allclose(wg::grad(lost)(x), wg::grad(lost_plain)(x), 1e-14));
        check_frozen("checkpoint_loop", loop, w);
    }
}

void derivatives_of_graphs(const mpi::Comm& w)
{
    const D x = start(w);
    const auto f = [&](const D& t) { return step(sin(t), w); };
    auto frozen = wg::freeze(f);
    const auto loss = [&](const D& t) { return sum(square(f(t))); };
    for (int i = 0; i < 3; ++i) {
        CHECK(wg::allclose(wg::grad([&](const D& t) { return sum(square(frozen(t))); })(x), wg::grad(loss)(x),
                           1e-14));
        CHECK(wg::allclose(frozen(x), f(x), 0.0));
        CHECK(wg::allclose(wg::jvp(frozen, x, x).second, wg::jvp(f, x, x).second, 1e-14));
    }
    auto second = wg::freeze([&](const D& t) { return wg::hvp(loss)(t, t); });
    for (int i = 0; i < 3; ++i) CHECK(wg::allclose(second(x), wg::hvp(loss)(x, x), 1e-13));
    // a value that depends on a communication decides: eager, and says why
    auto decides = wg::freeze(
        [&](const D& t) { return mpi::allreduce(sum(t), mpi::sum, w).item() > 1e9 ? t : t * 2.0; });
    for (int i = 0; i < 2; ++i) CHECK(wg::allclose(decides(x), x * 2.0, 0.0));
    CHECK(decides.stats().replays == 0 && has(decides.explain(), "depends on a communication"));
    const std::string refused =
        thrown<wg::Error>([&] { static_cast<void>(wg::emit_cpp(frozen.graph(x), "f")); });
    CHECK(has(refused, "halo"));
    if (w.rank() == 0) std::printf("%s\n", refused.c_str());
}

}  // namespace

int main(int argc, char** argv)
{
    return run_tests(argc, argv, {graphs, loops, checkpoints, derivatives_of_graphs});
}
