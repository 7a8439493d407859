// What tensors refuse, and their leaves. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../base/separate.hpp"
#include "../tensor_impl.hpp"

namespace wengert::detail {

[[noreturn]] WENGERT_INLINE __attribute__((cold, noinline)) void refuse_number(const Shape& shape)
{
    throw ShapeError("[assign] a number assigned to a tensor of shape " + to_string(shape) +
                     ": write view(x) = 0.0 to set all its elements, x = Tensor<T>(0.0) to replace it");
}

[[noreturn]] WENGERT_INLINE __attribute__((cold, noinline)) void refuse_condition(const Shape& shape)
{
    throw ShapeError("[bool] a tensor of shape " + to_string(shape) +
                     " is no condition: use all(x > 0) or any(x > 0)");
}

[[noreturn]] WENGERT_INLINE __attribute__((cold, noinline)) void refuse_inexact(double number, DType type,
                                                                                const Site& at)
{
    fail<DTypeError>("number",
                     digits_of(number, 17) + " beside a tensor of " + std::string(name_of(type)) +
                         ", which has no such number: cast<double>(x) makes real numbers of its elements",
                     at);
}

/// A conversion such as double(x) cannot know its line. So the text says which operation made x, and where.
[[noreturn]] WENGERT_INLINE __attribute__((cold, noinline)) void refuse_item(const AnyTensor& x,
                                                                             const Site& at)
{
    std::string text = "a tensor of shape " + to_string(x.value->shape);
    if (x.node && x.node->at.line > 0)
        text +=
            ", the result of " + std::string(x.node->primitive->name) + " at " + to_string(x.node->at) + ",";
    fail<ShapeError>("item", text + " has not exactly one element", at);
}

WENGERT_INLINE Ref<Node> make_leaf(const Block& b, std::size_t level, const Site& at)
{
    Tape& tape = Tape::current();
    auto node = Ref<Node>::adopt(tape.new_node(leaf_primitive, 0, at));
    node->dtype = b.dtype;
    node->mask = Tape::bit(level);
    node->shape = b.shape;
    node->flags = Node::is_leaf;
    node->level = static_cast<std::uint8_t>(level);
    tape.append(node.get());
    if (level == 0) {
        if (b.access.unrecorded) const_cast<Block&>(b).access.unrecorded = false;  // a variable from here on
        std::atomic_ref(const_cast<Block&>(b).variables).fetch_add(1, std::memory_order_relaxed);
        variables_made.fetch_add(1, std::memory_order_relaxed);
    }
    return node;
}

}  // namespace wengert::detail
