// Reals on the tape: variables and backward, refusals, and how long what is recorded stays.
#include "scalar/stream/scalar_tape.hpp"

#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/transforms/check_grads.hpp>

#include <thread>

using namespace scalar_tape;

TEST_CASE("Variables among reals, and backward")
{
    R x = 2.0, y = 3.0;
    D w = {1.0, 4.0};
    x.requires_grad(), y.requires_grad(), w.requires_grad(true);
    for (int i = 1; i <= 3; ++i) {
        const R z = x * x * y + wg::real(sum(w * wg::stack(std::vector<R>{x, y})));
        wg::backward(z);
        CHECK(x.grad() == i * (12.0 + 1.0));
        CHECK(y.grad() == i * (4.0 + 4.0));
        CHECK(w.grad()(1).item() == i * 3.0);
        CHECK(recorded() == 0);
    }
    x.zero_grad();
    x.set_value(1.0);
    wg::backward(sum(square(wg::stack(std::vector<R>{x, x * y}))));
    CHECK(x.grad() == 2 + 18);
    const R z = x * y;
    wg::backward(z, {.retain = true});
    wg::backward(z);
    CHECK(x.grad() == 2 + 18 + 6);
    x.zero_grad(), y.zero_grad();
    const D between =
        wg::stack(std::vector<R>{x});  // a stack of numbers of two spans, variables and constants
    const R u = x * y, v = wg::elements(between)[0] * y;
    wg::backward(
        sum(wg::stack(std::vector<R>{u, x, v, 4.0, u * 1.0, y, v * x}) * D{1, 10, 100, 1, 1, 1000, 7}));
    CHECK(x.grad() == 3 + 10 + 300 + 3 + 7 * 2 * 1 * 3);
    CHECK(y.grad() == 1 + 100 + 1 + 1000 + 7);
    x.requires_grad(false);
    CHECK((!x.is_active() && !(x * 2.0).is_active()));
    CHECK_THROWS_AS(x.grad(), wg::TapeError);
    CHECK_THROWS_AS(wg::backward(x), wg::TapeError);
    y.requires_grad(false);
}

TEST_CASE("Checkpoints reach the reals and tensors that their scalar code captures")
{
    R a = 0.5;
    D w = {3.0, 4.0};
    a.requires_grad(), w.requires_grad(true);
    const D constant = {2.0, 1.0};
    const auto product = wg::checkpoint([&](const D& x) { return wg::tensor(wg::elements(x)[0] * a * a); });
    wg::backward(product(constant));
    CHECK(a.grad() == 2);
    const auto read =
        wg::checkpoint([&](const D& x) { return wg::tensor(wg::elements(w)[1] * wg::elements(x)[0]); });
    wg::backward(read(constant));
    CHECK(w.grad()(1).item() == 2);
    const auto handed = wg::checkpoint([&](const D& x) { return wg::stack(std::vector<R>{a}) * x; });
    wg::backward(sum(handed(constant)));
    CHECK(a.grad() == 5);
    const auto outer =
        wg::grad([&](R x) {  // an inner level's checkpoint that captures an outer level's number
            return wg::grad([&](R y) { return wg::checkpoint([&](R z) { return x * x * z; })(y); })(R(1.0));
        });
    CHECK(outer(R(3.0)).value() == 6);
    a.requires_grad(false);
}

TEST_CASE("Gradients in a loop leave nothing behind")
{
    const auto f = [](const std::vector<R>& v) { return v[0] * sin(v[1]) + v[2]; };
    const std::vector<R> v{1.0, 2.0, 3.0};
    static_cast<void>(wg::hvp(f)(v, v));
    const auto before = wg::memory::stats();
    for (int i = 0; i < 2000; ++i) {
        static_cast<void>(wg::grad(f)(v));
        static_cast<void>(wg::hvp(f)(v, v));
        static_cast<void>(wg::vjp(f, v).second(R(1.0)));
    }
    CHECK(recorded() == 0);
    CHECK(wg::Tape::current().size() == 0);
    CHECK(wg::memory::stats().current_bytes == before.current_bytes);
    CHECK(wg::memory::stats().cell_bytes == before.cell_bytes);
    // inner gradients of a long outer one go when they end
    std::uint32_t most = 0;
    static_cast<void>(wg::grad([&](R x) {
        for (int i = 0; i < 100; ++i) {
            x = x * 1.01;
            static_cast<void>(wg::grad(f)(v));
            most = std::max(most, recorded());
        }
        return x;
    })(R(1.0)));
    CHECK(most < 120);
}

TEST_CASE("Reals of elsewhere are refused with the operation's name")
{
    R x = 2.0;
    x.requires_grad();
    const R y = x * x;
    std::thread([&] { refused(y, "another thread"); }).join();
    std::thread([&] { refused(x, "another thread"); }).join();
    {
        wg::TapeScope other;
        refused(y, "another tape");
        R own = 3.0;
        own.requires_grad();
        wg::backward(own * own);
        CHECK(own.grad() == 6);
    }
    wg::backward(y);
    refused(y, "used it up");
    const auto before = wg::Tape::current().mark();
    const R rewound = x * x;
    wg::Tape::current().rewind(before);
    refused(rewound, "rewound");
    R escaped;
    static_cast<void>(wg::grad([&](R a) { return escaped = a * a; })(R(1.0)));
    refused(escaped, "ended");
    const auto inner = [&](R b) {
        static_cast<void>(wg::grad([&](R a) { return escaped = a * b; })(R(1.0)));
        refused(escaped, "ended");
        static_cast<void>(wg::grad([&](R c) {
            refused(escaped, "ended");
            return c * b;
        })(R(1.0)));
        return b * b;
    };
    CHECK(wg::grad(inner)(R(3.0)).value() == 6);
    R of_a_thread;
    std::thread([&] {
        of_a_thread = 1.0;
        of_a_thread.requires_grad();
        of_a_thread *= 2.0;
    }).join();
    refused(of_a_thread, "another thread");
    x.requires_grad(false);
}

TEST_CASE("NoGrad, anomalies, reports")
{
    R x = 2.0;
    x.requires_grad();
    {
        const wg::NoGrad off;
        CHECK(!(x * x).is_active());
        CHECK(recorded() == 0);
    }
    {
        const wg::AnomalyMode on;
        const auto before = wg::Tape::current().mark();
        CHECK_THROWS_AS(sqrt(x - 5.0), wg::NumericError);
        wg::Tape::current().rewind(before);
        CHECK(recorded() == 0);
    }
    x.requires_grad(false);
    static int reports = 0;
    const auto before = wg::set_report_handler([](const std::string&, const wg::Site&) { ++reports; });
    static_cast<void>(wg::grad([](R a) { return R(std::sin(a.value())); })(R(0.5)));
    wg::set_report_handler(before);
    CHECK(reports == 1);
}

TEST_CASE("Modes hold for numbers that are being recorded")
{
    R x = 2.0;
    x.requires_grad();
    const R y = x * x;
    {
        const wg::NoGrad off;
        CHECK(!(y * y).is_active());
        CHECK(!(y + 1.0).is_active());
        CHECK(!sqrt(y).is_active());
    }
    CHECK((y * y).is_active());
    {
        const wg::AnomalyMode on;
        CHECK_THROWS_AS(sqrt(y - 5.0), wg::NumericError);
    }
    CHECK(sqrt(y - 5.0).is_active());
    wg::backward(y * y);
    CHECK(x.grad() == 32);
    x.requires_grad(false);
}

TEST_CASE("Every sweep begins with adjoints of zero")
{
    using In = std::span<const double>;
    using Out = std::span<double>;
    static bool broken = false;
    const auto f = [](const std::vector<R>& v) {
        R out, in = v[0] * v[1];
        for (int k = 0; k < 100; ++k) in += sin(in) * v[0];
        wg::external(
            std::span(&in, 1), std::span(&out, 1), [](In a, Out b) { return b[0] = a[0]; },
            [](double, In, In, In g, Out to) {
                if (broken) throw std::runtime_error("broken");
                to[0] += g[0];
            });
        R sum = 0.0;
        for (int k = 0; k < 100; ++k) sum += out * v[1] + in;
        return sum;
    };
    const std::vector<R> v{0.3, 0.7};
    const auto before = wg::grad(f)(v);
    broken = true;
    CHECK_THROWS(wg::grad(f)(v));
    broken = false;
    const auto after = wg::grad(f)(v);
    for (std::size_t k : {0, 1}) CHECK(before[k].value() == after[k].value());
    // an inner gradient that nobody takes the outer variables' adjoints from
    const auto nested = [&](const std::vector<R>& w) {
        return wg::grad([&](R a) { return a * a * w[0] * w[1] + a * w[1]; })(w[0]);
    };
    const auto first = wg::grad(nested)(v), second = wg::grad(nested)(v);
    for (std::size_t k : {0, 1}) CHECK(first[k].value() == second[k].value());
    const auto last = wg::grad(f)(v);
    for (std::size_t k : {0, 1}) CHECK(before[k].value() == last[k].value());
}

TEST_CASE("A long recording has the gradient of a short one")
{
    const auto f = [](const std::vector<R>& v) {
        std::vector<R> x(400, v[0]);
        for (int step = 0; step < 100; ++step)
            for (std::size_t i = 1; i < x.size(); ++i) x[i] = 0.5 * (x[i] + x[i - 1] * v[1]);
        return x.back();
    };
    CHECK(wg::check_grads(f, std::vector<R>{0.3, 0.97}));
}

TEST_CASE("A variable is an operand like others, with the value that it has then")
{
    R x = 2.0, w = 5.0;
    x.requires_grad(), w.requires_grad();
    const R y = x * w + 1.0 / x - x;
    const std::uint32_t before = recorded();
    const R more = x * w + sin(x) + 2.0 * x;
    CHECK(recorded() == before + 5);  // operations alone: x and w have entered
    x.set_value(3.0);
    const R last = x * y;
    const R inner = wg::grad([&](const R& a) { return a * x * w; })(R(7.0));  // x w, of the variables
    {
        const wg::NoGrad off;
        CHECK(!(x * w).is_active());
    }
    wg::backward(last + more + inner);
    CHECK(std::abs(x.grad() - (8.5 + 3.0 * 3.75 + 7.0 + std::cos(2.0) + 5.0)) < 1e-12);
    CHECK(std::abs(w.grad() - (3.0 * 2.0 + 2.0 + 3.0)) < 1e-12);
    x.requires_grad(false);
    w.requires_grad(false);
}

TEST_CASE("Variables that nobody gives back are reported once, with the line")
{
    static std::vector<std::pair<std::string, int>> reports;
    const auto before = wg::set_report_handler([](const std::string& text, const wg::Site& at) {
        reports.push_back({text, at.line});
    });
    constexpr int many = (1 << 16) + 10;
    const wg::TapeScope tape;
    for (int i = 0; i < many; ++i) {
        R x = 1.0 + i;
        x.requires_grad();
        x.requires_grad(false);
    }
    CHECK(reports.empty());
    const int line = __LINE__ + 3;
    for (int i = 0; i < many; ++i) {
        R x = 1.0 + i;
        x.requires_grad();
        if (i % 1000 == 0) wg::backward(x * x);
    }
    wg::set_report_handler(before);
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].first.find("65536 Reals of this thread's tape are variables") != std::string::npos);
    CHECK(reports[0].second == line);
}

TEST_CASE("An exception leaves the tape as it was")
{
    const auto f = [](R x) -> R {
        R y = x * x;
        if (y > 3.0) throw std::runtime_error("no");
        return y;
    };
    CHECK_THROWS_AS(wg::grad(f)(R(2.0)), std::runtime_error);
    CHECK((recorded() == 0 && wg::Tape::current().size() == 0));
    CHECK(wg::grad(f)(R(1.0)).value() == 2);
    CHECK_THROWS_AS(wg::grad([&](R x) { return x * wg::grad(f)(x + 1.0); })(R(1.0)), std::runtime_error);
    CHECK((recorded() == 0 && wg::Tape::current().size() == 0));
}

TEST_CASE("Scalar code is no part of a frozen graph, and says so with the line")
{
    const auto mixed = [](const D& x) {
        const std::vector<R> e = wg::elements(x * 2.0);
        return sum(wg::stack(std::vector<R>{e[0] * e[1], e[1]}) * x);
    };
    const D x = {0.5, 2.0};
    const auto frozen = wg::freeze(mixed);
    const auto gradient = wg::freeze(wg::grad(mixed));
    for (int k = 0; k < 3; ++k) {
        try {
            static_cast<void>(frozen(x));
            FAIL("not refused");
        } catch (const wg::TapeError& e) {
            CHECK(std::string(e.what()).find("test_scalar_tape.cpp") != std::string::npos);
        }
        CHECK_THROWS_AS(gradient(x), wg::TapeError);
        CHECK(wg::Tape::current().size() == 0);
        CHECK(wg::check_grads(mixed, x).ok);
    }
}
