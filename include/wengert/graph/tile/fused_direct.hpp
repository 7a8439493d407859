// The straight-line form of a small group: one call of a kernel after the other, on memory that is known.
#pragma once

#include "fused_program.hpp"
#include "fused_sum.hpp"

namespace wengert::tiling::detail {

template <class U> void spread_tile(std::size_t n, const void* const* in, void* out)
{
    std::fill_n(static_cast<U*>(out), n, *static_cast<const U*>(in[0]));
}
inline TileKernel spread_kernel(std::size_t size)
{
    return size == 8   ? spread_tile<std::uint64_t>
           : size == 4 ? spread_tile<std::uint32_t>
                       : spread_tile<std::uint8_t>;
}

/// One element everywhere.
inline void spread(const std::byte* from, std::size_t size, std::size_t n, std::byte* to)
{
    const void* in[] = {from};
    spread_kernel(size)(n, in, to);
}

template <class T, class A, bool mean> void sum_tile(std::size_t n, const void* const* in, void* out)
{
    T* to = static_cast<T*>(out);
    kernels::sum<T, A>(static_cast<const T*>(in[0]), 1, n, 1, to);
    if constexpr (mean) *to /= static_cast<T>(n);
}
template <class A> TileKernel sum_kernel(DType d, bool mean)
{
    return with_real(d, [&]<class T>() { return mean ? sum_tile<T, A, true> : sum_tile<T, A, false>; });
}

/// Writes that form of a program of one tile, where it has one.
template <class A> class DirectWriter {
public:
    explicit DirectWriter(FusedProgram& p) : p_(p) {}

    void write()
    {
        if (p_.extents.size() > 1 || p_.tiles > 1 || !p_.segments.empty()) return;
        for (const Source& s : p_.streams)
            if (s.kind != Source::linear && s.kind != Source::fixed) return;
        for (const Total& t : p_.totals)
            if (t.rows.length != p_.count) return;
        for (const Source& s : p_.streams)
            if (s.kind == Source::fixed)
                add_direct(spread_kernel(s.size), {{Direct::Where::operand, s.number}},
                           {Direct::Where::scratch, static_cast<std::uint32_t>(s.scratch)});
        for (const Instruction& i : p_.program) {
            std::vector<Direct::Where> in;
            for (std::size_t k = 0; k < i.arity; ++k) in.push_back(where(i.in[k]));
            add_direct(i.kernel, in, where(i.out));
        }
        for (const Total& t : p_.totals)
            add_direct(sum_kernel<A>(t.dtype, t.rows.mean), {where(t.from)},
                       {Direct::Where::result, t.result});
    }
private:
    using Source = FusedProgram::Source;
    using Direct = FusedProgram::Direct;

    Direct::Where where(Place place) const
    {
        using Where = Direct::Where;
        const auto index = [](std::size_t i) { return static_cast<std::uint32_t>(i); };
        if (place < p_.streams.size()) {
            const Source& s = p_.streams[place];
            if (s.kind == Source::fixed) return {Where::scratch, index(s.scratch)};
            return {s.result ? Where::result : Where::operand, s.number};
        }
        const std::size_t rest = place - p_.streams.size();
        if (rest < p_.literals.size()) return {Where::literal, index(rest)};
        return {Where::scratch, index(p_.registers[rest - p_.literals.size()])};
    }

    void add_direct(TileKernel kernel, const std::vector<Direct::Where>& in, Direct::Where out)
    {
        Direct d;
        d.kernel = kernel;
        d.n = p_.count;
        d.arity = static_cast<std::uint8_t>(in.size());
        std::copy(in.begin(), in.end(), d.in);
        d.out = out;
        p_.direct.push_back(d);
    }

    FusedProgram& p_;
};

}  // namespace wengert::tiling::detail
