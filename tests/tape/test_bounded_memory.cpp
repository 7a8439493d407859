// What lets the tape hold less: hooks on what it saves, local Jacobians, positions to go back to; and who holds how much.
#include "catch.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/transforms/preaccumulate.hpp>
#include <wengert/transforms/saved_tensor_hooks.hpp>

using namespace wengert;

namespace {

using D = Tensor<double>;

D chain(D s)
{
    for (int i = 0; i < 8; ++i) s = sin(s) * s + exp(-(s * s));
    return s;
}
const auto loss = [](const D& x) { return sum(chain(x)); };

}  // namespace

TEST_CASE("hooks see each saved value once and each is asked back once")
{
    const D x = normal<double>(Key(1), {5});
    const D plain = grad(loss)(x);
    int packed = 0, unpacked = 0;
    {
        const SavedTensorHooks hooks([&](const auto& t) { return ++packed, t; },
                                     [&](const auto& t) { return ++unpacked, t; });
        CHECK(allclose(grad(loss)(x), plain, 0.0));
        CHECK(allclose(hessian(loss)(x), hessian(loss)(x), 0.0));
    }
    CHECK(packed > 0);
    const int before = packed;
    static_cast<void>(grad(loss)(x));  // the scope has ended
    CHECK(packed == before);
}

TEST_CASE("hooks may keep anything; other dtypes than theirs are left alone")
{
    const D x = normal<double>(Key(1), {5});
    using Kept = std::pair<Shape, std::vector<double>>;
    const SavedTensorHooks hooks(
        [](const D& t) { return Kept(t.shape(), std::vector<double>(t.data(), t.data() + t.size())); },
        [](const Kept& k) { return D(k.first, k.second); });
    const auto f = [](const D& x) { return sum(where(x > 0.0, x * x, 0.5 * x)); };
    const D g = grad(f)(x);
    for (int i = 0; i < 5; ++i) CHECK(g(i).item() == (x(i).item() > 0 ? 2 * x(i).item() : 0.5));
}

TEST_CASE("unpack must give back what was packed")
{
    const D x{1.0, 2.0};
    const SavedTensorHooks hooks([](const D& t) { return t; }, [](const D&) { return D{1.0}; });
    CHECK_THROWS_WITH(grad(loss)(x),
                      contains("SavedTensorHooks") && contains("(2)") && contains("test_bounded_memory"));
}

TEST_CASE("an exception while packing leaves the tape as it was")
{
    D x{1.0, 2.0};
    x.requires_grad(true);
    const auto size = Tape::current().size();
    {
        const SavedTensorHooks hooks(
            [](const D& t) -> D {
                throw std::runtime_error("no");
                return t;
            },
            [](const D& t) { return t; });
        CHECK_THROWS_WITH(sin(x), "no");
    }
    CHECK(Tape::current().size() == size);
    CHECK(Tape::current().packed.empty());
}

TEST_CASE("ready-made hooks: disk is exact, shorter formats lose what they say")
{
    const D x = normal<double>(Key(2), {500});
    const D plain = grad(loss)(x);
    const auto with = [&](std::shared_ptr<SavedHooks> h) {
        const SavedTensorHooks hooks(std::move(h));
        return grad(loss)(x);
    };
    CHECK(allclose(with(save_on_disk("/tmp")), plain, 0.0));
    const auto distance = [&](const D& g) { return norm(g - plain).item() / norm(plain).item(); };
    const double single = distance(with(save_as_float32())), brain = distance(with(save_as_bfloat16()));
    CHECK((single > 0 && single < 1e-5));
    CHECK((brain > single && brain < 0.1));
}

TEST_CASE("hooks that save less of a number leave one whose exponent they lack")
{
    for (const double size : {1e-300, 1e-60, 1e-40, 3.4e38, 1e60, 1e300}) {
        const D x = full<double>({300}, size);
        const auto f = [size](const D& t) { return sum((t / size) * (t / size) * t); };
        const D want = grad(f)(x);
        for (const auto& hooks : {save_as_float32(), save_as_bfloat16()}) {
            const SavedTensorHooks installed(hooks);
            CAPTURE(size);
            CHECK(allclose(grad(f)(x), want, 0.02));
        }
    }
}

TEST_CASE("hooks keep all arrays in one file")
{
    const D x = normal<double>(Key(2), {200});
    const auto deep = [](const D& x) {
        D y = x;
        for (int i = 0; i < 300; ++i) y = sin(y);
        return sum(y);
    };
    const D plain = grad(deep)(x);
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    const rlimit few{32, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    D g;
    std::string error;
    try {
        const SavedTensorHooks hooks(save_on_disk("/tmp"));
        g = grad(deep)(x);
    } catch (const Error& e) {
        error = e.what();
    }
    ::setrlimit(RLIMIT_NOFILE, &before);
    REQUIRE(error.empty());
    CHECK(allclose(g, plain, 0.0));
    const SavedTensorHooks nowhere(save_on_disk("/tmp/wengert-no-such-folder"));
    CHECK_THROWS_WITH(grad(deep)(x), contains("[SavedTensorHooks] cannot make a file in") &&
                                         contains("(test_bounded_memory.cpp:"));
}

TEST_CASE("hooks and the arguments of a checkpoint")
{
    const D x = normal<double>(Key(3), {500});  // large enough to be packed
    const auto f = [](const D& a, const D& b) { return sum(sin(a) * b); };
    const auto with = [&](std::shared_ptr<SavedHooks> h, const auto& f) {
        const SavedTensorHooks hooks(std::move(h));
        return grad(f)(x);
    };
    const auto once = [&](const D& x) { return checkpoint(loss)(x * 1.5); };
    const D plain = grad([](const D& x) { return loss(x * 1.5); })(x);
    CHECK(allclose(with(save_on_disk("/tmp"), once), plain, 0.0));
    CHECK(norm(with(save_as_float32(), once) - plain).item() < 1e-5 * norm(plain).item());
    const auto twice = [&](const D& x) {
        const D y = x * 1.5;
        return checkpoint(f)(y, y);
    };
    const auto captured = [&](const D& x) {
        const D y = x * 1.5;
        return checkpoint([y, f](const D& a) { return f(a, y); })(y);
    };
    const D both = grad([&](const D& x) { return f(x * 1.5, x * 1.5); })(x);
    CHECK(allclose(with(save_on_disk("/tmp"), twice), both, 1e-14));
    CHECK(allclose(with(save_on_disk("/tmp"), captured), both, 1e-14));
    CHECK(norm(with(save_as_float32(), captured) - both).item() < 1e-5 * norm(both).item());
    const auto reads = [&](const D& x) {
        return checkpoint([](const D& x) { return x * norm(x).item(); })(x * 1.5)(0);
    };
    CHECK_THROWS_WITH(with(save_as_float32(), reads), contains("item") && contains("other elements"));
}

TEST_CASE("what hooks compute is no part of a checkpoint's function")
{
    const D x = normal<double>(Key(1), {5});
    const D w = normal<double>(Key(2), {5});
    const auto block = [&](const D& t) { return tanh(t * w) + 0.5 * t; };
    const auto step = [&](const D& t) { return checkpoint(block)(sin(checkpoint(block)(t)) * w); };
    const auto blocks = [&](const D& t) { return sum(step(step(t))); };
    const auto loop = [&](const D& t) { return sum(checkpoint_loop(step, t, {.steps = 7, .snapshots = 2})); };
    const auto piece = [&](const D& t) { return sum(preaccumulate([&](const D& u) { return step(u); })(t)); };
    const auto all = [&] {
        return std::vector<D>{grad(blocks)(x), grad(loop)(x), grad(piece)(x), hvp(blocks)(x, w),
                              hvp(loop)(x, w)};
    };
    const std::vector<D> plain = all();
    int negative = 0;
    const D two(2.0);  // of the hooks' own
    const SavedTensorHooks hooks(
        [&](const D& t) {
            if (t.size() > 0 && amin(t).item() < 0) ++negative;
            return (t * 0.5) * two;
        },
        [](const D& t) { return 4.0 * t * 0.25; });
    const std::vector<D> packed = all();
    for (std::size_t k = 0; k < plain.size(); ++k) CHECK(allclose(packed[k], plain[k], 0.0));
    CHECK(negative > 0);
}

TEST_CASE("packed values of results that die are let go")
{
    D x = normal<double>(Key(2), {500});
    x.requires_grad(true);
    const SavedTensorHooks hooks(save_as_float32());
    for (int i = 0; i < 100; ++i) static_cast<void>(sin(x) * x);
    CHECK(Tape::current().packed.empty());
}

TEST_CASE("preaccumulate: one node for each result, the same gradient")
{
    const D a{0.3, 0.2, 0.5}, b(0.7);
    const auto f = [](const D& a, const D& b) {
        D s = a;
        for (int i = 0; i < 20; ++i) s = sin(s * b) + 0.5 * s;
        return std::pair(sum(s), s * s);
    };
    std::size_t nodes = 0;
    const auto use = [&](const auto& f) {
        return [&](const D& a, const D& b) {
            const auto before = Tape::current().size();
            const auto [x, y] = f(a, b);
            nodes = Tape::current().size() - before;
            return x * x + sum(y * a);
        };
    };
    const auto plain = grad<0, 1>(use(f))(a, b), kept = grad<0, 1>(use(preaccumulate(f)))(a, b);
    CHECK(nodes == 3);  // the section and its two results
    CHECK(allclose(std::get<0>(kept), std::get<0>(plain), 1e-13));
    CHECK(allclose(std::get<1>(kept), std::get<1>(plain), 1e-13));
    const auto first = [&](const auto& f) { return [&](const D& a) { return f(a, b).first; }; };
    CHECK(allclose(hessian(first(preaccumulate(f)))(a), hessian(first(f))(a), 1e-12));
    CHECK_THROWS_WITH(
        grad([&](const D& b) { return preaccumulate([b](const D& a) { return sum(a * b); })(b * a); })(b),
        contains("preaccumulate") && contains("argument"));
}

TEST_CASE("preaccumulate: derivatives that f takes are none of what it captures")
{
    const D x = {0.3, 0.4};
    const auto square_of = [](const D& y) { return sum(y * y * y); };
    const auto pushed = [&](const D& y) { return jvp(square_of, y, y).second; };  // 3 Σ y³
    const auto pulled = [&](const D& y) { return sum(grad(square_of)(y) * y); };  // the same
    const D expected = 9.0 * x * x;
    CHECK(allclose(grad([&](const D& y) { return preaccumulate(pushed)(y); })(x), expected, 1e-13));
    CHECK(allclose(grad([&](const D& y) { return preaccumulate(pulled)(y); })(x), expected, 1e-13));
    CHECK_THROWS_WITH(grad([&](const D& b) {
                          return preaccumulate([&](const D& y) {
                              return jvp([&](const D& z) { return sum(z * b); }, y, y).second;
                          })(b * x);
                      })(x),
                      contains("argument"));
}

TEST_CASE("preaccumulate: a captured variable that f returns untouched")
{
    const D x = {0.3, 0.4};
    const auto f = [](const D& x) {
        const auto [a, b] = preaccumulate([x](const D& y) { return std::pair(x, y * y); })(2.0 * x);
        return sum(x * a + b);
    };
    CHECK(allclose(grad(f)(x), 10.0 * x, 1e-15));
    CHECK(allclose(hessian(f)(x), 10.0 * eye<double>(2), 1e-14));
}

TEST_CASE("preaccumulate: inputs and results of different types")
{
    using F = Tensor<float>;
    const F a{1.5F, -2.0F, 0.25F};
    const D b{3.0, 4.0};
    const auto f = [](const F& a, const D& b) {  // exact in float, so that both ways give the same numbers
        const D wide = cast<double>(sum(a * a)) * sum(b);
        return std::tuple(wide, cast<float>(b * b) * sum(a), wide * b);
    };
    const auto use = [](const auto& f) {
        return [f](const F& a, const D& b) {
            const auto [x, y, z] = f(a, b);
            return x * x + cast<double>(sum(y * y)) + sum(z);
        };
    };
    const auto plain = grad<0, 1>(use(f))(a, b), kept = grad<0, 1>(use(preaccumulate(f)))(a, b);
    CHECK(allclose(std::get<0>(kept), std::get<0>(plain), 1e-6));
    CHECK(allclose(std::get<1>(kept), std::get<1>(plain), 1e-6));
    const auto product = preaccumulate([](const F& a, const D& b) { return cast<double>(sum(a)) * sum(b); });
    CHECK(allclose(grad(product)(a, b), F{7.0F, 7.0F, 7.0F}, 0.0));
    const auto small = preaccumulate([](const F& a) { return cast<double>(sum(a)) * 1e-30; });
    const F g = grad([&](const F& a) { return small(a) * 1e50; })(a);  // no float holds the cotangent
    CHECK(allclose(g, F{1e20F, 1e20F, 1e20F}, 1e-6));
}

TEST_CASE("a tape goes back to a position")
{
    D x{1.0, 2.0};
    x.requires_grad(true);
    Tape& tape = Tape::current();
    const auto before = tape.size();
    for (int i = 0; i < 3; ++i) {
        const auto here = tape.mark();
        const D y = sin(x), z = sum(y * y);
        tape.rewind(here);
        CHECK(tape.size() == before);
        CHECK(y.detach()(0).item() == std::sin(1.0));  // values stay
        CHECK_THROWS_WITH(backward(z), contains("rewound") && contains("test_bounded_memory.cpp"));
        CHECK_THROWS_WITH(y + 1.0, contains("sin") && contains("rewound"));
    }
    backward(sum(x * x));
    CHECK(allclose(x.grad(), 2.0 * x.detach(), 0.0));
    CHECK_THROWS_AS(grad([&](const D& v) { return Tape::current().rewind({1}), sum(v); })(D{1.0}), TapeError);
}

TEST_CASE("the report finds the line that holds the memory")
{
    D x = normal<double>(Key(3), {10000});
    x.requires_grad(true);
    const D small = sin(x(0));
    const int line = __LINE__ + 1;
    const D large = sin(x + 1.0);
    const TapeReport report = Tape::current().report();
    REQUIRE(report.rows.size() >= 4);
    CHECK(report.rows[0].at.line == line);
    CHECK(report.rows[0].primitive == "sin");
    CHECK(report.rows[0].bytes >= 80000);
    CHECK(report.saved_bytes >= 80000);
    std::ostringstream text;
    text << report;
    CHECK(text.str().find("test_bounded_memory.cpp:" + std::to_string(line)) != std::string::npos);
    CHECK_THROWS_WITH(zeros<float>({std::int64_t{1} << 40, 1 << 10}),
                      contains("sin") && contains("test_bounded_memory.cpp:" + std::to_string(line)));
    CHECK(memory::stats().tape_nodes == static_cast<std::int64_t>(Tape::current().size()));
}

TEST_CASE("an allocation that fails anywhere in a checkpointed gradient leaves all as before")
{
    const D x{0.5, 0.25};
    const D right = grad(loss)(x);
    const auto f = [](const D& x) { return sum(checkpoint(chain)(x)); };
    const auto size = Tape::current().size();
    for (int k = 1; k < 10000; ++k) {
        bool failed = false;
        memory::injection = {k, 0};
        try {
            static_cast<void>(grad(f)(x));
        } catch (const MemoryError&) {
            failed = true;
        }
        memory::injection = {};
        CHECK(Tape::current().size() == size);
        CHECK(recorder() == nullptr);
        CHECK(allclose(grad(f)(x), right, 0.0));
        if (!failed) break;
        REQUIRE(k < 9999);
    }
}

TEST_CASE("after fork() the snapshots on disk are the parent's", "[memory]")
{
    D x = linspace<double>(0.1, 1.0, 5000);
    x.requires_grad(true);
    const SavedTensorHooks hooks(save_on_disk("/tmp"));
    D y = sum(exp(x) * sin(2.0 * x));
    const pid_t child = ::fork();
    if (child == 0) {
        bool refused = false;
        try {
            backward(y, {.retain = true});
        } catch (const MemoryError&) {
            refused = true;
        }
        y = D(0.0);  // lets its places go, and what follows would take them
        D z = x.detach();
        z.requires_grad(true);
        backward(sum(sin(z) * z));
        ::_exit(refused && allclose(z.grad(), cos(z.detach()) * z.detach() + sin(z.detach())) ? 0 : 1);
    }
    int status = 1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    backward(y);
    const D d = x.detach();
    CHECK(allclose(x.grad(), exp(d) * sin(2.0 * d) + 2.0 * exp(d) * cos(2.0 * d)));
}

TEST_CASE("a snapshot's file that ends too early is named as such", "[memory]")
{
    detail::SnapshotStore store("/tmp", "test", Site{});
    const D x = ones<double>({100});
    detail::SnapshotStore::FileRegion place = store.put(*x.any().value);
    place.offset += 400;
    CHECK_THROWS_WITH(store.get(place, *copy(x).any().value), contains("its file ends 400 bytes too early"));
}

TEST_CASE("no more free buffers are kept than keep() says", "[memory]")
{
    memory::trim();
    memory::keep(1 << 20);
    for (std::int64_t n = 100; n < 400000; n += n / 3)
        CHECK(sum(ones<double>({n})).item() == static_cast<double>(n));
    CHECK(memory::stats().pooled_bytes > 1 << 19);
    CHECK(memory::stats().pooled_bytes < (1 << 20) + 100000);  // headers and nodes are not buffers
    memory::keep(1 << 10);
    CHECK(memory::stats().pooled_bytes < 100000);
    memory::keep(std::int64_t{4} << 30);
    // A thread that takes over the state of one that has ended knows nothing of what that one said.
    std::thread([] { memory::keep(0); }).join();
    std::int64_t pooled = 0;
    std::thread([&] {
        static_cast<void>(sum(ones<double>({100000})).item());
        pooled = memory::stats().pooled_bytes;
    }).join();
    CHECK(pooled > 100000);
}

TEST_CASE("the cells of a tape are counted, and trim gives them to the system", "[memory]")
{
    const auto resident = [] {
        std::ifstream file("/proc/self/statm");
        std::int64_t pages = 0;
        file >> pages >> pages;
        return pages * ::sysconf(_SC_PAGESIZE);
    };
    memory::trim();
    const auto before = memory::stats();
    CHECK(before.pooled_bytes == 0);
    const std::int64_t start = resident();
    {
        D s(0.5);
        s.requires_grad(true);
        D a = s;
        for (int i = 0; i < 100000; ++i) a = a * 1.0;
        CHECK(memory::stats().cell_bytes - before.cell_bytes > 100000 * 300);
    }
    CHECK(memory::stats().cell_bytes == before.cell_bytes);
    CHECK(memory::stats().pooled_bytes > 100000 * 300);
    const std::int64_t kept = resident() - start;
    memory::trim();
    CHECK(memory::stats().pooled_bytes == 0);
#if !defined(WENGERT_TESTS_ASAN)  // it keeps what is freed
    CHECK(resident() - start < kept / 4);
#else
    CHECK(kept > 0);
#endif
}
