// A graph as a list of occurrences in which operations can appear more than once: what is alive at one time, and at which position.
#pragma once

#include "../ir/cost.hpp"
#include "../loops/loop.hpp"
#include "../fuse/layout.hpp"
#include "options.hpp"

namespace wengert::passes::detail {

class Schedule {
public:
    Schedule(const Graph& g, const CostModel& costs);

    struct Occurrence {
        ValueId node;
        std::uint32_t root;  ///< the occurrence whose memory the value has
        std::size_t bytes;   ///< that it takes itself
        double work;         ///< nanoseconds by the cost model, none for views
        ValueList inputs;
        std::uint16_t segment = 0;
    };
    /// The most bytes that are alive at one time, the position where that is, and the number of such positions.
    struct Peak {
        std::size_t bytes = 0, position = 0, positions = 0;
        bool below(const Peak& o) const
        {
            return bytes < o.bytes || (bytes == o.bytes && positions < o.positions);
        }
    };
    Peak peak();

    /// Values that are let go, and the occurrences that make them once more, in order, before their first use after the peak.
    struct Repeat {
        std::vector<std::uint32_t> values;
        std::size_t next = 0;  ///< the position of that use
        std::vector<std::uint32_t> again;
    };
    /// Copies of r.again before the first late use; late users read them.
    void apply(const Repeat& r, const Peak& p);

    const std::vector<Occurrence>& occurrences() const noexcept { return occurrences_; }
    const std::vector<std::uint32_t>& order() const noexcept { return order_; }
    const std::vector<Guard>& guards() const noexcept { return graph_->guards(); }
    const GraphNode& node(std::uint32_t s) const { return graph_->node(occurrences_[s].node); }
    std::size_t position(std::uint32_t s) const { return position_[s]; }
    std::size_t last(std::uint32_t s) const { return last_[s]; }
    /// Nothing has to be done to have this value at that position.
    bool available(std::uint32_t s, std::size_t position) const;
    bool may_repeat(std::uint32_t s, bool products) const;
    /// The graph, what is recomputed in segments of its own.
    Graph graph(RematReport& report) const;

private:
    void find_uses();

    const Graph* graph_;
    std::vector<Occurrence> occurrences_;
    std::vector<std::uint32_t> order_;
    std::vector<std::size_t> position_,
        last_;  ///< of occurrences: where they are, where their memory is needed last
    std::uint16_t segment_ = 0;
};

}  // namespace wengert::passes::detail

#ifndef WENGERT_COMPILED
#include "impl/repeats.ipp"
#endif
