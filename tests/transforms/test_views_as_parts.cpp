// Views in pairs and tuples, as arguments and as results: each is the tensor that it shows.
#include "catch.hpp"

#include <complex>

#include <wengert/complex.hpp>
#include <wengert/wengert.hpp>

using namespace wengert;

namespace {

using D = Tensor<double>;
using C = Tensor<std::complex<double>>;

const auto weighted = [](const auto& u) {
    const auto& [a, b] = u;
    return sum(a * b * b);
};
/// Squares, and their first row as a view.
const auto with_row = [](const D& t) {
    D q = t * t;
    return std::pair(q, view(q, 0));
};
const auto with_row_alone = [](const D& t) {
    const D q = t * t;
    return std::pair(q, D(q(0)));
};

D matrix() { return {{1.0, 2.0}, {3.0, 4.0}}; }

}  // namespace

TEST_CASE("views in tuples are arguments of transforms")
{
    D x = matrix();
    const D a = x(0), b = x(1);
    const auto views = [&] { return std::tuple(view(x, 0), x(1)); };
    const std::tuple<D, D> plain(a, b);
    CHECK(allclose(std::get<0>(grad(weighted)(views())), square(b), 1e-14));
    CHECK(allclose(std::get<1>(grad(weighted)(views())), 2.0 * a * b, 1e-14));
    CHECK(allclose(jvp(weighted, views(), views()).second, jvp(weighted, plain, plain).second, 1e-14));
    CHECK(allclose(std::get<0>(vjp(weighted, views()).second(D(1.0))), square(b), 1e-14));
    CHECK(allclose(vmap([](const auto& u) { return D(std::get<0>(u) * std::get<1>(u)); })(views()), a * b,
                   1e-14));
    CHECK(allclose(std::get<0>(grad(checkpoint(weighted))(views())), square(b), 1e-14));
    CHECK(allclose(std::get<0>(freeze(grad(weighted))(views())), square(b), 1e-14));
    const auto nested = [](const auto& u) { return weighted(u.second); };
    CHECK(allclose(std::get<0>(grad(nested)(std::pair(1, views())).second), square(b), 1e-14));
    const auto swapped = [](const std::tuple<D, D>& s) {
        D q = std::get<0>(s) * 1.0;
        return std::tuple(std::get<1>(s) + 1.0, view(q, ellipsis()));
    };
    const auto looped =
        scan([&](const std::tuple<D, D>& s, const D& r) { return std::pair(swapped(s), sum(r)); }, plain, x);
    CHECK(allclose(std::get<0>(looped.first), a + 1.0, 1e-14));
}

TEST_CASE("views in pairs are results of functions given to transforms, loops and checkpoints")
{
    const D x = matrix();
    const auto check = [&](const auto& use) {
        const auto by_view = [&](const D& t) { return use(with_row, t); };
        const auto alone = [&](const D& t) { return use(with_row_alone, t); };
        CHECK(allclose(by_view(x), alone(x), 1e-14));
        CHECK(allclose(grad([&](const D& t) { return sum(sin(by_view(t))); })(x),
                       grad([&](const D& t) { return sum(sin(alone(t))); })(x), 1e-14));
        CHECK(allclose(freeze(grad([&](const D& t) { return sum(sin(by_view(t))); }))(x),
                       grad([&](const D& t) { return sum(sin(alone(t))); })(x), 1e-14));
    };
    check([](const auto& f, const D& t) { return checkpoint(f)(t).second; });
    check([](const auto& f, const D& t) { return freeze(f)(t).second; });
    check([](const auto& f, const D& t) { return vmap(f)(t).second; });
    check([](const auto& f, const D& t) {
        return scan([&](const D& s, const D& r) { return f(s * r); }, t(0), t).second;
    });
    check([](const auto& f, const D& t) { return jvp(f, t, sin(t)).second.second; });
    check([](const auto& f, const D& t) {
        const auto [y, pull] = vjp(f, t);
        return pull(std::pair(y.first, y.second));
    });
    check([](const auto& f, const D& t) {
        return cond(
                   sum(t) > 0.0, f, [&](const D& u) { return f(u + 1.0); }, t)
            .second;
    });
    check([](const auto& f, const D& t) {
        return while_loop([](const std::pair<D, D>& s) { return sum(s.first) < 1e3; },
                          [&](const std::pair<D, D>& s) { return f(s.first); }, std::pair(t, D(t(0))))
            .second;
    });
    check([](const auto& f, const D& t) {
        return checkpoint_loop([&](const std::pair<D, D>& s) { return f(s.first); }, std::pair(t, D(t(0))),
                               {.steps = 3, .snapshots = 2})
            .second;
    });
}

TEST_CASE("a function of vmap returns a view")
{
    const D x = matrix();
    const auto first = [](const D& r) {
        D n = r * r;
        return view(n, 0);
    };
    CHECK(allclose(vmap(first)(x), D{1.0, 9.0}, 1e-14));
    CHECK(allclose(grad([&](const D& t) { return sum(vmap(first)(t)); })(x), D({{2.0, 0.0}, {6.0, 0.0}}),
                   1e-14));
}

TEST_CASE("complex views in tuples and in results")
{
    using namespace std::complex_literals;
    C z = {{1.0 + 2.0i, 0.5 - 1.0i}, {2.0i, 3.0 + 0.0i}};
    const auto size = [](const auto& u) { return sum(square(abs(u.first * u.second))); };
    const auto plain = std::pair(C(z(0)), C(z(1)));
    const auto by_views = grad(size)(std::pair(view(z, 0), view(z, 1))), wanted = grad(size)(plain);
    CHECK(allclose(real(by_views.first), real(wanted.first), 1e-14));
    CHECK(allclose(imag(by_views.second), imag(wanted.second), 1e-14));
    const auto rows = [](const C& t) {
        C q = t * t;
        return std::pair(q, view(q, 0));
    };
    const auto kept = checkpoint(rows)(z).second;
    CHECK(allclose(real(kept), real(C(z(0) * z(0))), 1e-14));
    const auto steps = scan([&](const C& s, const C& u) { return rows(s * u); }, C(z(0)), z).second;
    CHECK(allclose(real(C(steps(0))), real(C(rows(z(0) * z(0)).second)), 1e-14));
}

TEST_CASE("a step of a checkpointed loop, a function with a rule of its own and the rule return views")
{
    const D x = matrix();
    const auto stepped = [&](const auto& part) {
        return [&, part](const D& t) {
            const auto step = [&](const D& s) {
                D q = sin(s);
                return std::pair(q, part(q));
            };
            return sum(checkpoint_loop(step, t, {.steps = 4, .snapshots = 2}).second);
        };
    };
    const auto by_view = stepped([](D& q) { return view(q, 0); });
    const auto alone = stepped([](const D& q) { return D(q(0)); });
    CHECK(allclose(grad(by_view)(x), grad(alone)(x), 1e-14));

    const auto first = [](const D& t) {
        D q = t * t;
        return view(q, ellipsis());
    };
    const auto pull = [](const D& g, const D&, const D& t) {
        D r = 2.0 * t * g;
        return view(r, ellipsis());
    };
    const auto push = [](const D& d, const D&, const D& t) { return 2.0 * t * d; };
    CHECK(allclose(grad([&](const D& t) { return sum(custom_vjp(first, pull)(t)); })(x), 2.0 * x, 0.0));
    CHECK(allclose(jvp(custom_jvp(first, push), x, x).second, 2.0 * x * x, 0.0));
}
