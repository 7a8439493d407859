// The second run of a checkpoint in a trace takes the same from outside as the first, whatever the trace has met between the two and
// in whatever mode the frozen function is called.
#include "catch.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/elementwise/trigonometry.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/transforms/checkpoint.hpp>
#include <wengert/transforms/derivatives.hpp>

using namespace wengert;
using D = Tensor<double>;

namespace {

/// Loops within each other, the innermost of which reads w.
template <class Number> D nested(const D& x, const Number& w, int depth)
{
    const auto step = [&](const D& s) {
        const D y = depth ? nested(s, w, depth - 1) : s * w;
        return std::pair(tanh(y) * 0.9, std::tuple());
    };
    return scan(step, x, 2).first;
}

}  // namespace

TEST_CASE("A constant of a body within a body stays one when the trace has met it between the two runs of a "
          "checkpoint")
{
    const D x{0.3, -0.7}, w{0.8, 1.1};
    for (const int depth : {0, 1, 2}) {
        CAPTURE(depth);
        const auto f = [&](const D& a) {
            const D y = checkpoint([&](const D& b) { return nested(b, w, depth); })(a);
            return sum(y + sin(w));  // after the first run, before the second
        };
        const D eager = grad(f)(x);
        const D frozen = freeze(grad(f))(x);
        CHECK(frozen(0).item() == eager(0).item());
        CHECK(frozen(1).item() == eager(1).item());
    }
}

TEST_CASE("A checkpoint in an inner gradient is traced alike in every mode of the frozen function")
{
    const D x{0.3, -0.7}, dx{1.0, 0.5}, w{0.8, 1.1};
    const auto inner = [&](const D& a) {
        return grad([&](const D& b) {
                   return sum(checkpoint([&](const D& c) { return nested(c, w, 1); })(b));
               })(w * 2.0) *
               a;
    };
    const auto plainly = [&](const auto& f) { return sum(f(x)).item(); };
    const auto forward = [&](const auto& f) { return sum(jvp(f, x, dx).second).item(); };
    const auto backward = [&](const auto& f) {
        return sum(grad([&](const D& a) { return sum(f(a)); })(x)).item();
    };
    for (const bool forward_first : {false, true}) {
        const auto frozen = freeze(inner, {.check = true});
        for (int k = 0; k < 3; ++k) {
            if (forward_first) CHECK(forward(frozen) == Approx(forward(inner)));
            CHECK(plainly(frozen) == Approx(plainly(inner)));
            CHECK(backward(frozen) == Approx(backward(inner)));
            CHECK(forward(frozen) == Approx(forward(inner)));
        }
    }
}

TEST_CASE("A checkpoint that captures a variable has its tangent in a trace, too")
{
    const D x{0.3, -0.7}, dx{1.0, 0.5};
    const auto f = [&](const D& a) {
        const auto captures = freeze([&](const D& b) {
            return grad(
                [&](const D& c) { return sum(checkpoint([&](const D& d) { return sin(d * a); })(c)); })(b);
        });
        return captures(D{0.4, 0.9});
    };
    const auto plain = [&](const D& a) {
        return grad([&](const D& c) { return sum(sin(c * a)); })(D{0.4, 0.9});
    };
    for (int k = 0; k < 2; ++k)
        for (const int i : {0, 1})
            CHECK(jvp(f, x, dx).second(i).item() == Approx(jvp(plain, x, dx).second(i).item()));
}
