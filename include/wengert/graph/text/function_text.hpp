// The functions of numbers as text: what functions/ writes on numbers that remember how they were made.
#pragma once

#include "../../functions/written.hpp"
#include "cpp_helpers.hpp"
#include "term_code.hpp"

namespace wengert::detail {

/// The program of a function of numbers of this type.
inline TypedProgram function_program(TermKind kind, DType type, functions::Version version)
{
    std::int32_t root = 0;
    TermProgram p = with_real(
        type, [&]<class T>() { return functions::written<T, text_is_fused<>>(kind, version, root); });
    return {std::move(p), root, type};
}

/// A table of the digits of 2/π.
template <class T> inline std::string digits(const std::string& type, const std::string& name)
{
    std::string out;
    for (const T digit : functions::Angle<T>::digits)
        out += (out.empty() ? "" : ", ") + std::to_string(static_cast<int>(digit));
    return "static const " + type + " " + name + "[] = {" + out + "};\n";
}

/// Functions over vectors, as native code calls them: `exp_` of vectors of floats and doubles.
class VectorFunctions {
public:
    /// All whose name is found in the text.
    static std::string called_in(const std::string& text)
    {
        std::string written;
        bool angles = false;
        for (int k = 0; k <= static_cast<int>(TermKind::seldom); ++k) {
            const auto kind = static_cast<TermKind>(k);
            if (!is_function(kind) || text.find(std::string(name_of(kind)) + "_") == text.npos) continue;
            angles = angles || (functions::has_far(kind) && !is_function_of_two(kind));
            written += function(kind);
        }
        return (angles ? digits<double>("f64", "digits_f64") + digits<float>("f32", "digits_f32") + look_up
                       : "") +
               written;
    }

private:
    static std::string function(TermKind kind)
    {
        const std::string name(name_of(kind)), x = is_function_of_two(kind) ? "(x0, x1)" : "(x0)";
        std::string out;
        for (const DType type : real_dtypes) {
            if (functions::has_far(kind)) out += definition(kind, type, true);
            out += definition(kind, type, false);
        }
        return out + "template <class X> FN X " + name + "_(" + parameters(kind) +
               ")\n{\n    if constexpr (wide<X>) return " + name + "_f64" + x + ";\n    else return " + name +
               "_f32" + x + ";\n}\n";
    }
    static constexpr const char* look_up = R"wg(
template <class X> FN X two_over_pi_(X i)
{
    for (int l = 0; l < Of<X>::N; ++l)
        if constexpr (wide<X>) i[l] = digits_f64[(int)i[l]];
        else i[l] = digits_f32[(int)i[l]];
    return i;
}
)wg";
    static const char* parameters(TermKind kind) { return is_function_of_two(kind) ? "X x0, X x1" : "X x0"; }
    static std::string definition(TermKind kind, DType type, bool far)
    {
        const std::string t = c_type(type, Dialect::vectors), plain = statements(kind, type, {false, far}),
                          scales = statements(kind, type, {true, far});
        return "template <class X> FN X " + std::string(name_of(kind)) + (far ? "_far_" : "_") + t + "(" +
               parameters(kind) + ")\n{\n    typedef X " + t + "v; typedef Mask<X> " +
               row_of(row_of(type).bits).lane + "v;\n" +
               (plain == scales ? plain
                                : "    if constexpr (full_register<X>) {\n" + scales + "    } else {\n" +
                                      plain + "    }\n") +
               "}\n";
    }
    static std::string statements(TermKind kind, DType type, functions::Version version)
    {
        std::string out;
        TermCode code(out);
        const std::string y = code.write(function_program(kind, type, version), {"x0", "x1"});
        return out + "        return " + y + ";\n";
    }
};

/// The same over plain numbers, for headers that stand alone, as far as they are among the helpers: `prefix` exp_f64 and the like.
class NumberFunctions {
public:
    NumberFunctions(std::string prefix, const std::set<std::string>& helpers)
        : prefix_(std::move(prefix)), called_(helpers)
    {
        for (int k = 0; k <= static_cast<int>(TermKind::seldom); ++k)
            for (const DType type : real_dtypes)
                if (const auto kind = static_cast<TermKind>(k);
                    is_function(kind) && helpers.contains(name(kind, type)))
                    function(kind, type);
    }
    /// Other helpers, those that the functions call among them, then the functions. `named`: types have names of their own.
    std::string text(bool named = false) const
    {
        std::string text;
        for (const std::string& h : called_) text += cpp_helper(h, prefix_, named);
        for (const DType type : real_dtypes) {
            const std::string t = c_type(type, Dialect::numbers), f = c_type(type, Dialect::vectors);
            if (!called_.contains("two_over_pi_" + f)) continue;
            text += with_real(type, [&]<class T>() { return digits<T>(t, prefix_ + "digits_" + f); });
            text += filled("static inline $ $two_over_pi_$($ i) { return $digits_$[(int)i]; }\n", t, prefix_,
                           f, t, prefix_, f);
        }
        return text + functions_;
    }

private:
    static std::string name(TermKind kind, DType type, const char* far = "")
    {
        return std::string(name_of(kind)) + far + "_" + c_type(type, Dialect::vectors);
    }
    void function(TermKind kind, DType type)
    {
        const char* const t = c_type(type, Dialect::numbers);
        const std::string one = std::string("(") + t + " x0", two = std::string(", ") + t + " x1";
        for (const bool far : {true, false}) {
            if (far && !functions::has_far(kind)) continue;
            functions_ += std::string("static inline ") + t + " " + prefix_ +
                          name(kind, type, far ? "_far" : "") + one + (is_function_of_two(kind) ? two : "") +
                          ")\n{\n";
            TermCode code(functions_, "    ", prefix_, called_);
            const std::string y = code.write(function_program(kind, type, {false, far}), {"x0", "x1"});
            functions_ += "    return " + y + ";\n}\n";
        }
    }
    std::string prefix_, functions_;
    std::set<std::string> called_;
};

}  // namespace wengert::detail
