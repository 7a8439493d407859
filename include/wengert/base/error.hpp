// Every exception of the library. The text names the primitive, the operands, what was expected and the user's line.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "arithmetic_options.hpp"
#include "site.hpp"

namespace wengert {

/// The base of all that the library throws.
struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// clang-format off
struct ShapeError : Error { using Error::Error; };    ///< shapes or axes that do not fit
struct IndexError : Error { using Error::Error; };    ///< an index outside of its axis
struct OptionError : Error { using Error::Error; };   ///< an option outside of its range
struct DTypeError : Error { using Error::Error; };    ///< an element type that cannot serve here
struct TapeError : Error { using Error::Error; };     ///< a tensor used where its tape cannot follow
struct NoForwardMode : TapeError { using TapeError::TapeError; };  ///< jvp through a rule for reverse mode alone
struct NumericError : Error { using Error::Error; };  ///< a NaN or Inf was born (AnomalyMode)
struct DeviceError : Error { using Error::Error; };   ///< no such device, or operands on different ones
struct MemoryError : Error { using Error::Error; };   ///< an allocation that failed
// clang-format on

namespace detail {
/// "1.2e-17": x with so many digits at most.
std::string digits_of(double x, int most);
/// The function of the user's call, where what fails is another that it calls.
inline std::string_view& composed_name() noexcept
{
    static constinit thread_local std::string_view name;
    return name;
}
}  // namespace detail
/// "[primitive] what (file:line)"; "[function: primitive] …" within a function that is composed of it.
std::string failure_text(std::string_view primitive, const std::string& what, const Site& at);

/// Throws E with that text.
template <class E>
[[noreturn]] inline void fail(std::string_view primitive, const std::string& what, const Site& at)
{
    throw E(failure_text(primitive, what, at));
}

namespace detail {
/// A kernel's rule refuses to be evaluated. A kernel knows no line: the sweep adds that of the operation.
struct RefusedInKernel : TapeError {
    RefusedInKernel(std::string_view name, const std::string& what)
        : TapeError(failure_text(name, what, Site{})), primitive(name), reason(what)
    {}
    std::string_view primitive;
    std::string reason;
};
}  // namespace detail

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/error.ipp"
#endif
