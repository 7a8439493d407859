// Complex tensors between ranks: values and both modes beside the same of their parts, and what is refused.
#include "ranks.hpp"

#include <wengert/complex.hpp>
#include <wengert/mpi/complex.hpp>

namespace {

using N = std::complex<double>;
using C = Tensor<N>;

/// This rank's numbers, all different.
C numbers(const mpi::Comm& w, const wg::Shape& shape)
{
    const D re = wg::uniform<double>(wg::Key(3 + std::uint64_t(w.rank())), shape, -1.0, 1.0);
    return wg::complex(re, sin(3.0 * re));
}

/// Σ |f(z)|² of all ranks, by complex tensors and by their parts: f is linear, as its transpose is.
template <class F, class G> void agree(const mpi::Comm& w, const C& z, const F& f, const G& of_parts)
{
    const C y = f(z);
    const D p = of_parts(z.parts());
    CHECK(wg::allclose(y.parts(), p, 0.0));
    const auto loss = [&](const D& parts) { return sum(square(abs(f(C::from_parts(parts))))); };
    const auto same = [&](const D& parts) { return sum(square(of_parts(parts))); };
    CHECK(wg::allclose(wg::grad(loss)(z.parts()), wg::grad(same)(z.parts()), 1e-13));
    const D v = cos(z.parts());
    CHECK(wg::allclose(wg::jvp(loss, z.parts(), v).second, wg::jvp(same, z.parts(), v).second, 1e-13));
    CHECK(wg::allclose(wg::hvp(loss)(z.parts(), v), wg::hvp(same)(z.parts(), v), 1e-13));
    mpi::barrier(w);
}

void collectives(const mpi::Comm& w)
{
    const C z = numbers(w, {4});
    const C pieces = numbers(w, {w.size(), 3}), pieces_of_all = numbers(w, {5});
    agree(
        w, z, [&](const auto& x) { return mpi::allreduce(x, mpi::sum, w); },
        [&](const auto& x) { return mpi::allreduce(x, mpi::sum, w); });
    agree(
        w, z, [&](const auto& x) { return mpi::bcast(mpi::reduce(x, 0, w), 0, w); },
        [&](const auto& x) { return mpi::bcast(mpi::reduce(x, 0, w), 0, w); });
    agree(
        w, z, [&](const auto& x) { return mpi::allgather(x, w); },
        [&](const auto& x) { return mpi::allgather(x, w); });
    agree(
        w, pieces, [&](const auto& x) { return mpi::reduce_scatter(mpi::alltoall(x, w), w); },
        [&](const auto& x) { return mpi::reduce_scatter(mpi::alltoall(x, w), w); });
    const auto there_and_back = [&](const auto& x) { return mpi::scatter(mpi::gather(x, 0, w), 0, w); };
    if (w.rank() == 0) CHECK(mpi::gather(z, 0, w).shape() == wg::Shape{w.size(), 4});
    if (w.rank() != 0) CHECK(mpi::gather(z, 0, w).size() == 0);
    agree(w, pieces_of_all, there_and_back, there_and_back);
}

void messages(const mpi::Comm& w)
{
    const int n = w.size(), next = (w.rank() + 1) % n, before = (w.rank() + n - 1) % n;
    const C z = numbers(w, {2, 3});
    const auto around = [&](const auto& x) { return mpi::sendrecv(x, next, before, w); };
    agree(w, z, around, around);
    if (n > 1 && w.rank() < 2) {
        if (w.rank() == 0) mpi::send(z, 1, w);
        if (w.rank() == 1) CHECK(mpi::recv<N>({2, 3}, 0, w).shape() == wg::Shape{2, 3});
        if (w.rank() == 0) mpi::send(z, 1, w);
        if (w.rank() == 1)
            CHECK(has(thrown<wg::ShapeError>([&] { mpi::recv<N>({2, 2}, 0, w); }), "(2, 3, 2)"));
    }
}

void margins(const mpi::Comm& w)
{
    const C u = numbers(w, {3, 4});
    const auto rows = [&](const auto& x) {
        return mpi::halo(x, {.axis = 0, .width = 1, .periodic = true}, w);
    };
    agree(w, u, rows, rows);
    const C last =
        mpi::halo(u, {.axis = -1, .width = 1, .periodic = false}, w);  // an axis of u, not of its parts
    CHECK(last.shape() == wg::Shape{3, 6});
}

/// In a frozen function, a loop and a checkpoint, and where anomalies are looked for.
void elsewhere(const mpi::Comm& w)
{
    const D z = numbers(w, {4}).parts();
    const auto step = [&](const D& parts) {
        return mpi::allreduce(C::from_parts(tanh(parts)), mpi::sum, w).parts() * (1.0 / w.size());
    };
    const auto loss = [&](const D& parts) { return sum(square(step(step(step(parts))))); };
    const D wanted = wg::grad(loss)(z);
    const auto loop = [&](const D& parts) {
        return sum(
            square(wg::scan([&](const D& u) { return std::pair(step(u), std::tuple<>()); }, parts, 3).first));
    };
    const auto saved = [&](const D& parts) {
        return wg::checkpoint([&](const D& u) { return loss(u); })(parts);
    };
    CHECK(wg::allclose(wg::grad(loop)(z), wanted, 1e-13));
    CHECK(wg::allclose(wg::grad(saved)(z), wanted, 1e-13));
    auto frozen = wg::freeze(wg::grad(loss));
    auto frozen_loop = wg::freeze(wg::grad(loop));
    for (int k = 0; k < 3; ++k) {
        CHECK(wg::allclose(frozen(z), wanted, 1e-13));
        CHECK(wg::allclose(frozen_loop(z), wanted, 1e-13));
    }
    auto on_threads = wg::freeze(wg::grad(loss), {.threads = 2});
    auto of_any_length = wg::freeze(wg::grad(loss), {.dynamic = {0}});
    for (const std::int64_t n : {4, 7, 5, 20000}) {
        const D parts = numbers(w, {n}).parts(), eager = wg::grad(loss)(parts);
        CHECK(wg::allclose(on_threads(parts), eager, 1e-13));
        CHECK(wg::allclose(of_any_length(parts), eager, 1e-13));
    }
    const wg::AnomalyMode on;
    CHECK(wg::allclose(wg::grad(loss)(z), wanted, 1e-13));
}

void refused(const mpi::Comm& w)
{
    const C z = numbers(w, {2});
    const std::string text = thrown<wg::DTypeError>([&] { mpi::allreduce(z, mpi::max, w); });
    CHECK(has(text, "mpi::sum alone") && has(text, "test_complex.cpp"));
    CHECK(has(thrown<wg::DTypeError>([&] { mpi::allreduce(z, mpi::product, w); }), "[allreduce]"));
}

}  // namespace

int main(int argc, char** argv)
{
    return run_tests(argc, argv, {collectives, messages, margins, elsewhere, refused});
}
