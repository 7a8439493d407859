// Complex tensors: a struct of one real tensor, whose last axis holds real and imaginary part. That is the memory layout of
// std::complex. Trees of tensors (base/parts.hpp) see the struct, so transforms, graphs and files need not know of complex numbers.
#pragma once

#include <complex>
#include <ostream>
#include <span>
#include <vector>

#include "../ops/creation.hpp"
#include "../ops/shape.hpp"
#include "../ops/view.hpp"
#include "../transforms/level.hpp"
#include "operand.hpp"

namespace wengert {

/// Numbers of std::complex<float> or <double> (docs/complex.md). A cotangent is (∂L/∂Re z, ∂L/∂Im z), so that z −= rate · gradient
/// descends: PyTorch's convention, the conjugate of JAX's.
template <class Part, class Device> class Tensor<std::complex<Part>, Device> {
    static_assert(is_differentiable<Part>, "wengert: complex numbers are std::complex<float> or <double>");

public:
    using value_type = std::complex<Part>;
    using device_type = Device;
    using Parts = Tensor<Part, Device>;
    using Arg = Operand<value_type, Device>;

    /// Empty, as an empty tensor of reals.
    Tensor() noexcept = default;
    /// Rank 0.
    template <class S>
        requires std::is_arithmetic_v<S>
    explicit Tensor(S s) : Tensor(value_type(static_cast<Part>(s)))
    {}
    explicit Tensor(value_type v) : parts_(AnyTensor{detail::made<Device>(detail::pair_block(v)), {}}) {}
    /// Nested braces of real and complex numbers: {{1.0, C(0, 2)}, {3.0, 4.0}}. Throws ShapeError when they are ragged.
    Tensor(std::initializer_list<Elements<value_type>> list, Site at = {__builtin_FILE(), __builtin_LINE()})
    {
        const Elements<value_type> all(list);
        Shape shape;
        detail::measure_list(all, shape, 0);
        auto b = make_block(dtype_of<Part>(), detail::with_parts(shape));
        detail::fill_from_list(all, shape, 0, reinterpret_cast<value_type*>(b->template as<Part>()), at);
        parts_ = Parts(AnyTensor{detail::made<Device>(std::move(b)), {}});
    }
    /// The elements of a range in row-major order. Throws ShapeError when their number is not the shape's.
    template <class Range>
    Tensor(const Shape& shape, const Range& values, Site at = {__builtin_FILE(), __builtin_LINE()})
    {
        check_shape("tensor", shape, at);
        if (values.size() != element_count(shape))
            fail<ShapeError>("tensor",
                             std::to_string(values.size()) + " elements given for shape " + to_string(shape),
                             at);
        auto b = make_block(dtype_of<Part>(), detail::with_parts(shape));
        auto* to = reinterpret_cast<value_type*>(b->template as<Part>());
        for (auto&& v : values) *to++ = static_cast<value_type>(v);
        parts_ = Parts(AnyTensor{detail::made<Device>(std::move(b)), {}});
    }
    template <class S>
        requires(is_complex<S> || std::is_arithmetic_v<S>)
    Tensor(const std::vector<S>& v) : Tensor(Shape{static_cast<std::int64_t>(v.size())}, v)
    {}
    /// Any xtensor expression or container, evaluated now.
    template <XtensorExpression E> Tensor(const E& e)
    {
        Shape shape;
        for (auto n : e.shape()) shape.push_back(static_cast<std::int64_t>(n));
        std::vector<value_type> values;
        for (auto it = e.template begin<xt::layout_type::row_major>(),
                  end = e.template end<xt::layout_type::row_major>();
             it != end; ++it)
            values.push_back(static_cast<value_type>(*it));
        *this = Tensor(shape, values);
    }
    /// Of a real tensor whose last axis, of extent 2, holds real and imaginary part. Throws ShapeError where it has none.
    static Tensor from_parts(Parts parts, Site at = {__builtin_FILE(), __builtin_LINE()})
    {
        Tensor z;
        z.parts_ = std::move(parts);
        static_cast<void>(z.parts("from_parts", at));
        return z;
    }

    Tensor(const Tensor&) = default;
    Tensor(Tensor&&) noexcept = default;
    Tensor& operator=(const Tensor&) & = default;
    Tensor& operator=(Tensor&&) & noexcept = default;
    ~Tensor() = default;

    /// The real tensor of shape (shape()…, 2). What is done to it is recorded as all else.
    const Parts& parts(Site at = {__builtin_FILE(), __builtin_LINE()}) const { return parts("parts", at); }
    const Parts& parts(std::string_view primitive, const Site& at) const
    {
        const Shape& s = parts_.shape(primitive, at);
        if (s.empty() || s.back() != 2) [[unlikely]]
            detail::refuse_parts(primitive, s, at);
        return parts_;
    }
    /// What trees look into (docs/structs.md).
    auto fields() { return std::tuple(named("parts", parts_)); }

    bool defined() const noexcept { return parts_.defined(); }
    Shape shape(Site at = {__builtin_FILE(), __builtin_LINE()}) const { return shape("shape", at); }
    Shape shape(std::string_view primitive, const Site& at) const
    {
        const Shape& s = parts(primitive, at).shape();
        return Shape(s.data(), s.size() - 1);
    }
    std::size_t dimension(Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return parts("dimension", at).dimension() - 1;
    }
    std::size_t rank(Site at = {__builtin_FILE(), __builtin_LINE()}) const { return dimension(at); }
    /// Elements, 0 in an empty tensor.
    std::size_t size() const noexcept { return parts_.size() / 2; }
    template <std::integral I> std::int64_t size(I axis, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        const Shape s = shape("size", at);
        return s[normalize_axis("size", static_cast<std::int64_t>(axis), s, at)];
    }

    /// The elements in row-major order, no copy. Throws ShapeError for a view whose elements lie otherwise: copy(z).data().
    const value_type* data(Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return reinterpret_cast<const value_type*>(parts("data", at).data(at));
    }
    /// The only element. Throws ShapeError when there is not exactly one.
    value_type item(Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        if (parts("item", at).size() != 2)
            fail<ShapeError>("item",
                             "a tensor of shape " + to_string(shape()) + " has not exactly one element", at);
        const auto value = readable(parts_.any().value);
        note_read(*parts_.any().value, Read::item, at);
        const Ref<Block> in_order = contiguous(value);
        return {in_order->template as<Part>()[0], in_order->template as<Part>()[1]};
    }
    explicit operator value_type() const { return item(Site{}); }

    /// One element as a tensor of rank 0, recorded; fewer indices than axes give a slice. Throws IndexError.
    template <std::integral... I>
        requires(sizeof...(I) > 0)
    const Tensor operator()(I... i) const
    {
        return element(Site{}, static_cast<std::int64_t>(i)...);
    }
    template <std::integral I>
    const Tensor operator()(I i, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return element(at, static_cast<std::int64_t>(i));
    }
    template <std::integral I, std::integral J>
    const Tensor operator()(I i, J j, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return element(at, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
    }

    /// z(i). Throws IndexError.
    const Tensor operator[](const detail::Subscript& i) const { return element(i.at, i.index); }

    // NumPy's habits. Each is the function of that name, and is defined beside it.
    /// transpose(z).
    Tensor T(Site at = {__builtin_FILE(), __builtin_LINE()}) const;
    /// reshape(z, shape).
    Tensor reshape(const Shape& shape, Site at = {__builtin_FILE(), __builtin_LINE()}) const;
    /// sum(z), sum(z, axes).
    Tensor sum(Site at = {__builtin_FILE(), __builtin_LINE()}) const;
    Tensor sum(const AxesArgument& axes, bool keepdims = false,
               Site at = {__builtin_FILE(), __builtin_LINE()}) const;
    /// mean(z), mean(z, axes).
    Tensor mean(Site at = {__builtin_FILE(), __builtin_LINE()}) const;
    Tensor mean(const AxesArgument& axes, bool keepdims = false,
                Site at = {__builtin_FILE(), __builtin_LINE()}) const;

    /// Makes this tensor a variable (a leaf of the tape) or a constant again. Copies share its gradient.
    Tensor& requires_grad(bool on = true, Site at = {__builtin_FILE(), __builtin_LINE()})
    {
        parts_.requires_grad(on, at);
        return *this;
    }
    bool is_leaf() const noexcept { return parts_.is_leaf(); }
    /// What backward() has added up: ∂L/∂Re z + i ∂L/∂Im z. Throws TapeError for what is no leaf.
    Tensor grad(Site at = {__builtin_FILE(), __builtin_LINE()}) const { return Tensor(parts_.grad(at), 0); }
    void zero_grad(Site at = {__builtin_FILE(), __builtin_LINE()}) { parts_.zero_grad(at); }
    /// The same elements as a constant.
    Tensor detach() const { return Tensor(parts_.detach(), 0); }

    // Arithmetic: other operands are real or complex, tensors or numbers. Shapes broadcast as in NumPy.
    friend Tensor operator+(const Arg& a, const Arg& b) { return ops::add<Part, Device>(a, b, b.at); }
    friend Tensor operator-(const Arg& a, const Arg& b) { return ops::subtract<Part, Device>(a, b, b.at); }
    friend Tensor operator*(const Arg& a, const Arg& b) { return ops::multiply<Part, Device>(a, b, b.at); }
    friend Tensor operator/(const Arg& a, const Arg& b) { return ops::divide<Part, Device>(a, b, b.at); }
    friend Tensor<bool, Device> operator==(const Arg& a, const Arg& b)
    {
        return ops::equal<Part, Device>(a, b, b.at);
    }
    friend Tensor<bool, Device> operator!=(const Arg& a, const Arg& b)
    {
        return !ops::equal<Part, Device>(a, b, b.at);
    }
    friend Tensor operator-(const Arg& z)
    {
        return Tensor(ops::negative<Part>((*z).parts("negative", z.at), z.at), 0);
    }
    friend Tensor operator+(const Tensor& z) { return z; }

    Tensor& operator+=(const Arg& b) & { return updated(ops::Update::add, b); }
    Tensor& operator-=(const Arg& b) & { return updated(ops::Update::subtract, b); }
    Tensor& operator*=(const Arg& b) & { return updated(ops::Update::multiply, b); }
    Tensor& operator/=(const Arg& b) & { return updated(ops::Update::divide, b); }

    /// Of parts that are known to be some.
    Tensor(Parts parts, int) noexcept : parts_(std::move(parts)) {}
    /// The same to be written to.
    Parts& parts_unchecked() noexcept { return parts_; }

private:
    Tensor& updated(ops::Update u, const Arg& b)
    {
        ops::update<Part, Device>(*this, u, b, b.at);
        return *this;
    }
    template <class... I> const Tensor element(const Site& at, I... i) const
    {
        const Shape s = shape("element", at);
        if (sizeof...(I) > s.size()) detail::too_many_indices("element", sizeof...(I), s, at);
        const std::int64_t index[] = {i...};
        for (std::size_t axis = 0; axis < sizeof...(I); ++axis)
            static_cast<void>(detail::normalize_index("element", index[axis], axis, s, at));
        return Tensor(ops::element<Part>(parts_, index, at), 0);
    }
    Parts parts_;
};

namespace detail {

/// Position k of the axis of parts, a view.
template <class T, class D>
Tensor<T, D> part_of(std::string_view, const Tensor<T, D>& parts, std::int64_t k, const Site& at)
{
    const Shape& s = parts.shape();
    Selection part(Selection::Empty{}, s);
    for (std::size_t axis = 0; axis + 1 < s.size(); ++axis) part.keep(axis, 0, 1, s[axis]);
    part.start[s.size() - 1] = k;
    return apply<Select, T>(Select{part}, at, parts);
}
/// Parts of two real tensors that are broadcast together.
template <class T, class D>
Tensor<T, D> joined(std::string_view name, const Tensor<T, D>& re, const Tensor<T, D>& im, const Site& at)
{
    const Shape &a = re.shape(name, at), &b = im.shape(name, at);
    if (a == b) return stack({re, im}, -1, at);
    const Shape both = broadcast_shapes(name, a, b, at);
    return stack({broadcast_to(re, both, at), broadcast_to(im, both, at)}, -1, at);
}
template <class T, class D> Tensor<std::complex<T>, D> as_complex(Tensor<T, D> parts)
{
    return Tensor<std::complex<T>, D>(std::move(parts), 0);
}
/// Real numbers as complex ones.
template <class T, class D> Tensor<T, D> widened(const Tensor<T, D>& x, const Site& at)
{
    return stack({x, zeros_like(x, at)}, -1, at);
}

}  // namespace detail

template <class T, class Device, bool refuses>
Tensor<std::complex<T>, Device> Operand<std::complex<T>, Device, refuses>::operator*() const
{
    return detail::as_complex(pair ? held : detail::widened(held, at));
}

/// The real part, a view.
template <class T, class D>
Tensor<T, D> real(const Tensor<std::complex<T>, D>& z, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::part_of("real", z.parts("real", at), 0, at);
}
/// The imaginary part, a view.
template <class T, class D>
Tensor<T, D> imag(const Tensor<std::complex<T>, D>& z, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::part_of("imag", z.parts("imag", at), 1, at);
}
/// re + i im. Throws ShapeError where the shapes do not broadcast.
template <Differentiable T, class D>
Tensor<std::complex<T>, D> complex(const Tensor<T, D>& re, const std::type_identity_t<Operand<T, D>>& im)
{
    return detail::as_complex(detail::joined("complex", re, *im, im.at));
}
/// Real numbers as complex ones, or complex ones of another precision.
template <class U, class T, class D>
    requires is_complex<U>
Tensor<U, D> cast(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    using V = typename U::value_type;
    if constexpr (is_complex<T>)
        return detail::as_complex(cast<V>(x.parts("cast", at), at));
    else
        return detail::as_complex(detail::widened(cast<V>(x, at), at));
}

}  // namespace wengert
