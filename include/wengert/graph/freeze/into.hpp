// Results of a frozen function in memory that the caller gives: which tensors may take them, and how they get there.
#pragma once

#include "frozen.hpp"
#include "../ir/trees.hpp"

namespace wengert::detail {

/// Tensors of the caller that take results, in order.
class Buffers {
public:
    template <class T, class D> void add(Tensor<T, D>& t) { tensors_.push_back(&t.any_unchecked()); }

    /// Throws if a write would change what another handle shows or what a derivative reads.
    void check(const Site& at) const;
    /// The buffers as outputs of a run that writes nothing else; false where results are better copied afterwards.
    bool lend(const Graph& g, const KnownArguments& a, Ref<Block>* outputs, const Site& at) const;
    /// Copies a result. Nothing is written before everything has been looked at.
    void take(const TreeReader& result, const Site& at) const;

private:
    static std::string name(std::size_t k) { return "buffer " + std::to_string(k); }
    /// Whether the bytes between the first and the last elements meet.
    static bool overlap(const Block& a, const Block& b) noexcept;
    static std::pair<const std::byte*, const std::byte*> reach(const Block& b) noexcept;
    void check_number(std::size_t results, const Site& at) const;
    void check_form(std::size_t k, DType dtype, const Shape& shape, const Site& at) const;
    std::vector<AnyTensor*> tensors_;
};

/// What into() returns: a call of it fills the buffers.
template <class Function> class Into : public Closure<Into<Function>> {
public:
    Into(Function f, Buffers to, const Site& made)
        : Closure<Into>(made), function_(std::move(f)), to_(std::move(to))
    {}
    template <class... X> static constexpr bool accepts() { return Function::template accepts<X...>(); }
    template <class... X> void at_line(const Site& at, const X&... x) const
    {
        function_.call_into(to_, at, argument(x)...);
    }

private:
    Function function_;
    Buffers to_;
};

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/into.ipp"
#endif
