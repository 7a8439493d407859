// The parts of a stream of scalar operations, and what a level or a tape keeps of numbers in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../../tape/apply.hpp"
#include "entry.hpp"

namespace wengert {

class ScalarStream;
class Walk;
namespace detail {
class ScalarAdjoints;
}

/// A part of the stream: the parameters of its node.
struct ScalarSpan {
    struct Entered;
    /// Sends the adjoints of a tensor's elements to its node. Known where the tensor enters, so that only a program with tensors of
    /// float compiles that of float.
    using Deliver = void(Walk&, detail::ScalarAdjoints&, const Entered&, Node& to);
    /// Inputs: the elements of a tensor, or variables of a level, which have a tensor only where a walk over the tape wants one.
    struct Entered {
        ScalarPosition begin;
        std::uint32_t count;
        AnyTensor tensor;
        Deliver* deliver = nullptr;  ///< none where there is no tensor
        bool variables = false;
    };
    struct Number {
        std::uint8_t mask;
        std::uint32_t id;
    };
    ScalarStream* stream = nullptr;  ///< null once the tape has gone
    Node* node = nullptr;
    ScalarPosition begin = 0, end = 0;  ///< while it is open, the end is the stream's
    ScalarPosition chunk = 0;           ///< where its chunk begins
    std::vector<Entered> entered;       ///< tensors whose elements are here
    std::vector<Ref<Node>> older;       ///< spans from which it reads, as far as find_older() has looked
    std::vector<Number> numbers;        ///< that its handles have, one for each mask
    /// A span whose numbers it goes on with: it may read from that and from those before it.
    Ref<Node> previous;
    bool searched = false;  ///< find_older() has found all from which it reads
    Ref<Block> told = {};   ///< stands for its numbers where a recorder is told of them

    ScalarSpan() = default;
    ScalarSpan(const ScalarSpan&) = delete;
    ScalarSpan& operator=(const ScalarSpan&) = delete;
    ~ScalarSpan();
    bool has(std::uint32_t id) const noexcept
    {
        return std::any_of(numbers.begin(), numbers.end(), [&](const Number& n) { return n.id == id; });
    }
};

/// A number without its precision: where it is recorded, and its value.
struct ScalarNumber {
    ScalarHandle handle;
    double value;
};

/// Tangents of a forward level, computed when they are asked for.
struct ScalarTangents {
    std::size_t level = 0;
    std::uint64_t start = 0;  ///< of that level, so that one opened later is told apart
    ScalarPosition base = 0;
    std::vector<double> dots = {};           ///< of the entries from `base` on
    bool plain = true;                       ///< none of them is recorded
    std::vector<ScalarHandle> handles = {};  ///< where they are recorded, none while it is plain

    ScalarHandle handle(std::size_t k) const noexcept
    {
        return k < handles.size() ? handles[k] : ScalarHandle();
    }
    void set(std::size_t k, double dot, ScalarHandle handle)
    {
        dots[k] = dot;
        if (plain && handle.word == 0) return;
        plain = false;
        handles.resize(dots.size());
        handles[k] = handle;
    }
    void cut(std::size_t size)
    {
        if (dots.size() > size) dots.resize(size);
        if (handles.size() > size) handles.resize(size);
    }
};

/// A variable of backward(), kept until its tape ends: handles name it by its number, with the highest bit set.
struct ScalarVariable {
    static constexpr std::uint32_t bit = std::uint32_t{1} << 31;
    std::uint32_t id = 0;  ///< 0 when it is no variable any more
    AnyTensor leaf;
    ScalarSpan::Deliver* deliver;
    ScalarHandle entered;  ///< where the stream has it
};

namespace detail {
/// The cotangents of a tensor of T whose elements have been taken in (transforms/sweep.hpp).
template <class T> void deliver_entered(Walk&, ScalarAdjoints&, const ScalarSpan::Entered&, Node& to);
}  // namespace detail

}  // namespace wengert
