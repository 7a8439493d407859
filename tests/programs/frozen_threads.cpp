// Parts of a fused pass on plain threads, which the thread sanitizer understands (it knows nothing of oneTBB's own): they
// write no memory in common, and their results have the bits of the whole.
#include <atomic>
#include <cstring>
#include <thread>

#include <wengert/graph/tile/fused.hpp>
#include <wengert/graph/tile/schedule.hpp>
#include <wengert/ops/elementwise.hpp>
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
    const auto groups = tiling::fuse(g, layouts, {});
    CHECK(groups.size() == 1);
    const auto kernel = tiling::FusedKernel::compile(g, layouts, groups[0], {});
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

}  // namespace

int main()
{
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{8, 20'001}, {1'500, 101}, {20'000, 7}})
        for (bool rows : {false, true}) one_pass(squares(m, n, rows));
    return report("frozen_threads");
}
