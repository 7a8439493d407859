// Random programs of communication: every rank draws the same one, runs its part, and compares with all parts run here without
// any communication. Values, gradients, tangents, second derivatives, and frozen graphs of them.
//
//     random_programs [COUNT [SEED [ONLY]]]        ONLY: the number of the one program to run
#include "ranks.hpp"

#include <wengert/native.hpp>

#include <cstdlib>
#include <random>

namespace {

using Parts = std::vector<D>;  // one for each rank that is run here: all of them, or one

enum class Do {
    sine,
    product,
    add,
    shift,
    halo,
    reduce,
    bcast,
    to_root,
    gather,
    message,
    exchange,
    some,
    scatter,
    overlap,
    exact,
    dead,
    scan,
    checkpoint,
    cond,
    loop,
    kinds
};

struct Step {
    Do what = Do::sine;
    int a = 0, b = 0, p = 0, q = 0;
    std::vector<Step> body = {};
};
using Program = std::vector<Step>;

struct Drawing {
    std::mt19937_64 bits;
    int n;
    int below(int k) { return static_cast<int>(bits() % static_cast<unsigned>(k)); }
    Program program(int length, int depth)
    {
        Program p;
        for (int i = 0; i < length; ++i) {
            Step s;
            s.what = static_cast<Do>(below(static_cast<int>(depth > 0 ? Do::kinds : Do::scan)));
            s.a = below(3), s.b = below(3), s.p = below(12), s.q = below(12);
            if (s.what >= Do::scan) s.body = program(1 + below(3), depth - 1);
            p.push_back(s);
        }
        return p;
    }
};

/// The ranks of a program, run here side by side (world is null) or one of them.
struct Machine {
    const mpi::Comm* world;
    int n;
    std::size_t rank_of(std::size_t k) const { return world ? static_cast<std::size_t>(world->rank()) : k; }

    Parts each(const Parts& a, const std::function<D(std::size_t, const D&, int)>& f) const
    {
        Parts y;
        for (std::size_t k = 0; k < a.size(); ++k) y.push_back(f(k, a[k], static_cast<int>(rank_of(k))));
        return y;
    }
    D total(const Parts& a, const mpi::Reduction how) const
    {
        const D all = stack(a, 0);
        if (how == mpi::sum) return sum(all, {0});
        if (how == mpi::product) return prod(all, {0});
        return how == mpi::max ? amax(all, {0}) : amin(all, {0});
    }
    Parts run(const Step& s, const std::vector<Parts>& state) const;
    std::vector<Parts> run(const Program& p, std::vector<Parts> state) const
    {
        for (const Step& s : p) state[static_cast<std::size_t>(s.a)] = run(s, state);
        return state;
    }
    Parts nested(const Step& s, const std::vector<Parts>& state) const;
    D of_neighbours(const Parts& a, std::size_t k, int width, bool periodic) const;
};

D Machine::of_neighbours(const Parts& a, std::size_t k, int width, bool periodic) const
{
    const auto m = static_cast<std::int64_t>(a[k].size()), last = static_cast<std::int64_t>(a.size()) - 1;
    const D none = wg::zeros<double>({width});
    const auto i = static_cast<std::int64_t>(k);
    const D before = i > 0 || periodic
                         ? view(a[static_cast<std::size_t>(i > 0 ? i - 1 : last)], wg::range(m - width, m))
                         : none;
    const D after = i < last || periodic
                        ? view(a[static_cast<std::size_t>(i < last ? i + 1 : 0)], wg::range(0, width))
                        : none;
    return wg::concatenate({before, a[k], after}, 0);
}

Parts Machine::run(const Step& s, const std::vector<Parts>& state) const
{
    const Parts &a = state[static_cast<std::size_t>(s.a)], &b = state[static_cast<std::size_t>(s.b)];
    const auto m = static_cast<std::int64_t>(a[0].size());
    const int root = s.p % n, other = (root + 1 + s.q % std::max(n - 1, 1)) % n, turn = 1 + s.p % n;
    const auto from = [&](int r, int by) { return ((r - by) % n + n) % n; };
    const auto of = [&](const Parts& x, int r) { return x[static_cast<std::size_t>(r)]; };
    const auto moved = [&](const Parts& x, int by) {
        return each(x, [&](std::size_t, const D& t, int r) {
            return world ? mpi::sendrecv(t, from(r, -by), from(r, by), *world) : of(x, from(r, by));
        });
    };
    switch (s.what) {
    case Do::sine: return each(a, [](std::size_t, const D& t, int r) { return sin(t) * (0.7 + 0.1 * r); });
    case Do::product: return each(a, [&](std::size_t k, const D& t, int) { return 0.5 * t * b[k]; });
    case Do::add: return each(a, [&](std::size_t k, const D& t, int) { return 0.6 * t + 0.3 * b[k]; });
    case Do::shift: return moved(a, turn);
    case Do::halo:
        return each(a, [&](std::size_t k, const D& t, int) {
            const int width = 1 + s.p % 2;
            const bool periodic = s.q % 2;
            const D h = world ? mpi::halo(t, {.axis = 0, .width = width, .periodic = periodic}, *world)
                              : of_neighbours(a, k, width, periodic);
            return 0.5 * view(h, wg::range(0, m)) + 0.3 * view(h, wg::range(2 * width, m + 2 * width)) +
                   0.1 * t;
        });
    case Do::reduce: {
        const mpi::Reduction how{s.p % 4};
        return each(a, [&](std::size_t, const D& t, int) {
            return tanh(world ? mpi::allreduce(t, how, *world) : total(a, how));
        });
    }
    case Do::bcast:
        return each(a, [&](std::size_t, const D& t, int) {
            return world ? mpi::bcast(t, root, *world) : of(a, root);
        });
    case Do::to_root:
        return each(a, [&](std::size_t k, const D& t, int r) {
            const D at_root = world       ? mpi::reduce(t, root, *world)
                              : r == root ? total(a, mpi::sum)
                                          : zeros_like(t);
            return 0.4 * at_root + b[k];
        });
    case Do::gather:
        return each(a, [&](std::size_t k, const D& t, int r) {
            const D all = world ? mpi::allgather(b[k], *world) : stack(b, 0);
            return t * all((r + s.p) % n);
        });
    case Do::message:
        return each(a, [&](std::size_t k, const D& t, int r) {
            if (n == 1) return t;
            if (world && r == root) mpi::send(b[k], other, *world);
            return r == other ? t + 0.2 * (world ? mpi::recv<double>({m}, root, *world) : of(b, root)) : t;
        });
    case Do::exchange:
        return each(a, [&](std::size_t, const D& t, int r) {
            if (world) return reshape(mpi::alltoall(reshape(t, {n, m / n}), *world), {m});
            Parts pieces;
            for (const D& other_t : a) pieces.push_back(view(other_t, wg::range(m / n * r, m / n * (r + 1))));
            return wg::concatenate(pieces, 0);
        });
    case Do::some: {
        const Parts seen = moved(b, turn);
        return each(a,
                    [&](std::size_t k, const D& t, int r) { return (s.q >> r) & 1 ? 0.5 * t * seen[k] : t; });
    }
    case Do::scatter:
        return each(a, [&](std::size_t, const D& t, int r) {
            const auto weighted = [&](const D& x, int k) { return x * (0.3 + 0.2 * k); };
            if (!world) {
                Parts all;
                for (const D& x : a) all.push_back(weighted(x, r));
                return total(all, mpi::sum);
            }
            Parts rows;
            for (int k = 0; k < n; ++k) rows.push_back(weighted(t, k));
            return mpi::reduce_scatter(stack(rows, 0), *world);
        });
    case Do::overlap:
        if (!world) {
            const Parts come = moved(a, turn);
            return each(a, [&](std::size_t k, const D& t, int) { return cos(t) * come[k]; });
        } else {
            const int r = world->rank();
            const auto coming = mpi::irecv<double>({m}, from(r, turn), *world);
            const auto going = mpi::isend(a[0], from(r, -turn), *world);
            const D work = cos(a[0]);
            if (s.q % 2) mpi::wait(going);
            const D y = work * mpi::wait(coming);
            if (s.q % 2 == 0) mpi::wait(going);
            return {y};
        }
    case Do::exact:
        return each(a, [&](std::size_t k, const D& t, int) {
            const D all = world ? mpi::reproducible_sum(b[k], *world) : sum(total(b, mpi::sum));
            return t * tanh(0.1 * all);
        });
    case Do::dead: static_cast<void>(moved(b, turn)); return a;
    default: return nested(s, state);
    }
}

/// A program in a loop, a branch, or a checkpoint.
Parts Machine::nested(const Step& s, const std::vector<Parts>& state) const
{
    using Leaves = std::vector<D>;
    const auto body = [this, &s](const Leaves& x) {
        Leaves y;
        for (const Parts& p : run(s.body, {{x[0]}, {x[1]}, {x[2]}})) y.push_back(p[0]);
        return y;
    };
    const auto serial = [&](int times) {
        std::vector<Parts> now = state;
        for (int i = 0; i < times; ++i) now = run(s.body, now);
        return now[static_cast<std::size_t>(s.b)];
    };
    const int times = 2 + s.p % 2;
    const auto result = static_cast<std::size_t>(s.b);
    const Leaves x = world ? Leaves{state[0][0], state[1][0], state[2][0]} : Leaves{};
    switch (s.what) {
    case Do::scan:
        if (!world) return serial(times);
        return {wg::scan([&](const Leaves& t) { return std::pair(body(t), std::tuple<>()); }, x, times)
                    .first[result]};
    case Do::loop:
        if (!world) return serial(times + 2);
        return {wg::checkpoint_loop(
            body, x, {.steps = static_cast<std::uint64_t>(times) + 2, .snapshots = 2})[result]};
    case Do::checkpoint:
        if (!world) return serial(1);
        return {wg::checkpoint(body)(x)[result]};
    default: {  // a branch that all ranks take, or not
        if (!world) {
            D all = sum(total(state[0], mpi::sum));
            return all.item() > 0.0 ? serial(1) : state[result];
        }
        const Tensor<bool> yes = mpi::allreduce(sum(x[0]), mpi::sum, *world) > 0.0;
        return {wg::cond(
            yes, body, [](const Leaves& t) { return t; }, x)[result]};
    }
    }
}

/// What a rank returns: its part of the objective.
D objective(const Machine& m, const Program& p, const Parts& x)
{
    const std::vector<Parts> y =
        m.run(p, {x, m.each(x, [](std::size_t, const D& t, int) { return cos(t); }),
                  m.each(x, [](std::size_t, const D& t, int r) { return t * (0.5 + r); })});
    D loss(0.0);
    for (std::size_t k = 0; k < x.size(); ++k)
        loss = loss + sum(square(y[0][k])) + sum(sin(y[1][k])) + 0.5 * sum(y[2][k]);
    return loss;
}

struct Numbers {
    D value, gradient, tangent, second;
};

bool close(const D& a, const D& b) { return wg::allclose(a, b, 1e-9); }

Numbers alone(const Program& p, int n, int rank, const Parts& x, const Parts& v)
{
    const Machine all{nullptr, n};
    const auto f = [&](const Parts& t) { return objective(all, p, t); };
    const auto slope = [&](const Parts& t) { return wg::grad(f)(t); };
    const auto [dots, seconds] = wg::jvp(slope, x, v);
    const auto r = static_cast<std::size_t>(rank);
    return {f(x), dots[r], wg::jvp(f, x, v).second, seconds[r]};
}

bool check_program(const Program& p, const mpi::Comm& w, std::uint64_t number)
{
    const int n = w.size(), r = w.rank();
    Parts x, v;
    for (int k = 0; k < n; ++k) {
        x.push_back(wg::normal<double>(wg::Key(16 * number + static_cast<std::uint64_t>(k)), {144 / n}));
        v.push_back(wg::normal<double>(wg::Key(16 * number + 8 + static_cast<std::uint64_t>(k)), {144 / n}));
    }
    const auto mine = static_cast<std::size_t>(r);
    const D here = x[mine], dot = v[mine];
    const Machine one{&w, n};
    const auto f = [&](const D& t) { return objective(one, p, {t}); };
    const auto total = [&](const D& t) { return mpi::allreduce(t, mpi::sum, w); };
    const auto all_of = [&](const D& t) { return std::tuple(f(t), wg::grad(f)(t)); };
    const Numbers wanted = alone(p, n, r, x, v);
    bool good = close(total(f(here)), wanted.value);
    good = close(wg::grad(f)(here), wanted.gradient) && good;
    good = close(total(wg::jvp(f, here, dot).second), wanted.tangent) && good;
    good = close(wg::hvp(f)(here, dot), wanted.second) && good;
    wg::Backend backend = wg::tile;
    if (number % 3 == 0) backend = wg::interpret;
    if (number % 40 == 0) backend = wg::native;
    auto frozen = wg::freeze(all_of, {.backend = backend});
    for (int i = 0; i < 2; ++i) {
        const auto [y, g] = frozen(here);
        good = close(total(y), wanted.value) && close(g, wanted.gradient) && good;
    }
    auto second = wg::freeze([&](const D& t) { return wg::hvp(f)(t, dot); });
    if (number % 4 == 0)
        for (int i = 0; i < 2; ++i) good = close(second(here), wanted.second) && good;
    return good;
}

std::string text(const Program& p)
{
    static const char* const names[] = {"sine",     "product", "add",        "shift",   "halo",
                                        "reduce",   "bcast",   "to_root",    "gather",  "message",
                                        "exchange", "some",    "scatter",    "overlap", "exact",
                                        "dead",     "scan",    "checkpoint", "cond",    "loop"};
    std::string t;
    for (const Step& s : p) {
        t += std::string(names[static_cast<int>(s.what)]) + "(" + std::to_string(s.a) + " " +
             std::to_string(s.b) + " " + std::to_string(s.p) + " " + std::to_string(s.q) + ")";
        if (!s.body.empty()) t += "{ " + text(s.body) + "} ";
        t += " ";
    }
    return t;
}

std::uint64_t count = 250, seed = 20261124, only = ~std::uint64_t{0};

void programs(const mpi::Comm& w)
{
    const mpi::Watchdog dog(120.0);
    for (std::uint64_t i = 0; i < count; ++i) {
        if (only != ~std::uint64_t{0} && i != only) continue;
        Drawing d{std::mt19937_64(seed * 1000003 + i), w.size()};
        const Program p = d.program(2 + d.below(5), 2);
        bool good = false;
        std::string what;
        try {
            good = check_program(p, w, i);
        } catch (const std::exception& e) {
            what = e.what();
        }
        if (!good)
            std::printf("rank %d of %d, seed %llu, program %llu: %s: %s\n", w.rank(), w.size(),
                        static_cast<unsigned long long>(seed), static_cast<unsigned long long>(i),
                        text(p).c_str(), what.c_str());
        CHECK(good);
        if (!what.empty()) return;
    }
}

}  // namespace

int main(int argc, char** argv)
{
    if (argc > 1) count = std::strtoull(argv[1], nullptr, 10);
    if (argc > 2) seed = std::strtoull(argv[2], nullptr, 10);
    if (argc > 3) only = std::strtoull(argv[3], nullptr, 10);
    return run_tests(argc, argv, {programs});
}
