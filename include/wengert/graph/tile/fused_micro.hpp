// The arithmetic machine: runs of additions, subtractions and multiplications with what is between them in SIMD registers.
//
// A program works on blocks of 8 SIMD registers of elements. The machine has three accumulators, each of 8 such registers, and
// instructions X ∘= Y, X ∘= memory, X = memory ∘ memory, load, store, move: an instruction is decoded once for 8 registers,
// and its operands come from the first-level cache or not at all. Each step rounds as it does alone (Lane keeps products
// from being contracted).
#pragma once

#include "../../kernels/cpu/elementwise.hpp"

namespace wengert::tiling {

/// Of an accumulator x and an operand y. `reversed` is y − x.
enum class Arith : std::uint8_t { add, subtract, multiply, reversed, none };

struct MicroOp {
    std::uint8_t code = 0;
    std::uint8_t operand = 0, second = 0;  ///< places in memory
};

/// Numbers of the instructions.
struct MicroCode {
    static constexpr std::size_t accumulators = 3, memory = 3;
    static constexpr std::uint8_t arith(std::size_t x, Arith op, std::size_t y)
    {
        return static_cast<std::uint8_t>(x * 16 + static_cast<std::size_t>(op) * 4 + y);
    }
    static constexpr std::uint8_t both(std::size_t x, Arith op)
    {
        return static_cast<std::uint8_t>(48 + x * 3 + static_cast<std::size_t>(op));
    }
    static constexpr std::uint8_t load(std::size_t x) { return static_cast<std::uint8_t>(57 + x); }
    static constexpr std::uint8_t store(std::size_t x) { return static_cast<std::uint8_t>(60 + x); }
    static constexpr std::uint8_t move(std::size_t x, std::size_t y)
    {
        return static_cast<std::uint8_t>(63 + x * 3 + y);
    }
    static constexpr std::uint8_t end = 72, count = 73;
};

template <class T, class A = xsimd::default_arch> class MicroMachine {
    using L = Lane<T, A>;
    static constexpr std::size_t width = 8;

public:
    static constexpr std::size_t block = width * L::width;  ///< elements

    /// One block of elements at the places `at`.
    static void run(const MicroOp* program, std::byte* const* at)
    {
        run(program, at, std::make_index_sequence<width>());
    }

private:
    struct Accumulators {
        L x[3][width];
    };

    template <Arith op> [[gnu::always_inline]] static L step(L x, L y)
    {
        if constexpr (op == Arith::add)
            return x + y;
        else if constexpr (op == Arith::subtract)
            return x - y;
        else if constexpr (op == Arith::multiply)
            return x * y;
        else
            return y - x;
    }

    template <std::size_t code, std::size_t... v>
    [[gnu::always_inline]] static void instruction(Accumulators& a, const MicroOp& o, std::byte* const* at,
                                                   std::index_sequence<v...>)
    {
        using C = MicroCode;
        T* p = reinterpret_cast<T*>(at[o.operand]);
        if constexpr (code < C::both(0, Arith::add)) {
            constexpr std::size_t x = code / 16, y = code % 4;
            constexpr auto op = static_cast<Arith>(code / 4 % 4);
            if constexpr (y == C::memory)
                ((a.x[x][v] = step<op>(a.x[x][v], L::load(p + v * L::width))), ...);
            else
                ((a.x[x][v] = step<op>(a.x[x][v], a.x[y][v])), ...);
        } else if constexpr (code < C::load(0)) {
            constexpr std::size_t x = (code - 48) / 3;
            constexpr auto op = static_cast<Arith>((code - 48) % 3);
            const T* q = reinterpret_cast<const T*>(at[o.second]);
            ((a.x[x][v] = step<op>(L::load(p + v * L::width), L::load(q + v * L::width))), ...);
        } else if constexpr (code < C::store(0)) {
            ((a.x[code - 57][v] = L::load(p + v * L::width)), ...);
        } else if constexpr (code < C::move(0, 0)) {
            (a.x[code - 60][v].store(p + v * L::width), ...);
        } else {
            ((a.x[(code - 63) / 3][v] = a.x[(code - 63) % 3][v]), ...);
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
