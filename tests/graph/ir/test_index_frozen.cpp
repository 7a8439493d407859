// Index programs in frozen graphs: the same bits from eager, interpret, tiles, native code and emitted C, in loops and under
// checkpoints; and a program's own primitives that are described like the library's.
#include "graph/c/emit_programs.hpp"
#include "graph/ir/in_loops.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
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
