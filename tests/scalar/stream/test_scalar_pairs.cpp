// What scalar code meets: limits of memory, long loops of gradients, levels beyond two, rewinding, frozen functions; and numbers
// between tensors and reals.
#include "catch.hpp"

#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace wg = wengert;
using R = wg::Real<double>;
using D = wg::Tensor<double>;
using Reals = std::vector<R>;

namespace {

std::uint32_t recorded() { return wg::ScalarStream::of(wg::Tape::current()).size() - 1; }

R chain(R x, int n)
{
    for (int i = 0; i < n; ++i) x = x * 0.999 + 0.001 * sin(x);
    return x;
}

/// x³ by a stranger whose rules are templates.
R cube(const R& x)
{
    R y;
    wg::external(
        std::span(&x, 1), std::span(&y, 1),
        [](std::span<const double> v, std::span<double> w) { w[0] = v[0] * v[0] * v[0]; },
        []<class N>(std::span<const N> v, std::span<const N>, std::span<const N> g, std::span<N> to) {
            to[0] += 3.0 * v[0] * v[0] * g[0];
        },
        []<class N>(std::span<const N> v, std::span<const N>, std::span<const N> dot, std::span<N> to) {
            to[0] += 3.0 * v[0] * v[0] * dot[0];
        });
    return y;
}
R cubes_in_parallel(const R& x)
{
    R sum = 0.0;
    for (const R& y :
         wg::parallel_for(4, [](std::size_t i, const R& v) { return v * v * v * static_cast<double>(i); }, x,
                          {.threads = 2}))
        sum += y;
    return sum / 6.0;
}

constexpr bool slow_build =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
    true;
#else
    false;
#endif

}  // namespace

TEST_CASE("A limit of memory is an error that says what is held, and leaves everything as before")
{
    const auto f = [](R x) { return chain(x, 20000); };
    const double want = wg::grad(f)(R(0.5)).value();
    {
        const wg::ScalarMemory limit(100 * 1024);
        try {
            static_cast<void>(wg::grad(f)(R(0.5)));
            FAIL("no error");
        } catch (const wg::MemoryError& e) {
            const std::string text = e.what();
            INFO(text);
            CHECK(text.find("[scalar code] no memory for more operations: 42") == 0);
            CHECK(text.find("the limit is 102400 bytes") != std::string::npos);
            CHECK(text.find("checkpoint()") != std::string::npos);
        }
        CHECK((recorded() == 0 && wg::Tape::current().size() == 0));
        CHECK(wg::grad([](R x) { return chain(x, 100); })(R(0.5)).value() > 0);
        const auto in_parts = [](R x) {
            const auto part = wg::checkpoint([](const R& v) { return chain(v, 1000); });
            for (int i = 0; i < 20; ++i) x = part(x);
            return x;
        };
        CHECK(wg::grad(in_parts)(R(0.5)).value() == want);
    }
    CHECK(wg::grad(f)(R(0.5)).value() == want);
}

TEST_CASE("Operations beyond the limit lie on disk, and give the same derivatives")
{
    const std::string folder = std::filesystem::temp_directory_path() / "wengert_spill";
    std::filesystem::create_directories(folder);
    const auto f = [](R x) { return chain(x, 20000) * x; };
    const double g = wg::grad(f)(R(0.5)).value(), h = wg::hvp(f)(R(0.5), R(1.0)).value();
    const double second = wg::grad(wg::grad(f))(R(0.5)).value();
    {
        const wg::ScalarMemory limit(64 * 1024, folder);
        CHECK(wg::grad(f)(R(0.5)).value() == g);
        CHECK(wg::hvp(f)(R(0.5), R(1.0)).value() == h);
        CHECK(wg::grad(wg::grad(f))(R(0.5)).value() == second);
        CHECK(std::filesystem::is_empty(folder));
        CHECK(recorded() == 0);
    }
    CHECK(wg::grad(f)(R(0.5)).value() == g);
    {
        const wg::ScalarMemory nowhere(64 * 1024, folder + "/not/there");
        CHECK_THROWS_AS(wg::grad(f)(R(0.5)), wg::MemoryError);
        CHECK(recorded() == 0);
    }
    std::filesystem::remove_all(folder);
}

namespace {

/// A budget of another kind while it lives.
class Room {
public:
    explicit Room(wg::ScalarBudget budget) : before_(stream().set_budget(std::move(budget))) {}
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    ~Room() { stream().set_budget(std::move(before_)); }

private:
    static wg::ScalarStream& stream() { return wg::ScalarStream::of(wg::Tape::current()); }
    wg::ScalarBudget before_;
};

/// Code whose operations read the newest numbers and the oldest, both operands the same one among them.
R long_code(const Reals& v)
{
    R x = v[0] * v[1], sum = 0.0;
    const R old = sin(v[1]);
    for (int i = 0; i < 90; ++i) {
        const R y = x * old + v[0] * v[0];
        x = 0.5 * tanh(y - v[1]) + (i % 7 == 0 ? old - v[0] : y / (old * old + 1.0));
        sum += x * y + pow(old + 2.0, v[0]);
    }
    return sum * old;
}

using Numbers = std::vector<double>;
template <class X> void append(Numbers& to, const X& x)
{
    wg::tree::for_each([&](const R& r) { to.push_back(r.value()); }, x);
}

/// Variables, rewinding, sweeps of what is kept.
void by_variables(Numbers& all)
{
    R a = 0.7, b = 0.3;
    a.requires_grad(), b.requires_grad();
    const auto before = wg::Tape::current().mark();
    const R gone = long_code({a, b});
    wg::Tape::current().rewind(before);
    CHECK_THROWS_AS(gone * 2.0, wg::TapeError);
    const R y = long_code({a, b}) * a, z = y * long_code({b, a});
    wg::backward(y, {.retain = true});
    wg::backward(z);
    all.insert(all.end(), {a.grad(), b.grad()});
    CHECK_THROWS_AS(y * 2.0, wg::TapeError);
    a.requires_grad(false), b.requires_grad(false);
    CHECK(recorded() == 0);
    CHECK(wg::Tape::current().size() == 0);
}

/// Derivatives by every road, of code that is recorded in chunks of whatever size.
Numbers by_all_roads()
{
    const Reals v{0.7, 0.3}, w{1.0, -2.0};
    Numbers all;
    append(all, wg::grad(long_code)(v));
    append(all, wg::jvp(long_code, v, w).second);
    append(all, wg::hvp(long_code)(v, w));
    append(all, wg::grad([&](const Reals& x) {  // reverse over reverse
               const Reals g = wg::grad(long_code)(x);
               return g[0] * g[1] + long_code(x);
           })(v));
    append(all, wg::grad([&](const Reals& x) { return wg::jvp(long_code, x, w).second; })(v));
    {
        const auto pullback = wg::vjp(long_code, v).second;  // repeated sweeps
        for (int i = 0; i < 2; ++i) append(all, pullback(R(1.0 + i)));
    }
    append(all, wg::grad([](const Reals& x) {
               const auto part = wg::checkpoint(long_code);
               const auto kept = wg::preaccumulate(long_code);
               return part(x) * kept(x) + part(Reals{x[1], x[0]}) * x[0];
           })(v));
    append(all, wg::grad([](const Reals& x) {
               const Reals end = wg::checkpoint_loop(
                   [](const Reals& s) {
                       return Reals{s[1] + 0.01 * long_code(s), s[0] * s[1]};
                   },
                   x, {.steps = 5, .snapshots = 2});
               return end[0] * end[1];
           })(v));
    append(all, wg::grad([](const Reals& x) {
               R sum = 0.0;
               for (const R& y : wg::parallel_for(
                        5, [](std::size_t i, const Reals& u) { return long_code(u) * double(i); }, x,
                        {.threads = 2}))
                   sum += y * long_code(x);
               return sum;
           })(v));
    const D J = wg::jacobian([](const Reals& x) { return Reals{long_code(x), x[0] * long_code(x)}; })(v);
    all.insert(all.end(), J.data(), J.data() + 4);
    append(all, wg::grad([](const R& u) {  // a result that is none of the level's numbers
               const R old = long_code({u, u}) * u;
               const auto f = [&](const Reals& x) { return Reals{x[0] * x[1], old}; };
               const auto [y, pullback] = wg::vjps(f, Reals{0.7, 0.3});
               return y[1] * y[1] + wg::real(wg::jacobian(f)(Reals{0.7, 0.3})(1, 0));
           })(R(0.4)));
    by_variables(all);
    return all;
}

}  // namespace

TEST_CASE("Chunks of any size, in memory and on disk, give the same bits by every road")
{
    const std::string folder = std::filesystem::temp_directory_path() / "wengert_segments";
    std::filesystem::create_directories(folder);
    const Numbers want = by_all_roads();
    for (const std::size_t size : {60, 400}) {
        INFO(size);
        const Room in_memory({.chunk = size});
        CHECK(by_all_roads() == want);
    }
    for (const std::size_t size : {0, 150}) {
        INFO(size);
        const Room far_on({.chunk = size, .first = (1ULL << 32) - 700});
        CHECK(by_all_roads() == want);
    }
    CHECK(by_all_roads() == want);
    for (const std::size_t bytes : {1, 30000}) {
        INFO(bytes);
        const Room on_disk({.bytes = bytes, .folder = folder, .chunk = 150});
        CHECK(by_all_roads() == want);
    }
    std::filesystem::remove_all(folder);
}

TEST_CASE("Adjoints of many chunks take the memory of few")
{
    const Room small({.chunk = 1000});
    wg::ScalarStream& s = wg::ScalarStream::of(wg::Tape::current());
    s.zeros = {};
    std::uint64_t places = 0;
    const auto g = wg::grad([&](R x) {
        const R y = chain(x, 20000);
        places = s.end();
        return y;
    })(R(0.5));
    CHECK(places > 80000);
    CHECK(s.zeros.size() <= 1002);
    CHECK(std::isfinite(g.value()));
}

TEST_CASE("Scalar code that finds no room, in memory or in chunks, leaves everything as before")
{
    const Reals v{0.7, 0.3};
    R a = 0.7;
    a.requires_grad();
    const R kept = a * a;
    const auto size = wg::ScalarStream::of(wg::Tape::current()).end();
    const auto nodes = wg::Tape::current().size();
    for (const std::size_t chunk : {0, 50}) {
        const Room room({.bytes = 24 * 300, .chunk = chunk});
        CHECK_THROWS_AS(wg::grad(long_code)(v), wg::MemoryError);
        CHECK_THROWS_AS(wg::hvp(long_code)(v, v), wg::MemoryError);
        CHECK_THROWS_AS(wg::grad(wg::checkpoint(long_code))(v), wg::MemoryError);
        CHECK_THROWS_AS(wg::grad([](const Reals& x) { return wg::preaccumulate(long_code)(x); })(v),
                        wg::MemoryError);
        CHECK(wg::ScalarStream::of(wg::Tape::current()).end() == size);
        CHECK(wg::Tape::current().size() == nodes);
    }
    const auto before = wg::grad(long_code)(v);
    wg::backward(kept);
    CHECK(a.grad() == 1.4);
    a.requires_grad(false);
    const auto after = wg::grad(long_code)(v);
    for (std::size_t k : {0, 1}) CHECK(before[k].value() == after[k].value());
}

TEST_CASE("What needs all operations in one chunk says so")
{
    CHECK(wg::ScalarBudget{}.in_chunk() == std::size_t{1} << 31);
    CHECK(wg::ScalarBudget{.bytes = 24 * 80000, .folder = "/tmp"}.in_chunk() == 10000);
    const auto f = [](const Reals& v) {
        const Room small({.chunk = 50});
        return Reals{long_code(v)};
    };
    CHECK_THROWS_AS(wg::sparse_jacobian(f)(Reals{0.7, 0.3}), wg::MemoryError);
    CHECK_THROWS_AS(wg::sparse_hessian([&](const Reals& v) { return f(v)[0]; })(Reals{0.7, 0.3}),
                    wg::MemoryError);
}

TEST_CASE("The report of a tape has the bytes of scalar code")
{
    static_cast<void>(wg::grad([](R x) {
        const R y = chain(x, 1000);
        const wg::TapeReport report = wg::Tape::current().report();
        CHECK(report.rows[0].primitive == "scalar code");
        CHECK(report.rows[0].bytes == recorded() * 24);
        CHECK(report.saved_bytes >= report.rows[0].bytes);
        return y;
    })(R(0.5)));
}

TEST_CASE("A million gradients in a loop hold memory constant")
{
    const auto f = [](const std::array<R, 2>& v) { return v[0] * v[1] + v[0]; };
    const std::array<R, 2> v{1.0, 2.0};
    static_cast<void>(wg::grad(f)(v));
    const auto before = wg::memory::stats();
    double sum = 0;
    for (int i = 0; i < (slow_build ? 20000 : 1000000); ++i) sum += wg::grad(f)(v)[0].value();
    CHECK(sum == (slow_build ? 60000 : 3000000));
    CHECK(wg::memory::stats().current_bytes == before.current_bytes);
    CHECK(wg::memory::stats().cell_bytes == before.cell_bytes);
    CHECK((recorded() == 0 && wg::Tape::current().size() == 0));
}

TEST_CASE("Solvers from elsewhere and parallel loops: three levels, rewinding, frozen functions")
{
    for (const auto& f : {&cube, &cubes_in_parallel}) {
        const auto third = wg::grad(wg::grad(wg::grad([&](R x) { return f(x) * x; })));  // of x⁴
        CHECK(third(R(2.0)).value() == Approx(48));
        const auto mixed = [&](R x) {
            return wg::jvp(wg::grad([&](R y) { return f(y) * y; }), x, R(1.0)).second;
        };
        CHECK(wg::grad(mixed)(R(2.0)).value() == Approx(48));
        R x = 2.0;
        x.requires_grad();
        const auto before = wg::Tape::current().mark();
        for (int i = 0; i < 3; ++i) {
            const R y = f(x) * x;
            wg::Tape::current().rewind(before);
            CHECK_THROWS_AS(y * 2.0, wg::TapeError);
            CHECK(recorded() == 0);
        }
        wg::backward(f(x));
        CHECK(x.grad() == Approx(12));
        x.requires_grad(false);
        const auto frozen = wg::freeze([&](const D& t) { return wg::tensor(f(wg::real(t))); });
        CHECK_THROWS_AS(frozen(D(2.0)), wg::TapeError);
    }
    CHECK((recorded() == 0 && wg::Tape::current().size() == 0));
}

TEST_CASE("A position that is marked divides numbers that go on from older ones, too")
{
    const wg::TapeScope fresh;
    R a = 2.0;
    a.requires_grad();
    const R q = a * a;
    R rewound;
    for (int i = 0; i < 3; ++i) {
        const auto here = wg::Tape::current().mark();
        const auto before = recorded();
        rewound = sin(q * a);
        CHECK(recorded() > before);
        wg::Tape::current().rewind(here);
        CHECK(recorded() == before);
    }
    CHECK_THROWS_AS(wg::backward(rewound), wg::TapeError);
    wg::backward(q * a);
    CHECK(a.grad() == Approx(12));
}

TEST_CASE("A limit of memory holds after one with a folder, while numbers wait for backward")
{
    const wg::TapeScope fresh;
    const auto f = [](R x) {
        for (int i = 0; i < 100000; ++i) x = x * 0.999 + 0.001 * sin(x);
        return x;
    };
    R a = 0.5;
    a.requires_grad();
    const R y = a * a;
    const double slope = wg::grad(f)(R(0.5)).value();
    const auto limited = [&](std::size_t bytes, const char* folder) {
        const wg::ScalarMemory limit(bytes, folder);
        return wg::grad(f)(R(0.5)).value();
    };
    for (int i = 0; i < 2; ++i) {
        CHECK_THROWS_AS(limited(1 << 20, ""), wg::MemoryError);
        CHECK(limited(1 << 20, "/tmp") == slope);
    }
    CHECK(limited(64 << 20, "") == slope);
    wg::backward(y);
    CHECK(a.grad() == 1.0);
}

TEST_CASE("Elements of tensors as reals, and tensors of ranges of reals")
{
    const auto f = [](const D& x) {
        const R a(x(0, 1)), b(x(1, 0));
        const std::array<R, 2> pair{a * b, sin(a)};
        return sum(wg::stack(pair) * D(Reals{b, a * a}));
    };
    const D x = {{0.3, 0.7}, {1.1, 0.2}};
    const auto report = wg::check_grads(f, x, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    CHECK_THROWS_AS(R(x), wg::ShapeError);
    static_assert(!std::is_convertible_v<D, R> && !std::is_convertible_v<Reals, D>);
    CHECK((D(Reals{1.0, 2.0}).shape() == wg::Shape{2}));
}

TEST_CASE("Zeroed and moved memory holds valid reals")
{
    R* p = static_cast<R*>(std::calloc(4, sizeof(R)));
    CHECK((!p[3].is_active() && p[3].value() == 0));
    const double g = wg::grad([&](R x) {
                         p[0] = x * x;
                         p = static_cast<R*>(std::realloc(static_cast<void*>(p), 4096 * sizeof(R)));
                         R copy;
                         std::memcpy(static_cast<void*>(&copy), p, sizeof copy);
                         std::swap(copy, p[1]);
                         return p[1] + copy;
                     })(R(3.0))
                         .value();
    CHECK(g == 6);
    std::free(static_cast<void*>(p));
    CHECK((Reals(3)[2].value() == 0 && !R().is_active()));
}
