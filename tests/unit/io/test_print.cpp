/// Printing tensors and the tape.
#include "catch.hpp"

#include <wengert/ops/creation.hpp>
#include <wengert/io/print.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/tape/backward.hpp>

#include <limits>
#include <sstream>

using namespace wengert;
using D = Tensor<double>;

namespace {

template <class X> std::string text_of(const X& x)
{
    std::ostringstream out;
    out << x;
    return out.str();
}

}  // namespace

TEST_CASE("tensors print like NumPy's arrays, with shape and dtype", "[print]")
{
    CHECK(text_of(D(1.5)) == "1.5");
    CHECK(text_of(D{1.0, -2.25}) == "[ 1.00 -2.25] shape=(2) dtype=float64");
    CHECK(text_of(Tensor<std::int64_t>{1, 20, -3}) == "[ 1 20 -3] shape=(3) dtype=int64");
    CHECK(text_of(Tensor<bool>{true, false}) == "[ true false] shape=(2) dtype=bool");
    CHECK(text_of(Tensor<float>{0.1, 0.2}) == "[0.1 0.2] shape=(2) dtype=float32");
    CHECK(text_of(D{{1.0, 2.0}, {10.0, 4.5}}) == "[[ 1.0  2.0]\n [10.0  4.5]]\nshape=(2, 2) dtype=float64");
    CHECK(text_of(zeros<double>({2, 1, 2})) ==
          "[[[0.0 0.0]]\n\n [[0.0 0.0]]]\nshape=(2, 1, 2) dtype=float64");
    CHECK(text_of(zeros<float>({3, 0})) == "[]\nshape=(3, 0) dtype=float32");
}

TEST_CASE("numbers of any size", "[print]")
{
    const double inf = std::numeric_limits<double>::infinity(),
                 nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(text_of(D{1e-9, 2.5}) == "[1.0e-09 2.5e+00] shape=(2) dtype=float64");
    CHECK(text_of(D(std::numeric_limits<double>::max())) == "1.79769313e+308");
    CHECK(text_of(D{inf, -inf, 1.0}) == "[ inf -inf  1.0] shape=(3) dtype=float64");
    CHECK(text_of(D{nan}) == "[nan] shape=(1) dtype=float64");
    CHECK(text_of(D{-nan, -1.0}) == "[ nan -1.0] shape=(2) dtype=float64");
    CHECK(text_of(D(1.0 / 3.0)) == "0.33333333");
}

TEST_CASE("long tensors show their ends", "[print]")
{
    CHECK(text_of(arange<std::int64_t>(2000)) ==
          "[   0    1    2 ... 1997 1998 1999] shape=(2000) dtype=int64");
    const std::string square = text_of(zeros<double>({40, 40}));
    CHECK(std::count(square.begin(), square.end(), '\n') == 7);
    CHECK(text_of(zeros<double>({1000})).find("...") == std::string::npos);
}

TEST_CASE("rows that are too long wrap below their first word", "[print]")
{
    std::string row;
    for (int i = 10; i < 34; ++i) row += std::to_string(i) + (i < 33 ? " " : "");
    CHECK(text_of(arange<std::int64_t>(10, 34)) == "[" + row + "] shape=(24) dtype=int64");  // 73 characters
    CHECK(text_of(arange<std::int64_t>(10, 35)) == "[" + row + "\n 34] shape=(25) dtype=int64");
    const std::string matrix = text_of(zeros<double>({2, 40}));
    CHECK(matrix.substr(0, 80).find("\n  0.0") != std::string::npos);
    CHECK(matrix.find("\n [0.0") != std::string::npos);
    std::istringstream lines(matrix);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 75);
}

TEST_CASE("a recorded tensor says what made it and where", "[print]")
{
    D x = {1.0, 2.0};
    x.requires_grad(true);
    CHECK_THAT(text_of(x), contains("op=leaf (test_print.cpp:" + std::to_string(__LINE__ - 1) + ")"));
    const D y = x * x;
    CHECK_THAT(text_of(y), contains("op=multiply (test_print.cpp:" + std::to_string(__LINE__ - 1) + ")"));
}

TEST_CASE("the tape prints as a table", "[print]")
{
    const TapeScope scope;
    D x = {{1.0, 2.0}, {3.0, 4.0}};
    x.requires_grad(true);
    const D y = x * 2.0;
    const D z = y * y;
    const D s = sum(z, {1});
    std::istringstream table(text_of(Tape::current()));
    std::vector<std::string> lines;
    for (std::string line; std::getline(table, line);) lines.push_back(line);
    REQUIRE(lines.size() == 5);
    CHECK_THAT(lines[0], contains("primitive") && contains("inputs") && contains("saved"));
    CHECK_THAT(lines[1], contains("#1") && contains("leaf") && contains("(2, 2)") && contains("float64"));
    CHECK_THAT(lines[2], contains("multiply") && contains("#1 const") && contains("8"));
    CHECK_THAT(lines[3], contains("#2 #2") && contains(" 32 "));
    CHECK_THAT(lines[4], contains("sum") && contains("#3") && contains("(2)") && contains("test_print.cpp:"));
    CHECK(lines[1].find("test_print") == lines[4].find("test_print"));
    backward(s, D{1.0, 1.0});
    CHECK_THAT(text_of(Tape::current()), contains("used up"));
}

TEST_CASE("a shape is printed as it is written")
{
    std::ostringstream out;
    out << D{{1.0, 2.0}}.shape() << Shape{3} << Shape();
    CHECK(out.str() == "(1, 2)(3)()");
}
