// Groups of graphs on a device: index programs and folds in them, programs that are drawn, launches and bytes counted by hand.
#include "cuda/replays.hpp"

#include <fstream>

TEST_CASE("index programs run in the kernels of a graph", "[gpu][libraries]")
{
    using T = Tensor<double>;
    using I = Tensor<std::int64_t>;
    const auto kernels = [](std::size_t n, const auto& f, const auto&... x) {
        const wg::FreezeStats s = same_bits(f, x...);
        CHECK(s.kernels == n);
        CHECK(s.uncompiled == 0);
    };
    const T a = some({6, 5}), b = some({6, 5}, 5), grid = some({7, 7});
    kernels(
        1, [](const T& u) { return u + 0.1 * (roll(u, 1, 0) + roll(u, -2, 1) - 2.0 * u); }, a);
    const auto heat = [](const T& x) {
        const auto inner = wg::range(1, 6), before = wg::range(0, 5), after = wg::range(2, 7);
        T u = copy(x);
        for (int k = 0; k < 2; ++k) {
            const T around = view(u, before, inner) + view(u, after, inner) + view(u, inner, before) +
                             view(u, inner, after);
            view(u, inner, inner) += 0.1 * (around - 4.0 * view(u, inner, inner));
        }
        return u;
    };
    kernels(2, heat, grid);
    kernels(6, wg::grad([&](const T& x) { return sum(square(heat(x))); }), grid);
    kernels(
        1,
        [](const T& x, const T& y) {
            return wg::concatenate({exp(x), y, x * y}, 1) * 2.0;
        },
        a, b);
    kernels(
        1,
        [](const T& x, const T& y) {
            return tanh(wg::stack({x, exp(y), y}, 1));
        },
        a, b);
    kernels(
        1,
        [](const T& x) {
            return exp(pad(x * 2.0, {{1, 2}, {0, 1}}, 7.5));
        },
        a);
    kernels(
        1,
        [](const T& x) {
            return repeat(x, 3, 1) - square(pad(x, {{0, 0}, {4, 6}}, wg::PadMode::wrap));
        },
        a);
    kernels(
        1,
        [](const T& x) {
            return square(pad(x, {{3, 2}, {0, 4}}, wg::PadMode::reflect));
        },
        a);
    kernels(
        1, [](const T& x, const I& i) { return exp(take(x * 3.0, i, 0)) * 2.0; }, a, I{1, 4, -1});
    kernels(
        1, [](const T& x, const I& i) { return take_along_axis(x, i, 1) + 1.0; }, a,
        I{{1, 3}, {0, 0}, {2, 4}, {1, 1}, {0, 4}, {3, 2}});
    kernels(1, wg::grad([](const T& x) { return sum(square(view(x, wg::range(0, 6, 2)))); }), a);
    kernels(
        2,
        [](const I& x) {
            return roll(x * 3, 1, 0) - diff(pad(x, {{1, 0}}, 2.0));
        },
        I{4, -1, 7});
    kernels(
        1, [](const T& x) { return where(roll(x > 0.0, 1, 1), x, -x); }, a);
    // a copy of what is moved is made where it is moved once; what others read as well is there before
    kernels(
        2,
        [](const T& x) {
            const T y = exp(x);
            return roll(y, 1, 0) + roll(y, 1, 1);
        },
        a);
    // the elements that a roll takes are not written over
    kernels(
        3,
        [](const T& x) {
            T u = exp(x);
            for (int k = 0; k < 2; ++k) u = roll(u, 1, 0) + 0.5 * u;
            return u;
        },
        a);
}

TEST_CASE("folds at the end of a chain take its elements as they are made", "[gpu][libraries]")
{
    using T = Tensor<double>;
    const auto fold = [](int which, const T& x) -> T {
        switch (which) {
        case 0: return sum(x * x + 1.0, {1});
        case 1: return mean(exp(x), {0}, true);
        case 2: return sum(square(x));
        case 3: return wg::cast<double>(argmax(x * 3.0, 1));
        case 4: return var(x * 3.0 + 1.0, {1});
        case 5: return logsumexp(x * 3.0, {0});
        case 6: return softmax(x * 3.0, 1);
        case 7: return norm(x * 1e200, {0});  // of lines that are done again
        case 8: return wg::cast<double>(any(x * 3.0 > 5.0, {0}));
        case 9: return wg::cast<double>(sum(wg::cast<float>(roll(x, 1, 0)), {1}));
        default: return sum(take(x, Tensor<std::int64_t>{0, 2, 2}, 1), {0});
        }
    };
    for (const wg::Shape& shape :
         {wg::Shape{1, 3}, wg::Shape{3, 4100}, wg::Shape{700, 3}, wg::Shape{300, 40}})
        for (int which = 0; which < 11; ++which) {
            INFO("fold " << which << " of " << wg::to_string(shape));
            const wg::FreezeStats s = same_bits([&](const T& x) { return fold(which, x); }, some(shape));
            CHECK(s.kernels == (which == 3 || which == 8 || which == 9 ? 2 : 1));
            CHECK(s.uncompiled == 0);
        }
    // what others read of the chain is written as well, in memory that the fold reads nothing of
    const auto also = [](const T& x) {
        T y = tanh(x);
        for (int k = 0; k < 3; ++k) y = y * 1.5 + sum(y * y, {1}, true);
        return y;
    };
    CHECK(same_bits(also, some({5, 3000})).kernels == 4);
}

namespace {
/// A program that is drawn: operations of all kinds over arrays of one shape.
Tensor<double> drawn(std::uint64_t seed, const Tensor<double>& x)
{
    std::vector<Tensor<double>> all = {x, x * 0.5};
    const auto draw = [&](std::uint64_t n) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        return (seed >> 33) % n;
    };
    for (int k = 0; k < 14; ++k) {
        const Tensor<double>&u = all[draw(all.size())], &v = all[draw(all.size())];
        const auto n = static_cast<std::int64_t>(draw(4));
        const auto axis = static_cast<int>(draw(2));
        switch (draw(12)) {
        case 0: all.push_back(u * v + 0.25); break;
        case 1: all.push_back(tanh(u) - v); break;
        case 2: all.push_back(roll(u, n - 2, axis)); break;
        case 3: all.push_back(where(u > v, u, 0.5 * v)); break;
        case 4: all.push_back(view(pad(u, {{1, n}, {n, 0}}, 0.5), wg::range(0, 6), wg::range(0, 5))); break;
        case 5: all.push_back(view(wg::concatenate({u, v}, axis), wg::range(0, 6), wg::range(0, 5))); break;
        case 6: all.push_back(u - amax(v, {axis}, true)); break;
        case 7: all.push_back(u * mean(u * v, {axis}, true)); break;
        case 8: all.push_back(v + 0.1 * sum(u)); break;
        case 9: {
            Tensor<double> w = copy(u);
            view(w, wg::range(1, 5), wg::range(0, 4)) += view(v, wg::range(2, 6), wg::range(1, 5)) * 0.5;
            all.push_back(w);
            break;
        }
        case 10: all.push_back(transpose(reshape(u * 0.5, {5, 6}))); break;
        default: all.push_back(take(u, Tensor<std::int64_t>{5, 0, 3, 3, n, -1}, 0)); break;
        }
    }
    return all.back() + all[all.size() - 2] * sum(all[all.size() - 3] * 0.1, {1}, true);
}
}  // namespace

TEST_CASE("programs that are drawn have the host's bits in graphs", "[gpu][libraries]")
{
    for (std::uint64_t seed = 1; seed < 9; ++seed) {
        INFO("seed " << seed);
        const auto f = [seed](const Tensor<double>& x) { return drawn(seed, x); };
        same_bits(f, some({6, 5}));
        if (seed % 4 == 0)
            same_bits(wg::grad([f](const Tensor<double>& x) { return sum(square(f(x))); }), some({6, 5}));
    }
}

namespace {

/// The bytes of what the groups of a graph read and write, of each value once a group.
std::size_t bytes_of_groups(const wg::Graph& g)
{
    const wg::tiling::Layouts layouts = wg::tiling::layouts_of(g);
    wg::detail::gpu::GroupPreferences wants(g, layouts);
    std::size_t all = 0;
    for (const wg::tiling::Group& group : wg::tiling::groups_of(g, layouts, wants)) {
        std::set<wg::ValueId> values(group.results.begin(), group.results.end());
        for (const wg::ValueId v : group.operands) values.insert(layouts[v].root);
        for (const wg::ValueId v : values)
            if (g.node(v).shape.size() > 0 || g.node(v).kind != wg::Graph::Kind::constant)
                all += wg::element_count(g.node(v).shape) * wg::size_of(g.node(v).dtype);
    }
    return all;
}

/// A row of the table of docs/cuda.md: what the fake driver counts, and what was counted by hand.
template <class F, class... X>
void counts(const char* name, long launches, std::size_t elements, const F& f, const X&... x)
{
    auto frozen = wg::freeze(f, on_device(false));
    const auto put = []<class T>(const Tensor<T>& t) { return wg::detail::on<wg::cpu>(wg::to<wg::cuda>(t)); };
    const auto there = std::tuple(put(x)...);
    const auto run = [&] { std::apply([&](const auto&... t) { frozen(t...); }, there); };
    for (int k = 0; k < 2; ++k) run();  // constants are there
    const Calls calls = calls_of(run);
    const std::size_t bytes = bytes_of_groups(frozen.graph(x...));
    INFO(name);
    if (fake::calls) CHECK(calls.launches == launches);
    CHECK(calls.to_device + calls.to_host + calls.waits == 0);
    CHECK(bytes == 8 * elements);
    run();
    const Calls written = calls_of(run);
    if (fake::calls) CHECK(written.launches + written.graphs == (written.graphs ? 1 : launches));
    if (const char* const file = std::getenv("WENGERT_COUNTS"); file && fake::calls)
        std::ofstream(file, std::ios::app) << name << '|' << calls.launches << '|' << launches << '|' << bytes
                                           << '|' << 8 * elements << '\n';
}

}  // namespace

TEST_CASE("launches and bytes of a replay are those counted by hand", "[gpu][libraries]")
{
    using T = Tensor<double>;
    const T x = some({64, 48}), grid = some({32, 32});
    const std::size_t n = 64 * 48, m = 32 * 32;
    const auto chain = [](const T& u) { return tanh(u) * sigmoid(u); };
    counts("a chain, tanh(x) * sigmoid(x)", 1, 2 * n, chain, x);
    counts("its derivative", 1, 2 * n, wg::grad([&](const T& u) { return sum(chain(u)); }), x);
    counts(
        "sums of rows, sum(x * x, {1})", 1, n + 64, [](const T& u) { return sum(u * u, {1}); }, x);
    counts(
        "sums of columns", 1, n + 48, [](const T& u) { return sum(u * u, {0}); }, x);
    counts(
        "the sum of all, of more than 2048", 2, n + 1, [](const T& u) { return sum(u * u); },
        x);  // and of parts
    counts(
        "softmax(3 x, 1)", 1, 2 * n, [](const T& u) { return softmax(u * 3.0, 1); }, x);
    const auto normalised = [](const T& u) {
        return (u - mean(u, {1}, true)) / sqrt(var(u, {1}, true) + 1e-5);
    };
    counts("normalised rows", 1, 2 * n, normalised, x);
    const T w = some({48}, 5), b = some({48}, 6);
    const auto layer = [&](const T& u, const T& scale, const T& shift) {
        return normalised(u) * scale + shift;
    };
    counts("a layer of normalised rows", 1, 2 * n + 2 * 48, layer, x, w, b);
    counts(
        "log_softmax(3 x, 1)", 1, 2 * n, [](const T& u) { return log_softmax(u * 3.0, 1); }, x);
    counts(
        "logsumexp(3 x, 1)", 1, n + 64, [](const T& u) { return logsumexp(u * 3.0, 1); }, x);
    counts(
        "norms of rows", 1, n + 64, [](const T& u) { return norm(u, {1}); }, x);
    counts(
        "rows longer than a block takes, softmax(x, 1)", 5,
        2 * 2 * 5000,  // two passes, each in parts and joined; all elements
        [](const T& u) { return softmax(u, 1); }, some({2, 5000}));
    counts(
        "a step of heat", 1, 2 * m,
        [](const T& u0) {
            const auto inner = wg::range(1, 31), before = wg::range(0, 30), after = wg::range(2, 32);
            T u = copy(u0);
            const T around = view(u, before, inner) + view(u, after, inner) + view(u, inner, before) +
                             view(u, inner, after);
            view(u, inner, inner) += 0.1 * (around - 4.0 * view(u, inner, inner));
            return u;
        },
        grid);
    counts(
        "a step of heat on a torus, by roll", 1, 2 * m,
        [](const T& u) {
            return u + 0.1 * (roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4.0 * u);
        },
        grid);
}
