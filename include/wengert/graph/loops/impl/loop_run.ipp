// What loop_run.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../loop_run.hpp"

namespace wengert::detail {

WENGERT_INLINE LoopRun::LoopRun(const LoopParameters& p, LoopPlans& plans, const Ref<Block>* in,
                                std::size_t n)
    : p_(p), plans_(plans), at_(p, n), packed_(make_block(p.dtype, Shape{p.size})), unit_(size_of(p.dtype))
{
    for (std::size_t i = 0; i < n; ++i) in_.push_back(contiguous(in[i]));
    if (has_gaps(p)) std::memset(packed_->data, 0, packed_->bytes());
}

WENGERT_INLINE LoopRun::Body LoopRun::body()
{
    Body b{*plans_.body, p_.states};
    if (p_.kind == Kind::scan) add_rows(b);
    if (p_.kind == Kind::scan && p_.snapshots) parts_ = parts_of(p_);
    for (std::size_t i = 0; i < p_.states; ++i) b.plan.load(i, in_[i]->data);
    add_slices(b, p_.states, p_.states, p_.xs);
    begin(b.plan, p_.states + p_.xs);
    return b;
}

WENGERT_INLINE LoopRun::Body LoopRun::pull()
{
    Body b{*plans_.pull, LoopPlans::carried(p_)};
    const std::size_t states = p_.active_states.size(), shown = b.carried + p_.states,
                      given = LoopPlans::given(p_);
    const double nothing = p_.kind == Kind::while_pull && history_.empty() ? 0.0 : -0.0;
    add_rows(b);
    for (std::size_t i = 0; i < states; ++i) b.plan.load(i, in_[at_.cotangents + i]->data);
    for (std::size_t i = states; i < b.carried; ++i)
        with_real(b.plan.input(i).dtype, [&]<class T>() {
            std::fill_n(reinterpret_cast<T*>(b.plan.own(i)), b.plan.input(i).count, static_cast<T>(nothing));
        });
    add_slices(b, shown, p_.states, p_.xs);
    add_slices(b, shown + p_.xs, at_.cotangents + states, given);
    begin(b.plan, shown + p_.xs + given);
    return b;
}

WENGERT_INLINE LoopRun::Body LoopRun::test()
{
    begin(*plans_.other, p_.states);
    return {*plans_.other};
}

WENGERT_INLINE void LoopRun::step(const Body& b, std::uint64_t step)
{
    const std::size_t k = slice(step);
    const bool keeps = row_ + 1 < parts_.size() && parts_[row_ + 1].begin == step;
    for (const Slice& s : b.slices) b.plan.bind(s.input, s.first + k * s.stride);
    put_rows(b, true, k, keeps);
    b.plan.run();
    put_rows(b, false, k, keeps);
    row_ += keeps;
    b.plan.advance();
}

WENGERT_INLINE void LoopRun::branch()
{
    BodyPlan& plan = *in_[0]->as<bool>() ? *plans_.body : *plans_.other;
    begin(plan, 0);
    plan.run();
    for (std::size_t k = 0; k < p_.results.size(); ++k) put(plan.output(k), k);
}

WENGERT_INLINE void LoopRun::put_carried(const Body& b) const
{
    for (std::size_t i = 0; i < b.carried; ++i) put(b.plan.input(i), i);
}

WENGERT_INLINE bool LoopRun::goes_on(const Body& b) const
{
    return p_.guard == LoopParameters::npos || *b.plan.input(p_.guard).as<bool>();
}

WENGERT_INLINE bool LoopRun::holds(const Body& test, const Body& body) const
{
    for (std::size_t i = 0; i < p_.states; ++i) test.plan.bind(i, body.plan.input(i).data);
    test.plan.run();
    return *test.plan.output(0).as<bool>();
}

WENGERT_INLINE void LoopRun::remember(const Body& body)
{
    for (std::size_t i = 0; i < p_.states; ++i) {
        const Block& s = body.plan.input(i);
        const std::size_t at = history_.size();
        history_.resize(at + padded(s));
        if (s.count > 0) std::memcpy(history_.data() + at, s.data, s.bytes());
    }
}

WENGERT_INLINE void LoopRun::end() const
{
    if (p_.kind != Kind::scan && p_.kind != Kind::scan_pull) return;
    p_.code->forward = forward_;
    if (p_.kind == Kind::scan_pull) p_.code->recorded = static_cast<std::uint64_t>(p_.steps);
}

inline std::byte* LoopRun::place(const LoopParameters::Result& r) const
{
    return packed_->data + static_cast<std::size_t>(r.offset) * unit_;
}

inline void LoopRun::put(const Block& from, std::size_t result) const
{
    if (const auto& r = p_.results[result]; r.wanted()) pack_result(from, place(r), p_.dtype);
}

inline void LoopRun::begin(BodyPlan& plan, std::size_t to) const
{
    for (std::size_t i = 0; i < at_.constants; ++i) plan.bind(to + i, in_[at_.constant + i]->data);
    plan.begin();
}

inline void LoopRun::add_slices(Body& b, std::size_t to, std::size_t first, std::size_t n) const
{
    for (std::size_t i = 0; i < n; ++i)
        b.slices.push_back({to + i, in_[first + i]->data, b.plan.input(to + i).bytes()});
}

inline void LoopRun::add_rows(Body& b) const
{
    for (std::size_t j = b.carried; j < p_.results.size(); ++j) {
        const LoopParameters::Result& r = p_.results[j];
        const bool all = r.shape[0] == p_.steps;
        if (!r.wanted() || !(all || r.shape[0] == p_.snapshots)) continue;
        const Block& one = b.plan.output(j);
        const std::size_t stride = differentiable(one.dtype) ? one.count * unit_ : one.bytes();
        b.rows.push_back(
            {&one, place(r), stride, !one.strided && stride == one.bytes(), b.plan.known_before(j), !all});
    }
}

inline void LoopRun::put_rows(const Body& b, bool early, std::size_t k, bool keeps) const
{
    for (const Row& row : b.rows) {
        if (row.early != early || (row.kept && !keeps)) continue;
        std::byte* const to = row.to + (row.kept ? row_ : k) * row.stride;
        if (row.plain && row.stride == 8)
            std::memcpy(to, row.from->data, 8);
        else if (row.plain && row.stride > 0)
            std::memcpy(to, row.from->data, row.stride);
        else if (!row.plain)
            pack_result(*row.from, to, p_.dtype);
    }
}

inline std::size_t LoopRun::slice(std::uint64_t step) const
{
    const auto steps = static_cast<std::uint64_t>(p_.steps);
    return static_cast<std::size_t>(p_.backwards ? steps - 1 - step : step);
}

inline std::byte* LoopRun::kept(std::size_t state, std::size_t i) const
{
    if (state == 0) return in_[i]->data;
    if (state < given_states()) return in_[at_.kept + i]->data + (state - 1) * in_[i]->bytes();
    return made_[state - given_states()][i]->data;
}

inline void LoopRun::keep(const Body& body, std::size_t state)
{
    if (state - given_states() == made_.size()) {
        made_.emplace_back();
        for (std::size_t i = 0; i < p_.states; ++i)
            made_.back().push_back(make_block(in_[i]->dtype, in_[i]->shape));
    }
    for (std::size_t i = 0; i < p_.states; ++i)
        if (in_[i]->count > 0) std::memcpy(kept(state, i), body.plan.input(i).data, in_[i]->bytes());
}

WENGERT_INLINE Ref<Block> packed_example(const LoopParameters& p, const Ref<Block>* in)
{
    auto packed = zeros_block(p.dtype, Shape{p.size});
    if (p.kind == Kind::scan || p.kind == Kind::while_loop)
        for (std::size_t i = 0; i < p.states; ++i)
            if (p.results[i].wanted())
                pack_result(*in[i],
                            packed->data + static_cast<std::size_t>(p.results[i].offset) * size_of(p.dtype),
                            p.dtype);
    if (p.kind == Kind::cond && p.guard != LoopParameters::npos)
        packed->data[static_cast<std::size_t>(p.results[p.guard].offset) * size_of(p.dtype)] = std::byte{1};
    return packed;
}

}  // namespace wengert::detail
