// Results of a frozen function in memory that the caller gives: which tensors may take them, and how they get there.
#pragma once

#include "frozen.hpp"

namespace wengert::detail {

/// Tensors of the caller that take results, in order.
class Buffers {
public:
    template <class T> void add(Tensor<T>& t) { tensors_.push_back(&t.any_unchecked()); }

    /// Throws where writing would change what somebody else sees or a derivative reads.
    void check(const Site& at) const
    {
        if (Recorder* r = recorder()) r->refuse("results written into buffers (into)", at);
        for (std::size_t k = 0; k < tensors_.size(); ++k) {
            const AnyTensor& t = *tensors_[k];
            if (!t.value)
                fail<TapeError>("freeze", name(k) + " is an empty tensor: give one of the result's shape",
                                at);
            if (t.node && !is_variable(t))
                fail<TapeError>("freeze", name(k) + " holds a value on the tape: use detach()", at);
            if (!may_write(*t.value) || t.value->writers)
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
    /// The buffers as outputs of a run that writes nothing else; false where results are better copied afterwards.
    bool lend(const Graph& g, const KnownArguments& a, Ref<Block>* outputs, const Site& at) const
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
    /// Copies a result. Nothing is written before everything has been looked at.
    template <class Y> void take(const Y& y, const Site& at) const
    {
        ResultBlocks result;
        visit_argument(result, y);
        check_number(result.leaves.size(), at);
        std::vector<Ref<Block>> values;
        for (std::size_t k = 0; k < tensors_.size(); ++k) {
            const AnyTensor* t = result.leaves[k].second;
            if (!t) fail<TapeError>("freeze", "the result holds a random key, which has no buffer", at);
            if (t->node && (t->node->mask & Tape::current().active))
                fail<TapeError>(
                    "freeze",
                    "result " + std::to_string(k) +
                        " depends on a variable, and what is written into a buffer has no derivative: "
                        "call the function without into(), or under NoGrad",
                    at);
            check_form(k, t->value->dtype, t->value->shape, at);
            bool apart = true;
            for (const AnyTensor* b : tensors_) apart = apart && !overlap(*b->value, *t->value);
            values.push_back(apart ? t->value : copy_of(*t->value));
        }
        for (std::size_t k = 0; k < tensors_.size(); ++k) copy_elements(*values[k], *tensors_[k]->value);
    }

private:
    static std::string name(std::size_t k) { return "buffer " + std::to_string(k); }
    /// Whether the bytes between the first and the last elements meet.
    static bool overlap(const Block& a, const Block& b) noexcept
    {
        const auto [a0, a1] = reach(a);
        const auto [b0, b1] = reach(b);
        return a.count && b.count && a0 < b1 && b0 < a1;
    }
    static std::pair<const std::byte*, const std::byte*> reach(const Block& b) noexcept
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
    void check_number(std::size_t results, const Site& at) const
    {
        if (results != tensors_.size())
            fail<ShapeError>("freeze",
                             "the result has " + std::to_string(results) +
                                 " tensors and keys, into() was given " + std::to_string(tensors_.size()) +
                                 " buffers",
                             at);
    }
    void check_form(std::size_t k, DType dtype, const Shape& shape, const Site& at) const
    {
        const Block& b = *tensors_[k]->value;
        if (b.dtype != dtype)
            fail<DTypeError>("freeze",
                             name(k) + " is of " + std::string(name_of(b.dtype)) + ", the result of " +
                                 std::string(name_of(dtype)),
                             at);
        if (!(b.shape == shape))
            fail<ShapeError>(
                "freeze", name(k) + " has shape " + to_string(b.shape) + ", the result " + to_string(shape),
                at);
    }
    std::vector<AnyTensor*> tensors_;
};

/// What into() returns: a call of it fills the buffers.
template <class Function> class Into : public Closure<Into<Function>> {
public:
    Into(Function f, Buffers to, const Site& made)
        : Closure<Into>(made), function_(std::move(f)), to_(std::move(to))
    {}
    template <class... X> static constexpr bool accepts() { return Function::template accepts<X...>(); }
    template <class... X> void at_line(const Site& at, const X&... x) const
    {
        function_.call_into(to_, at, argument(x)...);
    }

private:
    Function function_;
    Buffers to_;
};

}  // namespace wengert::detail
