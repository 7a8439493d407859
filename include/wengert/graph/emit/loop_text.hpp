// The text of a fused loop: one function for each shape of program, called with the addresses of its operands and results.
#pragma once

#include <memory>
#include <set>
#include <unordered_map>

#include "../ir/fold_of.hpp"
#include "../tile/group.hpp"
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

/// The program of a node of a graph.
inline TypedProgram program_of(const Graph& g, const tiling::Layouts& layouts, ValueId v, bool any = false)
{
    const GraphNode& n = g.node(v);
    DType types[Primitive::max_elementwise + 1] = {};
    double values[Primitive::max_elementwise + 1];
    const double* known[Primitive::max_elementwise + 1] = {};
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        types[i] = g.node(n.inputs[i]).dtype;
        known[i] = text_literal(g, layouts, n.inputs[i], values[i], any);
    }
    return TypedProgram(n, types, known);
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

class LoopText {
public:
    /// `overwritten`: some result lies where an operand does.
    LoopText(const Graph& g, const tiling::Layouts& layouts, const tiling::Group& group, bool overwritten)
        : g_(g), layouts_(layouts), group_(group), overwritten_(overwritten)
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
    /// Everything behind the function's name. Empty where the loop cannot be written.
    const std::string& text() const noexcept { return out_; }

private:
    template <class N> static std::string number(N n) { return std::to_string(n); }
    const char* type(ValueId v) const { return c_type(g_.node(v).dtype, Dialect::vectors); }
    bool is_literal(ValueId v) const
    {
        double value;
        return text_literal(g_, layouts_, v, value) != nullptr;
    }
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
    /// Lanes: a register of the widest type.
    std::size_t widest() const
    {
        std::size_t bytes = 1;
        const auto meet = [&](ValueId v) { bytes = std::max(bytes, size_of(g_.node(v).dtype)); };
        for (ValueId v : group_.nodes) meet(v);
        for (ValueId v : group_.operands) meet(v);
        return bytes;
    }
    void head()
    {
        // few elements take less than a register: what lies behind them costs time and, in masked loads, waits
        std::size_t few = 16 / widest();
        while (few < 64 && few < static_cast<std::size_t>(space_->extents.back())) few *= 2;
        const std::string most = "register_bytes / " + number(widest());
        out_ += "(void* const* p, f64 zero)\n{\n    enum { N = " + most + " < " + number(few) + " ? " + most +
                " : " + number(few) + " };\n";
        for (const char* t : {"f32", "f64", "i32", "i64", "u8"})
            out_ += std::string("    typedef V<") + t + ", N> " + t + "v;\n";
        const std::string restrict = overwritten_ ? "* " : "* __restrict ";
        std::size_t k = 0;
        for (std::size_t i = 0; i < group_.operands.size(); ++i, ++k)
            out_ += std::string("    const ") + type(group_.operands[i]) + restrict + "a" + number(i) +
                    " = (const " + type(group_.operands[i]) + "*)p[" + number(k) + "];\n";
        for (std::size_t i = 0; i < group_.results.size(); ++i, ++k)
            out_ += std::string("    ") + type(group_.results[i]) + restrict + "o" + number(i) + " = (" +
                    type(group_.results[i]) + "*)p[" + number(k) + "];\n";
        for (std::size_t i = 0; i < sums_.size(); ++i)
            out_ += std::string("    alignas(64) ") + type(sums_[i]) + " b" + number(i) + "[" +
                    number(block()) + "];\n";
        out_ += "    long base = 0;\n";
    }
    /// How many elements are summed before their sum joins the others'.
    std::int64_t block() const
    {
        const auto most =
            16384 / static_cast<std::int64_t>(sums_.empty() ? 8 : size_of(g_.node(sums_[0]).dtype));
        return short_row_ ? most / short_row_ * short_row_ : most;
    }

    /// Place in operand or result k: its name with the offsets of the outer loops.
    std::string row(std::size_t k, const std::string& name) const
    {
        std::string at = name;
        for (std::size_t d = 0; d + 1 < space_->rank(); ++d)
            if (const std::int64_t s = space_->strides[k][d]) at += " + i" + number(d) + " * " + number(s);
        return at;
    }
    void loop()
    {
        std::string indent = "    ";
        for (std::size_t d = 0; d + 1 < space_->rank(); ++d) {
            const std::string i = "i" + number(d);
            out_ += indent + "for (long " + i + " = 0; " + i + " < " + number(space_->extents[d]) + "; ++" +
                    i + ") {\n";
            indent += "    ";
        }
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
            const std::string n = number(i), t = type(v);
            out_ += "    const " + t + "* const r" + n + " = " + row(k, "a" + n) + ";\n";
            if (space_->strides[k].back() == 0)
                out_ += "    const auto x" + n + " = " + wrapped(v, "K<" + t + "v>(*r" + n + ")") + ";\n";
        }
        for (std::size_t i = 0; i < group_.results.size(); ++i) {
            if (is_sum(group_.results[i])) continue;
            const std::string n = number(i);
            out_ += std::string("    ") + type(group_.results[i]) + "* const w" + n + " = " +
                    row(k, "o" + n) + ";\n";
            ++k;
        }
    }
    std::string wrapped(ValueId v, const std::string& load) const
    {
        return g_.node(v).dtype == DType::boolean ? "mask_of_bytes(" + load + ")" : load;
    }
    void loads()
    {
        for (std::size_t i = 0; i < group_.operands.size(); ++i) {
            const ValueId v = group_.operands[i];
            const std::string n = number(i), t = type(v);
            names_[v] = "x" + n;
            const std::int64_t s = space_->strides[i].back();
            if (is_literal(v) || s == 0) continue;
            const std::string load = s == 1 ? "get<" + t + "v>(r" + n + " + base + j, c)"
                                            : "gather<" + t + "v>(r" + n + " + (base + j) * " + number(s) +
                                                  ", " + number(s) + ", c.value)";
            body_.push_back({"        const auto x" + n + " = " + wrapped(v, load) + ";\n", names_[v]});
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
            for (std::size_t k = first; n.at.line && k < body_.size(); ++k)
                body_[k].at = "#line " + number(n.at.line) + " \"" + escaped(n.at.file) + "\"\n";
        }
    }
    std::string literal(ValueId v) const
    {
        double value = 0;
        text_literal(g_, layouts_, v, value);
        return std::string("K<") + type(v) + "v>(" + literal_text(value, g_.node(v).dtype) + ")";
    }
    static std::string escaped(const char* file)
    {
        std::string s;
        for (const char* c = file ? file : ""; *c; ++c)
            if (*c == '\\' || *c == '"')
                s += std::string("\\") + *c;
            else if (*c != '\n')
                s += *c;
        return s;
    }
    void stores()
    {
        for (std::size_t i = 0; i < group_.results.size(); ++i) {
            const ValueId v = group_.results[i];
            if (is_sum(v)) continue;
            const bool flag = g_.node(v).dtype == DType::boolean;
            const std::string value = flag ? "(u8v)bytes_of_mask<N>(" + names_[v] + ")"
                                           : "(" + std::string(type(v)) + "v)(" + names_[v] + ")";
            body_.push_back({"        put(w" + number(i) + " + base + j, c, " + value + ");\n", ""});
        }
        for (std::size_t i = 0; i < sums_.size(); ++i)
            body_.push_back(
                {"        put(b" + number(i) + " + j, c, " + names_[g_.node(sums_[i]).inputs[0]] + ");\n",
                 ""});
    }
    void run()
    {
        const std::int64_t n = space_->extents.back(), size = block();
        if (sums_.empty()) {
            out_ += passes(n);
            return;
        }
        for (std::size_t i = 0; i < sums_.size() && !short_row_; ++i)
            out_ += std::string("    Carry<") + type(sums_[i]) + "> s" + number(i) + ";\n";
        // long text is written, and compiled, once for whole blocks and the rest
        if (bodies_ != "body" && !overwritten_ && !short_row_ && n > size && n % size >= 64) {
            const std::string whole = "base + " + number(size) + " <= " + number(n);
            out_ += "    for (base = 0; base < " + number(n) + "; base += " + number(size) +
                    ") {\n    phases_to<N>(" + whole + " ? " + number(size) + " : " + number(n % size) +
                    ", " + bodies_ + ");\n";
            for (std::size_t i = 0; i < sums_.size(); ++i) {
                const std::string b = ">(b" + number(i) + ")";
                out_ += "    s" + number(i) + ".add(" + whole + " ? fold_block<" + number(size) + b +
                        " : fold_block<" + number(n % size) + b + ");\n";
            }
            out_ += "    }\n";
        } else {
            if (n / size)
                out_ += "    for (base = 0; base < " + number(n / size * size) + "; base += " + number(size) +
                        ") {\n" + blocks(size) + "    }\n";
            if (n % size) out_ += "    base = " + number(n / size * size) + ";\n" + blocks(n % size);
        }
        out_ += "    base = 0;\n";
        for (std::size_t i = 0; i < sums_.size() && !short_row_; ++i)
            out_ += "    o" + number(place_of(sums_[i])) + "[" + sum_index() + "] = s" + number(i) +
                    ".total();\n";
    }
    std::string passes(std::int64_t n) const { return "    " + calls_ + number(n) + ">(" + bodies_ + ");\n"; }
    std::string blocks(std::int64_t n) const
    {
        std::string s = passes(n);
        for (std::size_t i = 0; i < sums_.size(); ++i) {
            const std::string k = number(i);
            if (short_row_) {
                s += "    fold_rows<" + number(short_row_) + ">(b" + k + ", o" + number(place_of(sums_[i])) +
                     " + " + sum_index() + " + base / " + number(short_row_) + ", " + number(n / short_row_) +
                     ");\n";
                continue;
            }
            s += "    s" + k + ".add(fold_block<" + number(n) + ">(b" + k + "));\n";
        }
        return s;
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
            at += " + i" + number(d) + " * " + number(stride);
        return at;
    }

    const Graph& g_;
    const tiling::Layouts& layouts_;
    const tiling::Group& group_;
    bool overwritten_;
    Shape shape_;
    std::vector<ValueId> sums_;
    std::unique_ptr<LoopSpace> space_;
    std::int64_t short_row_ = 0;  ///< elements of rows that are computed as one and summed across
    std::unordered_map<ValueId, std::string> names_;
    std::vector<BodyLine> body_;
    std::string calls_, bodies_;  ///< what goes through the elements, of what
    std::string out_;
};

}  // namespace wengert::detail
