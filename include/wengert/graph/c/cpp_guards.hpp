// Guards in emitted code: what a graph was traced under is compared, and the first that does not hold is the function's result.
#pragma once

#include "cpp_writer.hpp"

namespace wengert::detail {

class CppGuards {
public:
    explicit CppGuards(CppWriter& w) : w_(w), made_(w.graph.guards().size(), 0), known_(made_.size(), false)
    {
        std::vector<std::size_t> maker(w.graph.size(), 0);
        for (std::size_t t = 0; t < w.plan.tasks.size(); ++t)
            for (ValueId r : w.plan.tasks[t].group.results) maker[r] = t + 1;
        for (std::size_t k = 0; k < made_.size(); ++k)
            made_[k] = maker[w.plan.root(w.graph.guards()[k].value)];
    }
    /// Looks at the values that are there after `time` tasks. A guard whose value comes before that of another one with a
    /// smaller number waits for it, as a branch that is not taken decides what the rest means.
    void check(std::size_t time)
    {
        for (std::size_t k = 0; k < made_.size(); ++k) {
            if (made_[k] != time) continue;
            compare(k);
            known_[k] = true;
        }
        for (; next_ < known_.size() && known_[next_]; ++next_)
            w_.line("if (!g$) return $;", next_, next_ + 1);
    }

private:
    /// int gK = the value has the bits of the expected one
    void compare(std::size_t k)
    {
        const Guard& guard = w_.graph.guards()[k];
        const CppOperand x = w_.operand(guard.value);
        const std::string g = "g" + std::to_string(k);
        if (guard.expected->dtype == DType::boolean && guard.expected->count == 1)
            return w_.line("const int $ = $*($);", g, *guard.expected->as<bool>() ? "" : "!", x.pointer);
        const std::string expected = bits(g, *contiguous(guard.expected));
        w_.line("int $ = 1;", g);
        w_.open("{");
        w_.declare("x", x, false);
        w_.open_loops(x.shape);
        const std::string at = w_.index(x.shape, x.strides), i = w_.index(x.shape, row_major(x.shape));
        w_.line("$ = $ && (memcmp(x + $, $ + $, sizeof *x) == 0$);", g, g, at, expected, i,
                or_nan(guard, g, at, i));
        w_.close_loops(x.shape);
        w_.close();
    }
    /// A NaN meets a NaN (graph/ir/guard_check.hpp): which elements are to be one, where some are.
    std::string or_nan(const Guard& guard, const std::string& g, const std::string& at, const std::string& i)
    {
        if (!differentiable(guard.expected->dtype)) return {};
        const Ref<Block> b = contiguous(guard.expected);
        std::string list;
        bool any = false;
        with_real(b->dtype, [&]<class T>() {
            for (std::size_t k = 0; k < b->count; ++k) {
                const bool nan = b->template as<T>()[k] != b->template as<T>()[k];
                list += nan ? "1," : "0,";
                any = any || nan;
            }
        });
        if (!any) return {};
        const std::string name = w_.prefix + g + "_nan";
        w_.cpp.constants += "static const unsigned char " + name + "[] = {" + list + "};\n";
        return " || (" + name + "[" + i + "] && x[" + at + "] != x[" + at + "])";
    }
    /// The elements as whole numbers of their size.
    std::string bits(const std::string& g, const Block& b)
    {
        const std::size_t size = size_of(b.dtype);
        const std::string name = w_.prefix + g;
        std::string& text = w_.cpp.constants;
        text += std::string("static const ") +
                (size == 8   ? "uint64_t "
                 : size == 4 ? "uint32_t "
                             : "unsigned char ") +
                name + "[] = {";
        for (std::size_t i = 0; i < b.count; ++i) {
            std::uint64_t word = 0;
            for (std::size_t j = size; j-- > 0;)
                word = word << 8 | static_cast<std::uint64_t>(b.data[i * size + j]);
            char buffer[32];
            std::snprintf(buffer, sizeof buffer, "0x%llxu%s", static_cast<unsigned long long>(word),
                          size == 8 ? "ll" : "");
            text += (i ? (i % 6 ? ", " : ",\n    ") : "") + std::string(buffer);
        }
        text += b.count ? "};\n" : "0};\n";
        return name;
    }

    CppWriter& w_;
    std::vector<std::size_t> made_;  ///< by which time the value of each guard is there
    std::vector<bool> known_;
    std::size_t next_ = 0;  ///< all guards before it are looked at
};

}  // namespace wengert::detail
