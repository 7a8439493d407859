// Values with a shape, and tensors of the caller's memory: never written to, kept as long as anything reads them.
#include "catch.hpp"

#include <memory>
#include <thread>
#include <vector>

#include <wengert/io/buffers.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/transforms/checkpoint.hpp>
#include <wengert/transforms/grad.hpp>
#include <wengert/transforms/saved_tensor_hooks.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

/// Memory that says when it is given back.
struct Lender {
    std::vector<double> memory;
    bool returned = false;
    explicit Lender(std::size_t n) : memory(n)
    {
        for (std::size_t i = 0; i < n; ++i) memory[i] = static_cast<double>(i);
    }
    D lend(const wg::Shape& shape)
    {
        return wg::borrow(memory.data(), shape,
                          std::shared_ptr<void>(nullptr, [this](void*) { returned = true; }));
    }
};
bool untouched(const Lender& l)
{
    for (std::size_t i = 0; i < l.memory.size(); ++i)
        if (l.memory[i] != static_cast<double>(i)) return false;
    return true;
}

}  // namespace

TEST_CASE("tensor(values, shape), in NumPy's order")
{
    CHECK(allclose(wg::tensor({1.0, 2.0, 3.0, 4.0}, {2, 2}), D{{1.0, 2.0}, {3.0, 4.0}}, 0));
    static_assert(std::is_same_v<decltype(wg::tensor({1, 2}, {2})), wg::Tensor<std::int32_t>>);
    CHECK(allclose(wg::tensor<double>({1, 2}, {2, 1}), D{{1.0}, {2.0}}, 0));
    const std::vector<float> v = {1.f, 2.f, 3.f};
    CHECK(wg::tensor(v, {3, 1}).shape() == wg::Shape{3, 1});
    CHECK_THROWS_AS(wg::tensor(v, {2, 2}), wg::ShapeError);
}

TEST_CASE("borrowed memory is read without a copy and given back after the last tensor")
{
    for (const std::size_t n : {std::size_t{4}, std::size_t{400}}) {
        Lender l(n);
        {
            D x = l.lend({2, static_cast<std::int64_t>(n / 2)});
            CHECK(x.data() == l.memory.data());
            const D column = view(x, wg::all(), 1);
            x = D();
            CHECK(!l.returned);
            CHECK(column(0).item() == 1.0);
        }
        CHECK(l.returned);
    }
    const std::vector<double> plain = {1.0, 2.0};
    CHECK(sum(wg::borrow(plain.data(), {2})).item() == 3.0);
    CHECK(wg::borrow<double>(nullptr, {0, 3}).size() == 0);
    CHECK_THROWS_AS(wg::borrow<double>(nullptr, {1}), wg::Error);
    const auto* odd = reinterpret_cast<const double*>(reinterpret_cast<const char*>(plain.data()) + 1);
    CHECK_THROWS_WITH(wg::borrow(odd, {1}), contains("aligned") && contains("test_buffers.cpp"));
    CHECK_THROWS_AS(wg::borrow(plain.data(), {-1}), wg::ShapeError);
}

TEST_CASE("nothing is written to borrowed memory")
{
    for (const std::size_t n : {std::size_t{4}, std::size_t{400}}) {
        Lender l(n);
        const wg::Shape shape{static_cast<std::int64_t>(n)};
        D x = l.lend(shape);
        x += 1.0;
        CHECK(l.returned);  // x has elements of its own
        x = l.lend(shape);
        view(x, wg::range(0, 2)) = 7.0;
        CHECK(x(1).item() == 7.0);
        x = l.lend(shape) * 2.0 + l.lend(shape);  // operands that nobody else holds
        CHECK(x(2).item() == 6.0);
        D y = view(l.lend(shape), wg::range(1, 4));
        y *= 2.0;
        CHECK(y(0).item() == 2.0);
        const auto f = [&](const D& t) { return sum(t * l.lend(shape)); };
        CHECK(wg::grad(f)(wg::ones<double>(shape))(3).item() == 3.0);
        const auto pullback = wg::vjp([](const D& t) { return t * t; }, wg::ones<double>(shape)).second;
        CHECK(pullback(l.lend(shape))(3).item() == 6.0);  // the cotangent itself
        D leaf = l.lend(shape);
        leaf.requires_grad(true);
        {
            const wg::NoGrad unrecorded;
            leaf -= 0.5;
        }
        CHECK(untouched(l));
    }
}

TEST_CASE("a tape, hooks and checkpoints keep borrowed memory")
{
    Lender l(100);
    {
        D y;
        D w = wg::ones<double>({100});
        w.requires_grad(true);
        y = sum(w * l.lend({100}));
        CHECK(!l.returned);  // the derivative with respect to w reads it
        wg::backward(y);
        CHECK(w.grad()(9).item() == 9.0);
        l.returned = false;
        const auto f = wg::checkpoint([](const D& t, const D& u) { return sum(t * exp(u * 0.01)); });
        CHECK(wg::grad<0>(f)(w.detach(), l.lend({100}))(0).item() == 1.0);
        const wg::SavedTensorHooks packed(wg::save_as_float32());
        CHECK(wg::grad([&](const D& t) { return sum(t * square(l.lend({100}))); })(w.detach())(9).item() ==
              81.0);
    }
    CHECK(l.returned);
    CHECK(untouched(l));
}

TEST_CASE("borrowed memory may be read and dropped on another thread")
{
    Lender l(1000);
    {
        D x = l.lend({1000});
        double total = 0;
        std::thread([&total, x] { total = sum(x).item(); }).join();
        CHECK(total == 499500.0);
        std::thread([x = std::move(x)] {}).join();
    }
    CHECK(sum(D{1.0, 2.0} * 2.0).item() ==
          6.0);  // what other threads drop, its owner gives back at its next operation
    CHECK(l.returned);
}

TEST_CASE("a thread that only makes tensors takes back what others release")
{
    for (const std::int64_t n :
         {std::int64_t{3}, std::int64_t{20000}}) {  // elements in the header, and beside it
        D given;
        const auto hand_over = [&] {
            given = wg::ones<double>({n});
            std::thread([x = std::move(given)]() mutable { x = D(); }).join();
        };
        const auto held = [] { return wg::memory::stats().current_bytes + wg::memory::stats().cell_bytes; };
        for (int i = 0; i < 4; ++i) hand_over();
        const std::int64_t before = held();
        for (int i = 0; i < 50; ++i) hand_over();
        CHECK(held() <= before + 64 * 1024);
        hand_over();
        wg::memory::trim();
        CHECK(held() < before);
    }
}
