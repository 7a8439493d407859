// Folds of whole axes on a device, of floats and doubles: launches of fold_text.hpp's kernels.
#pragma once

#include "../ops/folds.hpp"
#include "fold_text.hpp"
#include "moves.hpp"

namespace wengert::detail::gpu {

inline std::string folds_text()
{
    std::set<std::string> helpers = {"exp_f32", "exp_f64"};
    return NumberFunctions("wg_", helpers).text() + std::string(fold_text);
}

class DeviceFold {
public:
    DeviceFold(Gpu& gpu, const Ref<Block>& x, const Axes& axes)
        : gpu_(gpu), lines_(reduction_of(x, axes)), dtype_(x->dtype)
    {}
    const Reduction& lines() const noexcept { return lines_; }

    /// The fold into new memory of `shape`, which has an element for each of (outer, inner). `f` says what is folded.
    Ref<Block> run(Folding f, const Shape& shape)
    {
        auto out = fresh(shape, lines_.outer * lines_.inner);
        if (out->count == 0) return out;
        f.x = lines_.x->data, f.out = out->data;
        f.outer = integer(lines_.outer), f.n = integer(lines_.n);
        f.stride = f.n * integer(lines_.inner);
        if (lines_.inner == 1) {
            rows(f);
            return out;
        }
        f.inner = f.columns = integer(lines_.inner);
        const auto group = static_cast<long long>(64 / size_of(dtype_));
        if (f.inner * group <= 256 && f.n >= 2 * group)
            few_columns(f, group);
        else
            columns(f);
        return out;
    }

private:
    static long long integer(std::size_t n) { return static_cast<long long>(n); }
    Ref<Block> fresh(const Shape& shape, std::size_t count) const
    {
        return make_elsewhere(current_thread(), static_cast<std::uint8_t>(lines_.x->device()), dtype_, shape,
                              count);
    }
    Ref<Block> fresh(long long count) const { return fresh(Shape{count}, static_cast<std::size_t>(count)); }
    void kernel(const char* name, const Folding& f, long long threads)
    {
        const std::string full = std::string(name) + "_" + row_of(dtype_).lane;
        launch(gpu_, Kernels::of(gpu_).find(gpu_, "folds", full.c_str(), folds_text), threads, f);
    }
    void rows(Folding f)
    {
        const auto part = static_cast<long long>(16384 / size_of(dtype_)),
                   lanes = static_cast<long long>(256 / size_of(dtype_));
        f.parts = std::max(1LL, (f.n + part - 1) / part);
        if (f.parts == 1) return kernel("rows", f, f.outer * lanes);
        const Ref<Block> each = fresh(f.outer * f.parts), scratch = fresh(f.outer * ((f.parts + 1) / 2));
        Folding join = f;
        f.out = each->data;
        kernel("rows", f, f.outer * f.parts * lanes);
        join.x = each->data, join.scratch = scratch->data;
        kernel("join_rows", join, f.outer * static_cast<long long>(Kernels::block));
    }
    void columns(Folding f)
    {
        f.parts = std::max(1LL, (f.n + 255) / 256);
        if (f.parts == 1) return kernel("columns", f, f.outer * f.inner);
        const Ref<Block> each = fresh(f.outer * f.parts * f.inner);
        Folding join = f;
        f.out = each->data;
        kernel("columns", f, f.outer * f.parts * f.inner);
        join.x = each->data;
        kernel("join_columns", join, f.outer * f.inner);
    }
    /// `group` rows are read as one.
    void few_columns(const Folding& f, long long group)
    {
        Folding wide = f;
        wide.inner = f.inner * group, wide.n = f.n / group, wide.divides = 0;
        const Ref<Block> sums = fresh(f.outer * wide.inner);
        wide.out = sums->data;
        columns(wide);
        Folding join = f;
        join.y = sums->data, join.inner = wide.inner, join.n = wide.n, join.tail = f.n % group * f.inner;
        kernel("join_few", join, f.outer * f.columns);
    }

    Gpu& gpu_;
    Reduction lines_;
    DType dtype_;
};

/// Null where the host has to help.
inline Ref<Block> run_fold(Gpu& gpu, const Primitive& p, const void* op, const Ref<Block>* in)
{
    Fold f;
    p.fold->describe(op, f);
    if (!Kernels::available() || f.maps() || !differentiable(in[0]->dtype) || p.dtype != in[0]->dtype)
        return {};
    Folding what;
    switch (f.what) {
    case Fold::What::sum: what.what = sums; break;
    case Fold::What::mean: what.what = sums, what.divides = 1; break;
    case Fold::What::product: what.what = products; break;
    case Fold::What::maximum: what.what = greatest; break;
    case Fold::What::minimum: what.what = least; break;
    default: return {};
    }
    DeviceFold fold(gpu, in[0], *f.axes);
    if (fold.lines().n == 0 || fold.lines().n > std::size_t{1} << 30) return {};
    what.divisor = static_cast<int>(fold.lines().n);
    return fold.run(what, fold.lines().shape(f.keepdims));
}

}  // namespace wengert::detail::gpu
