// Kernels of the program's own as primitives: their rules and scalars, in graphs, loops and streams, and what is wrong with them. On the
// fake driver and on a GPU.
#include <wengert/scalar.hpp>

#include "cuda/replays.hpp"

namespace {

/// x³ by a kernel of the program's own; its derivative by another one, whose rule is made of operations.
constexpr const char* cubes = R"(
extern "C" __global__ void cube(const double* x, double* y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] * x[i];
}
extern "C" __global__ void slope(const double* g, const double* x, double* y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 3 * x[i] * x[i] * g[i];
}
)";
const auto slope = wg::cuda::kernel<double>(
    {.source = cubes, .entry = "slope"},
    [](const auto& h, const auto&, const auto& g, const auto& x) {
        return std::tuple(3.0 * square(x) * h, 6.0 * x * g * h);
    },
    [](const auto& dg, const auto& dx, const auto&, const auto& g, const auto& x) {
        return 3.0 * square(x) * dg + 6.0 * x * g * dx;
    });
const auto cube = wg::cuda::kernel<double>(
    {.source = cubes, .entry = "cube"}, [](const auto& g, const auto&, const auto& x) { return slope(g, x); },
    [](const auto& dx, const auto&, const auto& x) { return slope(dx, x); });

/// a x^k + x where `both`, of numbers of each type; its derivative by the same kernel.
constexpr const char* powers = R"(
extern "C" __global__ void power(const double* x, double* y, long long n, float a, double b, int k, long long shift, bool both)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double all = a * b;
    for (int j = 0; j < k; ++j) all *= x[(i + shift) % n];
    y[i] = both ? all + x[(i + shift) % n] : all;
}
)";
using wg::DType;
const wg::cuda::Kernel power_text = {
    .source = powers,
    .entry = "power",
    .scalars = {DType::float32, DType::float64, DType::int32, DType::int64, DType::boolean},
    .operands = {DType::float64}};
/// Its rules call it again, of the power below.
struct Power {
    template <class X> auto operator()(const X& x, float a, double b, int k, bool both) const;
};
const auto power = wg::cuda::kernel<double>(
    power_text,
    [](const auto& g, const auto&, const auto& x, float a, double b, int k, std::int64_t, bool both) {
        return g * (Power()(x, a, b * k, k - 1, false) + (both ? 1.0 : 0.0));
    },
    [](const auto& dx, const auto&, const auto& x, float a, double b, int k, std::int64_t, bool both) {
        return dx * (Power()(x, a, b * k, k - 1, false) + (both ? 1.0 : 0.0));
    });
template <class X> auto Power::operator()(const X& x, float a, double b, int k, bool both) const
{
    return power(x, a, b, k, std::int64_t{0}, both);
}
/// The same in operations.
template <class X> X in_operations(const X& x, float a, double b, int k, bool both)
{
    X y = x * 0.0 + static_cast<double>(a) * b;
    for (int j = 0; j < k; ++j) y = y * x;
    return both ? y + x : y;
}

There there() { return wg::to<wg::cuda>(wg::normal<double>(wg::Key(7), {5, 60})); }

}  // namespace

TEST_CASE("a kernel of the program's own is a primitive with its rules", "[gpu][libraries]")
{
    const There x = there();
    CHECK(bits(cube(x)) == bits(x * x * x));
    CHECK(cube(x).shape() == x.shape());
    CHECK(bits(cube(transpose(x))) == bits(transpose(x) * transpose(x) * transpose(x)));
    const auto f = [](const There& t) { return sum(tanh(cube(t))); };
    CHECK(wg::check_grads(f, x * 0.5, {.order = 2}).ok);
    CHECK(wg::audit(f, x * 0.5).ok);
    const auto plain = [](const There& t) { return sum(tanh(t * t * t)); };
    CHECK(allclose(wg::to<wg::cpu>(wg::grad(f)(x)), wg::to<wg::cpu>(wg::grad(plain)(x)), 1e-14));
    const auto checkpointed = [&](const There& t) { return wg::checkpoint(f)(t * 2.0); };
    CHECK(wg::check_grads(checkpointed, x * 0.3).ok);
}

TEST_CASE("a kernel of the program's own in frozen graphs", "[gpu][libraries]")
{
    const There x = there();
    const auto f = [](const There& t) { return sum(tanh(cube(t * 0.5)) + t, {1}); };
    auto frozen = wg::freeze(f);
    for (int k = 0; k < 4; ++k) CHECK(bits(frozen(x)) == bits(f(x)));
    auto gradient = wg::freeze(wg::grad([&](const There& t) { return sum(f(t)); }));
    const std::vector<double> expected = bits(wg::grad([&](const There& t) { return sum(f(t)); })(x));
    for (int k = 0; k < 4; ++k) CHECK(bits(gradient(x)) == expected);
    auto placed = wg::freeze([](const auto& t) { return cube(t * 0.5) + 1.0; }, {.device = wg::cuda{}});
    const Tensor<double> here = wg::to<wg::cpu>(x);
    CHECK(allclose(placed(here), wg::to<wg::cpu>(cube(x * 0.5) + 1.0), 0.0));
    CHECK(allclose(placed(here * 2.0), wg::to<wg::cpu>(cube(x) + 1.0), 1e-14));
}

TEST_CASE("shapes, launches and errors of a kernel of the program's own", "[gpu][libraries]")
{
    const auto rows = wg::cuda::kernel<float>(
        {.source =
             R"(extern "C" __global__ void rows(const double* x, const long long* from, float* y, long long n)
{
    __shared__ float s[60];
    s[threadIdx.x] = (float)x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = (float)from[0];
        for (unsigned k = 0; k < blockDim.x; ++k) sum += s[k];
        y[blockIdx.x] = sum;
    }
})",
         .entry = "rows",
         .block = {60},
         .grid = [](const wg::Shape& y) { return wg::cuda::Kernel::Extents{static_cast<unsigned>(y[0])}; },
         .shape = [](std::span<const wg::Shape> x) { return wg::Shape{x[0][0]}; }});
    const There x = wg::ones<double, wg::cuda>({5, 60});
    CHECK(rows(x, wg::to<wg::cuda>(Tensor<std::int64_t>{3}))(4).item() == 63.0F);
    const auto wide = wg::cuda::kernel<double>({.source = cubes, .entry = "cube", .shared = 64 << 10}),
               too_wide = wg::cuda::kernel<double>({.source = cubes, .entry = "cube", .shared = 1 << 20});
    CHECK(wide(x)(0, 0).item() == 1.0);
    CHECK_THROWS_WITH(too_wide(x), contains("[cube] CUDA: cuFuncSetAttribute failed"));
    const auto bad =
        wg::cuda::kernel<double>({.source = "extern \"C\" __global__ void f() { nonsense; }", .entry = "f"});
    CHECK_THROWS_WITH(bad(x), contains("[f] CUDA: nvrtcCompileProgram failed") && contains("nonsense") &&
                                  contains("test_cuda_user_kernels.cpp:"));
    const auto missing = wg::cuda::kernel<double>({.source = cubes, .entry = "cubes"});
    CHECK_THROWS_WITH(missing(x), contains("[cubes] CUDA: cuModuleGetFunction failed"));
    const auto none = wg::cuda::kernel<double>({.source = cubes, .entry = "cube"});
    CHECK_THROWS_WITH(wg::grad([&](const There& t) { return sum(none(t)); })(x),
                      contains("[cube] this kernel has no VJP, which reverse mode asks for"));
    CHECK_THROWS_WITH(wg::jvp([&](const There& t) { return sum(none(t)); }, x, x),
                      contains("[cube] this kernel has no JVP, which forward mode asks for"));
}

TEST_CASE("scalars of a kernel of the program's own are given by value, and to its rules", "[gpu][libraries]")
{
    const There x = there();
    for (const int k : {0, 1, 3})
        for (const bool both : {true, false})
            CHECK(allclose(wg::to<wg::cpu>(Power()(x, 0.5F, 3.0, k, both)),
                           in_operations(wg::to<wg::cpu>(x), 0.5F, 3.0, k, both), 1e-14));
    const auto shifted = bits(power(x, 1.0F, 2.0, 1, std::int64_t{7}, false));
    const std::vector<double> plain = bits(x * 2.0);
    for (std::size_t i = 0; i < 300; ++i) CHECK(shifted[i] == plain[(i + 7) % 300]);

    const auto f = [](const There& t) { return sum(tanh(Power()(t, 0.5F, 0.25, 4, true))); };
    const auto g = [](const There& t) { return sum(tanh(in_operations(t, 0.5F, 0.25, 4, true))); };
    CHECK(wg::check_grads(f, x * 0.5, {.order = 2}).ok);
    CHECK(wg::audit(f, x * 0.5).ok);
    const auto same = [&](const auto& transform) {
        CHECK(allclose(wg::to<wg::cpu>(transform(f)), wg::to<wg::cpu>(transform(g)), 1e-12));
    };
    same([&](const auto& h) { return wg::grad(h)(x); });
    same([&](const auto& h) { return wg::hvp(h)(x, cos(x)); });
    same([&](const auto& h) { return wg::jvp(wg::grad(h), x, cos(x)).second; });
    same([&](const auto& h) { return wg::grad(wg::checkpoint(h))(x); });
}

TEST_CASE("calls of a kernel of the program's own are held to what its description says", "[gpu][libraries]")
{
    const There x = there();
    const auto refused = [&](const auto& call, const std::string& what) {
        const auto before = wg::cuda::counts().kernels.load();
        CHECK_THROWS_AS(call(), wg::DTypeError);
        CHECK_THROWS_WITH(call(), contains(what) && contains("test_cuda_user_kernels.cpp:"));
        CHECK(wg::cuda::counts().kernels == before);
    };
    const std::string takes =
        "the kernel takes scalars of types (float32, float64, int32, int64, bool) and was given ";
    const auto all = wg::cuda::kernel<double>(power_text);
    refused([&] { all(x); }, "[power] " + takes + "()");
    refused([&] { all(x, 1.0F, 1.0); }, "[power] " + takes + "(float32, float64)");
    const auto five =
        wg::cuda::kernel<double>({.source = powers, .entry = "power", .scalars = {DType::float32}});
    refused([&] { five(x, 0.5); },
            "[power] the kernel takes scalars of types (float32) and was given (float64)");
    refused([&] { five(x, 1); }, "and was given (int32)");
    refused([&] { five(x, 1LL); }, "and was given (int64)");
    refused([&] { five(x, true, 1.0F); }, "and was given (bool, float32)");
    const auto none = wg::cuda::kernel<double>({.source = cubes, .entry = "cube"});
    refused([&] { none(x, 2.0); }, "[cube] the kernel takes scalars of types () and was given (float64)");
    const auto typed =
        wg::cuda::kernel<double>({.source = cubes, .entry = "cube", .operands = {DType::float64}});
    const auto narrow = wg::cast<float>(x);
    const There total = sum(x);
    refused([&] { typed(narrow); },
            "[cube] the kernel takes operands of types (float64) and was given (float32)");
    refused([&] { typed(x, x); }, "takes operands of types (float64) and was given (float64, float64)");
    // a value that comes from a tensor is one: it is no scalar
    refused([&] { five(x, total); }, "and was given ()");
    using F = decltype(five);
    static_assert(std::is_invocable_v<F, There, float> && std::is_invocable_v<F, There, There, bool>);
    static_assert(!std::is_invocable_v<F, There, unsigned> && !std::is_invocable_v<F, There, char>);
    static_assert(!std::is_invocable_v<F, There, long double> && !std::is_invocable_v<F, float, There>);
    static_assert(!std::is_invocable_v<F, There, float, There> &&
                  !std::is_invocable_v<F, There, wg::Real<double>>);
}

TEST_CASE("a replay with kernels of the program's own is captured", "[gpu][libraries]")
{
    // two calls of one kernel on one operand, which differ by a scalar alone
    const auto f = [](const There& t) {
        const There u = tanh(t) * 0.5;
        return sum(Power()(u, 0.5F, 3.0, 2, true) * cube(u) + Power()(u, 0.5F, -3.0, 2, true), {1});
    };
    const auto g = [](const There& t) {
        const There u = tanh(t) * 0.5;
        return sum(in_operations(u, 0.5F, 3.0, 2, true) * u * u * u + in_operations(u, 0.5F, -3.0, 2, true),
                   {1});
    };
    const auto written = [](const auto& a, const auto& b) {
        auto frozen = wg::freeze(a, on_device(false));
        for (std::uint64_t k = 1; k < 8; ++k) {
            const There x = wg::to<wg::cuda>(some({5, 60}, k));
            std::optional<There> y;
            const Calls calls = calls_of([&] { y = frozen(x); });
            if (fake::calls) CHECK(calls.graphs == (k > 3));
            if (k > 4 && fake::calls) CHECK(calls.launches + calls.waits + calls.to_host == 0);
            CHECK(allclose(wg::to<wg::cpu>(*y), wg::to<wg::cpu>(b(x)), 1e-12));
        }
        CHECK(frozen.stats().replays == 6);
    };
    written(f, g);
    const auto total = [](const auto& h) { return [=](const There& t) { return sum(h(t)); }; };
    written(wg::grad(total(f)), wg::grad(total(g)));
    written(wg::grad(wg::checkpoint(total(f))), wg::grad(total(g)));
    const auto second = [&](const auto& h) {
        return [=](const There& t) { return wg::hvp(total(h))(t, cos(t)); };
    };
    written(second(f), second(g));
}

TEST_CASE("a replay with kernels of the program's own on arguments of the host, with other extents, in a "
          "host's graph",
          "[gpu][libraries]")
{
    const auto f = [](const auto& t, const auto& s) {
        return exp(power(t * 0.5, 1.0F, 2.0, 1, t.shape()[0] - 1, false)) + s;
    };
    const auto right = [](const Tensor<double>& t, const Tensor<double>& s) {
        return exp(roll(t, -(t.shape()[0] - 1), 0)) + s;
    };
    auto o = on_device();
    auto here = wg::freeze(f, o);
    const Tensor<double> s(0.25);
    const auto helped = wg::cuda::counts().host_calls.load();
    for (std::uint64_t k = 1; k < 7; ++k) CHECK(bits(here(some({9}, k), s)) == bits(right(some({9}, k), s)));
    CHECK(wg::cuda::counts().host_calls == helped);
    CHECK(here.stats().transfers == 3);  // there and back: the kernel's operand stays
    o.dynamic = {0};
    auto any = wg::freeze(f, o);
    for (std::int64_t n = 2; n < 9; ++n) CHECK(bits(any(some({n}), s)) == bits(right(some({n}), s)));
    CHECK(any.stats().specialised > 0);  // the scalar is one of the extents
    auto host = wg::freeze(f);
    for (std::uint64_t k = 1; k < 4; ++k) CHECK(bits(host(some({9}, k), s)) == bits(right(some({9}, k), s)));
    // an operand that is copied first, of as many bytes as the result
    auto turned = wg::freeze([](const There& t) { return cube(transpose(tanh(t))) + 1.0; });
    for (std::uint64_t k = 1; k < 6; ++k) {
        const There x = wg::to<wg::cuda>(some({3, 4}, k)), y = transpose(tanh(x));
        CHECK(bits(turned(x)) == bits(y * y * y + 1.0));
    }
}

TEST_CASE("kernels of the program's own in loops and branches of a frozen function", "[gpu][libraries]")
{
    const auto loop = [](const auto& one, const There& s, const There& xs) {
        const auto step = [&](const There& a, const There& x) {
            const There y = tanh(one(a) + x);
            return std::pair(y, sum(y * x));
        };
        const auto [end, ys] = wg::scan(step, s, xs);
        return sum(end * end) + sum(ys);
    };
    const auto halved = [](const auto& one, const There& s, const There&) {
        return sum(wg::while_loop([](const There& y) { return sum(y * y) > 0.1; },
                                  [&](const There& y) { return one(y * 0.1) * 0.5; }, s));
    };
    const auto branch = [](const auto& one, const There& s, const There&) {
        return sum(wg::cond(
            sum(s) > 0.0, [&](const There& y) { return one(y); }, [](const There& y) { return y * 2.0; }, s));
    };
    const auto by_kernel = [](const There& t) { return Power()(t, 0.5F, 3.0, 3, true); };
    const auto by_operations = [](const There& t) { return in_operations(t, 0.5F, 3.0, 3, true); };
    const There s = wg::to<wg::cuda>(wg::abs(some({4}))), xs = wg::to<wg::cuda>(some({6, 4}, 5));
    const auto same = [&](const auto& f, long least) {
        const auto mine = [&](const There& a, const There& b) { return f(by_kernel, a, b); };
        const auto plain = [&](const There& a, const There& b) { return f(by_operations, a, b); };
        const auto check = [&](const auto& a, const auto& b) {
            auto frozen = wg::freeze(a, on_device(false));
            for (int k = 0; k < 5; ++k)
                CHECK(allclose(wg::to<wg::cpu>(frozen(s, xs)), wg::to<wg::cpu>(b(s, xs)), 1e-12));
            CHECK(frozen.stats().uncompiled_loops == 0);
            const auto helped = wg::cuda::counts().host_calls.load();
            const Calls calls = calls_of([&] { frozen(s, xs); });
            CHECK(wg::cuda::counts().host_calls == helped);
            return calls;
        };
        const Calls forward = check(mine, plain);
        if (fake::calls) CHECK(forward.graphs >= least);  // bodies of two steps or more are captured
        check(wg::grad(mine), wg::grad(plain));
    };
    same(loop, 6);
    same(halved, 1);
    same(branch, 0);
}

TEST_CASE("kernels of the program's own in several streams", "[gpu][libraries]")
{
    const There x = there();
    const auto f = [](const There& t) { return Power()(tanh(t), 0.5F, 3.0, 3, true) + cube(t); };
    auto frozen = wg::freeze(f, on_device(false));
    const std::vector<double> expected = bits(f(f(x)));
    for (int seed = 1; seed < 5; ++seed) {
        fake::shuffle(seed);
        const wg::cuda::Stream a, b;
        const auto in = [](const wg::cuda::Stream& s, const auto& g, const There& t) {
            const auto now = wg::cuda::on(s);
            return g(t);
        };
        CHECK(bits(in(b, f, in(a, f, x))) == expected);
        CHECK(bits(in(b, frozen, in(a, frozen, x))) == expected);
    }
    fake::shuffle(0);
}

TEST_CASE("a kernel of the program's own that does not compile says so wherever it is called first",
          "[gpu][libraries]")
{
    const There x = there();
    const auto bad =
        wg::cuda::kernel<double>({.source = "extern \"C\" __global__ void f(const double* x, double* "
                                            "y, long long n, int k) { nonsense; }",
                                  .entry = "f",
                                  .scalars = {DType::int32}},
                                 [](const auto& g, const auto&, const auto&, int) { return g; });
    const auto says = [](const auto& call) {
        CHECK_THROWS_WITH(call(), contains("[f] CUDA: nvrtcCompileProgram failed") && contains("nonsense") &&
                                      contains("test_cuda_user_kernels.cpp:"));
    };
    says([&] { bad(x, 3); });
    auto frozen = wg::freeze([&](const There& t) { return bad(t * 2.0, 3); });
    for (int k = 0; k < 3; ++k) says([&] { frozen(x); });
    auto in_loop = wg::freeze([&](const There& t) {
        return wg::scan([&](const There& a) { return std::pair(bad(a, 3), std::tuple()); }, t, 4).first;
    });
    says([&] { in_loop(x); });
    says([&] { wg::grad([&](const There& t) { return sum(bad(t, 3)); })(x); });
    CHECK(bits(cube(x)) == bits(x * x * x));  // the device goes on
}
