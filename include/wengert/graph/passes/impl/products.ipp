// What products.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../products.hpp"

namespace wengert::passes::detail {

WENGERT_INLINE bool swaps_rows(const Rewrite& r, const GraphNode& n, ValueId v)
{
    if (r.fn_for(n, v) != Fn::transpose) return false;
    const Extents perm = part_of(r.graph(), r.node(v)).from;
    const std::size_t rank = perm.size();
    for (std::size_t k = 0; k + 2 < rank; ++k)
        if (perm[k] != static_cast<std::int64_t>(k)) return false;
    return perm[rank - 2] == static_cast<std::int64_t>(rank - 1);
}

WENGERT_INLINE bool is_proper_matrix(const Shape& s)
{
    return s.size() >= 2 && s[s.size() - 1] > 1 && s[s.size() - 2] > 1;
}

WENGERT_INLINE bool read_in_place(const Rewrite& r, ValueId v)
{
    if (r.fn(v) == Fn::select) v = r.node(v).inputs[0];
    return r.facts(v).has(Facts::row_major);
}

WENGERT_INLINE bool is_matmul(const Rewrite& r, const GraphNode& n, const MatrixProduct& p)
{
    const bool numbers = n.dtype != DType::boolean && r.node(n.inputs[p.a.operand]).dtype == n.dtype &&
                         r.node(n.inputs[p.b.operand]).dtype == n.dtype;
    return numbers && p.is_plain();
}

WENGERT_INLINE MatMul matmul_of(const Rewrite& r, const GraphNode& n, const MatrixProduct& p)
{
    return {p.a.transposed, p.b.transposed, r.node(n.inputs[p.a.operand]).shape,
            r.node(n.inputs[p.b.operand]).shape};
}

WENGERT_INLINE ValueId flag_transposes(Rewrite& r, GraphNode& n)
{
    const MatrixProduct p = product_of(n);
    if (!is_matmul(r, n, p)) return no_value;
    MatMul op = matmul_of(r, n, p);
    ValueId in[] = {n.inputs[p.a.operand], n.inputs[p.b.operand]};
    for (std::size_t k = 0; k < 2; ++k) {
        const ValueId x = in[k];
        if (!swaps_rows(r, n, x)) continue;
        const bool exact = is_proper_matrix(r.node(x).shape) && read_in_place(r, r.node(x).inputs[0]);
        if (!exact && !r.options.allow_reassociation) continue;
        bool& flag = k == 0 ? op.ta : op.tb;
        flag = !flag;
        in[k] = r.node(x).inputs[0];
        (k == 0 ? op.a : op.b) = r.node(in[k]).shape;
        r.edited = true;
    }
    if (!r.edited) return no_value;
    return turn_into(r, n, Fn::product, {in[0], in[1]}, &op);
}

WENGERT_INLINE FoundProduct found_product(const Rewrite& r, const GraphNode& n, ValueId v)
{
    FoundProduct f;
    ValueId g = no_value;
    if (r.fn_for(n, v) == Fn::zero_rule && zero_rule_on_itself(r.node(v)) && r.used_once(v)) {
        g = r.node(v).inputs[1];
        v = r.node(v).inputs[0];
    }
    if (!r.used_once(v)) return f;
    if (r.fn_for(n, v) != Fn::product || !(r.node(v).shape == n.shape)) return f;
    const GraphNode& m = r.node(v);
    const MatrixProduct p = product_of(m);
    if (!is_matmul(r, m, p)) return f;
    const ValueId a = m.inputs[p.a.operand], b = m.inputs[p.b.operand];
    if (r.node(a).shape.size() != 2 || r.node(b).shape.size() != 2) return f;
    if (g != no_value && g != a && g != b) return f;
    f.product = v;
    f.cotangent = g == no_value ? 0 : g == a ? 1 : 2;
    return f;
}

WENGERT_INLINE FoundProduct scaled_product(const Rewrite& r, const GraphNode& n, ValueId v, ValueId& alpha)
{
    alpha = no_value;
    if (r.fn_for(n, v) != Fn::multiply || !r.used_once(v)) return found_product(r, n, v);
    for (std::size_t k = 0; k < 2; ++k) {
        const ValueId p = r.node(v).inputs[k], s = r.node(v).inputs[1 - k];
        if (!r.node(s).shape.empty()) continue;
        alpha = s;
        if (const FoundProduct f = found_product(r, n, p); f.product != no_value) return f;
    }
    return {};
}

WENGERT_INLINE bool rounds_alike(const Rewrite& r, const MatMul& m)
{
    return r.options.allow_reassociation || m.a[m.ta ? 0 : 1] <= longest_exact;
}

WENGERT_INLINE ValueId fold_sum(Rewrite& r, GraphNode& n, Fn fn)
{
    if (!r.options.fold_updates && !r.options.allow_reassociation) return no_value;
    if (!wengert::differentiable(n.dtype) || n.shape.size() != 2) return no_value;
    for (std::size_t k = 1; k <= (fn == Fn::add ? 2U : 1U); ++k) {
        const ValueId p = n.inputs[k % 2], c = n.inputs[1 - k % 2];
        ValueId alpha;
        const FoundProduct f = scaled_product(r, n, p, alpha);
        if (f.product == no_value || !(r.node(c).shape == n.shape)) continue;
        if (alpha == no_value && !r.used_once(c)) continue;  // c would be copied
        const GraphNode& found = r.node(f.product);
        const MatrixProduct product = product_of(found);
        const MatMul m = matmul_of(r, found, product);
        const ValueId a = found.inputs[product.a.operand], b = found.inputs[product.b.operand];
        if (alpha == no_value && !rounds_alike(r, m)) continue;
        if (alpha == no_value) alpha = number_like(r, n, 1);
        const Gemm op{m.ta, m.tb, fn == Fn::subtract, f.cotangent, m.a, m.b};
        GraphNode y = n;
        turn_into(r, y, Fn::product_sum, {c, a, b, alpha}, &op);
        return r.add(std::move(y));
    }
    return no_value;
}

WENGERT_INLINE ValueId one_line_of_guard(Rewrite& r, GraphNode& n)
{
    const ValueId x = n.inputs[n.inputs.size() - 2], g = n.inputs.back();
    if (n.inputs.size() != 3 || r.fn_for(n, x) != Fn::product || !r.used_once(x)) return no_value;
    GraphNode all = r.node(x), one = all, part;  // g may be an input, or a constant
    part.dtype = r.node(g).dtype;
    part.shape = r.node(g).shape;
    const MatrixProduct p = product_of(all);
    if (!is_matmul(r, all, p) || all.shape.size() != 2 || part.shape.size() != 2) return no_value;
    MatMul op = matmul_of(r, all, p);
    ValueId a = all.inputs[p.a.operand], b = all.inputs[p.b.operand];
    const bool right = b == g;
    if (!right && a != g) return no_value;
    const std::size_t axis = right ? (op.tb ? 0 : 1) : (op.ta ? 1 : 0);
    if (part.shape[axis] <= 1) return no_value;
    Selection line(Selection::Empty(), part.shape);
    for (std::size_t k = 0; k < 2; ++k) line.keep(k, 0, 1, k == axis ? 1 : part.shape[k]);
    const Select select{line};
    part.shape = line.shape;
    part.at = n.at, part.segment = n.segment;
    turn_into(r, part, Fn::select, {g}, &select);
    (right ? b : a) = r.add_inner(std::move(part));
    (right ? op.b : op.a) = line.shape;
    one.shape[right ? 1 : 0] = 1;
    turn_into(r, one, Fn::product, {a, b}, &op);
    make_broadcast(r, all, r.add_inner(std::move(one)));
    n.inputs[1] = r.add_inner(std::move(all));
    return no_value;
}

WENGERT_INLINE ValueId product_rule(Rewrite& r, GraphNode& n)
{
    if (n.kind != Graph::Kind::operation) return no_value;
    switch (const Fn fn = r.here) {
    case Fn::product: return flag_transposes(r, n);
    case Fn::add:
    case Fn::subtract: return fold_sum(r, n, fn);
    case Fn::zero_rule: return one_line_of_guard(r, n);
    default: return no_value;
    }
}

}  // namespace wengert::passes::detail
