// wengert_guard: some ten rows in eager code, tiles and native code beside their floors, all in one process. bench/guard builds and
// runs it. A line is `workload variant system seconds floor`, the least of 15 samples that take turns.
#include <wengert/scalar.hpp>

#include <exception>

#include "scalar_problems.hpp"
#include "workloads/frozen_common.hpp"

extern "C" void openblas_set_num_threads(int) __attribute__((weak));

namespace {

using namespace bench;
namespace wg = wengert;
using D = wg::Tensor<double>;
using R = wg::Real<double>;

constexpr int samples = 15;
/// Variants that are over soon, of the workloads that are linked.
constexpr const char* chosen[] = {"small_op n=8",     "cheap f32/1000", "elementwise f32/10000",
                                  "rk4 batch=1",      "gmm d10_K25",    "lstm l2_c1024",
                                  "scan steps=10000", "kernel n=10000", "sweep chain"};

// ---- a kernel of reals: a step of Heston's model

constexpr std::size_t cells = 10000;
std::vector<double> column(double scale, double shift)
{
    std::vector<double> x(cells);
    for (std::size_t i = 0; i < cells; ++i) x[i] = shift + scale * std::sin(static_cast<double>(i));
    return x;
}
template <class Number> auto step(const Number& x, const Number& v, const Number& z)
{
    return heston_step(x, v, z, z, Number(2.0), Number(0.05), Number(0.3), Number(-0.6), Number(0.03),
                       Number(0.01));
}
const auto stepped = wg::kernel([](auto x, auto v, auto z) { return step(x, v, z); });

Results by_hand()
{
    static const std::vector<double> x = column(0.1, 4.6), v = column(0.05, 0.04), z = column(1, 0);
    static Results y(2, std::vector<double>(cells));
    for (std::size_t i = 0; i < cells; ++i) {
        const auto next = step(x[i], v[i], z[i]);
        y[0][i] = next[0], y[1][i] = next[1];
    }
    return {y[0], y[1]};
}
std::tuple<D, D, D> columns()
{
    const wg::Shape n{cells};
    return {D(n, column(0.1, 4.6)), D(n, column(0.05, 0.04)), D(n, column(1, 0))};
}
const auto by_kernel = [](const D& x, const D& v, const D& z) { return stepped(x, v, z); };
template <class Y> Results two(const Y& y) { return {doubles(y[0]), doubles(y[1])}; }

void add_kernel()
{
    const Entry e{"kernel", "n=10000", "floor", [] { return Case{[] { by_hand(); }, by_hand}; }, 1e-12};
    add(e);
    Entry eager = e;
    eager.system = "wengert";
    eager.make = [] {
        return Case{[x = columns()] { std::apply(by_kernel, x); },
                    [x = columns()] { return two(std::apply(by_kernel, x)); }};
    };
    add(eager);
    add_frozen(e, [](const wg::FreezeOptions& options) {
        return frozen_case(wg::freeze(by_kernel, options), columns(), [](const auto& y) { return two(y); });
    });
}

// ---- a sweep over scalar code, beside the plain value

void add_sweep()
{
    const auto plain = [] { return chain<1000>(0.9, 1.01); };
    const auto gradient = [] {
        const auto f = [](const std::vector<R>& v) { return chain<1000>(v[0], v[1]); };
        return wg::value_and_grad(f)(std::vector<R>{0.9, 1.01}).first.value();
    };
    const auto of = [](auto f) {
        return [f] {
            return Case{[f, kept = std::make_shared<double>()] { *kept = f(); },
                        [f] { return Results{{f()}}; }};
        };
    };
    add({"sweep", "chain", "floor", of(plain), 1e-12});
    add({"sweep", "chain", "wengert", of(gradient), 1e-12});
}

/// Entries of one variant that are timed: wengert's and the floor.
Registry systems_of(const std::string& name)
{
    Registry found;
    for (const Entry& e : registry())
        if (title(e) == name && (e.system == "floor" || e.system.rfind("wengert", 0) == 0))
            found.push_back(e);
    return found;
}

void measure_least(const std::string& name)
{
    std::vector<Sampler> samplers = prepare(systems_of(name));
    for (int i = 0; i < samples; ++i)
        for (Sampler& s : samplers) s.sample();
    double floor = 0;
    for (const Sampler& s : samplers)
        if (s.entry().system == "floor") floor = s.row().min;
    for (const Sampler& s : samplers)
        if (s.entry().system != "floor")
            std::printf("%s %s %.4g %.4g\n", name.c_str(), s.entry().system.c_str(), s.row().min, floor);
    std::fflush(stdout);
}

}  // namespace

int main()
{
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    add_kernel();
    add_sweep();
    int status = 0;
    for (const char* name : chosen) try {
            measure_least(name);
        } catch (const std::exception& e) {
            std::fprintf(stderr, "wengert_guard: %s: %s\n", name, e.what());
            status = 1;
        }
    return status;
}
