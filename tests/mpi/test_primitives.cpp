// Values and derivatives of every primitive of communication, beside what they are on paper.
#include "ranks.hpp"

#include <wengert/scalar.hpp>

#include <functional>

namespace {

D mine(const mpi::Comm& w) { return D{1.0, -2.0, 0.5} * (1.0 + w.rank()); }
D everywhere(double factor) { return wg::full<double>({3}, factor); }
double sum_to(int n) { return 0.5 * n * (n + 1); }  // 1 + … + n

/// ⟨J v, u⟩ over all ranks in forward mode is ⟨v, Jᵀ u⟩ in reverse mode, and orders two agree with each other.
void check_transposes(const std::function<D(const D&)>& f, const D& x, const mpi::Comm& w,
                      double tolerance = 1e-12)
{
    const D v = sin(x + 1.0 * w.rank());
    const auto [y, dy] = wg::jvp(f, x, v);
    const D u = cos(y + 2.0 * w.rank());
    const D back = wg::vjp(f, x).second(u);
    const auto total = [&](const D& t) { return mpi::allreduce(sum(t), mpi::sum, w).item(); };
    const double forward = total(dy * u), reverse = total(v * back);
    CHECK(std::abs(forward - reverse) <= tolerance * (1 + std::abs(forward)));
    const auto loss = [&](const D& t) { return sum(sin(f(t)) * u); };
    const D over = wg::hvp(loss)(x, v);
    const D under = wg::grad([&](const D& t) { return sum(wg::grad(loss)(t) * v); })(x);
    CHECK(wg::allclose(over, under, 1e-10));
}

void reductions(const mpi::Comm& w)
{
    const int n = w.size();
    const D x = mine(w), base = {1.0, -2.0, 0.5};
    CHECK(wg::allclose(mpi::allreduce(x, mpi::sum, w), base * sum_to(n), 1e-14));
    CHECK(wg::allclose(mpi::allreduce(x, mpi::max, w), D{1.0 * n, -2.0, 0.5 * n}, 0.0));
    CHECK(wg::allclose(mpi::allreduce(x, mpi::min, w), D{1.0, -2.0 * n, 0.5}, 0.0));
    for (const mpi::Reduction how : {mpi::sum, mpi::product, mpi::max, mpi::min})
        check_transposes([&](const D& t) { return mpi::allreduce(t, how, w); }, x, w);
    check_transposes([&](const D& t) { return mpi::reduce(t, n - 1, w); }, x, w);
    check_transposes([&](const D& t) { return mpi::bcast(t, n - 1, w); }, x, w);
    const D reduced = mpi::reduce(x, 0, w);
    CHECK(wg::allclose(reduced, w.rank() == 0 ? base * sum_to(n) : everywhere(0), 1e-14));
    CHECK(wg::allclose(wg::grad([&](const D& t) { return sum(mpi::reduce(t, 0, w)) * (2.0 + w.rank()); })(x),
                       everywhere(2)));
    // equal ones share: the largest of n equal numbers has the derivative 1/n on each rank, for an objective of n
    const D same = everywhere(3);
    CHECK(wg::allclose(wg::grad([&](const D& t) { return sum(mpi::allreduce(t, mpi::max, w)); })(same),
                       everywhere(1)));
    // a zero on one rank takes all of a product's derivative
    const D zero = everywhere(w.rank() == 0 ? 0.0 : 2.0);
    const D of_product = wg::grad([&](const D& t) { return sum(mpi::allreduce(t, mpi::product, w)); })(zero);
    CHECK(wg::allclose(of_product, everywhere(w.rank() == 0 ? n * std::pow(2.0, n - 1) : 0.0), 1e-14));
    const D nan = w.rank() == n - 1 ? everywhere(std::nan("")) : same;
    CHECK(std::isnan(mpi::allreduce(nan, mpi::max, w)(0).item()));
}

void pieces(const mpi::Comm& w)
{
    const int n = w.size(), r = w.rank();
    const D x = mine(w), all = sin(wg::arange<double>(n * 2.0) + r);
    const D rows = reshape(all, {n, 2});
    CHECK(mpi::allgather(x, w).shape() == wg::Shape({n, 3}));
    CHECK(wg::allclose(mpi::allgather(x, w)(n - 1), D{1.0, -2.0, 0.5} * (1.0 * n), 0.0));
    CHECK(mpi::gather(x, 0, w).shape() == wg::Shape({r == 0 ? n : 0, 3}));
    const D from_root = mpi::scatter(rows, 0, w);
    CHECK(wg::allclose(from_root, sin(D{0.0, 1.0} + 2.0 * r), 1e-15));
    CHECK(wg::allclose(mpi::scatter(mpi::gather(x, 0, w), 0, w), x, 0.0));
    CHECK(wg::allclose(mpi::alltoall(mpi::alltoall(rows, w), w), rows, 0.0));
    CHECK(wg::allclose(mpi::reduce_scatter(rows, w), mpi::allreduce(rows, mpi::sum, w)(r), 1e-14));
    check_transposes([&](const D& t) { return mpi::allgather(t, w); }, x, w);
    check_transposes([&](const D& t) { return mpi::gather(t, 0, w); }, x, w);
    check_transposes([&](const D& t) { return mpi::scatter(t, 0, w); }, rows, w);
    check_transposes([&](const D& t) { return mpi::alltoall(t, w); }, rows, w);
    check_transposes([&](const D& t) { return mpi::reduce_scatter(t, w); }, rows, w);
}

void varying_pieces(const mpi::Comm& w)
{
    const int n = w.size(), r = w.rank();
    wg::Extents rows, to, from;
    for (int k = 0; k < n; ++k) {
        rows.push_back(k + 1);
        to.push_back((r + k) % 3);
        from.push_back((r + k) % 3);
    }
    std::int64_t sent = 0, all = 0;
    for (int k = 0; k < n; ++k) sent += to[static_cast<std::size_t>(k)], all += k + 1;
    const D x = sin(wg::arange<double>(2.0 * (r + 1)) + 10.0 * r), own = reshape(x, {r + 1, 2});
    const D parts = reshape(cos(wg::arange<double>(2.0 * static_cast<double>(sent)) + r), {sent, 2});
    const D whole = reshape(cos(wg::arange<double>(2.0 * static_cast<double>(all)) + r), {all, 2});
    const D gathered = mpi::allgatherv(own, rows, w);
    CHECK(gathered.shape() == wg::Shape({all, 2}));
    CHECK(wg::allclose(mpi::scatterv(mpi::gatherv(own, rows, 0, w), rows, 0, w), own, 0.0));
    check_transposes([&](const D& t) { return mpi::allgatherv(t, rows, w); }, own, w);
    check_transposes([&](const D& t) { return mpi::reduce_scatterv(t, rows, w); }, whole, w);
    check_transposes([&](const D& t) { return mpi::alltoallv(t, to, from, w); }, parts, w);
    check_transposes([&](const D& t) { return mpi::gatherv(t, rows, n - 1, w); }, own, w);
}

void messages(const mpi::Comm& w)
{
    const int n = w.size(), r = w.rank(), next = (r + 1) % n, before = (r + n - 1) % n;
    const D x = mine(w);
    CHECK(wg::allclose(mpi::sendrecv(x, next, before, w), D{1.0, -2.0, 0.5} * (1.0 + before), 0.0));
    check_transposes([&](const D& t) { return mpi::sendrecv(t, next, before, w); }, x, w);
    const D large = sin(wg::arange<double>(100000.0) + r);
    check_transposes([&](const D& t) { return mpi::sendrecv(t, next, before, w); }, large, w, 1e-11);
    // a chain: rank k receives from k - 1, works, sends to k + 1
    const auto chain = [&](const D& t) {
        const D in = r == 0 ? t : mpi::recv<double>({3}, r - 1, w) * t;
        if (r + 1 < n) mpi::send(in, r + 1, w);
        return in;
    };
    check_transposes(chain, x, w);
    if (n > 1) {  // one rank's result is nobody's
        const auto lost = [&](const D& t) {
            if (r == 0) mpi::send(t, 1, w);
            if (r == 1) static_cast<void>(mpi::recv<double>(0, w));
            return sum(t);
        };
        CHECK(wg::allclose(wg::grad(lost)(x), everywhere(1), 0.0));
    }
    const auto swapped = [&](const D& t) {
        const auto coming = mpi::irecv<double>({3}, before, w);
        const auto going = mpi::isend(t, next, w);
        const D work = sin(t);
        const D y = mpi::wait(coming) * work;
        mpi::wait(going);
        return y;
    };
    CHECK(wg::allclose(swapped(x), mpi::sendrecv(x, next, before, w) * sin(x), 0.0));
    check_transposes(swapped, x, w);
    mpi::barrier(w);
}

/// What nobody uses, what comes from constants on some ranks, and branches by rank.
void unused(const mpi::Comm& w)
{
    const int n = w.size(), r = w.rank(), next = (r + 1) % n, before = (r + n - 1) % n;
    const D x = mine(w);
    const auto idle = [&](const D& t) {
        const D seen = mpi::sendrecv(t, next, before, w);
        return r == 0 ? sum(seen) : sum(t * t);
    };
    D wanted = r == 0 ? everywhere(0) : 2.0 * x;
    if (next == 0) wanted = wanted + 1.0;
    CHECK(wg::allclose(wg::grad(idle)(x), wanted, 1e-14));
    const auto constant_here = [&](const D& t) {
        return sum(mpi::allreduce(r == 0 ? t : everywhere(1), mpi::sum, w) * 2.0);
    };
    CHECK(wg::allclose(wg::grad(constant_here)(x), everywhere(r == 0 ? 2.0 * n : 0.0), 1e-14));
    const auto nothing_here = [&](const D& t) {
        const D all = mpi::allreduce(t, mpi::sum, w);
        return r == 0 ? sum(all) : D(1.0);
    };
    CHECK(wg::allclose(wg::grad(nothing_here)(x), everywhere(1), 0.0));
    CHECK(wg::allclose(
        wg::jvp([&](const D& t) { return mpi::bcast(r == 0 ? t : everywhere(0), 0, w); }, x, everywhere(2))
            .second,
        everywhere(2), 0.0));
}

/// requires_grad and backward: variables on some ranks only, twice, and results that nobody asks for.
void level_zero(const mpi::Comm& w)
{
    const int n = w.size(), r = w.rank(), next = (r + 1) % n, before = (r + n - 1) % n;
    D x = mine(w);
    x.requires_grad(true);
    wg::backward(sum(mpi::allreduce(x, mpi::sum, w)) + 0.0 * sum(mpi::sendrecv(x, next, before, w)));
    CHECK(wg::allclose(x.grad(), everywhere(n), 0.0));
    D y = mine(w), own = everywhere(1);
    own.requires_grad(true);
    if (r == 0) y.requires_grad(true);
    const D shared = mpi::bcast(y, 0, w), around = mpi::sendrecv(y, next, before, w);
    const D h = mpi::halo(y, {.axis = 0, .width = 1, .periodic = true}, w);
    wg::backward(sum(shared) + sum(own) + (r == 0 ? 1.0 : 0.0) * sum(around) + sum(view(h, wg::range(0, 1))));
    if (r == 0) CHECK(wg::allclose(y.grad(), D{1.0 * n, 1.0 * n, 1.0 * n + 1.0} + (n == 1 ? 1.0 : 0.0), 0.0));
    const std::size_t before_constants = wg::Tape::current().size();
    const D c = mpi::allreduce(mine(w), mpi::sum, w);
    CHECK(wg::Tape::current().size() == before_constants);
    for (int k = 0; k < 2; ++k) {
        x.zero_grad();
        wg::backward(sum(square(mpi::allgather(x, w))));
        CHECK(wg::Tape::current().obliged.empty());
    }
}

void types(const mpi::Comm& w)
{
    const int n = w.size(), r = w.rank();
    const Tensor<float> f = {1.0F, 2.0F};
    CHECK(
        wg::allclose(wg::grad([&](const Tensor<float>& t) { return sum(mpi::allreduce(t, mpi::sum, w)); })(f),
                     Tensor<float>{1.0F * static_cast<float>(n), 1.0F * static_cast<float>(n)}));
    const wg::Indices i = {r, 7};
    CHECK(mpi::allreduce(i, mpi::max, w)(0).item() == n - 1);
    CHECK(mpi::allreduce(i, mpi::sum, w)(1).item() == 7 * n);
    CHECK(mpi::bcast(i, n - 1, w)(0).item() == n - 1);
    const Tensor<bool> b = {r == 0, true};
    CHECK(mpi::allreduce(b, mpi::max, w)(0).item());
    CHECK(mpi::allreduce(b, mpi::min, w)(0).item() == (n == 1));
    const D empty = wg::zeros<double>({0, 3});
    CHECK(mpi::allreduce(empty, mpi::sum, w).shape() == wg::Shape({0, 3}));
    CHECK(mpi::sendrecv(empty, (r + 1) % n, (r + n - 1) % n, w).shape() == wg::Shape({0, 3}));
    const D matrix = sin(reshape(wg::arange<double>(12.0), {4, 3}) + r), turned = transpose(matrix);
    CHECK(wg::allclose(mpi::sendrecv(turned, r, r, w), turned, 0.0));
    check_transposes([&](const D& t) { return mpi::allreduce(transpose(t), mpi::sum, w); }, matrix, w);
    struct Parameters {
        D a;
        std::vector<Tensor<float>> b;
        wg::Indices c;
    };
    const Parameters p{mine(w), {f, f * 2.0F}, i}, q = mpi::average(p, w);
    CHECK(wg::allclose(q.a, D{1.0, -2.0, 0.5} * (sum_to(n) / n), 1e-14));
    const Parameters around = mpi::bcast(p, n - 1, w), total = mpi::allreduce(p, mpi::sum, w);
    CHECK(around.c(0).item() == n - 1 && wg::allclose(total.b[0], f * static_cast<float>(n)));
    const auto struct_loss = [&](const Parameters& t) {
        const Parameters got = mpi::sendrecv(t, (r + 1) % n, (r + n - 1) % n, w);
        return sum(got.a) * (1.0 + r);
    };
    CHECK(wg::allclose(wg::grad(struct_loss)(p).a, everywhere(1.0 + (r + 1) % n), 0.0));
    CHECK(wg::allclose(q.b[1], f * 2.0F) && q.c(0).item() == r);
}

void exact_sums(const mpi::Comm& w)
{
    const mpi::Comm alone(MPI_COMM_SELF);
    const int n = w.size();
    const D many =
        wg::normal<double>(wg::Key(3), {12 * 7}) * exp(20.0 * wg::normal<double>(wg::Key(4), {12 * 7}));
    CHECK(mpi::reproducible_sum(piece(many, w), w).item() == mpi::reproducible_sum(many, alone).item());
    CHECK(mpi::reproducible_sum(D{1e300, 1.0, -1e300}, alone).item() == 1.0);
    CHECK(mpi::reproducible_sum(D{1.0, 0x1p-53}, alone).item() == 1.0);
    CHECK(mpi::reproducible_sum(D{1.0, 0x1p-53, 0x1p-105}, alone).item() == 1.0 + 0x1p-52);
    CHECK(mpi::reproducible_sum(D{-1.0, 0x1p-54}, alone).item() == -1.0 + 0x1p-54);
    CHECK(mpi::reproducible_sum(D{5e-324, 5e-324}, alone).item() == 1e-323);
    CHECK(mpi::reproducible_sum(D{1e308, 1e308}, alone).item() == INFINITY);
    CHECK(std::isnan(mpi::reproducible_sum(D{INFINITY, -INFINITY}, alone).item()));
    CHECK(wg::allclose(
        wg::grad([&](const D& t) { return mpi::reproducible_sum(t, w) * (1.0 + w.rank()); })(mine(w)),
        everywhere(sum_to(n)), 0.0));
    check_transposes([&](const D& t) { return reshape(mpi::reproducible_sum(square(t), w), {1}); }, mine(w),
                     w);
}

void reals(const mpi::Comm& w)
{
    using R = wg::Real<double>;
    const int n = w.size(), r = w.rank(), next = (r + 1) % n, before = (r + n - 1) % n;
    const auto f = [&](const std::vector<R>& t) {
        const std::vector<R> got = mpi::sendrecv(t, next, before, w);
        const R all = mpi::allreduce(t[0] * t[1], mpi::sum, w);
        return got[0] * got[1] + all * all;
    };
    const std::vector<R> x = {2.0 + r, 3.0};
    double s = 0;
    for (int k = 0; k < n; ++k) s += 3.0 * (2.0 + k);
    const auto g = wg::grad(f)(x);
    CHECK(std::abs(g[0].value() - 3.0 * (1.0 + 2.0 * n * s)) < 1e-10);
    CHECK(std::abs(g[1].value() - (2.0 + r) * (1.0 + 2.0 * n * s)) < 1e-10);
}

}  // namespace

int main(int argc, char** argv)
{
    return run_tests(
        argc, argv,
        {reductions, pieces, varying_pieces, messages, unused, level_zero, types, exact_sums, reals});
}
