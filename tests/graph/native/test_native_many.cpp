// Operations of many operands in native code: joined arrays, loops with many states, branches that read many values.
#include "catch.hpp"
#include "same_bits.hpp"

#include <wengert/native.hpp>
#include <wengert/wengert.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

/// f, its gradient and its Jacobian: the bits of eager code.
template <class F> void check(const F& f, const D& x)
{
    const auto loss = [=](const D& t) { return sum(sin(f(t))); };
    const auto same = [&](const auto& g) {
        auto native = wg::freeze(g, {.backend = wg::native});
        for (int i = 0; i < 3; ++i) CHECK(same_bits(native(x), g(x)));
        CHECK(native.stats().eager_calls == 0);
    };
    same(f);
    same(wg::grad(loss));
    same(wg::jacobian(f));
}

}  // namespace

TEST_CASE("native: joined arrays of any number of parts", "[native]")
{
    const int parts = GENERATE(2, 5, 6, 7, 12, 40);
    CAPTURE(parts);
    const auto pieces = [=](const D& t) {
        std::vector<D> all;
        for (int k = 0; k < parts; ++k) all.push_back(t * (k + 1.0) + cos(t));
        return all;
    };
    const D x = wg::normal<double>(wg::Key(1), {3});
    check([=](const D& t) { return reshape(wg::stack(pieces(t), 1), {3 * parts}); }, x);
    check([=](const D& t) { return wg::concatenate(pieces(t), 0) * 2.0; }, x);
}

TEST_CASE("native: loops and branches that read many values", "[native]")
{
    const D x = wg::normal<double>(wg::Key(2), {4});
    const auto states = [](const D& t) {
        std::vector<D> s;
        for (int k = 0; k < 9; ++k) s.push_back(t * (0.1 * k));
        return s;
    };
    check(
        [=](const D& t) {
            const auto step = [](const std::vector<D>& s) {
                std::vector<D> next;
                for (std::size_t k = 0; k < s.size(); ++k) next.push_back(tanh(s[k] + s[(k + 1) % s.size()]));
                return std::pair(next, std::tuple<>());
            };
            return wg::concatenate(wg::scan(step, states(t), 4).first, 0);
        },
        x);
    check(
        [=](const D& t) {
            const std::vector<D> s = states(t);
            const auto total = [&](double factor) {
                D y = t;
                for (const D& a : s) y = y + factor * a * t;
                return y;
            };
            return wg::cond(
                sum(t) > 0.0, [&] { return total(2.0); }, [&] { return total(-1.0); });
        },
        x);
}
