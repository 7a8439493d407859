// Sorting that keeps the order of equals, beside std::stable_sort.
#include "catch.hpp"

#include <wengert/base/stable_sort.hpp>

#include <algorithm>
#include <string>

TEST_CASE("stable_sort: the order of std::stable_sort, elements that move")
{
    for (std::size_t n : {0U, 1U, 2U, 3U, 7U, 64U, 65U, 1000U}) {
        std::vector<std::pair<unsigned, std::string>> got;
        for (unsigned i = 0; i < n; ++i)
            got.emplace_back(i * 2654435761U >> 28, "element " + std::to_string(i));
        auto want = got;
        const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
        std::stable_sort(want.begin(), want.end(), less);
        wengert::detail::stable_sort(got, less);
        CHECK(got == want);
    }
}
