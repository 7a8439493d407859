// Places in a frame of a long loop, for what one function leaves to the next: a vector each, or a pack of numbers.
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "../ir/graph.hpp"

namespace wengert::detail {

class StripSlots {
public:
    /// Of a place: it is the number of a vector, or bytes from the first pack on, from behind the packs on, or from where an array of
    /// results begins.
    static constexpr std::uint32_t in_packs = std::uint32_t{1} << 29, behind_packs = std::uint32_t{1} << 30,
                                   in_array = std::uint32_t{1} << 31, bytes = in_packs - 1;
    static constexpr std::size_t pack_bytes = 32;

    explicit StripSlots(std::size_t values) : last_(values, 0) {}

    /// Functions read values in their order.
    void read(ValueId v, std::size_t function) { last_[v] = function; }
    void set_functions(std::size_t n) { ends_.resize(n); }
    void keep(ValueId v) { last_[v] = ends_.size(); }
    bool is_read_behind(ValueId v, std::size_t function) const { return last_[v] > function; }

    std::uint32_t take(ValueId v) { return take(v, vectors_, 1, 0); }
    std::uint32_t take_pack(ValueId v) { return take(v, packs_, pack_bytes, in_packs); }
    std::uint32_t place(ValueId v) const { return place_.at(v); }
    /// What is read no more is free.
    void end(std::size_t function)
    {
        for (const std::uint32_t p : ends_[function]) (p & in_packs ? packs_ : vectors_).free.insert(p);
    }

    std::size_t vectors() const noexcept { return vectors_.count; }
    std::size_t bytes_of_packs() const noexcept { return pack_bytes * packs_.count; }

private:
    struct Kind {
        std::size_t count = 0;
        std::set<std::uint32_t> free;
    };
    std::uint32_t take(ValueId v, Kind& kind, std::size_t each, std::uint32_t flag)
    {
        std::uint32_t p = flag | static_cast<std::uint32_t>(kind.count * each);
        if (kind.free.empty())
            ++kind.count;
        else
            p = *kind.free.begin(), kind.free.erase(kind.free.begin());
        if (last_[v] < ends_.size()) ends_[last_[v]].push_back(p);
        return place_[v] = p;
    }

    std::vector<std::size_t> last_;                 ///< by value: the last function that reads it
    std::vector<std::vector<std::uint32_t>> ends_;  ///< places that are free behind each function
    std::unordered_map<ValueId, std::uint32_t> place_;
    Kind vectors_, packs_;
};

}  // namespace wengert::detail
