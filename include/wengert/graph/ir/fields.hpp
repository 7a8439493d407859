// Parameters of operations as text, and compared: what printing and common subexpressions need of them.
#pragma once

#include <bit>
#include <cstdio>
#include <cstring>
#include <string>

#include "../../array/layout.hpp"
#include "../../base/term_text.hpp"
#include "graph.hpp"

namespace wengert {

namespace detail {

/// Writes fields as words: "true", "-3", "0.1", "(2, 3)".
class FieldWriter : public FieldVisitorOf<FieldWriter> {
public:
    std::string text;
    bool plain = false;  ///< without the identity of functions and graphs
    void boolean(bool& v) { word(v ? "true" : "false"); }
    void integer(std::int64_t& v) { word(std::to_string(v)); }
    void real(double& v) { word(number_text(v)); }
    void extents(Extents& v) { word(to_string(v)); }
    void opaque(const void* p, std::string_view what)
    {
        char address[32];
        std::snprintf(address, sizeof address, "@%zx", plain ? 0 : reinterpret_cast<std::size_t>(p));
        word(std::string(what) + address);
    }

private:
    void word(const std::string& w) { text += (text.empty() ? "" : " ") + w; }
};

/// The same as numbers, to be hashed and compared.
class FieldWords : public FieldVisitorOf<FieldWords> {
public:
    std::vector<std::uint64_t> words;
    bool code = false;  ///< functions or graphs are among them
    void boolean(bool& v) { words.push_back(v); }
    void integer(std::int64_t& v) { words.push_back(static_cast<std::uint64_t>(v)); }
    void real(double& v) { words.push_back(std::bit_cast<std::uint64_t>(v)); }
    void extents(Extents& v)
    {
        words.push_back(v.size());
        for (auto e : v) words.push_back(static_cast<std::uint64_t>(e));
    }
    void opaque(const void* p, std::string_view)
    {
        words.push_back(reinterpret_cast<std::uintptr_t>(p));
        code = true;
    }

    /// Those of a node; none where it has no parameters, or does not show them.
    void read(const GraphNode& n)
    {
        words.clear(), code = false;
        if (n.op && n.primitive->fields) n.primitive->fields(const_cast<void*>(n.op.get()), *this);
    }
};
inline FieldWords& words_of(const GraphNode& n, int which)
{
    static thread_local FieldWords scratch[2];
    scratch[which].read(n);
    return scratch[which];
}

}  // namespace detail

/// The parameters of a node as words, empty where there are none.
inline std::string fields_text(const GraphNode& n, bool plain = false)
{
    if (!n.primitive || !n.op || !n.primitive->fields) return {};
    detail::FieldWriter writer;
    writer.plain = plain;
    n.primitive->fields(const_cast<void*>(n.op.get()), writer);
    return std::move(writer.text);
}

/// The same primitive, by what it does: descriptors of different libraries may lie at different addresses.
inline bool same_primitive(const Primitive& a, const Primitive& b)
{
    return &a == &b ||
           (a.name == b.name && a.ours == b.ours && a.dtype == b.dtype && a.arity == b.arity &&
            a.value == b.value && a.compute == b.compute && a.expand == b.expand && a.clone == b.clone);
}

inline bool same_parameters(const GraphNode& a, const GraphNode& b)
{
    return a.op == b.op || detail::words_of(a, 0).words == detail::words_of(b, 1).words;
}

/// The same dtype, shape and bits.
inline bool same_elements(const Block& a, const Block& b)
{
    if (a.dtype != b.dtype || !(a.shape == b.shape)) return false;
    if (a.access.device | b.access.device) [[unlikely]]
        return same_elements(*on_host(Ref<Block>(const_cast<Block*>(&a))),
                             *on_host(Ref<Block>(const_cast<Block*>(&b))));
    if (a.strided || b.strided) return false;
    return a.count == 0 || std::memcmp(a.data, b.data, a.bytes()) == 0;
}

/// The one number that a contiguous block consists of, bit by bit, as a block of rank 0; null where it has several, or none.
inline Ref<Block> only_element(const Ref<Block>& b)
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
