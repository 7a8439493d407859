// The functions that an emitted header carries with it, as C that is C++ too: each is written only where it is called.
// `@` is the header's prefix, `T` the type, `#` the type's suffix, `~` that of <math.h>.
#pragma once

#include <string>
#include <string_view>

namespace wengert::detail {

struct CppHelper {
    std::string_view name;
    std::string_view text;
};

inline constexpr CppHelper cpp_helpers[] = {
    {"maximum", "static inline T @maximum_#(T a, T b) { return a > b || a != a ? a : b; }\n"},
    {"minimum", "static inline T @minimum_#(T a, T b) { return a < b || a != a ? a : b; }\n"},
    {"abs", "static inline T @abs_#(T x) { return x < 0 ? -x : x; }\n"},
    {"sign", "static inline T @sign_#(T x) { return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x; }\n"},
    {"is_finite", "static inline int @is_finite_#(T x) { return x - x == 0; }\n"},
    {"is_nan", "static inline int @is_nan_#(T x) { return x != x; }\n"},
    {"sigmoid", "static inline T @sigmoid_#(T x)\n{\n    const T e = exp~(-fabs~(x));\n    return (x < 0 ? e "
                ": 1) / (1 + e);\n}\n"},
    {"normal_cdf",
     "static inline T @normal_cdf_#(T x) { return (T)0.5 * erfc~(-x * (T)0.70710678118654752440); }\n"},
    {"guarded", "/* a cotangent of 0 stays 0 where the derivative is not finite */\n"
                "static inline T @guarded_#(T g, T r) { return g == 0 && r - r != 0 ? 0 : r; }\n"},
    {"sum", "/* eight sums side by side, blocks of 4096 elements: the error grows with the logarithm of n, "
            "nearly */\n"
            "static inline T @sum_#(const T* x, ptrdiff_t n, ptrdiff_t stride)\n{\n    T total = 0;\n"
            "    for (ptrdiff_t b = 0; b < n; b += 4096) {\n        const ptrdiff_t end = n - b < 4096 ? n : "
            "b + 4096;\n"
            "        T s[8] = {0, 0, 0, 0, 0, 0, 0, 0};\n        ptrdiff_t i = b;\n"
            "        for (; i + 8 <= end; i += 8)\n            for (ptrdiff_t k = 0; k < 8; ++k) s[k] += "
            "x[(i + k) * stride];\n"
            "        for (ptrdiff_t k = 0; k < 8 && i < end; ++i, ++k) s[k] += x[i * stride];\n"
            "        total += ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));\n    }\n    "
            "return total;\n}\n"},
    {"split",
     "/* After how many of `steps` the next state is kept when `room` are: Griewank & Walther 2000, "
     "algorithm 799. */\n"
     "static inline T @reach_#(T room, T repeats)\n{\n"
     "    const T most = INT64_MAX / 2, n = room < repeats ? room : repeats, m = room < repeats ? repeats : "
     "room;\n"
     "    T c = 1;\n    for (T i = 1; i <= n; ++i) {\n        if (c > most / (m + i)) return most;\n"
     "        c = c * (m + i) / i;\n    }\n    return c;\n}\n"
     "static inline T @split_#(T steps, T room)\n{\n    T r = 0, a, b;\n"
     "    if (room <= 1) return steps - 1;\n    while (@reach_#(room, r) < steps) ++r;\n"
     "    a = @reach_#(room, r - 1), b = steps - @reach_#(room - 1, r - 1);\n    return a < b ? a : b;\n}\n"},
    {"power", "/* whole numbers wrap; negative exponents leave what 1 / a^|b| has of whole ones */\n"
              "static inline T @power_#(T a, T b)\n{\n"
              "    if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;\n"
              "    uint64_t y = 1, base = (uint64_t)a, rest = (uint64_t)b;\n"
              "    for (; rest; rest >>= 1, base *= base)\n        if (rest & 1) y *= base;\n"
              "    return (T)y;\n}\n"},
    {"product", "/* gemm for whole numbers */\n"
                "static inline void @product_#(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, T alpha, const T* a, "
                "ptrdiff_t a_row,\n"
                "                            ptrdiff_t a_column, const T* b, ptrdiff_t b_row, ptrdiff_t "
                "b_column, T beta, T* c)\n"
                "{\n    for (ptrdiff_t i = 0; i < m; ++i)\n        for (ptrdiff_t j = 0; j < n; ++j) {\n"
                "            T s = beta * c[i * n + j];\n"
                "            for (ptrdiff_t p = 0; p < k; ++p) s += alpha * a[i * a_row + p * a_column] * "
                "b[p * b_row + j * b_column];\n"
                "            c[i * n + j] = s;\n        }\n}\n"},
    {"gemm",
     "/* C = alpha A B + beta C; element (i, j) of X lies at i * x_row + j * x_column, rows of C are n apart "
     "*/\n"
     "static inline void @gemm_#(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, T alpha, const T* a, ptrdiff_t "
     "a_row,\n"
     "                         ptrdiff_t a_column, const T* b, ptrdiff_t b_row, ptrdiff_t b_column, T beta, "
     "T* c)\n{\n"
     "#ifndef @NO_CBLAS\n"
     "    const int ta = a_column != 1 && k > 1, tb = b_column != 1 && n > 1;\n"
     "    const ptrdiff_t lda = ta ? a_column : m > 1 ? a_row : k, ldb = tb ? b_column : k > 1 ? b_row : n;\n"
     "    if (m * n * k > 4096 && (ta ? a_row == 1 || m == 1 : 1) && (tb ? b_row == 1 || k == 1 : 1) && lda "
     ">= (ta ? m : k) &&\n"
     "        ldb >= (tb ? k : n)) {\n"
     "        cblas_%gemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, "
     "(int)m, (int)n, (int)k,\n"
     "                    alpha, a, (int)lda, b, (int)ldb, beta, c, (int)n);\n        return;\n    }\n"
     "#endif\n"
     "    for (ptrdiff_t i = 0; i < m; ++i) {\n"
     "        T* const row = c + i * n;\n"
     "        if (beta == 0)\n            for (ptrdiff_t j = 0; j < n; ++j) row[j] = 0;\n"
     "        for (ptrdiff_t p = 0; p < k; ++p) {\n            const T x = alpha * a[i * a_row + p * "
     "a_column];\n"
     "            for (ptrdiff_t j = 0; j < n; ++j) row[j] += x * b[p * b_row + j * b_column];\n        }\n  "
     "  }\n}\n"},
};

/// The text of "name_f32" and the like; "" for a name that there is not. `named`: types have names of their own.
inline std::string cpp_helper(const std::string& full, const std::string& prefix, bool named)
{
    const std::string_view name = std::string_view(full).substr(0, full.rfind('_'));
    const std::string suffix = full.substr(full.rfind('_') + 1);
    const std::string type = named             ? prefix + suffix
                             : suffix == "f32" ? "float"
                             : suffix == "f64" ? "double"
                             : suffix == "i32" ? "int32_t"
                                               : "int64_t";
    constexpr std::string_view nan_too = " || a != a";
    for (const CppHelper& h : cpp_helpers) {
        if (h.name != name) continue;
        std::string out;
        for (std::size_t i = 0; i < h.text.size(); ++i) {
            const char c = h.text[i];
            if (suffix[0] == 'i' && h.text.substr(i, nan_too.size()) == nan_too) {
                i += nan_too.size() - 1;  // compilers say that whole numbers are equal to themselves
                continue;
            }
            const auto letter = [&](std::size_t k) {
                return k < h.text.size() &&
                       (std::isalnum(static_cast<unsigned char>(h.text[k])) || h.text[k] == '_');
            };
            if (c == '@')
                out += prefix;
            else if (c == 'T' && !(i > 0 && letter(i - 1)) && !letter(i + 1))
                out += type;
            else if (c == '#' && i > 0 && h.text[i - 1] == '_')
                out += suffix;
            else if (c == '~')
                out += suffix == "f32" ? "f" : "";
            else if (c == '%')
                out += suffix == "f32" ? "s" : "d";
            else
                out += c;
        }
        return out;
    }
    return {};
}

}  // namespace wengert::detail
