// Errors and reports of scalar code and of kernels name a line of the user's: never one of the library, never ":0".
#include "catch.hpp"
#include "lacks.hpp"

#include <sstream>

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/io/print.hpp>
#include <wengert/scalar.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;
using R = wg::Real<double>;
using E = wg::TapeError;

namespace {

std::string here(int line) { return "test_lines_of_scalars.cpp:" + std::to_string(line); }

/// Where the call stack tells lines, they are those of the function's operations.
bool lines_are_known() { return wg::detail::line_of_user().line > 0; }
std::string operation_at(int line) { return lines_are_known() ? here(line) : ""; }

}  // namespace

TEST_CASE("A NaN in a kernel is placed at its call, its cell, and the line in the function")
{
    const int in_log = __LINE__ + 3;
    const auto k = wg::kernel([](auto x) {
        using std::log;
        return log(x - 5.0);
    });
    const int in_loop = __LINE__ + 5;
    const auto falls = wg::kernel([](auto x) {
        return wg::while_loop([](const auto& s) { return s > -2.0; },
                              [](const auto& s) {
                                  using std::sqrt;
                                  return s - 1.0 + 0.0 * sqrt(s);
                              },
                              x);
    });
    const auto root = wg::kernel([](auto x) {
        using std::sqrt;
        return sqrt(x);
    });
    const wg::AnomalyMode on;
    const D x = {7.0, 2.0};
    const int call = __LINE__ + 1;
    const auto of_log = wg::grad([&](const D& u) { return sum(k(u)); });
    const auto of_root = wg::grad([&](const D& u) { return sum(root(u)); });
    using N = wg::NumericError;
    CHECK(lacks<N>([&] { k(x); }, "[log]", here(__LINE__), "cell 1", operation_at(in_log)) == "");
    CHECK(lacks<N>([&] { of_log(x); }, "[log]", here(call), "cell 1", operation_at(in_log)) == "");
    CHECK(lacks<N>([&] { falls(x); }, "[sqrt]", here(__LINE__), "cell ", operation_at(in_loop)) == "");
    CHECK(lacks<N>([&] { of_root(D{1.0, 0.0}); }, "[sqrt]", "backward pass", here(call + 1)) == "");
}

TEST_CASE("Operations of a kernel in a report of the tape have the kernel's call")
{
    const auto k = wg::kernel([](auto x) { return x * x; });
    D x = {1.0, 2.0};
    x.requires_grad(true);
    const wg::AnomalyMode each_operation_is_recorded;
    const D y = k(x);
    CHECK(to_string(y.any().node->at) == here(__LINE__ - 1));
}

TEST_CASE("A second backward of a Real is its own error, with its line")
{
    R a = 2.0;
    a.requires_grad();
    const R y = a * a;
    wg::backward(y);
    CHECK(lacks<E>([&] { wg::backward(y); }, "[backward]", "retain", here(__LINE__)) == "");
    CHECK(lacks<E>([&] { wg::tensor(y); }, "[tensor]", here(__LINE__)) == "");
    CHECK(lacks<E>([&] { wg::stack(std::vector<R>{y}); }, "[stack]", here(__LINE__)) == "");
    CHECK(a.grad() == 4.0);
    const R z = a * a;
    wg::backward(z, {.retain = true});
    wg::backward(z);
    CHECK(a.grad() == 12.0);
    a.requires_grad(false);  // its node goes
}

TEST_CASE("Reals that outlive their transform are refused by every other one, with its line")
{
    using Reals = std::vector<R>;
    R leak;
    static_cast<void>(wg::grad([&](R x) { return leak = x * x; })(R(2.0)));
    const Reals one = {1.0};
    const auto leaks = [&](const Reals& v) { return Reals{v[0], leak}; };
    CHECK(lacks<E>([&] { wg::grad([](R x) { return x; })(leak); }, "Real", here(__LINE__)) == "");
    CHECK(lacks<E>([&] { wg::grad([&](R) { return leak; })(R(1.0)); }, "Real", here(__LINE__)) == "");
    CHECK(lacks<E>([&] { wg::vjp([&](R) { return leak; }, R(1.0)); }, "Real", here(__LINE__)) == "");
    CHECK(lacks<E>([&] { wg::jvp([&](R) { return leak; }, R(1.0), R(1.0)); }, "Real", here(__LINE__)) == "");
    CHECK(lacks<E>([&] { wg::jacobian(leaks)(one); }, "[jacobian]", here(__LINE__)) == "");
    CHECK(lacks<E>([&] { wg::sparse_jacobian(leaks)(one); }, "[sparse_jacobian]", here(__LINE__)) == "");
    const auto hessian = wg::sparse_hessian([&](const Reals&) { return leak; });
    CHECK(lacks<E>([&] { hessian(one); }, "[sparse_hessian]", here(__LINE__)) == "");
}

TEST_CASE("Scalar code in reports has the line where its numbers come from")
{
    const auto before = wg::Tape::current().mark();
    R a = 3.0;
    const int variable = __LINE__ + 1;
    a.requires_grad();
    R y = a;
    for (int i = 0; i < 100; ++i) y = y * a;
    std::ostringstream table;
    table << wg::Tape::current().report();
    CHECK(table.str().find("scalar code  " + here(variable)) != std::string::npos);
    wg::backward(y, {.retain = true});
    y = y * a;  // another span
    std::ostringstream tape;
    tape << wg::Tape::current() << wg::Tape::current().report();
    CHECK(tape.str().find(":0") == std::string::npos);
    std::ostringstream inside;
    const auto cube = wg::grad([&](R x) {
        const R c = x * x * x;
        inside << wg::Tape::current().report();
        return c;
    });
    static_cast<void>(cube(R(1.0)));
    CHECK(inside.str().find("scalar code  " + here(__LINE__ - 1)) != std::string::npos);
    const wg::AnomalyMode on;
    const auto slope = wg::grad([](R x) { return sqrt(x); });
    CHECK(lacks<wg::NumericError>([&] { slope(R(0.0)); }, "[scalar code]", here(__LINE__)) == "");
    a.requires_grad(false);
    wg::Tape::current().rewind(before);
}

TEST_CASE("What is refused in a cell or by the tape has a line without debug information, too")
{
    const auto endless = wg::kernel(
        [](auto x) {
            while (x > -1e9) x = x - 1.0;
            return x;
        },
        {.most_operations = 1000});
    const auto cut = wg::kernel([](auto x) { return x.value() * x; });
    CHECK(lacks<E>([&] { endless(D{1.0}); }, "[kernel]", "test_lines_of_scalars.cpp:") == "");
    CHECK(lacks<E>([&] { cut(D{1.0}); }, "[kernel]", "test_lines_of_scalars.cpp:") == "");
    const auto much = [](R x) {
        const wg::ScalarMemory limit(1000);
        R s = x;
        for (int i = 0; i < 5000; ++i) s = s * x;
        return s;
    };
    CHECK(lacks<wg::MemoryError>([&] { wg::grad(much)(R(2.0)); }, "[scalar code]", "limit",
                                 "test_lines_of_scalars.cpp:") == "");
    const auto nowhere = [](R x) {
        const wg::ScalarMemory limit(1000, "/no/such/folder");
        R s = x;
        for (int i = 0; i < 5000; ++i) s = s * x;
        return s;
    };
    CHECK(lacks<wg::MemoryError>([&] { wg::grad(nowhere)(R(2.0)); }, "/no/such/folder",
                                 "test_lines_of_scalars.cpp:") == "");
    const auto of_all = wg::jacobian([&](const std::vector<R>& x) {
        return std::vector<R>{much(x[0]), x[1]};
    });
    const std::vector<R> two = {1.5, 2.0};
    CHECK(lacks<wg::MemoryError>([&] { of_all(two); }, "limit", "test_lines_of_scalars.cpp:") == "");
    const auto frozen = wg::freeze(of_all);
    CHECK(lacks<E>([&] { frozen(two); }, "[freeze]", "test_lines_of_scalars.cpp:") == "");
}

TEST_CASE("Every derivative of reals that is no number throws under AnomalyMode, and names its operation")
{
    using Reals = std::vector<R>;
    using N = wg::NumericError;
    int in_root = 0;
    const auto root = [&](const R& x) {
        in_root = __LINE__ + 1;
        return 2.0 + sqrt(x);
    };
    const auto power = [](const R& x) { return x + pow(x, 1.5); };
    const auto roots = [&](const Reals& x) { return Reals{root(x[0])}; };
    const auto powers = [&](const Reals& x) { return power(x[0]); };
    const Reals zero{0.0};
    const R z = 0.0, one = 1.0;
    CHECK(std::isinf(wg::jvp(root, z, one).second.value()));
    const wg::AnomalyMode on;
    CHECK(lacks<N>([&] { wg::jvp(root, z, one); }, "[sqrt]", operation_at(in_root)) == "");
    CHECK(lacks<N>([&] { wg::sparse_jacobian(roots)(zero); }, "[sqrt]", operation_at(in_root)) == "");
    CHECK(lacks<N>([&] { wg::hvp(power)(z, one); }, operation_at(__LINE__)) == "");
    CHECK(lacks<N>([&] { wg::jacobian(roots)(zero); }, "NaN or Inf") == "");
    CHECK(lacks<N>([&] { wg::vjps(roots, zero).second({Reals{1.0}}); }, "NaN or Inf") == "");
    CHECK(lacks<N>([&] { wg::sparse_hessian(powers)(zero); }, "[sparse_hessian]", here(__LINE__)) == "");
    CHECK(wg::jvp(root, R(4.0), one).second.value() == 0.25);
    CHECK(wg::sparse_jacobian(roots)(Reals{4.0}).values == std::vector<double>{0.25});
    CHECK(wg::sparse_hessian(powers)(Reals{4.0}).values[0] == Approx(0.375));
}
