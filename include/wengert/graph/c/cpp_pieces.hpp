// Triangles and packed results of loops as loops of C, and what their writers share.
#pragma once

#include "../../ops/shape_rules.hpp"
#include "../../ops/view.hpp"
#include "../loops/loop.hpp"
#include "cpp_writer.hpp"

namespace wengert::detail {

/// The node at hand.
class CppPieces {
public:
    explicit CppPieces(CppWriter& w) : w_(w) {}
    CppPieces(CppWriter& w, ValueId v) : w_(w), v_(v), n_(&w.graph.node(v)) {}

protected:
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
        const std::string to = filled("($*)($)", x.type, room(w_.plan.bytes_of(in(i))));
        w_.copy(x, to, row_major(x.shape));
        return {to, x.type, x.shape, row_major(x.shape)};
    }
    /// Memory behind the arena.
    std::string room(std::size_t bytes)
    {
        const std::size_t at = w_.scratch_begin() + behind_;
        behind_ += tiling::aligned(bytes);
        w_.scratch = std::max(w_.scratch, behind_);
        return filled("arena + $", at);
    }
    static std::string number(std::int64_t n) { return std::to_string(n); }
    bool real() const { return differentiable(n_->dtype); }
    /// A helper for numbers of the result's type.
    std::string own(const char* f) const { return w_.helper(f, n_->dtype); }

    /// The value of input 0, unless it lies here already.
    void begin_with_first()
    {
        if (over_) return;
        const CppOperand x = input(0);
        w_.copy(x, w_.pointer(v_), row_major(x.shape));
    }
    /// A part of a packed block, if it is one.
    bool packs()
    {
        if (!n_->primitive->packed) return false;
        const PackedPart part = n_->primitive->packed(const_cast<void*>(n_->op.get()));
        switch (part.how) {
        case PackedPart::How::put:
            w_.fill(v_, "0");
            packed(part.offset, 0, "=");
            break;
        case PackedPart::How::added:
            begin_with_first();
            packed(part.offset, 1, "+=");
            break;
        case PackedPart::How::taken: {
            const std::size_t unit = size_of(w_.graph.node(in(0)).dtype);
            w_.line("memcpy($, (const char*)($) + $, $);", w_.pointer(v_), input(0).pointer,
                    part.offset * static_cast<std::int64_t>(unit), w_.plan.bytes_of(v_));
        }
        }
        return true;
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
