// The fused multiply-add of users' rules in tiles: operations of the arithmetic machine, with eager's bits.
#include "catch.hpp"

#include "graph/fuse/fused_runner.hpp"

#include <wengert/graph/freeze/freeze.hpp>

#include <array>
#include <cstring>

namespace wg = wengert;

namespace {

/// x y + z, rounded once where the processor can.
struct MultiplyAdd {
    static constexpr std::string_view name = "multiply_add_of_tests";
    template <class V> static V value(const V& x, const V& y, const V& z)
    {
        using std::fma;
        return fma(x, y, z);
    }
};
/// Several of them in one rule, with numbers among the operands.
struct Horner {
    static constexpr std::string_view name = "horner_of_tests";
    template <class V> static V value(const V& x, const V& y)
    {
        using std::fma;
        return fma(fma(fma(x, y, V(0.5)), x, y), V(3), x * y);
    }
};

template <class T>
wg::Tensor<T> multiply_add(const wg::Tensor<T>& x, const wg::Tensor<T>& y, const wg::Tensor<T>& z)
{
    return wg::apply_elementwise<MultiplyAdd, T>({__builtin_FILE(), __builtin_LINE()}, x, y, z);
}
template <class T> wg::Tensor<T> horner(const wg::Tensor<T>& x, const wg::Tensor<T>& y)
{
    return wg::apply_elementwise<Horner, T>({__builtin_FILE(), __builtin_LINE()}, x, y);
}
template <class T> wg::Tensor<T> noise(int seed, std::int64_t n)
{
    return wg::normal<T>(wg::Key(static_cast<std::uint64_t>(seed)), {n});
}

/// Every way in which three operands can be one another, be read again later or come from memory.
template <class T>
wg::Tensor<T> all_ways(const wg::Tensor<T>& a, const wg::Tensor<T>& b, const wg::Tensor<T>& c,
                       const wg::Tensor<T>& d)
{
    const std::array<wg::Tensor<T>, 4> x{a + b, b * c, c - d, a};
    wg::Tensor<T> all = d;
    for (std::size_t i = 0; i < 64; ++i) {
        const wg::Tensor<T> y = multiply_add(x[i % 4], x[i / 4 % 4], x[i / 16]);
        all = i % 2 == 0 ? multiply_add(all, y, x[i % 3]) : all - T(0.5) * y;
    }
    return multiply_add(all, all, all) + x[0] * x[1] - x[2];
}

template <class T> wg::Tensor<T> polynomials(const wg::Tensor<T>& a, const wg::Tensor<T>& b)
{
    const wg::Tensor<T> p = horner(a, b);
    return horner(p, a) * b + horner(b, p);
}

}  // namespace

TEMPLATE_TEST_CASE("fused multiply-adds in tiles have the bits of eager", "", float, double)
{
    using T = TestType;
    for (const std::int64_t n : {1, 7, 16, 33, 1000, 5003}) {
        const auto a = noise<T>(1, n), b = noise<T>(2, n), c = noise<T>(3, n), d = noise<T>(4, n);
        const auto f = wg::freeze([](const auto& p, const auto& q, const auto& r,
                                     const auto& s) { return all_ways<T>(p, q, r, s); },
                                  {.check = false});
        f(a, b, c, d);
        CHECK(identical(f(a, b, c, d), all_ways(a, b, c, d)));
        const auto g =
            wg::freeze([](const auto& p, const auto& q) { return polynomials<T>(p, q); }, {.check = false});
        g(a, b);
        CHECK(identical(g(a, b), polynomials(a, b)));
    }
}

TEST_CASE("a user's multiply-adds and sums beside them are one program of the arithmetic machine")
{
    using Arch = xsimd::default_arch;
    wg::Graph g;
    const wg::Shape shape{1000};
    const auto input = [&] { return g.input(wg::DType::float32, shape); };
    const auto add = [&](wg::ValueId x, wg::ValueId y) {
        return g.operation(wg::elementwise_primitive<wg::Add, Arch, float, float, float>, {}, {x, y}, shape);
    };
    const auto mad = [&](wg::ValueId x, wg::ValueId y, wg::ValueId z) {
        return g.operation(wg::elementwise_primitive<MultiplyAdd, Arch, float, float, float, float>, {},
                           {x, y, z}, shape);
    };
    const wg::ValueId a = input(), b = input(), c = input(), d = input();
    g.output(add(mad(a, b, c), mad(mad(b, c, d), a, add(c, d))));
    std::vector<wg::tiling::detail::GroupOperation> steps;
    wg::tiling::detail::ValueMap<std::uint32_t> number;
    for (wg::ValueId v = 0; v < g.size(); ++v) {
        if (g.node(v).kind != wg::Graph::Kind::operation) continue;
        number[v] = static_cast<std::uint32_t>(steps.size());
        wg::tiling::detail::GroupOperation s;
        s.value = v, s.dtype = wg::DType::float32, s.node = &g.node(v);
        s.in.assign(g.node(v).inputs.begin(), g.node(v).inputs.end());
        s.wanted = v + 1 == g.size();
        steps.push_back(s);
    }
    const wg::tiling::detail::MicroPartition made(g, steps, number, true);
    REQUIRE(made.clusters.size() == 1);
    CHECK(made.clusters[0].micro);
    CHECK(made.clusters[0].nodes.size() == 5);
}
