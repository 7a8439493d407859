// Functions of tensors of WENGERT_T that nearly every program calls, as a list of instantiations. It is read twice for a type: by
// ../often.hpp, which says that wengert::compiled has them, and by impl/eager.ipp, which makes them.
#include "../often.hpp"

#ifdef WENGERT_T
namespace wengert {

WENGERT_ONCE template class Tensor<WENGERT_T>;
WENGERT_ONCE template class View<WENGERT_T>;
WENGERT_ONCE template void backward(const Tensor<WENGERT_T>&, BackwardOptions, Site);
WENGERT_ONCE template void backward(const Tensor<WENGERT_T>&, const Tensor<WENGERT_T>&, BackwardOptions,
                                    Site);
WENGERT_ONCE template Tensor<WENGERT_T> broadcast_to(const Tensor<WENGERT_T>&, const Shape&, Site);
WENGERT_ONCE template Ref<Block> full_beside(const Block&, const Shape&, WENGERT_T);
WENGERT_ONCE template Tensor<WENGERT_T> matmul(const Tensor<WENGERT_T>&, const Tensor<WENGERT_T>&, Site);
WENGERT_ONCE template Tensor<WENGERT_T> reshape(const Tensor<WENGERT_T>&, Shape, Site);
WENGERT_ONCE template Tensor<WENGERT_T> sum(const Tensor<WENGERT_T>&, Site);
WENGERT_ONCE template Tensor<WENGERT_T> sum(const Tensor<WENGERT_T>&, const AxesArgument&, bool, Site);
WENGERT_ONCE template Tensor<WENGERT_T> sum_to(const Tensor<WENGERT_T>&, const Shape&);
WENGERT_ONCE template Tensor<WENGERT_T> transpose(const Tensor<WENGERT_T>&, const Axes&, Site);
WENGERT_ONCE template Tensor<WENGERT_T> transpose(const Tensor<WENGERT_T>&, Site);
WENGERT_ONCE template Tensor<WENGERT_T> view(const Tensor<WENGERT_T>&, Slice, Slice, Slice, Slice, Slice,
                                             Slice, Site);
WENGERT_ONCE template View<WENGERT_T> view(Tensor<WENGERT_T>&, Slice, Slice, Slice, Slice, Slice, Slice,
                                           Site);

namespace ops {
WENGERT_ONCE template Tensor<WENGERT_T> element(const Tensor<WENGERT_T>&, std::span<const std::int64_t>,
                                                const Site&);
WENGERT_ONCE template Tensor<WENGERT_T>& update(Tensor<WENGERT_T>&, Update, const Tensor<WENGERT_T>&,
                                                const Site&);
}  // namespace ops

namespace detail {
WENGERT_ONCE template class Pullback<Tensor<WENGERT_T>, Tensor<WENGERT_T>>;
WENGERT_ONCE template void add_part<false>(AnyTensor&, const Selection&, const Tensor<WENGERT_T>&,
                                           const Site&);
WENGERT_ONCE template void add_part<true>(AnyTensor&, const Selection&, const Tensor<WENGERT_T>&,
                                          const Site&);
WENGERT_ONCE template void assign_part(AnyTensor&, const Selection&, const Tensor<WENGERT_T>&, const Site&);
WENGERT_ONCE template void check_scalar(const Tensor<WENGERT_T>&, std::string_view, const Site&);
WENGERT_ONCE template Tensor<WENGERT_T> concatenate(const Tensor<WENGERT_T>*, std::size_t, std::int64_t,
                                                    const Site&);
WENGERT_ONCE template Tensor<WENGERT_T> cotangent_of(const Tensor<WENGERT_T>&);
WENGERT_ONCE template Tensor<WENGERT_T> jacobian_by_rows(
    const Pullback<Tensor<WENGERT_T>, Tensor<WENGERT_T>>&, const Tensor<WENGERT_T>&, const Shape&,
    const Site&);
WENGERT_ONCE template Tensor<WENGERT_T> lift(const Tensor<WENGERT_T>&, std::size_t, std::string_view,
                                             const Site&);
WENGERT_ONCE template Tensor<WENGERT_T> lift_with_tangent(const Tensor<WENGERT_T>&, const Tensor<WENGERT_T>&,
                                                          std::size_t, std::string_view, const Site&);
WENGERT_ONCE template Tensor<WENGERT_T> lower(const Tensor<WENGERT_T>&, std::size_t, const Site&);
WENGERT_ONCE template Ref<Block> number_block(WENGERT_T);
WENGERT_ONCE template AnyTensor ones_of(const Tensor<WENGERT_T>&);
WENGERT_ONCE template Tensor<WENGERT_T> stack(const Tensor<WENGERT_T>*, std::size_t, std::int64_t,
                                              const Site&);
WENGERT_ONCE template void report_lost(const Tape&, std::size_t, std::string_view, const Site&,
                                       const Tensor<WENGERT_T>&);
}  // namespace detail
}  // namespace wengert
#endif
