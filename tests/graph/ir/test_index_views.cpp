// Views, parts and joined arrays in frozen graphs, all of which follow from descriptions; and a program's own views, whatever they
// are called: no copy in tiles, no memory that is written while somebody reads it.
#include "graph/c/emit_programs.hpp"
#include "graph/ir/in_loops.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/run/compile.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/moves.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/checkpoint.hpp>
#include <wengert/transforms/derivatives.hpp>

using D = Tensor<double>;
using I = Tensor<std::int64_t>;
using B = Tensor<bool>;
using X = const D&;
using placeholders::_;

/// The corner without the first row and column, transposed. Its name is another's.
struct Corner {
    static constexpr std::string_view name = "softmax";
    static constexpr bool linear = true;
    void describe(Index& p) const
    {
        const Shape& x = p.shape(0);
        const Position i = p.axis(x[1] - 1), j = p.axis(x[0] - 1);
        Positions to, from;
        to.push_back(i), to.push_back(j);
        from.push_back(j + 1), from.push_back(i + 1);
        p.write(to);
        p.read(0, from);
    }
};
/// The same elements in a vector.
struct Line {
    static constexpr std::string_view name = "exp";
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(0);
        p.write(i);
        p.read(0, i);
        p.arrange({static_cast<std::int64_t>(element_count(p.shape(0)))});
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return reshape(g, Shape{4, 5});
    }
    template <class T> Tensor<T> push(const Tensor<T>& dx, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<Line, T>(*this, Site{}, dx);
    }
};
/// x with v in its first row.
struct FirstRow {
    static constexpr std::string_view name = "copy";
    static constexpr bool flat = true;
    void describe(Index& p) const
    {
        const Position j = p.axis(p.shape(1)[0]);
        Positions to, from;
        to.push_back(0), to.push_back(j);
        from.push_back(j);
        p.write_into(to, 0);
        p.read(1, from);
    }
};

namespace {

template <class Op> D own(const D& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return apply<Op, double>({}, at, x);
}
D with_row(const D& x, const D& v) { return apply<FirstRow, double>({}, Site{}, x, v); }

std::vector<Program> programs()
{
    std::vector<Program> list;
    const auto add = [&](const char* name, const auto& f) {
        const D x = numbers<double>({4, 5}, 1), y = numbers<double>({4, 5}, 2);
        list.push_back(gradient<double>(name, {x, y}, [f](const std::vector<D>& w) {
            const D r = f(w[0], w[1]);
            return sum(r * r * r + r);
        }));
        list.push_back(
            program<double>(std::string(name) + "_value", {x, y},
                            [f](const std::vector<D>& w, const auto& out) { out(f(w[0], w[1])); }));
    };
    add("own", [](X x, X y) { return own<Corner>(x * y) * own<Corner>(y) + own<Corner>(x); });
    add("line", [](X x, X y) { return own<Line>(x * y) * own<Line>(y); });
    list.push_back(program<double>("row", {numbers<double>({4, 5}, 1), numbers<double>({5}, 2)},
                                   [](const std::vector<D>& w, const auto& out) {
                                       const D a = with_row(w[0] * 2.0, w[1]);
                                       out(with_row(a, own<Line>(view(a, 1))));
                                       out(with_row(w[0], w[1] * 3.0));
                                   }));
    return list;
}

void check_bits(const Program& p, Executable& e)
{
    for (int twice = 0; twice < 2; ++twice) {
        std::vector<Ref<Block>> in = p.inputs, out;
        e.run(in, out);
        REQUIRE(out.size() == p.expected.size());
        for (std::size_t k = 0; k < out.size(); ++k) CHECK(same_elements(*readable(out[k]), *p.expected[k]));
    }
}

}  // namespace

TEST_CASE("a program's own views have the same bits on every executor")
{
    for (const Program& p : programs()) {
        INFO(p.name);
        const auto values = interpret(p.graph, p.inputs);
        for (std::size_t k = 0; k < p.expected.size(); ++k)
            CHECK(same_elements(*readable(values[p.graph.outputs()[k]]), *p.expected[k]));
        const auto tiles = Backend(tile).compile(p.graph, {});
        check_bits(p, *tiles);
        const auto native = compile_native(p.graph, {});
        CHECK(native->note == "");
        check_bits(p, *native);
    }
}

TEST_CASE("a program's own views as emitted C and C++, without a warning") { check(programs()); }

TEST_CASE("a lone affine read is a view in tiles, whatever it is called")
{
    const auto graph_of = [](const auto& f) {
        return trace_graph(
            [&](const std::vector<AnyTensor>& in) { return std::vector<AnyTensor>{f(D(in[0])).any()}; },
            {numbers<double>({4, 5}, 1).any().value});
    };
    const auto views = [](const Graph& g) {
        const tiling::Layouts layouts = tiling::layouts_of(g);
        std::size_t n = 0;
        for (ValueId v = 0; v < g.size(); ++v) n += layouts[v].is_view(v);
        return n;
    };
    CHECK(views(graph_of([](X x) { return own<Corner>(x * 2.0) + 1.0; })) == 1);
    CHECK(views(graph_of([](X x) { return own<Line>(x * 2.0) + 1.0; })) == 1);
    CHECK(views(graph_of([](X x) { return own<Line>(own<Corner>(x)) + 1.0; })) == 1);  // not in order: copied
    CHECK(views(graph_of([](X x) { return flip(sliding_window(x, 2, 1)) + x(0, 0); })) == 3);
    CHECK(views(graph_of([](X x) { return roll(x, 1, 0) + repeat(x, 1, 0); })) == 0);
    const Graph g = graph_of([](X x) { return own<Corner>(x * 2.0) * own<Corner>(x); });
    CHECK(compile_tile(g, {})->stats.kernels == 2);
}

TEST_CASE("what a program's own view shows is not written over before it is read")
{
    // exp(t) may lie where t does, unless the view is read after it; the sum reads it first and last
    const auto f = [](const D& x) {
        const D t = x * 2.0, v = own<Corner>(t), u = exp(t), w = own<Corner>(u) * v;
        return sum(w) * u + sum(v * v);
    };
    const auto g = [](const D& x) {
        D t = x + 1.0;
        const D v = own<Corner>(t);
        view(t, range(1, 3)) = 0.5;
        t += 1.0;
        return v * own<Corner>(t) + sum(own<Line>(t));
    };
    const D x = numbers<double>({4, 5}, 3);
    for (const Backend& backend : std::vector<Backend>{interpret, tile, native}) {
        auto a = freeze(f, {.backend = backend});
        auto b = freeze(g, {.backend = backend});
        auto c = freeze(grad([&](const D& t) { return sum(f(t) * f(t)) + sum(g(t)); }), {.backend = backend});
        for (int twice = 0; twice < 3; ++twice) {
            CHECK(same_elements(*readable(a(x).any().value), *readable(f(x).any().value)));
            CHECK(same_elements(*readable(b(x).any().value), *readable(g(x).any().value)));
            const D wanted = grad([&](const D& t) { return sum(f(t) * f(t)) + sum(g(t)); })(x);
            CHECK(same_elements(*readable(c(x).any().value), *readable(wanted.any().value)));
        }
    }
}

TEST_CASE("live tensors, captures and results beside a program's own views")
{
    for (const Backend& backend : std::vector<Backend>{interpret, tile, native}) {
        D w = numbers<double>({4, 5}, 1), held = numbers<double>({4, 5}, 2);
        D eager_w = copy(w);
        const auto step = [&held](D& state, const D& x) {
            const D before = own<Corner>(state), captured = own<Corner>(held);
            state += x;
            view(state, 0) = own<Line>(view(state, 1));
            return before + captured * own<Corner>(state);
        };
        auto frozen = freeze([&](const D& x) { return step(w, x); }, {.backend = backend});
        frozen.live(w);
        for (int k = 0; k < 4; ++k) {
            const D x = numbers<double>({4, 5}, k + 3);
            const D y = frozen(x), wanted = step(eager_w, x);
            CHECK(same_elements(*readable(y.any().value), *readable(wanted.any().value)));
            CHECK(same_elements(*readable(w.any().value), *readable(eager_w.any().value)));
        }
        // what a call returns is no view of what the next one writes
        auto shown = freeze([&](const D& x) { return std::pair(own<Corner>(x), own<Line>(x * 2.0)); },
                            {.backend = backend});
        const D x = numbers<double>({4, 5}, 1);
        shown(x);
        const auto [a, b] = shown(x);
        const auto [c, d] = shown(numbers<double>({4, 5}, 9));
        CHECK(same_elements(*readable(a.any().value), *readable(own<Corner>(x).any().value)));
        CHECK(same_elements(*readable(b.any().value), *readable(own<Line>(x * 2.0).any().value)));
    }
}

TEST_CASE("views, parts and joined arrays in loops, branches and under checkpoints")
{
    const D x = numbers<double>({6, 5}, 1), s = numbers<double>({5, 5}, 2);
    const auto step = [](const D& h, const D& r) {
        D next = 0.5 * transpose(h);
        view(next, range(1, 4), range(0, 2)) += view(h, range(0, 3), range(_, 2, -1));
        view(next, 2) = r;
        const D corner = own<Corner>(next);
        const D wide = concatenate({corner, view(corner, range(0, 1))}, 0);
        next = next + concatenate({wide, expand_dims(r, 1)}, 1);
        return std::pair(next, stack({diagonal(next), r, reshape(view(next, all(), 1), {5})}, 1));
    };
    const auto whole = [](const D& t) { return sum(sin(own<Corner>(t)) * own<Corner>(square(t))); };
    check_in_loops(step, whole, s, x);
    CHECK(check_grads(whole, s, {.order = 2}).ok);
}
