// One trace for every batch size: the graph of a third size from the graphs of two.
//
// Shapes, and the parameters that come from them, are affine in the extent that varies: (B, 10), B·10, B − 1. Two traces of
// the same structure give slope and offset of each number; where a number has none, or anything else differs, there is no
// such graph and the caller traces again.
#pragma once

#include <cmath>
#include <optional>

#include "../ir/fields.hpp"
#include "../ir/index_program.hpp"

namespace wengert::detail {

/// n ↦ the number that is x at n = first and y at n = second.
struct Affine {
    std::int64_t first, second, n;
    bool fits = true;

    std::int64_t operator()(std::int64_t x, std::int64_t y)
    {
        if (x == y) return x;
        const std::int64_t rise = y - x, run = second - first;
        fits = fits && run != 0 && rise % run == 0;
        return fits ? x + rise / run * (n - first) : x;
    }
    Shape operator()(const Shape& x, const Shape& y)
    {
        fits = fits && x.size() == y.size();
        Shape out = x;
        for (std::size_t i = 0; fits && i < x.size(); ++i) {
            out[i] = (*this)(x[i], y[i]);
            fits = fits && (x[i] < 0 || out[i] >= 0);
        }
        return out;
    }
    /// Numbers of elements turn up as floating-point constants.
    double operator()(double x, double y)
    {
        if (x == y || (x != x && y != y)) return x;
        fits =
            fits && std::abs(x) < 0x1p52 && std::abs(y) < 0x1p52 && x == std::floor(x) && y == std::floor(y);
        return fits ? static_cast<double>((*this)(static_cast<std::int64_t>(x), static_cast<std::int64_t>(y)))
                    : x;
    }
};

/// Fills fields with those of a third size. `other`: those of the second one.
class FieldFitter : public FieldVisitorOf<FieldFitter> {
public:
    FieldFitter(Affine& affine, const std::vector<std::uint64_t>& other) : affine_(affine), other_(other) {}
    FieldWords made;  ///< what they have become
    void boolean(bool& v)
    {
        same([&] { made.boolean(v); });
    }
    void real(double& v)
    {
        same([&] { made.real(v); });
    }
    void opaque(const void* p, std::string_view what)
    {
        same([&] { made.opaque(p, what); });
    }
    void integer(std::int64_t& v)
    {
        v = affine_(v, static_cast<std::int64_t>(next()));
        made.integer(v);
    }
    void extents(Extents& v)
    {
        Extents at_second;
        for (std::uint64_t n = next(); affine_.fits && n > 0; --n)
            at_second.push_back(static_cast<std::int64_t>(next()));
        v = affine_(v, at_second);
        made.extents(v);
    }

private:
    std::uint64_t next()
    {
        affine_.fits = affine_.fits && position_ < other_.size();
        return affine_.fits ? other_[position_++] : 0;
    }
    template <class F> void same(const F& note)
    {
        note();
        affine_.fits = next() == made.words.back() && affine_.fits;
    }
    Affine& affine_;
    const std::vector<std::uint64_t>& other_;
    std::size_t position_ = 0;
};

inline Parameters fitted_parameters(Affine& affine, const GraphNode& a, const GraphNode& b)
{
    if (!a.op || !b.op || !a.primitive->fields) {
        affine.fits = affine.fits && !a.op == !b.op;
        return a.op;
    }
    GraphNode copy = a;
    copy.op = keep_parameters(*a.primitive, a.op.get());
    const FieldWords other = words_of(b);
    FieldFitter fitter(affine, other.words);
    a.primitive->fields(const_cast<void*>(copy.op.get()), fitter);
    // parameters that are shown and cannot be set, as those of loops, must be the same in both
    affine.fits = affine.fits && words_of(copy).words == fitter.made.words;
    return copy.op;
}

/// Where the elements differ from one trace to the other they are one number, in as many places as the extent says.
inline Ref<Block> fitted_constant(Affine& affine, const Ref<Block>& a, const Ref<Block>& b)
{
    if (same_elements(*a, *b)) return a;
    const Shape shape = affine(a->shape, b->shape);
    const Ref<Block> x = only_element(a), y = only_element(b);
    affine.fits = affine.fits && x && y;
    if (!affine.fits) return {};
    Ref<Block> out = make_block(a->dtype, shape);
    with_dtype(a->dtype, [&]<class T>() {
        const auto n =
            affine(static_cast<double>(*x->template as<T>()), static_cast<double>(*y->template as<T>()));
        std::fill_n(out->template as<T>(), out->count, static_cast<T>(n));
    });
    return out;
}

/// Every description holds for its operands: a constant part of a smaller array may not lie in it.
inline bool descriptions_hold(const Graph& g)
{
    try {
        for (const GraphNode& n : g.nodes())
            if (n.kind == Graph::Kind::operation && is_described(*n.primitive))
                each_program(g, n, [](const Index&, std::span<const ValueId>) { return true; });
    } catch (const ShapeError&) {
        return false;
    }
    return true;
}
/// The graph's inputs have the shapes of these.
inline bool fits_inputs(const Graph& g, const std::vector<Ref<Block>>& inputs)
{
    return std::equal(g.inputs().begin(), g.inputs().end(), inputs.begin(), inputs.end(),
                      [&](ValueId v, const Ref<Block>& b) { return g.node(v).shape == b->shape; });
}

/// The graph for extent n from those for two others. Nothing where they do not determine it.
inline std::optional<Graph> graph_for_extent(const Graph& a, std::int64_t first, const Graph& b,
                                             std::int64_t second, std::int64_t n)
{
    if (a.size() != b.size() || a.guards().size() != b.guards().size() || a.outputs() != b.outputs() ||
        a.updates() != b.updates())
        return {};
    Affine affine{first, second, n};
    Graph g;
    for (ValueId v = 0; v < a.size() && affine.fits; ++v) {
        const GraphNode &x = a.node(v), &y = b.node(v);
        affine.fits = x.kind == y.kind && x.dtype == y.dtype && x.inputs == y.inputs &&
                      (!x.primitive || same_primitive(*x.primitive, *y.primitive));
        if (!affine.fits) break;
        GraphNode c = x;
        c.shape = affine(x.shape, y.shape);
        if (x.kind == Graph::Kind::constant)
            c.constant = fitted_constant(affine, x.constant, y.constant);
        else if (x.kind == Graph::Kind::operation)
            c.op = fitted_parameters(affine, x, y);
        if (x.kind == Graph::Kind::input)
            g.input(c.dtype, c.shape, c.at);
        else
            g.append(std::move(c));
    }
    for (std::size_t k = 0; k < a.guards().size() && affine.fits; ++k) {
        affine.fits = a.guards()[k].value == b.guards()[k].value &&
                      same_elements(*a.guards()[k].expected, *b.guards()[k].expected);
        g.guard(a.guards()[k]);
    }
    if (!affine.fits) return {};
    for (ValueId v : a.outputs()) g.output(v);
    for (std::size_t i = 0; i < a.updates().size(); ++i)
        if (a.updates()[i] != no_value) g.update(i, a.updates()[i]);
    return g;
}

}  // namespace wengert::detail
