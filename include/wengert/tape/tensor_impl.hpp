// Tensor's members that need a body: construction from braces and ranges, reading, leaves.
#pragma once

#include <atomic>

#include "tensor.hpp"

namespace wengert {

namespace detail {

template <class T> void measure_list(const Elements<T>& e, Shape& shape, std::size_t depth)
{
    if (!e.is_list) return;
    if (shape.size() == depth) shape.push_back(static_cast<std::int64_t>(e.list.size()));
    if (e.list.size() > 0) measure_list(*e.list.begin(), shape, depth + 1);
}

/// Depth is that of the braces in the source.
template <class T>
T* fill_from_list(const Elements<T>& e, const Shape& shape, std::size_t depth, T* to, const Site& at)
{
    const bool leaf = depth == shape.size();
    if (e.is_list == leaf || (!leaf && static_cast<std::int64_t>(e.list.size()) != shape[depth]))
        fail<ShapeError>("tensor",
                         "ragged braces: every list at depth " + std::to_string(depth) +
                             " must have the extents of the first one, " + to_string(shape),
                         at);
    if (leaf) {
        *to = e.value;
        return to + 1;
    }
    for (const auto& inner : e.list) to = fill_from_list(inner, shape, depth + 1, to, at);
    return to;
}

[[noreturn]] void refuse_item(const AnyTensor& x, const Site& at);

inline constexpr Primitive leaf_primitive{.name = "leaf", .arity = 0};

}  // namespace detail

template <class Value, class Device>
Tensor<Value, Device>::Tensor(std::initializer_list<Elements<Value>> list, Site at)
{
    const Elements<Value> all(list);
    Shape shape;
    detail::measure_list(all, shape, 0);
    any_.value = make_block(dtype_of<Value>(), shape);
    detail::fill_from_list(all, shape, 0, any_.value->template as<Value>(), at);
    any_.value = detail::made<Device>(std::move(any_.value));
}

template <class Value, class Device>
template <class Range>
Tensor<Value, Device>::Tensor(const Shape& shape, const Range& values, Site at)
{
    check_shape("tensor", shape, at);
    if (values.size() != element_count(shape))
        fail<ShapeError>("tensor",
                         std::to_string(values.size()) + " elements given for shape " + to_string(shape), at);
    any_.value = make_block(dtype_of<Value>(), shape);
    Value* to = any_.value->template as<Value>();
    for (auto&& v : values) *to++ = detail::GivenNumber<Value>(v, at.file, at.line).value;
    any_.value = detail::made<Device>(std::move(any_.value));
}

template <class Value, class Device> const Value* Tensor<Value, Device>::data(Site at) const
{
    const Block& b = *any("data", at).value;
    if (b.strided)
        fail<ShapeError>("data",
                         "this view of shape " + to_string(b.shape) +
                             " does not lie in row-major order: use copy(x).data(), or x.array()",
                         at);
    note_read(b, Read::elements, at);
    note_number_read(at);
    return host_elements<Value>(b);
}

template <class Value, class Device> Value Tensor<Value, Device>::item(Site at) const
{
    const Block& b = *any("item", at).value;
    if (b.count != 1) detail::refuse_item(any_, at);
    note_read(b, std::is_same_v<Value, bool> ? Read::truth : Read::item, at);
    note_number_read(at);
    if (!b.access.device) [[likely]]
        return host_element<Value>(b);
    const Computing now("item", at);
    return host_element<Value>(b);
}

template <class Value, class Device> class Tensor<Value, Device>::Iterator {
public:
    using value_type = Tensor;
    using difference_type = std::int64_t;
    Iterator(const Tensor* t, std::int64_t i) : tensor_(t), i_(i) {}
    Tensor operator*() const { return (*tensor_)(i_, Site{}); }
    Iterator& operator++()
    {
        ++i_;
        return *this;
    }
    bool operator==(const Iterator& o) const { return i_ == o.i_; }

private:
    const Tensor* tensor_;
    std::int64_t i_;
};

template <class Value, class Device> bool Tensor<Value, Device>::is_leaf() const noexcept
{
    return any_.node && any_.node->leaf() && any_.node->level == 0;
}

namespace detail {
/// requires_grad() has made so many variables in the process, so that who holds constants knows when to look at Block::variables.
inline constinit std::atomic<std::uint64_t> variables_made{0};

/// A variable over the elements of b, of a level.
Ref<Node> make_leaf(const Block& b, std::size_t level, const Site& at);
}  // namespace detail

template <class Value, class Device>
Tensor<Value, Device>& Tensor<Value, Device>::requires_grad(bool on, Site at)
    requires Differentiable<Value>
{
    if (on == is_leaf()) return *this;
    if (any("requires_grad", at).node && !is_leaf())
        fail<TapeError>("requires_grad",
                        "this tensor of shape " + to_string(shape()) + " is the result of " +
                            std::string(any_.node->primitive->name) + " at " + to_string(any_.node->at) +
                            "; only a constant can become a variable (use detach() first)",
                        at);
    any_.node = on ? detail::make_leaf(block(), 0, at) : Ref<Node>();
    return *this;
}

template <class Value, class Device>
Tensor<Value, Device> Tensor<Value, Device>::grad(Site at) const
    requires Differentiable<Value>
{
    if (!is_leaf()) {
        static_cast<void>(any("grad", at));
        std::string what =
            "only a variable (requires_grad) has a gradient; this tensor of shape " + to_string(shape());
        if (!any_.node)
            what += " is a constant";
        else if (any_.node->flags & Node::rewritten)
            what += " became an interior value by the write at " + to_string(any_.node->at);
        else
            what += " is the result of " + std::string(any_.node->primitive->name) + " at " +
                    to_string(any_.node->at);
        fail<TapeError>("grad", what, at);
    }
    if (!any_.node->gradient()) return Tensor(AnyTensor{zeros_beside(block(), dtype(), shape()), {}});
    return Tensor(AnyTensor{Ref<Block>(any_.node->gradient()), {}});
}

template <class Value, class Device>
void Tensor<Value, Device>::zero_grad(Site at)
    requires Differentiable<Value>
{
    if (!is_leaf()) static_cast<void>(grad(at));  // throws, and says why
    any_.node->set_gradient({});
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/tensor.ipp"
#endif
