// The bodies of text.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>

#include "../../../base/separate.hpp"
#include "../escape.hpp"
#include "../text.hpp"

namespace wengert {

namespace detail {

/// The shortest decimal that reads back to the same number; a NaN other than the usual one keeps its bits: "nan:7fc00001".
template <class T> std::string element_text(T v)
{
    if constexpr (std::is_same_v<T, bool>) {
        return v ? "true" : "false";
    } else if constexpr (std::is_integral_v<T>) {
        return std::to_string(v);
    } else {
        char buffer[48];
        const auto text = [&](auto... x) {
            return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, x...).ptr);
        };
        if (!std::isnan(v)) return text(v);
        using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
        const auto bits = std::bit_cast<Bits>(v),
                   usual = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN());
        return bits == usual ? "nan" : "nan:" + text(bits, 16);
    }
}

/// "(a, b)", each written by text(x).
template <class List, class F> std::string in_brackets(const List& list, const F& text)
{
    std::string out = "(";
    for (const auto& x : list) out += (out.size() > 1 ? ", " : "") + text(x);
    return out + ")";
}

WENGERT_INLINE std::string type_text(DType d, const Shape& shape)
{
    return std::string(short_names[static_cast<std::size_t>(d)]) + to_string(shape);
}

inline std::string to_base64(const std::byte* data, std::size_t n)
{
    std::string out;
    out.reserve((n + 2) / 3 * 4);
    for (std::size_t i = 0; i < n; i += 3) {
        const auto byte = [&](std::size_t k) { return k < n ? std::to_integer<unsigned>(data[k]) : 0U; };
        const unsigned bits = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
        for (unsigned k = 0; k < 4; ++k) out += i + k > n ? '=' : base64_digits[bits >> (18 - 6 * k) & 63];
    }
    return out;
}

WENGERT_INLINE std::string elements_text(const Block& block, std::size_t inlined)
{
    static_assert(std::endian::native == std::endian::little, "wengert: graphs are saved little-endian.");
    const Ref<Block> held = contiguous(Ref<Block>(const_cast<Block*>(&block)));
    const Block& b = *held;
    std::string out;
    const std::size_t unit = size_of(b.dtype);
    const bool splat = b.count > 1 && std::memcmp(b.data, b.data + unit, (b.count - 1) * unit) == 0;
    if (!splat && b.count > inlined) return "base64 " + to_base64(b.data, b.bytes());
    if (splat) out = "splat ";
    const bool list = !splat && !b.shape.empty();
    if (list) out += '[';
    with_dtype(b.dtype, [&]<class T>() {
        for (std::size_t i = 0; i < (splat ? 1 : b.count); ++i)
            out += (i ? ", " : "") + element_text(b.as<T>()[i]);
    });
    return list ? out + "]" : out;
}

WENGERT_INLINE std::vector<const Graph*> graphs_of(const LoopParameters& p)
{
    std::vector<const Graph*> out;
    for (const auto* g : {&p.body, &p.other, &p.pull})
        if (*g) out.push_back(g->get());
    return out;
}

template <class T> std::string loop_word(const T& x, const GraphNumbers& numbers)
{
    if constexpr (std::is_same_v<T, bool>) {
        return {};
    } else if constexpr (std::is_integral_v<T>) {
        return " " + std::to_string(x);
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const Graph>>) {
        const auto at = numbers.find(x.get());
        return " @" + (at == numbers.end() ? std::string("?") : std::to_string(at->second));
    } else if constexpr (std::is_same_v<T, std::vector<std::size_t>>) {
        return " " + in_brackets(x, [](std::size_t i) { return std::to_string(i); });
    } else {
        return " " + in_brackets(x, [](const LoopParameters::Result& r) {
                   return type_text(r.dtype, r.shape) + (r.wanted() ? " at " + std::to_string(r.offset) : "");
               });
    }
}
/// The text between the braces of a loop.
inline std::string loop_text(const LoopParameters& p, const GraphNumbers& numbers)
{
    std::string out;
    each_loop_word(p, [&](std::string_view name, const auto& value, bool given) {
        if (given) out += (out.empty() ? "" : " ") + std::string(name) + loop_word(value, numbers);
    });
    return out;
}

/// A name of the library's that is a plain word is written as it is, any other name in quotes. So a program's own primitive is
/// never read as one of the library's.
inline std::string word_text(std::string_view name, bool ours)
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

inline std::string comment_text(const Site& at, const std::string& note)
{
    if (at.line <= 0 && note.empty()) return {};
    std::string out = "  #";
    if (at.line > 0) out += " " + to_string(at);
    return note.empty() ? out : out + " | " + note;
}

WENGERT_INLINE std::string list_text(std::span<const ValueId> ids)
{
    return in_brackets(ids, [](ValueId v) { return "%" + std::to_string(v); });
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
    const LoopParameters* loop = loop_parameters(n);
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
    return out + comment_text(n.at, note) + "\n";
}

/// The graphs of loops in g that have no number yet, inner ones first, then g, deep as loops are nested.
inline void write_graph(std::string& out, const Graph& g, const Annotations& notes, GraphNumbers& numbers,
                        bool inner = false)
{
    for (const GraphNode& n : g.nodes())
        if (const LoopParameters* p = loop_parameters(n))
            for (const Graph* of_loop : graphs_of(*p))
                if (!numbers.contains(of_loop)) write_graph(out, *of_loop, {}, numbers, true);
    if (inner) {
        const std::size_t number = numbers.size();
        numbers.emplace(&g, number);
        out += "graph @" + std::to_string(number) + "\n";
    }
    for (ValueId v = 0; v < g.size(); ++v) out += line_text(g.node(v), v, annotation_text(notes, v), numbers);
    for (const Guard& guard : g.guards())
        out += "guard " + std::string(read_names[static_cast<std::size_t>(guard.what)]) + " %" +
               std::to_string(guard.value) + " = " + elements_text(*guard.expected) +
               comment_text(guard.at, {}) + "\n";
    for (ValueId v : g.outputs()) out += "output %" + std::to_string(v) + "\n";
    for (std::size_t i = 0; i < g.updates().size(); ++i)
        if (g.updates()[i] != no_value)
            out += "update " + std::to_string(i) + " by " + std::to_string(g.updates()[i]) + "\n";
    out += "end\n";
}

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

WENGERT_INLINE std::string to_text(const Graph& g, const Annotations& notes)
{
    std::string out = "wengert graph " + std::to_string(graph_text_version) + "\n";
    detail::GraphNumbers numbers;
    detail::write_graph(out, g, notes, numbers);
    return out;
}

WENGERT_INLINE std::ostream& operator<<(std::ostream& s, const Graph& g) { return s << to_text(g); }

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
