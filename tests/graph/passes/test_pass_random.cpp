// Passes on random graphs: alone, in random order, with some of them off. The results keep every bit; the same pass again
// changes nothing; guards, outputs and updates stay.
#include "catch.hpp"
#include "graph/passes/pass_graphs.hpp"

#include <random>

#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/ops/softmax.hpp>

using namespace pass_graphs;

namespace {

/// Random graphs of matrices, rows, columns and numbers. Constants are those at which algebra has something to do.
template <class T> class Generator {
public:
    explicit Generator(std::uint64_t seed) : random_(seed) {}
    Builder<T> b;
    Blocks inputs;

    void make(std::size_t operations)
    {
        for (const Shape& s :
             {Shape{3, 4}, Shape{4, 3}, Shape{4}, Shape{}, Shape{1, 4}, Shape{0, 4}, Shape{3, 1}}) {
            values_.push_back(b.input(s));
            std::vector<double> numbers(12);
            for (double& x : numbers) x = pick(4) == 0 ? edges[pick(edges.size())] : uniform();
            inputs.push_back(block<T>(s, numbers));
        }
        for (std::size_t k = 0; k < operations; ++k) {
            const ValueId v = next();
            if (element_count(b.shape(v)) > 2000 || b.shape(v).size() > 4) continue;
            values_.push_back(v);
            if (pick(8) == 0) {
                GraphNode again = b.g.node(v);  // the same once more, perhaps in a segment of its own
                again.segment = static_cast<std::uint16_t>(pick(2));
                if (again.kind == Kind::operation) values_.push_back(b.g.append(again));
            }
        }
        for (std::size_t k = 0; k < 6; ++k)
            b.g.output(values_[values_.size() - 1 - pick(values_.size() / 2)]);
        for (std::size_t k = 0; k < 2; ++k) b.g.guard({any(), block<T>({}, {0}), wg::Read::item, {}});
        b.g.update(pick(5), pick(6));
    }

private:
    std::size_t pick(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
    double uniform() { return static_cast<double>(random_() % 2000) / 500.0 - 2; }
    ValueId any()
    {
        return values_[pick(4) ? values_.size() - 1 - pick(std::min<std::size_t>(values_.size(), 8))
                               : pick(values_.size())];
    }

    ValueId constant(const Shape& like)
    {
        static const double numbers[] = {0, -0.0, 1, -1, 2, 0.5, 3, infinity, not_a_number};
        const double x = numbers[pick(9)];
        switch (pick(4)) {
        case 0: return b.constant(like, {x});
        case 1: return b.constant(like, {x, 1, 2});
        default: return b.number(x);
        }
    }
    bool fits(ValueId x, ValueId y) const
    {
        try {
            wg::broadcast_shapes("test", b.shape(x), b.shape(y), {});
            return true;
        } catch (const wg::Error&) {
            return false;
        }
    }
    ValueId partner(ValueId x)
    {
        if (pick(3) == 0) return constant(b.shape(x));
        for (int k = 0; k < 8; ++k)
            if (const ValueId y = any(); fits(x, y)) return y;
        return x;
    }
    ValueId next()
    {
        const ValueId x = any();
        switch (pick(9)) {
        case 0: return unary(x);
        case 1:
        case 2: return binary(x, partner(x));
        case 3: return pulled(x, partner(x));
        case 4: return moved(x);
        case 5: return broadcast(x);
        case 6: return reduced(x);
        case 7: return structural(x);
        default: return binary(partner(x), x);
        }
    }
    ValueId unary(ValueId x)
    {
        switch (pick(7)) {
        case 0: return b.template one<wg::Abs>(x);
        case 1: return b.template one<wg::Square>(x);
        case 2: return b.template one<wg::Exp>(x);
        case 3: return b.template one<wg::Tanh>(x);
        case 4: return b.template one<wg::StopGradient>(x);
        default: return b.negative(x);
        }
    }
    ValueId binary(ValueId x, ValueId y)
    {
        switch (pick(6)) {
        case 0: return b.subtract(x, y);
        case 1: return b.divide(x, y);
        case 2: return b.template two<wg::Maximum>(x, y);
        case 3: return b.add(x, y);
        case 4: return b.template two<wg::ZeroWhereUndefined>(x, y);
        default: return b.multiply(x, y);
        }
    }
    ValueId pulled(ValueId x, ValueId y)
    {
        switch (pick(5)) {
        case 0: return b.template pull<wg::Divide>(0, {x, y});
        case 1: return b.template pull<wg::Square, 1>(0, {x, y});
        case 2: return b.template pull<wg::Subtract>(1, {x});
        case 3: return b.template pull<wg::ZeroWhereUndefined>(1, {x, x, y});
        default: return b.template pull<wg::Multiply>(pick(2), {x, y});
        }
    }
    ValueId moved(ValueId x)
    {
        const Shape s = b.shape(x);
        wg::Axes perm = wg::Axes::filled(s.size());
        for (std::size_t k = 0; k < s.size(); ++k) perm[k] = static_cast<std::int64_t>(s.size() - 1 - k);
        Shape flat{static_cast<std::int64_t>(element_count(s))}, one = s;
        switch (pick(6)) {
        case 0: return b.reshape(x, flat);
        case 1: one.push_back(1); return b.reshape(x, one);
        case 2: return b.on(wg::ExpandDims{{0}}, x);
        case 3: return s.size() > 0 && s[0] == 1 ? b.on(wg::Squeeze{{0}}, x) : b.reshape(x, s);
        case 4: return b.on(wg::Copy{}, x);
        default: return b.transpose(x, perm);
        }
    }
    ValueId broadcast(ValueId x)
    {
        if (pick(3) == 0) return b.broadcast_to(x, b.broadcast({x, partner(x)}));
        if (pick(2) == 0) return b.broadcast_to(b.number(static_cast<double>(pick(3))), b.shape(x));
        Shape s{2};
        for (auto e : b.shape(x)) s.push_back(e);
        return b.broadcast_to(x, s);
    }
    ValueId reduced(ValueId x)
    {
        const auto rank = static_cast<std::int64_t>(b.shape(x).size());
        wg::Axes axes;
        for (std::int64_t a = 0; a < rank; ++a)
            if (pick(2)) axes.push_back(a);
        return b.sum(x, axes, pick(2) == 0);
    }
    ValueId structural(ValueId x)
    {
        const Shape s = b.shape(x);
        if (s.size() == 0) return x;
        if (s.size() == 2 && pick(2)) return product(x);
        if (pick(3) == 0) return b.zero_rule(x, pick(2) ? any() : b.broadcast_to(b.number(1), {2}));
        if (pick(3) == 0 && s.back() > 0) return b.on(wg::Softmax{s.size() - 1}, x);
        wg::Selection part(s);
        if (s[0] > 1) {
            part.start[0] = 1;
            part.step[0] = pick(2) ? 1 : -1;
            part.shape[0] = part.step[0] > 0 ? s[0] - 1 : 2;
        }
        if (pick(2)) return b.view(x, part);
        const ValueId c = pick(2) ? b.constant(s, {0.0}) : x;
        return b.accumulate(c, pick(2) ? b.view(x, part) : b.broadcast_to(b.number(-0.0), part.shape), part);
    }
    ValueId product(ValueId x)
    {
        for (int k = 0; k < 10; ++k) {
            const ValueId y = any();
            const bool tx = pick(2), ty = pick(2);
            if (b.shape(y).size() != 2 || b.shape(x)[tx ? 0 : 1] != b.shape(y)[ty ? 1 : 0]) continue;
            return b.matmul(x, y, tx, ty);
        }
        return b.matmul(x, x, false, true);
    }

    std::mt19937_64 random_;
    std::vector<ValueId> values_;
};

bool survives(const Graph& before, const Graph& after)
{
    bool same = before.updates() == after.updates() && before.inputs().size() == after.inputs().size() &&
                before.outputs().size() == after.outputs().size() &&
                before.guards().size() == after.guards().size();
    for (std::size_t k = 0; same && k < before.outputs().size(); ++k)
        same = before.node(before.outputs()[k]).shape == after.node(after.outputs()[k]).shape;
    return same;
}

/// Values of guards, too.
Blocks all_values(const Graph& g, const Blocks& inputs)
{
    const Blocks values = wg::interpret(g, inputs);
    Blocks out;
    for (ValueId v : g.outputs()) out.push_back(wg::readable(values[v]));
    for (const wg::Guard& guard : g.guards()) out.push_back(wg::readable(values[guard.value]));
    return out;
}

template <class T> void check(std::uint64_t seed)
{
    INFO("seed " << seed);
    Generator<T> made(seed);
    made.make(40);
    const Graph& g = made.b.g;
    const Blocks expected = all_values(g, made.inputs);
    wg::PassOptions options;
    if (seed % 2) options.costs.load = options.costs.store = {0, 0, 0};  // constants cost nothing
    for (const wg::passes::Pass& p : wg::passes::all) {
        INFO(std::string(p.name));
        const Graph h = p(g, options);
        REQUIRE(survives(g, h));
        REQUIRE(same_values(expected, all_values(h, made.inputs)));
        REQUIRE(same_graph(h, p(h, options)));
    }
    std::mt19937_64 order(seed);
    Graph h = g;
    for (int k = 0; k < 8; ++k) h = wg::passes::all[order() % std::size(wg::passes::all)](h, options);
    REQUIRE(survives(g, h));
    REQUIRE(same_values(expected, all_values(h, made.inputs)));
    h = wg::optimize(g, options);
    REQUIRE(survives(g, h));
    REQUIRE(same_values(expected, all_values(h, made.inputs)));
    REQUIRE(same_graph(h, wg::optimize(h, options)));
    options.off = {std::string(wg::passes::all[order() % std::size(wg::passes::all)].name)};
    REQUIRE(same_values(expected, all_values(wg::optimize(g, options), made.inputs)));
}

}  // namespace

TEST_CASE("seeds that once failed")
{
    for (std::uint64_t seed : {29095U}) {  // a reshape that was looked through had taken axes away
        check<double>(seed);
        check<float>(seed);
    }
}

TEST_CASE("random graphs keep their bits")
{
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        check<double>(seed);
        check<float>(seed);
    }
}
