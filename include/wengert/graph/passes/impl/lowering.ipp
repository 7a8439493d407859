// What lowering.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../lowering.hpp"

namespace wengert::passes::detail {

WENGERT_INLINE ValueId lower_rule(Rewrite& r, GraphNode& n)
{
    Fold f;
    if (!fold_of(n, f) || !wengert::differentiable(n.dtype) || element_count(n.shape) == 0) return no_value;
    return traced_inside(r, n, [&](const std::vector<AnyTensor>& in) {
        const FoldProgram p = n.primitive->fold->write();
        return with_real(n.dtype, [&]<class T>() { return LoweredFold<T>(f, in).run(p).any_unchecked(); });
    });
}

}  // namespace wengert::passes::detail

namespace wengert::passes {

WENGERT_INLINE Graph lowering(const Graph& g, const PassOptions& options)
{
    return compacted(settled(g, options, {{detail::lower_rule}}));
}

}  // namespace wengert::passes
