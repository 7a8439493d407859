// Registry: descriptors of primitives by name and dtypes, each with the rule of its result's shape. graph/look/registry.hpp has
// the library's own; programs add theirs.
#pragma once

#include <map>
#include <optional>

#include "../../ops/variadic.hpp"
#include "../../ops/value_type.hpp"
#include "../ir/graph.hpp"

namespace wengert {

/// The result's shape from the parameters and the operands. Throws where they do not fit.
using ShapeRule = Shape (*)(const void* op, ValueTypes operands);

struct RegistryEntry {
    const Primitive* primitive = nullptr;
    std::vector<DType> operands;  ///< of each; of all where the number varies
    ShapeRule shape = nullptr;    ///< null: elementwise operands broadcast, others are computed on zeros
    /// Of a sweep's "cotangent so far + pull" for input `into` (tape/primitive.hpp): the operation, whose `shape` that is.
    const Primitive* of = nullptr;
    std::size_t into = 0;

    bool takes(ValueTypes x) const
    {
        const bool any = primitive->arity == 0;
        if (any ? x.empty() : x.size() != operands.size()) return false;
        for (std::size_t i = 0; i < x.size(); ++i)
            if (x[i].dtype != operands[any ? 0 : i]) return false;
        return true;
    }
};

namespace detail {

/// Of an operation that is described part by part: they make up the whole.
template <class Op> Shape parts_shape(const void* op, ValueTypes x)
{
    Shape whole;
    std::size_t covered = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
        const Shape* const shapes[] = {&x[k].shape};
        Index part(shapes, 1);
        describe_part_of<Op>(op, k, part);
        part.check(Op::name, {});
        if (k > 0) same_shape(whole, part.result, "a result");
        whole = part.result;
        covered += element_count(x[k].shape);
    }
    check_extents(whole);
    demand(covered == element_count(whole),
           std::to_string(x.size()) + " operands do not fill shape " + to_string(whole));
    return whole;
}

/// A fold of whole axes, of one operand or of as many elements as each of them.
template <class Op> Shape fold_shape(const void* op, ValueTypes x)
{
    const Fold f = fold_by(*static_cast<const Op*>(op));
    const Shape& shape = x[0].shape;
    if (f.maps()) {
        demand_axis(f.axis, shape);
        return same_shape(shape, x.back().shape, "an operand");
    }
    if (f.from) stated(*f.from, shape);
    demand_axes(*f.axes, shape.size());
    return reduced_shape(*f.axes, f.keepdims, shape);
}

/// What the struct's own rule says, or its description; null where there is neither.
template <class Op> ShapeRule shape_rule_of()
{
    if constexpr (requires(const Op& op, ValueTypes x) { op.result_shape(x); })
        return [](const void* op, ValueTypes x) { return static_cast<const Op*>(op)->result_shape(x); };
    else if constexpr (Folded<Op>)
        return fold_shape<Op>;
    else if constexpr (Described<Op>)
        return [](const void* op, ValueTypes x) {
            Index program(x.size(), [&](std::size_t k) -> const Shape& { return x[k].shape; });
            describe_index(program, Op::name, describe_op<Op>, op, {});
            check_extents(program.shown());
            return program.shown();
        };
    else if constexpr (DescribedByParts<Op>)
        return parts_shape<Op>;
    else
        return nullptr;
}

inline std::string types_text(ValueTypes x)
{
    std::string out = "(";
    for (std::size_t i = 0; i < x.size(); ++i)
        out += (i ? ", " : "") + std::string(name_of(x[i].dtype)) + " " + to_string(x[i].shape);
    return out + ")";
}

/// A user's operation without a rule: what does it make of zeros?
inline Shape shape_by_computing(const Primitive& p, const void* op, ValueTypes x)
{
    std::vector<Ref<Block>> in;
    std::size_t bytes = 0;
    for (const ValueType& v : x) bytes += element_count(v.shape) * size_of(v.dtype);
    if (bytes > std::size_t{1} << 26)
        throw ShapeError("operands too large to try it; give the registry a rule of its result's shape");
    for (const ValueType& v : x) in.push_back(zeros_block(v.dtype, v.shape));
    return p.compute(op, in.data(), in.size(), {})->shape;
}

/// (cotangent so far, g, the values that the rule reads): the first one has the shape of the input, and g that of the result.
inline Shape accumulated_shape(const RegistryEntry& e, const void* op, ValueTypes x)
{
    const unsigned reads = e.of->pull[e.into].uses;
    std::vector<ValueType> in(e.of->arity);
    std::size_t next = 2;
    const ValueType* result = nullptr;
    for (std::size_t k = 0; k <= in.size(); ++k)
        if (reads >> k & 1) {
            if (k < in.size())
                in[k] = x[next++];
            else
                result = &x[next++];
        }
    in[e.into] = x[0];
    const Shape y = e.shape(op, in);
    if (!(x[1].shape == y))
        throw ShapeError("a cotangent of shape " + to_string(x[1].shape) + " of a result " + to_string(y));
    if (result && !(result->shape == y))
        throw ShapeError("a result of shape " + to_string(result->shape) + " that is " + to_string(y));
    return x[0].shape;
}

}  // namespace detail

class Registry {
public:
    /// A primitive whose operands have these dtypes; one dtype where their number varies. Derivatives that are operations of
    /// their own (Pull::primitive, Pull::add) come with it. Later entries go before earlier ones.
    void add(const Primitive& p, std::vector<DType> operands, ShapeRule shape = nullptr)
    {
        for (std::size_t i = 0; i < operands.size() && i < Primitive::max_elementwise; ++i)
            add_pull(p, operands, shape, i);
        insert({&p, std::move(operands), shape, nullptr, 0});
    }
    /// The elementwise struct P on elements In….
    template <class P, class Out, class... In> void add_elementwise()
    {
        add(detail::elementwise_of<P, xsimd::default_arch, Out, In...>(), {dtype_of<In>()...});
    }
    /// The structural struct Op, whose shape its description says, or op.result_shape(operands).
    template <class Op, class Out, class... In> void add_structural()
    {
        add(detail::structural_of<Op, Out, In...>(), {dtype_of<In>()...}, detail::shape_rule_of<Op>());
    }
    template <class Op, class T> void add_variadic()
    {
        add(variadic_primitive<Op, xsimd::default_arch, T>, {dtype_of<T>()}, detail::shape_rule_of<Op>());
    }

    /// The primitive of that name on such operands, with results of dtype `out` where that is said; the library's where there
    /// is one and `ours`, else only the program's own. Throws DTypeError when there is none, and when only `out` could tell which.
    const RegistryEntry& find(std::string_view name, ValueTypes operands, std::optional<DType> out = {},
                              bool ours = true) const
    {
        const auto at = entries_.find(name);
        const auto is_ours = [](const RegistryEntry& e) { return e.primitive->ours; };
        const bool known = at != entries_.end();
        const bool some_ours = known && std::any_of(at->second.begin(), at->second.end(), is_ours);
        const bool some_own = known && !std::all_of(at->second.begin(), at->second.end(), is_ours);
        if (!some_own && (!ours || !some_ours))
            fail<DTypeError>(name,
                             ours ? "no primitive has this name"
                                  : "no primitive of the program's own has this name in the registry",
                             {});
        const RegistryEntry* found = nullptr;
        for (auto e = at->second.rbegin(); e != at->second.rend(); ++e) {
            if (is_ours(*e) != (ours && some_ours)) continue;
            if (!e->takes(operands) || (out && e->primitive->dtype != *out)) continue;
            if (!found)
                found = &*e;
            else if (found->primitive->dtype != e->primitive->dtype)
                fail<DTypeError>(
                    name, "operands " + detail::types_text(operands) + " do not tell the result's dtype", {});
        }
        if (!found)
            fail<DTypeError>(name,
                             "operands " + detail::types_text(operands) +
                                 (out ? " and a result of " + std::string(name_of(*out)) : std::string()) +
                                 " are none that it takes",
                             {});
        return *found;
    }

    /// The shape of the result. Throws ShapeError, or what the operation itself throws, when operands or parameters do not fit.
    static Shape result_shape(const RegistryEntry& e, const void* op, ValueTypes x)
    {
        const Primitive& p = *e.primitive;
        Shape shape;
        if (e.of) {
            shape = detail::accumulated_shape(e, op, x);
        } else if (e.shape) {
            shape = e.shape(op, x);
        } else if (p.value) {
            for (const ValueType& v : x) shape = broadcast_shapes(p.name, shape, v.shape, {});
        } else {
            shape = detail::shape_by_computing(p, op, x);
        }
        check_extents(shape);
        return shape;
    }

    /// fn(entry) for all of them, by name.
    template <class F> void each(const F& fn) const
    {
        for (const auto& [name, entries] : entries_)
            for (const RegistryEntry& e : entries) fn(e);
    }

private:
    void insert(RegistryEntry e) { entries_[std::string(e.primitive->name)].push_back(std::move(e)); }

    void add_pull(const Primitive& p, const std::vector<DType>& operands, ShapeRule shape, std::size_t i)
    {
        const Primitive* pull = p.pull[i].primitive ? p.pull[i].primitive : p.pull[i].add;
        if (!pull) return;
        std::vector<DType> types(pull == p.pull[i].add ? 2 : 1, p.dtype);
        for (std::size_t k = 0; k <= operands.size(); ++k)
            if (p.pull[i].uses >> k & 1) types.push_back(k < operands.size() ? operands[k] : p.dtype);
        insert({pull, std::move(types), shape, pull == p.pull[i].add ? &p : nullptr, i});
    }

    std::map<std::string, std::vector<RegistryEntry>, std::less<>> entries_;
};

}  // namespace wengert
