/// cumsum, cumprod, cummax, take_along_axis, put_along_axis, segment_sum: values against plain loops; errors.
#include "index/index_reference.hpp"

#include <cmath>
#include <limits>

using namespace reference;

namespace {

/// One after another along an axis, op(so far, next).
template <class U, class T, class Op>
Array<U> plain_scan(const Array<T>& x, std::size_t axis, bool reverse, const Op& op)
{
    Array<U> y(x.shape);
    each(x.shape, [&](const At& at) {  // each place by itself, from the beginning
        At from = at;
        const std::int64_t n = x.shape[axis], steps = reverse ? n - 1 - at[axis] : at[axis];
        from[axis] = reverse ? n - 1 : 0;
        U s = static_cast<U>(x(from));
        for (std::int64_t k = 0; k < steps; ++k) {
            from[axis] += reverse ? -1 : 1;
            s = op(s, static_cast<U>(x(from)));
        }
        y(at) = s;
    });
    return y;
}
template <class T> T plain_max(T a, T b) { return a != a ? a : (b > a || b != b) ? b : a; }

template <class T> void check_scans(bool reverse)
{
    using U = Total<T>;
    for (const bool last : {false, true}) {
        const auto axis = [&](const Array<T>& x) { return last ? x.shape.size() - 1 : 0; };
        on_shapes<T>([&](const Tensor<T>& x) { return cumsum(x, last ? -1 : 0, reverse); },
                     [&](const Array<T>& x) {
                         return plain_scan<U>(x, axis(x), reverse, [](U a, U b) { return a + b; });
                     });
        on_shapes<T>([&](const Tensor<T>& x) { return cumprod(x, last ? -1 : 0, reverse); },
                     [&](const Array<T>& x) {
                         return plain_scan<U>(x, axis(x), reverse, [](U a, U b) {
                             if constexpr (std::is_floating_point_v<U>)
                                 return a * b;
                             else
                                 return static_cast<U>(static_cast<std::uint64_t>(a) *
                                                       static_cast<std::uint64_t>(b));
                         });
                     });
        if constexpr (!std::is_same_v<T, bool>)
            on_shapes<T>([&](const Tensor<T>& x) { return cummax(x, last ? -1 : 0, reverse); },
                         [&](const Array<T>& x) { return plain_scan<T>(x, axis(x), reverse, plain_max<T>); });
    }
}

Tensor<std::int64_t> indices(const Shape& shape, std::int64_t n)
{
    const Ref<Block> i = copy_of(*readable(some<std::int64_t>(shape, 7).any().value));
    for (std::size_t k = 0; k < i->count; ++k) {
        std::int64_t& v = i->as<std::int64_t>()[k];
        v = ((v % n) + n) % n - (k % 3 == 0 ? n : 0);
    }
    return Tensor<std::int64_t>(AnyTensor{placed(i), {}});
}
std::int64_t from_start(std::int64_t i, std::int64_t n) { return i < 0 ? i + n : i; }

template <class T> Array<T> plain_take(const Array<T>& x, const Array<std::int64_t>& i, std::size_t axis)
{
    At to = x.shape;
    for (std::size_t d = 0; d < to.size(); ++d)
        to[d] = d == axis ? i.shape[d] : std::max(x.shape[d], i.shape[d]);
    return made<T>(to, [&](const At& at) {
        At from = at, index = at;
        for (std::size_t d = 0; d < at.size(); ++d) {
            if (x.shape[d] == 1) from[d] = 0;
            if (i.shape[d] == 1) index[d] = 0;
        }
        from[axis] = from_start(i(index), x.shape[axis]);
        return x(from);
    });
}

}  // namespace

TEMPLATE_TEST_CASE("scans", "[index]", double, float, std::int32_t, std::int64_t, bool)
{
    check_scans<TestType>(false);
    check_scans<TestType>(true);
    const Tensor<TestType> x = some<TestType>({3, 4});
    CHECK(same(cumsum(x), Array<Total<TestType>>(cumsum(reshape(x, {12}), 0))));
    CHECK(same(cumprod(x), Array<Total<TestType>>(cumprod(reshape(x, {12}), 0))));
}

TEST_CASE("cummax meets NaN, infinities and signed zeros", "[index]")
{
    const double nan = std::numeric_limits<double>::quiet_NaN(), inf = HUGE_VAL;
    const Tensor<double> x = {-inf, -1.0, -0.0, 0.0, inf, nan, 2.0, inf};
    for (const bool reverse : {false, true})
        CHECK(
            same(cummax(x, 0, reverse), plain_scan<double>(Array<double>(x), 0, reverse, plain_max<double>)));
    const Tensor<double> rows = transpose(repeat(reshape(x, {1, 8}), 20, 0), {1, 0});
    CHECK(same(cummax(rows, 0), plain_scan<double>(Array<double>(rows), 0, false, plain_max<double>)));
}

TEMPLATE_TEST_CASE("take_along_axis and put_along_axis", "[index]", double, float, std::int32_t, bool)
{
    using T = TestType;
    const Tensor<T> x = some<T>({4, 5, 3});
    for (std::size_t axis = 0; axis < 3; ++axis)
        for (const Shape& shape : {Shape{4, 5, 3}, Shape{4, 5, 1}, Shape{1, 5, 3}, Shape{4, 1, 3},
                                   Shape{1, 1, 1}, Shape{4, 0, 3}}) {
            Shape s = shape;
            if (axis != 1 && s[1] == 0) s[1] = 5;
            const auto i = indices(s, x.shape()[axis]);
            const Array<std::int64_t> index(i);
            for (const Tensor<T>& l : layouts(x))
                for (const auto& il : layouts(i)) {
                    INFO(axis << " " << to_string(s));
                    CHECK(same(take_along_axis(l, il, static_cast<std::int64_t>(axis)),
                               plain_take(Array<T>(x), index, axis)));
                    Array<T> put(x);
                    At each_shape = put.shape;
                    each_shape[axis] = s[axis];
                    const auto v = some<T>(Shape(each_shape), 3);
                    const Array<T> values(v);
                    each(each_shape, [&](const At& at) {
                        At to = at, from = at;
                        for (std::size_t d = 0; d < 3; ++d)
                            if (s[d] == 1) from[d] = 0;
                        to[axis] = from_start(index(from), put.shape[axis]);
                        put(to) = values(at);
                    });
                    CHECK(same(put_along_axis(l, il, v, static_cast<std::int64_t>(axis)), put));
                }
        }
    CHECK(same(take_along_axis(some<T>({1, 4}), indices({3, 2}, 4), 1),
               plain_take(Array<T>(some<T>({1, 4})), Array<std::int64_t>(indices({3, 2}, 4)), 1)));
    const Tensor<T> seven = some<T>({2, 1, 2, 3, 1, 2, 2});
    const auto i = indices({2, 1, 2, 4, 1, 2, 2}, 3);
    CHECK(same(take_along_axis(seven, i, 3), plain_take(Array<T>(seven), Array<std::int64_t>(i), 3)));
}

TEMPLATE_TEST_CASE("segment_sum", "[index]", double, float, std::int32_t, std::int64_t)
{
    using T = TestType;
    for (const Shape& shape :
         {Shape{7}, Shape{7, 3}, Shape{7, 2, 5}, Shape{7, 0}, Shape{7, 1, 2, 1, 3, 1, 2}}) {
        const Tensor<T> x = some<T>(shape);
        const Tensor<std::int64_t> ids = {3, 0, 3, 1, 1, 3, 0};
        const Array<std::int64_t> id(ids);
        for (const Tensor<T>& l : layouts(x)) {
            const Array<T> a(x);
            At to = a.shape;
            to[0] = 5;
            Array<T> sums(to);
            each(a.shape, [&](const At& at) {
                At place = at;
                place[0] = id({at[0]});
                sums(place) = sums(place) + a(at);
            });
            CHECK(same(segment_sum(l, ids, 5), sums));
        }
    }
    CHECK(segment_sum(some<T>({0, 2}),
                      Tensor<std::int64_t>(AnyTensor{placed(make_block(DType::int64, Shape{0})), {}}), 3)
              .shape() == Shape{3, 2});
}

TEST_CASE("an index that is none is named with its place, and nothing is written", "[index]")
{
    const Tensor<double> x = some<double>({3, 4});
    const Tensor<std::int64_t> bad = {{0, 1}, {-5, 2}, {9, 0}};
    const auto what = [](const auto& fn) -> std::string {
        try {
            fn();
        } catch (const IndexError& e) {
            return e.what();
        }
        return "";
    };
    const std::string line = "test_index_along.cpp:" + std::to_string(__LINE__ + 1);
    CHECK(what([&] { take_along_axis(x, bad, 1); }) ==
          "[take_along_axis] index -5 at (1, 0) of operand 1 is out of range for axis 1 of shape (3, 4) (" +
              line + ")");
    const Array<double> before(x);
    Tensor<double> y = x;
    CHECK(what([&] {
              y = put_along_axis(y, bad, Tensor<double>(0.0), 1);
          }).find("[put_along_axis] index -5 at (1, 0)") == 0);
    CHECK(same(y, before));
    CHECK(what([&] {
              segment_sum(x, Tensor<std::int64_t>{0, 2, 1}, 2);
          }).find("[segment_sum] index 2 at (1) of operand 1") == 0);
    CHECK(what([&] {
              segment_sum(x, Tensor<std::int64_t>{0, -1, 1}, 2);
          }).find("index -1 at (1)") != std::string::npos);
    CHECK_THROWS_AS(take_along_axis(x, Tensor<std::int64_t>{0, 1}, 0), ShapeError);
    CHECK_THROWS_AS(take_along_axis(x, indices({2, 2}, 2), 1), ShapeError);
    CHECK_THROWS_AS(put_along_axis(x, indices({3, 2}, 2), some<double>({3, 3}), 1), ShapeError);
    CHECK_THROWS_AS(put_along_axis(x, indices({3, 2}, 2), some<double>({1, 3, 2}), 1), ShapeError);
    CHECK_THROWS_AS(segment_sum(x, Tensor<std::int64_t>{0, 1}, 2), ShapeError);
    CHECK_THROWS_AS(cumsum(x, 2), ShapeError);
}
