// What tensors are made of and meet in an expression: numbers, nested braces, operands of operators with their line.
#pragma once

#include <cmath>
#include <complex>
#include <concepts>
#include <initializer_list>
#include <limits>

#include "../array/xtensor.hpp"
#include "../base/literal.hpp"
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
[[noreturn]] void refuse_number(const Shape& shape);
[[noreturn]] void refuse_condition(const Shape& shape);
[[noreturn]] void refuse_inexact(double number, DType type, const Site& at);

/// Is s one of the whole numbers of T?
template <class T, class S> constexpr bool is_number_of(S s)
{
    if constexpr (std::is_floating_point_v<S>) {
        const S end = S(2) * S(std::uint64_t{1} << (std::numeric_limits<T>::digits - 1));
        return s >= (std::is_signed_v<T> ? -end : S(0)) && s < end && std::trunc(s) == s;
    } else {
        const T v = static_cast<T>(s);
        return static_cast<S>(v) == s && (v < T(0)) == (s < S(0));
    }
}
/// A number beside tensors of T. Throws DTypeError where T has whole numbers alone and this is none of them: to cut it would be
/// silent.
template <class T, class S> T number_as(S s, const Site& at)
{
    if constexpr (std::is_integral_v<T> && !std::is_same_v<S, T> && !std::is_same_v<S, bool> &&
                  (std::is_floating_point_v<S> || !std::is_same_v<T, bool>))
        if (!is_number_of<T>(s)) refuse_inexact(static_cast<double>(s), dtype_of<T>(), at);
    return static_cast<T>(s);
}

/// A number as the argument of a function whose tensors are of T. See number_as.
template <class T> struct GivenNumber {
    template <class S>
        requires std::is_convertible_v<S, T>
    GivenNumber(const S& s, const char* file = __builtin_FILE(), int line = __builtin_LINE())
    {
        if constexpr (std::is_arithmetic_v<S>)
            value = number_as<T>(s, Site{file, line});
        else
            value = s;
    }
    T value;
};

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
    Elements(S s, const char* file = __builtin_FILE(), int line = __builtin_LINE())
        : value(detail::number_as<T>(s, Site{file, line}))
    {}
    Elements(std::initializer_list<Elements> l) : list(l), is_list(true) {}
    T value{};
    std::initializer_list<Elements> list;
    bool is_list = false;
};

/// A number that records itself, and is a tensor of rank 0 where tensors are wanted (scalar/transforms/exchange.hpp).
template <class N, class T>
concept RecordedNumber = requires(const N& n, const Site& s) {
    {
        tensor(n, s)
    } -> std::same_as<Tensor<T>>;
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
        : literal_(detail::number_as<T>(s, Site{file, line}), nullptr), tensor_(&literal_), at{file, line}
    {}
    Operand(Literal l, const char* file = __builtin_FILE(), int line = __builtin_LINE())
        : Operand(l.value, file, line)
    {}
    template <RecordedNumber<T> N>
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

}  // namespace wengert
