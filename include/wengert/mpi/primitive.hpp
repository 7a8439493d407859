// From a struct to a primitive of communication.
//
//     struct AllReduce {
//         static constexpr std::string_view name = "allreduce";
//         static constexpr std::size_t operands = 1;   // 0 or 1
//         static constexpr bool begins = false, waits = false;  // optional: of a pair that computing goes on between
//         static constexpr unsigned saves = 0b00;      // bit 0 for the operand, bit 1 for the result: what `pull` reads
//         ChannelRef channel;
//         Shape predicted(const Block* x) const;       // of the result, where nothing is sent: while a loop's body is traced
//         void look(const Block& x);                   // optional: keeps its shape for the rules, also where nothing is sent
//         template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables);
//         template <class T> Tensor<T> pull(const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& y, bool all) const;
//             // an empty tensor where the cotangent is zero
//         template <class T> Tensor<T> push(const Tensor<T>& dx, const Tensor<T>& x, const Tensor<T>& y) const;
//             // optional: without it the operation is linear, and the tangent of its result is what it makes of dx
//     };
//
// `variables` is whether the operand depends on a variable of backward(); exchange makes of it whether somebody's does. `all` says
// that the sweep is that of a transform, which every rank takes part in; else only ranks with variables do. In `exchange` the
// struct is a copy that is recorded afterwards, so it may keep there what the rules need.
#pragma once

#include <memory>

#include "../tape/speculation.hpp"
#include "../ops/elementwise/elementwise.hpp"
#include "../ops/describe/structural_traits.hpp"
#include "../tape/obliged.hpp"
#include "agree.hpp"

namespace wengert::mpi::detail {

template <class Op, class T>
Ref<Block> communicated(Op& op, const Ref<Block>* in, const Site& at, bool& variables)
{
    const Block* x = nullptr;
    if constexpr (Op::operands > 0) x = in[0].get();
    const std::uint8_t device = x ? x->device() : std::uint8_t{0};
    ++Tape::current().communications;
    if constexpr (requires { op.look(*x); }) op.look(*x);
    if (wengert::detail::runs_example()) return placed(zeros_block(dtype_of<T>(), op.predicted(x)), device);
    const Call call{*op.channel, Op::name, at};
    op.channel->check_thread(Op::name, at);
    Ref<Block> here;
    if constexpr (Op::operands > 0) here = contiguous(on_host(in[0]));
    return placed(op.template exchange<T>(here, call, variables), device);
}

template <class Op, class T>
Ref<Block> communication_compute(const void* op, const Ref<Block>* in, std::size_t, const Site& at)
{
    Op own = *static_cast<const Op*>(op);
    bool variables = false;
    return communicated<Op, T>(own, in, at, variables);
}

template <class Op, class T>
AnyTensor communication_apply(const Primitive& p, const void* op, const AnyTensor* in, std::size_t,
                              const Site& at)
{
    Tape& tape = Tape::current();
    const Site line = tape.site_override.line ? tape.site_override : at;
    Op own = *static_cast<const Op*>(op);
    const AnyTensor* operands[] = {in};
    if constexpr (Op::operands > 0)
        if (!in->value) wengert::detail::refuse_empty(p.name, *in, line);
    bool variables = Op::operands && (tape.dependence(operands, Op::operands, p.name, at) & 1) != 0;
    Ref<Block> y = communicated<Op, T>(own, Op::operands ? &in->value : nullptr, line, variables);
    return wengert::detail::record_obliged(p, operands, Op::operands, std::move(y), &own, &own, at,
                                           variables);
}

template <class Op, class T> void communication_vjp(const Node& n, const AnyTensor& g, Cotangents& out)
{
    const Op& op = *static_cast<const Op*>(n.op);
    const bool all = out.walk().level() > 0;
    if constexpr (Op::operands == 0) {
        op.pull(Tensor<T>(g), all);
    } else {
        const Tensor<T> x = op.pull(Tensor<T>(g), Tensor<T>(wengert::detail::saved_input(n, 0)),
                                    Tensor<T>(wengert::detail::saved_output(n)), all);
        if (out.wanted(0) && x.any_unchecked().value) out.add(0, x.any());
    }
}

template <class Op, class T> Tensor<T> communicate(const Op& op, const Site& at, const Tensor<T>& x);

template <class Op, class T>
AnyTensor communication_jvp(const void* parameters, const AnyTensor* x, const AnyTensor* dot, std::size_t,
                            const AnyTensor& y)
{
    const Op& op = *static_cast<const Op*>(parameters);
    if constexpr (Op::operands == 0) {
        return op.template push<T>().any();
    } else {
        const Tensor<T> dx(dot[0].value
                               ? dot[0]
                               : AnyTensor{zeros_beside(*x[0].value, dtype_of<T>(), x[0].value->shape), {}});
        if constexpr (requires { op.push(dx, dx, dx); })
            return op.push(dx, Tensor<T>(x[0]), Tensor<T>(y)).any();
        else
            return communicate<Op, T>(op, Site{}, dx).any();
    }
}

template <class Op, class T> constexpr Primitive make_communication()
{
    Primitive p;
    p.name = Op::name;
    p.ours = true;
    p.dtype = dtype_of<T>();
    p.calls = p.effects = p.communicates = true;
    p.compute = communication_compute<Op, T>;
    p.apply = communication_apply<Op, T>;
    p.clone = wengert::detail::clone_pooled<Op>;
    p.destroy = wengert::detail::destroy_pooled<Op>;
    p.fields = wengert::detail::visit_fields<Op>;
    if constexpr (requires { Op::begins; }) p.begins = Op::begins;
    if constexpr (requires { Op::waits; }) p.waits = Op::waits;
    if constexpr (requires { Op::saves; }) p.saves = Op::saves;
    if constexpr (is_differentiable<T>) {
        p.differentiable = true;
        p.vjp = communication_vjp<Op, T>;
        p.jvp = communication_jvp<Op, T>;
        p.add = wengert::detail::add_any<T>;
        p.sum_to = wengert::detail::sum_to_any<T>;
    }
    return p;
}
template <class Op, class T> inline constexpr Primitive communication = make_communication<Op, T>();

/// The operation on a tensor: carried out, and recorded.
template <class Op, class T> Tensor<T> communicate(const Op& op, const Site& at, const Tensor<T>& x)
{
    return Tensor<T>(communication_apply<Op, T>(communication<Op, T>, &op, &x.any_unchecked(), 1, at));
}
/// The same without an operand.
template <class Op, class T> Tensor<T> communicate(const Op& op, const Site& at)
{
    return Tensor<T>(communication_apply<Op, T>(communication<Op, T>, &op, nullptr, 0, at));
}

/// What the operation that begins a communication and the one that waits for it know of each other: the request, and the same of
/// the derivatives. S is the whole.
template <class S> struct OnItsWay {
    MPI_Request request = MPI_REQUEST_NULL;
    AnyTensor kept = {};  ///< a cotangent on its way
    std::shared_ptr<S> adjoint = {}, tangent = {};
    static std::shared_ptr<S> of(std::shared_ptr<S>& other)
    {
        if (!other) other = std::make_shared<S>();
        return other;
    }
};

}  // namespace wengert::mpi::detail
