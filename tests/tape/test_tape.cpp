// What the tape keeps, when it lets go, and what it refuses.
#include "catch.hpp"

#include <thread>

#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/tape/backward.hpp>

namespace wg = wengert;
using wg::Tensor;

namespace {

template <class E, class F> std::string message_of(F&& f)
{
    try {
        f();
    } catch (const E& e) {
        return e.what();
    }
    return "nothing was thrown";
}

Tensor<double> variable(Tensor<double> x)
{
    x.requires_grad();
    return x;
}

}  // namespace

TEST_CASE("dead results leave the tape")
{
    const auto before = wg::Tape::current().size();
    {
        const auto x = variable({1.0, 2.0});
        for (int i = 0; i < 1000; ++i) { const auto dead = sin(x) * x; }
        CHECK(wg::Tape::current().size() == before + 1);
    }
    CHECK(wg::Tape::current().size() == before);
}

TEST_CASE("constants are not recorded")
{
    const auto before = wg::Tape::current().size();
    const Tensor<double> x = {1.0, 2.0};
    const auto y = exp(x) * x + 1.0;
    CHECK(wg::Tape::current().size() == before);
}

TEST_CASE("a derivative keeps only the values that it reads")
{
    const auto x = variable({1.0, 2.0});
    const auto y = x + 1.0;  // reads nothing
    CHECK(y.any().node->saved()[0] == nullptr);
    CHECK(y.any().node->saved()[2] == nullptr);
    const auto z = exp(x);  // reads its result
    CHECK(z.any().node->saved()[0] == nullptr);
    CHECK(z.any().node->saved()[1] == z.any().value.get());
    const auto w =
        x * Tensor<double>{3.0, 4.0};  // reads the constant, not x: nobody asks for the constant's gradient
    CHECK(w.any().node->saved()[0] == nullptr);
    CHECK(w.any().node->saved()[1] != nullptr);
}

TEST_CASE("gradients add up over uses, and over calls of backward")
{
    auto x = variable({1.0, 2.0});
    wg::backward(sum(x * x + x));
    CHECK(x.grad().data()[1] == 5.0);
    wg::backward(sum(x));
    CHECK(x.grad().data()[1] == 6.0);
    x.zero_grad();
    CHECK(x.grad().data()[1] == 0.0);
}

TEST_CASE("grad() is zeros before any backward, and a value of its own")
{
    auto x = variable({1.0, 2.0});
    CHECK(x.grad().shape() == wg::Shape{2});
    CHECK(x.grad().data()[0] == 0.0);
    wg::backward(sum(x));
    const auto seen = x.grad();
    wg::backward(sum(x));
    CHECK(seen.data()[0] == 1.0);
    CHECK(x.grad().data()[0] == 2.0);
}

TEST_CASE("copies of a leaf share its gradient")
{
    auto x = variable({1.0, 2.0});
    const auto copy = x;
    wg::backward(sum(copy * copy));
    CHECK(x.grad().data()[1] == 4.0);
    CHECK(copy.grad().data()[1] == 4.0);
}

TEST_CASE("backward uses the tape up unless told to retain")
{
    auto x = variable({3.0});
    const auto y = sum(x * x);
    wg::backward(y, {.retain = true});
    wg::backward(y);
    CHECK(x.grad().data()[0] == 12.0);
    CHECK_THAT(message_of<wg::TapeError>([&] { wg::backward(y); }), contains("retain"));
    CHECK(x.grad().data()[0] == 12.0);
}

TEST_CASE("backward with a cotangent")
{
    auto x = variable({1.0, 2.0});
    wg::backward(x * x, Tensor<double>{1.0, 10.0});
    CHECK(x.grad().data()[1] == 40.0);
    CHECK_THAT(message_of<wg::ShapeError>([&] { wg::backward(x * x, Tensor<double>{1.0}); }),
               contains("(1)"));
}

TEST_CASE("nothing is recorded under NoGrad, and stop_gradient cuts")
{
    auto x = variable({1.0, 2.0});
    {
        const wg::NoGrad off;
        CHECK(!(x * x).any().node);
    }
    wg::backward(sum(x * x.detach()));
    CHECK(x.grad().data()[1] == 2.0);
}

TEST_CASE("a failed operation leaves the tape as it was")
{
    auto x = variable({1.0, 2.0});
    const auto before = wg::Tape::current().size();
    CHECK_THAT(message_of<wg::ShapeError>([&] {
                   x + Tensor<double>{1.0, 2.0, 3.0};
               }),
               contains("add") && contains("(2)") && contains("(3)") && contains("test_tape.cpp"));
    CHECK(wg::Tape::current().size() == before);
}

TEST_CASE("an allocation that fails leaves tensors, tape and gradients as they were")
{
    auto x = variable({1.0, 2.0, 3.0});
    const Tensor<double> scale = {{1.0}, {2.0}};
    wg::backward(sum(x));
    const auto model = [&] { return sum(tanh(x * scale + 1.0) * exp(x)); };
    const double value = model().item();
    const auto before = wg::Tape::current().size();
    int failures = 0;
    for (std::int64_t k = 1;; ++k) {
        wg::memory::injection = {k, 0};
        bool failed = false;
        try {
            const auto y = model();
            wg::backward(y);
        } catch (const wg::MemoryError&) {
            failed = true;
        }
        wg::memory::injection = {};
        CHECK(wg::Tape::current().size() == before);
        if (!failed) break;
        ++failures;
        REQUIRE(x.grad().data()[0] == 1.0);
    }
    CHECK(failures > 10);
    CHECK(model().item() == value);
    CHECK(x.grad().data()[0] != 1.0);
}

TEST_CASE("a backward that fails says so when its part of the tape is used again")
{
    auto x = variable({0.0});
    const auto a = sqrt(x);
    const auto y = sum(a * 2.0);
    {
        const wg::AnomalyMode anomaly;
        CHECK_THAT(message_of<wg::NumericError>([&] { wg::backward(y); }),
                   contains("sqrt") && contains("test_tape.cpp"));
    }
    CHECK(x.grad().data()[0] == 0.0);
    CHECK_THAT(message_of<wg::TapeError>([&] { wg::backward(y); }), contains("sqrt"));
}

TEST_CASE("a million operations neither recurse nor stay")
{
    auto x = variable({0.5});
    const auto before = wg::Tape::current().size();
    {
        Tensor<double> t = x;
        for (int i = 0; i < 1'000'000; ++i) t = t * 1.0;
        wg::backward(sum(t));
        CHECK(x.grad().data()[0] == 1.0);
        for (int i = 0; i < 1'000'000; ++i) t = x * 1.0;
        for (int i = 0; i < 1'000'000; ++i) t = t * 1.0;
    }
    CHECK(wg::Tape::current().size() == before);
}

TEST_CASE("a tensor of another thread or tape is refused, its value is welcome")
{
    const auto x = variable({1.0, 2.0});
    const auto y = x * 2.0;
    std::string leaf, interior;
    double value = 0;
    std::thread([&] {
        leaf = message_of<wg::TapeError>([&] { x + 1.0; });
        interior = message_of<wg::TapeError>([&] { y + 1.0; });
        value = sum(y.detach()).item();
    }).join();
    CHECK_THAT(leaf, contains("thread") && contains("leaf"));
    CHECK_THAT(interior, contains("thread") && contains("multiply"));
    CHECK(value == 6.0);

    const wg::TapeScope scope;
    CHECK_THAT(message_of<wg::TapeError>([&] { y + 1.0; }), contains("TapeScope"));
}

TEST_CASE("a scope's tape ends with it")
{
    const auto outer = wg::Tape::current().size();
    Tensor<double> kept;
    {
        wg::TapeScope scope;
        auto x = variable({1.0});
        kept = x * 2.0;
        CHECK(wg::Tape::current().size() == 2);
    }
    CHECK(wg::Tape::current().size() == outer);
    CHECK_THAT(message_of<wg::TapeError>([&] { kept + 1.0; }), contains("ended"));
    CHECK(kept.data()[0] == 2.0);
}

TEST_CASE("recorded tensors may be destroyed on another thread")
{
    const auto before = wg::Tape::current().size();
    auto x = variable({1.0, 2.0});
    for (int i = 0; i < 100; ++i) {
        auto y = std::make_unique<Tensor<double>>(x * x);
        std::thread([moved = std::move(y)]() mutable { moved.reset(); }).join();
    }
    const auto drains = x + 1.0;  // the next operation takes back what others released
    CHECK(wg::Tape::current().size() == before + 2);
}

TEST_CASE("a tensor outlives the thread that made it")
{
    Tensor<double> y;
    std::thread([&] { y = variable({1.0, 2.0}) * 3.0; }).join();
    CHECK(y.data()[1] == 6.0);
    CHECK_THAT(message_of<wg::TapeError>([&] { y + 1.0; }), contains("ended"));
    y = Tensor<double>();
}
