#pragma once

#include "transpose.hpp"

/// Copies between layouts of the same shape.
namespace wengert::kernels {

inline constexpr std::size_t copy_max_rank = 32;

namespace detail {

struct CopyAxis {
    std::int64_t dim, src, dst;  ///< strides in bytes
};

/// The loops that are left: axes of length 1 dropped, the destination's strides falling, neighbours that make
/// one run in both layouts merged.
template <class A> struct CopyPlan {
    CopyAxis axis[copy_max_rank];
    std::size_t rank = 0;
    bool empty = false;

    void add(CopyAxis a)
    {
        empty = empty || a.dim == 0;
        if (a.dim == 1) return;
        std::size_t at = rank++;
        for (; at > 0 && axis[at - 1].dst < a.dst; --at) axis[at] = axis[at - 1];
        axis[at] = a;
    }
    void merge()
    {
        std::size_t kept = 0;
        for (std::size_t i = 1; i < rank; ++i) {
            CopyAxis& outer = axis[kept];
            const CopyAxis& inner = axis[i];
            if (outer.src == inner.src * inner.dim && outer.dst == inner.dst * inner.dim)
                outer = {outer.dim * inner.dim, inner.src, inner.dst};
            else
                axis[++kept] = inner;
        }
        if (rank > 0) rank = kept + 1;
    }
    void move_to(std::size_t from, std::size_t to)
    {
        const CopyAxis moved = axis[from];
        for (; from < to; ++from) axis[from] = axis[from + 1];
        axis[to] = moved;
    }
};

/// body(src, dst) at each position of the first `rank` axes.
template <class Body>
inline void odometer(const CopyAxis* axis, std::size_t rank, const std::byte* src, std::byte* dst,
                     const Body& body)
{
    std::int64_t index[copy_max_rank];
    std::fill_n(index, rank, std::int64_t{0});
    for (;;) {
        body(src, dst);
        std::size_t a = rank;
        for (; a > 0; --a) {
            const CopyAxis& x = axis[a - 1];
            src += x.src, dst += x.dst;
            if (++index[a - 1] < x.dim) break;
            index[a - 1] = 0;
            src -= x.src * x.dim, dst -= x.dst * x.dim;
        }
        if (a == 0) return;
    }
}

template <std::size_t Size, class A>
inline void copy_run(CopyAxis run, const std::byte* src, std::byte* dst, std::size_t size)
{
    if (run.src == static_cast<std::int64_t>(size) && run.dst == run.src) {
        std::memcpy(dst, src, static_cast<std::size_t>(run.dim) * size);
        return;
    }
    for (std::int64_t i = 0; i < run.dim; ++i)
        std::memcpy(dst + i * run.dst, src + i * run.src, Size == 0 ? size : Size);
}

template <std::size_t Size, class A>
inline void run_plan(CopyPlan<A>& plan, const std::byte* src, std::byte* dst, std::size_t size)
{
    const std::int64_t bytes = static_cast<std::int64_t>(size);
    if (plan.rank == 0) return void(std::memcpy(dst, src, size));
    const std::size_t last = plan.rank - 1;
    const CopyAxis run = plan.axis[last];
    if constexpr (Size == 4 || Size == 8) {
        // Another axis is the dense one of the source: a transpose of that axis and the last.
        for (std::size_t a = 0; a < last; ++a) {
            if (plan.axis[a].src != bytes || run.dst != bytes || run.src <= 0 || plan.axis[a].dim < 4)
                continue;
            const CopyAxis dense = plan.axis[a];
            plan.move_to(a, last);
            return odometer(plan.axis, last - 1, src, dst, [&](const std::byte* s, std::byte* d) {
                transpose<Size, A>(dense.dim, run.dim, s, run.src, d, dense.dst);
            });
        }
    }
    odometer(plan.axis, last, src, dst,
             [&](const std::byte* s, std::byte* d) { copy_run<Size, A>(run, s, d, size); });
}

}  // namespace detail

/// dst[i] = src[i] for every index i of a shape `dims`; strides count elements of `size` bytes, may be 0 or
/// negative in the source, and must not make elements of the destination coincide. src and dst do not
/// overlap. rank ≤ copy_max_rank.
template <class A = xsimd::default_arch>
void copy_strided(std::size_t rank, const std::int64_t* dims, const std::int64_t* src_strides,
                  const std::byte* src, const std::int64_t* dst_strides, std::byte* dst, std::size_t size)
{
    detail::CopyPlan<A> plan;
    const std::int64_t bytes = static_cast<std::int64_t>(size);
    for (std::size_t a = 0; a < rank; ++a)
        plan.add({dims[a], src_strides[a] * bytes, dst_strides[a] * bytes});
    if (plan.empty) return;
    plan.merge();
    if (size == 4)
        detail::run_plan<4, A>(plan, src, dst, size);
    else if (size == 8)
        detail::run_plan<8, A>(plan, src, dst, size);
    else if (size == 1)
        detail::run_plan<1, A>(plan, src, dst, size);
    else
        detail::run_plan<0, A>(plan, src, dst, size);
}

}  // namespace wengert::kernels
