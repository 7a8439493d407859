// Parameters of operations as text, and compared: what printing, common subexpressions and files need of them.
#pragma once

#include <charconv>
#include <cstring>
#include <string>

#include "../../array/layout.hpp"
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
    void real(double& v)
    {
        char buffer[32];
        word(std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr));
    }
    void extents(Extents& v) { word(to_string(v)); }
    void opaque(const void* p, std::string_view what)
    {
        char buffer[32];
        const auto end =
            std::to_chars(buffer, buffer + sizeof buffer, plain ? 0 : reinterpret_cast<std::uintptr_t>(p), 16)
                .ptr;
        word(std::string(what) + "@" + std::string(buffer, end));
    }

private:
    void word(const std::string& w) { text += (text.empty() ? "" : " ") + w; }
};

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
    return a.op == b.op || fields_text(a) == fields_text(b);
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

}  // namespace wengert
