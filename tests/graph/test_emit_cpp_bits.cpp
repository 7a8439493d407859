// Emitted headers have the bits of the library's functions, element by element.
#include "emit_programs.hpp"

#include <cstring>
#include <limits>

#include <wengert/ops/activations.hpp>
#include <wengert/ops/pairs.hpp>
#include <wengert/ops/trigonometry.hpp>

namespace {

/// Numbers of every size, and edges.
template <class T> Tensor<T> wide(std::size_t n, int seed)
{
    using L = std::numeric_limits<T>;
    const T edges[] = {T(0),     T(-0.0), L::infinity(), -L::infinity(), L::quiet_NaN(), L::denorm_min(),
                       L::max(), T(1),    T(-1)};
    std::vector<T> v(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double k = static_cast<double>(i + 1);
        v[i] = i % 13 == 5
                   ? edges[(i / 13 + static_cast<std::size_t>(seed)) % 9]
                   : static_cast<T>(std::sin(k * (1.3 + seed)) * std::pow(10.0, std::fmod(k * 7, 31) - 15));
    }
    return v;
}

template <class T> Program functions(std::string name)
{
    return program<T>(std::move(name), {wide<T>(900, 0), wide<T>(900, 3)},
                      [](const std::vector<Tensor<T>>& in, const auto& out) {
                          const Tensor<T>&x = in[0], &a = in[1];
                          for (const auto& y :
                               {exp(x),    expm1(x),       log(x),      log1p(x),    log2(x),
                                log10(x),  sin(x),         cos(x),      tan(x),      asin(x),
                                acos(x),   atan(x),        sinh(x),     cosh(x),     tanh(x),
                                erf(x),    sigmoid(x),     softplus(x), gelu(x),     silu(x),
                                pow(x, a), pow(abs(x), a), atan2(x, a), hypot(x, a), floor(x) * a + x})
                              out(y);
                      });
}

void same_bits(const Program& p, const detail::SharedObject& object)
{
    std::vector<void*> pointers;
    for (const auto& b : p.inputs) pointers.push_back(b->data);
    std::vector<Ref<Block>> out;
    for (const auto& want : p.expected) {
        out.push_back(make_block(want->dtype, want->shape));
        pointers.push_back(out.back()->data);
    }
    const auto call = reinterpret_cast<int (*)(void**)>(object.symbol(("call_" + p.name).c_str()));
    REQUIRE(call);
    REQUIRE(call(pointers.data()) == 0);
    for (std::size_t k = 0; k < out.size(); ++k) {
        INFO(p.name << ", output " << k);
        with_dtype(out[k]->dtype, [&]<class T>() {
            std::size_t different = 0;
            for (std::size_t i = 0; i < out[k]->count; ++i) {
                const T a = p.expected[k]->as<T>()[i], b = out[k]->as<T>()[i];
                different += std::memcmp(&a, &b, sizeof a) != 0 && (a == a || b == b);
            }
            CHECK(different == 0);
        });
    }
}

}  // namespace

TEST_CASE("emitted functions of numbers have the library's bits", "[emit]")
{
    const std::vector<Program> list = {functions<float>("singles"), functions<double>("doubles")};
    const Compiled all(list);
    if (!all.object) return;
    for (const Program& p : list) same_bits(p, *all.object);
}
