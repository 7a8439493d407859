// One operation of scalar code as it is recorded: 24 bytes.
//
// An entry keeps the value and the positions of the operands, not the partial derivatives. The sweep computes those from the values.
// It does so in doubles for a gradient, and in reals if the sweep itself is recorded. So a derivative of any order comes from the
// same stream.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "../../base/enumerators.hpp"
#include "../../functions/list.hpp"
#include "../../functions/rules/activations.hpp"
#include "../../functions/rules/math.hpp"
#include "../../functions/rules/pairs.hpp"
#include "../../functions/rules/probability.hpp"
#include "../../functions/rules/special.hpp"
#include "../../functions/rules/trigonometry.hpp"

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
    functions,  ///< of one number, in the order of their list (functions/list.hpp)
    expint = functions +
             detail::length_of(detail::RecordedFunctions()),  ///< special functions (scalar/real/special.hpp)
    comp_ellint_1,
    comp_ellint_2,
    pairs,  ///< functions of two numbers, likewise
    beta = pairs + detail::length_of(detail::RecordedPairs()),
    polygamma,  ///< special functions of an order, a constant, and a number
    cyl_bessel_j,
    cyl_neumann,
    cyl_bessel_i,
    cyl_bessel_k,
    sph_bessel,
    sph_neumann,
    ellint_1,
    ellint_2,
    whole,  ///< from here on in kernels alone: flat, so elsewhere the result is a constant
    detach = whole + detail::length_of(WholeFunctions()),
    link  ///< an operand that lies in an older chunk, at `far`
};

/// The operation of a function.
template <class F> constexpr ScalarOp scalar_op() noexcept
{
    using namespace detail;
    const auto after = [](ScalarOp first, std::size_t k) {
        return static_cast<ScalarOp>(static_cast<std::size_t>(first) + k);
    };
    if constexpr (is_in<F, RecordedFunctions>)
        return after(ScalarOp::functions, position_in<F>(RecordedFunctions()));
    else if constexpr (is_in<F, RecordedPairs>)
        return after(ScalarOp::pairs, position_in<F>(RecordedPairs()));
    else
        return after(ScalarOp::whole, position_in<F>(WholeFunctions()));
}

namespace detail {
/// Does scalar code record it as one operation?
template <class F>
inline constexpr bool is_recorded =
    is_in<F, RecordedFunctions> || is_in<F, RecordedPairs> || is_in<F, WholeFunctions>;
}  // namespace detail

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
        std::uint64_t far;
    };
    std::uint64_t word;  ///< operand, operation and form, levels: one word, for one store

    // a and b are indices: positions in the chunk where the entry is
    static constexpr std::uint64_t word_of(ScalarOp op, ScalarForm form) noexcept
    {
        return std::uint64_t{code_of(op, form)} << 32;
    }
    static constexpr std::uint64_t word_of(std::uint8_t mask) noexcept { return std::uint64_t{mask} << 40; }
    constexpr std::uint32_t a() const noexcept { return static_cast<std::uint32_t>(word); }
    /// Operation and form, for one jump in the sweep, which loads it alone: a word that is taken apart costs a tenth of its time.
    constexpr std::uint8_t code() const noexcept
    {
        if (std::is_constant_evaluated() || std::endian::native != std::endian::little)
            return static_cast<std::uint8_t>(word >> 32);
        return reinterpret_cast<const unsigned char*>(&word)[4];
    }
    /// Which of the stream's masks: the levels that it depends on.
    constexpr std::uint8_t mask() const noexcept { return static_cast<std::uint8_t>(word >> 40); }
    static constexpr std::uint8_t code_of(ScalarOp op, ScalarForm form) noexcept
    {
        return static_cast<std::uint8_t>(static_cast<unsigned>(op) << 2 | static_cast<unsigned>(form));
    }
    constexpr ScalarOp op() const noexcept { return static_cast<ScalarOp>(code() >> 2); }
    /// Is it none of the operations that the sweep has in line?
    constexpr bool is_function() const noexcept { return op() > ScalarOp::sqrt; }
    constexpr ScalarForm form() const noexcept { return static_cast<ScalarForm>(code() & 3); }
};
static_assert(sizeof(ScalarEntry) == 24);
static_assert(static_cast<unsigned>(ScalarOp::link) < 64, "an operation has six bits of ScalarEntry::code");

/// Has it two operands?
constexpr bool is_pair(ScalarOp op) noexcept
{
    return (op >= ScalarOp::add && op <= ScalarOp::divide) || (op >= ScalarOp::pairs && op < ScalarOp::whole);
}

/// A place in the stream, counted on from chunk to chunk.
using ScalarPosition = std::uint64_t;

/// Where a number is recorded: its index in its chunk of the stream, and the number of its span. 0 for a number that is not.
/// It is one integer, as compilers keep two in vector registers.
struct ScalarHandle {
    std::uint64_t word = 0;

    constexpr ScalarHandle() noexcept = default;
    constexpr explicit ScalarHandle(std::uint64_t w) noexcept : word(w) {}
    constexpr ScalarHandle(std::uint32_t index, std::uint32_t span) noexcept
        : word(std::uint64_t{span} << 32 | index)
    {}
    constexpr std::uint32_t index() const noexcept { return static_cast<std::uint32_t>(word); }
    constexpr std::uint32_t span() const noexcept { return static_cast<std::uint32_t>(word >> 32); }
};

}  // namespace wengert

// The functions that scalar code shares with tensors: which rule (functions/rules/) an operation stands for. From it follow the
// derivative of a recorded number (real/rules.hpp) and the operation on arrays in a kernel (kernel/paths_on_tensors.hpp).
namespace wengert::detail {

/// The position of an operation among those from `first` on; large where it is below.
constexpr std::size_t position_from(ScalarOp first, ScalarOp op) noexcept
{
    return static_cast<std::size_t>(op) - static_cast<std::size_t>(first);
}

/// visit(P()) for the rule P of a function of one number, other() where `op` is none that tensors have.
template <class Visit, class Other>
[[gnu::always_inline]] inline auto visit_function(ScalarOp op, const Visit& visit, const Other& other)
{
    if (op == ScalarOp::sqrt) return visit(Sqrt());
    return visit_position(
        RecordedFunctions(), position_from(ScalarOp::functions, op),
        visit, [&]() __attribute__((always_inline)) {
            return visit_position(WholeFunctions(), position_from(ScalarOp::whole, op), visit, other);
        });
}

/// The same of two numbers.
template <class Visit, class Other>
[[gnu::always_inline]] inline auto visit_pair(ScalarOp op, const Visit& visit, const Other& other)
{
    return visit_position(RecordedPairs(), position_from(ScalarOp::pairs, op), visit, other);
}

}  // namespace wengert::detail

namespace wengert {

inline std::string_view name_of(ScalarOp op)
{
    const auto name = []<class P>(P) { return P::name; };
    const auto other = [&] { return detail::enumerator_names<ScalarOp::link>[static_cast<std::size_t>(op)]; };
    return detail::visit_function(op, name, [&] { return detail::visit_pair(op, name, other); });
}

}  // namespace wengert
