// A graph as SVG: by Graphviz when it is installed, else in layers.
#pragma once

#include "../../base/compiler/process.hpp"
#include "../../base/file.hpp"
#include "memory_plan.hpp"
#include "text.hpp"

namespace wengert {

namespace detail {

/// Graphviz' picture of a graph in its language, empty when there is none or it takes too long.
inline std::string dot_svg(const std::string& dot)
{
    const std::string program = find_program("dot");
    const file::Handle from(std::tmpfile()), to(std::tmpfile());
    if (program.empty() || !from || !to) return {};
    if (std::fwrite(dot.data(), 1, dot.size(), from.get()) != dot.size() || std::fflush(from.get()) != 0)
        return {};
    const auto path = [](const file::Handle& f) { return "/dev/fd/" + std::to_string(::fileno(f.get())); };
    if (run_program({program, "-Tsvg", path(from), "-o", path(to)}, "/dev/null", 20) != 0) return {};
    std::fseek(to.get(), 0, SEEK_END);
    std::string out(static_cast<std::size_t>(std::max(std::ftell(to.get()), 0L)), '\0');
    std::rewind(to.get());
    out.resize(std::fread(out.data(), 1, out.size(), to.get()));
    const std::size_t begin = out.find("<svg"), end = out.rfind("</svg>");  // without the XML prolog
    return begin == std::string::npos || end == std::string::npos ? std::string()
                                                                  : out.substr(begin, end + 7 - begin);
}

/// Where each node is drawn: its layer is its longest way from an input, in a layer it is near its operands.
struct Layered {
    static constexpr double cell = 150, layer = 64, width = 140, height = 40;
    std::vector<double> x, y;
    double right = 0, bottom = 0;

    explicit Layered(const Graph& g) : x(g.size()), y(g.size())
    {
        std::vector<std::size_t> depth(g.size(), 0);
        std::vector<std::vector<ValueId>> layers;
        for (ValueId v = 0; v < g.size(); ++v) {
            for (ValueId i : g.node(v).inputs) depth[v] = std::max(depth[v], depth[i] + 1);
            if (layers.size() <= depth[v]) layers.resize(depth[v] + 1);
            layers[depth[v]].push_back(v);
        }
        for (std::size_t d = 0; d < layers.size(); ++d) place(g, layers[d], d);
    }

private:
    void place(const Graph& g, std::vector<ValueId>& nodes, std::size_t d)
    {
        std::vector<std::pair<double, ValueId>> order;
        for (ValueId v : nodes) {
            double sum = 0;
            for (ValueId i : g.node(v).inputs) sum += x[i];
            order.emplace_back(
                g.node(v).inputs.empty() ? 0 : sum / static_cast<double>(g.node(v).inputs.size()), v);
        }
        std::sort(order.begin(), order.end());
        for (std::size_t k = 0; k < order.size(); ++k) {
            x[order[k].second] = cell * static_cast<double>(k) + 10;
            y[order[k].second] = layer * static_cast<double>(d) + 10;
        }
        right = std::max(right, cell * static_cast<double>(nodes.size()) + 10);
        bottom = layer * static_cast<double>(d + 1) + 10;
    }
};

inline std::string layered_node(const GraphNode& n, ValueId v, const Layered& at, const Annotations& notes)
{
    const std::int32_t group = group_of(notes, v);
    const char* plain = n.kind == GraphNode::Kind::input      ? "#dceefb"
                        : n.kind == GraphNode::Kind::constant ? "#eeeeee"
                                                              : "#ffffff";
    const std::string fill = group < 0 ? plain : colour(static_cast<std::size_t>(group));
    std::string out = "<g><title>" + xml_text(line_text(n, v, annotation_text(notes, v))) + "</title>" +
                      svg_box(at.x[v], at.y[v], Layered::width, Layered::height,
                              "rx=\"4\" fill=\"" + fill + "\" stroke=\"#555\"");
    out += svg_text(at.x[v] + 4, at.y[v] + 15, shortened(label_lines(n, v)[0], 22));
    out += svg_text(at.x[v] + 4, at.y[v] + 30, shortened(type_text(n.dtype, n.shape), 22));
    return out + "</g>\n";
}

/// The picture without Graphviz.
inline std::string layered_svg(const Graph& g, const Annotations& notes)
{
    const Layered at(g);
    std::string out = svg_head(at.right, at.bottom, "10");
    for (ValueId v = 0; v < g.size(); ++v)
        for (ValueId i : g.node(v).inputs)
            out += "<line x1=\"" + decimal(at.x[i] + Layered::width / 2) + "\" y1=\"" +
                   decimal(at.y[i] + Layered::height) + "\" x2=\"" + decimal(at.x[v] + Layered::width / 2) +
                   "\" y2=\"" + decimal(at.y[v]) + "\" stroke=\"#999\"/>\n";
    for (ValueId v = 0; v < g.size(); ++v) out += layered_node(g.node(v), v, at, notes);
    return out + "</svg>\n";
}

}  // namespace detail

/// The graph drawn. Graphviz is asked where it is installed and the graph is not too large for it.
inline std::string to_svg(const Graph& g, const Annotations& notes = {}, bool graphviz = true)
{
    std::string svg;
    if (graphviz && g.size() <= 2000) svg = detail::dot_svg(to_dot(g, notes));
    return svg.empty() ? detail::layered_svg(g, notes) : svg;
}

}  // namespace wengert
