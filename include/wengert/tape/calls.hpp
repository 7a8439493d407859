// What library calls say of themselves: forms that compilers of graphs know other ways to carry out. A struct offers one as a
// member function, whatever it is called, and Primitive hands it on.
#pragma once

#include "../base/shape.hpp"

namespace wengert {

/// y = op(A) op(B), or C ± α op(A) op(B): of matrices, vectors, and batches that broadcast along their leading axes. Whoever
/// says so may be carried out by any other product, in another order of summation.
///
///     MatrixProduct product() const { return {.a = {.operand = 0}, .b = {.operand = 1, .column = true}}; }
struct MatrixProduct {
    static constexpr std::uint8_t none = 0xff;
    /// An operand, by its number.
    struct Factor {
        std::uint8_t operand = 0;
        bool transposed = false;
        bool column = false;  ///< a vector is a column, not a row
        bool vector = false;  ///< its last axis alone is a row or a column, those before are of the batch
    };
    Factor a = {}, b = {};
    bool adds = false;           ///< to operand 0, which is C and has the shape of y
    std::uint8_t factor = none;  ///< α, of rank 0
    bool minus = false;
    /// The operand to which the zero-cotangent rule applies. If all of it is 0, elements of the product that are not finite count
    /// as 0. This holds always with `always`, otherwise as kernels::zero_cotangent says.
    std::uint8_t cotangent = none;
    bool always = false;
    std::uint8_t batch = 0;  ///< leading axes of the batch, of the operand with the most

    /// Nothing but a product of rows and columns: what `matmul` is.
    bool is_plain() const noexcept
    {
        return !adds && !minus && factor == none && cotangent == none && !a.column && b.column && !a.vector &&
               !b.vector;
    }
};

/// Elements that are functions of a key, which is operand 0, and of their number, by the library's generator
/// (kernels/cpu/random.hpp).
struct RandomDraw {
    enum class Form : std::uint8_t {
        uniform,   ///< low + u · width, rounded once, with u in [0, 1)
        normal,    ///< of mean 0 and variance 1
        choice,    ///< low with probability p, else high
        integers,  ///< first + 0 … range − 1
        key,       ///< the child number `first` of the key, in the domain `range`
        order      ///< 0 … n − 1 in the order of a random word for each
    };
    Form form = Form::normal;
    double low = 0, high = 1, width = 1, p = 0;
    std::uint64_t first = 0, range = 0;
};

/// The elements of a packed block from `offset` on, in a shape of their own, as loops hand out their results: the parameters that
/// say so, where they are.
struct PackedPart {
    enum class How : std::uint8_t {
        taken,  ///< they are y
        put,    ///< y is zeros with x there
        added   ///< y is operand 0 with operand 1 added there
    };
    std::int64_t& offset;
    const Shape& shape;
    std::int64_t& of;  ///< elements of the block
    How how = How::taken;
};

}  // namespace wengert
