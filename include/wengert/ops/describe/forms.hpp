// What the struct of a structural primitive declares to be, for Primitive: a product, random numbers, a part of a packed block.
// Properties that need no form are flags (tape/calls.hpp, tape/primitive.hpp).
#pragma once

#include "../../tape/primitive.hpp"

namespace wengert::detail {

template <class Op>
concept IsProduct =
    requires(const Op& op) { requires std::is_same_v<decltype(op.product()), MatrixProduct>; };
template <class Op, class Which>
concept AddsProduct =
    requires(const Op& op) { requires std::is_same_v<decltype(op.product(Which{})), MatrixProduct>; };
template <class Op>
concept IsDraw = requires(const Op& op) { requires std::is_same_v<decltype(op.draw()), RandomDraw>; };
template <class Op>
concept IsPacked = requires(Op& op) { requires std::is_same_v<decltype(op.packed()), PackedPart>; };
template <class Op, class Which>
concept AddsByIndex = requires(const Op& op, Index& program) { op.describe(Which{}, program); };

template <class Op> constexpr void set_forms(Primitive& p)
{
    if constexpr (requires { Op::infallible; }) p.infallible = Op::infallible;
    if constexpr (requires { Op::random; }) p.random = Op::random;
    if constexpr (requires { Op::zero_rule; }) p.zero_rule = Op::zero_rule;
    if constexpr (requires { Op::unaudited; }) p.unaudited = Op::unaudited;
    if constexpr (IsProduct<Op>)
        p.product = [](const void* op) { return static_cast<const Op*>(op)->product(); };
    if constexpr (IsDraw<Op>) p.draw = [](const void* op) { return static_cast<const Op*>(op)->draw(); };
    if constexpr (IsPacked<Op>) p.packed = [](void* op) { return static_cast<Op*>(op)->packed(); };
}

/// The same of what adds to the cotangent of the operand that `Which` names.
template <class Op, class Which> constexpr void set_forms_of_accumulation(Primitive& p)
{
    if constexpr (requires { Op::infallible; }) p.infallible = Op::infallible;
    if constexpr (AddsByIndex<Op, Which>)
        p.index = [](const void* op, Index& program) {
            static_cast<const Op*>(op)->describe(Which{}, program);
        };
    p.overridden = AddsByIndex<Op, Which>;
    if constexpr (AddsProduct<Op, Which>)
        p.product = [](const void* op) { return static_cast<const Op*>(op)->product(Which{}); };
    if constexpr (IsPacked<Op>)
        p.packed = [](void* op) {
            PackedPart part = static_cast<Op*>(op)->packed();
            part.how = PackedPart::How::added;
            return part;
        };
}

}  // namespace wengert::detail
