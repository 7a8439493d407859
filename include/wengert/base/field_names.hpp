// The names of an aggregate's fields, at compile time: the compiler writes them where a pointer to a field of a static object
// is a template argument (as in Boost.PFR 2.2, Polukhin 2023). Start at field_name.
#pragma once

#include "reflect.hpp"

#include <string_view>

namespace wengert::reflect {

namespace detail {

template <class S> struct Example {
    S value;
};
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
/// Never defined: only the addresses of its fields are named.
template <class S> extern const Example<S> example;

template <class P> struct Address {
    P to;
};
template <auto P> consteval std::string_view text_of_address() { return __PRETTY_FUNCTION__; }

/// "… {& example.value.weight}]" ends with the name, in brackets or not.
consteval std::string_view last_name(std::string_view text)
{
    text = text.substr(0, text.rfind('}'));
    while (text.ends_with(')')) text.remove_suffix(1);
    return text.substr(text.find_last_of(".:") + 1);
}
template <class S, std::size_t I> consteval std::string_view find_name()
{
    constexpr auto address = std::addressof(std::get<I>(tie(example<S>.value)));
    return last_name(text_of_address<Address<decltype(address)>{address}>());
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

}  // namespace detail

/// "weight" for the field declared as `Tensor<double> weight`.
template <class S, std::size_t I>
inline constexpr std::string_view field_name = detail::find_name<std::remove_cvref_t<S>, I>();

}  // namespace wengert::reflect
