// Sums of a stream: what kernels::sum gives for rows that come in pieces, bit by bit the same (kernels/cpu/fold.hpp says in
// which order elements are added).
#pragma once

#include "../../kernels/cpu/reduce.hpp"

namespace wengert::tiling {

/// Sums (or means) of rows of `length` elements that arrive one after the other. If another stream has the elements before `first`,
/// a block, or a row of one block, begins there. Rows of several blocks leave the sums of their blocks in `sums`, one after the
/// other, for add_blocks().
template <class T, class A = xsimd::default_arch> class SumStream {
    using L = Lane<T, A>;
    static constexpr std::size_t lanes = kernels::detail::virtual_bytes / sizeof(T),
                                 registers = lanes / L::width, block = kernels::detail::row_block<T>;
    using Plus = kernels::detail::Add;
    using BlockSums = kernels::detail::Carries<Plus, L>;

public:
    static constexpr std::size_t block_bytes = block * sizeof(T);

    static std::size_t blocks_of(std::size_t length) { return (length + block - 1) / block; }
    /// The first element from `at` on where a stream may start.
    static std::size_t next_start(std::size_t at, std::size_t length)
    {
        const std::size_t row = at / length * length;
        return row + std::min(length, (at - row + block - 1) / block * block);
    }

    void start(std::byte* out, std::size_t length, bool mean, std::size_t first = 0, T* sums = nullptr)
    {
        out_ = reinterpret_cast<T*>(out) + first / length;
        length_ = length;
        mean_ = mean;
        done_ = first % length;
        sums_ = length > block && sums ? sums + first / length * blocks_of(length) + done_ / block : nullptr;
        start_row();
    }

    static void add_blocks(const T* sums, std::size_t rows, std::size_t length, bool mean, std::byte* out)
    {
        T* to = reinterpret_cast<T*>(out);
        BlockSums total;
        if (length <= block) return;
        for (std::size_t r = 0; r < rows; ++r) {
            total.start();
            for (std::size_t b = 0; b < blocks_of(length); ++b) total.add(*sums++);
            to[r] = total.total();
            if (mean) to[r] /= static_cast<T>(length);
        }
    }

    void add(const T* x, std::size_t n)
    {
        while (n > 0) {
            std::size_t m = std::min({n, length_ - done_, block - in_block_});
            if (m == length_)
                whole_rows(x, m = n / length_), m *= length_;
            else if (length_ <= lanes)
                part_of_short_row(x, m);
            else
                part(x, m);
            x += m, n -= m;
        }
    }

private:
    void start_row()
    {
        blocks_.start();
        in_block_ = held_ = 0;
    }

    /// Put together in memory: cheaper than sets of lanes.
    void part_of_short_row(const T* x, std::size_t m)
    {
        std::copy_n(x, m, rest_ + done_);
        done_ += m;
        if (done_ < length_) return;
        done_ = 0;
        whole_rows(rest_, 1);
    }
    void whole_rows(const T* x, std::size_t rows)
    {
        kernels::sum<T, A>(x, rows, length_, 1, out_);
        if (mean_)
            for (std::size_t r = 0; r < rows; ++r) out_[r] /= static_cast<T>(length_);
        out_ += rows;
    }

    /// m more elements of a block: whole sets of lanes are added, the rest is held back.
    void part(const T* x, std::size_t m)
    {
        if (in_block_ == 0) std::fill_n(sum_, lanes, T(0));
        in_block_ += m, done_ += m;
        if (held_ > 0) {
            const std::size_t k = std::min(m, lanes - held_);
            std::copy_n(x, k, rest_ + held_);
            held_ += k, x += k, m -= k;
            if (held_ == lanes) add_lanes(rest_, 1), held_ = 0;
        }
        add_lanes(x, m / lanes);
        if (m % lanes) std::copy_n(x + m / lanes * lanes, m % lanes, rest_), held_ = m % lanes;
        if (in_block_ == block || done_ == length_) end_block();
    }

    void add_lanes(const T* x, std::size_t times)
    {
        if (times == 0) return;
        [&]<std::size_t... r>(std::index_sequence<r...>) {
            L acc[] = {L::load(sum_ + r * L::width)...};
            for (; times > 0; --times, x += lanes) ((acc[r] = acc[r] + L::load(x + r * L::width)), ...);
            (acc[r].store(sum_ + r * L::width), ...);
        }(std::make_index_sequence<registers>());
    }

    T block_sum()
    {
        if (in_block_ <= L::width)
            return kernels::detail::fold_block<Plus, L>(
                0, held_, [&](std::size_t k, std::size_t c) { return L::load_part(rest_ + k, c); });
        for (std::size_t i = 0; i < held_; ++i) sum_[i] += rest_[i];
        L acc[registers];
        for (std::size_t r = 0; r < registers; ++r) acc[r] = L::load(sum_ + r * L::width);
        return kernels::detail::fold_lane<Plus, L>(kernels::detail::fold_registers<Plus, registers>(acc));
    }

    void end_block()
    {
        const T sum = block_sum();
        in_block_ = held_ = 0;
        if (sums_) {
            *sums_++ = sum;
            done_ %= length_;
            return;
        }
        blocks_.add(sum);
        if (done_ < length_) return;
        *out_ = blocks_.total();
        if (mean_) *out_ /= static_cast<T>(length_);
        ++out_;
        done_ = 0;
        start_row();
    }

    alignas(64) T sum_[lanes];
    T rest_[lanes];
    BlockSums blocks_;
    T *out_, *sums_;
    std::size_t length_, done_, in_block_, held_;
    bool mean_;
};

}  // namespace wengert::tiling
