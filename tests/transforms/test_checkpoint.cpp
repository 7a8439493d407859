// checkpoint: the bits of the plain run, less memory, and no silent difference between the two runs.
#include "catch.hpp"

#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/elementwise/trigonometry.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/checkpoint.hpp>
#include <wengert/transforms/jvp.hpp>
#include <wengert/transforms/preaccumulate.hpp>
#include <wengert/transforms/derivatives.hpp>
#include <wengert/transforms/custom.hpp>
#include <wengert/transforms/saved_tensor_hooks.hpp>

using namespace wengert;

namespace {

using D = Tensor<double>;

struct Layer {
    D w, b;
};

D apply_layer(const Layer& l, const D& x) { return tanh(matmul(x, l.w) + l.b); }

const auto twice = [](const D& x) { return sin(x * x) + x; };

}  // namespace

TEST_CASE("checkpoint gives the gradient's bits of the plain run")
{
    const D x = normal<double>(Key(1), {5, 3});
    const Layer l{normal<double>(Key(2), {3, 3}), normal<double>(Key(3), {3})};
    const auto plain = [](const Layer& l, const D& x) {
        return sum(square(apply_layer(l, apply_layer(l, x))));
    };
    const auto kept = [](const Layer& l, const D& x) {
        const auto layer = checkpoint(apply_layer);
        return sum(square(layer(l, layer(l, x))));
    };
    const auto [a, ga] = value_and_grad<0, 1>(plain)(l, x);
    const auto [b, gb] = value_and_grad<0, 1>(kept)(l, x);
    CHECK(a.item() == b.item());
    CHECK(allclose(std::get<0>(ga).w, std::get<0>(gb).w, 0.0));
    CHECK(allclose(std::get<0>(ga).b, std::get<0>(gb).b, 0.0));
    CHECK(allclose(std::get<1>(ga), std::get<1>(gb), 0.0));
}

TEST_CASE("checkpoint reaches what the function captures")
{
    const D x{0.5, -1.0}, w{2.0, 3.0};
    const auto f = [&](const D& w) { return sum(checkpoint([w](const D& x) { return tanh(x * w); })(x)); };
    const auto plain = [&](const D& w) { return sum(tanh(x * w)); };
    CHECK(allclose(grad(f)(w), grad(plain)(w), 0.0));
    CHECK(allclose(hessian(f)(w), hessian(plain)(w), 1e-14));
    CHECK(check_grads(f, w, {.order = 2}).ok);
}

TEST_CASE("checkpoint reaches what the function captures for an inner gradient alone")
{
    const D constant{0.4, 0.9};
    const auto plain = [&](const D& x) {
        return grad([&](const D& y) { return sum(sin(y) * constant); })(x);
    };
    const auto kept = [&](const D& x) {
        return checkpoint([&](const D&) { return plain(x); })(constant);  // its argument is no variable
    };
    const D x{0.3, -0.7};
    const auto slope = [&](const auto& f) { return grad([&](const D& y) { return sum(f(y)); })(x); };
    for (const int i : {0, 1}) CHECK(slope(kept)(i).item() == slope(plain)(i).item());
}

TEST_CASE("checkpoints nest and differentiate to any order, in both modes")
{
    const D x{0.3, -0.7, 1.1};
    const auto f = [](const D& x) {
        return sum(checkpoint([](const D& x) { return checkpoint(twice)(checkpoint(twice)(x)) * x; })(x));
    };
    const auto plain = [](const D& x) { return sum(twice(twice(x)) * x); };
    CHECK(allclose(grad(f)(x), grad(plain)(x), 0.0));
    CHECK(allclose(hessian(f)(x), hessian(plain)(x), 1e-13));
    CHECK(allclose(hvp(f)(x, x), hvp(plain)(x, x), 1e-13));
    CHECK(check_grads(f, x, {.order = 2}).ok);
}

TEST_CASE("several results, some of them handed through or without a derivative")
{
    const D x{1.0, 2.0};
    const auto f = [](const D& x) {
        auto [y, same, large] = checkpoint([](const D& x) { return std::tuple(x * x, x, x > 1.5); })(x);
        return sum(where(large, y, same * 3.0));
    };
    const D g = grad(f)(x);
    CHECK(g(0).item() == 3.0);
    CHECK(g(1).item() == 4.0);
}

TEST_CASE("backward of a variable goes through a checkpoint")
{
    D x{0.5, 0.25};
    x.requires_grad(true);
    backward(sum(checkpoint([](const D& x) { return exp(x); })(x)));
    CHECK(allclose(x.grad(), exp(x.detach()), 0.0));
}

TEST_CASE("memory: segments are dropped and computed again")
{
    const D x = normal<double>(Key(4), {1000});
    const auto chain = [](D s, int n) {
        for (int i = 0; i < n; ++i) s = s + 0.01 * sin(s);
        return s;
    };
    const auto peak = [&](const auto& f) {
        const auto before = memory::stats().current_bytes;
        memory::reset_peak();
        static_cast<void>(grad(f)(x));
        return memory::stats().peak_bytes - before;
    };
    const auto plain = peak([&](const D& x) { return sum(chain(x, 256)); });
    const auto kept = peak([&](const D& x) {
        D s = x;
        for (int i = 0; i < 16; ++i) s = checkpoint([&](const D& s) { return chain(s, 16); })(s);
        return sum(s);
    });
    // 256 saved arrays against 16 inputs and one segment of 16 steps
    CHECK(kept * 6 < plain);
}

TEST_CASE("another value from outside, or another branch, is refused")
{
    const D x{1.0, 2.0};
    SECTION("a captured tensor")
    {
        D k{1.0, 2.0};
        const auto f = [&](const D& x) {
            const D y = checkpoint([&](const D& x) { return x * x * k; })(x);
            k = k * 2.0;
            return sum(y);
        };
        CHECK_THROWS_WITH(grad(f)(x),
                          contains("checkpoint") && contains("multiply") && contains("test_checkpoint.cpp"));
    }
    SECTION("a number")
    {
        double k = 1;
        const auto f = [&](const D& x) {
            const D y = checkpoint([&](const D& x) { return x * x * k; })(x);
            k = 2;
            return sum(y);
        };
        CHECK_THROWS_AS(grad(f)(x), TapeError);
    }
    SECTION("a path")
    {
        bool first = true;
        const auto f = [&](const D& x) {
            const D y = checkpoint([&](const D& x) { return first ? x * x : sin(x); })(x);
            first = false;
            return sum(y);
        };
        CHECK_THROWS_AS(grad(f)(x), TapeError);
        CHECK(allclose(grad([](const D& x) { return sum(x * x); })(x), 2.0 * x, 0.0));  // all is as before
    }
    SECTION("a shorter path")
    {
        int n = 3;
        const auto f = [&](const D& x) {
            const D y = checkpoint([&](D x) {
                for (int i = 0; i < n; ++i) x = x * 1.5;
                return x;
            })(x);
            n = 2;
            return sum(y);
        };
        CHECK_THROWS_AS(grad(f)(x), TapeError);
    }
}

TEST_CASE("what another checkpoint has made comes from outside, too")
{
    const D three(3.0);
    const auto squared = checkpoint([](const D& x) { return x * x; });
    D h;
    const auto f = [&](bool changes) {
        return grad([&](const D& x) {
            h = squared(x).detach();
            const D y = checkpoint([&h](const D& t) { return t * h; })(x);
            if (changes) h = squared(x * 2.0).detach();
            return y;
        })(three);
    };
    CHECK(f(false).item() == 9.0);
    CHECK_THROWS_WITH(f(true), contains("checkpoint") && contains("multiply"));
}

TEST_CASE("what an inner transform or checkpoint is given comes from outside of the outer one")
{
    const D x{1.0, 2.0};
    D w;
    const auto changes = [&](const auto& body) {
        return grad([&](const D& x) {
            w = D{3.0, 4.0};
            const D y = checkpoint(body)(x);
            w = D{3.0, 5.0};
            return sum(y);
        });
    };
    const auto product = checkpoint([](const D& x, const D& w) { return x * w; });
    CHECK_THROWS_AS(changes([&](const D& x) { return product(x, w); })(x), TapeError);
    const auto cubes = [](const D& w) { return sum(w * w * w); };
    CHECK_THROWS_AS(changes([&](const D& x) { return x * grad(cubes)(w); })(x), TapeError);
    const auto handed_through = [](const D& x) { return std::pair(x, x * x); };
    const auto both = [&](const D& x) {
        const auto [a, b] = checkpoint(handed_through)(x);
        return sum(a * b);
    };
    CHECK(allclose(grad(both)(x), 3.0 * x * x, 1e-15));
}

TEST_CASE("an inner checkpoint captures what the outer one has made")
{
    const D x{0.5, -1.0};
    const auto plain = [](const D& x) { return sum(x * 2.0 * sin(x)); };
    const auto kept = [](const D& x) {
        return checkpoint([](const D& x) {
            const D h = sin(x);
            return sum(checkpoint([h](const D& t) { return t * h; })(x * 2.0));
        })(x);
    };
    CHECK(allclose(grad(kept)(x), grad(plain)(x), 1e-15));
    CHECK(allclose(hessian(kept)(x), hessian(plain)(x), 1e-14));
}

TEST_CASE("the elements of small views are compared, wherever they lie")
{
    using F = Tensor<float>;
    const F x{1.0F, 1.0F};
    F v;
    const auto with = [&](const F& first, const F& then) {
        return grad([&](const F& x) {
            v = first;
            const F y = checkpoint([&v](const F& t) { return sum(t * v); })(x);
            v = then;
            return y;
        })(x);
    };
    const F a{{1.0F, 2.0F}, {3.0F, 4.0F}}, b{{1.0F, 2.0F}, {30.0F, 4.0F}}, two(2.0F);
    CHECK(allclose(with(transpose(a)(0), transpose(a)(0)), F{1.0F, 3.0F}, 0.0));
    CHECK_THROWS_AS(with(transpose(a)(0), transpose(b)(0)), TapeError);
    const std::vector<F> repeated{broadcast_to(two, {2}), broadcast_to(F(2.0F), {2})};
    CHECK(allclose(with(repeated[0], repeated[1]), F{2.0F, 2.0F}, 0.0));
    CHECK_THROWS_AS(with(repeated[0], broadcast_to(F(3.0F), {2})), TapeError);
}

TEST_CASE("a branch on data and random numbers are what they were")
{
    const D x{1.0, -2.0};
    const auto body = [](const D& x) {
        const D y = x * dropout_mask<double>(Key(3), x.shape(), 0.5);
        return sum(x) > 0.0 ? y * y : y + x;
    };
    const auto f = [&](const D& x) { return sum(checkpoint(body)(x)); };
    const auto plain = [&](const D& x) { return sum(body(x)); };
    CHECK(allclose(grad(f)(x), grad(plain)(x), 0.0));
    CHECK(allclose(grad(f)(-x), grad(plain)(-x), 0.0));
}

TEST_CASE("an exception inside leaves the tape as it was")
{
    D x{1.0, 2.0};
    x.requires_grad(true);
    const auto size = Tape::current().size();
    CHECK_THROWS_AS(checkpoint([](const D& x) { return matmul(x, D{{1.0}}); })(x), ShapeError);
    CHECK(Tape::current().size() == size);
    CHECK(recorder() == nullptr);
}

TEST_CASE("anomaly mode names the line inside a checkpoint")
{
    const AnomalyMode on;
    const D x{0.0, 1.0};
    CHECK_THROWS_WITH(checkpoint([](const D& x) { return log(x); })(x), contains("[log]"));
}

TEST_CASE("what f makes and writes itself, and derivatives that it takes inside, are no values from outside")
{
    using Function = D (*)(const D&);
    const std::pair<const char*, Function> programs[] = {
        {"zeros += x * x",
         [](const D& x) {
             D y = zeros<double>({3});
             y += x * x;
             return sum(y * y);
         }},
        {"full *= x",
         [](const D& x) {
             D y = full<double>({3}, 2.0);
             y *= x;
             return sum(y * y);
         }},
        {"a constant += a constant",
         [](const D& x) {
             D y = zeros<double>({3});
             y += 1.0;
             y += y;
             return sum(y * x);
         }},
        {"an element",
         [](const D& x) {
             D y(0.0);
             for (int i = 0; i < 3; ++i) y += x(i) * x(i);
             return y * y;
         }},
        {"view(zeros) = x",
         [](const D& x) {
             D y = zeros<double>({3});
             view(y, range(0, 2)) = view(x, range(1, 3));
             return sum(y * y);
         }},
        {"view(zeros) += x",
         [](const D& x) {
             D y = zeros<double>({3});
             view(y, range(0, 2)) += view(x, range(1, 3));
             view(y, range(1, 3)) -= 1.0;
             return sum(y * y);
         }},
        {"write(zeros)",
         [](const D& x) {
             D y = zeros<double>({3});
             D z = y * x;
             {
                 auto w = write(y);
                 w.data()[1] = 2.0;
             }
             return sum(y * x * x + z);
         }},
        {"a tangent += x",
         [](const D& x) {
             D t = jvp([](const D&) { return ones<double>({3}); }, x, x).second;
             t += x;
             return sum(t * t);
         }},
        {"a gradient += x",
         [](const D& x) {
             D t = grad([](const D& y) { return sum(y * 0.0 + 1.0) * 0.0 + 1.0; })(x);
             t += x;
             return sum(t * x);
         }},
        {"no gradient += x",
         [](const D& x) {
             D t = grad([](const D&) { return D(1.0); })(x);
             t += x;
             return sum(t * x);
         }},
        {"grad of tanh", [](const D& x) { return sum(grad([](const D& a) { return sum(tanh(a)); })(x)); }},
        {"grad of x sin x",
         [](const D& x) { return sum(square(grad([](const D& a) { return sum(sin(a) * a); })(x))); }},
        {"captured",
         [](const D& x) {
             const D n = -x;
             return sum(grad([&](const D& a) { return sum(tanh(a * n)); })(x));
         }},
        {"at a constant",
         [](const D& x) {
             const D n = -x;
             return sum(grad([&](const D& a) { return sum(tanh(a * n)); })(D{1.0, 2.0, 3.0}));
         }},
        {"means and powers",
         [](const D& x) {
             return sum(
                 square(grad([](const D& a) { return mean(pow(a, 3.0)) + norm(a) + logsumexp(a); })(x)));
         }},
        {"jvp of tanh",
         [](const D& x) {
             return sum(square(jvp([](const D& a) { return tanh(a); }, x, ones<double>({3})).second));
         }},
        {"hvp",
         [](const D& x) {
             return sum(square(hvp([](const D& a) { return sum(tanh(a) * a); })(x, ones<double>({3}))));
         }},
        {"hessian",
         [](const D& x) { return sum(square(hessian([](const D& a) { return sum(tanh(a)) * a(0); })(x))); }},
        {"jacobian",
         [](const D& x) { return sum(square(jacobian([](const D& a) { return sin(a) * sum(a); })(x))); }},
        {"grad of grad",
         [](const D& x) {
             return sum(grad([](const D& a) {
                 return sum(square(grad([](const D& b) { return sum(tanh(b) * b); })(a)));
             })(x));
         }},
        {"a rule with literals",
         [](const D& x) {
             const auto rule =
                 custom_vjp([](const D& a) { return a * a; },
                            [](const D& g, const D& y, const D& a) { return g * (2.0 * a + 0.5 * y); });
             return sum(square(grad([&](const D& a) { return sum(rule(a) * a); })(x)));
         }},
        {"a rule with a branch",
         [](const D& x) {
             const auto rule = custom_vjp(
                 [](const D& a) { return a * a; },
                 [](const D& g, const D&, const D& a) { return sum(a).item() > 0.0 ? 3.0 * g * a : g; });
             return sum(square(grad([&](const D& a) { return sum(rule(a)); })(x)));
         }},
        {"a checkpoint in a gradient",
         [](const D& x) {
             return sum(square(grad(
                 [](const D& a) { return sum(checkpoint([](const D& b) { return tanh(b) * b; })(a)); })(x)));
         }},
        {"a branch and a read",
         [](const D& x) {
             D y = zeros<double>({3});
             y += x;
             return y(0) > 0.1 ? sum(y) * y(1).item() : sum(x);
         }},
    };
    const D x = {0.3, 0.4, 0.5};
    for (const auto& [name, f] : programs) {
        INFO(name);
        const auto kept = checkpoint(f);
        D plain, checkpointed, twice;
        REQUIRE_NOTHROW(plain = grad(f)(x));
        CHECK_NOTHROW(checkpointed = grad(kept)(x));
        CHECK_NOTHROW(twice = grad(checkpoint(kept))(x));
        CHECK(allclose(plain, checkpointed, 1e-14));
        CHECK(allclose(plain, twice, 1e-14));
        const auto second = [&](const auto& g) {
            return grad([&](const D& a) { return sum(square(grad(g)(a))); })(x);
        };
        CHECK_NOTHROW(checkpointed = second(kept));
        CHECK(allclose(second(f), checkpointed, 1e-12));
    }
}

TEST_CASE("levels that have ended when a checkpoint runs again are none of its captures")
{
    // In the outer sweep the inner transform has the number of the one in which f was recorded.
    const auto inner_with = [](bool kept) {
        return [kept](const D& x) {
            return grad([&](const D& u) {
                const auto scaled = [](const D& p) { return p * 0.7; };
                const D y = kept ? checkpoint(scaled)(x) : scaled(x);
                return sum(square(x * y(0) + u * u));
            })(x);
        };
    };
    const auto pushed_with = [](bool kept) {
        return [kept](const D& x) {
            const auto h = [&](const D& u) {
                const D k = x * u;
                const auto f = [k](const D& p) { return p * p * 0.7 + k; };
                return kept ? checkpoint(f)(x) : f(x);
            };
            return jvp(h, x, x).second;
        };
    };
    const D x = {0.35, -0.6};
    const auto check = [&](const auto& inner) {
        const auto f = [&](const D& t) { return sum(square(checkpoint(inner(true))(t))); };
        const auto plain = [&](const D& t) { return sum(square(inner(false)(t))); };
        const auto norm_of = [](const D& d) { return sum(d * d).item(); };
        CHECK(norm_of(hessian(f)(x) - hessian(plain)(x)) < 1e-24);
        const auto twice_back = [&](const auto& g) {
            return grad([&](const D& u) { return sum(grad(g)(u) * x); })(x);
        };
        CHECK(norm_of(twice_back(f) - twice_back(plain)) < 1e-24);
        CHECK(check_grads(f, x, {.order = 2}).ok);
    };
    check(inner_with);
    check(pushed_with);
}

TEST_CASE("one tensor as two arguments, or as an argument and a captured one, under hooks")
{
    const D x = linspace<double>(0.1, 1.0, 40);  // more than fits into a block's header
    const auto f = [](const D& t) {
        return sum(checkpoint([](const D& q, const D& r) { return sin(q) * r; })(t, t));
    };
    const auto g = [](const D& t) {
        const D s = sin(t);
        return sum(checkpoint([s](const D& a) { return a * s * s; })(s));
    };
    const D of_f = grad(f)(x), of_g = grad(g)(x);
    const SavedTensorHooks hooks([](const auto& t) { return copy(t); },
                                 [](const auto& t) { return copy(t); });
    CHECK(sum(square(grad(f)(x) - of_f)).item() == 0);
    CHECK(sum(square(grad(g)(x) - of_g)).item() == 0);
}

TEST_CASE("a checkpoint that has been moved from stays one")
{
    using T1 = wengert::Tensor<double>;
    auto c = wengert::checkpoint([](const T1& t) { return t * t; });
    const auto moved = std::move(c);
    const T1 x = {3.0};
    CHECK(moved(x)(0).item() == 9.0);
    CHECK(c(x)(0).item() == 9.0);  // NOLINT: that is what is tested
    auto p = wengert::preaccumulate([](const T1& t) { return t * t; });
    const auto other = std::move(p);
    CHECK(p(x)(0).item() == other(x)(0).item());
    auto rule = wengert::custom_vjp([](const T1& t) { return t * t; },
                                    [](const T1& g, const T1&, const T1& t) { return 3.0 * g * t; });
    const auto with_rule = std::move(rule);
    const auto slope = [&](const auto& f) {
        return wengert::grad([&](const T1& t) { return sum(f(t)); })(x)(0).item();
    };
    CHECK(slope(rule) == 9.0);
    CHECK(slope(with_rule) == 9.0);
}
