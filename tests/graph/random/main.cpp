// Runs random programs for as long as wanted, prints each that fails, shortened, and the line that reproduces it.
//
//     random_programs [--count N | --hours H | --minutes M] [--seed S] [--order 1|2] [--without WORD,WORD…]
//                     [--executors tile,threads,interpreter,native,emitted] [--together N] [--jobs N]
//                     [--line "saved program"] [--keep FILE] [--failures N]
#include "graph/random/random_programs.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <random>
#include <sstream>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

namespace rp = random_programs;

namespace {

struct Options {
    double seconds = std::numeric_limits<double>::infinity();
    std::uint64_t count = ~std::uint64_t{0}, seed = std::random_device{}();
    rp::Wanted wanted;
    unsigned executors = rp::without_compiler;
    std::size_t together = 0;  ///< programs whose text is compiled as one
    std::uint64_t jobs = 1;
    std::string keep, line;
    int failures = 10;

    bool compiles() const { return executors & (rp::native_code | rp::emitted_text); }
};

std::vector<std::string> list_of(const std::string& text)
{
    std::vector<std::string> list;
    std::istringstream in(text);
    for (std::string word; std::getline(in, word, ',');) list.push_back(word);
    return list;
}

unsigned executors_of(const std::string& text)
{
    static constexpr const char* names[] = {"interpreter", "tile", "threads", "native", "emitted"};
    unsigned mask = 0;
    for (const std::string& word : list_of(text)) {
        const auto at = std::find(std::begin(names), std::end(names), word);
        if (at == std::end(names)) throw std::runtime_error("unknown executor " + word);
        mask |= 1U << (at - std::begin(names));
    }
    return mask;
}

Options read(int argc, char** argv)
{
    Options o;
    for (int k = 1; k < argc; k += 2) {
        const std::string name = argv[k];
        if (k + 1 == argc) throw std::runtime_error(name + " has no value");
        const char* const value = argv[k + 1];
        const auto number = [&] { return std::strtoull(value, nullptr, 10); };
        if (name == "--hours")
            o.seconds = 3600 * std::strtod(value, nullptr);
        else if (name == "--minutes")
            o.seconds = 60 * std::strtod(value, nullptr);
        else if (name == "--count")
            o.count = number();
        else if (name == "--seed")
            o.seed = number();
        else if (name == "--order")
            o.wanted.order = std::atoi(value);
        else if (name == "--without")
            o.wanted.without = list_of(value);
        else if (name == "--executors")
            o.executors = executors_of(value);
        else if (name == "--together")
            o.together = number();
        else if (name == "--jobs")
            o.jobs = number();
        else if (name == "--keep")
            o.keep = value;
        else if (name == "--failures")
            o.failures = std::atoi(value);
        else if (name == "--line")
            o.line = value;
        else
            throw std::runtime_error("unknown option " + name);
    }
    if (o.executors & rp::emitted_text) o.wanted.without.push_back("told");  // no host in the text
    if (!o.together) o.together = o.compiles() ? 300 : 1;
    return o;
}

/// Prints a program that fails, as small as it can be made.
void report(const rp::Program& p, const std::string& what, const Options& o)
{
    const auto check = [&](const rp::Program& q) { return rp::failure(q, o.executors); };
    const rp::Program small = rp::shrunk(p, check, o.compiles() ? 80 : 3000);
    const std::string said = check(small);
    std::cout << rp::listing(small) << "  " << (said.empty() ? what + " (beside other programs alone)" : said)
              << "\n  " << rp::saved(small) << '\n';
    if (!o.keep.empty())
        std::ofstream(o.keep, std::ios::app) << "# " << said << '\n' << rp::saved(small) << '\n';
}

/// Programs seed + job, seed + job + jobs, …
int run(const Options& o, std::uint64_t job)
{
    const auto start = std::chrono::steady_clock::now();
    const auto passed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    int failures = 0;
    std::uint64_t done = 0;
    double told = 0;
    for (std::uint64_t n = job; n < o.count && passed() < o.seconds && failures < o.failures;) {
        std::vector<rp::Program> programs;
        std::vector<std::uint64_t> seeds;
        for (; n < o.count && programs.size() < o.together; n += o.jobs) {
            seeds.push_back(o.seed + n);
            programs.push_back(rp::generate(o.seed + n, o.wanted));
        }
        if (std::getenv("RANDOM_PROGRAMS_TRACE")) std::cerr << "seed " << seeds.front() << std::endl;
        const std::vector<std::string> found = rp::failures(programs, o.executors);
        done += programs.size();
        for (std::size_t k = 0; k < found.size() && failures < o.failures; ++k) {
            if (found[k].empty()) continue;
            report(programs[k], found[k], o);
            std::cout << "  (seed " << seeds[k] << ")\n\n" << std::flush;
            ++failures;
        }
        if (passed() < told + 10) continue;
        told = passed();
        std::cerr << done << " programs in " << static_cast<long>(told) << " s, at seed " << seeds.back()
                  << ", " << failures << " failures\n";
    }
    const rp::Counts& c = rp::counts();
    std::cout << done << " programs from seed " << o.seed + job << " in " << passed() << " s, " << c.calls
              << " calls, " << c.graphs << " graphs, " << c.native << " native, " << c.emitted << " emitted ("
              << c.untold << " untold), " << c.objects << " objects, " << failures << " failures\n";
    return failures != 0;
}

int run_jobs(const Options& o)
{
    if (o.jobs < 2) return run(o, 0);
    std::vector<pid_t> children;
    for (std::uint64_t job = 0; job < o.jobs; ++job)
        if (children.push_back(::fork()); children.back() == 0) {
            const int status = run(o, job);
            std::cout.flush();
            ::_exit(status);
        }
    int failed = 0;
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        failed |= status != 0;
    }
    return failed;
}

}  // namespace

int main(int argc, char** argv)
try {
    const Options o = read(argc, argv);
    if (!o.line.empty()) {
        const rp::Program p = rp::parse(o.line);
        const std::string what = rp::failure(p, o.executors);
        if (!what.empty()) report(p, what, o);
        return !what.empty();
    }
    if (!o.compiles()) return run_jobs(o);
    std::string cache = (std::filesystem::temp_directory_path() / "random-programs-XXXXXX").string();
    if (!::mkdtemp(cache.data())) throw std::runtime_error("there is no folder for what is compiled");
    ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);  // objects of programs that nobody asks for again
    const int status = run_jobs(o);
    std::filesystem::remove_all(cache);
    return status;
} catch (const std::exception& e) {
    std::cerr << "random_programs: " << e.what() << '\n';
    return 2;
}
