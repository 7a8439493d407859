// What is wrong is found on every rank that takes part, with the user's line, and nobody waits for ever.
#include "ranks.hpp"

#include <wengert/scalar.hpp>

#include <chrono>
#include <thread>

namespace {

/// Short messages and long ones, whose elements follow: each where the other is waited for, or one of another dtype.
void short_and_long(const mpi::Comm& w)
{
    if (w.size() < 2 || w.rank() > 1) return;
    const mpi::Watchdog dog(20.0);
    const int other = 1 - w.rank();
    const std::int64_t few = 3, many = 5000;
    for (const auto& [sent, wanted] :
         {std::pair(few, many), std::pair(many, few), std::pair(many, many + 1)}) {
        const D x = wg::full<double>({sent}, 1.5);
        const std::string text = "has sent shape (" + std::to_string(sent) + ")";
        const auto refused = [&](const auto& call) {
            CHECK(has(thrown<wg::ShapeError>(call), text.c_str()));
        };
        if (w.rank() == 0) mpi::send(x, other, w);
        if (w.rank() == 1) refused([&, n = wanted] { mpi::recv<double>({n}, other, w); });
        if (wanted < sent && sent > 4096 / 8) continue;  // MPI may not survive what is longer than its memory
        const auto coming = mpi::irecv<double>({wanted}, other, w);
        const auto going = mpi::isend(x, other, w);
        refused([&] { static_cast<void>(mpi::wait(coming)); });
        mpi::wait(going);
    }
    const D x = wg::full<double>({many}, 1.5);
    // a send for which an irecv is there: its elements follow
    for (const std::int64_t wanted : {many, many + 1}) {
        if (w.rank() == 0) mpi::send(x, other, w);
        if (w.rank() == 0) continue;
        const auto coming = mpi::irecv<double>({wanted}, other, w);
        if (wanted == many)
            CHECK(wg::allclose(mpi::wait(coming), x, 0.0));
        else
            CHECK(has(thrown<wg::ShapeError>([&] { static_cast<void>(mpi::wait(coming)); }), "(5000)"));
    }
    if (w.rank() == 0) mpi::wait(mpi::isend(x, other, w));
    if (w.rank() == 1) CHECK(wg::allclose(mpi::recv<double>({many}, other, w), x, 0.0));
    // what follows is not mixed up with it
    const auto first = mpi::irecv<double>({many}, other, w), second = mpi::irecv<double>({few}, other, w);
    const auto one = mpi::isend(x, other, w), two = mpi::isend(wg::full<double>({few}, 2.0), other, w);
    CHECK(wg::allclose(mpi::wait(second), wg::full<double>({few}, 2.0), 0.0));
    CHECK(wg::allclose(mpi::wait(first), x, 0.0));
    mpi::wait(one);
    mpi::wait(two);
    const D ring = mpi::sendrecv(x, other, other, w);
    CHECK(wg::allclose(ring, x, 0.0));
}

void shapes_and_types(const mpi::Comm& w)
{
    const int n = w.size(), r = w.rank(), next = (r + 1) % n, before = (r + n - 1) % n;
    const D x = wg::ones<double>({3});
    if (n > 1) {
        const D other = wg::ones<double>({r == 0 ? 2 : 3});
        for (const auto& call : std::vector<std::function<void()>>{
                 [&] { mpi::allreduce(other, mpi::sum, w); }, [&] { mpi::bcast(other, 0, w); },
                 [&] { mpi::reduce(other, 0, w); }, [&] { mpi::allgather(other, w); },
                 [&] { mpi::gather(other, 0, w); }}) {
            const std::string text = thrown<wg::ShapeError>(call);
            CHECK(has(text, "test_errors.cpp") && has(text, "(2)") && has(text, "(3)"));
        }
        const std::string types = thrown<wg::DTypeError>([&] {
            if (r == 0)
                mpi::allreduce(x, mpi::sum, w);
            else
                mpi::allreduce(Tensor<float>{1.0F, 1.0F, 1.0F}, mpi::sum, w);
        });
        CHECK(has(types, "float32") && has(types, "float64"));
        const std::string operations = thrown<mpi::CommunicationError>([&] {
            if (r == 0)
                mpi::allgather(x, w);
            else
                mpi::allreduce(x, mpi::sum, w);
        });
        CHECK(has(operations, "allgather") && has(operations, "allreduce") &&
              has(operations, "test_errors.cpp"));
        CHECK(has(thrown<mpi::CommunicationError>([&] { mpi::bcast(x, r == 0 ? 0 : 1, w); }), "bcast"));
        CHECK(has(thrown<wg::ShapeError>([&] {
                      mpi::alltoallv(x, wg::Extents::filled(static_cast<std::size_t>(n), r == 0 ? 1 : 0),
                                     wg::Extents::filled(static_cast<std::size_t>(n)), w);
                  }),
                  "alltoallv"));
        // a message of another shape: whoever receives it says so
        if (r == 0) mpi::send(x, 1, w);
        if (r == 1)
            CHECK(has(thrown<wg::ShapeError>([&] { mpi::recv<double>({4}, 0, w); }),
                      "rank 0 has sent shape (3)"));
        if (r == 0) mpi::send(x, 1, w);
        if (r == 1) CHECK(has(thrown<wg::DTypeError>([&] { mpi::recv<float>(0, w); }), "float64"));
    }
    CHECK(has(thrown<wg::ShapeError>([&] {
                  mpi::reduce_scatter(wg::ones<double>({n + 1, 2}), w);
              }),
              "reduce_scatter"));
    CHECK(has(thrown<wg::ShapeError>([&] { mpi::scatter(wg::ones<double>({n + 1, 2}), 0, w); }), "scatter"));
    CHECK(has(thrown<wg::IndexError>([&] { mpi::sendrecv(x, n, before, w); }), "test_errors.cpp"));
    CHECK(has(thrown<wg::IndexError>([&] { mpi::send(x, -3, w); }), "-3"));
    CHECK(has(thrown<wg::DTypeError>([&] { mpi::allreduce(Tensor<bool>{true}, mpi::sum, w); }),
              "truth values"));
    CHECK(has(thrown<wg::TapeError>([&] { mpi::allreduce(D(), mpi::sum, w); }), "empty"));
    CHECK(has(thrown<wg::ShapeError>([&] {
                  mpi::allreduce(wg::ones<double>({1, 1, 1, 1, 1, 1, 1}), mpi::sum, w);
              }),
              "6 axes"));
    CHECK(has(thrown<wg::ShapeError>([&] { mpi::Grid(w, {n, 2}); }), "Grid"));
    // everything works afterwards
    CHECK(wg::allclose(mpi::sendrecv(x, next, before, w), x, 0.0));
    CHECK(wg::allclose(mpi::allreduce(x, mpi::sum, w), x * (1.0 * n), 0.0));
}

/// A piece that is too small is an error there and on its neighbours.
void narrow_pieces(const mpi::Comm& world)
{
    const mpi::Comm w(world.get());
    const int n = w.size(), r = w.rank();
    const D u = wg::ones<double>({r == 0 ? 1 : 4});
    const bool near = r <= 1 || r == n - 1;
    if (near) {
        const std::string text =
            r == 0
                ? thrown<wg::ShapeError>([&] { mpi::halo(u, {.axis = 0, .width = 2, .periodic = true}, w); })
                : thrown<mpi::CommunicationError>(
                      [&] { mpi::halo(u, {.axis = 0, .width = 2, .periodic = true}, w); });
        CHECK(has(text, "halo") && has(text, "test_errors.cpp"));
    } else {
        static_cast<void>(mpi::halo(u, {.axis = 0, .width = 2, .periodic = true}, w));
    }
}

void kernels(const mpi::Comm& w)
{
    using R = wg::Real<double>;
    const auto cell = wg::kernel([&](const R& a) { return a * mpi::allreduce(a, mpi::sum, w); });
    const std::string text = thrown<wg::Error>([&] { static_cast<void>(cell(wg::ones<double>({4}))); });
    CHECK(has(text, "a kernel's cell cannot communicate") && has(text, "test_errors.cpp"));
}

void threads(const mpi::Comm& w)
{
    std::string text;
    std::thread([&] {
        text = thrown<mpi::CommunicationError>([&] { mpi::allreduce(D(1.0), mpi::sum, w); });
    }).join();
    CHECK(has(text, "MPI_THREAD_SERIALIZED"));
}

/// One rank throws, or does something else, while the others wait for it.
void watchdog(const mpi::Comm& world)
{
    const int n = world.size(), r = world.rank();
    {  // who is late but comes is no error
        const mpi::Watchdog dog(60.0);
        if (r == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        CHECK(wg::allclose(mpi::allreduce(D(1.0), mpi::sum, world), D(1.0 * n), 0.0));
        CHECK(wg::allclose(mpi::sendrecv(wg::ones<double>({5000}), (r + 1) % n, (r + n - 1) % n, world),
                           wg::ones<double>({5000}), 0.0));
    }
    if (n == 1) return;
    const mpi::Comm w(world.get());
    const mpi::Watchdog dog(4.0);
    const auto f = [&](const D& t) {
        const D y = mpi::sendrecv(t, (r + 1) % n, (r + n - 1) % n, w);
        if (r == 0) throw std::runtime_error("rank 0 has had enough");
        return sum(mpi::allreduce(y, mpi::sum, w));
    };
    if (r == 0) {
        const std::string text =
            thrown<std::runtime_error>([&] { static_cast<void>(wg::grad(f)(wg::ones<double>({3}))); });
        if (!has(text, "enough")) std::printf("%s\n", text.c_str());
        CHECK(has(text, "enough"));
    } else {
        const std::string text =
            thrown<mpi::CommunicationError>([&] { static_cast<void>(wg::grad(f)(wg::ones<double>({3}))); });
        CHECK(has(text, "[allreduce] rank") && has(text, "has waited") && has(text, "test_errors.cpp"));
    }
}

}  // namespace

int main(int argc, char** argv)
{
    CHECK(has(thrown<mpi::CommunicationError>([] { mpi::Comm(MPI_COMM_WORLD); }), "MPI_Init"));
    return run_tests(argc, argv,
                     {short_and_long, shapes_and_types, narrow_pieces, kernels, threads, watchdog});
}
