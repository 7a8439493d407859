// State around frozen functions: live tensors, what escapes, plain C++ that changes, views and writes, threads.
#include "graph/freeze/frozen_beside.hpp"

#include <map>
#include <optional>
#include <thread>

namespace {

using D = Tensor<double>;

}  // namespace

TEST_CASE("live tensors are read and assigned to in program order")
{
    const auto step = [](D& w, D& count, const D& x) {
        const D before = w;
        w -= 0.1 * (w - x);
        count += 1.0;
        if (sum(w) > 1.0) w = w * 0.5;
        view(w, 0) = sum(count);
        return sum(w * before) + count;
    };
    D w{1.0, -2.0}, count(0.0), w0 = copy(w), count0(0.0);
    auto frozen = wg::freeze([&](const D& x) { return step(w, count, x); });
    frozen.live(w, count);
    for (int k = 0; k < 12; ++k) {
        const D x{0.3 * k, 1.0};
        CHECK(same_bits(frozen(x), step(w0, count0, x)));
        CHECK(same_bits(w, w0));
        CHECK(same_bits(count, count0));
    }
    CHECK(frozen.stats().replays > 6);
    w = D{5.0, 5.0};  // each call uses what they hold then
    w0 = w;
    CHECK(same_bits(frozen(w), step(w0, count0, D{5.0, 5.0})));
    CHECK(same_bits(w, w0));
}

TEST_CASE("a live struct, trained in place by frozen steps")
{
    struct Layer {
        D w, b;
    };
    std::vector<Layer> model{{D{{0.1, 0.2}, {0.3, -0.4}}, D{0.0, 0.1}}, {D{{1.0}, {-1.0}}, D{0.5}}};
    const auto loss = [](const std::vector<Layer>& m, const D& x) {
        D h = x;
        for (const Layer& l : m) h = tanh(matmul(h, l.w) + l.b);
        return mean(square(h - 0.3));
    };
    const auto step = [&](std::vector<Layer>& m, const D& x) {
        const auto [value, g] = wg::value_and_grad<0>(loss)(m, x);
        wg::tree::zip_for_each([](D& p, const D& d) { p -= 0.1 * d; }, m, g);
        return value;
    };
    std::vector<Layer> eager = model;
    for (auto& l : eager) l = {copy(l.w), copy(l.b)};
    wg::FreezeOptions apart = unchecked();
    apart.passes.fold_updates = false;  // else w − η (xᵀ g) is one product, which rounds once less
    auto frozen = wg::freeze([&](const D& x) { return step(model, x); }, apart);
    frozen.live(model);
    const D x{{0.2, 0.7}, {-1.0, 0.4}, {0.0, 2.0}};
    double last = 1e9;
    for (int k = 0; k < 20; ++k) {
        const D y = frozen(x);
        CHECK(same_bits(y, step(eager, x)));
        CHECK(y.item() < last);
        last = y.item();
        for (std::size_t i = 0; i < model.size(); ++i)
            CHECK((same_bits(model[i].w, eager[i].w) && same_bits(model[i].b, eager[i].b)));
    }
    CHECK(frozen.stats().traces == 1);
}

TEST_CASE("live tensors: another handle keeps what it holds, memory is the same while nobody looks")
{
    D w = wg::full<double>({64}, 1.0);
    auto frozen = wg::freeze(
        [&](const D& x) {
            w += x;
            return sum(w);
        },
        unchecked());
    frozen.live(w);
    const D x = wg::full<double>({64}, 1.0);
    frozen(x);
    const D kept = w;
    CHECK(frozen(x).item() == 3 * 64.0);
    CHECK(kept(0).item() == 2.0);
    CHECK(frozen(w).item() == 6 * 64.0);  // as an argument, too
    CHECK(kept(0).item() == 2.0);
    const D shown = view(std::as_const(w), wg::range(0, 2));
    CHECK(frozen(x).item() == 7 * 64.0);
    CHECK(shown(1).item() == 6.0);
}

TEST_CASE("a live tensor is as before when f throws, when a guard fails and when a replay throws")
{
    D w{1.0, 2.0};
    const auto f = [&](const D& x, const Tensor<std::int64_t>& i) {
        w += x;
        const D y = take(w, i, 0) * 2.0;
        if (sum(y) > 100.0) throw std::runtime_error("too large");
        if (sum(y) > 10.0) w = w - x;
        return y;
    };
    auto frozen = wg::freeze(f, unchecked());
    frozen.live(w);
    const Tensor<std::int64_t> good{0, 1}, bad{0, 5};
    const D one{1.0, 1.0};
    frozen(one, good);
    CHECK(same_bits(w, D{2.0, 3.0}));
    CHECK_THROWS_AS(frozen(one, bad), wg::IndexError);
    CHECK(same_bits(w, D{2.0, 3.0}));
    CHECK_THROWS_AS(frozen(one * 100.0, good), std::runtime_error);
    CHECK(same_bits(w, D{2.0, 3.0}));
    frozen(one, good);  // the other path
    CHECK(same_bits(w, D{2.0, 3.0}));
    frozen(one * 0.25, good);
    CHECK(same_bits(w, D{2.0, 3.0}));
    frozen(one * -1.0, good);
    CHECK(same_bits(w, D{1.0, 2.0}));
}

TEST_CASE("tensors outside that keep an argument or a result make the function run eagerly")
{
    const D a{1.0, 2.0}, b{3.0, 4.0};
    D kept;
    std::vector<D> history;
    const auto by_result = [&](const D& x) { return (kept = x * 2.0) + 1.0; };
    const auto by_argument = [&](const D& x) { return (kept = x) + 1.0; };
    const auto by_view = [&](const D& x) { return (kept = view(x, wg::range(0, 1))) + 1.0; };
    const auto by_list = [&](const D& x) {
        history.push_back(sin(x));
        return history.back() * 2.0;
    };
    const auto check = [&](const auto& f, const char* why) {
        auto frozen = wg::freeze(f);
        for (const D& x : {a, b, a, b}) {
            CHECK(same_bits(frozen(x), f(x)));
            const D now = kept;
            frozen(x);
            CHECK(same_bits(kept, now));
        }
        CHECK(frozen.stats().replays == 0);
        CHECK_THAT(frozen.explain(), contains(why));
    };
    check(by_result, "the result of multiply");
    check(by_argument, "an argument");
    check(by_view, "the result of");
    check(by_list, "the result of sin");
    CHECK(history.size() == 12);
}

TEST_CASE("a captured tensor that f updates, not declared live, is updated by each call")
{
    D w{1.0, 2.0}, w0{1.0, 2.0};
    auto frozen = wg::freeze([&](const D& x) {
        w += x;
        return sum(w);
    });
    for (int k = 0; k < 5; ++k) {
        w0 += D{1.0, 1.0};
        CHECK(frozen(D{1.0, 1.0}).item() == sum(w0).item());
    }
    CHECK(same_bits(w, w0));
}

TEST_CASE("plain C++ state is found by the checked replays, with operation and line")
{
    const D x{1.0, 2.0};
    int calls = 0;
    auto by_literal = wg::freeze([&](const D& t) { return t * static_cast<double>(++calls); });
    by_literal(x);
    CHECK_THROWS_WITH(by_literal(x), contains("multiply") && contains("test_freeze_state.cpp"));
    int longer = 0;
    auto by_length = wg::freeze([&](const D& t) {
        D y = t;
        for (int k = 0; k <= longer; ++k) y = sin(y);
        return y;
    });
    by_length(x);
    CHECK_NOTHROW(by_length(x));
    longer = 2;
    CHECK_THROWS_AS(by_length(x), wg::TapeError);  // replay 2
    int number = 0;
    auto by_number = wg::freeze([&](const D& t) { return std::pair(t * 2.0, number); });
    by_number(x);
    number = 3;
    CHECK_THROWS_WITH(by_number(x), contains("number"));
    D other{1.0, 1.0};
    auto by_capture = wg::freeze([&](const D& t) { return t + other; });
    by_capture(x);
    other = D{2.0, 2.0};
    CHECK_THROWS_WITH(by_capture(x), contains("add"));
    auto unseen = wg::freeze([&](const D& t) { return t + other; }, unchecked());
    unseen(x);
    other = D{3.0, 3.0};
    CHECK(same_bits(unseen(x), x + 2.0));  // as said: a captured tensor is a constant
    CHECK(unseen.stats().checks == 0);
}

TEST_CASE("checks happen at replays 1, 2, 4, 8")
{
    auto frozen = wg::freeze([](const D& t) { return sin(t); });
    const std::size_t expected[] = {0, 1, 2, 2, 3, 3, 3, 3, 4};
    for (std::size_t n : expected) {
        frozen(D{1.0});
        CHECK(frozen.stats().checks == n);
    }
}

TEST_CASE("captured constants are not written by what f does with copies of them")
{
    const D base{1.0, 2.0, 3.0};
    const auto f = [&](const D& x) {
        D y = base;
        view(y, wg::range(0, 2)) += x;
        D z = base;
        z *= 2.0;
        D fresh = wg::zeros<double>({3});
        {
            auto w = write(fresh);
            w.data()[1] = 5.0;
        }
        view(fresh, 2) = sum(x);
        return y * z + fresh;
    };
    auto frozen = wg::freeze(f, unchecked());
    check_beside(frozen, f, std::vector{D{1.0, 1.0}, D{-3.0, 4.0}});
    CHECK(same_bits(base, D{1.0, 2.0, 3.0}));
}

TEST_CASE("a writer that lives while its tensor is read")
{
    const auto f = [](const D& x) {
        D t = wg::zeros<double>({2});
        auto w = write(t);
        const D y = t * x;
        w.data()[0] = 5.0;
        return y + t * x;
    };
    auto frozen = wg::freeze(f, unchecked());
    check_beside(frozen, f, std::vector{D{1.0, 1.0}, D{-3.0, 4.0}});
}

TEST_CASE("results are not written over by later replays, arguments and constants may be results")
{
    const D c{7.0, 8.0};
    const auto f = [&](const D& x) {
        return std::tuple(x, x * 2.0, view(x, wg::range(0, 1)), c, transpose(expand_dims(x, 0)), sum(x));
    };
    auto frozen = wg::freeze(f, unchecked());
    const D a{1.0, 2.0}, b{3.0, 4.0};
    const auto first = frozen(a), second = frozen(b), third = frozen(a);
    for (const auto& [result, x] : {std::pair(first, a), std::pair(second, b), std::pair(third, a)}) {
        CHECK(same_bits(std::get<0>(result), x));
        CHECK(same_bits(std::get<1>(result), x * 2.0));
        CHECK(same_bits(std::get<2>(result), view(x, wg::range(0, 1))));
        CHECK(same_bits(std::get<3>(result), c));
        CHECK(same_bits(std::get<4>(result), transpose(expand_dims(x, 0))));
        CHECK(same_bits(std::get<5>(result), sum(x)));
    }
    auto result = frozen(a);
    std::get<0>(result) += 1.0;
    std::get<3>(result) += 1.0;
    view(std::get<1>(result), 0) = 9.0;
    CHECK(same_bits(a, D{1.0, 2.0}));
    CHECK(same_bits(c, D{7.0, 8.0}));
    CHECK(same_bits(std::get<1>(frozen(a)), a * 2.0));
}

TEST_CASE("an argument that f changes is its own")
{
    const auto f = [](D& x) {
        x += 1.0;
        view(x, 0) = 7.0;
        return x * 2.0;
    };
    auto frozen = wg::freeze(f, unchecked());
    const D a{1.0, 2.0};
    for (int k = 0; k < 3; ++k) CHECK(same_bits(frozen(a), D{14.0, 6.0}));
    CHECK(same_bits(a, D{1.0, 2.0}));
    CHECK(frozen.stats().traces == 1);
}

TEST_CASE("the same tensor twice, strided arguments, empty and rank-0 arrays")
{
    const auto f = [](const D& x, const D& y) { return sum(x * y + x) + amax(y * 2.0); };
    auto frozen = wg::freeze(f, unchecked());
    const D m{{1.0, 2.0}, {3.0, 4.0}}, n{{5.0, -2.0}, {0.5, 4.0}};
    std::vector<std::tuple<D, D>> calls{
        {m, m},
        {m, n},
        {transpose(m), m},
        {n, transpose(n)},
        {view(m, wg::all(), wg::range(wg::placeholders::_, wg::placeholders::_, -1)), n}};
    for (int round = 0; round < 3; ++round)
        for (const auto& [x, y] : calls) CHECK(wg::allclose(frozen(x, y), f(x, y), 1e-15));
    CHECK(frozen.stats().traces == 1);
    const auto g = [](const D& x) { return sum(x * 2.0, {0}) + 1.0; };
    auto frozen_g = wg::freeze(g, unchecked());
    check_beside(
        frozen_g, g,
        std::vector{wg::zeros<double>({0, 3}), wg::zeros<double>({2, 3}), wg::zeros<double>({3, 0})});
    const auto h = [](const D& x) { return x * x + 1.0; };
    auto frozen_h = wg::freeze(h, unchecked());
    check_beside(frozen_h, h, std::vector{D(2.0), D(3.0), D{4.0}, D{{5.0}}});
    CHECK(frozen_h.stats().traces == 3);
}

TEST_CASE("two threads call one frozen function")
{
    auto frozen = wg::freeze([](const D& x) { return sum(tanh(matmul(x, transpose(x)))); });
    std::vector<D> results(2);
    const auto work = [&](int t) {
        const D x = wg::full<double>({8, 8}, 0.1 * (t + 1));
        for (int k = 0; k < 200; ++k) results[static_cast<std::size_t>(t)] = frozen(x);
    };
    std::thread a(work, 0), b(work, 1);
    a.join();
    b.join();
    for (int t = 0; t < 2; ++t) {
        const D x = wg::full<double>({8, 8}, 0.1 * (t + 1));
        CHECK(same_bits(results[static_cast<std::size_t>(t)], sum(tanh(matmul(x, transpose(x))))));
    }
    CHECK(frozen.stats().traces + frozen.stats().replays + frozen.stats().eager_calls == 400);
}
