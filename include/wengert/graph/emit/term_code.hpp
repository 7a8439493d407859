// Statements of C++ for the program of an elementwise operation: over vectors (vector_text.hpp) for native code, over
// plain numbers for headers that stand alone.
#pragma once

#include <set>

#include "../../kernels/cpu/lane.hpp"
#include "typed_program.hpp"

namespace wengert::detail {

/// Text follows the build that prints it: with fma in one rounding or in two.
template <class A = xsimd::default_arch> inline constexpr bool text_is_fused = Lane<double, A>::fused;

/// A statement of a loop's body.
struct BodyLine {
    std::string text;
    std::string name;           ///< what it defines
    std::string function = {};  ///< the element type of the value of a long function, otherwise ""
    std::string at = {};        ///< the user's line, as a directive
};

/// Appends the statement, behind its directive where that has changed.
inline void append_line(std::string& out, const BodyLine& line, std::string& at)
{
    if (!line.at.empty() && line.at != at) out += at = line.at;
    out += line.text;
}

/// Writes the statements of programs into one block of code, each step a constant of its own.
class TermCode {
public:
    /// Numbers: functions that <math.h> does not round exactly are named `prefix` + name + type, and noted in `helpers`.
    TermCode(std::string& out, std::string indent, std::string prefix, std::set<std::string>& helpers)
        : vectors_(false), dialect_(Dialect::numbers), out_(out), indent_(std::move(indent)),
          prefix_(std::move(prefix)), helpers_(&helpers)
    {}
    /// Vectors; `calls`: functions are called and not inlined. Statements are noted in `lines` as well.
    explicit TermCode(std::string& out, bool calls = false, std::vector<BodyLine>* lines = nullptr)
        : vectors_(true), calls_(calls), dialect_(Dialect::vectors), out_(out), lines_(lines)
    {}

    /// Appends the statements and returns the name of the result; `in` are the operands' names.
    std::string write(const TypedProgram& p, const std::vector<std::string>& in)
    {
        program_ = &p;
        names_.assign(p.steps().size(), {});
        const std::vector<bool> live = needed(p);
        for (std::size_t i = 0; i < live.size(); ++i) {
            const TermStep& s = p.steps()[i];
            if (s.kind == TermKind::input)
                names_[i] = in[static_cast<std::size_t>(s.a)];
            else if (s.kind != TermKind::constant && s.kind != TermKind::zero_cotangent && live[i])
                define(i, expression(s));
        }
        return operand(p.root(), p.type(p.root()));
    }

private:
    /// The steps that the result needs; of the zero-cotangent rule, which is one call, its two operands.
    static std::vector<bool> needed(const TypedProgram& p)
    {
        std::vector<bool> live(p.steps().size(), false);
        live[static_cast<std::size_t>(p.root())] = true;
        for (std::size_t i = live.size(); i-- > 0;) {
            const TermStep& s = p.steps()[i];
            if (!live[i] || s.kind == TermKind::input) continue;
            const bool guard = guard_of(p, s);
            for (const std::int32_t k : {guard ? p.step(p.step(s.a).a).a : s.a, guard ? s.c : s.b, s.c})
                if (k >= 0) live[static_cast<std::size_t>(k)] = true;
        }
        return live;
    }
    /// where(g == zero_cotangent && !is_finite(r), 0, r)
    static bool guard_of(const TypedProgram& p, const TermStep& s)
    {
        if (s.kind != TermKind::where) return false;
        const TermStep& c = p.step(s.a);
        if (c.kind != TermKind::logical_and) return false;
        const TermStep& same = p.step(c.a);
        return same.kind == TermKind::equal && p.step(same.b).kind == TermKind::zero_cotangent;
    }

    void define(std::size_t i, const std::string& expression)
    {
        names_[i] = "t" + std::to_string(count_++);
        const DType type = program_->type(static_cast<std::int32_t>(i));
        const std::string line = indent_ + "const " + (vectors_ ? "auto" : c_type(type, dialect_)) + " " +
                                 names_[i] + " = " + expression + ";\n";
        out_ += line;
        if (!lines_) return;
        const bool function = is_long(program_->steps()[i].kind) && differentiable(type);
        lines_->push_back({line, names_[i], function ? c_type(type, dialect_) : "", {}});
    }
    std::string vector(DType d) const { return std::string(c_type(d, dialect_)) + "v"; }
    std::string constant(double value, DType type) const
    {
        const std::string number = literal_text(value, type);
        return vectors_ ? "K<" + vector(type) + ">(" + number + ")" : number;
    }
    std::string operand(std::int32_t i, DType type) const
    {
        const TermStep& s = program_->step(i);
        if (s.kind == TermKind::constant) return constant(s.value, type);
        return s.kind == TermKind::zero_cotangent ? constant(0, type) : names_[static_cast<std::size_t>(i)];
    }
    std::string expression(const TermStep& s) const
    {
        const TypedProgram& p = *program_;
        if (guard_of(p, s)) return guard(s);
        const DType type = s.kind == TermKind::where ? p.partner(s.b, s.c)
                           : s.b < 0                 ? p.type(s.a)
                                                     : p.partner(s.a, s.b);
        if (s.kind == TermKind::where) {
            const std::string c = names_[static_cast<std::size_t>(s.a)], a = operand(s.b, type),
                              b = operand(s.c, type);
            return vectors_ ? "sel(" + c + ", " + a + ", " + b + ")" : c + " ? " + a + " : " + b;
        }
        const std::string a = operand(s.a, type), b = s.b < 0 ? "" : operand(s.b, type);
        if (s.kind == TermKind::seldom) return seldom(s);
        if (s.kind >= TermKind::bits && s.kind <= TermKind::bit_or) return of_bits(s, a, b, type);
        if (s.kind == TermKind::cast) return cast(a, type, s.type);
        if (type == DType::boolean && vectors_) return mask(s, a, b);
        if (!vectors_ && !differentiable(type))
            if (const std::string whole = wrapping(s.kind, a, b, type); !whole.empty()) return whole;
        if (const Infix op = infix_of(s.kind); op.sign) return a + op.sign + b;
        if (s.kind == TermKind::square) return a + " * " + a;
        if (s.kind == TermKind::negative) return (vectors_ ? "neg(" : "-(") + a + ")";
        if (s.kind == TermKind::logical_not) return "!" + a;
        if (s.kind == TermKind::pow) return power(s, a, b);
        if (!vectors_ && !differentiable(type) && rounds(s.kind)) return a;
        if (!vectors_ && s.kind == TermKind::fma && !text_is_fused<>)
            return a + " * " + b + " + " + operand(s.c, type);
        std::string call = function(s.kind, type) + "(" + a;
        if (s.b >= 0) call += ", " + b;
        if (s.c >= 0) call += ", " + operand(s.c, type);
        return call + ")";
    }
    /// The function of large arguments where there are any.
    std::string seldom(const TermStep& s) const
    {
        const DType type = program_->type(s.b);
        const std::string far = std::string(name_of(static_cast<TermKind>(static_cast<int>(s.value)))) +
                                "_far_" + c_type(type, Dialect::vectors);
        const std::string m = operand(s.a, type), y = operand(s.b, type), x = operand(s.c, type);
        if (vectors_) return "seldom<" + far + "<" + vector(type) + ">>(" + m + ", " + y + ", " + x + ")";
        return m + " ? " + prefix_ + far + "(" + x + ") : " + y;
    }
    /// Numbers as bits, and their bits moved and joined.
    std::string of_bits(const TermStep& s, const std::string& a, const std::string& b, DType type) const
    {
        const std::string n = std::to_string(static_cast<int>(s.value));
        const std::string u = type == DType::int32 ? "(uint32_t)" : "(uint64_t)";
        switch (s.kind) {
        case TermKind::bits:
            return vectors_ ? "bits(" + a + ")" : number_function("bits", type) + "(" + a + ")";
        case TermKind::from_bits: {
            const DType to = real_of_bits(type);
            return vectors_ ? "from_bits<" + vector(to) + ">(" + a + ")"
                            : number_function("from_bits", to) + "(" + a + ")";
        }
        case TermKind::shift_left:
            return vectors_ ? a + " << " + n
                            : "(" + std::string(c_type(type, dialect_)) + ")(" + u + a + " << " + n + ")";
        case TermKind::shift_right:
            return vectors_ ? "shift_right<" + n + ">(" + a + ")"
                            : "(" + std::string(c_type(type, dialect_)) + ")(" + u + a + " >> " + n + ")";
        default: return a + (s.kind == TermKind::bit_and ? " & " : " | ") + b;
        }
    }
    /// Whole numbers wrap, as the library's do; those of C must not. "" for other operations.
    std::string wrapping(TermKind kind, const std::string& a, const std::string& b, DType type) const
    {
        const std::string u = type == DType::int32 ? "(uint32_t)" : "(uint64_t)";
        const auto of = [&](const std::string& x, const char* sign, const std::string& y) {
            return "(" + std::string(c_type(type, dialect_)) + ")(" + u + "(" + x + ")" + sign + u + "(" + y +
                   "))";
        };
        switch (kind) {
        case TermKind::add: return of(a, " + ", b);
        case TermKind::subtract: return of(a, " - ", b);
        case TermKind::multiply: return of(a, " * ", b);
        case TermKind::square: return of(a, " * ", a);
        case TermKind::negative: return of("0", " - ", a);
        default: return {};
        }
    }
    static bool rounds(TermKind k)
    {
        return k == TermKind::floor || k == TermKind::ceil || k == TermKind::round_even;
    }
    std::string function(TermKind kind, DType type) const
    {
        const std::string name = std::string(name_of(kind)) + "_";
        if (vectors_ && calls_ && is_long(kind))
            return (kind >= TermKind::add ? "called2<" : "called<") + name + "<" + vector(type) + ">>";
        if (vectors_) return name;
        return number_function(name_of(kind), type);
    }
    /// What <math.h> has under this name or another, or a helper.
    std::string number_function(std::string_view name, DType type) const
    {
        // what C rounds exactly
        static constexpr std::string_view exact[] = {"sqrt", "abs",      "floor",     "ceil",
                                                     "fma",  "copysign", "round_even"};
        bool helper = true;
        for (std::string_view e : exact) helper = helper && name != e;
        helper = helper || !differentiable(type);
        if (helper) {
            const std::string full = std::string(name) + "_" + row_of(type).lane;
            helpers_->insert(full);
            return prefix_ + full;
        }
        const std::string c(name == "abs" ? "fabs" : name == "round_even" ? "nearbyint" : name);
        return c + row_of(type).suffix;
    }
    std::string guard(const TermStep& s) const
    {
        const TypedProgram& p = *program_;
        const TermStep& same = p.step(p.step(s.a).a);
        const DType type = p.partner(s.b, s.c);
        if (p.step(same.a).kind == TermKind::constant && p.step(same.a).value != 0) return operand(s.c, type);
        return (vectors_ ? "guarded" : number_function("guarded", type)) + "(" + operand(same.a, type) +
               (vectors_ ? ", zero, " : ", ") + operand(s.c, type) + ")";
    }
    /// aᵇ for the exponents that are multiplications.
    std::string power(const TermStep& s, const std::string& a, const std::string& b) const
    {
        const TermStep& e = program_->step(s.b);
        if (e.kind == TermKind::constant && e.value == 2) return a + " * " + a;
        return function(TermKind::pow, program_->partner(s.a, s.b)) + "(" + a + ", " + b + ")";
    }
    std::string mask(const TermStep& s, const std::string& a, const std::string& b) const
    {
        const auto value = [&](std::int32_t i) { return program_->step(i).value != 0; };
        const bool a_known = program_->is_constant(s.a), b_known = s.b >= 0 && program_->is_constant(s.b);
        switch (s.kind) {
        case TermKind::logical_not: return "negate(" + a + ")";
        case TermKind::logical_and: return "both(" + a + ", " + b + ")";
        case TermKind::logical_or: return "either(" + a + ", " + b + ")";
        default: break;
        }
        const bool equal = s.kind == TermKind::equal;
        if (b_known) return value(s.b) == equal ? a : "negate(" + a + ")";
        if (a_known) return value(s.a) == equal ? b : "negate(" + b + ")";
        const std::string differ = "differ(" + a + ", " + b + ")";
        return equal ? "negate(" + differ + ")" : differ;
    }
    std::string cast(const std::string& a, DType from, DType to) const
    {
        if (from == to) return a;
        if (!vectors_)
            return to == DType::boolean ? a + " != 0" : "(" + std::string(c_type(to, dialect_)) + ")" + a;
        if (to == DType::boolean) return a + " != K<" + vector(from) + ">(0)";
        return "convert<" + vector(to) + ">(" + a + (from == DType::boolean ? " & 1)" : ")");
    }

    bool vectors_, calls_ = false;
    Dialect dialect_;
    std::string& out_;
    std::string indent_ = "        ", prefix_;
    std::set<std::string>* helpers_ = nullptr;
    std::vector<BodyLine>* lines_ = nullptr;
    const TypedProgram* program_ = nullptr;
    std::vector<std::string> names_;
    std::size_t count_ = 0;
};

}  // namespace wengert::detail
