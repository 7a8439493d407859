// Arena planning: buffers that are alive together never meet, and little is lost to gaps.
#include <random>

#include "catch.hpp"
#include "wengert/graph/plan/arena.hpp"

using namespace wengert::tiling;

namespace {

void check_placed(const std::vector<Buffer>& buffers, const ArenaSize& size)
{
    REQUIRE(size.bytes >= size.lower_bound);
    for (std::size_t a = 0; a < buffers.size(); ++a) {
        const Buffer& x = buffers[a];
        REQUIRE(x.offset % Buffer::alignment == 0);
        REQUIRE(x.offset + x.bytes <= size.bytes);
        for (std::size_t b = 0; b < a; ++b) {
            const Buffer& y = buffers[b];
            const bool together = x.first <= y.last && y.first <= x.last && x.bytes > 0 && y.bytes > 0;
            const bool apart = x.offset + x.bytes <= y.offset || y.offset + y.bytes <= x.offset;
            REQUIRE((!together || apart));
        }
    }
}

/// The most alive at one step, counted step by step.
std::size_t most_alive(const std::vector<Buffer>& buffers, std::uint32_t steps)
{
    std::size_t most = 0;
    for (std::uint32_t s = 0; s < steps; ++s) {
        std::size_t now = 0;
        for (const Buffer& b : buffers)
            if (b.first <= s && s <= b.last) now += b.bytes;
        most = std::max(most, now);
    }
    return most;
}

}  // namespace

TEST_CASE("random lifetimes and sizes")
{
    std::mt19937 random(7);
    for (int round = 0; round < 30; ++round) {
        const auto steps = static_cast<std::uint32_t>(1 + random() % 60);
        std::vector<Buffer> buffers(1 + random() % 80);
        for (Buffer& b : buffers) {
            b.first = static_cast<std::uint32_t>(random() % steps);
            b.last =
                std::min(steps - 1, b.first + static_cast<std::uint32_t>(random() % (round % 2 ? 4 : 40)));
            b.bytes = aligned(random() % (round % 3 ? 5000 : 200));
        }
        const ArenaSize size = place_buffers(buffers, steps);
        REQUIRE(size.lower_bound == most_alive(buffers, steps));
        check_placed(buffers, size);
    }
}

TEST_CASE("a forward and a backward sweep need no more than what is alive")
{
    // what the k-th layer keeps lives until its turn comes on the way back; each layer has a passing value, too
    constexpr std::uint32_t layers = 200;
    std::vector<Buffer> buffers;
    for (std::uint32_t k = 0; k < layers; ++k) {
        const std::uint32_t back = 2 * layers - 1 - k;
        buffers.push_back({aligned(1000 + 640 * (k % 7)), k, back, 0});
        buffers.push_back({aligned(4000 - 192 * (k % 5)), k, k + 1, 0});
        buffers.push_back({aligned(3000 + 320 * (k % 3)), back, back + 1, 0});
    }
    const ArenaSize size = place_buffers(buffers, 2 * layers + 1);
    check_placed(buffers, size);
    REQUIRE(static_cast<double>(size.bytes) <= 1.15 * static_cast<double>(size.lower_bound));
}

TEST_CASE("nothing to place")
{
    std::vector<Buffer> none;
    REQUIRE(place_buffers(none, 1).bytes == 0);
    std::vector<Buffer> empty(3);
    REQUIRE(place_buffers(empty, 4).bytes == 0);
}
