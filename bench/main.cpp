// wengert_bench [WORKLOAD...] [--systems a,b] [--out FILE]   times, and merges rows into FILE
//               [WORKLOAD...] [--systems a,b] --peak       cold call and peak memory, a process each
//               --tape                                     bytes on the tape per operation
//               [WORKLOAD...] [--systems a,b] --plan       tracing and planning of the frozen rows, their memory
// One thread. libtorch's systems live in a plugin, so that no other system's memory or start-up contains it.

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <map>

#include "external.hpp"
#include "harness.hpp"
#include "memory.hpp"
#include "plan.hpp"
#include "report.hpp"

extern "C" void openblas_set_num_threads(int) __attribute__((weak));

namespace {

using namespace bench;

struct Options {
    std::vector<std::string> workloads, systems;
    std::string out;
    std::vector<std::string> child;
    bool peaks = false, tape = false, plan = false;
};

std::vector<std::string> split(const std::string& text, char at)
{
    std::vector<std::string> parts(1);
    for (char c : text)
        if (c == at)
            parts.emplace_back();
        else
            parts.back() += c;
    return parts;
}

Options parse(int argc, char** argv)
{
    Options o;
    const std::vector<std::string> args(argv + 1, argv + argc);
    for (std::size_t i = 0; i < args.size(); ++i) {
        const auto rest = args.begin() + static_cast<std::ptrdiff_t>(i) + 1;
        if (args[i] == "--out" && i + 1 < args.size())
            o.out = args[++i];
        else if (args[i] == "--systems" && i + 1 < args.size())
            o.systems = split(args[++i], ',');
        else if (args[i] == "--peak")
            o.peaks = true;
        else if (args[i] == "--child")
            return o.child.assign(rest, args.end()), o;
        else if (args[i] == "--tape")
            o.tape = true;
        else if (args[i] == "--plan")
            o.plan = true;
        else
            o.workloads.push_back(args[i]);
    }
    return o;
}

/// Loads the plugin beside this program; without it there are no libtorch rows.
void load_libtorch()
{
    std::string path(4096, '\0');
    const ssize_t n = readlink("/proc/self/exe", path.data(), path.size());
    path.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    path = path.substr(0, path.find_last_of('/') + 1) + "libbench_libtorch.so";
    if (access(path.c_str(), R_OK) != 0) return;
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) throw std::runtime_error(dlerror());
    reinterpret_cast<void (*)(Registry&)>(dlsym(handle, "bench_register"))(registry());
}

int place(const std::vector<std::string>& order, const std::string& name)
{
    return static_cast<int>(std::find(order.begin(), order.end(), name) - order.begin());
}

template <class Strings> bool wanted(const Strings& list, const std::string& name)
{
    return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

/// The chosen entries, variant by variant, in the order of the table in workloads.md.
std::vector<Registry> variants(const Options& o)
{
    const std::vector<std::string> workloads = {"small_op",  "call",    "elementwise", "mlp", "rk4", "heat",
                                                "attention", "gmm",     "lstm",        "hvp", "jvp", "cheap",
                                                "scan",      "burgers", "vmap",        "fft"};
    const std::vector<std::string> systems = {"wengert",        "wengert-tile", "wengert-into",
                                              "wengert-native", "floor",        "floor_fused",
                                              "plain",          "libtorch",     "xla"};
    Registry all = registry();
    std::stable_sort(all.begin(), all.end(), [&](const Entry& a, const Entry& b) {
        return place(workloads, a.workload) < place(workloads, b.workload);
    });
    std::vector<Registry> groups;
    std::map<std::string, std::size_t> index;
    for (const Entry& e : all) {
        if (!wanted(o.workloads, e.workload) || !wanted(o.systems, e.system)) continue;
        const auto [at, fresh] = index.try_emplace(title(e), groups.size());
        if (fresh) groups.emplace_back();
        groups[at->second].push_back(e);
    }
    for (Registry& g : groups)
        std::stable_sort(g.begin(), g.end(), [&](const Entry& a, const Entry& b) {
            return place(systems, a.system) < place(systems, b.system);
        });
    return groups;
}

int run(const Options& o)
{
    std::vector<Row> rows;
    for (const Registry& group : variants(o))
        for (Row& row : measure(group)) rows.push_back(std::move(row));
    if (rows.empty()) throw std::runtime_error("no such workload");
    print_table(rows);
    if (!o.out.empty()) write_json(o.out, rows);
    return 0;
}

int peaks(const Options& o)
{
    print_peak_header();
    for (const Registry& group : variants(o))
        for (const Entry& e : group) print_peak(e);
    return 0;
}

int plans(const Options& o)
{
    print_plan_header();
    for (const PlanProbe& p : plan_probes())
        if (wanted(o.workloads, p.entry.workload) && wanted(o.systems, p.entry.system)) print_plan(p);
    return 0;
}

int child(const std::vector<std::string>& name)
{
    if (name.size() == 3 && name[2] == "libtorch") load_libtorch();
    for (const Entry& e : registry())
        if (name.size() == 3 && e.workload == name[0] && e.variant == name[1] && e.system == name[2])
            return report_peak(e);
    throw std::runtime_error("--child WORKLOAD VARIANT SYSTEM");
}

int dispatch(const Options& o)
{
    if (!o.child.empty()) return child(o.child);
    if (o.tape) return report_tape();
    if (o.plan) return plans(o);
    load_libtorch();
    if (!o.peaks && wanted(o.systems, "xla")) add_xla(registry());
    return o.peaks ? peaks(o) : run(o);
}

}  // namespace

int main(int argc, char** argv)
{
    setenv("OPENBLAS_NUM_THREADS", "1", 1), setenv("OMP_NUM_THREADS", "1", 1);  // for what the plugin loads
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    try {
        return dispatch(parse(argc, argv));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "\nwengert_bench: %s\n", e.what());
        return 1;
    }
}
