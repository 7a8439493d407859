// kernel(f): a scalar function of one cell, with its branches, as a function over arrays.
#pragma once

#include <mutex>

#include "../transforms/closure.hpp"
#include "packed.hpp"
#include "way_tensors.hpp"

namespace wengert {

/// What kernel() does with functions of many branches.
struct KernelOptions {
    std::size_t most_ways = 64;  ///< with more of them each cell runs by itself
};

namespace detail {

template <class T, class X> Tensor<T> kernel_operand(const X& x)
{
    if constexpr (std::is_arithmetic_v<X>) {
        return Tensor<T>(x);
    } else {
        static_assert(std::is_same_v<typename X::value_type, T>,
                      "wengert: kernel: the tensors have one dtype; use cast");
        return argument(x);
    }
}

/// The dtype of the first tensor among the arguments.
template <class First, class... X> struct kernel_dtype : kernel_dtype<X...> {};
template <class First, class... X>
    requires requires(const First& x) { x.any(); }
struct kernel_dtype<First, X...> {
    using type = typename First::value_type;
};

/// What the calls of a kernel have met, for all copies of it.
struct KernelWays {
    std::recursive_mutex mutex;
    std::unique_ptr<Way> root;
    std::size_t count = 0, operations = 0;
    bool too_many = false;
};

template <class F> class Kernel : public Closure<Kernel<F>> {
public:
    Kernel(const KernelOptions& options, const Site& made)
        : Closure<Kernel>(made), options_(options), single_(std::make_shared<KernelWays>()),
          twice_(std::make_shared<KernelWays>())
    {}
    template <class... X> static constexpr bool accepts()
    {
        return (is_tensor<Argument<X>> || ...) && ((is_tensor<Argument<X>> || std::is_arithmetic_v<X>)&&...);
    }
    template <class... X> auto at_line(const Site& at, const X&... x) const
    {
        using T = typename kernel_dtype<Argument<X>...>::type;
        using Y = decltype(F{}((static_cast<void>(x), Real<T>())...));
        const std::vector<Tensor<T>> in{kernel_operand<T>(x)...};
        Shape shape;
        for (const auto& t : in) shape = broadcast_shapes("kernel", shape, t.shape("kernel", at), at);
        std::vector<Tensor<T>> out = results<T, sizeof...(X)>(in, shape, at);
        for (auto& y : out) y = broadcast_to(y, shape, at);
        if constexpr (is_real<Y>)
            return std::move(out[0]);
        else
            return out;
    }
    /// How many ways through the function have been met, and how it runs.
    std::string explain() const
    {
        std::string text;
        for (const auto& [ways, name] : {std::pair(single_.get(), " (float)"), std::pair(twice_.get(), "")}) {
            if (ways->count == 0) continue;
            text += std::to_string(ways->count) + (ways->count == 1 ? " way" : " ways") + name + ", " +
                    std::to_string(ways->operations) + " operations on arrays";
            if (ways->too_many)
                text += "; more than " + std::to_string(options_.most_ways) +
                        " ways: each cell runs by itself, recorded as scalar code";
            text += "\n";
        }
        return text.empty() ? "not called yet\n" : text;
    }

private:
    template <class T, std::size_t n>
    std::vector<Tensor<T>> results(const std::vector<Tensor<T>>& in, const Shape& shape, const Site& at) const
    {
        KernelWays& ways = sizeof(T) == sizeof(float) ? *single_ : *twice_;
        const std::lock_guard<std::recursive_mutex> lock(ways.mutex);
        if (!ways.root) meet<T, n>(ways, in, shape, 0);
        if (Recorder* r =
                recorder()) {  // a graph has the ways that its cells go; more may be known the next time
            r->by_value();
            explore<T, n>(ways, in, shape);
        }
        while (!ways.too_many) {
            try {
                return WayTensors<T>(in, shape).run(*ways.root);
            } catch (const UnmetWay& unmet) {
                meet<T, n>(ways, in, shape, unmet.cell);
            }
        }
        return cell_by_cell<T, n>(in, shape, at);
    }
    /// Meets all ways that these cells go, unseen by the trace that is being made.
    template <class T, std::size_t n>
    void explore(KernelWays& ways, const std::vector<Tensor<T>>& in, const Shape& shape) const
    {
        const Restore<Recorder*> unseen(current_thread().recorder, nullptr);
        const NoGrad off;
        std::vector<Tensor<T>> values;
        for (const auto& x : in) values.push_back(Tensor<T>(AnyTensor{x.any().value, {}}));
        while (!ways.too_many) {
            try {
                static_cast<void>(WayTensors<T>(values, shape).run(*ways.root));
                return;
            } catch (const UnmetWay& unmet) {
                meet<T, n>(ways, values, shape, unmet.cell);
            }
        }
    }
    /// Records the way of one cell. An array without cells has ones.
    template <class T, std::size_t n>
    void meet(KernelWays& ways, const std::vector<Tensor<T>>& in, const Shape& shape, std::size_t cell) const
    {
        T values[n];
        {
            const Restore<Recorder*> unseen(current_thread().recorder, nullptr);
            for (std::size_t k = 0; k < n; ++k) {
                const Tensor<T> x(AnyTensor{in[k].any().value, {}});
                const Ref<Block> b = readable(broadcast_to(x, shape).any().value);
                values[k] = b->count ? b->template as<T>()[cell] : T(1);
            }
        }
        F f{};
        const WayRun run = run_once<T, n>(f, values);
        if (!add_way(ways.root, run))
            throw TapeError(
                "[kernel] the function does not do the same for the same numbers: it must depend on "
                "its arguments alone");
        ways.operations += run.steps.size() - n;
        ways.too_many = ++ways.count > options_.most_ways;
    }
    template <class T, std::size_t n>
    std::vector<Tensor<T>> cell_by_cell(const std::vector<Tensor<T>>& in, const Shape& shape,
                                        const Site& at) const
    {
        std::vector<std::vector<Real<T>>> cells;
        for (const auto& x : in) cells.push_back(elements(broadcast_to(x, shape, at), at));
        std::vector<std::vector<Real<T>>> out;
        F f{};
        for (std::size_t c = 0; c < cells[0].size(); ++c) {
            const auto y = [&]<std::size_t... k>(std::index_sequence<k...>) {
                return f(cells[k][c]...);
            }(std::make_index_sequence<n>());
            std::size_t i = 0;
            tree::for_each(
                [&](const Real<T>& r) {
                    if (out.size() == i) out.emplace_back();
                    out[i++].push_back(r);
                },
                y);
        }
        std::vector<Tensor<T>> results;
        for (const auto& y : out) results.push_back(Tensor<T>(gathered(y.data(), y.size(), shape, at)));
        return results;
    }

    KernelOptions options_;
    std::shared_ptr<KernelWays> single_, twice_;
};

}  // namespace detail

/// A generic lambda of one cell's numbers, with plain `if`s and loops, as a function over arrays that broadcast: the operations
/// that it does are recorded once for each way through it, and done on all cells, ways joined by selection. It gives a tensor
/// for a Real, a std::vector of tensors for a struct of them. The lambda must not capture: pass numbers as arguments.
template <class F> auto kernel(F, KernelOptions options = {}, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>,
                  "wengert: kernel(f): the lambda must not capture; pass what it needs as arguments");
    return detail::Kernel<F>(options, at);
}

}  // namespace wengert
