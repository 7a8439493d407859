// The one executor of index programs: any description, any layout of its operands, into memory that the caller gives.
#pragma once

#include "../../array/block.hpp"
#include "index.hpp"

namespace wengert {

struct Primitive;

/// What a Primitive has of an index program: its description, given the parameters and a program that knows the operands.
using DescribeIndex = void (*)(const void* op, Index& program);

/// The program of an operation on operands of these shapes, checked. Throws ShapeError, which names the primitive and the read.
void describe_index(Index& program, std::string_view name, DescribeIndex describe, const void* op,
                    const Site& at);

/// Looks at the types of operands, and at the elements that are used as positions: those operands are on the host, the others may
/// be anywhere. Throws DTypeError, IndexError.
void check_index(const Index& program, std::string_view name, const Ref<Block>* in, DType dtype,
                 const Site& at);

/// Runs it into `out`, contiguous and of the program's shape. Indices are looked at first: throws IndexError, and nothing has
/// been written. `out` may lie where an operand lies that is read at its own places only, or that the result begins with.
void run_index(const Index& program, std::string_view name, const Ref<Block>* in, Block& out, const Site& at);

/// The same with memory of its own: Primitive::compute of what has a description.
Ref<Block> compute_index(std::string_view name, DescribeIndex describe, DType dtype, const void* op,
                         const Ref<Block>* in, std::size_t n, const Site& at);

}  // namespace wengert
