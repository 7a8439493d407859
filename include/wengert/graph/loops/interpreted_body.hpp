// A loop's body node by node, in programs that compile no graphs.
#pragma once

#include "../../base/separate.hpp"
#include "../ir/interpret.hpp"
#include "body_plan.hpp"

namespace wengert::detail {

class InterpretedBody : public BodyPlan {
public:
    InterpretedBody(std::shared_ptr<const Graph> g, std::size_t states);
    void bind(std::size_t i, std::byte* data) override { in_[i]->data = data; }
    std::byte* own(std::size_t i) override { return in_[i]->data; }
    const Block& input(std::size_t i) const override { return *in_[i]; }
    const Block& output(std::size_t k) const override { return *headers_[k]; }
    bool known_before(std::size_t) const override { return false; }
    WENGERT_INLINE void run() override;
    /// One state may be the next value of another.
    WENGERT_INLINE void advance() override;

private:
    Ref<Block> header(ValueId v) const;

    std::shared_ptr<const Graph> graph_;
    std::size_t states_;
    std::vector<Ref<Block>> in_, out_, headers_;  ///< headers_: of the outputs
};

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/interpreted_body.ipp"
#endif
