/// Which descriptions are views.
#include "index/index_reference.hpp"

#include <wengert/ops/index/alias.hpp>
#include <wengert/ops/view.hpp>

using namespace reference;

namespace {

/// Reads operand 0 at 2 i, and says nothing else.
struct EverySecond {
    static constexpr std::string_view name = "every_second";
    void describe(Index& p) const
    {
        const Position i = p.axis((p.shape(0)[0] + 1) / 2);
        Positions at;
        at.push_back(i);
        p.write(at);
        at[0] = i * 2;
        p.read(0, at);
    }
};

}  // namespace

TEST_CASE("which programs are views", "[index]")
{
    const auto alias = [](const Shape& of, const Strides& strides, const auto& describe, Alias& out) {
        const Shape* const shapes[] = {&of};
        Index p(shapes, 1);
        describe(p);
        p.check("test", {});
        return alias_of(p, strides, out);
    };
    Alias a;
    CHECK(alias(
        {7}, {1}, [](Index& p) { EverySecond{}.describe(p); }, a));
    CHECK((a.strided && a.offset == 0 && a.strides == Strides{2}));
    CHECK(alias(
        {7}, {-3}, [](Index& p) { Flip{{0}}.describe(p); }, a));
    CHECK((a.strided && a.offset == -18 && a.strides == Strides{3}));
    CHECK(alias(
        {4, 6}, {6, 1},
        [](Index& p) {
            Windows{{3}, {1}}.describe(p);
        },
        a));
    CHECK((a.strided && a.strides == Strides{6, 1, 1}));
    CHECK(alias(
        {4, 6}, {6, 1},
        [](Index& p) {
            Reshape{{24}, {4, 6}}.describe(p);
        },
        a));
    CHECK((!a.strided && a.strides == Strides{1}));
    CHECK(!alias(
        {4, 6}, {1, 4},
        [](Index& p) {
            Reshape{{24}, {4, 6}}.describe(p);
        },
        a));
    CHECK(!alias(
        {4}, {1}, [](Index& p) { Copy{}.describe(p); }, a));
    CHECK(!alias(
        {4}, {1},
        [](Index& p) {
            Roll{{1}, {0}}.describe(p);
        },
        a));
    CHECK(!alias(
        {4}, {1},
        [](Index& p) {
            Repeat{0, 2}.describe(p);
        },
        a));
    CHECK(!alias(
        {4}, {1}, [](Index& p) { Difference{0}.describe(p); }, a));
    CHECK(!alias(
        {4}, {1},
        [](Index& p) {
            CumSum{0, false}.describe(p);
        },
        a));
}
