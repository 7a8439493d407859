// The arithmetic machine: runs of additions, subtractions and multiplications with what is between them in SIMD registers.
//
// A program works on blocks of 8 SIMD registers of elements. The machine has three accumulators, each of 8 such registers, and
// instructions X ∘= Y, X ∘= memory, X = memory ∘ memory, load, store, move: an instruction is decoded once for 8 registers,
// and its operands come from the first-level cache or not at all. Each step rounds as it does alone (Lane keeps products
// from being contracted).
#pragma once

#include "../../kernels/cpu/elementwise.hpp"

namespace wengert::tiling {

/// Of an accumulator x and an operand y: x + y, x − y, x y, y − x; x y and y x with the zero-cotangent rule for the first
/// factor (where it is 0 and the product not finite the result is 0); x / y, y / x; the larger one; x with that rule for the
/// cotangent y; −x, whatever y is. `fma` is x y + z, rounded once.
enum class Arith : std::uint8_t {
    add,
    subtract,
    multiply,
    reversed,
    scale,
    scale_by,
    divide,
    divided,
    maximum,
    guard,
    negative,
    none,
    fma
};

/// x ∘ y as y ∘ x; none where there is no such operation.
constexpr Arith turned(Arith op)
{
    switch (op) {
    case Arith::add:
    case Arith::multiply: return op;
    case Arith::subtract: return Arith::reversed;
    case Arith::scale: return Arith::scale_by;
    case Arith::divide: return Arith::divided;
    default: return Arith::none;
    }
}

/// Has it the zero-cotangent rule?
constexpr bool is_guarded(Arith op)
{
    return op == Arith::scale || op == Arith::scale_by || op == Arith::guard;
}

/// x ∘ y. `probe`: the cotangent that operations with the rule look for.
template <Arith op, class L> [[gnu::always_inline]] inline L arith(L x, L y, L probe)
{
    if constexpr (op == Arith::add)
        return x + y;
    else if constexpr (op == Arith::subtract)
        return x - y;
    else if constexpr (op == Arith::multiply)
        return x * y;
    else if constexpr (op == Arith::reversed)
        return y - x;
    else if constexpr (op == Arith::divide)
        return x / y;
    else if constexpr (op == Arith::divided)
        return y / x;
    else if constexpr (op == Arith::maximum)
        return maximum(x, y);
    else if constexpr (op == Arith::scale)
        return unless_zero_cotangent(x, probe, x * y);
    else if constexpr (op == Arith::scale_by)
        return unless_zero_cotangent(y, probe, x * y);
    else if constexpr (op == Arith::negative)
        return -x;  // a NaN changes its sign, which −1 · x leaves
    else
        return unless_zero_cotangent(y, probe, x);
}

struct MicroOp {
    std::uint8_t code = 0;
    std::uint8_t operand = 0, second = 0;  ///< slots in memory
};

/// Numbers of the instructions.
struct MicroCode {
    static constexpr std::size_t accumulators = 3, memory = 3, operations = 11;
    static constexpr std::uint8_t two = accumulators * operations * 4, products = two + 9,
                                  sums = products + 48, loads = sums + 12, stores = loads + 3,
                                  moves = stores + 3, end = moves + 9;

    static constexpr std::uint8_t arith(std::size_t x, Arith op, std::size_t y)
    {
        return static_cast<std::uint8_t>((x * operations + static_cast<std::size_t>(op)) * 4 + y);
    }
    /// Sums, differences, products only.
    static constexpr std::uint8_t both(std::size_t x, Arith op)
    {
        return static_cast<std::uint8_t>(two + x * 3 + static_cast<std::size_t>(op));
    }
    /// x y + z
    static constexpr std::uint8_t product(std::size_t x, std::size_t y, std::size_t z)
    {
        return static_cast<std::uint8_t>(products + x * 16 + y * 4 + z);
    }
    /// y · memory + x; where y is memory as well, that is the first operand.
    static constexpr std::uint8_t sum(std::size_t x, std::size_t y)
    {
        return static_cast<std::uint8_t>(sums + x * 4 + y);
    }
    static constexpr std::uint8_t load(std::size_t x) { return static_cast<std::uint8_t>(loads + x); }
    static constexpr std::uint8_t store(std::size_t x) { return static_cast<std::uint8_t>(stores + x); }
    static constexpr std::uint8_t move(std::size_t x, std::size_t y)
    {
        return static_cast<std::uint8_t>(moves + x * 3 + y);
    }
};

template <class T, class A = xsimd::default_arch> class MicroMachine {
    using L = Lane<T, A>;
    static constexpr std::size_t width = 8;

public:
    static constexpr std::size_t block = width * L::width;  ///< elements

    /// One block of elements at the slots `at`.
    static void run(const MicroOp* program, std::byte* const* at)
    {
        run(program, at, std::make_index_sequence<width>());
    }

private:
    struct Accumulators {
        L x[3][width];
    };

    /// Lane v of accumulator y, or of what lies at p.
    template <std::size_t y, std::size_t v>
    [[gnu::always_inline]] static L operand(const Accumulators& a, const T* p)
    {
        if constexpr (y == MicroCode::memory)
            return L::load(p + v * L::width);
        else
            return a.x[y][v];
    }

    template <std::size_t code, std::size_t... v>
    [[gnu::always_inline]] static void instruction(Accumulators& a, const MicroOp& o, std::byte* const* at,
                                                   std::index_sequence<v...>)
    {
        using C = MicroCode;
        T* p = reinterpret_cast<T*>(at[o.operand]);
        if constexpr (code < C::two) {
            constexpr std::size_t x = code / 4 / C::operations, y = code % 4;
            constexpr auto op = static_cast<Arith>(code / 4 % C::operations);
            const L probe(is_guarded(op) ? static_cast<T>(kernels::zero_cotangent) : T(0));
            ((a.x[x][v] = arith<op>(a.x[x][v], operand<y, v>(a, p), probe)), ...);
        } else if constexpr (code < C::products) {
            constexpr std::size_t x = (code - C::two) / 3;
            constexpr auto op = static_cast<Arith>((code - C::two) % 3);
            const T* q = reinterpret_cast<const T*>(at[o.second]);
            ((a.x[x][v] = arith<op>(operand<C::memory, v>(a, p), operand<C::memory, v>(a, q), L())), ...);
        } else if constexpr (code < C::sums) {
            constexpr std::size_t x = (code - C::products) / 16, y = (code - C::products) / 4 % 4,
                                  z = (code - C::products) % 4;
            const T* q = reinterpret_cast<const T*>(at[o.second]);
            ((a.x[x][v] = fma(a.x[x][v], operand<y, v>(a, p), operand<z, v>(a, q))), ...);
        } else if constexpr (code < C::loads) {
            constexpr std::size_t x = (code - C::sums) / 4, y = (code - C::sums) % 4;
            const T* q = reinterpret_cast<const T*>(at[o.second]);
            ((a.x[x][v] = fma(operand<y, v>(a, p), operand<C::memory, v>(a, q), a.x[x][v])), ...);
        } else if constexpr (code < C::stores) {
            ((a.x[code - C::loads][v] = operand<C::memory, v>(a, p)), ...);
        } else if constexpr (code < C::moves) {
            (a.x[code - C::stores][v].store(p + v * L::width), ...);
        } else {
            ((a.x[(code - C::moves) / 3][v] = a.x[(code - C::moves) % 3][v]), ...);
        }
    }

    template <std::size_t... v>
    static void run(const MicroOp* program, std::byte* const* at, std::index_sequence<v...> lanes)
    {
        Accumulators a;
        ((a.x[0][v] = a.x[1][v] = a.x[2][v] = L(T(0))), ...);
        for (;; ++program) {
            const std::size_t code = program->code;
            if (code == MicroCode::end) return;
            // Compilers make a jump table of it.
            [&]<std::size_t... c>(std::index_sequence<c...>) __attribute__((always_inline))
            {
                static_cast<void>(
                    ((code == c ? (instruction<c>(a, *program, at, lanes), true) : false) || ...));
            }
            (std::make_index_sequence<MicroCode::end>());
        }
    }
};

}  // namespace wengert::tiling
