// Symbol: a number that is the text of an expression. A rule evaluated on it gives its own source line, which is
// what code generation and error texts print.
#pragma once

#include <array>
#include <charconv>
#include <string>

#include "literal.hpp"

namespace wengert {

class Symbol {
public:
    /// How tightly the outermost operation binds, as in C++.
    enum Binding { either, both, equality, order, sum, product, unary, atom };

    explicit Symbol(std::string name, Binding binding = atom) : text_(std::move(name)), binding_(binding) {}
    Symbol(Literal value) : text_(number(value.value)), binding_(text_[0] == '-' ? unary : atom) {}
    explicit Symbol(int value) : Symbol(lit(value)) {}

    const std::string& text() const noexcept { return text_; }

    /// `left op right`. The right side keeps its parentheses at equal binding: a + (b + c) rounds otherwise.
    static Symbol infix(const Symbol& left, const char* op, const Symbol& right, Binding binding)
    {
        const auto next = static_cast<Binding>(binding + 1);
        return Symbol(left.within(binding) + " " + op + " " + right.within(next), binding);
    }
    static Symbol prefix(const char* op, const Symbol& x)
    {
        const bool twice = x.text_[0] == op[0];  // -(-x), not --x
        return Symbol(op + (twice ? "(" + x.text_ + ")" : x.within(unary)), unary);
    }
    template <class... S> static Symbol call(const char* function, const Symbol& first, const S&... more)
    {
        return Symbol(std::string(function) + "(" + (first.text_ + ... + (", " + more.text_)) + ")");
    }

private:
    std::string within(Binding outer) const { return binding_ < outer ? "(" + text_ + ")" : text_; }

    /// The shortest text that reads back as the same double.
    static std::string number(double value)
    {
        std::array<char, 32> buffer;
        const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
        return {buffer.data(), end};
    }

    std::string text_;
    Binding binding_;
};

// clang-format off
inline Symbol operator+(const Symbol& a, const Symbol& b) { return Symbol::infix(a, "+", b, Symbol::sum); }
inline Symbol operator-(const Symbol& a, const Symbol& b) { return Symbol::infix(a, "-", b, Symbol::sum); }
inline Symbol operator*(const Symbol& a, const Symbol& b) { return Symbol::infix(a, "*", b, Symbol::product); }
inline Symbol operator/(const Symbol& a, const Symbol& b) { return Symbol::infix(a, "/", b, Symbol::product); }
inline Symbol operator<(const Symbol& a, const Symbol& b) { return Symbol::infix(a, "<", b, Symbol::order); }
inline Symbol operator<=(const Symbol& a, const Symbol& b) { return Symbol::infix(a, "<=", b, Symbol::order); }
inline Symbol operator>(const Symbol& a, const Symbol& b) { return Symbol::infix(a, ">", b, Symbol::order); }
inline Symbol operator>=(const Symbol& a, const Symbol& b) { return Symbol::infix(a, ">=", b, Symbol::order); }
inline Symbol operator==(const Symbol& a, const Symbol& b) { return Symbol::infix(a, "==", b, Symbol::equality); }
inline Symbol operator!=(const Symbol& a, const Symbol& b) { return Symbol::infix(a, "!=", b, Symbol::equality); }
inline Symbol operator&&(const Symbol& a, const Symbol& b) { return Symbol::infix(a, "&&", b, Symbol::both); }
inline Symbol operator||(const Symbol& a, const Symbol& b) { return Symbol::infix(a, "||", b, Symbol::either); }
inline Symbol operator-(const Symbol& a) { return Symbol::prefix("-", a); }
inline Symbol operator!(const Symbol& a) { return Symbol::prefix("!", a); }
inline Symbol where(const Symbol& c, const Symbol& a, const Symbol& b) { return Symbol::call("where", c, a, b); }
inline Symbol maximum(const Symbol& a, const Symbol& b) { return Symbol::call("maximum", a, b); }
inline Symbol minimum(const Symbol& a, const Symbol& b) { return Symbol::call("minimum", a, b); }
inline Symbol pow(const Symbol& a, const Symbol& b) { return Symbol::call("pow", a, b); }
inline Symbol hypot(const Symbol& a, const Symbol& b) { return Symbol::call("hypot", a, b); }
inline Symbol atan2(const Symbol& a, const Symbol& b) { return Symbol::call("atan2", a, b); }
inline Symbol sqrt(const Symbol& a) { return Symbol::call("sqrt", a); }
inline Symbol square(const Symbol& a) { return Symbol::call("square", a); }
inline Symbol exp(const Symbol& a) { return Symbol::call("exp", a); }
inline Symbol expm1(const Symbol& a) { return Symbol::call("expm1", a); }
inline Symbol log(const Symbol& a) { return Symbol::call("log", a); }
inline Symbol log1p(const Symbol& a) { return Symbol::call("log1p", a); }
inline Symbol log2(const Symbol& a) { return Symbol::call("log2", a); }
inline Symbol log10(const Symbol& a) { return Symbol::call("log10", a); }
inline Symbol sin(const Symbol& a) { return Symbol::call("sin", a); }
inline Symbol cos(const Symbol& a) { return Symbol::call("cos", a); }
inline Symbol tan(const Symbol& a) { return Symbol::call("tan", a); }
inline Symbol asin(const Symbol& a) { return Symbol::call("asin", a); }
inline Symbol acos(const Symbol& a) { return Symbol::call("acos", a); }
inline Symbol atan(const Symbol& a) { return Symbol::call("atan", a); }
inline Symbol sinh(const Symbol& a) { return Symbol::call("sinh", a); }
inline Symbol cosh(const Symbol& a) { return Symbol::call("cosh", a); }
inline Symbol tanh(const Symbol& a) { return Symbol::call("tanh", a); }
inline Symbol erf(const Symbol& a) { return Symbol::call("erf", a); }
inline Symbol abs(const Symbol& a) { return Symbol::call("abs", a); }
inline Symbol sign(const Symbol& a) { return Symbol::call("sign", a); }
inline Symbol floor(const Symbol& a) { return Symbol::call("floor", a); }
inline Symbol ceil(const Symbol& a) { return Symbol::call("ceil", a); }
inline Symbol round_even(const Symbol& a) { return Symbol::call("round_even", a); }
inline Symbol sigmoid(const Symbol& a) { return Symbol::call("sigmoid", a); }
inline Symbol normal_cdf(const Symbol& a) { return Symbol::call("normal_cdf", a); }
inline Symbol is_finite(const Symbol& a) { return Symbol::call("is_finite", a); }
// clang-format on

}  // namespace wengert
