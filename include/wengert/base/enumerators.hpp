// The names of an enumeration's values, at compile time: the compiler writes a value that is a template argument.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace wengert::detail {

/// Of "… value = wengert::TermKind::sin]" or "…; …" what stands behind the last colon.
template <auto value> consteval std::string_view enumerator_name()
{
    std::string_view text = __PRETTY_FUNCTION__;
    text = text.substr(text.find("value = "));
    text = text.substr(0, text.find_first_of(";]"));
    return text.substr(text.rfind(':') + 1);
}

/// Of all values from 0 to `last`.
template <auto last>
inline constexpr auto enumerator_names = []<std::size_t... k>(std::index_sequence<k...>) {
    return std::array{enumerator_name<static_cast<decltype(last)>(k)>()...};
}(std::make_index_sequence<static_cast<std::size_t>(last) + 1>());

}  // namespace wengert::detail
