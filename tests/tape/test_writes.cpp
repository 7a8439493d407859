/// Writes: other handles and what the tape saved never change; variables, NoGrad, memory reuse, refusals.
#include "../catch.hpp"
#include "ramp.hpp"

#include <wengert/ops/indexing.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/tape/backward.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/derivatives.hpp>

#include <thread>

using namespace wengert;
using placeholders::_;
using T = Tensor<double>;

TEST_CASE("copies are independent as soon as one is written", "[writes]")
{
    T a = {1.0, 2.0, 3.0, 4.0};
    T b = a;
    const T part = view(a, range(1, 3));
    b += 1.0;
    view(b, range(0, 2)) = 10.0;
    view(a, 2) = -1.0;
    CHECK(values(a) == std::vector<double>{1, 2, -1, 4});
    CHECK(values(b) == std::vector<double>{10, 10, 4, 5});
    CHECK(values(part) == std::vector<double>{2, 3});
}

TEST_CASE("every kind of update", "[writes]")
{
    T x = {1.0, 2.0, 3.0};
    x += 1.0;
    x *= T{2.0, 3.0, 4.0};
    const T& same = x;
    x -= same;
    CHECK(values(x) == std::vector<double>{0, 0, 0});
    x += 6.0;
    x /= T(4.0);
    CHECK(values(x) == std::vector<double>{1.5, 1.5, 1.5});
    T m = {{1.0, 2.0}, {3.0, 4.0}};
    m *= T{10.0, 100.0};
    view(m, all(), 0) += T{1.0, 2.0};
    view(m, 1) -= 1.0;
    view(m, 1, 1) /= 3.0;
    view(m, 0) *= view(m, 1);
    CHECK(values(m) == std::vector<double>{11 * 31, 200 * 133, 31, 133});
    view(m, range(_, _, -1)) = view(m, all());
    CHECK(values(m) == std::vector<double>{31, 133, 11 * 31, 200 * 133});
    view(m, all()) = m;
    CHECK(m(0, 0).item() == 31);
}

TEST_CASE("a named view shows what was written through it", "[writes]")
{
    T x = {1.0, 2.0, 3.0};
    auto v = view(x, range(0, 2));
    v = 5.0;
    v += 1.0;
    CHECK(values(v) == std::vector<double>{6, 6});
    CHECK(values(x) == std::vector<double>{6, 6, 3});
    x += 1.0;
    CHECK(values(v) == std::vector<double>{6, 6});
}

TEST_CASE("memory is written in place only where nobody else looks", "[writes]")
{
    T x = ramp(100);
    const double* before = x.data();
    x += 1.0;
    view(x, range(3, 9)) = 0.0;
    CHECK(x.data() == before);
    const T copy = x;
    x *= 2.0;
    CHECK(x.data() != before);
    CHECK(copy.data() == before);

    T leaf = ramp(100);
    leaf.requires_grad(true);
    T y = leaf + 1.0;
    const double* own = y.data();
    y += leaf;  // an addition needs neither of its operands
    view(y, range(0, 3)) = 7.0;
    CHECK(y.data() == own);
    const T square = y * y;  // saves y
    y += 1.0;
    CHECK(y.data() != own);
    backward(sum(square));
    CHECK(leaf.grad()(5).item() == 2 * (5 + 1 + 5) * 2);
    CHECK(leaf.grad()(1).item() == 0);
}

TEST_CASE("a temporary that is an operand twice is kept for the derivative", "[writes]")
{
    for (const std::size_t n : {2, 300}) {
        T x = ramp(n) + 2.0;
        x.requires_grad();
        T y = x * 0.5, *const same = &y;
        const T q = std::move(y) /
                    std::move(*same);  // the derivative reads the second one, so the first does not die
        CHECK(values(T(AnyTensor{Ref<Block>(q.any().node->saved()[1]), {}}))[1] == 1.5);
    }
}

TEST_CASE("writes are differentiable, to order 2", "[writes]")
{
    const auto f = [](const T& x) {
        T y = x * x;
        const T before = sum(y);
        view(y, range(1, 3)) = 7.0;
        view(y, range(3, _)) *= x(0);
        y += x;
        y *= y;
        view(y, range(_, _, -2)) = view(x, range(0, 2)) * x(3);
        view(y, 0) -= sum(x);
        y /= 1.0 + x * x;
        return sum(y * y) + before;
    };
    const T a = {1.0, 2.0, 3.0, 4.0};
    CHECK(check_grads(f, a, {.order = 2}).message == "");
    const auto broadcast = [](const T& x) {
        T y = T{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}} * x(0);
        view(y, all(), range(1, 3)) = view(x, range(0, 2));
        view(y, newaxis(), 0) *= x(2);
        return sum(y * y * y);
    };
    CHECK(check_grads(broadcast, a, {.order = 2}).message == "");
    const auto squared = [](const T& x) {
        T y = x;
        y *= y;
        return sum(y * x);
    };
    CHECK(check_grads(squared, a, {.order = 2}).message == "");
}

TEST_CASE("a write under NoGrad keeps the variable", "[writes][leaves]")
{
    T w = {1.0, -2.0};
    w.requires_grad(true);
    const T old = w;
    backward(sum(w * w));
    {
        NoGrad off;
        w -= 0.1 * w.grad();
        view(w, 1) = 3.0;
    }
    CHECK(w.is_leaf());
    CHECK(values(old) == std::vector<double>{1, -2});
    CHECK(values(w) == std::vector<double>{0.8, 3.0});
    CHECK(values(w.grad()) == std::vector<double>{2, -4});  // what had been added up
    w.zero_grad();
    CHECK(values(old.grad()) == std::vector<double>{2, -4});
    backward(sum(w * w));
    CHECK(w.grad()(1).item() == 6);
    CHECK(old.grad()(1).item() == -4);
}

TEST_CASE("an unshared variable stays the same node", "[writes][leaves]")
{
    T w = {1.0, -2.0};
    w.requires_grad(true);
    const Node* node = w.any().node.get();
    const auto size = Tape::current().size();
    {
        NoGrad off;
        w += 1.0;
        view(w, 0) = 2.0;
    }
    CHECK(w.any().node.get() == node);
    CHECK(Tape::current().size() == size);
}

TEST_CASE("a recorded write makes a variable an interior value", "[writes][leaves]")
{
    T w = {1.0, -2.0};
    w.requires_grad(true);
    const T leaf = w;
    w *= 3.0;
    CHECK(!w.is_leaf());
    CHECK_THROWS_WITH(w.grad(), contains("write at test_writes.cpp:" + std::to_string(__LINE__ - 2)));
    view(w, 0) = 1.0;
    CHECK_THROWS_WITH(w.grad(), contains("write at test_writes.cpp:" + std::to_string(__LINE__ - 1)));
    backward(sum(w * w));
    CHECK(values(leaf.grad()) == std::vector<double>{0, 2 * 9 * -2.0});
    CHECK(leaf.is_leaf());
}

TEST_CASE("under NoGrad an interior value becomes a constant", "[writes]")
{
    T w = {1.0, -2.0};
    w.requires_grad(true);
    T y = w * 2.0;
    {
        NoGrad off;
        y += 1.0;
    }
    CHECK(!y.any().node);
}

TEST_CASE("integers and bools are written too", "[writes]")
{
    Tensor<std::int64_t> n = {1, 2, 3};
    n += 1;
    view(n, 0) = 9;
    CHECK(n(0).item() == 9);
    CHECK(n(2).item() == 4);
    CHECK_THROWS_AS(n /= 2, DTypeError);
    Tensor<bool> b = {true, false};
    view(b, 1) = true;
    CHECK(b(1).item());
}

TEST_CASE("after a refused write everything is as before", "[writes][errors]")
{
    T x = {1.0, 2.0, 3.0};
    const auto size = Tape::current().size();
    CHECK_THROWS_WITH((x += T{1.0, 2.0}),
                      contains("add") && contains("(2)") && contains("(3)") && contains("test_writes.cpp:"));
    CHECK_THROWS_AS((x += T{{1.0, 2.0, 3.0}}), ShapeError);
    CHECK_THROWS_WITH((view(x, range(0, 2)) = T{1.0, 2.0, 3.0}), contains("assign_view") && contains("(3)"));
    CHECK_THROWS_AS((view(x, 7) = 1.0), IndexError);
    CHECK(values(x) == std::vector<double>{1, 2, 3});
    CHECK(Tape::current().size() == size);
    T moved = std::move(x);
    CHECK_THROWS_AS((x += 1.0), TapeError);
    CHECK_THROWS_AS((view(x, 0) = 1.0), TapeError);
}

TEST_CASE("another thread's variable cannot be written", "[writes][errors]")
{
    T w = ramp(3);
    w.requires_grad(true);
    std::string text;
    std::thread([&] {
        const auto attempt = [&](auto write) {
            try {
                write();
                text += "nothing;";
            } catch (const TapeError& e) {
                text += std::string(e.what()).find("thread") != std::string::npos ? "refused;" : e.what();
            }
        };
        attempt([&] { w += 1.0; });
        attempt([&] { view(w, 0) = 1.0; });
        attempt([&] { static_cast<void>(write(w)); });
        attempt([&] {
            NoGrad off;
            w += 1.0;
        });
    }).join();
    CHECK(text == "refused;refused;refused;refused;");
    CHECK(values(w) == std::vector<double>{0, 1, 2});
}

TEST_CASE("a scoped writer detaches first", "[writes][writer]")
{
    T x = ramp(20);
    const T copy = x;
    {
        auto w = write(x);
        w.data()[3] = 30.0;
        w.array()(4) = 40.0;
        CHECK_THROWS_WITH((x += 1.0), contains("live writer"));
        CHECK_THROWS_AS(write(x), TapeError);
    }
    CHECK(x(3).item() == 30);
    CHECK(x(4).item() == 40);
    CHECK(copy(3).item() == 3);
    const double* own = x.data();
    write(x).data()[0] = 1.0;
    CHECK(x.data() == own);
}

TEST_CASE("a scoped writer has an element for an index of each axis, of any rank", "[writes][writer]")
{
    T x = ramp(6), row = ramp(3), number = zeros<double>({}), deep = zeros<double>({2, 3, 2, 2});
    T m = copy(reshape(x, {2, 3}));
    {
        auto w = write(m);
        CHECK(w(1, 2) == 5);
        w(0, 1) = 10;
        w(-1, -3) += 20;
        CHECK(w.shape() == Shape{2, 3});
        write(row)(-1) = 7;
        write(number)() = 8;
        write(deep)(1, 2, std::size_t{0}, 1) = 9;
        const std::string line = ":" + std::to_string(__LINE__ + 1);
        CHECK_THROWS_WITH(w(0, 3), contains("[write]") && contains("(2, 3)") && contains(line));
        CHECK_THROWS_AS(w(2, 0), IndexError);
        CHECK_THROWS_AS(w(-3, 0), IndexError);
        CHECK_THROWS_WITH(w(1), contains("1 indices of an element of shape (2, 3): one for each axis"));
        CHECK_THROWS_AS(w(0, 0, 0), IndexError);
    }
    CHECK(values(m) == std::vector<double>{0, 10, 2, 23, 4, 5});
    CHECK(values(x) == std::vector<double>{0, 1, 2, 3, 4, 5});
    CHECK(row(2).item() == 7);
    CHECK(number.item() == 8);
    CHECK(deep.data()[((1 * 3 + 2) * 2 + 0) * 2 + 1] == 9);
}

TEST_CASE("recording from a tensor with a live writer throws", "[writes][writer]")
{
    T x = ramp(20);
    x.requires_grad(true);
    const T other = x;
    {
        auto w = write(x);
        CHECK_THROWS_WITH(x * 2.0, contains("live writer"));
        CHECK_THROWS_AS(view(x, range(0, 3)), TapeError);
        w.data()[0] = 5.0;
    }
    CHECK(x.is_leaf());
    CHECK(other(0).item() == 0);
    backward(sum(x * x));
    CHECK(x.grad()(0).item() == 10);
    CHECK(other.grad()(0).item() == 0);
    T y = x * 2.0;
    const T square = y * y;
    write(y).data()[1] = 100.0;
    CHECK(!y.any().node);
    x.zero_grad();
    backward(sum(square));
    CHECK(x.grad()(1).item() == 8);
}

TEST_CASE("memory failures leave a written tensor as it was", "[writes][errors]")
{
    T x = ramp(50);
    x.requires_grad(true);
    const T shared = x;
    T y = x * 1.0;
    const auto size = Tape::current().size();
    const auto attempt = [&](T& target, auto write) {
        const auto before = values(target);
        const Node* node = target.any().node.get();
        for (std::int64_t n = 1; n < 100; ++n) {
            memory::injection = {n, 0};
            try {
                write();
                memory::injection = {};
                return;
            } catch (const MemoryError&) {
                memory::injection = {};
                CHECK(values(target) == before);
                CHECK(target.any().node.get() == node);
                CHECK(Tape::current().size() == size);
            }
        }
        FAIL("never succeeded");
    };
    SECTION("update")
    {
        attempt(y, [&] { y += x; });
    }
    SECTION("scaling")
    {
        attempt(y, [&] { y *= x; });
    }
    SECTION("part")
    {
        attempt(y, [&] { view(y, range(0, 9)) = view(x, range(9, 18)); });
    }
    SECTION("variable, recorded")
    {
        attempt(x, [&] { view(x, 0) = 1.0; });
    }
    SECTION("variable, not recorded")
    {
        NoGrad off;
        attempt(x, [&] { x -= 1.0; });
    }
    SECTION("writer")
    {
        attempt(x, [&] { static_cast<void>(write(x)); });
    }
}

TEST_CASE("a view with a name writes its variable as it is now", "[writes]")
{
    T w = {1.0, 2.0};
    auto first = view(w, 0);
    w *= 10.0;
    first += 1.0;
    CHECK(values(w) == std::vector<double>{11.0, 20.0});
    first *= 2.0;
    CHECK(values(w) == std::vector<double>{22.0, 20.0});
    auto all = view(w, range(_)), second = view(w, 1);
    all = 5.0;
    second -= 1.0;
    CHECK(values(w) == std::vector<double>{5.0, 4.0});
    const auto slope = [](T t) {
        T y = t * 1.0;
        auto part = view(y, 0);
        y *= 3.0;
        part += 1.0;
        part /= 2.0;
        return sum(y * y);
    };
    CHECK(check_grads(slope, T{0.5, -1.5}, {.order = 2}).message.empty());
}

TEST_CASE("a view whose variable has another shape now, or none, is refused", "[writes]")
{
    for (const auto write : {+[](View<double>& v) { v = 7.0; }, +[](View<double>& v) { v += 7.0; },
                             +[](View<double>& v) { v *= 7.0; }, +[](View<double>& v) { std::move(v) = 7.0; },
                             +[](View<double>& v) { std::move(v) -= 7.0; }}) {
        T w = zeros<double>({100'000});
        auto part = view(w, range(40, 100'000));
        w = ones<double>({40});
        CHECK_THROWS_AS(write(part), ShapeError);
        CHECK(values(w) == std::vector<double>(40, 1.0));
        T same = {1.0, 2.0}, gone = {1.0, 2.0, 3.0};
        auto good = view(same, 1), bad = view(gone, 0);
        same = T{3.0, 4.0};
        write(good);
        CHECK(same(0).item() == 3.0);
        const T kept = std::move(gone);
        CHECK_THROWS_AS(write(bad), TapeError);
        CHECK(values(kept) == std::vector<double>{1.0, 2.0, 3.0});
    }
}

TEST_CASE("a tensor is added to a part of itself as it was before", "[writes]")
{
    for (const std::size_t n : {3U, 513U, 1000U, 5000U}) {
        T y = ramp(n), z = ramp(n), square = reshape(ramp(n * 7), {static_cast<std::int64_t>(n), 7});
        view(y, range(_, _, -1)) += y;
        view(z, range(_, _, -1)) -= z;
        const T before = copy(square);
        view(square, range(_, _, -1)) += square;
        const auto last = static_cast<double>(n - 1);
        CHECK(allclose(y, full<double>({static_cast<std::int64_t>(n)}, last), 0.0));
        CHECK(allclose(z, 2.0 * ramp(n) - last, 0.0));
        CHECK(allclose(square, before + view(before, range(_, _, -1)), 0.0));
    }
    const auto f = [](T t) {
        T y = t * 1.0;
        view(y, range(_, _, -1)) += y;
        return sum(y * y);
    };
    const T x = ramp(1539), turned = view(x, range(_, _, -1));
    CHECK(allclose(wengert::grad(f)(x), 4.0 * (x + turned), 1e-15));
}
