// Parameters of operations as text, and compared: what printing and common subexpressions need of them.
#pragma once

#include <bit>
#include <cstdio>
#include <cstring>
#include <string>

#include "../../array/layout.hpp"
#include "../../functions/rules/term_text.hpp"
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
    void opaque(const void* p, std::string_view what);

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
    void extents(Extents& v);
    void opaque(const void* p, std::string_view);
};
/// The parameters of a node. There are none if it has no parameters or does not show them.
FieldWords words_of(const GraphNode& n);

}  // namespace detail

/// The parameters of a node as words, empty where there are none.
std::string fields_text(const GraphNode& n, bool plain = false);

/// The same primitive, by what it does: descriptors of different libraries may lie at different addresses.
bool same_primitive(const Primitive& a, const Primitive& b);

bool same_parameters(const GraphNode& a, const GraphNode& b);

/// The same dtype, shape and bits.
bool same_elements(const Block& a, const Block& b);

/// The one number that a contiguous block consists of, bit by bit, as a block of rank 0; null where it has several, or none.
Ref<Block> only_element(const Ref<Block>& b);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/fields.ipp"
#endif
