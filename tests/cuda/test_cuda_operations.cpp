// Eager operations on a device: elementwise ones, random numbers, products, index programs, loops. The host's bits, and no help of its.
#include "cuda/everywhere.hpp"
#include "device_programs.hpp"

TEST_CASE("random numbers are drawn on the device, with the host's bits", "[gpu][libraries]")
{
    const auto drawn = [](const auto& f) {
        const std::int64_t before = wg::cuda::counts().from_host;
        CHECK(same_everywhere(f) == 0);
        CHECK(wg::cuda::counts().from_host == before);
    };
    const wg::Key key = wg::fold_in(wg::Key(11), 5);
    for (const std::int64_t n : {0, 1, 2, 3, 5, 1021}) {
        drawn([&] { return wg::uniform<float>(key, {n}); });
        drawn([&] { return wg::uniform<double>(key, {n}, -2.0, 0.3); });
        drawn([&] { return wg::uniform<float>(key, {n, 2}, 0.1F, 7.3F); });
        drawn([&] { return wg::normal<float>(key, {n}); });
        drawn([&] { return wg::normal<double>(key, {n, 3}); });
        drawn([&] { return wg::randint<std::int32_t>(key, {n}, -7, 1000000007); });
        drawn([&] { return wg::randint<std::int64_t>(key, {n}, -5, 9); });
        for (const double p : {0.0, 0.3, 1.0}) drawn([&] { return wg::bernoulli(key, {n}, p); });
        drawn([&] { return wg::dropout_mask<float>(key, {n}, 0.3); });
    }
    for (const std::int64_t n : {0, 1, 2, 1000, 1024, 1025, 5000})
        drawn([&] { return wg::permutation(key, n); });
    auto frozen = wg::freeze(
        [](const wg::Key& k, const Tensor<float>& x) { return x * wg::normal<float>(k, x.shape()); });
    const Tensor<float> wanted = wg::normal<float>(key, {100});
    const wg::OnDevice there(wg::detail::gpu::number_of(wg::cuda{}));
    const auto x = wg::ones<float>({100});
    for (int k = 0; k < 3; ++k) CHECK(allclose(wg::to<wg::cpu>(frozen(key, x)), wanted, 0.0));
}

TEST_CASE("elementwise operations and their derivatives have the host's bits", "[gpu]")
{
    device_programs::elementwise([](const auto& f) { same_everywhere(f); });
}

TEST_CASE("erfcx has the host's bits on all of its ranges", "[gpu][libraries]")
{
    const auto all = []<class T>(T) {
        CHECK(same_everywhere([] { return erfcx(wg::linspace<T>(T(-30), T(30), 301)); }) == 0);
        CHECK(same_everywhere([] {
                  const auto f = [](const Tensor<T>& x) { return sum(erfcx(x) * x); };
                  return wg::grad(f)(wg::linspace<T>(T(-5), T(12), 101));
              }) == 0);
        CHECK(same_everywhere([] {
                  return erfcx(Tensor<T>{T(1e6), T(1e30), -T(INFINITY), T(INFINITY)});
              }) == 0);
    };
    all(double{}), all(float{});
}

TEST_CASE("elementwise kernels need no host, in any layout", "[gpu][libraries]")
{
    const auto here = [](auto f) { CHECK(same_everywhere(f) == 0); };
    const wg::OnDevice host(0);
    const auto a = some({6, 5, 4});
    const auto on = [&](const Tensor<double>& x) { return wg::placed(x.any().value); };
    const auto put = [&](const Tensor<double>& x) { return Tensor<double>(wg::AnyTensor{on(x), {}}); };
    here([&] { return exp(put(a)) * 2.0; });
    here([&] { return transpose(put(a)) + 1.0; });
    here([&] { return put(a) * transpose(put(a)(0))(0)(0); });
    here([&] { return copy(transpose(put(a))); });
    here([&] { return view(put(a), wg::range(1, 5), 2) - put(a)(0)(0); });
    here([&] { return wg::where(put(a) > 0.0, put(a), -put(a)); });
    here([&] { return pow(abs(put(a)), 1.5) + hypot(put(a), 2.0) + atan2(put(a), put(a) * put(a)); });
    here([&] { return sin(put(a) * 1e6) + cos(put(a) * 1e9) + tan(put(a)); });
    here([&] {
        Tensor<double> x = copy(put(a));
        view(x, 2) = 7.0;
        view(x, wg::range(0, 2)) *= 3.0;
        x -= 0.5 * x;
        return x;
    });
    here([&] { return wg::cast<float>(put(a)) * 3.0F; });
    here([&] { return wg::cast<std::int64_t>(put(a) * 100.0) * 7; });
}

TEST_CASE("products of all ranks, with their derivatives", "[gpu][libraries]")
{
    const auto near = [](const auto& f) {
        const std::int64_t before = wg::cuda::counts().host_calls;
        const auto there = [&] {
            const wg::OnDevice on(wg::detail::gpu::number_of(wg::cuda{}));
            const auto y = f();
            CHECK(is_there(y));
            return wg::to<wg::cpu>(y);
        }();
        CHECK(wg::cuda::counts().host_calls == before);
        CHECK(allclose(there, f(), 1e-12));
    };
    // operands are made on the device by one copy each, so that no draw is the host's
    const auto of = [](const wg::Shape& shape) {
        const Tensor<double> x = [&] {
            const wg::OnDevice host(0);
            return some(shape);
        }();
        return Tensor<double>(wg::AnyTensor{wg::placed(x.any().value), {}});
    };
    near([&] { return matmul(of({4, 5}), of({5, 3})); });
    near([&] { return matmul(transpose(of({5, 4})), transpose(of({3, 5}))); });
    near([&] { return matmul(of({40, 70}), of({70, 33})); });
    near([&] { return matmul(of({5}), of({5, 3})); });
    near([&] { return matmul(of({4, 5}), of({5})); });
    near([&] { return matmul(of({5}), of({5})); });
    near([&] { return matmul(of({2, 3, 4, 5}), of({5, 6})); });
    near([&] { return matmul(of({3, 1, 4, 5}), of({2, 5, 6})); });
    near([&] { return matmul(of({2, 3, 5}), of({5})); });
    near([&] { return matmul(view(of({6, 8}), wg::range(0, 6, 2), wg::range(1, 6)), of({5, 3})); });
    near([&] { return matmul(of({4, 0}), of({0, 3})); });
    near([&] { return matmul(of({0, 4}), of({4, 3})); });
    CHECK(same_everywhere([] {
              return matmul(wg::cast<std::int64_t>(wg::zeros_like(some({20, 17})) + 3.0),
                            wg::cast<std::int64_t>(wg::zeros_like(some({17, 5})) + 2.0));
          }) <= 2);
    const wg::OnDevice on(wg::detail::gpu::number_of(wg::cuda{}));
    CHECK_THROWS_AS(matmul(of({4, 5}), of({4, 3})), wg::ShapeError);
    const auto f = [&](const Tensor<double>& x) { return sum(square(matmul(x, x(0)))); };
    CHECK(wg::check_grads(f, some({3, 4}), {.order = 2}));
}

TEST_CASE("structural operations, their derivatives and writes", "[gpu]")
{
    device_programs::moves([](const auto& f) { same_everywhere(f); });
    same_everywhere([] {
        const auto f = [](const Tensor<double>& x) {
            const wg::Indices rows = {2, 0, 2};
            return sum(softmax(x * 2.0, 1) * take(x, rows, 0)(0, 1)) + mean(amax(x, {1})) +
                   sum(square(view(x, wg::range(0, 2))));
        };
        return wg::grad(f)(some({3, 5}));
    });
}

TEST_CASE("integers that are no positions are found on the device", "[gpu][libraries]")
{
    const wg::OnDevice there(wg::detail::gpu::number_of(wg::cuda{}));
    const wg::Indices beyond = {{0, 1}, {-3, 3}}, good = {2, 0, -1};
    const auto x = wg::ones<double>({3});
    const auto before = wg::cuda::counts().to_host.load();
    Tensor<double> y = take(x, beyond, 0);  // nobody waits for it
    for (int k = 0; k < 100; ++k) y = take(x, good, 0);
    const auto wrong = contains("[take] index 3 at (1, 1) of operand 1 is out of range for axis 0 of shape "
                                "(3) (test_cuda_operations.cpp:");
    y = take(x, beyond, 0) * 2.0;
    CHECK(wg::cuda::counts().to_host == before);
    CHECK_THROWS_WITH(y(0, 0).item(), wrong);
    CHECK_NOTHROW(y(0, 0).item());
    static_cast<void>(scatter_add(x, wg::Indices{0, 1, 7}, x, 0));
    CHECK_THROWS_AS(wg::cuda::synchronize(), wg::IndexError);
    CHECK_NOTHROW(wg::cuda::synchronize());
    wg::cuda::wait_for_each(true);
    CHECK_THROWS_WITH(take(x, beyond, 0), wrong);
    wg::cuda::wait_for_each(false);
    static_cast<void>(take(wg::zeros<double>({0, 2}), beyond, 0));
    CHECK_THROWS_AS(wg::cuda::synchronize(), wg::IndexError);
    static_cast<void>(take(x, beyond, 0));
    const auto many = [&] {
        for (int k = 0; k < 300; ++k) y = take(x, good, 0);
    };
    CHECK_THROWS_WITH(many(), wrong);  // there is room for so many open questions
}

TEST_CASE("scatters into few places are sorted, and meet there in the stated order", "[gpu][libraries]")
{
    const auto on = [](const auto& f) { CHECK(same_everywhere(f) == 0); };
    const auto of = [](const wg::Shape& shape) {
        const wg::OnDevice host(0);
        return wg::normal<float>(wg::Key(13), shape);
    };
    const auto put = [](const auto& x) {
        return std::remove_cvref_t<decltype(x)>(wg::AnyTensor{wg::placed(x.any().value), {}});
    };
    for (const std::int64_t n : {511, 512, 1000, 3000})
        for (const std::int64_t places : {1, 7, 5000}) {
            CAPTURE(n, places);
            const auto i = [&] {
                const wg::OnDevice host(0);
                return wg::randint<std::int64_t>(wg::Key(n), {n}, -places, places);
            }();
            const auto x = of({n}), columns = of({n, 3});
            on([&] { return scatter_add(put(of({places})), put(i), put(x), 0); });
            on([&] { return scatter_add(put(of({places, 3})), put(i), put(columns), 0); });
            on([&] { return segment_sum(put(columns), abs(put(i)), places + 1); });
            on([&] {
                const auto f = [&](const Tensor<float>& t) {
                    return sum(square(take(t, put(i), 1)) * put(transpose(columns)));
                };
                return wg::grad(f)(put(of({3, places})));
            });
        }
    const auto wide = of({2, 1, 2, 1, 2, 1, 2, 1, 2, 2, 3});
    on([&] { return roll(put(wide), 1, 8) + transpose(transpose(put(wide))); });
    on([&] { return flip(put(wide(0)(0))); });
    on([&] { return copy(transpose(put(wide))); });
}

TEST_CASE("loops and branches of eager code run where their operands are", "[gpu][libraries]")
{
    const auto on = [](const auto& f) { CHECK(same_everywhere(f) == 0); };
    const auto step = [](const Tensor<double>& a, const Tensor<double>& x) {
        return std::pair(tanh(a + x), sum(a * x));
    };
    on([&] { return wg::scan(step, some({3}), some({4, 3})).second; });
    on([&] {
        const auto f = [&](const Tensor<double>& s) { return sum(wg::scan(step, s, some({4, 3})).second); };
        return wg::grad(f)(some({3}));
    });
    on([&] {
        return wg::while_loop([](const Tensor<double>& x) { return sum(x) < 50.0; },
                              [](const Tensor<double>& x) { return x * 2.0; }, exp(some({5})));
    });
    on([&] {
        return wg::cond(
            sum(some({5})) > 0.0, [](const Tensor<double>& t) { return exp(t); },
            [](const Tensor<double>& t) { return t * 2.0; }, some({5}));
    });
}

TEST_CASE("what is made of described operations needs no host, and nobody hears of those", "[gpu][libraries]")
{
    const auto on = [](const auto& f) { CHECK(same_everywhere(f) == 0); };
    on([] { return wg::grad([](const Tensor<double>& x) { return sum(prod(x, {1})); })(some({4, 3})); });
    on([] {
        const auto f = [](const Tensor<double>& x) { return cross_entropy(x, wg::Indices{2, 0, 1, 1}); };
        return wg::grad([&](const Tensor<double>& x) { return sum(square(wg::grad(f)(x))); })(some({4, 3}));
    });
    const auto f = [](const Tensor<double>& x) { return cross_entropy(x, wg::Indices{2, 0, 1, 1}); };
    const auto x = some({4, 3});
    auto frozen = wg::freeze(wg::value_and_grad(f), {.device = wg::cuda{}});
    for (int k = 0; k < 3; ++k) CHECK(allclose(frozen(x).second, wg::grad(f)(x), 1e-14));
    const wg::OnDevice there(wg::detail::gpu::number_of(wg::cuda{}));
    CHECK_THROWS_WITH(cross_entropy(wg::ones<double>({2, 3}), wg::Indices{1, 3}).item(),
                      contains("[at_labels] index 3 at (1)") && contains("test_cuda_operations.cpp:"));
}
