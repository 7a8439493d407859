// Folds of whole axes on a device: launches of fold_text.hpp's kernels, pass after pass.
#pragma once

#include <bit>
#include <map>

#include "../../graph/ir/fold_of.hpp"
#include "fold_formulas.hpp"
#include "moves.hpp"

namespace wengert::detail::gpu {

/// The formulas of a fold, written once for all types.
inline const FoldProgram& formulas_of(const FoldForm& form)
{
    static std::mutex mutex;
    static auto* const all = new std::map<const FoldForm*, FoldProgram>;
    const std::lock_guard lock(mutex);
    auto found = all->find(&form);
    if (found == all->end()) found = all->emplace(&form, form.write()).first;
    return found->second;
}

/// A fold whose elements are made where they are folded: its kernels, which a graph's text has, and what these are given.
struct FoldChain {
    std::string key, names;  ///< of the text, and what the kernels' names begin with
    std::vector<std::uintptr_t> parameters;
};

/// "" where some formula cannot be written.
inline std::string fold_text(const FoldProgram& program, const FoldTypes& types, std::size_t operands)
{
    if (!types.plain && types.element != types.result) return {};
    FoldText text(program, types, operands);
    return text ? text.text() : std::string();
}

class DeviceFold {
public:
    DeviceFold(Gpu& gpu, const Primitive& p, const Fold& f, const Ref<Block>* in)
        : gpu_(gpu), primitive_(p), fold_(f), program_(formulas_of(*p.fold)),
          types_(program_, in[0]->dtype, p.dtype), maps_(f.maps())
    {
        if (maps_)
            lines_along(in);
        else
            lines_ = reduction_of(in[0], *f.axes);
        const std::size_t n = maps_ ? p.arity : 1;
        for (std::size_t k = 0; k < n; ++k) operands_.push_back(k ? contiguous(in[k]) : lines_.x);
        device_ = static_cast<std::uint8_t>(lines_.x->device());
    }
    /// Of an operand of this shape and type that `chain` makes.
    DeviceFold(Gpu& gpu, const Primitive& p, const Fold& f, const Shape& shape, DType dtype,
               std::uint8_t device, const FoldChain& chain)
        : gpu_(gpu), primitive_(p), fold_(f), program_(formulas_of(*p.fold)),
          types_(program_, dtype, p.dtype), maps_(f.maps()), device_(device), chain_(&chain), key_(chain.key)
    {
        const FoldLines lines(shape, f);
        lines_.outer = static_cast<std::size_t>(lines.outer), lines_.n = static_cast<std::size_t>(lines.n);
        lines_.inner = static_cast<std::size_t>(lines.inner);
    }
    /// Null where the host has to help: no formulas can be written, or there is an error to be thrown.
    Ref<Block> run()
    {
        if (program_.needs_elements && lines_.n == 0) return {};
        if (!written()) return {};
        const Shape& shape = maps_ ? lines_.x->shape : lines_.shape(fold_.keepdims);
        const Ref<Block> out = fresh(primitive_.dtype, shape, element_count(shape));
        run_into(*out);
        return out;
    }
    void run_into(Block& out)
    {
        if (out.count == 0) return;
        Folding f = base();
        std::vector<Ref<Block>> kept;  // results of passes
        for (std::size_t p = 0; p < program_.passes.size(); ++p) {
            const bool last = p + 1 == program_.passes.size(), first_of_some = p == 0 && program_.whole;
            const bool there = !maps_ && (last || first_of_some);
            if (!there) kept.push_back(fresh(types_.number, results()));
            f.out = there ? out.data : kept.back()->data, f.kept = out.data;
            if (p == 0 && program_.passes[0].enough) {
                enough_ = fresh(DType::boolean, results());
                f.enough = enough_->data;
            }
            f.line = p > 0 || !program_.whole, f.rest = p > 0 && program_.whole;
            pass(p, f);
            f.r[p] = f.out;
        }
        f.out = out.data;
        if (maps_) kernel("each", f, integer(out.count));
    }

private:
    /// What has as many elements as its operands, in lines along an axis.
    void lines_along(const Ref<Block>* in)
    {
        lines_.x = contiguous(in[0]);
        const Shape& s = in[0]->shape;
        lines_.n = static_cast<std::size_t>(s[fold_.axis]);
        for (std::size_t d = 0; d < s.size(); ++d)
            if (d != fold_.axis)
                (d < fold_.axis ? lines_.outer : lines_.inner) *= static_cast<std::size_t>(s[d]);
    }
    static long long integer(std::size_t n) { return static_cast<long long>(n); }
    long long results() const { return integer(lines_.outer * lines_.inner); }
    Ref<Block> fresh(DType dtype, const Shape& shape, std::size_t count) const
    {
        return make_elsewhere(current_thread(), device_, dtype, shape, count);
    }
    Ref<Block> fresh(DType dtype, long long count) const
    {
        return fresh(dtype, Shape{count}, static_cast<std::size_t>(count));
    }
    /// Memory for states of a pass.
    Ref<Block> states(std::size_t pass, long long count) const
    {
        const FoldPass& p = program_.passes[pass];
        const std::size_t bytes = p.places ? 16 : p.numbers() * size_of(types_.number);
        return fresh(DType::boolean, count * integer(bytes));
    }
    std::string key() const
    {
        char text[48];
        std::snprintf(text, sizeof text, "fold %p %d", static_cast<const void*>(&primitive_),
                      static_cast<int>(types_.element));
        return text;
    }
    /// Has the text been compiled, or can it be?
    bool written()
    {
        key_ = key();
        return Kernels::of(gpu_).has(gpu_, key_,
                                     [&] { return fold_text(program_, types_, operands_.size()); });
    }
    void kernel(const std::string& name, const Folding& f, long long threads)
    {
        if (chain_) return chained(chain_->names + name, f, threads);
        launch(gpu_, loaded(name), threads, f);
    }
    /// Of a text that is there: see written().
    Function* loaded(const std::string& name) const
    {
        return Kernels::of(gpu_).find(gpu_, key_, name.c_str(), [] { return std::string(); });
    }
    void chained(const std::string& name, const Folding& f, long long threads)
    {
        std::vector<std::byte> all(sizeof f + chain_->parameters.size() * sizeof(std::uintptr_t));
        std::memcpy(all.data(), &f, sizeof f);
        std::memcpy(all.data() + sizeof f, chain_->parameters.data(), all.size() - sizeof f);
        void* given[] = {all.data()};
        launch_with(gpu_, loaded(name), threads, given);
    }
    void kernel(const char* name, std::size_t pass, const Folding& f, long long threads)
    {
        kernel(name + ("_" + std::to_string(pass)), f, threads);
    }
    Folding base() const
    {
        Folding f;
        for (std::size_t k = 0; k < operands_.size(); ++k) f.x[k] = operands_[k]->data;
        f.outer = integer(lines_.outer), f.n = f.count = integer(lines_.n);
        f.inner = f.columns = integer(lines_.inner);
        f.stride = f.n * f.inner, f.number = fold_.number, f.least = types_.least();
        return f;
    }
    void pass(std::size_t p, Folding& f)
    {
        const auto group = static_cast<long long>(64 / size_of(types_.number));
        if (f.rest || f.inner == 1 || f.n == 0)
            rows(p, f);
        else if (!f.line && !types_.plain && f.inner * group <= 256 && f.n >= 2 * group)
            grouped_columns(p, f, group);
        else
            static_cast<void>(columns(p, f));
    }
    void rows(std::size_t p, Folding f)
    {
        const long long lines = f.outer * f.inner;
        f.parts = std::max(1LL, (f.n + types_.part() - 1) / types_.part());
        Ref<Block> each, scratch;
        if (f.parts > 1) {
            each = states(p, lines * f.parts), scratch = states(p, lines * ((f.parts + 1) / 2));
            f.states = each->data, f.scratch = scratch->data;
        }
        const auto length = static_cast<unsigned long long>(std::max(f.n, 1LL));
        f.lanes = static_cast<int>(
            std::min(types_.lanes(), static_cast<long long>(std::bit_ceil(std::min(length, 256ULL)))));
        kernel("rows", p, f, lines * f.parts * f.lanes);
        if (f.parts > 1) kernel("join_rows", p, f, lines * static_cast<long long>(Kernels::block));
    }
    /// Where rows are read several at once, the states of all columns.
    Ref<Block> columns(std::size_t p, Folding f)
    {
        f.parts = std::max(1LL, (f.n + 255) / 256);
        const bool stays = f.parts > 1 || f.columns != f.inner;
        const Ref<Block> each = stays ? states(p, f.outer * f.parts * f.inner) : Ref<Block>();
        if (each) f.states = each->data;
        kernel("columns", p, f, f.outer * f.parts * f.inner);
        if (f.parts == 1) return each;
        Ref<Block> joined;
        if (f.columns != f.inner) {
            joined = states(p, f.outer * f.inner);
            f.scratch = joined->data;
        }
        const long long all = f.outer * f.inner;
        f.few =
            f.parts >= few_columns && all < gpu_.multiprocessors() * static_cast<long long>(Kernels::block);
        kernel("join_columns", p, f, f.few ? (all + few_columns - 1) / few_columns * Kernels::block : all);
        return joined;
    }
    /// A block of threads joins so many columns where these are few.
    static constexpr long long few_columns = 32;
    /// `group` rows are read as one.
    void grouped_columns(std::size_t p, Folding f, long long group)
    {
        f.tail = f.n % group * f.inner;
        f.inner *= group, f.n /= group;
        const Ref<Block> sums = columns(p, f);
        f.scratch = sums->data;
        kernel("join_few", p, f, f.outer * f.columns);
    }

    Gpu& gpu_;
    const Primitive& primitive_;
    const Fold& fold_;
    const FoldProgram& program_;
    FoldTypes types_;
    bool maps_;
    Reduction lines_;
    std::vector<Ref<Block>> operands_;
    Ref<Block> enough_;
    std::uint8_t device_ = 0;
    const FoldChain* chain_ = nullptr;
    std::string key_;
};

/// Null where the host has to help.
inline Ref<Block> run_fold(Gpu& gpu, const Primitive& p, const void* op, const Ref<Block>* in)
{
    if (!Kernels::any()) return {};
    Fold f;
    p.fold->describe(op, f);
    return DeviceFold(gpu, p, f, in).run();
}

}  // namespace wengert::detail::gpu
