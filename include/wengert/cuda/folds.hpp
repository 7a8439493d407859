// Folds of whole axes on a device, of floats and doubles: launches of fold_text.hpp's kernels, which each pass has with its own
// formulas.
#pragma once

#include "../graph/emit/function_text.hpp"
#include "../graph/emit/cpp_helpers.hpp"
#include "../ops/folds.hpp"
#include "fold_text.hpp"
#include "moves.hpp"

namespace wengert::detail::gpu {

/// The text of one pass of a fold, and of what comes of each element.
class FoldText {
public:
    explicit FoldText(DType dtype) : dtype_(dtype) {}
    std::string of(const FoldProgram& program, std::size_t pass)
    {
        const FoldPass& p = program.passes[pass];
        const std::string none = literal_text(p.identity[0], dtype_);
        std::string out = function("T wg_with(T a, T b)", p.combine, "");
        out += "inline T wg_none() { return " + none + "; }\n";
        out += function("T wg_end(T a)", p.finish, "a");
        out += function("T wg_result(const wg_fold& f, wg_int to, T a)", p.result, "a");
        out += "inline T wg_map(const wg_fold& f, wg_int at, wg_int to)\n{\n    const T value = wg_mapped(f, "
               "at, to);\n" +
               std::string(p.keeps ? "    ((T*)f.kept)[at] = value;\n" : "") + "    return value;\n}\n";
        const std::string mapped =
            function("T wg_mapped(const wg_fold& f, wg_int at, wg_int to)", p.map, "((const T*)f.x)[at]");
        out += function("T wg_each(const wg_fold& f, wg_int at, wg_int to)", program.each, "0");
        std::string text = std::string("typedef ") + c_type(dtype_, Dialect::numbers) + " T;\n" +
                           std::string(fold_struct) + NumberFunctions("wg_", helpers_).text();
        for (const std::string& h : helpers_) text += cpp_helper(h, "wg_", false);
        return text + mapped + out + std::string(fold_text);
    }

private:
    /// What formulas read, as the kernels find it.
    std::vector<std::string> inputs() const
    {
        std::vector<std::string> in(FoldInput::count);
        in[FoldInput::element] = "((const T*)f.x)[at]";
        in[FoldInput::element + 1] = "((const T*)f.y)[at]";
        in[FoldInput::n] = "(T)f.count", in[FoldInput::number] = "(T)f.number";
        in[FoldInput::first] = "wg_first(f, to)", in[FoldInput::kept] = "((const T*)f.kept)[at]";
        in[FoldInput::least] = literal_text(is_single(dtype_) ? 0x1p-103 : 0x1p-970, dtype_);
        for (std::size_t q = 0; q < 3; ++q)
            in[FoldInput::r + q] = "((const T*)f.r[" + std::to_string(q) + "])[to]";
        in[FoldInput::a] = "a", in[FoldInput::b] = "b";
        return in;
    }
    std::string function(const std::string& head, const FoldFormula& f, const std::string& otherwise)
    {
        std::string body, value = otherwise;
        if (f) {
            std::array<DType, FoldInput::count> types;
            types.fill(dtype_);
            const TypedProgram p(f.program, f.roots[0], dtype_, types.data());
            value = TermCode(body, "    ", "wg_", helpers_).write(p, inputs());
        }
        return "inline " + head + "\n{\n" + body + "    return " + value + ";\n}\n";
    }

    DType dtype_;
    std::set<std::string> helpers_;
};

class DeviceFold {
public:
    DeviceFold(Gpu& gpu, const FoldForm& form, const FoldProgram& program, const Fold& f,
               const Ref<Block>* in)
        : gpu_(gpu), form_(form), program_(program), dtype_(in[0]->dtype)
    {
        if (f.maps()) {
            lines_.x = contiguous(in[0]);
            lines_.n = static_cast<std::size_t>(in[0]->shape[f.axis]);
            for (std::size_t d = 0; d < in[0]->shape.size(); ++d)
                if (d != f.axis)
                    (d < f.axis ? lines_.outer : lines_.inner) *= static_cast<std::size_t>(in[0]->shape[d]);
        } else
            lines_ = reduction_of(in[0], *f.axes);
        all_.x = lines_.x->data;
        all_.outer = integer(lines_.outer), all_.n = all_.count = integer(lines_.n);
        all_.stride = all_.n * integer(lines_.inner);
        all_.number = f.number;
        all_.line = !program.whole;
    }
    const Reduction& lines() const noexcept { return lines_; }

    /// A result for each line.
    Ref<Block> run(const Shape& shape)
    {
        Ref<Block> r[3];
        for (std::size_t q = 0; q < program_.passes.size(); ++q) {
            const bool last = q + 1 == program_.passes.size();
            r[q] = pass(q, last ? shape : Shape{all_.outer, integer(lines_.inner)});
            all_.r[q] = r[q]->data;
            results_[q] = r[q];
        }
        return r[program_.passes.size() - 1];
    }
    /// One for each element, of x and maybe a second operand.
    Ref<Block> run_each(const Shape& shape, const Block* second)
    {
        auto out = fresh(shape, element_count(shape));
        all_.y = second ? second->data : nullptr;
        all_.kept = out->data;
        run(Shape{all_.outer, integer(lines_.inner)});
        Folding f = all_;
        f.inner = integer(lines_.inner), f.out = out->data;
        kernel("each", f, integer(out->count));
        return out;
    }

private:
    Ref<Block> pass(std::size_t q, const Shape& shape)
    {
        pass_ = q;
        auto out = fresh(shape, lines_.outer * lines_.inner);
        if (out->count == 0) return out;
        Folding f = all_;
        f.out = out->data;
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
    static long long integer(std::size_t n) { return static_cast<long long>(n); }
    Ref<Block> fresh(const Shape& shape, std::size_t count) const
    {
        return make_elsewhere(current_thread(), static_cast<std::uint8_t>(lines_.x->device()), dtype_, shape,
                              count);
    }
    Ref<Block> fresh(long long count) const { return fresh(Shape{count}, static_cast<std::size_t>(count)); }
    void kernel(const char* name, const Folding& f, long long threads)
    {
        char key[32 + 2 * sizeof(void*)];
        std::snprintf(key, sizeof key, "fold %p %d", static_cast<const void*>(&form_),
                      static_cast<int>(pass_));
        const auto text = [&] { return FoldText(dtype_).of(program_, pass_); };
        launch(gpu_, Kernels::of(gpu_).find(gpu_, key, name, text), threads, f);
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
        join.kept = each->data, join.scratch = scratch->data;
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
        join.kept = each->data;
        kernel("join_columns", join, f.outer * f.inner);
    }
    /// `group` rows are read as one.
    void few_columns(const Folding& f, long long group)
    {
        Folding wide = f;
        wide.inner = f.inner * group, wide.n = f.n / group, wide.ends = 0;
        const Ref<Block> sums = fresh(f.outer * wide.inner);
        wide.out = sums->data;
        columns(wide);
        Folding join = f;
        join.kept = sums->data, join.inner = wide.inner, join.n = wide.n, join.tail = f.n % group * f.inner;
        kernel("join_few", join, f.outer * f.columns);
    }

    Gpu& gpu_;
    const FoldForm& form_;
    const FoldProgram& program_;
    Reduction lines_;
    Folding all_;
    Ref<Block> results_[3];
    std::size_t pass_ = 0;
    DType dtype_;
};

/// Null where the host has to help: whole numbers, places, states of several numbers, and lines that are done again.
inline Ref<Block> run_fold(Gpu& gpu, const Primitive& p, const void* op, const Ref<Block>* in)
{
    if (!Kernels::available() || !differentiable(in[0]->dtype) || p.dtype != in[0]->dtype) return {};
    Fold f;
    p.fold->describe(op, f);
    const FoldProgram program = p.fold->write();
    for (const FoldPass& pass : program.passes)
        if (pass.numbers() != 1 || pass.enough) return {};
    if (f.maps()) {
        if (in[0]->count == 0) return {};
        const Ref<Block> second = p.arity > 1 ? contiguous(in[1]) : Ref<Block>();
        return DeviceFold(gpu, *p.fold, program, f, in).run_each(in[0]->shape, second.get());
    }
    DeviceFold fold(gpu, *p.fold, program, f, in);
    if (fold.lines().n == 0 || fold.lines().n > std::size_t{1} << 30) return {};
    return fold.run(fold.lines().shape(f.keepdims));
}

}  // namespace wengert::detail::gpu
