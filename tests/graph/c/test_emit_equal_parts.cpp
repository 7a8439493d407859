// Emitted headers of loops and branches with equal parts: both branches are written, and each loop is its own.
#include "graph/c/emit_programs.hpp"

#include "graph/control/equal_parts.hpp"

namespace {

/// The loss, its gradient, and the tangents of f at x.
Program all_of_it(const EqualCase& c, const D& x)
{
    return program<double>(c.name, {x}, [f = c.f](const std::vector<D>& w, const auto& out) {
        const auto [loss, slope] = value_and_grad([&](const D& t) { return sum(f(t) * f(t)); })(w[0]);
        const auto [y, dot] = jvp(f, w[0], D{0.5, -1.0, 2.0});
        out(loss), out(slope), out(y), out(dot);
    });
}

}  // namespace

TEST_CASE("headers of branches and bodies that are equal", "[emit]")
{
    std::vector<Program> list, other;  // the same graphs where they take the other branch
    for (const auto& cases : {equal_branches(), equal_bodies()})
        for (const EqualCase& c : cases) {
            if (std::string(c.name).find("guards") != std::string::npos) continue;
            const D x{1.0, 2.0, -0.5};
            list.push_back(all_of_it(c, x));
            other.push_back(all_of_it(c, -x));
        }
    const Compiled all(list, true);
    if (!all.object) return;
    for (std::size_t k = 0; k < list.size(); ++k) {
        check(list[k], *all.object);
        list[k].inputs = other[k].inputs, list[k].expected = other[k].expected;
        check(list[k], *all.object);
    }
}
