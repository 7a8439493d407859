// Random numbers as loops of C: functions of their key, as in kernels/cpu/random.hpp, with the same bits.
#pragma once

#include "cpp_products.hpp"

namespace wengert::detail {

class CppRandom : protected CppProducts {
public:
    using CppProducts::CppProducts;

protected:
    void draw(const RandomDraw& d)
    {
        using Form = RandomDraw::Form;
        const bool single = is_single(n_->dtype);
        switch (d.form) {
        case Form::uniform: return uniform(d, single);
        case Form::normal: return normal(single);
        case Form::choice: return choice(d.p, drawn(d.low), drawn(d.high));
        case Form::integers: return integers(d);
        case Form::key: return child(d);
        case Form::order: break;  // offered to devices alone
        }
    }

private:
    static std::string word(std::uint64_t x) { return "UINT64_C(" + std::to_string(x) + ")"; }

    /// `statement` for each element y[i], from the words w of block b of the key: from w[j] where a block makes four, from
    /// `pair` where it makes two.
    void each(int of_block, const std::string& statement, int step = 1)
    {
        const std::size_t n = element_count(n_->shape);
        w_.open("{");
        declare_key();
        w_.line("uint32_t w[4];");
        w_.open("for (ptrdiff_t b = 0; b * $ < $; ++b) {", of_block, n);
        w_.line("$(secret, stream, (uint64_t)b, w);", w_.helper("block", DType::int64));
        w_.line("for (ptrdiff_t j = 0, i = b * $; j < $ && i < $; j += $, i += $) {", of_block, of_block, n,
                step, step);
        w_.line("    " + statement);
        w_.line("}");
        w_.close();
        w_.close();
    }
    void declare_key()
    {
        w_.declare("key", contiguous_input(0), false);
        w_.line("const uint64_t secret = (uint64_t)key[0], stream = (uint64_t)key[1];");
        w_.declare("y", result(), true);
    }
    static constexpr const char* pair = "(w[2 * j] | (uint64_t)w[2 * j + 1] << 32)";

    void uniform(const RandomDraw& d, bool single)
    {
        std::string x = single ? filled("($)(w[j] >> 8) * $", type(), real_text(0x1p-24))
                               : filled("($)($ >> 11) * $", type(), pair, real_text(0x1p-53));
        if (d.low != 0 || d.high != 1)
            x = filled("fma$($, $, $)", row_of(n_->dtype).suffix, x, real_text(d.width), real_text(d.low));
        each(single ? 4 : 2, "y[i] = " + x + ";");
    }
    std::string real_text(double x) const { return literal_text(x, n_->dtype); }

    /// Two at a time, from one radius and one angle.
    void normal(bool single)
    {
        const char* const from = single ? "(uint64_t)w[j] << 32, (uint64_t)w[j + 1] << 32"
                                        : "w[0] | (uint64_t)w[1] << 32, w[2] | (uint64_t)w[3] << 32";
        const auto half = [&](double s, double d) {
            return literal_text(single ? s : d, dtype_of<double>());
        };
        each(single ? 4 : 2,
             filled("double z[2]; $($, $, $, z); y[i] = ($)z[0]; if (i + 1 < $) y[i + 1] = ($)z[1];",
                    w_.helper("normal", dtype_of<double>()), from, half(0x1p-33, 0x1p-53),
                    half(0x1p-31, 0x1p-53), type(), element_count(n_->shape), type()),
             2);
    }
    /// yes with probability p: kernels::fill_choice.
    void choice(double p, const std::string& yes, const std::string& no)
    {
        const double scaled = p > 0.0 ? std::min(p, 1.0) * 0x1p32 + 0.5 : 0.0;
        const auto limit = static_cast<std::uint64_t>(scaled);
        if (limit == 0) return w_.fill(v_, no);
        each(4,
             filled("y[i] = w[j] <= $u ? $ : $;", std::min<std::uint64_t>(limit - 1, 0xFFFFFFFFU), yes, no));
    }
    /// A number as an element of the result.
    std::string drawn(double x) const
    {
        if (!differentiable(n_->dtype)) return number(static_cast<std::int64_t>(x));
        return real_text(rounded_to(n_->dtype, x));
    }
    void integers(const RandomDraw& d)
    {
        each(2, filled("y[i] = ($)($ + $($, $));", type(), word(d.first), w_.helper("scaled", DType::int64),
                       pair, word(d.range)));
    }
    /// Key::child.
    void child(const RandomDraw& d)
    {
        w_.open("{");
        declare_key();
        w_.line("uint32_t w[4];");
        w_.line("$(secret, stream | $, $, w);", w_.helper("block", DType::int64), word(d.range << 62),
                word(d.first));
        w_.line("y[0] = ($)(w[0] | (uint64_t)w[1] << 32);", type());
        w_.line("y[1] = ($)((w[2] | (uint64_t)w[3] << 32) >> 2);", type());
        w_.close();
    }
};

}  // namespace wengert::detail
