// Writes to tensors: x += y and what every other write shares. A write makes a new value, recorded like any other; only
// where nobody can tell the difference it uses the old memory.
#pragma once

#include "elementwise/arithmetic.hpp"

namespace wengert {

namespace detail {

/// Nobody else sees x's elements: no other handle, no view, no saved value of the tape, no trace that is to see the write.
bool writable_in_place(const AnyTensor& x) noexcept;

inline bool is_variable(const AnyTensor& x) noexcept
{
    return x.node && x.node->leaf() && x.node->level == 0;
}

void refuse_writer(std::string_view primitive, const AnyTensor& x, const Site& at);

/// Requires that `from` broadcasts to `to`.
void check_stores(std::string_view primitive, const Shape& from, const Shape& to, const Site& at);
/// A view with a name can outlive the value that it was taken of. Throws where its variable has another shape now, or none.
void check_target(std::string_view primitive, const AnyTensor& x, const Shape& viewed, const Site& at);

/// The node that x has after a write that is not recorded: a variable stays one, also where operations have been recorded of it.
/// When other tensors share its gradient, this one gets a gradient of its own, which begins with what has been added up so far. If
/// operations have been recorded as well, nobody can tell whose gradient theirs is: backward() refuses them. Where the library runs a
/// function without recording it, what is written is a value of that run.
Ref<Node> node_kept(const AnyTensor& x, const Site& at);

/// x takes its new value. A variable that was written while recording is an interior value from here on.
void commit_write(AnyTensor& x, AnyTensor result, Ref<Node> kept) noexcept;

/// x takes what several operations made of it. A variable stays one where they were not recorded.
void write_result(std::string_view primitive, AnyTensor& x, AnyTensor result, const Site& at);

/// x's elements become p(x, y) where they are.
void compute_in_place(const Primitive& p, Block& x, const Block& y);

/// x = p(x, y), on the same memory where the derivative does not read x.
void update_any(AnyTensor& x, const Primitive& p, const AnyTensor& y, const Site& at);

template <class T> const Primitive& update_primitive(ops::Update u)
{
    using A = xsimd::default_arch;
    if (u == ops::Update::add) return elementwise_of<Add, A, T, T, T>();
    if (u == ops::Update::subtract) return elementwise_of<Subtract, A, T, T, T>();
    return elementwise_of<Multiply, A, T, T, T>();
}

}  // namespace detail

/// x = x op y. Throws ShapeError when y does not broadcast to x's shape; x is then as before.
template <class T, class D>
Tensor<T, D>& ops::update(Tensor<T, D>& x, Update u, const Tensor<T, D>& y, const Site& at)
{
    const Primitive* p = &detail::update_primitive<T>(u);
    if constexpr (is_differentiable<T>) {
        if (u == Update::divide) p = &detail::elementwise_of<Divide, xsimd::default_arch, T, T, T>();
    } else if (u == Update::divide) {
        fail<DTypeError>("divide",
                         "x /= y on " + std::string(name_of(dtype_of<T>())) +
                             ": a quotient is float64; write x = cast<…>(x / y)",
                         at);
    }
    static_cast<void>(x.any(p->name, at));
    detail::update_any(x.any_unchecked(), *p, y.any(p->name, at), at);
    return x;
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/update.ipp"
#endif
