// CostModel: what operations and memory take, in nanoseconds. `bench/run.sh tune` measures it and prints it in this form.
#pragma once

#include <cstddef>

namespace wengert {

/// Constants of the estimates in cost.hpp. The defaults were measured on one core of a Xeon (Sapphire Rapids, AVX-512).
struct CostModel {
    /// Nanoseconds for each element, of what a rule computes with.
    struct Rates {
        double arithmetic;      ///< additions, multiplications, comparisons, choices
        double division;        ///< and square roots
        double transcendental;  ///< exp, tanh, sin, …
        double product;         ///< a multiplication and addition in a matrix product
    };
    Rates f32{0.02, 0.17, 0.34, 0.012}, f64{0.04, 0.55, 0.8, 0.027};
    /// Nanoseconds for each byte of a value that fits the first-level cache, the second, neither.
    struct Traffic {
        double l1, l2, far;
    };
    Traffic load{0.004, 0.006, 0.07}, store{0.002, 0.006, 0.1};
    std::size_t l1_bytes = 32U << 10, l2_bytes = 1400000;
    double margin =
        0.75;  ///< estimates are rough: what is done again takes at most this part of what is saved
};

}  // namespace wengert
