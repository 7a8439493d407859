// One page that shows a graph: drawn, as a table, its memory plan, the time of each kernel. It needs nothing beside itself.
#pragma once

#include "drawing.hpp"
#include "plan.hpp"

namespace wengert {

/// What the page shows beside the graph. Empty parts are left out.
struct GraphPage {
    std::string title = "wengert graph";
    GraphPlan plan = {};
    std::vector<KernelTime> times = {};
    bool graphviz = true;  ///< when it is installed
};

namespace detail {

inline constexpr std::string_view page_style =
    "body{font-family:sans-serif;margin:2em}table{border-collapse:collapse;font-size:90%}"
    "td,th{border:1px solid #ccc;padding:2px 8px;text-align:left}td.n{text-align:right}"
    "div.picture{overflow:auto;max-height:90vh;border:1px solid #ccc}code{white-space:pre-wrap}"
    "div.bar{background:#4477aa;height:10px}";

inline std::string cell(const std::string& text, const char* kind = "td")
{
    return "<" + std::string(kind) + ">" + xml_text(text) + "</" + std::string(kind) + ">";
}

inline std::string node_table(const Graph& g, const Annotations& notes)
{
    std::string out = "<h2>Nodes</h2>\n<table><tr><th>value</th><th>operation</th><th>type</th><th>line</"
                      "th><th>plan</th></tr>\n";
    for (ValueId v = 0; v < g.size(); ++v) {
        const GraphNode& n = g.node(v);
        out += "<tr id=\"v" + std::to_string(v) + "\">" + cell("%" + std::to_string(v)) +
               cell(shortened(node_text(n, 8), 160)) + cell(type_text(n.dtype, n.shape)) +
               cell(n.at.line > 0 ? to_string(n.at) : "") + cell(annotation_text(notes, v)) + "</tr>\n";
    }
    out += "</table>\n<p>Outputs: " + xml_text(list_text(g.outputs())) + "</p>\n";
    for (const Guard& guard : g.guards())
        out += "<p>Guard: %" + std::to_string(guard.value) + " = " +
               xml_text(shortened(elements_text(*guard.expected, 8), 160)) +
               (guard.at.line > 0 ? " at " + xml_text(to_string(guard.at)) : std::string()) + "</p>\n";
    return out;
}

inline std::string time_table(const std::vector<KernelTime>& times)
{
    double total = 0;
    for (const KernelTime& t : times) total += t.seconds;
    std::string out = "<h2>Time</h2>\n<table><tr><th>group</th><th>kernel</th><th>line</th><th>calls</th>"
                      "<th>µs</th><th>µs a call</th><th>least</th><th>part</th></tr>\n";
    for (const KernelTime& t : times) {
        const double part = total > 0 ? 100 * t.seconds / total : 0;
        const auto calls = static_cast<double>(std::max<std::uint64_t>(t.calls, 1));
        out += "<tr>" + cell(t.group < 0 ? "" : std::to_string(t.group)) + cell(t.name) + cell(t.site) +
               cell(std::to_string(t.calls)) + cell(decimal(t.seconds * 1e6)) +
               cell(decimal(t.seconds * 1e6 / calls)) + cell(t.least > 0 ? decimal(t.least * 1e6) : "") +
               "<td><div class=\"bar\" style=\"width:" + decimal(2 * part) + "px\"></div>" +
               decimal(std::round(10 * part) / 10) + " %</td></tr>\n";
    }
    return out + "</table>\n";
}

}  // namespace detail

/// The page, which is XML as well.
inline std::string to_html(const Graph& g, const GraphPage& page = {})
{
    const std::string title = detail::xml_text(page.title);
    const GraphPlan& plan = page.plan;
    std::string out =
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head><meta "
        "charset=\"utf-8\"/><title>" +
        title + "</title><style>" + std::string(detail::page_style) + "</style></head>\n<body><h1>" + title +
        "</h1>\n<p>" + std::to_string(g.size()) + " values, " + std::to_string(g.inputs().size()) +
        " inputs, " + std::to_string(g.outputs().size()) + " outputs, " + std::to_string(g.guards().size()) +
        " guards" + (plan.kernels.empty() ? "" : ", " + std::to_string(plan.kernels.size()) + " kernels") +
        "</p>\n";
    if (!page.times.empty()) out += detail::time_table(page.times);
    if (!plan.memory.empty()) {
        out += "<h2>Memory</h2>\n";
        if (plan.arena_bytes) out += "<p>Arena: " + detail::bytes_text(plan.arena_bytes);
        if (plan.arena_bytes && plan.lower_bound)
            out += ", alive at one time: " + detail::bytes_text(plan.lower_bound);
        if (plan.arena_bytes) out += "</p>\n";
        out += "<div class=\"picture\">" + memory_plan_svg(plan.memory, plan.arena_bytes) + "</div>\n";
    }
    out += "<h2>Graph</h2>\n<div class=\"picture\">" + to_svg(g, plan.notes, page.graphviz) + "</div>\n";
    return out + detail::node_table(g, plan.notes) + "</body></html>\n";
}

}  // namespace wengert
