// adbench [gmm|lstm] FILE [--gradient OUT]
// Objective of an ADBench instance, times of objective and gradient, and both written as in *.expected.txt.

#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>

#include "harness.hpp"
#include "models/gmm.hpp"
#include "models/lstm.hpp"

namespace {

using namespace bench;

struct Arguments {
    std::string kind, file, gradient;
};

Arguments parse(int argc, char** argv)
{
    Arguments a;
    const std::vector<std::string> args(argv + 1, argv + argc);
    for (std::size_t i = 0; i < args.size(); ++i) {
        const bool kind = args[i] == "gmm" || args[i] == "lstm";
        if (args[i] == "--gradient" && i + 1 < args.size())
            a.gradient = args[++i];
        else if (kind && a.kind.empty() && a.file.empty())
            a.kind = args[i];
        else if (a.file.empty())
            a.file = args[i];
        else
            throw std::runtime_error("unknown argument " + args[i]);
    }
    if (a.file.empty()) throw std::runtime_error("usage: adbench [gmm|lstm] FILE [--gradient OUT]");
    return a;
}

/// From the file's name, else from the number of its numbers.
std::string kind_of(const std::string& file)
{
    const std::string name = std::filesystem::path(file).filename().string();
    if (name.rfind("gmm", 0) == 0) return "gmm";
    if (name.rfind("lstm", 0) == 0) return "lstm";
    std::ifstream in = open(file);
    std::size_t a = 0, b = 0, c = 0, count = 0;
    in >> a >> b >> c;
    for (double v; in >> v;) ++count;
    if (count == b * (1 + a + a * (a + 1) / 2) + c * a + 2) return "gmm";
    if (count == c * (10 * a + 3 + b)) return "lstm";
    throw std::runtime_error(file + ": neither a gmm nor an lstm instance");
}

/// The median of at least 3 runs, of more while they take less than a second in all.
double median_seconds(const std::function<void()>& run)
{
    run();
    std::vector<double> seconds;
    const double start = now();
    while (seconds.size() < 3 || (seconds.size() < 101 && now() - start < 1))
        seconds.push_back(seconds_of(run, 1));
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
}

void write_derivative(const std::string& path, const Arguments& a, const Derivative& d)
{
    std::FILE* out = std::fopen(path.c_str(), "w");
    if (!out) throw std::runtime_error(path + ": cannot be written");
    const std::string name = std::filesystem::path(a.file).filename().string();
    std::fprintf(out, "# %s %s: objective, then its gradient in the file's parameter order (wengert)\n",
                 a.kind.c_str(), name.c_str());
    for (double v : d) std::fprintf(out, "%.17g\n", v);
    if (std::fclose(out) != 0) throw std::runtime_error(path + ": cannot be written");
}

template <class Model> void report(const Arguments& a, const Model& model)
{
    const Derivative d = model.derivative();
    if (!a.gradient.empty()) write_derivative(a.gradient, a, d);
    std::printf("objective          %.17g\n", d[0]);
    std::printf("objective seconds  %.6g\n", median_seconds([&] { model.objective(); }));
    std::printf("gradient seconds   %.6g\n", median_seconds([&] { model.derivative(); }));
}

int run(int argc, char** argv)
{
    Arguments a = parse(argc, argv);
    if (a.kind.empty()) a.kind = kind_of(a.file);
    if (a.kind == "gmm")
        report(a, Gmm(read_gmm(a.file)));
    else
        report(a, Lstm(read_lstm(a.file)));
    return 0;
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        return run(argc, argv);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "adbench: %s\n", e.what());
        return 1;
    }
}
