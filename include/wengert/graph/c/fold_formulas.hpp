// Formulas of folds as text: calls of functions that are each written once.
#pragma once

#include "../ir/fold_of.hpp"
#include "cpp_pieces.hpp"
#include "../text/term_code.hpp"

namespace wengert::detail {

/// The names of the inputs of formulas.
using FoldInputs = std::array<std::string, FoldInput::count>;

class FoldFormulas : protected CppPieces {
public:
    using CppPieces::CppPieces;

protected:
    bool vectors() const { return w_.cpp.native; }
    std::string type() const { return w_.type(v_); }

    /// Number i of a formula, over lanes or, in native code, over plain numbers too.
    std::string value_of(const FoldFormula& f, std::size_t i, const FoldInputs& in, bool numbers)
    {
        const TypedProgram p(f.program, f.roots[i], state_type_, types_.data());
        if (p.is_constant(p.root())) {
            const std::string number = literal_text(p.step(p.root()).value, state_type_);
            return vectors() && !numbers ? "K<X>(" + number + ")" : number;
        }
        if (p.step(p.root()).kind == TermKind::input) return in[static_cast<std::size_t>(p.step(p.root()).a)];
        const std::vector<bool> live = TermCode::operations(p);
        bool functions = false;
        for (std::size_t k = 0; k < live.size(); ++k) functions |= live[k] && !of_numbers(p.steps()[k].kind);
        const bool split = vectors() && numbers && functions;
        return called(p, in, vectors() && (!numbers || split), split);
    }

    std::array<DType, FoldInput::count> types_{};
    DType state_type_{};  ///< of numbers without a partner

private:
    /// Has it a text over numbers that needs no library?
    static bool of_numbers(TermKind k)
    {
        return k == TermKind::negative || k == TermKind::square || k == TermKind::where ||
               k == TermKind::is_finite || k == TermKind::is_nan || k == TermKind::logical_not ||
               (k >= TermKind::add && k <= TermKind::minimum);
    }
    /// `split`: a number is put into lanes, and taken from them.
    std::string called(const TypedProgram& p, const FoldInputs& in, bool lanes, bool split)
    {
        const std::vector<bool> read = TermCode::read(p, FoldInput::count);
        std::vector<std::string> names(in.size());
        std::string parameters, arguments;
        const std::string few = filled("V<$, 16 / sizeof($)>", type(), type());
        for (std::size_t k = 0; k < read.size(); ++k) {
            if (!read[k]) continue;
            names[k] = "x" + std::to_string(k);
            const char* const comma = parameters.empty() ? "" : ", ";
            parameters +=
                comma + (lanes ? "X " : c_type(types_[k], Dialect::numbers) + std::string(" ")) + names[k];
            arguments += comma + (split ? filled("K<$>($)", few, in[k]) : in[k]);
        }
        std::string body;
        if (lanes)
            body = filled("    typedef X $v; typedef Mask<X> $v;\n", c_type(n_->dtype, Dialect::vectors),
                          row_of(row_of(n_->dtype).bits).lane);
        const std::string root = lanes ? TermCode(body).write(p, names)
                                       : TermCode(body, "    ", w_.prefix, w_.cpp.helpers).write(p, names);
        const std::string name = w_.cpp.once(
            'e',
            lanes ? "template <class X> FN auto "
                  : std::string("static inline ") + c_type(p.type(p.root()), Dialect::numbers) + " ",
            "(" + parameters + ")\n{\n" + body + "    return " + root + ";\n}\n");
        return name + "(" + arguments + ")" + (split ? "[0]" : "");
    }
};

}  // namespace wengert::detail
