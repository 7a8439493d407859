// Lines of scalar code: in errors, of numbers made under AnomalyMode, and where value() cut a dependence.
#include "catch.hpp"

#include <wengert/scalar.hpp>

#include <filesystem>
#include <sstream>
#include <thread>

namespace wg = wengert;
using R = wg::Real<double>;

namespace {

/// What is said of a line where the program has debug information and addr2line is there.
bool lines_are_known() { return wg::detail::line_of_user().line > 0; }
void check_line(const std::string& text, int line)
{
    INFO(text);
    if (lines_are_known())
        CHECK(text.find("(test_lines.cpp:" + std::to_string(line) + ")") != std::string::npos);
}
template <class F> std::string message(const F& f)
{
    try {
        f();
    } catch (const wg::Error& e) {
        return e.what();
    }
    return "nothing thrown";
}

}  // namespace

TEST_CASE("The user's line is the first that is in no file of the library")
{
    const auto root = std::filesystem::path(WENGERT_TESTS_DIR).parent_path();
    const std::string header = (root / "include/wengert/scalar/real/functions.hpp").string();
    const std::string up = (root / "include/wengert/scalar/kernel/../real/real.hpp").string();
    const wg::Site at = wg::detail::first_of_user(header + ":36\n" + up +
                                                  ":7\n/usr/include/c++/12/functional:1\n/x/heat.cpp:42\n");
    CHECK(std::string(at.file) == "/x/heat.cpp");
    CHECK(at.line == 42);
}

TEST_CASE("Refused reals and anomalies name the operation and its line")
{
    R x = 2.0, y;
    x.requires_grad();
    std::string text;
    int line = 0;
    std::thread([&] {
        line = __LINE__ + 1;
        text = message([&] { y = sin(x); });
    }).join();
    CHECK(text.find("[sin] an operand, a Real, was recorded by another thread") == 0);
    check_line(text, line);
    R escaped;
    static_cast<void>(wg::grad([&](R a) { return escaped = a * a; })(R(1.0)));
    line = __LINE__ + 1;
    text = message([&] { y = 3.0 / escaped; });
    CHECK(text.find("[divide]") == 0);
    check_line(text, line);
    const auto before = wg::Tape::current().mark();
    const R outside = x * 1.0;  // recorded before the mode begins
    {
        const wg::AnomalyMode on;
        line = __LINE__ + 1;
        text = message([&] { y = sqrt(outside - 5.0); });
        CHECK(text.find("[sqrt] a NaN or Inf was born here") == 0);
        check_line(text, line);
    }
    wg::Tape::current().rewind(before);
    x.requires_grad(false);
}

TEST_CASE("Under AnomalyMode a number knows where it was made")
{
    wg::ScalarStream& stream = wg::ScalarStream::of(wg::Tape::current());
    const auto before = wg::Tape::current().mark();
    R x = 2.0;
    x.requires_grad();
    const R plain = x * 2.0;
    R loop = x, root;
    int line = 0;
    {
        const wg::AnomalyMode on;
        for (int i = 0; i < 3; ++i) loop *= 2.0;
        line = __LINE__ + 1;
        root = exp(loop);
    }
    CHECK(stream.made_at(plain.handle()).line == 0);
    if (lines_are_known()) {
        CHECK(wg::to_string(stream.made_at(root.handle())) == "test_lines.cpp:" + std::to_string(line));
        CHECK(stream.made_at(loop.handle()).line == line - 2);
    }
    const R after = root * 1.0;
    CHECK(stream.made_at(after.handle()).line == 0);
    {
        const wg::AnomalyMode on;
        const auto room = stream.set_budget({.chunk = 20});
        R more = x;
        for (int i = 0; i < 100; ++i) more = more + 1.0;  // other chunks, whose indices come again
        CHECK(stream.chunk() > 0);
        stream.set_budget(room);
    }
    if (lines_are_known())
        CHECK(wg::to_string(stream.made_at(root.handle())) == "test_lines.cpp:" + std::to_string(line));
    wg::Tape::current().rewind(before);
    x.requires_grad(false);
}

TEST_CASE("The lines where value() cut a dependence are listed")
{
    const auto table = [](const R& x) { return std::floor(x.value()) * x; };
    const auto plain = static_cast<int>(__LINE__) - 1;
    wg::ValueReads outer;
    {
        const wg::ValueReads reads;
        static_cast<void>(table(R(2.5)));  // a constant: nothing is cut
        static_cast<void>(wg::grad([&](R x) {
            R y = table(x) + table(x);
            y += static_cast<double>(x);
            return y + static_cast<double>(lround(x));
        })(R(2.5)));
        const int converted = __LINE__ - 3;
        const auto lines = reads.lines();
        REQUIRE(lines.size() >= 2);
        CHECK((lines[0].count == 2 && lines[0].at.line == plain));
        if (lines_are_known()) {
            REQUIRE(lines.size() == 3);
            CHECK((lines[1].at.line == converted && lines[2].at.line == converted + 1));
            std::ostringstream text;
            text << reads;
            CHECK(text.str().find("2 times at test_lines.cpp:" + std::to_string(plain) + "\n1 time at ") ==
                  0);
        }
        R v = 1.5;
        v.requires_grad();
        static_cast<void>(v.value());
        CHECK(reads.lines().size() == lines.size() + 1);
        {
            const wg::NoGrad off;
            static_cast<void>(v.value());
        }
        CHECK(reads.lines().back().count == 1);
        v.requires_grad(false);
    }
    CHECK(outer.lines().empty());
}
