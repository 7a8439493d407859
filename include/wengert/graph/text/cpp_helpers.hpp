// The functions that an emitted header carries with it, as C that is C++ too: each is written only where it is called.
// `@` is the header's prefix, `T` the type, `I` that of its bits, `#` the type's suffix, `%` that of BLAS.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "../../base/dtype.hpp"

namespace wengert::detail {

struct CppHelper {
    std::string_view name;
    std::string_view text;
};

// clang-format off
inline constexpr CppHelper cpp_helpers[] = {
    {"bits", "static inline I @bits_#(T x) { I b; memcpy(&b, &x, sizeof b); return b; }\n"},
    {"from_bits", "static inline T @from_bits_#(I b) { T x; memcpy(&x, &b, sizeof x); return x; }\n"},
    {"split", R"c(/* After how many of `steps` the next state is kept when `room` are: Griewank & Walther 2000, algorithm 799. */
static inline T @reach_#(T room, T repeats)
{
    const T most = INT64_MAX / 2, n = room < repeats ? room : repeats, m = room < repeats ? repeats : room;
    T c = 1;
    for (T i = 1; i <= n; ++i) {
        if (c > most / (m + i)) return most;
        c = c * (m + i) / i;
    }
    return c;
}
static inline T @split_#(T steps, T room)
{
    T r = 0, a, b;
    if (room <= 1) return steps - 1;
    while (@reach_#(room, r) < steps) ++r;
    a = @reach_#(room, r - 1), b = steps - @reach_#(room - 1, r - 1);
    return a < b ? a : b;
}
)c"},
    {"block", R"c(/* Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011): four words from a counter of 128 bits */
static inline void @block_#(uint64_t key, uint64_t high, uint64_t low, uint32_t* w)
{
    uint32_t c0 = (uint32_t)low, c1 = (uint32_t)(low >> 32), c2 = (uint32_t)high, c3 = (uint32_t)(high >> 32);
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int r = 0; r < 10; ++r, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        const uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0, c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1, c3 = (uint32_t)a;
    }
    w[0] = c0, w[1] = c1, w[2] = c2, w[3] = c3;
}
)c"},
    {"scaled", R"c(/* the upper half of x range */
static inline uint64_t @scaled_#(uint64_t x, uint64_t range)
{
    const uint64_t mask = 0xFFFFFFFFu, x0 = x & mask, x1 = x >> 32, low = range & mask, high = range >> 32;
    const uint64_t mid = x1 * low + (x0 * low >> 32), carry = (mid & mask) + x0 * high;
    return x1 * high + (mid >> 32) + (carry >> 32);
}
)c"},
    {"normal", R"c(/* Box & Muller 1958; -log(u) as in fdlibm's e_log.c (Sun 1993), the angle by quarters of a turn */
static inline double @series_#(double x, const double* c, int n)
{
    double y = c[n];
    while (n-- > 0) y = c[n] + x * y;
    return y;
}
static inline double @as_number_#(uint64_t b) { double x; memcpy(&x, &b, sizeof x); return x; }
static inline double @minus_log_#(double u)
{
    static const double c[] = {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
                               1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01};
    uint64_t bits;
    double k, f, half, s, z, tail;
    memcpy(&bits, &u, sizeof bits);
    bits += UINT64_C(0x3FF0000000000000) - UINT64_C(0x3FE6A09E00000000);
    k = @as_number_#(UINT64_C(0x4330000000000000) | bits >> 52) - 4503599627371519.0;
    f = @as_number_#((bits & UINT64_C(0xFFFFFFFFFFFFF)) + UINT64_C(0x3FE6A09E00000000)) - 1;
    half = 0.5 * f * f, s = f / (2 + f), z = s * s;
    tail = s * (half + z * @series_#(z, c, 6));
    return -(((tail + k * 1.90821492927058770002e-10) - half + f) + k * 6.93147180369123816490e-01);
}
static inline void @normal_#(uint64_t radius, uint64_t angle, double half_u, double half_t, double* z)
{
    static const double cos_of[] = {1.0, -1.2337005501361697, 0.25366950790104803, -0.02086348076335296, 0.0009192602748394266,
                                    -2.5202042373060607e-05, 4.710874778818172e-07, -6.386603083791852e-09, 6.565963114979473e-11};
    static const double sin_of[] = {6.123233995736766e-17, -0.6459640975062463, 0.07969262624616705, -0.004681754135318688,
                                    0.00016044118478735983, -3.598843235212085e-06, 5.692172921967927e-08, -6.688035109811468e-10,
                                    6.0669357311061955e-12};
    const uint64_t on = angle + (UINT64_C(1) << 61), one = UINT64_C(0x3FF0000000000000);
    const double t = @as_number_#(one | on << 2 >> 12) - 1.5 + half_t, u = @as_number_#(one | radius >> 12) - 1 + half_u;
    const double r = sqrt(2 * @minus_log_#(u)), c = @series_#(t * t, cos_of, 8),
                 s = t * (1.5707963267948966 + @series_#(t * t, sin_of, 8));
    const int q = (int)(on >> 62);
    z[0] = r * (q == 0 ? c : q == 1 ? -s : q == 2 ? -c : s);
    z[1] = r * (q == 0 ? s : q == 1 ? c : q == 2 ? -s : -c);
}
)c"},
    {"power", R"c(/* whole numbers wrap; negative exponents leave what 1 / a^|b| has of whole ones */
static inline T @power_#(T a, T b)
{
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    uint64_t y = 1, base = (uint64_t)a, rest = (uint64_t)b;
    for (; rest; rest >>= 1, base *= base)
        if (rest & 1) y *= base;
    return (T)y;
}
)c"},
    {"product", R"c(/* gemm for whole numbers */
static inline void @product_#(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, T alpha, const T* a, ptrdiff_t a_row, ptrdiff_t a_column,
                              const T* b, ptrdiff_t b_row, ptrdiff_t b_column, T beta, T* c)
{
    for (ptrdiff_t i = 0; i < m; ++i)
        for (ptrdiff_t j = 0; j < n; ++j) {
            uint64_t s = (uint64_t)beta * (uint64_t)c[i * n + j]; /* wraps */
            for (ptrdiff_t p = 0; p < k; ++p)
                s += (uint64_t)alpha * (uint64_t)a[i * a_row + p * a_column] * (uint64_t)b[p * b_row + j * b_column];
            c[i * n + j] = (T)s;
        }
}
)c"},
    {"gemm", R"c(/* C = alpha A B + beta C; element (i, j) of X lies at i * x_row + j * x_column, rows of C are n apart */
static inline void @gemm_#(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, T alpha, const T* a, ptrdiff_t a_row, ptrdiff_t a_column,
                           const T* b, ptrdiff_t b_row, ptrdiff_t b_column, T beta, T* c)
{
#ifndef @NO_CBLAS
    const int ta = a_column != 1 && k > 1, tb = b_column != 1 && n > 1;
    const ptrdiff_t lda = ta ? a_column : m > 1 ? a_row : k, ldb = tb ? b_column : k > 1 ? b_row : n;
    if (m * n * k > 4096 && (ta ? a_row == 1 || m == 1 : 1) && (tb ? b_row == 1 || k == 1 : 1) && lda >= (ta ? m : k) &&
        ldb >= (tb ? k : n)) {
        cblas_%gemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k,
                    alpha, a, (int)lda, b, (int)ldb, beta, c, (int)n);
        return;
    }
#endif
    for (ptrdiff_t i = 0; i < m; ++i) {
        T* const row = c + i * n;
        if (beta == 0)
            for (ptrdiff_t j = 0; j < n; ++j) row[j] = 0;
        for (ptrdiff_t first = 0; first < n; first += 256)
            for (ptrdiff_t p = 0; p < k; p += 512) { /* sums of many are sums of sums */
                const ptrdiff_t columns = n - first < 256 ? n - first : 256, end = k - p < 512 ? k : p + 512;
                T s[256];
                for (ptrdiff_t j = 0; j < columns; ++j) s[j] = 0;
                for (ptrdiff_t q = p; q < end; ++q) {
                    const T x = alpha * a[i * a_row + q * a_column];
                    for (ptrdiff_t j = 0; j < columns; ++j) s[j] += x * b[q * b_row + (first + j) * b_column];
                }
                for (ptrdiff_t j = 0; j < columns; ++j) row[first + j] += s[j];
            }
    }
}
)c"},
    {"add_finite", R"c(/* a product of a cotangent of zeros is added: what is not finite in it counts as 0 */
static inline void @add_finite_#(ptrdiff_t n, T alpha, const T* x, T* y)
{
    for (ptrdiff_t i = 0; i < n; ++i)
        if (x[i] - x[i] == 0) y[i] += alpha * x[i];
}
)c"},
};
// clang-format on

/// The element type in "name_f32" and the like.
inline DType type_of_helper(const std::string& full)
{
    const std::string suffix = full.substr(full.rfind('_') + 1);
    const auto* const row = std::find_if(std::begin(dtype_rows), std::end(dtype_rows),
                                         [&](const DTypeRow& r) { return suffix == r.lane; });
    return static_cast<DType>(row - std::begin(dtype_rows));
}

/// The text of "name_f32" and the like; "" for a name that there is not. `named`: types have names of their own.
inline std::string cpp_helper(const std::string& full, const std::string& prefix, bool named)
{
    const std::string_view name = std::string_view(full).substr(0, full.rfind('_'));
    const DTypeRow& row = row_of(type_of_helper(full));
    const std::string suffix = row.lane;
    for (const CppHelper& h : cpp_helpers) {
        if (h.name != name) continue;
        std::string out;
        for (std::size_t i = 0; i < h.text.size(); ++i) {
            const char c = h.text[i];
            const auto letter = [&](std::size_t k) {
                return k < h.text.size() &&
                       (std::isalnum(static_cast<unsigned char>(h.text[k])) || h.text[k] == '_');
            };
            if (c == '@')
                out += prefix;
            else if ((c == 'T' || c == 'I') && !(i > 0 && letter(i - 1)) && !letter(i + 1))
                out += c == 'I' ? row_of(row.bits).c : named ? prefix + suffix : row.c;
            else if (c == '#' && i > 0 && h.text[i - 1] == '_')
                out += suffix;
            else if (c == '%')
                out += *row.suffix ? "s" : "d";
            else
                out += c;
        }
        return out;
    }
    return {};
}

}  // namespace wengert::detail
