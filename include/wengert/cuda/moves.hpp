// Elements from place to place, in any layout: copies and fills; and what is asked of all elements.
#pragma once

#include "elementwise.hpp"

namespace wengert::detail::gpu {

/// Kernels over words of 1, 4 and 8 bytes, and over numbers.
inline std::string moves_text()
{
    std::string s(places_text);
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
    const auto numbers = [&](const char* name, const char* type) {
        const std::string t = type, x = "const " + t + " x = ((const " + t + "*)g.data[1])[at[1]];";
        const auto asks = [&](const char* what, const char* wrong) {
            s +=
                std::string("extern \"C\" __global__ void ") + what + "_" + name +
                "(const wg_places g)\n{\n    for (wg_int i = wg_thread(); i < g.count; i += wg_threads()) {\n"
                "        wg_int at[2];\n        wg_place<2>(g, i, at);\n        " +
                x + "\n        if (" + wrong + ") *(int32_t*)g.data[0] = 1;\n    }\n}\n";
        };
        asks("zero", "x != 0");
        asks("finite", "x - x != 0");
    };
    numbers("f32", "float");
    numbers("f64", "double");
    return s;
}

inline bool run_move(Gpu& gpu, const char* what, const Block& to, const Block* from, long long bits)
{
    if (!Kernels::available()) return false;
    const Block* blocks[] = {&to, from ? from : &to};
    std::optional<Places> places = places_of(to.shape, blocks, 2);
    if (!places) return false;
    places->bits = bits;
    const std::string name = std::string(what) + "_" + std::to_string(size_of(to.dtype));
    launch(gpu, Kernels::of(gpu).find(gpu, "moves", name.c_str(), moves_text), places->count, *places);
    return true;
}

/// Is an element of b so that the kernel `what` finds it wrong? Waits for the answer. Nothing where there is no kernel.
inline std::optional<bool> any_wrong(Gpu& gpu, const char* what, const Block& b)
{
    if (!Kernels::available()) return {};
    const Block* blocks[] = {&b, &b};
    std::optional<Places> places = places_of(b.shape, blocks, 2);
    if (!places) return {};
    std::int32_t wrong = 0;
    const auto flag =
        make_elsewhere(current_thread(), static_cast<std::uint8_t>(b.device()), DType::int32, Shape(), 1);
    gpu.from_host(flag->data, &wrong, sizeof wrong);
    places->data[0] = flag->data;
    const std::string name = std::string(what) + "_" + row_of(b.dtype).lane;
    launch(gpu, Kernels::of(gpu).find(gpu, "moves", name.c_str(), moves_text), places->count, *places);
    gpu.to_host(&wrong, flag->data, sizeof wrong);
    return wrong != 0;
}

}  // namespace wengert::detail::gpu
