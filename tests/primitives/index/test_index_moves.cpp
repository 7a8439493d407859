/// roll, flip, pad, repeat, sliding_window, diff: values against plain loops, on shapes, layouts and dtypes of all kinds; errors.
#include "index/index_reference.hpp"

using namespace reference;

namespace {

std::int64_t modulo(std::int64_t a, std::int64_t n) { return ((a % n) + n) % n; }

template <class T> void check_rolls()
{
    on_shapes<T>([](const Tensor<T>& x) { return roll(x, 2, 0); },
                 [](const Array<T>& x) {
                     return made<T>(x.shape, [&](At at) {
                         at[0] = modulo(at[0] - 2, x.shape[0]);
                         return x(at);
                     });
                 });
    on_shapes<T>([](const Tensor<T>& x) { return roll(x, -7); },
                 [](const Array<T>& x) {
                     Array<T> y(x.shape);
                     const auto n = static_cast<std::int64_t>(x.v.size());
                     for (std::int64_t k = 0; k < n; ++k)
                         y.v[static_cast<std::size_t>(k)] = x.v[static_cast<std::size_t>(modulo(k + 7, n))];
                     return y;
                 },
                 0);
    on_shapes<T>(
        [](const Tensor<T>& x) {
            return roll(x, {1, -1, 3}, {0, -1, 0});
        },
        [](const Array<T>& x) {
            return made<T>(x.shape, [&](At at) {
                at[0] = modulo(at[0] - 4, x.shape[0]);
                at.back() = modulo(at.back() + 1, x.shape.back());
                return x(at);
            });
        },
        2);
}
template <class T> void check_flips_and_repeats()
{
    on_shapes<T>([](const Tensor<T>& x) { return flip(x); },
                 [](const Array<T>& x) {
                     return made<T>(x.shape, [&](At at) {
                         for (std::size_t d = 0; d < at.size(); ++d) at[d] = x.shape[d] - 1 - at[d];
                         return x(at);
                     });
                 },
                 0);
    on_shapes<T>([](const Tensor<T>& x) { return flip(x, {-1}); },
                 [](const Array<T>& x) {
                     return made<T>(x.shape, [&](At at) {
                         at.back() = x.shape.back() - 1 - at.back();
                         return x(at);
                     });
                 });
    on_shapes<T>([](const Tensor<T>& x) { return repeat(x, 3, -1); },
                 [](const Array<T>& x) {
                     At to = x.shape;
                     to.back() *= 3;
                     return made<T>(to, [&](At at) {
                         at.back() /= 3;
                         return x(at);
                     });
                 });
    on_shapes<T>([](const Tensor<T>& x) { return repeat(x, 1, 0); }, [](const Array<T>& x) { return x; });
    on_shapes<T>([](const Tensor<T>& x) { return repeat(x, 2, 0); },
                 [](const Array<T>& x) {
                     At to = x.shape;
                     to[0] *= 2;
                     return made<T>(to, [&](At at) {
                         at[0] /= 2;
                         return x(at);
                     });
                 });
    on_shapes<T>([](const Tensor<T>& x) { return repeat(x, 2); },
                 [](const Array<T>& x) {
                     return made<T>({2 * static_cast<std::int64_t>(x.v.size())},
                                    [&](const At& at) { return x.v[static_cast<std::size_t>(at[0] / 2)]; });
                 },
                 0);
}

/// Where numpy.pad takes its element from along one axis, −1 for the constant.
std::int64_t padded_from(PadMode mode, std::int64_t p, std::int64_t n)
{
    if (p >= 0 && p < n) return p;
    if (mode == PadMode::constant) return -1;
    if (mode == PadMode::edge) return p < 0 ? 0 : n - 1;
    if (mode == PadMode::wrap) return modulo(p, n);
    if (n == 1) return 0;
    while (p < 0 || p >= n) p = p < 0 ? -p : 2 * (n - 1) - p;
    return p;
}
template <class T> void check_pad(PadMode mode, std::int64_t before, std::int64_t after)
{
    on_shapes<T>(
        [&](const Tensor<T>& x) {
            if (x.size() == 0 && mode != PadMode::constant) return x;
            return pad(x, Padding(x.shape().size(), {before, after}), mode, 1);
        },
        [&](const Array<T>& x) {
            if (x.v.empty() && mode != PadMode::constant) return x;
            At to = x.shape;
            for (auto& e : to) e += before + after;
            return made<T>(to, [&](At at) {
                bool inside = true;
                for (std::size_t d = 0; d < at.size(); ++d) {
                    at[d] = padded_from(mode, at[d] - before, x.shape[d]);
                    inside = inside && at[d] >= 0;
                }
                return inside ? static_cast<T>(x(at)) : T(1);
            });
        },
        0);
}

}  // namespace

TEMPLATE_TEST_CASE("roll, flip and repeat", "[index]", double, float, std::int32_t, std::int64_t, bool)
{
    check_rolls<TestType>(), check_flips_and_repeats<TestType>();
}

TEMPLATE_TEST_CASE("pad in every mode", "[index]", double, std::int32_t, bool)
{
    for (PadMode mode : {PadMode::constant, PadMode::edge, PadMode::wrap, PadMode::reflect}) {
        check_pad<TestType>(mode, 1, 2);
        check_pad<TestType>(mode, 0, 3);
    }
    const Tensor<TestType> x = some<TestType>({3, 2});  // widths of several times the extent
    for (PadMode mode : {PadMode::edge, PadMode::wrap, PadMode::reflect}) {
        const Array<TestType> a(x);
        CHECK(same(pad(x, {{7, 8}, {5, 0}}, mode), made<TestType>({18, 7}, [&](const At& at) {
                       return static_cast<TestType>(
                           a({padded_from(mode, at[0] - 7, 3), padded_from(mode, at[1] - 5, 2)}));
                   })));
    }
}

TEMPLATE_TEST_CASE("sliding_window and diff", "[index]", double, float, std::int64_t)
{
    using T = TestType;
    on_shapes<T>(
        [](const Tensor<T>& x) {
            return x.shape()[0] == 0 ? reshape(x,
                                               [&] {
                                                   Shape s = x.shape();
                                                   s.push_back(1);
                                                   return s;
                                               }())
                                     : sliding_window(x, 1, 0);
        },
        [](const Array<T>& x) {
            At to = x.shape;
            to.push_back(1);
            return made<T>(to, [&](At at) {
                at.pop_back();
                return x(at);
            });
        });
    const Tensor<T> x = some<T>({4, 5, 3});
    for (const Tensor<T>& l : layouts(x)) {
        const Array<T> a(x);
        CHECK(same(sliding_window(l, 3, 1), made<T>({4, 3, 3, 3}, [&](const At& i) {
                       return a({i[0], i[1] + i[3], i[2]});
                   })));
        CHECK(same(sliding_window(l, {2, 2}, {2, 0}), made<T>({3, 5, 2, 2, 2}, [&](const At& i) {
                       return a({i[0] + i[4], i[1], i[2] + i[3]});
                   })));
        CHECK(same(diff(l, 1, 1), made<T>({4, 4, 3}, [&](const At& i) {
                       return a({i[0], i[1] + 1, i[2]}) - a({i[0], i[1], i[2]});
                   })));
        CHECK(same(diff(l), made<T>({4, 5, 2}, [&](const At& i) {
                       return a({i[0], i[1], i[2] + 1}) - a({i[0], i[1], i[2]});
                   })));
    }
    CHECK(same(flip(x, 1), Array<T>(flip(x, {1}))));
    CHECK(diff(x, 0, 2).shape() == Shape{2, 5, 3});
    CHECK(diff(x, 0, 9).shape() == Shape{0, 5, 3});
    CHECK(diff(x, 0, 0).shape() == x.shape());
}

TEST_CASE("moves say what does not fit, with the line", "[index]")
{
    const Tensor<double> x = some<double>({3, 4});
    CHECK_THROWS_AS(roll(x, 1, 2), ShapeError);
    CHECK_THROWS_AS(roll(x, {1, 2}, {0}), ShapeError);
    CHECK_THROWS_AS(flip(x, {0, -2}), ShapeError);
    CHECK_THROWS_AS(pad(x, {{1, 1}}, PadMode::edge), ShapeError);
    CHECK_THROWS_AS(pad(zeros<double>({0, 2}), {{1, 1}, {0, 0}}, PadMode::wrap), ShapeError);
    CHECK_THROWS_AS(repeat(x, -1, 0), ShapeError);
    CHECK_THROWS_AS(repeat(x, std::int64_t{1} << 62, 0), ShapeError);
    CHECK_THROWS_AS(sliding_window(x, 4, 0), ShapeError);
    CHECK_THROWS_AS(sliding_window(x, 0, 0), ShapeError);
    CHECK_THROWS_AS(diff(x, 0, -1), ShapeError);
    CHECK_THROWS_AS(flip(Tensor<double>()), TapeError);
    int line = 0;
    try {
        line = __LINE__ + 1;
        sliding_window(x, 9, 1);
        FAIL();
    } catch (const ShapeError& e) {
        CHECK(std::string(e.what()) ==
              "[sliding_window] window (9) along axes (1) does not fit shape (3, 4) (test_index_moves.cpp:" +
                  std::to_string(line) + ")");
    }
    CHECK(same(roll(x, std::numeric_limits<std::int64_t>::min(), 0),
               Array<double>(roll(x, modulo(std::numeric_limits<std::int64_t>::min(), 3), 0))));
}
