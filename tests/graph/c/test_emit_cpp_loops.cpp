// Loops and branches of graphs in emitted headers: loops and branches of C, with their derivatives.
#include "graph/c/emit_programs.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/ops/elementwise/cast.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/elementwise/trigonometry.hpp>
#include <wengert/ops/view.hpp>
#include <wengert/transforms/derivatives.hpp>
#include <wengert/graph/loops/loop_graphs.hpp>

namespace {

using D = Tensor<double>;
using F = Tensor<float>;
using Count = Tensor<std::int64_t>;

struct Oscillator {
    D q, p;
};
/// Energy at the end and mean square of the path of a damped oscillator, k and friction for each of them.
D oscillator(const std::vector<D>& w)
{
    const auto [end, path] = scan(
        [&](const Oscillator& o) {
            const D p = o.p - 0.01 * (w[0] * sin(o.q) + w[1] * o.p);
            const D q = o.q + 0.01 * p;
            return std::pair(Oscillator{q, p}, q);
        },
        Oscillator{w[2], zeros_like(w[2])}, 1000);
    return sum(end.p * end.p + w[0] * end.q * end.q) + mean(square(path));
}

/// A recurrent cell over slices, from the last one to the first where it is differentiated.
D recurrent(const std::vector<D>& w)
{
    const auto [h, out] = scan(
        [&](const D& state, const D& x) {
            const D next = tanh(matmul(state, w[1]) + x);
            return std::pair(next, sum(next, {1}));
        },
        w[2], w[0]);
    return sum(square(h)) + sum(out * out);
}

/// Newton's iteration for √x: as many steps as it takes.
D root(const D& x)
{
    return while_loop([&](const D& y) { return amax(abs(y * y - x)) > 1e-9; },
                      [&](const D& y) { return 0.5 * (y + x / y); }, 1.0 + 0.0 * x);
}

D chosen(const std::vector<D>& w)
{
    return cond(
        sum(w[0]) > 0.0, [](const D& a, const D& b) { return sum(exp(a) * b); },
        [](const D& a, const D& b) { return sum(a * sin(b)); }, w[0], w[1]);
}

/// Adaptive: each step has a branch, and in it a loop of its own.
D nested(const std::vector<D>& w)
{
    const auto step = [&](const D& x, const D& force) {
        const D next = cond(
            sum(x) > 1.0,
            [&](const D& y) {
                return while_loop([](const D& z) { return sum(z) > 1.0; },
                                  [&](const D& z) { return z * w[1]; }, y);
            },
            [&](const D& y) { return y + square(force); }, x);
        return std::pair(next, next * force);
    };
    const auto [end, path] = scan(step, w[0], w[2]);
    return sum(end) + sum(path);
}

/// Results of all types in one loop: floats, doubles, whole numbers, truth values.
struct Mixed {
    F sum;
    D product;
    Count n;
    Tensor<bool> odd;
};
template <class Out> void mixed(const std::vector<D>& w, const Out& out)
{
    const auto [end, ys] = scan(
        [](const Mixed& m, const D& x) {
            const Mixed next{m.sum + cast<float>(x), m.product * x, m.n + std::int64_t{3}, !m.odd};
            return std::pair(next, std::tuple(next.sum, next.n, next.odd, next.product));
        },
        Mixed{F{0.0F, 1.0F}, D(2.0), Count(std::int64_t{1}), Tensor<bool>{true, false, true}}, w[0]);
    out(end.sum), out(end.product), out(end.n), out(end.odd);
    out(std::get<0>(ys)), out(std::get<1>(ys)), out(std::get<2>(ys)), out(std::get<3>(ys));
}

struct Walk {
    D x;
    F slow;
    Count count;
};
/// A scan with states of several types that keeps only so many of them (0: all).
auto walk(std::uint64_t snapshots)
{
    return [snapshots](const std::vector<D>& w) {
        const auto body = [&](const Walk& s, const D& force) {
            const D x = tanh(w[0] * s.x + force) + 0.1 * cast<double>(s.slow) / cast<double>(s.count);
            return std::pair(Walk{x, s.slow * 0.5F + cast<float>(sum(x)), s.count + std::int64_t{1}},
                             std::tuple(x * force, sum(s.x)));
        };
        const Walk start{w[1], F{1.0F, 2.0F}, Count(std::int64_t{1})};
        const auto [end, path] = scan(body, start, w[2], ScanOptions{.snapshots = snapshots});
        return sum(end.x) + sum(square(std::get<0>(path))) + sum(std::get<1>(path)) +
               cast<double>(sum(end.slow));
    };
}

bool contains_loop(const Program& p)
{
    for (const GraphNode& n : p.graph.nodes())
        if (loop_parameters(n)) return true;
    return false;
}

}  // namespace

TEST_CASE("loops over a known number of steps, and their derivatives", "[emit]")
{
    std::vector<Program> list;
    list.push_back(gradient<double>("oscillator", {D{2.0, 0.5}, D(0.3), D{0.3, -0.2}}, oscillator));
    list.push_back(gradient<double>(
        "recurrent", {numbers<double>({7, 2, 3}, 1), numbers<double>({3, 3}, 2), numbers<double>({2, 3}, 3)},
        recurrent));
    list.push_back(program<double>(
        "turned", {numbers<double>({2, 7}, 1), numbers<double>({2, 3}, 2)},
        [](const std::vector<D>& w, const auto& out) {  // views in another order than their elements
            const auto step = [&](const D& state, const D& x) {
                const D next = 0.5 * state + x(0) - x(1);
                return std::pair(next, sum(next));
            };
            const auto [end, path] = scan(step, transpose(w[1]), transpose(w[0]));
            out(end), out(path);
        }));
    list.push_back(program<double>("mixed", {numbers<double>({5}, 1)},
                                   [](const std::vector<D>& w, const auto& out) { mixed(w, out); }));
    list.push_back(
        program<double>("no_steps", {numbers<double>({3}, 1)}, [](const std::vector<D>& w, const auto& out) {
            const auto [end, path] = scan([](const D& x) { return std::pair(x * 2.0, x); }, w[0], 0);
            out(end), out(path);
        }));
    for (const Program& p : list) CHECK(contains_loop(p));
    check(list);
}

TEST_CASE("loops that end by their data, branches, and their derivatives", "[emit]")
{
    std::vector<Program> list;
    list.push_back(program<double>("newton", {D{2.0, 3.0, 144.0}},
                                   [](const std::vector<D>& w, const auto& out) { out(root(w[0])); }));
    list.push_back(gradient<double>("newton_gradient", {D{2.0, 3.0, 144.0}},
                                    [](const std::vector<D>& w) { return sum(root(w[0])); }));
    list.push_back(gradient<double>("first_branch", {D{2.0, 3.0}, D{0.5, 0.7}}, chosen));
    list.push_back(gradient<double>("second_branch", {D{-2.0, 1.0}, D{0.5, 0.7}}, chosen));
    list.push_back(gradient<double>("nested", {D{0.1, 0.2}, D(0.8), numbers<double>({40, 2}, 1)}, nested));
    for (const Program& p : list) CHECK(contains_loop(p));
    check(list);
}

TEST_CASE("derivatives of scans that keep few states", "[emit]")
{
    std::vector<Program> list;
    const std::vector<std::pair<std::int64_t, std::uint64_t>> sizes = {{20, 3}, {7, 1}, {60, 5}, {9, 8}};
    for (const auto& [steps, snapshots] : sizes) {
        const std::vector<D> w = {D{0.7, -0.4}, D{0.3, 0.5}, numbers<double>({steps, 2}, 1)};
        list.push_back(gradient<double>("walk" + std::to_string(steps), w, walk(snapshots)));
        bool snapshot = false;
        for (const GraphNode& n : list.back().graph.nodes())
            snapshot = snapshot || (n.primitive && n.primitive->name == "scan_pull");
        CHECK(snapshot);
        list.back().expected = gradient<double>("plain", w, walk(0)).expected;
    }
    // helpers for a type that no value has
    const auto narrowed = [](const std::vector<D>& w) {
        const auto step = [](const D& s) {
            return std::pair(cast<double>(cast<float>(s * s)), std::tuple());
        };
        return sum(scan(step, w[0], 5, ScanOptions{.snapshots = 2}).first);
    };
    list.push_back(gradient<double>("narrowed", {D{0.7, -0.4}}, narrowed));
    check(list);
}

TEST_CASE("second derivatives of loops, derivatives forwards, and floats", "[emit]")
{
    std::vector<Program> list;
    const auto short_path = [](const D& x) {
        const auto [end, path] = scan(
            [&](const D& s) {
                const D next = s + 0.1 * sin(x * s);
                return std::pair(next, sum(square(next)));
            },
            x, 6);
        return sum(end) + sum(path);
    };
    list.push_back(
        program<double>("curvature", {D{0.5, -0.7, 1.1}},
                        [&](const std::vector<D>& w, const auto& out) { out(hessian(short_path)(w[0])); }));
    list.push_back(program<double>("forwards", {D{0.5, 0.7, 1.1}, D{1.0, -2.0, 0.5}},
                                   [&](const std::vector<D>& w, const auto& out) {
                                       out(jvp(short_path, w[0], w[1]).second);
                                       out(jvp(root, w[0], w[1]).second);
                                   }));
    list.push_back(
        program<double>("newton_curvature", {D{2.0, 3.0}}, [](const std::vector<D>& w, const auto& out) {
            out(hessian([](const D& x) { return sum(root(x)); })(w[0]));
        }));
    list.push_back(gradient<float>(
        "narrow", {numbers<float>({4, 3}, 1), numbers<float>({3}, 2)}, [](const std::vector<F>& w) {
            const auto [end, path] = scan(
                [&](const F& s, const F& x) {
                    const F next = s * 0.5F + tanh(x * w[1]);
                    return std::pair(next, next * x);
                },
                zeros_like(w[1]), w[0]);
            const F power = while_loop([](const F& z) { return sum(z) < 50.0F; },
                                       [](const F& z) { return z * z + 1.0F; }, abs(end));
            return sum(log(power)) + sum(path);
        }));
    for (const Program& p : list) CHECK(contains_loop(p));
    check(list);
}

TEST_CASE("what is the same in all steps is worked out before the first one", "[emit]")
{
    const auto diffusion = [](const std::vector<D>& w) {
        const auto [end, path] = scan(
            [&](const D& u) {
                const D next = u - 0.1 * exp(w[1]) * u + cosh(w[2]);
                return std::pair(next, sum(next));
            },
            w[0], 5);
        const D small = while_loop([&](const D& u) { return sum(u) > sum(sinh(w[2])); },
                                   [&](const D& u) { return u * (1.0 - 0.5 * exp(w[1])); }, end);
        return sum(small) + sum(path);
    };
    const std::vector<Program> list = {
        gradient<double>("diffusion", {D{0.5, 0.7, 1.1}, D{-0.3, -0.7, -0.5}, D(0.1)}, diffusion)};
    check(list);
    const Program forward =
        program<double>("forward", {D{0.5, 0.7, 1.1}, D{-0.3, -0.7, -0.5}, D(0.1)},
                        [&](const std::vector<D>& w, const auto& out) { out(diffusion(w)); });
    const std::string header = emit_cpp(forward.graph, "forward");
    const std::vector<std::pair<const char*, const char*>> functions = {
        {"= forward_exp_f64(", "for (ptrdiff_t step"},
        {"= forward_cosh_f64(", "for (ptrdiff_t step"},
        {"= forward_sinh_f64(", "for (;;)"}};
    for (const auto& [f, loop] : functions) {
        INFO(f);
        const std::size_t at = header.find(f), from = header.rfind("static void ", at);
        REQUIRE(at != std::string::npos);
        const std::string name = header.substr(from + 12, header.find('(', from) - from - 12);
        const std::size_t call = header.rfind(name + "(");
        CHECK(call > header.find("forward_with("));
        CHECK(header.find(loop, call) != std::string::npos);
    }
}

TEST_CASE("a header does not grow with the number of steps", "[emit]")
{
    const auto length = [](std::int64_t steps) {
        const Program p = program<double>("f", {D{1.0, 2.0}}, [&](const std::vector<D>& w, const auto& out) {
            out(scan([](const D& x) { return std::pair(x * 0.5, std::tuple()); }, w[0], steps).first);
        });
        return emit_cpp(p.graph, p.name).size();
    };
    CHECK(length(1000) == length(9000));
}
