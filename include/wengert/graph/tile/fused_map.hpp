// A map from values to what a compilation knows of them: entries one after the other, found through a table of their numbers.
#pragma once

#include <utility>
#include <vector>

#include "../ir/graph.hpp"

namespace wengert::tiling::detail {

/// The part of std::unordered_map that is needed, without an allocation for each entry. Entries are found by their key, in
/// the order in which they were added by iterating.
template <class T> class ValueMap {
public:
    struct Entry {
        ValueId first;
        T second;
    };
    Entry* begin() { return entries_.data(); }
    Entry* end() { return entries_.data() + entries_.size(); }
    const Entry* begin() const { return entries_.data(); }
    const Entry* end() const { return entries_.data() + entries_.size(); }

    Entry* find(ValueId v) { return const_cast<Entry*>(std::as_const(*this).find(v)); }
    const Entry* find(ValueId v) const
    {
        if (table_.empty()) {
            const Entry* e = begin();
            while (e != end() && e->first != v) ++e;
            return e;
        }
        for (std::size_t i = slot(v);; i = (i + 1) & (table_.size() - 1)) {
            if (table_[i] == none) return end();
            if (entries_[table_[i]].first == v) return begin() + table_[i];
        }
    }
    bool count(ValueId v) const { return find(v) != end(); }
    T& operator[](ValueId v) { return try_emplace(v, T{}).first->second; }
    std::pair<Entry*, bool> try_emplace(ValueId v, T value)
    {
        if (Entry* e = find(v); e != end()) return {e, false};
        entries_.push_back({v, std::move(value)});
        if (2 * entries_.size() > table_.size() && entries_.size() > few)
            rebuild();
        else if (!table_.empty())
            enter(static_cast<std::uint32_t>(entries_.size() - 1));
        return {end() - 1, true};
    }
    /// The entry is not found any more. Its key must not come again.
    static void erase(Entry* e) { e->first = no_value; }

private:
    static constexpr std::uint32_t none = ~0U;
    static constexpr std::size_t few = 8;

    std::size_t slot(ValueId v) const { return (v * 0x9e3779b9U >> 8) & (table_.size() - 1); }
    void enter(std::uint32_t k)
    {
        std::size_t i = slot(entries_[k].first);
        while (table_[i] != none) i = (i + 1) & (table_.size() - 1);
        table_[i] = k;
    }
    void rebuild()
    {
        std::size_t size = 4 * few;
        while (size < 4 * entries_.size()) size *= 2;
        table_.assign(size, none);
        for (std::uint32_t k = 0; k < entries_.size(); ++k)
            if (entries_[k].first != no_value) enter(k);
    }
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> table_;  ///< entries' numbers; empty while there are few
};

}  // namespace wengert::tiling::detail
