/// The functions of complex tensors as a list: what each test walks through derivatives, executors, loops.
#pragma once

#include <wengert/complex.hpp>
#include <wengert/wengert.hpp>

#include "catch.hpp"
#include "same_bits.hpp"

#include <functional>

namespace complex_cases {

namespace wg = wengert;
using wg::Shape;
using wg::Tensor;
template <class T> using Z = Tensor<std::complex<T>>;
template <class T> using Function = std::function<Z<T>(const Z<T>&)>;

/// Away from cuts, poles and zeros.
template <class T> Z<T> numbers(const Shape& shape, std::uint64_t seed = 1)
{
    const Tensor<T> re = wg::uniform<T>(wg::Key(seed), shape, T(0.3), T(1.2)),
                    im = wg::uniform<T>(wg::Key(seed + 100), shape, T(-0.9), T(0.9));
    return complex(re, im);
}

/// One step of loops.
inline Z<double> step(const Z<double>& z)
{
    return exp(z * std::complex<double>(0.1, 0.3)) / (z + 2.0) + conj(z) * 0.2;
}

template <class T> struct Case {
    std::string name;
    Function<T> f;
};

/// Elementwise ones, which take a matrix of two rows.
template <class T> std::vector<Case<T>> elementwise()
{
    using C = std::complex<T>;
    const Z<T> w = {C(T(0.3), T(0.4)), C(T(-1.0), T(0.2)), C(T(0.5), T(-0.7))};
    const Tensor<T> r = {T(0.5), T(-2), T(1.5)};
    return {{"multiply", [=](const Z<T>& z) { return z * w; }},
            {"square by multiply", [](const Z<T>& z) { return z * z; }},
            {"divide", [=](const Z<T>& z) { return z / w; }},
            {"divide by", [=](const Z<T>& z) { return w / z; }},
            {"add", [=](const Z<T>& z) { return z + w; }},
            {"subtract", [=](const Z<T>& z) { return w - z; }},
            {"add a number", [](const Z<T>& z) { return z + C(1, 2); }},
            {"real less", [](const Z<T>& z) { return T(2) - z; }},
            {"times i", [](const Z<T>& z) { return C(0, 1) * z; }},
            {"divided by reals", [=](const Z<T>& z) { return z / r; }},
            {"times reals", [=](const Z<T>& z) { return r * z; }},
            {"plus reals", [=](const Z<T>& z) { return z + r; }},
            {"reals by", [=](const Z<T>& z) { return r / z; }},
            {"minus", [](const Z<T>& z) { return -z; }},
            {"exp", [](const Z<T>& z) { return exp(z); }},
            {"log", [](const Z<T>& z) { return log(z); }},
            {"sqrt", [](const Z<T>& z) { return sqrt(z); }},
            {"sin", [](const Z<T>& z) { return sin(z); }},
            {"cos", [](const Z<T>& z) { return cos(z); }},
            {"tan", [](const Z<T>& z) { return tan(z); }},
            {"sinh", [](const Z<T>& z) { return sinh(z); }},
            {"cosh", [](const Z<T>& z) { return cosh(z); }},
            {"tanh", [](const Z<T>& z) { return tanh(z); }},
            {"square", [](const Z<T>& z) { return square(z); }},
            {"reciprocal", [](const Z<T>& z) { return reciprocal(z); }},
            {"conj", [](const Z<T>& z) { return conj(z); }},
            {"cube", [](const Z<T>& z) { return pow(z, 3); }},
            {"pow", [=](const Z<T>& z) { return pow(z, w); }},
            {"inverse square", [](const Z<T>& z) { return pow(z, -2); }},
            {"abs and angle", [](const Z<T>& z) { return polar(abs(z), T(2) * angle(z)); }},
            {"real and imag", [](const Z<T>& z) { return complex(imag(z) * real(z), square(imag(z))); }}};
}
/// What moves, joins and adds up the elements of a 2 × 3 matrix.
template <class T> std::vector<Case<T>> arranging()
{
    using C = std::complex<T>;
    return {{"reshape",
             [](const Z<T>& z) {
                 return reshape(z, {3, -1}) * C(0, 1);
             }},
            {"transpose", [](const Z<T>& z) { return transpose(z) * flatten(transpose(z))(2); }},
            {"swapaxes", [](const Z<T>& z) { return swapaxes(z, -1, 0); }},
            {"adjoint", [](const Z<T>& z) { return adjoint(z); }},
            {"moveaxis", [](const Z<T>& z) { return moveaxis(expand_dims(z, -1), -1, 0); }},
            {"broadcast",
             [](const Z<T>& z) {
                 return broadcast_to(expand_dims(z, 1), {2, 4, 3});
             }},
            {"squeeze", [](const Z<T>& z) { return squeeze(expand_dims(z, -2), -2); }},
            {"concatenate",
             [](const Z<T>& z) {
                 return wg::concatenate({z, z * z}, -1);
             }},
            {"stack",
             [](const Z<T>& z) {
                 return wg::stack({z, z * z}, -1);
             }},
            {"roll", [](const Z<T>& z) { return roll(z, 1, -1) * z; }},
            {"flip", [](const Z<T>& z) { return flip(z, -1) * z; }},
            {"pad",
             [](const Z<T>& z) {
                 return pad(z, {{1, 0}, {0, 2}});
             }},
            {"take",
             [](const Z<T>& z) {
                 return take(z, wg::Indices{2, 0, 2}, -1);
             }},
            {"slice", [](const Z<T>& z) { return view(z, wg::ellipsis(), wg::range(0, 2)); }},
            {"row", [](const Z<T>& z) { return z(1) * z(0, -1); }},
            {"where", [](const Z<T>& z) { return where(wg::arange<T>(T(3)) > T(0.5), z * z, T(0.5)); }},
            {"sum", [](const Z<T>& z) { return z / sum(z); }},
            {"sum of rows", [](const Z<T>& z) { return z / sum(z, -1, true); }},
            {"mean", [](const Z<T>& z) { return z * mean(z, 0); }},
            {"cumsum", [](const Z<T>& z) { return cumsum(z, -1); }},
            {"matmul", [](const Z<T>& z) { return matmul(z, adjoint(z)); }},
            {"matrix by vector", [](const Z<T>& z) { return matmul(z, z(0)); }},
            {"vector by matrix", [](const Z<T>& z) { return matmul(z(0), transpose(z)); }},
            {"batches",
             [](const Z<T>& z) {
                 return matmul(wg::stack({z, z * z}, 0), transpose(z));
             }},
            {"with reals",
             [](const Z<T>& z) { return matmul(real(z), transpose(z)) + matmul(z, transpose(imag(z))); }},
            {"dot", [](const Z<T>& z) { return z * dot(z(0), z(1)); }},
            {"outer", [](const Z<T>& z) { return outer(z(0), z(1)); }},
            {"written", [](const Z<T>& z) {
                 Z<T> y = z;
                 y *= z;
                 y += z(0);
                 view(y, 1, wg::range(0, 2)) = z(0, 1) * C(0, 2);
                 return y;
             }}};
}
template <class T> std::vector<Case<T>> all()
{
    std::vector<Case<T>> list = elementwise<T>();
    for (auto& c : arranging<T>()) list.push_back(std::move(c));
    return list;
}

/// A real number of which every part of f's result is a part.
template <class T> std::function<Tensor<T>(const Z<T>&)> loss(const Function<T>& f)
{
    return [f](const Z<T>& z) {
        const Tensor<T> parts = f(z).parts();
        return sum(sin(parts + reshape(wg::arange<T>(T(parts.size())), parts.shape())));
    };
}

template <class T> bool same_bits(const Z<T>& a, const Z<T>& b) { return ::same_bits(a.parts(), b.parts()); }

}  // namespace complex_cases
