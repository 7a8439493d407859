// Operations on blocks that lie elsewhere than on the host: which device, and its table. See apply.hpp.
#pragma once

#include "../../base/located.hpp"
#include "../../base/separate.hpp"
#include "../apply.hpp"

namespace wengert::detail {

/// The user's line, where a recorded sweep stands in for him.
inline const Site& line_of(const Site& at)
{
    const Site& user = Tape::current().site_override;
    return user.line ? user : at;
}

[[noreturn]] inline void refuse_devices(std::string_view name, const Block& a, const Block& b, const Site& at)
{
    const auto said = [](const Block& x) {
        return to_string(x.shape) + " " + std::string(name_of(x.dtype)) + " on " +
               std::string(device_name(x.device()));
    };
    fail<DeviceError>(name, "operands are on different devices: " + said(a) + " and " + said(b), line_of(at));
}

/// The device of the first operand that is no number on the host, and no key among the operands of a loop.
inline std::uint8_t device_of(const Primitive& p, const Block* const* in, std::size_t n, const Site& at)
{
    const auto number = [&p](const Block& b) {
        return !b.access.device &&
               (b.shape.size() == 0 || (p.loop && b.dtype == DType::int64 && b.shape == Shape{2}));
    };
    const Block* first = nullptr;
    for (std::size_t i = 0; i < n; ++i) {
        if (number(*in[i])) continue;
        if (first && first->access.device != in[i]->access.device) refuse_devices(p.name, *first, *in[i], at);
        if (!first) first = in[i];
    }
    return first ? first->device() : std::uint8_t{0};
}

/// An operand of an elementwise primitive as the device takes it.
inline Ref<Block> brought(const Block& x, std::uint8_t device)
{
    const Ref<Block> b(const_cast<Block*>(&x));
    const bool number = !x.access.device && x.shape.size() == 0;
    return number && device && device_table(device).takes_numbers ? b : placed(b, device);
}

inline Ref<Block> elementwise_elsewhere(const Primitive& p, const Block* const* in, const Site& at)
{
    const std::size_t n = p.arity;
    const std::uint8_t device = device_of(p, in, n, at);
    const Computing now(p.name, line_of(at));
    Ref<Block> moved[kernels::max_operands];
    const Block* there[kernels::max_operands];
    Shape shape = in[0]->shape;
    for (std::size_t i = 0; i < n; ++i) {
        moved[i] = brought(*in[i], device);
        there[i] = moved[i].get();
        if (i > 0) shape = broadcast_shapes(p.name, shape, in[i]->shape, at);
    }
    check_shape(p.name, shape, at);
    auto out = make_elsewhere(current_thread(), device, p.dtype, shape, element_count(shape));
    const DeviceTable& table = device_table(device);
    table.elementwise(p, there, *out);
    table.counts->kernels.fetch_add(1, std::memory_order_relaxed);
    return out;
}

WENGERT_INLINE Ref<Block> compute_elsewhere(const Primitive& p, const Block* const* in, const Site& at)
{
    return located(p.name, line_of(at), [&] { return elementwise_elsewhere(p, in, at); });
}

WENGERT_INLINE Ref<Block> beside(std::string_view name, Ref<Block> cotangent, const Block& y, const Site& at)
{
    if (cotangent->access.device == y.access.device) return cotangent;
    if (cotangent->access.device || cotangent->shape.size() > 0) refuse_devices(name, *cotangent, y, at);
    return placed(std::move(cotangent), y.device());
}

WENGERT_INLINE void update_elsewhere(const Primitive& p, Block& x, const Block& y)
{
    const Block* in[] = {&x, &y};
    const Computing now(p.name, line_of({}));
    const std::uint8_t device = device_of(p, in, 2, {});
    if (device != x.device())
        refuse_devices(p.name, x, y, {});  // a number on the host that is written stays there
    const Ref<Block> near = brought(y, device);
    in[1] = near.get();
    const DeviceTable& table = device_table(device);
    table.elementwise(p, in, x);
    table.counts->kernels.fetch_add(1, std::memory_order_relaxed);
}

WENGERT_INLINE Ref<Block> structural_elsewhere(const Primitive& p, const void* op, const Ref<Block>* in,
                                               std::size_t n, const Site& at)
{
    if (p.calls) return p.compute(op, in, n, at);
    return located(p.name, line_of(at), [&] {
        std::vector<const Block*> blocks(n);
        for (std::size_t i = 0; i < n; ++i) blocks[i] = in[i].get();
        const std::uint8_t device = device_of(p, blocks.data(), n, at);
        const Computing now(p.name, line_of(at));
        std::vector<Ref<Block>> moved(n);
        for (std::size_t i = 0; i < n; ++i) moved[i] = placed(in[i], device);
        return device_table(device).structural(p, op, moved.data(), n, at);
    });
}

}  // namespace wengert::detail
