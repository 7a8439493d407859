// Elements from place to place, in any layout: copies and fills; and what is asked of all elements.
#pragma once

#include "../../ops/index/run_index.hpp"
#include "../../tape/tape.hpp"
#include "../driver/host_side.hpp"
#include "kernels.hpp"
#include "places.hpp"

namespace wengert::detail::gpu {

/// A copy of bytes in line, 16 at a time. A thread reads four times before it writes.
inline constexpr std::string_view copy_line_text = R"wg(
struct alignas(16) wg_16_bytes {
    uint64_t word[2];
};
extern "C" __global__ void copy_line(const wg_places g)
{
    const wg_int packs = g.count / 16, threads = wg_threads();
    const wg_16_bytes* const from = (const wg_16_bytes*)g.data[1];
    wg_16_bytes* const to = (wg_16_bytes*)g.data[0];
    for (wg_int i = wg_thread(); i < packs; i += 4 * threads) {
        wg_16_bytes x[4];
#pragma unroll
        for (int u = 0; u < 4; ++u)
            if (i + u * threads < packs) x[u] = from[i + u * threads];
#pragma unroll
        for (int u = 0; u < 4; ++u)
            if (i + u * threads < packs) to[i + u * threads] = x[u];
    }
    for (wg_int i = 16 * packs + wg_thread(); i < g.count; i += threads)
        ((unsigned char*)to)[i] = ((const unsigned char*)from)[i];
}
)wg";

/// Kernels over words of 1, 4 and 8 bytes, and over numbers.
inline std::string moves_text()
{
    std::string s = std::string(places_text) + std::string(copy_line_text);
    const auto words = [&](const char* size, const char* type) {
        const std::string head = std::string("extern \"C\" __global__ void ");
        const std::string loop =
            "(const wg_places g)\n{\n    for (wg_int i = wg_thread(); i < g.count; i += wg_threads()) {\n"
            "        wg_int at[2];\n        wg_place<2>(g, i, at);\n        ((" +
            std::string(type) + "*)g.data[0])[at[0]] = ";
        s += head + "copy_" + size + loop + "((const " + type + "*)g.data[1])[at[1]];\n    }\n}\n";
        s += head + "fill_" + size + loop + "(" + type + ")g.bits;\n    }\n}\n";
    };
    words("1", "unsigned char");
    words("4", "uint32_t");
    words("8", "uint64_t");
    // the search for a wrong element ends when one has been found
    const auto asks = [&](const char* what, const char* name, const std::string& type, const char* wrong) {
        s += std::string("extern \"C\" __global__ void ") + what + "_" + name +
             "(const wg_places g)\n{\n    for (wg_int i = wg_thread(); i < g.count; i += wg_threads()) {\n"
             "        if (*(volatile const int32_t*)g.data[0]) return;\n"
             "        wg_int at[2];\n        wg_place<2>(g, i, at);\n        const " +
             type + " x = ((const " + type + "*)g.data[1])[at[1]];\n        if (" + wrong +
             ") *(int32_t*)g.data[0] = 1;\n    }\n}\n";
    };
    const auto zero_rule = [&](const char* name, const std::string& type) {
        s += std::string("extern \"C\" __global__ void zero_rule_") + name +
             "(const wg_places g)\n{\n    const bool keeps = *(const int32_t*)g.data[3];\n"
             "    if (keeps && g.data[0] == g.data[1]) return;\n"
             "    for (wg_int i = wg_thread(); i < g.count; i += wg_threads()) {\n"
             "        wg_int at[3];\n        wg_place<3>(g, i, at);\n        const " +
             type + " r = ((const " + type + "*)g.data[2])[at[2]];\n        ((" + type +
             "*)g.data[0])[at[0]] = keeps || r - r == 0 ? ((const " + type +
             "*)g.data[1])[at[1]] : 0;\n    }\n}\n";
    };
    const auto numbers = [&](const char* name, const char* type) {
        asks("zero", name, type, "x != 0");
        asks("finite", name, type, "x - x != 0");
        zero_rule(name, type);
    };
    numbers("f32", "float");
    numbers("f64", "double");
    asks("positions", "i64", "int64_t", "(uint64_t)x + g.below >= (uint64_t)g.bits");
    return s;
}

/// Copies operand 1 to operand 0. An element has `size` bytes.
inline void run_copy(Gpu& gpu, Places places, std::size_t size)
{
    const auto kernel = [&](const char* name, long long threads) {
        launch(gpu, Kernels::of(gpu).find(gpu, "moves", name, moves_text), threads, places);
    };
    if (!is_in_line(places, 0, 16) || !is_in_line(places, 1, 16))
        return kernel(("copy_" + std::to_string(size)).c_str(), places.count);
    places.count *= static_cast<long long>(size);
    constexpr long long bytes_of_a_thread = 64;
    kernel("copy_line", (places.count + bytes_of_a_thread - 1) / bytes_of_a_thread);
}
inline bool run_move(Gpu& gpu, const char* what, const Block& to, const Block* from, long long bits)
{
    if (!Kernels::of(gpu).has(gpu, "moves", moves_text)) return false;
    const Block* blocks[] = {&to, from ? from : &to};
    std::optional<Places> places = places_of(to.shape, blocks, 2);
    if (!places) return false;
    if (from) return run_copy(gpu, *places, size_of(to.dtype)), true;
    places->bits = bits;
    const std::string name = std::string(what) + "_" + std::to_string(size_of(to.dtype));
    launch(gpu, Kernels::of(gpu).find(gpu, "moves", name.c_str(), moves_text), places->count, *places);
    return true;
}

/// An error where elements are no such positions, thrown where somebody next waits for the device. False where there is no kernel.
inline bool ask_positions(Gpu& gpu, const GivenUse& use, std::string_view name, const Ref<Block>& b,
                          const Site& at)
{
    if (!Kernels::of(gpu).has(gpu, "moves", moves_text)) return false;
    const Block* blocks[] = {b.get(), b.get()};
    std::optional<Places> places = places_of(b->shape, blocks, 2);
    if (!places) return false;
    const auto refuse = [use, of = *use.of, name, b, at] {
        GivenUse then = use;
        then.of = &of;
        check_given(then, name, on_host(b), at);
    };
    {
        DeferredCheck question(gpu.deferred_checks(), refuse);
        places->data[0] = reinterpret_cast<void*>(question.at());
        places->below = static_cast<long long>(use.below());
        places->bits = static_cast<long long>(use.extent() + use.below());
        launch(gpu, Kernels::of(gpu).find(gpu, "moves", "positions_i64", moves_text), places->count, *places);
        question.launched();
    }
    gpu.asked();
    return true;
}

/// The same, or the host looks at them.
inline void check_positions(Gpu& gpu, const GivenUse& use, std::string_view name, const Ref<Block>& b,
                            const Site& at, const Site& later)
{
    if (ask_positions(gpu, use, name, b, later)) return;
    count_host_call(b->device());
    check_given(use, name, on_host(b), at);
}

/// A word on the device: 1 if `what` finds an element of b wrong, else 0. Null where there is no kernel.
inline Ref<Block> found_wrong(Gpu& gpu, const char* what, const Block& b)
{
    if (!Kernels::of(gpu).has(gpu, "moves", moves_text)) return {};
    const Block* blocks[] = {&b, &b};
    std::optional<Places> places = places_of(b.shape, blocks, 2);
    if (!places) return {};
    const Restore<PlannedResult> unplanned(current_thread().planned, {});
    Ref<Block> flag =
        make_elsewhere(current_thread(), static_cast<std::uint8_t>(b.device()), DType::int32, Shape(), 1);
    check(Driver::get().set_words(reinterpret_cast<Address>(flag->data), 0, 1, gpu.stream()),
          "cuMemsetD32Async");
    places->data[0] = flag->data;
    const std::string name = std::string(what) + "_" + row_of(b.dtype).lane;
    launch(gpu, Kernels::of(gpu).find(gpu, "moves", name.c_str(), moves_text), places->count, *places);
    return flag;
}
/// Is there such an element? Waits for the answer. Nothing where there is no kernel.
inline std::optional<bool> any_wrong(Gpu& gpu, const char* what, const Block& b)
{
    const Ref<Block> flag = found_wrong(gpu, what, b);
    if (!flag) return {};
    std::int32_t wrong = 0;
    gpu.to_host(&wrong, flag->data, sizeof wrong);
    return wrong != 0;
}

/// Operand 0, with 0 where the last but one is not finite when all of the last one is 0 (Primitive::zero_rule): a look at that and a
/// kernel, and nobody waits. Null where there is no kernel.
inline Ref<Block> with_zero_rule(Gpu& gpu, const Ref<Block>* in, std::size_t n)
{
    const Block &v = *in[0], &r = *in[n - 2], &g = *in[n - 1];
    Ref<Block> out = make_block_beside(v, v.dtype, v.shape, v.count);
    const Ref<Block> loud = found_wrong(gpu, "zero", g);
    const Block* blocks[] = {out.get(), &v, &r};
    std::optional<Places> places = places_of(v.shape, blocks, 3);
    if (!loud || !places) return {};
    places->data[3] = loud->data;
    const std::string name = std::string("zero_rule_") + row_of(v.dtype).lane;
    launch(gpu, Kernels::of(gpu).find(gpu, "moves", name.c_str(), moves_text), places->count, *places);
    return out;
}

}  // namespace wengert::detail::gpu
