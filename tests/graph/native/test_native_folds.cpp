// Folds in the bodies of compiled loops: over any axes, of any layout and dtype, with the bits that they have step by step.
#include "graph/c/emit_programs.hpp"
#include "same_bits.hpp"

#include <cstring>
#include <limits>

#include "apart.hpp"
#include <wengert/graph/control/control.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/ops/arg_reductions.hpp>
#include <wengert/ops/elementwise/cast.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/losses.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/scans.hpp>
#include <wengert/ops/softmax.hpp>
#include <wengert/ops/view.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/derivatives.hpp>
#include <wengert/transforms/fold_rules.hpp>
#include <wengert/transforms/jvp.hpp>

namespace {

template <class T> using List = std::vector<Tensor<T>>;
using D = Tensor<double>;

/// Tiles and native code twice, against node by node; native code has compiled everything but `left` loops.
void check_native(const Program& p, std::size_t left = 0)
{
    INFO(p.name);
    const auto want = interpret(p.graph, p.inputs);
    const auto native = compile_native(p.graph, {}), tiles = Backend(tile).compile(p.graph, {});
    INFO(native->note);
    CHECK(native->stats.uncompiled_loops == left);
    CHECK((native->note == "") == (left == 0));
    for (Executable* e : {native.get(), tiles.get(), native.get()}) {
        std::vector<Ref<Block>> in = p.inputs, out;
        e->run(in, out);
        for (std::size_t k = 0; k < out.size(); ++k) {
            INFO("output " << k << " of shape " << to_string(out[k]->shape));
            CHECK(different_elements(*want[p.graph.outputs()[k]], *out[k]) == 0);
            CHECK(different_elements(*p.expected[k], *out[k]) == 0);
        }
    }
}

/// Numbers of every size, zeros of both signs, infinities and NaN.
template <class T> Tensor<T> wild(const Shape& shape)
{
    using L = std::numeric_limits<T>;
    const T edges[] = {T(-0.0),         L::infinity(), -L::infinity(), L::quiet_NaN(),
                       L::denorm_min(), L::max(),      T(-1),          T(0)};
    auto b = make_block(dtype_of<T>(), shape);
    for (std::size_t i = 0; i < b->count; ++i)
        b->template as<T>()[i] =
            i % 11 == 7 ? edges[i / 11 % 8]
                        : static_cast<T>(std::sin(1.7 * static_cast<double>(i)) * std::pow(10, i % 5));
    return Tensor<T>(AnyTensor{b, {}});
}

/// One step for each row of xs, which keeps all that `f` makes of it.
template <class T, class F> Program each_row(std::string name, const Tensor<T>& xs, const F& f)
{
    return program<T>(std::move(name), {xs}, [f](const List<T>& w, const auto& out) {
        const auto step = [&](const Tensor<T>& s, const Tensor<T>& x) { return std::pair(s, f(x)); };
        for (const Tensor<T>& y : scan(step, Tensor<T>(T(0)), w[0]).second) out(y);
    });
}

template <class T> List<T> folds_over(const Tensor<T>& x, const Axes& axes, bool keepdims)
{
    return {sum(x, axes, keepdims),  mean(x, axes, keepdims),     prod(x, axes, keepdims),
            amax(x, axes, keepdims), amin(x, axes, keepdims),     var(x, axes, keepdims, 1),
            norm(x, axes, keepdims), logsumexp(x, axes, keepdims)};
}
template <class T> void append(List<T>& to, const List<T>& more)
{
    to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

TEMPLATE_TEST_CASE("native loops: folds over every axis have the bits of the kernels", "[native]", float,
                   double)
{
    using T = TestType;
    const auto folds = [](const Tensor<T>& x) {
        List<T> all;
        for (std::int64_t a = 0; a < static_cast<std::int64_t>(x.dimension()); ++a) {
            append(all, folds_over(x, {a}, a == 0));
            append(all, {softmax(x, a), log_softmax(x, a)});
        }
        return all;
    };
    // one register and less, several, blocks of 256 rows, few columns, more than 16 KiB
    for (const Shape& s : {Shape{2, 3, 4}, Shape{2, 17, 5}, Shape{1, 40, 3}, Shape{1, 530, 1},
                           Shape{1, 9, 70}, Shape{1, 2, 4500}, Shape{1, 300, 33}}) {
        INFO(to_string(s));
        check_native(each_row("tame", numbers<T>(s, 1), folds));
        check_native(each_row("wild", wild<T>(s), folds));
        check_native(each_row("zeros", full<T>(s, T(-0.0)), folds));
    }
}

TEST_CASE("native loops: folds over several axes, of views, of rank 0 and 7, of nothing", "[native]")
{
    const auto axes = [](const D& x) {
        List<double> all = folds_over(x, {0, 2}, true);
        append(all, folds_over(x, {1, 2}, false));
        append(all, {sum(x), mean(x), prod(x), amax(x), norm(x), logsumexp(x), var(x), stddev(x)});
        return all;
    };
    check_native(each_row("axes", wild<double>({2, 5, 6, 7}), axes));
    const auto views = [](const D& x) {
        const D t = transpose(x), part = view(x, range(1, 9, 3), range(0, 6, 2));
        List<double> all = folds_over(t, {0}, false);
        append(all, folds_over(t, {1}, false));
        append(all, folds_over(part, {0}, true));
        append(all, {softmax(t, 0), log_softmax(part, 1), sum(broadcast_to(x(0), {9, 7}), {0})});
        return all;
    };
    check_native(each_row("views", wild<double>({2, 9, 7}), views));
    check_native(each_row("rank0", numbers<double>({4}, 1), [](const D& x) {
        return List<double>{sum(x), mean(x), prod(x), amax(x), norm(x), logsumexp(x), var(x)};
    }));
    check_native(each_row("rank7", numbers<double>({2, 2, 1, 3, 2, 1, 2, 3}, 1), [](const D& x) {
        List<double> all = folds_over(x, {2, 6}, false);
        append(all, {softmax(x, 3)});
        return all;
    }));
    check_native(each_row("nothing", zeros<double>({2, 0, 3}), [](const D& x) {
        return List<double>{sum(x, {0}), mean(x, {0}), prod(x, {0}), norm(x, {0}), logsumexp(x, {0}),
                            var(x, {0}), sum(x, {1}),  norm(x),      logsumexp(x)};
    }));
}

TEST_CASE("native loops: folds of whole numbers and truth values, places", "[native]")
{
    check_native(each_row("whole", wild<double>({2, 6, 7}), [](const D& x) {
        const Tensor<std::int64_t> i = cast<std::int64_t>(where(x < 1e6 && x > -1e6, x, 3.0));
        const Tensor<bool> b = x > 0.5;
        List<double> all;
        for (const std::int64_t a : {0, 1}) {
            for (const auto& y : {sum(i, {a}), prod(i, {a}), amax(i, {a}), amin(i, {a}), argmax(i, a),
                                  argmin(x, a), argmax(x, a), sum(b, {a})})
                all.push_back(cast<double>(y));
            all.push_back(cast<double>(wengert::all(b, {a})));
            all.push_back(cast<double>(wengert::any(b, {a}, true)));
        }
        append(all, {cast<double>(argmax(x)), cast<double>(sum(cast<std::int32_t>(i)))});
        return all;
    }));
}

TEMPLATE_TEST_CASE("native loops: cross_entropy and its derivative", "[native]", float, double)
{
    using T = TestType;
    const Tensor<std::int64_t> labels = {2, 0, 4, 4, 1, 3};
    check_native(each_row("losses", wild<T>({3, 6, 5}), [labels](const Tensor<T>& x) {
        const auto loss = [labels](const Tensor<T>& y) { return cross_entropy(y, labels); };
        return List<T>{loss(x), grad(loss)(x), loss(x * T(0.01))};
    }));
}

namespace {

/// A loss over a scan whose state is s ← 0.9 s + 0.1 f(s) u, with all of f's values kept.
template <class F> auto through(const F& f)
{
    return [f](const List<double>& w) {
        const auto step = [&](const D& s, const D& u) {
            const D y = f(s);
            return std::pair(0.9 * s + 0.1 * y * u, sum(square(y)));
        };
        const auto [end, path] = scan(step, w[0], w[1]);
        return sum(square(end)) + sum(path);
    };
}
List<double> start(const Shape& state, std::int64_t steps)
{
    Shape xs{steps};
    for (auto e : state) xs.push_back(e);
    return {numbers<double>(state, 1) + 2.0, numbers<double>(xs, 2)};
}

}  // namespace

TEST_CASE("native loops: derivatives of folds, to second order", "[native]")
{
    struct Case {
        const char* name;
        D (*f)(const D&);
    };
    const Case cases[] = {
        {"norm", [](const D& s) { return s / norm(s); }},
        {"norms", [](const D& s) { return s * norm(s, {1}, true); }},
        {"leading", [](const D& s) { return s * sum(s, {0}) + mean(s, {0}, true); }},
        {"extremes", [](const D& s) { return s * amax(s, {0}) - amin(s, {1}, true); }},
        {"spread", [](const D& s) { return s / (1.0 + var(s, {0}) + stddev(s)); }},
        {"exponents", [](const D& s) { return softmax(s) + log_softmax(s, 0) * logsumexp(s); }},
        {"products", [](const D& s) { return s + prod(s, {1}, true); }}};
    for (const Case& c : cases) {
        const List<double> x = start({4, 3}, 5);
        check_native(gradient<double>(c.name, x, through(c.f)));
        CHECK(check_grads([&](const D& s) { return through(c.f)({s, x[1]}); }, x[0], {.order = 2}).ok);
    }
    const auto curvature = [](const List<double>& w, const auto& out) {
        const auto f = [&](const D& s) { return through([](const D& v) { return v / norm(v); })({s, w[1]}); };
        out(jvp(grad(f), w[0], w[0] * 0.5).second);
    };
    check_native(program<double>("curvature", start({3}, 5), curvature));
}

TEST_CASE("native loops: folds in loops that keep few states, end by their data, branch and nest", "[native]")
{
    const auto few = [](const List<double>& w) {
        const auto step = [&](const D& s) { return std::pair(s - 0.1 * s / norm(s), amax(s)); };
        const auto [end, path] = scan(step, w[0], 20, ScanOptions{.snapshots = 3});
        return sum(square(end)) + sum(path);
    };
    check_native(gradient<double>("few", {numbers<double>({5}, 1)}, few));
    const auto converging = [](const List<double>& w) {
        return sum(while_loop([](const D& s) { return norm(s) > 1e-3; },
                              [&](const D& s) { return 0.5 * s * sum(softmax(w[1])); }, w[0]));
    };
    check_native(
        gradient<double>("converging", {numbers<double>({6}, 1), numbers<double>({4}, 2)}, converging));
    const auto nested = [](const List<double>& w) {
        const auto inner = [&](const D& s) { return std::pair(s / (1.0 + var(s)), mean(s, {0})); };
        const auto step = [&](const D& s, const D& u) {
            const D next = cond(
                amax(s) > 1.0, [&](const D& y) { return scan(inner, y, 3).first; },
                [&](const D& y) { return y + norm(y) * u; }, s);
            return std::pair(next, logsumexp(next));
        };
        const auto [end, path] = scan(step, w[0], w[1]);
        return sum(end) + sum(path);
    };
    check_native(gradient<double>("nested", start({3, 2}, 6), nested));
}

namespace {

/// Folds of a program's own: with the library's passes, under another's name …
struct OwnNorm {
    static constexpr std::string_view name = "copy";
    using passes = Norm::passes;
    static constexpr bool flat = true;
    Axes axes;
    void describe(Fold& f) const { f.axes = &axes; }
};
/// … of a function of two numbers, ln(e^a + e^b) …
struct LogAdd {
    static constexpr std::string_view name = "log_add";
    static constexpr Literal identity = lit(-std::numeric_limits<double>::infinity());
    template <class V> static V combine(const V& a, const V& b)
    {
        using std::abs, std::exp, std::log1p;
        const V most = maximum(a, b);
        return where(is_finite(most), most + log1p(exp(-abs(a - b))), most);
    }
    Axes axes;
    void describe(Fold& f) const { f.axes = &axes; }
};
/// … of two numbers, the mean and Σ (x − mean)², with their count: Chan, Golub & LeVeque 1983 …
struct Spread {
    static constexpr std::string_view name = "spread";
    static constexpr std::array identity = {lit(0), lit(0), lit(0)};
    template <class V> static std::array<V, 3> map(const V& x) { return {V(lit(1)), x, V(lit(0))}; }
    template <class V> static std::array<V, 3> combine(const std::array<V, 3>& a, const std::array<V, 3>& b)
    {
        const V n = a[0] + b[0], d = b[1] - a[1], part = b[0] / n;
        const auto both = [&](const V& x, const V& y,
                              const V& z) {  // what is empty changes nothing, to the bit
            return where(a[0] > lit(0), where(b[0] > lit(0), z, x), y);
        };
        return {n, both(a[1], b[1], a[1] + d * part), both(a[2], b[2], a[2] + b[2] + d * d * a[0] * part)};
    }
    template <class V> static V result(const std::array<V, 3>& s) { return s[2] / s[0]; }
    Axes axes;
    void describe(Fold& f) const { f.axes = &axes, f.keepdims = true; }
};
/// … a power mean, which is told its power …
struct PowerMean {
    static constexpr std::string_view name = "power_mean";
    struct Powers : monoid::Add {
        template <class V> static V map(const V& x, const FoldLine<V>& line)
        {
            using std::abs, std::pow;
            return pow(abs(x), line.number);
        }
        template <class V> static V result(const V& s, const FoldLine<V>& line)
        {
            using std::pow;
            return pow(s / line.n, lit(1) / line.number);
        }
    };
    using passes = Passes<Powers>;
    Axes axes;
    double power;
    void describe(Fold& f) const { f.axes = &axes, f.number = power; }
};
/// … and with a result for each element: x less the least of its line.
struct Above {
    static constexpr std::string_view name = "above";
    static constexpr bool flat = true;
    using passes = Passes<monoid::Minimum>;
    using maps = void;
    template <class V> static V each(const V& x, const FoldLine<V>& line) { return x - line.r[0]; }
    std::size_t axis;
    void describe(Fold& f) const { f.axis = axis; }
};

template <class T> List<T> own_folds(const Tensor<T>& x, std::int64_t a)
{
    return {apply<OwnNorm, T>({{a}}, Site{}, x), apply<LogAdd, T>({{a}}, Site{}, x),
            apply<Spread, T>({{a}}, Site{}, x), apply<PowerMean, T>({{a}, 2.5}, Site{}, x),
            apply<Above, T>({static_cast<std::size_t>(a)}, Site{}, x)};
}

}  // namespace

TEMPLATE_TEST_CASE("a program's own folds run on every executor", "[native]", float, double)
{
    using T = TestType;
    const auto near = [](const Tensor<T>& a, const Tensor<T>& b) {
        return allclose(a, b, std::is_same_v<T, float> ? 1e-5 : 1e-13);
    };
    for (const Shape& s : {Shape{2, 3, 4}, Shape{1, 17, 5}, Shape{1, 1, 9}, Shape{1, 530, 1},
                           Shape{1, 2, 4500}, Shape{1, 300, 33}, Shape{1, 7, 300}}) {
        INFO(to_string(s));
        const auto both = [](const Tensor<T>& x) {
            List<T> all = own_folds(x, 0);
            append(all, own_folds(x, 1));
            return all;
        };
        check_native(each_row("tame", numbers<T>(s, 1), both));
        check_native(each_row("wild", wild<T>(s), both));
        const Tensor<T> x = reshape(numbers<T>(s, 1), {s[0] * s[1], s[2]});
        for (const std::int64_t a : {0, 1}) {
            const List<T> y = own_folds(x, a);
            CHECK(different_elements(*y[0].any().value, *norm(x, {a}).any().value) == 0);
            CHECK(near(y[1], logsumexp(x, {a})));
            CHECK(near(y[2], var(x, {a}, true)));
            CHECK(near(y[4], x - amin(x, {a}, true)));
        }
    }
    for (const Backend& backend : std::vector<Backend>{interpret, tile, native})
        for (const Tensor<T>& x : {wild<T>({3, 40, 5}), wild<T>({3, 40, 1})}) {  // columns, rows
            const auto f = [](const Tensor<T>& t) {
                Tensor<T> total(T(0));
                for (const Tensor<T>& y : own_folds(t * T(0.5), 1)) total = total + sum(y);
                return total;
            };
            auto frozen = freeze(f, {.backend = backend});
            frozen(x);
            CHECK(different_elements(*frozen(x).any().value, *f(x).any().value) == 0);
        }
}

namespace {

/// By the library's monoids: products, also of zeros, what is linear, and a map that reads the first of its line.
struct OwnProduct {
    static constexpr std::string_view name = "prod";
    using passes = Passes<monoid::Multiply>;
    Axes axes;
    void describe(Fold& f) const { f.axes = &axes; }
};
struct Thirds {
    static constexpr std::string_view name = "thirds";
    static constexpr bool linear = true;
    struct Third : monoid::Add {
        template <class V> static V map(const V& x) { return x * lit(0.25); }
        template <class V> static V result(const V& s) { return s * lit(3); }
    };
    using passes = Passes<Third>;
    Axes axes;
    void describe(Fold& f) const { f.axes = &axes; }
};
struct FromFirst {
    static constexpr std::string_view name = "from_first";
    struct Difference : monoid::Add {
        template <class V> static V map(const V& x, const FoldLine<V>& line) { return x - line.first; }
    };
    using passes = Passes<Difference>;
    Axes axes;
    void describe(Fold& f) const { f.axes = &axes; }
};

}  // namespace

TEST_CASE("in derived rules of folds 0 times infinity is no contribution", "[native]")
{
    const auto norms = [](const D& x) { return apply<PowerMean, double>({{1}, 0.5}, Site{}, x); };
    const auto known = [](const D& x) { return square(mean(sqrt(abs(x)), Axes{1})); };
    const auto products = [](const D& x) { return apply<OwnProduct, double>({{1}}, Site{}, x); };
    const D x = {{0.0, 0.0}, {4.0, 9.0}}, w = {0.0, 1.0}, dot = {{0.0, 0.0}, {1.0, 2.0}};
    const auto weighed = [&](const auto& f) { return [&](const D& t) { return sum(f(t) * w); }; };
    CHECK(allclose(grad(weighed(norms))(x), grad(weighed(known))(x), 1e-14));
    CHECK(allclose(jvp(norms, x, dot).second, jvp(known, x, dot).second, 1e-14));
    const double far = std::numeric_limits<double>::infinity();
    CHECK(allclose(grad(weighed(products))(D{{far, 2.0}, {3.0, 4.0}}), D{{0.0, 0.0}, {4.0, 3.0}}, 0.0));
    auto frozen = freeze(grad(weighed(norms)), {.backend = native});
    for (int k = 0; k < 2; ++k) CHECK(allclose(frozen(x), grad(weighed(known))(x), 1e-14));
    const AllowNaN off;
    CHECK(std::isnan(grad(weighed(norms))(x)(0, 0).item()));
}

TEST_CASE("a program's own folds have derivatives by their formulas", "[native]")
{
    const auto all = [](const D& x, const Axes& a) {
        return sum(sin(apply<LogAdd, double>({a}, Site{}, x))) +
               sum(square(apply<Spread, double>({a}, Site{}, x))) +
               sum(square(apply<PowerMean, double>({a, 2.5}, Site{}, x))) +
               sum(sin(apply<OwnProduct, double>({a}, Site{}, x))) +
               sum(square(apply<Thirds, double>({a}, Site{}, x)));
    };
    const auto known = [](const D& x, const Axes& a) {
        const auto n = static_cast<double>(x.size()) / static_cast<double>(sum(x, a).size());
        return sum(sin(logsumexp(x, a))) + sum(square(var(x, a))) +
               sum(square(pow(mean(pow(abs(x), 2.5), a), 0.4))) + sum(sin(prod(x, a))) +
               sum(square(mean(x, a) * (0.75 * n)));
    };
    const D x = numbers<double>({2, 5, 3}, 4);
    for (const Axes& a : {Axes{0}, Axes{1}, Axes{0, 2}, Axes{0, 1, 2}}) {
        INFO(to_string(a));
        const auto f = [&](const D& t) { return all(t, a); };
        const auto checked = check_grads(f, x, {.order = 2});
        CHECK(checked.ok);
        INFO(checked.message);
        CHECK(allclose(grad(f)(x), grad([&](const D& t) { return known(t, a); })(x), 1e-12));
        for (const Backend& backend : std::vector<Backend>{interpret, tile}) {
            auto frozen = freeze(grad(f), {.backend = backend});
            frozen(x);
            CHECK(different_elements(*frozen(x).any().value, *grad(f)(x).any().value) == 0);
        }
    }
    const auto product = [](const D& t) { return sum(apply<OwnProduct, double>({{0}}, Site{}, t)); };
    CHECK(allclose(grad(product)(D{2.0, 0.0, 3.0}), D{0.0, 6.0, 0.0}, 0.0));
    CHECK(grad(product)(zeros<double>({0, 3})).size() == 0);
    const auto loop = [&](const D& t) {
        const auto step = [&](const D& s) {
            return std::pair(t * apply<LogAdd, double>({{0}}, Site{}, s), std::tuple<>());
        };
        return sum(scan(step, t, 4).first);
    };
    auto frozen = freeze(grad(loop), {.backend = native});
    const D v{0.25, -0.5, 1.0};
    frozen(v);
    CHECK(different_elements(*frozen(v).any().value, *grad(loop)(v).any().value) == 0);
    D far;
    {
        const OnDevice there(apart::device());
        far = D(x.shape(), std::vector<double>(x.data(), x.data() + x.size()));
    }
    const OnDevice host(0);  // constants of formulas are made here
    const auto g = [&](const D& t) { return all(t, {1}); };
    const auto tangent = [&](const D& t) { return jvp(g, t, t * 0.5).second; };
    CHECK(grad(g)(far).any().value->device() == apart::device());
    CHECK(different_elements(*readable(grad(g)(far).any().value), *grad(g)(x).any().value) == 0);
    CHECK(different_elements(*readable(grad(tangent)(far).any().value), *grad(tangent)(x).any().value) == 0);
    CHECK_THROWS_AS(grad([](const D& t) { return sum(apply<FromFirst, double>({{0}}, Site{}, t)); })(v),
                    Error);
}
