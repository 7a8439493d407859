// Fields of aggregates and walks of structs of tensors, with a stand-in for Tensor that is greedier than the
// real one.
#include "catch.hpp"

#include <any>
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <valarray>
#include <vector>

#include <wengert/base/field_names.hpp>
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
    int (*act)(int) = nullptr;
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
    std::unique_ptr<double> behind;
};
class Hidden {
    Leaf w;
};
class Opaque {
    Leaf w;
};
struct Incomplete;
struct List {
    List* next;
    const char* text;
    double* numbers;
    int (*function)(Leaf);
    std::FILE* file;
    const std::mutex* lock;
};
struct Secret {
    Leaf shown;
    std::shared_ptr<const Leaf> hidden;
};
union Either {
    int i;
    float f;
};
/// Parts behind a member, and behind a function found by its argument.
class Named {
public:
    Named() = default;
    Named(Leaf a, Leaf b, int n) : a_(a), rest_{b}, n_(n) {}
    auto fields() { return std::tuple(wengert::named("a", a_), wengert::named("rest", rest_)); }
    int n() const { return n_; }

private:
    Leaf a_;
    std::vector<Leaf> rest_;
    int n_ = 0;
};
class Beside {
    Leaf w;
    std::unique_ptr<Leaf> other = std::make_unique<Leaf>(7);
    friend auto fields(Beside& b) { return std::tie(b.w, *b.other); }

public:
    Beside() = default;
    Beside(const Beside& o) : w(o.w), other(std::make_unique<Leaf>(*o.other)) {}
    Beside& operator=(const Beside&) = delete;
};
/// Copies share what fields() names.
struct Aliased {
    std::shared_ptr<Leaf> w = std::make_shared<Leaf>(1);
    auto fields() const { return std::tie(*w); }
};
struct Owner {
    Named named;
    Beside beside;
    Leaf last;
};
/// A member of that name which returns something else is no hook.
struct Table {
    Leaf w;
    std::vector<std::string> fields() const { return {}; }
};

/// No default but one in the struct that it is a member of.
struct Keyed {
    explicit Keyed(int k) : key(k) {}
    int key;
};
struct KeyedLast {
    Leaf w;
    Keyed key = Keyed(3);
};
struct KeyedWithin {
    Leaf w;
    int n = 3;
    Keyed key{7}, other{8};
    std::string last;
};

static_assert(reflect::field_count<KeyedLast> == 2);
static_assert(reflect::field_count<KeyedWithin> == 5);
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
template <> inline constexpr bool wengert::tree::is_opaque<Opaque> = true;

namespace {

static_assert(tree::contains_leaf<Leaf> && tree::contains_leaf<Node> &&
              tree::contains_leaf<std::vector<Node>>);
static_assert(tree::contains_leaf<const Mixed&> && tree::contains_leaf<std::tuple<int, Layer>>);
static_assert(tree::contains_leaf<std::map<std::string, std::pair<int, std::array<Leaf, 2>>>>);
static_assert(!tree::contains_leaf<Plain> && !tree::contains_leaf<int> && !tree::contains_leaf<std::string>);
static_assert(!tree::contains_leaf<std::vector<bool>> && !tree::contains_leaf<Empty>);
static_assert(tree::contains_leaf<Named> && tree::contains_leaf<const Beside> && tree::contains_leaf<Table>);

template <class X> using refused = typename tree::detail::verdict<X>::refused;
template <class... X> constexpr bool pass = (std::is_void_v<refused<X>> && ...);
template <class... X> constexpr bool refuse = (std::is_same_v<refused<X>, X> && ...);

static_assert(pass<Mixed, Node, F24, Plain, Array, List, Owner, Table, Opaque, MoveOnly>);
static_assert(pass<bool, double, long double, Mode, std::nullptr_t, std::byte, int Layer::*, std::monostate>);
static_assert(pass<std::string, std::string_view, std::chrono::seconds, std::chrono::system_clock::time_point,
                   std::filesystem::path, std::complex<double>, std::bitset<9>, std::valarray<float>>);
static_assert(pass<std::mt19937_64, std::minstd_rand, std::ranlux24, std::knuth_b, std::random_device,
                   std::normal_distribution<>, std::seed_seq>);
static_assert(
    pass<std::mutex, std::recursive_timed_mutex, std::once_flag, std::unique_lock<std::mutex>,
         std::condition_variable, std::thread, std::thread::id, std::atomic<int>, std::atomic_flag>);
static_assert(
    pass<std::ofstream, std::stringstream, std::ostream, std::filebuf, std::error_code, std::locale>);
static_assert(pass<std::set<int>, std::deque<std::string>, std::queue<double>, std::priority_queue<int>,
                   std::variant<int, Leaf>, std::optional<std::map<int, Leaf>>>);
static_assert(pass<const char*, double**, std::shared_ptr<int>, std::unique_ptr<std::vector<double>>,
                   std::weak_ptr<std::string>, std::reference_wrapper<const double>, std::FILE*>);
static_assert(
    refuse<Hidden, Either, void*, Incomplete*, Leaf*, const Layer*, std::function<int(int)>, std::any>);
static_assert(refuse<std::shared_ptr<Leaf>, std::unique_ptr<Layer>, std::weak_ptr<Leaf>, std::queue<Leaf>,
                     std::reference_wrapper<Leaf>, std::shared_ptr<Hidden>, std::shared_ptr<void>>);
static_assert(std::is_same_v<refused<Outer>, NoDefault>);
static_assert(std::is_same_v<refused<Secret>, std::shared_ptr<const Leaf>>);
static_assert(std::is_same_v<refused<std::map<int, std::vector<std::pair<int, Hidden>>>>, Hidden>);

static_assert(reflect::field_name<Mixed, 4> == "mode" && reflect::field_name<F24, 23> == "x");
static_assert(reflect::field_name<const Node&, 0> == "kids" && reflect::field_name<MoveOnly, 1> == "w");

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

TEST_CASE("a hook names the parts of a class that cannot be looked into")
{
    Owner o{Named(Leaf(1), Leaf(2), 5), {}, Leaf(9)};
    CHECK(values(o) == std::vector<int>{1, 2, 0, 7, 9});
    const Owner ten = tree::map(times_ten, std::as_const(o));
    CHECK(values(ten) == std::vector<int>{10, 20, 0, 70, 90});
    CHECK(values(o) == std::vector<int>{1, 2, 0, 7, 9});
    CHECK(ten.named.n() == 5);
    tree::zip_for_each([](Leaf& a, const Leaf& b) { a.value += b.value; }, o, ten);
    CHECK(values(o) == std::vector<int>{11, 22, 0, 77, 99});
    const Aliased shared;
    CHECK_THROWS_WITH(tree::map(times_ten, shared), contains("copy constructor"));
    CHECK(shared.w->value == 1);
}
