// reproducible_sum: the sum of all ranks' elements, with the same bits on any number of ranks.
#pragma once

#include "../ops/creation.hpp"
#include "../ops/moves.hpp"
#include "primitive.hpp"

namespace wengert::mpi {

namespace detail {

/// A sum of doubles without an error: every double is a multiple of 2^-1074 below 2^1024, so a number of 2176 bits holds all sums.
/// Limbs of 32 bits in words of 64 leave room for 2^31 additions before carries. Integers add in any order.
class ExactSum {
public:
    static constexpr int limbs = 68, least = -1074;
    std::int64_t limb[limbs] = {};
    std::int64_t special[3] = {};  ///< how many NaNs, +Inf, -Inf

    void add(double x)
    {
        if (!(std::abs(x) <= std::numeric_limits<double>::max())) return add_special(x);
        int exponent = 0;
        const auto m =
            static_cast<std::int64_t>(std::ldexp(std::frexp(x, &exponent), 53));  // x = m 2^(exponent - 53)
        add(m, exponent - 53);
        if (++since_carry_ == 1 << 30) carry();
    }
    /// Limbs in [0, 2^32) but for the last one, which has the sign.
    void carry()
    {
        for (int i = 0; i + 1 < limbs; ++i) {
            limb[i + 1] += limb[i] >> 32;
            limb[i] &= 0xffffffff;
        }
        since_carry_ = 0;
    }
    /// Rounded once, to the nearest double, ties to even.
    double rounded()
    {
        if (special[0] || (special[1] && special[2])) return std::numeric_limits<double>::quiet_NaN();
        if (special[1] || special[2]) return (special[1] ? 1 : -1) * std::numeric_limits<double>::infinity();
        carry();
        const bool negative = limb[limbs - 1] < 0;
        if (negative) {
            for (std::int64_t& l : limb) l = -l;
            carry();
        }
        const double r = magnitude();
        return negative ? -r : r;
    }

private:
    void add_special(double x) { ++special[x != x ? 0 : x > 0 ? 1 : 2]; }
    void add(std::int64_t m, int exponent)
    {
        int shift = exponent - least;
        if (shift < 0) {  // a denormal number: its last digits are zeros
            m >>= -shift;
            shift = 0;
        }
        const int first = shift / 32;
        __extension__ using Wide = __int128;
        const Wide wide = static_cast<Wide>(m < 0 ? -m : m) << (shift % 32);
        for (int k = 0; k < 3; ++k) {
            const auto part = static_cast<std::int64_t>((wide >> (32 * k)) & 0xffffffff);
            limb[first + k] += m < 0 ? -part : part;
        }
    }
    /// The 54 leading bits and whether any is behind them decide how it is rounded.
    double magnitude() const
    {
        int top = limbs - 1;
        while (top >= 0 && limb[top] == 0) --top;
        if (top < 0) return 0;
        const int bit = 32 * top + 31 - std::countl_zero(static_cast<std::uint32_t>(limb[top]));
        const int last = std::max(bit - 52, 0);  // the place of the result's last bit
        std::uint64_t m = bits(last, 53);
        const bool half = last > 0 && bits(last - 1, 1) != 0;
        bool more = false;
        for (int i = 0; half && !more && i < last - 1; ++i) more = bits(i, 1) != 0;
        m += half && (more || (m & 1)) ? 1 : 0;
        return std::ldexp(static_cast<double>(m), last + least);
    }
    std::uint64_t bits(int first, int n) const
    {
        std::uint64_t m = 0;
        for (int i = n - 1; i >= 0; --i) {
            const int at = first + i;
            m = m << 1 | (at < 32 * limbs ? static_cast<std::uint64_t>(limb[at / 32]) >> (at % 32) & 1 : 0U);
        }
        return m;
    }
    std::int64_t since_carry_ = 0;
};

/// y = Σ of all elements of all ranks' x, rounded once; x̄ = Σ ȳ for each of them.
struct ReproducibleSum {
    static constexpr std::string_view name = "reproducible_sum";
    static constexpr std::size_t operands = 1;
    ChannelRef channel;
    Shape from = {};

    void look(const Block& x) { from = x.shape; }
    Shape predicted(const Block*) const { return {}; }
    template <class T> Ref<Block> exchange(const Ref<Block>& x, const Call& call, bool& variables)
    {
        variables = agree(call, dtype_of<T>(), Shape(), 0, variables) != 0;
        ExactSum s, all;
        for (std::size_t i = 0; i < x->count; ++i) s.add(static_cast<double>(x->template as<T>()[i]));
        s.carry();
        constexpr int n = ExactSum::limbs + 3;
        const Ref<Block> words = make_block(DType::int64, Shape{2 * n});
        auto *const mine = words->as<std::int64_t>(), *const sum = mine + n;
        std::copy(s.limb, s.limb + ExactSum::limbs, mine);
        std::copy(s.special, s.special + 3, mine + ExactSum::limbs);
        collective(call, {words}, MPI_Allreduce, MPI_Iallreduce, mine, sum, n, MPI_INT64_T, MPI_SUM,
                   channel->comm);
        std::copy(sum, sum + ExactSum::limbs, all.limb);
        std::copy(sum + ExactSum::limbs, sum + n, all.special);
        auto y = make_block(dtype_of<T>(), Shape());
        *y->template as<T>() = static_cast<T>(all.rounded());
        return y;
    }
    template <class T> Tensor<T> pull(const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, bool) const
    {
        return broadcast_to(communicate<ReproducibleSum, T>({channel}, Site{}, g), from, Site{});
    }
};

}  // namespace detail

/// The sum of all elements of all ranks' x, on every rank: exact but for one rounding (to double first, of floats), so that its bits
/// depend neither on the number of ranks nor on how the elements lie on them. After the long accumulators of Kulisch (2011);
/// Demmel & Nguyen (2015) have the same bits with less work.
template <Differentiable T>
Tensor<T> reproducible_sum(const Tensor<T>& x, const Comm& comm,
                           Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::communicate<detail::ReproducibleSum, T>({comm.channel()}, at, x);
}

}  // namespace wengert::mpi
