// IdTable: values by a key, where thousands are looked up and none is taken out.
#pragma once

#include "value_list.hpp"

namespace wengert {

/// An open hash table, at most half full. A key without a value has no_value.
class IdTable {
public:
    using Key = std::uint64_t;

    IdTable() : table_(256) {}
    ValueId find(Key key) const noexcept { return table_[place(key)].value; }
    bool contains(Key key) const noexcept { return find(key) != no_value; }
    /// The key's value, no_value where it is new: to be set before the next call.
    ValueId& operator[](Key key)
    {
        if (2 * size_ >= table_.size()) grow();
        Entry& e = table_[place(key)];
        if (e.value == no_value) ++size_;
        e.key = key;
        return e.value;
    }

private:
    struct Entry {
        Key key = 0;
        ValueId value = no_value;
    };
    /// Where the key is, or would be: linear probing from a multiplicative hash (Knuth, volume 3, 6.4).
    std::size_t place(Key key) const noexcept
    {
        const std::size_t mask = table_.size() - 1;
        std::size_t i = (key * 0x9e3779b97f4a7c15U >> 32) & mask;
        while (table_[i].value != no_value && table_[i].key != key) i = (i + 1) & mask;
        return i;
    }
    void grow()
    {
        std::vector<Entry> old(2 * table_.size());
        old.swap(table_);
        for (const Entry& e : old)
            if (e.value != no_value) table_[place(e.key)] = e;
    }
    std::vector<Entry> table_;
    std::size_t size_ = 0;
};

}  // namespace wengert
