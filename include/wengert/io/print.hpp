// Printing tensors, as NumPy does, and the tape, as a table.
#pragma once

#include <ostream>

#include "../tape/tensor_impl.hpp"

namespace wengert {

namespace detail {

/// The elements of a tensor with their brackets.
std::string printed_elements(const Block& b);

}  // namespace detail

/// The elements as NumPy prints them, but true and false as in C++; rows longer than 75 characters wrap, and of more than
/// 1000 elements only the ends are shown. Then shape, dtype, and where it is recorded the operation and its line. An empty
/// tensor prints as Tensor<float64>(undefined).
template <class T, class Device> std::ostream& operator<<(std::ostream& out, const Tensor<T, Device>& x)
{
    const AnyTensor& any = x.any_unchecked();
    if (!any.value) return out << "Tensor<" << name_of(dtype_of<T>()) << ">(undefined)";
    note_read(*any.value, Read::elements, {});
    std::string text = detail::printed_elements(*any.value);
    text += any.value->shape.size() > 1 ? '\n' : ' ';
    text += "shape=" + to_string(any.value->shape) + " dtype=" + std::string(name_of(any.value->dtype));
    if (const Node* n = any.node.get()) {
        text += " op=" + std::string(n->primitive->name);
        if (n->at.line > 0) text += " (" + to_string(n->at) + ")";
    }
    return out << text;
}

namespace detail {}  // namespace detail

/// One line for each live node in time order: sequence number, primitive, inputs, shape, dtype, saved bytes, file:line.
std::ostream& operator<<(std::ostream& out, const Tape& tape);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/print.ipp"
#endif
