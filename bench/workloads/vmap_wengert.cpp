#include <wengert/graph/control/vmap.hpp>

#include "frozen_common.hpp"
#include "problems.hpp"

namespace bench {
namespace {

using D = wengert::Tensor<double>;

template <class F> bool add_rows(const char* variant, const F& f)
{
    return add_frozen({"vmap", variant, {}, {}, 1e-13}, [f](const wengert::FreezeOptions& options) {
        return frozen_case(wengert::freeze(wengert::vmap(f), options), std::tuple(D({Vmap::rows}, Vmap().x)),
                           [](const D& y) { return Results{doubles(y)}; });
    });
}

const auto value = [](const D& t) { return Vmap::value(t); };
const bool added = add_rows("value", value) && add_rows("grad", wengert::grad(value));

}  // namespace
}  // namespace bench
