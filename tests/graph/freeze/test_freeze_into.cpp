// Calls that go on pointers, and results in the caller's memory: what must not be skipped, and what must not be written.
#include "graph/freeze/frozen_beside.hpp"

#include <thread>

namespace {

using D = Tensor<double>;
struct Pair {
    D first, second;
};

inline const double* address(const D& x) { return x.any().value->as<double>(); }

}  // namespace

TEST_CASE("a plain call sees whatever else there is to see")
{
    int runs = 0;
    auto frozen = wg::freeze([&](const D& x, double factor) { return ++runs, x * factor; });
    const D x{1.0, 2.0}, strided = transpose(reshape(wg::arange<double>(4), {2, 2}))(0);
    for (int k = 0; k < 12; ++k) CHECK(same_bits(frozen(x, 2.0), x * 2.0));
    CHECK(runs == 1 + 4);  // traced, and checked at replays 1, 2, 4, 8
    CHECK(same_bits(frozen(x, 3.0), x * 3.0));
    CHECK(same_bits(frozen(D{1.0, 2.0, 3.0}, 3.0), D{3.0, 6.0, 9.0}));
    for (int k = 0; k < 6; ++k) CHECK(same_bits(frozen(strided, 3.0), D{0.0, 6.0}));
    const auto g = wg::grad([&](const D& t) { return sum(frozen(t, 3.0) * frozen(x, 3.0)); });
    for (int k = 0; k < 6; ++k) CHECK(same_bits(g(x), D{9.0, 18.0}));
    CHECK(same_bits(wg::jvp([&](const D& t) { return frozen(t, 3.0); }, x, x).second, x * 3.0));
    {
        const wg::AnomalyMode on;
        CHECK_THROWS_AS(frozen(D{1e308, 1.0}, 3.0), wg::NumericError);
    }
    D moved{1.0, 2.0};
    const D taken = std::move(moved);
    CHECK_THROWS_AS(frozen(moved, 3.0), wg::TapeError);
    D variable{1.0, 2.0}, escaped;
    variable.requires_grad(true);
    for (int k = 0; k < 6; ++k) {
        const wg::NoGrad unrecorded;
        CHECK(same_bits(frozen(variable, 3.0), x * 3.0));
    }
    wg::backward(sum(frozen(variable, 3.0)));
    CHECK(same_bits(variable.grad(), D{3.0, 3.0}));
    static_cast<void>(wg::grad([&](const D& t) { return escaped = t * 1.0, sum(t); })(x));
    CHECK_THROWS_AS(frozen(escaped, 3.0), wg::TapeError);
    auto outer = wg::freeze([&](const D& t) { return frozen(t, 3.0) + 1.0; });
    for (int k = 0; k < 6; ++k) CHECK(same_bits(outer(x), D{4.0, 7.0}));
    auto branch = wg::freeze([](const D& t) { return sum(t) > 0.0 ? t * 2.0 : t * 3.0; });
    for (int k = 0; k < 20; ++k)
        CHECK(branch(D{k % 3 == 0 ? -1.0 : 1.0})(0).item() == (k % 3 == 0 ? -3.0 : 2.0));
}

TEST_CASE("results are written into buffers: their addresses stay, nothing else changes")
{
    auto frozen = wg::freeze([](const D& x, const D& y) { return Pair{x * y + 1.0, tanh(x)}; });
    const D x{1.0, 2.0, 3.0}, y{4.0, 5.0, 6.0};
    Pair out{wg::zeros<double>({3}), wg::zeros<double>({3})};
    const double *first = address(out.first), *second = address(out.second);
    const auto fill = frozen.into(out);
    for (int k = 0; k < 12; ++k) {  // traced, checked, replayed
        const D a = x * static_cast<double>(k);
        fill(a, y);
        CHECK(same_bits(out.first, a * y + 1.0));
        CHECK(same_bits(out.second, tanh(a)));
    }
    CHECK((address(out.first) == first && address(out.second) == second));
    // arguments in the buffers: as if they had been read before
    D u{0.5, 1.0, 1.5};
    Pair same{u * 1.0, wg::zeros<double>({3})};
    for (int k = 0; k < 6; ++k) {
        const Pair expected = frozen(same.first, y);
        frozen.into(same)(same.first, y);
        CHECK((same_bits(same.first, expected.first) && same_bits(same.second, expected.second)));
    }
    // results that are an argument, a constant, or one value twice
    const D constant{7.0, 8.0, 9.0};
    auto passing = wg::freeze([&](const D& a) {
        const D b = a * 2.0;
        return std::vector<D>{a, constant, b, b};
    });
    std::vector<D> four(4);
    for (D& t : four) t = wg::zeros<double>({3});
    for (int k = 0; k < 6; ++k) passing.into(four)(x);
    CHECK((same_bits(four[0], x) && same_bits(four[1], constant) && same_bits(four[2], x * 2.0)));
    CHECK(same_bits(four[3], x * 2.0));
    four[0] += 1.0;
    CHECK((same_bits(x, D{1.0, 2.0, 3.0}) && same_bits(constant, D{7.0, 8.0, 9.0})));
}

TEST_CASE("guards that fail, live tensors and threads fill buffers all the same")
{
    auto branch = wg::freeze([](const D& t) { return sum(t) > 0.0 ? t * 2.0 : t * 3.0; });
    D out = wg::zeros<double>({2});
    for (int k = 0; k < 20; ++k) {
        const D x = k % 3 ? D{1.0, 2.0} : D{-1.0, -2.0};
        branch.into(out)(x);
        CHECK(same_bits(out, x * (k % 3 ? 2.0 : 3.0)));
    }
    D count(0.0);
    auto counting = wg::freeze([&](const D& t) { return count += 1.0, t * count; });
    counting.live(count);
    for (int k = 1; k < 10; ++k) {
        counting.into(out)(D{1.0, 2.0});
        CHECK(out(1).item() == 2.0 * k);
    }
    auto shared = wg::freeze([](const D& t) { return exp(t) * t; });
    const auto work = [&] {
        D mine = wg::zeros<double>({2});
        for (int k = 0; k < 200; ++k) {
            const D x{0.01 * k, 1.0};
            shared.into(mine)(x);
            if (!same_bits(mine, exp(x) * x)) throw wg::Error("another thread's numbers");
        }
    };
    std::thread other(work);
    work();
    other.join();
}

TEST_CASE("what cannot be a buffer, or have one, is refused with the line")
{
    auto frozen = wg::freeze([](const D& x) { return x * 2.0; });
    const D x{1.0, 2.0};
    for (int k = 0; k < 6; ++k) {
        D small = wg::zeros<double>({1}), shared = wg::zeros<double>({2});
        const D holder = shared;
        Tensor<float> single = wg::zeros<float>({2});
        D a = wg::zeros<double>({2}), b = wg::zeros<double>({2}), gone = wg::zeros<double>({2});
        const D taken = std::move(gone);
        CHECK_THROWS_AS(frozen.into(small)(x), wg::ShapeError);
        CHECK_THROWS_AS(frozen.into(single)(x), wg::DTypeError);
        CHECK_THROWS_AS(frozen.into(a, b)(x), wg::ShapeError);
        CHECK_THROWS_AS(frozen.into(shared)(x), wg::TapeError);
        CHECK_THROWS_AS(frozen.into(a, a)(x), wg::TapeError);
        CHECK_THROWS_AS(frozen.into(gone)(x), wg::TapeError);
        CHECK_THROWS_AS(wg::grad([&](const D& t) { return frozen.into(a)(t), sum(a * t); })(x),
                        wg::TapeError);
        CHECK_THROWS_AS(wg::freeze([&](const D& t) { return frozen.into(a)(t), t; })(x), wg::TapeError);
        CHECK((same_bits(a, D{0.0, 0.0}) && same_bits(holder, D{0.0, 0.0})));
        frozen.into(a)(x);
        CHECK(same_bits(a, D{2.0, 4.0}));
        // constants inside of a transform have no derivative to lose
        CHECK(same_bits(wg::grad([&](const D& t) { return frozen.into(b)(x), sum(b * t); })(x), D{2.0, 4.0}));
    }
    try {
        D small = wg::zeros<double>({1});
        frozen.into(small)(x);
    } catch (const wg::ShapeError& e) {
        CHECK(std::string(e.what()).find("test_freeze_into.cpp") != std::string::npos);
    }
}
