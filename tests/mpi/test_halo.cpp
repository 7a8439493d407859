// Exchanges of margins together with what else there is, on arrays that are large enough for passes in place: states that trade places,
// edges that are made without the array. Frozen functions give eager's bits on every backend.
#include "ranks.hpp"

#include <wengert/graph/native/native_plan.hpp>
#include <wengert/native.hpp>

#include <cstring>

namespace {

constexpr std::int64_t rows = 80, columns = 72;

template <class T> bool same_bits(const Tensor<T>& a, const Tensor<T>& b)
{
    const Tensor<T> x = a * T(1), y = b * T(1);  // in row-major order
    return x.shape() == y.shape() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

template <class T> Tensor<T> start(const mpi::Comm& w, std::int64_t n = rows, std::int64_t m = columns)
{
    const Tensor<T> at = wg::arange<T>(static_cast<T>(n * m));
    return reshape(sin(at * T(0.37) + static_cast<T>(w.rank())), {n, m});
}

/// u and its neighbours at `width` along axis 0, and along axis 1 by roll.
template <class T>
Tensor<T> smooth(const Tensor<T>& u, const mpi::Comm& w, bool periodic = true, int width = 1)
{
    const std::int64_t n = u.shape()[0];
    const Tensor<T> h = mpi::halo(u, {.axis = 0, .width = width, .periodic = periodic}, w);
    return u + T(0.2) * (view(h, wg::range(0, n)) + view(h, wg::range(2 * width, n + 2 * width)) +
                         roll(u, 1, 1) + roll(u, -1, 1) - T(4) * u);
}
/// The same of a function that is not linear.
template <class T>
Tensor<T> curved(const Tensor<T>& u, const mpi::Comm& w, bool periodic = true, int width = 1)
{
    const std::int64_t n = u.shape()[0];
    const Tensor<T> h = mpi::halo(u, {.axis = 0, .width = width, .periodic = periodic}, w);
    return u + T(0.1) * (view(h, wg::range(0, n)) * u -
                         view(h, wg::range(2 * width, n + 2 * width)) * roll(u, 1, 1));
}

template <class T> using Of = std::function<Tensor<T>(const Tensor<T>&)>;

/// Eager and frozen, three calls each: f, its gradient, a tangent, a Hessian's product as tiles; gradients by the other backends, too,
/// and the last by native code.
template <class T> void check(const char* name, const Of<T>& f, const Tensor<T>& x, bool second = true)
{
    const auto loss = [&](const Tensor<T>& t) { return sum(square(f(t))); };
    const Of<T> all[] = {f, [&](const Tensor<T>& t) { return wg::grad(loss)(t); },
                         [&](const Tensor<T>& t) { return wg::jvp(f, t, cos(t)).second; },
                         [&](const Tensor<T>& t) { return wg::hvp(loss)(t, cos(t)); }};
    const char* const kinds[] = {"value", "gradient", "tangent", "hvp"};
    for (std::size_t k = 0; k < (second ? 4U : 3U); ++k) {
        const Tensor<T> wanted = all[k](x);
        for (const wg::Backend& backend : {wg::Backend(wg::interpret), wg::Backend(wg::tile), wg::native}) {
            if (k % 2 == 0 && std::string_view(backend.name) != "tile") continue;
            if (k == 3 && std::string_view(backend.name) == "interpret") continue;
            auto frozen = wg::freeze(all[k], {.backend = backend});
            for (int i = 0; i < 3; ++i) {
                const bool same = same_bits(Tensor<T>(frozen(x)), wanted);
                if (!same)
                    std::printf("%s, %s, %s, call %d: max difference %g\n", name, kinds[k],
                                std::string(backend.name).c_str(), i,
                                static_cast<double>(amax(abs(frozen(x) - wanted)).item()));
                CHECK(same);
            }
            CHECK(frozen.stats().replays > 0);
        }
    }
}

template <class T, class F> Tensor<T> marched(const F& f, const Tensor<T>& t, int steps = 5)
{
    return wg::scan([&](const Tensor<T>& u) { return std::pair(f(u), std::tuple<>()); }, t, steps).first;
}

template <class T> void steps_of(const mpi::Comm& w)
{
    const Tensor<T> x = start<T>(w);
    check<T>(
        "one step", [&](const Tensor<T>& t) { return smooth(t, w); }, x);
    check<T>(
        "two steps", [&](const Tensor<T>& t) { return curved(smooth(sin(t), w), w); }, x);
    check<T>(
        "scan",
        [&](const Tensor<T>& t) { return marched<T>([&](const Tensor<T>& u) { return smooth(u, w); }, t); },
        x);
    check<T>(
        "scan, curved",
        [&](const Tensor<T>& t) { return marched<T>([&](const Tensor<T>& u) { return curved(u, w); }, t); },
        x);
    for (const bool periodic : {true, false})
        for (const int width : {2, 3})
            check<T>(
                "widths",
                [&](const Tensor<T>& t) {
                    return marched<T>([&](const Tensor<T>& u) { return curved(u, w, periodic, width); }, t,
                                      3);
                },
                x, width == 2);
}

void in_control(const mpi::Comm& w)
{
    const D x = start<double>(w);
    const auto step = [&](const D& u) { return curved(u, w); };
    check<double>(
        "checkpoint", [&](const D& t) { return wg::checkpoint(step)(smooth(t, w)); }, x);
    for (const std::uint64_t snapshots : {1U, 3U})
        check<double>(
            "checkpoint_loop",
            [&](const D& t) { return wg::checkpoint_loop(step, t, {.steps = 6, .snapshots = snapshots}); },
            x);
    check<double>(
        "while",
        [&](const D& t) {
            const auto small = [](const std::pair<D, D>& s) { return s.second < 3.0; };
            const auto body = [&](const std::pair<D, D>& s) {
                return std::pair(curved(s.first, w), s.second + 1.0);
            };
            return wg::while_loop(small, body, std::pair(t, D(0.0))).first;
        },
        x, false);  // its second derivative adds up in another order in a graph
    for (const double bound : {-1e9, 1e9})
        check<double>(
            "cond",
            [&](const D& t) {
                const Tensor<bool> up = mpi::allreduce(sum(t), mpi::sum, w) > bound;
                return wg::cond(
                    up, step, [&](const D& u) { return smooth(u, w, false, 2); }, t);
            },
            x);
    check<double>(
        "a scan in a scan",
        [&](const D& t) {
            return marched<double>([&](const D& u) { return smooth(marched<double>(step, u, 2), w); }, t, 2);
        },
        x);
    check<double>(
        "a branch in a scan",
        [&](const D& t) {
            return marched<double>(
                [&](const D& u) {
                    const Tensor<bool> up = mpi::allreduce(sum(u), mpi::sum, w) > 0.0;
                    return wg::cond(
                        up, step, [&](const D& v) { return smooth(v, w); }, u);
                },
                t, 3);
        },
        x);
}

void layouts(const mpi::Comm& w)
{
    const D x = start<double>(w, rows + 4, columns);
    check<double>(
        "views",
        [&](const D& t) {
            return marched<double>([&](const D& u) { return curved(u, w); },
                                   view(t, wg::range(2, rows + 2), wg::range(0, columns, 2)));
        },
        x);
    check<double>(
        "a transposed state",
        [&](const D& t) {
            return marched<double>([&](const D& u) { return transpose(curved(D(transpose(u)), w)); }, t, 3);
        },
        x);
    check<double>(
        "no margin", [&](const D& t) { return curved(t, w, true, 0) + smooth(t, w, false, 0); }, x);
    check<double>(
        "the margin alone",
        [&](const D& t) {
            const D h = mpi::halo(D(sin(t)), {.axis = 0, .width = 2, .periodic = true}, w);
            return view(h, wg::range(0, 2)) * view(h, wg::range(rows + 6, rows + 8));
        },
        x);
    check<double>(
        "columns",
        [&](const D& t) {
            const auto step = [&](const D& u) {
                const D h = mpi::halo(u, {.axis = 1, .width = 1, .periodic = true}, w);
                return u + 0.1 * (view(h, wg::all(), wg::range(0, columns)) * u -
                                  view(h, wg::all(), wg::range(2, columns + 2)));
            };
            return marched<double>(step, t, 3);
        },
        x);
}

/// A grid of ranks: both axes, so that corners come along.
void corners(const mpi::Comm& w)
{
    const int n = w.size();
    const mpi::Grid grid(w, n % 2 ? wg::Shape{n, 1} : wg::Shape{n / 2, 2});
    const D x = start<double>(w);
    for (const bool periodic : {true, false}) {
        const auto step = [&](const D& u) {
            const D h = mpi::halo(u,
                                  {{.axis = 0, .width = 1, .periodic = periodic},
                                   {.axis = 1, .width = 1, .periodic = periodic}},
                                  grid);
            const auto at = [&](std::int64_t i, std::int64_t j) {
                return view(h, wg::range(i, rows + i), wg::range(j, columns + j));
            };
            return u + 0.1 * (at(0, 0) * at(2, 2) - at(0, 2) + at(2, 0) - at(1, 0) * u);
        };
        check<double>(
            "corners", [&](const D& t) { return step(t); }, x);
        check<double>(
            "corners in a scan", [&](const D& t) { return marched<double>(step, t, 3); }, x, periodic);
    }
}

/// Several fields in one step, of different shapes; a scalar state beside them, results of every step, and slices that come in.
void fields(const mpi::Comm& w)
{
    const D x = start<double>(w);
    using State = std::tuple<D, D, D>;
    const auto step = [&](const State& s, const D& force) {
        const auto& [u, v, t] = s;
        const D a = curved(u, w) - 0.1 * smooth(v, w, false), b = curved(v, w, false, 2) + 0.2 * u + force;
        return std::pair(State(a, b, t + 1.0), sum(a * v, {0}) * t);
    };
    check<double>(
        "fields",
        [&](const D& t) {
            const D forces = wg::stack({D(0.1 * cos(t)), D(0.2 * t), D(sin(t))}, 0);
            const auto [last, rest] = wg::scan(step, State(t, cos(t), D(0.5)), forces);
            return std::get<0>(last) * std::get<1>(last) + std::get<2>(last) + sum(rest, {0});
        },
        x);
    const auto turned = [&](const std::pair<D, D>& s) {
        return std::pair(std::pair(s.second, curved(s.first, w)), std::tuple<>());
    };
    check<double>(
        "states that are each other's next ones",
        [&](const D& t) {
            const auto last = wg::scan(turned, std::pair(t, D(cos(t))), 5).first;
            return last.first * last.second;
        },
        x);
}

/// Results as large as the array that a step of a loop makes, by native code; whether its state is copied in the end.
std::pair<int, bool> passes(const wg::Graph& body)
{
    const wg::Graph step = wg::detail::body_compiler().load()->optimize(body);
    const wg::detail::NativePlan code(step, "wg", wg::tiling::Rotation{1, 1, 4096});
    int large = 0;
    for (const auto& task : code.plan.tasks)
        for (const wg::ValueId v : task.group.results)
            large += wg::element_count(step.node(v).shape) >= rows * columns;
    return {large, !code.plan.swaps(0) && !code.plan.in_place(0)};
}

/// A step and its derivative are one pass over the array each, beside the edges.
void one_pass(const mpi::Comm& w)
{
    const D x = start<double>(w);
    for (const bool linear : {true, false}) {
        const auto march = [&](const D& t) {
            return marched<double>([&](const D& u) { return linear ? smooth(u, w) : curved(u, w); }, t);
        };
        auto gradient = wg::freeze(wg::grad([&](const D& t) { return sum(square(march(t))); }));
        for (int i = 0; i < 2; ++i) gradient(x);
        int loops = 0;
        const wg::Graph g = gradient.graph(x);
        for (const wg::GraphNode& n : g.nodes()) {
            const wg::LoopParameters* const p = wg::loop_parameters(n);
            if (!p) continue;
            const auto [large, copied] = passes(*p->body);
            CHECK(large == 1 && !copied);
            ++loops;
        }
        CHECK(loops == 2);
    }
}

/// Values have the bits of one rank; a gradient where pieces meet is added up in another order.
void with_others_like_one(const mpi::Comm& w)
{
    const D whole = start<double>(mpi::Comm(MPI_COMM_SELF), 96, columns), mine = piece(whole, w);
    const mpi::Comm alone(MPI_COMM_SELF);
    const auto value = [](const D& t, const mpi::Comm& c) {
        return marched<double>([&](const D& u) { return curved(u, c); }, t);
    };
    const auto loss = [&](const D& t, const mpi::Comm& c) { return sum(square(value(t, c))); };
    for (const wg::Backend& backend : {wg::Backend(wg::tile), wg::native}) {
        auto one = wg::freeze(wg::grad([&](const D& t) { return loss(t, alone); }), {.backend = backend});
        auto all = wg::freeze(wg::grad([&](const D& t) { return loss(t, w); }), {.backend = backend});
        auto values = wg::freeze([&](const D& t) { return value(t, w); }, {.backend = backend});
        for (int i = 0; i < 3; ++i) {
            CHECK(same_bits(D(values(mine)), piece(value(whole, alone), w)));
            CHECK(wg::allclose(D(all(mine)), piece(D(one(whole)), w), 1e-13));
        }
    }
}

}  // namespace

int main(int argc, char** argv)
{
    return run_tests(argc, argv,
                     {steps_of<double>, steps_of<float>, in_control, layouts, corners, fields, one_pass,
                      with_others_like_one});
}
