// Index programs in frozen graphs: the same bits from eager, interpret, tiles, native code and emitted C, in loops and under
// checkpoints; and a program's own primitives that are described like the library's.
#include "emit_programs.hpp"
#include "in_loops.hpp"

#include <wengert/graph/control.hpp>
#include <wengert/graph/emit/native.hpp>
#include <wengert/graph/freeze.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/math.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/scans.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/checkpoint.hpp>
#include <wengert/transforms/derivatives.hpp>

using D = Tensor<double>;
using I = Tensor<std::int64_t>;

/// Every second row. Its name is another's.
struct EverySecond {
    static constexpr std::string_view name = "copy";
    static constexpr bool linear = true;
    void describe(Index& p) const
    {
        const Shape& x = p.shape(0);
        const Positions i = p.axes({(x[0] + 1) / 2, x[1]});
        Positions from = i;
        from[0] = i[0] * 2;
        p.write(i);
        p.read(0, from);
    }
};
struct RowMost {
    static constexpr std::string_view name = "row_most";
    static constexpr bool flat = true;
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(0);
        Positions to;
        to.push_back(i[0]);
        p.fold(to, Combine::maximum);
        p.read(0, i);
    }
};
/// Reads one too far.
struct TooFar {
    static constexpr std::string_view name = "too_far";
    static constexpr bool flat = true;
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(0);
        Positions from = i;
        from[1] = i[1] + 1;
        p.write(i);
        p.read(0, from);
    }
};
struct WrittenTwice {
    static constexpr std::string_view name = "written_twice";
    static constexpr bool flat = true;
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(0);
        Positions to;
        to.push_back(i[0]);
        p.write(to);
        p.read(0, i);
    }
};

namespace {

template <class Op> D own(const D& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return apply<Op, double>({}, at, x);
}

const I places = reshape(I{0, 1, 1, -1, 2, 0, 3, 0, 3, 1, 1, 1}, {4, 3});

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
    using X = const D&;
    add("roll", [](X x, X y) { return roll(x, {1, -2}, {0, 1}) * flip(y); });
    add("pad", [](X x, X y) {
        return pad(x, {{1, 2}, {0, 1}}, PadMode::edge) + pad(y, {{2, 1}, {1, 0}}, PadMode::constant, -0.5);
    });
    add("pad_round", [](X x, X y) {
        return pad(x, {{5, 6}, {7, 1}}, PadMode::wrap) * pad(y, {{6, 5}, {0, 8}}, PadMode::reflect);
    });
    add("repeat", [](X x, X y) { return repeat(transpose(x), 3, 1) - repeat(transpose(y), 3, 1); });
    add("windows", [](X x, X y) {
        return sliding_window(x, {2, 3}, {0, 1}) * sliding_window(y, {2, 3}, {0, 1});
    });
    add("diff", [](X x, X y) { return diff(x * y, -1, 2) + diff(x, -1, 2); });
    for (const bool reverse : {false, true}) {
        const std::string turned = reverse ? "_back" : "";
        add(("scan_rows" + turned).c_str(),
            [=](X x, X y) { return cumsum(x, 1, reverse) * cumprod(y, 1, reverse); });
        add(("scan_columns" + turned).c_str(),
            [=](X x, X y) { return cumsum(x, 0, reverse) + cumprod(y, 0, reverse) * cummax(x, 0, reverse); });
    }
    add("along", [](X x, X y) { return put_along_axis(x, places, take_along_axis(y, places, 1), 1); });
    add("segments", [](X x, X y) { return segment_sum(x * y, I{2, 0, 2, 1}, 4); });
    add("own", [](X x, X y) { return own<EverySecond>(x) * own<EverySecond>(transpose(transpose(y))); });
    list.push_back(
        program<double>("most", {numbers<double>({4, 5}, 3)},
                        [](const std::vector<D>& w, const auto& out) { out(own<RowMost>(w[0])); }));
    list.push_back(program<float>("floats", {numbers<float>({9, 40}, 3)},
                                  [](const std::vector<Tensor<float>>& w, const auto& out) {
                                      out(cumsum(w[0], 0) + cumprod(w[0], 1));
                                      out(diff(pad(w[0], {{3, 3}, {3, 3}}, PadMode::reflect)));
                                  }));
    list.push_back(
        program<std::int64_t>("whole", {I{std::numeric_limits<std::int64_t>::max(), 3, -4, 5}},
                              [](const std::vector<I>& w, const auto& out) {
                                  out(cumsum(w[0], 0) + cumprod(w[0], 0, true));
                                  out(cummax(w[0], 0) - diff(pad(w[0], {{1, 0}}, PadMode::constant, 7)));
                                  out(segment_sum(w[0], I{1, 1, 0, 0}, 2));
                                  out(flip(w[0] > 3) && roll(w[0] < 5, 1));
                              }));
    list.push_back(
        program<double>("empty", {numbers<double>({0, 3}, 1)}, [](const std::vector<D>& w, const auto& out) {
            out(cumsum(w[0], 0));
            out(pad(w[0], {{1, 1}, {0, 0}}, PadMode::constant, 2.0));
            out(segment_sum(w[0], I(AnyTensor{make_block(DType::int64, Shape{0}), {}}), 2));
        }));
    list.push_back(program<double>("rank7", {numbers<double>({2, 1, 2, 3, 1, 2, 2}, 1)},
                                   [](const std::vector<D>& w, const auto& out) {
                                       out(cumsum(roll(flip(w[0]), 1, 3), 3));
                                       out(sliding_window(w[0], {2, 2}, {3, 6}));
                                   }));
    list.push_back(
        program<double>("rank0", {numbers<double>({}, 1)}, [](const std::vector<D>& w, const auto& out) {
            out(flip(w[0]) + pad(w[0], {}, PadMode::wrap));
            out(repeat(w[0], 3));
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

template <class F> std::string message(const F& f)
{
    try {
        f();
    } catch (const Error& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("index programs have the same bits on every executor, and none calls the host")
{
    for (const Program& p : programs()) {
        INFO(p.name);
        const auto values = interpret(p.graph, p.inputs);
        for (std::size_t k = 0; k < p.expected.size(); ++k)
            CHECK(same_elements(*readable(values[p.graph.outputs()[k]]), *p.expected[k]));
        const auto tiles = tile.compile(p.graph, {});
        check_bits(p, *tiles);
        const auto native = compile_native(p.graph, {});
        INFO(native->note);
        CHECK(native->note == "");
        check_bits(p, *native);
        bool indexed = false, written = false;  // views, and moves for which there are steps, need no text
        const tiling::Layouts layouts = tiling::layouts_of(p.graph);
        for (ValueId v = 0; v < p.graph.size(); ++v) {
            const GraphNode& n = p.graph.node(v);
            if (!n.primitive || !n.primitive->index) continue;
            indexed = true;
            written = written || (!layouts[v].is_view(v) && !moves_boxes(p.graph, n));
        }
        CHECK(indexed);
        CHECK((native_text(p.graph, {}).find("int wg_index") != std::string::npos) == written);
    }
}

TEST_CASE("index programs as emitted C and C++, without a warning") { check(programs()); }

TEST_CASE("index programs in loops and under checkpoints")
{
    const D x = numbers<double>({6, 5}, 1), s = numbers<double>({5}, 2);
    const auto step = [](const D& h, const D& r) {
        const D next = 0.5 * roll(h, 1, 0) + cumsum(r, 0) * 0.25 + pad(diff(h), {{1, 0}}, PadMode::edge);
        return std::pair(next, take_along_axis(next, I{4, 0, -2}, 0));
    };
    const auto whole = [](const D& t) { return sum(sin(cumprod(pad(t, {{1, 1}}, PadMode::wrap), 0))); };
    check_in_loops(step, whole, s, x);
}

TEST_CASE("an index that is none in a frozen graph")
{
    const D x = numbers<double>({4, 5}, 1);
    const I good = {0, 1, 2, 1}, bad = {0, 1, 9, -1};
    int line = 0;
    const auto f = [&](const D& t, const I& i) {
        line = __LINE__ + 1;
        return segment_sum(t, i, 3) * 2.0;
    };
    for (const Backend& backend : std::vector<Backend>{interpret, tile, native}) {
        auto frozen = freeze(f, {.backend = backend});
        frozen(x, good);
        frozen(x, good);
        CHECK(message([&] { frozen(x, bad); }) == "[segment_sum] index 9 at (2) of operand 1 is out of range "
                                                  "for axis 0 of shape (3, 5) (test_index_frozen.cpp:" +
                                                      std::to_string(line) + ")");
        CHECK(same_elements(*frozen(x, good).any().value, *f(x, good).any().value));
    }
    Program p{"checked",
              trace_graph(
                  [](const std::vector<AnyTensor>& in) {
                      return std::vector<AnyTensor>{segment_sum(D(in[0]), I(in[1]), 3).any()};
                  },
                  {x.any().value, good.any().value}),
              {},
              {}};
    const Compiled all({p});
    if (!all.object) return;
    CHECK(all(p, {x.any().value, good.any().value}) == 0);
    CHECK(all(p, {x.any().value, bad.any().value}) < 0);
}

TEST_CASE("index programs for batches of any size")
{
    const auto f = [](const D& x) {
        return sum(pad(cumsum(roll(x, 1, 0), 0), {{1, 2}, {0, 0}}, PadMode::reflect) * 0.5, {1});
    };
    auto frozen = freeze(f, {.dynamic = {0}});
    for (const std::int64_t n : {4, 6, 9, 5, 12, 3}) {
        const D x = numbers<double>({n, 3}, static_cast<int>(n));
        CHECK(same_elements(*frozen(x).any().value, *f(x).any().value));
    }
}

TEST_CASE("a program's own description is refused by its name and the read, when it is first used")
{
    const D x = numbers<double>({3, 4}, 1);
    const int line = __LINE__ + 1;
    CHECK(message([&] { own<TooFar>(x); }) == "[too_far] read 0, axis 1 of shape (3, 4): the position i1 + 1 "
                                              "goes from 1 to 4 (test_index_frozen.cpp:" +
                                                  std::to_string(line) + ")");
    CHECK(message([&] {
              own<WrittenTwice>(x);
          }).find("[written_twice] the write does not give each element") == 0);
    CHECK(message([&] { own<TooFar>(x(0)); }).find("[too_far] its description: number 1 of 1") == 0);
    CHECK(check_grads([](const D& t) { return sum(square(own<EverySecond>(t))); }, x, {.order = 2}).ok);
}
