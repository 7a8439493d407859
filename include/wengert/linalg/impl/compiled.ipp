// Linear algebra of tensors of WENGERT_T as a list of instantiations. It is read twice for a type: by ../compiled.hpp, which says that
// wengert::compiled_linalg has them, and by impl/linalg.ipp, which makes them.
#include "../compiled.hpp"

#ifdef WENGERT_T
namespace wengert::linalg {

namespace detail {
WENGERT_ONCE template Tensor<WENGERT_T> lu_factor(const Tensor<WENGERT_T>&, const Site&, bool);
WENGERT_ONCE template Tensor<WENGERT_T> triangular_solved(const Tensor<WENGERT_T>&, const Tensor<WENGERT_T>&,
                                                          const TriangleOptions&, double, const Site&);
}  // namespace detail
WENGERT_ONCE template Tensor<WENGERT_T> LuSolve::solved(const Tensor<WENGERT_T>&, const Tensor<WENGERT_T>&,
                                                        const Tensor<WENGERT_T>&, bool, const Site&);

WENGERT_ONCE template Tensor<WENGERT_T> cholesky(const Tensor<WENGERT_T>&, Site);
WENGERT_ONCE template Tensor<WENGERT_T> det(const Tensor<WENGERT_T>&, Site);
WENGERT_ONCE template Tensor<WENGERT_T> expm(const Tensor<WENGERT_T>&, Site);
WENGERT_ONCE template Tensor<WENGERT_T> eigvalsh(const Tensor<WENGERT_T>&, Site);
WENGERT_ONCE template Tensor<WENGERT_T> inv(const Tensor<WENGERT_T>&, Site);
WENGERT_ONCE template Tensor<WENGERT_T> svdvals(const Tensor<WENGERT_T>&, Site);
WENGERT_ONCE template Tensor<WENGERT_T> pinv(const Tensor<WENGERT_T>&, double, Site);
WENGERT_ONCE template Tensor<WENGERT_T> cho_solve(const Tensor<WENGERT_T>&, const Tensor<WENGERT_T>&, Site);
WENGERT_ONCE template Tensor<WENGERT_T> lstsq(const Tensor<WENGERT_T>&, const Tensor<WENGERT_T>&, Site);
WENGERT_ONCE template Tensor<WENGERT_T> solve(const Tensor<WENGERT_T>&, const Tensor<WENGERT_T>&, Site);
WENGERT_ONCE template std::pair<Tensor<WENGERT_T>, Tensor<WENGERT_T>> eigh(const Tensor<WENGERT_T>&, Site);
WENGERT_ONCE template std::pair<Tensor<WENGERT_T>, Tensor<WENGERT_T>> qr(const Tensor<WENGERT_T>&, Site);
WENGERT_ONCE template std::pair<Tensor<WENGERT_T>, Tensor<WENGERT_T>> slogdet(const Tensor<WENGERT_T>&, Site);
WENGERT_ONCE template std::tuple<Tensor<WENGERT_T>, Tensor<WENGERT_T>, Tensor<WENGERT_T>> lu(
    const Tensor<WENGERT_T>&, Site);
WENGERT_ONCE template std::tuple<Tensor<WENGERT_T>, Tensor<WENGERT_T>, Tensor<WENGERT_T>> svd(
    const Tensor<WENGERT_T>&, Site);

}  // namespace wengert::linalg
#endif
