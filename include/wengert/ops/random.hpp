// Random tensors: pure functions of a key. The same key gives the same elements; split(key) gives fresh ones.
//
// A draw is an operation on its key, which a graph holds as an int64 tensor of shape (2): the bits of secret and stream.
// A recorder is told of it when the key is an input of its trace or a child of one; other draws are constants there.
#pragma once

#include "../base/key.hpp"
#include "../base/located.hpp"
#include "../kernels/cpu/random.hpp"
#include "describe/structural.hpp"

namespace wengert {

namespace detail {

/// The key in a tensor. Throws ShapeError for one that holds none.
inline Key key_of(std::string_view primitive, const Ref<Block>& b, const Site& at)
{
    if (b->dtype != DType::int64 || !(b->shape == Shape{2}))
        fail<ShapeError>(primitive, "a key has shape (2), not " + to_string(b->shape), at);
    const Ref<Block> flat = readable(b);
    Key key(0);
    std::memcpy(&key.secret, flat->data, sizeof key.secret);
    std::memcpy(&key.stream, flat->data + sizeof key.secret, sizeof key.stream);
    return key;
}
inline Ref<Block> tensor_of(const Key& key)
{
    auto b = make_block(DType::int64, Shape{2});
    std::memcpy(b->data, &key.secret, sizeof key.secret);
    std::memcpy(b->data + sizeof key.secret, &key.stream, sizeof key.stream);
    return b;
}

/// Elements that the thread's device draws by itself; null where it does not.
inline Ref<Block> drawn_there(std::string_view name, const RandomDraw& what, const Key& key, DType dtype,
                              const Shape& shape, const Site& at)
{
    Thread& t = current_thread();
    const DeviceTable& table = device_table(t.device);
    if (!table.draw) return {};
    const Computing now(name, at);
    auto out = make_elsewhere(t, t.device, dtype, shape, element_count(shape));
    const std::uint64_t words[] = {key.secret, key.stream};
    if (!table.draw(what, words, *out)) return {};
    table.counts->programs.fetch_add(1, std::memory_order_relaxed);
    return out;
}

/// Tells a recorder of a draw: an operation on the tensor that stands for a key.
template <class Op, class T>
void note_drawn(Recorder& r, const Op& op, const Ref<Block>& key, Block& out, const Site& at)
{
    const Block* const in[] = {key.get()};
    const Site& outer = Tape::current().site_override;
    r.operation(structural_primitive<Op, xsimd::default_arch, T, std::int64_t>, &op, in, 1, out,
                outer.line ? outer : at);
}

inline void check_probability(std::string_view name, double p, bool below_one, const Site& at)
{
    if (!(p >= 0 && p <= 1) || (below_one && p == 1))
        fail<Error>(name, "a probability of " + digits_of(p, 9) + " is none that this can have", at);
}

struct NormalFill {
    static constexpr std::string_view name = "normal";
    Shape shape;
    RandomDraw draw() const { return {.form = RandomDraw::Form::normal}; }
    void check(const Site&) const {}
    template <class T> void fill(const Key& key, T* x, std::size_t n) const
    {
        kernels::fill_normal(key, x, n);
    }
};

template <class T> struct UniformFill {
    static constexpr std::string_view name = "uniform";
    Shape shape;
    T low, high;
    RandomDraw draw() const
    {
        return {.form = RandomDraw::Form::uniform, .low = low, .high = high, .width = high - low};
    }
    void check(const Site& at) const
    {
        if (!(low <= high) || !std::isfinite(high - low))
            fail<Error>(name,
                        "no numbers in [" + digits_of(static_cast<double>(low), 9) + ", " +
                            digits_of(static_cast<double>(high), 9) + ")",
                        at);
    }
    void fill(const Key& key, T* x, std::size_t n) const
    {
        kernels::fill_uniform(key, x, n);
        if (low == T(0) && high == T(1)) return;
        for (std::size_t i = 0; i < n; ++i)
            x[i] = std::fma(x[i], high - low, low);  // the same bits everywhere
    }
};

struct BernoulliFill {
    static constexpr std::string_view name = "bernoulli";
    Shape shape;
    double p;
    RandomDraw draw() const { return {.form = RandomDraw::Form::choice, .low = 1, .high = 0, .p = p}; }
    void check(const Site& at) const { check_probability(name, p, false, at); }
    void fill(const Key& key, bool* x, std::size_t n) const { kernels::fill_bernoulli(key, p, x, n); }
};

template <class T> struct RandintFill {
    static constexpr std::string_view name = "randint";
    Shape shape;
    T low, high;
    RandomDraw draw() const
    {
        const auto first = static_cast<std::uint64_t>(static_cast<std::int64_t>(low));
        return {.form = RandomDraw::Form::integers,
                .first = first,
                .range = static_cast<std::uint64_t>(static_cast<std::int64_t>(high)) - first};
    }
    void check(const Site& at) const
    {
        if (low >= high)
            fail<Error>(name, "no integers in [" + std::to_string(low) + ", " + std::to_string(high) + ")",
                        at);
    }
    void fill(const Key& key, T* x, std::size_t n) const { kernels::fill_integers<T>(key, low, high, x, n); }
};

struct PermutationFill {
    static constexpr std::string_view name = "permutation";
    Shape shape;
    void check(const Site&) const {}
    void fill(const Key& key, std::int64_t* x, std::size_t n) const { kernels::fill_permutation(key, x, n); }
};

struct DropoutFill {
    static constexpr std::string_view name = "dropout_mask";
    Shape shape;
    double p;
    RandomDraw draw() const
    {
        return {.form = RandomDraw::Form::choice, .low = 0, .high = 1.0 / (1.0 - p), .p = p};
    }
    void check(const Site& at) const { check_probability(name, p, true, at); }
    template <class T> void fill(const Key& key, T* x, std::size_t n) const
    {
        kernels::fill_dropout(key, p, x, n);
    }
};

}  // namespace detail

/// A child of a key: what split (domain 1) and fold_in (domain 2) make.
struct KeyChild {
    static constexpr std::string_view name = "key_child";
    std::uint64_t i;
    std::uint32_t domain;
    RandomDraw draw() const { return {.form = RandomDraw::Form::key, .first = i, .range = domain}; }
    template <class> Ref<Block> value(const Ref<Block>& key, const Site& at) const
    {
        return detail::tensor_of(detail::key_of(name, key, at).child(i, domain));
    }
};

/// The elements that a Fill (its parameters are shape, bounds, probabilities) makes of a key. No derivative.
template <class Fill> struct Draw {
    static constexpr std::string_view name = Fill::name;
    static constexpr bool flat = true, random = true, infallible = true;
    Fill fill;
    RandomDraw draw() const
        requires requires(const Fill& f) { f.draw(); }
    {
        return fill.draw();
    }
    template <class T> Ref<Block> value(const Ref<Block>& key, const Site& at) const
    {
        return drawn<T>(detail::key_of(name, key, at), at);
    }
    /// Draws on the device of the thread's new tensors.
    template <class T> Ref<Block> drawn(const Key& key, const Site& at) const
    {
        fill.check(at);
        check_shape(name, fill.shape, at);
        if (current_thread().device) [[unlikely]]
            if (auto out = detail::drawn_there(name, form(), key, dtype_of<T>(), fill.shape, at)) return out;
        auto out = make_block(dtype_of<T>(), fill.shape);
        fill.fill(key, out->template as<T>(), out->count);
        return placed(std::move(out));
    }

private:
    /// The form of the draw, which is all that a device is told.
    RandomDraw form() const
    {
        if constexpr (requires { fill.draw(); })
            return fill.draw();
        else
            return {.form = RandomDraw::Form::order};
    }
};

namespace detail {

template <class T, class Device, class Fill> Tensor<T, Device> draw(Fill fill, const Key& key, const Site& at)
{
    const Draw<Fill> op{std::move(fill)};
    [[maybe_unused]] const NewOn<Device> there;
    Ref<Block> out = located(Fill::name, at, [&] { return op.template drawn<T>(key, at); });
    if (Recorder* r = recorder(); r && key.origin != 0) [[unlikely]]
        if (const Ref<Block> k = r->key(key.origin)) note_drawn<Draw<Fill>, T>(*r, op, k, *out, at);
    if (key.origin != 0 && !key_hook) [[unlikely]]
        origin_elsewhere.store(key.origin, std::memory_order_relaxed);
    return Tensor<T, Device>(AnyTensor{std::move(out), {}});
}

/// The tensor of parent.child(i, domain), as an operation on that of its parent: for a recorder's KeyHook.
Ref<Block> draw_key(Recorder& r, const Ref<Block>& parent, std::uint64_t i, std::uint32_t domain,
                    const Key& child);

}  // namespace detail

/// The normal distribution of mean 0 and variance 1.
template <Differentiable T, class Device = cpu>
Tensor<T, Device> normal(const Key& key, const Shape& shape, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::draw<T, Device>(detail::NormalFill{shape}, key, at);
}

/// Uniform in [low, high); high itself only where low + u (high − low) rounds to it. Throws Error unless low ≤ high and
/// high − low is finite.
template <Differentiable T, class Device = cpu>
Tensor<T, Device> uniform(const Key& key, const Shape& shape, std::type_identity_t<T> low = T(0),
                          std::type_identity_t<T> high = T(1), Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::draw<T, Device>(detail::UniformFill<T>{shape, low, high}, key, at);
}

/// True with probability p. Throws Error for a p outside of [0, 1].
template <class Device = cpu>
Tensor<bool, Device> bernoulli(const Key& key, const Shape& shape, double p = 0.5,
                               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::draw<bool, Device>(detail::BernoulliFill{shape, p}, key, at);
}

/// Integers of [low, high), all as likely. Throws Error for an empty interval, DTypeError for a fraction.
template <class T = std::int64_t, class Device = cpu>
    requires(std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::int32_t>)
Tensor<T, Device> randint(const Key& key, const Shape& shape,
                          std::type_identity_t<detail::GivenNumber<T>> low,
                          std::type_identity_t<detail::GivenNumber<T>> high,
                          Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::draw<T, Device>(detail::RandintFill<T>{shape, low.value, high.value}, key, at);
}

/// 0 … n − 1 in random order.
template <class Device = cpu>
Tensor<std::int64_t, Device> permutation(const Key& key, std::int64_t n,
                                         Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::draw<std::int64_t, Device>(detail::PermutationFill{Shape{n}}, key, at);
}

/// What dropout multiplies by: 0 with the drop probability p, else 1/(1 − p). Throws Error for a p outside of [0, 1).
template <Differentiable T, class Device = cpu>
Tensor<T, Device> dropout_mask(const Key& key, const Shape& shape, double p,
                               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::draw<T, Device>(detail::DropoutFill{shape, p}, key, at);
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/random.ipp"
#endif
