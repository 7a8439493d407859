// A loop's body node by node, in programs that compile no graphs.
#pragma once

#include "../ir/interpret.hpp"
#include "body_plan.hpp"

namespace wengert::detail {

class InterpretedStep : public BodyPlan {
public:
    InterpretedStep(std::shared_ptr<const Graph> g, std::size_t states)
        : graph_(std::move(g)), states_(states)
    {
        for (ValueId v : graph_->inputs())
            in_.push_back(in_.size() < states ? make_block(graph_->node(v).dtype, graph_->node(v).shape)
                                              : header(v));
        for (ValueId v : graph_->outputs()) headers_.push_back(header(v));
    }
    void bind(std::size_t i, std::byte* data) override { in_[i]->data = data; }
    std::byte* own(std::size_t i) override { return in_[i]->data; }
    const Block& input(std::size_t i) const override { return *in_[i]; }
    const Block& output(std::size_t k) const override { return *headers_[k]; }
    bool known_before(std::size_t) const override { return false; }
    void run() override
    {
        const std::vector<Ref<Block>> values = interpret_graph(*graph_, in_, {});
        out_.clear();
        for (ValueId v : graph_->outputs()) {
            out_.push_back(contiguous(values[v]));
            headers_[out_.size() - 1]->data = out_.back()->data;
        }
    }
    /// One state may be the next value of another.
    void advance() override
    {
        for (std::size_t i = 0; i < states_; ++i) out_[i] = copy_of(*out_[i]);
        for (std::size_t i = 0; i < states_; ++i) copy_elements(*out_[i], *in_[i]);
    }

private:
    Ref<Block> header(ValueId v) const
    {
        return make_borrowed(graph_->node(v).dtype, graph_->node(v).shape, nullptr);
    }

    std::shared_ptr<const Graph> graph_;
    std::size_t states_;
    std::vector<Ref<Block>> in_, out_, headers_;  ///< headers_: of the outputs
};

}  // namespace wengert::detail
