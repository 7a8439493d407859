// What interpreted_body.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../interpreted_body.hpp"

namespace wengert::detail {

WENGERT_INLINE InterpretedBody::InterpretedBody(std::shared_ptr<const Graph> g, std::size_t states)
    : graph_(std::move(g)), states_(states)
{
    for (ValueId v : graph_->inputs())
        in_.push_back(in_.size() < states ? make_block(graph_->node(v).dtype, graph_->node(v).shape)
                                          : header(v));
    for (ValueId v : graph_->outputs()) headers_.push_back(header(v));
}

WENGERT_INLINE void InterpretedBody::run()
{
    const std::vector<Ref<Block>> values = interpret_graph(*graph_, in_, {});
    out_.clear();
    for (ValueId v : graph_->outputs()) {
        out_.push_back(contiguous(values[v]));
        headers_[out_.size() - 1]->data = out_.back()->data;
    }
}

WENGERT_INLINE void InterpretedBody::advance()
{
    for (std::size_t i = 0; i < states_; ++i) out_[i] = copy_of(*out_[i]);
    for (std::size_t i = 0; i < states_; ++i) copy_elements(*out_[i], *in_[i]);
}

WENGERT_INLINE Ref<Block> InterpretedBody::header(ValueId v) const
{
    return make_borrowed(graph_->node(v).dtype, graph_->node(v).shape, nullptr);
}

}  // namespace wengert::detail
