// What is made in a function given to checkpoint, or in a loop's step, by transforms, and kept; and kept values that transforms take.
#include "catch.hpp"

#include <functional>
#include <memory>

#include <wengert/wengert.hpp>

using namespace wengert;

namespace {

using D = Tensor<double>;
using Use = std::function<D(const D&)>;

const D x = {0.3, -0.7, 1.1}, c = {0.5, 2.0, -1.5};
D energy(const D& t) { return sum(square(sin(t))); }
D slopes(const D& t) { return sin(t); }

/// A checkpoint of u · 1, which keeps what `make` makes of u.
auto keeping(const std::shared_ptr<D>& kept, const Use& make = slopes)
{
    return checkpoint([=](const D& u) {
        *kept = make(u);
        return u * 1.0;
    });
}

}  // namespace

TEST_CASE("derivatives that a checkpoint's function or a loop's step keeps are refused, those that are "
          "constant are not")
{
    const auto in_checkpoint = [&](const Use& make, const D& t) {
        const auto kept = std::make_shared<D>();
        const D y = keeping(kept, make)(t);
        return sum(y * *kept);
    };
    const auto in_loop = [&](const Use& make, const D& t) {
        const auto kept = std::make_shared<D>();
        const auto step = [=](const D& u, std::int64_t k) {
            if (k == 1) *kept = make(u);
            return sin(u) * u;
        };
        return sum(checkpoint_loop(step, t, {.steps = 3, .snapshots = 2}) * *kept);
    };
    const auto refused = [&](const char* what, const Use& make) {
        INFO(what);
        CHECK_THROWS_WITH(grad([&](const D& t) { return in_checkpoint(make, t); })(x),
                          contains("inside of a function given to checkpoint"));
        CHECK_THROWS_AS(grad([&](const D& t) { return in_loop(make, t); })(x), TapeError);
    };
    refused("grad", [&](const D& u) { return grad(energy)(u); });
    refused("value_and_grad", [&](const D& u) { return value_and_grad(energy)(u).second; });
    refused("grad of what captures it",
            [&](const D& u) { return grad([&](const D& t) { return sum(t * u * u); })(c); });
    refused("grad of a product that captures it",
            [&](const D& u) { return grad([&](const D& t) { return dot(t, u); })(c); });
    refused("vjp", [&](const D& u) { return vjp(slopes, u).second(c); });
    refused("vjp, its cotangent", [&](const D& u) { return vjp(slopes, c).second(u); });
    refused("jvp", [&](const D& u) { return jvp(slopes, u, c).second; });
    refused("jvp, its tangent", [&](const D& u) { return jvp(slopes, c, u).second; });
    refused("hvp", [&](const D& u) { return hvp(energy)(u, c); });
    refused("jacobian", [&](const D& u) { return sum(jacobian(slopes)(u), 0); });
    refused("hessian", [&](const D& u) { return sum(hessian(energy)(u), 0); });
    refused("vmap of grad", [&](const D& u) { return vmap(grad([](const D& t) { return sin(t); }))(u); });
    refused("frozen grad", [&](const D& u) { return freeze(grad(energy))(u); });
    refused("grad of a checkpoint", [&](const D& u) { return grad(checkpoint(energy))(u); });

    const auto constant = [&](const char* what, const Use& make, const D& value) {
        INFO(what);
        const D by_checkpoint = grad([&](const D& t) { return in_checkpoint(make, t); })(x);
        const D by_loop = grad([&](const D& t) { return in_loop(make, t); })(x);
        const Use plainly = [&](const D&) { return value; };
        CHECK(allclose(by_checkpoint, grad([&](const D& t) { return in_checkpoint(plainly, t); })(x), 1e-14));
        CHECK(allclose(by_loop, grad([&](const D& t) { return in_loop(plainly, t); })(x), 1e-14));
    };
    const auto linear = [&](const D& t) { return sum(t * c); };
    constant(
        "grad of a linear function", [&](const D& u) { return grad(linear)(u); }, c);
    constant(
        "grad elsewhere", [&](const D&) { return grad(energy)(c); }, grad(energy)(c));
    constant(
        "grad of a choice",
        [](const D& u) { return grad([](const D& t) { return sum(where(t > 0.0, t, -t)); })(square(u)); },
        ones<double>({3}));
}

TEST_CASE("a kept value is refused where a transform, a loop, a graph or a solver takes it for a constant")
{
    const auto refused = [&](const char* what, const Use& use) {
        INFO(what);
        const auto loss = [&](const D& t) {
            const auto kept = std::make_shared<D>();
            const D y = keeping(kept)(t);
            return sum(y * use(*kept));
        };
        CHECK_THROWS_WITH(grad(loss)(x), contains("inside of a function given to checkpoint"));
        D v = x;
        v.requires_grad();
        CHECK_THROWS_AS(loss(v), TapeError);
    };
    refused("grad", [&](const D& k) { return grad(energy)(k); });
    refused("value_and_grad", [&](const D& k) { return value_and_grad(energy)(k).first; });
    refused("vjp", [&](const D& k) { return vjp(slopes, k).second(c); });
    refused("vjp, its cotangent", [&](const D& k) { return vjp(slopes, c).second(k); });
    refused("jvp", [&](const D& k) { return jvp(slopes, k, c).second; });
    refused("jvp, its tangent", [&](const D& k) { return jvp(slopes, c, k).second; });
    refused("hvp, its direction", [&](const D& k) { return hvp(energy)(c, k); });
    refused("hessian", [&](const D& k) { return sum(hessian(energy)(k), 0); });
    refused("vmap", [&](const D& k) { return vmap(slopes)(k); });
    refused("checkpoint", [&](const D& k) { return checkpoint(slopes)(k); });
    refused("checkpoint_loop",
            [&](const D& k) { return checkpoint_loop(slopes, k, {.steps = 3, .snapshots = 2}); });
    refused("scan", [&](const D& k) {
        return scan([](const D& s, const D& r) { return std::pair(s * r, s); }, D(1.0), k).second;
    });
    const auto frozen = freeze(slopes);
    const auto of_two = freeze([](const D& a, const D& b) { return a * b; });
    for (int call = 0; call < 3; ++call) {
        refused("freeze", [&](const D& k) { return frozen(k); });
        refused("freeze, a view", [&](const D& k) { return sum(frozen(broadcast_to(k, {2, 3})), 0); });
        refused("freeze of two", [&](const D& k) { return of_two(c, k); });
    }

    // Nothing has been recorded that it could belong to.
    std::vector<D> kept;
    const auto keeps = checkpoint([&](const D& t) {
        kept.push_back(sin(t));
        return kept.back() * t;
    });
    static_cast<void>(grad([&](const D& t) { return sum(keeps(t)); })(x));
    const D first = kept.front();
    CHECK(allclose(grad(energy)(first), grad(energy)(sin(x)), 1e-14));
    CHECK(allclose(jvp(slopes, c, first).second, jvp(slopes, c, sin(x)).second, 1e-14));
    CHECK(allclose(hessian(energy)(first), hessian(energy)(sin(x)), 1e-14));
    CHECK(allclose(checkpoint(slopes)(first), sin(sin(x)), 1e-14));
    CHECK(allclose(frozen(first), sin(sin(x)), 1e-14));
}

TEST_CASE("a kept value that is a function's result, or goes through a second checkpoint, is refused")
{
    const auto kept = std::make_shared<D>();
    const auto keeps = keeping(kept);
    const auto alone = [&](const D& t) {
        static_cast<void>(keeps(t));
        return sum(*kept);
    };
    const auto beside = [&](const D& t) {
        const D a = keeps(t);
        return std::pair(a, *kept);
    };
    const auto vector = [&](const D& t) {
        static_cast<void>(keeps(t));
        return *kept;
    };
    CHECK_THROWS_WITH(grad(alone)(x), contains("[grad]") && contains("test_unrecorded_transforms.cpp"));
    CHECK_THROWS_AS(vjp(beside, x), TapeError);
    CHECK_THROWS_AS(jacobian(vector)(x), TapeError);
    const auto handed_on = [&](const auto& second) {
        return [&, second](const D& t) {
            const D a = keeps(t);
            return sum(a) + sum(second(a));
        };
    };
    const auto by_result = checkpoint([kept](const D&) { return *kept; });
    const auto by_part = checkpoint([kept](const D& u) { return std::pair(u * u, *kept); });
    CHECK_THROWS_WITH(grad(handed_on(by_result))(x), contains("[checkpoint]"));
    CHECK_THROWS_AS(grad(handed_on([&](const D& u) { return by_part(u).second; }))(x), TapeError);
    const auto constant = checkpoint([](const D&) { return c; });
    CHECK(allclose(grad(handed_on(constant))(x), ones<double>({3}), 0.0));
    const auto argument = checkpoint([](const D& u) { return u; });
    CHECK(allclose(grad(handed_on(argument))(x), full<double>({3}, 2.0), 0.0));
    const auto of_gradient = checkpoint([](const D& u) {
        const auto [y, g] = value_and_grad([](const D& t) { return t(0); })(u);
        return y * g;
    });
    CHECK(allclose(grad(handed_on(of_gradient))(x), ones<double>({3}) + D{1.0, 0.0, 0.0}, 0.0));
}

TEST_CASE("an inner checkpoint's result that is kept in a gradient within another checkpoint is refused")
{
    const auto kept = std::make_shared<D>();
    const auto f = [kept](const D& u) {
        return grad([kept, u](const D& z) {
            const D y = checkpoint([u](const D& c) { return c * sin(u); })(ones<double>({3}));
            *kept = y;
            return sum(z * z * y);
        })(u);
    };
    const auto with = [&](const auto& g) { return [&, g](const D& t) { return sum(g(t)); }; };
    CHECK(allclose(grad(with(checkpoint(f)))(x), grad(with(f))(x), 1e-14));
    const auto misuse = [&](const D& t) {
        const D a = checkpoint(f)(t);
        return sum(a) + sum(*kept);
    };
    CHECK_THROWS_AS(grad(misuse)(x), TapeError);
}
