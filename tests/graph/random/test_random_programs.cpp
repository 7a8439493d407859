// A bounded number of random programs, and those that have failed once. For hours of them: main.cpp.
#include "graph/random/random_programs.hpp"

#include <cstdlib>
#include <fstream>

#include "catch.hpp"

namespace rp = random_programs;

namespace {

void check_program(const rp::Program& p)
{
    const std::string what = rp::failure(p);
    if (what.empty()) return;
    const rp::Program small = rp::shrunk(
        p, [](const rp::Program& q) { return rp::failure(q); }, 200);
    FAIL_CHECK(rp::listing(small) << "  " << rp::failure(small) << "\n  " << rp::saved(small));
}

}  // namespace

TEST_CASE("a program survives being saved and read")
{
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const std::string line = rp::saved(rp::generate(seed));
        CHECK(rp::saved(rp::parse(line)) == line);
    }
    CHECK_THROWS(rp::parse("1 forward 0 1 { nonsense } }"));
    CHECK_THROWS(rp::parse(""));
}

TEST_CASE("programs that have failed once")
{
    std::ifstream file(std::string(WENGERT_TESTS_DIR) + "/graph/random/random_programs.txt");
    REQUIRE(file.good());
    for (std::string line; std::getline(file, line);)
        if (!line.empty() && line[0] != '#') check_program(rp::parse(line));
}

TEST_CASE("random programs")
{
    const char* given = std::getenv("WENGERT_SEED");
    const std::uint64_t first = given ? std::strtoull(given, nullptr, 10) : 20240601;
    for (std::uint64_t n = 0; n < 150; ++n) check_program(rp::generate(first + n));
    SUCCEED("no program failed");
}
