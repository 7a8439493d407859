// Losses: cross_entropy and mse.
#pragma once

#include "reductions.hpp"
#include "softmax.hpp"
#include "take.hpp"

namespace wengert {

namespace detail {

/// One for each row of the logits.
inline void demand_labels(const Shape& logits, const Shape& labels)
{
    demand_rank(logits, 1, true);
    same_shape(Shape(logits.data(), logits.size() - 1), labels, "labels");
}

/// The logits as rows of classes, and the label of each row. Throws IndexError for labels that name no class.
template <class T> struct Labelled {
    Ref<Block> x, labels;
    std::size_t rows, classes;
    Labelled(const Ref<Block>& logits, const Ref<Block>& of, const Site& at)
        : x(contiguous(logits)), labels(contiguous(of)), rows(of->count),
          classes(static_cast<std::size_t>(logits->shape.back()))
    {
        for (std::size_t i = 0; i < rows; ++i)
            if (const std::int64_t l = label(i); l < 0 || l >= logits->shape.back())
                fail<IndexError>("cross_entropy",
                                 "label " + std::to_string(l) + " at position " + std::to_string(i) +
                                     " is none of the " + std::to_string(classes) +
                                     " classes of logits with shape " + to_string(logits->shape),
                                 at);
    }
    std::int64_t label(std::size_t i) const { return labels->as<std::int64_t>()[i]; }
    std::size_t place(std::size_t i) const { return i * classes + static_cast<std::size_t>(label(i)); }
};

}  // namespace detail

/// y[r] = x[r, label of r]: what is left of rows of classes.
struct AtLabels {
    static constexpr std::string_view name = "at_labels";
    static constexpr bool linear = true;
    void describe(Index& p) const
    {
        detail::demand_labels(p.shape(0), p.shape(1));
        const Positions i = p.axes_of(1);
        Positions from = i;
        from.push_back(p.element(1, i));
        p.write(i);
        p.read(0, from);
    }
};

/// v̄(g, x) = g (softmax(x) − one_hot(labels)) / N, for a scalar g;  ḡ = Σ h v̄(1, x),  x̄ = g/N softmax'(x) h
struct CrossEntropyPull {
    static constexpr std::string_view name = "cross_entropy_pull";
    static constexpr unsigned saves = 0b0111;
    using Labels = Tensor<std::int64_t>;
    template <class T>
    Ref<Block> value(const Ref<Block>& g, const Ref<Block>& logits, const Ref<Block>& labels,
                     const Site& at) const
    {
        const detail::Labelled<T> c(logits, labels, at);
        auto out = make_block(logits->dtype, logits->shape);
        T* y = out->template as<T>();
        kernels::fold_lines<Softmax>(c.rows, c.classes, 1, 0, y,
                                     static_cast<const T*>(c.x->template as<T>()));
        const T scale = *g->template as<T>() / static_cast<T>(c.rows);
        for (std::size_t i = 0; i < c.rows; ++i) y[c.place(i)] -= T(1);
        for (std::size_t i = 0; i < out->count; ++i) y[i] *= scale;
        return out;
    }
    template <class T> Tensor<T> composed(const Tensor<T>& g, const Tensor<T>& x, const Labels& labels) const
    {
        const Tensor<T> chosen = one_hot<T>(labels, x.shape().back(), Site{});
        return (softmax(x, -1, Site{}) - chosen) * (g / static_cast<T>(labels.size()));
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& h, const Tensor<T>&, const Tensor<T>& x, const Labels& labels,
                   const Tensor<T>&) const
    {
        return sum(h * apply<CrossEntropyPull, T>(*this, Site{}, detail::one_beside(x), x, labels), Site{});
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& h, const Tensor<T>& g, const Tensor<T>& x, const Labels& labels,
                   const Tensor<T>&) const
    {
        const SoftmaxPull along{x.dimension() - 1};
        return g / static_cast<double>(labels.size()) *
               apply<SoftmaxPull, T>(along, Site{}, h, softmax(x, -1, Site{}));
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dg, const Tensor<T>& dx, const Labels&, const Tensor<T>& g,
                   const Tensor<T>& x, const Labels& labels, const Tensor<T>&) const
    {
        return apply<CrossEntropyPull, T>(*this, Site{}, dg, x, labels) + pull(wrt<1>{}, dx, g, x, labels, x);
    }
};

/// y = −Σ log_softmax(x) at the labels, over N rows, / N;  x̄ = ȳ (softmax(x) − one_hot(labels)) / N
struct CrossEntropy {
    static constexpr std::string_view name = "cross_entropy";
    static constexpr unsigned saves = 0b011;
    using Labels = Tensor<std::int64_t>;
    template <class T>
    Ref<Block> value(const Ref<Block>& logits, const Ref<Block>& labels, const Site& at) const
    {
        const detail::Labelled<T> c(logits, labels, at);
        const auto each = make_block(logits->dtype, Shape{c.rows});
        auto out = make_block(logits->dtype, Shape());
        T *e = each->template as<T>(), *y = out->template as<T>();
        const T* x = c.x->template as<T>();
        // as −log_softmax: ln Σ e^(x − m) − (x − m), which large logits do not round
        for (std::size_t i = 0; i < c.rows; ++i) {
            const auto row = kernels::row_results<LogSoftmax>(x + i * c.classes, c.classes);
            e[i] = row[1] - (x[c.place(i)] - row[0]);
        }
        kernels::sum<T>(e, 1, c.rows, 1, y);
        *y /= static_cast<T>(c.rows);
        return out;
    }
    template <class T> Tensor<T> composed(const Tensor<T>& x, const Labels& labels) const
    {
        // 0 − y, as −y of a row that is certain were −0
        return mean(T(0) - apply<AtLabels, T>({}, Site{}, log_softmax(x, -1, Site{}), labels), Site{});
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Labels& labels,
                   const Tensor<T>&) const
    {
        return apply<CrossEntropyPull, T>({}, Site{}, g, x, labels);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dot, const Labels&, const Tensor<T>& x, const Labels& labels,
                   const Tensor<T>&) const
    {
        return sum(dot * apply<CrossEntropyPull, T>({}, Site{}, detail::one_beside(x), x, labels), Site{});
    }
};

/// The mean over all rows of −log_softmax(logits) at the row's label; classes are the last axis. Throws ShapeError when
/// the labels' shape is not that of the logits without it, IndexError for labels outside of [0, classes).
template <Differentiable T, class D>
Tensor<T, D> cross_entropy(const Tensor<T, D>& logits,
                           const std::type_identity_t<Tensor<std::int64_t, D>>& labels,
                           Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Shape& s = logits.shape("cross_entropy", at);
    if (s.empty() || !(labels.shape("cross_entropy", at) == Shape(s.data(), s.size() - 1)))
        fail<ShapeError>("cross_entropy",
                         "logits of shape " + to_string(s) + " do not fit labels of shape " +
                             to_string(labels.shape()) + ": one label a row is expected",
                         at);
    return apply<CrossEntropy, T>({}, at, logits, labels);
}

/// The mean of (a − b)² over all elements; a and b broadcast.
template <Differentiable T, class D>
Tensor<T, D> mse(const Tensor<T, D>& a, const std::type_identity_t<Operand<T, D>>& b)
{
    return mean(square(ops::subtract<T>(a, *b, b.at), b.at), b.at);
}

}  // namespace wengert
