// What text.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../base/separate.hpp"
#include "text.hpp"

namespace wengert {

namespace detail {

WENGERT_INLINE std::string word_text(std::string_view name, bool ours)
{
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '.';
    };
    bool quoted = !ours;
    for (char c : name) quoted = quoted || !plain(c);
    if (!quoted) return std::string(name);
    std::string out = "\"";
    for (char c : name) {
        if (c == '"' || c == '\\') out += '\\';
        out += c == '\n' || c == '\r' ? ' ' : c;
    }
    return out + "\"";
}

WENGERT_INLINE std::string list_text(std::span<const ValueId> ids)
{
    std::string out = "(";
    for (std::size_t i = 0; i < ids.size(); ++i) out += (i ? ", %" : "%") + std::to_string(ids[i]);
    return out + ")";
}

WENGERT_INLINE std::string comment_text(const Site& at, const std::string& note)
{
    if (at.line <= 0 && note.empty()) return {};
    std::string out = "  #";
    if (at.line > 0) out += " " + to_string(at);
    return note.empty() ? out : out + " | " + note;
}

WENGERT_INLINE std::string node_text(const GraphNode& n, std::size_t inlined, const GraphNumbers& numbers)
{
    switch (n.kind) {
    case GraphNode::Kind::input: return "input";
    case GraphNode::Kind::constant: return "constant " + elements_text(*n.constant, inlined);
    case GraphNode::Kind::result:
        return "result" + list_text(n.inputs) + " {" + std::to_string(n.index) + "}";
    default: break;
    }
    const LoopParameters* loop = loop_of(n);
    const std::string fields = loop ? loop_text(*loop, numbers) : fields_text(n);
    return word_text(n.primitive->name, n.primitive->ours) + list_text(n.inputs) +
           (fields.empty() ? "" : " {" + fields + "}");
}

WENGERT_INLINE std::string line_text(const GraphNode& n, ValueId v, const std::string& note,
                                     const GraphNumbers& numbers)
{
    std::string out =
        "%" + std::to_string(v) + " = " + node_text(n, 32, numbers) + " : " + type_text(n.dtype, n.shape);
    if (n.segment) out += " segment " + std::to_string(n.segment);
    if (n.kind == GraphNode::Kind::operation && n.index) out += " again " + std::to_string(n.index);
    return out + comment_text(n.at, note) + "\n";
}

WENGERT_INLINE void check_inputs(std::string_view who, const Graph& g, const std::vector<Ref<Block>>& x,
                                 const Site& at)
{
    if (x.size() != g.inputs().size())
        fail<ShapeError>(
            who, std::to_string(x.size()) + " tensors for " + std::to_string(g.inputs().size()) + " inputs",
            at);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const GraphNode& n = g.node(g.inputs()[i]);
        const Block& b = *x[i];
        const std::string which = "input " + std::to_string(i) + " is " + type_text(n.dtype, n.shape) +
                                  ", not " + type_text(b.dtype, b.shape);
        if (b.dtype != n.dtype) fail<DTypeError>(who, which, at);
        if (!(b.shape == n.shape)) fail<ShapeError>(who, which, at);
    }
}

}  // namespace detail

WENGERT_INLINE std::string to_text(const Graph& g, const Annotations& notes)
{
    std::string out = detail::head_text();
    detail::write_graph(g, notes, [&](const std::string& line) { out += line; });
    return out;
}

WENGERT_INLINE std::ostream& operator<<(std::ostream& s, const Graph& g)
{
    s << detail::head_text();
    detail::write_graph(g, {}, [&](const std::string& line) { s << line; });
    return s;
}

}  // namespace wengert
