// Statements of C++ for the program of an elementwise operation: over vectors (vector_text.hpp) for native code, over
// plain numbers for headers that stand alone.
#pragma once

#include <algorithm>
#include <array>
#include <set>

#include "../../functions/written.hpp"
#include "../../kernels/cpu/lane.hpp"
#include "typed_program.hpp"

namespace wengert::detail {

/// Text follows the build that prints it: with fma in one rounding or in two.
template <class A = xsimd::default_arch> inline constexpr bool text_is_fused = Lane<double, A>::fused;

/// A statement of a loop's body.
struct BodyLine {
    std::string text;
    std::string name;                     ///< what it defines
    std::vector<std::string> reads = {};  ///< what else it names
    std::string function = {};            ///< the element type of the value of a long function, otherwise ""
    std::string at = {};                  ///< the user's line, as a directive
};

/// Appends the statement, behind its directive where that has changed.
inline void append_line(std::string& out, const BodyLine& line, std::string& at)
{
    if (!line.at.empty() && line.at != at) out += at = line.at;
    out += line.text;
}

/// How an operation is written: A, B and C stand for its operands, T for the type of its value, U for a cast to that type without
/// a sign, N for its number, ~ for what ends the names of <math.h>. Null: a call of the function of its name.
struct Spelling {
    TermKind kind;
    const char *vectors, *numbers;
    const char* whole;  ///< numbers that wrap, as the library's do; those of C must not
};
// clang-format off
inline constexpr Spelling spellings[] = {
    {TermKind::add,         "A + B", "A + B", "(T)(U(A) + U(B))"},
    {TermKind::subtract,    "A - B", "A - B", "(T)(U(A) - U(B))"},
    {TermKind::multiply,    "A * B", "A * B", "(T)(U(A) * U(B))"},
    {TermKind::square,      "A * A", "A * A", "(T)(U(A) * U(A))"},
    {TermKind::negative,    "neg(A)", "-(A)", "(T)(U(0) - U(A))"},
    {TermKind::logical_not, "negate(A)", "!A", "!A"},
    {TermKind::logical_and, "both(A, B)", "A && B", "A && B"},
    {TermKind::logical_or,  "either(A, B)", "A || B", "A || B"},
    {TermKind::where,       "sel(A, B, C)", "A ? B : C", "A ? B : C"},
    {TermKind::maximum,     nullptr, "A > B || A != A ? A : B", "A > B ? A : B"},
    {TermKind::minimum,     nullptr, "A < B || A != A ? A : B", "A < B ? A : B"},
    {TermKind::at_most,     nullptr, "A > B ? B : A", nullptr},
    {TermKind::at_least,    nullptr, "A < B ? B : A", nullptr},
    {TermKind::is_finite,   nullptr, "A - A == 0", "A || 1"},
    {TermKind::is_nan,      nullptr, "A != A", "A && 0"},
    {TermKind::sign,        nullptr, "A > 0 ? 1 : A < 0 ? -1 : A == 0 ? 0 : A", "(A > 0) - (A < 0)"},
    {TermKind::abs,         nullptr, "fabs~(A)", "A < 0 ? (T)(U(0) - U(A)) : A"},
    {TermKind::sqrt,        nullptr, "sqrt~(A)", nullptr},
    {TermKind::copysign,    nullptr, "copysign~(A, B)", nullptr},
    {TermKind::floor,       nullptr, "floor~(A)", "A"},
    {TermKind::ceil,        nullptr, "ceil~(A)", "A"},
    {TermKind::round_even,  nullptr, "nearbyint~(A)", "A"},
    {TermKind::fma,         nullptr, text_is_fused<> ? "fma~(A, B, C)" : "A * B + C", nullptr},
    {TermKind::bits,        "bits(A)", nullptr, nullptr},
    {TermKind::from_bits,   "from_bits<Tv>(A)", nullptr, nullptr},
    {TermKind::shift_left,  "A << N", nullptr, "(T)(UA << N)"},
    {TermKind::shift_right, "shift_right<N>(A)", nullptr, "(T)(UA >> N)"},
    {TermKind::bit_and,     "A & B", nullptr, "A & B"},
    {TermKind::bit_or,      "A | B", nullptr, "A | B"},
};
// clang-format on

/// Writes the statements of programs into one block of code, each step a constant of its own.
class TermCode {
public:
    /// Numbers: functions that <math.h> does not round exactly are named `prefix` + name + type, and noted in `helpers`. `zero` is
    /// what cotangents are compared with.
    TermCode(std::string& out, std::string indent, std::string prefix, std::set<std::string>& helpers,
             const char* zero = "0")
        : vectors_(false), dialect_(Dialect::numbers), out_(out), indent_(std::move(indent)),
          prefix_(std::move(prefix)), zero_(zero), helpers_(&helpers)
    {}
    /// Casts of floating-point numbers to whole ones are calls of `prefix`cast_i32 and cast_i64 from now on: C leaves open what becomes
    /// of NaN and of what is beyond their range, and devices do otherwise than the host.
    TermCode& call_casts()
    {
        calls_casts_ = true;
        return *this;
    }
    /// Vectors; `calls`: functions are called and not inlined. Statements are noted in `lines` as well.
    explicit TermCode(std::string& out, bool calls = false, std::vector<BodyLine>* lines = nullptr)
        : vectors_(true), calls_(calls), dialect_(Dialect::vectors), out_(out), lines_(lines)
    {}

    /// Appends the statements and returns the name of the result; `in` are the operands' names.
    std::string write(const TypedProgram& p, const std::vector<std::string>& in)
    {
        program_ = &p;
        names_.assign(p.steps().size(), {});
        const std::vector<bool> live = operations(p);
        for (std::size_t i = 0; i < live.size(); ++i) {
            const TermStep& s = p.steps()[i];
            if (s.kind == TermKind::input) names_[i] = in[static_cast<std::size_t>(s.a)];
            if (live[i]) define(i, expression(s));
        }
        return operand(p.root(), p.type(p.root()));
    }

    /// Which steps are written: operations that the result needs.
    static std::vector<bool> operations(const TypedProgram& p)
    {
        std::vector<bool> live = needed_steps(p.steps(), p.root());
        for (std::size_t i = 0; i < live.size(); ++i)
            live[i] = live[i] && p.steps()[i].kind != TermKind::input &&
                      !p.is_constant(static_cast<std::int32_t>(i));
        return live;
    }
    /// Which of so many operands the result is made from.
    static std::vector<bool> read(const TypedProgram& p, std::size_t operands)
    {
        const std::vector<bool> live = needed_steps(p.steps(), p.root());
        std::vector<bool> read(operands, false);
        for (std::size_t i = 0; i < live.size(); ++i)
            if (const TermStep& s = p.steps()[i]; live[i] && s.kind == TermKind::input)
                read[static_cast<std::size_t>(s.a)] = true;
        return read;
    }
    /// One operation on plain numbers that has a spelling.
    static std::string of_numbers(TermKind kind, DType type, const std::string& a, const std::string& b = {})
    {
        std::string unused;
        std::set<std::string> none;
        return TermCode(unused, {}, {}, none).spelled(kind, 0, {a, b, {}}, type);
    }

private:
    void define(std::size_t i, const std::string& expression)
    {
        names_[i] = "t" + std::to_string(count_++);
        const DType type = program_->type(static_cast<std::int32_t>(i));
        const std::string line = indent_ + "const " + (vectors_ ? "auto" : c_type(type, dialect_)) + " " +
                                 names_[i] + " = " + expression + ";\n";
        out_ += line;
        if (!lines_) return;
        const TermStep& s = program_->steps()[i];
        const ZeroRuleStep rule = zero_rule_step(program_->steps(), s);
        lines_->push_back({line, names_[i]});
        for (const std::int32_t k : {rule ? rule.g : s.a, rule ? rule.r : s.b, rule ? -1 : s.c})
            if (k >= 0) lines_->back().reads.push_back(names_[static_cast<std::size_t>(k)]);
        if (is_long(s.kind) && differentiable(type)) lines_->back().function = c_type(type, dialect_);
    }
    std::string vector(DType d) const { return std::string(c_type(d, dialect_)) + "v"; }
    std::string constant(double value, DType type) const
    {
        const std::string number = literal_text(value, type);
        return vectors_ ? filled("K<$>($)", vector(type), number) : number;
    }
    std::string operand(std::int32_t i, DType type) const
    {
        if (i < 0) return {};
        const TermStep& s = program_->step(i);
        if (s.kind == TermKind::constant) return constant(s.value, type);
        return s.kind == TermKind::zero_cotangent ? constant(0, type) : names_[static_cast<std::size_t>(i)];
    }
    using Operands = std::array<std::string, 3>;

    std::string expression(const TermStep& s) const
    {
        const TypedProgram& p = *program_;
        if (const ZeroRuleStep rule = zero_rule_step(p.steps(), s)) return guard(s, rule);
        const bool selects = s.kind == TermKind::where || s.kind == TermKind::seldom;
        const DType type = selects ? p.partner(s.b, s.c) : s.b < 0 ? p.type(s.a) : p.partner(s.a, s.b);
        const Operands in = {operand(s.a, type), operand(s.b, type), operand(s.c, type)};
        if (s.kind == TermKind::seldom) return seldom(s, in, type);
        if (s.kind == TermKind::cast) return cast(in[0], type, s.type);
        const bool equal = s.kind == TermKind::equal;
        if (type == DType::boolean && vectors_ && (equal || s.kind == TermKind::not_equal))
            return compared(s, in, equal);
        if (s.kind == TermKind::square || is_square(s)) return spelled(TermKind::square, s.value, in, type);
        return spelled(s.kind, s.value, in, s.kind == TermKind::from_bits ? real_of_bits(type) : type);
    }
    /// As the table has it.
    std::string spelled(TermKind kind, double number, const Operands& in, DType type) const
    {
        const char *text = nullptr, *const infix = infix_of(kind).sign;
        for (const Spelling& s : spellings)
            if (s.kind == kind) text = vectors_ ? s.vectors : differentiable(type) ? s.numbers : s.whole;
        if (!text) return infix ? in[0] + infix + in[1] : call(kind, in, type);
        std::string out;
        for (const char* c = text; *c; ++c) switch (*c) {
            case 'A': out += in[0]; break;
            case 'B': out += in[1]; break;
            case 'C': out += in[2]; break;
            case 'T': out += c_type(type, dialect_); break;
            case 'U': out += type == DType::int32 ? "(uint32_t)" : "(uint64_t)"; break;
            case 'N': out += std::to_string(static_cast<int>(number)); break;
            case '~': out += row_of(type).suffix; break;
            default: out += *c;
            }
        return out;
    }
    std::string call(TermKind kind, const Operands& in, DType type) const
    {
        std::string out = function(kind, type) + "(" + in[0];
        for (std::size_t k = 1; k < 3; ++k)
            if (!in[k].empty()) out += ", " + in[k];
        return out + ")";
    }
    /// aᵇ for the exponent that is a multiplication.
    bool is_square(const TermStep& s) const
    {
        return s.kind == kind_of<Pow> && program_->step(s.b).kind == TermKind::constant &&
               program_->step(s.b).value == 2;
    }
    /// The function of large arguments where there are any.
    std::string seldom(const TermStep& s, const Operands& in, DType type) const
    {
        const auto kind = static_cast<TermKind>(static_cast<int>(s.value));
        const bool two = is_function_of_two(kind);
        const std::string far = filled("$_far_$", std::string(name_of(kind)), c_type(type, Dialect::vectors));
        if (vectors_)
            return filled("$<$<$>>($, $, $)", two ? "seldom2" : "seldom", far, vector(type), in[0], in[1],
                          in[2]);
        if (two) return filled("$ ? $$($, $) : $", in[0], prefix_, far, in[1], in[2], in[1]);
        return filled("$ ? $$($) : $", in[0], prefix_, far, in[2], in[1]);
    }
    /// A helper of numbers, or a function over vectors.
    std::string function(TermKind kind, DType type) const
    {
        const bool whole_power = kind == kind_of<Pow> && !differentiable(type);
        const std::string name = std::string(whole_power ? "power" : name_of(kind)) + "_";
        if (!vectors_) {
            helpers_->insert(name + row_of(type).lane);
            return prefix_ + name + row_of(type).lane;
        }
        if (!calls_ || !is_long(kind)) return name;
        return filled("$<$<$>>", is_function_of_two(kind) ? "called2" : "called", name, vector(type));
    }
    std::string guard(const TermStep& s, const ZeroRuleStep& rule) const
    {
        const TypedProgram& p = *program_;
        const DType type = p.partner(s.b, s.c);
        const std::string g = operand(rule.g, type), r = operand(rule.r, type);
        if (p.step(rule.g).kind == TermKind::constant && p.step(rule.g).value != 0) return r;
        if (vectors_) return filled("guarded($, zero, $)", g, r);
        return filled("$ == ($)$ && $ - $ != 0 ? 0 : $", g, c_type(type, dialect_), zero_, r, r, r);
    }
    /// Two masks, of which one may be known.
    std::string compared(const TermStep& s, const Operands& in, bool equal) const
    {
        for (const bool second : {true, false}) {
            const std::int32_t known = second ? s.b : s.a;
            if (!program_->is_constant(known)) continue;
            const std::string& other = in[second ? 0 : 1];
            return (program_->step(known).value != 0) == equal ? other : "negate(" + other + ")";
        }
        const std::string differ = filled("differ($, $)", in[0], in[1]);
        return equal ? "negate(" + differ + ")" : differ;
    }
    std::string cast(const std::string& a, DType from, DType to) const
    {
        if (from == to) return a;
        const bool to_whole = differentiable(from) && !differentiable(to) && to != DType::boolean;
        if (calls_casts_ && to_whole) return filled("$cast_$($)", prefix_, row_of(to).lane, a);
        if (!vectors_) return to == DType::boolean ? a + " != 0" : filled("($)$", c_type(to, dialect_), a);
        if (to == DType::boolean) return filled("$ != K<$>(0)", a, vector(from));
        return filled("convert<$>($$)", vector(to), a, from == DType::boolean ? " & 1" : "");
    }

    bool vectors_, calls_ = false, calls_casts_ = false;
    Dialect dialect_;
    std::string& out_;
    std::string indent_ = "        ", prefix_;
    const char* zero_ = nullptr;
    std::set<std::string>* helpers_ = nullptr;
    std::vector<BodyLine>* lines_ = nullptr;
    const TypedProgram* program_ = nullptr;
    std::vector<std::string> names_;
    std::size_t count_ = 0;
};

}  // namespace wengert::detail
