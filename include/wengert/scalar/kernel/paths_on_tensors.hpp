// A scalar program on arrays: each of its operations on all cells, paths that part joined by selection.
#pragma once

#include "../../ops/arg_reductions.hpp"
#include "../../ops/elementwise/arithmetic.hpp"
#include "../../ops/elementwise/math.hpp"
#include "../../ops/elementwise/pairs.hpp"
#include "../../ops/sum.hpp"
#include "../../ops/elementwise/trigonometry.hpp"
#include "../stream/entry.hpp"
#include "special_tensors.hpp"
#include "paths.hpp"

namespace wengert::detail {

template <class T> Tensor<T> unary_on_tensors(ScalarOp op, const Tensor<T>& x)
{
    return visit_function(
        op, [&]<class P>(P) { return apply_elementwise<P, T>(Site{}, x); },
        [&] {
            switch (op) {
            case ScalarOp::negative: return ops::negative<T>(x, Site{});
            case ScalarOp::copy: return x;
            case ScalarOp::detach: return x.detach();
            default: refuse_on_arrays(op);
            }
        });
}

template <class T> Tensor<T> binary_on_tensors(ScalarOp op, const Tensor<T>& a, const Tensor<T>& b)
{
    return visit_pair(
        op, [&]<class P>(P) { return apply_elementwise<P, T>(Site{}, a, b); },
        [&] {
            switch (op) {
            case ScalarOp::add: return ops::add<T>(a, b, Site{});
            case ScalarOp::subtract: return ops::subtract<T>(a, b, Site{});
            case ScalarOp::multiply: return ops::multiply<T>(a, b, Site{});
            case ScalarOp::divide: return ops::divide<T>(a, b, Site{});
            default: return special_on_tensors(op, a, b);
            }
        });
}

/// Thrown when paths are evaluated on tensors and a cell takes a path that none took before. Holds the number of that cell.
struct UnrecordedPath {
    std::size_t cell;
};

template <class T> class PathsOnTensors {
public:
    PathsOnTensors(const std::vector<Tensor<T>>& inputs, Shape shape)
        : shape_(std::move(shape)), inputs_(inputs.size()), values_(inputs)
    {}

    /// The results of a path's cells; `reached` tells which, all where it is empty.
    std::vector<Tensor<T>> run(const Path& path, const Tensor<bool>& reached = {})
    {
        advance(path);
        return path.parts ? joined(path, reached) : path.loop ? looped(path, reached) : results(path);
    }
    /// Of inputs that are one cell's numbers.
    PathOutcomes outcomes(const Path& path)
    {
        PathOutcomes o;
        o.known = follow(path, o.each).has_value();
        return o;
    }

private:
    /// Of the call that asks for a branch.
    static Site line()
    {
        const Site at = Tape::current().site_override;
        return at.line > 0 ? at : enclosing_call;
    }
    const Tensor<T>& at(std::uint32_t step) const { return values_[step - 1]; }
    Tensor<T> at(const PathValue& v) const { return v.step ? at(v.step) : Tensor<T>(v.constant); }
    void advance(const Path& path)
    {
        values_.resize(std::max<std::size_t>(path.begin - 1, inputs_));
        for (const ScalarEntry& e : path.steps)
            if (e.op() != ScalarOp::input) values_.push_back(step(e));
    }
    /// The results of the only cell, nothing where it leaves the known paths.
    std::optional<std::vector<Tensor<T>>> follow(const Path& path, std::vector<bool>& outcomes)
    {
        advance(path);
        if (path.loop && !follow_loop(*path.loop, outcomes)) return {};
        if (path.loop) return follow(*path.next[1], outcomes);
        if (!path.parts) return results(path);
        outcomes.push_back(condition(path.guard).item(line()));
        const auto& next = path.next[outcomes.back()];
        if (!next) return {};
        return follow(*next, outcomes);
    }
    bool follow_loop(const PathLoop& loop, std::vector<bool>& outcomes)
    {
        const std::vector<Tensor<T>> before = values_;
        std::vector<Tensor<T>> state;
        for (const PathValue& v : loop.state) state.push_back(at(v));
        const auto enter = [&] {
            values_ = before;
            values_.insert(values_.end(), state.begin(), state.end());
        };
        for (bool more = true; more;) {
            enter();
            auto y = follow(*loop.paths, outcomes);
            if (!y) return false;
            more = y->front().item(line()) > T(0.5);
            if (more) state.assign(y->begin() + 1, y->end());
        }
        enter();
        return true;
    }
    Tensor<T> step(const ScalarEntry& e) const
    {
        if (e.op() == ScalarOp::copy && e.a() == 0) return Tensor<T>(e.value);  // a constant's
        if (e.form() == ScalarForm::unary) return unary_on_tensors(e.op(), at(e.a()));
        if (e.form() == ScalarForm::both) return binary_on_tensors(e.op(), at(e.a()), at(e.b));
        const Tensor<T> c(e.c);
        return e.form() == ScalarForm::right_constant ? binary_on_tensors(e.op(), at(e.a()), c)
                                                      : binary_on_tensors(e.op(), c, at(e.a()));
    }
    std::vector<Tensor<T>> results(const Path& path) const
    {
        std::vector<Tensor<T>> out;
        for (const PathValue& r : path.results) out.push_back(at(r));
        return out;
    }
    Tensor<bool> condition(const ScalarGuard& g) const
    {
        const Tensor<T> a = g.a ? at(g.a) : Tensor<T>(g.left), b = g.b ? at(g.b) : Tensor<T>(g.right);
        return g.kind == ScalarGuard::Kind::less         ? a < b
               : g.kind == ScalarGuard::Kind::less_equal ? a <= b
                                                         : a == b;
    }
    std::vector<Tensor<T>> joined(const Path& path, const Tensor<bool>& reached)
    {
        const Tensor<bool> yes = condition(path.guard), no = !yes;
        const Tensor<bool> to[] = {reached.defined() ? reached && no : no,
                                   reached.defined() ? reached && yes : yes};
        for (int k : {0, 1})
            if (!path.next[k]) refuse(to[k]);
        if (!path.next[0]) return run(*path.next[1], to[1]);
        if (!path.next[1]) return run(*path.next[0], to[0]);
        const std::vector<Tensor<T>> a = run(*path.next[1], to[1]);
        std::vector<Tensor<T>> b = run(*path.next[0], to[0]);
        for (std::size_t k = 0; k < b.size(); ++k) b[k] = where(yes, a[k], b[k]);
        return b;
    }
    /// Throws if any cell is here. Inside of a loop that is checked when the loop has ended.
    void refuse(const Tensor<bool>& here)
    {
        if (lost_)
            *lost_ = *lost_ || here;
        else if (any(here, line()).item(line()))
            throw UnrecordedPath{first_of(here)};
    }
    /// The state of a loop, the cells that go on, and the cells whose path is not recorded.
    using LoopState = std::tuple<std::vector<Tensor<T>>, Tensor<bool>, Tensor<bool>>;

    /// Runs the loop on all cells together, for as long as one of them goes on.
    std::vector<Tensor<T>> looped(const Path& path, const Tensor<bool>& reached)
    {
        const PathLoop& loop = *path.loop;
        std::vector<Tensor<T>> state;
        for (const PathValue& v : loop.state) state.push_back(broadcast_to(at(v), shape_));
        const Tensor<bool> all = broadcast_to(reached.defined() ? reached : Tensor<bool>(true), shape_);
        const std::vector<Tensor<T>> before = values_;
        const Site line = Tape::current().site_override;  // that of the kernel's call
        const auto body = [&](const LoopState& s) {
            const auto& [x, going, lost] = s;
            const Restore<Site> here(Tape::current().site_override, line);
            Tensor<bool> missed = lost;
            const Restore<Tensor<bool>*> asked_later(lost_, &missed);
            values_ = before;
            values_.insert(values_.end(), x.begin(), x.end());
            std::vector<Tensor<T>> y = run(*loop.paths, going);
            values_ = before;  // a graph's body leaves nothing outside of it
            const Tensor<bool> on = going && !missed && y[0] > 0.5;
            for (std::size_t k = 0; k < x.size(); ++k) y[k] = where(on, y[k + 1], x[k]);
            y.pop_back();
            return LoopState(std::move(y), on, missed);
        };
        const auto more = [](const LoopState& s) { return any(std::get<1>(s)); };
        auto [end, none, lost] = repeated(more, body, LoopState(std::move(state), all, all && !all));
        refuse(lost);
        values_ = before;
        values_.insert(values_.end(), end.begin(), end.end());
        return run(*path.next[1], reached);
    }
    /// One node of a graph, where the program includes graph/control/control.hpp.
    template <class Test, class Body>
    static LoopState repeated(const Test& test, const Body& body, LoopState s)
    {
        if constexpr (requires { while_loop(test, body, s, Site{}); }) {
            return while_loop(test, body, s, Site{});
        } else {
            while (test(s).item()) s = body(s);
            return s;
        }
    }
    std::size_t first_of(const Tensor<bool>& found) const
    {
        const Restore<Recorder*> unseen(current_thread().recorder, nullptr);
        const Ref<Block> b = readable(broadcast_to(found.detach(), shape_).any().value);
        const bool* const e = b->template as<bool>();
        return static_cast<std::size_t>(std::find(e, e + b->count, true) - e);
    }

    Shape shape_;
    std::size_t inputs_;
    std::vector<Tensor<T>> values_;  // of the steps along the path
    Tensor<bool>* lost_ = nullptr;   // in a loop: the cells whose path is not recorded
};

/// The outcomes of a cell with these numbers, unseen by what records.
template <class T> PathOutcomes outcomes_of(const Path& path, std::span<const T> cell)
{
    const Restore<Recorder*> unseen(current_thread().recorder, nullptr);
    const detail::Unrecorded off;
    std::vector<Tensor<T>> numbers;
    for (const T x : cell) numbers.push_back(Tensor<T>(x));
    return PathsOnTensors<T>(numbers, Shape()).outcomes(path);
}

template <class T> Shape shape_of_cells(const std::vector<Tensor<T>>& in, const Site& at)
{
    Shape shape;
    for (const auto& t : in) shape = broadcast_shapes("kernel", shape, t.shape("kernel", at), at);
    return shape;
}

/// The operations of some paths, for a graph.
template <class T> struct PathsFunction {
    std::shared_ptr<const Path> paths;
    bool operator==(const PathsFunction&) const = default;
    std::vector<Tensor<T>> operator()(const std::vector<Tensor<T>>& in) const
    {
        return PathsOnTensors<T>(in, shape_of_cells(in, Site{})).run(*paths);
    }
};

}  // namespace wengert::detail
