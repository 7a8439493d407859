// The tile executor: brings strided and broadcast operands to contiguous tiles, calls one kernel, stores the result.
//
// Every primitive has one kernel per dtype that knows nothing but contiguous tiles (the ufunc model); all layouts are
// handled here, once. A tile is 512 elements, so that operands, result and adjoint stay in the first-level cache.
#pragma once

#include <algorithm>
#include <cstring>

#include "../base/shape.hpp"
#include "runs.hpp"

namespace wengert {

/// out[i] = kernel(in[0][i], in[1][i], …) for i < n. `out` may be one of the inputs.
using TileKernel = void (*)(std::size_t n, const void* const* in, void* out);

namespace kernels {

inline constexpr std::size_t tile = 512, max_operands = 6;

/// Elements in memory, read (or written) as if they had the shape of the loop.
struct Operand {
    std::byte* data = nullptr;
    std::size_t size = 0;  ///< bytes of an element
    Strides strides;       ///< in elements, 0 where broadcast
};

/// The loop's extents with neighbouring axes merged wherever every operand allows it.
class Loop {
public:
    Loop(const Shape& shape, Operand* operands, std::size_t n) : operands_(operands), count_(n)
    {
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            if (shape[axis] == 1) continue;
            if (rank_ > 0 && mergeable(axis, shape[axis]))
                extents_[rank_ - 1] *= shape[axis];
            else
                extents_.push_back(shape[axis]), ++rank_;
            for (std::size_t k = 0; k < n; ++k) operands[k].strides[rank_ - 1] = operands[k].strides[axis];
        }
        if (rank_ == 0) {
            extents_.push_back(1);
            rank_ = 1;
            for (std::size_t k = 0; k < n; ++k) operands[k].strides = Strides::filled(1, 1);
        }
    }
    std::size_t rank() const { return rank_; }
    std::int64_t extent(std::size_t axis) const { return extents_[axis]; }
    std::int64_t inner() const { return extents_[rank_ - 1]; }
    std::int64_t rows() const
    {
        std::int64_t n = 1;
        for (std::size_t a = 0; a + 1 < rank_; ++a) n *= extents_[a];
        return n;
    }

private:
    bool mergeable(std::size_t axis, std::int64_t extent) const
    {
        for (std::size_t k = 0; k < count_; ++k) {
            const Strides& s = operands_[k].strides;
            if (s[rank_ - 1] != s[axis] * extent) return false;
        }
        return true;
    }
    Operand* operands_;
    std::size_t count_;
    Extents extents_;
    std::size_t rank_ = 0;
};

/// Runs one kernel over a shape. operands[0] is the result, the rest are the inputs.
class Executor {
public:
    Executor(TileKernel kernel, const Shape& shape, DType dtype, Operand* operands, std::size_t n, Store mode)
        : kernel_(kernel), dtype_(dtype), mode_(mode), op_(operands), n_(n), loop_(shape, operands, n),
          index_(Extents::filled(loop_.rank()))
    {
        for (std::size_t k = 0; k < n_; ++k) at_[k] = op_[k].data;
    }
    const Loop& loop() const { return loop_; }

    std::int64_t stride(std::size_t k) const { return op_[k].strides[loop_.rank() - 1]; }

    /// True when the kernel can read and write each row in place: inner strides of 1, or scalars of the whole loop.
    bool rows_are_direct() const
    {
        if (mode_ != Store::assign || stride(0) != 1 || loop_.inner() > static_cast<std::int64_t>(tile))
            return false;
        for (std::size_t k = 1; k < n_; ++k)
            if (stride(k) != 1 && !constant(k)) return false;
        return true;
    }
    bool constant(std::size_t k) const
    {
        for (std::size_t axis = 0; axis < loop_.rank(); ++axis)
            if (op_[k].strides[axis] != 0) return false;
        return true;
    }

    /// Slices of a field: one call of the kernel a row, nothing else.
    void run_direct_rows(std::size_t inner, std::int64_t rows)
    {
        for (std::size_t k = 1; k < n_; ++k)
            if (constant(k)) {
                gather(at_[k], 0, op_[k].size, inner, scratch_[k]);
                at_[k] = scratch_[k];
            }
        const std::size_t outer = loop_.rank() - 2;
        const std::int64_t count = loop_.extent(outer);
        std::int64_t step[max_operands] = {};
        for (std::size_t k = 0; k < n_; ++k)
            step[k] = op_[k].strides[outer] * static_cast<std::int64_t>(op_[k].size);
        for (std::int64_t r = 0; r < rows; r += count) {
            switch (n_) {
            case 2: run_plane<1>(inner, count, step); break;
            case 3: run_plane<2>(inner, count, step); break;
            default: run_plane<max_operands - 1>(inner, count, step);
            }
            next_row(outer);
        }
    }
    /// So many rows of a plane. The operands' count is known, as a loop over them takes longer than a short row.
    template <std::size_t inputs>
    void run_plane(std::size_t inner, std::int64_t rows, const std::int64_t* step)
    {
        const void* in[inputs];
        for (std::size_t k = 0; k < inputs; ++k) in[k] = at_[k + 1];
        std::byte* out = at_[0];
        for (std::int64_t i = 0; i < rows; ++i) {
            kernel_(inner, in, out);
            out += step[0];
            for (std::size_t k = 0; k < inputs; ++k)
                in[k] = static_cast<const std::byte*>(in[k]) + step[k + 1];
        }
    }

    /// Moves every operand to the next row: the odometer over all axes but the last.
    void next_row() { next_row(loop_.rank() - 1); }
    void next_row(std::size_t inner_axis)
    {
        for (std::size_t axis = inner_axis; axis-- > 0;) {
            const std::int64_t extent = loop_.extent(axis);
            const bool wraps = ++index_[axis] == extent;
            for (std::size_t k = 0; k < n_; ++k) {
                const std::int64_t step = op_[k].strides[axis] * static_cast<std::int64_t>(op_[k].size);
                at_[k] += wraps ? -step * (extent - 1) : step;
            }
            if (!wraps) return;
            index_[axis] = 0;
        }
    }

    /// One long row, tile by tile: contiguous operands are read in place, scalars fill a tile once.
    void run_row(std::size_t inner)
    {
        for (std::size_t k = 1; k < n_; ++k)
            if (stride(k) == 0) gather(at_[k], 0, op_[k].size, std::min(inner, tile), scratch_[k]);
        const bool direct = mode_ == Store::assign && stride(0) == 1;
        bool whole = direct;
        for (std::size_t k = 1; k < n_; ++k) whole = whole && stride(k) == 1;
        const std::size_t step = whole ? inner : tile;
        for (std::size_t i = 0; i < inner; i += step) {
            const std::size_t m = std::min(step, inner - i);
            const auto offset = static_cast<std::int64_t>(i);
            const void* in[max_operands] = {};
            for (std::size_t k = 1; k < n_; ++k) {
                const std::byte* from = at_[k] + offset * stride(k) * static_cast<std::int64_t>(op_[k].size);
                if (stride(k) != 0 && stride(k) != 1) gather(from, stride(k), op_[k].size, m, scratch_[k]);
                in[k - 1] = stride(k) == 1 ? from : scratch_[k];
            }
            std::byte* to = at_[0] + offset * stride(0) * static_cast<std::int64_t>(op_[0].size);
            kernel_(m, in, direct ? to : scratch_[0]);
            if (!direct) store_run(mode_, dtype_, scratch_[0], m, to, stride(0));
        }
    }

    /// Rows shorter than a few registers: as many of them as fit are put into one tile.
    void run_short_rows(std::int64_t inner, std::int64_t rows)
    {
        const auto width = static_cast<std::size_t>(inner);
        const std::int64_t per_tile = std::max<std::int64_t>(1, static_cast<std::int64_t>(tile) / inner);
        for (std::int64_t r = 0; r < rows; r += per_tile) {
            const auto m = static_cast<std::size_t>(std::min(per_tile, rows - r));
            std::byte* out_row[tile];
            for (std::size_t j = 0; j < m; ++j) {
                for (std::size_t k = 1; k < n_; ++k)
                    gather(at_[k], stride(k), op_[k].size, width, scratch_[k] + j * width * op_[k].size);
                out_row[j] = at_[0];
                next_row();
            }
            const void* in[max_operands] = {};
            for (std::size_t k = 1; k < n_; ++k) in[k - 1] = scratch_[k];
            kernel_(m * width, in, scratch_[0]);
            for (std::size_t j = 0; j < m; ++j)
                store_run(mode_, dtype_, scratch_[0] + j * width * op_[0].size, width, out_row[j], stride(0));
        }
    }
    /// The same of a matrix: rows that lie in order are read and written where they are.
    void run_short_rows_of_matrix(std::size_t width, std::size_t rows)
    {
        const std::size_t per_tile = std::max<std::size_t>(1, tile / width);
        const bool direct = mode_ == Store::assign && in_order(0);
        for (std::size_t r = 0; r < rows; r += per_tile) {
            const std::size_t m = std::min(per_tile, rows - r);
            const void* in[max_operands] = {};
            for (std::size_t k = 1; k < n_; ++k) {
                in[k - 1] = in_order(k) ? row(k, r) : scratch_[k];
                if (!in_order(k))
                    gather_rows(row(k, r), op_[k].strides[0], stride(k), op_[k].size, width, m, scratch_[k]);
            }
            kernel_(m * width, in, direct ? row(0, r) : scratch_[0]);
            if (direct) continue;
            for (std::size_t j = 0; j < m; ++j)
                store_run(mode_, dtype_, scratch_[0] + j * width * op_[0].size, width, row(0, r + j),
                          stride(0));
        }
    }

private:
    bool in_order(std::size_t k) const { return stride(k) == 1 && op_[k].strides[0] == loop_.inner(); }
    std::byte* row(std::size_t k, std::size_t r) const
    {
        return at_[k] + static_cast<std::int64_t>(r * op_[k].size) * op_[k].strides[0];
    }

    TileKernel kernel_;
    DType dtype_;
    Store mode_;
    Operand* op_;
    std::size_t n_;
    Loop loop_;
    Extents index_;
    std::byte* at_[max_operands] = {};
    alignas(64) std::byte scratch_[max_operands][tile * 8 + 64];
};

/// operands[0] is the result. Nothing happens over an empty shape.
inline void execute(TileKernel kernel, const Shape& shape, DType dtype, Operand* operands, std::size_t n,
                    Store mode)
{
    if (element_count(shape) == 0) return;
    Executor executor(kernel, shape, dtype, operands, n, mode);
    const std::int64_t inner = executor.loop().inner(), rows = executor.loop().rows();
    if (inner >= 16 && rows > 1 && executor.rows_are_direct())
        return executor.run_direct_rows(static_cast<std::size_t>(inner), rows);
    const bool short_rows = inner < 48 && rows > 1;
    if (short_rows && executor.loop().rank() == 2)
        return executor.run_short_rows_of_matrix(static_cast<std::size_t>(inner),
                                                 static_cast<std::size_t>(rows));
    if (short_rows) return executor.run_short_rows(inner, rows);
    for (std::int64_t r = 0; r < rows; ++r) {
        executor.run_row(static_cast<std::size_t>(inner));
        executor.next_row();
    }
}

}  // namespace kernels
}  // namespace wengert
