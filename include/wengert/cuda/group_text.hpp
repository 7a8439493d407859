// A fused group of a graph (graph/tile/fusion.hpp) as one kernel: a thread makes all of the group's values of one element, then of
// the element as many threads further on. Extents and strides are numbers in the text.
#pragma once

#include "elementwise.hpp"
#include "group_choice.hpp"

namespace wengert::detail::gpu {

/// What the text of kernels of groups begins with. A launch has what cotangents are compared with, then addresses.
inline constexpr std::string_view group_prelude = R"wg(
template <int n> struct wg_group {
    double zero;
    void* p[n];
};
/// An address, or where it stands: with the highest bit set.
inline void* wg_at(void* p)
{
    const uint64_t marked = (uint64_t)p;
    return marked >> 63 ? *(void**)(marked & ~(1ULL << 63)) : p;
}
)wg";

/// An address that launches find at `place` on the device.
inline std::uintptr_t address_at(const std::byte* place)
{
    return reinterpret_cast<std::uintptr_t>(place) | std::uintptr_t{1} << 63;
}

class GroupText {
public:
    /// `helpers`: the functions that it calls.
    GroupText(const Graph& g, const tiling::Layouts& layouts, const tiling::Group& group,
              const GroupPreferences& wants, std::set<std::string>& helpers)
        : g_(g), layouts_(layouts), group_(group), wants_(wants), fold_(find_fold()), shape_(find_shape()),
          places_(body_, index_), code_(body_, "        ", "wg_", helpers)
    {
        for (ValueId v : group.operands)
            if (!is_literal(v)) addresses_.push_back(v);
        operands_ = addresses_.size();
        for (ValueId v : group.results)
            if (v != fold_) addresses_.push_back(v);
        find_direct();
        space_.emplace(shape_, strides(), 0);
        find_index();
        loads();
        for (ValueId v : group.nodes)
            if (!inside(v) && v != fold_) statements(v);
        stores();
    }
    /// What is folded of the elements as they are made, or no_value.
    ValueId fold() const noexcept { return fold_; }
    /// The function that makes what is folded.
    FoldText::Chain chain() const
    {
        const ValueId x = g_.node(fold_).inputs[0];
        Fold f;
        fold_of(g_.node(fold_), f);
        return {
            filled("inline $ wg_chain(const wg_group<$>& g, wg_int at)\n{\n", type(x), addresses_.size()) +
                pointers() + filled("    const $ i = ($)at;\n", index_, index_) + body_ +
                filled("        return $;\n}\n", names_.at(x)),
            addresses_.size(), FoldLines(shape_, f).inner > 1};
    }
    /// Everything behind the kernel's name.
    std::string text() const
    {
        return filled("(const wg_group<$> g)\n{\n", addresses_.size()) + pointers() +
               filled("    for ($ i = ($)wg_thread(); i < $; i += ($)wg_threads()) {\n", index_, index_,
                      element_count(shape_), index_) +
               body_ + "    }\n}\n";
    }
    /// The values whose addresses a launch gives, what is read before what is written.
    const std::vector<ValueId>& addresses() const noexcept { return addresses_; }
    std::int64_t count() const { return static_cast<std::int64_t>(element_count(shape_)); }

private:
    ValueId find_fold() const
    {
        for (ValueId v : group_.nodes)
            if (g_.node(v).primitive->fold) return v;
        return no_value;
    }
    const Shape& find_shape() const
    {
        return g_.node(fold_ == no_value ? group_.nodes.back() : g_.node(fold_).inputs[0]).shape;
    }
    std::string pointers() const
    {
        std::string s = "    const double zero = g.zero;\n    (void)zero;\n";
        for (std::size_t k = 0; k < addresses_.size(); ++k) {
            const char* const as = k < operands_ ? "const " : "";
            const char* const t = type(addresses_[k]);
            s += filled("    $$* const p$ = ($$*)wg_at(g.p[$]);\n", as, t, k, as, t, k);
        }
        return s;
    }
    using Names = PlaceText::Names;
    /// Values by name, at one place.
    using Known = std::unordered_map<ValueId, std::string>;

    template <class N> static std::string number(N n) { return std::to_string(n); }
    const char* type(ValueId v) const { return c_type(g_.node(v).dtype, Dialect::numbers); }
    bool is_literal(ValueId v) const
    {
        double value;
        return text_literal(g_, layouts_, v, value) != nullptr;
    }
    bool moves(ValueId v) const { return is_described(*g_.node(v).primitive); }
    /// Is it made where an index program reads it?
    bool inside(ValueId v) const
    {
        const ValueList* all = wants_.whole_step(v);
        return all && all->back() != v;
    }
    /// The operands that are read at the places that are made.
    void find_direct()
    {
        std::set<ValueId> read;
        for (ValueId v : group_.nodes) {
            any_moves_ = any_moves_ || moves(v);
            for (ValueId i : g_.node(v).inputs)
                if (!inside(v) && v != fold_ && (!moves(v) || wants_.in_step(i, v))) read.insert(i);
        }
        for (std::size_t k = 0; k < operands_; ++k)
            if (read.contains(addresses_[k])) direct_.push_back(k);
    }
    std::vector<Strides> strides() const
    {
        std::vector<Strides> of;
        for (std::size_t k : direct_)
            of.push_back(
                broadcast_strides(g_.node(addresses_[k]).shape, layouts_[addresses_[k]].strides, shape_));
        of.push_back(row_major(shape_));
        return of;
    }
    /// 32 bits where all places have as many: the arithmetic of an index is a part of what a kernel does.
    void find_index()
    {
        std::int64_t most = count();
        for (const auto& s : space_->strides) {
            std::int64_t reach = 0;
            for (std::size_t d = 0; d < space_->rank(); ++d) reach += std::abs(s[d]) * space_->extents[d];
            most = std::max(most, reach);
        }
        for (ValueId v : group_.operands) {
            std::int64_t reach = 0;
            for (std::size_t d = 0; d < g_.node(v).shape.size(); ++d)
                reach += std::abs(layouts_[v].strides[d]) * g_.node(v).shape[d];
            most = std::max(most, reach);
        }
        for (ValueId v : group_.nodes) most = std::max(most, farthest(v));
        if (most < std::int64_t{1} << 29) index_ = "int";
    }
    /// The greatest number that a place is worked out with.
    std::int64_t farthest(ValueId v) const
    {
        std::int64_t most = 0;
        const auto look_at = [&](const Index& p, const Positions& at) {
            for (std::size_t d = 0; d < at.size(); ++d) {
                const auto [least, greatest] = Moving(p, at.data()[d]).range(p, at.data()[d]);
                most = std::max({most, std::abs(least), std::abs(greatest)});
            }
        };
        if (moves(v))
            each_program(g_, g_.node(v), [&](const Index& p, std::span<const ValueId>) {
                for (std::size_t k = 0; k < p.read_count; ++k) {
                    look_at(p, p.reads[k].at);
                    look_at(p, p.writes[p.reads[k].write]);
                }
                return true;
            });
        return most;
    }
    bool in_one_place(std::size_t k) const
    {
        return std::all_of(space_->strides[k].begin(), space_->strides[k].end(),
                           [](auto s) { return s == 0; });
    }
    bool as_results(std::size_t k) const { return space_->strides[k] == space_->strides.back(); }
    std::string place(std::size_t k) const
    {
        if (as_results(k)) return "i";
        std::string at;
        for (std::size_t d = 0; d < space_->rank(); ++d) {
            const std::int64_t s = space_->strides[k][d];
            if (s == 0 || space_->extents[d] == 1) continue;
            at += at.empty() ? "" : " + ";
            at += space_->rank() == 1 ? std::string("i") : filled("i$", d);
            if (s != 1)
                at += filled(" * $", index_ == std::string_view("int") ? number(s) : number(s) + "LL");
        }
        return at.empty() ? "0" : at;
    }
    void loads()
    {
        bool split = false;
        for (std::size_t k = 0; k < direct_.size(); ++k)
            split = split || (space_->rank() > 1 && !as_results(k) && !in_one_place(k));
        std::string rest = "i";
        for (std::size_t d = space_->rank(); split && d-- > 0;) {
            const std::string e = number(space_->extents[d]);
            body_ += filled("        const $ i$ = $", index_, d, d ? rest + " % " + e : rest);
            body_ += d ? filled(", r$ = $ / $;\n", d, rest, e) : ";\n";
            rest = filled("r$", d);
        }
        for (std::size_t k = 0; k < direct_.size(); ++k) {
            const ValueId v = addresses_[direct_[k]];
            names_[v] = filled("a$", direct_[k]);
            body_ += filled("        const $ a$ = p$[$];\n", type(v), direct_[k], direct_[k], place(k));
        }
        if (any_moves_) here_ = places_.split("i", shape_);
    }
    void statements(ValueId v)
    {
        if (moves(v)) return void(names_[v] = moved(v, here_, names_));
        std::vector<std::string> in;
        for (ValueId i : g_.node(v).inputs) in.push_back(names_[i]);
        names_[v] = code_.write(program_of(g_, layouts_, v), in);
    }
    void stores()
    {
        for (std::size_t k = operands_; k < addresses_.size(); ++k)
            body_ += filled("        p$[i] = $;\n", k, names_[addresses_[k]]);
    }

    /// A value somewhere: `known` are those that have been made there.
    std::string value(ValueId v, const Names& at, Known& known)
    {
        if (const auto found = known.find(v); found != known.end()) return found->second;
        if (is_literal(v)) return literal(v);
        std::string& name = known[v];
        if (!inside(v)) {
            const auto k = std::find(addresses_.begin(), addresses_.end(), v) - addresses_.begin();
            return name = places_.let(type(v), filled("p$[$]", k, places_.place(at, layouts_[v].strides)));
        }
        if (moves(v)) {
            Known there = known;
            return known[v] = moved(v, at, there);
        }
        std::vector<std::string> in;
        for (ValueId i : g_.node(v).inputs) in.push_back(broadcast(i, g_.node(v).shape, at, known));
        return known[v] = code_.write(program_of(g_, layouts_, v), in);
    }
    std::string broadcast(ValueId v, const Shape& to, const Names& at, Known& known)
    {
        const Shape& shape = g_.node(v).shape;
        Names there(at.end() - static_cast<std::ptrdiff_t>(shape.size()), at.end());
        for (std::size_t d = 0; d < shape.size(); ++d)
            if (shape[d] != to[to.size() - shape.size() + d]) there[d] = "0";
        return value(v, there, known);
    }
    std::string literal(ValueId v) const
    {
        double value = 0;
        text_literal(g_, layouts_, v, value);
        return literal_text(value, g_.node(v).dtype);
    }

    /// The result of index programs somewhere, one read after another.
    std::string moved(ValueId v, const Names& at, Known& known)
    {
        const GraphNode& n = g_.node(v);
        const std::string y = filled("y$", ++results_);
        std::string first;
        Names r;
        each_program(g_, n, [&](const Index& p, std::span<const ValueId> in) {
            if (first.empty()) {
                first = p.start == Index::Start::operand ? value(in[p.base], at, known)
                        : p.start == Index::Start::fill  ? literal_text(p.fill, n.dtype)
                                                         : "0";
                body_ += filled("        $ $ = $;\n", type(v), y, first);
                r = p.arranged ? places_.split(places_.let(places_.place(at, row_major(n.shape))), p.result)
                               : at;
            }
            for (std::size_t k = 0; k < p.read_count; ++k) read(n, p, p.reads[k], in, y, r);
            return true;
        });
        return y;
    }
    void read(const GraphNode& n, const Index& p, const Index::Read& r, std::span<const ValueId> in,
              const std::string& y, const Names& at)
    {
        body_ += "        {\n";
        std::string written, found;
        const Names axis = places_.axes(p, p.writes[r.write], at, written);
        if (!written.empty()) body_ += "        if (" + written + ") {\n";
        std::string x = literal_text(r.fill, n.dtype);
        if (r.operand != Index::no_operand) {
            const ValueId v = in[r.operand];
            const auto given = [&](const Index::Given& g) { return given_at(p, g, in, axis); };
            const Names from = places_.positions(p, r.at, g_.node(v).shape, axis, given, found);
            const std::string outside = x;
            x = filled("x$", ++results_);
            body_ += filled("        $ $ = $;\n", type(v), x, outside);
            if (!found.empty()) body_ += "        if (" + found + ") {\n";
            Known there;
            const std::string value_there = value(v, from, there);
            body_ += filled("        $ = $;\n", x, value_there);
            if (!found.empty()) body_ += "        }\n";
        }
        body_ += filled("        $ = $;\n", y, met(n.dtype, r, y, x));
        body_ += written.empty() ? "        }\n" : "        }\n        }\n";
    }
    std::string given_at(const Index& p, const Index::Given& g, std::span<const ValueId> in,
                         const Names& axis)
    {
        Names at;
        for (std::size_t d = 0; d < g.at.size(); ++d)
            at.push_back(PlaceText::affine(p, g.at.data()[d], axis));
        Known there;
        return places_.let("wg_int", value(in[g.operand], at, there));
    }
    /// Whole numbers wrap.
    static std::string met(DType d, const Index::Read& r, const std::string& y, const std::string& x)
    {
        if (r.how == Combine::assign && !r.minus) return x;
        const std::string left = r.how == Combine::assign ? "" : y;
        if (differentiable(d)) return left + (r.minus ? " - " : " + ") + x;
        return filled("($)((uint64_t)$ $ (uint64_t)$)", c_type(d, Dialect::numbers),
                      left.empty() ? "0" : left, r.minus ? "-" : "+", x);
    }

    const Graph& g_;
    const tiling::Layouts& layouts_;
    const tiling::Group& group_;
    const GroupPreferences& wants_;
    ValueId fold_;
    Shape shape_;                     ///< of what is made
    std::optional<LoopSpace> space_;  ///< of the direct operands, then of all results
    const char* index_ = "wg_int";
    std::size_t operands_ = 0, results_ = 0;
    std::vector<ValueId> addresses_;
    std::vector<std::size_t> direct_;  ///< those of them that are read at the places that are made
    bool any_moves_ = false;
    Known names_;
    Names here_;
    std::string body_;
    PlaceText places_;
    TermCode code_;
};

}  // namespace wengert::detail::gpu
