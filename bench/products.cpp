// wengert_products: the products of matrices of the benches and some more, by the library's own loops, by the BLAS, and by
// what kernels::gemm chooses of the two, in turn. The last column is what the choice costs against the better one.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <wengert/kernels/about.hpp>
#include <wengert/kernels/cpu/impl/gemm.ipp>

extern "C" void openblas_set_num_threads(int) __attribute__((weak));

namespace {

namespace kernels = wengert::kernels;

struct Shape {
    const char* what;
    bool ta, tb;
    std::size_t m, n, k;
};

const std::vector<Shape> shapes = {
    {"mlp forward 1", false, false, 64, 512, 784},
    {"mlp forward 2", false, false, 64, 512, 512},
    {"mlp forward 3", false, false, 64, 10, 512},
    {"mlp back to x", false, true, 64, 512, 512},
    {"mlp back to x, 10", false, true, 64, 512, 10},
    {"mlp weights 1", true, false, 784, 512, 64},
    {"mlp weights 2", true, false, 512, 512, 64},
    {"mlp weights 3", true, false, 512, 10, 64},
    {"square", false, false, 512, 512, 512},
    {"square, B transposed", false, true, 512, 512, 512},
    {"square, A transposed", true, false, 512, 512, 512},
    {"square 1024", false, false, 1024, 1024, 1024},
    {"attention scores", false, true, 128, 128, 64},
    {"attention values", false, false, 128, 64, 128},
    {"17", false, false, 17, 17, 17},
    {"24", false, false, 24, 24, 24},
    {"32", false, false, 32, 32, 32},
    {"32, B transposed", false, true, 32, 32, 32},
    {"32, A transposed", true, false, 32, 32, 32},
    {"48", false, false, 48, 48, 48},
    {"64", false, false, 64, 64, 64},
    {"96", false, false, 96, 96, 96},
    {"128", false, false, 128, 128, 128},
    {"rk4 batch 32", false, false, 32, 64, 8},
    {"rk4 batch 32, hidden", false, false, 32, 64, 64},
    {"rk4 weights", true, false, 64, 64, 32},
    {"inner 10", false, false, 1000, 32, 10},
    {"inner 10, B transposed", false, true, 1000, 32, 10},
    {"gmm", false, true, 1000, 25, 10},
    {"ten columns", false, false, 1000, 10, 64},
    {"ten rows", false, false, 10, 1000, 64},
    {"ten rows, B transposed", false, true, 10, 1000, 64},
    {"long inner", true, false, 10, 10, 10000},
    {"matrix times vector", false, false, 512, 1, 784},
    {"vector times matrix", false, false, 1, 512, 784},
    {"vector times transposed", false, true, 1, 512, 784},
    {"small matrix, vector", false, false, 32, 1, 32},
    {"batch of two", false, false, 2, 512, 784},
    {"batch of four", false, false, 4, 512, 784},
};

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class T> struct Run {
    const Shape& s;
    std::vector<T> a, b, c;

    explicit Run(const Shape& shape) : s(shape), a(s.m * s.k), b(s.k * s.n), c(s.m * s.n)
    {
        unsigned state = 1;
        for (auto* v : {&a, &b})
            for (T& x : *v)
                x = static_cast<T>(static_cast<int>(state = state * 1664525U + 1013904223U)) * T(1e-9);
    }
    template <class Gemm> void operator()(const Gemm& gemm)
    {
        gemm(s.ta, s.tb, s.m, s.n, s.k, T(1), a.data(), s.ta ? s.m : s.k, b.data(), s.tb ? s.k : s.n, T(0),
             c.data(), s.n);
    }
};

/// Medians of the systems' times, measured in turn.
template <class T, class... Gemm> std::vector<double> medians(const Shape& s, const Gemm&... gemm)
{
    Run<T> run(s);
    const double work = static_cast<double>(s.m * s.n * s.k);
    const auto inner = static_cast<int>(std::max(1.0, 4e6 / work));
    std::vector<std::vector<double>> samples(sizeof...(gemm));
    for (int round = 0; round < 25; ++round) {
        std::size_t at = 0;
        const auto sample = [&](const auto& g) {
            run(g);
            const double start = now();
            for (int i = 0; i < inner; ++i) run(g);
            samples[at++].push_back((now() - start) / inner);
        };
        (sample(gemm), ...);
    }
    std::vector<double> result;
    for (auto& v : samples) {
        std::sort(v.begin(), v.end());
        result.push_back(v[v.size() / 2]);
    }
    return result;
}

template <class T> bool table(const char* type, const std::string& only)
{
    bool good = true;
    for (const Shape& s : shapes) {
        if (!only.empty() && only != s.what) continue;
        const auto own = [](auto... x) { kernels::own_gemm<T>(x...); };
        const auto blas = [](auto... x) { kernels::detail::blas_gemm<xsimd::default_arch, T>(x...); };
        const auto chosen = [](auto... x) { kernels::gemm<T>(x...); };
        const std::vector<double> t = medians<T>(s, own, blas, chosen);
        const double ratio = t[2] / std::min(t[0], t[1]);
        good = good && ratio <= 1.2;
        std::printf("%s %-24s %4zux%4zux%5zu %c%c  %10.2f %10.2f %10.2f us  %5.2f%s\n", type, s.what, s.m,
                    s.n, s.k, s.ta ? 'T' : 'N', s.tb ? 'T' : 'N', t[0] * 1e6, t[1] * 1e6, t[2] * 1e6, ratio,
                    ratio > 1.2 ? " *" : "");
    }
    return good;
}

}  // namespace

int main(int argc, char** argv)
{
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    const std::string only = argc > 1 ? argv[1] : "";
    std::printf("%s\n%-43s %10s %10s %10s\n", kernels::about_products().c_str(), "", "own", "BLAS", "chosen");
    const bool single = table<float>("f32", only), twice = table<double>("f64", only);
    return single && twice ? 0 : 1;
}
