// The text of a fused loop: one function for each shape of program, called with the addresses of its operands and results.
#pragma once

#include <memory>
#include <set>
#include <unordered_map>

#include "../ir/fold_of.hpp"
#include "../look/escape.hpp"
#include "../fuse/group.hpp"
#include "loop_phases.hpp"

namespace wengert::detail {

/// A number that is written into the text, however it is reshaped or broadcast: halves and small whole numbers. Others are
/// read from memory, so that a program with another learning rate is the same program.
inline const double* text_literal(const Graph& g, const tiling::Layouts& layouts, ValueId v, double& value,
                                  bool any = false)
{
    const GraphNode& n = g.node(layouts[v].root);
    if (n.kind != Graph::Kind::constant || n.constant->count != 1 || n.dtype == DType::boolean)
        return nullptr;
    const Block& b = *n.constant;
    value = with_dtype(n.dtype, [&]<class T>() { return static_cast<double>(*b.as<T>()); });
    if (!differentiable(n.dtype) && std::abs(value) >= 0x1p53) return nullptr;  // a double may not have it
    if (any) return &value;
    const bool simple = std::abs(value) <= 1024 && value * 8 == std::trunc(value * 8);
    return simple && !(value == 0 && std::signbit(value)) ? &value : nullptr;
}
inline bool is_literal(const Graph& g, const tiling::Layouts& layouts, ValueId v)
{
    double value;
    return text_literal(g, layouts, v, value) != nullptr;
}

/// The program of a node of a graph, over vectors or over plain numbers.
inline TypedProgram program_of(const Graph& g, const tiling::Layouts& layouts, ValueId v, bool plain = false)
{
    const GraphNode& n = g.node(v);
    // other operations may have more operands than the arrays have room for
    if (!n.primitive || !n.primitive->describe) return {};
    DType types[Primitive::max_elementwise + 1] = {};
    double values[Primitive::max_elementwise + 1];
    const double* known[Primitive::max_elementwise + 1] = {};
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        types[i] = g.node(n.inputs[i]).dtype;
        known[i] = text_literal(g, layouts, n.inputs[i], values[i], plain);
    }
    return TypedProgram(n, types, known, plain);
}

/// The axes of a loop with those merged that are one run through memory for every operand.
struct LoopSpace {
    std::vector<std::int64_t> extents;
    std::vector<std::vector<std::int64_t>> strides;  ///< of each operand, then of each result

    /// `inner` last axes stay apart from the others: what a sum at the end runs over.
    LoopSpace(const Shape& shape, const std::vector<Strides>& of, std::size_t inner) : strides(of.size())
    {
        bool apart = inner > 0;
        for (std::size_t d = 0; d < shape.size(); ++d) {
            if (shape[d] == 1) continue;
            const bool begins = apart && d >= shape.size() - inner;
            if (begins) apart = false;
            if (!extents.empty() && !begins && merges(shape[d], of, d)) {
                extents.back() *= shape[d];
                for (std::size_t k = 0; k < of.size(); ++k) strides[k].back() = of[k][d];
                continue;
            }
            extents.push_back(shape[d]);
            for (std::size_t k = 0; k < of.size(); ++k) strides[k].push_back(of[k][d]);
        }
        if (!extents.empty()) return;
        extents.push_back(1);
        for (auto& s : strides) s.push_back(1);
    }
    std::size_t rank() const noexcept { return extents.size(); }

private:
    bool merges(std::int64_t extent, const std::vector<Strides>& of, std::size_t d) const
    {
        for (std::size_t k = 0; k < of.size(); ++k)
            if (strides[k].back() != of[k][d] * extent) return false;
        return true;
    }
};

/// The user's line as a #line directive, for tools that read compiled code. Empty if the line is unknown.
inline std::string line_directive(const Site& at)
{
    return at.line ? filled("#line $ \"$\"\n", at.line, quoted_text(at.file ? at.file : "")) : std::string();
}

/// What the texts of fused loops share: a function of the addresses of operands and results, over vectors.
class FusedText {
public:
    /// Everything behind the function's name. Empty where the loop cannot be written.
    const std::string& text() const noexcept { return out_; }

protected:
    FusedText(const Graph& g, const tiling::Layouts& layouts, const tiling::Group& group)
        : g_(g), layouts_(layouts), group_(group)
    {}
    template <class N> static std::string number(N n) { return std::to_string(n); }
    /// A line, with the arguments in the places of its $.
    template <class... A> void add(std::string_view text, const A&... arguments)
    {
        out_ += filled(text, arguments...) + "\n";
    }
    const char* type(ValueId v) const { return c_type(g_.node(v).dtype, Dialect::vectors); }
    bool is_literal(ValueId v) const { return wengert::detail::is_literal(g_, layouts_, v); }
    std::string literal(ValueId v) const
    {
        double value = 0;
        text_literal(g_, layouts_, v, value);
        return filled("K<$v>($)", type(v), literal_text(value, g_.node(v).dtype));
    }
    /// The elements of an operand from `at` on: one number, a run or apart by the stride `s`, at j.
    std::string loaded(ValueId v, const std::string& at, std::int64_t s, const char* j) const
    {
        const char* const t = type(v);
        const std::string load = s == 0   ? filled("K<$v>(*($))", t, at)
                                 : s == 1 ? filled("get<$v>($ + $, c)", t, at, j)
                                          : filled("gather<$v>($ + ($) * $, $, c.value)", t, at, j, s, s);
        return g_.node(v).dtype == DType::boolean ? "mask_of_bytes(" + load + ")" : load;
    }
    /// An address with the offsets of the loops over all axes but the last.
    template <class S> static std::string row(std::string at, const S& strides, std::size_t rank)
    {
        for (std::size_t d = 0; d + 1 < rank; ++d)
            if (strides[d]) at += filled(" + i$ * $", d, strides[d]);
        return at;
    }
    std::size_t widest() const
    {
        std::size_t bytes = 1;
        for (const auto* list : {&group_.nodes, &group_.operands})
            for (ValueId v : *list) bytes = std::max(bytes, size_of(g_.node(v).dtype));
        return bytes;
    }
    /// Chooses the vectors of a run of elements: as many of the widest type as a register has, less for short runs. Lanes
    /// without elements cost time, and masked loads of them wait.
    void vectors_for(std::int64_t elements)
    {
        const std::size_t bytes = widest();
        std::size_t lanes = 16 / bytes;
        while (lanes < 64 && static_cast<std::int64_t>(lanes) < elements) lanes *= 2;
        add("    enum { N = register_bytes / $ < $ ? register_bytes / $ : $, W = N * $ };", bytes, lanes,
            bytes, lanes, bytes);
        for (const char* t : {"f32", "f64", "i32", "i64", "u8"}) add("    typedef V<$, N> $v;", t, t);
    }
    /// a0, a1, … and o0, o1, …, whose addresses are p[0], p[1], …
    void pointers(bool overwritten)
    {
        const char* const restrict = overwritten ? "" : " __restrict";
        std::size_t k = 0;
        for (std::size_t i = 0; i < group_.operands.size(); ++i, ++k)
            add("    const $*$ a$ = (const $*)p[$];", type(group_.operands[i]), restrict, i,
                type(group_.operands[i]), k);
        for (std::size_t i = 0; i < group_.results.size(); ++i, ++k)
            add("    $*$ o$ = ($*)p[$];", type(group_.results[i]), restrict, i, type(group_.results[i]), k);
    }

    const Graph& g_;
    const tiling::Layouts& layouts_;
    const tiling::Group& group_;
    std::string out_;
};

class LoopText : public FusedText {
public:
    /// `overwritten`: some result lies where an operand does.
    LoopText(const Graph& g, const tiling::Layouts& layouts, const tiling::Group& group, bool overwritten)
        : FusedText(g, layouts, group), overwritten_(overwritten)
    {
        for (ValueId v : group.nodes)
            if (g.node(v).primitive->value)
                shape_ = g.node(v).shape;
            else if (std::find(group.results.begin(), group.results.end(), v) != group.results.end())
                sums_.push_back(v);
        find_space();
        head();
        loop();
        out_ += "}\n";
    }

private:
    bool is_sum(ValueId v) const { return !g_.node(v).primitive->value; }

    void find_space()
    {
        std::vector<Strides> of;
        for (ValueId v : group_.operands)
            of.push_back(broadcast_strides(g_.node(v).shape, layouts_[v].strides, shape_));
        for (ValueId v : group_.results)
            if (!is_sum(v)) of.push_back(row_major(shape_));
        std::size_t inner = 0;
        for (ValueId v : sums_) inner = summed_axes(g_, g_.node(v))->size();
        space_ = std::make_unique<LoopSpace>(shape_, of, inner);
        if (!sums_.empty()) flatten();
    }
    /// Short rows that lie one behind the other for every operand are computed as one, and then summed across.
    void flatten()
    {
        const std::size_t last = space_->rank() - 1;
        const std::int64_t n = space_->extents[last];
        if (last == 0 || n <= 4 || n > 32) return;
        for (const auto& s : space_->strides)
            if (s[last - 1] != s[last] * n) return;
        short_row_ = n;
        space_->extents[last - 1] *= n;
        space_->extents.pop_back();
        for (auto& s : space_->strides) {
            s[last - 1] = s[last];
            s.pop_back();
        }
    }
    void head()
    {
        add("(void* const* p, f64 zero)\n{");
        vectors_for(space_->extents.back());
        pointers(overwritten_);
        for (std::size_t i = 0; i < sums_.size(); ++i)
            add("    alignas(64) $ b$[$];", type(sums_[i]), i, block());
        add("    long base = 0;");
    }
    /// How many elements are summed before their sum joins the others'.
    std::int64_t block() const
    {
        const auto most =
            16384 / static_cast<std::int64_t>(sums_.empty() ? 8 : size_of(g_.node(sums_[0]).dtype));
        return short_row_ ? most / short_row_ * short_row_ : most;
    }

    /// The address of the present row in operand or result k.
    std::string row(std::size_t k, const std::string& name) const
    {
        return FusedText::row(name, space_->strides[k], space_->rank());
    }
    void loop()
    {
        for (std::size_t d = 0; d + 1 < space_->rank(); ++d)
            add("    for (long i$ = 0; i$ < $; ++i$) {", d, d, space_->extents[d], d);
        rows();
        loads();
        statements();
        stores();
        body();
        run();
        for (std::size_t d = 0; d + 1 < space_->rank(); ++d) out_ += "    }\n";
    }
    /// In phases where there are enough vectors for it, otherwise whole.
    void body()
    {
        const LoopPhases phases(body_);
        if (phases.count() > 0 && space_->extents.back() >= 4 * 64 / static_cast<std::int64_t>(widest())) {
            out_ += phases.text();
            calls_ = overwritten_ ? "in_phases<N, true, " : "in_phases<N, false, ";
            for (std::size_t p = 0; p < phases.count(); ++p) bodies_ += (p ? ", p" : "p") + number(p);
            return;
        }
        calls_ = overwritten_ ? "along_once<N, " : "along<N, ";
        bodies_ = "body";
        out_ += "    const auto body = [&](long j, auto c) __attribute__((always_inline)) {\n";
        std::string at;
        for (const BodyLine& line : body_) append_line(out_, line, at);
        out_ += "    };\n";
    }
    void rows()
    {
        std::size_t k = 0;
        for (std::size_t i = 0; i < group_.operands.size(); ++i, ++k) {
            const ValueId v = group_.operands[i];
            if (is_literal(v)) continue;
            add("    const $* const r$ = $;", type(v), i, row(k, "a" + number(i)));
            if (space_->strides[k].back() == 0)
                add("    const auto x$ = $;", i, loaded(v, "r" + number(i), 0, ""));
        }
        for (std::size_t i = 0; i < group_.results.size(); ++i)
            if (!is_sum(group_.results[i]))
                add("    $* const w$ = $;", type(group_.results[i]), i, row(k++, "o" + number(i)));
    }
    void loads()
    {
        for (std::size_t i = 0; i < group_.operands.size(); ++i) {
            const ValueId v = group_.operands[i];
            names_[v] = "x" + number(i);
            const std::int64_t s = space_->strides[i].back();
            if (is_literal(v) || s == 0) continue;
            const std::string load = loaded(v, "r" + number(i), s, "base + j");
            body_.push_back({filled("        const auto x$ = $;\n", i, load), names_[v]});
        }
    }
    std::size_t long_functions() const
    {
        std::size_t count = 0;
        for (ValueId v : group_.nodes) {
            if (is_sum(v)) continue;
            const TypedProgram p = program_of(g_, layouts_, v);
            for (const TermStep& s : p.steps()) count += is_long(s.kind);
        }
        return count;
    }
    void statements()
    {
        std::string text;
        TermCode code(text, long_functions() > 3, &body_);
        for (ValueId v : group_.nodes) {
            const GraphNode& n = g_.node(v);
            if (is_sum(v)) continue;
            const std::size_t first = body_.size();
            std::vector<std::string> in;
            for (ValueId i : n.inputs) in.push_back(is_literal(i) ? literal(i) : names_[i]);
            names_[v] = code.write(program_of(g_, layouts_, v), in);
            for (std::size_t k = first; k < body_.size(); ++k) body_[k].at = line_directive(n.at);
        }
    }
    void stores()
    {
        for (std::size_t i = 0; i < group_.results.size(); ++i) {
            const ValueId v = group_.results[i];
            if (is_sum(v)) continue;
            const bool flag = g_.node(v).dtype == DType::boolean;
            const std::string value =
                filled(flag ? "($v)bytes_of_mask<N>($)" : "($v)($)", type(v), names_[v]);
            body_.push_back({filled("        put(w$ + base + j, c, $);\n", i, value), "", {names_[v]}});
        }
        for (std::size_t i = 0; i < sums_.size(); ++i) {
            const std::string& x = names_[g_.node(sums_[i]).inputs[0]];
            body_.push_back({filled("        put(b$ + j, c, $);\n", i, x), "", {x}});
        }
    }
    void run()
    {
        const std::int64_t n = space_->extents.back(), size = block();
        if (sums_.empty()) return add("    $$>($);", calls_, n, bodies_);
        for (std::size_t i = 0; i < sums_.size() && !short_row_; ++i)
            add("    Carry<$> s$;", type(sums_[i]), i);
        // long text is written, and compiled, once for whole blocks and the rest
        if (bodies_ != "body" && !overwritten_ && !short_row_ && n > size && n % size >= 64) {
            const std::string whole = filled("base + $ <= $", size, n);
            add("    for (base = 0; base < $; base += $) {", n, size);
            add("    phases_to<N>($ ? $ : $, $);", whole, size, n % size, bodies_);
            for (std::size_t i = 0; i < sums_.size(); ++i)
                add("    s$.add($ ? fold_block<$>(b$) : fold_block<$>(b$));", i, whole, size, i, n % size, i);
            add("    }");
        } else {
            if (n / size) {
                add("    for (base = 0; base < $; base += $) {", n / size * size, size);
                blocks(size);
                add("    }");
            }
            if (n % size) {
                add("    base = $;", n / size * size);
                blocks(n % size);
            }
        }
        add("    base = 0;");
        for (std::size_t i = 0; i < sums_.size() && !short_row_; ++i)
            add("    o$[$] = s$.total();", place_of(sums_[i]), sum_index(), i);
    }
    void blocks(std::int64_t n)
    {
        add("    $$>($);", calls_, n, bodies_);
        for (std::size_t i = 0; i < sums_.size(); ++i)
            if (short_row_)
                add("    fold_rows<$>(b$, o$ + $ + base / $, $);", short_row_, i, place_of(sums_[i]),
                    sum_index(), short_row_, n / short_row_);
            else
                add("    s$.add(fold_block<$>(b$));", i, n, i);
    }
    std::size_t place_of(ValueId sum) const
    {
        return static_cast<std::size_t>(std::find(group_.results.begin(), group_.results.end(), sum) -
                                        group_.results.begin());
    }
    std::string sum_index() const
    {
        std::string at = "0";
        std::int64_t stride = short_row_ ? space_->extents.back() / short_row_ : 1;
        for (std::size_t d = space_->rank() - 1; d-- > 0; stride *= space_->extents[d])
            at += filled(" + i$ * $", d, stride);
        return at;
    }

    bool overwritten_;
    Shape shape_;
    std::vector<ValueId> sums_;
    std::unique_ptr<LoopSpace> space_;
    std::int64_t short_row_ = 0;  ///< elements of rows that are computed as one and summed across
    std::unordered_map<ValueId, std::string> names_;
    std::vector<BodyLine> body_;
    std::string calls_, bodies_;  ///< the call that loops over elements, and the bodies that it is given
};

}  // namespace wengert::detail
