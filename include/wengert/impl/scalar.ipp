// What scalar code needs and no function of a program decides, the sweep, forward mode, calls of kernels: one source of wengert::compiled.
#pragma once

#include "../scalar/stream/impl/memory.ipp"
#include "../scalar/stream/impl/severed.ipp"
#include "../scalar/stream/impl/note.ipp"
#include "../scalar/real/impl/adjoints.ipp"
#include "../scalar/jacobian/impl/dense.ipp"
#include "../scalar/jacobian/impl/sparse.ipp"
#include "../scalar/jacobian/impl/sparse_hessian.ipp"
#include "../scalar/kernel/impl/paths.ipp"
#include "../scalar/kernel/kernel_calls.hpp"
#include "../scalar/transforms/impl/exchange.ipp"
#include "../scalar/transforms/impl/external.ipp"
#include "../scalar/transforms/impl/level.ipp"
#include "../scalar/transforms/impl/sweep.ipp"
#include "../scalar/real/impl/tangents.ipp"

#ifdef WENGERT_COMPILED
namespace wengert::detail {

template void deliver_entered<float>(Walk&, ScalarAdjoints&, const ScalarSpan::Entered&, Node&);
template void deliver_entered<double>(Walk&, ScalarAdjoints&, const ScalarSpan::Entered&, Node&);
template class Elements<float>;
template class Gathering<float>;
template const Primitive& external_description<float>();
template void call_external(const Primitive&, std::shared_ptr<const ExternalRules<float>>,
                            std::span<const Real<float>>, std::span<Real<float>>, const Site&);
template std::vector<Real<float>> elements_of(const AnyTensor&, const Site&);
template AnyTensor gathered(const Real<float>*, std::size_t, const Shape&, const Site&, std::string_view);
template class Elements<double>;
template class Gathering<double>;
template const Primitive& external_description<double>();
template void call_external(const Primitive&, std::shared_ptr<const ExternalRules<double>>,
                            std::span<const Real<double>>, std::span<Real<double>>, const Site&);
template std::vector<Real<double>> elements_of(const AnyTensor&, const Site&);
template AnyTensor gathered(const Real<double>*, std::size_t, const Shape&, const Site&, std::string_view);
template std::shared_ptr<ArrayCalls<float>> array_calls(const KernelOptions&);
template std::shared_ptr<ArrayCalls<double>> array_calls(const KernelOptions&);
template std::vector<Tensor<float>> run_on_tensors(const Path&, const std::vector<Tensor<float>>&);
template std::vector<Tensor<double>> run_on_tensors(const Path&, const std::vector<Tensor<double>>&);
template PathOutcomes outcomes_of(const Path&, std::span<const float>);
template PathOutcomes outcomes_of(const Path&, std::span<const double>);

}  // namespace wengert::detail
#endif
