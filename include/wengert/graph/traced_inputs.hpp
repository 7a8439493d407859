// What a trace of a frozen function begins and ends with: arguments and live tensors as inputs, and the question whether a
// value of the trace is still held outside of it.
#pragma once

#include <limits>
#include <unordered_map>

#include "../tape/tensor.hpp"
#include "ir/trace.hpp"

namespace wengert::detail {

/// Replaces the argument's tensors by headers of their own, which a trace can tell apart, and gives keys their place.
struct TraceInputs {
    Trace& trace;
    const std::vector<Ref<Block>>& inputs;
    Site at;
    std::size_t next = 0;

    Ref<Block> take()
    {
        const Ref<Block>& b = inputs[next++];
        Ref<Block> header = make_view(b, b->shape, nullptr, 0);
        trace.input(header, at);
        return header;
    }
    template <class T, class D> void tensor(Tensor<T, D>& t) { t = Tensor<T, D>(AnyTensor{take(), {}}); }
    void key(Key& k)
    {
        k.origin = trace.new_origin();
        trace.remember_key(k.origin, take());
    }
};

/// Live tensors stand for inputs while f is traced, variables among them for constants: the section that is recorded brings
/// their derivative. They keep what f assigned to them when the call has come to its end.
class LiveInputs {
public:
    LiveInputs(TraceInputs& in, const std::vector<AnyTensor*>& live);
    LiveInputs(const LiveInputs&) = delete;
    LiveInputs& operator=(const LiveInputs&) = delete;
    ~LiveInputs();
    bool updated(std::size_t i) const { return live_[i]->value.get() != headers_[i].get(); }
    void end() noexcept { ended_ = true; }
    const std::vector<Ref<Block>>& headers() const noexcept { return headers_; }
    const std::vector<AnyTensor*>& tensors() const noexcept { return live_; }

private:
    const std::vector<AnyTensor*>& live_;
    std::vector<AnyTensor> before_;
    std::vector<Ref<Block>> headers_;
    bool ended_ = false;
};

/// Live tensors are afterwards as they were.
class LiveKept {
public:
    explicit LiveKept(const std::vector<AnyTensor*>& live);
    LiveKept(const LiveKept&) = delete;
    LiveKept& operator=(const LiveKept&) = delete;
    ~LiveKept();

private:
    const std::vector<AnyTensor*>& live_;
    std::vector<AnyTensor> before_;
};

/// How often a block is held by what ends with the trace.
struct HeldBlocks {
    std::unordered_map<const Block*, std::int64_t> count = {};
    template <class T, class D> void tensor(const Tensor<T, D>& t)
    {
        if (t.any_unchecked().value) ++count[t.any_unchecked().value.get()];
    }
    void key(const Key&) {}
};

/// References to a block that are not the trace's own, not a view's, and not in `held`.
std::int64_t outside_references(const Block& b, const HeldBlocks& held);

/// The first value of a trace, one of its first `inputs` or the result of an operation, that something outside of it still holds,
/// or no_value: a variable that a replay would leave as it was, a function made in the trace that would go on with its array.
ValueId escaped(Trace& trace, HeldBlocks held, std::size_t inputs = std::numeric_limits<std::size_t>::max());

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "traced_inputs_source.hpp"
#endif
