// Operations of many operands: joined arrays, loops with many states, branches that read many values, folds of three operands.
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

/// A map of three operands.
struct Blend {
    static constexpr std::string_view name = "blend";
    static constexpr bool flat = true;
    struct First : wg::monoid::Add {
        template <class V> static V element(const V& a, const V&, const V&, const wg::FoldLine<V>&)
        {
            return a;
        }
    };
    using passes = wg::Passes<First>;
    using maps = void;
    template <class V> static V each(const V& a, const V& b, const V& c, const wg::FoldLine<V>& line)
    {
        return a * b + c - line.r[0];
    }
    std::size_t axis;
    void describe(wg::Fold& f) const { f.axis = axis; }
};

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

TEST_CASE("a program's own fold of three operands on threads", "[native]")
{
    const D a = wg::normal<double>(wg::Key(3), {700, 300}), b = cos(a), c = sin(a);
    const auto f = [&](const D& t) { return wg::apply<Blend, double>({1}, wg::Site{}, t, b, c * 1.0); };
    const D wanted = a * b + c - sum(a, {1}, true);
    CHECK(wg::allclose(f(a), wanted, 1e-12));
    for (const wg::Backend& backend : std::vector<wg::Backend>{wg::interpret, wg::tile, wg::native}) {
        auto frozen = wg::freeze(f, {.backend = backend, .threads = 2});
        for (int i = 0; i < 3; ++i) CHECK(same_bits(frozen(a), f(a)));
    }
}
