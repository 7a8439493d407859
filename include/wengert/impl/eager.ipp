// What eager programs need and no type of theirs decides, the tape, the sweep, sections: one source of wengert::compiled.
#pragma once

#include "../array/impl/block.ipp"
#include "../array/impl/counted.ipp"
#include "../array/impl/elsewhere.ipp"
#include "../array/impl/layout.ipp"
#include "../array/impl/pool.ipp"
#include "../base/impl/error.ipp"
#include "../base/impl/key.ipp"
#include "../base/impl/report.ipp"
#include "../base/impl/shape.ipp"
#include "../base/impl/site.ipp"
#include "../kernels/impl/about.ipp"
#include "../kernels/cpu/impl/random.ipp"
#include "../kernels/cpu/impl/self_test.ipp"
#include "../ops/elementwise/impl/cast.ipp"
#include "../ops/elementwise/impl/elementwise.ipp"
#include "../graph/control/impl/host.ipp"
#include "../graph/control/impl/tracing.ipp"
#include "../graph/ir/impl/arguments.ipp"
#include "../io/impl/npz.ipp"
#include "../io/impl/print.ipp"
#include "../ops/composed/impl/contractions.ipp"
#include "../ops/impl/random.ipp"
#include "../ops/impl/slices.ipp"
#include "../ops/describe/impl/structural_rules.ipp"
#include "../ops/impl/update.ipp"
#include "../tape/impl/apply.ipp"
#include "../tape/impl/backward.ipp"
#include "../tape/impl/elsewhere.ipp"
#include "../tape/impl/hooks.ipp"
#include "../tape/impl/obliged.ipp"
#include "../tape/impl/report.ipp"
#include "../tape/impl/run_log.ipp"
#include "../tape/impl/section.ipp"
#include "../tape/impl/speculation.ipp"
#include "../tape/impl/sweep_observer.ipp"
#include "../tape/impl/tape_impl.ipp"
#include "../tape/impl/tensor.ipp"
#include "../tape/impl/walk_elementwise.ipp"
#include "../tape/impl/walk.ipp"
#include "../transforms/impl/audit.ipp"
#include "../transforms/impl/check_grads.ipp"
#include "../transforms/impl/level.ipp"
#include "../transforms/impl/loop_sections.ipp"
#include "../transforms/impl/preaccumulate.ipp"
#include "../transforms/impl/saved_tensor_hooks.ipp"
#include "../transforms/impl/section.ipp"
#include "../transforms/impl/snapshot_file.ipp"

#ifdef WENGERT_COMPILED
#include "../transforms/often.hpp"

#define WENGERT_ONCE
#define WENGERT_T float
#include "../transforms/impl/often.ipp"
#undef WENGERT_T
#define WENGERT_T double
#include "../transforms/impl/often.ipp"
#undef WENGERT_T
#undef WENGERT_ONCE

template bool wengert::Tensor<bool>::item(Site) const;

namespace wengert::detail {

template AuditReport audit_by<double>(const AuditRun&);
template AnyTensor add_any<float>(const AnyTensor&, const AnyTensor&);
template AnyTensor add_any<double>(const AnyTensor&, const AnyTensor&);
template AnyTensor sum_to_any<float>(const AnyTensor&, const Shape&);
template AnyTensor sum_to_any<double>(const AnyTensor&, const Shape&);
template class JacobianRule<>;
template Tensors<float> random_like(const Tensors<float>&, std::uint64_t&);
template double inner(const Tensors<float>&, const Tensors<float>&, double*);
template double difference(const TensorFunction<float>&, const Tensors<float>&, const Tensors<float>&,
                           const Tensors<float>&, double, double&);
template class Checker<float>;
template Tensors<double> random_like(const Tensors<double>&, std::uint64_t&);
template double inner(const Tensors<double>&, const Tensors<double>&, double*);
template double difference(const TensorFunction<double>&, const Tensors<double>&, const Tensors<double>&,
                           const Tensors<double>&, double, double&);
template class Checker<double>;

}  // namespace wengert::detail
#endif
