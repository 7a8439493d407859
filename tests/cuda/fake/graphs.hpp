// Streams of the fake devices, and work that is captured, as graphs: see fake.hpp.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "fake.hpp"

namespace fake {

/// How often an event has been recorded, and how many of those its streams have come to.
struct Event {
    std::uint64_t recorded = 0, reached = 0;
    Stream* stream = nullptr;
    int device = current_device();
};
struct Work {
    std::function<void()> run;
    std::shared_ptr<Event> event = {};  ///< which it waits for
    std::uint64_t reached = 0;
    bool ready() const { return !event || event->reached >= reached; }
};
/// What a conditional node looks at.
struct Condition {
    unsigned value = 0, first = 0;
    bool assigns = false, used = false;  ///< it begins with `first` in each launch; it has a node
};
struct Graph;
/// A piece of work of a graph, or bodies that run as a condition says.
struct Node {
    std::function<void()> run = {};
    std::vector<const Node*> after = {};
    std::shared_ptr<Condition> condition = {};
    bool repeats = false;
    std::vector<std::unique_ptr<Graph>> bodies = {};
    std::vector<Graph*> handed_out = {};  ///< the bodies, as the driver's caller sees them
};
/// Work that was captured. What is ready to be launched has the nodes of the graph that it was made of.
struct Graph {
    std::vector<std::shared_ptr<Node>> nodes = {};
    std::map<std::uint64_t, std::shared_ptr<Condition>> conditions = {};  ///< of all bodies, too
    Graph* outer = nullptr;                                               ///< whose body it is
    bool freed = false;  ///< a body of it was given up, and its memory has gone with that
    std::shared_ptr<int> launchable = std::make_shared<int>(0);  ///< how many are ready to be launched
    Graph& root() { return outer ? outer->root() : *this; }
};
struct Stream {
    int device = current_device();
    std::uint64_t id = 0;  ///< of all that are made; 0: it has none yet
    std::deque<Work> work;
    Graph* captures = nullptr;  ///< it writes down
    bool spoilt = false;        ///< somebody has waited for what it writes, or has done what it cannot write
    std::vector<const Node*> last = {};  ///< what the next piece comes after
};

void write(Stream& s, std::function<void()> work);

/// How a capture is begun, and what a thread may do beside those of others.
enum class Mode { global, of_thread, relaxed };

}  // namespace fake
