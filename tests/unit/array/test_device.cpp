// Devices: tensors that lie where the host cannot touch them (tests/apart.hpp) give what those of the host give.
#include "apart.hpp"
#include <wengert/io/dlpack.hpp>
#include <wengert/wengert.hpp>

#include <sstream>

#include "catch.hpp"
#include "device_programs.hpp"

namespace wg = wengert;
using wg::Tensor;

namespace {

template <class T> bool is_apart(const Tensor<T>& x)
{
    const wg::Block& b = *x.any().value;
    return b.device() == wg::apart::device() && wg::apart::contains(b.data);
}

/// f on the host and apart: the same bits.
template <class F> void same_everywhere(const F& f)
{
    const auto numbers = [&](std::uint8_t device) {
        const wg::OnDevice there(device);
        const Tensor<double> y = f();
        CHECK(y.any().value->device() == device);
        const Tensor<double> flat = copy(y);
        return std::pair(y.shape(), std::vector<double>(flat.data(), flat.data() + flat.size()));
    };
    const auto host = numbers(0), apart = numbers(wg::apart::device());
    CHECK(host.first == apart.first);
    CHECK(host.second == apart.second);
}

using device_programs::some;

}  // namespace

TEST_CASE("what is made of numbers goes to the thread's device, and values come back", "[device]")
{
    const wg::OnDevice there(wg::apart::device());
    Tensor<double> x = {{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
    CHECK(is_apart(x));
    CHECK(is_apart(wg::zeros<float>({3})));
    CHECK(is_apart(wg::arange<std::int64_t>(4)));
    CHECK(is_apart(Tensor<double>(1.0)));
    CHECK(is_apart(wg::uniform<double>(wg::Key(1), {4})));
    CHECK(x(1, 2).item() == 6.0);
    CHECK(x.data()[4] == 5.0);
    CHECK(transpose(x).array()(2, 0) == 3.0);
    std::ostringstream text;
    text << transpose(x);
    CHECK_THAT(text.str(), contains("[[1.0 4.0]\n [2.0 5.0]\n [3.0 6.0]]"));
    {
        auto writer = write(x);
        writer.data()[0] = 7.0;
    }
    CHECK(x(0, 0).item() == 7.0);
    CHECK(allclose(x, Tensor<double>{{7.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}));
}

TEST_CASE("operations stay where their operands are", "[device]")
{
    const wg::OnDevice host(0);
    Tensor<double> y;
    {
        const wg::OnDevice there(wg::apart::device());
        y = some({3, 4});
    }
    CHECK(is_apart(y * 2.0 + 1.0));
    CHECK(is_apart(exp(y) * y));
    CHECK(is_apart(sum(y, {0})));
    CHECK(is_apart(transpose(y)));
    CHECK(is_apart(zeros_like(y)));
    CHECK(is_apart(y > 0.0));
    CHECK(is_apart(wg::grad([](const Tensor<double>& t) { return sum(square(t)); })(y)));
    CHECK(wg::zeros<double>({2}).any().value->device() == 0);
}

TEST_CASE("operands on different devices are refused, with both and the line", "[device]")
{
    const wg::OnDevice host(0);
    const Tensor<double> here = wg::zeros<double>({2, 3});
    const wg::OnDevice there(wg::apart::device());
    const Tensor<double> away = wg::zeros<double>({3});
    CHECK_THROWS_WITH(here + away,
                      contains("[add] operands are on different devices: (2, 3) float64 on cpu and "
                               "(3) float64 on apart (") &&
                          contains("test_device.cpp:"));
    CHECK_THROWS_AS(matmul(here, away), wg::DeviceError);
    CHECK_THROWS_AS(wg::concatenate({away, here(0)}), wg::DeviceError);
    Tensor<double> x = copy(here);
    CHECK_THROWS_AS(x += away, wg::DeviceError);
    CHECK(allclose(x, here));
    Tensor<double> variable = away;
    variable.requires_grad(true);
    CHECK_THROWS_AS(wg::backward(variable * 2.0, wg::ones_like(here(0))), wg::DeviceError);
}

TEST_CASE("elementwise operations and their derivatives have the host's bits", "[device]")
{
    device_programs::elementwise([](const auto& f) { same_everywhere(f); });
    same_everywhere([] {
        const auto f = [](const Tensor<double>& x) { return sum(exp(x) * x); };
        return wg::hessian(f)(some({6}));
    });
    same_everywhere([] {
        const auto f = [](const Tensor<double>& x) { return exp(x) * x; };
        return wg::jvp(f, some({40}), wg::ones<double>({40})).second;
    });
}

TEST_CASE("structural operations, their derivatives and writes", "[device]")
{
    wg::apart::counts().reset();
    same_everywhere([] { return matmul(some({4, 5}), transpose(some({3, 5}))); });
    device_programs::moves([](const auto& f) { same_everywhere(f); });
    CHECK(wg::apart::counts().programs >= 2);
    same_everywhere([] {
        const auto f = [](const Tensor<double>& x) {
            const wg::Indices rows = {2, 0, 2};
            return sum(softmax(matmul(x, transpose(x)), 1) * take(x, rows, 0)(0, 1)) + mean(amax(x, {1})) +
                   sum(square(view(x, wg::range(0, 2))));
        };
        return wg::grad(f)(some({3, 5}));
    });
    const wg::OnDevice there(wg::apart::device());
    const auto f = [](const Tensor<double>& x) {
        return sum(prod(x, {1}) * norm(x)) + sum(cumprod(x, 0)) + sum(wg::pad(x, {{1, 0}, {0, 2}}));
    };
    CHECK(wg::check_grads(f, some({3, 4}), {.order = 2}));
    const wg::Indices beyond = {0, 5};
    CHECK_THROWS_AS(take(some({3}), beyond, 0), wg::IndexError);
}

TEST_CASE("a cotangent of zeros passes what is not finite, there as here", "[device]")
{
    const wg::OnDevice there(wg::apart::device());
    const auto f = [](const Tensor<double>& x) {
        const Tensor<double> n = norm(x);
        return sum(where(n > 0.0, n, 0.0 * n)) * 1.0;
    };
    CHECK(allclose(wg::grad(f)(wg::zeros<double>({3})), wg::zeros<double>({3})));
}

TEST_CASE("memory that is not in use is full of NaNs", "[device]")
{
    const wg::OnDevice there(wg::apart::device());
    {
        const Tensor<double> gone = wg::ones<double>({1000});
    }
    const auto b =
        wg::make_elsewhere(wg::current_thread(), wg::apart::device(), wg::DType::float64, {1000}, 1000);
    const double* const x = wg::host_elements<double>(*b);
    CHECK(std::all_of(x, x + 1000, [](double v) { return std::isnan(v); }));
}

TEST_CASE("a frozen function on another device", "[device]")
{
    const auto loss = [](const Tensor<double>& w, const Tensor<double>& x) {
        Tensor<double> y = tanh(matmul(x, w));
        if ((sum(y) > 0.0).item()) y = y * 2.0;
        return mean(square(y - 0.5));
    };
    same_everywhere([&] {
        auto frozen = wg::freeze(wg::value_and_grad(loss));
        Tensor<double> w = some({4, 3});
        for (int k = 0; k < 5; ++k) w -= 0.1 * frozen(w, some({6, 4})).second;
        CHECK(frozen.stats().replays > 0);
        return w;
    });
    same_everywhere([&] {
        Tensor<double> w = some({4, 3});
        const Tensor<double> scale = some({3});
        auto run = wg::freeze([&](const wg::Key& key, const Tensor<double>& x) {
            w -= 0.1 * scale * sum(wg::normal<double>(key, {4, 3}) * x);
            return w * 2.0;
        });
        run.live(w);
        Tensor<double> y;
        for (int k = 0; k < 5; ++k) y = run(wg::Key(static_cast<std::uint64_t>(k)), some({4, 3}));
        return y + w;
    });
}

TEST_CASE("other libraries are given elements of the host", "[device]")
{
    const wg::OnDevice there(wg::apart::device());
    const Tensor<double> x = {1.0, 2.0, 3.0};
    REQUIRE(is_apart(x));
    wg::dlpack::Managed* const lent = wg::to_dlpack(x);
    CHECK(!wg::apart::contains(static_cast<const std::byte*>(lent->array.data)));
    CHECK(static_cast<const double*>(lent->array.data)[2] == 3.0);
    lent->end(lent);
}
