// Emitted random numbers: those of the key, to the bit.
#include "graph/c/emit_programs.hpp"

#include <cstring>

#include <wengert/graph/ir/interpret.hpp>
#include <wengert/ops/random.hpp>

namespace {

struct Draws {
    Graph g;
    ValueId key = g.input(DType::int64, {2});

    template <class Op, class T> void draw(const Op& op, ValueId from, const Shape& shape)
    {
        const auto& p = structural_primitive<Op, xsimd::default_arch, T, std::int64_t>;
        g.output(g.operation(p, keep_parameters(p, &op), {from}, shape, Site{"model.cpp", 17}));
    }
    template <class Fill, class T> void fill(Fill f)
    {
        const Shape shape = f.shape;
        draw<Draw<Fill>, T>(Draw<Fill>{std::move(f)}, key, shape);
    }
};

Graph all_draws()
{
    using namespace wengert::detail;
    Draws d;
    d.draw<KeyChild, std::int64_t>(KeyChild{0x123456789AU, 2}, d.key, {2});
    const ValueId child = d.g.outputs()[0];
    d.key = child;
    d.draw<KeyChild, std::int64_t>(KeyChild{3, 1}, child, {2});
    for (const std::int64_t n : {1, 6, 131}) {
        d.fill<UniformFill<float>, float>({{n}, 0, 1});
        d.fill<UniformFill<float>, float>({{n}, -3, 0.7F});
        d.fill<UniformFill<double>, double>({{n}, 0, 1});
        d.fill<UniformFill<double>, double>({{n}, -1.25, 1e3});
        d.fill<RandintFill<std::int64_t>, std::int64_t>({{n}, INT64_MIN, INT64_MAX});
        d.fill<RandintFill<std::int32_t>, std::int32_t>({{n}, -7, 12});
        for (const double p : {0.0, 0.3, 1.0}) d.fill<BernoulliFill, bool>({{n}, p});
        d.fill<DropoutFill, float>({{n}, 0.1});
        d.fill<DropoutFill, double>({{n}, 0.9});
        d.fill<NormalFill, float>({{n}});
        d.fill<NormalFill, double>({{n}});
    }
    return std::move(d.g);
}

}  // namespace

TEST_CASE("emitted draws are those of the key", "[emit]")
{
    const Compiled compiled({{"draws", all_draws()}});
    if (!compiled.object) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Graph g = all_draws();
    const auto call = reinterpret_cast<int (*)(void**)>(compiled.object->symbol("call_draws"));
    for (const std::uint64_t seed : {1U, 77U}) {
        const Ref<Block> key = detail::tensor_of(Key(seed));
        const std::vector<Ref<Block>> values = interpret(g, {key});
        std::vector<Ref<Block>> out;
        std::vector<void*> pointers = {key->data};
        for (ValueId v : g.outputs()) {
            out.push_back(make_block(g.node(v).dtype, g.node(v).shape));
            pointers.push_back(out.back()->data);
        }
        REQUIRE(call(pointers.data()) == 0);
        for (std::size_t k = 0; k < out.size(); ++k) {
            const GraphNode& n = g.node(g.outputs()[k]);
            INFO(k << " " << n.primitive->name << " " << n.shape[0]);
            CHECK(std::memcmp(values[g.outputs()[k]]->data, out[k]->data, out[k]->bytes()) == 0);
        }
    }
}

TEST_CASE("a permutation, which must be sorted, is refused by name and line", "[emit]")
{
    Draws d;
    d.fill<detail::PermutationFill, std::int64_t>({{5}});
    CHECK_THROWS_WITH(emit_cpp(d.g, "f"), contains("permutation") && contains("model.cpp:17"));
}
