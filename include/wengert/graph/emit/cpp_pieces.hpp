// Operations that move elements (copies, parts, concatenations) as loops of C.
#pragma once

#include "../../ops/shape_rules.hpp"
#include "../../ops/view.hpp"
#include "../loops/loop.hpp"
#include "cpp_writer.hpp"

namespace wengert::detail {

/// The node at hand, and what only moves elements.
class CppPieces {
public:
    explicit CppPieces(CppWriter& w) : w_(w) {}

protected:
    template <class Op> const Op& op() const { return *static_cast<const Op*>(n_->op.get()); }
    ValueId in(std::size_t i) const { return n_->inputs[i]; }
    CppOperand input(std::size_t i) { return w_.operand(in(i)); }
    CppOperand result() { return w_.operand(v_); }
    /// In row-major order: a copy behind the arena where it is not.
    CppOperand contiguous_input(std::size_t i)
    {
        const CppOperand x = input(i);
        return w_.plan.layouts[in(i)].strided ? copied(i, x) : x;
    }
    /// The elements of input i behind the arena, in the order of x.
    CppOperand copied(std::size_t i, const CppOperand& x)
    {
        const std::string to =
            "(" + x.type + "*)(arena + " + std::to_string(w_.scratch_begin() + behind_) + ")";
        behind_ += tiling::aligned(w_.plan.bytes_of(in(i)));
        w_.scratch = std::max(w_.scratch, behind_);
        w_.copy(x, to, row_major(x.shape));
        return {to, x.type, x.shape, row_major(x.shape)};
    }
    static std::string number(std::int64_t n) { return std::to_string(n); }
    /// A divisor, which may be 0.
    std::string real_number(std::int64_t n) const { return literal_text(static_cast<double>(n), n_->dtype); }
    bool real() const { return differentiable(n_->dtype); }
    /// The library's own function.
    std::string own(const char* f) const { return w_.helper(f, n_->dtype); }
    /// One of C, which rounds exactly.
    std::string math(const char* f) const
    {
        return std::string(f) + (n_->dtype == DType::float32 ? "f" : "");
    }

    /// The value of input 0, unless it lies here already.
    void begin_with_first()
    {
        if (over_) return;
        const CppOperand x = input(0);
        w_.copy(x, w_.pointer(v_), row_major(x.shape));
    }
    /// Strides and place of a part of the result.
    struct Part {
        std::string pointer;
        Strides strides;
    };
    Part part_of(const Selection& s)
    {
        const Strides rows = row_major(s.of);
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < s.of.size(); ++i) offset += s.start[i] * rows[i];
        Part p{w_.pointer(v_) + (offset ? " + " + number(offset) : ""), Strides::filled(s.shape.size())};
        for (std::size_t k = 0; k < s.shape.size(); ++k)
            p.strides[k] = s.from[k] < 0 ? 0 : s.step[k] * rows[static_cast<std::size_t>(s.from[k])];
        return p;
    }
    void into_part(const Selection& s, std::size_t i, const char* how)
    {
        if (element_count(s.shape) == 0) return;
        const Part p = part_of(s);
        CppOperand x = input(i);
        x.strides = broadcast_strides(x.shape, x.strides, s.shape);
        x.shape = s.shape;
        w_.copy(x, p.pointer, p.strides, how);
    }

    bool moves(std::string_view name)
    {
        if (name == "copy" || name == "identity" || name == "transpose" || name == "view" ||
            name == "split" || name == "broadcast_to" || name == "reshape" || name == "expand_dims" ||
            name == "squeeze" || name == "stop_gradient") {
            const CppOperand x = input(0);
            if (x.shape == n_->shape || name == "reshape" ||
                element_count(x.shape) == element_count(n_->shape)) {
                if (name == "transpose") w_.refuse(v_, "a transpose that is no view");
                w_.copy(x, w_.pointer(v_), row_major(x.shape));
                return true;
            }
            w_.refuse(v_, "a view that cannot be one");
        }
        if (name == "embed") {
            w_.fill(v_, "0");
            into_part(op<Embed>().part, 0, "=");
        } else if (name == "assign_view") {
            begin_with_first();
            into_part(op<AssignView>().part, 1, "=");
        } else if (name == "add_view") {
            begin_with_first();
            into_part(op<AddView<false>>().part, 1, "+=");
        } else if (name == "subtract_view") {
            begin_with_first();
            into_part(op<AddView<true>>().part, 1, "-=");
        } else if (name == "view.pull0" || name == "split.pull0") {
            begin_with_first();
            into_part(op<Select>().part, 1, "+=");
        } else if (name == "element.pull0") {
            begin_with_first();
            into_part(op<Element>().part(), 1, "+=");
        } else if (name == "element") {
            const CppOperand x = input(0);
            const Selection s = op<Element>().part();
            std::int64_t at = 0;
            for (std::size_t i = 0; i < s.of.size(); ++i) at += s.start[i] * x.strides[i];
            w_.line("*(" + w_.pointer(v_) + ") = (" + x.pointer + ")[" + number(at) + "];");
        } else if (name == "concatenate") {
            for (std::size_t i = 0; i < n_->inputs.size(); ++i) into_part(op<Concatenate>().part(i), i, "=");
        } else if (name == "stack") {
            for (std::size_t i = 0; i < n_->inputs.size(); ++i) into_part(op<Stack>().part(i), i, "=");
        } else if (name == "diagonal.pull0") {
            begin_with_first();
            on_diagonal(1, "+=");
        } else if (name == "embed_diagonal") {
            w_.fill(v_, "0");
            on_diagonal(0, "=");
        } else if (name == "pack") {
            w_.fill(v_, "0");
            packed(op<Pack>().offset, 0, "=");
        } else if (name == "unpack.pull0") {
            begin_with_first();
            packed(op<Unpack>().offset, 1, "+=");
        } else if (name == "unpack") {
            const std::size_t unit = size_of(w_.graph.node(in(0)).dtype);
            w_.line("memcpy(" + w_.pointer(v_) + ", (const char*)(" + input(0).pointer + ") + " +
                    number(op<Unpack>().offset * static_cast<std::int64_t>(unit)) + ", " +
                    std::to_string(w_.plan.bytes_of(v_)) + ");");
        } else {
            return false;
        }
        return true;
    }
    void on_diagonal(std::size_t i, const char* how)
    {
        const CppOperand x = input(i);
        const Strides rows = row_major(n_->shape);
        Strides to(rows.data(), x.shape.size());
        to.back() = rows[rows.size() - 2] + rows.back();
        w_.copy(x, w_.pointer(v_), to, how);
    }
    void packed(std::int64_t offset, std::size_t i, const char* how)
    {
        const CppOperand x = input(i);
        if (element_count(x.shape) == 0) return;
        w_.copy(x, w_.pointer(v_) + " + " + number(offset), row_major(x.shape), how);
    }

    CppWriter& w_;
    ValueId v_ = 0;
    const GraphNode* n_ = nullptr;
    bool over_ = false;
    std::size_t behind_ = 0;  ///< bytes taken behind the arena
};

}  // namespace wengert::detail
