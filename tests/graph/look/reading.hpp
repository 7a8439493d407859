/// A graph's text read beside the graph, part by part: each number, name and parameter that the graph has must stand there, in the form
/// that graph/look/text.hpp promises. It shows that a text leaves nothing out, and it knows nothing of how texts are written.
#pragma once

#include <wengert/graph/loops/loop_rules.hpp>

#include <bit>
#include <charconv>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace look {

using namespace wengert;

/// Where a text says something else than the graph: the line, and what was expected there.
struct Unsaid {
    std::string what;
};

class Reading : public FieldVisitorOf<Reading> {
public:
    explicit Reading(std::string_view text) : whole_(text), rest_(text) {}

    void all(const Graph& g)
    {
        expect("wengert graph 1\n");
        graph(g, false);
        demand(rest_.empty(), "the text's end");
    }

    // Parameters, a blank between them.
    void boolean(bool& v)
    {
        parameter([&] { value(v); });
    }
    void integer(std::int64_t& v)
    {
        parameter([&] { value(v); });
    }
    void real(double& v)
    {
        parameter([&] { value(v); });
    }
    void extents(Extents& v)
    {
        parameter([&] { numbers(v); });
    }
    void opaque(const void*, std::string_view what)
    {
        parameter([&] { expect(what), expect("@"), word(); });
    }

private:
    [[noreturn]] void fail(const std::string& expected) const
    {
        const auto before = whole_.substr(0, whole_.size() - rest_.size());
        const std::size_t from = before.rfind('\n') + 1;
        throw Unsaid{"not " + expected + ": " +
                     std::string(whole_.substr(from, whole_.find('\n', from) - from))};
    }
    void demand(bool holds, const std::string& expected) const
    {
        if (!holds) fail(expected);
    }
    bool accept(std::string_view part)
    {
        if (!rest_.starts_with(part)) return false;
        rest_.remove_prefix(part.size());
        return true;
    }
    void expect(std::string_view part) { demand(accept(part), "'" + std::string(part) + "'"); }
    std::string_view word()
    {
        const std::string_view w = rest_.substr(0, rest_.find_first_of(" (){}[],\n"));
        rest_.remove_prefix(w.size());
        return w;
    }
    /// The next word, read as a T, has the bits of v.
    template <class T> void value(T v)
    {
        const T said = read<T>(word());
        demand(std::memcmp(&said, &v, sizeof v) == 0, std::to_string(v));
    }
    template <class T> T read(std::string_view w) const
    {
        if constexpr (std::is_same_v<T, bool>) {
            demand(w == "true" || w == "false", "true or false");
            return w == "true";
        } else {
            if constexpr (std::is_floating_point_v<T>) {
                using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
                if (w.starts_with("nan:")) return std::bit_cast<T>(parsed<Bits>(w.substr(4), 16));
            }
            return parsed<T>(w);
        }
    }
    template <class T, class... Base> T parsed(std::string_view w, Base... base) const
    {
        T v{};
        const auto r = std::from_chars(w.data(), w.data() + w.size(), v, base...);
        demand(r.ec == std::errc() && r.ptr == w.data() + w.size(), "a number");
        return v;
    }
    /// "(a, b)", each read by one(x).
    template <class List, class F> void list(const List& all, const F& one, std::string_view brackets = "()")
    {
        expect(brackets.substr(0, 1));
        bool first = true;
        for (const auto& x : all) {
            if (!std::exchange(first, false)) expect(", ");
            one(x);
        }
        expect(brackets.substr(1));
    }
    template <class List> void numbers(const List& all)
    {
        list(all, [&](auto n) { value(n); });
    }
    template <class F> void parameter(const F& read)
    {
        if (std::exchange(parameters_, true)) expect(" ");
        read();
    }

    void type(DType d, const Shape& shape)
    {
        const std::map<DType, std::string_view> names = {{DType::float32, "f32"},
                                                         {DType::float64, "f64"},
                                                         {DType::int32, "i32"},
                                                         {DType::int64, "i64"},
                                                         {DType::boolean, "bool"}};
        expect(names.at(d));
        numbers(shape);
    }
    void elements(const Block& block)
    {
        const Ref<Block> b = readable(Ref<Block>(const_cast<Block*>(&block)));
        if (accept("base64 ")) return bytes(*b);
        with_dtype(b->dtype, [&]<class T>() {
            const std::span<const T> x(b->as<T>(), b->count);
            if (accept("splat ")) {
                demand(!x.empty(), "elements");
                const std::string_view at = rest_;
                for (T e : x) rest_ = at, value(e);
            } else if (block.shape.empty()) {
                value(x[0]);
            } else {
                list(
                    x, [&](T e) { value(e); }, "[]");
            }
        });
    }
    void bytes(const Block& b)
    {
        static const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const std::string_view text = word();
        const std::size_t n = b.bytes();
        demand(text.size() == (n + 2) / 3 * 4, "base64 of that length");
        for (std::size_t i = 0; i < text.size() / 4 * 3; ++i) {
            const auto digit = [&](std::size_t k) {
                return text[k] == '=' && k >= text.size() - 2 ? 0U
                                                              : static_cast<unsigned>(digits.find(text[k]));
            };
            const std::size_t k = i / 3 * 4;
            const unsigned bits = digit(k) << 18 | digit(k + 1) << 12 | digit(k + 2) << 6 | digit(k + 3);
            const unsigned wanted = i < n ? std::to_integer<unsigned>(b.data[i]) : 0U;
            demand((bits >> (16 - i % 3 * 8) & 0xff) == wanted, "the bytes of the elements");
        }
    }

    void graph(const Graph& g, bool of_loop)
    {
        for (const GraphNode& n : g.nodes())
            if (const LoopParameters* p = loop_parameters(n))
                for (const auto& inner : {p->body, p->other, p->pull})
                    if (inner && !numbers_.contains(inner.get())) graph(*inner, true);
        if (of_loop) {
            expect("graph @"), value(numbers_.size()), expect("\n");
            numbers_.emplace(&g, numbers_.size());
        }
        for (ValueId v = 0; v < g.size(); ++v) line(g.node(v), v);
        for (const Guard& guard : g.guards()) {
            expect(guard.what == Read::truth  ? "guard truth %"
                   : guard.what == Read::item ? "guard item %"
                                              : "guard elements %");
            value(guard.value), expect(" = "), elements(*guard.expected), comment(guard.at);
        }
        for (ValueId v : g.outputs()) expect("output %"), value(v), expect("\n");
        for (std::size_t i = 0; i < g.updates().size(); ++i)
            if (g.updates()[i] != no_value)
                expect("update "), value(i), expect(" by "), value(g.updates()[i]), expect("\n");
        expect("end\n");
    }
    void line(const GraphNode& n, ValueId v)
    {
        expect("%"), value(v), expect(" = ");
        if (n.kind == GraphNode::Kind::input)
            expect("input");
        else if (n.kind == GraphNode::Kind::constant)
            expect("constant "), elements(*n.constant);
        else
            operation(n);
        expect(" : "), type(n.dtype, n.shape);
        if (n.segment) expect(" segment "), value(n.segment);
        comment(n.at);
    }
    void operation(const GraphNode& n)
    {
        const bool result = n.kind == GraphNode::Kind::result;
        if (result)
            expect("result");
        else
            name(*n.primitive);
        list(n.inputs, [&](ValueId v) { expect("%"), value(v); });
        const LoopParameters* p = loop_parameters(n);
        const bool some = result || p || !fields_text(n).empty();
        if (some) expect(" {");
        parameters_ = false;
        if (p)
            loop(*p);
        else if (result)
            value(n.index);
        else if (some)
            n.primitive->fields(const_cast<void*>(n.op.get()), *this);
        if (some) expect("}");
    }
    /// A plain word is the library's; a program's own is in quotes.
    void name(const Primitive& p)
    {
        const bool plain =
            p.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") ==
            std::string_view::npos;
        if (p.ours && plain) return expect(p.name);
        expect("\"");
        for (char c : p.name) {
            if (c == '"' || c == '\\') expect("\\");
            expect(c == '\n' || c == '\r' ? " " : std::string_view(&c, 1));
        }
        expect("\"");
    }
    void comment(const Site& at)
    {
        const std::string_view file = at.file ? at.file : "";
        if (at.line > 0)
            expect("  # "), expect(file.substr(file.rfind('/') + 1)), expect(":"), value(at.line);
        if (at.line > 0 ? accept(" | ") : accept("  # | ")) rest_.remove_prefix(rest_.find('\n'));
        expect("\n");
    }

    /// What a loop has is said by its word, but for what it has not.
    void loop(const LoopParameters& p)
    {
        const auto said = [&](std::string_view word, bool has, const auto& read) {
            if (!has) return;
            if (std::exchange(parameters_, true)) expect(" ");
            expect(word), read();
        };
        const auto number = [&](std::string_view word, auto n, bool always = false) {
            said(word, always || n != 0, [&] { expect(" "), value(n); });
        };
        const auto places = [&](std::string_view word, const std::vector<std::size_t>& x, bool always) {
            said(word, always || !x.empty(), [&] { expect(" "), numbers(x); });
        };
        const auto graph = [&](std::string_view word, const std::shared_ptr<const Graph>& g) {
            said(word, g != nullptr, [&] { expect(" @"), value(numbers_.at(g.get())); });
        };
        using Kind = LoopParameters::Kind;
        const bool cond = p.kind == Kind::cond, scan = p.kind == Kind::scan || p.kind == Kind::scan_pull,
                   pull = p.kind == Kind::while_pull || p.kind == Kind::scan_pull;
        graph("body", p.body), graph(cond ? "else" : "test", p.other), graph("pull", p.pull);
        number("steps", p.steps, scan);
        said("backwards", p.backwards, [] {}), said("effects", p.effects, [] {});
        number("states", p.states, !cond), number("xs", p.xs, scan);
        number("ignored", p.ignored), number("kept", p.kept), number("snapshots", p.snapshots);
        said("guard", p.guard != LoopParameters::npos, [&] { expect(" "), value(p.guard); });
        places("active", p.active_states, pull), places("sums", p.active_constants, pull);
        places("slices", p.active_xs, p.kind == Kind::scan_pull);
        said("results", true, [&] {
            expect(" ");
            list(p.results, [&](const LoopParameters::Result& r) {
                type(r.dtype, r.shape);
                if (r.wanted()) expect(" at "), value(r.offset);
            });
        });
        number("size", p.size, true);
    }

    std::string_view whole_, rest_;
    std::map<const Graph*, std::size_t> numbers_;
    bool parameters_ = false;  ///< some have been read
};

/// What the text does not say of the graph, or says of no graph; "" where it says all.
inline std::string unsaid(const Graph& g, std::string_view text)
{
    try {
        Reading(text).all(g);
    } catch (const Unsaid& u) {
        return u.what;
    }
    return "";
}

}  // namespace look
