// Elementwise primitives as kernels of a device.
#pragma once

#include <array>
#include <unordered_map>

#include "elementwise_text.hpp"
#include "kernels.hpp"

namespace wengert::detail::gpu {

/// The kernels of a primitive on operands of some types, null where its rule cannot be written, and what a thread of them makes.
struct ElementwiseKernels {
    Function *flat = nullptr, *placed = nullptr;
    std::int64_t pack = 1, of_line = 1, elsewhere = 1;

    static const ElementwiseKernels& of(Gpu& gpu, const Primitive& p, const DType* in)
    {
        static std::mutex mutex;
        static auto* const all =
            new std::array<std::unordered_map<std::string, ElementwiseKernels>, Gpu::most>;
        char key[32 + 3 * sizeof(void*)];
        int length = std::snprintf(key, sizeof key, "elementwise %p", static_cast<const void*>(&p));
        for (std::size_t k = 0; k < p.arity; ++k)
            key[length++] = static_cast<char>('0' + static_cast<int>(in[k]));
        const std::string name(key, static_cast<std::size_t>(length));
        const std::lock_guard lock(mutex);
        auto& here = (*all)[static_cast<std::size_t>(gpu.ordinal())];
        if (const auto found = here.find(name); found != here.end()) return found->second;
        return here.emplace(name, ElementwiseKernels(gpu, name, p, in)).first->second;
    }

private:
    ElementwiseKernels(Gpu& gpu, const std::string& key, const Primitive& p, const DType* in)
    {
        const ElementwiseText text(p, in);
        if (!text) return;
        const auto find = [&](const char* kernel) {
            return Kernels::of(gpu).find(gpu, key, kernel, [&] { return text.text(); });
        };
        flat = find("flat"), placed = find("placed");
        pack = static_cast<std::int64_t>(ElementwiseText::pack_of(p, in));
        of_line = pack * static_cast<std::int64_t>(text.packs());
        elsewhere = static_cast<std::int64_t>(text.single());
    }
};

/// One line of elements, which every operand has in order or is a single element of, and packs of them are aligned.
inline bool is_flat(const Places& p, const Block* const* blocks, std::size_t n, std::int64_t pack)
{
    for (std::size_t k = 0; k < n; ++k) {
        const bool one = p.here >> k & 1 || p.steps[k][0] == 0;
        const auto bytes = static_cast<std::size_t>(pack) * size_of(blocks[k]->dtype);
        if (one ? k == 0 : !is_in_line(p, k, bytes)) return false;
    }
    return p.rank == 1;
}

/// False where there is no kernel: the rule cannot be written, or the layout has too many axes.
inline bool run_elementwise(Gpu& gpu, const Primitive& p, const Block* const* in, Block& out)
{
    if (!Kernels::any() || !p.describe) return false;
    const std::size_t n = p.arity + 1U;
    const Block* blocks[kernels::max_operands] = {&out};
    DType types[kernels::max_operands] = {};
    for (std::size_t k = 0; k < p.arity; ++k) blocks[k + 1] = in[k], types[k] = in[k]->dtype;
    const std::optional<Places> places = places_of(out.shape, blocks, n);
    if (!places) return false;
    if (places->count == 0) return true;
    const ElementwiseKernels& kernels = ElementwiseKernels::of(gpu, p, types);
    if (!kernels.flat) return false;
    const bool flat = is_flat(*places, blocks, n, kernels.pack);
    const std::int64_t each = flat ? kernels.of_line : kernels.elsewhere;
    launch(gpu, flat ? kernels.flat : kernels.placed, (places->count + each - 1) / each, *places);
    return true;
}

}  // namespace wengert::detail::gpu
