// requires_grad and backward on reals, as on tensors.
#pragma once

#include "../../tape/backward.hpp"
#include "exchange.hpp"

namespace wengert {

namespace detail {

template <class T> Tensor<T> leaf_of(const Real<T>& x, std::string_view operation, const Site& at)
{
    Tape& tape = Tape::current();
    const ScalarVariable* v =
        tape.extension ? static_cast<ScalarStream*>(tape.extension)->variable(x.handle()) : nullptr;
    if (!v)
        fail<TapeError>(operation,
                        "this Real is no variable of this thread's tape: call requires_grad(true) on it", at);
    return Tensor<T>(v->leaf);
}

}  // namespace detail

template <std::floating_point T> Real<T>& Real<T>::requires_grad(bool on, Site at)
{
    ScalarStream& s = ScalarStream::of(Tape::current());
    ScalarVariable* old = s.variable(handle_);
    if (on == (old != nullptr)) return *this;
    if (on && s.run)
        fail<TapeError>("requires_grad", "a number of a kernel's cell cannot become a variable", at);
    if (on && s.records(handle_))
        fail<TapeError>(
            "requires_grad",
            "this Real depends on a variable; only a constant can become one (use detach() first)", at);
    if (old) s.end_variable(*old);
    handle_ = {};
    if (!on) return *this;
    Tensor<T> leaf(value_);
    leaf.requires_grad(true, at);
    handle_ = s.begin_variable(leaf.any(), detail::deliver_entered<T>, at);
    return *this;
}

template <std::floating_point T> T Real<T>::grad(Site at) const
{
    return detail::leaf_of(*this, "grad", at).grad(at).item();
}

template <std::floating_point T> void Real<T>::zero_grad(Site at)
{
    detail::leaf_of(*this, "zero_grad", at).zero_grad();
}

template <std::floating_point T> Real<T>& Real<T>::set_value(T value, Site at)
{
    if (handle_.index()) static_cast<void>(detail::leaf_of(*this, "set_value", at));
    value_ = value;
    return *this;
}

/// Adds ∂y/∂v to the gradient of every variable v that y depends on, reals and tensors. What was recorded is used up, unless
/// it is to be retained. Throws TapeError when y depends on none.
template <std::floating_point T>
void backward(const Real<T>& y, BackwardOptions options = {}, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    backward(Tensor<T>(detail::gathered(&y, 1, Shape(), at, "backward")), options, at);
}

}  // namespace wengert
