// A loop's body that works on large arrays: compiled like any graph, with fused kernels, its states updated where they lie.
#pragma once

#include <atomic>

#include "body_graph.hpp"
#include "step_plan.hpp"

namespace wengert::detail {

/// How bodies are made ready; set by whoever has passes and compilers (graph/compiler_source.hpp).
struct BodyCompiler {
    Graph (*optimize)(const Graph&);
    std::unique_ptr<Executable> (*compile)(const Graph&, const PlanOptions&);
};
inline std::atomic<const BodyCompiler*>& body_compiler() noexcept
{
    static std::atomic<const BodyCompiler*> compiler{nullptr};
    return compiler;
}

class CompiledStep : public BodyPlan {
public:
    CompiledStep(std::shared_ptr<const Graph> g, std::size_t states)
        : graph_(std::move(g)), states_(states), owned_(states), headers_(graph_->inputs().size()),
          results_(graph_->outputs().size())
    {
        for (std::size_t k = 0; k < results_.size(); ++k)
            if (k < states || !known_before(k)) made_.push_back(k);
        Graph body = with_outputs(*graph_, made_);
        for (std::size_t i = 0; i < states; ++i) body.update(i, i);
        executable_ = body_compiler().load()->compile(body, {});
        for (std::size_t i = 0; i < headers_.size(); ++i) headers_[i] = header(graph_->inputs()[i]);
        for (std::size_t k = 0; k < results_.size(); ++k) {
            const GraphNode& n = graph_->node(graph_->outputs()[k]);
            results_[k] = k >= states && known_before(k) ? headers_[n.index] : header(graph_->outputs()[k]);
        }
    }
    void bind(std::size_t i, std::byte* data) override { headers_[i]->data = data; }
    std::byte* own(std::size_t i) override
    {
        owned_[i] = make_block(headers_[i]->dtype, headers_[i]->shape);
        return headers_[i]->data = owned_[i]->data;
    }
    const Block& input(std::size_t i) const override { return *headers_[i]; }
    const Block& output(std::size_t k) const override { return *results_[k]; }
    bool known_before(std::size_t k) const override
    {
        return graph_->node(graph_->outputs()[k]).kind == Graph::Kind::input;
    }
    void run() override
    {
        in_ = headers_;
        for (std::size_t i = 0; i < states_; ++i) in_[i] = std::move(owned_[i]);
        executable_->run(in_, out_);
        for (std::size_t k = 0; k < out_.size(); ++k) {
            if (out_[k]->strided) out_[k] = copy_of(*out_[k]);
            results_[made_[k]]->data = out_[k]->data;
        }
    }
    void advance() override
    {
        for (std::size_t i = 0; i < states_; ++i) {
            const ValueId v = graph_->outputs()[i];
            const bool foreign = graph_->node(v).kind != Graph::Kind::operation;
            owned_[i] = foreign ? copy_of(*out_[i]) : std::move(out_[i]);
        }
        for (std::size_t i = 0; i < states_; ++i) headers_[i]->data = owned_[i]->data;
        in_.clear();
        out_.clear();
    }

    /// Is there enough to do in a step for that?
    static bool worthwhile(const Graph& g)
    {
        std::size_t elements = 0, operations = 0;
        for (const GraphNode& n : g.nodes())
            if (n.primitive && n.primitive->value && element_count(n.shape) >= 1024) {
                elements += element_count(n.shape);
                ++operations;
            }
        return body_compiler().load() && operations >= 2 && elements >= 8192;
    }

private:
    Ref<Block> header(ValueId v) const
    {
        return make_borrowed(graph_->node(v).dtype, graph_->node(v).shape, nullptr);
    }

    std::shared_ptr<const Graph> graph_;
    std::size_t states_;
    std::unique_ptr<Executable> executable_;
    std::vector<Ref<Block>> owned_;    ///< the states
    std::vector<Ref<Block>> headers_;  ///< of the inputs: those of states are not handed to the graph
    std::vector<Ref<Block>> results_;  ///< headers of the outputs
    std::vector<std::size_t>
        made_;  ///< the outputs that the compiled graph has: those that show no input, and states
    std::vector<Ref<Block>> in_, out_;
};

}  // namespace wengert::detail
