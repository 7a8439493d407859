// wengert_scalar_codes: scalar code beside the plain loops it was made from, row by row what docs/performance.md asks of it. Systems
// of a row take turns; medians. A row is `what | plain | measured | ratio | wanted | holds`, for bench/tables.py.
//
// Kernels are called in eager code and run as native code; the hydrodynamics code and Burgers' equation are scalar code on the tape.
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/take.hpp>
#include <wengert/scalar.hpp>

#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>
#include <thread>

#include "harness.hpp"
#include "memory.hpp"
#include "scalar_problems.hpp"

namespace wg = wengert;
using R = wg::Real<double>;
using D = wg::Tensor<double>;

namespace {

/// Median seconds of each, in turn.
std::vector<double> in_turn(int samples, const std::vector<std::function<void()>>& systems)
{
    std::vector<std::vector<double>> took(systems.size());
    for (int i = 0; i < samples; ++i)
        for (std::size_t k = 0; k < systems.size(); ++k) took[k].push_back(bench::seconds_of(systems[k], 1));
    std::vector<double> medians;
    for (auto& t : took) {
        std::nth_element(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(t.size() / 2), t.end());
        medians.push_back(t[t.size() / 2]);
    }
    return medians;
}

/// One row. `wanted` is the most that the number may be, 0 where nothing is asked of it.
struct Row {
    std::string what;
    double plain = 0, measured = 0;  ///< seconds
    double number = 0;               ///< that is compared
    std::string unit;
    double wanted = 0;
    bool at_least = false;
};

void print(const Row& r)
{
    const auto time = [](double s) { return s > 0 ? bench::readable(s) : std::string("–"); };
    char number[64], wanted[64] = "–";
    std::snprintf(number, sizeof number, "%.3g%s", r.number, r.unit.c_str());
    if (r.wanted > 0)
        std::snprintf(wanted, sizeof wanted, "%s %g%s", r.at_least ? "≥" : "≤", r.wanted, r.unit.c_str());
    const bool holds = r.at_least ? r.number >= r.wanted : r.number <= r.wanted;
    std::printf("%s | %s | %s | %s | %s | %s\n", r.what.c_str(), time(r.plain).c_str(),
                time(r.measured).c_str(), number, wanted, r.wanted > 0 ? holds ? "yes" : "no" : "–");
    std::fflush(stdout);
}
void print_ratio(std::string what, double plain, double measured, double wanted)
{
    print({std::move(what), plain, measured, measured / plain, " times", wanted, false});
}

double worth = 0;  ///< what is computed, so that nothing is left out

// ---- an operation of a chain that fits the second-level cache

template <class F> void chain(const std::string& name, const F& f, double record, double reverse)
{
    constexpr double operations = bench::chain_operations;
    const auto g = [&](const std::vector<R>& v) { return f(v[0], v[1]); };
    double bytes = 0;
    std::vector<double> swept;
    const auto recorded = [&] {
        const auto [y, pullback] = wg::vjp(g, std::vector<R>{0.9, 1.01});
        bytes = wg::ScalarStream::of(wg::Tape::current()).size() * sizeof(wg::ScalarEntry);
        swept.push_back(bench::seconds_of([&] { worth += pullback(R(1.0))[0].value(); }, 1));
    };
    const auto t = in_turn(301, {[&] { worth += f(0.9, 1.01); }, recorded});
    std::nth_element(swept.begin(), swept.begin() + 150, swept.end());
    const double sweep = swept[150], made = t[1] - sweep;
    print({name + ", record an operation", t[0] / operations, made / operations, made / operations * 1e9,
           " ns", record, false});
    print({name + ", reverse an operation", t[0] / operations, sweep / operations, sweep / operations * 1e9,
           " ns", reverse, false});
    if (record > 0)
        print(
            {"memory of an operation", 0, 0, bytes / operations, " bytes", 24.5, false});  // a few for inputs
}

// ---- the hydrodynamics example

void hydro()
{
    const auto energy = bench::shock_tube(100);
    const std::vector<R> e0(energy.begin(), energy.end());
    const auto f = [](const std::vector<R>& e) { return bench::kinetic_energy(e, 80); };
    const auto gradient = wg::grad(f);
    const auto t = in_turn(51, {[&] { worth += bench::kinetic_energy(energy, 80); },
                                [&] { worth += gradient(e0)[50].value(); }});
    print_ratio("hydrodynamics, gradient by scalar code", t[0], t[1], 12);
}

const auto cell_update =
    wg::kernel([](auto... x) { return bench::updated_cell(x...); }, {.backend = wg::native});

void hydro_cell()
{
    constexpr std::size_t n = 4000, inputs = 7;
    const auto columns = bench::cells(n);
    std::array<D, inputs> x;
    for (std::size_t k = 0; k < inputs; ++k) x[k] = D(wg::Shape{n}, columns[k]);
    std::vector<double> out(4 * n);
    const auto loss = [](const std::array<D, inputs>& q) {
        const auto y = std::apply([](const auto&... e) { return cell_update(e...); }, q);
        return sum(y[0] * y[1]) + sum(y[2] * y[3]);
    };
    const auto gradient = wg::value_and_grad(loss);
    for (int k = 0; k < 3; ++k) static_cast<void>(gradient(x));
    const auto plain = [&] {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const auto y = bench::updated_cell(columns[0][i], columns[1][i], columns[2][i], columns[3][i],
                                               columns[4][i], columns[5][i], columns[6][i]);
            for (std::size_t k = 0; k < 4; ++k) out[k * n + i] = y[k];
        }
        for (std::size_t i = 0; i < n; ++i) sum += out[i] * out[n + i] + out[2 * n + i] * out[3 * n + i];
        worth += sum;
    };
    const auto t = in_turn(201, {plain, [&] { worth += gradient(x).first.item(); }});
    print_ratio("hydrodynamics, gradient of the cell update by kernel", t[0], t[1], 3);
}

// ---- Burgers' equation, 256² cells, 100 steps

/// The most that the process has held, beyond what it held before; median seconds.
double burgers_case(std::uint64_t snapshots, double before, double& seconds)
{
    const auto u0 = bench::wave();
    const std::vector<R> u(u0.begin(), u0.end());
    const auto loss = [=](const std::vector<R>& x) {
        const auto step = [](const std::vector<R>& v) { return bench::burgers_step(v); };
        const auto end = wg::checkpoint_loop(step, x, {.steps = 100, .snapshots = snapshots});
        R sum = 0.0;
        for (const R& e : end) sum += e * e;
        return sum;
    };
    std::vector<double> took;
    for (int k = 0; k < 3; ++k)
        took.push_back(bench::seconds_of([&] { worth += wg::grad(loss)(u)[1000].value(); }, 1));
    std::sort(took.begin(), took.end());
    seconds = took[1];
    return (bench::status_kib("VmHWM") - before) / 1024;
}

void burgers()
{
    double few = 0, many = 0;
    const double before = bench::status_kib("VmRSS");
    const double small = burgers_case(24, before, few), large = burgers_case(100, before, many);
    const double plain = in_turn(5, {[&] {
                                     auto u = bench::wave();
                                     for (int s = 0; s < 100; ++s) u = bench::burgers_step(u);
                                     worth += u[1000];
                                 }})[0];
    print({"Burgers 256² × 100, gradient by scalar code", plain, many, many * 1e3, " ms", 300, false});
    print({"the same, memory", 0, 0, large, " MiB", 1024, false});
    print({"Burgers, memory with checkpoint_loop and 24 snapshots", plain, few, small, " MiB", 64, false});
}

// ---- Heston's model, 10⁵ paths of 64 steps

const auto heston_step =
    wg::kernel([](auto... x) { return bench::heston_step(x...); }, {.backend = wg::native});

using Greeks = std::array<D, 5>;
using Normals = std::vector<std::array<D, 2>>;

D price(const Greeks& p, const Normals& normals)
{
    const D none = wg::zeros_like(normals[0][0]);
    const double dt = 1.0 / static_cast<double>(normals.size());
    D x = log(p[0]) + none, v = p[1] + none;
    for (const auto& [z1, z2] : normals) {
        const std::vector<D> next =
            heston_step(x, v, z1, z2, p[2], p[3], p[4], bench::correlation, bench::rate, dt);
        x = next[0], v = next[1];
    }
    return std::exp(-bench::rate) * wg::mean(maximum(exp(x) - bench::strike, 0.0));
}

/// All paths in blocks whose steps stay in the second-level cache, on some threads.
template <class F> class Blocks {
public:
    Blocks(const F& f, const std::vector<Normals>& blocks, std::size_t threads)
        : f_(f), blocks_(blocks), threads_(threads)
    {
        for (std::size_t k = 0; k < bench::market.size(); ++k) p_[k] = D(bench::market[k]);
        (*this)();
    }
    void operator()()
    {
        std::vector<std::thread> helping;
        for (std::size_t k = 1; k < threads_; ++k) helping.emplace_back([this, k] { part(k); });
        part(0);
        for (auto& t : helping) t.join();
    }

private:
    void part(std::size_t k)
    {
        for (std::size_t b = k; b < blocks_.size(); b += threads_) static_cast<void>(f_(p_, blocks_[b]));
    }
    std::decay_t<F> f_;
    const std::vector<Normals>& blocks_;
    std::size_t threads_;
    Greeks p_;
};

void heston()
{
    constexpr std::size_t paths = 2000, blocks = 50, steps = 64;
    std::vector<Normals> normals(blocks);
    std::vector<double> by_path(blocks * paths * steps * 2), by_step(by_path.size());
    for (std::size_t b = 0; b < blocks; ++b)
        for (std::size_t s = 0; s < steps; ++s) {
            normals[b].emplace_back();
            for (std::size_t c = 0; c < 2; ++c) {
                const D z = wg::normal<double>(wg::fold_in(wg::Key(b + 1), 2 * s + c), {paths});
                normals[b][s][c] = z;
                for (std::size_t p = 0; p < paths; ++p) {
                    const double e = z.data()[p];
                    by_path[((b * paths + p) * steps + s) * 2 + c] = e;
                    by_step[((b * steps + s) * 2 + c) * paths + p] = e;
                }
            }
        }
    const auto greeks = wg::value_and_grad(price);
    Blocks value(price, normals, 1);
    Blocks one(greeks, normals, 1), two(greeks, normals, 2);
    const auto t = in_turn(9, {[&] { worth += bench::heston_by_path(by_path, blocks * paths, steps); },
                               [&] { worth += bench::heston_by_step(by_step, blocks, paths, steps); },
                               [&] { value(); }, [&] { one(); }, [&] { two(); }});
    print_ratio("Heston 10⁵ × 64, five Greeks by kernel, beside the plain loop", t[0], t[3], 1.5);
    print_ratio("the same, beside plain loops step by step over blocks of paths", t[1], t[3], 0);
    print_ratio("the same, beside the price by kernel", t[2], t[3], 3);
    print({"the same on two threads, speed", t[3], t[4], t[3] / t[4], " times", 1.8, true});
}

// ---- bundle adjustment of ADBench's ba1: 49 cameras, 7,776 points, 31,843 observations

const auto block = wg::kernel(
    [](auto... x) {
        const std::array all{x...};
        std::array<std::remove_cvref_t<decltype(all[0])>, bench::of_block> q;
        std::copy(all.begin(), all.begin() + bench::of_block, q.begin());
        return bench::residual(q, all[bench::of_block], all[bench::of_block + 1]);
    },
    {.backend = wg::native});

using Unknowns = std::array<D, bench::of_block>;

/// Both rows of each block, and the weights' residual's derivative.
auto rows(const D& x, const std::array<wg::Indices, bench::of_block>& places, const D& seen_x,
          const D& seen_y)
{
    Unknowns q;
    for (std::size_t j = 0; j < bench::of_block; ++j) q[j] = wg::take(x, places[j], 0);
    const auto f = [&](const Unknowns& u) {
        return std::apply([&](const auto&... e) { return block(e..., seen_x, seen_y); }, u);
    };
    const auto pullback = wg::vjp(f, q).second;
    const D one = wg::ones_like(seen_x), none = wg::zeros_like(seen_x);
    return std::tuple(pullback(std::vector<D>{one, none}), pullback(std::vector<D>{none, one}),
                      -2.0 * q.back());
}

/// Some of the observations, and where their blocks go.
struct Observations {
    std::array<wg::Indices, bench::of_block> places;
    D seen_x, seen_y;
    std::tuple<Unknowns, Unknowns, D> out;

    Observations(const bench::Bundle& p, std::size_t first, std::size_t count)
    {
        const wg::Shape shape{count};
        const auto part = [&](const std::vector<double>& all) {
            return D(shape, std::span(all).subspan(first, count));
        };
        seen_x = part(p.seen[0]), seen_y = part(p.seen[1]);
        for (std::size_t j = 0; j < bench::of_block; ++j) {
            std::vector<std::int64_t> at;
            for (std::size_t k = first; k < first + count; ++k)
                at.push_back(static_cast<std::int64_t>(p.place(k, j)));
            places[j] = wg::Indices(shape, at);
        }
    }
};

void bundle_adjustment()
{
    const bench::Bundle p(49, 7776, 31843);
    constexpr std::size_t some = 1024;  // what is made of so many stays in the second-level cache
    const D unknowns(wg::Shape{p.x.size()}, p.x);
    std::vector<Observations> parts;
    for (std::size_t first = 0; first < p.observations; first += some)
        parts.emplace_back(p, std::min(first, p.observations - some), some);
    const auto blocks = [&] {
        for (auto& o : parts) o.out = rows(unknowns, o.places, o.seen_x, o.seen_y);
    };
    blocks();  // records and compiles
    std::vector<double> residuals(3 * p.observations);
    const auto t = in_turn(51, {[&] { p.objective(residuals), worth += residuals[5]; }, blocks});
    print_ratio("ba1, all blocks of the Jacobian by kernel", t[0], t[1], 5);
}

// ---- what the first call takes

template <int rounds> void first_call(double wanted)
{
    const D x = wg::full<double>({1000}, 0.9), y = wg::full<double>({1000}, 1.01);
    const auto call = [&] {
        const auto f =
            wg::kernel([](auto a, auto b) { return bench::chain<rounds>(a, b); }, {.backend = wg::native});
        worth += f(x, y).data()[0];
    };
    const double first = bench::seconds_of(call, 1), again = bench::seconds_of(call, 1);
    const std::string operations = std::to_string(8 * rounds);
    print({"first call of a kernel of " + operations + " operations", 0, first, first, " s", wanted, false});
    print({"the same from the cache on disk", 0, again, again, " s", 0, false});
}

void first_calls()
{
    const auto folder =
        std::filesystem::temp_directory_path() / ("wengert-bench-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    setenv("XDG_CACHE_HOME", folder.c_str(), 1);
    first_call<125>(0.5);
    first_call<1250>(0);
    first_call<12500>(0);
    std::filesystem::remove_all(folder);
}

/// Gradients of a few operations, where what a transform itself takes is all.
void small_gradients()
{
    constexpr int many = 2000;
    const auto repeated = [](const auto& once) {
        return [&once] {
            for (int i = 0; i < many; ++i) worth += once(1.0 + i).value();
        };
    };
    const auto square = [](const R& x) { return x * x; };
    const auto nested = [](const R& x) {
        return 0.5 * wg::grad([](const R& q) { return q * q * 0.5 + cos(q); })(x);
    };
    const auto gradient = [&](double x) { return wg::grad(square)(R(x)); };
    const auto tangent = [&](double x) { return wg::jvp(square, R(x), R(1.0)).second; };
    const auto outer = [&](double x) { return wg::grad(nested)(R(x)); };
    const auto took = in_turn(31, {repeated(gradient), repeated(tangent), repeated(outer)});
    const auto row = [&](const char* what, double seconds, double wanted) {
        print({what, 0, seconds / many, seconds / many * 1e9, " ns", wanted});
    };
    row("gradient of x · x", took[0], 100);
    row("jvp of x · x", took[1], 0);
    row("gradient of a gradient of four operations", took[2], 0);
}

/// Second derivatives of a long code, beside its gradient.
void long_second_order()
{
    const auto decay = [](const R& a) {
        R x = a;
        for (int k = 0; k < 100'000; ++k) x = x - 1e-5 * sin(x) * x;
        return x;
    };
    const auto took = in_turn(11, {[&] { worth += wg::grad(decay)(R(1.0)).value(); },
                                   [&] { worth += wg::hvp(decay)(R(1.0), R(1.0)).value(); }});
    print({"hvp of 400,000 operations, beside their gradient", took[0], took[1], took[1] / took[0], " times",
           4});
}

}  // namespace

int main(int argc, char** argv)
{
    const std::string only = argc > 1 ? argv[1] : "";
    const auto wanted = [&](const char* name) { return only.empty() || only == name; };
    if (wanted("burgers")) burgers();  // the first: memory is counted from where the process stands
    if (wanted("chain")) {
        chain(
            "+ - * / sqrt", [](auto x, auto y) { return bench::chain<1000>(x, y); }, 5, 3);
        chain(
            "functions", [](auto x, auto y) { return bench::chain_of_functions(x, y); }, 0, 0);
    }
    if (wanted("small")) small_gradients(), long_second_order();
    if (wanted("hydro")) hydro(), hydro_cell();
    if (wanted("heston")) heston();
    if (wanted("ba1")) bundle_adjustment();
    if (wanted("first")) first_calls();
    return worth == 0;
}
