// A fused group of a graph (graph/fuse/fusion.hpp) as one kernel: a thread makes all of the group's values of some elements, then of
// those as many threads further on. It reads all that it needs for these before it writes the first of them. Extents and strides are
// numbers in the text.
#pragma once

#include <numeric>

#include "element_text.hpp"

namespace wengert::detail::gpu {

class GroupText : public ElementText {
public:
    GroupText(const Graph& g, const tiling::Layouts& layouts, const tiling::Group& group,
              const GroupPreferences& wants, std::set<std::string>& helpers)
        : ElementText(g, layouts, group, wants, helpers, wants.last_fold(group)),
          fold_(wants.last_fold(group)), shape_(find_shape())
    {
        find_direct();
        space_.emplace(shape_, strides(), 0);
        find_index(count());
        loads();
        for (ValueId v : group.nodes)
            if (!inside(v) && v != fold_) statements(v);
        at_once_ = AtOnce::of(wants.cost(group) + group.results.size());
        while (at_once_ > 1 && at_once_ * addresses_.size() > most_values) at_once_ /= 2;
    }
    /// What is folded of the elements as they are made, or no_value.
    ValueId fold() const noexcept { return fold_; }
    /// The function that makes what is folded.
    FoldText::Chain chain() const
    {
        const ValueId x = g_.node(fold_).inputs[0];
        Fold f;
        fold_of(g_.node(fold_), f);
        return {
            filled("inline $ wg_chain(const wg_group<$>& g, wg_int at)\n{\n", type(x), addresses_.size()) +
                pointers() + filled("    const $ i = ($)at;\n", index_, index_) + reads_ + body_ +
                each_result([](std::size_t k, const std::string& name) {
                    return filled("        p$[i] = $;\n", k, name);
                }) +
                filled("        return $;\n}\n", names_.at(x)),
            addresses_.size(), FoldLines(shape_, f).inner > 1};
    }
    /// Everything behind the kernel's name.
    std::string text() const
    {
        const std::string some = filled("#pragma unroll\n        for (int u = 0; u < $; ++u) {\n        "
                                        "const $ i = first + u * ($)wg_threads();\n"
                                        "        if (i < $) {\n",
                                        at_once_, index_, index_, count());
        const std::string end = "        }\n        }\n";
        return filled("(const wg_group<$> g)\n{\n", addresses_.size()) + pointers() +
               filled("    for ($ first = ($)wg_thread(); first < $; first += $ * ($)wg_threads()) {\n",
                      index_, index_, count(), at_once_, index_) +
               arrays("read", direct_) + arrays("made", results()) + some + reads_ +
               each(direct_, "        read$[u] = a$;\n") + end + some +
               each(direct_, "        const auto a$ = read$[u];\n") + body_ +
               each_result([](std::size_t k, const std::string& name) {
                   return filled("        made$[u] = $;\n", k, name);
               }) +
               end + some + each_result([](std::size_t k, const std::string&) {
                   return filled("        p$[i] = made$[u];\n", k, k);
               }) +
               end + "    }\n}\n";
    }
    std::int64_t count() const { return static_cast<std::int64_t>(element_count(shape_)); }
    /// Of a launch, each of which makes some elements.
    std::int64_t threads() const
    {
        const auto each = static_cast<std::int64_t>(at_once_);
        return fold_ == no_value ? (count() + each - 1) / each : count();
    }

private:
    /// Of operands and results that a thread has at once; more take registers from other threads.
    static constexpr std::size_t most_values = 32;

    const Shape& find_shape() const
    {
        return g_.node(fold_ == no_value ? group_.nodes.back() : g_.node(fold_).inputs[0]).shape;
    }
    /// The operands that are read at the places that are made.
    void find_direct()
    {
        std::set<ValueId> read;
        for (ValueId v : group_.nodes) {
            any_moves_ = any_moves_ || moves(v);
            for (ValueId i : g_.node(v).inputs)
                if (!inside(v) && v != fold_ && (!moves(v) || wants_.in_step(i, v))) read.insert(i);
        }
        for (std::size_t k = 0; k < operands_; ++k)
            if (read.contains(addresses_[k])) direct_.push_back(k);
    }
    std::vector<Strides> strides() const
    {
        std::vector<Strides> of;
        for (std::size_t k : direct_)
            of.push_back(
                broadcast_strides(g_.node(addresses_[k]).shape, layouts_[addresses_[k]].strides, shape_));
        of.push_back(row_major(shape_));
        return of;
    }
    bool as_results(std::size_t k) const { return space_->strides[k] == space_->strides.back(); }
    void loads()
    {
        const Names at = places_.split("i", Shape(space_->extents.data(), space_->rank()));
        for (std::size_t k = 0; k < direct_.size(); ++k) {
            const ValueId v = addresses_[direct_[k]];
            names_[v] = filled("a$", direct_[k]);
            body_ += filled("        const $ a$ = p$[$];\n", type(v), direct_[k], direct_[k],
                            as_results(k) ? "i" : places_.place(at, space_->strides[k]));
        }
        reads_ = std::exchange(body_, {});
        if (any_moves_) here_ = places_.split("i", shape_);
    }
    void statements(ValueId v)
    {
        if (moves(v)) return void(names_[v] = moved(v, here_, names_));
        std::vector<std::string> in;
        for (ValueId i : g_.node(v).inputs) in.push_back(names_[i]);
        names_[v] = code_.write(program_of(g_, layouts_, v), in);
    }
    /// The addresses that are results.
    std::vector<std::size_t> results() const
    {
        std::vector<std::size_t> all(addresses_.size() - operands_);
        std::iota(all.begin(), all.end(), operands_);
        return all;
    }
    /// Arrays for what a thread reads before it makes the first element, or makes before it writes one: "float read0[8];".
    std::string arrays(const char* name, const std::vector<std::size_t>& which) const
    {
        std::string s;
        for (std::size_t k : which) s += filled("        $ $$[$];\n", type(addresses_[k]), name, k, at_once_);
        return s;
    }
    /// The statement with the number of each address in the place of $.
    static std::string each(const std::vector<std::size_t>& which, const char* statement)
    {
        std::string s;
        for (std::size_t k : which) s += filled(statement, k, k);
        return s;
    }
    /// Statements about each result and its name.
    template <class Statement> std::string each_result(const Statement& statement) const
    {
        std::string s;
        for (std::size_t k = operands_; k < addresses_.size(); ++k)
            s += statement(k, names_.at(addresses_[k]));
        return s;
    }

    ValueId fold_;
    Shape shape_;                      ///< of what is made
    std::optional<LoopSpace> space_;   ///< of the direct operands, then of all results
    std::vector<std::size_t> direct_;  ///< those addresses that are read at the places that are made
    bool any_moves_ = false;
    std::size_t at_once_ = 1;
    std::string reads_;  ///< statements that read the direct operands
    Known names_;
    Names here_;
};

}  // namespace wengert::detail::gpu
