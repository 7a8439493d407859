// Tangents of nested levels that are recorded where chunks of the stream begin, and tangents whose recordings are dropped.
#include "scalar/stream/scalar_tape.hpp"

#include <cmath>

namespace wg = wengert;
using namespace scalar_tape;
using Reals = std::vector<R>;

namespace {

/// ∇ of the second derivative of f along x + along, in a stream whose chunks are short, at many places of a chunk.
template <class F> void same_in_short_chunks(const F& f, const Reals& x, const Reals& along)
{
    const auto bent = [&](const Reals& z) {
        return wg::jvp([&](const Reals& y) { return wg::jvp(f, y, along).second; }, z, along).second;
    };
    const Reals whole = wg::grad(bent)(x);
    const wg::ScalarMemory limit(1 << 13, "/tmp");
    for (int before = 0; before < 340; before += 20) {
        R z = 0.5;
        z.requires_grad();
        R y = z;
        for (int k = 0; k < before; ++k) y *= 1.0;
        const Reals cut = wg::grad(bent)(x);
        for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::abs(cut[i].value() - whole[i].value()) < 1e-15);
        wg::backward(y);
        z.requires_grad(false);
    }
}

Reals through_pullbacks(const Reals& v)
{
    const auto mixed = [](const Reals& u) { return Reals{u[1], u[0] * u[1], atan(u[0])}; };
    const auto [y, pullback] = wg::vjps(mixed, v);
    const auto rows = pullback({{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}});
    Reals out;
    for (std::size_t i = 0; i < 3; ++i) {
        R slope = 0.0;
        for (std::size_t k = 0; k < 3; ++k) slope += rows[i][k] * sin(v[(k + 1) % 3]);
        out.push_back(0.5 * y[i] + 0.3 * tanh(slope));
    }
    return out;
}

}  // namespace

TEST_CASE("elements of tensors keep their tangents where a tangent's recording begins a chunk")
{
    const auto f = [](const Reals& x) {
        struct Thrown {};
        const auto throws = [](const Reals& u) {
            if (through_pullbacks(u)[0] == 0.0) return u;
            throw Thrown();
        };
        try {
            static_cast<void>(wg::grad([&](const Reals& u) {
                return throws({u[0] * x[1], u[1], u[2]})[0];
            })(x));
        } catch (const Thrown&) {}
        try {
            static_cast<void>(wg::checkpoint(throws)(x));
        } catch (const Thrown&) {}
        const Reals v = through_pullbacks(x);
        return v[0] * v[0] + v[1] / (1.0 + v[2] * v[2]);
    };
    same_in_short_chunks(f, Reals{0.13, 0.72, -0.42}, Reals{-0.05, 0.19, -0.44});
    CHECK(recorded() == 0);
}

TEST_CASE("tangents are computed again where what they were recorded in has been dropped")
{
    const auto f = [](const Reals& z) {
        R a = z[0];
        for (int i = 0; i < 40; ++i) a = sin(a) + 0.9 * z[1];
        const auto f2 = [](const Reals& u) { return Reals{u[0] * u[1], sin(u[0])}; };
        const auto [y, pullback] = wg::vjps(f2, Reals{a, z[1]});
        const auto rows = pullback({{1.0, 0.0}, {0.0, 1.0}});
        return rows[0][0] * rows[1][0] + y[0];
    };
    same_in_short_chunks(f, Reals{0.7, -0.3}, Reals{0.3, 0.8});
    // the same by the program's own hand
    const Reals x{0.7, -0.3}, along{0.3, 0.8};
    const auto trial = [&](bool drops) {
        const auto inner = [&](const Reals& u) {
            const auto here = wg::Tape::current().mark();
            const R tried = wg::real(wg::tensor(u[0] * u[1]));
            if (drops) wg::Tape::current().rewind(here);
            return drops ? sin(u[0]) * u[1] : sin(u[0]) * u[1] + 0.0 * tried;
        };
        return wg::grad([&](const Reals& z) { return wg::jvp(inner, z, along).second; })(x);
    };
    for (std::size_t i = 0; i < 2; ++i) CHECK(trial(true)[i].value() == trial(false)[i].value());
    CHECK(recorded() == 0);
}
