// Variables that a checkpoint's function or a loop's step captures, and that no operation takes: a pullback or a graph does.
#include "catch.hpp"

#include <wengert/wengert.hpp>

using namespace wengert;

namespace {

using D = Tensor<double>;

/// f with and without checkpoints, in first and second order, eager and frozen. It captures p alone: its argument is a constant.
template <class F> void check(const F& loss)
{
    const D p = {2.0, -0.4}, w = {1.5, 0.3};
    const auto with = [&](bool kept) { return [=](const D& t) { return loss(t, kept); }; };
    const D wanted = grad(with(false))(p);
    CHECK(allclose(grad(with(true))(p), wanted, 1e-13));
    CHECK(allclose(freeze(grad(with(true)))(p), wanted, 1e-13));
    CHECK(allclose(hessian(with(true))(p), hessian(with(false))(p), 1e-12));
    const auto along = [&](bool kept) {
        return grad([=](const D& q) { return sum(square(grad(with(kept))(q)) * w); })(p);
    };
    CHECK(allclose(along(true), along(false), 1e-12));
    D v = p;
    v.requires_grad();
    backward(loss(v, true));
    CHECK(allclose(v.grad(), wanted, 1e-13));
}

const D constant = {1.0, 0.5};

}  // namespace

TEST_CASE("a captured variable that is only a pullback's cotangent keeps its derivative")
{
    const auto pulled = [](const D& w, const D& p) {
        return vjp([](const D& s) { return sin(s); }, w).second(p);
    };
    check([=](const D& p, bool kept) {
        const auto f = [=](const D& w) { return pulled(w, p); };
        return sum(square(kept ? checkpoint(f)(constant) : f(constant)));
    });
    check([=](const D& p, bool kept) {
        const auto f = [=](const D& w) {
            const auto [a, b] = vjp([](const D& s, const D& r) { return s * r; }, w, constant).second(p);
            return a + b * w;
        };
        return sum(square(kept ? checkpoint(f)(constant) : f(constant)));
    });
    check([=](const D& p, bool kept) {
        const auto step = [=](const D& w) { return pulled(w, p) + 0.1 * w; };
        D s = constant;
        for (int i = 0; i < 4; ++i) s = kept ? s : step(s);
        return sum(square(kept ? checkpoint_loop(step, s, {.steps = 4, .snapshots = 2}) : s));
    });
}

TEST_CASE("a captured variable that a step gives to a frozen function keeps its derivative")
{
    const auto f = freeze([](const D& w, const D& p) { return sin(w) * p; });
    const auto scanned = freeze([](const D& w, const D& p) {
        return scan([&](const D& s, const D& r) { return std::pair(s * p + r, r); }, w, stack<double>({w, p}))
            .first;
    });
    const auto loop_of = [](const auto& step) {
        return [=](const D& p, bool kept) {
            const auto of_state = [=](const D& w) { return step(w, p); };
            D s = constant;
            for (int i = 0; i < 5 && !kept; ++i) s = of_state(s);
            if (kept) s = checkpoint_loop(of_state, s, {.steps = 5, .snapshots = 2});
            return sum(square(s));
        };
    };
    check(loop_of(f));
    check(loop_of([=](const D& w, const D& p) { return f(w, p) * p + 0.2 * f(p, w); }));
    check(loop_of(scanned));
    check([=](const D& p, bool kept) {
        const auto whole = [=](const D& w) { return loop_of(f)(p, kept) * sum(w); };
        return kept ? checkpoint(whole)(constant) : whole(constant);
    });
}
