// Options of freeze beside what a function may do: threads, a compiler in the background, a limit of memory, buffers of the
// caller; with captures, loops, checkpoints, rules, updates in place, derivatives and errors. Eager says what is right.
#include "catch.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/wengert.hpp>

using namespace wengert;
using D = Tensor<double>;

namespace {

using Function = std::function<D(const D&)>;
using Make = std::function<Function(const D&)>;  // a function that captures a variable

struct Case {
    const char* name;
    Make make;
};

Function looped(const D& w)
{
    return [w](const D& a) {
        const auto step = [w](const D& s) { return std::pair(tanh(s * w + s), sum(s)); };
        const auto [last, sums] = scan(step, a, 4);
        return last * sum(sums);
    };
}

Function chosen(const D& w)
{
    return [w](const D& a) {
        return cond(
            sum(a) > 0.0, [w](const D& s) { return s * w; }, [w](const D& s) { return s - w; }, a);
    };
}

Function remembered(const D& w)
{
    return [w](const D& a) { return checkpoint([w](const D& s) { return exp(s * w) * s; })(a); };
}

Function ruled(const D& w)
{
    return [w](const D& a) {
        const auto twice = custom_vjp([](const D& x) { return x * x; },
                                      [](const D& g, const D& x, const D&) { return g * x * 3.0; });
        return twice(a) * w;
    };
}

Function updated(const D& w)
{
    return [w](const D& a) {
        D y = zeros_like(a);
        y += a * w;
        view(y, range(0, 100)) += 1.0;
        return y * y;
    };
}

Function derived(const D& w)
{
    return [w](const D& a) { return grad([w](const D& x) { return sum(tanh(x * w)); })(a); };
}

const Case cases[] = {
    {"captured", [](const D& w) { return [w](const D& a) { return exp(a * w) * 0.5 + a; }; }},
    {"loop", looped},
    {"branch", chosen},
    {"checkpoint", remembered},
    {"rule", ruled},
    {"update", updated},
    {"inner gradient", derived},
};

std::vector<std::pair<const char*, FreezeOptions>> options()
{
    return {{"threads", {.threads = 3}},
            {"threads, interpreted", {.backend = interpret, .threads = 3}},
            {"background", {.backend = native, .background = true}},
            {"limit", {.memory_limit = 1 << 20}},
            {"threads and limit", {.memory_limit = 1 << 20, .threads = 2}}};
}

const D point = 0.1 * normal<double>(Key(3), {5000});
const D weight = 0.5 + 0.1 * normal<double>(Key(4), {5000});

}  // namespace

TEST_CASE("whatever the options, values and gradients are eager's")
{
    for (const Case& c : cases)
        for (const auto& [name, chosen_options] : options()) {
            INFO(c.name << ", " << name);
            const auto plain = c.make(weight);
            const auto frozen = freeze(c.make(weight), chosen_options);
            const auto whole =
                freeze(value_and_grad([&](const D& a) { return sum(plain(a)); }), chosen_options);
            const auto [value, gradient] = value_and_grad([&](const D& a) { return sum(plain(a)); })(point);
            for (int k = 0; k < 3; ++k) {
                CHECK(allclose(frozen(point), plain(point), 1e-12));
                const auto [v, g] = whole(point);
                CHECK(allclose(v, value, 1e-12));
                CHECK(allclose(g, gradient, 1e-12));
                CHECK(allclose(grad([&](const D& a) { return sum(frozen(a)); })(point), gradient, 1e-12));
            }
        }
}

TEST_CASE("whatever the options, captured variables have their gradients")
{
    for (const Case& c : cases) {
        const auto loss = [&](const D& w) { return sum(c.make(w)(point)); };
        const D expected = grad(loss)(weight);
        for (const auto& [name, chosen_options] : options()) {
            INFO(c.name << ", " << name);
            D w = copy(weight);
            w.requires_grad(true);
            const auto frozen = freeze(c.make(w), chosen_options);
            for (int k = 0; k < 3; ++k) {
                w.zero_grad();
                backward(sum(frozen(point)));
                CHECK(allclose(w.grad(), expected, 1e-12));
            }
        }
    }
}

TEST_CASE("buffers of the caller beside the options")
{
    for (const Case& c : cases)
        for (const auto& [name, chosen_options] : options()) {
            INFO(c.name << ", " << name);
            const auto plain = c.make(weight);
            const auto frozen = freeze(c.make(weight), chosen_options);
            D out = zeros<double>({5000});
            const double* const at = out.data();
            for (int k = 1; k < 5; ++k) {
                frozen.into(out)(point * double(k));
                CHECK(allclose(out, plain(point * double(k)), 1e-12));
                CHECK(out.data() == at);
            }
        }
}

TEST_CASE("after an error the next call is right, whatever the options")
{
    const auto f = [](const D& x, const Tensor<std::int64_t>& at) { return take(exp(x) * x, at, 0) * 2.0; };
    const Tensor<std::int64_t> good = {1, 4999, 7}, bad = {1, 5000, 7};
    for (const auto& [name, chosen_options] : options()) {
        INFO(name);
        const auto frozen = freeze(f, chosen_options);
        D out = zeros<double>({3});
        for (int k = 0; k < 4; ++k) {
            CHECK(allclose(frozen(point, good), f(point, good), 1e-12));
            CHECK_THROWS_WITH(frozen(point, bad), contains("5000"));
            CHECK_THROWS_WITH(frozen.into(out)(point, bad), contains("5000"));
            frozen.into(out)(point, good);
            CHECK(allclose(out, f(point, good), 1e-12));
        }
    }
}

TEST_CASE("live tensors are stepped alike, whatever the options")
{
    const auto train = [](D& w, const D& x) {
        const D g = grad([&](const D& p) { return sum(square(tanh(p * x) - 0.5)); })(w);
        w -= 0.1 * g;
        return sum(w);
    };
    D plain = copy(weight);
    std::vector<double> sums;
    for (int k = 0; k < 6; ++k) sums.push_back(train(plain, point).item());
    for (const auto& [name, chosen_options] : options()) {
        INFO(name);
        D w = copy(weight);
        auto step = freeze([&](const D& x) { return train(w, x); }, chosen_options);
        step.live(w);
        for (const double expected : sums) CHECK(step(point).item() == Approx(expected).epsilon(1e-12));
        CHECK(allclose(w, plain, 1e-12));
    }
}
