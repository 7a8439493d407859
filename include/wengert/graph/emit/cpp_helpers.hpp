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
    {"wrapped",
     "static inline T @wrapped_#(T i, T n)\n{\n    if (i >= 0 && i < n) return i;\n    i -= i / n * n;\n"
     "    return i < 0 ? i + n : i;\n}\n"},
    {"clamped", "static inline T @clamped_#(T i, T n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }\n"},
    {"mirrored",
     "static inline T @mirrored_#(T i, T n)\n{\n    const T period = 2 * (n - 1);\n    if (n == 1) return "
     "0;\n"
     "    i -= i / period * period;\n    if (i < 0) i += period;\n    return i < n ? i : period - i;\n}\n"},
    {"abs",
     "static inline T @abs_#(T x) { return x < 0 ? (T)(0 - (uint64_t)x) : x; }\n"},  // of whole numbers
    {"sign", "static inline T @sign_#(T x) { return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x; }\n"},
    {"is_finite", "static inline int @is_finite_#(T x) { return x - x == 0; }\n"},
    {"is_nan", "static inline int @is_nan_#(T x) { return x != x; }\n"},
    {"guarded", "/* a cotangent of 0 stays 0 where the derivative is not finite */\n"
                "static inline T @guarded_#(T g, T r) { return g == 0 && r - r != 0 ? 0 : r; }\n"},
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
    {"block",
     "/* Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011): four words from a counter of 128 bits */\n"
     "static inline void @block_#(uint64_t key, uint64_t high, uint64_t low, uint32_t* w)\n{\n"
     "    uint32_t c0 = (uint32_t)low, c1 = (uint32_t)(low >> 32), c2 = (uint32_t)high, c3 = (uint32_t)(high "
     ">> 32);\n"
     "    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);\n"
     "    for (int r = 0; r < 10; ++r, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {\n"
     "        const uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;\n"
     "        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;\n        c1 = (uint32_t)b;\n"
     "        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;\n        c3 = (uint32_t)a;\n    }\n"
     "    w[0] = c0, w[1] = c1, w[2] = c2, w[3] = c3;\n}\n"},
    {"scaled",
     "/* the upper half of x range */\n"
     "static inline uint64_t @scaled_#(uint64_t x, uint64_t range)\n{\n"
     "    const uint64_t mask = 0xFFFFFFFFu, x0 = x & mask, x1 = x >> 32, low = range & mask, high = "
     "range >> 32;\n"
     "    const uint64_t mid = x1 * low + (x0 * low >> 32), carry = (mid & mask) + x0 * high;\n"
     "    return x1 * high + (mid >> 32) + (carry >> 32);\n}\n"},
    {"normal",
     "/* Box & Muller 1958; the angle by quarters of a turn */\n"
     "static inline void @normal_#(uint64_t radius, uint64_t angle, double half_u, double half_t, double* "
     "z)\n{\n"
     "    const uint64_t on = angle + ((uint64_t)1 << 61);\n"
     "    const double u = (double)(radius >> 12) * 2.220446049250313e-16 + half_u;\n"
     "    const double t = ((double)((on << 2) >> 12) * 2.220446049250313e-16 - 0.5) + half_t;\n"
     "    const double r = sqrt(-2 * log(u)), c = cos(1.5707963267948966 * t), s = sin(1.5707963267948966 * "
     "t);\n"
     "    const int q = (int)(on >> 62);\n"
     "    z[0] = r * (q == 0 ? c : q == 1 ? -s : q == 2 ? -c : s);\n"
     "    z[1] = r * (q == 0 ? s : q == 1 ? c : q == 2 ? -s : -c);\n}\n"},
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
     "        for (ptrdiff_t first = 0; first < n; first += 256)\n"
     "            for (ptrdiff_t p = 0; p < k; p += 512) { /* sums of many are sums of sums */\n"
     "                const ptrdiff_t columns = n - first < 256 ? n - first : 256, end = k - p < 512 ? k : p "
     "+ "
     "512;\n"
     "                T s[256];\n                for (ptrdiff_t j = 0; j < columns; ++j) s[j] = 0;\n"
     "                for (ptrdiff_t q = p; q < end; ++q) {\n"
     "                    const T x = alpha * a[i * a_row + q * a_column];\n"
     "                    for (ptrdiff_t j = 0; j < columns; ++j) s[j] += x * b[q * b_row + (first + j) * "
     "b_column];\n                }\n"
     "                for (ptrdiff_t j = 0; j < columns; ++j) row[first + j] += s[j];\n            }\n  "
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
