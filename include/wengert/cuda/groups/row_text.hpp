// A fused group over rows as one kernel: as many threads as a fold's stated order has sums make one row, in phases. In each they walk over
// the row, make elements again from what is there, and end in folds, whose results the next phase knows, or in stores. So softmax, a
// normalisation, and their derivatives are one launch.
#pragma once

#include "element_text.hpp"

namespace wengert::detail::gpu {

class RowText : public ElementText {
public:
    RowText(const Graph& g, const tiling::Layouts& layouts, const tiling::Group& group,
            const GroupPreferences& wants, std::set<std::string>& helpers)
        : ElementText(g, layouts, group, wants, helpers, no_value), helpers_(helpers),
          shape_(wants.rows_of(group))
    {
        for (std::size_t d = 0; d < shape_.size(); ++d)
            if (shape_[d] != 1) axis_ = d;
        find_phases();
        whole_ = lanes_;
        while (lanes_ / 2 >= length()) lanes_ /= 2;
        const auto most = static_cast<std::size_t>((length() + lanes_ - 1) / lanes_);
        at_once_ = std::min({AtOnce::of(wants.cost(group)), most, std::size_t{4}});
        find_index(static_cast<std::int64_t>(element_count(shape_)));
        Shape leading = shape_;
        leading[axis_] = 1;
        here_ = places_.split("row", leading);
        for (std::size_t p = 0; p < phases_; ++p) phase(p);
    }
    /// The functions that a kernel `name` consists of, and the kernel.
    std::string text(const std::string& name) const
    {
        return filled("namespace $ {\n", name) + monoids_ +
               filled("inline void run(const wg_group<$>& g)\n{\n", addresses_.size()) + pointers() +
               filled("    __shared__ wg_int sums[$];\n", 256 * words_) +
               filled("    const int lane = threadIdx.x % $;\n", lanes_) +
               filled("    for (wg_int first = (wg_int)blockIdx.x * $; first < $; first += (wg_int)gridDim.x "
                      "* $) {\n",
                      256 / lanes_, rows(), 256 / lanes_) +
               filled("        const bool some = first + threadIdx.x / $ < $;\n", lanes_, rows()) +
               filled("        const $ row = some ? ($)(first + threadIdx.x / $) : 0;\n", index_, index_,
                      lanes_) +
               body_ + "    }\n}\n}\n" +
               filled("extern \"C\" __global__ void $_rows(const wg_group<$> g) { $::run(g); }\n", name,
                      addresses_.size(), name);
    }
    /// Of threads.
    std::int64_t count() const { return rows() * lanes_; }

private:
    /// A fold of rows, and the names of what its formulas read.
    struct RowFold {
        Fold fold;
        const FoldProgram* program;
        FoldTypes types;
        std::array<DType, FoldInput::count> inputs;
        std::vector<std::string> names;
        std::string enough;  ///< the condition that no passes after the first are needed
    };
    struct Pass {
        ValueId v;
        std::size_t number;
        std::string monoid, state;
    };

    std::int64_t length() const { return shape_[axis_]; }
    std::int64_t rows() const { return static_cast<std::int64_t>(element_count(shape_)) / length(); }
    bool narrow(ValueId v) const { return g_.node(v).shape != shape_; }
    bool is_result(ValueId v) const
    {
        return std::find(group_.results.begin(), group_.results.end(), v) != group_.results.end();
    }
    const FoldPass& formulas(const Pass& p) const { return folds_.at(p.v).program->passes[p.number]; }

    /// Before which phase each value is known, and which pass of a fold is in which.
    void find_phases()
    {
        for (ValueId v : group_.nodes) {
            if (inside(v)) continue;
            std::size_t known = 0;
            for (ValueId i : g_.node(v).inputs)
                if (const auto found = known_.find(i); found != known_.end())
                    known = std::max(known, found->second);
            if (g_.node(v).primitive->fold) known = add_fold(v, known);
            known_[v] = known;
            phases_ = std::max(phases_, known + 1);
        }
    }
    std::size_t add_fold(ValueId v, std::size_t phase)
    {
        const GraphNode& n = g_.node(v);
        const FoldProgram& program = formulas_of(*n.primitive->fold);
        const FoldTypes types(program, g_.node(n.inputs[0]).dtype, n.dtype);
        RowFold f{{}, &program, types, fold_inputs(program, types), line_names(v, types), {}};
        fold_of(n, f.fold);
        if (!types.plain) lanes_ = types.lanes();
        FoldText text(program, types, n.inputs.size());
        for (std::size_t p = 0; p < program.passes.size(); ++p) {
            const std::string name = filled("m$_$", v, p);
            monoids_ += filled("struct $ {\n", name) + text.monoid(p) + "};\n";
            passes_[phase++].push_back({v, p, name, filled("s$_$", v, p)});
            words_ = std::max(words_, program.passes[p].numbers());
        }
        helpers_.insert(text.helpers().begin(), text.helpers().end());
        folds_.emplace(v, std::move(f));
        return phase;
    }
    std::vector<std::string> line_names(ValueId v, const FoldTypes& types) const
    {
        std::vector<std::string> names(FoldInput::count);
        Fold f;
        fold_of(g_.node(v), f);
        const auto as_number = [&](double x) {
            return filled("(($)$)", c_type(types.number, Dialect::numbers),
                          literal_text(x, dtype_of<double>()));
        };
        names[FoldInput::n] = as_number(static_cast<double>(length()));
        names[FoldInput::number] = as_number(f.number);
        names[FoldInput::least] = as_number(types.least());
        names[FoldInput::first] = filled("first$", v);
        for (int q = 0; q < 3; ++q) names[static_cast<std::size_t>(FoldInput::r + q)] = filled("r$_$", v, q);
        return names;
    }

    void phase(std::size_t p)
    {
        for (ValueId v : group_.nodes)
            if (known_.contains(v) && known_[v] == p && narrow(v) && !folds_.contains(v)) one_of_row(v);
        std::set<ValueId> wanted;
        bool stores = false, always = false;
        for (const Pass& q : passes_[p]) {
            const GraphNode& n = g_.node(q.v);
            wanted.insert(n.inputs.begin(), n.inputs.end());
            always = always || folds_.at(q.v).enough.empty();
            find_first(q, p);
            body_ += filled("        $::S $ = $::none();\n", q.monoid, q.state, q.monoid);
        }
        for (ValueId v : group_.results)
            if (known_[v] == p && !narrow(v)) wanted.insert(v), stores = true;
        if (wanted.empty()) return;
        const std::string where = always || stores ? "some" : "some && !(" + all_enough(p) + ")";
        if (stores)
            stored_elements(p, wanted);
        else
            folded_elements(p, wanted, where);
        for (const Pass& q : passes_[p]) end(q);
    }
    void folded_elements(std::size_t p, const std::set<ValueId>& wanted, const std::string& where)
    {
        body_ += filled("        for ($ k = $ ? lane : $; k < $; k += $) {\n", index_, where, length(),
                        length(), lanes_);
        const Known names = elements(wanted, "k", p);
        for (const Pass& q : passes_[p]) combine(q, names);
        body_ += "        }\n";
    }
    /// A thread makes some elements before it writes the first of them.
    void stored_elements(std::size_t p, const std::set<ValueId>& wanted)
    {
        const std::string some = filled(
            "#pragma unroll\n        for (int u = 0; u < $; ++u) {\n        const $ k = from + u * $;\n"
            "        if (k < $) {\n",
            at_once_, index_, lanes_, length());
        body_ += filled("        for ($ from = some ? lane : $; from < $; from += $) {\n", index_, length(),
                        length(), static_cast<long long>(at_once_) * lanes_);
        std::string stores;
        for (ValueId v : group_.results) {
            if (known_[v] != p || narrow(v)) continue;
            body_ += filled("        $ made$[$];\n", type(v), address_of(v), at_once_);
            stores += filled("        p$[row * $ + k] = made$[u];\n", address_of(v), length(), address_of(v));
        }
        body_ += some;
        const Known names = elements(wanted, "k", p);
        for (const Pass& q : passes_[p]) combine(q, names);
        for (ValueId v : group_.results)
            if (known_[v] == p && !narrow(v))
                body_ += filled("        made$[u] = $;\n", address_of(v), names.at(v));
        body_ += "        }\n        }\n" + some + stores + "        }\n        }\n        }\n";
    }
    std::string all_enough(std::size_t p)
    {
        std::string s;
        for (const Pass& q : passes_[p]) s += (s.empty() ? "" : " && ") + folds_.at(q.v).enough;
        return s;
    }
    /// What a value with one element a row is, the same in all threads of the row.
    void one_of_row(ValueId v)
    {
        const Names at = places_.split("row", g_.node(v).shape);
        Known known = narrow_;
        narrow_[v] = made(v, at, known);
        put(v);
    }
    void put(ValueId v)
    {
        if (is_result(v))
            body_ += filled("        if (some && lane == 0) p$[row] = $;\n", address_of(v), narrow_.at(v));
    }
    std::string made(ValueId v, const Names& at, Known& known)
    {
        if (moves(v)) return moved(v, at, known);
        std::vector<std::string> in;
        for (ValueId i : g_.node(v).inputs) in.push_back(broadcast(i, g_.node(v).shape, at, known));
        return code_.write(program_of(g_, layouts_, v), in);
    }
    /// Elements at position `k` of the row, from what is known before phase p. What has been stored is read again.
    Known elements(const std::set<ValueId>& wanted, const std::string& k, std::size_t p)
    {
        std::set<ValueId> needed = wanted;
        const auto is_stored = [&](ValueId v) { return is_result(v) && known_[v] < p; };
        const auto made_here = [&](ValueId v) { return known_.contains(v) && !narrow(v); };
        for (std::size_t i = group_.nodes.size(); i-- > 0;)
            if (const ValueId v = group_.nodes[i]; needed.contains(v) && made_here(v) && !is_stored(v))
                needed.insert(g_.node(v).inputs.begin(), g_.node(v).inputs.end());
        Names at = here_;
        at[axis_] = k;
        Known known = narrow_;
        for (ValueId v : group_.nodes) {
            if (!needed.contains(v) || !made_here(v)) continue;
            if (is_stored(v))
                known[v] = places_.let(type(v), filled("p$[row * $ + $]", address_of(v), length(), k));
            else
                known[v] = folds_.contains(v) ? each(v, at, known) : made(v, at, known);
        }
        for (ValueId v : wanted) known[v] = broadcast(v, shape_, at, known);
        return known;
    }

    /// The names of what formulas behind so many passes read at an element.
    std::vector<std::string> at_element(const RowFold& f, ValueId v, const Known& known, std::size_t passes)
    {
        std::vector<std::string> names = f.names;
        const GraphNode& n = g_.node(v);
        const char* const t = c_type(f.types.number, Dialect::numbers);
        for (std::size_t k = 0; k < n.inputs.size(); ++k) {
            const std::string& x = known.at(n.inputs[k]);
            names[FoldInput::element + k] =
                places_.let(t, f.types.number == DType::boolean ? x + " != 0" : filled("($)$", t, x));
        }
        for (std::size_t q = 0; q < passes; ++q)
            if (const FoldPass& p = f.program->passes[q]; p.keeps)
                names[FoldInput::kept] = p.map ? value(f, p.map, 0, names) : names[FoldInput::element];
        return names;
    }
    std::string value(const RowFold& f, const FoldFormula& formula, std::size_t i,
                      const std::vector<std::string>& names)
    {
        return code_.write(TypedProgram(formula.program, formula.roots[i], f.types.number, f.inputs.data()),
                           names);
    }
    /// An element of a fold that has as many results as elements.
    std::string each(ValueId v, const Names& at, Known& known)
    {
        const RowFold& f = folds_.at(v);
        for (ValueId i : g_.node(v).inputs) known[i] = broadcast(i, shape_, at, known);
        const std::vector<std::string> names = at_element(f, v, known, f.program->passes.size());
        return places_.let(type(v), filled("($)($)", type(v), value(f, f.program->each, 0, names)));
    }
    /// The first element of the row, where formulas read it.
    void find_first(const Pass& q, std::size_t p)
    {
        RowFold& f = folds_.at(q.v);
        const FoldPass& pass = formulas(q);
        bool reads = false;
        for (const FoldFormula* of : {&pass.map, &pass.result, &f.program->each})
            reads = reads || (*of && FoldText::read_by(*of).contains(FoldInput::first));
        if (!reads || !firsts_.insert(q.v).second) return;
        const ValueId x = g_.node(q.v).inputs[0];
        const char* const t = c_type(f.types.number, Dialect::numbers);
        body_ += filled("        $ first$;\n        {\n", t, q.v);
        const Known known = elements({x}, "0", p);
        body_ += filled("        first$ = ($)$;\n        }\n", q.v, t, known.at(x));
    }
    void combine(const Pass& q, const Known& known)
    {
        const RowFold& f = folds_.at(q.v);
        const FoldPass& p = formulas(q);
        const std::vector<std::string> names = at_element(f, q.v, known, q.number);
        std::string element = p.places || !p.map ? names[0] : value(f, p.map, 0, names);
        if (p.places) element += ", k";
        for (std::size_t i = 1; i < p.numbers() && !p.places; ++i)
            element += ", " + value(f, p.map, i, names);
        body_ += filled("        $ = $::with($, $::S{$});\n", q.state, q.monoid, q.state, q.monoid, element);
    }
    /// The result of a pass.
    void end(const Pass& q)
    {
        RowFold& f = folds_.at(q.v);
        const FoldPass& p = formulas(q);
        const char* const t = c_type(f.types.number, Dialect::numbers);
        body_ +=
            filled("        $ = wg_joined<$, $, $>(sums, $);\n", q.state, q.monoid, lanes_, whole_, q.state);
        std::vector<std::string> names = f.names;
        for (std::size_t k = 0; k < p.numbers(); ++k) names[FoldInput::a + k] = filled("$.v$", q.state, k);
        std::string y = names[p.places ? FoldInput::a + 1 : FoldInput::a];
        if (p.result && !f.types.plain) y = value(f, p.result, 0, names);
        const bool last = q.number + 1 == f.program->passes.size() && !f.program->each;
        const std::string r = names[FoldInput::r + q.number];
        if (!f.enough.empty()) y = filled("$ ? r$_0 : $", f.enough, q.v, y);
        body_ += filled("        const $ $ = $;\n", last ? type(q.v) : t, r, y);
        if (q.number == 0 && f.program->whole && p.enough)
            f.enough = places_.let("bool", value(f, p.enough, 0, names));
        if (!last) return;
        narrow_[q.v] = r;
        put(q.v);
    }

    std::set<std::string>& helpers_;
    Shape shape_;  ///< of the elements
    std::size_t axis_ = 0, phases_ = 1, words_ = 1, at_once_ = 1;
    long long lanes_ = 32, whole_ = 32;               ///< threads of a row, and sums that the order has
    Names here_;                                      ///< but the position in the row
    std::unordered_map<ValueId, std::size_t> known_;  ///< before which phase
    std::unordered_map<ValueId, RowFold> folds_;
    std::unordered_map<std::size_t, std::vector<Pass>> passes_;  ///< by phase
    std::set<ValueId> firsts_;
    Known narrow_;
    std::string monoids_;
};

}  // namespace wengert::detail::gpu
