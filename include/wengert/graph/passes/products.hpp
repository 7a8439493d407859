// Matrix products: transposes become flags, sums with a product become part of it, products that only guard shrink.
#pragma once

#include "simplify.hpp"

namespace wengert::passes {

namespace detail {

/// Is v an operand with its last two axes exchanged, and no others?
bool swaps_rows(const Rewrite& r, const GraphNode& n, ValueId v);

/// Rows and columns are told apart by their strides: with an extent of 1 either could be either, and a product of vectors
/// is summed in another order.
bool is_proper_matrix(const Shape& s);

/// Does a product read v where it lies, transposed or not? Rows of a broadcast are put together first, in the order asked for.
bool read_in_place(const Rewrite& r, ValueId v);

/// Is it op(a) op(b) and nothing else, as MatMul is?
bool is_matmul(const Rewrite& r, const GraphNode& n, const MatrixProduct& p);
MatMul matmul_of(const Rewrite& r, const GraphNode& n, const MatrixProduct& p);
/// (xᵀ) y: the flag says it, no view is made.
ValueId flag_transposes(Rewrite& r, GraphNode& n);

/// A product of two matrices that only the node at hand uses, guarded by the zero-cotangent rule or not.
struct FoundProduct {
    ValueId product = no_value;
    std::int64_t cotangent = 0;
};
FoundProduct found_product(const Rewrite& r, const GraphNode& n, ValueId v);

/// v = α p: the product p and its factor; α is no_value where there is none.
FoundProduct scaled_product(const Rewrite& r, const GraphNode& n, ValueId v, ValueId& alpha);

/// Products up to which every kernel adds them up before it adds the sum to C: libraries cut longer sums into parts (OpenBLAS after
/// 128 products at the least) and add part by part.
inline constexpr std::int64_t longest_exact = 128;

/// May c + a b be one GEMM? Its bits are those of a product and a sum where the product is complete before it is added.
bool rounds_alike(const Rewrite& r, const MatMul& m);

/// c + α (a b) and c − α (a b) as one GEMM, which may round α Σ and c + α Σ in one.
ValueId fold_sum(Rewrite& r, GraphNode& n, Fn fn);

/// The guard of (v, a b, g) where g is a or b, and nothing else needs the product: that of one column or row of g, repeated. It is read
/// where all of g is 0 alone. Then every column of a g has the same elements that are not finite, as has every row of g b.
ValueId one_line_of_guard(Rewrite& r, GraphNode& n);

ValueId product_rule(Rewrite& r, GraphNode& n);

}  // namespace detail

/// Transposes of a product's operands become its flags, and a product that only guards against a cotangent of 0 becomes one of a line:
/// exact. With fold_updates or allow_reassociation, c ± α (a b)
/// becomes one GEMM. Without α it has the bits of a product and a sum, unless sums are reassociated; with α its rounding is
/// that of c added to the product's partial sums. Differences are at most those of another order of summation, (k + 2) ε (|c| + |α| Σ |aᵢₚ bₚⱼ|) with k the inner extent and ε the unit roundoff.
inline constexpr Pass products{"products", detail::product_rule};

}  // namespace wengert::passes

#ifndef WENGERT_COMPILED
#include "impl/products.ipp"
#endif
