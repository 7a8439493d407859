// What a frozen function sees of its arguments and results: tensors and random keys, which are inputs of the graph, and
// everything else, which is guarded by value.
#pragma once

#include <vector>

#include "../../base/key.hpp"
#include "../../transforms/level.hpp"

namespace wengert {

template <> inline constexpr bool tree::is_opaque<Key> = true;

namespace detail {

template <class X>
concept StringLike = requires(const X& x) {
    x.c_str();
    x.size();
};

template <class Visitor, class X> void visit_argument(Visitor& visitor, X& x);

template <class Visitor, class X> void visit_elements(Visitor& visitor, X& x)
{
    visitor.number(static_cast<std::uint64_t>(x.size()));
    if constexpr (tree::detail::map_like<std::remove_const_t<X>>)
        for (auto* entry : tree::detail::entries_in_order(x)) {
            visit_argument(visitor, entry->first);
            visit_argument(visitor, entry->second);
        }
    else if constexpr (std::is_same_v<std::remove_const_t<X>, std::vector<bool>>)
        for (std::size_t i = 0; i < x.size(); ++i) visitor.number(static_cast<std::uint64_t>(x[i]));
    else
        for (auto& element : x) visit_argument(visitor, element);
}

/// Calls visitor.tensor(t), .key(k), .number(n) or .text(s) for everything in x, in a fixed order.
template <class Visitor, class X> void visit_argument(Visitor& visitor, X& x)
{
    using Plain = std::remove_const_t<X>;
    if constexpr (tree::is_leaf<Plain>) {
        visitor.tensor(x);
    } else if constexpr (std::is_same_v<Plain, Key>) {
        visitor.key(x);
    } else if constexpr (std::is_arithmetic_v<Plain> || std::is_enum_v<Plain> || std::is_pointer_v<Plain>) {
        visitor.number(x);
    } else if constexpr (StringLike<Plain>) {
        visitor.text(x);
    } else if constexpr (tree::detail::optional_like<Plain>) {
        visitor.number(static_cast<std::uint64_t>(x.has_value()));
        if (x.has_value()) visit_argument(visitor, *x);
    } else if constexpr (tree::detail::range_like<Plain>) {
        static_assert(tree::detail::owns_elements<Plain> || !tree::contains_leaf<typename Plain::value_type>,
                      "wengert: a view does not own its tensors; use a std::vector or std::array of them.");
        visit_elements(visitor, x);
    } else if constexpr (reflect::detail::tuple_like<Plain>) {
        std::apply([&](auto&... element) { (visit_argument(visitor, element), ...); }, x);
    } else if constexpr (std::is_empty_v<Plain> || tree::is_opaque<Plain>) {
        return;
    } else {
        static_assert(
            std::is_aggregate_v<Plain>,
            "wengert: freeze cannot look into an argument or result of this class, so it cannot guard it: "
            "make it an aggregate of tensors, numbers and containers, capture it, or declare it irrelevant "
            "by specialising wengert::tree::is_opaque");
        std::apply([&](auto&... field) { (visit_argument(visitor, field), ...); }, reflect::tie(x));
    }
}

inline Ref<Block> block_of_key(const Key& key)
{
    auto b = make_block(DType::int64, Shape{2});
    std::memcpy(b->data, &key.secret, 8);
    std::memcpy(b->data + 8, &key.stream, 8);
    return b;
}
inline Key key_of_block(const Block& b)
{
    Key key(0);
    std::memcpy(&key.secret, b.data, 8);
    std::memcpy(&key.stream, b.data + 8, 8);
    return key;
}

/// Dtypes, extents, numbers and texts, compared as they are.
using Words = std::vector<std::uint64_t>;

/// One call's arguments: its inputs, and the words that must be the same for a graph to serve again.
struct CallArguments {
    std::vector<Ref<Block>> inputs;
    std::vector<Ref<Node>> nodes;  ///< of the first inputs, null for constants; all others are constants
    Words signature;               ///< empty as long as the words are the expected ones
    Words family;              ///< the same without the extent that varies, filled in where `families` is set
    bool families = false;     ///< some argument has such an extent
    std::int64_t extent = -1;  ///< that extent
    bool dynamic = false;      ///< the argument being visited has it
    std::uint64_t mask = 0;    ///< levels that an argument depends on

    /// Words that are likely to come, and stay where they are meanwhile: nothing is written down while they do.
    void expect(const Words& w) noexcept
    {
        expected_ = next_ = w.data();
        end_ = next_ + w.size();
    }
    /// All words have come: were they the expected ones? If not they are all in `signature`.
    bool as_expected()
    {
        if (!expected_) return false;
        if (next_ != end_) write_down();
        return expected_ != nullptr;
    }
    /// Forgets the arguments but keeps the memory for others.
    void clear() noexcept
    {
        inputs.clear();
        nodes.clear();
        signature.clear();
        family.clear();
        expected_ = next_ = end_ = nullptr;
        families = dynamic = false;
        extent = -1;
        mask = 0;
    }
    Ref<Node> node(std::size_t input) const { return input < nodes.size() ? nodes[input] : Ref<Node>(); }
    void tensor(const AnyTensor& t)
    {
        if (t.node) {
            mask |= t.node->mask;
            nodes.resize(inputs.size());
            nodes.push_back(t.node);
        }
        if (t.value->strided) [[unlikely]]
            inputs.push_back(contiguous(t.value));
        else
            inputs.push_back(t.value);
        const Block& b = *t.value;
        word(static_cast<std::uint64_t>(b.dtype) << 32 | b.shape.size());
        for (std::size_t i = 0; i < b.shape.size(); ++i) {
            const bool varies = dynamic && i == 0;
            if (varies && extent < 0) extent = b.shape[0];
            word(static_cast<std::uint64_t>(b.shape[i]), varies);
        }
    }
    template <class T> void tensor(const Tensor<T>& t) { tensor(t.any()); }
    void key(const Key& k) { inputs.push_back(block_of_key(k)); }
    template <class N> void number(const N& n)
    {
        std::uint64_t w = 0;
        static_assert(sizeof(N) <= 16);
        if constexpr (sizeof(N) <= 8) {
            std::memcpy(&w, &n, sizeof n);
            word(w);
        } else {
            std::uint64_t high = 0;
            std::memcpy(&w, &n, 8);
            std::memcpy(&high, reinterpret_cast<const char*>(&n) + 8, 2);  // long double: the rest is padding
            word(w);
            word(high);
        }
    }
    template <class S> void text(const S& s)
    {
        word(s.size());
        for (auto c : s) word(static_cast<std::uint64_t>(c));
    }

private:
    void word(std::uint64_t w, bool varies = false)
    {
        if (next_ != end_ && *next_ == w) [[likely]] {
            ++next_;
        } else {
            if (expected_) write_down();
            signature.push_back(w);
        }
        if (families && !varies) family.push_back(w);
    }
    void write_down()
    {
        signature.assign(expected_, next_);
        expected_ = next_ = end_ = nullptr;
    }
    const std::uint64_t *expected_ = nullptr, *next_ = nullptr, *end_ = nullptr;
};

/// The tensors and keys of a result.
struct ResultBlocks {
    std::vector<std::pair<const Key*, const AnyTensor*>> leaves;
    template <class T> void tensor(const Tensor<T>& t) { leaves.push_back({nullptr, &t.any()}); }
    void key(const Key& k) { leaves.push_back({&k, nullptr}); }
    template <class N> void number(const N&) {}
    template <class S> void text(const S&) {}
};

/// The numbers and texts of a result.
struct ResultNumbers {
    CallArguments words;
    template <class T> void tensor(const Tensor<T>&) {}
    void key(const Key&) {}
    template <class N> void number(const N& n) { words.number(n); }
    template <class S> void text(const S& s) { words.text(s); }
};

/// Takes the tensors out of a result: what is left says how to build the next one.
struct ResultShell {
    template <class T> void tensor(Tensor<T>& t) { t = Tensor<T>(AnyTensor{}); }
    void key(Key&) {}
    template <class N> void number(const N&) {}
    template <class S> void text(const S&) {}
};
/// Puts tensors into such a shell.
struct ResultFiller {
    AnyTensor* next;
    template <class T> void tensor(Tensor<T>& t) { t = Tensor<T>(std::move(*next++)); }
    void key(Key& k) { k = key_of_block(*(next++)->value); }
    template <class N> void number(const N&) {}
    template <class S> void text(const S&) {}
};
/// The same with constants.
struct BlockFiller {
    Ref<Block>* next;
    template <class T> void tensor(Tensor<T>& t) { t.any_unchecked().value = std::move(*next++); }
    void key(Key& k) { k = key_of_block(**next++); }
    template <class N> void number(const N&) {}
    template <class S> void text(const S&) {}
};

}  // namespace detail
}  // namespace wengert
