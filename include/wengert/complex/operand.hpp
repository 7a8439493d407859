// What complex tensors are made of in braces, and what stands beside them in arithmetic.
#pragma once

#include <complex>
#include <initializer_list>

#include "../tape/tensor_impl.hpp"

namespace wengert {

template <class X> inline constexpr bool is_complex = false;
template <class T> inline constexpr bool is_complex<std::complex<T>> = true;

/// An element of braces.
template <class T> struct Elements<std::complex<T>> {
    using C = std::complex<T>;
    template <class S>
        requires std::is_arithmetic_v<S>
    Elements(S s) : value(static_cast<T>(s))
    {}
    template <class S> Elements(const std::complex<S>& s) : value(s) {}
    Elements(std::initializer_list<Elements> l) : list(l), is_list(true) {}
    C value{};
    std::initializer_list<Elements> list;
    bool is_list = false;
};

namespace detail {

/// The shape of the parts of complex numbers of this shape, and back.
inline Shape with_parts(Shape s)
{
    s.push_back(2);
    return s;
}
template <class T> Ref<Block> pair_block(std::complex<T> v)
{
    auto b = make_block(current_thread(), dtype_of<T>(), Shape{2}, 2);
    b->template as<T>()[0] = v.real();
    b->template as<T>()[1] = v.imag();
    return b;
}
[[noreturn]] __attribute__((cold, noinline)) inline void refuse_parts(std::string_view primitive,
                                                                      const Shape& parts, const Site& at)
{
    fail<ShapeError>(
        primitive,
        "the parts of a complex tensor have shape " + to_string(parts) +
            ", an axis of real and imaginary part is expected last: a loop over a complex tensor "
            "of rank 0 has taken its numbers apart",
        at);
}

}  // namespace detail

/// An operand of arithmetic with complex tensors: one of them, a real tensor, or a number of either kind.
template <class T, class Device, bool refuses> class Operand<std::complex<T>, Device, refuses> {
public:
    using Complex = Tensor<std::complex<T>, Device>;
    using Real = Tensor<T, Device>;
    Operand(const Complex& z, const char* file = __builtin_FILE(), int line = __builtin_LINE())
        : at{file, line}, held(z.parts("complex", at)), pair(true)
    {}
    Operand(const Real& x, const char* file = __builtin_FILE(), int line = __builtin_LINE())
        : at{file, line}, held(x)
    {}
    template <class S>
    Operand(const std::complex<S>& v, const char* file = __builtin_FILE(), int line = __builtin_LINE())
        : at{file, line}, held(AnyTensor{detail::made<Device>(detail::pair_block(std::complex<T>(v))), {}}),
          pair(true)
    {}
    template <class S>
        requires std::is_arithmetic_v<S>
    Operand(S s, const char* file = __builtin_FILE(), int line = __builtin_LINE())
        : at{file, line}, held(detail::number<T, Device>(s)), literal(true)
    {}
    Operand(Literal l, const char* file = __builtin_FILE(), int line = __builtin_LINE())
        : Operand(l.value, file, line)
    {}
    Operand(const Operand&) = delete;
    Operand& operator=(const Operand&) = delete;
    /// As a complex tensor, whatever it is.
    Complex operator*() const;
    /// That of the complex tensor.
    Shape shape() const
    {
        const Shape& s = held.shape();
        return Shape(s.data(), s.size() - (pair ? 1 : 0));
    }

    Site at;
    Real held;             ///< the parts, or real numbers
    bool pair = false;     ///< they are parts
    bool literal = false;  ///< a number, on the host: as parts it goes where new tensors go
};

/// A complex number beside a real tensor, and where it was written.
struct ComplexNumber {
    template <class S>
    ComplexNumber(const std::complex<S>& v, const char* file = __builtin_FILE(), int line = __builtin_LINE())
        : value(v), at{file, line}
    {}
    std::complex<double> value;
    Site at;
};

namespace ops {
// clang-format off
template <class T, class D> Tensor<std::complex<T>, D> add(const Operand<std::complex<T>, D>& a, const Operand<std::complex<T>, D>& b, const Site&);
template <class T, class D> Tensor<std::complex<T>, D> subtract(const Operand<std::complex<T>, D>& a, const Operand<std::complex<T>, D>& b, const Site&);
template <class T, class D> Tensor<std::complex<T>, D> multiply(const Operand<std::complex<T>, D>& a, const Operand<std::complex<T>, D>& b, const Site&);
template <class T, class D> Tensor<std::complex<T>, D> divide(const Operand<std::complex<T>, D>& a, const Operand<std::complex<T>, D>& b, const Site&);
template <class T, class D> Tensor<bool, D> equal(const Operand<std::complex<T>, D>& a, const Operand<std::complex<T>, D>& b, const Site&);
template <class T, class D> void update(Tensor<std::complex<T>, D>& z, Update, const Operand<std::complex<T>, D>& b, const Site&);
// clang-format on
}  // namespace ops

}  // namespace wengert
