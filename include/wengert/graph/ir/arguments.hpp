// What a frozen function sees of its arguments and results: tensors and random keys, which are inputs of the graph, and
// everything else, which is guarded by value.
#pragma once

#include <string_view>
#include <tuple>
#include <vector>

#include "../../base/key.hpp"
#include "../../transforms/level.hpp"

namespace wengert {

namespace detail {

template <class X>
concept StringLike = requires(const X& x) {
    x.c_str();
    x.size();
};

/// The word of an empty tensor, which no dtype and rank give.
inline constexpr std::uint64_t empty_tensor = ~std::uint64_t{0};

template <class Visitor, class X> void visit_part(Visitor& visitor, X& x);

/// Visitors that look at tensors alone need not say that they have nothing to do with the rest.
template <class Visitor, class N> void visit_number(Visitor& visitor, const N& n)
{
    if constexpr (requires { visitor.number(n); }) visitor.number(n);
}
template <class Visitor, class S> void visit_text(Visitor& visitor, const S& s)
{
    if constexpr (requires { visitor.text(s); }) visitor.text(s);
}

template <class Visitor, class X> void visit_elements(Visitor& visitor, X& x)
{
    visit_number(visitor, static_cast<std::uint64_t>(x.size()));
    if constexpr (tree::detail::map_like<std::remove_const_t<X>>)
        for (auto* entry : tree::detail::entries_in_order(x)) {
            visit_part(visitor, entry->first);
            visit_part(visitor, entry->second);
        }
    else if constexpr (std::is_same_v<std::remove_const_t<X>, std::vector<bool>>)
        for (std::size_t i = 0; i < x.size(); ++i) visit_number(visitor, static_cast<std::uint64_t>(x[i]));
    else
        for (auto& element : tree::detail::elements_in(x)) visit_part(visitor, element);
}

template <class Visitor, class X, std::size_t... I>
void visit_alternative(Visitor& visitor, X& x, std::index_sequence<I...>)
{
    visit_number(visitor, static_cast<std::uint64_t>(x.index()));
    const auto alternative = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
        if (x.index() == K) visit_part(visitor, *std::get_if<K>(&x));
    };
    (alternative(std::integral_constant<std::size_t, I>{}), ...);
}

/// What holds no tensors and is no number, as numbers: durations, times, complex numbers, pointers, engines.
template <class Visitor, class X> void visit_words(Visitor& visitor, X& x)
{
    if constexpr (std::is_empty_v<X>) {
        return;
    } else if constexpr (requires { typename X::period; }) {
        visit_number(visitor, x.count());
    } else if constexpr (requires { x.time_since_epoch(); }) {
        visit_number(visitor, x.time_since_epoch().count());
    } else if constexpr (requires { x.real(), x.imag(); }) {
        visit_number(visitor, x.real());
        visit_number(visitor, x.imag());
    } else if constexpr (requires { sizeof(x.get()); }) {
        visit_number(visitor, x.get());
    } else {
        static_assert(
            std::has_unique_object_representations_v<X>,
            "wengert: freeze and loops compare what is no tensor from call to call, and cannot compare "
            "values of this type: capture it, or specialise wengert::tree::is_opaque for it");
        for (std::size_t i = 0; i < sizeof x; i += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, reinterpret_cast<const char*>(&x) + i, std::min<std::size_t>(8, sizeof x - i));
            visit_number(visitor, word);
        }
    }
}

template <class Visitor, class X> void visit_part(Visitor& visitor, X& x)
{
    using Plain = std::remove_const_t<X>;
    using tree::detail::Kind;
    constexpr Kind k = tree::detail::kind<Plain>;
    if constexpr (k == Kind::leaf) {
        if constexpr (tree::is_number<Plain>) {
            static_assert(
                requires { visitor.real(x); }, "wengert: scan, cond and vmap take tensors; for Reals write "
                                               "plain loops and branches, or a kernel");
            visitor.real(x);
        } else if constexpr (requires { Visitor::shapes_shells; })
            visitor.tensor(x);
        else if (x.defined()) [[likely]]
            visitor.tensor(x);
        else  // compared by value, as a number is
            visit_number(visitor, empty_tensor);
    } else if constexpr (std::is_same_v<Plain, Key>) {
        visitor.key(x);
    } else if constexpr (std::is_same_v<Plain, const char*>) {
        visit_number(visitor, x != nullptr);
        if (x) visit_text(visitor, std::string_view(x));  // its address says nothing of what it says
    } else if constexpr (std::is_scalar_v<Plain>) {
        visit_number(visitor, x);
    } else if constexpr (StringLike<Plain>) {
        visit_text(visitor, x);
    } else if constexpr (requires { x.native().c_str(); }) {
        visit_text(visitor, x.native());
    } else if constexpr (k == Kind::optional) {
        visit_number(visitor, static_cast<std::uint64_t>(x.has_value()));
        if (x.has_value()) visit_part(visitor, *x);
    } else if constexpr (k == Kind::map || k == Kind::sequence) {
        static_assert(tree::detail::owns_elements<Plain> || !tree::contains_leaf<typename Plain::value_type>,
                      "wengert: a view does not own its tensors; use a std::vector or std::array of them.");
        visit_elements(visitor, x);
    } else if constexpr (k == Kind::variant) {
        visit_alternative(visitor, x, std::make_index_sequence<tree::detail::alternatives<Plain>>{});
    } else if constexpr (k == Kind::tuple) {
        std::apply([&](auto&... element) { (visit_part(visitor, element), ...); }, x);
    } else if constexpr (k == Kind::fields) {
        std::apply([&](auto&... field) { (visit_part(visitor, field), ...); }, tree::detail::fields_of(x));
    } else if constexpr (k != Kind::opaque) {
        visit_words(visitor, x);
    }
}

/// Calls visitor.tensor(t), .key(k), and .number(n) and .text(s) where it has them, for everything in x, in a fixed order.
template <class Visitor, class X> void visit_argument(Visitor& visitor, X& x)
{
    if constexpr (tree::detail::look_into<std::remove_const_t<X>>) visit_part(visitor, x);
}

/// Each argument of a call: what cannot be looked into is named once, not again as a part of their tuple.
template <class Visitor, class... X> void visit_arguments(Visitor& visitor, std::tuple<X...>& all)
{
    std::apply([&](auto&... x) { (visit_argument(visitor, x), ...); }, all);
}

Ref<Block> block_of_key(const Key& key);
Key key_of_block(const Block& b);

/// Dtypes, extents, numbers and texts, compared as they are.
using Words = std::vector<std::uint64_t>;

/// How numbers, texts and shapes are written as words; Self has word(w).
template <class Self> struct WordWriter {
    template <class N> void number(const N& n)
    {
        std::uint64_t w = 0;
        static_assert(sizeof(N) <= 16);
        if constexpr (sizeof(N) <= 8) {
            std::memcpy(&w, &n, sizeof n);
            self().word(w);
        } else {
            std::uint64_t high = 0;
            std::memcpy(&w, &n, 8);
            constexpr std::size_t rest =
                std::is_floating_point_v<N> ? 2 : sizeof(N) - 8;  // of long double padding
            std::memcpy(&high, reinterpret_cast<const char*>(&n) + 8, rest);
            self().word(w);
            self().word(high);
        }
    }
    template <class S> void text(const S& s)
    {
        self().word(s.size());
        for (auto c : s) self().word(static_cast<std::uint64_t>(c));
    }
    static std::uint64_t word_of_type(const Block& b) noexcept
    {
        return static_cast<std::uint64_t>(b.dtype) << 32 | std::uint64_t{b.access.device} << 40 |
               b.shape.size();
    }

private:
    Self& self() noexcept { return static_cast<Self&>(*this); }
};

/// The bit of an input in a set of them: those behind the 63rd share one.
inline std::uint64_t bit_of_input(std::size_t i) noexcept
{
    return std::uint64_t{1} << std::min<std::size_t>(i, 63);
}

/// One call's arguments: its inputs, and the words that must be the same for a graph to serve again.
struct CallArguments : WordWriter<CallArguments> {
    std::vector<Ref<Block>> inputs;
    std::vector<Ref<Node>> nodes;  ///< of the first inputs, null for constants; all others are constants
    Words signature;               ///< empty as long as the words are the expected ones
    Words family;              ///< the same without the extent that varies, filled in where `families` is set
    bool families = false;     ///< some argument has such an extent
    std::int64_t extent = -1;  ///< that extent
    bool dynamic = false;      ///< the argument being visited has it
    std::uint64_t mask = 0;    ///< levels that an argument depends on
    std::uint64_t unrecorded = 0;  ///< bits of inputs that come from a run without recording (Block::Access)

    /// Words that are expected, which the caller keeps. Nothing is stored as long as the words agree with them.
    void expect(const Words& w) noexcept
    {
        expected_ = next_ = w.data();
        end_ = next_ + w.size();
    }
    /// Called after the last word: were all as expected? If not, all of them are in `signature`.
    bool as_expected()
    {
        if (!expected_) return false;
        if (next_ != end_) write_down();
        return expected_ != nullptr;
    }
    /// Forgets the arguments but keeps the memory for others.
    void clear() noexcept;
    Ref<Node> node(std::size_t input) const { return input < nodes.size() ? nodes[input] : Ref<Node>(); }
    void tensor(const AnyTensor& t);
    template <class T, class D> void tensor(const Tensor<T, D>& t) { tensor(t.any()); }
    void key(const Key& k) { inputs.push_back(block_of_key(k)); }
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

private:
    void write_down();
    const std::uint64_t *expected_ = nullptr, *next_ = nullptr, *end_ = nullptr;
};

/// Compares arguments with those of the last call, where they lie. `known` becomes false at the first one that differs, is not
/// contiguous, or is no constant here.
struct KnownArguments : WordWriter<KnownArguments> {
    static constexpr std::size_t most = 8, most_results = 4;
    KnownArguments(const Words& w, Tape& on, const Site& line) noexcept
        : tape(on), at(line), next(w.data()), end(next + w.size())
    {}

    Tape& tape;
    const Site& at;
    const std::uint64_t *next, *end;
    const Block* inputs[most];
    std::size_t count = 0;
    bool known = true;

    bool all_known() const noexcept { return known && next == end; }
    template <class T, class D> void tensor(const Tensor<T, D>& t)
    {
        const AnyTensor& any = t.any_unchecked();
        const Block* b = any.value.get();
        known = known && b && !b->strided && count < most && is_next(*b);
        if (known) inputs[count++] = b;
        if (known && (any.node || b->access.unrecorded)) known = is_constant(any);
    }
    void key(const Key&) { known = false; }
    void word(std::uint64_t w) noexcept { known = known && next != end && *next++ == w; }

private:
    /// Is it a constant: under NoGrad, or of a level that does not record? Refuses tensors of another tape or an ended level.
    bool is_constant(const AnyTensor& t) const
    {
        const AnyTensor* const in[] = {&t};
        if (!t.node) return false;
        return (tape.active == 0 && t.node->mask <= 1) || tape.dependence(in, 1, "frozen", at) == 0;
    }
    bool is_next(const Block& b) noexcept
    {
        const std::size_t rank = b.shape.size();
        if (static_cast<std::size_t>(end - next) <= rank || *next++ != word_of_type(b)) return false;
        for (const std::int64_t *e = b.shape.data(), *last = e + rank; e != last; ++e)
            if (*next++ != static_cast<std::uint64_t>(*e)) return false;
        return true;
    }
};

/// Takes the tensors out of a result: what is left says how to build the next one.
struct ResultShell {
    static constexpr bool shapes_shells = true;
    template <class T, class D> void tensor(Tensor<T, D>& t) { take_out(t.any_unchecked()); }
    void key(Key&) {}
};
/// Puts tensors into such a shell, or constants.
template <class Leaf> struct ShellFiller {
    static constexpr bool shapes_shells = true;
    Leaf* next;
    template <class T, class D> void tensor(Tensor<T, D>& t)
    {
        if (was_empty(t.any_unchecked())) return;
        if constexpr (std::is_same_v<Leaf, AnyTensor>)
            t = Tensor<T, D>(std::move(*next++));
        else
            t.any_unchecked().value = std::move(*next++);
    }
    void key(Key& k)
    {
        if constexpr (std::is_same_v<Leaf, AnyTensor>)
            k = key_of_block(*(next++)->value);
        else
            k = key_of_block(**next++);
    }
};
template <class Leaf, class X> void fill_shell(X& shell, Leaf* leaves)
{
    ShellFiller<Leaf> filler{leaves};
    visit_argument(filler, shell);
}

}  // namespace detail
}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/arguments.ipp"
#endif
