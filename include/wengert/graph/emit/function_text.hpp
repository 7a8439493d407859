// The functions of numbers as text: what base/functions/ writes on numbers that remember how they were made.
#pragma once

#include "../../base/functions/written.hpp"
#include "../../kernels/cpu/lane.hpp"
#include "term_code.hpp"

namespace wengert::detail {

/// Text follows the build that prints it: with fma in one rounding or in two.
template <class A = xsimd::default_arch> inline constexpr bool text_is_fused = Lane<double, A>::fused;

/// The program of a function of numbers of this type.
inline TypedProgram function_program(TermKind kind, DType type, functions::Version version)
{
    std::int32_t root = 0;
    TermProgram p = type == DType::float32 ? functions::written<float, text_is_fused<>>(kind, version, root)
                                           : functions::written<double, text_is_fused<>>(kind, version, root);
    return {std::move(p), root, type};
}

/// A table of the digits of 2/π.
template <class T> inline std::string digits(const std::string& suffix)
{
    std::string out = "static const " + suffix + " digits_" + suffix + "[] = {";
    for (const T digit : functions::Angle<T>::digits) out += std::to_string(static_cast<int>(digit)) + ", ";
    return out + "};\n";
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
            if (!functions::has_program(kind) || text.find(std::string(name_of(kind)) + "_") == text.npos)
                continue;
            angles = angles || functions::of_angle(kind);
            written += function(kind);
        }
        return (angles ? digits<double>("f64") + digits<float>("f32") + look_up : "") + written;
    }

private:
    static std::string function(TermKind kind)
    {
        const std::string name(name_of(kind)), x = functions::of_two(kind) ? "(x0, x1)" : "(x0)";
        std::string out;
        for (const DType type : {DType::float32, DType::float64}) {
            if (functions::of_angle(kind)) out += definition(kind, type, true);
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
    static const char* parameters(TermKind kind) { return functions::of_two(kind) ? "X x0, X x1" : "X x0"; }
    static std::string definition(TermKind kind, DType type, bool far)
    {
        const std::string t = c_type(type, Dialect::vectors), plain = statements(kind, type, {false, far}),
                          scales = statements(kind, type, {true, far});
        return "template <class X> FN X " + std::string(name_of(kind)) + (far ? "_far_" : "_") + t + "(" +
               parameters(kind) + ")\n{\n    typedef X " + t + "v; typedef Mask<X> " +
               (type == DType::float32 ? "i32" : "i64") + "v;\n" +
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

}  // namespace wengert::detail
