/// Random programs: small lists of instructions that one compiled interpreter runs with the library's public functions
/// (random_programs_run.hpp). Any list is a program: operands count back from the newest value, shapes are made to fit, so
/// that a failing one can be shortened by leaving instructions out.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
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
    listed, equal_branches, twin_loops, complete_scan, sliced_scan, checkpointed_control, pulled, told, shown, mapped, cell, edges, row_products, scattered,
    counted, arranged, ordered, solved, count
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

/// What is computed of a program; of the last three derivatives of its frozen function, after plain calls of that.
enum class Mode : int {
    forward,
    gradient,
    value_and_gradient,
    second,
    jvp,
    hvp,
    frozen_gradient,
    frozen_jvp,
    frozen_hvp,
    count
};

struct Program {
    std::uint64_t seed = 0;  ///< of the data; its millions are the flags below
    Mode mode{};
    bool twice = false;  ///< double instead of float
    unsigned outputs = 1;
    std::vector<Extents> inputs, constants, live;
    std::vector<Instruction> body;

    static constexpr std::uint64_t flags = 1'000'000;
    /// Data with infinities, NaN, zeros of both signs, subnormal and huge numbers.
    bool edges() const { return seed / flags & 1; }
    /// Calls whose inputs have other leading extents, frozen with `.dynamic`.
    bool dynamic() const { return seed / flags & 2; }
    /// Constants of one shape that hold the same numbers.
    bool equal_constants() const { return seed / flags & 4; }
    bool of_frozen() const { return mode >= Mode::frozen_gradient; }
    bool has_tangents() const
    {
        return mode == Mode::jvp || mode == Mode::hvp || mode == Mode::frozen_jvp || mode == Mode::frozen_hvp;
    }
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

/// Which programs are wanted.
struct Wanted {
    int order = 0;                     ///< of the derivatives, 1 or 2; 0 for both
    std::vector<std::string> without;  ///< words that do not occur
};
Program generate(std::uint64_t seed, const Wanted& wanted = {});
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

/// What graphs are run by, one beside the other.
enum Executor : unsigned { interpreter = 1, tiles = 2, threads = 4, native_code = 8, emitted_text = 16 };
inline constexpr unsigned without_compiler = interpreter | tiles | threads;

/// Programs beside eager: what is wrong with each. Native code and emitted text of all of them are compiled as one.
std::vector<std::string> failures(const std::vector<Program>& programs, unsigned executors);
inline std::string failure(const Program& p, unsigned executors = without_compiler)
{
    return failures({p}, executors).front();
}

/// What has been compiled so far.
struct Counts {
    std::size_t graphs = 0, native = 0, emitted = 0, untold = 0, objects = 0, calls = 0;
};
Counts& counts();

/// One program, first up to the calls that trace it, then all others.
class Session {
public:
    virtual ~Session() = default;
    virtual std::string start() = 0;
    virtual std::string finish() = 0;
    /// Do inputs that differ in the last digits alone give other results?
    virtual bool is_unstable() = 0;
};
std::unique_ptr<Session> session_float(const Program& p);
std::unique_ptr<Session> session_double(const Program& p);

}  // namespace random_programs
