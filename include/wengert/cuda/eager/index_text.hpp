// The kernels of index programs (ops/index/index.hpp), with the program as an argument: one text for each type of elements. Each thread
// writes elements that no other thread writes, in the stated order, so the bits are the host's. Where that would be few threads, elements
// are sorted by their places first. Scans have a text of their own (scan_text.hpp).
//
// Loops over axes are not unrolled, as a compiler that does so takes seconds.
#pragma once

#include <string>

#include "../../graph/text/typed_program.hpp"
#include "kernels.hpp"
#include "places.hpp"

namespace wengert::detail::gpu {

/// A position that is more than affine, along one axis of an array; the text has the same structs.
struct Ruled {
    long long offset, step[3], extent, stride;
    int axis[3], terms, rule, given;  ///< given: 1 + number
};
/// Where an array's elements are: affine in the axes, but for some rules.
struct Reach {
    static constexpr std::size_t most_axes = 16, most_rules = 10;
    void* data = nullptr;  ///< null: a number in the place of elements
    long long offset = 0, step[most_axes] = {};
    long long rules = 0;
    Ruled rule[most_rules] = {};
};
struct GivenReach {
    void* data = nullptr;
    long long offset = 0, step[Reach::most_axes] = {}, from_end = 0;
};
struct IndexLaunch {
    Reach x, y, factor;
    GivenReach given[2];
    long long extents[Reach::most_axes] = {};
    long long threads = 1, each = 1;  ///< over the first axes of `order`, and over the rest
    long long fill = 0, factor_fill = 0;
    int order[Reach::most_axes] = {};
    int axes = 0, apart = 0;  ///< how many there are, and how many of `order` have threads of their own
    int scan_axis = -1, scanned = 0, reverse = 0, has_factor = 0, how = 0, minus = 0;
    void* word = nullptr;  ///< where elements of shared places go, in order, and which they are
    void* place = nullptr;
    long long room = 0;
    long long narrow =
        0;  ///< numbers of elements have 31 bits, so that extents are divided by with products (places.hpp)
    unsigned times[Reach::most_axes] = {};
    int shift[Reach::most_axes] = {};
};
static_assert(sizeof(IndexLaunch) <= 4096, "what a launch can be given");

inline constexpr std::string_view index_program_text = R"wg(
struct wg_rule {
    wg_int offset, step[3], extent, stride;
    int axis[3], terms, rule, given;
};
struct wg_reach {
    void* data;
    wg_int offset, step[16], rules;
    wg_rule rule[10];
};
struct wg_given {
    const int64_t* data;
    wg_int offset, step[16], from_end;
};
struct wg_program {
    wg_reach x, y, factor;
    wg_given given[2];
    wg_int extents[16], threads, each, fill, factor_fill;
    int order[16], axes, apart, scan_axis, scanned, reverse, has_factor, how, minus;
    uint64_t* word;
    int64_t* place;
    wg_int room, narrow;
    uint32_t times[16];
    int shift[16];
};
enum { inside, wrapped, clamped, mirrored, masked };
enum { assigned, added, multiplied, greatest, least };

inline wg_int wg_ruled(const wg_program& p, const wg_rule& r, const wg_int* i)
{
    if (r.given) {
        const wg_given& g = p.given[r.given - 1];
        wg_int at = g.offset;
#pragma unroll 1
        for (int a = 0; a < p.axes; ++a) at += g.step[a] * i[a];
        const wg_int v = g.data[at];
        return g.from_end && v < 0 ? v + r.extent : v;
    }
    wg_int q = r.offset;
#pragma unroll 1
    for (int t = 0; t < r.terms; ++t) q += r.step[t] * i[r.axis[t]];
    const wg_int n = r.extent;
    if (r.rule == masked || (q >= 0 && q < n)) return q;  // mostly; a remainder of 64 bits takes some hundred instructions
    if (r.rule == wrapped) {
        q %= n;
        return q < 0 ? q + n : q;
    }
    if (r.rule == clamped) return q < 0 ? 0 : q >= n ? n - 1 : q;
    if (r.rule == mirrored) {
        if (n == 1) return 0;
        const wg_int period = 2 * (n - 1);
        q %= period;
        if (q < 0) q += period;
        return q < n ? q : period - q;
    }
    return q;
}
/// Places of elements of a view that runs backwards are below 0.
#define wg_nowhere (-INT64_MAX - 1)
/// The place of an element, or wg_nowhere: masked, or of an integer that is no position, which is an error elsewhere.
inline wg_int wg_find(const wg_program& p, const wg_reach& r, const wg_int* i)
{
    wg_int at = r.offset;
#pragma unroll 1
    for (int a = 0; a < p.axes; ++a) at += r.step[a] * i[a];
#pragma unroll 1
    for (int k = 0; k < r.rules; ++k) {
        const wg_int q = wg_ruled(p, r.rule[k], i);
        if ((r.rule[k].rule == masked || r.rule[k].given) && (q < 0 || q >= r.rule[k].extent)) return wg_nowhere;
        at += q * r.rule[k].stride;
    }
    return at;
}
template <class T> inline T wg_read(const wg_program& p, const wg_reach& r, const wg_int& fill, const wg_int* i)
{
    const wg_int at = r.data ? wg_find(p, r, i) : wg_nowhere;
    return at == wg_nowhere ? *(const T*)&fill : ((const T*)r.data)[at];
}
// whole numbers wrap
inline float wg_add(float a, float b) { return a + b; }
inline double wg_add(double a, double b) { return a + b; }
inline int32_t wg_add(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
inline int64_t wg_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
inline unsigned char wg_add(unsigned char a, unsigned char b) { return a + b; }
inline float wg_times(float a, float b) { return a * b; }
inline double wg_times(double a, double b) { return a * b; }
inline int32_t wg_times(int32_t a, int32_t b) { return (int32_t)((uint32_t)a * (uint32_t)b); }
inline int64_t wg_times(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
inline unsigned char wg_times(unsigned char a, unsigned char b) { return a * b; }
inline float wg_minus(float a) { return -a; }
inline double wg_minus(double a) { return -a; }
inline int32_t wg_minus(int32_t a) { return (int32_t)(0u - (uint32_t)a); }
inline int64_t wg_minus(int64_t a) { return (int64_t)(0ull - (uint64_t)a); }
inline unsigned char wg_minus(unsigned char a) { return -a; }
inline float wg_less(float a, float b) { return a - b; }
inline double wg_less(double a, double b) { return a - b; }
inline int32_t wg_less(int32_t a, int32_t b) { return wg_add(a, wg_minus(b)); }
inline int64_t wg_less(int64_t a, int64_t b) { return wg_add(a, wg_minus(b)); }
inline unsigned char wg_less(unsigned char a, unsigned char b) { return a - b; }

template <class T> inline void wg_meet(const wg_program& p, T& y, T v)
{
    switch (p.how) {
    case added: y = p.minus ? wg_less(y, v) : wg_add(y, v); break;
    case multiplied: y = wg_times(y, v); break;
    case greatest: if (v > y || v != v) y = v; break;
    case least: if (v < y || v != v) y = v; break;
    default: y = p.minus ? wg_minus(v) : v;
    }
}
/// Sets the axes order[first .. last) to element number k of them, the last one fastest.
inline void wg_set(const wg_program& p, int first, int last, wg_int k, wg_int* i)
{
#pragma unroll 1
    for (int a = last; a-- > first;) {
        const int axis = p.order[a];
        const wg_int n = p.extents[axis];
        const wg_int q = p.narrow ? (wg_int)((uint64_t)k * p.times[axis] >> p.shift[axis]) : k / n;
        i[axis] = k - q * n;
        k = q;
    }
}
/// All axes at 0. They lie in memory, so the rest of the 16 is left alone.
inline void wg_begin(const wg_program& p, wg_int* i)
{
#pragma unroll 1
    for (int a = 0; a < p.axes; ++a) i[a] = 0;
}
/// f(i) for what this thread does: its places along the first axes, and along the next, up to `last`, one after another.
template <class F> inline void wg_each_place(const wg_program& p, int last, const F& f)
{
    wg_int i[16];
    wg_begin(p, i);
    for (wg_int t = wg_thread(); t < p.threads; t += wg_threads()) {
        wg_set(p, 0, p.apart, t, i);
#pragma unroll 1
        for (wg_int k = 0; k < p.each; ++k) {
            wg_set(p, p.apart, last, k, i);
            f(i);
        }
    }
}
)wg";

inline constexpr std::string_view index_run_text = R"wg(
template <class T> inline void wg_run(const wg_program& p)
{
    T* const y = (T*)p.y.data;
    wg_each_place(p, p.axes, [&](wg_int* i) {
        const wg_int at = wg_find(p, p.y, i);
        if (at >= 0) wg_meet<T>(p, y[at], wg_read<T>(p, p.x, p.fill, i));
    });
}
/// For each element of the axes without threads: where it goes, the others at 0. What goes nowhere comes last.
extern "C" __global__ void find_places(const __grid_constant__ wg_program p)
{
    wg_int i[16];
    wg_begin(p, i);
    for (wg_int k = wg_thread(); k < p.room; k += wg_threads()) {
        wg_set(p, p.apart, p.axes, k, i);
        const wg_int at = k < p.each ? wg_find(p, p.y, i) : wg_nowhere;
        p.word[k] = at == wg_nowhere ? ~(uint64_t)0 : (uint64_t)at;
        p.place[k] = k;
    }
}
/// Those that share a place, one after another; the threads of the first of them are the ones that do it.
template <class T> inline void wg_run_sorted(const wg_program& p)
{
    T* const y = (T*)p.y.data;
    wg_int i[16];
    wg_begin(p, i);
    for (wg_int t = wg_thread(); t < p.threads * p.each; t += wg_threads()) {
        wg_int k = t / p.threads;
        const uint64_t word = p.word[k];
        if (word == ~(uint64_t)0 || (k > 0 && p.word[k - 1] == word)) continue;
        wg_set(p, 0, p.apart, t % p.threads, i);
        wg_set(p, p.apart, p.axes, p.place[k], i);
        const wg_int at = wg_find(p, p.y, i);
        if (at < 0) continue;
        T s = y[at];
        do {
            wg_set(p, p.apart, p.axes, p.place[k], i);
            wg_meet<T>(p, s, wg_read<T>(p, p.x, p.fill, i));
        } while (++k < p.each && p.word[k] == word);
        y[at] = s;
    }
}
)wg";

/// The kernels of one type: `name` calls wg_name.
inline std::string kernels_of_type(DType d, std::initializer_list<const char*> names)
{
    std::string s;
    for (const char* name : names)
        s += filled("extern \"C\" __global__ void $(const __grid_constant__ wg_program p) { wg_$<$>(p); }\n",
                    name, name, row_of(d).c);
    return s;
}
inline std::string index_text(DType d)
{
    return std::string(index_program_text) + std::string(index_run_text) +
           kernels_of_type(d, {"run", "run_sorted"});
}

}  // namespace wengert::detail::gpu
