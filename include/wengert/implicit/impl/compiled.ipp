// The solvers for tensors of WENGERT_T as a list of instantiations. It is read twice for a type: by ../compiled.hpp, which says that
// wengert::compiled_linalg has them, and by impl/implicit.ipp, which makes them.
#include "../compiled.hpp"

#ifdef WENGERT_T
namespace wengert::detail {

WENGERT_ONCE template Tensor<WENGERT_T> bfgs(const VectorFunction<Tensor<WENGERT_T>>&,
                                             const Tensor<WENGERT_T>&, const SolverOptions&, const Site&);
WENGERT_ONCE template Tensor<WENGERT_T> follow(ImplicitName, ImplicitName,
                                               const VectorFunction<Tensor<WENGERT_T>>&,
                                               const Tensor<WENGERT_T>&, const SolverOptions&, const Site&);
WENGERT_ONCE template Tensor<WENGERT_T> integrate(const SlopeFunction<Tensor<WENGERT_T>>&,
                                                  const Tensor<WENGERT_T>&, const Tensor<WENGERT_T>&,
                                                  const OdeOptions&, const Site&);
WENGERT_ONCE template Tensor<WENGERT_T> iterate(const VectorFunction<Tensor<WENGERT_T>>&,
                                                const Tensor<WENGERT_T>&, const SolverOptions&, const Site&);
WENGERT_ONCE template Tensor<WENGERT_T> krylov(ImplicitName, const VectorFunction<Tensor<WENGERT_T>>&,
                                               const Tensor<WENGERT_T>&, const SolverOptions&, const Site&);
WENGERT_ONCE template Tensor<WENGERT_T> newton(ImplicitName, const VectorFunction<Tensor<WENGERT_T>>&,
                                               const Tensor<WENGERT_T>&, const SolverOptions&, const Site&);

}  // namespace wengert::detail
#endif
