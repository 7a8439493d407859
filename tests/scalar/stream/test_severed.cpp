// Numbers that depend on what backward has used up: they go with it, and nothing else does.
#include "scalar/stream/scalar_tape.hpp"

#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/sum.hpp>

#include <stdlib.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <random>

namespace wg = wengert;
using namespace scalar_tape;

namespace {

R by_way_of_tensor(const R& x) { return wg::real(wg::tensor(x)); }

/// SeveredVariables with the values 2, 3 and 5 of a tape of their own.
struct SeveredVariables {
    wg::TapeScope tape;
    R w = 2.0, v = 3.0, u = 5.0;
    SeveredVariables() { w.requires_grad(), v.requires_grad(), u.requires_grad(); }
    std::pair<double, double> gradients()
    {
        const std::pair<double, double> g(w.grad(), v.grad());
        w.zero_grad(), v.zero_grad();
        return g;
    }
    std::pair<double, double> swept(const R& y, wg::BackwardOptions options = {})
    {
        wg::backward(y, options);
        return gradients();
    }
};

using SeveredMonitor = std::function<R(const R& loss, const R& x)>;

/// What a program computes beside its loss, and never sweeps.
const SeveredMonitor severed_monitors[] = {
    [](const R& loss, const R&) { return by_way_of_tensor(loss); },
    [](const R& loss, const R& x) { return by_way_of_tensor(loss) * x + 1.0; },
    [](const R& loss, const R& x) { return x * by_way_of_tensor(loss); },
    [](const R& loss, const R& x) {
        return wg::real(sum(square(wg::stack(std::vector<R>{loss, x, x}))));
    },
    [](const R& loss, const R&) { return wg::checkpoint([](const R& y) { return y * y; })(loss) * 2.0; },
    [](const R& loss, const R& x) { return wg::grad([&](const R& y) { return y * y * loss; })(x); },
    [](const R& loss, const R& x) {
        return wg::grad([&](const R& y) { return by_way_of_tensor(y * loss) * y; })(
            by_way_of_tensor(x * 2.0));
    },
    [](const R& loss, const R& x) { return wg::jvp([&](const R& y) { return y * loss; }, x, loss).second; },
    [](const R& loss, const R& x) {
        const R of_x = by_way_of_tensor(x);  // first, so that backward uses it up
        return by_way_of_tensor(by_way_of_tensor(loss) * x) * of_x;
    },
};

}  // namespace

namespace {

/// A loop with a monitor, which holds no more memory from step to step.
void loop_with_monitor(SeveredVariables& of, const SeveredMonitor& monitor, int steps)
{
    wg::ScalarStream& stream = wg::ScalarStream::of(wg::Tape::current());
    for (int step = 0; step < steps; ++step) {
        R loss = of.w * of.v;
        for (int k = 0; k < 8; ++k) loss = loss + sin(loss);
        const R beside = monitor(loss, step % 2 ? of.u : of.w);
        const std::pair<double, double> g = of.swept(loss);
        CHECK(g.first * 2.0 == g.second * 3.0);
        CHECK(stream.spans().empty());
        CHECK(wg::Tape::current().size() == 3);
        if (beside.is_active()) refused(beside, "backward has used it up");
    }
}

}  // namespace

TEST_CASE("What a loop computes beside its loss, and does not sweep, goes with the loss")
{
    for (const SeveredMonitor& monitor : severed_monitors)
        for (const std::size_t chunk : {std::size_t{1} << 20, std::size_t{16}}) {
            CAPTURE(&monitor - severed_monitors, chunk);
            SeveredVariables of;
            wg::ScalarStream::of(wg::Tape::current()).set_budget({.chunk = chunk});
            loop_with_monitor(of, monitor, 40);
        }
}

TEST_CASE("Severed numbers go where operations lie in files, and under AnomalyMode")
{
    char folder[] = "/tmp/wengert_severed_XXXXXX";
    REQUIRE(::mkdtemp(folder));
    for (const bool anomalies : {false, true})
        for (const SeveredMonitor& monitor : severed_monitors) {
            CAPTURE(&monitor - severed_monitors, anomalies);
            SeveredVariables of;
            std::optional<wg::AnomalyMode> mode;
            if (anomalies)
                mode.emplace();
            else
                wg::ScalarStream::of(wg::Tape::current())
                    .set_budget({.bytes = 1024, .folder = folder, .chunk = 24});
            loop_with_monitor(of, monitor, 20);
        }
    CHECK(::rmdir(folder) == 0);  // no file is left
}

TEST_CASE("Severed numbers go where a step ends in an exception, and after it")
{
    SeveredVariables of;
    const auto fails_late = [&](const R& x) {
        const R y = by_way_of_tensor(x) * 2.0;
        static_cast<void>(wg::grad([&](const R& t) -> R {
            static_cast<void>(by_way_of_tensor(t * y));
            throw std::domain_error("step");
        })(x));
        return y;
    };
    for (const SeveredMonitor& monitor : severed_monitors) {
        CAPTURE(&monitor - severed_monitors);
        const R loss = of.w * of.v;
        CHECK_THROWS_AS(fails_late(loss), std::domain_error);
        CHECK(of.swept(loss) == std::pair(3.0, 2.0));
        CHECK(recorded() == 0);
        loop_with_monitor(of, monitor, 3);
    }
}

TEST_CASE_METHOD(SeveredVariables, "Pullbacks and threads beside a loss")
{
    const auto step = [&] {
        const R loss = w * v;
        const auto [y, pullback] = wg::vjp([&](const R& t) { return by_way_of_tensor(t * loss) * t; }, loss);
        const std::vector<R> cells = wg::parallel_for(
            6, [](std::size_t i, const R& t) { return t * static_cast<double>(i); }, loss, {.threads = 2});
        const R of_cells = by_way_of_tensor(cells[3]);
        CHECK(swept(loss) == std::pair(3.0, 2.0));
        refused(y, "backward has used it up");
        refused(of_cells, "backward has used it up");
    };
    for (int k = 0; k < 10; ++k) {
        step();
        CHECK(wg::Tape::current().size() == 3);
        CHECK(recorded() == 0);
    }
}

TEST_CASE("Tensors that are used up take the numbers that were made from them along")
{
    SeveredVariables of;
    D p = {2.0};
    p.requires_grad();
    for (int step = 0; step < 5; ++step) {
        const D y = square(p);
        const R made = wg::real(y) * of.w;
        wg::backward(sum(y));
        CHECK(wg::ScalarStream::of(wg::Tape::current()).spans().empty());
        refused(made, "backward has used it up");
    }
    CHECK(p.grad()(0).item() == 20.0);
}

TEST_CASE_METHOD(SeveredVariables,
                 "A number that can be swept stays, although one beside it depends on what is used up")
{
    const R loss = w * v, severed = by_way_of_tensor(loss) * w, other = u * u;
    CHECK(swept(loss) == std::pair(3.0, 2.0));
    CHECK_THROWS_AS(wg::backward(severed, {.retain = true}), wg::TapeError);
    wg::backward(other);
    CHECK(u.grad() == 10.0);
    CHECK(recorded() == 0);
}

TEST_CASE_METHOD(SeveredVariables,
                 "A number made from variables alone stays, although it was recorded after a severed one")
{
    const R loss = w * v, severed = by_way_of_tensor(by_way_of_tensor(loss) * u), of_u = by_way_of_tensor(u);
    const R both = severed * of_u;
    CHECK(swept(loss) == std::pair(3.0, 2.0));
    CHECK_THROWS_AS(wg::backward(both, {.retain = true}), wg::TapeError);
    CHECK(u.grad() == 0.0);
    wg::backward(of_u * 4.0);
    CHECK(u.grad() == 4.0);
    CHECK(recorded() == 0);
}

TEST_CASE_METHOD(SeveredVariables,
                 "Sums of what is used up and of other numbers are refused, also by way of tensors")
{
    const R loss = w * v, other = by_way_of_tensor(w * 5.0), both = other + by_way_of_tensor(loss);
    const D stacked = wg::stack(std::vector<R>{other, loss});
    const R again = wg::real(sum(stacked));
    CHECK(swept(loss) == std::pair(3.0, 2.0));
    CHECK_THROWS_AS(wg::backward(both), wg::TapeError);
    CHECK_THROWS_AS(wg::backward(sum(stacked)), wg::TapeError);
    refused(again, "backward has used it up");
}

TEST_CASE_METHOD(SeveredVariables, "What is retained severs nothing")
{
    const R loss = w * v, later = by_way_of_tensor(loss) * w;
    CHECK(swept(loss, {.retain = true}) == std::pair(3.0, 2.0));
    CHECK(swept(later) == std::pair(12.0, 4.0));
}

TEST_CASE_METHOD(SeveredVariables, "A variable that a severed span has entered is one for numbers after it")
{
    const R loss = w * v;
    [[maybe_unused]] const R severed = by_way_of_tensor(loss) * u;
    const D of_variable = wg::stack(std::vector<R>{u});
    const R later = wg::real(sum(square(of_variable)));
    CHECK(swept(loss) == std::pair(3.0, 2.0));
    wg::backward(later);
    CHECK(u.grad() == 10.0);
    CHECK(recorded() == 0);
}

namespace {

/// A number, or nothing where its operation was refused.
using SeveredNumber = std::optional<R>;
using SeveredGradient = std::vector<double>;

/// What happened to a step of a program: nothing where it was refused.
using SeveredOutcome = std::optional<SeveredGradient>;

/// Draws numbers, and sweeps of some of them. A program with `like` does as another one did: what was refused there is not recorded
/// here, and must be something that cannot be swept.
class SeveredDraws {
public:
    SeveredDraws(unsigned seed, const std::vector<SeveredOutcome>* like)
        : random_(seed), variables_{0.53, -0.81, 1.27}, like_(like)
    {
        for (R& x : variables_) x.requires_grad();
        pool_.assign(variables_.begin(), variables_.end());
    }
    std::vector<SeveredOutcome> run(int steps)
    {
        while (steps-- > 0) {
            const unsigned what = draw(12);
            SeveredNumber &a = pick(), &b = pick(), &c = pick();
            const bool refused_there = like_ && !(*like_)[all_.size()];
            if (what < 3)
                all_.push_back(refused_there ? probed(a) : swept(a, what == 0));
            else
                add(refused_there ? untouched(a, b, c) : computed(what, a, b, c));
            if (what < 3 || !all_.back()) new_span();
        }
        return std::move(all_);
    }

private:
    /// A sweep uses up spans. Whatever else there is, they begin after sweeps and refusals.
    static void new_span()
    {
        wg::ScalarStream& stream = wg::ScalarStream::of(wg::Tape::current());
        stream.close();
        for (wg::ScalarVariable& v : stream.variables) v.entered = {};
    }
    unsigned draw(unsigned n) { return static_cast<unsigned>(random_() % n); }
    SeveredNumber& pick() { return pool_[draw(static_cast<unsigned>(pool_.size()))]; }
    void add(SeveredNumber made)
    {
        all_.push_back(made ? SeveredOutcome(SeveredGradient{made->value()}) : std::nullopt);
        if (pool_.size() < 14)
            pool_.push_back(std::move(made));
        else
            pool_[3 + draw(11)] = std::move(made);
    }
    static SeveredNumber computed(unsigned what, const SeveredNumber& x, const SeveredNumber& y,
                                  const SeveredNumber& z)
    {
        if (!x || !y || !z) return std::nullopt;
        const R &a = *x, &b = *y, &c = *z;
        try {
            for (const SeveredNumber* n : {&x, &y, &z})  // so that a refused step records nothing
                (void)wg::ScalarStream::of(wg::Tape::current()).dependence((*n)->handle(), "step");
            switch (what) {
            case 3: return sin(a) * 0.7;
            case 4: return a * b + c;
            case 5: return by_way_of_tensor(a);
            case 6: return wg::elements(sin(wg::stack(std::vector<R>{a * b * c, b, c})))[0];
            case 7: return wg::checkpoint([](const R& p, const R& q) { return sin(p) * q; })(a, b);
            case 8: return wg::grad([&](const R& p) { return p * b * sin(p) + by_way_of_tensor(p * c); })(a);
            case 9: return wg::jvp([&](const R& p) { return sin(p * b); }, a, c).second;
            case 10: return wg::real(sum(wg::stack(std::vector<R>{a, b}) * D{0.5, 2.0}));
            default: return a - 0.5 * b;
            }
        } catch (const wg::TapeError&) {
            return std::nullopt;
        }
    }
    /// The gradient without using up anything.
    SeveredOutcome probed(const SeveredNumber& y)
    {
        if (!y || !y->is_active()) return std::nullopt;
        try {
            wg::backward(*y, {.retain = true});
        } catch (const wg::TapeError&) {
            return std::nullopt;
        }
        SeveredGradient g;
        for (R& x : variables_) g.push_back(x.grad()), x.zero_grad();
        return g;
    }
    SeveredOutcome swept(const SeveredNumber& y, bool retain)
    {
        SeveredOutcome g = probed(y);
        if (!g || retain) return g;
        wg::backward(*y);
        for (R& x : variables_) x.zero_grad();
        return g;
    }
    SeveredNumber untouched(const SeveredNumber& a, const SeveredNumber& b, const SeveredNumber& c)
    {
        CHECK_FALSE((sweepable(a) && sweepable(b) && sweepable(c)));
        return std::nullopt;
    }
    bool sweepable(const SeveredNumber& x) { return x && (!x->is_active() || probed(x)); }

    std::mt19937 random_;
    std::vector<R> variables_;
    std::vector<SeveredNumber> pool_;
    std::vector<SeveredOutcome> all_;
    const std::vector<SeveredOutcome>* like_;
};

/// What is severed is dropped, or kept where the program is to do as another one did.
std::vector<SeveredOutcome> severed_outcomes(unsigned seed, std::size_t chunk,
                                             const std::vector<SeveredOutcome>* like = nullptr)
{
    const wg::TapeScope tape;
    wg::ScalarStream& stream = wg::ScalarStream::of(wg::Tape::current());
    stream.set_budget({.chunk = chunk});
    if (like) stream.used_up = [](wg::TapeExtension&, std::uint64_t) noexcept {};
    return SeveredDraws(seed, like).run(60);
}

}  // namespace

TEST_CASE("Random programs have the same gradients and refusals where severed numbers are kept")
{
    std::size_t gradients = 0, refusals = 0;
    for (unsigned seed = 0; seed < 800; ++seed) {
        CAPTURE(seed);
        const std::vector<SeveredOutcome> dropped = severed_outcomes(seed, 1 << 20);
        CHECK(severed_outcomes(seed, 1 << 20, &dropped) == dropped);
        for (const SeveredOutcome& o : dropped) (o ? gradients : refusals) += 1;
    }
    CHECK((gradients > 2000 && refusals > 2000));
}

TEST_CASE("Random programs in small chunks have the gradients of large ones")
{
    for (unsigned seed = 0; seed < 400; ++seed) {
        CAPTURE(seed);
        const std::vector<SeveredOutcome> large = severed_outcomes(seed, 1 << 20),
                                          small = severed_outcomes(seed, 24);
        for (std::size_t k = 0; k < large.size(); ++k)
            if (large[k] && small[k])
                CHECK(*large[k] == *small[k]);  // a sweep uses up other spans, so others are refused
    }
}
