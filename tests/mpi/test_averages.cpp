// Means over the ranks: of gradients that are there, and while a sweep makes them.
#include "../apart.hpp"
#include "ranks.hpp"

#include <wengert/control.hpp>

namespace {

using Layers = std::vector<D>;

D start(const mpi::Comm& w) { return sin(wg::arange<double>(6.0) * (1.0 + w.rank())); }

/// Means of many tensors, in messages that go around while the sweep goes on.
void averages(const mpi::Comm& w)
{
    const int n = w.size();
    Layers p;
    for (int k = 0; k < 5; ++k) p.push_back(sin(wg::arange<double>(90000.0) + k) * 0.1);
    p.push_back(D());
    p.push_back(wg::zeros<double>({0, 3}));
    const D data = wg::full<double>({90000}, 1.0 + w.rank());
    const auto model = [&](const Layers& q) {
        D y = data;
        for (std::size_t k = 0; k < 5; ++k) y = y * q[k] + 1.0;
        return sum(y);
    };
    const auto own = [&](const Layers& q) { return wg::grad(model)(Layers(q.begin(), q.begin() + 5)); };
    const auto mean = [&](const Layers& q) {
        Layers g = own(q);
        g.push_back(D());
        g.push_back(q[6]);
        return mpi::average(g, w);
    };
    const Layers eager = mean(p), mine = own(p);
    for (std::size_t k = 0; k < 5; ++k)
        CHECK(wg::allclose(eager[k], mpi::allreduce(mine[k], mpi::sum, w) / (1.0 * n), 1e-13));
    CHECK(!eager[5].defined() && eager[6].shape() == wg::Shape({0, 3}));
    const auto five = [&](const Layers& q) { return mpi::average(wg::grad(model)(q), w); };
    const Layers q(p.begin(), p.begin() + 5);
    auto frozen = wg::freeze(five);
    for (int i = 0; i < 3; ++i) {
        const Layers got = frozen(q);
        for (std::size_t k = 0; k < 5; ++k) CHECK(wg::allclose(got[k], eager[k], 1e-13));
    }
    // the means are differentiated, too
    const auto of_means = [&](const D& t) { return sum(square(mpi::average(Layers{t * t, t}, w)[0])); };
    const D x = start(w);
    const D by_hand =
        mpi::allreduce(2.0 * mpi::allreduce(x * x, mpi::sum, w) / (1.0 * n), mpi::sum, w) / (1.0 * n);
    CHECK(wg::allclose(wg::grad(of_means)(x), by_hand * 2.0 * x, 1e-12));
    CHECK(wg::allclose(wg::jvp(of_means, x, x).second,
                       sum(2.0 * mpi::average(Layers{x * x}, w)[0] * mpi::average(Layers{2.0 * x * x}, w)[0]),
                       1e-12));
}

struct Network {
    std::vector<D> layers;
    Tensor<float> scale;
    Tensor<std::int32_t> table;
    D unused, empty;
};

Network network()
{
    Network q;
    for (int k = 0; k < 4; ++k) q.layers.push_back(sin(wg::arange<double>(70000.0) + k) * 0.1);
    q.scale = Tensor<float>{1.5F, 0.5F};
    q.table = Tensor<std::int32_t>{0, 1};
    q.unused = wg::ones<double>({3});
    return q;
}

template <class T> bool same_elements(const Tensor<T>& a, const Tensor<T>& b)
{
    return a.shape() == b.shape() && wg::all(a == b).item();
}

bool same(const Network& a, const Network& b)
{
    bool equal = same_elements(a.scale, b.scale) && same_elements(a.unused, b.unused) && !b.empty.defined();
    for (std::size_t k = 0; k < a.layers.size(); ++k)
        equal = equal && same_elements(a.layers[k], b.layers[k]);
    return equal;
}

/// What f's averaged gradient is, and that the value stays the rank's own.
template <class F> void check_averaged(const F& f, const mpi::Comm& w)
{
    const Network q = network();
    const auto [value, gradient] = wg::value_and_grad(f)(q);
    const Network wanted = mpi::average(gradient, w);
    const auto averaged = mpi::averaged(wg::value_and_grad(f), w);
    for (int i = 0; i < 2; ++i) {
        const auto [y, g] = averaged(q);
        CHECK(same_elements(y, value));
        CHECK(same(wanted, g));
    }
    CHECK(same(wanted, mpi::averaged(wg::grad(f), w)(q)));
    auto frozen = wg::freeze([&](const Network& p) { return mpi::averaged(wg::grad(f), w)(p); });
    for (int i = 0; i < 2; ++i) {
        const Network g = frozen(q);
        for (std::size_t k = 0; k < 4; ++k) CHECK(wg::allclose(g.layers[k], wanted.layers[k], 1e-13));
    }
}

D data(const mpi::Comm& w) { return wg::full<double>({70000}, 1.0 + w.rank()); }

/// Layers in order, in another order on each rank, read twice, in checkpoints, loops and branches.
void averaged_programs(const mpi::Comm& w)
{
    const D x = data(w);
    const auto scaled = [](const D& y, const Network& q) {
        return sum(y * view(wg::cast<double>(q.scale), {wg::range(0, 1)}));
    };
    check_averaged(
        [&](const Network& q) {
            D y = x;
            for (const D& layer : q.layers) y = y * layer + 1.0;
            return scaled(y, q);
        },
        w);
    check_averaged(
        [&](const Network& q) {
            D y = x;
            for (std::size_t k = 0; k < 4; ++k)
                y = y * q.layers[(k + static_cast<std::size_t>(w.rank())) % 4] + 1.0;
            return scaled(y, q) + sum(q.layers[0]) + sum(square(q.layers[0]));
        },
        w);
    check_averaged(
        [&](const Network& q) {
            const auto block = [&](const D& y) { return tanh(y * q.layers[1]) * q.layers[3]; };
            const D y = wg::checkpoint(block)(wg::checkpoint(block)(x * q.layers[0]));
            const auto step = [&](const D& t) { return std::pair(t * q.layers[2], std::tuple<>()); };
            return scaled(wg::scan(step, y, 3).first, q);
        },
        w);
    check_averaged(
        [&](const Network& q) {
            const D y = wg::cond(
                sum(x) > 0.0, [&] { return x * q.layers[3]; }, [&] { return x * q.layers[0]; });
            return scaled(wg::grad([&](const D& t) { return sum(square(t) * q.layers[1] * y); })(x), q);
        },
        w);
    check_averaged(
        [&](const Network& q) {
            const auto step = [&](const D& t) { return tanh(t * q.layers[0]) + q.layers[2]; };
            const D y = wg::checkpoint_loop(step, x * q.layers[1], {.steps = 5, .snapshots = 2});
            return scaled(y * q.layers[3], q);
        },
        w);
    check_averaged([&](const Network& q) { return scaled(mpi::allreduce(x * q.layers[2], mpi::sum, w), q); },
                   w);
    check_averaged([&](const Network& q) { return scaled(q.layers[1], q); }, w);
    check_averaged([&](const Network&) { return sum(x); }, w);
}

/// The oldest operation is swept last. By then the messages of the other layers have begun.
void averaged_while_sweeping(const mpi::Comm& w)
{
    const D x = data(w);
    std::uint64_t before = 0, at_oldest = 0;
    const auto now = [] { return wg::Tape::current().communications; };
    const auto oldest = wg::custom_vjp([](const D& a, const D& b) { return a * b; },
                                       [&](const D& g, const D&, const D& a, const D& b) {
                                           at_oldest = now();
                                           return std::tuple(g * b, g * a);
                                       });
    const auto f = [&](const Layers& q) {
        D y = oldest(x, q[0]);
        for (std::size_t k = 1; k < 4; ++k) y = y * q[k] + 1.0;
        before = now();
        return sum(y);
    };
    const Layers q(4, wg::full<double>({70000}, 0.5));
    const auto averaged = mpi::averaged(wg::grad(f), w);
    const auto between = [&] {
        static_cast<void>(averaged(q));
        return at_oldest - before;
    };
    CHECK(between() > 0);
    static_cast<void>(mpi::average(wg::grad(f)(q), w));
    CHECK(at_oldest == before);
}

/// Derivatives of means, also those that go on while the inner sweep does.
void averaged_in_transforms(const mpi::Comm& w)
{
    const D x = start(w);
    const auto f = [&](const Layers& q) { return sum(square(q[0]) * q[1] * x); };
    const auto averaged = mpi::averaged(wg::grad(f), w);
    const auto by_two = [&](const Layers& q) { return mpi::average(wg::grad(f)(q), w); };
    const auto outer = [&](const auto& g) {
        return [&](const D& t) {
            const Layers m = g(Layers{t, t * x});
            return sum(m[0] * m[1]);
        };
    };
    CHECK(wg::allclose(wg::grad(outer(averaged))(x), wg::grad(outer(by_two))(x), 1e-13));
    CHECK(wg::allclose(wg::jvp(outer(averaged), x, x).second, wg::jvp(outer(by_two), x, x).second, 1e-13));
    const auto twice = [&](const auto& g) {
        return wg::grad([&](const D& t) { return sum(wg::grad(outer(g))(t) * x); })(x);
    };
    CHECK(wg::allclose(twice(averaged), twice(by_two), 1e-12));
}

/// Under hooks and AnomalyMode, on another device, with threads, with extents that change.
void averaged_elsewhere(const mpi::Comm& w)
{
    const auto f = [&](const Layers& q) {
        D y = cos(q[0]) * (1.0 + w.rank());
        for (const D& layer : q) y = wg::checkpoint([&](const D& t) { return tanh(t * layer); })(y) + layer;
        return sum(y);
    };
    const auto layers = [](double n) {
        Layers q;
        for (int k = 0; k < 4; ++k) q.push_back(sin(wg::arange<double>(n) + k));
        return q;
    };
    const auto equal = [](const Layers& a, const Layers& b) {
        bool all = a.size() == b.size();
        for (std::size_t k = 0; all && k < a.size(); ++k) all = same_elements(a[k], b[k]);
        return all;
    };
    const auto averaged = mpi::averaged(wg::grad(f), w);
    const Layers q = layers(70000.0), wanted = mpi::average(wg::grad(f)(q), w);
    {
        int packed = 0;
        const wg::SavedTensorHooks hooks([&](const D& t) { return ++packed, t * 1.0; },
                                         [](const D& t) { return t; });
        CHECK(equal(averaged(q), wanted) && packed > 0);
    }
    {
        const wg::AnomalyMode on;
        CHECK(equal(averaged(q), wanted));
    }
    {
        const wg::OnDevice apart(wg::apart::device());
        const Layers there = layers(9.0);
        CHECK(equal(averaged(there), mpi::average(wg::grad(f)(there), w)));
    }
    auto threaded = wg::freeze([&](const Layers& p) { return averaged(p); }, {.threads = 2});
    auto dynamic = wg::freeze([&](const Layers& p) { return averaged(p); }, {.dynamic = {0}});
    for (int i = 0; i < 3; ++i) {
        const Layers got = threaded(q);
        for (std::size_t k = 0; k < q.size(); ++k) CHECK(wg::allclose(got[k], wanted[k], 1e-13));
        const Layers other = layers(100.0 + 7 * i), moved = dynamic(other),
                     mean = mpi::average(wg::grad(f)(other), w);
        for (std::size_t k = 0; k < q.size(); ++k) CHECK(wg::allclose(moved[k], mean[k], 1e-13));
    }
}

/// A function that throws leaves nothing behind: the next gradient is nobody's to take.
void averaged_errors(const mpi::Comm& w)
{
    const Layers q{start(w), start(w)};
    const auto wrong = [](const Layers& p) { return sum(p[0] * wg::ones<double>({5})); };
    const std::string text =
        thrown<wg::ShapeError>([&] { static_cast<void>(mpi::averaged(wg::grad(wrong), w)(q)); });
    CHECK(has(text, "test_averages.cpp"));
    CHECK(wg::Tape::current().observer == nullptr);
    const auto f = [](const Layers& p) { return sum(p[0] * p[1]); };
    const Layers own = wg::grad(f)(q), mean = mpi::averaged(wg::grad(f), w)(q);
    CHECK(same_elements(own[0], q[1]));
    CHECK(same_elements(mean[0], mpi::average(own, w)[0]));
}

}  // namespace

int main(int argc, char** argv)
{
    return run_tests(argc, argv,
                     {averages, averaged_programs, averaged_while_sweeping, averaged_in_transforms,
                      averaged_elsewhere, averaged_errors});
}
