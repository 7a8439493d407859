// Random numbers as loops of C: functions of their key, as in kernels/cpu/random.hpp. All but `normal` have the same bits;
// `normal` takes its logarithm, sine and cosine from <math.h>.
#pragma once

#include "../../ops/random.hpp"
#include "cpp_products.hpp"

namespace wengert::detail {

class CppRandom : protected CppProducts {
public:
    using CppProducts::CppProducts;

protected:
    bool draws(std::string_view name)
    {
        const bool single = n_->dtype == DType::float32;
        if (name == "uniform")
            single ? uniform<float>() : uniform<double>();
        else if (name == "normal")
            normal(single);
        else if (name == "bernoulli")
            choice(op<Draw<BernoulliFill>>().fill.p, "1", "0");
        else if (name == "dropout_mask")
            dropout(op<Draw<DropoutFill>>().fill.p);
        else if (name == "randint")
            n_->dtype == DType::int32 ? integers<std::int32_t>() : integers<std::int64_t>();
        else if (name == "key_child")
            child();
        else
            return false;
        return true;
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

    template <class T> void uniform()
    {
        const auto& u = op<Draw<UniformFill<T>>>().fill;
        const std::string type = w_.type(v_);
        std::string x = sizeof(T) == 4 ? "(" + type + ")(w[j] >> 8) * " + real_text(0x1p-24)
                                       : "(" + type + ")(" + pair + " >> 11) * " + real_text(0x1p-53);
        if (u.low != T(0) || u.high != T(1))
            x = math("fma") + "(" + x + ", " + real_text(u.high - u.low) + ", " + real_text(u.low) + ")";
        each(sizeof(T) == 4 ? 4 : 2, "y[i] = " + x + ";");
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
    void dropout(double p)
    {
        const double kept = 1.0 / (1.0 - p);
        choice(p, real_text(0),
               real_text(n_->dtype == DType::float32 ? static_cast<double>(static_cast<float>(kept)) : kept));
    }
    template <class T> void integers()
    {
        const auto& r = op<Draw<RandintFill<T>>>().fill;
        const auto low = static_cast<std::uint64_t>(static_cast<std::int64_t>(r.low)),
                   range = static_cast<std::uint64_t>(static_cast<std::int64_t>(r.high)) - low;
        each(2, "y[i] = (" + w_.type(v_) + ")(" + whole(low) + " + " + w_.helper("scaled", DType::int64) +
                    "(" + pair + ", " + whole(range) + "));");
    }
    /// Key::child.
    void child()
    {
        const KeyChild& c = op<KeyChild>();
        w_.open("{");
        declare_key();
        w_.declare("y", result(), true);
        w_.line("uint32_t w[4];");
        w_.line(w_.helper("block", DType::int64) + "(secret, stream | " +
                whole(std::uint64_t{c.domain} << 62) + ", " + whole(c.i) + ", w);");
        const std::string type = w_.type(v_);
        w_.line("y[0] = (" + type + ")(w[0] | (uint64_t)w[1] << 32);");
        w_.line("y[1] = (" + type + ")((w[2] | (uint64_t)w[3] << 32) >> 2);");
        w_.close();
    }
};

}  // namespace wengert::detail
