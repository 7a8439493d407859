// The text of rules: evaluated on terms, a rule prints itself.
#include "catch.hpp"

#include <wengert/ops/elementwise/activations.hpp>
#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/ops/elementwise/rule_text.hpp>

using namespace wengert;

TEST_CASE("expressions keep their order of evaluation")
{
    TermProgram program;
    const TermScope scope(program);
    const Term a = Term::input(0), b = Term::input(1), c = Term::input(2);
    const std::string names[] = {"a", "b", "c"};
    const auto text = [&](Term t) { return term_text(program, t, names); };
    CHECK(text(a + b + c) == "a + b + c");
    CHECK(text(a + (b + c)) == "a + (b + c)");
    CHECK(text(a - (b - c)) == "a - (b - c)");
    CHECK(text(a / (b * c) * c) == "a / (b * c) * c");
    CHECK(text(-(a * b) + -a * b) == "-(a * b) + -a * b");
    CHECK(text(-(-a)) == "-(-a)");
    CHECK(text(lit(1) - a * lit(-0.5)) == "1 - a * -0.5");
    CHECK(text(a - lit(-2)) == "a - -2");
    CHECK(text(where(a < b || !(a == c), a, lit(0))) == "where(a < b || !(a == c), a, 0)");
    CHECK(text(pow(a, a)) == "pow(a, a)");
    CHECK(text(2.0 * a) == "2 * a");
}

TEST_CASE("literals read back as the same double")
{
    TermProgram program;
    const TermScope scope(program);
    for (const double x : {0.1, 1.0 / 3, 1e300, 5e-324, 1.1283791670955126})
        CHECK(std::strtod(term_text(program, lit(x), nullptr).c_str(), nullptr) == x);
}

TEST_CASE("rules print themselves")
{
    const auto tanh = rule_text<Tanh>();
    CHECK(tanh.value == "tanh(x)");
    CHECK(tanh.pulls == std::vector<std::string>{"g * (1 - y * y)"});
    const auto divide = rule_text<Divide>();
    CHECK(divide.value == "a / b");
    CHECK(divide.pulls == std::vector<std::string>{"g / b", "-(g * (y / b))"});
    CHECK(rule_text<Relu>().pulls[0] == "where(y > 0, g, 0)");
    CHECK(rule_text<Pow>().pulls[1] == "where(a == 0 && b >= 0, 0, g * (y * log(a)))");
    CHECK(rule_text<Where>().pulls == std::vector<std::string>{"", "where(a, g, 0)", "where(a, 0, g)"});
    CHECK(rule_text<Less>().value == "a < b");
    CHECK(rule_text<LogicalNot>().value == "x == 0");
    CHECK(rule_text<Floor>().pulls == std::vector<std::string>{""});
    CHECK(rule_text<Clip>().value == "minimum(maximum(a, b), c)");
    CHECK(rule_text<Gelu>().value == "x * normal_cdf(x)");
}
