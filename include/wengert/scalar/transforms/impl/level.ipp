// The bodies of transforms/level.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>
#include <bit>

#include "../../../base/separate.hpp"
#include "../../../kernels/cpu/lane_type.hpp"
#include "../../real/adjoints.hpp"
#include "../../real/tangents.hpp"
#include "../level.hpp"

namespace wengert::detail {

WENGERT_INLINE NumberLevel::NumberLevel(bool forward, std::string_view transform, const Site& at)
    : tape_(Tape::current()), stream_(ScalarStream::of(tape_)), scope_(tape_, forward), transform_(transform),
      at_(at)
{
    refuse_in_graph(at);
    numbers().clear();
}

WENGERT_INLINE void NumberLevel::begin()
{
    count_ = numbers().size();
    first_ = stream_.lift(scope_.level(), numbers(), numbers_name, at_);
}

WENGERT_INLINE void NumberLevel::set_tangents()
{
    stream_.find_below(scope_.level(), numbers(), numbers_name, at_);
    ScalarForward(stream_, scope_.level()).set(first_, count_, [this](std::size_t k) {
        return Real<double>(numbers()[k].value, numbers()[k].handle);
    });
}

/// The levels that a result depends on and that record.
WENGERT_INLINE std::uint64_t NumberLevel::mask_of(const ScalarNumber& y) const
{
    return y.handle.word ? stream_.dependence(y.handle, numbers_name, at_) : 0;
}

WENGERT_INLINE ScalarPosition NumberLevel::position_of(const ScalarNumber& y) const
{
    return stream_.position(y.handle);
}

/// Numbers were read, and these results depend on no variable.
WENGERT_INLINE void NumberLevel::look_for_lost(const ScalarNumber* y, std::size_t count) const
{
    if (!tape_.level(scope_.level()).was_read) return;
    std::vector<double> values;
    for (std::size_t k = 0; k < count; ++k) values.push_back(y[k].value);
    report_lost(tape_, scope_.level(), transform_, at_, Tensor<double>(Shape{count}, values));
}

/// A result outside of the level, which has been closed.
WENGERT_INLINE ScalarHandle NumberLevel::outside(const ScalarNumber& y, std::uint64_t mask) const
{
    if (!(mask & Tape::bit(scope_.level()))) return mask ? y.handle : ScalarHandle();
    if (!(mask & Tape::below(scope_.level()))) return {};
    const Restore<int> lowered(tape_.lowered, tape_.lowered + 1);
    return ScalarStream::note(ScalarOp::copy, y.handle, y.value, y.value);
}

WENGERT_INLINE ScalarHandle NumberLevel::sweep_from(const ScalarNumber& y)
{
    const std::uint64_t mask = mask_of(y);
    AnyTensor cotangent;
    numbers().assign(count_, {});
    if (!(mask & Tape::bit(scope_.level())))
        look_for_lost(&y, 1);
    else if (tape_.anomaly || !spans_alone()) {
        cotangent = walk(y);
        numbers().assign(count_, {});  // a rule of the user's may have used them
    } else if (!sweep_few(position_of(y)))
        sweep_spans(position_of(y));
    scope_.close();
    if (!dots_.empty()) give_tangents();
    if (cotangent.value) {
        const std::vector<Real<double>> g = elements_of<double>(cotangent, at_);
        for (std::size_t k = 0; k < count_; ++k) numbers()[k] = {g[k].handle(), g[k].plain()};
    }
    return outside(y, mask);
}

/// Is all that has been recorded since the level began operations on reals?
WENGERT_INLINE bool NumberLevel::spans_alone() const
{
    const auto& all = stream_.spans();
    std::size_t i = all.size();
    for (const Node* n = tape_.last(); n && n->sequence >= scope_.start(); n = n->previous)
        if (i == 0 || all[--i]->node != n) return false;
    return true;
}

WENGERT_INLINE void NumberLevel::put(std::size_t k, double g) { numbers()[k] = {{}, g}; }
WENGERT_INLINE void NumberLevel::put(std::size_t k, const Real<double>& g)
{
    numbers()[k] = {g.handle(), g.plain()};
}
WENGERT_INLINE void NumberLevel::put(std::size_t k, const Tangents<double, 1>& g)
{
    numbers()[k] = {{}, g.plain()};
    dots_.push_back(g.tangent(0));
}

/// One span of few operations, as in a gradient of a handful of operations: adjoints on the stack. Below is no level that records, or
/// one of forward mode. False where it is not so, or where the result is a variable.
WENGERT_INLINE bool NumberLevel::sweep_few(ScalarPosition result)
{
    const auto& all = stream_.spans();
    const Node& span = *all.back()->node;
    const bool alone = all.size() == 1 || all[all.size() - 2]->node->sequence < scope_.start();
    const std::size_t size = result + 1 - first_;
    if (!alone || size > few || size <= count_ || span.sequence < scope_.start() || stream_.cell_tensors ||
        stream_.chunk_of(first_) != stream_.chunk())
        return false;
    const ScalarEntry* const entries = stream_.entries();
    const std::uint64_t levels = span.mask & tape_.active & Tape::below(scope_.level());
    if (levels == 0) {
        sweep_on_stack(size, ValuesOf{entries});
        return true;
    }
    forward_ = ScalarAdjoints::forward_alone(stream_, levels, result + 1);
    if (forward_ == 0) return false;
    const ScalarTangents& tangents = *ScalarForward(stream_, forward_).plain_up_to(result + 1);
    const auto first = static_cast<std::int64_t>(tangents.base - stream_.chunk());
    sweep_on_stack(size, PairsOf{entries, tangents.dots.data(), first});
    return true;
}

template <class Values> void NumberLevel::sweep_on_stack(std::size_t size, const Values& value)
{
    const bool guarded = !tape_.allow_nan;
    const auto base = static_cast<std::uint32_t>(first_ - stream_.chunk());
    const ScalarEntry* const entries = stream_.entries();
    using N = typename Values::Number;
    constexpr std::size_t width = Values::width;
    double adjoints[width * few];
    std::fill_n(adjoints, width * size, 0.0);
    adjoints[width * (size - 1)] = 1.0;
    const auto at = [&](std::size_t k) {
        if constexpr (width == 1)
            return adjoints[k];
        else
            return taken(adjoints + 2 * k);
    };
    for (std::uint32_t i = base + static_cast<std::uint32_t>(size); i-- > base + count_;) {
        const N g = at(i - base);
        if (entries[i].op() == ScalarOp::input || (guarded && is_zero(g))) continue;
        const auto add = [&](std::uint32_t k, const N& r) __attribute__((always_inline))
        {
            if (k >= base) send(adjoints, k - base, g, r, guarded);
        };
        if (width > 1 && entries[i].is_function())
            pull_apart(value, i, g, adjoints, base, guarded);
        else  // a call would be a twentieth of a gradient of few functions
            detail::pull(entries[i], i, g, value, add);
    }
    for (std::size_t k = 0; k < count_; ++k) put(k, at(k));
}

/// What a walk would do, without tensors between.
WENGERT_INLINE void NumberLevel::sweep_spans(ScalarPosition result)
{
    ScalarAdjoints adjoints(stream_, scope_.start());
    const auto& all = stream_.spans();  // a recorded sweep adds to them
    adjoints.serve(all.back()->node->mask & tape_.active & Tape::below(scope_.level()), result + 1);
    adjoints.add(result, Real<double>(1.0));
    for (std::size_t i = all.size(); i-- > 0 && all[i]->node->sequence >= scope_.start();)
        if (all[i]->begin <= result && (all[i]->node->mask & Tape::bit(scope_.level())))
            pull(adjoints, *all[i]);
    forward_ = adjoints.forward_level();
    for (std::size_t k = 0; k < count_; ++k)
        forward_ ? put(k, adjoints.take_with_tangent(first_ + k)) : put(k, adjoints.take(first_ + k));
}

/// The gradient as variables of the level of forward mode, with their tangents.
WENGERT_INLINE void NumberLevel::give_tangents()
{
    const ScalarPosition first = stream_.lift(forward_, numbers(), numbers_name, at_);
    ScalarForward(stream_, forward_).set(first, count_, [this](std::size_t k) { return dots_[k]; });
}

WENGERT_INLINE void NumberLevel::pull(ScalarAdjoints& adjoints, ScalarSpan& s)
{
    const auto is_own = [&](const ScalarSpan::Entered& e) { return e.variables && e.begin == first_; };
    const bool has_own = std::any_of(s.entered.begin(), s.entered.end(), is_own);
    const ScalarPosition from = has_own ? first_ + count_ : s.begin;
    const std::uint64_t lower = tape_.active & Tape::below(scope_.level());
    adjoints.serve(s.node->mask & lower, stream_.end_of(s));
    if (!adjoints.recorded()) {
        adjoints.sweep(s, from, !tape_.allow_nan);
    } else {
        if (stream_.end_of(s) == stream_.end()) stream_.close();
        const InSweep in_sweep(tape_, lower);
        const Restore<Site> site(tape_.site_override, s.node->at);
        adjoints.sweep(s, from, !tape_.allow_nan);
    }
    for (const ScalarSpan::Entered& e : s.entered)
        if (!is_own(e)) adjoints.leave(e);
    adjoints.done(s, has_own);
}

/// Past everything that the function did: the variables are a tensor's elements from now on.
WENGERT_INLINE AnyTensor NumberLevel::walk(const ScalarNumber& y)
{
    auto node = Ref<Node>::adopt(tape_.new_node(identity_primitive<double>, 0, at_));
    node->mask = Tape::bit(scope_.level());
    node->level = static_cast<std::uint8_t>(scope_.level());
    node->flags = Node::is_leaf;
    node->dtype = dtype_of<double>();
    node->shape = Shape{count_};
    tape_.append(node.get());
    for (ScalarSpan::Entered& e : stream_.find(first_)->entered)
        if (e.variables && e.begin == first_) {
            e.tensor = {make_block(dtype_of<double>(), node->shape), node};
            e.deliver = deliver_entered<double>;
        }
    const Real<double> result(y.value, y.handle);
    const AnyTensor loss = gathered(&result, 1, Shape(), at_, numbers_name);
    auto one = make_block(dtype_of<double>(), Shape());
    *one->as<double>() = 1;
    Walk back(tape_, scope_.level(), false);
    back.run(loss.node, {placed(std::move(one)), {}});
    return node->cotangent;
}

/// Each result in `numbers` as it is outside of the level, and behind them their tangents.
WENGERT_INLINE void NumberLevel::end_with_tangents()
{
    const std::size_t count = numbers().size();
    std::vector<std::uint64_t> masks;
    std::uint64_t all = 0;
    for (const ScalarNumber& y : numbers()) all |= masks.emplace_back(mask_of(y));
    const std::uint64_t own = Tape::bit(scope_.level());
    if (!(all & own)) look_for_lost(numbers().data(), count);
    ScalarForward forward(stream_, scope_.level());
    for (std::size_t k = 0; k < count; ++k) {
        const Real<double> dot = masks[k] & own ? forward.of(position_of(numbers()[k])) : Real<double>();
        numbers().push_back({dot.handle(), dot.plain()});
    }
    scope_.close();
    for (std::size_t k = 0; k < count; ++k) numbers()[k].handle = outside(numbers()[k], masks[k]);
}

/// ∂y/∂x in `numbers`, in place of the results y.
WENGERT_INLINE bool NumberLevel::end_with_jacobian()
{
    if (tape_.anomaly || !spans_alone()) return false;
    std::vector<ScalarPosition> results;  // 0 for what depends on no variable
    for (const ScalarNumber& y : numbers())
        results.push_back(mask_of(y) & Tape::bit(scope_.level()) ? position_of(y) : 0);
    if (std::all_of(results.begin(), results.end(), [](ScalarPosition p) { return p == 0; }))
        look_for_lost(numbers().data(), results.size());
    std::vector<ScalarNumber> J = count_ < results.size() ? columns(results) : rows(results);
    if (forward_) return false;  // a forward level wants tangents of the gradients
    scope_.close();
    numbers() = std::move(J);
    return true;
}

/// One pass of tangents over what f recorded for each variable.
WENGERT_INLINE std::vector<ScalarNumber> NumberLevel::columns(const std::vector<ScalarPosition>& results)
{
    std::vector<ScalarNumber> J(results.size() * count_);
    ScalarForward forward(stream_, scope_.level());
    for (std::size_t k = 0; k < count_; ++k) {
        forward.restart();
        forward.set(first_, count_, [k](std::size_t i) { return i == k ? 1.0 : 0.0; });
        for (std::size_t i = 0; i < results.size(); ++i) {
            const Real<double> dot = results[i] ? forward.of(results[i]) : Real<double>();
            J[i * count_ + k] = {dot.handle(), dot.plain()};
        }
    }
    return J;
}

/// One sweep over what f recorded for each result.
WENGERT_INLINE std::vector<ScalarNumber> NumberLevel::rows(const std::vector<ScalarPosition>& results)
{
    std::vector<ScalarNumber> J;
    for (const ScalarPosition result : results) {
        numbers().assign(count_, {});
        if (result) sweep_spans(result);
        if (forward_) break;
        J.insert(J.end(), numbers().begin(), numbers().end());
    }
    return J;
}

}  // namespace wengert::detail
