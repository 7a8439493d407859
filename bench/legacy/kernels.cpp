// The codes whose cells are kernels, in native code: functions of one path, of one step of a reactor, of one edge.
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/take.hpp>

#include "../peers.hpp"
#include "euler.hpp"
#include "kinetics.hpp"
#include "market.hpp"

namespace wg = wengert;

namespace bench {
namespace {

using D = wg::Tensor<double>;
using D4 = std::array<D, 4>;

/// A kernel of that many numbers; f takes them as one array.
template <std::size_t n, class F> auto kernel_of(const F& f)
{
    return wg::kernel(
        [f](auto... x) {
            static_assert(sizeof...(x) == n);
            return f(std::array{x...});
        },
        {.backend = wg::native});
}
template <class F, class... Arrays> auto spread(const F& f, const Arrays&... x)
{
    return std::apply(f, std::tuple_cat(x...));
}
void append(std::vector<double>& to, const D& x) { to.insert(to.end(), x.data(), x.data() + x.size()); }
D column(std::size_t n, const std::function<double(std::size_t)>& f)
{
    std::vector<double> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = f(i);
    return D(wg::Shape{n}, v);
}

}  // namespace

/// Blocks of paths whose numbers stay in the second-level cache.
ByKernel market_by_kernel(std::size_t paths)
{
    constexpr std::size_t block = 64, inputs = 2 * Market::rates;
    const auto path = kernel_of<inputs + Market::steps>([](const auto& all) {
        using Number = std::remove_cvref_t<decltype(all[0])>;
        return swaption_path(std::vector<Number>(all.begin(), all.begin() + inputs), all.data() + inputs);
    });
    const auto z = normals_of(paths);
    std::vector<std::array<D, Market::steps>> blocks(paths / block);
    for (std::size_t b = 0; b < blocks.size(); ++b)
        for (std::size_t n = 0; n < Market::steps; ++n)
            blocks[b][n] =
                column(block, [&](std::size_t p) { return z[(b * block + p) * Market::steps + n]; });
    const auto today = rates_today();
    std::array<D, inputs> x;
    for (std::size_t i = 0; i < inputs; ++i) x[i] = D(today[i]);
    const auto gradient = [=] {
        std::vector<double> result(inputs, 0.0);
        for (const auto& normals : blocks) {
            const auto g =
                wg::grad([&](const std::array<D, inputs>& q) { return sum(spread(path, q, normals)); })(x);
            for (std::size_t i = 0; i < inputs; ++i) result[i] += g[i].item();
        }
        return result;
    };
    const auto expected = [=] {
        double operations = 0;
        const auto f = [&](const auto& q) {
            auto worth = swaption_path(q, z.data());
            for (std::size_t p = 1; p < paths; ++p) worth += swaption_path(q, z.data() + p * Market::steps);
            return worth;
        };
        return gradient_by_real(f, today, operations).result;
    };
    return {static_cast<double>(paths), gradient, expected};
}

/// A kernel of one step, called for all reactors.
ByKernel kinetics_by_kernel(std::size_t count, int steps)
{
    const auto step = kernel_of<7>([](const auto& a) {
        using Number = std::remove_cvref_t<decltype(a[0])>;
        Reactor<Number> r{{a[0], a[1], a[2]}, {a[3], a[4], a[5]}};
        implicit_step(r, a[6]);
        return std::array<Number, 3>{r.y[0], r.y[1], r.y[2]};
    });
    const auto x0 = reactors(count);
    const std::array<D, 2> x{column(count, [&](std::size_t i) { return x0[i]; }),
                             column(count, [&](std::size_t i) { return x0[count + i]; })};
    const auto loss = [=](const std::array<D, 2>& q) {
        std::array<D, 3> k;
        for (std::size_t i = 0; i < 3; ++i)
            k[i] = Robertson::rate[i] * exp(Robertson::activation[i] * (1.0 - 1.0 / q[0]));
        std::vector<D> y{q[1], wg::zeros_like(q[1]), 1.0 - q[1]};
        double h = 1e-4;
        for (int s = 0; s < steps; ++s, h *= 1.4) y = step(y[0], y[1], y[2], k[0], k[1], k[2], h);
        return sum(y[2] + 1e3 * y[1]);
    };
    const auto gradient = [=] {
        const auto g = wg::grad(loss)(x);
        std::vector<double> result;
        append(result, g[0]), append(result, g[1]);
        return result;
    };
    const auto expected = [=] {
        double operations = 0;
        return gradient_by_real([&](const auto& q) { return burn_all(q, steps); }, x0, operations).result;
    };
    return {static_cast<double>(count) / 20, gradient, expected};
}

/// A kernel of one edge; states are taken by the edges' cells, and fluxes added to them.
ByKernel euler_by_kernel(std::size_t n, int steps)
{
    const auto flux = kernel_of<10>([](const auto& a) {
        using Number = std::remove_cvref_t<decltype(a[0])>;
        return roe_flux<Number>({a[0], a[1], a[2], a[3]}, {a[4], a[5], a[6], a[7]}, a[8], a[9]);
    });
    struct Side {
        wg::Indices left, right;
        D nx, ny;
        explicit Side(const std::vector<Triangles::Edge>& edges)
            : nx(column(edges.size(), [&](std::size_t i) { return edges[i].nx; })),
              ny(column(edges.size(), [&](std::size_t i) { return edges[i].ny; }))
        {
            std::vector<std::int64_t> l, r;
            for (const auto& e : edges)
                l.push_back(static_cast<std::int64_t>(e.left)),
                    r.push_back(static_cast<std::int64_t>(e.right));
            left = wg::Indices(wg::Shape{l.size()}, l), right = wg::Indices(wg::Shape{r.size()}, r);
        }
    };
    const Triangles mesh(n);
    const Side inner(mesh.inner), wall(mesh.wall);
    const std::size_t cells = mesh.area.size();
    const auto x0 = moving_gas(n);
    D4 x;
    for (std::size_t k = 0; k < 4; ++k) x[k] = column(cells, [&](std::size_t i) { return x0[4 * i + k]; });
    const D area = column(cells, [&](std::size_t i) { return mesh.area[i]; });
    const auto taken = [](const D4& q, const wg::Indices& at) {
        return D4{take(q[0], at, 0), take(q[1], at, 0), take(q[2], at, 0), take(q[3], at, 0)};
    };
    const auto pressure = [taken](const D4& q, const wg::Indices& at) {
        const D4 a = taken(q, at);
        return 0.4 * (a[3] - 0.5 * (a[1] * a[1] + a[2] * a[2]) / a[0]);
    };
    const double dt = 0.1 * std::sqrt(mesh.area[0]);
    const D push = column(mesh.wall.size(), [&](std::size_t i) { return std::max(mesh.wall[i].nx, 0.0); });
    const auto loss = [=](D4 q) {
        for (int s = 0; s < steps; ++s) {
            const std::vector<D> f =
                spread(flux, taken(q, inner.left), taken(q, inner.right), std::array{inner.nx, inner.ny});
            const D p = pressure(q, wall.left);
            for (std::size_t k = 0; k < 4; ++k) {
                D residual = scatter_add(wg::zeros_like(area), inner.left, f[k], 0);
                residual = scatter_add(residual, inner.right, -f[k], 0);
                if (k == 1) residual = scatter_add(residual, wall.left, p * wall.nx, 0);
                if (k == 2) residual = scatter_add(residual, wall.left, p * wall.ny, 0);
                q[k] = q[k] - dt / area * residual;
            }
        }
        return sum(pressure(q, wall.left) * push);
    };
    const auto gradient = [=] {
        const D4 g = wg::grad(loss)(x);
        std::vector<double> result;
        for (std::size_t i = 0; i < cells; ++i)
            for (const D& e : g) result.push_back(e.data()[i]);
        return result;
    };
    const auto expected = [=] {
        double operations = 0;
        return gradient_by_real([&](const auto& q) { return force_on_wall(mesh, q, steps); }, x0, operations)
            .result;
    };
    return {1, gradient, expected};
}

}  // namespace bench
