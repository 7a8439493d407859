// The text of a program of terms, as C++: what a rule looks like.
#pragma once

#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "kinds.hpp"

namespace wengert::detail {

/// The shortest text that reads back as the same double.
inline std::string number_text(double value)
{
    std::array<char, 32> buffer;
    return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

/// How tightly the outermost operation of a text binds, as in C++.
enum class Binding { either, both, equality, order, sum, product, unary, atom };

struct Infix {
    const char* sign;
    Binding binding;
};
inline Infix infix_of(TermKind kind)
{
    switch (kind) {
    case TermKind::add: return {" + ", Binding::sum};
    case TermKind::subtract: return {" - ", Binding::sum};
    case TermKind::multiply: return {" * ", Binding::product};
    case TermKind::divide: return {" / ", Binding::product};
    case TermKind::less: return {" < ", Binding::order};
    case TermKind::less_equal: return {" <= ", Binding::order};
    case TermKind::greater: return {" > ", Binding::order};
    case TermKind::greater_equal: return {" >= ", Binding::order};
    case TermKind::equal: return {" == ", Binding::equality};
    case TermKind::not_equal: return {" != ", Binding::equality};
    case TermKind::logical_and: return {" && ", Binding::both};
    case TermKind::logical_or: return {" || ", Binding::either};
    default: return {nullptr, Binding::atom};
    }
}

struct BoundText {
    std::string text;
    Binding binding = Binding::atom;
    std::string within(Binding outer) const { return binding < outer ? "(" + text + ")" : text; }
};

inline BoundText step_text(const TermStep& s, const std::vector<BoundText>& done, const std::string* names)
{
    const auto of = [&](std::int32_t i) -> const BoundText& { return done[static_cast<std::size_t>(i)]; };
    if (s.kind == TermKind::input) return {names[s.a]};
    if (s.kind == TermKind::constant) {
        std::string number = number_text(s.value);
        const bool minus = number[0] == '-';
        return {std::move(number), minus ? Binding::unary : Binding::atom};
    }
    if (s.kind == TermKind::zero_cotangent) return {"0"};
    if (s.kind == TermKind::negative || s.kind == TermKind::logical_not) {
        const char sign = s.kind == TermKind::negative ? '-' : '!';
        const BoundText& x = of(s.a);
        const bool twice = x.text[0] == sign;  // -(-x), not --x
        return {sign + (twice ? "(" + x.text + ")" : x.within(Binding::unary)), Binding::unary};
    }
    if (const Infix op = infix_of(s.kind); op.sign) {
        // the right side keeps its parentheses at equal binding: a + (b + c) rounds otherwise
        const auto next = static_cast<Binding>(static_cast<int>(op.binding) + 1);
        return {of(s.a).within(op.binding) + op.sign + of(s.b).within(next), op.binding};
    }
    std::string call(s.kind == TermKind::cast ? name_of(s.type) : name_of(s.kind));
    call += '(';
    for (const std::int32_t i : {s.a, s.b, s.c})
        if (i >= 0) call += (call.back() == '(' ? "" : ", ") + of(i).text;
    return {call + ")"};
}

}  // namespace wengert::detail

namespace wengert {

/// One expression: the value of step `last`, inputs under their names.
inline std::string term_text(const TermProgram& p, Term last, const std::string* names)
{
    std::vector<detail::BoundText> done;
    for (std::size_t i = 0; i <= static_cast<std::size_t>(last.id); ++i)
        done.push_back(detail::step_text(p.steps[i], done, names));
    return done.back().text;
}

}  // namespace wengert
