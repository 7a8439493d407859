// The program of an elementwise operation with the type of every step, and how types and numbers are written in C++.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdio>

#include "../../functions/rules/term_text.hpp"
#include "../ir/graph.hpp"

namespace wengert::detail {

enum class Dialect : std::uint8_t { vectors, numbers };

/// The C++ name of an element type in generated text.
constexpr const char* c_type(DType d, Dialect dialect)
{
    return dialect == Dialect::vectors ? row_of(d).lane : row_of(d).c;
}

/// What stands in the place of a $: a text, or a number. It lives as long as what it was made of.
class Filling {
public:
    Filling(std::string_view text) : text_(text) {}
    template <std::signed_integral N> Filling(N n) : number_(n), sort_(Sort::number) {}
    template <std::unsigned_integral N>
    Filling(N n) : number_(static_cast<std::int64_t>(n)), sort_(Sort::whole_number)
    {}
    void append_to(std::string& out) const
    {
        switch (sort_) {
        case Sort::text: out += text_; break;
        case Sort::number: out += std::to_string(number_); break;
        case Sort::whole_number: out += std::to_string(static_cast<std::uint64_t>(number_)); break;
        }
    }

private:
    enum class Sort : std::uint8_t { text, number, whole_number };
    std::string_view text_;
    std::int64_t number_ = 0;
    Sort sort_ = Sort::text;
};

/// The text with these in the places of its $.
[[gnu::noinline]] inline std::string filled_by(std::string_view text, const Filling* next)
{
    std::string out;
    for (const char c : text)
        if (c == '$')
            (next++)->append_to(out);
        else
            out += c;
    return out;
}
template <class... A> std::string filled(std::string_view text, const A&... arguments)
{
    const Filling list[] = {Filling(arguments)..., Filling("")};
    return filled_by(text, list);
}

/// A number as a literal of its type: hexadecimal, so that it is exactly that number; infinity as the most that there is.
inline std::string literal_text(double value, DType type)
{
    if (!differentiable(type) && std::isinf(value)) {
        const std::string most = type == DType::int32 ? "2147483647" : "9223372036854775807";
        return value < 0 ? "(-" + most + " - 1)" : most;
    }
    if (!differentiable(type)) return std::to_string(static_cast<std::int64_t>(value));
    value = rounded_to(type, value);
    const std::string suffix = row_of(type).suffix;
    if (value != value) return "__builtin_nan" + suffix + "(\"\")";
    if (value - value != 0) return (value < 0 ? "-__builtin_inf" : "__builtin_inf") + suffix + "()";
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%a", value);
    return buffer + suffix;
}

/// The program of an elementwise node, with the type of every step; empty where it cannot be told or written.
class TypedProgram {
public:
    TypedProgram() = default;
    /// `known` are inputs that are numbers, or null; `plain`: it is written over plain numbers.
    TypedProgram(const GraphNode& n, const DType* inputs, const double* const* known, bool plain = false)
        : plain_(plain)
    {
        if (!n.primitive || !n.primitive->describe) return;
        const TermScope scope(program_);
        std::vector<Term> in;
        for (std::size_t i = 0; i < n.inputs.size(); ++i)
            in.push_back(Term::input(static_cast<std::int32_t>(i)));
        root_ = n.primitive->describe(in.data()).id;
        for (std::size_t i = 0; i < n.inputs.size(); ++i)
            if (default_ == DType::boolean) default_ = inputs[i];
        for (TermStep& s : program_.steps)
            if (s.kind == TermKind::input && known[s.a] && inputs[s.a] != DType::boolean)
                s = {TermKind::constant, dtype_of<double>(), -1, -1, -1, *known[s.a]};
        known_ = infer(inputs) && root_type() == n.dtype;
    }
    /// The program of a function of numbers of one type, or of inputs of these.
    TypedProgram(TermProgram program, std::int32_t root, DType type)
        : TypedProgram(std::move(program), root, type, std::array{type, type}.data())
    {}
    TypedProgram(TermProgram program, std::int32_t root, DType type, const DType* inputs)
        : program_(std::move(program)), root_(root), default_(type)
    {
        known_ = infer(inputs);
    }
    explicit operator bool() const noexcept { return known_; }
    const std::vector<TermStep>& steps() const noexcept { return program_.steps; }
    std::int32_t root() const noexcept { return root_; }
    /// The type of a step; of a constant that of its partner, or that of the operation's numbers.
    DType type(std::int32_t i) const { return types_[static_cast<std::size_t>(i)]; }
    DType partner(std::int32_t a, std::int32_t b) const
    {
        return is_constant(a) ? (is_constant(b) ? default_ : type(b)) : type(a);
    }
    bool is_constant(std::int32_t i) const
    {
        const TermKind k = step(i).kind;
        return k == TermKind::constant || k == TermKind::zero_cotangent;
    }
    const TermStep& step(std::int32_t i) const { return program_.steps[static_cast<std::size_t>(i)]; }

private:
    DType root_type() const { return type(root_); }
    bool infer(const DType* inputs)
    {
        for (const TermStep& s : program_.steps) {
            types_.push_back(type_of(s, inputs));
            if (!writable(s)) return false;
        }
        return true;
    }
    DType type_of(const TermStep& s, const DType* inputs) const
    {
        switch (s.kind) {
        case TermKind::input: return inputs[s.a];
        case TermKind::constant:
        case TermKind::zero_cotangent: return default_;
        case TermKind::cast: return s.type;
        case TermKind::logical_not:
        case TermKind::is_finite:
        case TermKind::is_nan: return DType::boolean;
        case TermKind::where: return partner(s.b, s.c);
        case TermKind::bits: return row_of(type(s.a)).bits;
        case TermKind::from_bits: return real_of_bits(type(s.a));
        case TermKind::seldom: return type(s.b);
        default: break;
        }
        if (s.kind >= TermKind::less && s.kind <= TermKind::logical_or) return DType::boolean;
        return s.b < 0 ? type(s.a) : partner(s.a, s.b);
    }
    /// Bools take part in logic and selection only, whole numbers in what needs no approximation and no division. Over plain
    /// numbers bools have an order, too, and whole numbers powers.
    bool writable(const TermStep& s) const
    {
        if (s.a < 0 || s.kind == TermKind::input || s.kind >= TermKind::bits) return true;
        const DType a = s.b < 0 ? type(s.a) : partner(s.a, s.b);
        switch (s.kind) {
        case TermKind::cast: return true;
        case TermKind::where: return type(s.a) == DType::boolean && type(s.b) == type(s.c);
        case TermKind::logical_not:
        case TermKind::logical_and:
        case TermKind::logical_or: return a == DType::boolean && (s.b < 0 || type(s.b) == DType::boolean);
        case TermKind::equal:
        case TermKind::not_equal: return true;
        case kind_of<Pow>: return differentiable(a) || (a != DType::boolean && plain_);
        default: break;
        }
        const auto among = [&](std::initializer_list<TermKind> kinds) {
            return std::find(kinds.begin(), kinds.end(), s.kind) != kinds.end();
        };
        using enum TermKind;
        if (among({is_finite, is_nan, less, less_equal, greater, greater_equal}))
            return a != DType::boolean || plain_;
        if (among({negative, square, abs, sign, floor, ceil, round_even, add, subtract, multiply, maximum,
                   minimum}))
            return a != DType::boolean;
        return differentiable(a);
    }

    TermProgram program_;
    std::vector<DType> types_;
    std::int32_t root_ = -1;
    DType default_ = DType::boolean;
    bool known_ = false, plain_ = false;
};

}  // namespace wengert::detail
