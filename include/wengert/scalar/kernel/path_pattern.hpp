// On which of a cell's numbers the results of a kernel's paths depend: the pattern of their Jacobian.
#pragma once

#include "paths.hpp"

namespace wengert::detail {

class PathPattern {
public:
    using Set = std::vector<bool>;  ///< of inputs

    explicit PathPattern(std::size_t inputs) : inputs_(inputs)
    {
        for (std::size_t k = 0; k < inputs; ++k) sets_.emplace_back(inputs).at(k) = true;
    }
    /// For each result the inputs that it depends on in some way.
    std::vector<Set> of(const Path& path)
    {
        sets_.resize(std::max<std::size_t>(path.begin - 1, inputs_));
        for (const ScalarEntry& e : path.steps)
            if (e.op() != ScalarOp::input) sets_.push_back(step(e));
        if (path.loop) return after_loop(path);
        if (!path.parts) return values(path.results);
        std::vector<Set> all;
        for (const auto& next : path.next)
            if (next) add(all, of(*next));
        return all;
    }

private:
    Set step(const ScalarEntry& e) const
    {
        Set all(inputs_);
        if (e.op() >= ScalarOp::whole) return all;  // flat
        if (e.a()) add(all, sets_[e.a() - 1]);
        if (e.form() == ScalarForm::both) add(all, sets_[e.b - 1]);
        return all;
    }
    std::vector<Set> values(const std::vector<PathValue>& of) const
    {
        std::vector<Set> out;
        for (const PathValue& v : of) out.push_back(v.step ? sets_[v.step - 1] : Set(inputs_));
        return out;
    }
    /// The state of a loop gathers what its steps bring, until that is no more.
    std::vector<Set> after_loop(const Path& path)
    {
        std::vector<Set> state = values(path.loop->state), before;
        const std::vector<Set> outside = sets_;
        do {
            before = state;
            sets_.insert(sets_.end(), state.begin(), state.end());
            std::vector<Set> next = of(*path.loop->paths);
            next.erase(next.begin());  // whether it goes on
            add(state, next);
            sets_ = outside;
        } while (state != before);
        sets_.insert(sets_.end(), state.begin(), state.end());
        return of(*path.next[1]);
    }
    static void add(Set& to, const Set& more)
    {
        for (std::size_t k = 0; k < more.size(); ++k)
            if (more[k]) to[k] = true;
    }
    static void add(std::vector<Set>& to, const std::vector<Set>& more)
    {
        if (to.empty()) to = more;
        for (std::size_t k = 0; k < more.size(); ++k) add(to[k], more[k]);
    }

    std::size_t inputs_;
    std::vector<Set> sets_;  ///< of the steps along the path
};

}  // namespace wengert::detail
