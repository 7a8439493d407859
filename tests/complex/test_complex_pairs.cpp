// Complex tensors beside what else there is: saved-tensor hooks, AnomalyMode, checkpoint_loop, threads.
#include "complex/complex_cases.hpp"

#include <wengert/transforms/checkpoint_loop.hpp>
#include <wengert/transforms/saved_tensor_hooks.hpp>

#include <thread>

using namespace complex_cases;

namespace {

using C = std::complex<double>;
using D = Tensor<double>;
using Zd = Z<double>;

D loss_of(const Zd& z) { return sum(abs(step(step(z)))); }

}  // namespace

TEST_CASE("complex: saved-tensor hooks see the parts")
{
    const Zd z = numbers<double>({2, 3});
    const Zd plain = wg::grad(loss_of)(z);
    int packed = 0, unpacked = 0;
    const wg::SavedTensorHooks hooks(
        [&](const auto& t) {
            ++packed;
            return t * 2.0;
        },
        [&](const auto& t) {
            ++unpacked;
            return t / 2.0;
        });
    CHECK(same_bits<double>(wg::grad(loss_of)(z), plain));
    CHECK(packed > 4);
    CHECK(unpacked == packed);
}

TEST_CASE("complex: AnomalyMode names the line whose derivative is no number")
{
    Zd z = {C(0, 0), C(1, 1)};
    z.requires_grad();
    const wg::AnomalyMode anomaly;
    const int line = __LINE__ + 1;
    const Zd root = sqrt(z);
    CHECK_THROWS_WITH(backward(sum(real(root))),
                      contains("complex_sqrt") && contains("test_complex_pairs.cpp:" + std::to_string(line)));
}

TEST_CASE("complex: checkpoint_loop has the plain loop's bits")
{
    const Zd z = numbers<double>({3});
    const auto plain = [](Zd t) {
        for (int i = 0; i < 9; ++i) t = step(t);
        return sum(abs(t));
    };
    for (std::uint64_t snapshots : {1, 3, 20}) {
        const auto kept = [&](const Zd& t) {
            return sum(abs(wg::checkpoint_loop(step, t, {.steps = 9, .snapshots = snapshots})));
        };
        CHECK(same_bits<double>(wg::grad(kept)(z), wg::grad(plain)(z)));
    }
}

TEST_CASE("complex: each thread has a tape of its own")
{
    const Zd z = numbers<double>({3});
    const Zd expected = wg::grad(loss_of)(z);
    std::vector<Zd> found(4);
    std::vector<std::thread> threads;
    for (Zd& to : found)
        threads.emplace_back([&] {
            for (int i = 0; i < 20; ++i) to = wg::grad(loss_of)(z);
        });
    for (std::thread& t : threads) t.join();
    for (const Zd& g : found) CHECK(same_bits<double>(g, expected));
}

TEST_CASE("complex: rules of one's own take complex tensors, alone and beside real ones")
{
    const Zd z = numbers<double>({3}), v = numbers<double>({3}, 5);
    const D r = {0.5, -1.5, 2.0};

    // holomorphic: z̄ = w̄ · conj(f′(z))
    const auto cube =
        wg::custom_vjp([](const Zd& t) { return t * t * t; },
                       [](const Zd& g, const Zd&, const Zd& t) { return g * conj(3.0 * t * t); });
    const auto by_cube = [&](const Zd& t) { return sum(abs(cube(t) + 1.0)); };
    const auto plain = [](const Zd& t) { return sum(abs(t * t * t + 1.0)); };
    CHECK(allclose(wg::grad(by_cube)(z), wg::grad(plain)(z), 1e-13));
    CHECK(wg::check_grads(by_cube, z, {.order = 2}).ok);
    CHECK(allclose(wg::freeze(wg::grad(by_cube))(z), wg::grad(by_cube)(z), 0.0));
    CHECK(allclose(wg::grad(wg::checkpoint(by_cube))(z), wg::grad(by_cube)(z), 0.0));
    const auto rows = wg::vmap([&](const Zd& t) { return cube(t); })(wg::stack({z, v}, 0));
    CHECK(allclose(rows(1), v * v * v, 1e-13));

    // a real argument beside a complex one, a real result, and a rule that is not the derivative
    double factor = 2.0;
    const auto weighed = wg::custom_vjp([](const Zd& t, const D& w) { return sum(w * real(t)); },
                                        [factor](const D& g, const D&, const Zd& t, const D& w) {
                                            return std::tuple(g * factor * (w * conj(t)), g * w);
                                        });
    const auto [of_z, of_r] = wg::grad<0, 1>(weighed)(z, r);
    CHECK(allclose(of_z, 2.0 * (r * conj(z)), 1e-15));
    CHECK(allclose(of_r, r, 0.0));
    // the same closure is the same operation in each call
    const auto frozen = wg::freeze([&](const Zd& t) { return weighed(t, r); });
    for (int i = 0; i < 5; ++i) CHECK(allclose(frozen(z), weighed(z, r), 0.0));
    CHECK(frozen.stats().traces <= 2);

    // forward rules, whose transpose is the reverse
    const auto root = wg::custom_jvp([](const Zd& t) { return sqrt(t); },
                                     [](const Zd& dot, const Zd& y, const Zd&) { return dot / (2.0 * y); });
    CHECK(allclose(wg::jvp(root, z, v).second, wg::jvp([](const Zd& t) { return sqrt(t); }, z, v).second,
                   1e-13));
    CHECK(
        wg::check_grads([&](const Zd& t) { return sum(abs(root(t) + 1.0)); }, z + C(3, 0), {.order = 2}).ok);
    const auto turn = wg::custom_jvp([](const D& a) { return wg::polar(ones_like(a), a); },
                                     [](const D& dot, const Zd& y, const D&) { return C(0, 1) * (dot * y); });
    CHECK(wg::check_grads([&](const D& a) { return sum(abs(turn(a) + 0.5)); }, r, {.order = 2}).ok);
}
