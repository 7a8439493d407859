// What a function given to checkpoint writes outside of its result: recorded nowhere, so that no recorded operation takes it.
#include "catch.hpp"

#include <wengert/wengert.hpp>

#include <memory>
#include <thread>

using namespace wengert;

namespace {

using D = Tensor<double>;

/// A function that keeps what it computes on its way.
struct Keeps {
    std::shared_ptr<std::vector<D>> kept = std::make_shared<std::vector<D>>();
    D operator()(const D& x) const
    {
        const D h = sin(x);
        kept->push_back(h);
        return h * x;
    }
};

}  // namespace

TEST_CASE("what a checkpoint's function keeps is refused where it would be a constant")
{
    const D x = {0.3, -0.7, 1.1};
    const auto loss_with = [](const auto& use) {
        return [use](const D& t) {
            const Keeps f;
            const D y = checkpoint(f)(t);
            return use(y, f.kept->front());
        };
    };
    const auto refused = [&](const char* how, const auto& use) {
        INFO(how);
        CHECK_THROWS_AS(grad(loss_with(use))(x), TapeError);
        CHECK_THROWS_WITH(grad(loss_with(use))(x), contains("inside of a function given to checkpoint"));
        CHECK_THROWS_AS(vjp(loss_with(use), x), TapeError);
    };
    refused("at once", [](const D& y, const D& kept) { return sum(y * kept); });
    refused("scaled and reduced", [](const D& y, const D& kept) { return sum(y) + 0.1 * sum(square(kept)); });
    refused("an element", [](const D& y, const D& kept) { return sum(y) * kept(0); });
    refused("joined parts", [](const D& y, const D& kept) {
        return sum(y * concatenate<double>({view(kept, range(0, 1)), view(kept, range(1, 3))}));
    });
    refused("added to a constant", [](const D& y, const D& kept) {
        D total = zeros<double>({3});
        total += kept;
        return sum(y * total);
    });
    refused("written into a constant", [](const D& y, const D& kept) {
        D total = zeros<double>({3});
        view(total, range(0, 2)) = view(kept, range(0, 2));
        return sum(y * total);
    });
    refused("given to another checkpoint", [](const D& y, const D& kept) {
        return sum(checkpoint([](const D& a, const D& b) { return a * b; })(y, kept));
    });

    const auto at_once = loss_with([](const D& y, const D& kept) { return sum(y * kept); });
    {
        const SavedTensorHooks hooks([](const auto& t) { return copy(t); },
                                     [](const auto& t) { return copy(t); });
        CHECK_THROWS_AS(grad(at_once)(x), TapeError);
    }
    {
        const AnomalyMode anomaly;
        CHECK_THROWS_AS(grad(at_once)(x), TapeError);
    }
    bool refused_there = false;
    std::thread([&] {
        try {
            static_cast<void>(grad(at_once)(x));
        } catch (const TapeError&) {
            refused_there = true;
        }
    }).join();
    CHECK(refused_there);

    D v = x;
    v.requires_grad();
    const Keeps f;
    const D y = checkpoint(f)(v);
    CHECK_THROWS_AS(y + f.kept->front(), TapeError);
    CHECK(Tape::current().size() > 0);
    backward(sum(y));  // as it was
    CHECK(allclose(v.grad(), cos(x) * x + sin(x), 1e-14));
}

TEST_CASE("a result that is kept as well is recorded under the result's name alone")
{
    const D x = linspace<double>(0.1, 1.0, 40);
    std::vector<D> kept;
    const auto f = checkpoint([&](const D& t) {
        kept.push_back(exp(t));
        return kept.back();
    });
    const auto by_result = [&](const D& t) { return sum(square(f(t))); };
    CHECK(allclose(grad(by_result)(x), 2 * exp(2 * x), 1e-14));
    const auto by_kept = [&](const D& t) {
        const D y = f(t);
        return sum(y * kept.back());
    };
    CHECK_THROWS_AS(grad(by_kept)(x), TapeError);
}

TEST_CASE("what is meant to be a constant is one")
{
    const D x = {0.3, -0.7, 1.1};
    const auto gives = [&](const auto& keep, const auto& use) {
        D kept;
        const auto f = [&](const D& t) {
            const D y = checkpoint([&](const D& u) {
                const D h = sin(u);
                keep(kept, h);
                return h * u;
            })(t);
            return sum(y * use(kept));
        };
        const D g = grad(f)(x), s = sin(x);
        CHECK(allclose(g, (cos(x) * x + s) * s, 1e-14));
    };
    const auto as_it_is = [](const D& k) { return k; };
    gives([](D& kept, const D& h) { kept = stop_gradient(h); }, as_it_is);
    gives([](D& kept, const D& h) { kept = h.detach(); }, as_it_is);
    gives([](D& kept, const D& h) { kept = h; }, [](const D& k) { return stop_gradient(k); });
    gives([](D& kept, const D& h) { kept = h; }, [](const D& k) { return k.detach(); });
    gives(
        [](D& kept, const D& h) {
            const NoGrad constant;
            kept = h * 1.0;
        },
        as_it_is);
    gives([](D& kept, const D& h) { kept = D(h.array()); }, as_it_is);  // through plain C++

    // What does not depend on a variable, whoever computes it.
    D table;
    const auto with_table = [&](const D& t) {
        const D y = checkpoint([&](const D& u) {
            table = square(x);
            return u * table;
        })(t);
        return sum(y * table);
    };
    CHECK(allclose(grad(with_table)(x), square(square(x)), 1e-14));
}

TEST_CASE("what a step of a checkpointed loop keeps is refused, its states and outputs are not")
{
    const D x = {0.3, -0.7, 1.1};
    std::vector<D> states, made;
    const auto step = [&](const D& s) {
        states.push_back(s);
        made.push_back(sin(s));
        return std::pair(made.back() * 1.1, made.back());
    };
    const auto loss_with = [&](LoopOptions<D> options, const auto& use) {
        return [&, options, use](const D& t) {
            states.clear(), made.clear();
            const auto [last, all] = checkpoint_loop(step, t, options);
            return use(last, all);
        };
    };
    const auto check = [&](const LoopOptions<D>& options) {
        const auto kept_of = [&](std::vector<D>& kept) {
            return loss_with(options, [&](const D& last, const D&) { return sum(last * kept[1]); });
        };
        CHECK_THROWS_AS(grad(kept_of(states))(x), TapeError);
        CHECK_THROWS_AS(grad(kept_of(made))(x), TapeError);
        const auto by_results = [](const D& last, const D& all) { return sum(last * view(all, 1)); };
        const auto plainly = [](const D& t) {
            D s = t, second;
            for (int i = 0; i < 5; ++i) {
                const D y = sin(s);
                if (i == 1) second = y;
                s = y * 1.1;
            }
            return sum(s * second);
        };
        CHECK(allclose(grad(loss_with(options, by_results))(x), grad(plainly)(x), 1e-13));
        CHECK(allclose(hessian(loss_with(options, by_results))(x), hessian(plainly)(x), 1e-12));
    };
    check({.steps = 5, .snapshots = 2});
    check({.steps = 5, .snapshots = 5});
    const auto frozen = freeze([](const D& s) { return sin(s); });
    const auto by_graph = [&](const D& t) {
        made.clear();
        const D last = checkpoint_loop(
            [&](const D& s) {
                made.push_back(frozen(s));
                return made.back() * 1.1;
            },
            t, {.steps = 5, .snapshots = 2});
        return sum(last * made[2]);
    };
    CHECK_THROWS_AS(grad(by_graph)(x), TapeError);
    CHECK_THROWS_AS(grad(by_graph)(x), TapeError);
    // Results that depend on no variable are constants.
    const auto stopped =
        freeze([](const D& s, const D& c) { return std::pair(stop_gradient(s) * 2.0, c * 3.0); });
    const auto by_constants = [&](const D& t) {
        made.clear();
        const D last = checkpoint_loop(
            [&](const D& s) {
                const auto [a, b] = stopped(s, x);
                made.push_back(a + b);
                return sin(s);
            },
            t, {.steps = 5, .snapshots = 2});
        return sum(last) + sum(t * made[1]);
    };
    CHECK_NOTHROW(grad(by_constants)(x));
    CHECK(
        allclose(grad(by_constants)(x) - grad([&](const D& t) { return sum(sin(sin(sin(sin(sin(t)))))); })(x),
                 2.0 * sin(x) + 3.0 * x, 1e-13));
    int count = 0;
    check({.snapshots = 2, .while_ = [&](const D&) { return ++count % 6 != 0; }});
}

TEST_CASE("a constant that meets a kept value stays one")
{
    const D x = {0.3, -0.7, 1.1}, c = 2.0 * ones<double>({3});
    const Keeps f;
    const auto first =
        custom_vjp([](const D& a, const D&) { return a; },
                   [](const D& g, const D&, const D&, const D&) { return std::tuple(g, g * 0.0); });
    const auto loss = [&](const D& t) {
        const D y = checkpoint(f)(t);
        static_cast<void>(first(c, f.kept->back()));
        return sum(y) + sum(c * t);
    };
    CHECK(allclose(grad(loss)(x), cos(x) * x + sin(x) + 2.0, 1e-14));

    const auto of_flat = [&](const D& t) {
        const D y = checkpoint(f)(t);
        return sum(y) + sum(floor(f.kept->back()) * t) + sum(sign(f.kept->back()) * t);
    };
    CHECK(allclose(grad(of_flat)(x), cos(x) * x + sin(x) + floor(sin(x)) + sign(sin(x)), 1e-14));

    const auto of_written = [&](const D& t) {
        const D y = checkpoint(f)(t);
        D kept = f.kept->back();
        f.kept->clear();
        write(kept)(0) = 3.0;  // the elements are plain numbers now
        return sum(y * kept);
    };
    CHECK_NOTHROW(grad(of_written)(x));

    D stored;
    const auto on_another_tape = [&](const D& t) {
        const D y = checkpoint([&](const D& u) {
            const D d = u.detach();
            const TapeScope scope;
            stored = value_and_grad([](const D& w) { return sum(w * w); })(d).first;
            return d;
        })(t);
        return sum(t * stored) + sum(y);
    };
    CHECK(allclose(grad(on_another_tape)(x), sum(x * x) * ones<double>({3}), 1e-14));
}

TEST_CASE("kept values are refused in second runs, other checkpoints, graphs and traces, too")
{
    const D x = {0.3, -0.7, 1.1};
    const Keeps f, g;
    const auto misuse = [f](const D& t) {
        const D y = checkpoint(f)(t);
        return sum(t * f.kept->back()) + sum(y);
    };
    const auto in_checkpoint = [&](const D& t) {
        f.kept->clear();
        return checkpoint(misuse)(t);
    };
    CHECK_THROWS_AS(grad(in_checkpoint)(x), TapeError);
    const auto captured = [&](const auto& how) {
        return [&, how](const D& t) {
            const D y = checkpoint(g)(t);
            return sum(how(g.kept->back())(t)) + sum(y);
        };
    };
    const auto by_checkpoint = [](const D& k) { return checkpoint([k](const D& t) { return t * k; }); };
    const auto by_freeze = [](const D& k) { return freeze([k](const D& t) { return t * k; }); };
    CHECK_THROWS_AS(grad(captured(by_checkpoint))(x), TapeError);
    CHECK_THROWS_AS(grad(captured(by_freeze))(x), TapeError);

    // A result that is kept, inside of a trace.
    const auto of_result = [](const D& t) {
        const auto kept = std::make_shared<D>();
        const D y = checkpoint([kept](const D& u) { return *kept = sin(u); })(t);
        return sum(t * *kept) + sum(y);
    };
    CHECK_THROWS_AS(grad(of_result)(x), TapeError);
    CHECK_THROWS_AS(freeze(grad(of_result))(x), TapeError);
    const auto of_result_alone = [](const D& t) {
        const auto kept = std::make_shared<D>();
        return sum(square(checkpoint([kept](const D& u) { return *kept = sin(u); })(t)));
    };
    CHECK(allclose(freeze(grad(of_result_alone))(x), 2 * sin(x) * cos(x), 1e-14));
}

TEST_CASE("values of a run serve inside of it, in whatever is done there")
{
    const D x = {0.3, -0.7, 1.1};
    const auto inner = [](const D& t) {
        const D h = sin(t);
        return grad([&](const D& u) { return sum(u * u * h); })(t);
    };
    const auto pushed = [](const D& t) {
        const D h = sin(t);
        return jvp([&](const D& u) { return u * u * h; }, t, t).second;
    };
    const auto looped = [](const D& t) {
        const D h = sin(t);
        return scan([&](const D& s, const D& r) { return std::pair(s * h + r, s); }, t, stack<double>({t, t}))
            .first;
    };
    const auto nested = [](const D& t) {
        const D h = sin(t);
        return checkpoint([h](const D& u) { return u * h; })(t);
    };
    const auto check = [&](const auto& f) {
        const auto plain = [&](const D& t) { return sum(square(f(t))); };
        const auto kept = [&](const D& t) { return sum(square(checkpoint(f)(t))); };
        CHECK(allclose(grad(kept)(x), grad(plain)(x), 1e-13));
        CHECK(allclose(hessian(kept)(x), hessian(plain)(x), 1e-12));
        CHECK(allclose(freeze(grad(kept))(x), grad(plain)(x), 1e-13));
        const D wanted = grad(plain)(x);
        D under_hooks, of_thread;
        {
            const SavedTensorHooks hooks([](const auto& t) { return copy(t); },
                                         [](const auto& t) { return copy(t); });
            under_hooks = grad(kept)(x);
        }
        CHECK(allclose(under_hooks, wanted, 1e-13));
        std::thread([&] { of_thread = grad(kept)(x); }).join();
        CHECK(allclose(of_thread, wanted, 1e-13));
        const AnomalyMode anomaly;
        CHECK(allclose(grad(kept)(x), wanted, 1e-13));
    };
    check(inner);
    check(pushed);
    check(nested);
    check(looped);
}
