// The bodies of arguments.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../../base/separate.hpp"
#include "../arguments.hpp"

namespace wengert {

namespace detail {

WENGERT_INLINE Ref<Block> block_of_key(const Key& key)
{
    auto b = make_block(DType::int64, Shape{2});
    std::memcpy(b->data, &key.secret, 8);
    std::memcpy(b->data + 8, &key.stream, 8);
    return b;
}

WENGERT_INLINE Key key_of_block(const Block& b)
{
    Key key(0);
    const std::byte* const words = host_data(b);
    std::memcpy(&key.secret, words, 8);
    std::memcpy(&key.stream, words + 8, 8);
    return key;
}

WENGERT_INLINE void CallArguments::clear() noexcept
{
    inputs.clear();
    nodes.clear();
    signature.clear();
    family.clear();
    expected_ = next_ = end_ = nullptr;
    families = dynamic = false;
    extent = -1;
    mask = unrecorded = 0;
}

WENGERT_INLINE void CallArguments::tensor(const AnyTensor& t)
{
    if (t.node) {
        mask |= t.node->mask;
        nodes.resize(inputs.size());
        nodes.push_back(t.node);
    }
    if (t.value->strided) [[unlikely]]
        inputs.push_back(contiguous(t.value));
    else
        inputs.push_back(t.value);
    const Block& b = *t.value;
    if (b.access.traced) [[unlikely]]
        note_used(b, {});
    if (b.access.unrecorded && !t.node) unrecorded |= bit_of_input(inputs.size() - 1);
    word(word_of_type(b));
    for (std::size_t i = 0; i < b.shape.size(); ++i) {
        const bool varies = dynamic && i == 0;
        if (varies && extent < 0) extent = b.shape[0];
        word(static_cast<std::uint64_t>(b.shape[i]), varies);
    }
}

WENGERT_INLINE void CallArguments::write_down()
{
    signature.assign(expected_, next_);
    expected_ = next_ = end_ = nullptr;
}

}  // namespace detail
}  // namespace wengert
