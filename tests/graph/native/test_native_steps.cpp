// Loops that are no text as a whole run step by step, and explain() says what of a step is not compiled, and why.
#include "catch.hpp"
#include "environment.hpp"

#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include <wengert/base/compiler/shared_object.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/wengert.hpp>

using namespace wengert;

namespace {

using D = Tensor<double>;

/// A step sorts, which no text does.
D sorted_steps(const D& x)
{
    const auto step = [](const D& s, const D& u) {
        return std::pair(sort(sin(s) * u + cos(s)), std::tuple<>());
    };
    return scan(step, x, D{0.1, 0.3, 0.5, 0.7, 0.9}).first;
}

}  // namespace

TEST_CASE("a loop whose steps cannot be compiled says so, and has eager's bits", "[native]")
{
    if (detail::compiler_now().command.empty()) return;
    const D x{0.3, -0.2, 1.5, 0.7};
    const detail::TemporaryFolder folder;  // a cache of its own, and a compiler that works once
    const std::string script = folder.path() + "/breaks", mark = folder.path() + "/mark";
    std::string works;
    for (const std::string& word : detail::compiler_now().command) works += word + " ";
    std::ofstream(script) << "#!/bin/sh\n[ \"$1\" = --version ] && exec " << works << "--version\nif [ -e "
                          << mark << " ]; then echo it broke; exit 1; fi\ntouch " << mark << "\nexec "
                          << works << "\"$@\"\n";
    REQUIRE(::chmod(script.c_str(), 0700) == 0);
    auto failing = freeze(sorted_steps, {.backend = native});
    const auto [first, second] = [&] {
        const Environment cache("XDG_CACHE_HOME", folder.path().c_str()), compiler("CXX", script.c_str());
        const D once = failing(x);
        return std::pair(once, failing(x));
    }();
    std::filesystem::remove_all(folder.path());
    INFO(failing.explain());
    CHECK(failing.stats().uncompiled_loops == 1);
    CHECK_THAT(failing.explain(), contains("of the steps of a loop: ") && contains("it broke"));
    CHECK(allclose(second, sorted_steps(x), 0.0));
    CHECK(allclose(first, second, 0.0));

    auto good = freeze(sorted_steps, {.backend = native});
    good(x);
    const D third = good(x);
    INFO(good.explain());
    CHECK(good.stats().uncompiled_loops == 1);
    CHECK(good.explain().find("of the steps of a loop") == std::string::npos);
    CHECK(allclose(third, second, 0.0));
}
