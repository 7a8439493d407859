// What fused.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../fused.hpp"
#include "../fused_compile.hpp"

namespace wengert::tiling {

WENGERT_INLINE std::unique_ptr<FusedKernel> FusedKernel::compile(const Graph& g, const Layouts& layouts,
                                                                 const Group& group)
{
    auto kernel = std::unique_ptr<FusedKernel>(new FusedKernel);
    if (!detail::FusedCompiler<>(g, layouts, group, kernel->p_).run()) return nullptr;
    return kernel;
}

WENGERT_INLINE void FusedKernel::run(const std::byte* const* operands, std::byte* const* results,
                                     std::byte* scratch) const noexcept
{
    run_part(0, p_.count, operands, results, scratch, nullptr);
}

WENGERT_INLINE bool FusedKernel::may_share(std::size_t result, std::size_t operand) const noexcept
{
    const auto &read = p_.last_read[operand], &write = p_.written[result];
    return read.time <= write.time && write.time != FusedProgram::unshared && read.size == write.size &&
           read.narrow == write.narrow;
}

WENGERT_INLINE std::size_t FusedKernel::next_cut(std::size_t at) const noexcept
{
    const auto up = [](std::size_t n, std::size_t step) { return (n + step - 1) / step * step; };
    for (std::size_t from = p_.count; at < p_.count && from != at;) {
        from = at;
        if (p_.totals.empty()) at = up(at, 128);
        if (p_.packed) at = up(at, p_.inner);
        for (const Total& t : p_.totals)
            at = with_real(t.dtype, [&]<class T>() { return SumStream<T>::next_start(at, t.rows.length); });
    }
    return std::min(at, p_.count);
}

WENGERT_INLINE void FusedKernel::run_part(std::size_t begin, std::size_t end,
                                          const std::byte* const* operands, std::byte* const* results,
                                          std::byte* scratch, std::byte* sums) const noexcept
{
    Table table = start(operands, results, scratch, begin, sums);
    if (begin < end) p_.packed ? run_packed(table, begin, end) : run_rows(table, begin, end);
}

WENGERT_INLINE void FusedKernel::finish(std::byte* const* results, const std::byte* sums) const noexcept
{
    for (const Total& t : p_.totals) {
        const std::size_t rows = p_.count / t.rows.length;
        with_real(t.dtype, [&]<class T>() {
            SumStream<T>::add_blocks(reinterpret_cast<const T*>(sums + t.sums), rows, t.rows.length,
                                     t.rows.mean, results[t.result]);
        });
    }
}

inline FusedKernel::Table FusedKernel::start(const std::byte* const* operands, std::byte* const* results,
                                             std::byte* scratch, std::size_t first,
                                             std::byte* sums) const noexcept
{
    Table t;
    t.scratch = scratch;
    for (std::size_t k = 0; k < p_.streams.size(); ++k) {
        const Source& s = p_.streams[k];
        t.base[k] = s.result ? results[s.number] : const_cast<std::byte*>(operands[s.number]);
        t.at[k] = scratch + s.scratch;
        if (s.kind == Source::fixed)
            detail::spread(t.base[k], s.size, p_.fill, scratch + s.scratch);
        else if (s.kind == Source::periodic)
            kernels::gather_rows(t.base[k], 0, s.strides.back(), s.size, p_.inner, p_.rows_per_tile,
                                 scratch + s.scratch);
    }
    t.shared = p_.sharing && shares(t);
    std::size_t slot = p_.streams.size();
    for (const auto& literal : p_.literals) t.at[slot++] = literal.get();
    for (std::size_t offset : p_.registers) t.at[slot++] = scratch + offset;
    for (const Total& total : p_.totals) start_total(total, results[total.result], scratch, first, sums);
    return t;
}

inline bool FusedKernel::shares(const Table& t) const noexcept
{
    for (std::size_t k = 0; k < p_.streams.size(); ++k)
        for (std::size_t j = 0; j < k; ++j)
            if (t.base[k] == t.base[j] && p_.streams[k].result != p_.streams[j].result) return true;
    return false;
}

inline void FusedKernel::start_total(const Total& total, std::byte* out, std::byte* scratch,
                                     std::size_t first, std::byte* sums) noexcept
{
    if (sums) sums += total.sums;
    with_real(total.dtype, [&]<class T>() {
        (new (scratch + total.scratch) SumStream<T>)
            ->start(out, total.rows.length, total.rows.mean, first, reinterpret_cast<T*>(sums));
    });
}

inline void FusedKernel::run_program(const Table& t, std::size_t n, std::size_t ahead,
                                     std::size_t rows) const noexcept
{
    for (std::size_t step = 0; step < p_.program.size(); ++step) {
        const Instruction& i = p_.program[step];
        if (ahead)
            for (std::size_t k = step; k < p_.streams.size(); k += p_.program.size())
                ask_for(p_.streams[k], static_cast<const std::byte*>(t.at[k]) + n * p_.streams[k].size,
                        ahead);
        if (!i.kernel && !i.rows) {
            run_micro_program(t, p_.micro_programs[i.micro], n);
            continue;
        }
        const void* in[kernels::max_operands] = {t.at[i.in[0]], t.at[i.in[1]], t.at[i.in[2]], t.at[i.in[3]]};
        for (std::size_t k = 4; k < i.arity; ++k) in[k] = t.at[i.in[k]];
        void* out = const_cast<void*>(t.at[i.out]);
        if (i.rows)
            i.rows(in, rows, p_.inner, 1, i.parameter, out);
        else
            i.kernel(i.narrow ? rows : n, in, out);
    }
    for (const Total& total : p_.totals) {
        const void* x = t.at[total.from];
        with_real(total.dtype, [&]<class T>() {
            reinterpret_cast<SumStream<T>*>(t.scratch + total.scratch)->add(static_cast<const T*>(x), n);
        });
    }
}

inline void FusedKernel::ask_for(const Source& s, const std::byte* p, std::size_t n) noexcept
{
    if (s.kind != Source::linear) return;
    for (const std::byte* end = p + n * s.size; p < end; p += 64)
        if (s.result)
            __builtin_prefetch(p, 1, 2);
        else
            __builtin_prefetch(p, 0, 2);
}

template <class T>
void FusedKernel::run_padded(const Table& t, const FusedProgram::MicroProgram& s, std::byte** at,
                             std::size_t n) noexcept
{
    using Machine = MicroMachine<T>;
    std::byte* now[256];
    const std::size_t count = s.at.size();
    for (std::size_t k = 0; k < count + s.spills; ++k) {
        now[k] = at[k];
        if (k >= count || !s.at[k].moves) continue;
        now[k] = t.scratch + s.pad + k * Machine::block * sizeof(T);
        if (!s.at[k].stored) std::memcpy(now[k], at[k], n * sizeof(T));
    }
    Machine::run(s.ops.data(), now);
    for (std::size_t k = 0; k < count; ++k)
        if (s.at[k].stored) std::memcpy(at[k], now[k], n * sizeof(T));
}

template <class T>
void FusedKernel::run_blocks(const Table& t, const FusedProgram::MicroProgram& s, std::size_t n,
                             std::size_t rows, const std::int64_t* apart) noexcept
{
    using Machine = MicroMachine<T>;
    const std::size_t count = s.at.size(), whole = n / Machine::block, rest = n % Machine::block;
    const bool overlap = rest > 0 && whole > 0 && !t.shared;
    std::byte* at[256];
    std::size_t step[256], back[256];
    std::int64_t next[256];
    for (std::size_t k = 0; k < count; ++k) {
        const auto [slot, moves, stored] = s.at[k];
        at[k] = static_cast<std::byte*>(const_cast<void*>(t.at[slot]));
        step[k] = moves ? Machine::block * sizeof(T) : 0;
        back[k] = moves && overlap ? (Machine::block - rest) * sizeof(T) : 0;
        next[k] = (apart && moves ? apart[slot] : 0) - static_cast<std::int64_t>(whole * step[k] - back[k]);
    }
    for (std::size_t k = 0; k < s.spills; ++k)
        at[count + k] = t.scratch + s.spill + k * Machine::block * sizeof(T);
    for (; rows > 0; --rows) {
        for (std::size_t b = 0; b < whole; ++b) {
            Machine::run(s.ops.data(), at);
            for (std::size_t k = 0; k < count; ++k) at[k] += step[k];
        }
        for (std::size_t k = 0; k < count; ++k) at[k] -= back[k];
        if (overlap)
            Machine::run(s.ops.data(), at);
        else if (rest > 0)
            run_padded<T>(t, s, at, rest);
        for (std::size_t k = 0; k < count; ++k) at[k] += next[k];
    }
}

inline void FusedKernel::run_micro_program(const Table& t, const FusedProgram::MicroProgram& s, std::size_t n,
                                           std::size_t rows, const std::int64_t* apart) noexcept
{
    with_real(s.dtype, [&]<class T>() { run_blocks<T>(t, s, n, rows, apart); });
}

inline void FusedKernel::bring(const Source& s, const std::byte* from, std::size_t n, std::byte* to) noexcept
{
    kernels::gather(from, s.strides.back(), s.size, n, to);
}

inline bool FusedKernel::repeats() const noexcept
{
    return p_.program.size() == 1 && !p_.program[0].rows && !p_.gathers && p_.totals.empty();
}

inline void FusedKernel::repeat(const Table& t, std::size_t n, std::size_t rows,
                                const std::int64_t* apart) const noexcept
{
    const Instruction& i = p_.program[0];
    if (!i.kernel) return run_micro_program(t, p_.micro_programs[i.micro], n, rows, apart);
    const void* in[kernels::max_operands];
    std::int64_t step[kernels::max_operands];
    for (std::size_t k = 0; k < i.arity; ++k) {
        in[k] = t.at[i.in[k]];
        step[k] = i.in[k] < p_.streams.size() ? apart[i.in[k]] : 0;
    }
    auto* out = static_cast<std::byte*>(const_cast<void*>(t.at[i.out]));
    for (; rows > 0; --rows, out += apart[i.out]) {
        i.kernel(n, in, out);
        for (std::size_t k = 0; k < i.arity; ++k) in[k] = static_cast<const std::byte*>(in[k]) + step[k];
    }
}

inline void FusedKernel::run_equal(Table& t, std::size_t n, std::size_t times, std::byte** from,
                                   const std::int64_t* apart, std::size_t behind) const noexcept
{
    for (std::size_t j = 1; j <= times; ++j) {
        for (std::size_t k = 0; k < p_.streams.size(); ++k) {
            const Source& s = p_.streams[k];
            if (s.in_place())
                t.at[k] = from[k];
            else if (s.kind == Source::gathered)
                bring(s, from[k], n, t.scratch + s.scratch);
            from[k] += apart[k];
        }
        if (repeats()) return repeat(t, n, times, apart);
        run_program(t, n, behind ? std::min(p_.tile, behind - j * n) : 0);
    }
}

inline void FusedKernel::run_rows(Table& t, std::size_t begin, std::size_t end) const noexcept
{
    const bool far = p_.streamed > far_bytes && p_.program.size() > 1 && p_.extents.size() == 1;
    FusedRows rows(p_, t.base, begin / p_.inner);
    for (std::size_t n = 0, times = 0, column = begin % p_.inner; begin < end; begin += n * times) {
        const std::size_t left = std::min(p_.inner - column, end - begin);
        const bool whole = left == p_.inner && p_.tile >= p_.inner;
        n = std::min(p_.tile, left);
        times = whole ? std::min((end - begin) / n, rows.left()) : left / n;
        std::byte* from[FusedProgram::max_streams];
        std::int64_t apart[FusedProgram::max_streams];
        for (std::size_t k = 0; k < p_.streams.size(); ++k) {
            const Source& s = p_.streams[k];
            const std::int64_t element = s.strides.back() * s.size;
            from[k] = rows.at(k) + static_cast<std::int64_t>(column) * element;
            apart[k] = whole ? s.apart() : static_cast<std::int64_t>(n) * element;
        }
        run_equal(t, n, times, from, apart, far ? end - begin : 0);
        column = whole ? 0 : (column + n * times) % p_.inner;
        if (column == 0) rows.advance(whole ? times : 1);
    }
}

inline void FusedKernel::gather_rows(Table& t, FusedRows& rows, std::size_t m) const noexcept
{
    for (std::size_t j = 0, some = 0; j < m; j += some, rows.advance(some)) {
        some = std::min(m - j, rows.left());
        for (std::size_t k = 0; k < p_.streams.size(); ++k) {
            const Source& s = p_.streams[k];
            if (s.kind == Source::row) t.at[k] = rows.at(k);
            if (s.kind != Source::gathered) continue;
            const std::int64_t step = s.strides[s.strides.size() - 2];
            std::byte* to = t.scratch + s.scratch + j * (s.narrow ? 1 : p_.inner) * s.size;
            if (s.narrow)
                kernels::gather(rows.at(k), step, s.size, some, to);
            else
                kernels::gather_rows(rows.at(k), step, s.strides.back(), s.size, p_.inner, some, to);
        }
    }
}

inline void FusedKernel::run_packed(Table& t, std::size_t begin, std::size_t end) const noexcept
{
    const std::size_t last = end / p_.inner;
    FusedRows rows(p_, t.base, begin / p_.inner);
    for (std::size_t row = begin / p_.inner, m = 0; row < last; row += m) {
        m = std::min(p_.rows_per_tile, last - row);
        for (std::size_t k = 0; k < p_.streams.size(); ++k)
            if (const Source& s = p_.streams[k]; s.kind == Source::linear)
                t.at[k] = t.base[k] + row * (s.narrow ? 1 : p_.inner) * s.size;
        if (p_.gathers || p_.moves) gather_rows(t, rows, m);
        run_program(t, m * p_.inner, 0, m);
    }
}

}  // namespace wengert::tiling
