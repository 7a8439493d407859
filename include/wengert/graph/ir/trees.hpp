// Trees of tensors, keys and plain numbers, taken apart and put together again: what goes into a trace and comes out of it.
#pragma once

#include "arguments.hpp"

namespace wengert::detail {

/// The content of a tree: its tensors, the data of its keys, and its numbers and texts. Under a trace, tensors and keys are values
/// of the graph that the trace makes.
struct TreeReader {
    Recorder* recorder;
    std::vector<AnyTensor> leaves = {};
    std::size_t keys = 0;  ///< of them
    CallArguments plain = {};
    template <class T, class D> void tensor(const Tensor<T, D>& t) { leaves.push_back(t.any()); }
    void key(const Key& k)
    {
        ++keys;
        Ref<Block> b = k.origin && recorder ? recorder->key(k.origin) : Ref<Block>();
        leaves.push_back({b ? b : block_of_key(k), {}});
    }
    template <class N> void number(const N& n) { plain.number(n); }
    template <class S> void text(const S& s) { plain.text(s); }
};
template <class X> TreeReader read_tree(Recorder* recorder, const X& x)
{
    TreeReader reader{recorder};
    visit_argument(reader, x);
    return reader;
}

/// Gives a tree other tensors and keys.
struct TreeWriter {
    Recorder* trace;
    const AnyTensor* next;
    template <class T, class D> void tensor(Tensor<T, D>& t) { t = Tensor<T, D>(*next++); }
    void key(Key& k)
    {
        const Ref<Block> b = (next++)->value;
        k = key_of_block(*contiguous(b));
        if (trace) trace->enter_key(k, b);
    }
};
template <class X>
void write_tree(Recorder* trace, X& x, const std::vector<AnyTensor>& leaves, std::size_t first = 0)
{
    TreeWriter writer{trace, leaves.data() + first};
    visit_argument(writer, x);
}

/// How often a block is held by what ends with the trace.
struct HeldBlocks {
    std::vector<const Block*> all = {};  ///< as often as they are held
    template <class T, class D> void tensor(const Tensor<T, D>& t) { add(t.any_unchecked()); }
    void key(const Key&) {}
    void add(const AnyTensor& t)
    {
        if (t.value) all.push_back(t.value.get());
    }
    void add(const std::vector<AnyTensor>& tensors)
    {
        for (const AnyTensor& t : tensors) add(t);
    }
};

}  // namespace wengert::detail
