// The elements of a fused group (graph/fuse/fusion.hpp) as text: a value at a place, from those that it is made of. What a kernel
// does with the places, group_text.hpp and row_text.hpp say.
#pragma once

#include "../eager/elementwise.hpp"
#include "group_choice.hpp"

namespace wengert::detail::gpu {

/// What the text of kernels of groups begins with. A launch has what cotangents are compared with, then addresses.
inline constexpr std::string_view group_prelude = R"wg(
template <int n> struct wg_group {
    double zero;
    void* p[n];
};
/// An address in the device's memory, or where it stands there: with the highest bit set.
inline void* wg_at(void* p)
{
    const uint64_t marked = (uint64_t)p;
    if (marked >> 63) p = *(void**)__cvta_global_to_generic(marked & ~(1ULL << 63));
    __builtin_assume(__isGlobal(p));
    return p;
}
/// What the `lanes` threads of a row have combined, in halves, for each of them. M is a pass of a fold, whose order has `whole` sums:
/// those that a short row leaves empty have no threads. `sums` has room for all threads.
template <class M, int lanes, int whole> inline typename M::S wg_joined(wg_int* sums, typename M::S s)
{
    typename M::S* const all = (typename M::S*)sums;
    const int lane = threadIdx.x % lanes;
    for (int l = lanes; l < whole; l *= 2) s = M::with(s, M::none());
    all[threadIdx.x] = s;
    for (int h = lanes / 2; h > 0; h /= 2) {
        __syncthreads();
        if (lane < h) all[threadIdx.x] = M::with(all[threadIdx.x], all[threadIdx.x + h]);
    }
    __syncthreads();
    s = M::end(all[threadIdx.x - lane]);
    __syncthreads();
    return s;
}
)wg";

/// An address that launches find at `place` on the device.
inline std::uintptr_t address_at(const std::byte* place)
{
    return reinterpret_cast<std::uintptr_t>(place) | std::uintptr_t{1} << 63;
}

class ElementText {
public:
    /// The values whose addresses a launch gives, what is read before what is written.
    const std::vector<ValueId>& addresses() const noexcept { return addresses_; }

protected:
    using Names = PlaceText::Names;
    /// Values by name, at one place.
    using Known = std::unordered_map<ValueId, std::string>;

    /// `helpers`: the functions that it calls. What `elsewhere` makes has no address of its own.
    ElementText(const Graph& g, const tiling::Layouts& layouts, const tiling::Group& group,
                const GroupPreferences& wants, std::set<std::string>& helpers, ValueId elsewhere)
        : g_(g), layouts_(layouts), group_(group), wants_(wants), places_(body_, index_),
          code_(body_, "        ", "wg_", helpers, "zero")
    {
        code_.call_casts();
        for (ValueId v : group.operands)
            if (!is_literal(v)) addresses_.push_back(v);
        operands_ = addresses_.size();
        for (ValueId v : group.results)
            if (v != elsewhere) addresses_.push_back(v);
    }
    ~ElementText() = default;

    /// The first lines of every kernel: the pointers that it reads and writes.
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
    template <class N> static std::string number(N n) { return std::to_string(n); }
    const char* type(ValueId v) const { return c_type(g_.node(v).dtype, Dialect::numbers); }
    bool moves(ValueId v) const { return is_described(*g_.node(v).primitive); }
    /// Is it made where an index program reads it?
    bool inside(ValueId v) const
    {
        const ValueList* all = wants_.whole_step(v);
        return all && all->back() != v;
    }
    std::size_t address_of(ValueId v) const
    {
        return static_cast<std::size_t>(std::find(addresses_.begin(), addresses_.end(), v) -
                                        addresses_.begin());
    }
    /// 32 bits where all places of so many elements have as many: the arithmetic of an index is a part of what a kernel does.
    void find_index(std::int64_t most)
    {
        for (ValueId v : group_.operands) {
            std::int64_t reach = 0;
            for (std::size_t d = 0; d < g_.node(v).shape.size(); ++d)
                reach += std::abs(layouts_[v].strides[d]) * g_.node(v).shape[d];
            most = std::max(most, reach);
        }
        for (ValueId v : group_.nodes) most = std::max(most, farthest(v));
        if (most < std::int64_t{1} << 29) index_ = "int";
    }

    /// A value somewhere: `known` are those that have been made there.
    std::string value(ValueId v, const Names& at, Known& known)
    {
        if (const auto found = known.find(v); found != known.end()) return found->second;
        if (is_literal(v)) return literal(v);
        std::string& name = known[v];
        if (!inside(v)) {
            return name = places_.let(type(v),
                                      filled("p$[$]", address_of(v), places_.place(at, layouts_[v].strides)));
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
    bool is_literal(ValueId v) const { return wengert::detail::is_literal(g_, layouts_, v); }
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
            const auto given = [&](const Index::Given& g, std::int64_t extent) {
                return given_at(p, g, extent, in, axis, found);
            };
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
        body_ += filled("        $ = $;\n", y, met_text(n.dtype, r, y, x));
        body_ += written.empty() ? "        }\n" : "        }\n        }\n";
    }
    std::string given_at(const Index& p, const Index::Given& g, std::int64_t n, std::span<const ValueId> in,
                         const Names& axis, std::string& found)
    {
        Names at;
        for (std::size_t d = 0; d < g.at.size(); ++d)
            at.push_back(PlaceText::affine(p, g.at.data()[d], axis));
        Known there;
        std::string v = places_.let("wg_int", value(in[g.operand], at, there));
        if (g.from_end) v = places_.from_end("wg_int", v, n);
        PlaceText::both(found, filled("$ >= 0 && $ < $", v, v, n));  // else it is an error, which is thrown
        return filled("($)$", index_, v);
    }
    const Graph& g_;
    const tiling::Layouts& layouts_;
    const tiling::Group& group_;
    const GroupPreferences& wants_;
    const char* index_ = "wg_int";  ///< the type of places
    std::size_t operands_ = 0;
    std::vector<ValueId> addresses_;
    std::string body_;
    PlaceText places_;
    TermCode code_;

private:
    /// The greatest number that a place is worked out with.
    std::int64_t farthest(ValueId v) const
    {
        std::int64_t most = 0;
        const auto look_at = [&](const Index& p, const Positions& at) {
            for (std::size_t d = 0; d < at.size(); ++d) {
                const auto [least, greatest] = VaryingTerms(p, at.data()[d]).range(p, at.data()[d]);
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

    std::size_t results_ = 0;
};

}  // namespace wengert::detail::gpu
