// Branches, bodies, tests, captured values and constants that are equal, or one object: on every backend what the plain loops and
// branches give, in values and in derivatives of both modes. Nothing is known by its address where that may be another's.
#include "graph/control/equal_parts.hpp"

#include <wengert/graph/native/native.hpp>

namespace {

using Derivative = std::pair<const char*, std::function<EqualParts(const EqualParts&)>>;

D scalar(const EqualParts& f, const D& x) { return sum(f(x) * D{1.0, -2.0, 0.5}); }

/// f, its gradient, its tangents, the gradient's tangents, both ways.
std::vector<Derivative> derivatives()
{
    const D v{0.5, -1.0, 2.0};
    return {{"value", [](const EqualParts& f) { return f; }},
            {"grad",
             [](const EqualParts& f) {
                 return [f](const D& x) { return grad([&](const D& t) { return scalar(f, t); })(x); };
             }},
            {"jvp", [v](const EqualParts& f) { return [f, v](const D& x) { return jvp(f, x, v).second; }; }},
            {"hvp",
             [v](const EqualParts& f) {
                 return [f, v](const D& x) { return hvp([&](const D& t) { return scalar(f, t); })(x, v); };
             }},
            {"jvp of grad",
             [v](const EqualParts& f) {
                 return [f, v](const D& x) {
                     return jvp(grad([&](const D& t) { return scalar(f, t); }), x, v).second;
                 };
             }},
            {"grad of grad", [v](const EqualParts& f) {
                 return [f, v](const D& x) {
                     const auto slope = grad([&](const D& t) { return scalar(f, t); });
                     return grad([&](const D& t) { return sum(slope(t) * v); })(x);
                 };
             }}};
}

const std::vector<D>& arguments()
{
    static const std::vector<D> all{{1.0, 2.0, -0.5}, {-1.0, 0.25, -2.0}, {0.3, -0.2, 0.4}, {-0.4, 0.1, 0.2}};
    return all;
}

void on_backends(const std::vector<EqualCase>& cases, const std::vector<FreezeOptions>& all)
{
    for (const EqualCase& c : cases)
        for (const auto& [name, made] : derivatives()) {
            INFO(c.name << ", " << name);
            const EqualParts f = made(c.f);
            for (const FreezeOptions& o : all) {
                auto frozen = freeze(f, o);
                for (int twice = 0; twice < 2; ++twice)
                    for (const D& x : arguments()) CHECK(allclose(frozen(x), f(x), 1e-12));
                CHECK(frozen.stats().traces == 1);  // whichever branch is taken
            }
        }
}

/// All of them in one graph of native code, which is compiled once for each derivative.
void in_one_graph(const std::vector<EqualCase>& cases)
{
    for (const auto& derivative : derivatives()) {
        INFO(derivative.first);
        std::vector<EqualParts> all;
        for (const EqualCase& c : cases) all.push_back(derivative.second(c.f));
        const auto f = [&](const D& x) {
            std::vector<D> out;
            for (const EqualParts& one : all) out.push_back(one(x));
            return out;
        };
        auto frozen = freeze(f, {.backend = native, .check = false});
        for (int twice = 0; twice < 2; ++twice)
            for (const D& x : arguments()) {
                const std::vector<D> got = frozen(x), wanted = f(x);
                for (std::size_t k = 0; k < wanted.size(); ++k) {
                    INFO(cases[k].name);
                    CHECK(allclose(got[k], wanted[k], 1e-12));
                }
            }
    }
}

/// The frozen function is what is differentiated.
void from_outside(const std::vector<EqualCase>& cases)
{
    for (const EqualCase& c : cases)
        for (const auto& [name, made] : derivatives()) {
            INFO(c.name << ", " << name);
            const EqualParts f = made(c.f), g = made(freeze(c.f));
            for (const D& x : arguments()) CHECK(allclose(g(x), f(x), 1e-12));
        }
}

std::vector<FreezeOptions> interpreted()
{
    return {{.backend = interpret}, {.backend = tile}, {.threads = 3}, {.optimize = false}};
}

}  // namespace

TEST_CASE("branches that are equal, or whose derivatives are")
{
    on_backends(equal_branches(), interpreted());
}

TEST_CASE("loops whose bodies are equal") { on_backends(equal_bodies(), interpreted()); }

TEST_CASE("rules and keys in equal bodies") { on_backends(equal_rules(), interpreted()); }

TEST_CASE("native code of branches that are equal, or whose derivatives are")
{
    in_one_graph(equal_branches());
}

TEST_CASE("native code of loops whose bodies are equal") { in_one_graph(equal_bodies()); }

TEST_CASE("derivatives of frozen functions with equal branches and bodies")
{
    from_outside(equal_branches());
    from_outside(equal_bodies());
    from_outside(equal_rules());
}

TEST_CASE("calls of the host in equal bodies are those of each")
{
    std::vector<int> log;
    auto f = freeze([&](const D& x) {
        const auto run = [&](int number) {
            return scan(
                       [&log, number](const D& s) {
                           host_callback([&log, number](const D&) { log.push_back(number); }, s);
                           return std::pair(0.5 * s, std::tuple());
                       },
                       x, 2)
                .first;
        };
        const auto branch = [&](int number) {
            return [&log, number](const D& p) {
                host_callback([&log, number](const D&) { log.push_back(number); }, p);
                return 2.0 * p;
            };
        };
        const D a = run(1), b = run(2);
        return a + b + cond(sum(x) > 0.0, branch(3), branch(4), x);
    });
    for (int k = 0; k < 3; ++k)
        for (const double sign : {1.0, -1.0}) {
            log.clear();
            f(sign * D{1.0, 2.0});
            CHECK(log == std::vector<int>{1, 1, 2, 2, sign > 0 ? 3 : 4});
        }
}

TEST_CASE("live tensors and arguments that are one tensor")
{
    D a{1.0, 2.0}, b = a;
    auto f = freeze([&](const D& x, const D& y) {
        a += x;
        b = b * 2.0;
        return std::tuple(x, y, a + b);
    });
    f.live(a, b);
    D c{1.0, 2.0}, d = c;
    for (int k = 0; k < 4; ++k) {
        const D x = double(k) + D{0.5, 0.25};
        const auto [p, q, r] = f(x, x);
        c = c + x;
        d = d * 2.0;
        CHECK(allclose(p, x, 0.0));
        CHECK(allclose(q, x, 0.0));
        CHECK(allclose(r, c + d, 0.0));
        CHECK(allclose(a, c, 0.0));
        CHECK(allclose(b, d, 0.0));
        if (k == 1) a = b, c = d;
    }
}
