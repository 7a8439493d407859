// write(x): a tensor's elements as plain memory, for the time of a scope.
#pragma once

#include "slices.hpp"
#include "update.hpp"

namespace wengert {

/// Access to a tensor's elements. Nothing can be recorded from the tensor while it lives; copies of the tensor that are
/// made in that time show what is written.
template <class T> class Writer {
public:
    Writer(Tensor<T>& x, const Site& at) : at_(at)
    {
        static_cast<void>(x.any("write", at));
        AnyTensor& any = x.any_unchecked();
        detail::refuse_writer("write", any, at);
        const AnyTensor* const in[] = {&any};
        static_cast<void>(Tape::current().dependence(in, 1, "write", at));
        note_read(*any.value, Read::elements, at);
        Ref<Node> kept = detail::node_kept(any, at);
        Ref<Block> own = detail::writable_in_place(any) ? any.value : copy_of(*any.value);
        elements_ = const_cast<T*>(host_elements<T>(*own));  // the last that can fail
        any = {own, std::move(kept)};
        block_ = std::move(own);
        block_->access.unrecorded = false;  // the elements are the caller's from here on
        ++block_->access.writers;
    }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer()
    {
        --block_->access.writers;
        if (block_->access.device) [[unlikely]]
            detail::written_on_host(*block_);
    }

    /// The elements in row-major order.
    T* data() noexcept { return elements_; }
    std::size_t size() const noexcept { return block_->count; }
    std::span<T> span() noexcept { return {data(), size()}; }
    const Shape& shape() const noexcept { return block_->shape; }
    /// The element at an index for each axis; negative ones count from the end. Throws IndexError, of any rank.
    template <std::integral I> T& operator()(I i, Site at = {__builtin_FILE(), __builtin_LINE()})
    {
        return element(at, i);
    }
    template <std::integral I, std::integral J>
    T& operator()(I i, J j, Site at = {__builtin_FILE(), __builtin_LINE()})
    {
        return element(at, i, j);
    }
    template <std::integral I, std::integral J, std::integral K>
    T& operator()(I i, J j, K k, Site at = {__builtin_FILE(), __builtin_LINE()})
    {
        return element(at, i, j, k);
    }
    template <std::integral... I>
        requires(sizeof...(I) == 0 || sizeof...(I) > 3)
    T& operator()(I... i)
    {
        return element(at_, i...);
    }
    /// An xtensor adaptor that can be assigned to.
    auto array() { return xtensor_writable<T>(*block_, elements_); }

private:
    template <class... I> T& element(const Site& at, I... i)
    {
        const Shape& of = block_->shape;
        if (of.size() != sizeof...(I)) [[unlikely]]
            fail<IndexError>("write",
                             std::to_string(sizeof...(I)) + " indices of an element of shape " +
                                 to_string(of) + ": one for each axis",
                             at);
        std::int64_t place = 0;
        std::size_t axis = 0;
        ((place =
              place * of[axis] + detail::normalize_index("write", static_cast<std::int64_t>(i), axis, of, at),
          ++axis),
         ...);
        return elements_[place];
    }

    Ref<Block> block_;
    T* elements_ = nullptr;
    Site at_;  ///< of write(x)
};

/// Detaches x and gives its elements to write: no other handle and nothing that the tape saved changes. A variable stays
/// one (with a gradient of its own when other handles share it), anything else becomes a constant. Throws TapeError when
/// x has a writer already or belongs to another thread's tape.
template <class T, class D>
[[nodiscard]] Writer<T> write(Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return Writer<T>(x, at);
}

template <class T, class Device> class View;  // view.hpp
/// A part of a part is only read: assigning to it would write a copy.
template <class T, class D>
const Tensor<T, D> view(View<T, D>& x, Slice a = {}, Slice b = {}, Slice c = {}, Slice d = {}, Slice e = {},
                        Slice f = {}, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return view(static_cast<const Tensor<T, D>&>(x), a, b, c, d, e, f, at);
}
template <class T, class D>
const Tensor<T, D> view(View<T, D>& x, const std::vector<Slice>& slices,
                        Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return view(static_cast<const Tensor<T, D>&>(x), slices, at);
}
/// A part has no elements of its own: assign to it, or write(the variable).
template <class T, class D> void write(View<T, D>& x, Site at = {}) = delete;

}  // namespace wengert
