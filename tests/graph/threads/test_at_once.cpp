// Independent kernels at once: which may, where their memory lies, and that they give the bits of one thread.
#include "graph/tile/tile_common.hpp"

#include <limits>
#include <set>

#include "wengert/graph/look/plan.hpp"
#include "wengert/graph/look/text.hpp"
#include "wengert/graph/run/compile.hpp"

#include "graph/threads/seven_threads.hpp"

namespace {

using namespace tile_test;
namespace tl = wengert::tiling;

using Kernels = std::vector<tl::KernelUse>;
using Numbers = std::vector<std::uint32_t>;

tl::KernelUse use(const Numbers& reads, const Numbers& writes, double work = 50'000)
{
    return {reads, writes, work, work, false};
}
bool meet(const Numbers& a, const Numbers& b)
{
    for (std::uint32_t x : a)
        if (std::find(b.begin(), b.end(), x) != b.end()) return true;
    return false;
}
/// By the definition: one of them writes to what the other one uses.
bool conflict(const tl::KernelUse& a, const tl::KernelUse& b)
{
    return meet(a.writes, b.reads) || meet(a.reads, b.writes) || meet(a.writes, b.writes);
}

/// Which wave and strand the kernel at each place of the order belongs to; each by itself where there is none.
std::vector<std::pair<std::size_t, std::size_t>> places(const tl::Schedule& s)
{
    std::vector<std::pair<std::size_t, std::size_t>> found(s.order.size());
    for (std::size_t t = 0; t < found.size(); ++t) found[t] = {s.waves.size() + t, 0};
    for (std::size_t w = 0; w < s.waves.size(); ++w)
        for (std::size_t k = 0; k + 1 < s.waves[w].cuts.size(); ++k)
            for (std::uint32_t t = s.waves[w].cuts[k]; t < s.waves[w].cuts[k + 1]; ++t) found[t] = {w, k};
    return found;
}

/// Kernels that conflict keep their order, in one strand or in two waves; nothing passes one that is alone.
void check_order(const Kernels& uses, const tl::Schedule& s)
{
    REQUIRE(std::set<std::uint32_t>(s.order.begin(), s.order.end()).size() == uses.size());
    REQUIRE(s.order.size() == uses.size());
    const auto at = places(s);
    for (std::size_t i = 0; i < uses.size(); ++i)
        for (std::size_t j = i + 1; j < uses.size(); ++j) {
            const std::uint32_t a = s.order[i], b = s.order[j];
            const bool apart = at[i].first == at[j].first && at[i].second != at[j].second;
            if (conflict(uses[a], uses[b])) {
                REQUIRE(a < b);
                REQUIRE(!apart);
            }
            if (uses[a].alone || uses[b].alone) {
                REQUIRE(a < b);
                REQUIRE(at[i].first != at[j].first);
            }
        }
}

}  // namespace

TEST_CASE("kernels that share nothing run at once, those that depend on one another follow each other")
{
    const Kernels chains{use({9}, {0}), use({0}, {1}), use({9}, {2}), use({2}, {3}), use({1, 3}, {4})};
    const auto s = tl::schedule_of(chains, 2, 10'000);
    REQUIRE(s.waves.size() == 1);
    CHECK(s.waves[0].cuts == Numbers{0, 2, 4});
    CHECK(s.order == Numbers{0, 1, 2, 3, 4});
    check_order(chains, s);
    const Kernels fan{use({9}, {0}), use({0}, {1}), use({0}, {2}), use({0}, {3})};
    const auto f = tl::schedule_of(fan, 4, 10'000);
    REQUIRE(f.waves.size() == 1);
    CHECK(f.waves[0].cuts == Numbers{1, 2, 3, 4});
}

TEST_CASE("memory that is used again is a dependence")
{
    // by values 2 and 3 need nothing of 0 and 1, but they write to the memory that 1 reads
    const Kernels again{use({9}, {0}), use({0}, {1}), use({8}, {0}), use({0}, {2})};
    CHECK(tl::schedule_of(again, 4, 0).waves.empty());
    const Kernels overwritten{use({}, {0}), use({}, {0})};
    CHECK(tl::schedule_of(overwritten, 4, 0).waves.empty());
    const Kernels written_later{use({0}, {1}), use({0}, {2}), use({}, {0})};
    const auto s = tl::schedule_of(written_later, 4, 0);
    REQUIRE(s.waves.size() == 1);
    CHECK(s.waves[0].cuts == Numbers{0, 1, 2});
    CHECK(s.order.back() == 2);
}

TEST_CASE("what is too short for threads, or already divided, runs by itself")
{
    const Kernels brief{use({9}, {0}, 4'000), use({9}, {1}, 4'000), use({9}, {2}, 4'000)};
    CHECK(tl::schedule_of(brief, 4, 10'000).waves.empty());
    CHECK(tl::schedule_of(brief, 4, 0).waves.size() == 1);
    CHECK(tl::schedule_of(brief, 4, std::numeric_limits<double>::infinity()).waves.empty());
    Kernels divided{use({9}, {0}), use({9}, {1})};
    for (auto& u : divided) u.length = u.work / 2;
    CHECK(tl::schedule_of(divided, 2, 1'000).waves.empty());
    // short ones make up a strand together
    Kernels many{use({9}, {0})};
    for (std::uint32_t m = 1; m < 101; ++m) many.push_back(use({9}, {m}, 500));
    const auto s = tl::schedule_of(many, 2, 10'000);
    REQUIRE(s.waves.size() == 1);
    CHECK(s.waves[0].cuts.size() < 30);
}

TEST_CASE("random kernels keep the order of those that conflict")
{
    std::mt19937 bits(3);
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(bits() % n); };
    std::size_t waves = 0;
    for (int round = 0; round < 200; ++round) {
        Kernels uses;
        for (std::uint32_t t = below(40) + 1; t > 0; --t) {
            Numbers reads;
            for (std::uint32_t k = below(3); k > 0; --k) reads.push_back(below(20));
            uses.push_back(use(reads, {below(20)}, below(4) ? 500.0 + below(60'000) : 0.0));
            uses.back().alone = below(25) == 0;
        }
        const auto s = tl::schedule_of(uses, 2 + below(6), round % 3 ? 5'000 : 0);
        check_order(uses, s);
        waves += s.waves.size();
    }
    CHECK(waves > 200);
}

TEST_CASE("the memory of strands lies apart")
{
    std::mt19937 bits(4);
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(bits() % n); };
    for (int round = 0; round < 100; ++round) {
        const std::vector<tl::Wave> waves{{{2, 5, 6, 11}}, {{11, 15, 20}}, {{23, 24, 25}}};
        const auto strand = [&](std::uint32_t time) -> std::pair<std::size_t, std::size_t> {
            for (std::size_t w = 0; w < waves.size(); ++w)
                for (std::size_t k = 0; k + 1 < waves[w].cuts.size(); ++k)
                    if (time > waves[w].cuts[k] && time <= waves[w].cuts[k + 1]) return {w + 1, k};
            return {0, 0};
        };
        std::vector<tl::Buffer> buffers(40);
        for (auto& b : buffers) {
            b.bytes = 64 * below(20);
            b.first = below(30);
            b.last = std::min(30U, b.first + below(6));
        }
        const auto size = tl::place_strands(buffers, 31, waves);
        for (const auto& a : buffers)
            for (const auto& b : buffers) {
                if (&a == &b || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) continue;
                REQUIRE(a.offset + a.bytes <= size.bytes);
                REQUIRE((a.last < b.first || b.last < a.first));  // the order of one thread
                const auto end = strand(std::min(a.last, b.last)), begin = strand(std::max(a.first, b.first));
                REQUIRE((end.first == 0 || end.first != begin.first || end.second == begin.second));
            }
    }
}

TEST_CASE("an exception in a strand reaches the caller")
{
    struct Throws {
        static bool run(const void*, tl::Run&) { throw IndexError("thrown by a step"); }
    };
    struct Counts {
        static bool run(const void* self, tl::Run&)
        {
            ++*static_cast<int*>(const_cast<void*>(self));
            return true;
        }
    };
    tl::Team team(2);
    int counts[2] = {};
    const tl::Step steps[] = {{Counts::run, &counts[0]}, {Throws::run, nullptr}, {Counts::run, &counts[1]}};
    const std::size_t cuts[] = {0, 2, 3};
    tl::ParallelSteps wave;
    wave.steps = steps;
    wave.strands = {&team, cuts, 2};
    tl::Run run{current_thread()};
    CHECK_THROWS_AS(wave(run), IndexError);
    CHECK(counts[0] == 1);
}

namespace {

template <class T> using List = std::vector<Tensor<T>>;

/// Bytes that the tasks from `begin` to `end` use, and whether they write to them. Arrays outside of the arena lie apart
/// from all others, but for an output that takes over an input's memory.
struct Bytes {
    std::size_t begin, end;
    bool write;
};
std::vector<Bytes> bytes_of(const tl::Plan& plan, std::uint32_t begin, std::uint32_t end)
{
    std::vector<Bytes> found;
    const auto add = [&](ValueId v, bool write) {
        const ValueId from = plan.root(v);
        const tl::Placed& p = plan.values[from];
        std::size_t at = std::size_t{1} << 40;
        if (p.home == tl::Home::arena) at = plan.stores[p.store].offset;
        if (p.home == tl::Home::input) at *= 2 + plan.graph.node(from).index;
        if (p.home == tl::Home::output) {
            const std::size_t k = plan.stores[p.store].output;
            at *= plan.donors[k] == no_value ? 1'000 + k : 2 + plan.donors[k];
        }
        if (p.home == tl::Home::constant || p.home == tl::Home::nowhere) return;
        found.push_back({at, at + tl::aligned(plan.bytes_of(from)), write});
    };
    for (std::uint32_t t = begin; t < end; ++t) {
        for (ValueId o : plan.tasks[t].group.operands) add(o, false);
        for (ValueId r : plan.tasks[t].group.results) add(r, true);
    }
    return found;
}
bool apart(const std::vector<Bytes>& a, const std::vector<Bytes>& b)
{
    for (const Bytes& x : a)
        for (const Bytes& y : b)
            if ((x.write || y.write) && x.begin < y.end && y.begin < x.end) return false;
    return true;
}

/// The bits of interpret on 1, 2 and 4 threads. The number of waves on 4.
std::size_t check_waves(const Graph& g, const Blocks& inputs, double wake = 0)
{
    const Blocks expected = interpret(g, inputs);
    std::size_t waves = 0;
    for (unsigned threads : {1U, 2U, 4U}) {
        INFO(threads << " threads");
        PlanOptions options;
        options.threads = threads;
        options.wake_cost = wake;
        const tl::Plan plan(g, options);
        for (const tl::Wave& w : plan.waves)
            for (std::size_t i = 0; i + 1 < w.cuts.size(); ++i)
                for (std::size_t j = i + 2; j < w.cuts.size(); ++j)
                    REQUIRE(apart(bytes_of(plan, w.cuts[i], w.cuts[i + 1]),
                                  bytes_of(plan, w.cuts[j - 1], w.cuts[j])));
        waves = plan.waves.size();
        const auto program = Backend(tile).compile(g, options);
        for (int run = 0; run < 5; ++run) {
            Blocks in = copies(inputs), outputs;
            REQUIRE(program->run(in, outputs) == g.guards().size());
            for (std::size_t k = 0; k < outputs.size(); ++k)
                REQUIRE(identical(*outputs[k], *expected[g.outputs()[k]]));
        }
    }
    return waves;
}

}  // namespace

TEMPLATE_TEST_CASE("eight products and what is done with them", "", float, double)
{
    using T = TestType;
    Blocks in;
    for (unsigned k = 0; k < 9; ++k) in.push_back(random_block<T>({70, 70}, k));
    const auto f = [](const List<T>& x) {
        Tensor<T> total = x[8];
        for (std::size_t k = 0; k < 8; ++k) {
            const Tensor<T> h = tanh(matmul(x[k], x[8]));
            total = total + matmul(h, transpose(x[k])) * sum(h, {0});
        }
        return List<T>{total, mean(total, {1})};
    };
    const Graph g = graph_of<T>(f, in);
    CHECK(check_waves(g, in) > 0);
    CHECK(check_waves(g, in, std::numeric_limits<double>::infinity()) == 0);
}

TEST_CASE("the text of a plan says what runs at once")
{
    const Blocks in{random_block<double>({50, 50}), random_block<double>({50, 50}, 2)};
    const Graph g = graph_of<double>(
        [](const List<double>& x) { return List<double>{matmul(matmul(x[0], x[1]), matmul(x[1], x[0]))}; },
        in);
    PlanOptions options;
    options.threads = 2;
    options.wake_cost = 0;
    const GraphPlan plan = inspect(g, tile, options);
    REQUIRE(plan.kernels.size() == 3);
    CHECK(plan.kernels[0].at_once == "wave 0, strand 0 of 2");
    CHECK(plan.kernels[1].at_once == "wave 0, strand 1 of 2");
    CHECK(plan.kernels[2].at_once.empty());
    CHECK(to_text(g, plan.notes).find("group 1 (matmul; wave 0, strand 1 of 2)") != std::string::npos);
    for (const ProfileEvent& e : profile(g, in, tile, 3, options)) {
        CHECK(e.thread == (e.group == 1 ? 1U : 0U));
        CHECK(e.seconds >= 0);
    }
    CHECK(inspect(g, tile).kernels[0].at_once.empty());
}

TEST_CASE("operations that keep no plan of their own, at once; what may refuse its operands is not")
{
    const Blocks in{random_block<double>({3, 20, 20}), random_block<double>({3, 20, 20}, 2)};
    const Graph g = graph_of<double>(
        [](const List<double>& x) {
            const Tensor<double> p = matmul(x[0], x[1]), q = matmul(x[1], x[0]);
            return List<double>{softmax(p, 1) + softmax(q, 1), amax(p, {1}), amax(q, {1}), prod(q, {2})};
        },
        in);
    CHECK(check_waves(g, in) > 0);
    auto rows = make_block(DType::int64, Shape{2});
    rows->as<std::int64_t>()[0] = 1;
    rows->as<std::int64_t>()[1] = 7;
    const Graph taken = trace_graph(
        [](const std::vector<AnyTensor>& x) {
            const Tensor<double> a(x[0]);
            const Tensor<std::int64_t> at(x[1]);
            return std::vector<AnyTensor>{take(a, at, 1).any(), take(a, at, 2).any()};
        },
        {in[0], rows});
    CHECK(check_waves(taken, {in[0], rows}) == 0);
}

TEST_CASE("updates of what others read, at once")
{
    using D = Tensor<double>;
    Blocks in;
    for (unsigned k = 0; k < 4; ++k) in.push_back(random_block<double>({40, 40}, k));
    Graph g = graph_of<double>(
        [](const List<double>& w) {
            const auto loss = [](const D& a, const D& b, const D& c, const D& x) {
                const D y = matmul(tanh(matmul(tanh(matmul(x, a)), b)), c);
                return mean(y * y);
            };
            const auto d = grad<0, 1, 2>(loss)(w[0], w[1], w[2], w[3]);
            return List<double>{w[0] - std::get<0>(d) * 0.1, w[1] - std::get<1>(d) * 0.1,
                                w[2] - std::get<2>(d) * 0.1};
        },
        in);
    CHECK(check_waves(g, in) > 0);
    for (ValueId k = 0; k < 3; ++k) g.update(k, k);
    CHECK(check_waves(g, in) > 0);
}

TEST_CASE("random graphs, all kernels that may at once")
{
    using D = Tensor<double>;
    std::mt19937 bits(5);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(bits() % n); };
    std::size_t waves = 0;
    for (int round = 0; round < 40; ++round) {
        Blocks in;
        for (unsigned k = 0; k < 4; ++k)
            in.push_back(random_block<double>({12, 12}, k + static_cast<unsigned>(bits())));
        const Graph g = graph_of<double>(
            [&](const List<double>& x) {
                List<double> v = x;
                const auto any = [&] { return v[v.size() - 1 - below(std::min<std::size_t>(v.size(), 6))]; };
                for (std::size_t n = 5 + below(25); n > 0; --n) {
                    const D a = any(), b = any();
                    switch (below(10)) {
                    case 0:
                    case 1: v.push_back(matmul(a, b) * 0.1); break;
                    case 2: v.push_back(tanh(a) + b); break;
                    case 3: v.push_back(transpose(a) * sum(b, {0})); break;
                    case 4: v.push_back(softmax(a)); break;
                    case 5: v.push_back(concatenate({view(a, range(0, 5)), view(b, range(5, 12))}, 0)); break;
                    case 6: v.push_back(grad([&](const D& y) { return sum(matmul(y, b) * y); })(a)); break;
                    case 7: v.push_back(a * amax(b, {1}, true)); break;
                    case 8: {
                        const Shape stack{3, 4, 12};
                        v.push_back(reshape(matmul(reshape(a, stack), b) * 0.1, {12, 12}));
                        break;
                    }
                    default: v.push_back(a - mean(b, {1}, true)); break;
                    }
                }
                return List<double>(v.end() - static_cast<std::ptrdiff_t>(1 + below(4)), v.end());
            },
            in);
        waves += check_waves(g, in);
    }
    CHECK(waves > 40);
}
