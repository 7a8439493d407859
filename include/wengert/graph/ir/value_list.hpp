// ValueList: the operands of a node. Every pass copies its graph, and nearly all nodes have four operands at most: those lie
// in line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <utility>
#include <vector>

namespace wengert {

using ValueId = std::uint32_t;
inline constexpr ValueId no_value = ~ValueId{0};

/// A short vector of values.
class ValueList {
public:
    using value_type = ValueId;
    static constexpr std::uint32_t inline_size = 4;

    ValueList() noexcept {}
    ValueList(const ValueId* first, std::size_t n)
    {
        grow(n);
        size_ = static_cast<std::uint32_t>(n);
        if (n > 0) std::memcpy(data(), first, n * sizeof(ValueId));
    }
    ValueList(std::initializer_list<ValueId> l) : ValueList(l.begin(), l.size()) {}
    ValueList(const std::vector<ValueId>& v) : ValueList(v.data(), v.size()) {}
    ValueList(const ValueList& o) : ValueList(o.data(), o.size_) {}
    ValueList(ValueList&& o) noexcept { take(o); }
    ValueList& operator=(const ValueList& o)
    {
        ValueList copy(o);
        return *this = std::move(copy);
    }
    ValueList& operator=(ValueList&& o) noexcept
    {
        if (this == &o) return *this;
        release();
        take(o);
        return *this;
    }
    ~ValueList() { release(); }

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    ValueId* data() noexcept { return capacity_ > inline_size ? heap_ : inline_; }
    const ValueId* data() const noexcept { return capacity_ > inline_size ? heap_ : inline_; }
    ValueId* begin() noexcept { return data(); }
    ValueId* end() noexcept { return data() + size_; }
    const ValueId* begin() const noexcept { return data(); }
    const ValueId* end() const noexcept { return data() + size_; }
    ValueId& operator[](std::size_t i) noexcept { return data()[i]; }
    ValueId operator[](std::size_t i) const noexcept { return data()[i]; }
    ValueId front() const noexcept { return data()[0]; }
    ValueId back() const noexcept { return data()[size_ - 1]; }

    void clear() noexcept { size_ = 0; }
    /// New values are 0.
    void resize(std::size_t n)
    {
        grow(n);
        for (std::size_t i = size_; i < n; ++i) data()[i] = 0;
        size_ = static_cast<std::uint32_t>(n);
    }
    void push_back(ValueId v)
    {
        grow(size_ + std::size_t{1});
        data()[size_++] = v;
    }

    friend bool operator==(const ValueList& a, const ValueList& b) noexcept
    {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    void grow(std::size_t n)
    {
        if (n <= capacity_) return;
        const std::size_t capacity = std::max<std::size_t>(n, 2 * std::size_t{capacity_});
        auto* grown = new ValueId[capacity];
        std::memcpy(grown, data(), size_ * sizeof(ValueId));
        release();
        heap_ = grown;
        capacity_ = static_cast<std::uint32_t>(capacity);
    }
    void release() noexcept
    {
        if (capacity_ > inline_size) delete[] heap_;
        capacity_ = inline_size;
    }
    void take(ValueList& o) noexcept
    {
        size_ = std::exchange(o.size_, 0);
        capacity_ = std::exchange(o.capacity_, inline_size);
        std::memcpy(inline_, o.inline_, sizeof inline_);  // the pointer lies there, too
    }
    std::uint32_t size_ = 0, capacity_ = inline_size;
    union {
        ValueId inline_[inline_size] = {};
        ValueId* heap_;
    };
};

}  // namespace wengert
