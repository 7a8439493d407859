// The memory plan as a picture: time to the right, the arena upwards, a rectangle for each buffer while it is in use.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "escape.hpp"

namespace wengert {

/// One buffer of an arena, in use from step `first` to step `last`, both included.
struct MemoryBlock {
    std::uint32_t value = 0;  ///< id of the value, of the first one where several take turns
    std::size_t offset = 0, bytes = 0;
    std::uint32_t first = 0, last = 0;
    std::string label;
};

namespace detail {

/// "1.5 MiB"
inline std::string bytes_text(std::size_t bytes)
{
    static constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    auto n = static_cast<double>(bytes);
    std::size_t u = 0;
    for (; n >= 1024 && u + 1 < std::size(units); ++u) n /= 1024;
    char text[48];
    std::snprintf(text, sizeof text, u == 0 || n >= 100 ? "%.0f %s" : "%.1f %s", n, units[u]);
    return text;
}

/// Up to three places behind the point, whatever the locale.
inline std::string decimal(double x)
{
    if (!(std::abs(x) < 1e15)) return "0";
    const auto thousandths = static_cast<long long>(std::llround(std::abs(x) * 1000));
    std::string out = (x < 0 && thousandths ? "-" : "") + std::to_string(thousandths / 1000);
    if (const long long rest = thousandths % 1000) {
        const std::string digits = std::to_string(1000 + rest).substr(1);
        out += "." + digits.substr(0, digits.find_last_not_of('0') + 1);
    }
    return out;
}

/// A picture's first line.
inline std::string svg_head(double width, double height, const char* letters)
{
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + decimal(width) + "\" height=\"" +
           decimal(height) + "\" font-family=\"sans-serif\" font-size=\"" + letters + "\">\n";
}
/// `look` is how it is filled and drawn.
inline std::string svg_box(double x, double y, double width, double height, const std::string& look)
{
    return "<rect x=\"" + decimal(x) + "\" y=\"" + decimal(y) + "\" width=\"" +
           decimal(std::max(width, 0.5)) + "\" height=\"" + decimal(std::max(height, 0.5)) + "\" " + look +
           "/>\n";
}
inline std::string svg_text(double x, double y, const std::string& text, const char* more = "")
{
    return "<text x=\"" + decimal(x) + "\" y=\"" + decimal(y) + "\" " + more + ">" + xml_text(text) +
           "</text>\n";
}
/// Colours that neighbours do not share.
inline std::string colour(std::size_t k) { return "hsl(" + std::to_string(k * 137 % 360) + ",55%,72%)"; }

}  // namespace detail

/// An SVG picture of the plan. `arena_bytes` is the arena's size, where 0 the end of the last buffer.
inline std::string memory_plan_svg(const std::vector<MemoryBlock>& blocks, std::size_t arena_bytes = 0)
{
    constexpr double width = 900, height = 320, left = 70, top = 10, bottom = 30;
    std::uint32_t steps = 1;
    for (const MemoryBlock& b : blocks) {
        steps = std::max(steps, b.last + 1);
        arena_bytes = std::max(arena_bytes, b.offset + b.bytes);
    }
    const double per_step = width / steps,
                 per_byte = height / static_cast<double>(std::max<std::size_t>(arena_bytes, 1));
    std::string out = detail::svg_head(left + width + 10, top + height + bottom, "11") +
                      detail::svg_box(left, top, width, height, "fill=\"#f8f8f8\" stroke=\"#888\"");
    for (std::size_t k = 0; k < blocks.size(); ++k) {
        const MemoryBlock& b = blocks[k];
        const double w = per_step * (b.last - std::min(b.first, b.last) + 1.0),
                     h = per_byte * static_cast<double>(b.bytes);
        const double x = left + per_step * b.first,
                     y = top + height - per_byte * static_cast<double>(b.offset) - h;
        const std::string name = "%" + std::to_string(b.value) + (b.label.empty() ? "" : " " + b.label);
        out +=
            "<g><title>" +
            detail::xml_text(name + ": " + detail::bytes_text(b.bytes) + " at " + std::to_string(b.offset) +
                             ", steps " + std::to_string(b.first) + " to " + std::to_string(b.last)) +
            "</title>" +
            detail::svg_box(x, y, w, h,
                            "fill=\"" + detail::colour(k) + "\" stroke=\"#555\" stroke-width=\"0.5\"");
        if (h >= 12 && w >= 7.0 * static_cast<double>(std::min<std::size_t>(name.size(), 40)))
            out += detail::svg_text(x + 3, y + h / 2 + 4, detail::shortened(name, 40));
        out += "</g>\n";
    }
    out += detail::svg_text(left - 5, top + 10, detail::bytes_text(arena_bytes), "text-anchor=\"end\"");
    out += detail::svg_text(left - 5, top + height, "0", "text-anchor=\"end\"");
    out += detail::svg_text(left, top + height + 15, "step 0");
    out += detail::svg_text(left + width, top + height + 15, "step " + std::to_string(steps - 1),
                            "text-anchor=\"end\"");
    return out + "</svg>\n";
}

}  // namespace wengert
