// What a kernel is made of: a function of one cell's numbers, and who calls it on arrays. The latter does not depend on the function,
// so that it is compiled once (kernel_calls.hpp).
#pragma once

#include <memory>
#include <span>

#include "../../graph/ir/backend.hpp"
#include "../../ops/shape.hpp"
#include "paths.hpp"

namespace wengert {

/// How kernel() treats functions of many branches, and which backend runs them.
struct KernelOptions {
    std::size_t most_ways = 64;               ///< with more of them each cell runs by itself
    std::size_t most_operations = 1'000'000;  ///< of one cell; a loop that does more is an error
    Backend backend{};        ///< of calls in eager code: `tile` when not given; `native` takes a compiler
    bool background = false;  ///< tiles serve until another thread has compiled for the backend
};

namespace detail {

/// A function of one cell's numbers: recorded once, or done for each cell by itself.
template <class T> struct CellFunction {
    const void* function;
    bool captures;  ///< may it go by more than its arguments?
    PathRun (*run)(const void* function, const T* cell, const std::vector<bool>& outcomes,
                   std::size_t most_operations, const Site& at, const Path* known);
    std::vector<Tensor<T>> (*each)(const void* function, const std::vector<Tensor<T>>& in, const Shape& shape,
                                   const Site& at);
};

/// f for each cell by itself, as scalar code.
template <class T, std::size_t n, class F>
std::vector<Tensor<T>> each_cell(const void* function, const std::vector<Tensor<T>>& in, const Shape& shape,
                                 const Site& at)
{
    std::vector<std::vector<Real<T>>> cells, out;
    for (const auto& x : in) cells.push_back(elements(broadcast_to(x, shape, at), at));
    const bool none = cells[0].empty();  // then one of ones tells how many numbers the function returns
    if (none)
        for (auto& x : cells) x.emplace_back(T(1));
    for (std::size_t c = 0; c < cells[0].size(); ++c) {
        const auto y = [&]<std::size_t... k>(std::index_sequence<k...>) {
            return call_cell<F>(function, cells[k][c]...);
        }(std::make_index_sequence<n>());
        std::size_t i = 0;
        tree::for_each(
            [&](const Real<T>& r) {
                if (c == 0) out.emplace_back();
                if (i < out.size()) out[i].push_back(r);
                ++i;
            },
            y);
        if (i != out.size())
            fail<ShapeError>("kernel",
                             "cell " + std::to_string(c) + " returns " + std::to_string(i) +
                                 " numbers, and the first one " + std::to_string(out.size()),
                             at);
    }
    if (none)
        for (auto& y : out) y.clear();
    std::vector<Tensor<T>> results;
    for (const auto& y : out) results.push_back(Tensor<T>(gathered(y.data(), y.size(), shape, at)));
    return results;
}

/// The calls of a kernel in one precision, for all of its copies.
template <class T> class ArrayCalls {
public:
    using Set = std::vector<bool>;  ///< of a cell's arguments

    ArrayCalls() = default;
    ArrayCalls(const ArrayCalls&) = delete;
    ArrayCalls& operator=(const ArrayCalls&) = delete;
    virtual ~ArrayCalls() = default;
    virtual std::vector<Tensor<T>> call(const CellFunction<T>& f, const std::vector<Tensor<T>>& in,
                                        const Site& at) = 0;
    /// For each result the arguments that it depends on, by the paths that have been met; nothing where each cell runs by itself.
    virtual std::vector<Set> pattern(std::size_t arguments) const = 0;
    virtual std::string explain(const char* precision) const = 0;
};
template <class T> std::shared_ptr<ArrayCalls<T>> array_calls(const KernelOptions& options);
/// A path's operations on these tensors in the place of its numbers.
template <class T> std::vector<Tensor<T>> run_on_tensors(const Path& path, const std::vector<Tensor<T>>& in);
/// The outcomes of a cell with these numbers, unseen by what records.
template <class T> PathOutcomes outcomes_of(const Path& path, std::span<const T> cell);

#ifdef WENGERT_COMPILED
extern template std::shared_ptr<ArrayCalls<float>> array_calls(const KernelOptions&);
extern template std::shared_ptr<ArrayCalls<double>> array_calls(const KernelOptions&);
extern template std::vector<Tensor<float>> run_on_tensors(const Path&, const std::vector<Tensor<float>>&);
extern template std::vector<Tensor<double>> run_on_tensors(const Path&, const std::vector<Tensor<double>>&);
extern template PathOutcomes outcomes_of(const Path&, std::span<const float>);
extern template PathOutcomes outcomes_of(const Path&, std::span<const double>);
#endif

}  // namespace detail
}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "kernel_calls.hpp"
#endif
