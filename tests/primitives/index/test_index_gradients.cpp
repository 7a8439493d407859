/// Derivatives of index programs: both modes to order 2 against differences, linear ones against their transposes.
#include "index/index_reference.hpp"

#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/transforms/audit.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/derivatives.hpp>

using namespace reference;

namespace {

template <class T, class F> void check_derivatives(const char* name, const F& f, const Tensor<T>& x)
{
    INFO(name);
    const auto loss = [&](const Tensor<T>& t) {
        const Tensor<T> y = f(t);
        return sum(y * y * T(0.5) + sin(y));
    };
    const CheckReport report = check_grads(loss, x, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    const AuditReport audited = audit(loss, x);
    INFO(audited.message);
    CHECK(audited.ok);
    // views of the operand, as they come
    if (x.shape().size() == 2) {
        const auto turned = [&](const Tensor<T>& t) { return loss(transpose(t)); };
        const CheckReport again = check_grads(turned, copy(transpose(x)), {.order = 2});
        INFO(again.message);
        CHECK(again.ok);
    }
}

template <class T> void check_all(const Tensor<T>& x)
{
    using X = const Tensor<T>&;
    const Tensor<T> apart = {
        {T(.1), T(-2), T(.8), T(3)}, {T(1.5), T(-.6), T(-3), T(2)}, {T(-1), T(2.5), T(.4), T(-1.2)}};
    check_derivatives<T>(
        "roll",
        [](X t) {
            return roll(t, {1, -2}, {0, 1});
        },
        x);
    check_derivatives<T>(
        "roll all", [](X t) { return roll(t, 3); }, x);
    check_derivatives<T>(
        "flip", [](X t) { return flip(t, {1}) * t; }, x);
    for (const PadMode mode : {PadMode::constant, PadMode::edge, PadMode::wrap, PadMode::reflect})
        check_derivatives<T>(
            "pad",
            [=](X t) {
                return pad(t, {{1, 2}, {5, 3}}, mode, 0.5);
            },
            x);
    check_derivatives<T>(
        "repeat", [](X t) { return repeat(t, 3, 1) * repeat(t, 3, 1); }, x);
    check_derivatives<T>(
        "sliding_window",
        [](X t) {
            return sliding_window(t, {2, 3}, {0, 1});
        },
        x);
    check_derivatives<T>(
        "diff", [](X t) { return diff(t, -1, 2); }, x);
    for (const std::int64_t axis : {0, 1})
        for (const bool reverse : {false, true}) {
            check_derivatives<T>(
                "cumsum", [=](X t) { return cumsum(t, axis, reverse); }, x);
            check_derivatives<T>(
                "cumprod", [=](X t) { return cumprod(t, axis, reverse); }, x);
            check_derivatives<T>(
                "cummax", [=](X t) { return cummax(t, axis, reverse); }, apart);
        }
    const auto places = reshape(Tensor<std::int64_t>{0, 1, 1, -1, 2, 0, 3, 0, 3}, {3, 3});
    check_derivatives<T>(
        "take_along_axis", [=](X t) { return take_along_axis(t, places, 1); }, x);
    check_derivatives<T>(
        "put_along_axis",
        [=](X t) { return put_along_axis(t, places, take_along_axis(t, flip(places), 1) * T(2), 1); }, x);
    check_derivatives<T>(
        "put_along_axis, one value",
        [=](X t) {
            return put_along_axis(t, places, reshape(t(1, 1), {1, 1}), 1);
        },
        x);
    check_derivatives<T>(
        "segment_sum",
        [](X t) {
            return segment_sum(t, Tensor<std::int64_t>{1, 0, 1}, 3);
        },
        x);
}

}  // namespace

TEST_CASE("index programs differentiate in both modes, to order 2", "[index]")
{
    check_all<double>({{.1, -.2, .3, .4}, {.5, .6, -.7, .8}, {.9, -1.0, 1.1, 1.2}});
    check_all<float>({{.1F, -.2F, .3F, .4F}, {.5F, .6F, -.7F, .8F}, {.9F, -1.0F, 1.1F, 1.2F}});
}

TEST_CASE("cumprod differentiates where elements are zero", "[index]")
{
    const Tensor<double> x = {{.1, 0.0, .3, .4}, {0.0, .6, -.7, .8}, {.9, 0.0, 0.0, 1.2}};
    for (const std::int64_t axis : {0, 1})
        for (const bool reverse : {false, true})
            check_derivatives<double>(
                "cumprod", [=](const Tensor<double>& t) { return cumprod(t, axis, reverse); }, x);
    const auto last = [](const Tensor<double>& t) { return cumprod(t, 0)(3); };
    const Tensor<double> one_zero = {2.0, 0.0, 3.0, 5.0};
    CHECK(same(grad(last)(one_zero), Array<double>(Tensor<double>{0.0, 30.0, 0.0, 0.0})));
}

TEST_CASE("the value that stays takes the gradient, and cummax gives it to the first of equals", "[index]")
{
    const Tensor<std::int64_t> places = {1, 1, 0};
    const auto put = [&](const Tensor<double>& v) {
        return sum(put_along_axis(zeros<double>({3}), places, v, 0) * Tensor<double>{1.0, 10.0, 100.0});
    };
    CHECK(same(grad(put)(Tensor<double>{5.0, 6.0, 7.0}), Array<double>(Tensor<double>{0.0, 10.0, 1.0})));
    const auto most = [](const Tensor<double>& x) { return sum(cummax(x, 0)); };
    CHECK(same(grad(most)(Tensor<double>{1.0, 3.0, 3.0, 2.0}),
               Array<double>(Tensor<double>{1.0, 3.0, 0.0, 0.0})));
}

TEST_CASE("empty, rank 0 and rank 7 have derivatives, too", "[index]")
{
    const auto shape_of_gradient = [](const auto& f, const Shape& s) {
        return grad([&](const Tensor<double>& x) { return sum(f(x) * 2.0); })(some<double>(s)).shape() == s;
    };
    using X = const Tensor<double>&;
    CHECK(shape_of_gradient([](X x) { return flip(x); }, {}));
    CHECK(shape_of_gradient([](X x) { return pad(x, {}); }, {}));
    CHECK(shape_of_gradient([](X x) { return cumsum(x, 0) * cumprod(x, 0) * cummax(x, 0); }, {0, 3}));
    CHECK(shape_of_gradient([](X x) { return repeat(diff(x, 1, 1), 0, 0); }, {3, 2}));
    CHECK(shape_of_gradient([](X x) { return segment_sum(x, Tensor<std::int64_t>{0, 0}, 0 + 1); }, {2, 0}));
    const Tensor<double> x = some<double>({2, 1, 2, 3, 1, 2, 2});
    check_derivatives<double>(
        "rank 7",
        [](X t) {
            return cumsum(roll(flip(t), 1, 3), 3) * pad(t, Padding(7, {0, 0}), PadMode::edge);
        },
        x);
}
