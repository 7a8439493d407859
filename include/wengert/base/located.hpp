// Lines for errors from below, where no public function is known: of memory and of files.
#pragma once

#include <new>
#include <typeinfo>
#include <utility>

#include "error.hpp"

namespace wengert::detail {

/// Is a line at its end: " (heat.cpp:42)"?
inline bool has_line(std::string_view text)
{
    if (text.empty() || text.back() != ')') return false;
    text.remove_suffix(1);
    const auto digits = text.find_last_not_of("0123456789");
    return digits != std::string_view::npos && digits + 1 < text.size() && text[digits] == ':';
}

/// The error again, with the line; "[memory]" becomes the name of what was called.
template <class E> [[noreturn]] void rethrow_at(std::string_view name, const Site& at, const E& e)
{
    constexpr std::string_view nobody = "[memory] ";
    const std::string_view text = e.what();
    if (has_line(text) || at.line <= 0) throw;
    if (text.starts_with(nobody)) fail<E>(name, std::string(text.substr(nobody.size())), at);
    throw E(std::string(text) + " (" + to_string(at) + ")");
}

/// f(). Its errors have a line afterwards, and where memory was refused they are MemoryErrors.
template <class F> decltype(auto) located(std::string_view name, const Site& at, F&& f)
{
    try {
        return std::forward<F>(f)();
    } catch (const MemoryError& e) {
        rethrow_at(name, at, e);
    } catch (const DTypeError& e) {
        rethrow_at(name, at, e);
    } catch (const ShapeError& e) {
        rethrow_at(name, at, e);
    } catch (const std::bad_alloc&) {
        fail<MemoryError>(name, "no memory", at);
    } catch (const Error& e) {
        if (typeid(e) != typeid(Error)) throw;
        rethrow_at(name, at, e);
    }
}

}  // namespace wengert::detail
