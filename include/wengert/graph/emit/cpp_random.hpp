// Random numbers as loops of C: functions of their key, as in kernels/cpu/random.hpp. All but `normal` have the same bits;
// `normal` takes its logarithm, sine and cosine from <math.h>.
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
        case Form::choice: return choice(d.p, element(d.low), element(d.high));
        case Form::integers: return integers(d);
        case Form::key: return child(d);
        }
    }

private:
    static std::string whole(std::uint64_t x) { return "UINT64_C(" + std::to_string(x) + ")"; }

    /// `statement` for each element y[i], from the words w of block b of the key: from w[j] where a block makes four, from
    /// `pair` where it makes two.
    void each(int of_block, const std::string& statement, int step = 1)
    {
        const std::string n = number(static_cast<std::int64_t>(element_count(n_->shape))),
                          m = number(of_block);
        w_.open("{");
        declare_key();
        w_.declare("y", result(), true);
        w_.open("for (ptrdiff_t b = 0; b * " + m + " < " + n + "; ++b) {");
        w_.line("uint32_t w[4];");
        w_.line(w_.helper("block", DType::int64) + "(secret, stream, (uint64_t)b, w);");
        w_.open("for (ptrdiff_t j = 0, i = b * " + m + "; j < " + m + " && i < " + n +
                "; j += " + number(step) + ", i += " + number(step) + ") {");
        w_.line(statement);
        w_.close();
        w_.close();
        w_.close();
    }
    void declare_key()
    {
        w_.declare("key", contiguous_input(0), false);
        w_.line("const uint64_t secret = (uint64_t)key[0], stream = (uint64_t)key[1];");
    }
    static constexpr const char* pair = "(w[2 * j] | (uint64_t)w[2 * j + 1] << 32)";

    void uniform(const RandomDraw& d, bool single)
    {
        const std::string type = w_.type(v_);
        std::string x = single ? "(" + type + ")(w[j] >> 8) * " + real_text(0x1p-24)
                               : "(" + type + ")(" + pair + " >> 11) * " + real_text(0x1p-53);
        if (d.low != 0 || d.high != 1)
            x = math("fma") + "(" + x + ", " + real_text(d.width) + ", " + real_text(d.low) + ")";
        each(single ? 4 : 2, "y[i] = " + x + ";");
    }
    std::string real_text(double x) const { return literal_text(x, n_->dtype); }

    /// Two at a time, from one radius and one angle.
    void normal(bool single)
    {
        const std::int64_t last = static_cast<std::int64_t>(element_count(n_->shape)) - 1;
        const std::string type = w_.type(v_),
                          from = single ? "(uint64_t)w[j] << 32, (uint64_t)w[j + 1] << 32"
                                        : "w[0] | (uint64_t)w[1] << 32, w[2] | (uint64_t)w[3] << 32";
        const auto text = [](double x) { return literal_text(x, DType::float64); };
        each(single ? 4 : 2,
             "double z[2]; " + w_.helper("normal", DType::float64) + "(" + from + ", " +
                 text(single ? 0x1p-33 : 0x1p-53) + ", " + text(single ? 0x1p-31 : 0x1p-53) +
                 ", z); y[i] = (" + type + ")z[0]; if (i < " + number(last) + ") y[i + 1] = (" + type +
                 ")z[1];",
             2);
    }
    /// yes with probability p: kernels::fill_choice.
    void choice(double p, const std::string& yes, const std::string& no)
    {
        const double scaled = p > 0.0 ? std::min(p, 1.0) * 0x1p32 + 0.5 : 0.0;
        const auto limit = static_cast<std::uint64_t>(scaled);
        if (limit == 0) return w_.fill(v_, no);
        each(4, "y[i] = w[j] <= " +
                    number(static_cast<std::int64_t>(std::min<std::uint64_t>(limit - 1, 0xFFFFFFFFU))) +
                    "u ? " + yes + " : " + no + ";");
    }
    /// A number as an element of the result.
    std::string element(double x) const
    {
        if (!differentiable(n_->dtype)) return number(static_cast<std::int64_t>(x));
        return real_text(rounded_to(n_->dtype, x));
    }
    void integers(const RandomDraw& d)
    {
        each(2, "y[i] = (" + w_.type(v_) + ")(" + whole(d.first) + " + " + w_.helper("scaled", DType::int64) +
                    "(" + pair + ", " + whole(d.range) + "));");
    }
    /// Key::child.
    void child(const RandomDraw& d)
    {
        w_.open("{");
        declare_key();
        w_.declare("y", result(), true);
        w_.line("uint32_t w[4];");
        w_.line(w_.helper("block", DType::int64) + "(secret, stream | " + whole(d.range << 62) + ", " +
                whole(d.first) + ", w);");
        const std::string type = w_.type(v_);
        w_.line("y[0] = (" + type + ")(w[0] | (uint64_t)w[1] << 32);");
        w_.line("y[1] = (" + type + ")((w[2] | (uint64_t)w[3] << 32) >> 2);");
        w_.close();
    }
};

}  // namespace wengert::detail
