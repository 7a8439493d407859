// What dot.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../base/separate.hpp"
#include "dot.hpp"
#include "escape.hpp"

namespace wengert {

namespace detail {

WENGERT_INLINE std::vector<std::string> label_lines(const GraphNode& n, ValueId v)
{
    std::string head = "%" + std::to_string(v) + " ";
    if (n.kind == GraphNode::Kind::constant)
        head += n.constant->count > 4 ? std::string("constant") : elements_text(*n.constant);
    else
        head += n.primitive ? std::string(n.primitive->name) : "input " + std::to_string(n.index);
    std::vector<std::string> lines{std::move(head), type_text(n.dtype, n.shape)};
    const std::string fields = loop_parameters(n) ? n.primitive->parameters(n.op.get()) : fields_text(n);
    if (!fields.empty()) lines.insert(lines.begin() + 1, shortened(fields));
    if (n.at.line > 0) lines.push_back(to_string(n.at));
    return lines;
}

inline std::string dot_node(const GraphNode& n, ValueId v)
{
    std::string label;
    for (const std::string& line : label_lines(n, v))
        label += (label.empty() ? "" : "\\n") + quoted_text(line);
    const char* style = "shape=box";
    if (n.kind == GraphNode::Kind::input) style = "shape=oval, style=filled, fillcolor=\"#dceefb\"";
    if (n.kind == GraphNode::Kind::constant) style = "shape=oval, style=filled, fillcolor=\"#eeeeee\"";
    return "n" + std::to_string(v) + " [label=\"" + label + "\", " + style + "];\n";
}

}  // namespace detail

WENGERT_INLINE std::string to_dot(const Graph& g, const Annotations& notes)
{
    std::string out = "digraph wengert {\nnode [fontname=\"Helvetica\", fontsize=10];\n";
    std::map<std::int32_t, std::string> clusters;
    for (ValueId v = 0; v < g.size(); ++v) {
        const std::int32_t group = detail::group_of(notes, v);
        (group < 0 ? out : clusters[group]) += detail::dot_node(g.node(v), v);
    }
    for (const auto& [group, nodes] : clusters) {
        const auto at = static_cast<std::size_t>(group);
        const std::string name = at < notes.group_name.size() ? " " + notes.group_name[at] : std::string();
        out += "subgraph cluster_" + std::to_string(group) + " {\nlabel=\"group " + std::to_string(group) +
               detail::quoted_text(name) + "\"; style=rounded; color=\"#4477aa\";\n" + nodes + "}\n";
    }
    for (ValueId v = 0; v < g.size(); ++v)
        for (ValueId from : g.node(v).inputs)
            out += "n" + std::to_string(from) + " -> n" + std::to_string(v) + ";\n";
    for (std::size_t k = 0; k < g.outputs().size(); ++k) {
        const std::string name = "out" + std::to_string(k);
        out += name + " [label=\"output " + std::to_string(k) +
               "\", shape=oval, style=filled, fillcolor=\"#dff3dc\"];\nn" + std::to_string(g.outputs()[k]) +
               " -> " + name + ";\n";
    }
    for (std::size_t k = 0; k < g.guards().size(); ++k)
        out += "guard" + std::to_string(k) + " [label=\"guard = " +
               detail::quoted_text(detail::shortened(detail::elements_text(*g.guards()[k].expected))) +
               "\", shape=diamond, fontsize=9];\nn" + std::to_string(g.guards()[k].value) + " -> guard" +
               std::to_string(k) + " [style=dashed];\n";
    return out + "}\n";
}

}  // namespace wengert
