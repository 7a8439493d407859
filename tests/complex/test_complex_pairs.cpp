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
