// Where a long loop has its values: in a frame, what one function leaves to the next, or in an array, where a result lies in one.
#pragma once

#include "number_packs.hpp"
#include "result_roots.hpp"
#include "strip_slots.hpp"

namespace wengert::detail {

/// The statements of a long loop, and the places of their values.
class StripPlaces {
public:
    using Pack = NumberPacks::Pack;

    StripPlaces(const Graph& g, const tiling::Layouts& layouts, const tiling::Group& group)
        : roots(layouts, group), packs(g, layouts, group, roots), slots(g.size())
    {
        if (packs.all().empty())
            for (ValueId v : group.nodes) statements.push_back(PackOrder::alone(v));
        else
            statements = PackOrder(g, group, packs).list;
    }
    /// The value that has the place of a lane's pack.
    ValueId owner(ValueId v) const { return packs.has(v) ? packs.of(v)[0] : v; }
    std::uint32_t place(ValueId v) const
    {
        const auto lane = packs.has(v) ? packs.lane(v) * sizeof(double) : 0;
        return slots.place(owner(v)) + static_cast<std::uint32_t>(lane);
    }
    /// Where the frame has the address of the array that v lies in.
    std::uint32_t address(ValueId v)
    {
        const std::size_t k = roots.argument(v);
        arrays.insert(k);
        return address_of_argument(k);
    }
    static std::uint32_t address_of_argument(std::size_t k)
    {
        return StripSlots::behind_packs | static_cast<std::uint32_t>(k * sizeof(char*));
    }
    std::uint32_t in_array(ValueId v) const
    {
        return StripSlots::in_array | static_cast<std::uint32_t>(roots.offset(v));
    }
    /// A place as text: bytes from where its frame or its array begins. In a frame there are vectors, then packs, then addresses.
    std::string at(std::uint32_t place) const
    {
        const std::size_t bytes = place & StripSlots::bytes;
        if (place & StripSlots::in_array) return std::to_string(bytes);
        const bool behind = (place & StripSlots::behind_packs) != 0;
        if (behind || (place & StripSlots::in_packs) != 0)
            return filled("($ * W + 31) / 32 * 32 + $", slots.vectors(),
                          bytes + (behind ? slots.bytes_of_packs() : 0));
        return filled("$ * W", place);
    }
    std::size_t frame_bytes() const { return (64 * slots.vectors() + 127) / 128 * 128 + 64; }
    /// Of so many frames, and of what only single numbers have.
    std::size_t bytes(std::size_t frames) const
    {
        return frames * frame_bytes() + slots.bytes_of_packs() + sizeof(char*) * roots.list.size() + 128;
    }

    ResultRoots roots;
    NumberPacks packs;
    std::vector<Pack> statements;
    StripSlots slots;
    std::set<std::size_t> arrays;  ///< arguments that are arrays of results
};

}  // namespace wengert::detail
