// Every public function of tensors, from the one list of them, eagerly: derivatives of derivatives, broadcasts, views that overlap,
// and tensors that lie apart.
#include "walk.hpp"

#include "apart.hpp"
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/moves.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/view.hpp>
#include <wengert/transforms/audit.hpp>
#include <wengert/transforms/check_grads.hpp>

using namespace walk;

TEST_CASE("every primitive differentiates in both modes, to its order")
{
    using Pair = std::vector<Tensor<double>>;
    for (const Shape& s : {Shape{3}, Shape{2, 3}, Shape{2, 2, 2}}) {
        const Pair x = {calm<double>(s, 1), calm<double>(s, 5)};
        for (const Entry<double>& e : entries<double>()) {
            if (!e.takes(s) || e.asks.order == 0) continue;
            INFO(e.name << ", " << to_string(s));
            const auto report = check_grads([&](const Pair& t) { return e.of(t[0], t[1]); }, x,
                                            {.order = e.asks.order, .tolerance = 2e-6});
            INFO(report.message);
            CHECK(report.ok);
        }
    }
}

TEST_CASE("every primitive is found right by an audit")
{
    using Pair = std::vector<Tensor<double>>;
    const Pair x = {calm<double>({3, 4}, 1), calm<double>({3, 4}, 5)};
    for (const Entry<double>& e : entries<double>()) {
        if (e.asks.order < 2) continue;
        INFO(e.name);
        const auto report = audit([&](const Pair& t) { return e.of(t[0], t[1]); }, x);
        INFO(report.message);
        CHECK(report.ok);
    }
}

TEMPLATE_TEST_CASE("functions of two numbers broadcast", "", float, double)
{
    using T = TestType;
    const Shape shapes[][2] = {{{3, 4}, {4}},
                               {{4}, {3, 4}},
                               {{}, {2, 3}},
                               {{2, 3}, {}},
                               {{3, 1}, {1, 4}},
                               {{0, 3}, {3}},
                               {{2, 1, 2, 1, 1, 3, 1}, {2, 4, 1, 1, 2}}};
    for (const auto& [s, t] : shapes)
        for (const bool edged : {false, true}) {
            const Tensor<T> a = edged ? wild<T>(s, 1) : calm<T>(s, 1),
                            b = edged ? wild<T>(t, 5) : calm<T>(t, 5);
            const Shape both = (zeros_like(a) + zeros_like(b)).shape();
            const Tensor<T> wide_a = copy(broadcast_to(a, both)), wide_b = copy(broadcast_to(b, both));
            for (const Entry<T>& e : entries<T>()) {
                if (!e.elementwise) continue;
                INFO(e.name << ", " << to_string(s) << " and " << to_string(t));
                const Tensor<T> want = e.of(wide_a, wide_b), got = e.of(a, b);
                REQUIRE(want.shape() == got.shape());
                CHECK(different<T>(*readable(want.any().value), *readable(got.any().value), false) == 0);
            }
        }
}

TEMPLATE_TEST_CASE(
    "every primitive has the same bits with tensors apart, and only library calls and orders are the host's",
    "", float, double)
{
    using T = TestType;
    const auto there = [](const Tensor<T>& x) {
        return Tensor<T>(AnyTensor{wengert::placed(x.any().value, apart::device()), {}});
    };
    const OnDevice host(0);
    for (const Shape& s : {Shape{}, Shape{0}, Shape{3, 4}, Shape{2, 1, 2, 3, 1, 2, 2}})
        for (const auto& [a, b] : operands<T>(s)) {
            const Tensor<T> x = there(a), y = there(b);
            for (const Entry<T>& e : entries<T>()) {
                if (!e.takes(s)) continue;
                INFO(e.name << ", " << to_string(s));
                const Tensor<T> want = e.of(a, b);
                const auto calls = apart::counts().host_calls.load();
                const Tensor<T> got = [&] {
                    const OnDevice device(apart::device());
                    return e.of(x, y);
                }();
                CHECK((e.asks.library || e.asks.host || apart::counts().host_calls.load() == calls));
                REQUIRE(want.shape() == got.shape());
                CHECK(different<T>(*readable(want.any().value), *readable(got.any().value), e.asks.library) ==
                      0);
            }
        }
}
