// The one executor of index programs: any description, any layout of its operands, into memory that the caller gives.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "../../array/block.hpp"
#include "index.hpp"

namespace wengert {

struct Primitive;

/// What a Primitive has of an index program: its description, given the parameters and a program that knows the operands.
using DescribeIndex = void (*)(const void* op, Index& program);

/// A number as an element: infinities as the largest and the least that there is, and 0 where there is no such whole number.
inline void element_from(DType d, double v, void* to)
{
    with_dtype(d, [&]<class T>() {
        using Limits = std::numeric_limits<T>;
        T x = T(0);
        if (std::isinf(v) && !Limits::has_infinity)
            x = v < 0 ? Limits::lowest() : Limits::max();
        else if (!std::is_integral_v<T> || std::is_same_v<T, bool>)
            x = static_cast<T>(v);
        else if (v > -0x1p63 && v < 0x1p63)
            x = static_cast<T>(static_cast<std::int64_t>(v));
        std::memcpy(to, &x, sizeof x);
    });
}

/// The program of an operation on operands of these shapes, checked. Throws ShapeError, which names the primitive and the read.
void describe_index(Index& program, std::string_view name, DescribeIndex describe, const void* op,
                    const Site& at);

/// Looks at the types of operands, wherever they are. Throws DTypeError.
void check_index_types(const Index& program, std::string_view name, const Ref<Block>* in, DType dtype,
                       const Site& at);

/// Elements of an integer operand that are used as positions along an axis of something of a shape.
struct GivenUse {
    std::uint8_t operand = 0;
    bool from_end = false;
    std::size_t axis = 0;
    const Shape* of = nullptr;
    /// Good ones are such that v + below() < extent() + below(), of numbers without sign.
    std::uint64_t extent() const noexcept { return static_cast<std::uint64_t>(of->data()[axis]); }
    std::uint64_t below() const noexcept { return from_end ? extent() : 0; }
};
/// f(use) for each.
template <class F> void each_given(const Index& p, const F& f)
{
    const auto array = [&](const Positions& at, const Shape& shape) {
        for (std::size_t d = 0; d < at.size(); ++d)
            if (const std::uint8_t g = at.data()[d].given)
                f(GivenUse{p.givens[g - 1].operand, p.givens[g - 1].from_end, d, &shape});
    };
    if (p.given_count == 0) return;
    for (std::size_t w = 0; w < p.write_count; ++w) array(p.writes[w], p.result);
    for (std::size_t r = 0; r < p.read_count; ++r)
        if (p.reads[r].operand != Index::no_operand) array(p.reads[r].at, p.shape(p.reads[r].operand));
    if (p.has_factor) array(p.factor.at, p.shape(p.factor.operand));
}
/// Looks at the elements, on the host. Throws IndexError, which names the first that is none.
void check_given(const GivenUse& use, std::string_view name, const Ref<Block>& elements, const Site& at);

/// Runs it into `out`, contiguous and of the program's shape. Indices are looked at first: throws IndexError, and nothing has
/// been written. `out` may lie where an operand lies that is read at its own places only, or that the result begins with.
void run_index(const Index& program, std::string_view name, const Ref<Block>* in, Block& out, const Site& at);

/// The same with memory of its own: Primitive::compute of what has a description.
Ref<Block> compute_index(std::string_view name, DescribeIndex describe, DType dtype, const void* op,
                         const Ref<Block>* in, std::size_t n, const Site& at);

}  // namespace wengert
