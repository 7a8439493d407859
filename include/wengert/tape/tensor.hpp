// Tensor: a value that computes at once and remembers where it came from.
#pragma once

#include <complex>
#include <concepts>
#include <initializer_list>

#include "../array/xtensor.hpp"
#include "../base/literal.hpp"
#include "../base/parts.hpp"
#include "../functions/list.hpp"
#include "apply.hpp"

namespace wengert {

template <class T, class Device = cpu> class Tensor;
/// Of complex numbers: incomplete until wengert/complex.hpp is included.
template <class T, class Device> class Tensor<std::complex<T>, Device>;

namespace detail {
/// A number on the host: it goes along with operands on any device.
template <class T> Ref<Block> number_block(T v)
{
    auto b = make_block(current_thread(), dtype_of<T>(), Shape(), 1);
    *b->template as<T>() = v;
    return b;
}
[[noreturn]] __attribute__((cold, noinline)) inline void refuse_number(const Shape& shape)
{
    throw ShapeError("[assign] a number assigned to a tensor of shape " + to_string(shape) +
                     ": write view(x) = 0.0 to set all its elements, x = Tensor<T>(0.0) to replace it");
}
[[noreturn]] __attribute__((cold, noinline)) inline void refuse_condition(const Shape& shape)
{
    throw ShapeError("[bool] a tensor of shape " + to_string(shape) +
                     " is no condition: use all(x > 0) or any(x > 0)");
}

/// New tensors go to the device of the type. Those of the host go to the device of the thread (OnDevice), as in a graph of a
/// device.
template <class Device> struct NewOn : OnDevice {
    NewOn() : OnDevice(number_of_device(Device{})) {}
};
template <> struct NewOn<cpu> {};

/// A block made on the host, brought there.
template <class Device> Ref<Block> made(Ref<Block> b)
{
    [[maybe_unused]] const NewOn<Device> there;
    return placed(std::move(b));
}

/// Does not compile where tensors of two devices meet. The compiler reports it once for each Place.
template <class Place, class A, class B> constexpr void refuse_mixed_devices()
{
    static_assert(std::is_same_v<A, B>,
                  "wengert: tensors on different devices: to<cuda>(x) or to<cpu>(x) brings one to the other");
}
}  // namespace detail

/// An element or a list of them: what nested braces are made of.
template <class T> struct Elements {
    template <class S>
        requires std::is_arithmetic_v<S>
    Elements(S s) : value(static_cast<T>(s))
    {}
    Elements(std::initializer_list<Elements> l) : list(l), is_list(true) {}
    T value{};
    std::initializer_list<Elements> list;
    bool is_list = false;
};

/// The second operand of an operator: a tensor or a literal of its dtype, and the line of the expression. With `refuses` it also
/// converts from tensors of other devices, for an error that says what is wrong.
template <class T, class Device = cpu, bool refuses = true> class Operand {
public:
    Operand(const Tensor<T, Device>& t, const char* file = __builtin_FILE(), int line = __builtin_LINE())
        : tensor_(&t), at{file, line}
    {}
    /// A temporary: it ends with the expression, so the result may take over its memory.
    Operand(Tensor<T, Device>&& t, const char* file = __builtin_FILE(), int line = __builtin_LINE())
        : tensor_(&t), temporary(true), at{file, line}
    {}
    template <class S>
        requires std::is_arithmetic_v<S>
    Operand(S s, const char* file = __builtin_FILE(), int line = __builtin_LINE())
        : literal_(static_cast<T>(s), nullptr), tensor_(&literal_), at{file, line}
    {}
    Operand(Literal l, const char* file = __builtin_FILE(), int line = __builtin_LINE())
        : Operand(l.value, file, line)
    {}
    /// A number that records itself (scalar/transforms/exchange.hpp), as a tensor of rank 0.
    template <class N>
        requires requires(const N& n, const Site& s) {
            {
                tensor(n, s)
            } -> std::same_as<Tensor<T>>;
        }
    Operand(const N& n, const char* file = __builtin_FILE(), int line = __builtin_LINE())
        : literal_(tensor(n, Site{file, line}).any()), tensor_(&literal_), at{file, line}
    {}
    template <class Other>
        requires(refuses && !std::is_same_v<Other, Device>)
    Operand(const Tensor<T, Other>&, const char* = "", int = 0)
    {
        detail::refuse_mixed_devices<Operand, Device, Other>();
    }
    Operand(const Operand&) = delete;
    Operand& operator=(const Operand&) = delete;
    const Tensor<T, Device>& operator*() const noexcept { return *tensor_; }

private:
    Tensor<T, Device> literal_;
    const Tensor<T, Device>* tensor_;
    friend class Tensor<T, Device>;

public:
    bool temporary = false;
    Site at;
};

/// The element types that have derivatives: floating-point numbers.
template <class T>
concept Differentiable = is_differentiable<T>;

/// int ÷ int gives double.
template <class T, class Device = cpu>
using Quotient = Tensor<std::conditional_t<std::is_floating_point_v<T>, T, double>, Device>;

/// Sums and products of integers and bools are std::int64_t, as in NumPy.
template <class T> using Total = std::conditional_t<is_differentiable<T>, T, std::int64_t>;

namespace detail {
/// An index and the line of its expression, as x[i] takes no further argument.
struct Subscript {
    template <std::integral I>
    Subscript(I i, const char* file = __builtin_FILE(), int line = __builtin_LINE())
        : index(static_cast<std::int64_t>(i)), at{file, line}
    {}
    std::int64_t index;
    Site at;
};
}  // namespace detail

namespace ops {
// clang-format off
template <class T, class D> Tensor<T, D> add(const Tensor<T, D>&, const Tensor<T, D>&, const Site&, unsigned temporaries = 0);
template <class T, class D> Tensor<T, D> subtract(const Tensor<T, D>&, const Tensor<T, D>&, const Site&, unsigned temporaries = 0);
template <class T, class D> Tensor<T, D> multiply(const Tensor<T, D>&, const Tensor<T, D>&, const Site&, unsigned temporaries = 0);
template <class T, class D> Quotient<T, D> divide(const Tensor<T, D>&, const Tensor<T, D>&, const Site&, unsigned temporaries = 0);
template <class T, class D> Tensor<T, D> negative(const Tensor<T, D>&, const Site&);
template <class T, class D> Tensor<T, D> detached(const Tensor<T, D>&);
template <class T, class D> Tensor<bool, D> less(const Tensor<T, D>&, const Tensor<T, D>&, const Site&);
template <class T, class D> Tensor<bool, D> less_equal(const Tensor<T, D>&, const Tensor<T, D>&, const Site&);
template <class T, class D> Tensor<bool, D> equal(const Tensor<T, D>&, const Tensor<T, D>&, const Site&);
template <class T, class D> Tensor<bool, D> not_equal(const Tensor<T, D>&, const Tensor<T, D>&, const Site&);
template <class T, class D> Tensor<bool, D> logical_and(const Tensor<T, D>&, const Tensor<T, D>&, const Site&);
template <class T, class D> Tensor<bool, D> logical_or(const Tensor<T, D>&, const Tensor<T, D>&, const Site&);
template <class T, class D> Tensor<bool, D> logical_not(const Tensor<T, D>&, const Site&);
template <class T, class D> Tensor<T, D> element(const Tensor<T, D>&, std::span<const std::int64_t>, const Site&);
enum class Update { add, subtract, multiply, divide };
template <class T, class D> Tensor<T, D>& update(Tensor<T, D>&, Update, const Tensor<T, D>&, const Site&);
// clang-format on
}  // namespace ops

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
    explicit Tensor(S s) : any_{detail::made<Device>(detail::number_block(static_cast<Value>(s))), {}}
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
    /// The elements of a range in row-major order. Throws ShapeError when their number is not the shape's.
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
        return *this = Tensor(s);
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
    void zero_grad()
        requires Differentiable<Value>;
    /// The same elements as a constant.
    Tensor detach() const
    {
        if (recorder()) [[unlikely]]
            return ops::detached(*this);  // in a graph, which may be differentiated later, it is an operation
        return Tensor(AnyTensor{any_.value, {}});
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
template <class T, class D, class S> Tensor<T, D> number(S s)
{
    return Tensor<T, D>(AnyTensor{number_block(static_cast<T>(s)), {}});
}
}  // namespace detail

}  // namespace wengert
