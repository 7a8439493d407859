// Folds of whole axes on a device, of floats and doubles: launches of fold_text.hpp's kernels.
#pragma once

#include "../ops/folds.hpp"
#include "fold_text.hpp"
#include "moves.hpp"

namespace wengert::detail::gpu {

inline std::string folds_text()
{
    std::set<std::string> helpers = {"exp_f32", "exp_f64", "log_f32", "log_f64"};
    return NumberFunctions("wg_", helpers).text() + std::string(fold_text);
}

class DeviceFold {
public:
    DeviceFold(Gpu& gpu, const Ref<Block>& x, const Axes& axes)
        : gpu_(gpu), lines_(reduction_of(x, axes)), dtype_(x->dtype)
    {}
    /// What has as many elements as x, in lines along an axis.
    DeviceFold(Gpu& gpu, const Ref<Block>& x, std::size_t axis) : gpu_(gpu), dtype_(x->dtype)
    {
        lines_.x = contiguous(x);
        lines_.n = static_cast<std::size_t>(x->shape[axis]);
        for (std::size_t d = 0; d < x->shape.size(); ++d)
            if (d != axis) (d < axis ? lines_.outer : lines_.inner) *= static_cast<std::size_t>(x->shape[d]);
    }
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
        if (!f.line && f.inner * group <= 256 && f.n >= 2 * group)
            few_columns(f, group);
        else
            columns(f);
        return out;
    }

    /// log Σ exp x, by way of the greatest; into new memory of `shape`.
    Ref<Block> log_sum_exp(const Shape& shape)
    {
        const auto [shift, sum] = exponentials();
        return ended(1, shape, nullptr, shift, sum);
    }
    /// Softmax and log_softmax (ends 2 and 3), and what pulls them back (4 and 5), of g = x and y.
    Ref<Block> mapped(int end, const Shape& shape, const Block* y)
    {
        if (end < 4) {
            const auto [shift, sum] = exponentials();
            return ended(end, shape, nullptr, shift, sum);
        }
        Folding f;
        f.what = sums, f.line = 1;
        if (end == 4) f.map = with_second, f.y = y->data;
        return ended(end, shape, y, {}, run(f, flat()));
    }

private:
    Shape flat() const
    {
        return {static_cast<std::int64_t>(lines_.outer), static_cast<std::int64_t>(lines_.inner)};
    }
    /// What is subtracted, and the sums of the exponentials of what is left.
    std::pair<Ref<Block>, Ref<Block>> exponentials()
    {
        Folding f;
        f.what = greatest, f.line = 1;
        const Ref<Block> most = run(f, flat());
        Folding e;
        e.x = most->data, e.outer = integer(lines_.outer), e.inner = integer(lines_.inner);
        const Ref<Block> shift = fresh(flat(), most->count);
        e.out = shift->data;
        kernel("ends", e, integer(most->count));
        f.what = sums, f.map = exp_of_difference, f.r[0] = shift->data;
        return {shift, run(f, flat())};
    }
    Ref<Block> ended(int end, const Shape& shape, const Block* y, const Ref<Block>& shift,
                     const Ref<Block>& sum)
    {
        auto out = fresh(shape, element_count(shape));
        Folding f;
        f.end = end, f.x = lines_.x->data, f.y = y ? y->data : nullptr, f.out = out->data;
        f.r[0] = shift ? shift->data : nullptr, f.r[1] = sum->data;
        f.outer = integer(lines_.outer), f.n = integer(lines_.n), f.inner = integer(lines_.inner);
        kernel("ends", f, integer(out->count));
        return out;
    }
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
    if (!Kernels::available() || !differentiable(in[0]->dtype) || p.dtype != in[0]->dtype) return {};
    if (f.maps()) {
        if (in[0]->count == 0) return {};
        const bool back = f.what == Fold::What::softmax_pull || f.what == Fold::What::log_softmax_pull;
        const Ref<Block> y = back ? contiguous(in[1]) : Ref<Block>();
        const int end = 2 + static_cast<int>(f.what) - static_cast<int>(Fold::What::softmax);
        return DeviceFold(gpu, in[0], f.axis).mapped(end, in[0]->shape, y.get());
    }
    Folding what;
    switch (f.what) {
    case Fold::What::sum: what.what = sums; break;
    case Fold::What::mean: what.what = sums, what.divides = 1; break;
    case Fold::What::product: what.what = products; break;
    case Fold::What::maximum: what.what = greatest; break;
    case Fold::What::minimum: what.what = least; break;
    case Fold::What::log_sum_exp: break;
    default: return {};
    }
    DeviceFold fold(gpu, in[0], *f.axes);
    if (fold.lines().n == 0 || fold.lines().n > std::size_t{1} << 30) return {};
    if (f.what == Fold::What::log_sum_exp) return fold.log_sum_exp(fold.lines().shape(f.keepdims));
    what.divisor = static_cast<int>(fold.lines().n);
    return fold.run(what, fold.lines().shape(f.keepdims));
}

}  // namespace wengert::detail::gpu
