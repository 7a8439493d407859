// What fields.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../fields.hpp"

namespace wengert::detail {

WENGERT_INLINE void FieldWriter::opaque(const void* p, std::string_view what)
{
    char address[32];
    std::snprintf(address, sizeof address, "@%zx", plain ? 0 : reinterpret_cast<std::size_t>(p));
    word(std::string(what) + address);
}

WENGERT_INLINE void FieldWords::extents(Extents& v)
{
    words.push_back(v.size());
    for (auto e : v) words.push_back(static_cast<std::uint64_t>(e));
}

WENGERT_INLINE void FieldWords::opaque(const void* p, std::string_view)
{
    words.push_back(reinterpret_cast<std::uintptr_t>(p));
    code = true;
}

WENGERT_INLINE FieldWords words_of(const GraphNode& n)
{
    FieldWords words;
    if (n.op && n.primitive->fields) n.primitive->fields(const_cast<void*>(n.op.get()), words);
    return words;
}

}  // namespace wengert::detail

namespace wengert {

WENGERT_INLINE std::string fields_text(const GraphNode& n, bool plain)
{
    if (!n.primitive || !n.op || !n.primitive->fields) return {};
    detail::FieldWriter writer;
    writer.plain = plain;
    n.primitive->fields(const_cast<void*>(n.op.get()), writer);
    return std::move(writer.text);
}

WENGERT_INLINE bool same_primitive(const Primitive& a, const Primitive& b)
{
    return &a == &b ||
           (a.name == b.name && a.ours == b.ours && a.dtype == b.dtype && a.arity == b.arity &&
            a.value == b.value && a.compute == b.compute && a.expand == b.expand && a.clone == b.clone);
}

WENGERT_INLINE bool same_parameters(const GraphNode& a, const GraphNode& b)
{
    return a.op == b.op || detail::words_of(a).words == detail::words_of(b).words;
}

WENGERT_INLINE bool same_elements(const Block& a, const Block& b)
{
    if (a.dtype != b.dtype || !(a.shape == b.shape)) return false;
    if (a.access.device | b.access.device) [[unlikely]]
        return same_elements(*on_host(Ref<Block>(const_cast<Block*>(&a))),
                             *on_host(Ref<Block>(const_cast<Block*>(&b))));
    if (a.strided || b.strided) return false;
    return a.count == 0 || std::memcmp(a.data, b.data, a.bytes()) == 0;
}

WENGERT_INLINE Ref<Block> only_element(const Ref<Block>& b)
{
    const std::size_t size = size_of(b->dtype);
    if (b->count == 0 || b->strided || std::memcmp(b->data, b->data + size, b->bytes() - size) != 0)
        return {};
    if (b->shape.empty()) return b;
    auto out = make_block(b->dtype, Shape());
    std::memcpy(out->data, b->data, size);
    return out;
}

}  // namespace wengert
