// The library's rules on tensors are walked from their programs (ops/elementwise/tensor_rule.hpp). The rules evaluated on tensors
// are beside them here: the same operations on the same operands in the same order, and the same nodes and bits.
#include "catch.hpp"

#include <cstring>

#include <wengert/graph/ir/trace.hpp>
#include <wengert/graph/look/text.hpp>
#include <wengert/ops/every_primitive.hpp>

using namespace wengert;

namespace {

using Expand = AnyTensor (*)(const void*, const AnyTensor*, std::size_t);

/// Operands with numbers from all branches of the rules: zeros, equal ones, signs, what is not finite.
AnyTensor operand(DType type, std::size_t k)
{
    const double numbers[] = {0, -0.0, 0.5, 1, -1, 2, 0.25, INFINITY, -INFINITY, NAN, -3};
    auto b = make_block(type, Shape{std::size(numbers)});
    for (std::size_t i = 0; i < b->count; ++i) {
        const double x = numbers[(i * (2 * k + 1)) % b->count];
        if (type == DType::boolean)
            b->as<bool>()[i] = x > 0;
        else
            wengert::with_real(type, [&]<class T>() { b->as<T>()[i] = static_cast<T>(x); });
    }
    return {std::move(b), {}};
}

std::string traced(Expand f, const std::vector<AnyTensor>& in)
{
    std::vector<Ref<Block>> blocks;
    for (const AnyTensor& x : in) blocks.push_back(x.value);
    const Graph g = trace_graph(
        [&](const std::vector<AnyTensor>& x) { return std::vector{f(nullptr, x.data(), x.size())}; }, blocks);
    return to_text(g);
}

/// The nodes that f puts onto the tape, with what they save, and its result.
std::string recorded(Expand f, const std::vector<AnyTensor>& in, AnyTensor& result)
{
    std::vector<AnyTensor> variables;
    for (const AnyTensor& x : in) {
        variables.push_back(x);
        if (differentiable(x.value->dtype))
            wengert::with_real(x.value->dtype, [&]<class T>() {
                Tensor<T> v(x);
                variables.back() = v.requires_grad().any();
            });
    }
    const std::uint64_t start = Tape::current().mark().sequence;
    result = f(nullptr, variables.data(), variables.size());
    std::string text;
    for (const Node* n = Tape::current().first(); n; n = n->next) {
        if (n->sequence < start) continue;
        text += std::string(n->primitive->name);
        for (std::size_t i = 0; i < n->input_count; ++i)
            text += ' ' + (n->inputs[i] ? std::to_string(static_cast<std::int64_t>(n->inputs[i]->sequence) -
                                                         static_cast<std::int64_t>(start))
                                        : "constant");
        for (std::size_t i = 0; i <= n->input_count; ++i) text += n->saved()[i] ? " saved" : " -";
        text += '\n';
    }
    return text;
}

/// Looks at every pull of the listed primitives.
struct Looker {
    std::size_t rules = 0;

    template <class P, class Out, class... In> void add_elementwise()
    {
        const Primitive& p = wengert::detail::elementwise_of<P, xsimd::default_arch, Out, In...>();
        [&]<std::size_t... i>(std::index_sequence<i...>) {
            (look<P, i, Out, In...>(p, std::make_index_sequence<sizeof...(In)>()), ...);
        }(std::make_index_sequence<sizeof...(In)>());
    }
    template <class Op, class Out, class... In> void add_structural() {}
    template <class Op, class T> void add_variadic() {}
    template <class To, class From> void add_cast() {}

private:
    template <class P, std::size_t i, class Out, class... In, std::size_t... k>
    void look(const Primitive& p, std::index_sequence<k...>)
    {
        if (!p.pull[i].primitive) return;
        if constexpr (is_differentiable<Out> && wengert::detail::has_pull<P, i, Out, In...>) {
            ++rules;
            const Expand walked = p.pull[i].primitive->expand;
            const Expand compiled = wengert::detail::RecordedRule<P, Out, In...>::template expand<i, k...>;
            std::vector<AnyTensor> in;
            for (const DType type : wengert::detail::dtypes_of_pull(p, {dtype_of<In>()...}, i))
                in.push_back(operand(type, in.size()));
            compare(p, walked, compiled, in);
        }
    }
    static void compare(const Primitive& p, Expand walked, Expand compiled, const std::vector<AnyTensor>& in)
    {
        Tape& tape = Tape::current();
        INFO(p.name);
        const wengert::Restore<Site> site(tape.site_override, Site{"here", 1});
        CHECK(traced(walked, in) == traced(compiled, in));
        for (const bool allow_nan : {false, true}) {
            const wengert::Restore<bool> allowed(tape.allow_nan, allow_nan);
            AnyTensor a, b;
            const std::string nodes = recorded(walked, in, a);
            CHECK(nodes == recorded(compiled, in, b));
            REQUIRE(a.value->count == b.value->count);
            CHECK(std::memcmp(a.value->data, b.value->data, a.value->count * size_of(a.value->dtype)) == 0);
        }
    }
};

}  // namespace

TEST_CASE("a rule that is walked records what the rule on tensors does")
{
    Looker looker;
    wengert::detail::each_primitive(looker);
    CHECK(looker.rules > 120);
}
