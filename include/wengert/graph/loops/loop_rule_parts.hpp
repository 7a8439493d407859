// What the derivatives of all loops and branches are put together from: inputs saved, cotangents of results, lists of
// positions, packed blocks made of parts.
#pragma once

#include "loop_graphs.hpp"

namespace wengert::detail {

using Kind = LoopParameters::Kind;

std::vector<AnyTensor> saved_inputs(const Node& n);
template <class T> AnyTensor filled_with(T v, const Shape& shape)
{
    return broadcast_to(Tensor<T>(v), shape, Site{}).any();
}
/// A constant of one number; large ones are no memory of the graph.
AnyTensor filled(DType d, const Shape& shape, double v);

/// Indices of those that are true, shifted.
std::vector<std::size_t> chosen(const std::vector<bool>& which, std::size_t first, std::size_t last);
void append(std::vector<std::size_t>& to, const std::vector<std::size_t>& from, std::size_t shift = 0);
std::vector<std::size_t> all_of(std::size_t first, std::size_t last);
/// The position of each true one among the true ones.
std::vector<std::size_t> ranks(const std::vector<bool>& which);

/// The inputs of a loop that the results of its derivative belong to, in the order of those.
std::vector<std::size_t> pulled_inputs(const LoopParameters& pull);
/// Hands a derivative's results on to the inputs that want them.
void add_pulled(const LoopParameters& pull, const AnyTensor& packed, const std::vector<std::size_t>& inputs,
                Cotangents& out, const Site& at);

Shape stacked_shape(std::int64_t steps, const Shape& one);

/// Drops xs and constants that the body of a scan does not read, and their operands.
void drop_unused(LoopParameters& p, std::vector<AnyTensor>& in);

/// Cotangents of a loop's results, empty where there are none.
std::vector<AnyTensor> cotangents_of_results(const Node& n, const AnyTensor& g, Cotangents& out);
/// A cotangent or tangent, zeros where it is absent.
AnyTensor or_zeros(const AnyTensor& t, DType dtype, const Shape& shape);

std::vector<bool> have_tangents(const AnyTensor* tangents, std::size_t n);

template <class T>
AnyTensor packed_sum(const AnyTensor& total, const AnyTensor& part, const LoopParameters::Result& r,
                     std::int64_t size)
{
    const Tensor<T> term = apply<Pack, T>(Pack{r.offset, r.shape, size}, Site{}, Tensor<T>(part));
    return total.value ? (Tensor<T>(total) + term).any() : term.any();
}
/// A packed block from some of its results, zeros elsewhere.
AnyTensor packed_from(const LoopParameters& p, const std::vector<AnyTensor>& parts);

/// A cond of two graphs that were made from the branches of p.
std::shared_ptr<LoopParameters> branch_of(Graph yes, Graph no);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "loop_rule_parts_source.hpp"
#endif
