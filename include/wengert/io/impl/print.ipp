// The bodies of print.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../../base/separate.hpp"
#include "../print.hpp"

namespace wengert {

namespace detail {

/// How all elements of a tensor are printed.
struct NumberFormat {
    bool scientific = false;
    int digits = 0;  ///< after the point
    int width = 0;
};

inline std::string format_number(double x, const NumberFormat& f)
{
    char text[400];                      // the largest double has 309 digits before the point
    if (std::isnan(x)) x = std::abs(x);  // printf would write a NaN's sign
    std::snprintf(text, sizeof text, f.scientific ? "%*.*e" : "%*.*f", f.width, f.digits, x);
    return text;
}

/// Digits after the point that x needs, at most eight.
inline int digits_needed(double x, bool scientific)
{
    std::string text = format_number(x, {scientific, 8, 0});
    text = text.substr(0, text.find('e'));
    const auto point = text.find('.');
    if (point == std::string::npos) return 0;
    return static_cast<int>(text.find_last_not_of('0') - point);
}

/// NumPy's choice: powers of ten where the elements span more than a thousand, or are very large or small.
inline NumberFormat choose_format(const std::vector<double>& shown, bool integral)
{
    NumberFormat f;
    double smallest = HUGE_VAL, largest = 0;
    for (double x : shown)
        if (std::isfinite(x) && x != 0) {
            smallest = std::min(smallest, std::abs(x));
            largest = std::max(largest, std::abs(x));
        }
    f.scientific =
        !integral && largest > 0 && (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1e6);
    for (double x : shown)
        if (std::isfinite(x) && !integral) f.digits = std::max({f.digits, 1, digits_needed(x, f.scientific)});
    for (double x : shown) f.width = std::max(f.width, static_cast<int>(format_number(x, f).size()));
    return f;
}

/// Visits a tensor's elements with brackets; of a long one only three at each end of each axis.
struct TensorPrinter {
    static constexpr std::int64_t edge = 3;
    static constexpr std::size_t longest = 1000;
    static constexpr std::size_t line_width = 75;

    const Block& block;
    Strides strides = block.strides();
    std::vector<std::string> words{};
    std::size_t next = 0;
    std::string text{};

    bool gap(std::size_t axis, std::int64_t i) const
    {
        return block.count > longest && block.shape[axis] > 2 * edge && i == edge;
    }
    /// fn(offset) for each element shown; its depth is the rank.
    template <class F> void visit(std::size_t axis, std::int64_t offset, const F& fn) const
    {
        if (axis == block.shape.size()) return fn(offset);
        for (std::int64_t i = 0; i < block.shape[axis]; ++i) {
            if (gap(axis, i)) i = block.shape[axis] - edge;
            visit(axis + 1, offset + i * strides[axis], fn);
        }
    }
    void print(std::size_t axis)
    {
        if (axis == block.shape.size()) {
            text += words[next++];
            return;
        }
        text += '[';
        for (std::int64_t i = 0; i < block.shape[axis]; ++i) {
            separate(axis, i);
            if (gap(axis, i)) {
                text += "...";
                i = block.shape[axis] - edge;
                separate(axis, i);
            }
            print(axis + 1);
        }
        text += ']';
    }

private:
    /// What stands before element i of an axis. A row that grows too long goes on in the next line, below its first word.
    void separate(std::size_t axis, std::int64_t i)
    {
        if (i == 0) return;
        const std::size_t inner = block.shape.size() - axis - 1;
        const std::size_t column = text.size() - (text.find_last_of('\n') + 1);  // npos + 1 is 0
        if (inner == 0 && column + 1 + words[next].size() + 1 <= line_width)
            text += ' ';
        else
            text += std::string(std::max<std::size_t>(inner, 1), '\n') + std::string(axis + 1, ' ');
    }
};

template <class T> std::string printed_as(const Block& b)
{
    TensorPrinter printer{b};
    if (b.count == 0) return "[]";
    const T* x = host_elements<T>(b);
    if constexpr (std::is_floating_point_v<T>) {
        std::vector<double> shown;
        printer.visit(0, 0, [&](std::int64_t at) { shown.push_back(static_cast<double>(x[at])); });
        const NumberFormat f = choose_format(shown, false);
        for (double v : shown) printer.words.push_back(format_number(v, f));
    } else {
        std::size_t width = 0;
        printer.visit(0, 0, [&](std::int64_t at) {
            if constexpr (std::is_same_v<T, bool>)
                printer.words.push_back(x[at] ? "true" : "false");
            else
                printer.words.push_back(std::to_string(x[at]));
            width = std::max(width, printer.words.back().size());
        });
        for (auto& word : printer.words) word.insert(0, width - word.size(), ' ');
    }
    printer.print(0);
    return printer.text;
}

/// The elements with their brackets.
inline std::string printed_elements(const Block& b)
{
    std::string text;
    with_dtype(b.dtype, [&]<class T>() { text = printed_as<T>(b); });
    return text;
}

WENGERT_INLINE std::string printed(const AnyTensor& x, DType dtype)
{
    if (!x.value) return "Tensor<" + std::string(name_of(dtype)) + ">(undefined)";
    note_read(*x.value, Read::elements, {});
    std::string text = printed_elements(*x.value);
    if (x.value->shape.size() == 0) return text;
    text += x.value->shape.size() > 1 ? '\n' : ' ';
    text += "shape=" + to_string(x.value->shape) + " dtype=" + std::string(name_of(x.value->dtype));
    if (const Node* n = x.node.get()) {
        text += " op=" + std::string(n->primitive->name);
        if (n->at.line > 0) text += " (" + to_string(n->at) + ")";
    }
    return text;
}

inline std::string inputs_text(const Node& n)
{
    std::string text;
    for (std::size_t i = 0; i < n.input_count; ++i) {
        text += i ? " " : "";
        if (n.inputs[i])
            text.append("#").append(std::to_string(n.inputs[i]->sequence));
        else
            text += "const";
    }
    return text;
}

/// Bytes that the node keeps for its derivative, each block once; what several nodes keep is counted at each.
inline std::size_t saved_bytes(const Node& n)
{
    std::size_t bytes = 0;
    for (std::size_t i = 0; i <= n.input_count; ++i)
        if (n.saved()[i] && std::find(n.saved(), n.saved() + i, n.saved()[i]) == n.saved() + i)
            bytes += n.saved()[i]->bytes();
    return bytes;
}

inline std::vector<std::string> tape_row(const Node& n)
{
    std::string primitive(n.primitive->name);
    if (n.op && n.primitive->parameters) primitive += " " + n.primitive->parameters(n.op);
    if (n.flags & Node::consumed) primitive += " (used up)";
    return {"#" + std::to_string(n.sequence),
            primitive,
            inputs_text(n),
            to_string(n.shape),
            std::string(name_of(n.dtype)),
            std::to_string(saved_bytes(n)),
            n.at.line > 0 ? to_string(n.at) : ""};
}

}  // namespace detail

WENGERT_INLINE std::ostream& operator<<(std::ostream& out, const Tape& tape)
{
    std::vector<std::vector<std::string>> rows = {
        {"#", "primitive", "inputs", "shape", "dtype", "saved", "where"}};
    for (const Node* n = tape.first(); n; n = n->next) rows.push_back(detail::tape_row(*n));
    std::vector<std::size_t> width(rows[0].size());
    for (const auto& row : rows)
        for (std::size_t k = 0; k < row.size(); ++k) width[k] = std::max(width[k], row[k].size());
    std::string text;
    for (auto& row : rows) {
        for (std::size_t k = 0; k + 1 < row.size(); ++k)
            text += row[k] + std::string(width[k] - row[k].size() + 2, ' ');
        text += row.back() + '\n';
    }
    return out << text;
}

}  // namespace wengert
