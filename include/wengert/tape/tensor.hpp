// Tensor: a value that computes at once and remembers where it came from.
#pragma once

#include "../base/parts.hpp"
#include "../functions/list.hpp"
#include "operand.hpp"

namespace wengert {

template <class Value, class Device> class Tensor {
public:
    using value_type = Value;
    using device_type = Device;
    /// A function of numbers (functions/calls.hpp) is one operation, which is recorded. Whole numbers have powers alone.
    template <class F>
    static constexpr int calls =
        is_differentiable<Value> || (Scalar<Value> && detail::is_in<F, PowerFunctions>) ? 2 : 0;
    template <class F> static Tensor call(const Tensor& x, const Site& at);
    template <class F, class A, class B> static Tensor call(const A& a, const B& b, const Site& at);

    /// Empty: neither elements nor a shape, as a tensor that has been moved from. It is there to be assigned to: copies, structs
    /// and files carry it along, all else throws TapeError. A list of no elements is zeros({0}).
    Tensor() noexcept = default;
    /// Rank 0.
    template <class S>
        requires std::is_arithmetic_v<S>
    explicit Tensor(S s, Site at = {__builtin_FILE(), __builtin_LINE()})
        : any_{detail::made<Device>(detail::number_block(detail::number_as<Value>(s, at))), {}}
    {}
    /// Nested braces are elements: {{1.0}, {2.0}} has shape (2, 1). Throws ShapeError when they are ragged.
    Tensor(std::initializer_list<Elements<Value>> list, Site at = {__builtin_FILE(), __builtin_LINE()});
    /// Any xtensor expression or container, evaluated now.
    template <XtensorExpression E>
    Tensor(const E& e) : any_{detail::made<Device>(block_from_xtensor<Value>(e)), {}}
    {}
    template <class S>
        requires std::is_arithmetic_v<S>
    Tensor(const std::vector<S>& v) : Tensor(Shape{v.size()}, v)
    {}
    explicit Tensor(std::span<const Value> s) : Tensor(Shape{s.size()}, s) {}
    /// Of numbers that record themselves, which it depends on (scalar/transforms/exchange.hpp).
    template <class Range>
        requires tree::is_number<typename Range::value_type>
    explicit Tensor(const Range& r, Site at = {__builtin_FILE(), __builtin_LINE()}) : Tensor(stack(r, at))
    {}
    /// The elements of a range in row-major order. Throws ShapeError when their number is not the shape's, DTypeError for one that the
    /// type does not have.
    template <class Range>
    Tensor(const Shape& shape, const Range& values, Site at = {__builtin_FILE(), __builtin_LINE()});

    /// Refused.
    template <class Other>
        requires(!std::is_same_v<Other, Device>)
    Tensor(const Tensor<Value, Other>&)
    {
        detail::refuse_mixed_devices<Tensor, Device, Other>();
    }

    Tensor(const Tensor&) = default;
    Tensor(Tensor&&) noexcept = default;
    /// Only an lvalue can be assigned to: x(0) = y would silently do nothing.
    Tensor& operator=(const Tensor&) & = default;
    Tensor& operator=(Tensor&&) & noexcept = default;
    /// A number of rank 0, in place of one or of nothing. Throws ShapeError where the tensor has another rank: to fill it or to
    /// replace it would both be meant.
    template <class S>
        requires std::is_arithmetic_v<S>
    Tensor& operator=(S s) &
    {
        if (any_.value && any_.value->shape.size() > 0) [[unlikely]]
            detail::refuse_number(any_.value->shape);
        return *this = Tensor(s, Site{});
    }
    ~Tensor() = default;

    /// False for an empty tensor.
    bool defined() const noexcept { return any_.value.get() != nullptr; }
    const Shape& shape(Site at = {__builtin_FILE(), __builtin_LINE()}) const { return shape("shape", at); }
    std::size_t dimension(Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return shape("dimension", at).size();
    }
    /// Elements, 0 in an empty tensor.
    std::size_t size() const noexcept { return any_.value ? any_.value->count : 0; }
    /// The extent of one axis; −1 is the last. Throws ShapeError when there is no such axis.
    template <std::integral I> std::int64_t size(I axis, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        const Shape& s = shape("size", at);
        return s[normalize_axis("size", static_cast<std::int64_t>(axis), s, at)];
    }
    static constexpr DType dtype() { return dtype_of<Value>(); }
    Strides strides(Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return any("strides", at).value->strides();
    }

    /// The elements in row-major order, no copy. Throws ShapeError for a view whose elements lie otherwise
    /// (copy(x) brings them in order; array() reads any layout).
    const Value* data(Site at = {__builtin_FILE(), __builtin_LINE()}) const;
    /// A read-only xtensor adaptor, no copy, valid while this tensor lives unchanged.
    auto array(Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        const Block& b = *any("array", at).value;
        note_read(b, Read::elements, at);
        note_number_read(at);
        return xtensor_adaptor<Value>(b);
    }

    /// The only element. Throws ShapeError when there is not exactly one.
    Value item(Site at = {__builtin_FILE(), __builtin_LINE()}) const;
    template <class S>
        requires std::is_arithmetic_v<S>
    explicit operator S() const
    {
        if constexpr (std::is_same_v<S, bool>)
            if (any_.value && any_.value->count != 1) detail::refuse_condition(any_.value->shape);
        return static_cast<S>(item(Site{}));
    }

    /// One element as a rank-0 tensor, recorded; fewer indices than axes give a slice. Throws IndexError.
    template <std::integral I>
    const Tensor operator()(I i, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return element(at, i);
    }
    template <std::integral I, std::integral J>
    const Tensor operator()(I i, J j, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return element(at, i, j);
    }
    template <std::integral I, std::integral J, std::integral K>
    const Tensor operator()(I i, J j, K k, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return element(at, i, j, k);
    }
    template <std::integral... I>
        requires(sizeof...(I) > 3)
    const Tensor operator()(I... i) const
    {
        return element(Site{}, i...);
    }

    /// x(i): one element of a vector, one slice of any other. Throws IndexError.
    const Tensor operator[](const detail::Subscript& i) const { return element(i.at, i.index); }

    // NumPy's habits. Each is the function of that name, and is defined beside it.
    /// transpose(x).
    Tensor T(Site at = {__builtin_FILE(), __builtin_LINE()}) const;
    /// reshape(x, shape).
    Tensor reshape(const Shape& shape, Site at = {__builtin_FILE(), __builtin_LINE()}) const;
    /// sum(x), sum(x, axes).
    Tensor<Total<Value>, Device> sum(Site at = {__builtin_FILE(), __builtin_LINE()}) const;
    Tensor<Total<Value>, Device> sum(const AxesArgument& axes, bool keepdims = false,
                                     Site at = {__builtin_FILE(), __builtin_LINE()}) const;
    /// mean(x), mean(x, axes).
    Quotient<Value, Device> mean(Site at = {__builtin_FILE(), __builtin_LINE()}) const;
    Quotient<Value, Device> mean(const AxesArgument& axes, bool keepdims = false,
                                 Site at = {__builtin_FILE(), __builtin_LINE()}) const;

    // Iteration over the first axis.
    class Iterator;
    Iterator begin() const { return {this, 0}; }
    Iterator end(Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        const Shape& s = shape("end", at);
        return {this, s.size() ? s[0] : 0};
    }

    // Gradients (defined in tape/tensor_impl.hpp).
    /// Makes this tensor a variable (a leaf of the tape) or a constant again. Copies share its gradient.
    Tensor& requires_grad(bool on = true, Site at = {__builtin_FILE(), __builtin_LINE()})
        requires Differentiable<Value>;
    bool is_leaf() const noexcept;
    /// What backward() has added up, zeros before any. Throws TapeError for what is no leaf.
    Tensor grad(Site at = {__builtin_FILE(), __builtin_LINE()}) const
        requires Differentiable<Value>;
    void zero_grad(Site at = {__builtin_FILE(), __builtin_LINE()})
        requires Differentiable<Value>;
    /// The same elements as a constant.
    Tensor detach() const
    {
        if (recorder()) [[unlikely]]
            return ops::detached(*this);  // in a graph, which may be differentiated later, it is an operation
        return Tensor(AnyTensor{
            any_.value && any_.value->access.unrecorded ? another_header(any_.value) : any_.value, {}});
    }

    // Arithmetic: literals take the tensor's dtype, shapes broadcast as in NumPy.
    using Arg = Operand<Value, Device>;
    /// x + y on two devices is refused by the host's operator alone: two such operators would be ambiguous.
    using Side = Operand<Value, Device, std::is_same_v<Device, cpu>>;
    static unsigned temporaries(const Side& a, const Side& b) noexcept
    {
        return (a.temporary ? 1U : 0U) | (b.temporary ? 2U : 0U);
    }
    friend Tensor operator+(Side a, Side b)
    {
        return ops::add<Value>(*a, *b, b.at, Tensor::temporaries(a, b));
    }
    friend Tensor operator-(Side a, Side b)
    {
        return ops::subtract<Value>(*a, *b, b.at, Tensor::temporaries(a, b));
    }
    friend Tensor operator*(Side a, Side b)
    {
        return ops::multiply<Value>(*a, *b, b.at, Tensor::temporaries(a, b));
    }
    friend Quotient<Value, Device> operator/(Side a, Side b)
    {
        return ops::divide<Value>(*a, *b, b.at, Tensor::temporaries(a, b));
    }
    friend Tensor<bool, Device> operator<(Side a, Side b) { return ops::less<Value>(*a, *b, b.at); }
    friend Tensor<bool, Device> operator<=(Side a, Side b) { return ops::less_equal<Value>(*a, *b, b.at); }
    friend Tensor<bool, Device> operator>(Side a, Side b) { return ops::less<Value>(*b, *a, b.at); }
    friend Tensor<bool, Device> operator>=(Side a, Side b) { return ops::less_equal<Value>(*b, *a, b.at); }
    friend Tensor<bool, Device> operator==(Side a, Side b) { return ops::equal<Value>(*a, *b, b.at); }
    friend Tensor<bool, Device> operator!=(Side a, Side b) { return ops::not_equal<Value>(*a, *b, b.at); }
    friend Tensor<bool, Device> operator&&(const Tensor& a, Side b)
    {
        return ops::logical_and<Value>(a, *b, b.at);
    }
    friend Tensor<bool, Device> operator||(const Tensor& a, Side b)
    {
        return ops::logical_or<Value>(a, *b, b.at);
    }
    friend Tensor<bool, Device> operator!(const Tensor& a) { return ops::logical_not<Value>(a, {}); }
    friend Tensor operator-(Side a) { return ops::negative<Value>(*a, a.at); }
    friend Tensor operator+(Side a) { return *a; }

    // Writes: recorded, and invisible to every other handle and to what the tape saved.
    Tensor& operator+=(Arg b) & { return ops::update<Value>(*this, ops::Update::add, *b, b.at); }
    Tensor& operator-=(Arg b) & { return ops::update<Value>(*this, ops::Update::subtract, *b, b.at); }
    Tensor& operator*=(Arg b) & { return ops::update<Value>(*this, ops::Update::multiply, *b, b.at); }
    Tensor& operator/=(Arg b) & { return ops::update<Value>(*this, ops::Update::divide, *b, b.at); }

    // Compilers show these lines.
    // clang-format off
    template <class V> void operator=(const V&) const&& = delete;   // x(i) is a value: view(x, i) = v writes to x
    template <class V> void operator+=(const V&) const&& = delete;  // x(i) is a value: view(x, i) += v writes to x
    template <class V> void operator-=(const V&) const&& = delete;  // x(i) is a value: view(x, i) -= v writes to x
    template <class V> void operator*=(const V&) const&& = delete;  // x(i) is a value: view(x, i) *= v writes to x
    template <class V> void operator/=(const V&) const&& = delete;  // x(i) is a value: view(x, i) /= v writes to x
    // clang-format on

    /// The type-erased tensor inside. Throws TapeError when this one is empty.
    const AnyTensor& any() const
    {
        if (!any_.value) [[unlikely]]
            detail::refuse_empty("tensor", any_, {});
        return any_;
    }
    /// The same as an operand of `primitive`.
    const AnyTensor& any(std::string_view primitive, const Site& at) const
    {
        if (!any_.value) [[unlikely]]
            detail::refuse_empty(primitive, any_, at);
        return any_;
    }
    const Shape& shape(std::string_view primitive, const Site& at) const
    {
        return any(primitive, at).value->shape;
    }
    AnyTensor& any_unchecked() noexcept { return any_; }
    const AnyTensor& any_unchecked() const noexcept { return any_; }
    explicit Tensor(AnyTensor any) noexcept : any_(std::move(any)) {}

private:
    template <class, class, bool> friend class Operand;
    /// A literal, on the host.
    Tensor(Value s, std::nullptr_t) : any_{detail::number_block(s), {}} {}
    const Block& block() const { return *any().value; }
    void note_number_read(const Site& at) const
    {
        if (any_.node) Tape::current().note_number_read(*any_.node, at);
    }
    template <class... I> const Tensor element(const Site& at, I... i) const
    {
        const std::int64_t index[] = {static_cast<std::int64_t>(i)...};
        return ops::element<Value>(*this, index, at);
    }
    AnyTensor any_;
};

namespace detail {
/// x with the type of another device, for code that knows no devices: rules, and lists of tensors of all devices.
template <class D, class T, class E> decltype(auto) on(const Tensor<T, E>& x)
{
    if constexpr (std::is_same_v<D, E>)
        return (x);
    else
        return Tensor<T, D>(x.any_unchecked());
}
/// A number as an operand. It stays on the host, and operations take it beside tensors of any device.
template <class T, class D, class S> Tensor<T, D> number(S s, const Site& at = {})
{
    return Tensor<T, D>(AnyTensor{number_block(number_as<T>(s, at)), {}});
}
}  // namespace detail

}  // namespace wengert
