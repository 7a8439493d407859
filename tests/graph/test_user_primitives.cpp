// A program's own primitives of awkward kinds: gathers that are clamped, mirrored, wrapped and strided, scatters, scans beside a rule,
// operands that are written into, folds of several numbers, a product of batches that has its shape rule. Values are those of plain
// loops; and what the library's own primitives have, these have: both modes to order 2 in every executor, in loops, branches and
// checkpoints, on another device, for any extent, in place, on threads.
#include "emit_programs.hpp"

#include <thread>

#include <wengert/devices/apart.hpp>
#include <wengert/graph/control.hpp>
#include <wengert/graph/emit/native.hpp>
#include <wengert/graph/freeze.hpp>
#include <wengert/graph/passes/dead_code.hpp>
#include <wengert/transforms/saved_tensor_hooks.hpp>
#include <wengert/wengert.hpp>

using D = Tensor<double>;
using I = Tensor<std::int64_t>;

namespace {

Positions at(std::initializer_list<Position> of)
{
    Positions all;
    for (const Position& p : of) all.push_back(p);
    return all;
}

}  // namespace

/// y[i, j] = x[2 i − 1 clamped, 2 j − 3 mirrored] − x[i + j wrapped, j + 2] + x[n − 1, i − 1], the last two 0 outside
struct Crossed {
    static constexpr std::string_view name = "sum";
    static constexpr bool linear = true;
    void describe(Index& p) const
    {
        const std::int64_t n = p.shape(0)[0];
        const Positions i = p.axes_of(0);
        p.write(i);
        p.read(0, at({clamp(i[0] * 2 - 1), mirror(i[1] * 2 - 3)}));
        p.read_minus(0, at({wrap(i[0] + i[1]), masked(i[1] + 2)}));
        p.read(0, at({n - 1, masked(i[0] - 1)}));
    }
};
/// y[k, j] = x[r[k], 2 j − 1 clamped], r from the end where it is negative
struct Picked {
    static constexpr std::string_view name = "take";
    static constexpr bool linear = true;
    void describe(Index& p) const
    {
        const Positions i = p.axes({p.shape(1)[0], p.shape(0)[1]});
        p.write(i);
        p.read(0, at({p.element(1, at({i[0]}), true), clamp(i[1] * 2 - 1)}));
    }
};
/// y full of 0, and y[r[i], j + 1 wrapped] += x[i, j]
struct Scattered {
    static constexpr std::string_view name = "scatter_add";
    static constexpr bool linear = true;
    std::int64_t rows;
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(0);
        p.write(at({p.element(1, at({i[0]})), wrap(i[1] + 1)}), {rows, p.shape(0)[1]});
        p.adding();
        p.read(0, i);
    }
};
/// y = x, and then y[i + 1, j] += x[i, 0]
struct Carried {
    static constexpr std::string_view name = "copy";
    static constexpr bool linear = true;
    void describe(Index& p) const
    {
        const Shape& x = p.shape(0);
        const Positions i = p.axes({std::max<std::int64_t>(x[0] - 1, 0), x[1]});
        p.write_into(at({i[0] + 1, i[1]}), 0);
        p.adding();
        p.read(0, at({i[0], 0}));
    }
};
/// y[i, j] = Σ x[i − 1 clamped, k] over k ≥ j, at the column that is opposite
struct Summed {
    static constexpr std::string_view name = "cumsum";
    static constexpr bool linear = true;
    void describe(Index& p) const
    {
        const Shape& x = p.shape(0);
        const Positions i = p.axes_of(0);
        p.scan(i[1], Scan::add, true);
        p.write(at({i[0], x[1] - 1 - i[1]}), x);
        p.adding();
        p.read(0, at({clamp(i[0] - 1), i[1]}));
    }
};
/// s[i] = x[i] + c[i + h] s[i − 1] of rows, 0 before the first and where c ends, or from the last one on
struct Decay {
    static constexpr std::string_view name = "recurrence";
    static constexpr unsigned saves = 0b101;
    bool back;
    std::int64_t h;
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(1);
        p.scan(i[0], Scan::recurrence, back);
        p.write(i);
        p.read(1, i);
        p.coefficient(0, at({masked(i[0] + h)}));
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& c, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<Decay, T>({!back, h + (back ? -1 : 1)}, Site{}, c, g);
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& c, const Tensor<T>& x,
                   const Tensor<T>& s) const
    {
        const Tensor<T> all = pull(wrt<1>{}, g, c, x, s);
        const Tensor<T> r = sum(all * moved(s, back ? -1 : 1), {1});
        return h == 0 ? r
                      : pad(view(r, range(h > 0 ? 0 : -h, c.shape()[0] - std::max<std::int64_t>(h, 0))),
                            {{std::max<std::int64_t>(h, 0), std::max<std::int64_t>(-h, 0)}});
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dc, const Tensor<T>& dx, const Tensor<T>& c, const Tensor<T>&,
                   const Tensor<T>& s) const
    {
        const Tensor<T> by = moved(reshape(dc, {dc.shape()[0], 1}), -h);
        return apply<Decay, T>(*this, Site{}, c, dx + by * moved(s, back ? -1 : 1));
    }

private:
    /// y[i] = x[i − by] of rows
    template <class T> static Tensor<T> moved(const Tensor<T>& x, std::int64_t by)
    {
        if (by == 0) return x;
        const std::int64_t n = x.shape()[0];
        return by > 0 ? pad(view(x, range(0, n - by)), {{by, 0}, {0, 0}})
                      : pad(view(x, range(-by, n)), {{0, -by}, {0, 0}});
    }
};
/// Σ x² ÷ (1 + |Σ x|) over axes
struct Ratio {
    static constexpr std::string_view name = "norm";
    static constexpr std::array identity = {lit(0), lit(0)};
    template <class V> static std::array<V, 2> map(const V& x) { return {x * x, x}; }
    template <class V> static std::array<V, 2> combine(const std::array<V, 2>& a, const std::array<V, 2>& b)
    {
        return {a[0] + b[0], a[1] + b[1]};
    }
    template <class V> static V result(const std::array<V, 2>& s)
    {
        using std::abs;
        return s[0] / (lit(1) + abs(s[1]));
    }
    Axes axes;
    bool keepdims;
    void describe(Fold& f) const { f.axes = &axes, f.keepdims = keepdims; }
};
/// y[b] = x[b] zᵀ for each b: a product of batches
struct Batched {
    static constexpr std::string_view name = "matmul";
    static constexpr bool bilinear = true, infallible = true;
    static constexpr unsigned saves = 0b011;
    MatrixProduct product() const
    {
        return {.a = {.operand = 0}, .b = {.operand = 1, .transposed = true, .column = true}, .batch = 1};
    }
    static Shape result_shape(const Shape& x, const Shape& z)
    {
        if (x.size() != 3 || z.size() != 2 || x[2] != z[1])
            throw ShapeError("shapes " + to_string(x) + " and " + to_string(z));
        return {x[0], x[1], z[0]};
    }
    template <class T> Ref<Block> value(const Ref<Block>& of, const Ref<Block>& by, const Site&) const
    {
        const auto a = contiguous(of), b = contiguous(by);
        auto y = make_block(dtype_of<T>(), result_shape(of->shape, by->shape));
        const auto n = static_cast<std::size_t>(b->shape[0]), k = static_cast<std::size_t>(b->shape[1]);
        for (std::size_t i = 0; i < y->count; ++i) {
            T s = 0;
            for (std::size_t p = 0; p < k; ++p)
                s += a->template as<T>()[i / n * k + p] * b->template as<T>()[i % n * k + p];
            y->template as<T>()[i] = s;
        }
        return y;
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& z, const Tensor<T>&) const
    {
        return matmul(g, z);
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>&, const Tensor<T>&) const
    {
        return sum(matmul(swapaxes(g, -1, -2), x), {0});
    }
};

/// y = z, and then y[i] += x[i] three times over
struct Thrice {
    static constexpr std::string_view name = "add_view";
    static constexpr bool flat = true;
    void describe(Index& p) const
    {
        const Positions i = p.axes({p.shape(0)[0], 3});
        p.write_into(at({i[0]}), 0);
        p.adding();
        p.read(1, at({i[0]}));
    }
};

namespace {

using Values = std::vector<double>;
/// Plain loops over x[n][m].
struct Plain {
    const double* x;
    std::int64_t n, m;
    double operator()(std::int64_t i, std::int64_t j) const { return x[i * m + j]; }
};
std::int64_t clamped(std::int64_t i, std::int64_t n) { return std::clamp<std::int64_t>(i, 0, n - 1); }
std::int64_t mirrored(std::int64_t i, std::int64_t n)
{
    while (n > 1 && (i < 0 || i >= n)) i = i < 0 ? -i : 2 * (n - 1) - i;
    return n == 1 ? 0 : i;
}

const std::vector<std::int64_t> picks = {2, -1, 0, 2, -3, 1}, rows = {2, 0, 2, 4, 0, 2, 1, 3, 3, 0};

I picked() { return I(Shape{static_cast<std::int64_t>(picks.size())}, picks); }
I rows_of(std::int64_t n)
{
    I all(Shape{static_cast<std::int64_t>(rows.size())}, rows);
    return view(all, range(0, n));
}
D coefficients(std::int64_t n) { return cos(arange<double>(n)); }

Values crossed(const Plain& x)
{
    Values y;
    for (std::int64_t i = 0; i < x.n; ++i)
        for (std::int64_t j = 0; j < x.m; ++j) {
            double v = x(clamped(2 * i - 1, x.n), mirrored(2 * j - 3, x.m));
            v -= j + 2 < x.m ? x((i + j) % x.n, j + 2) : 0.0;
            v += i >= 1 && i - 1 < x.m ? x(x.n - 1, i - 1) : 0.0;
            y.push_back(v);
        }
    return y;
}
Values of_picked(const Plain& x)
{
    Values y;
    for (const auto r : picks)
        for (std::int64_t j = 0; j < x.m; ++j) y.push_back(x(r < 0 ? r + x.n : r, clamped(2 * j - 1, x.m)));
    return y;
}
Values scattered(const Plain& x)
{
    Values y(static_cast<std::size_t>(5 * x.m));
    for (std::int64_t i = 0; i < x.n; ++i)
        for (std::int64_t j = 0; j < x.m; ++j)
            y[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)] * x.m + (j + 1) % x.m)] += x(i, j);
    return y;
}
Values carried(const Plain& x)
{
    Values y(x.x, x.x + x.n * x.m);
    for (std::int64_t i = 0; i + 1 < x.n; ++i)
        for (std::int64_t j = 0; j < x.m; ++j) y[static_cast<std::size_t>((i + 1) * x.m + j)] += x(i, 0);
    return y;
}
Values summed(const Plain& x)
{
    Values y(static_cast<std::size_t>(x.n * x.m));
    for (std::int64_t i = 0; i < x.n; ++i) {
        double s = 0;
        for (std::int64_t j = x.m; j-- > 0;)
            y[static_cast<std::size_t>(i * x.m + x.m - 1 - j)] = s += x(clamped(i - 1, x.n), j);
    }
    return y;
}
Values decayed(const Plain& x)
{
    Values y;
    for (std::int64_t i = 0; i < x.n; ++i)
        for (std::int64_t j = 0; j < x.m; ++j)
            y.push_back(x(i, j) + (i > 0 && i + 1 < x.n ? std::cos(static_cast<double>(i + 1)) *
                                                              y[static_cast<std::size_t>((i - 1) * x.m + j)]
                                                        : 0.0));
    return y;
}
Values ratios(const Plain& x)
{
    Values y;
    for (std::int64_t i = 0; i < x.n; ++i) {
        double a = 0, b = 0;
        for (std::int64_t j = 0; j < x.m; ++j) a += x(i, j) * x(i, j), b += x(i, j);
        y.push_back(a / (1 + std::abs(b)));
    }
    return y;
}
Values products(const Plain& x)
{
    Values y;
    for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t i = 0; i < x.n; ++i)
            for (std::int64_t j = 0; j < x.n; ++j) {
                double s = 0;
                for (std::int64_t k = 0; k < x.m; ++k) s += (b ? 2 : 1) * x(i, k) * x(j, k);
                y.push_back(s);
            }
    return y;
}

struct Own {
    std::string name;
    D (*of)(const D&);
    Values (*plain)(const Plain&);
    bool library = false, fixed = false;  ///< fixed: constants of the extent are part of it
};
const std::vector<Own>& all_own()
{
    static const std::vector<Own> all = {
        {"crossed", [](const D& x) { return apply<Crossed, double>({}, Site{}, x); }, crossed},
        {"picked", [](const D& x) { return apply<Picked, double>({}, Site{}, x, picked()); }, of_picked},
        {"scattered",
         [](const D& x) { return apply<Scattered, double>({5}, Site{}, x, rows_of(x.shape()[0])); },
         scattered, false, true},
        {"carried", [](const D& x) { return apply<Carried, double>({}, Site{}, x); }, carried},
        {"summed", [](const D& x) { return apply<Summed, double>({}, Site{}, x); }, summed},
        {"decayed",
         [](const D& x) {
             return apply<Decay, double>({false, 1}, Site{}, coefficients(x.shape()[0]), x);
         },
         decayed, false, true},
        {"decayed by the data",
         [](const D& x) {
             return apply<Decay, double>({true, -1}, Site{}, sum(x, {1}), x);
         },
         nullptr},
        {"ratio",
         [](const D& x) {
             return apply<Ratio, double>({{1}, true}, Site{}, x);
         },
         ratios},
        {"products",
         [](const D& x) {
             return apply<Batched, double>({}, Site{}, wengert::stack({x, 2.0 * x}, 0), x);
         },
         products, true}};
    return all;
}
/// Of the loss of which the derivatives are taken.
D loss_of(const Own& own, const D& x) { return sum(sin(own.of(x)) + square(own.of(x * 0.5))); }

bool close(const D& a, const D& b) { return a.shape() == b.shape() && allclose(a, b, 1e-12); }
bool same(const D& a, const D& b, bool library)
{
    return library ? close(a, b) : same_elements(*readable(a.any().value), *readable(b.any().value));
}

/// What is asked of each: the value, the gradient, a product with the Hessian, a tangent.
std::vector<D> everything(const Own& own, const D& x)
{
    const auto loss = [own](const D& t) { return loss_of(own, t); };
    const D v = cos(x * 3.0);
    return {own.of(x), grad(loss)(x), hvp(loss)(x, v),
            jvp([own](const D& t) { return own.of(t); }, x, v).second};
}
const std::vector<Backend>& backends()
{
    static const std::vector<Backend> all = {interpret, tile, native};
    return all;
}

}  // namespace

TEST_CASE("own primitives: values are those of plain loops, derivatives those of differences")
{
    for (const Own& own : all_own()) {
        INFO(own.name);
        for (const Shape& shape : {Shape{5, 4}, Shape{10, 1}, Shape{3, 7}, Shape{4, 9}}) {
            const D x = numbers<double>(shape, 1);
            const D turned = transpose(copy(transpose(x)));
            if (own.plain) {
                const Values want = own.plain({x.data(), shape[0], shape[1]});
                for (const D& y : {own.of(x), own.of(turned)}) {
                    REQUIRE(y.size() == want.size());
                    CHECK(
                        allclose(flatten(y), D(Shape{static_cast<std::int64_t>(want.size())}, want), 1e-13));
                }
            }
            const auto loss = [&](const D& t) { return loss_of(own, t); };
            const CheckReport report = check_grads(loss, x, {.order = 2});
            INFO(report.message);
            CHECK(report.ok);
            const AuditReport audited = audit(loss, turned);
            INFO(audited.message);
            CHECK(audited.ok);
        }
        // rows of the Hessian, forwards over backwards and backwards twice
        const D x = numbers<double>({3, 4}, 2);
        const auto loss = [&](const D& t) { return loss_of(own, t); };
        const D h = hessian(loss)(x), twice = jacobian(grad(loss))(x);
        CHECK(close(h, twice));
        CHECK(close(h, transpose(h, {2, 3, 0, 1})));
    }
}

TEST_CASE("own primitives: in every executor, eager's bits and no host call")
{
    const D x = numbers<double>({5, 4}, 1), other = numbers<double>({5, 4}, 4);
    for (const Own& own : all_own())
        for (const Backend& backend : backends()) {
            INFO(own.name << ", " << backend.name);
            auto frozen = freeze([own](const D& t) { return everything(own, t); }, {.backend = backend});
            for (const D& a : {x, other, x}) {
                const auto want = everything(own, a), got = frozen(a);
                for (std::size_t k = 0; k < want.size(); ++k) {
                    INFO("result " << k);
                    CHECK(same(got[k], want[k], own.library));
                }
            }
            INFO(frozen.explain());
            CHECK(frozen.stats().eager_calls == 0);
            CHECK(frozen.explain().find("host call") == std::string::npos);
            if (backend.name == native.name && !own.library)
                CHECK(frozen.explain().find("no native form") == std::string::npos);
        }
}

TEST_CASE("own primitives: in loops and branches, under checkpoints, with hooks", "[native]")
{
    const D x = numbers<double>({4, 3}, 1), xs = numbers<double>({3, 4, 3}, 3);
    for (const Own& own : all_own()) {
        INFO(own.name);
        const auto in_scan = [own](const D& s, const D& inputs) {
            const auto step = [own](const D& a, const D& u) { return std::pair(a * 0.5 + u, own.of(a + u)); };
            return sum(sin(scan(step, s, inputs).second));
        };
        const auto in_while = [own](const D& s, const D&) {
            const auto more = [](const auto& t) { return std::get<1>(t) < 3; };
            const auto step = [own](const auto& t) {
                const D y = std::get<0>(t);
                return std::tuple(y * 0.5 + sum(own.of(y)) * 0.01, std::get<1>(t) + 1);
            };
            return sum(square(std::get<0>(while_loop(more, step, std::tuple(s, I(std::int64_t{0}))))));
        };
        const auto in_cond = [own](const D& s, const D& inputs) {
            const auto yes = [own](const D& a) { return sum(square(own.of(a))); };
            const auto no = [](const D& a) { return sum(a); };
            return cond(sum(inputs) < 1e9, yes, no, s);
        };
        using Loss = std::function<D(const D&, const D&)>;
        for (const auto& [name, f] : std::vector<std::pair<const char*, Loss>>{
                 {"scan", in_scan}, {"while", in_while}, {"cond", in_cond}}) {
            INFO(name);
            const auto both = [f](const D& s, const D& inputs) { return value_and_grad<0>(f)(s, inputs); };
            const auto [value, g] = both(x, xs);
            CHECK(check_grads([&](const D& s) { return f(s, xs); }, x, {.order = 2}).ok);
            for (const Backend& backend : backends()) {
                auto frozen = freeze(both, {.backend = backend});
                for (int i = 0; i < 3; ++i) {
                    const auto [v, h] = frozen(x, xs);
                    CHECK(same(v, value, own.library));
                    CHECK(same(h, g, own.library));
                }
                INFO(backend.name << ": " << frozen.explain());
                if (!own.library) CHECK(frozen.explain().find("step by step") == std::string::npos);
            }
        }
        const auto loss = [own](const D& t) { return loss_of(own, t); };
        const D g = grad(loss)(x);
        CHECK(same(grad([&](const D& t) { return checkpoint(loss)(t); })(x), g, false));
        {
            const SavedTensorHooks hooks(save_on_disk("/tmp"));
            CHECK(same(grad(loss)(x), g, false));
        }
        // written in place, recorded: a part of what is there, and all of it
        const auto updated = [own](const D& t) {
            D y = t * 1.0;
            const D v = own.of(y);
            view(y, range(1, 3)) += sum(v);
            y += t;
            view(y, 0) = sum(v) * 0.5;
            return sum(square(own.of(y)));
        };
        CHECK(check_grads(updated, x, {.order = 2}).ok);
        auto frozen = freeze(grad(updated));
        for (int i = 0; i < 3; ++i) CHECK(same(frozen(x), grad(updated)(x), own.library));
        // rows of a batch, one after another, under keys
        const auto batch = [own](const D& b) {
            std::vector<D> all;
            for (std::int64_t k = 0; k < b.shape()[0]; ++k)
                all.push_back(
                    sum(own.of(b(k) * dropout_mask<double>(fold_in(Key(3), static_cast<std::uint64_t>(k)),
                                                           b(k).shape(), 0.3))));
            return sum(square(wengert::stack(all, 0)));
        };
        auto batches = freeze(grad(batch), {.backend = native});
        for (int i = 0; i < 3; ++i) CHECK(same(batches(xs), grad(batch)(xs), own.library));
    }
}

TEST_CASE("own primitives: for any extent, into memory that is given, on threads")
{
    for (const Own& own : all_own()) {
        INFO(own.name);
        const auto f = [own](const D& t) { return grad([own](const D& u) { return loss_of(own, u); })(t); };
        auto any = freeze(f, {.check = false, .dynamic = {0}});
        for (const std::int64_t n : {4, 6, 9, 5, 3, 10}) {
            const D x = numbers<double>({n, 4}, 1);
            CHECK(same(any(x), f(x), own.library));
        }
        CHECK((own.fixed || any.stats().specialised > 0));
        const D x = numbers<double>({6, 5}, 1);
        auto frozen = freeze(f, {.threads = 3});
        D to = zeros<double>({6, 5});
        for (int i = 0; i < 3; ++i) {
            frozen.into(to)(x);
            CHECK(same(to, f(x), own.library));
        }
        const D want = f(x);
        std::vector<char> good(3);
        std::vector<std::thread> team;
        for (std::size_t k = 0; k < good.size(); ++k)
            team.emplace_back([&, k] {
                good[k] = true;
                for (int i = 0; i < 20; ++i) good[k] = good[k] && same(frozen(x), want, own.library);
            });
        for (auto& t : team) t.join();
        CHECK(std::count(good.begin(), good.end(), 1) == 3);
    }
}

TEST_CASE("own primitives: on another device, eager, frozen and in loops")
{
    const D x = numbers<double>({4, 3}, 1);
    for (const Own& own : all_own()) {
        INFO(own.name);
        const std::vector<D> want = everything(own, x);
        const auto looped = [own](const D& s) {
            return grad([own](const D& t) {
                const auto step = [own](const D& a) { return std::pair(a * 0.5, sum(own.of(a))); };
                return sum(square(scan(step, t, 3).second));
            })(s);
        };
        const D in_loop = looped(x);
        const OnDevice there(apart::device());
        const D away(x.shape(), Values(x.data(), x.data() + x.size()));
        auto frozen = freeze([own](const D& t) { return everything(own, t); });
        auto loop = freeze(looped);
        for (int i = 0; i < 3; ++i) {
            const auto got = i ? frozen(away) : everything(own, away);
            for (std::size_t k = 0; k < want.size(); ++k) CHECK(same(got[k], want[k], own.library));
            CHECK(same(loop(away), in_loop, own.library));
        }
    }
}

TEST_CASE("own primitives: as emitted C and C++", "[emit]")
{
    std::vector<Program> all;
    for (const Own& own : all_own())
        for (const Shape& shape : {Shape{5, 4}, Shape{3, 1}}) {
            Program p{"own" + std::to_string(all.size()), {}, {numbers<double>(shape, 1).any().value}, {}};
            p.graph = passes::dead_code(trace_graph(
                [&](const std::vector<AnyTensor>& in) {
                    std::vector<AnyTensor> out;
                    for (const D& y : everything(own, D(in[0]))) out.push_back(y.any());
                    return out;
                },
                p.inputs));
            for (const D& y : everything(own, D(AnyTensor{p.inputs[0], {}})))
                p.expected.push_back(readable(y.any().value));
            all.push_back(std::move(p));
        }
    const Compiled object(all, true);
    if (!object.object) return;
    for (std::size_t k = 0; k < all.size(); ++k) {
        std::vector<Ref<Block>> out;
        REQUIRE(object(all[k], all[k].inputs, &out) == 0);
        for (std::size_t i = 0; i < out.size(); ++i) {
            INFO(all_own()[k / 2].name << ", result " << i);
            const D got(AnyTensor{out[i], {}}), want(AnyTensor{all[k].expected[i], {}});
            CHECK(same(got, want, all_own()[k / 2].library));
        }
    }
}

TEST_CASE("own primitives: what is added several times is added as often in every executor")
{
    const D x = numbers<double>({5}, 1), y = numbers<double>({5}, 2);
    const auto f = [](const D& a, const D& b) {
        return std::pair(apply<Thrice, double>({}, Site{}, zeros<double>({5}), b),
                         apply<Thrice, double>({}, Site{}, a, b));
    };
    CHECK(allclose(f(x, y).first, 3.0 * y, 1e-15));
    for (const Backend& backend : backends()) {
        auto frozen = freeze(f, {.backend = backend, .check = false});
        for (int i = 0; i < 2; ++i) {
            const auto [p, q] = frozen(x, y);
            CHECK(same(p, f(x, y).first, false));
            CHECK(same(q, f(x, y).second, false));
        }
    }
}
