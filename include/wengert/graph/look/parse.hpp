// Graphs from text (graph/look/text.hpp has the format). Text is not trusted: labels, dtypes, shapes and parameters are
// checked as the library's functions check what programs give them, so that a graph that has been read can be run.
#pragma once

#include <unordered_map>

#include "../../base/file.hpp"
#include "../registry.hpp"
#include "cursor.hpp"
#include "text.hpp"

namespace wengert {

struct ReadLimits {
    /// Of all constants together that the text does not spell out element by element.
    std::size_t splat_bytes = std::size_t{1} << 30;
};

namespace detail {

template <class T> T read_number(Cursor& c)
{
    const std::string_view w = c.word();
    const auto whole = [&](auto r) {
        return !w.empty() && r.ec == std::errc() && r.ptr == w.data() + w.size();
    };
    if constexpr (std::is_same_v<T, bool>) {
        if (w != "true" && w != "false") c.fail("true or false is expected, not " + quoted(w));
        return w == "true";
    } else if constexpr (std::is_integral_v<T>) {
        T v{};
        if (!whole(std::from_chars(w.data(), w.data() + w.size(), v)))
            c.fail("a whole number is expected, not " + quoted(w.empty() ? c.rest() : w));
        return v;
    } else {
        if (w == "nan") {
            if (!c.accept(':')) return std::numeric_limits<T>::quiet_NaN();
            using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
            const std::string_view hex = c.word();
            Bits bits{};
            const auto r = std::from_chars(hex.data(), hex.data() + hex.size(), bits, 16);
            const T v = std::bit_cast<T>(bits);
            if (hex.empty() || r.ec != std::errc() || r.ptr != hex.data() + hex.size() || !std::isnan(v))
                c.fail("these are no bits of a NaN: " + quoted(hex));
            return v;
        }
        T v{};
        if (!whole(std::from_chars(w.data(), w.data() + w.size(), v)))
            c.fail("a number is expected, not " + quoted(w.empty() ? c.rest() : w));
        return v;
    }
}

inline Extents read_extents(Cursor& c)
{
    Extents out;
    c.expect('(');
    while (!c.accept(')')) {
        out.push_back(c.integer<std::int64_t>("an extent is expected"));
        if (!c.accept(',')) {
            c.expect(')');
            break;
        }
    }
    return out;
}
/// "f32(64, 10)"
inline ValueType read_type(Cursor& c)
{
    const std::string_view w = c.word();
    for (std::size_t d = 0; d < std::size(short_names); ++d)
        if (w == short_names[d]) {
            ValueType t{static_cast<DType>(d), read_extents(c)};
            check_extents(t.shape);
            return t;
        }
    c.fail("a type such as f32(64, 10) is expected, not " + quoted(w.empty() ? c.rest() : w));
}

/// Elements in words behind "constant" or "=". `splat_bytes` is what may still be made of splats.
inline Ref<Block> read_elements(Cursor& c, const ValueType& t, std::size_t& splat_bytes)
{
    const std::size_t n = element_count(t.shape), bytes = n * size_of(t.dtype);
    if (c.accept_word("base64")) {
        const std::string_view text = c.rest();
        if (text.size() != (bytes + 2) / 3 * 4) c.fail("base64 of another length than the shape needs");
        auto b = make_block(t.dtype, t.shape);
        if (!from_base64(text, b->data, bytes)) c.fail("this is no base64");
        for (std::size_t i = 0; t.dtype == DType::boolean && i < n; ++i)
            if (std::to_integer<int>(b->data[i]) > 1) c.fail("a bool that is neither true nor false");
        return b;
    }
    const bool splat = c.accept_word("splat"), list = !splat && c.accept('[');
    if (splat && n == 0) c.fail("splat needs elements");
    if (!splat && !list && n != 1)
        c.fail("one number for " + std::to_string(n) + " elements; splat or a list is expected");
    if (splat && bytes > splat_bytes)
        c.fail("a constant of " + std::to_string(bytes) + " bytes is more than the limit (ReadLimits)");
    if (splat) splat_bytes -= bytes;
    if (list && n > c.rest().size()) c.fail("fewer elements than the shape needs");
    auto b = make_block(t.dtype, t.shape);
    with_dtype(t.dtype, [&]<class T>() {
        T* x = b->as<T>();
        for (std::size_t i = 0; i < (splat ? 1 : n); ++i) {
            if (i) c.expect(',');
            x[i] = read_number<T>(c);
        }
        if (splat) std::fill_n(x, n, T(x[0]));
    });
    if (list) c.expect(']');
    c.expect_end();
    return b;
}

/// Fills in the parameters of an operation, word by word.
class FieldParser : public FieldVisitor {
public:
    explicit FieldParser(Cursor& c) : c_(c) {}
    void boolean(bool& v) override { v = read_number<bool>(c_); }
    void integer(std::int64_t& v) override
    {
        v = c_.integer<std::int64_t>("a whole number is expected as a parameter");
    }
    void real(double& v) override
    {
        const bool negative = c_.rest().starts_with("-nan");
        v = negative ? (c_.word(), -std::numeric_limits<double>::quiet_NaN()) : read_number<double>(c_);
    }
    void extents(Extents& v) override { v = read_extents(c_); }
    void opaque(const void*, std::string_view what) override
    {
        c_.fail("it holds a " + std::string(what) + ", which has no text");
    }

private:
    Cursor& c_;
};

inline Parameters read_parameters(const Primitive& p, Cursor& c)
{
    Parameters op;
    const bool braces = c.accept('{');
    if (p.fields) {
        if (!p.make) c.fail("its parameters have no text");
        void* fresh = p.make();
        op = Parameters(fresh, [destroy = p.destroy](const void* x) { destroy(const_cast<void*>(x)); });
        Cursor none("", c.line());
        FieldParser reader(braces ? c : none);
        p.fields(fresh, reader);
    }
    if (braces) c.expect('}');
    return op;
}

class GraphReader {
public:
    GraphReader(std::string_view text, const Registry& registry, const ReadLimits& limits)
        : lines_(text), registry_(registry), splat_bytes_(limits.splat_bytes)
    {}

    Graph read()
    {
        read_head();
        read_graph();
        if (lines_.next()) lines_.cursor().fail("text behind the graph's end");
        return std::move(graph_);
    }

private:
    void read_head()
    {
        if (!lines_.next()) throw GraphTextError(1, "this is empty, not a graph");
        Cursor c = lines_.cursor();
        if (!c.accept_word("wengert") || !c.accept_word("graph"))
            c.fail("this does not begin with 'wengert graph': not a graph");
        const int version = c.integer<int>("the format's version is expected");
        c.expect_end();
        if (version > graph_text_version)
            c.fail("version " + std::to_string(version) +
                   " of the format is newer than this library, which reads " +
                   std::to_string(graph_text_version));
        if (version < 1) c.fail("there is no version " + std::to_string(version));
    }

    /// Up to "end".
    void read_graph()
    {
        while (lines_.next()) {
            Cursor c = lines_.cursor();
            try {
                if (!read_line(c)) return;
            } catch (const GraphTextError&) {
                throw;
            } catch (const Error& e) {
                throw GraphTextError(lines_.line(), e.what());
            }
        }
        throw GraphTextError(lines_.line(), "the text ends before 'end'");
    }
    /// False at the end.
    bool read_line(Cursor& c)
    {
        if (c.accept('%')) {
            read_node(c);
        } else if (c.accept_word("guard")) {
            read_guard(c);
        } else if (c.accept_word("output")) {
            graph_.output(read_value(c));
        } else if (c.accept_word("update")) {
            read_update(c);
        } else if (c.accept_word("end")) {
            c.expect_end();
            return false;
        } else {
            c.fail("a value, guard, output, update or end is expected, not " + quoted(c.rest()));
        }
        c.expect_end();
        return true;
    }

    void read_node(Cursor& c)
    {
        const std::string label(read_label(c));
        c.expect('=');
        const bool plain = !c.rest().starts_with('"');
        const std::string name = c.name();
        ValueId v = no_value;
        if (plain && name == "input")
            v = read_input(c);
        else if (plain && name == "constant")
            v = read_constant(c);
        else
            v = read_operation(name, c);
        if (!labels_.emplace(label, v).second) c.fail("%" + label + " is defined twice");
    }
    std::string_view read_label(Cursor& c)
    {
        const std::string_view w = c.word();
        for (char x : w)
            if (!((x >= '0' && x <= '9') || (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z') || x == '_'))
                c.fail("a label of letters and digits is expected, not " + quoted(w));
        if (w.empty()) c.fail("a label is expected behind %");
        return w;
    }
    ValueId read_value(Cursor& c)
    {
        c.expect('%');
        const std::string_view label = read_label(c);
        const auto at = labels_.find(std::string(label));
        if (at == labels_.end()) c.fail("%" + std::string(label) + " is not defined above");
        return at->second;
    }
    Site site() const { return read_site(lines_.comment()); }
    std::uint16_t read_segment(Cursor& c)
    {
        return c.accept_word("segment") ? c.integer<std::uint16_t>("a segment's number is expected")
                                        : std::uint16_t{0};
    }

    ValueId read_input(Cursor& c)
    {
        c.expect(':');
        const ValueType t = read_type(c);
        GraphNode n;
        n.kind = GraphNode::Kind::input;
        n.segment = read_segment(c);
        return graph_.input(t.dtype, t.shape, site(), n.segment);
    }
    ValueId read_constant(Cursor& c)
    {
        const std::size_t colon = c.rest().rfind(':');
        if (colon == std::string_view::npos) c.fail("the constant's type is missing");
        Cursor elements(c.rest().substr(0, colon), c.line());
        c = Cursor(c.rest().substr(colon + 1), c.line());
        const ValueType t = read_type(c);
        GraphNode n;
        n.constant = read_elements(elements, t, splat_bytes_);
        n.kind = GraphNode::Kind::constant;
        n.dtype = t.dtype;
        n.shape = t.shape;
        n.segment = read_segment(c);
        n.at = site();
        return graph_.append(std::move(n));
    }
    ValueId read_operation(const std::string& name, Cursor& c)
    {
        std::vector<ValueId> inputs;
        std::vector<ValueType> types;
        c.expect('(');
        while (!c.accept(')')) {
            inputs.push_back(read_value(c));
            types.push_back({graph_.node(inputs.back()).dtype, graph_.node(inputs.back()).shape});
            if (!c.accept(',')) {
                c.expect(')');
                break;
            }
        }
        const Cursor parameters = c;
        if (c.accept('{')) skip_braces(c);
        std::optional<ValueType> said;
        if (c.accept(':')) said = read_type(c);
        const std::uint16_t segment = read_segment(c);
        Cursor p = parameters;
        const RegistryEntry& e =
            registry_.find(name, types, said ? std::optional(said->dtype) : std::nullopt);
        Parameters op = read_parameters(*e.primitive, p);
        const Shape shape = shape_of(name, e, op.get(), types, c);
        if (said && !(said->shape == shape))
            c.fail(name + ": the result has shape " + to_string(shape) + ", not " + to_string(said->shape));
        return graph_.operation(*e.primitive, std::move(op), std::move(inputs), shape, site(), segment);
    }
    static void skip_braces(Cursor& c)
    {
        const std::size_t end = c.rest().find('}');
        if (end == std::string_view::npos) c.fail("'}' is missing");
        c = Cursor(c.rest().substr(end + 1), c.line());
    }
    static Shape shape_of(const std::string& name, const RegistryEntry& e, const void* op, ValueTypes types,
                          const Cursor& c)
    {
        try {
            return Registry::result_shape(e, op, types);
        } catch (const std::bad_alloc&) {
            throw;
        } catch (const std::exception& error) {
            c.fail(name + " on " + types_text(types) + ": " + error.what());
        }
    }

    void read_guard(Cursor& c)
    {
        const std::string_view what = c.word();
        std::size_t k = 0;
        while (k < std::size(read_names) && read_names[k] != what) ++k;
        if (k == std::size(read_names)) c.fail("truth, item or elements is expected, not " + quoted(what));
        Guard g;
        g.what = static_cast<Read>(k);
        g.value = read_value(c);
        c.expect('=');
        const GraphNode& n = graph_.node(g.value);
        g.expected = read_elements(c, {n.dtype, n.shape}, splat_bytes_);
        g.at = site();
        c = Cursor("", c.line());
        graph_.guard(std::move(g));
    }
    void read_update(Cursor& c)
    {
        const auto input = c.integer<std::size_t>("an input's number is expected");
        if (!c.accept_word("by")) c.fail("'by' is missing");
        const auto output = c.integer<std::size_t>("an output's number is expected");
        if (input >= graph_.inputs().size() || graph_.updates()[input] != no_value)
            c.fail("there is no input " + std::to_string(input) + " left to update");
        if (output >= graph_.outputs().size())
            c.fail("there is no output " + std::to_string(output) + " above");
        const GraphNode &from = graph_.node(graph_.outputs()[output]),
                        &to = graph_.node(graph_.inputs()[input]);
        if (from.dtype != to.dtype || !(from.shape == to.shape))
            c.fail("output " + std::to_string(output) + " is " + type_text(from.dtype, from.shape) +
                   ", input " + std::to_string(input) + " " + type_text(to.dtype, to.shape));
        graph_.update(input, output);
    }

    TextLines lines_;
    const Registry& registry_;
    std::size_t splat_bytes_;
    Graph graph_;
    std::unordered_map<std::string, ValueId> labels_;
};

}  // namespace detail

/// The graph that to_text wrote, perhaps edited. Throws GraphTextError, which names the line.
inline Graph parse_graph(std::string_view text, const Registry& primitives = registry(),
                         const ReadLimits& limits = {})
{
    return detail::GraphReader(text, primitives, limits).read();
}

/// Writes the text to a file, complete or not at all. Throws Error.
inline void save_graph(const Graph& g, const std::string& path)
{
    file::Writer out(path);
    out.write(detail::head_text());
    detail::write_graph(g, {}, [&](const std::string& line) { out.write(line); });
    out.commit();
}

/// Throws Error for a file that cannot be read, GraphTextError for one that is no graph.
inline Graph load_graph(const std::string& path, const Registry& primitives = registry(),
                        const ReadLimits& limits = {})
{
    const std::vector<std::byte> bytes = file::read(path);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return parse_graph(text, primitives, limits);
}

}  // namespace wengert
