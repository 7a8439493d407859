/// Primitives by name and dtypes, with what reading needs of each: the shape of its result, and parameters to fill in.
#pragma once

#include <map>
#include <optional>

#include "shape_rules.hpp"

namespace reading {

struct RegistryEntry {
    const Primitive* primitive = nullptr;
    std::vector<DType> operands;     ///< of each; of all where the number varies
    ShapeRule shape = nullptr;       ///< null: elementwise operands broadcast, others are computed on zeros
    Parameters (*make)() = nullptr;  ///< null: it has none that a text could fill in
    const Primitive* of =
        nullptr;           ///< of a sweep's "cotangent so far + pull": the operation, whose `shape` that is,
    std::size_t into = 0;  ///< and for which of its inputs

    bool takes(ValueTypes x) const
    {
        const bool any = primitive->arity == 0;
        if (any ? x.empty() : x.size() != operands.size()) return false;
        for (std::size_t i = 0; i < x.size(); ++i)
            if (x[i].dtype != operands[any ? 0 : i]) return false;
        return true;
    }
};

inline std::string types_text(ValueTypes x)
{
    std::string out = "(";
    for (std::size_t i = 0; i < x.size(); ++i)
        out += (i ? ", " : "") + std::string(name_of(x[i].dtype)) + " " + to_string(x[i].shape);
    return out + ")";
}

/// An operation without a rule: what does it make of zeros?
inline Shape shape_by_computing(const Primitive& p, const void* op, ValueTypes x)
{
    std::vector<Ref<Block>> in;
    std::size_t bytes = 0;
    for (const ValueType& v : x) bytes += element_count(v.shape) * size_of(v.dtype);
    if (bytes > std::size_t{1} << 26) throw ShapeError("operands too large to try it");
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

/// The shape of the result. Throws ShapeError, or what the operation itself throws, when operands or parameters do not fit.
inline Shape result_shape(const RegistryEntry& e, const void* op, ValueTypes x)
{
    const Primitive& p = *e.primitive;
    Shape shape;
    if (e.of) {
        shape = accumulated_shape(e, op, x);
    } else if (e.shape) {
        shape = e.shape(op, x);
    } else if (p.value) {
        for (const ValueType& v : x) shape = broadcast_shapes(p.name, shape, v.shape, {});
    } else {
        shape = shape_by_computing(p, op, x);
    }
    check_extents(shape);
    return shape;
}

/// Takes each_primitive's lists (ops/every_primitive.hpp), and primitives of a program's own. Derivatives that are operations of
/// their own (Pull::primitive, Pull::add) come with theirs. Later entries go before earlier ones.
class Registry {
public:
    template <class P, class Out, class... In> void add_elementwise()
    {
        add(elementwise_of<P, xsimd::default_arch, Out, In...>(), {dtype_of<In>()...});
    }
    template <class To, class From> void add_cast()
    {
        add(cast_primitive<xsimd::default_arch, To, From>, {dtype_of<From>()});
    }
    template <class Op, class Out, class... In> void add_structural(ShapeRule shape = shape_rule_of<Op>())
    {
        add(structural_of<Op, Out, In...>(), {dtype_of<In>()...}, shape, make_of<Op>());
    }
    template <class Op, class T> void add_variadic()
    {
        add(variadic_primitive<Op, xsimd::default_arch, T>, {dtype_of<T>()}, shape_rule_of<Op>(),
            make_of<Op>());
    }

    /// The primitive of that name on such operands, with results of dtype `out` where that is said; the library's where there
    /// is one and `ours`, else only the program's own. Throws DTypeError when there is none, and when only `out` could tell which.
    const RegistryEntry& find(std::string_view name, ValueTypes operands, std::optional<DType> out,
                              bool ours) const
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
                fail<DTypeError>(name, "operands " + types_text(operands) + " do not tell the result's dtype",
                                 {});
        }
        if (!found)
            fail<DTypeError>(name,
                             "operands " + types_text(operands) +
                                 (out ? " and a result of " + std::string(name_of(*out)) : std::string()) +
                                 " are none that it takes",
                             {});
        return *found;
    }

    /// fn(entry) for all of them, by name.
    template <class F> void each(const F& fn) const
    {
        for (const auto& [name, entries] : entries_)
            for (const RegistryEntry& e : entries) fn(e);
    }

private:
    using Make = Parameters (*)();
    template <class Op> static Make make_of()
    {
        if constexpr (std::is_default_constructible_v<Op>)
            return []() -> Parameters { return std::make_shared<Op>(); };
        else
            return nullptr;
    }
    void add(const Primitive& p, const std::vector<DType>& operands, ShapeRule shape = nullptr,
             Make make = nullptr)
    {
        for (std::size_t i = 0; i < operands.size() && i < Primitive::max_elementwise; ++i) {
            std::vector<DType> types = dtypes_of_pull(p, operands, i);
            if (p.pull[i].primitive) insert({p.pull[i].primitive, types});
            if (!p.pull[i].add) continue;
            types.insert(types.begin(), p.dtype);
            insert({p.pull[i].add, std::move(types), shape, make, &p, i});
        }
        insert({&p, operands, shape, make});
    }
    void insert(RegistryEntry e) { entries_[std::string(e.primitive->name)].push_back(std::move(e)); }

    std::map<std::string, std::vector<RegistryEntry>, std::less<>> entries_;
};

/// The library's primitives, and those that a test has added.
Registry& registry();

}  // namespace reading
