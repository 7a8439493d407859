// Executable: a graph made ready to run many times.
#pragma once

#include <string>

#include "backend.hpp"
#include "graph.hpp"

namespace wengert {

class Executable {
public:
    virtual ~Executable() = default;
    /// Runs on inputs of the graph's dtypes and shapes, contiguous. Fills `outputs` and returns guards().size(); where a
    /// guard fails it returns that one's number, `outputs` are as they were, and so are all inputs. An input that has an
    /// update (Graph::updates) may lend its memory to that output when nobody else sees it: it is then left empty.
    virtual std::size_t run(std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs) = 0;
    /// The same on inputs that lend nothing, into empty outputs, without lists. False where a guard has failed, or where there
    /// is no such way: the outputs are not to be used then.
    virtual bool run_on_pointers(const Block* const* /* inputs */, Ref<Block>* /* outputs */)
    {
        return false;
    }
    PlanStats stats;
    std::string note;            ///< why it is not what was asked for: "" or one sentence
    bool stats_changed = false;  ///< stats and note have changed in a run; whoever reads them may clear it
};

}  // namespace wengert
