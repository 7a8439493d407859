// The bodies of into.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../../base/separate.hpp"
#include "../../../ops/update.hpp"
#include "../into.hpp"

namespace wengert::detail {

WENGERT_INLINE void Buffers::check(const Site& at) const
{
    if (Recorder* r = recorder()) r->refuse("results written into buffers (into)", at);
    for (std::size_t k = 0; k < tensors_.size(); ++k) {
        const AnyTensor& t = *tensors_[k];
        if (!t.value)
            fail<TapeError>("freeze", name(k) + " is an empty tensor: give one of the result's shape", at);
        if (t.node && !is_variable(t))
            fail<TapeError>("freeze", name(k) + " holds a value on the tape: use detach()", at);
        if (!may_write(*t.value) || t.value->access.writers)
            fail<TapeError>(
                "freeze",
                name(k) +
                    " shares its elements, with another tensor or as borrowed memory: they would change",
                at);
        for (std::size_t i = 0; i < k; ++i)
            if (overlap(*tensors_[i]->value, *t.value))
                fail<TapeError>("freeze", name(k) + " lies in the memory of " + name(i), at);
    }
}

WENGERT_INLINE bool Buffers::lend(const Graph& g, const KnownArguments& a, Ref<Block>* outputs,
                                  const Site& at) const
{
    check_number(g.outputs().size(), at);
    bool direct = g.guards().empty();
    for (std::size_t k = 0; k < tensors_.size(); ++k) {
        Block& b = *tensors_[k]->value;
        const auto& n = g.node(g.outputs()[k]);
        check_form(k, n.dtype, n.shape, at);
        direct = direct && !b.strided;
        for (std::size_t i = 0; i < a.count; ++i) direct = direct && !overlap(b, *a.inputs[i]);
    }
    for (std::size_t k = 0; direct && k < tensors_.size(); ++k) outputs[k] = tensors_[k]->value;
    return direct;
}

WENGERT_INLINE void Buffers::take(const TreeReader& result, const Site& at) const
{
    check_number(result.leaves.size(), at);
    if (result.keys) fail<TapeError>("freeze", "the result holds a random key, which has no buffer", at);
    std::vector<Ref<Block>> values;
    for (std::size_t k = 0; k < tensors_.size(); ++k) {
        const AnyTensor& t = result.leaves[k];
        if (depends_now(t))
            fail<TapeError>(
                "freeze",
                "result " + std::to_string(k) +
                    " depends on a variable, and what is written into a buffer has no derivative: "
                    "call the function without into(), or under NoGrad",
                at);
        check_form(k, t.value->dtype, t.value->shape, at);
        bool apart = true;
        for (const AnyTensor* b : tensors_) apart = apart && !overlap(*b->value, *t.value);
        values.push_back(apart ? t.value : copy_of(*t.value));
    }
    for (std::size_t k = 0; k < tensors_.size(); ++k) copy_elements(*values[k], *tensors_[k]->value);
}

WENGERT_INLINE bool Buffers::overlap(const Block& a, const Block& b) noexcept
{
    const auto [a0, a1] = reach(a);
    const auto [b0, b1] = reach(b);
    return a.count && b.count && a0 < b1 && b0 < a1;
}

WENGERT_INLINE std::pair<const std::byte*, const std::byte*> Buffers::reach(const Block& b) noexcept
{
    const auto size = static_cast<std::int64_t>(size_of(b.dtype));
    if (!b.strided) return {b.data, b.data + static_cast<std::int64_t>(b.count) * size};
    std::int64_t low = 0, high = 0;
    for (std::size_t i = 0; i < b.shape.size(); ++i) {
        const std::int64_t way = (b.shape[i] - 1) * b.view_strides[i];
        (way < 0 ? low : high) += way;
    }
    return {b.data + low * size, b.data + (high + 1) * size};
}

WENGERT_INLINE void Buffers::check_number(std::size_t results, const Site& at) const
{
    if (results != tensors_.size())
        fail<ShapeError>("freeze",
                         "the result has " + std::to_string(results) +
                             " tensors and keys, into() was given " + std::to_string(tensors_.size()) +
                             " buffers",
                         at);
}

WENGERT_INLINE void Buffers::check_form(std::size_t k, DType dtype, const Shape& shape, const Site& at) const
{
    const Block& b = *tensors_[k]->value;
    if (b.dtype != dtype)
        fail<DTypeError>("freeze",
                         name(k) + " is of " + std::string(name_of(b.dtype)) + ", the result of " +
                             std::string(name_of(dtype)),
                         at);
    if (!(b.shape == shape))
        fail<ShapeError>(
            "freeze", name(k) + " has shape " + to_string(b.shape) + ", the result " + to_string(shape), at);
}

}  // namespace wengert::detail
