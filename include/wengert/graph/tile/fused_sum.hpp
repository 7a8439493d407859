// Sums of a stream: what kernels::sum gives for rows that come in pieces, bit by bit the same (kernels/cpu/fold.hpp says in
// which order elements are added).
#pragma once

#include "../../kernels/cpu/reduce.hpp"

namespace wengert::tiling {

/// Sums (or means) of rows of `length` elements that arrive one after the other.
template <class T, class A = xsimd::default_arch> class SumStream {
    using L = Lane<T, A>;
    static constexpr std::size_t lanes = kernels::detail::virtual_bytes / sizeof(T),
                                 registers = lanes / L::width, block = kernels::detail::row_block<T>;
    using Plus = kernels::detail::Add;

public:
    void start(std::byte* out, std::size_t length, bool mean)
    {
        out_ = reinterpret_cast<T*>(out);
        length_ = length;
        mean_ = mean;
        done_ = 0;
        start_row();
    }

    void add(const T* x, std::size_t n)
    {
        while (n > 0) {
            const std::size_t m = std::min({n, length_ - done_, block - in_block_});
            if (m == length_)
                whole_row(x);
            else
                part(x, m);
            x += m, n -= m;
        }
    }

private:
    void start_row() { depth_ = blocks_ = in_block_ = held_ = 0; }

    void whole_row(const T* x)
    {
        kernels::sum<T, A>(x, 1, length_, 1, out_);
        finish();
    }
    void finish()
    {
        if (mean_) *out_ /= static_cast<T>(length_);
        ++out_;
        done_ = 0;
        start_row();
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
        return kernels::detail::fold_lane<Plus>(kernels::detail::fold_registers<Plus, registers>(acc));
    }

    /// Blocks are added like the carries of a binary counter.
    void end_block()
    {
        T sum = block_sum();
        for (std::size_t carry = ++blocks_; carry % 2 == 0; carry /= 2) sum = pending_[--depth_] + sum;
        pending_[depth_++] = sum;
        in_block_ = held_ = 0;
        if (done_ < length_) return;
        T total = pending_[--depth_];
        while (depth_ > 0) total = pending_[--depth_] + total;
        *out_ = total;
        finish();
    }

    alignas(64) T sum_[lanes];
    T rest_[lanes];
    T pending_[64];
    T* out_;
    std::size_t length_, done_, in_block_, held_, blocks_, depth_;
    bool mean_;
};

}  // namespace wengert::tiling
