// A fused group of a graph (graph/tile/fusion.hpp) as one kernel: a thread makes all of the group's values of one element, then of
// the element as many threads further on. Extents and strides are numbers in the text.
#pragma once

#include "../graph/emit/loop_text.hpp"
#include "../graph/tile/fusion.hpp"
#include "elementwise.hpp"

namespace wengert::detail::gpu {

/// What becomes one kernel: elementwise operations of one shape whose rules can be written, also such that have nothing else in common.
class GroupPreferences final : public tiling::Preferences {
public:
    GroupPreferences(const Graph& g, const tiling::Layouts& layouts)
        : g_(g), layouts_(layouts), steps_(g.size(), 0)
    {
        strangers = true;
    }
    bool fuses(ValueId v) override
    {
        const TypedProgram p = program_of(g_, layouts_, v);
        if (p) steps_[v] = p.steps().size();
        return bool(p);
    }
    bool has_room(const tiling::Group& group, ValueId v) const override
    {
        std::size_t steps = steps_[v];
        for (ValueId u : group.nodes) steps += steps_[u];
        return steps <= most_steps && group.nodes.size() < limits_.nodes &&
               group.operands.size() < limits_.operands;
    }
    bool adds_up(const tiling::Group&, ValueId) const override { return false; }

private:
    /// More of them take registers from other threads, and the compiler long.
    static constexpr std::size_t most_steps = 400;

    const Graph& g_;
    const tiling::Layouts& layouts_;
    std::vector<std::size_t> steps_;  ///< of the programs of what fuses
    tiling::GroupLimits limits_;
};

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
              std::set<std::string>& helpers)
        : g_(g), layouts_(layouts), group_(group), shape_(g.node(group.nodes.back()).shape),
          space_(shape_, strides(), 0), code_(body_, "        ", "wg_", helpers)
    {
        for (ValueId v : group.operands)
            if (!is_literal(v)) addresses_.push_back(v);
        operands_ = addresses_.size();
        addresses_.insert(addresses_.end(), group.results.begin(), group.results.end());
        find_index();
        loads();
        for (ValueId v : group.nodes) statements(v);
        stores();
    }
    /// Everything behind the kernel's name.
    std::string text() const
    {
        const std::string n = number(addresses_.size());
        std::string s =
            "(const wg_group<" + n + "> g)\n{\n    const double zero = g.zero;\n    (void)zero;\n";
        for (std::size_t k = 0; k < addresses_.size(); ++k)
            s += filled("    $$* const p$ = ($$*)wg_at(g.p[$]);\n", k < operands_ ? "const " : "",
                        type(addresses_[k]), k, k < operands_ ? "const " : "", type(addresses_[k]), k);
        return s +
               filled("    for ($ i = ($)wg_thread(); i < $; i += ($)wg_threads()) {\n", index_, index_,
                      element_count(shape_), index_) +
               body_ + "    }\n}\n";
    }
    /// The values whose addresses a launch gives, what is read before what is written.
    const std::vector<ValueId>& addresses() const noexcept { return addresses_; }
    std::int64_t count() const { return static_cast<std::int64_t>(element_count(shape_)); }

private:
    template <class N> static std::string number(N n) { return std::to_string(n); }
    const char* type(ValueId v) const { return c_type(g_.node(v).dtype, Dialect::numbers); }
    bool is_literal(ValueId v) const
    {
        double value;
        return text_literal(g_, layouts_, v, value) != nullptr;
    }
    std::vector<Strides> strides() const
    {
        std::vector<Strides> of;
        for (ValueId v : group_.operands)
            if (!is_literal(v))
                of.push_back(broadcast_strides(g_.node(v).shape, layouts_[v].strides, shape_));
        of.push_back(row_major(shape_));
        return of;
    }
    /// 32 bits where all places have as many: the arithmetic of an index is a part of what a kernel does.
    void find_index()
    {
        std::int64_t most = count();
        for (const auto& s : space_.strides) {
            std::int64_t reach = 0;
            for (std::size_t d = 0; d < space_.rank(); ++d) reach += std::abs(s[d]) * space_.extents[d];
            most = std::max(most, reach);
        }
        if (most < std::int64_t{1} << 30) index_ = "int";
    }
    bool in_one_place(std::size_t k) const
    {
        return std::all_of(space_.strides[k].begin(), space_.strides[k].end(), [](auto s) { return s == 0; });
    }
    bool as_results(std::size_t k) const { return space_.strides[k] == space_.strides.back(); }
    std::string place(std::size_t k) const
    {
        if (as_results(k)) return "i";
        std::string at;
        for (std::size_t d = 0; d < space_.rank(); ++d) {
            const std::int64_t s = space_.strides[k][d];
            if (s == 0 || space_.extents[d] == 1) continue;
            at += at.empty() ? "" : " + ";
            at += space_.rank() == 1 ? std::string("i") : filled("i$", d);
            if (s != 1)
                at += filled(" * $", index_ == std::string_view("int") ? number(s) : number(s) + "LL");
        }
        return at.empty() ? "0" : at;
    }
    void loads()
    {
        bool split = false;
        for (std::size_t k = 0; k < operands_; ++k)
            split = split || (space_.rank() > 1 && !as_results(k) && !in_one_place(k));
        std::string rest = "i";
        for (std::size_t d = space_.rank(); split && d-- > 0;) {
            const std::string e = number(space_.extents[d]);
            body_ += filled("        const $ i$ = $", index_, d, d ? rest + " % " + e : rest);
            body_ += d ? filled(", r$ = $ / $;\n", d, rest, e) : ";\n";
            rest = filled("r$", d);
        }
        for (std::size_t k = 0; k < operands_; ++k) {
            names_[addresses_[k]] = filled("a$", k);
            body_ += filled("        const $ a$ = p$[$];\n", type(addresses_[k]), k, k, place(k));
        }
    }
    void statements(ValueId v)
    {
        std::vector<std::string> in;
        for (ValueId i : g_.node(v).inputs) in.push_back(names_[i]);
        names_[v] = code_.write(program_of(g_, layouts_, v), in);
    }
    void stores()
    {
        for (std::size_t k = operands_; k < addresses_.size(); ++k)
            body_ += filled("        p$[i] = $;\n", k, names_[addresses_[k]]);
    }

    const Graph& g_;
    const tiling::Layouts& layouts_;
    const tiling::Group& group_;
    Shape shape_;
    LoopSpace space_;  ///< of the operands that are no numbers, then of all results
    const char* index_ = "wg_int";
    std::size_t operands_ = 0;
    std::vector<ValueId> addresses_;
    std::unordered_map<ValueId, std::string> names_;
    std::string body_;
    TermCode code_;
};

}  // namespace wengert::detail::gpu
