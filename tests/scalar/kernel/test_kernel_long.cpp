// Native code of kernels and frozen functions with very many operations: text in functions of bounded length, one for all lengths of
// arrays, the bits of other executors, and tiles beyond a limit.
#include "catch.hpp"
#include "draws.hpp"

#include <wengert/base/compiler/shared_object.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/control/control.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>
#include <wengert/transforms/checkpoint.hpp>

#include <dirent.h>

#include <algorithm>
#include <array>
#include <regex>
#include <thread>

namespace wg = wengert;
using R = wg::Real<double>;
using D = wg::Tensor<double>;

namespace {

bool have_compiler() { return !wg::detail::compiler_now().command.empty(); }

/// Some 4 n operations on numbers that stay small, with live ranges of all lengths, and branches where `branches`.
template <class Number> Number mixed(std::vector<Number> x, int n, bool branches)
{
    Draws draw;
    const std::size_t m = x.size();
    for (int k = 0; k < n; ++k) {
        const std::size_t i = draw(m), j = draw(m), l = draw(m);
        using std::sin;
        x[i] = 0.5 * x[i] + 0.25 * x[j] * x[l];
        if (k % 97 == 5) x[j] = sin(x[j]);
        if (k % 89 == 7) x[l] = x[l] / (2.0 + x[i] * x[i]);
        if (branches && k % 200 == 60) {
            if (x[i] < 0.125)
                x[i] = x[i] + 0.5 * x[l];
            else
                x[j] = 0.5 - x[j];
        }
    }
    Number y = x[0];
    for (std::size_t i = 1; i < m; ++i) y = y + x[i];
    return y;
}
template <class F> auto over_four(const F& f)
{
    return [f](const auto& a, const auto& b, const auto& c, const auto& d) {
        using Y = std::remove_cvref_t<decltype(a)>;
        return f(std::vector<Y>{a, b, c, d, 0.5 * a, b + 0.125, 0.25 * c, 0.5 - d, a * b, c * d});
    };
}
auto value_of(int n, bool branches)
{
    return [=](const auto& x) { return mixed(x, n, branches); };
}
/// The gradient with respect to ten numbers, as a kernel's cell.
auto gradient_of(int n, bool branches)
{
    return [=](const auto& x) {
        using Y = typename std::remove_cvref_t<decltype(x)>::value_type;
        return wg::grad([=](const std::vector<Y>& z) { return mixed(z, n, branches); })(x);
    };
}

template <class T> std::vector<wg::Tensor<T>> arguments(std::int64_t length)
{
    std::vector<wg::Tensor<T>> x;
    for (int k = 0; k < 4; ++k) {
        std::vector<T> t;
        Draws draw{static_cast<std::uint64_t>(k) + 7};
        for (std::int64_t i = 0; i < length; ++i) t.push_back(static_cast<T>(draw(1000)) / T(1000));
        x.emplace_back(wg::Shape{t.size()}, t);
    }
    return x;
}
template <class T> std::vector<T> numbers(const wg::Tensor<T>& t) { return {t.data(), t.data() + t.size()}; }
template <class T> std::vector<T> numbers(const std::vector<wg::Tensor<T>>& list)
{
    std::vector<T> out;
    for (const auto& t : list)
        for (const T x : numbers(t)) out.push_back(x);
    return out;
}
template <class K, class T> auto called(const K& k, const std::vector<wg::Tensor<T>>& x)
{
    return numbers(k(x[0], x[1], x[2], x[3]));
}

/// A cache of compiled code that nobody else has, and how many objects have come into it.
class Cache {
public:
    Cache()
    {
        if (const char* v = std::getenv("XDG_CACHE_HOME")) before_ = v;
        ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    }
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;
    ~Cache()
    {
        for (const std::string& f : files()) ::unlink((place() + "/" + f).c_str());
        ::rmdir(place().c_str());
        before_.empty() ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", before_.c_str(), 1);
    }
    std::size_t objects() const { return files().size(); }

private:
    std::string place() const { return folder_.path() + "/wengert"; }
    std::vector<std::string> files() const
    {
        std::vector<std::string> names;
        if (DIR* d = ::opendir(place().c_str())) {
            while (const dirent* e = ::readdir(d))
                if (e->d_name[0] != '.') names.emplace_back(e->d_name);
            ::closedir(d);
        }
        return names;
    }
    wg::detail::TemporaryFolder folder_;
    std::string before_;
};

/// The statements of each function of the text.
std::vector<std::size_t> lengths_of_functions(const std::string& text)
{
    std::vector<std::size_t> lengths;
    bool inside = false;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t end = std::min(text.find('\n', i), text.size());
        const std::string line = text.substr(i, end - i);
        if (line == "{") lengths.push_back(0), inside = true;
        if (line == "}") inside = false;
        if (inside && !line.empty() && line.back() == ';') ++lengths.back();
        i = end + 1;
    }
    return lengths;
}

template <class F> wg::Graph graph_of(const F& f, std::int64_t length)
{
    const auto x = arguments<double>(length);
    return wg::freeze(f).graph(x[0], x[1], x[2], x[3]);
}

}  // namespace

TEST_CASE("long loops are text in functions of bounded length, the same for all lengths", "[kernel][native]")
{
    const auto k = wg::kernel(over_four(gradient_of(1500, false)));
    const auto f = [&](const D& a, const D& b, const D& c, const D& d) { return k(a, b, c, d); };
    const std::string text = wg::native_text(graph_of(f, 1000));
    const std::vector<std::size_t> lengths = lengths_of_functions(text);
    // 160 operations, with at most two reads and a write for each
    CHECK(*std::max_element(lengths.begin(), lengths.end()) <= 4 * 160 + 20);
    CHECK(std::count_if(lengths.begin(), lengths.end(), [](std::size_t n) { return n >= 160; }) >= 40);
    CHECK((wg::native_text(graph_of(f, 503)) == text));
    CHECK((wg::native_text(graph_of(f, 5)) == text));
}

TEST_CASE("a loop that would copy more than it computes is not in strips", "[native]")
{
    // An unrolled recurrence that reads an array at each step and leaves one: two copies for three operations.
    const auto steps = [](const D& x, const D& w) {
        D h = w, all = zeros_like(w);
        for (std::int64_t t = 0; t < 600; ++t) {
            h = tanh(h * view(x, t) + w);
            all = all + sum(h) * w;
        }
        return all;
    };
    const D x = reshape(sin(wg::arange<double>(600.0 * 14)), {600, 14}), w = cos(wg::arange<double>(14.0));
    const std::string text = wg::native_text(wg::freeze(steps).graph(x, w));
    CHECK(text.find("wg_run_strips") == std::string::npos);
    CHECK(numbers(wg::freeze(steps, {.backend = wg::native})(x, w)) == numbers(steps(x, w)));
}

TEST_CASE("functions that differ in nothing but places are one", "[kernel][native]")
{
    const auto chain = [](const auto& x) {
        auto y = x[0];
        for (int i = 0; i < 20000; ++i) y = y * x[1] + x[2];
        return y;
    };
    const auto k = wg::kernel(over_four(chain));
    const auto f = [&](const D& a, const D& b, const D& c, const D& d) { return k(a, b, c, d); };
    CHECK(wg::native_text(graph_of(f, 100)).size() < 200'000);  // of 40,000 operations
}

TEST_CASE("a long kernel is compiled once for blocks of all lengths", "[kernel][native]")
{
    if (!have_compiler()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Cache cache;
    const auto cell = over_four(gradient_of(400, false));
    const auto native = wg::kernel(cell, {.backend = wg::native});
    const auto tile = wg::kernel(cell);
    for (const std::int64_t length : {1000, 7, 64, 3, 8, 9, 129}) {
        INFO(length);
        const auto x = arguments<double>(length);
        CHECK(called(native, x) == called(tile, x));
        CHECK(cache.objects() == 1);
    }
    for (const std::int64_t length : {1, 2}) {  // of these vectors are short
        INFO(length);
        const auto x = arguments<double>(length);
        CHECK(called(native, x) == called(tile, x));
    }
    CHECK(cache.objects() <= 2);
}

TEST_CASE("long kernels with branches have the bits of tiles, as have their gradients", "[kernel][native]")
{
    if (!have_compiler()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Cache cache;
    const auto value = over_four(value_of(300, true));
    const auto gradient = over_four(gradient_of(300, true));
    for (const std::int64_t length : {1, 77}) {
        INFO(length);
        const auto x = arguments<double>(length);
        CHECK(called(wg::kernel(value, {.backend = wg::native}), x) == called(wg::kernel(value), x));
        CHECK(called(wg::kernel(gradient, {.backend = wg::native}), x) == called(wg::kernel(gradient), x));
    }
    const auto y = arguments<float>(33);
    const auto floats = over_four(gradient_of(300, false));
    CHECK(called(wg::kernel(floats, {.backend = wg::native}), y) == called(wg::kernel(floats), y));
}

TEST_CASE("the gradient of a long kernel has the bits of tiles", "[kernel][native]")
{
    if (!have_compiler()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Cache cache;
    const auto k = wg::kernel(over_four(value_of(500, false)));
    const auto gradient = wg::grad([&](const std::vector<D>& x) { return sum(k(x[0], x[1], x[2], x[3])); });
    auto native = wg::freeze(gradient, {.backend = wg::native}), tile = wg::freeze(gradient);
    for (const std::int64_t length : {100, 13}) {
        const auto x = arguments<double>(length);
        CHECK(numbers(native(x)) == numbers(tile(x)));
    }
    CHECK(native.stats().uncompiled == 0);
    CHECK(cache.objects() == 1);

    const auto joined = [&](const std::vector<D>& x) {
        const D y = k(x[0], x[1], x[2], x[3]);
        return wg::stack({y, y}, 0);  // of y once, a stencil would be made, whose text has its extents
    };
    auto small_move = wg::freeze(joined, {.backend = wg::native}), move_in_tiles = wg::freeze(joined);
    for (const std::int64_t length : {100, 13}) {
        const auto x = arguments<double>(length);
        CHECK(numbers(small_move(x)) == numbers(move_in_tiles(x)));
    }
    CHECK(cache.objects() == 2);  // a join in the text would make it one of this length alone
}

TEST_CASE("a nested gradient of scalar code has eager's bits in native code", "[scalar][native]")
{
    if (!have_compiler()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Cache cache;
    const auto squares = [](const std::vector<R>& x) {
        const std::vector<R> g = wg::grad([](const std::vector<R>& z) { return mixed(z, 150, false); })(x);
        R s = g[0] * g[0];
        for (std::size_t i = 1; i < g.size(); ++i) s = s + g[i] * g[i];
        return s;
    };
    const auto nested = wg::grad(squares);
    auto frozen = wg::freeze(nested, {.backend = wg::native, .check = false});
    for (const double at : {0.25, 0.75}) {
        std::vector<R> x;
        for (int k = 0; k < 10; ++k) x.push_back(R(at + 0.01 * k));
        const std::vector<R> a = frozen(x), b = nested(x);
        for (std::size_t k = 0; k < a.size(); ++k) CHECK(double(a[k]) == double(b[k]));
    }
    CHECK(frozen.stats().traces == 1);
    CHECK(cache.objects() == 1);
}

TEST_CASE("a long body of a loop is in functions of bounded length, too", "[kernel][native]")
{
    if (!have_compiler()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Cache cache;
    const auto k = wg::kernel(over_four(value_of(400, false)));
    const auto loop = [&](const D& a) {
        return wg::scan(
                   [&](const D& x) { return std::pair(0.125 * k(x, 0.5 * x, a, 0.25 * a), std::tuple()); }, a,
                   5)
            .first;
    };
    auto native = wg::freeze(loop, {.backend = wg::native, .check = false}), tile = wg::freeze(loop);
    auto gradient = wg::freeze(wg::grad([&](const D& a) { return sum(loop(a)); }),
                               {.backend = wg::native, .check = false});
    auto in_tiles = wg::freeze(wg::grad([&](const D& a) { return sum(loop(a)); }));
    for (const std::int64_t length : {1, 20}) {
        const D a = arguments<double>(length)[0];
        CHECK(numbers(native(a)) == numbers(tile(a)));
        CHECK(numbers(gradient(a)) == numbers(in_tiles(a)));
    }
    CHECK(native.stats().uncompiled == 0);
    const std::vector<std::size_t> lengths =
        lengths_of_functions(wg::native_text(native.graph(arguments<double>(20)[0])));
    CHECK(*std::max_element(lengths.begin(), lengths.end()) <= 4 * 160 + 20);
}

TEST_CASE("text beyond the limit is not compiled: tiles run, and say so", "[kernel][native]")
{
    const Cache cache;
    const auto native = wg::kernel(over_four(value_of(36'000, false)), {.backend = wg::native});
    const auto x = arguments<double>(3);
    const std::vector<double> y = called(native, x);
    for (std::size_t i = 0; i < y.size(); ++i) {
        const auto plain = over_four(value_of(36'000, false));
        CHECK(y[i] == Approx(plain(x[0].data()[i], x[1].data()[i], x[2].data()[i], x[3].data()[i])));
    }
    CHECK_THAT(native.explain(), contains("runs as tiles") && contains("more than 100000 statements"));
    CHECK(cache.objects() == 0);
}

TEST_CASE("long kernels on several threads, and inside of checkpoints", "[kernel][native]")
{
    if (!have_compiler()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Cache cache;
    const auto cell = over_four(value_of(300, true));
    const auto native = wg::kernel(cell, {.backend = wg::native});
    const auto tile = wg::kernel(cell);
    const std::int64_t lengths[] = {1000, 7, 64, 129};
    std::array<int, 4> right{};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < right.size(); ++t)
        threads.emplace_back([&, t] {
            for (const std::int64_t length : lengths) {
                const auto x = arguments<double>(length + static_cast<std::int64_t>(t));
                right[t] += called(native, x) == called(tile, x);
            }
        });
    for (auto& t : threads) t.join();
    CHECK(right == std::array{4, 4, 4, 4});

    const auto loss = [](const auto& k) {
        return [&k](const std::vector<D>& x) { return sum(k(x[0], x[1], x[2], x[3])); };
    };
    const auto x = arguments<double>(77);
    const auto want = numbers(wg::grad(loss(tile))(x));
    const auto fresh = wg::kernel(cell, {.backend = wg::native});
    CHECK(numbers(wg::grad(wg::checkpoint(loss(fresh)))(x)) == want);
    CHECK(numbers(wg::grad(wg::checkpoint(loss(native)))(x)) == want);
    const auto frozen = wg::freeze(wg::grad(wg::checkpoint(loss(native))), {.backend = wg::native});
    for (int k = 0; k < 2; ++k) CHECK(numbers(frozen(x)) == want);
}
