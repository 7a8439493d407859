// What an operation takes, estimated. An elementwise one over n elements takes
//
//     n Σ rate(s)   over the steps s of its rule (functions/term.hpp)
//
// where a fused pass carries it out; a value of b bytes that one pass leaves to another one takes b · store there and
// b · load in each that reads it, at the rate of the smallest cache that holds b. A product takes its multiplications, any
// other operation one arithmetic step for each element of its largest operand or result, views nothing.
#pragma once

#include "../../functions/term.hpp"
#include "cost_model.hpp"
#include "graph.hpp"

namespace wengert {

namespace detail {

double rate_of(TermKind k, const CostModel::Rates& r);

const CostModel::Rates& rates_of(DType dtype, const CostModel& c);

/// The rule of an elementwise operation, step by step. One that is opaque may be anything: it counts as transcendental.
double rule_cost(const Primitive& p, const CostModel::Rates& r);

/// How many products of numbers are summed up in an element of a product of matrices.
double inner_extent(const Graph& g, const GraphNode& n);

double tier(const CostModel::Traffic& t, std::size_t bytes, const CostModel& c);

}  // namespace detail

inline std::size_t bytes_of(const GraphNode& n) { return element_count(n.shape) * size_of(n.dtype); }

/// Nanoseconds for reading a value that another pass has stored.
double load_cost(const GraphNode& n, const CostModel& c);
/// The same for storing it.
double store_cost(const GraphNode& n, const CostModel& c);

/// Nanoseconds for the computation alone. Views compute nothing, which this function cannot see.
double work_cost(const Graph& g, const GraphNode& n, const CostModel& c);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/cost.ipp"
#endif
