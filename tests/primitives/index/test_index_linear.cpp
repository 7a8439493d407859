/// What a program's own description says of itself, and its derivatives: what is called linear and is not is refused with its name; a
/// transpose is of all that a description does, of what it writes into and of places that are written twice, too.
#include "index/index_reference.hpp"

#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/derivatives.hpp>

using namespace reference;
using D = Tensor<double>;
using I = Tensor<std::int64_t>;

/// A description that a test makes up on the spot, called linear or affine.
template <bool all> struct Called {
    static constexpr std::string_view name = all ? "called_linear" : "called_affine";
    static constexpr bool linear = all, affine = !all;
    std::int64_t how;  ///< the address of a function: parameters are numbers
    void describe(Index& p) const { reinterpret_cast<void (*)(Index&)>(how)(p); }
};

/// A description by an enumeration.
struct Turned {
    enum class Way : std::uint8_t { stay, back };
    static constexpr std::string_view name = "turned";
    static constexpr bool linear = true;
    Way way;
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(0);
        p.write(i);
        Positions from;
        from.push_back(way == Way::stay ? i[0] : i[0] * -1 + (p.shape(0)[0] - 1));
        p.read(0, from);
    }
};

namespace {

Positions list(std::initializer_list<Position> of)
{
    Positions all;
    for (const Position& p : of) all.push_back(p);
    return all;
}
template <bool linear = true, class... X> D called(void (*how)(Index&), const X&... x)
{
    return apply<Called<linear>, double>({reinterpret_cast<std::int64_t>(how)}, Site{}, x...);
}
template <class F> std::string refused(const F& f)
{
    try {
        f();
    } catch (const ShapeError& e) {
        return e.what();
    }
    return "nothing was refused";
}
std::string lied(void (*how)(Index&), const D& x)
{
    return refused([&] { called(how, x); });
}

void padded(Index& p)
{
    const Positions i = p.axes({p.shape(0)[0] + 1});
    p.write(i);
    p.read(0, list({masked(i[0])}), 0.5);
}
void full(Index& p)
{
    const Positions i = p.axes_of(0);
    p.write(list({i[0] + 1}), {p.shape(0)[0] + 2}, 0.5);
    p.read(0, i);
}
template <Combine how> void folded(Index& p)
{
    const Positions i = p.axes_of(0);
    p.fold({}, how);
    p.read(0, i);
}
template <Scan what> void scanned(Index& p)
{
    const Positions i = p.axes_of(0);
    p.scan(i[0], what);
    p.write(i);
    p.read(0, i);
}
void putting(Index& p)
{
    const Positions i = p.axes_of(0);
    p.write(i);
    p.read(0, i);
    p.put(0.5);
}
void put_first(Index& p)
{
    const Positions i = p.axes_of(0);
    p.write(i);
    p.put(0.5);
    p.read(0, i);
}
/// y = x, y[i] = 0.5 for two of them
void put_into(Index& p)
{
    p.write_into(p.axes({2}), 0);
    p.put(0.5);
}
/// y = x, y[i + 1] += x[i]
void carried(Index& p)
{
    const Positions i = p.axes({p.shape(0)[0] - 1});
    p.write_into(list({i[0] + 1}), 0);
    p.adding();
    p.read(0, i);
}
/// y = x, y[i + 1] = x[i]
void pushed(Index& p)
{
    const Positions i = p.axes({p.shape(0)[0] - 1});
    p.write_into(list({i[0] + 1}), 0);
    p.read(0, i);
}
/// y[r[i]] = x[i], the last one stays
void named(Index& p)
{
    const Positions i = p.axes_of(0);
    p.write(list({p.element(1, i)}), {4});
    p.read(0, i);
}
/// y[i / 2] = x[i] as y[i + j] = x[i, j]: places are written twice
void twice(Index& p)
{
    const Positions i = p.axes_of(0);
    p.write(list({i[0] + i[1]}), {p.shape(0)[0] + p.shape(0)[1]});
    p.read(0, i);
}
/// y[4 i + j] = x[i, j], of up to four columns
void spread(Index& p)
{
    const Positions i = p.axes_of(0);
    p.write(list({i[0] * 4 + i[1]}), {p.shape(0)[0] * 4});
    p.read(0, i);
}
/// y[i, i + j] = x[i, j]
void sheared(Index& p)
{
    const Positions i = p.axes_of(0);
    p.write(list({i[0], i[0] + i[1]}), {p.shape(0)[0], p.shape(0)[0] + p.shape(0)[1]});
    p.read(0, i);
}

}  // namespace

TEST_CASE("what is called linear and is not is refused with its name", "[index]")
{
    const D x = {0.3, -0.7, 1.1};
    for (auto* how : {padded, full, putting, folded<Combine::multiply>, folded<Combine::maximum>,
                      folded<Combine::minimum>, scanned<Scan::multiply>, scanned<Scan::maximum>}) {
        const std::string said = lied(how, x);
        INFO(said);
        CHECK(said.find("[called_linear]") == 0);
        CHECK(said.find("linear", 16) != std::string::npos);
    }
    // numbers beside what is linear
    for (auto* how : {padded, full, putting, put_first}) {
        const auto f = [&](const D& t) { return sum(square(called<false>(how, t))); };
        const CheckReport report = check_grads(f, x, {.order = 2});
        INFO(report.message);
        CHECK(report.ok);
    }
    for (auto* how : {folded<Combine::multiply>, folded<Combine::maximum>, scanned<Scan::multiply>}) {
        const std::string said = refused([&] { called<false>(how, x); });
        INFO(said);
        CHECK(said.find("[called_affine]") == 0);
    }
}

TEST_CASE("numbers in place of elements have no derivative", "[index]")
{
    const auto f = [](const D& t) { return called<false>(put_into, t); };
    const D x = {0.3, -0.7, 1.1}, v = {1.0, 2.0, 3.0};
    const auto [y, dot] = jvp(f, x, v);
    CHECK(allclose(y, D{0.5, 0.5, 1.1}, 1e-15));
    CHECK(allclose(dot, D{0.0, 0.0, 3.0}, 1e-15));
    const std::string said = refused([&] { grad([&](const D& t) { return sum(f(t)); })(x); });
    INFO(said);
    CHECK(said.find("[called_affine") == 0);
}

TEST_CASE("a transpose is of all that a description does", "[index]")
{
    const D x = {0.3, -0.7, 1.1, 0.2};
    const auto checked = [](const auto& f, const D& t) {
        const CheckReport report =
            check_grads([&](const D& u) { return sum(sin(f(u)) * f(u)); }, t, {.order = 2});
        INFO(report.message);
        CHECK(report.ok);
    };
    checked([](const D& t) { return called(carried, t); }, x);
    const D m = {{0.3, -0.7, 1.1}, {0.2, 0.9, -0.4}};
    checked([](const D& t) { return called(spread, t); }, m);
    checked([](const D& t) { return called(sheared, t); }, m);
    // what stays of several elements for one place is not for a rule to find
    const I places = {1, 3, 1, 0};
    const auto loss = [](const auto& f) { return [f](const D& t) { return sum(square(f(t))); }; };
    for (const std::string& said :
         {refused([&] { grad(loss([&](const D& t) { return called(named, t, places); }))(x); }),
          refused([&] { grad(loss([&](const D& t) { return called(pushed, t); }))(x); }),
          refused([&] { grad(loss([&](const D& t) { return called(twice, t); }))(m); })}) {
        INFO(said);
        CHECK(said.find("[called_linear") == 0);
        CHECK(said.find("pull") != std::string::npos);
    }
}

TEST_CASE("a parameter may be an enumeration, and tells operations apart")
{
    const auto both = [](const D& x) {
        return apply<Turned, double>({Turned::Way::stay}, Site{}, x) * 2.0 +
               apply<Turned, double>({Turned::Way::back}, Site{}, x);
    };
    const D x = {1.0, 2.0, 4.0};
    CHECK(allclose(both(x), D{6.0, 6.0, 9.0}, 0.0));
    CHECK(allclose(freeze(both)(x), D{6.0, 6.0, 9.0}, 0.0));
    CHECK(check_grads([&](const D& t) { return sum(square(both(t))); }, x, {.order = 2}));
}
