// What a kernel's recording of one cell notes beside the operations: which way comparisons went, and numbers that went through
// tensors, as they do where a derivative is taken inside of the cell's function.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "../../tape/recorder.hpp"
#include "lines.hpp"

namespace wengert {

class ScalarStream;

/// A comparison that a kernel's recording has met: which way it went.
struct ScalarGuard {
    static constexpr std::size_t most = std::size_t{1} << 20;  ///< of one recording
    enum class Kind : std::uint8_t {
        less,
        less_equal,
        equal,
        loop
    } kind;  ///< loop: number a of the recording's
    bool outcome;
    std::uint32_t at;    ///< entries before it
    std::uint32_t a, b;  ///< 0: the constants below
    double left, right;
};

/// How comparisons of a recording go in place of how its numbers do. As an array's element a cell may take another path than by
/// itself: functions of arrays differ in the last bits. Those after the last one go by the numbers.
struct ScalarOutcomes {
    std::vector<bool> given;
    std::size_t next = 0;  ///< of those given

    bool decide(bool by_numbers)
    {
        return next < given.size() ? static_cast<bool>(given[next++]) : by_numbers;
    }
};

/// Numbers of a recording as a tensor, and entries that are such numbers again; positions of 0 are constants. What is done with such a
/// tensor would be done with one cell's numbers for all: operations on it and reads of it are refused.
class CellTensors : public BasicRecorder {
public:
    struct Gathered {
        Ref<Block> block;
        std::vector<std::uint64_t> positions;
    };
    struct Entered {
        std::uint32_t first;
        std::vector<std::uint64_t> from;
    };
    /// `by`: for errors.
    CellTensors(std::string_view by, const ScalarStream& s)
        : BasicRecorder(recorder_table<CellTensors>), who(by), stream_(s)
    {}
    const std::string_view who;
    std::vector<Gathered> gathered;
    std::vector<Entered> entered;

    const Gathered* find(const Block& b) const
    {
        const auto found = std::find_if(gathered.begin(), gathered.end(),
                                        [&](const Gathered& g) { return g.block.get() == &b; });
        return found == gathered.end() ? nullptr : &*found;
    }
    /// Are there numbers of the cell's in it?
    bool is_cells(const Block& b) const;
    [[noreturn]] void refuse_tensors(const Site& at) const
    {
        fail<TapeError>(who,
                        "tensors compute here, or are read, by an operation, item(), detach(), custom_vjp, "
                        "custom_jvp or checkpoint_loop: a kernel's cell and a frozen function of Reals "
                        "compute with Reals, and tensors are stack() and elements() of them alone",
                        at.line ? at : detail::line_of_user());
    }

    void operation(const Primitive&, const void*, const Block* const* in, std::size_t n, Block&,
                   const Site& at)
    {
        for (std::size_t k = 0; k < n; ++k) read(*in[k], Read::elements, at);
    }
    void alias(const AnyTensor& of, const Ref<Block>& as, const Site&)
    {
        if (const Gathered* g = find(*of.value)) gathered.push_back({as, g->positions});
    }
    void read(const Block& x, Read, const Site& at)
    {
        if (is_cells(x)) refuse_tensors(at);
    }
    bool knows(const Block&) const { return false; }
    Ref<Block> key(std::uint64_t) { return {}; }
    [[noreturn]] void refuse(std::string_view what, const Site& at)
    {
        fail<TapeError>(who, std::string(what), at);
    }
    bool holds() const { return false; }
    bool keeps(const Block&) const { return false; }

private:
    const ScalarStream& stream_;
};

}  // namespace wengert
