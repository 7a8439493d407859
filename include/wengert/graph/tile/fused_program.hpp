// The program of a fused group: instructions over tiles. Values are numbered places: what lies outside (operands, results),
// tiles of constants, and registers, which are tiles of scratch memory shared by values that do not live at the same time.
#pragma once

#include <memory>
#include <new>

#include "fused_super.hpp"
#include "fusion.hpp"

namespace wengert::tiling {

/// Where a value is while a tile is worked on: an index into the table of addresses.
using Place = std::uint16_t;
inline constexpr Place no_place = 0xffff;

struct Instruction {
    TileKernel kernel = nullptr;
    std::uint8_t arity = 0;
    Place in[kernels::max_operands] = {};
    Place out = no_place;
};

/// A sum at the end of a group.
struct Total {
    ValueId value = no_value, of = no_value;
    DType dtype{};
    detail::RowSum rows;
    Place from = no_place;
    std::uint32_t result = 0;  ///< its number among the group's results
    std::size_t scratch = 0;   ///< where its state is kept
};

struct FusedProgram {
    static constexpr std::size_t max_streams = 64, max_places = 256;
    static constexpr std::uint32_t unshared = ~0U;

    /// How the loop goes: over all elements at once, over long rows, or over as many short rows as a tile holds.
    enum class Mode : std::uint8_t { flat, rows, packed };

    /// A value outside: an operand, or a result.
    struct Source {
        /// linear: in place, element after element; row: in place within a row; gathered: copied for every tile;
        /// fixed: one element, periodic: one row, copied once a run.
        enum Kind : std::uint8_t { linear, row, gathered, fixed, periodic } kind = linear;
        bool result = false;
        std::uint8_t size = 0;     ///< bytes of an element
        std::uint32_t number = 0;  ///< among the group's operands, or results
        std::size_t scratch = 0;   ///< where copies go
        Strides strides;           ///< one for each of `extents`, in elements
    };

    /// One call of a kernel, for the straight form of small groups.
    struct Direct {
        struct Where {
            enum Kind : std::uint8_t { operand, result, scratch, literal } kind = operand;
            std::uint32_t index = 0;  ///< its number, or its offset in scratch
        };
        TileKernel kernel = nullptr;
        std::size_t n = 0;
        std::uint8_t arity = 0;
        Where in[kernels::max_operands], out;
    };

    struct Free {
        void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
    };
    using Literal = std::unique_ptr<std::byte[], Free>;

    Mode mode = Mode::flat;
    bool gathers = false;
    Extents extents;
    std::size_t count = 0, inner = 0, tile = 0, tiles = 0, rows_per_tile = 1, scratch = 0;
    std::vector<Source> streams;         ///< places 0, 1, …
    std::vector<Literal> literals;       ///< the places after them
    std::vector<std::size_t> registers;  ///< and then those in scratch memory
    std::vector<Instruction> program;
    std::vector<Total> totals;
    std::vector<Direct> direct;
    /// By operand: its last reading, by result: its writing, as instructions; `unshared` where memory cannot be shared.
    std::vector<std::uint32_t> last_read, written;
    std::vector<std::uint8_t> operand_size, result_size;
};

namespace detail {

/// A value of the group while it is compiled: one primitive, or several as a super-instruction.
struct Item {
    ValueId value = no_value;
    TileKernel kernel = nullptr;
    std::uint8_t size = 0;
    std::uint8_t arity = 0;
    ValueId in[kernels::max_operands] = {};  ///< values of the group, or operands
};

/// Turns the nodes of a group into items, combining arithmetic.
template <class A = xsimd::default_arch> class Combiner {
public:
    /// `source(v)` is the member that v is read from, or v. `wanted(v)`: v must exist in memory or is summed.
    template <class Source, class Wanted>
    Combiner(const Graph& g, const std::vector<ValueId>& nodes, const Source& source, const Wanted& wanted)
        : g_(g)
    {
        for (ValueId v : nodes) {
            Member& m = members_[v];
            const GraphNode& n = g.node(v);
            m.arith = arith_kind<A>(*n.primitive);
            for (ValueId i : n.inputs) m.in.push_back(source(i));
            if (is_square<A>(*n.primitive)) m.arith = Arith::multiply, m.in.push_back(m.in[0]);
            m.wanted = wanted(v);
        }
        for (ValueId v : nodes)
            for (ValueId i : members_[v].in)
                if (const auto it = members_.find(i); it != members_.end()) ++it->second.uses;
        for (std::size_t k = nodes.size(); k-- > 0;)
            if (!members_[nodes[k]].absorbed) combine(nodes[k]);
        std::reverse(items.begin(), items.end());
    }
    std::vector<Item> items;

private:
    struct Member {
        Arith arith = Arith::none;
        std::vector<ValueId> in;
        std::uint32_t uses = 0;
        bool wanted = false, absorbed = false;
    };

    /// May v be computed inside of the value that reads it?
    Member* inner(ValueId v, DType dtype)
    {
        const auto it = members_.find(v);
        if (it == members_.end()) return nullptr;
        Member& m = it->second;
        const bool fits =
            m.arith != Arith::none && m.uses == 1 && !m.wanted && !m.absorbed && g_.node(v).dtype == dtype;
        return fits ? &m : nullptr;
    }
    /// The operand of m that continues a chain, and m's step as seen from there.
    struct Link {
        Member* member = nullptr;
        Arith step{};
        ValueId other = no_value;
    };
    Link link(const Member& m, DType dtype, bool first)
    {
        const std::size_t k = first ? 0 : 1;
        Link l{inner(m.in[k], dtype), m.arith, m.in[1 - k]};
        if (m.in[0] == m.in[1]) l.member = nullptr;
        if (!first && m.arith == Arith::subtract) l.step = Arith::reversed;
        return l;
    }

    void combine(ValueId v)
    {
        Member& m = members_[v];
        const DType dtype = g_.node(v).dtype;
        Item item{v, nullptr, static_cast<std::uint8_t>(size_of(dtype)), 0, {}};
        if (m.arith == Arith::none ||
            !(chain(m, dtype, item) || tree(m, dtype, item) || pair(m, dtype, item))) {
            item.kernel = g_.node(v).primitive->value;
            set(item, m.in);
            if (g_.node(v).inputs.size() < m.in.size()) item.arity = 1;  // a square
        }
        items.push_back(item);
    }
    static void set(Item& item, const std::vector<ValueId>& in)
    {
        item.arity = static_cast<std::uint8_t>(in.size());
        std::copy(in.begin(), in.end(), item.in);
    }
    bool chain(const Member& m, DType dtype, Item& item)
    {
        for (const bool outer : {true, false}) {
            const Link top = link(m, dtype, outer);
            if (!top.member) continue;
            for (const bool first : {true, false}) {
                const Link middle = link(*top.member, dtype, first);
                if (!middle.member) continue;
                top.member->absorbed = middle.member->absorbed = true;
                item.kernel = chain_kernel<A>(dtype, middle.member->arith, middle.step, top.step);
                set(item, {middle.member->in[0], middle.member->in[1], middle.other, top.other});
                return true;
            }
        }
        return false;
    }
    bool tree(const Member& m, DType dtype, Item& item)
    {
        Member *l = inner(m.in[0], dtype), *r = inner(m.in[1], dtype);
        if (!l || !r || l == r) return false;
        l->absorbed = r->absorbed = true;
        item.kernel = tree_kernel<A>(dtype, l->arith, m.arith, r->arith);
        set(item, {l->in[0], l->in[1], r->in[0], r->in[1]});
        return true;
    }
    bool pair(const Member& m, DType dtype, Item& item)
    {
        for (const bool first : {true, false}) {
            const Link top = link(m, dtype, first);
            if (!top.member) continue;
            top.member->absorbed = true;
            item.kernel = chain_kernel<A>(dtype, top.member->arith, top.step, Arith::none);
            set(item, {top.member->in[0], top.member->in[1], top.other});
            return true;
        }
        return false;
    }

    const Graph& g_;
    std::unordered_map<ValueId, Member> members_;
};

/// Scratch memory as it is given out. A line more than needed each time: tiles a page apart would fight for the same sets of
/// the cache.
class Scratch {
public:
    std::size_t reserve(std::size_t bytes)
    {
        const std::size_t offset = size_;
        size_ += (bytes + 63) / 64 * 64 + 64;
        return offset;
    }
    std::size_t size() const { return size_; }

private:
    std::size_t size_ = 0;
};

}  // namespace detail

}  // namespace wengert::tiling
