/// Graphs from text (graph/look/text.hpp has the format): they show that nothing is missing or wrong in what users are shown, and may be
/// such as no program makes. Beside what to_text writes, labels may be any letters, digits and _, of a comment the leading "file:line" is
/// read, and types of operations may be left out where the operands decide them. Text is not trusted: labels, dtypes, shapes and
/// parameters are checked as the library's functions check what programs give them, so that a graph that has been read can be run.
#pragma once

#include <unordered_map>

#include "loop_words.hpp"

namespace reading {

struct ReadLimits {
    /// Of all constants together that the text does not spell out element by element.
    std::size_t splat_bytes = std::size_t{1} << 30;
};

class GraphReader {
public:
    GraphReader(std::string_view text, const Registry& registry, const ReadLimits& limits)
        : lines_(text), registry_(registry), splat_bytes_(limits.splat_bytes)
    {}

    Graph read()
    {
        read_head();
        while (!read_graph()) {}
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
        const int version = c.number<int>("the format's version is expected");
        c.expect_end();
        if (version > graph_text_version)
            c.fail("version " + std::to_string(version) +
                   " of the format is newer than this library, which reads " +
                   std::to_string(graph_text_version));
        if (version < 1) c.fail("there is no version " + std::to_string(version));
    }

    /// Up to "end". False for the graph of a loop, which is put aside.
    bool read_graph()
    {
        std::optional<std::size_t> number;
        while (lines_.next()) {
            Cursor c = lines_.cursor();
            try {
                if (c.accept_word("graph"))
                    number = read_number(c, number);
                else if (!read_line(c))
                    return finish(c, number);
            } catch (const GraphTextError&) {
                throw;
            } catch (const Error& e) {
                throw GraphTextError(lines_.line(), e.what());
            }
        }
        throw GraphTextError(lines_.line(), "the text ends before 'end'");
    }
    /// "@3": a graph of a loop begins.
    std::size_t read_number(Cursor& c, const std::optional<std::size_t>& inside)
    {
        c.expect('@');
        const auto k = c.number<std::size_t>("a graph's number is expected");
        c.expect_end();
        if (inside || graph_.size() > 0) c.fail("a graph begins inside of another one; 'end' is missing");
        if (graphs_.contains(k)) c.fail("graph @" + std::to_string(k) + " is defined twice");
        return k;
    }
    bool finish(const Cursor& c, const std::optional<std::size_t>& number)
    {
        if (!number) return true;
        if (depth_ > max_depth) c.fail("loops are nested too deep");
        graphs_[*number] = {shared_graph(std::exchange(graph_, Graph())), depth_};
        depth_ = 1;
        labels_.clear();
        return false;
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
            v = plain && loop_kind(name) ? read_loop(name, c) : read_operation(name, plain, c);
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
        return c.accept_word("segment") ? c.number<std::uint16_t>("a segment's number is expected")
                                        : std::uint16_t{0};
    }

    ValueId read_input(Cursor& c)
    {
        c.expect(':');
        const ValueType t = read_type(c);
        const std::uint16_t segment = read_segment(c);
        return graph_.input(t.dtype, t.shape, site(), segment);
    }
    ValueId read_constant(Cursor& c)
    {
        const std::size_t colon = c.rest().rfind(':');
        if (colon == std::string_view::npos) c.fail("the constant's type is missing");
        Cursor elements(c.rest().substr(0, colon), c.line());
        c = Cursor(c.rest().substr(colon + 1), c.line());
        const ValueType t = read_type(c);
        Ref<Block> value = read_elements(elements, t, splat_bytes_);
        return graph_.constant(std::move(value), site(), read_segment(c));
    }
    std::vector<ValueId> read_operands(Cursor& c, std::vector<ValueType>& types)
    {
        std::vector<ValueId> inputs;
        c.list([&] {
            inputs.push_back(read_value(c));
            types.push_back({graph_.node(inputs.back()).dtype, graph_.node(inputs.back()).shape});
        });
        return inputs;
    }
    ValueId read_operation(const std::string& name, bool plain, Cursor& c)
    {
        std::vector<ValueType> types;
        std::vector<ValueId> inputs = read_operands(c, types);
        const Cursor parameters = c;
        if (c.accept('{')) skip_braces(c);
        std::optional<ValueType> said;
        if (c.accept(':')) said = read_type(c);
        const std::uint16_t segment = read_segment(c);
        Cursor p = parameters;
        const RegistryEntry& e =
            registry_.find(name, types, said ? std::optional(said->dtype) : std::nullopt, plain);
        Parameters op = read_parameters(e, p);
        const Shape shape = shape_of(name, e, op.get(), types, c);
        if (said && !(said->shape == shape))
            c.fail(name + ": the result has shape " + to_string(shape) + ", not " + to_string(said->shape));
        return graph_.operation(*e.primitive, std::move(op), std::move(inputs), shape, site(), segment);
    }
    static std::optional<LoopParameters::Kind> loop_kind(std::string_view name)
    {
        const auto& names = LoopParameters::names;
        const auto at = std::find(std::begin(names), std::end(names), name);
        if (at == std::end(names)) return {};
        return static_cast<LoopParameters::Kind>(at - std::begin(names));
    }
    ValueId read_loop(const std::string& name, Cursor& c)
    {
        auto p = std::make_shared<LoopParameters>();
        p->kind = *loop_kind(name);
        p->code = make_loop_code();
        std::vector<ValueType> types;
        std::vector<ValueId> inputs = read_operands(c, types);
        depth_ = std::max(depth_, 1 + LoopReader(*p, c, graphs_).read());
        LoopCheck(*p, types).check();
        const ValueType type{p->dtype, {p->size}};
        if (c.accept(':')) {
            const ValueType said = read_type(c);
            if (said.dtype != type.dtype || !(said.shape == type.shape))
                c.fail(name + ": the packed results are " + type_text(type.dtype, type.shape));
        }
        const std::uint16_t segment = read_segment(c);
        const Primitive& primitive = primitive_of(*p);
        const Loop op{std::move(p)};
        return graph_.operation(primitive, keep_parameters(primitive, &op), std::move(inputs), type.shape,
                                site(), segment);
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
            return result_shape(e, op, types);
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
        const auto input = c.number<std::size_t>("an input's number is expected");
        if (!c.accept_word("by")) c.fail("'by' is missing");
        const auto output = c.number<std::size_t>("an output's number is expected");
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
    static constexpr std::size_t max_depth = 64;
    std::map<std::size_t, ReadGraph> graphs_;  ///< of loops, by number
    std::size_t depth_ = 1;
};

/// The graph that to_text wrote, perhaps edited. Throws GraphTextError, which names the line.
inline Graph parse_graph(std::string_view text, const Registry& primitives = registry(),
                         const ReadLimits& limits = {})
{
    return GraphReader(text, primitives, limits).read();
}

}  // namespace reading
