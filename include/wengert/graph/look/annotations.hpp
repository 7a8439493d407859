// What a plan knows about the nodes of a graph, for those who look at it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wengert {

/// Filled in by the owner of a plan, by value id; vectors may be shorter than the graph. Never read back from text.
struct Annotations {
    std::vector<std::string> text;    ///< behind the node's line: "buffer 3 @ 1024, live 5-9"
    std::vector<std::int32_t> group;  ///< the fusion group that computes the node, -1 for none
    std::vector<std::string> group_name;
};

namespace detail {

inline std::int32_t group_of(const Annotations& a, std::size_t v)
{
    return v < a.group.size() ? a.group[v] : -1;
}
/// "group 2 (softmax), buffer 3 @ 1024"
inline std::string annotation_text(const Annotations& a, std::size_t v)
{
    std::string text;
    if (const std::int32_t g = group_of(a, v); g >= 0) {
        text = "group " + std::to_string(g);
        if (static_cast<std::size_t>(g) < a.group_name.size())
            text += " (" + a.group_name[static_cast<std::size_t>(g)] + ")";
    }
    if (v < a.text.size() && !a.text[v].empty()) text += (text.empty() ? "" : ", ") + a.text[v];
    for (char& c : text)
        if (c == '\n' || c == '\r') c = ' ';
    return text;
}

}  // namespace detail
}  // namespace wengert
