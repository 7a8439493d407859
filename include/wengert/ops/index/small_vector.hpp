// SmallVector: a list whose first elements lie in itself, uninitialised until they are added, so that it costs nothing on the stack.
#pragma once

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace wengert::detail {

[[noreturn]] __attribute__((cold)) void refuse_position(std::size_t i, std::size_t size);

template <class T, std::size_t room> class SmallVector {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    SmallVector() noexcept : data_(inside()) {}
    SmallVector(const SmallVector& o) : data_(inside()) { copy(o); }
    SmallVector& operator=(const SmallVector& o)
    {
        if (this != &o) copy(o);
        return *this;
    }
    ~SmallVector()
    {
        if (data_ != inside()) [[unlikely]]
            delete[] data_;
    }

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    T* data() noexcept { return data_; }
    const T* data() const noexcept { return data_; }
    T* begin() noexcept { return data(); }
    T* end() noexcept { return data() + size_; }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + size_; }
    /// Checked, as users write descriptions, too. Throws ShapeError.
    template <class I> T& operator[](I i) { return data()[checked(static_cast<std::size_t>(i))]; }
    template <class I> const T& operator[](I i) const { return data()[checked(static_cast<std::size_t>(i))]; }
    T& back() noexcept { return data()[size_ - 1]; }

    void push_back(const T& x)
    {
        if (size_ >= capacity_) [[unlikely]]
            grow(size_ + 1);
        std::memcpy(static_cast<void*>(data_ + size_), &x, sizeof(T));
        ++size_;
    }
    /// Sets the size. New elements are not initialised.
    void resize(std::size_t n)
    {
        if (n > capacity_) [[unlikely]]
            grow(n);
        size_ = n;
    }
    void clear() noexcept { size_ = 0; }
    void pop_back() noexcept { --size_; }

private:
    std::size_t checked(std::size_t i) const
    {
        if (i >= size_) [[unlikely]]
            refuse_position(i, size_);
        return i;
    }
    void copy(const SmallVector& o)
    {
        resize(o.size_);
        std::memcpy(static_cast<void*>(data_), o.data_, size_ * sizeof(T));
    }
    T* inside() noexcept { return reinterpret_cast<T*>(inside_); }
    void grow(std::size_t least)
    {
        const std::size_t capacity = least < 2 * capacity_ ? 2 * capacity_ : least;
        T* const more = new T[capacity];
        std::memcpy(static_cast<void*>(more), data_, size_ * sizeof(T));
        if (data_ != inside()) delete[] data_;
        data_ = more;
        capacity_ = capacity;
    }

    T* data_;
    std::size_t size_ = 0, capacity_ = room;
    alignas(T) std::byte inside_[room * sizeof(T)];
};

}  // namespace wengert::detail
