// Fields of aggregates and walks of structs of tensors, with a stand-in for Tensor that is greedier than the
// real one.
#include "catch.hpp"

#include <any>
#include <array>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include <wengert/base/reflect.hpp>
#include <wengert/transforms/tree.hpp>

namespace reflect = wengert::reflect;
namespace tree = wengert::tree;

namespace {

struct Leaf {
    int value = 0;
    Leaf() = default;
    Leaf(int v) : value(v) {}
    Leaf(std::initializer_list<int> v) : value(v.size() > 0 ? *v.begin() : 0) {}
    template <class E>
        requires std::is_convertible_v<E, double>
    Leaf(const E& e) : value(static_cast<int>(e))
    {}
    template <class E> explicit Leaf(const std::vector<E>& v) : value(static_cast<int>(v.size())) {}
};

enum class Mode { slow, fast };

struct NoDefault {
    int state;
    explicit NoDefault(int s) : state(s) {}
};

struct Layer {
    Leaf weight, bias;
};
struct Mixed {
    Leaf first;
    int steps = 3;
    std::string name = "m";
    std::function<int(int)> act;
    Mode mode = Mode::fast;
    std::vector<bool> flags;
    std::optional<Leaf> maybe;
    Layer layer;
};
struct Node {
    std::vector<Node> kids;
    Leaf v;
};
struct Empty {};
struct Outer {
    Empty e;
    NoDefault k;
    std::string w;
};
struct Ref {
    int& r;
    int k;
};
struct WithAny {
    std::any a;
    int b;
};
struct Array {
    std::array<Leaf, 3> a;
    double d;
};
struct MoveOnly {
    std::unique_ptr<int> p;
    Leaf w;
};
struct F24 {
    int a, b, c, d, e, f, g, h, i, j, k, l;
    Leaf m, n, o, p, q, r, s, t, u, v, w, x;
};
struct Plain {
    int a;
    std::string s;
    std::unique_ptr<Leaf> behind;
};
class Hidden {
    Leaf w;
};

static_assert(reflect::field_count<Layer> == 2);
static_assert(reflect::field_count<const Mixed&> == 8);
static_assert(reflect::field_count<Node> == 2);
static_assert(reflect::field_count<Empty> == 0);
static_assert(reflect::field_count<Outer> == 3);
static_assert(reflect::field_count<Ref> == 2);
static_assert(reflect::field_count<WithAny> == 2);
static_assert(reflect::field_count<Array> == 2);
static_assert(reflect::field_count<MoveOnly> == 2);
static_assert(reflect::field_count<F24> == 24);
static_assert(reflect::is_struct<Layer> && reflect::is_struct<const Layer&> && reflect::is_struct<Empty>);
static_assert(!reflect::is_struct<Leaf> && !reflect::is_struct<int> &&
              !reflect::is_struct<std::array<int, 2>>);
static_assert(!reflect::is_struct<std::string> && !reflect::is_struct<Leaf[2]>);
static_assert(std::is_same_v<decltype(reflect::tie(std::declval<Layer&>())), std::tuple<Leaf&, Leaf&>>);
static_assert(std::is_same_v<decltype(reflect::tie(std::declval<const Layer&>())),
                             std::tuple<const Leaf&, const Leaf&>>);

}  // namespace

template <> inline constexpr bool wengert::tree::is_leaf<Leaf> = true;

namespace {

static_assert(tree::contains_leaf<Leaf> && tree::contains_leaf<Node> &&
              tree::contains_leaf<std::vector<Node>>);
static_assert(tree::contains_leaf<const Mixed&> && tree::contains_leaf<std::tuple<int, Layer>>);
static_assert(tree::contains_leaf<std::map<std::string, std::pair<int, std::array<Leaf, 2>>>>);
static_assert(!tree::contains_leaf<Plain> && !tree::contains_leaf<int> && !tree::contains_leaf<std::string>);
static_assert(!tree::contains_leaf<std::function<Leaf(Leaf)>> && !tree::contains_leaf<Hidden>);
static_assert(!tree::contains_leaf<std::vector<bool>> && !tree::contains_leaf<Empty>);

template <class X> std::vector<int> values(const X& x)
{
    std::vector<int> out;
    tree::for_each([&](const Leaf& l) { out.push_back(l.value); }, x);
    return out;
}

const auto times_ten = [](const Leaf& l) { return Leaf(l.value * 10); };

}  // namespace

TEST_CASE("tie gives references to the fields in order")
{
    Layer layer{Leaf(1), Leaf(2)};
    std::get<1>(reflect::tie(layer)).value = 7;
    CHECK(layer.bias.value == 7);
    const F24 many{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24};
    CHECK(std::get<11>(reflect::tie(many)) == 12);
    CHECK(std::get<23>(reflect::tie(many)).value == 24);
    CHECK(tree::count(many) == 12);
}

TEST_CASE("map replaces the leaves and copies the rest")
{
    Mixed m;
    m.first = Leaf(1);
    m.steps = 5;
    m.act = [](int i) { return i + 1; };
    m.flags = {true, false};
    m.maybe = Leaf(2);
    m.layer = {Leaf(3), Leaf(4)};
    const Mixed r = tree::map(times_ten, m);
    CHECK(values(r) == std::vector<int>{10, 20, 30, 40});
    CHECK(values(m) == std::vector<int>{1, 2, 3, 4});
    CHECK(r.steps == 5);
    CHECK(r.name == "m");
    CHECK(r.act(1) == 2);
    CHECK(r.flags == m.flags);
    CHECK(tree::count(m) == 4);
    CHECK(tree::map(times_ten, Leaf(3)).value == 30);
}

TEST_CASE("containers nest, and a struct may hold a vector of itself")
{
    const Node root{{Node{{}, Leaf(1)}, Node{{Node{{}, Leaf(2)}}, Leaf(3)}}, Leaf(4)};
    CHECK(values(root) == std::vector<int>{1, 2, 3, 4});
    CHECK(values(tree::map(times_ten, root)) == std::vector<int>{10, 20, 30, 40});

    using Deep =
        std::tuple<std::pair<Leaf, int>, std::map<std::string, std::vector<Layer>>, std::array<Leaf, 2>>;
    const Deep deep{
        {Leaf(1), 9}, {{"b", {{Leaf(4), Leaf(5)}}}, {"a", {{Leaf(2), Leaf(3)}}}}, {Leaf(6), Leaf(7)}};
    CHECK(values(deep) == std::vector<int>{1, 2, 3, 4, 5, 6, 7});
    CHECK(values(tree::map(times_ten, deep)) == std::vector<int>{10, 20, 30, 40, 50, 60, 70});
    CHECK(values(std::deque<Leaf>{Leaf(1), Leaf(2)}) == std::vector<int>{1, 2});
}

TEST_CASE("an unordered map is walked by key, whatever its history")
{
    std::unordered_map<int, Leaf> a, b;
    b.reserve(1000);
    for (int i = 0; i < 50; ++i) a.emplace(i, Leaf(i));
    for (int i = 49; i >= 0; --i) b.emplace(i, Leaf(i));
    CHECK(values(a) == values(b));
    int pairs = 0;
    tree::zip_for_each([&](const Leaf& x, const Leaf& y) { pairs += x.value == y.value; }, a, b);
    CHECK(pairs == 50);
    b.erase(3);
    b.emplace(99, Leaf(0));
    CHECK_THROWS_AS(tree::zip_for_each([](auto&, auto&) {}, a, b), wengert::ShapeError);
}

TEST_CASE("zip_for_each walks two trees together and refuses different ones")
{
    using Tree = std::vector<std::pair<Layer, std::optional<Leaf>>>;
    Tree x{{{Leaf(1), Leaf(2)}, Leaf(3)}, {{Leaf(4), Leaf(5)}, {}}};
    const Tree y = tree::map(times_ten, x);
    tree::zip_for_each([](Leaf& a, const Leaf& b) { a.value += b.value; }, x, y);
    CHECK(values(x) == std::vector<int>{11, 22, 33, 44, 55});
    Tree shorter = x;
    shorter.pop_back();
    CHECK_THROWS_AS(tree::zip_for_each([](auto&, auto&) {}, x, shorter), wengert::ShapeError);
    CHECK_THROWS_AS(tree::zip_for_each([](auto&, auto&) {}, shorter, x), wengert::ShapeError);
    Tree other = x;
    other[1].second = Leaf(1);
    CHECK_THROWS_AS(tree::zip_for_each([](auto&, auto&) {}, x, other), wengert::ShapeError);
    std::map<int, Leaf> p{{1, Leaf(1)}}, q{{2, Leaf(1)}};
    CHECK_THROWS_AS(tree::zip_for_each([](auto&, auto&) {}, p, q), wengert::ShapeError);
}
