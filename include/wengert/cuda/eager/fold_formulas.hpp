// The formulas of a fold (ops/describe/fold_terms.hpp) as what the kernels of fold_text.hpp fold: a struct for each pass.
#pragma once

#include <algorithm>

#include "../../graph/text/function_text.hpp"
#include "../../ops/describe/folds.hpp"
#include "fold_text.hpp"
#include "kernels.hpp"

namespace wengert::detail::gpu {

/// The types of a fold: of its operands, its states and its results.
struct FoldTypes {
    DType element{}, number{}, result{};  ///< of operands, of what is combined, of results
    bool plain =
        false;  ///< whole numbers, truth values and places, whose order matters to nobody: nothing is ended

    FoldTypes(const FoldProgram& f, DType in, DType out) : element(in), number(out), result(out)
    {
        plain = !differentiable(out);
        if (f.passes[0].places) number = in;
    }
    /// So many sums a row has, of so many elements at most; a row of another type has some.
    long long lanes() const { return plain ? 32 : 256 / static_cast<long long>(size_of(number)); }
    /// Below it, digits get lost.
    double least() const { return row_of(number).least; }
    long long part() const { return plain ? 2048 : 16384 / static_cast<long long>(size_of(number)); }
};

/// The types of what formulas read.
inline std::array<DType, FoldInput::count> fold_inputs(const FoldProgram& f, const FoldTypes& types)
{
    std::array<DType, FoldInput::count> of{};
    of.fill(types.number);
    if (f.passes[0].places) of[FoldInput::a + 1] = of[FoldInput::b + 1] = DType::int64;
    return of;
}

class FoldText {
public:
    /// A function wg_chain(f.chain, at) that makes the elements of the one operand (group_text.hpp), the number of addresses that it is
    /// given, and whether lines are columns. Without it elements lie in memory, in lines of any kind.
    struct Chain {
        std::string text;
        std::size_t addresses = 0;
        bool columns = false;
    };
    FoldText(const FoldProgram& f, const FoldTypes& types, std::size_t operands, const Chain* chain = nullptr)
        : f_(f), types_(types), operands_(operands), chain_(chain), inputs_(fold_inputs(f, types))
    {
        for (std::size_t k = 0; k < operands; ++k) names_[FoldInput::element + k] = "e" + std::to_string(k);
        for (std::size_t k = 0; k < 4; ++k) {
            names_[FoldInput::a + k] = "a.v" + std::to_string(k);
            names_[FoldInput::b + k] = "b.v" + std::to_string(k);
        }
        for (const auto& [input, name] : line_names) names_[static_cast<std::size_t>(input)] = name;
        std::string body;
        for (std::size_t p = 0; p < f.passes.size(); ++p) body += pass(p);
        if (f.each) body += each();
        const std::string extra =
            chain ? filled("    wg_group<$> chain;\n", chain->addresses) : std::string();
        const std::string_view end = "};\n";
        text_ = (chain ? chain->text : std::string()) +
                std::string(fold_arguments.substr(0, fold_arguments.size() - end.size())) + extra +
                std::string(end) + body + std::string(fold_kernels);
    }
    /// A module of its own.
    std::string text() { return NumberFunctions("wg_", helpers_).text() + text_ + kernels("", ""); }
    /// A part of a module that has the functions that it calls, in a namespace that begins the names of the kernels.
    std::string text(const std::string& space) const
    {
        return "namespace " + space + " {\n" + text_ + "}\n" + kernels(space + "::", space + "_");
    }
    /// What a pass combines, as members of a struct.
    std::string monoid(std::size_t pass)
    {
        const FoldPass& p = f_.passes[pass];
        std::string s = "    struct S { ";
        for (std::size_t i = 0; i < p.numbers(); ++i)
            s += filled("$ v$; ", p.places && i == 1 ? "wg_int" : number(), i);
        s += "};\n" + function("S none()", none(p));
        // lanes come in any order, and the first of equal ones is wanted
        const std::string order = !p.places
                                      ? ""
                                      : "        if (b.v1 < 0) return a;\n        if (a.v1 < 0) return b;\n"
                                        "        if (b.v1 < a.v1) {\n            const S c = a;\n            "
                                        "a = b, b = c;\n        }\n";
        s += function("S with(S a, S b)", order + state(p.combine, p.numbers(), "a"));
        return s + function("S end(S a)", state(types_.plain ? FoldFormula() : p.finish, p.numbers(), "a"));
    }
    /// Which inputs a formula reads.
    static std::set<std::int32_t> read_by(const FoldFormula& f)
    {
        std::set<std::int32_t> inputs;
        for (const std::int32_t root : f.roots) {
            const std::vector<bool> needed = needed_steps(f.program.steps, root);
            for (std::size_t i = 0; i < needed.size(); ++i)
                if (const TermStep& s = f.program.steps[i]; needed[i] && s.kind == TermKind::input)
                    inputs.insert(s.a);
        }
        return inputs;
    }
    const std::set<std::string>& helpers() const noexcept { return helpers_; }
    /// Can all formulas be written?
    explicit operator bool() const noexcept { return good_; }

private:
    static constexpr std::pair<std::int32_t, const char*> line_names[] = {
        {FoldInput::n, "line_n"},       {FoldInput::number, "line_number"}, {FoldInput::first, "line_first"},
        {FoldInput::r, "line_r0"},      {FoldInput::r + 1, "line_r1"},      {FoldInput::r + 2, "line_r2"},
        {FoldInput::kept, "line_kept"}, {FoldInput::least, "line_least"}};

    std::string kernels(const std::string& space, const std::string& prefix) const
    {
        std::string s;
        const auto kernels_of = [&](std::size_t p, std::initializer_list<const char*> names) {
            for (const char* kernel : names)
                s += filled("extern \"C\" __global__ void $$_$(const $wg_fold f) { $wg_$<$wg_pass$>(f); }\n",
                            prefix, kernel, p, space, space, kernel, space, p);
        };
        for (std::size_t p = 0; p < f_.passes.size(); ++p) {
            if (!chain_ || !chain_->columns || f_.passes.size() > 1) kernels_of(p, {"rows", "join_rows"});
            if (!chain_ || chain_->columns) kernels_of(p, {"columns", "join_columns", "join_few"});
        }
        if (f_.each)
            s += filled("extern \"C\" __global__ void $each(const $wg_fold f) { $wg_each(f); }\n", prefix,
                        space, space);
        return s;
    }
    static std::string c(DType d) { return c_type(d, Dialect::numbers); }
    std::string number() const { return c(types_.number); }

    /// Number i of a formula, its steps before it in `body`.
    std::string value(const FoldFormula& f, std::size_t i, std::string& body)
    {
        const TypedProgram p(f.program, f.roots[i], types_.number, inputs_.data());
        if (!p) {
            good_ = false;
            return "0";
        }
        return TermCode(body, "        ", "wg_", helpers_)
            .call_casts()
            .write(p, {names_.begin(), names_.end()});
    }
    /// What a formula reads of its line, as variables.
    std::string line(const FoldFormula& f) const
    {
        std::string s;
        const std::string t = number();
        const std::set<std::int32_t> read = read_by(f);
        const auto define = [&](std::int32_t input, const std::string& what) {
            if (read.count(input))
                s += filled("        const $ $ = $;\n", t, names_[static_cast<std::size_t>(input)], what);
        };
        define(FoldInput::n, filled("($)f.count", t));
        define(FoldInput::number, filled("($)f.number", t));
        define(FoldInput::least, filled("($)f.least", t));
        define(FoldInput::first, filled("f.count > 0 ? ($)$ : ($)0", t,
                                        element(0, t, "to / f.inner * f.count * f.inner + to % f.inner"), t));
        for (int q = 0; q < 3; ++q) define(FoldInput::r + q, filled("((const $*)f.r[$])[to]", t, q));
        define(FoldInput::kept, filled("((const $*)f.kept)[at]", t));
        return s;
    }
    /// Element `at` of operand k.
    std::string element(std::size_t k, const std::string& type, const char* at) const
    {
        return chain_ ? filled("wg_chain(f.chain, $)", at) : filled("((const $*)f.x[$])[$]", type, k, at);
    }
    /// Elements at `at`, as numbers that are combined.
    std::string elements(std::size_t operands) const
    {
        std::string s;
        for (std::size_t k = 0; k < operands; ++k) {
            const std::string x = element(k, c(types_.element), "at");
            s += filled("        const $ e$ = $;\n", number(), k,
                        types_.number == DType::boolean ? x + " != 0" : filled("($)$", number(), x));
        }
        return s;
    }
    static std::string function(const std::string& head, const std::string& body)
    {
        return "    static " + head + "\n    {\n" + body + "    }\n";
    }
    /// A state of what a formula says, or of what stands for it.
    std::string state(const FoldFormula& f, std::size_t numbers, const std::string& otherwise)
    {
        if (!f) return filled("        return $;\n", otherwise);
        std::string s = "        S y;\n";
        for (std::size_t i = 0; i < numbers; ++i) {
            std::string body;
            const std::string v = value(f, i, body);
            s += "        {\n" + body + filled("        y.v$ = $;\n        }\n", i, v);
        }
        return s + "        return y;\n";
    }
    std::string none(const FoldPass& p) const
    {
        if (p.places) return "        return {0, -1};\n";
        std::string s;
        for (const double v : p.identity) s += (s.empty() ? "" : ", ") + literal_text(v, types_.number);
        return filled("        return {$};\n", s);
    }
    std::string pass(std::size_t number_of)
    {
        const FoldPass& p = f_.passes[number_of];
        const bool whole = number_of == 0 && f_.whole;
        return filled("struct wg_pass$ {\n    static const int lanes = $, part = $;\n", number_of,
                      types_.lanes(), types_.part()) +
               monoid(number_of) +
               function("S element(const wg_fold& f, wg_int at, wg_int to, wg_int k)", element(p, whole)) +
               function("void put(const wg_fold& f, wg_int to, S a)", put(p, number_of, whole)) + "};\n";
    }
    std::string element(const FoldPass& p, bool whole)
    {
        if (p.places) return elements(1) + "        return {e0, k};\n";
        const std::string s = elements(operands_) + (whole ? "" : line(p.map));
        if (!p.keeps) return s + state(p.map, p.numbers(), "{e0}");
        std::string body;
        const std::string v = p.map ? value(p.map, 0, body) : "e0";
        return s + body +
               filled("        const $ v = $;\n        (($*)f.kept)[at] = v;\n        return {v};\n",
                      number(), v, number());
    }
    /// The result of a pass, of line `to`.
    std::string put(const FoldPass& p, std::size_t number_of, bool whole)
    {
        const bool last = number_of + 1 == f_.passes.size() && !f_.each;
        const std::string type = c(last ? types_.result : types_.number);
        std::string s, body, y = p.places ? "a.v1" : "a.v0";
        if (p.result && !types_.plain) {
            s += line(p.result);
            y = value(p.result, 0, body);
        }
        s += body + filled("        (($*)f.out)[to] = ($)($);\n", type, type, y);
        if (!p.enough || !whole) return s;
        std::string test;
        const std::string enough = value(p.enough, 0, test);
        return s + "        {\n" + line(p.enough) + test +
               filled("        ((unsigned char*)f.enough)[to] = $;\n        }\n", enough);
    }
    /// What has as many results as elements.
    std::string each()
    {
        std::string body;
        const std::string y = value(f_.each, 0, body);
        return "inline void wg_each(const wg_fold& f)\n{\n"
               "    for (wg_int at = wg_thread(); at < f.outer * f.count * f.inner; at += wg_threads()) {\n"
               "        const wg_int to = at / (f.count * f.inner) * f.inner + at % f.inner;\n" +
               elements(operands_) + line(f_.each) + body +
               filled("        (($*)f.out)[at] = $;\n    }\n}\n", c(types_.result), y);
    }

    const FoldProgram& f_;
    const FoldTypes& types_;
    std::size_t operands_;
    const Chain* chain_;
    std::array<DType, FoldInput::count> inputs_;
    std::array<std::string, FoldInput::count> names_;
    std::set<std::string> helpers_;
    bool good_ = true;
    std::string text_;
};

}  // namespace wengert::detail::gpu
