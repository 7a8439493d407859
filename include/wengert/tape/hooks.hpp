// Hooks on what the tape saves: packed when an operation is recorded, unpacked when its derivative needs it. The tape calls them in
// impl/hooks.ipp; users set them with SavedTensorHooks (transforms/saved_tensor_hooks.hpp).
#pragma once

#include <memory>
#include <vector>

#include "../array/block.hpp"
#include "../base/site.hpp"

namespace wengert {

/// A way to keep values elsewhere or smaller.
class SavedHooks {
public:
    virtual ~SavedHooks() = default;
    /// The object that is kept in place of b. Null if b itself is kept.
    virtual std::shared_ptr<void> pack(const Ref<Block>& b) = 0;
    /// Elements of b's dtype and shape again.
    virtual Ref<Block> unpack(const std::shared_ptr<void>& packed, DType dtype, const Shape& shape) = 0;
};

/// What a node has packed, slot by slot.
struct PackedValues {
    struct Value {
        std::shared_ptr<void> packed;
        DType dtype{};
        Shape shape;
    };
    std::shared_ptr<SavedHooks> hooks;
    std::vector<Value> values;
};

}  // namespace wengert
