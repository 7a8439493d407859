// One operation of scalar code as it is recorded: 24 bytes.
//
// Kept are the value and where the operands are, not the partial derivatives: the sweep computes those from the values, in
// doubles for a gradient, and in reals where the sweep itself is recorded. So a derivative of any order comes from the same stream.
#pragma once

#include <cstdint>
#include <string_view>

namespace wengert {

enum class ScalarOp : std::uint8_t {
    input,  ///< an element of a tensor
    copy,
    add,
    subtract,
    multiply,
    divide,
    negative,
    sqrt,
    cbrt,
    exp,
    exp2,
    expm1,
    log,
    log2,
    log10,
    log1p,
    sin,
    cos,
    tan,
    asin,
    acos,
    atan,
    sinh,
    cosh,
    tanh,
    asinh,
    acosh,
    atanh,
    erf,
    erfc,
    pow,
    atan2,
    hypot,
    fmod,
    floor,  ///< from here on in kernels alone: flat, so elsewhere the result is a constant
    ceil,
    trunc,
    round_even
};

/// Which operands of an operation are recorded.
enum class ScalarForm : std::uint8_t {
    unary,
    both,
    right_constant,  ///< the second operand is the number `c`
    left_constant    ///< the first one is
};

struct ScalarEntry {
    double value;
    union {
        std::uint32_t b;
        double c;
    };
    std::uint32_t a;
    ScalarOp op;
    ScalarForm form;
    std::uint8_t mask;  ///< which of the stream's masks: the levels that it depends on
};
static_assert(sizeof(ScalarEntry) == 24);

/// Where a number is recorded: its place in the stream, and which stretch of it that is. Zeros for a number that is not.
struct ScalarMark {
    std::uint32_t index = 0, stretch = 0;
};

constexpr std::string_view name_of(ScalarOp op)
{
    constexpr std::string_view names[] = {
        "element", "copy",  "add",   "subtract", "multiply", "divide",    "negative", "sqrt",
        "cbrt",    "exp",   "exp2",  "expm1",    "log",      "log2",      "log10",    "log1p",
        "sin",     "cos",   "tan",   "asin",     "acos",     "atan",      "sinh",     "cosh",
        "tanh",    "asinh", "acosh", "atanh",    "erf",      "erfc",      "pow",      "atan2",
        "hypot",   "fmod",  "floor", "ceil",     "trunc",    "round_even"};
    return names[static_cast<std::size_t>(op)];
}

}  // namespace wengert
