// GraphBuilder: graphs by hand, define and run.
//
//     GraphBuilder b;
//     const auto x = b.input<float>({3});
//     b.output(b.apply("tanh", {x}));               by name: makes the code of every primitive
//     b.output(b.apply<Tanh>(x));                   by type: that of this one
//     b.output(b.apply(Sum{{0}, false, {3}}, x));   with parameters
//     const Graph g = b.build();
#pragma once

#include "registry.hpp"
#include "words.hpp"

namespace wengert {

class GraphBuilder {
public:
    struct Value {
        ValueId id = no_value;
        const GraphBuilder* builder = nullptr;
    };
    /// A value whose dtype the compiler knows.
    template <class T> struct Typed : Value {};

    GraphBuilder() = default;
    GraphBuilder(const GraphBuilder&) = delete;
    GraphBuilder& operator=(const GraphBuilder&) = delete;

    /// The next input. Throws ShapeError.
    template <class T> Typed<T> input(const Shape& shape, Site at = {__builtin_FILE(), __builtin_LINE()})
    {
        check_extents(shape);
        return typed<T>(graph_.input(dtype_of<T>(), shape, at));
    }
    /// A copy of the elements of x.
    template <class T> Typed<T> constant(const Tensor<T>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
    {
        return typed<T>(graph_.constant(copy_of(*x.any().value), at));
    }
    template <class T>
        requires std::is_arithmetic_v<T>
    Typed<T> constant(T x, Site at = {__builtin_FILE(), __builtin_LINE()})
    {
        return constant(Tensor<T>(x), at);
    }

    /// The elementwise primitive P. Results have the dtype Out, or that of the last operand; operands broadcast. Throws
    /// ShapeError.
    template <class P, class Out = void, class... T>
        requires(sizeof...(T) > 0)
    auto apply(const Typed<T>&... x)
    {
        using R = result_of<Out, std::tuple_element_t<sizeof...(T) - 1, std::tuple<T...>>>;
        const Primitive& p = elementwise_primitive<P, xsimd::default_arch, R, T...>;
        return typed<R>(append({&p, {dtype_of<T>()...}, nullptr, nullptr, 0}, {}, {x...}, {}));
    }
    /// An operation with parameters. Results have the dtype Out, or that of the first operand. Throws ShapeError when
    /// operands or parameters do not fit.
    template <class Out = void, class Op, class... T>
        requires(sizeof...(T) > 0 && std::is_class_v<Op> && !std::is_base_of_v<Value, Op>)
    auto apply(const Op& op, const Typed<T>&... x)
    {
        using R = result_of<Out, std::tuple_element_t<0, std::tuple<T...>>>;
        const Primitive& p = structural_primitive<Op, xsimd::default_arch, R, T...>;
        const RegistryEntry e{&p, {dtype_of<T>()...}, detail::shape_rule_of<Op>(), nullptr, 0};
        return typed<R>(append(e, keep_parameters(p, &op), {x...}, {}));
    }
    /// The primitive of that name in registry(), with parameters as graph/look/text.hpp writes them: apply("sum", {x},
    /// "(0) false (3)"). The result's dtype must be said where operands do not tell it (cast). Throws DTypeError, ShapeError,
    /// GraphTextError for the parameters.
    template <class A = xsimd::default_arch>
    Value apply(std::string_view name, std::initializer_list<Value> operands,
                std::string_view parameters = {}, std::optional<DType> result = {},
                Site at = {__builtin_FILE(), __builtin_LINE()})
    {
        const std::vector<Value> x(operands);
        const RegistryEntry& e = registry<A>().find(name, types_of(x, name, at), result);
        return {append(e, detail::parse_parameters(*e.primitive, parameters), x, at), this};
    }

    /// v as a value of T. Throws DTypeError when it is none.
    template <class T> Typed<T> as(Value v, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        const DType d = node(v, "graph", at).dtype;
        if (d != dtype_of<T>())
            fail<DTypeError>("graph",
                             label(v) + " is " + std::string(name_of(d)) + ", not " +
                                 std::string(name_of(dtype_of<T>())),
                             at);
        return typed<T>(v.id);
    }
    const Shape& shape(Value v) const { return node(v, "graph", {}).shape; }

    void output(Value v, Site at = {__builtin_FILE(), __builtin_LINE()})
    {
        static_cast<void>(node(v, "output", at));
        graph_.output(v.id);
    }
    /// y, an output from here on, is the new value of input x. Throws ShapeError for another type, Error for no input.
    void update(Value x, Value y, Site at = {__builtin_FILE(), __builtin_LINE()})
    {
        const GraphNode &to = node(x, "update", at), &from = node(y, "update", at);
        if (to.kind != Graph::Kind::input) fail<Error>("update", label(x) + " is no input", at);
        if (to.dtype != from.dtype || !(to.shape == from.shape))
            fail<ShapeError>("update",
                             label(x) + " is " + detail::type_text(to.dtype, to.shape) + ", its new value " +
                                 label(y) + " is " + detail::type_text(from.dtype, from.shape),
                             at);
        graph_.output(y.id);
        graph_.update(to.index, graph_.outputs().size() - 1);
    }
    /// The graph; the builder is empty again.
    Graph build() { return std::exchange(graph_, Graph()); }

private:
    template <class Out, class Otherwise>
    using result_of = std::conditional_t<std::is_void_v<Out>, Otherwise, Out>;

    template <class T> Typed<T> typed(ValueId v) const
    {
        Typed<T> t;
        t.id = v;
        t.builder = this;
        return t;
    }
    static std::string label(Value v) { return "%" + std::to_string(v.id); }
    const GraphNode& node(Value v, std::string_view name, const Site& at) const
    {
        if (v.builder != this || v.id >= graph_.size())
            fail<Error>(name, "an operand is no value of this builder", at);
        return graph_.node(v.id);
    }
    std::vector<ValueType> types_of(const std::vector<Value>& x, std::string_view name, const Site& at) const
    {
        std::vector<ValueType> types;
        for (Value v : x) types.push_back({node(v, name, at).dtype, node(v, name, at).shape});
        return types;
    }
    ValueId append(const RegistryEntry& e, Parameters op, const std::vector<Value>& x, const Site& at)
    {
        const auto types = types_of(x, e.primitive->name, at);
        std::vector<ValueId> inputs;
        for (Value v : x) inputs.push_back(v.id);
        try {
            const Shape shape = Registry::result_shape(e, op.get(), types);
            return graph_.operation(*e.primitive, std::move(op), std::move(inputs), shape, at);
        } catch (const ShapeError& error) {
            fail<ShapeError>(e.primitive->name,
                             "%" + std::to_string(graph_.size()) + " of " + detail::list_text(inputs) + ", " +
                                 detail::types_text(types) + ": " + error.what(),
                             at);
        }
    }

    Graph graph_;
};

}  // namespace wengert
