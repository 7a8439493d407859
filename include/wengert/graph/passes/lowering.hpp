// Lowering: coarse primitives as the maps and reductions that they are made of, so that they fuse with what is around them.
// By default they stay, and run as library kernels: one call each, with eager's bits. A program that wants this includes
// the header and says PassOptions{.lower = passes::lowering}.
#pragma once

#include "../../ops/reductions.hpp"
#include "../../ops/softmax.hpp"
#include "../../ops/elementwise/math.hpp"
#include "../ir/fold_of.hpp"
#include "gradients.hpp"
#include "inlining.hpp"

namespace wengert::passes {

namespace detail {

/// A fold's passes as maps of tensors and folds of what they give.
template <class T> class LoweredFold {
public:
    LoweredFold(const Fold& f, const std::vector<AnyTensor>& in)
        : fold_(f), axes_(f.maps() ? Axes{static_cast<std::int64_t>(f.axis)} : *f.axes), in_(FoldInput::count)
    {
        const Tensor<T> x(in[0]);
        std::size_t count = 1;
        for (auto a : axes_) count *= static_cast<std::size_t>(x.shape()[static_cast<std::size_t>(a)]);
        for (std::size_t k = 0; k < in.size(); ++k) in_[k] = in[k];
        in_[FoldInput::n] = Tensor<T>(static_cast<T>(count)).any_unchecked();
        in_[FoldInput::number] = Tensor<T>(static_cast<T>(f.number)).any_unchecked();
    }
    /// Undefined where it stays: it is made of itself, or of what is no sum and the like.
    Tensor<T> run(const FoldProgram& p)
    {
        const FoldPass& first = p.passes[0];
        if (first.enough || (p.passes.size() == 1 && !first.result && !first.map && !p.each)) return {};
        for (std::size_t q = 0; q < p.passes.size(); ++q) {
            const FoldPass& pass = p.passes[q];
            const Tensor<T> x = pass.map ? evaluated(pass.map) : Tensor<T>(in_[0]);
            if (pass.keeps) in_[FoldInput::kept] = x.any_unchecked();
            const bool last = q + 1 == p.passes.size() && !fold_.maps();
            Tensor<T> s = folded(pass, x, last ? fold_.keepdims : true);
            if (s.any_unchecked().value.get() == nullptr) return {};
            in_[FoldInput::a] = s.any_unchecked();
            if (last && !fold_.keepdims) drop_axes();
            if (pass.result) s = evaluated(pass.result);
            if (s.any_unchecked().value.get() == nullptr) return {};
            in_[FoldInput::r + q] = s.any_unchecked();
        }
        return p.each ? evaluated(p.each) : Tensor<T>(in_[FoldInput::r + p.passes.size() - 1]);
    }

private:
    /// Results of the passes before lose the extents of 1 that the last one's has not.
    void drop_axes()
    {
        const Shape shape = Tensor<T>(in_[FoldInput::a]).shape();
        for (std::size_t q = 0; q < 3; ++q)
            if (AnyTensor& r = in_[FoldInput::r + q]; r.value)
                r = reshape(Tensor<T>(r), shape, Site{}).any_unchecked();
    }
    Tensor<T> folded(const FoldPass& p, const Tensor<T>& x, bool keepdims) const
    {
        const auto& steps = p.combine.program.steps;
        if (p.numbers() != 1 || steps.size() != 3) return {};
        switch (steps.back().kind) {
        case TermKind::add: return sum(x, axes_, keepdims, Site{});
        case TermKind::maximum: return amax(x, axes_, keepdims, Site{});
        case TermKind::minimum: return amin(x, axes_, keepdims, Site{});
        default: return {};
        }
    }
    /// In place of the first element: any number near the others does.
    void need_first()
    {
        if (in_[FoldInput::first].value) return;
        const Tensor<T> most = amax(Tensor<T>(in_[0]), axes_, true, Site{});
        in_[FoldInput::first] = where(is_finite(most, Site{}), most, T(0)).any_unchecked();
    }
    Tensor<T> evaluated(const FoldFormula& f)
    {
        std::vector<AnyTensor> values;
        for (const TermStep& s : f.program.steps) {
            if (s.kind == TermKind::input && s.a == FoldInput::first) need_first();
            values.push_back(step(s, values));
        }
        return Tensor<T>(values[static_cast<std::size_t>(f.roots[0])]);
    }
    /// Undefined where an operand is, or for an operation that none of the library's folds has.
    AnyTensor step(const TermStep& s, const std::vector<AnyTensor>& values) const
    {
        const auto at = [&](std::int32_t i) {
            return i < 0 ? AnyTensor() : values[static_cast<std::size_t>(i)];
        };
        if (s.kind == TermKind::input) return in_[static_cast<std::size_t>(s.a)];
        if (s.kind == TermKind::constant) return Tensor<T>(static_cast<T>(s.value)).any_unchecked();
        const AnyTensor any = at(s.a);
        if (!any.value || (s.b >= 0 && !at(s.b).value)) return {};
        if (s.kind == TermKind::where)
            return where(Tensor<bool>(any), Tensor<T>(at(s.b)), Tensor<T>(at(s.c))).any_unchecked();
        const Tensor<T> a(any), b(s.b < 0 ? any : at(s.b));
        if (s.kind == kind_of<Exp>) return exp(a).any_unchecked();
        if (s.kind == kind_of<Log>) return log(a).any_unchecked();
        switch (s.kind) {
        case TermKind::add: return (a + b).any_unchecked();
        case TermKind::subtract: return (a - b).any_unchecked();
        case TermKind::multiply: return (a * b).any_unchecked();
        case TermKind::divide: return (a / b).any_unchecked();
        case TermKind::square: return square(a).any_unchecked();
        case TermKind::sqrt: return sqrt(a).any_unchecked();
        case TermKind::is_finite: return is_finite(a, Site{}).any_unchecked();
        default: return {};
        }
    }

    const Fold& fold_;
    const Axes axes_;
    std::vector<AnyTensor> in_;  ///< of formulas
};

ValueId lower_rule(Rewrite& r, GraphNode& n);

}  // namespace detail

/// Folds of several passes, or of more than the elements themselves, as maps and reductions: softmax and its kin, mean, var, logsumexp. mean keeps its bits; the others
/// round in another order, by a few units in the last place of the largest term.
Graph lowering(const Graph& g, const PassOptions& options = {});

}  // namespace wengert::passes

#ifndef WENGERT_COMPILED
#include "impl/lowering.ipp"
#endif
