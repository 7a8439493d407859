// Between tensors and reals: elements(x) and stack(reals), in one derivative.
#pragma once

#include <span>
#include <vector>

#include "../../ops/elementwise/elementwise.hpp"
#include "../real/real.hpp"

namespace wengert {

namespace detail {

template <class T> std::vector<Real<T>> elements_of(const AnyTensor& x, const Site& at);
template <class T>
AnyTensor gathered(const Real<T>* x, std::size_t n, const Shape& shape, const Site& at,
                   std::string_view name = "stack");

/// In a kernel's recording: of which of the cell's numbers a tensor was made. Other tensors are refused, as those of one cell.
inline const CellTensors::Gathered* cells_numbers(const Tape& tape, const AnyTensor& x, bool records,
                                                  const Site& at)
{
    const auto* const s = static_cast<const ScalarStream*>(tape.extension);
    if (!s || !s->cell_tensors) return nullptr;
    const CellTensors::Gathered* const known = s->cell_tensors->find(*x.value);
    if (known ? !records && s->cell_tensors->is_cells(*x.value) : x.node.get() != nullptr)
        s->cell_tensors->refuse_tensors(at);
    return known;
}

/// A graph would take what is computed from reals for constants.
inline void refuse_in_graph(const Site& at)
{
    if (Recorder* r = recorder(); r && r->holds())
        r->refuse(
            "elements of a tensor as Reals: a graph does not see scalar code; freeze tensors, or a kernel",
            at);
}

/// A tensor's elements as reals, one after another.
template <class T> class Elements {
public:
    Elements(const AnyTensor& x, const Site& at);
    std::size_t count() const noexcept { return block_->count; }
    Real<T> next() noexcept { return {*values_++, ScalarHandle(std::exchange(handle_, handle_ + active_))}; }

private:
    Ref<Block> block_;
    const T* values_;
    std::uint64_t handle_ = 0, active_ = 0;  ///< the next one's handle, and what comes between two
};

/// The parameters of the node of a tensor that was made from reals: their positions, 0 for constants.
using ScalarPositions = std::vector<ScalarPosition>;

/// A tensor that is being made from reals, one after another.
template <class T> class Gathering {
public:
    /// `name`: of what the user called, for errors.
    Gathering(const Shape& shape, const Site& at, std::string_view name)
        : out_{make_block(dtype_of<T>(), shape), {}}, values_(out_.value->template as<T>()), at_(at),
          name_(name)
    {}
    [[gnu::always_inline]] void add(const Real<T>& x)
    {
        values_[count_] = x.plain();
        if (x.is_active()) {
            if (x.handle().span() == known_ && x.handle().index() - first_ < length_) [[likely]]
                positions_[count_] = (chunk_ + x.handle().index()) & kept_;
            else
                look(x);
        }
        ++count_;
    }
    AnyTensor made();

private:
    /// A number of another span, or on other levels, than the one before it: what holds for it holds for the next ones like it.
    void look(const Real<T>& x);

    AnyTensor out_;
    T* values_;
    Site at_;
    std::string_view name_;
    ScalarPositions positions_;
    std::size_t count_ = 0;
    std::uint32_t known_ = ScalarCursor::nothing;  ///< a span's number,
    std::uint32_t first_ = 0, length_ = 0;         ///< the indices in that span,
    ScalarPosition kept_ = 0, chunk_ = 0;          ///< whether its numbers count, and where they are
    std::uint64_t mask_ = 0;
    std::vector<Node*> from_;  ///< the nodes of their spans
};

#ifdef WENGERT_COMPILED
extern template class Elements<float>;
extern template class Gathering<float>;
extern template std::vector<Real<float>> elements_of(const AnyTensor&, const Site&);
extern template AnyTensor gathered(const Real<float>*, std::size_t, const Shape&, const Site&,
                                   std::string_view);
extern template class Elements<double>;
extern template class Gathering<double>;
extern template std::vector<Real<double>> elements_of(const AnyTensor&, const Site&);
extern template AnyTensor gathered(const Real<double>*, std::size_t, const Shape&, const Site&,
                                   std::string_view);
#endif

}  // namespace detail

/// The elements of a tensor in row-major order as numbers; they depend on it.
template <std::floating_point T, class D>
std::vector<Real<T>> elements(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::elements_of<T>(x.any("elements", at), at);
}

/// A tensor of rank 1 that depends on these numbers.
template <std::floating_point T>
Tensor<T> stack(std::span<const Real<T>> x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return Tensor<T>(detail::gathered(x.data(), x.size(), Shape{x.size()}, at));
}
template <std::floating_point T>
Tensor<T> stack(const std::vector<Real<T>>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return stack(std::span<const Real<T>>(x), at);
}

/// Of any range of reals that lie in one piece: arrays, spans, another library's vectors.
template <class Range>
    requires requires(const Range& x) {
        x.data();
        x.size();
        requires detail::is_real<typename Range::value_type>;
    }
auto stack(const Range& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    using R = std::remove_cv_t<typename Range::value_type>;
    return stack(std::span<const R>(x.data(), static_cast<std::size_t>(x.size())), at);
}

/// A number as a tensor of rank 0.
template <std::floating_point T>
Tensor<T> tensor(const Real<T>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return Tensor<T>(detail::gathered(&x, 1, Shape(), at, "tensor"));
}
/// The only element of a tensor. Throws ShapeError where there is not exactly one.
template <std::floating_point T, class D>
Real<T> real(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (x.size() != 1)
        fail<ShapeError>(
            "real", "a number has one element, this tensor has shape " + to_string(x.shape("real", at)), at);
    return elements(x, at)[0];
}

namespace detail {
template <class T, class X> Real<T> only_element(const X& x, const Site& at)
{
    static_assert(std::is_same_v<typename X::value_type, T>,
                  "wengert: a tensor's element becomes a Real of its precision");
    return real(Tensor<T>(x), at);
}
}  // namespace detail

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/exchange.ipp"
#endif
