// The containers that graphs are made of, beside the standard library's.
#include <wengert/graph/ir/id_table.hpp>

#include <random>
#include <unordered_map>

#include "catch.hpp"

using wengert::IdTable;
using wengert::ValueId;
using wengert::ValueList;

namespace {

bool same(const ValueList& a, const std::vector<ValueId>& b)
{
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

}  // namespace

TEST_CASE("lists below, at and beyond what lies in line")
{
    for (ValueId n = 0; n < 20; ++n) {
        ValueList list;
        std::vector<ValueId> expected;
        for (ValueId k = 0; k < n; ++k) {
            list.push_back(100 + k);
            expected.push_back(100 + k);
        }
        CHECK(same(list, expected));
        CHECK(list == ValueList(expected));
        ValueList copied(list), moved(std::move(list));
        CHECK(same(copied, expected));
        CHECK(same(moved, expected));
        for (ValueId m = 0; m < 20; ++m) {
            ValueList to(std::vector<ValueId>(m, 7));
            to = copied;
            CHECK(same(to, expected));
            CHECK(same(copied, expected));
            to = ValueList(std::vector<ValueId>(m, 8));
            CHECK(same(to, std::vector<ValueId>(m, 8)));
            to.resize(n);
            std::vector<ValueId> resized(m, 8);
            resized.resize(n);
            CHECK(same(to, resized));
        }
        copied.clear();
        CHECK(copied.empty());
        copied.push_back(5);
        CHECK((copied.front() == 5 && copied.back() == 5));
        ValueList& self = moved;
        moved = self;
        CHECK(same(moved, expected));
    }
    CHECK(ValueList{1, 2} != ValueList{1, 2, 3});
    CHECK(ValueList{1, 2} != ValueList{1, 3});
}

TEST_CASE("a table of ids beside std::unordered_map")
{
    std::mt19937_64 random(3);
    IdTable table;
    std::unordered_map<std::uint64_t, ValueId> expected;
    CHECK_FALSE(table.contains(0));
    for (ValueId k = 0; k < 20000; ++k) {
        // keys like addresses, like small numbers, and equal in their low halves
        const std::uint64_t key = k % 3 == 0   ? random() % 4096 * 64
                                  : k % 3 == 1 ? random() % 5000
                                               : (random() % 5000) << 32;
        ValueId& slot = table[key];
        CHECK(slot == (expected.count(key) ? expected[key] : wengert::no_value));
        slot = k;
        expected[key] = k;
    }
    for (const auto& [key, id] : expected) CHECK(table.find(key) == id);
    for (std::uint64_t key = 1; key < 2000; ++key) CHECK(table.contains(~key) == (expected.count(~key) == 1));
}
