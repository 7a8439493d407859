// Frozen graphs on plain threads, which the thread sanitizer understands (it knows nothing of oneTBB's own): parts of a pass
// and strands of a wave write no memory in common, and their results have the bits of the whole.
#undef WENGERT_TBB
#include <atomic>
#include <cfenv>
#include <cstring>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <wengert/graph/ir/interpret.hpp>
#include <wengert/graph/run/compile.hpp>
#include <wengert/ops/elementwise/elementwise.hpp>
#include <wengert/ops/reductions.hpp>

#include "check.hpp"

using namespace wengert;

namespace {

using A = xsimd::default_arch;

template <class P> const Primitive& binary() { return elementwise_primitive<P, A, double, double, double>; }

ValueId sum_of(Graph& g, ValueId x, const Axes& axes, const Shape& shape)
{
    return g.operation(structural_primitive<Sum, A, double, double>,
                       std::make_shared<Sum>(Sum{axes, false, {}}), {x}, shape);
}

/// (x + row)² and its sum, or the sums of its rows.
Graph squares(std::int64_t m, std::int64_t n, bool rows)
{
    Graph g;
    const ValueId x = g.input(DType::float64, {m, n}), row = g.input(DType::float64, {n});
    const ValueId d = g.operation(binary<Add>(), {}, {x, row}, {m, n});
    const ValueId y = g.operation(binary<Multiply>(), {}, {d, d}, {m, n});
    g.output(y);
    g.output(rows ? sum_of(g, y, {1}, {m}) : sum_of(g, y, {0, 1}, {}));
    return g;
}

struct Results {
    std::vector<Ref<Block>> blocks;
    std::vector<std::byte*> addresses;
    Results(const Graph& g, const tiling::Group& group)
    {
        for (ValueId v : group.results) {
            blocks.push_back(make_block(DType::float64, g.node(v).shape));
            addresses.push_back(blocks.back()->data);
        }
    }
};

void in_threads(const tiling::FusedKernel& kernel, const std::vector<const std::byte*>& operands,
                const Results& to)
{
    const auto cuts =
        tiling::cuts_for(4, kernel.elements(), [&](std::size_t at) { return kernel.next_cut(at); });
    CHECK(cuts.size() > 4);
    std::vector<double> sums(kernel.sums_bytes() / sizeof(double) + 1);
    auto* room = reinterpret_cast<std::byte*>(sums.data());
    std::atomic<std::size_t> next = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            const auto scratch = make_block(DType::boolean, {kernel.scratch_bytes()});
            for (std::size_t k; (k = next++) + 1 < cuts.size();)
                kernel.run_part(cuts[k], cuts[k + 1], operands.data(), to.addresses.data(), scratch->data,
                                room);
        });
    for (std::thread& t : threads) t.join();
    kernel.finish(to.addresses.data(), room);
}

void one_pass(const Graph& g)
{
    const auto layouts = tiling::layouts_of(g);
    const auto groups = tiling::fuse(g, layouts);
    CHECK(groups.size() == 1);
    const auto kernel = tiling::FusedKernel::compile(g, layouts, groups[0]);
    CHECK(kernel != nullptr);
    std::vector<Ref<Block>> inputs;
    std::vector<const std::byte*> operands;
    for (ValueId v : groups[0].operands) {
        inputs.push_back(make_block(DType::float64, g.node(v).shape));
        for (std::size_t i = 0; i < inputs.back()->count; ++i)
            inputs.back()->as<double>()[i] = static_cast<double>(i * 7919 % 1009) / 311;
        operands.push_back(inputs.back()->data);
    }
    const Results whole(g, groups[0]), parts(g, groups[0]);
    const auto scratch = make_block(DType::boolean, {kernel->scratch_bytes()});
    kernel->run(operands.data(), whole.addresses.data(), scratch->data);
    in_threads(*kernel, operands, parts);
    for (std::size_t r = 0; r < whole.blocks.size(); ++r)
        CHECK(std::memcmp(whole.addresses[r], parts.addresses[r], whole.blocks[r]->bytes()) == 0);
}

using Blocks = std::vector<Ref<Block>>;

/// Chains of products, maps and sums that need nothing of one another, and what is made of all of them.
Graph chains(std::size_t count, std::int64_t n)
{
    Graph g;
    std::vector<ValueId> x;
    for (std::size_t k = 0; k <= count; ++k) x.push_back(g.input(DType::float64, {n, n}));
    ValueId total = x[0];
    for (std::size_t k = 1; k <= count; ++k) {
        const ValueId d = g.operation(binary<Add>(), {}, {x[k], x[0]}, {n, n});
        const ValueId y = g.operation(binary<Multiply>(), {}, {d, x[k]}, {n, n});
        const ValueId s = sum_of(g, y, {0}, {n});
        const ValueId rows = sum_of(g, y, {1}, {n});
        g.output(rows);
        total = g.operation(binary<Add>(), {}, {total, s}, {n, n});
    }
    g.output(total);
    return g;
}

Blocks inputs_of(const Graph& g)
{
    Blocks in;
    for (ValueId v : g.inputs()) {
        in.push_back(make_block(DType::float64, g.node(v).shape));
        for (std::size_t i = 0; i < in.back()->count; ++i)
            in.back()->as<double>()[i] = static_cast<double>((i + in.size()) * 7919 % 1009) / 311;
    }
    return in;
}

/// Waves on four threads, run again and again, give the bits of the operations one by one.
void waves(std::size_t count, std::int64_t n)
{
    const Graph g = chains(count, n);
    const Blocks in = inputs_of(g), expected = interpret(g, in);
    PlanOptions options;
    options.threads = 4;
    options.wake_cost = 0;
    if (count > 2) CHECK(tiling::Plan(g, options).waves.size() > 0);
    const auto program = compile_tile(g, options);
    CHECK(program->stats.threads == 4);
    for (int run = 0; run < 20; ++run) {
        Blocks given = in, out;
        program->run(given, out);
        for (std::size_t k = 0; k < out.size(); ++k)
            CHECK(std::memcmp(out[k]->data, expected[g.outputs()[k]]->data, out[k]->bytes()) == 0);
    }
}

/// Threads of the program, each with a graph of its own, share the helpers.
void several_callers()
{
    std::vector<std::thread> callers;
    for (std::size_t t = 0; t < 3; ++t)
        callers.emplace_back([t] { waves(3 + t, 40 + static_cast<std::int64_t>(t)); });
    for (std::thread& t : callers) t.join();
}

/// Do two threads come together within a call?
bool two_meet()
{
    std::atomic<int> started = 0;
    tiling::Team(2).run(2, [&](std::size_t, std::size_t) {
        ++started;
        for (int i = 0; started < 2 && i < 30'000; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    return started == 2;
}

void team()
{
    CHECK(two_meet());
    tiling::Team four(4), three(3);
    std::atomic<int> inside[4] = {}, wrong = 0, inner = 0;
    kernels::zero_cotangent = 5;
    std::fesetround(FE_UPWARD);
    std::vector<int> seen(2'000);
    four.run(seen.size(), [&](std::size_t k, std::size_t place) {
        if (place >= 4 || ++inside[place] != 1) ++wrong;
        if (kernels::zero_cotangent != 5 || std::fegetround() != FE_UPWARD) ++wrong;
        ++seen[k];
        if (k % 100 == 0) three.run(10, [&](std::size_t, std::size_t) { ++inner; });
        --inside[place];
    });
    std::fesetround(FE_TONEAREST);
    kernels::zero_cotangent = 0;
    CHECK(wrong == 0);
    CHECK(inner == 200);
    for (int n : seen) CHECK(n == 1);
    std::atomic<int> after = 0;
    for (int i = 0; i < 50; ++i) {
        std::string said;
        try {
            four.run(100, [&](std::size_t k, std::size_t) {
                if (k % 10 == 7) throw std::string("part");
                ++after;
            });
        } catch (const std::string& e) {
            said = e;
        }
        CHECK(said == "part");
    }
    CHECK(after < 50 * 90);
}

bool in_child = false;

/// A child has none of its parent's threads, and starts its own; its end waits for those only.
void after_fork()
{
#if !defined(__SANITIZE_THREAD__)  // which lets no child of a program with threads start any
    const pid_t child = ::fork();
    in_child = child == 0;
    if (in_child) std::exit(two_meet() ? 0 : 1);
    int status = -1;
    CHECK(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(two_meet());
#endif
}

/// Runs when the helpers are gone: the caller does it all.
struct Late {
    std::atomic<int> parts = 0;
    ~Late()
    {
        tiling::Team(4).run(100, [&](std::size_t, std::size_t) { ++parts; });
        if (parts != 100) std::_Exit(1);
    }
};

}  // namespace

/// The leak sanitizer would take what the parent's threads hold for lost.
extern "C" int __lsan_is_turned_off() { return in_child; }

int main()
{
    static const Late late;
    tiling::Team::most() = 4;
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{8, 20'001}, {1'500, 101}, {20'000, 7}})
        for (bool rows : {false, true}) one_pass(squares(m, n, rows));
    team();
    waves(8, 60);
    waves(2, 300);  // passes that are divided themselves
    several_callers();
    after_fork();
    return report("frozen_threads");
}
