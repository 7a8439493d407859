// Elements of index programs that meet what is there by maximum and minimum: the bits of plain loops in every executor, also where
// NaNs and signed zeros meet; what means nothing is refused when it is first used. Derivatives: test_user_primitives.cpp.
#include "graph/ir/index_meets.hpp"

#include "apart.hpp"
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/ir/trace.hpp>

using namespace meets;

namespace {

/// A graph of them on (z, r, x), and what plain loops make of it.
template <class T> Program program_of(const std::string& name, const Shape& of, unsigned seed)
{
    const Tensor<T> z = awkward<T>({4, of[1]}, seed), x = awkward<T>(of, seed + 1);
    const I r = places(of[0]);
    Program p{name, {}, {z.any().value, r.any().value, x.any().value}, {}};
    p.graph = trace_graph(
        [](const std::vector<AnyTensor>& in) {
            std::vector<AnyTensor> out;
            for (const Combine how : {Combine::maximum, Combine::minimum}) {
                out.push_back(met<T>(how, Tensor<T>(in[0]), I(in[1]), Tensor<T>(in[2])).any());
                out.push_back(crossing<T>(how, Tensor<T>(in[2])).any());
            }
            return out;
        },
        p.inputs);
    for (const Combine how : {Combine::maximum, Combine::minimum}) {
        p.expected.push_back(expected_met(how, z, x));
        p.expected.push_back(expected_crossing(how, x));
        CHECK(same_elements(*readable(met(how, z, r, x).any().value), *p.expected[p.expected.size() - 2]));
        CHECK(same_elements(*readable(crossing(how, x).any().value), *p.expected.back()));
    }
    return p;
}

template <class E, class F> std::string thrown(const F& f)
{
    try {
        f();
    } catch (const E& e) {
        return e.what();
    }
    return "nothing was thrown";
}

/// A description that a test makes up on the spot.
struct MadeUp {
    static constexpr std::string_view name = "made_up";
    static constexpr bool flat = true;
    std::int64_t how;
    void describe(Index& p) const { reinterpret_cast<void (*)(Index&)>(how)(p); }
};
std::string refused(void (*how)(Index&))
{
    const Tensor<double> x = numbers<double>({3, 4}, 1), y = numbers<double>({5, 4}, 2);
    const I r(Shape{3}, std::vector<std::int64_t>{1, 0, 1});
    return thrown<ShapeError>([&] {
        static_cast<void>(apply<MadeUp, double>({reinterpret_cast<std::int64_t>(how)}, Site{}, y, r, x));
    });
}

}  // namespace

TEST_CASE("elements meet what is there by maximum and minimum: plain loops' bits in every executor", "[emit]")
{
    std::vector<Program> all;
    unsigned seed = 0;
    for (const Shape& s : {Shape{7, 5}, Shape{7, 1}, Shape{5, 33}}) {
        const std::string of = std::to_string(s[0]) + "_" + std::to_string(s[1]);
        all.push_back(program_of<double>("d" + of, s, seed += 2));
        all.push_back(program_of<float>("f" + of, s, seed += 2));
        all.push_back(program_of<std::int32_t>("i" + of, s, seed += 2));
        all.push_back(program_of<std::int64_t>("l" + of, s, seed += 2));
    }
    for (const Program& p : all) {
        INFO(p.name);
        const auto compiled = compile_native(p.graph, {}), tiles = Backend(tile).compile(p.graph, {}),
                   steps = interpret.compile(p.graph, {});
        CHECK(compiled->note == "");
        for (Executable* e : {compiled.get(), tiles.get(), steps.get()}) {
            std::vector<Ref<Block>> in = p.inputs, out;
            e->run(in, out);
            for (std::size_t k = 0; k < out.size(); ++k) {
                INFO("output " << k);
                CHECK(same_elements(*readable(out[k]), *p.expected[k]));
            }
        }
    }
    const Compiled object(all);
    if (!object.object) return;
    for (const Program& p : all) {
        std::vector<Ref<Block>> out;
        REQUIRE(object(p, p.inputs, &out) == 0);
        for (std::size_t k = 0; k < out.size(); ++k) {
            INFO(p.name << ", output " << k);
            CHECK(same_elements(*out[k], *p.expected[k]));
        }
    }
}

TEST_CASE("what meets in ways that mean nothing is refused when it is first used, with what to write instead")
{
    // a second write that begins otherwise
    CHECK_THAT(refused([](Index& p) {
                   const Positions i = p.axes_of(2);
                   p.write_into(list({p.element(1, list({i[0]})), i[1]}), 0);
                   p.fold(list({i[1]}), Combine::maximum);
                   p.read(2, i);
               }),
               contains("[made_up] its description: write 1 says anew what the result begins with") &&
                   contains("combining(Combine::maximum)"));
    CHECK_THAT(refused([](Index& p) {
                   const Positions i = p.axes_of(2);
                   p.write(i, {3, 4}, 1);
                   p.read(2, i);
                   p.write(i, {3, 4}, 2);
                   p.read(2, i);
               }),
               contains("write 1 says anew"));
    // a fold to places that are elements
    CHECK_THAT(refused([](Index& p) {
                   const Positions i = p.axes_of(2);
                   p.fold(list({p.element(1, list({i[0]})), i[1]}), Combine::maximum);
                   p.read(2, i);
               }),
               contains("a fold goes to axes") && contains("combining() before the read"));
    CHECK_THAT(refused([](Index& p) {
                   const Positions i = p.axes_of(2);
                   p.fold(list({i[1]}), Combine::maximum);
                   p.adding();
                   p.read(2, i);
               }),
               contains("a fold has said how its elements are combined"));
    CHECK_THAT(refused([](Index& p) { p.fold(list({p.axes_of(2)[1]}), Combine::assign); }),
               contains("a fold combines elements: by add"));
    // nothing is there
    for (auto* how : {+[](Index& p) {
                          const Positions i = p.axes_of(2);
                          p.write(i);
                          p.combining(Combine::maximum);
                          p.read(2, i);
                      },
                      +[](Index& p) {
                          const Positions i = p.axes_of(2);
                          p.write(i);
                          p.adding();
                          p.read(2, i);
                      }})
        CHECK_THAT(refused(how), contains("[made_up] read 0 meets what is there, and nothing is"));
    // the negative of what is compared
    CHECK_THAT(refused([](Index& p) {
                   const Positions i = p.axes_of(2);
                   p.fold(list({i[1]}), Combine::maximum);
                   p.read_minus(2, i);
               }),
               contains("[made_up] read 0: what is subtracted is assigned or added") && contains("negate"));
    const Tensor<bool> truths = numbers<double>({4, 4}, 1) > 0.0;
    const I r(Shape{4}, std::vector<std::int64_t>{1, 0, 1, 3});
    CHECK(thrown<DTypeError>([&] { met(Combine::maximum, truths, r, truths); }) ==
          "[met] read 0: truth values are moved, not added or compared");
    const I beyond(Shape{4}, std::vector<std::int64_t>{1, 0, 4, 3});
    const Tensor<double> x = numbers<double>({4, 4}, 1);
    CHECK_THAT(thrown<IndexError>([&] { met(Combine::maximum, x, beyond, x); }),
               contains("[met] index 4 at (2) of operand 1 is out of range for axis 0 of shape (4, 4)"));
}

TEST_CASE("elements meet by maximum and minimum in graphs for any leading extent")
{
    for (const Combine how : {Combine::maximum, Combine::minimum}) {
        const auto f = [how](const Tensor<double>& z, const I& r, const Tensor<double>& x) {
            return std::pair(met(how, z, r, x), crossing(how, x));
        };
        auto frozen = freeze(f, {.check = false, .dynamic = {1, 2}});
        for (const std::int64_t n : {7, 5, 9, 6, 1, 12, 7}) {
            INFO(n);
            const Tensor<double> z = awkward<double>({4, 5}, 1), x = awkward<double>({n, 5}, 2);
            const I r = places(n);
            const auto [y, c] = frozen(z, r, x);
            CHECK(same_elements(*readable(y.any().value), *expected_met(how, z, x)));
            CHECK(same_elements(*readable(c.any().value), *expected_crossing(how, x)));
        }
        INFO(frozen.explain());
        CHECK(frozen.stats().specialised > 0);
        CHECK(frozen.stats().eager_calls == 0);
    }
}

TEST_CASE("elements meet by maximum and minimum on another device with the same bits")
{
    const Shape of{7, 5};
    const Tensor<double> z = awkward<double>({4, 5}, 1), x = awkward<double>(of, 2);
    const I r = places(7);
    const OnDevice there(apart::device());
    const auto away = [](const auto& t) {
        return std::remove_cvref_t<decltype(t)>(AnyTensor{placed(t.any().value), {}});
    };
    const I far = away(r);
    const Tensor<double> u = away(z), v = away(x);
    for (const Combine how : {Combine::maximum, Combine::minimum}) {
        auto frozen = freeze([how](const Tensor<double>& a, const I& b, const Tensor<double>& c) {
            return std::pair(met(how, a, b, c), crossing(how, c));
        });
        for (int i = 0; i < 3; ++i) {
            const auto [y, c] = frozen(u, far, v);
            for (const auto& got : {met(how, u, far, v), y})
                CHECK(same_elements(*readable(got.any().value), *expected_met(how, z, x)));
            for (const auto& got : {crossing(how, v), c})
                CHECK(same_elements(*readable(got.any().value), *expected_crossing(how, x)));
        }
    }
}

TEST_CASE("a number times a position is a position times a number")
{
    const auto twice = [](Index& p) {
        const Positions i = p.axes({3, 2});
        p.write(i);
        p.read(0, list({2 * i[0], 3 - 2 * i[1]}));
    };
    const Tensor<double> x = numbers<double>({5, 4}, 1);
    void (*const how)(Index&) = twice;
    const Tensor<double> y = apply<MadeUp, double>({reinterpret_cast<std::int64_t>(how)}, Site{}, x);
    REQUIRE(y.shape() == Shape{3, 2});
    for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t j = 0; j < 2; ++j) CHECK(y(i, j).item() == x(2 * i, 3 - 2 * j).item());
}
