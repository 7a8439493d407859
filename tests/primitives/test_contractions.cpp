/// einsum, tensordot, kron, trace, cross, moveaxis, rot90, tile, meshgrid, logcumsumexp, trapezoid: values against plain loops, errors.
#include "catch.hpp"
#include "lacks.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include <wengert/wengert.hpp>

using namespace wengert;

namespace {

Tensor<double> numbers(const Shape& shape, unsigned seed)
{
    std::vector<double> x(element_count(shape));
    for (auto& e : x) {
        seed = seed * 1664525U + 1013904223U;
        e = static_cast<double>(seed >> 8) / 0x1p24 - 0.5;
    }
    return Tensor<double>(shape, x);
}
double element(const Tensor<double>& x, const std::vector<std::int64_t>& place)
{
    Tensor<double> y = x;
    for (const std::int64_t k : place) y = y(k);
    return y.item();
}

/// Over all values of all letters, one after another.
std::vector<double> plain_einsum(const std::vector<std::string>& terms, const std::string& result,
                                 const std::vector<Tensor<double>>& x)
{
    std::map<char, std::int64_t> extent, value;
    for (std::size_t i = 0; i < x.size(); ++i)
        for (std::size_t k = 0; k < terms[i].size(); ++k) extent[terms[i][k]] = x[i].shape()[k];
    std::size_t size = 1;
    for (const char l : result) size *= static_cast<std::size_t>(extent[l]);
    std::vector<double> out(size);
    const std::function<void(std::map<char, std::int64_t>::iterator)> run = [&](auto letter) {
        if (letter != extent.end()) {
            for (value[letter->first] = 0; value[letter->first] < letter->second; ++value[letter->first])
                run(std::next(letter));
            return;
        }
        double product = 1;
        for (std::size_t i = 0; i < x.size(); ++i) {
            std::vector<std::int64_t> place;
            for (const char l : terms[i]) place.push_back(value[l]);
            product *= element(x[i], place);
        }
        std::size_t at = 0;
        for (const char l : result)
            at = at * static_cast<std::size_t>(extent[l]) + static_cast<std::size_t>(value[l]);
        out[at] += product;
    };
    run(extent.begin());
    return out;
}

void check_einsum(const std::vector<std::string>& terms, const std::string& result,
                  const std::map<char, std::int64_t>& extents)
{
    std::vector<Tensor<double>> x;
    std::string text;
    for (const auto& term : terms) {
        Shape shape;
        for (const char l : term) shape.push_back(extents.at(l));
        x.push_back(numbers(shape, static_cast<unsigned>(x.size() + 7)));
        text += (x.size() == 1 ? "" : ",") + term;
    }
    text += "->" + result;
    INFO(text);
    const Tensor<double> y = einsum(text, x);
    Shape shape;
    for (const char l : result) shape.push_back(extents.at(l));
    CHECK(y.shape() == shape);
    CHECK(allclose(flatten(y), Tensor<double>(plain_einsum(terms, result, x)), 1e-13));
    if (y.size() == 0) return;
    const auto f = [&](const Tensor<double>& t) {
        std::vector<Tensor<double>> with = x;
        with[0] = t;
        return sum(square(einsum(text, with)));
    };
    CHECK(check_grads(f, x[0], {.order = 2}).ok);
}

}  // namespace

TEST_CASE("einsum is the sum over all letters")
{
    const std::map<char, std::int64_t> e = {{'a', 2}, {'b', 3}, {'i', 3}, {'j', 4}, {'k', 2}, {'z', 0}};
    check_einsum({"ij", "jk"}, "ik", e);
    check_einsum({"ij", "kj"}, "ki", e);
    check_einsum({"aij", "ajk"}, "aik", e);
    check_einsum({"aij", "bjk"}, "abki", e);
    check_einsum({"ij", "ij"}, "", e);
    check_einsum({"ij", "ij"}, "j", e);
    check_einsum({"i", "j"}, "ji", e);
    check_einsum({"ij"}, "ji", e);
    check_einsum({"ij"}, "", e);
    check_einsum({"ii"}, "i", e);
    check_einsum({"iji"}, "j", e);
    check_einsum({"iij", "jk"}, "ik", e);
    check_einsum({"ij", "jk", "kb", "b"}, "i", e);
    check_einsum({"aj", "bj", "ij"}, "abi", e);
    check_einsum({"ij", "k"}, "i", e);
    check_einsum({"az", "zb"}, "ab", e);
    check_einsum({"az", "bz"}, "z", e);
    check_einsum({"", "ij"}, "ij", e);
}

TEST_CASE("einsum: implied results, ellipses, views, types")
{
    const Tensor<double> a = numbers({2, 3, 4}, 1), b = numbers({4, 5}, 2), c = numbers({1, 3, 4}, 3);
    CHECK(allclose(einsum("ij,jk", a(0), b), matmul(a(0), b), 1e-14));
    CHECK(allclose(einsum("ba", a(0)), transpose(a(0)), 0.0));
    CHECK(allclose(einsum("...ij,jk->...ik", a, b), matmul(a, b), 1e-14));
    CHECK(allclose(einsum("...j,jk", a, b), matmul(a, b), 1e-14));
    CHECK(allclose(einsum("...,...->...", a, c), a * c, 0.0));
    CHECK(einsum("...,...->...", c, c).shape() == Shape{1, 3, 4});
    CHECK(allclose(einsum("i...->...i", a), moveaxis(a, 0, -1), 0.0));
    CHECK(allclose(einsum(" i j , j k -> i k ", a(0), b), matmul(a(0), b), 1e-14));
    CHECK(
        allclose(einsum("ij,jk->ik", swapaxes(a, 1, 2)(1), a(1)), matmul(swapaxes(a, 1, 2)(1), a(1)), 1e-14));
    const Tensor<std::int64_t> whole = {{1, 2}, {3, 4}};
    CHECK(einsum("ij,ij->", whole, whole).item() == 30);
    auto frozen = freeze([](const Tensor<double>& x, const Tensor<double>& y) {
        return einsum("aij,jk,aik->a", x, y, matmul(x, y));
    });
    static_cast<void>(frozen(a, b));
    const Tensor<double> p = matmul(a, b);
    CHECK(allclose(frozen(a, b), sum(p * p, {1, 2}), 1e-13));
}

TEST_CASE("einsum refuses subscripts that do not fit, with the line of the call")
{
    const Tensor<double> a = numbers({2, 3}, 1), b = numbers({3, 4}, 2);
    const auto refused = [&](const std::function<void()>& f, const std::string& why) {
        CHECK(lacks<ShapeError>(f, why, "[einsum]", "test_contractions.cpp") == "");
    };
    refused([&] { einsum("ij,kj->ik", a, b); }, "'j' is 3 and 4");
    refused([&] { einsum("ij->ij", a, b); }, "1 terms for 2 operands");
    refused([&] { einsum("ijk,jk->i", a, b); }, "term ijk names 3 axes of shape (2, 3)");
    refused([&] { einsum("ij,jk->il", a, b); }, "the result has 'l', no operand has it");
    refused([&] { einsum("ij,jk->ii", a, b); }, "the result has 'i' twice");
    refused([&] { einsum("i!,jk->i", a, b); }, "'!' is no letter");
    refused([&] { einsum("i0,jk->i", a, b); }, "'0' is no letter");
    refused([&] { einsum("i...,jk->i", a, b); }, "the result lacks the axes of the ellipsis");
    refused([&] { einsum("ii->i", a); }, "'i' is 2 and 3");
}

TEST_CASE("tensordot, kron, trace, cross")
{
    const Tensor<double> a = numbers({2, 3, 4}, 1), b = numbers({4, 3, 5}, 2);
    CHECK(allclose(tensordot(a, b, {1, 2}, {1, 0}), einsum("iab,bak->ik", a, b), 1e-14));
    CHECK(allclose(tensordot(a, numbers({3, 4, 2}, 3)), einsum("iab,abk->ik", a, numbers({3, 4, 2}, 3)),
                   1e-14));
    CHECK(allclose(tensordot(a, b, std::int64_t(1)), einsum("abi,ick->abck", a, b), 1e-14));
    CHECK(tensordot(a, b, std::int64_t(0)).shape() == Shape{2, 3, 4, 4, 3, 5});
    CHECK_THROWS_AS(tensordot(a, b, {0}, {0}), ShapeError);
    CHECK_THROWS_AS(tensordot(a, b, {1, 1}, {1, 1}), ShapeError);
    CHECK_THROWS_AS(tensordot(a, b, {1, 2}, {1}), ShapeError);
    CHECK_THROWS_AS(tensordot(a, b, -1), ShapeError);
    CHECK_THROWS_WITH(tensordot(a, b, std::numeric_limits<std::int64_t>::max()),
                      contains("[tensordot]") && contains("test_contractions.cpp"));
    const Tensor<double> p = {{1.0, 2.0}}, q = {{1.0}, {3.0}};
    CHECK(allclose(kron(p, q), Tensor<double>{{1.0, 2.0}, {3.0, 6.0}}, 0.0));
    CHECK(allclose(kron(p, Tensor<double>{10.0, 20.0}), Tensor<double>{{10.0, 20.0, 20.0, 40.0}}, 0.0));
    CHECK(allclose(trace(a),
                   Tensor<double>{a(0, 0, 0).item() + a(0, 1, 1).item() + a(0, 2, 2).item(),
                                  a(1, 0, 0).item() + a(1, 1, 1).item() + a(1, 2, 2).item()},
                   1e-15));
    CHECK_THROWS_AS(trace(Tensor<double>{1.0}), ShapeError);
    const Tensor<double> u = {{1.0, 2.0, 3.0}, {-1.0, 0.5, 2.0}}, v = {0.5, -1.0, 4.0}, w = cross(u, v);
    for (std::int64_t i = 0; i < 2; ++i)
        for (std::int64_t k = 0; k < 3; ++k) {
            const std::int64_t m = (k + 1) % 3, n = (k + 2) % 3;
            CHECK(w(i, k).item() == Approx(u(i, m).item() * v(n).item() - u(i, n).item() * v(m).item()));
        }
    CHECK_THROWS_AS(cross(p, p), ShapeError);
}

TEST_CASE("moveaxis, rot90, tile, meshgrid")
{
    const Tensor<double> a = numbers({2, 3, 4}, 1), m = {{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
    CHECK(allclose(moveaxis(a, 0, -1), transpose(a, {1, 2, 0}), 0.0));
    CHECK(allclose(moveaxis(a, {0, 1}, {2, 0}), transpose(a, {1, 2, 0}), 0.0));
    CHECK_THROWS_AS(moveaxis(a, {0, 0}, {1, 2}), ShapeError);
    CHECK_THROWS_AS(moveaxis(a, {0}, {1, 2}), ShapeError);
    CHECK(allclose(rot90(m), Tensor<double>{{3.0, 6.0}, {2.0, 5.0}, {1.0, 4.0}}, 0.0));
    CHECK(allclose(rot90(rot90(m)), rot90(m, 2), 0.0));
    CHECK(allclose(rot90(rot90(rot90(m))), rot90(m, -1), 0.0));
    CHECK(allclose(rot90(m, 4), m, 0.0));
    CHECK(allclose(rot90(m, 1, {1, 0}), rot90(m, 3), 0.0));
    CHECK_THROWS_AS(rot90(m, 1, {0}), ShapeError);
    CHECK(allclose(wengert::tile(m, {2}), wengert::concatenate({m, m}, 1), 0.0));
    CHECK(allclose(wengert::tile(m, {2, 1, 1}), wengert::stack({m, m}, 0), 0.0));
    CHECK(wengert::tile(m, {0, 2}).shape() == Shape{0, 6});
    CHECK(wengert::tile(Tensor<double>(2.0), {3}).shape() == Shape{3});
    CHECK_THROWS_AS(wengert::tile(m, {-1}), ShapeError);
    const auto [x, y, z] =
        meshgrid(Tensor<double>{1.0, 2.0}, Tensor<double>{3.0}, Tensor<double>{4.0, 5.0, 6.0});
    CHECK((x.shape() == Shape{2, 1, 3} && y.shape() == x.shape() && z.shape() == x.shape()));
    CHECK((x(1, 0, 2).item() == 2.0 && y(1, 0, 2).item() == 3.0 && z(0, 0, 1).item() == 5.0));
    CHECK_THROWS_AS(meshgrid(m, m), ShapeError);
    auto frozen =
        freeze([](const Tensor<double>& t) { return wengert::tile(t, {2}); }, {.backend = wengert::tile});
    static_cast<void>(frozen(m));
    CHECK(allclose(frozen(m + 1.0), wengert::tile(m + 1.0, {2}), 0.0));
}

TEST_CASE("logcumsumexp keeps small terms and large ones; trapezoid")
{
    constexpr double inf = std::numeric_limits<double>::infinity();
    const Tensor<double> x = {-800.0, -1.0, 700.0, 710.0, 0.0}, y = logcumsumexp(x);
    CHECK(y(0).item() == -800.0);
    CHECK(y(1).item() == -1.0);
    CHECK(y(3).item() == Approx(710.0 + std::log1p(std::exp(-10.0))).epsilon(1e-15));
    const Tensor<double> back = logcumsumexp(x, 0, true);
    CHECK(back(4).item() == 0.0);
    CHECK(back(0).item() == Approx(y(4).item()).epsilon(1e-15));
    const Tensor<double> edges = logcumsumexp(Tensor<double>{-inf, -inf, 1.0, inf, 0.0});
    CHECK((edges(0).item() == -inf && edges(1).item() == -inf && edges(2).item() == 1.0 &&
           edges(3).item() == inf && edges(4).item() == inf));
    CHECK(logcumsumexp(Tensor<double>(Shape{0}, std::vector<double>{})).size() == 0);
    const Tensor<double> curve = {0.0, 1.0, 4.0, 9.0}, at = {0.0, 1.0, 3.0, 4.0};
    CHECK(trapezoid(curve, 0.5).item() == 4.75);
    CHECK(trapezoid(curve, at).item() == 0.5 + 5.0 + 6.5);
    CHECK(trapezoid(Tensor<double>{3.0}).item() == 0.0);
    CHECK(trapezoid(stack({curve, curve}, 1), at, 0).shape() == Shape{2});
}

TEST_CASE("composed functions are recorded at the line of their call")
{
    Tensor<double> x = {0.5, 2.0, -1.0};
    x.requires_grad(true);
    const Tensor<double> xp = {-2.0, 3.0}, fp = {1.0, 2.0};
    std::size_t seen = 0;
    const auto check = [&](const Tensor<double>& y, int line) {
        const std::function<void(const Node*)> look = [&](const Node* n) {
            if (!n || n->leaf()) return;
            ++seen;
            INFO(n->primitive->name << " at " << to_string(n->at));
            CHECK(to_string(n->at) == "test_contractions.cpp:" + std::to_string(line));
            for (std::size_t i = 0; i < n->input_count; ++i) look(n->inputs[i]);
        };
        look(y.any().node.get());
    };
    check(logcumsumexp(x), __LINE__);
    check(trapezoid(x, 0.5), __LINE__);
    check(trapezoid(x, x), __LINE__);
    check(quantile(x, 0.3), __LINE__);
    check(median(x), __LINE__);
    check(interp(x, xp, fp), __LINE__);
    check(kron(x, x), __LINE__);
    check(cross(x, x), __LINE__);
    check(einsum("i,i->", x, x), __LINE__);
    check(sort(x), __LINE__);
    CHECK(seen > 30);
}
