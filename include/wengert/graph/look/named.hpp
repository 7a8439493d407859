// Operations by name: a primitive from the registry and parameters from text.
#pragma once

#include "registry.hpp"
#include "text.hpp"
#include "words.hpp"

namespace wengert::detail {

/// "(0) false (3)". Throws GraphTextError.
inline Parameters parse_parameters(const Primitive& p, std::string_view text)
{
    const std::string braced = text.empty() ? std::string() : "{" + std::string(text) + "}";
    Cursor c(braced, 1);
    Parameters op = read_parameters(p, c);
    c.expect_end();
    return op;
}

}  // namespace wengert::detail
