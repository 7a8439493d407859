/// vmap: each row as the function itself has it, to the bit, in every place where functions stand.
#include "catch.hpp"
#include "lacks.hpp"

#include <functional>
#include <tuple>

#include <wengert/linalg.hpp>
#include <wengert/random.hpp>
#include <wengert/wengert.hpp>

using namespace wengert;

namespace {

using D = Tensor<double>;
const D rows = {{1.0, 2.0, 3.0}, {0.5, -1.0, 2.0}, {-0.25, 4.0, 0.125}, {2.0, 2.0, -3.0}};

bool same(const D& a, const D& b) { return a.shape() == b.shape() && allclose(a, b, 0.0); }

/// Row by row.
template <class F> D by_hand(const F& f, const D& x)
{
    std::vector<D> parts;
    for (std::int64_t k = 0; k < x.shape()[0]; ++k) parts.push_back(f(x(k)));
    return stack(parts, 0);
}
template <class F> void check_rows(const F& f)
{
    CHECK(same(vmap(f)(rows), by_hand(f, rows)));
    CHECK(same(vmap(vmap(f))(stack({rows, 2.0 * rows}, 0)),
               stack({by_hand(f, rows), by_hand(f, 2.0 * rows)}, 0)));
    CHECK(check_grads([&](const D& x) { return sum(square(vmap(f)(x))); }, rows, {.order = 2}).ok);
    auto frozen = freeze(vmap(f));
    static_cast<void>(frozen(rows));
    CHECK(same(frozen(rows + 0.5), by_hand(f, rows + 0.5)));
    const auto loss = [&](const D& x) { return sum(sin(vmap(f)(x))); };
    auto slope = freeze(grad(loss));
    static_cast<void>(slope(rows));
    CHECK(same(slope(rows), grad(loss)(rows)));
}

/// Of Σ f².
template <class F> D by_hand_gradient(const F& f, const D& x)
{
    return by_hand([&](const D& r) { return grad([&](const D& t) { return square(f(t)); })(r); }, x);
}

struct Noisy {
    D x;
    Key key;
};
struct Pair {
    D first, second;
    double scale = 1;
};

}  // namespace

TEST_CASE("vmap of what functions do", "[vmap]")
{
    check_rows([](const D& r) { return sum(cumsum(r, 0) * roll(r, 1, 0)) + r(0) * r(2); });
    check_rows([](const D& r) { return exp(0.3 * r); });
    check_rows([](const D& r) { return matmul(reshape(r, {3, 1}), reshape(r, {1, 3})); });
    check_rows([](const D& r) {
        return cond(
            r(0) > 0.75, [](const D& t) { return t * t; }, [](const D& t) { return 3.0 * t; }, r);
    });
    check_rows([](const D& r) {
        return scan([](const D& s, const D& x) { return std::pair(s * 0.5 + x, s); }, D(1.0), r).second;
    });
    check_rows([](const D& r) { return checkpoint([](const D& t) { return sin(t) * t; })(r); });
    check_rows([](const D& r) { return sort(r); });
}

TEST_CASE("vmap around and inside of transforms", "[vmap]")
{
    const auto f = [](const D& r) { return sum(r * r * r) * r(1); };
    CHECK(same(vmap(grad(f))(rows), by_hand(grad(f), rows)));
    CHECK(same(vmap(hessian(f))(rows), by_hand(hessian(f), rows)));
    CHECK(same(grad([&](const D& x) { return sum(vmap(f)(x)); })(rows), by_hand(grad(f), rows)));
    const auto [value, tangent] = jvp(vmap(f), rows, ones_like(rows));
    CHECK(same(value, by_hand(f, rows)));
    CHECK(same(tangent, by_hand([&](const D& r) { return jvp(f, r, ones_like(r)).second; }, rows)));
    const D by(2.0);  // captured
    const auto with = [&](const D& w) { return sum(vmap([&](const D& r) { return sum(r) * w; })(rows)); };
    CHECK(grad(with)(by).item() == sum(rows).item());
}

TEST_CASE("vmap: axes, arguments that every row has whole, structs, several results", "[vmap]")
{
    const D v = {10.0, 20.0, 30.0};
    const auto f = [](const D& r, const D& w) { return r * w; };
    CHECK(same(vmap(f, {.in_axes = {0, VmapOptions::whole}})(rows, v), rows * v));
    CHECK(same(vmap(f, {.in_axes = {1, 0}})(rows, v), transpose(rows * v)));
    CHECK(same(vmap(f, {.in_axes = {-1, 0}, .out_axis = 1})(rows, v), rows * v));
    CHECK(same(vmap(f, {.in_axes = {VmapOptions::whole, 0}})(v, rows), rows * v));
    const auto [a, b] = vmap([](const Pair& p) { return std::tuple(p.first * p.scale, sum(p.second)); })(
        Pair{rows, 2.0 * rows, 3.0});
    CHECK(same(a, rows * 3.0));
    CHECK(same(b, by_hand([](const D& r) { return sum(2.0 * r); }, rows)));
    const auto whole_slope = grad([&](const D& w) {
        return sum(vmap(f, {.in_axes = {0, VmapOptions::whole}})(rows, w));
    })(v);
    CHECK(allclose(whole_slope, sum(rows, {0}), 1e-15));
    CHECK(vmap(f, {.in_axes = {0, VmapOptions::whole}})(D(Shape{0, 3}, std::vector<double>{}), v).shape() ==
          Shape{0, 3});
}

TEST_CASE(
    "vmap: a branch on data by if takes each row's own way; in a graph it is refused or unrolled as in scan",
    "[vmap]")
{
    const auto f = [](const D& r) { return r(0).item() > 0.75 ? r * r : 3.0 * r; };
    CHECK(same(vmap(f)(rows), by_hand(f, rows)));
    auto frozen = freeze(vmap(f));
    static_cast<void>(frozen(rows));
    CHECK(same(frozen(flip(rows, 0)), by_hand(f, flip(rows, 0))));
}

TEST_CASE("vmap: what f does stays f's: writes, checkpoints, hooks, exceptions, threads", "[vmap]")
{
    check_rows([](const D& r) {
        D y = r * 2.0;
        view(y, range(0, 2)) += r(2);
        y *= r;
        return y;
    });
    const auto f = [](const D& r) { return sum(sin(r) * r); };
    const auto loss = [&](const D& x) { return sum(square(vmap(f)(x))); };
    CHECK(same(grad(checkpoint(loss))(rows), grad(loss)(rows)));
    int packed = 0;
    {
        const SavedTensorHooks counting(
            [&](const D& t) {
                ++packed;
                return t;
            },
            [](const D& t) { return t; });
        CHECK(same(grad(loss)(rows), by_hand_gradient(f, rows)));
    }
    CHECK(packed > 0);
    const auto size = Tape::current().size();
    const auto throws = [](const D& r) { return r(0).item() < 0 ? matmul(r, D{1.0}) : sum(r * r); };
    const auto in_row_two = [&](const D& x) { return sum(vmap(throws)(x)); };
    CHECK_THROWS_AS(grad(in_row_two)(rows), ShapeError);
    CHECK(Tape::current().size() == size);
    auto threads = freeze(grad(loss), {.threads = 2});
    static_cast<void>(threads(rows));
    CHECK(same(threads(rows + 0.25), grad(loss)(rows + 0.25)));
}

TEST_CASE("vmap: a random key is the same in every row, and a NaN has the line of f", "[vmap]")
{
    const auto noisy = [](const Noisy& n) { return n.x * 0.0 + normal<double>(n.key, {3}); };
    const D noise = vmap(noisy)(Noisy{rows, Key(5)});
    CHECK(same(noise(0), normal<double>(Key(5), {3})));
    CHECK(same(noise(3), noise(0)));
    const AnomalyMode anomaly;
    const int line = __LINE__ + 1;
    const auto f = [](const D& r) { return log(r); };
    CHECK(lacks<NumericError>([&] { vmap(f)(rows); }, "test_vmap.cpp:" + std::to_string(line)) == "");
}

namespace {
struct WithNumber {
    D a;
    double number;
};
}  // namespace

TEST_CASE("vmap and scan: numbers among results are the same for every row, or refused", "[vmap]")
{
    const auto same_number = [](const D& x) { return WithNumber{2.0 * x, 3.0}; };
    const auto first_element = [](const D& x) { return WithNumber{2.0 * x, x(0).item()}; };
    CHECK(vmap(same_number)(rows).number == 3.0);
    CHECK(same(freeze([&](const D& x) { return vmap(same_number)(x).a; })(rows), 2.0 * rows));
    CHECK_THROWS_AS(vmap(first_element)(rows), TapeError);
    CHECK_THROWS_AS(vmap([](const D& x) { return x(0).item(); })(rows), TapeError);
    CHECK_THROWS_AS(freeze([&](const D& x) { return vmap(first_element)(x).a; })(rows), TapeError);
    const auto step = [](const D& s, const D& x) { return std::pair(s, x(0).item()); };
    CHECK_THROWS_AS(scan(step, D{1.0}, rows), TapeError);
}

TEST_CASE("vmap: errors name it and the line of the call", "[vmap]")
{
    const auto refused = [](const std::function<void()>& g, const std::string& why, int line) {
        CHECK(lacks<ShapeError>(g, why, "(test_vmap.cpp:" + std::to_string(line) + ")") == "");
    };
    const auto f = [](const D& a, const D& b) { return a * b; };
    const auto same_row = [](const D& r) { return r; };
    const auto mapped = vmap(f);
    const auto none = vmap(f, {.in_axes = {VmapOptions::whole, VmapOptions::whole}});
    const auto beyond = vmap(same_row, {.in_axes = {2}}), many = vmap(same_row, {.in_axes = {0, 0}});
    const D two = {1.0, 2.0}, number(1.0);
    const std::string unequal = "[vmap] shape (2) has 2 rows along axis 0 where others have 4";
    refused([&] { mapped(rows, two); }, unequal, __LINE__);
    refused([&] { none(rows, rows); }, "there are no rows", __LINE__);
    refused([&] { mapped(number, number); }, "[vmap]", __LINE__);
    refused([&] { beyond(rows); }, "[vmap]", __LINE__);
    refused([&] { many(rows); }, "[vmap] 2 axes for 1 arguments", __LINE__);
    const auto few = vmap(f, {.in_axes = {1}});
    refused([&] { few(rows, transpose(rows)); }, "[vmap] 1 axes for 2 arguments", __LINE__);
    refused([&] { freeze(few)(rows, transpose(rows)); }, "[vmap] 1 axes for 2 arguments", __LINE__);
}

TEST_CASE(
    "vmap: of no rows runs the body on zeros that nobody reads: loops end, and nothing is refused or called",
    "[vmap]")
{
    const auto no_rows = [](const auto& f, const D& x) {
        return vmap(f)(x).shape() == freeze(vmap(f))(x).shape();
    };
    const D none = zeros<double>({0}), matrices = zeros<double>({0, 3, 3});
    CHECK(no_rows(
        [](const D& x) {
            return while_loop([](const D& s) { return s < 10.0; }, [](const D& s) { return 2.0 * s; }, x);
        },
        none));
    CHECK(no_rows([](const D& a) { return linalg::inv(a); }, matrices));
    CHECK(scan([](const D& s, const D& a) { return std::pair(s, linalg::cholesky(a)); }, D(1.0), matrices)
              .second.shape() == Shape{0, 3, 3});
    int calls = 0;
    vmap([&](const D& x) {
        host_callback([&](const D&) { ++calls; }, x);
        return x;
    })(none);
    CHECK(calls == 0);
}
