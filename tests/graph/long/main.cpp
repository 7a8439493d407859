// Runs random programs for as long as wanted, prints each that fails, shortened, and the line that reproduces it.
//
//     random_programs [--hours H | --minutes M | --programs N] [--from SEED] [--seed SEED] [--line "saved program"]
//                     [--keep FILE] [--failures N]
#include "random_programs.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <limits>
#include <random>

namespace rp = random_programs;

namespace {

std::string checked(const rp::Program& p)
{
    try {
        return rp::failure(p);
    } catch (const std::exception& e) {
        return std::string("threw ") + e.what();
    }
}

/// Reports a program that fails; false when it does not.
bool report(const rp::Program& p, const char* keep)
{
    const std::string what = checked(p);
    if (what.empty()) return false;
    const rp::Program small = rp::shrunk(p, checked, 3000);
    std::cout << rp::listing(small) << "  " << checked(small) << "\n  " << rp::saved(small) << "\n\n"
              << std::flush;
    if (keep)
        std::ofstream(keep, std::ios::app) << "# " << checked(small) << '\n' << rp::saved(small) << '\n';
    return true;
}

}  // namespace

int main(int argc, char** argv)
{
    double seconds = std::numeric_limits<double>::infinity();
    std::uint64_t programs = ~std::uint64_t{0}, from = std::random_device{}();
    const char* keep = nullptr;
    int failures = 0, most = 10;
    for (int k = 1; k + 1 < argc; k += 2) {
        const auto is = [&](const char* name) { return std::strcmp(argv[k], name) == 0; };
        const char* value = argv[k + 1];
        if (is("--hours")) seconds = 3600 * std::strtod(value, nullptr);
        if (is("--minutes")) seconds = 60 * std::strtod(value, nullptr);
        if (is("--programs")) programs = std::strtoull(value, nullptr, 10);
        if (is("--from")) from = std::strtoull(value, nullptr, 10);
        if (is("--keep")) keep = value;
        if (is("--failures")) most = std::atoi(value);
        if (is("--seed")) return report(rp::generate(std::strtoull(value, nullptr, 10)), keep);
        if (is("--line")) return report(rp::parse(value), keep);
    }
    const auto start = std::chrono::steady_clock::now();
    const auto passed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    std::uint64_t n = 0;
    for (; n < programs && passed() < seconds && failures < most; ++n) {
        if (n % 500 == 0)
            std::cerr << "seed " << from + n << ", " << n << " programs, " << failures << " failures\n";
        if (std::getenv("RANDOM_PROGRAMS_TRACE")) std::cerr << "seed " << from + n << std::endl;
        if (report(rp::generate(from + n), keep)) {
            std::cout << "  (seed " << from + n << ")\n\n" << std::flush;
            ++failures;
        }
    }
    std::cout << n << " programs from seed " << from << " in " << passed() << " s, " << failures
              << " failures\n";
    return failures != 0;
}
