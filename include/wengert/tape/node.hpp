// Node: one recorded operation.
#pragma once

#include <vector>

#include "primitive.hpp"

namespace wengert {

class Tape;

/// The tangents of a value, one for each forward level that it depends on.
struct Tangent {
    std::uint64_t level;
    AnyTensor value;
};

struct Node : Counted {
    static constexpr std::size_t inline_inputs = 4;
    enum Flag : std::uint8_t {
        is_leaf = 1,
        consumed = 2,
        rewritten = 4,
        packed = 8,
        rewound = 16,
        severed = 32,  ///< depends on what is consumed, so no sweep can pass it
        /// A variable that was written, at `at`, while operations recorded of it and another tensor had it.
        left = 64
    };

    const Primitive* primitive = nullptr;
    Tape* tape = nullptr;        ///< null once the tape has gone
    std::uint64_t sequence = 0;  ///< time order; the list below is in this order
    std::uint64_t mask = 0;      ///< bit l: depends on a variable of level l
    Node* previous = nullptr;
    Node* next = nullptr;
    Site at;
    std::uint32_t input_count = 0;
    DType dtype{};
    std::uint8_t flags = 0;
    std::uint8_t level = 0;  ///< of leaves: the level whose variable this is
    bool pending = false;    ///< holds a cotangent that the walk has not used yet
    Node** inputs =
        inline_input;    ///< null entries are constants; of more than inline_inputs the saved ones follow
    void* op = nullptr;  ///< parameters of a structural primitive
    AnyTensor cotangent;
    std::vector<Tangent>* tangents = nullptr;
    Shape shape;
    Node* inline_input[inline_inputs] = {};
    Block* inline_saved[inline_inputs + 1] = {};

    static const Disposal disposal;

    bool leaf() const noexcept { return flags & is_leaf; }
    /// Input_count inputs, then the output; null where not needed.
    Block** saved() noexcept
    {
        return inputs == inline_input ? inline_saved : reinterpret_cast<Block**>(inputs + input_count);
    }
    Block* const* saved() const noexcept { return const_cast<Node*>(this)->saved(); }
    /// Of leaves. They have one input at most, so the last place is free: with it a node has four cache lines, not five.
    Block* gradient() const noexcept { return leaf() ? inline_saved[inline_inputs] : nullptr; }
    void set_gradient(Ref<Block> g) noexcept
    {
        Ref<Block>::adopt(std::exchange(inline_saved[inline_inputs], g.leak()));
    }
    void add_tangent(std::uint64_t of, AnyTensor dot)
    {
        if (!tangents) tangents = new std::vector<Tangent>;
        tangents->push_back({of, std::move(dot)});
    }
    /// The tangent at a level, or null where it is zero.
    const AnyTensor* tangent(std::uint64_t of) const noexcept
    {
        if (tangents)
            for (const Tangent& t : *tangents)
                if (t.level == of) return &t.value;
        return nullptr;
    }
};

static_assert(sizeof(Node) <= 256);

}  // namespace wengert
