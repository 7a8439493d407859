// What index programs do with elements: the loops over affine pieces of lines, chosen by dtype and by how elements meet.
#pragma once

#include <algorithm>

#include "../../base/error.hpp"
#include "../../base/scalar_math.hpp"
#include "lines.hpp"

namespace wengert::detail {

/// A product that is rounded before anything is added to it: compilers would make one instruction of both.
template <class T> T rounded_product(T a, T b)
{
    T p = wrapping_multiply(a, b);
    if constexpr (std::is_floating_point_v<T>) {
#if defined(__x86_64__) || defined(__SSE2__)
        __asm__("" : "+x"(p));
#elif defined(__aarch64__)
        __asm__("" : "+w"(p));
#else
        volatile T q = p;
        p = q;
#endif
    }
    return p;
}

// maximum(b, a) and minimum(b, a), as generated text has them: of two NaNs the later one stays.
template <class T> T greater(T a, T b) { return b > a || b != b ? b : a; }
template <class T> T lesser(T a, T b) { return b < a || b != b ? b : a; }

// How an element x that is read changes the element y that it meets.
struct PutAssigned {
    template <class T> static void put(T& y, T x) { y = x; }
};
struct PutNegative {
    template <class T> static void put(T& y, T x) { y = wrapping_negate(x); }
};
struct PutSum {
    template <class T> static void put(T& y, T x) { y = wrapping_add(y, x); }
};
struct PutDifference {
    template <class T> static void put(T& y, T x) { y = wrapping_subtract(y, x); }
};
struct PutProduct {
    template <class T> static void put(T& y, T x) { y = wrapping_multiply(y, x); }
};
struct PutGreater {
    template <class T> static void put(T& y, T x) { y = greater(y, x); }
};
struct PutLesser {
    template <class T> static void put(T& y, T x) { y = lesser(y, x); }
};

/// An affine piece of a line with the integers that belong to it.
struct ElementPiece {
    std::byte* data;
    std::int64_t offset, stride;
    const GivenPosition* givens;
    std::size_t given_count;
    std::int64_t first;  ///< where in the line

    ElementPiece from(std::int64_t j) const noexcept
    {
        return {data, offset + j * stride, stride, givens, given_count, first + j};
    }
    template <class T> T* at(std::int64_t j) const noexcept
    {
        std::int64_t i = offset + j * stride;
        for (std::size_t k = 0; k < given_count; ++k) i += givens[k].at(first + j);
        return reinterpret_cast<T*>(data) + i;
    }
};

inline ElementPiece element_piece(const Line& line, const Line::Piece& p, std::int64_t first,
                                  const std::byte* fill) noexcept
{
    if (p.masked) return {const_cast<std::byte*>(fill), 0, 0, nullptr, 0, 0};
    return {line.data, p.offset, p.stride, line.givens.data(), line.givens.size(), first};
}

using PieceKernel = void (*)(const ElementPiece& x, const ElementPiece& y, std::int64_t n);

template <class T, class Put> void run_piece(const ElementPiece& x, const ElementPiece& y, std::int64_t n)
{
    if (x.given_count + y.given_count == 0) {
        const T* from = reinterpret_cast<const T*>(x.data) + x.offset;
        T* to = reinterpret_cast<T*>(y.data) + y.offset;
        if (x.stride == 1 && y.stride == 1)
            for (std::int64_t j = 0; j < n; ++j) Put::put(to[j], from[j]);
        else
            for (std::int64_t j = 0; j < n; ++j) Put::put(to[j * y.stride], from[j * x.stride]);
        return;
    }
    for (std::int64_t j = 0; j < n; ++j) Put::put(*y.template at<T>(j), *x.template at<T>(j));
}

template <class T> PieceKernel number_kernel(Combine how, bool minus)
{
    switch (how) {
    case Combine::add: return minus ? run_piece<T, PutDifference> : run_piece<T, PutSum>;
    case Combine::multiply: return run_piece<T, PutProduct>;
    case Combine::maximum: return run_piece<T, PutGreater>;
    case Combine::minimum: return run_piece<T, PutLesser>;
    default: return run_piece<T, PutNegative>;
    }
}

[[noreturn]] inline void refuse_truth()
{
    throw DTypeError("[index] truth values are moved, not added or compared");
}

/// fn for an element type that is computed in.
template <class F> auto with_number(DType d, F&& fn)
{
    if (d == DType::boolean) refuse_truth();
    return with_dtype(d, [&]<class T>() {
        if constexpr (std::is_same_v<T, bool>)
            return decltype(fn.template operator()<float>()){};
        else
            return fn.template operator()<T>();
    });
}

inline PieceKernel piece_kernel(DType d, Combine how, bool minus)
{
    if (how == Combine::assign && !minus)
        return size_of(d) == 8   ? run_piece<std::uint64_t, PutAssigned>
               : size_of(d) == 4 ? run_piece<std::uint32_t, PutAssigned>
                                 : run_piece<std::uint8_t, PutAssigned>;
    return with_number(d, [&]<class T>() { return number_kernel<T>(how, minus); });
}

inline void run_line(const Line& x, const Line& y, std::int64_t n, const std::byte* fill, PieceKernel kernel)
{
    for (std::int64_t j = 0; j < n;) {
        const Line::Piece from = x.piece(j, n - j), to = y.piece(j, from.length);
        if (!to.masked) kernel(element_piece(x, from, j, fill), element_piece(y, to, j, fill), to.length);
        j += to.length;
    }
}

/// y ← the scan of x, one line.
struct ScanLine {
    Line x, y, c;
    std::int64_t n;
    bool reverse;
    const std::byte *fill, *factor_fill;

    void turn_round(bool factor)
    {
        x.turn_round(n);
        y.turn_round(n);
        if (factor) c.turn_round(n);
    }
};
using ScanKernel = void (*)(const ScanLine&, bool factor, PieceKernel put);

// s ← s with x, where c is the coefficient.
struct ScanSum {
    template <class T> static T next(T s, T x, T) { return wrapping_add(s, x); }
};
struct ScanProduct {
    template <class T> static T next(T s, T x, T) { return wrapping_multiply(s, x); }
};
struct ScanGreater {
    template <class T> static T next(T s, T x, T) { return greater(s, x); }
};
struct ScanRecurrence {
    template <class T> static T next(T s, T x, T c) { return wrapping_add(x, rounded_product(c, s)); }
};

/// y ← s over n elements, each from the one before: the number after the last.
template <class T, class Step>
T scan_piece(T sum, const ElementPiece& x, const ElementPiece& c, const ElementPiece& y, std::int64_t n)
{
    for (std::int64_t i = 0; i < n; ++i) {
        sum = Step::template next<T>(sum, *x.template at<T>(i), *c.template at<T>(i));
        *y.template at<T>(i) = sum;
    }
    return sum;
}

/// `put` is none where the result is stored as it is; else the numbers wait in a buffer for it.
template <class T, class Step> void scan_line(const ScanLine& s, bool factor, PieceKernel put)
{
    constexpr std::int64_t room = 64;
    T waiting[room], sum{};
    const auto buffer = reinterpret_cast<std::byte*>(waiting);
    for (std::int64_t j = 0; j < s.n;) {
        const Line::Piece from = s.x.piece(j, s.n - j), to = s.y.piece(j, from.length);
        Line::Piece by = to;
        if (factor) by = s.c.piece(j, to.length);
        const bool stores = !put && !to.masked;
        const std::int64_t n = stores ? by.length : std::min(by.length, room);
        const ElementPiece x = element_piece(s.x, from, j, s.fill), y = element_piece(s.y, to, j, s.fill),
                           c = factor ? element_piece(s.c, by, j, s.factor_fill) : x,
                           w = stores ? y : ElementPiece{buffer, 0, 1, nullptr, 0, 0};
        const std::int64_t first = j == 0;  // it stands as it is
        if (first) *w.template at<T>(0) = sum = *x.template at<T>(0);
        sum = scan_piece<T, Step>(sum, x.from(first), c.from(first), w.from(first), n - first);
        if (put && !to.masked) put(w, y, n);
        j += n;
    }
}
/// The place of the greatest element so far.
template <class T> void scan_places(const ScanLine& s, bool, PieceKernel)
{
    T most{};
    std::int64_t place = 0;
    for (std::int64_t j = 0; j < s.n;) {
        const Line::Piece from = s.x.piece(j, s.n - j), to = s.y.piece(j, from.length);
        const ElementPiece x = element_piece(s.x, from, j, s.fill), y = element_piece(s.y, to, j, s.fill);
        for (std::int64_t i = 0; i < to.length; ++i) {
            const T v = *x.template at<T>(i);
            if (i + j == 0 || (most == most && (v > most || v != v))) {
                most = v;
                place = s.reverse ? s.n - 1 - (i + j) : i + j;
            }
            if (!to.masked) *y.template at<std::int64_t>(i) = place;
        }
        j += to.length;
    }
}

template <class T> ScanKernel scan_kernel_of(Scan what)
{
    switch (what) {
    case Scan::multiply: return scan_line<T, ScanProduct>;
    case Scan::maximum: return scan_line<T, ScanGreater>;
    case Scan::first_maximum: return scan_places<T>;
    case Scan::recurrence: return scan_line<T, ScanRecurrence>;
    default: return scan_line<T, ScanSum>;
    }
}
inline ScanKernel scan_kernel(DType d, Scan what)
{
    return with_number(d, [&]<class T>() { return scan_kernel_of<T>(what); });
}

/// A row of the scans of many lines at once: from the row before, which is in the result already.
struct ScanRow {
    const Line &x, &y, &c;
    const Line* before;
    std::int64_t n;
    const std::byte *fill, *factor_fill;
};
using RowKernel = void (*)(const ScanRow&);

template <class T, class Step> void scan_row(const ScanRow& r)
{
    const T *x = r.x.masked ? reinterpret_cast<const T*>(r.fill)
                            : reinterpret_cast<const T*>(r.x.data) + r.x.offset,
            *c = r.c.masked ? reinterpret_cast<const T*>(r.factor_fill)
                            : reinterpret_cast<const T*>(r.c.data) + r.c.offset;
    const std::int64_t xs = r.x.masked ? 0 : r.x.stride, cs = r.c.masked ? 0 : r.c.stride, ys = r.y.stride;
    T* y = reinterpret_cast<T*>(r.y.data) + r.y.offset;
    if (!r.before) {
        for (std::int64_t j = 0; j < r.n; ++j) y[j * ys] = x[j * xs];
        return;
    }
    const T* s = reinterpret_cast<const T*>(r.before->data) + r.before->offset;
    if constexpr (std::is_same_v<Step, ScanRecurrence>) {
        for (std::int64_t j = 0; j < r.n; ++j)
            y[j * ys] = Step::template next<T>(s[j * ys], x[j * xs], c[j * cs]);
    } else {
        if (xs == 1 && ys == 1)
            for (std::int64_t j = 0; j < r.n; ++j) y[j] = Step::template next<T>(s[j], x[j], T{});
        else
            for (std::int64_t j = 0; j < r.n; ++j)
                y[j * ys] = Step::template next<T>(s[j * ys], x[j * xs], T{});
    }
}
template <class T> RowKernel row_kernel_of(Scan what)
{
    switch (what) {
    case Scan::multiply: return scan_row<T, ScanProduct>;
    case Scan::maximum: return scan_row<T, ScanGreater>;
    case Scan::recurrence: return scan_row<T, ScanRecurrence>;
    default: return scan_row<T, ScanSum>;
    }
}
inline RowKernel row_kernel(DType d, Scan what)
{
    return with_number(d, [&]<class T>() { return row_kernel_of<T>(what); });
}

}  // namespace wengert::detail
