// What the struct of a structural primitive says about itself: its flags, which inputs it has a rule for, its parameters.
#pragma once

#include "../../base/reflect.hpp"
#include "../elementwise/arithmetic.hpp"

namespace wengert::detail {

template <class Op> constexpr unsigned saves_of()
{
    if constexpr (requires { Op::saves; })
        return Op::saves;
    else
        return 0;
}
template <class Op> constexpr bool linear()
{
    if constexpr (requires { Op::linear; })
        return Op::linear;
    else
        return false;
}
template <class Op> constexpr bool bilinear()
{
    if constexpr (requires { Op::bilinear; })
        return Op::bilinear;
    else
        return false;
}

/// What a kernel of `into` reads beside g: those of (inputs, output) that are saved for input i, in order.
template <class Op, std::size_t i, std::size_t n> constexpr unsigned read_by_pull()
{
    return saves_of<Op>() & ((1U << (n + 1)) - 1) & ~(bilinear<Op>() ? 1U << i : 0U);
}

/// Has this operation a derivative with respect to input i?
template <class Op, std::size_t i, class Out, class... In>
concept pulls =
    is_differentiable<Out> && std::is_same_v<std::tuple_element_t<i, std::tuple<In...>>, Out> &&
    requires(const Op& op, const Tensor<Out>& g, const Tensor<In>&... x) { op.pull(wrt<i>{}, g, x..., g); };

/// Parameters live in the pool: an operation is recorded without a call of malloc.
template <class Op> void* clone_pooled(const void* op)
{
    Thread& t = current_thread();
    std::size_t capacity;
    void* p = t.pool.take(sizeof(Op), capacity);
    try {
        return new (p) Op(*static_cast<const Op*>(op));
    } catch (...) {
        t.pool.give(p, capacity);
        throw;
    }
}
template <class Op> void destroy_pooled(void* op) noexcept
{
    static_cast<Op*>(op)->~Op();
    if (Thread* t = this_thread)
        t->pool.give(op, memory::Pool::bytes_of(memory::Pool::class_of(sizeof(Op))));
    else
        std::free(op);
}

/// A callable to test whether a struct has `each`: nvcc takes no generic lambda there.
struct EachField {
    template <class X> void operator()(X&) const {}
};
/// The parameters one by one: members of an aggregate, or what `each` hands out.
template <class X> void visit_field(X& x, FieldVisitor& visitor)
{
    if constexpr (std::is_same_v<X, bool>) {
        visitor.boolean(x);
    } else if constexpr (std::is_integral_v<X> || std::is_enum_v<X>) {
        auto wide = static_cast<std::int64_t>(x);
        visitor.integer(wide);
        x = static_cast<X>(wide);
    } else if constexpr (std::is_floating_point_v<X>) {
        auto wide = static_cast<double>(x);
        visitor.real(wide);
        x = static_cast<X>(wide);
    } else if constexpr (std::is_same_v<X, Extents>) {
        visitor.extents(x);
    } else if constexpr (requires { x.each(EachField{}); }) {
        x.each([&](auto& field) { visit_field(field, visitor); });
    } else if constexpr (requires {
                             x.get();
                             *x;
                         }) {
        visitor.opaque(x.get(), "function");
    } else if constexpr (!std::is_empty_v<X>) {
        std::apply([&](auto&... field) { (visit_field(field, visitor), ...); }, reflect::tie(x));
    }
}
template <class Op> void visit_fields(void* op, FieldVisitor& visitor)
{
    visit_field(*static_cast<Op*>(op), visitor);
}

}  // namespace wengert::detail
