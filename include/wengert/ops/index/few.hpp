// Few: a list whose first elements lie in itself, uninitialised until they are added, so that it costs nothing on the stack.
#pragma once

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace wengert::detail {

[[noreturn]] __attribute__((cold)) void refuse_position(std::size_t i, std::size_t size);

template <class T, std::size_t room> class Few {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    Few() noexcept {}  // NOLINT: the elements stay as they are
    Few(const Few& o) { copy(o); }
    Few& operator=(const Few& o)
    {
        if (this != &o) {
            size_ = 0;
            copy(o);
        }
        return *this;
    }
    ~Few()
    {
        if (heap_) [[unlikely]]
            delete[] heap_;
    }

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    T* data() noexcept { return heap_ ? heap_ : reinterpret_cast<T*>(inside_); }
    const T* data() const noexcept { return heap_ ? heap_ : reinterpret_cast<const T*>(inside_); }
    T* begin() noexcept { return data(); }
    T* end() noexcept { return data() + size_; }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + size_; }
    /// Checked: descriptions are read from files, too. Throws ShapeError.
    template <class I> T& operator[](I i) { return data()[checked(static_cast<std::size_t>(i))]; }
    template <class I> const T& operator[](I i) const { return data()[checked(static_cast<std::size_t>(i))]; }
    T& back() noexcept { return data()[size_ - 1]; }

    void push_back(const T& x)
    {
        if (size_ >= room && size_ >= capacity_) [[unlikely]]
            grow();
        std::memcpy(static_cast<void*>(data() + size_), &x, sizeof(T));
        ++size_;
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
    void copy(const Few& o)
    {
        for (const T& x : o) push_back(x);
    }
    void grow()
    {
        const std::size_t capacity = 2 * size_;
        T* const more = new T[capacity];
        std::memcpy(static_cast<void*>(more), data(), size_ * sizeof(T));
        delete[] heap_;
        heap_ = more;
        capacity_ = capacity;
    }

    T* heap_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;
    alignas(T) std::byte inside_[room * sizeof(T)];
};

}  // namespace wengert::detail
