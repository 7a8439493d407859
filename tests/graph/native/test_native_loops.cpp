// Loops in native code: one function runs all steps, with the bits of the loop run step by step.
#include "graph/c/emit_programs.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/ops/elementwise/cast.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/take.hpp>
#include <wengert/ops/elementwise/trigonometry.hpp>
#include <wengert/ops/view.hpp>
#include <wengert/transforms/derivatives.hpp>
#include <wengert/graph/loops/loop_graphs.hpp>

namespace {

template <class T> using List = std::vector<Tensor<T>>;

/// Two runs of the native graph, against interpret(): the same bits, or `ulps` of the largest element of each result.
/// `functions`: loops that must be machine code; the others must be named in the note.
void check(const Program& p, std::size_t functions, double ulps = 0)
{
    INFO(p.name);
    const auto native = compile_native(p.graph, {});
    const std::string text = native_text(p.graph);
    std::size_t found = 0, loops = 0;
    for (std::size_t at = text.find("int wg_loop"); at != std::string::npos;
         at = text.find("int wg_loop", at + 1))
        ++found;
    for (const GraphNode& n : p.graph.nodes()) loops += loop_parameters(n) != nullptr;
    CHECK(found == functions);
    REQUIRE(loops >= functions);
    INFO(native->note);
    CHECK((native->note == "") == (loops == functions));
    const auto want = interpret(p.graph, p.inputs);
    for (int twice = 0; twice < 2; ++twice) {
        std::vector<Ref<Block>> in = p.inputs, out;
        native->run(in, out);
        for (std::size_t k = 0; k < out.size(); ++k) {
            const Ref<Block> a = readable(want[p.graph.outputs()[k]]), b = readable(out[k]);
            if (ulps == 0) {
                CHECK(same_elements(*a, *b));
                continue;
            }
            with_dtype(a->dtype, [&]<class T>() {
                double largest = 0, error = 0;
                for (std::size_t i = 0; i < a->count; ++i) {
                    const auto x = static_cast<double>(a->template as<T>()[i]);
                    largest = std::max(largest, std::abs(x));
                    error = std::max(error, std::abs(x - static_cast<double>(b->template as<T>()[i])));
                }
                const double unit = std::is_same_v<T, float> ? 0x1p-23 : 0x1p-52;
                CHECK(error <= ulps * unit * largest);
            });
        }
    }
}

template <class T> struct State {
    Tensor<T> x, v, m;  // shapes (), (3,), (2, 5)
};
/// States of several shapes, slices, results for each step; `steps` may be 0.
template <class T> Program mixed_shapes(std::int64_t steps)
{
    const auto loss = [](const List<T>& w) {
        const auto step = [&](const State<T>& s, const Tensor<T>& u) {
            const Tensor<T> x = s.x * w[3] - T(0.3) * sum(s.v * u) / (T(1) + s.x * s.x);
            const Tensor<T> v = s.v + T(0.1) * (u - x * s.v);
            const Tensor<T> m = s.m * T(0.9) + T(0.01) * x * w[2];
            return std::pair(State<T>{x, v, m}, std::tuple(v * x, sum(m, {1})));
        };
        const auto [end, path] = scan(step, State<T>{w[0], w[1], w[2]}, w[4]);
        return sum(end.v) * end.x + sum(square(end.m)) + sum(square(std::get<0>(path))) +
               sum(std::get<1>(path));
    };
    return gradient<T>("mixed_shapes",
                       {numbers<T>({}, 1), numbers<T>({3}, 2), numbers<T>({2, 5}, 3), numbers<T>({}, 4),
                        numbers<T>({steps, 3}, 5)},
                       loss);
}

using D = Tensor<double>;

D decay(const D& x, const D& rate, std::int64_t steps, std::uint64_t snapshots)
{
    const auto step = [&](const D& s) { return std::pair(s - rate * s * s, sum(s)); };
    const auto [end, path] = scan(step, x, steps, ScanOptions{.snapshots = snapshots});
    return sum(square(end)) + sum(path);
}

}  // namespace

TEST_CASE("native: a scan and its derivative, states of several shapes", "[native]")
{
    for (const std::int64_t steps : {0, 1, 2, 37}) {
        check(mixed_shapes<double>(steps), steps == 0 ? 1 : 2);
        check(mixed_shapes<float>(steps), steps == 0 ? 1 : 2);
    }
}

TEST_CASE("native: loops in loops, branches, loops that end by their data", "[native]")
{
    const auto newton = [](const D& x) {
        return while_loop([&](const D& y) { return sum(y * y - x) > 1e-9; },
                          [&](const D& y) { return 0.5 * (y + x / y); }, 1.0 + x);
    };
    check(gradient<double>("newton", {D{2.0, 3.0, 144.0}},
                           [&](const List<double>& w) { return sum(newton(w[0])); }),
          2);
    const auto nested = [&](const List<double>& w) {
        const auto step = [&](const D& x, const D& force) {
            const D next = cond(
                sum(x) > 1.0, [&](const D& y) { return decay(y, w[1], 3, 0) * y; },
                [&](const D& y) { return y + square(force); }, x);
            return std::pair(next, next * force);
        };
        const auto [end, path] = scan(step, w[0], w[2]);
        return sum(end) + sum(path);
    };
    check(gradient<double>("nested", {D{0.1, 0.2}, D(0.2), numbers<double>({20, 2}, 1)}, nested), 2);
}

TEST_CASE("native: a scan that keeps few states", "[native]")
{
    for (const std::uint64_t snapshots : {1U, 3U, 19U}) {
        const Program p = gradient<double>("decay", {D{0.5, 0.7}, D(0.01)}, [&](const List<double>& w) {
            return decay(w[0], w[1], 20, snapshots);
        });
        check(p, 2);
        std::uint64_t forward = 0, planned = 0;
        for (const GraphNode& n : p.graph.nodes())
            if (loop_parameters(n) && loop_parameters(n)->kind == LoopParameters::Kind::scan_pull) {
                forward = loop_report(n).forward;
                planned = loop_report(n).planned;
            }
        CHECK(planned > 0);
        CHECK(forward == planned);
    }
}

TEST_CASE("native: functions in a body differ by a few ULP, second derivatives too", "[native]")
{
    const auto path = [](const D& x) {
        const auto step = [&](const D& s) {
            const D next = s + 0.1 * sin(x * s) * exp(-s * s);
            return std::pair(next, sum(square(next)));
        };
        const auto [end, squares] = scan(step, x, 6);
        return sum(end) + sum(squares);
    };
    check(gradient<double>("path", {D{0.5, -0.7, 1.1}}, [&](const List<double>& w) { return path(w[0]); }), 2,
          200);
    check(program<double>("curvature", {D{0.5, -0.7, 1.1}},
                          [&](const List<double>& w, const auto& out) {
                              out(jvp(grad(path), w[0], D{1.0, 0.5, -0.3}).second);
                          }),
          4, 500);
}

TEST_CASE("native: bodies with library calls run step by step, and say so", "[native]")
{
    const auto cell = [](const List<double>& w) {
        const auto step = [&](const D& h, const D& x) { return std::pair(matmul(h, w[1]) * x, sum(h)); };
        const auto [h, out] = scan(step, w[2], w[0]);
        return sum(square(h)) + sum(out);
    };
    const Program p = gradient<double>(
        "cell", {numbers<double>({7, 2, 3}, 1), numbers<double>({3, 3}, 2), numbers<double>({2, 3}, 3)},
        cell);
    check(p, 0);
    const std::string note = compile_native(p.graph, {})->note;
    CHECK(note.find("scan at ") != std::string::npos);
    CHECK(note.find("runs step by step") != std::string::npos);
    CHECK(note.find("matmul") != std::string::npos);
}

TEST_CASE("native: an index that is none ends a loop as it does eagerly", "[native]")
{
    const Program p = program<double>("table", {D{1.0, 2.0, 4.0}, D{0.0, 2.0, -1.0}},
                                      [](const List<double>& w, const auto& out) {
                                          const auto step = [&](const D& s, const D& k) {
                                              const D x = take(w[0], cast<std::int64_t>(k), 0);
                                              return std::pair(s + x, x);
                                          };
                                          const auto [end, all] = scan(step, D(0.0), w[1]);
                                          out(end), out(all);
                                      });
    check(p, 1);
    std::vector<Ref<Block>> in = {p.inputs[0], D{0.0, 7.0, 1.0}.any().value}, out;
    CHECK_THROWS_AS(compile_native(p.graph, {})->run(in, out), IndexError);
}

TEST_CASE("native: the text of a loop knows neither its constants nor more steps", "[native]")
{
    const auto text = [](double rate, std::int64_t steps) {
        const Program p = program<double>("f", {D{1.0, 2.0}}, [&](const List<double>& w, const auto& out) {
            out(scan([&](const D& x) { return std::pair(x * rate, std::tuple()); }, w[0], steps).first);
        });
        return native_text(p.graph);
    };
    CHECK(text(0.3, 10) == text(0.7, 10));
    CHECK(text(0.3, 1000).size() == text(0.3, 9000).size());
}

TEST_CASE("stats() counts the loops that run step by step", "[native]")
{
    const auto run = [](const D& w, const D& x, bool product) {
        const auto step = [&](const D& s, const D& u) {
            return std::pair(product ? matmul(w, s) * u : s / norm(s) * u, std::tuple());
        };
        return sum(scan(step, x(0), x).first);
    };
    const D w = numbers<double>({3, 3}, 1), x = numbers<double>({5, 3}, 2);
    for (const bool product : {false, true}) {
        auto frozen = freeze([&](const D& a, const D& b) { return run(a, b, product); }, {.backend = native});
        frozen(w, x);
        INFO(frozen.explain());
        CHECK(frozen.stats().uncompiled_loops == (product ? 1U : 0U));
        CHECK((frozen.explain().find("matmul") != std::string::npos) == product);
    }
}
