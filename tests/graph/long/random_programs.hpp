/// Random programs: small lists of instructions that one compiled interpreter runs with the library's public functions
/// (random_programs_run.hpp). Any list is a program: operands count back from the newest value, shapes are made to fit, so
/// that a failing one can be shortened by leaving instructions out.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace random_programs {

// clang-format off
enum class Op : int {
    negative, square, sqrt, reciprocal, exp, expm1, log, log1p, erf, abs, sign, floor, ceil, round, sin, cos, tan, asin, acos,
    atan, sinh, cosh, tanh, sigmoid, softplus, relu, gelu, silu,
    add, subtract, multiply, divide, pow, atan2, hypot, maximum, minimum, literal, clip, where, compare, logical, integer,
    lambda, sum, mean, prod, amax, amin, var, stddev, norm, logsumexp, argument, quantify, softmax, log_softmax,
    cross_entropy, reshape, transpose, swapaxes, expand_dims, squeeze, broadcast, concatenate, stack, split, pad, triangle,
    diagonal, view, element, assign, update, matmul, dot, outer, take, scatter_add, one_hot, stop, copy, writer, item, branch,
    loop, while_loop, inner_gradient, inner_jvp, inner_frozen, custom, draw, load, store, recorded_scan, recorded_while,
    recorded_cond, recorded_snapshots, checkpointed, checkpointed_loop, preaccumulated, fresh, ruled, hidden, frozen_inside,
    listed, count
};
// clang-format on
const char* name_of(Op op);

struct Instruction {
    Op op{};
    std::array<unsigned, 3> x{};  ///< operands: how many values back
    std::array<unsigned, 3> p{};  ///< what else there is to choose
    std::vector<Instruction> body, other;
};

using Extents = std::vector<long>;

enum class Mode : int { forward, gradient, value_and_gradient, second, jvp, hvp, count };

struct Program {
    std::uint64_t seed = 0;  ///< of the data
    Mode mode{};
    bool twice = false;  ///< double instead of float
    unsigned outputs = 1;
    std::vector<Extents> inputs, constants, live;
    std::vector<Instruction> body;
};

/// A generator whose numbers are the same everywhere (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number
/// generators").
struct Random {
    std::uint64_t state;
    std::uint64_t operator()()
    {
        std::uint64_t z = state += 0x9E3779B97F4A7C15u;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        return z ^ z >> 31;
    }
    unsigned below(unsigned n) { return static_cast<unsigned>((*this)() % n); }
    bool chance(unsigned percent) { return below(100) < percent; }
};

Program generate(std::uint64_t seed);
/// One line, which parse() reads back: what is kept in random_programs.txt.
std::string saved(const Program& p);
/// Throws std::runtime_error for what is none.
Program parse(const std::string& line);
/// For people.
std::string listing(const Program& p);

/// What is wrong with a program, empty when nothing is.
using Check = std::function<std::string(const Program&)>;
/// A small program that fails as well, in at most so many attempts.
Program shrunk(const Program& p, const Check& check, int attempts = 600);

/// How a program is run beside eager: 0, 1, 2 … are fixed combinations of backends and options.
std::string failure_float(const Program& p);
std::string failure_double(const Program& p);
inline std::string failure(const Program& p) { return p.twice ? failure_double(p) : failure_float(p); }

}  // namespace random_programs
