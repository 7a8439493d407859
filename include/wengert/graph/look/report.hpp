// All there is to see of a graph, in files: save_report("step", frozen, x, y).
#pragma once

#include <concepts>

#include "../../base/located.hpp"
#include "html.hpp"

namespace wengert {

/// Where a report goes and what is in it.
struct ReportOptions {
    std::string path;                                ///< without an ending: "out/step"
    std::string title = "";                          ///< of the page; the path where it is empty
    std::size_t runs = 10;                           ///< that are timed; 0 for none
    bool graphviz = true;                            ///< it draws the graph when it is installed
    Site at = {__builtin_FILE(), __builtin_LINE()};  ///< of the call, for errors
};
/// The path alone.
struct ReportPath {
    template <std::convertible_to<std::string> S>
    ReportPath(const S& path, Site at = {__builtin_FILE(), __builtin_LINE()})
        : options{.path = path, .at = at}
    {}
    ReportOptions options;
};

/// The files that save_report() has written.
struct ReportFiles {
    std::string
        html;  ///< the graph drawn, the memory plan, the time of each kernel: a page that needs no other file
    std::string text;   ///< one line a node, with its group, buffer and lifetime
    std::string dot;    ///< for Graphviz, groups as clusters
    std::string trace;  ///< the timed runs for https://ui.perfetto.dev; "" without any
};

/// A graph as the backend runs it on these inputs, in files beside one another. Throws what profile() throws, Error for files
/// that cannot be written.
inline ReportFiles save_report(const ReportOptions& to, const Graph& g, const std::vector<Ref<Block>>& inputs,
                               const Backend& backend, const PlanOptions& options = {})
{
    const GraphPlan plan = inspect(g, backend, options);
    std::vector<ProfileEvent> events;
    if (to.runs > 0) events = profile(g, inputs, backend, to.runs, options);
    ReportFiles files{to.path + ".html", to.path + ".txt", to.path + ".dot", ""};
    const std::string title = to.title.empty() ? to.path : to.title;
    detail::located("save_report", to.at, [&] {
        file::write(files.html, to_html(g, {title, plan, kernel_times(events), to.graphviz}));
        file::write(files.text, to_text(g, plan.notes));
        file::write(files.dot, to_dot(g, plan.notes));
        if (events.empty()) return;
        files.trace = to.path + ".trace.json";
        file::write(files.trace, to_chrome_trace(events));
    });
    return files;
}

/// The same for the graph that answers a frozen function's arguments, which is traced when there is none, with its backend.
/// Live tensors stay as they are.
template <class Frozen, class... X>
    requires requires(const Frozen& f) { f.plan_options(); }
ReportFiles save_report(const ReportOptions& to, const Frozen& frozen, const X&... x)
{
    const Graph& g = frozen.graph(x...);
    return save_report(to, g, frozen.inputs(x...), frozen.backend(), frozen.plan_options());
}
template <class Frozen, class... X>
    requires requires(const Frozen& f) { f.plan_options(); }
ReportFiles save_report(const ReportPath& path, const Frozen& frozen, const X&... x)
{
    return save_report(path.options, frozen, x...);
}

}  // namespace wengert
