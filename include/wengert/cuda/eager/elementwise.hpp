// Elementwise primitives as kernels: the text of their rule's program (graph/text/term_code.hpp), so they have the host's bits. And
// copies, fills and tests of elements in any layout.
#pragma once

#include <optional>

#include "../../array/layout.hpp"
#include "../../graph/text/function_text.hpp"
#include "kernels.hpp"

namespace wengert::detail::gpu {

/// What kernels over elements are given; the text has the same struct (`places_text`).
struct Places {
    static constexpr std::size_t most = 6, rank_most = 16;
    void* data[most] = {};
    long long count = 0;
    double zero = 0;  ///< what a cotangent is compared with, or a number that is no operand
    long long bits = 0, below = 0;
    long long rank = 0;
    long long extents[rank_most] = {};
    long long steps[most][rank_most] = {};  ///< in elements
    long long here = 0;                     ///< bit k: operand k is a number on the host, and is given as
    long long numbers[most] = {};           ///< its bits
};
inline constexpr std::string_view places_text = R"wg(
struct wg_places {
    void* data[6];
    wg_int count;
    double zero;
    wg_int bits, below, rank, extents[16], steps[6][16], here, numbers[6];
};
template <class T> inline T wg_number(wg_int bits)
{
    union {
        wg_int bits;
        T number;
    } u;
    u.bits = bits;
    return u.number;
}
template <int n> inline void wg_place(const wg_places& g, wg_int i, wg_int* at)
{
    for (int k = 0; k < n; ++k) at[k] = 0;
    for (int d = (int)g.rank - 1; d >= 0; --d) {
        const wg_int e = g.extents[d], q = d ? i / e : 0, r = i - q * e;
        for (int k = 0; k < n; ++k) at[k] += r * g.steps[k][d];
        i = q;
    }
}
)wg";

/// Is it an operand that a launch is given itself?
inline bool is_number_here(const Block& b) noexcept { return !b.access.device && b.shape.size() == 0; }

/// Operands over a shape, the first one written; axes are merged where all lie alike. Nothing where there are too many axes.
inline std::optional<Places> places_of(const Shape& shape, const Block* const* blocks, std::size_t n)
{
    kernels::Operand operands[kernels::max_operands];
    for (std::size_t k = 0; k < n; ++k) operands[k] = operand(*blocks[k], shape);
    const kernels::Loop loop(shape, operands, n);
    if (loop.rank() > Places::rank_most) return {};
    Places p;
    p.count = static_cast<long long>(element_count(shape));
    p.zero = kernels::zero_cotangent;
    p.rank = static_cast<long long>(loop.rank());
    for (std::size_t d = 0; d < loop.rank(); ++d) p.extents[d] = loop.extent(d);
    for (std::size_t k = 0; k < n; ++k) {
        p.data[k] = operands[k].data;
        if (is_number_here(*blocks[k])) {
            p.here |= 1LL << k, p.data[k] = nullptr;
            std::memcpy(&p.numbers[k], blocks[k]->data, size_of(blocks[k]->dtype));
        }
        for (std::size_t d = 0; d < loop.rank(); ++d) p.steps[k][d] = operands[k].strides[d];
    }
    return p;
}

/// The text of a primitive on operands of these types: a kernel over lines, `flat`, one over lines and numbers, `numbers`, and one over
/// any layout, `placed`.
class ElementwiseText {
public:
    ElementwiseText(const Primitive& p, const DType* in)
        : arity_(p.arity), out_(p.dtype), in_(in, in + p.arity)
    {
        GraphNode n;
        n.primitive = &p;
        n.dtype = p.dtype;
        for (std::size_t k = 0; k < arity_; ++k) n.inputs.push_back(static_cast<ValueId>(k));
        const double* known[kernels::max_operands] = {};
        program_ = TypedProgram(n, in, known);
    }
    /// Can the rule be written?
    explicit operator bool() const noexcept { return static_cast<bool>(program_); }

    std::string text() const
    {
        std::set<std::string> helpers;
        std::vector<std::string> names;
        for (std::size_t k = 0; k < arity_; ++k) names.push_back(filled("a$", k));
        std::string body;
        TermCode code(body, "        ", "wg_", helpers, "zero");
        const std::string result = code.write(program_, names);
        return std::string(places_text) + NumberFunctions("wg_", helpers).text() +
               kernel("flat", body, result) + kernel("numbers", body, result) +
               kernel("placed", body, result);
    }

private:
    std::string kernel(const char* name, const std::string& body, const std::string& result) const
    {
        const bool placed = name == std::string_view("placed"), only_lines = name == std::string_view("flat");
        std::string s = filled("extern \"C\" __global__ void $(const wg_places g)\n{\n", name);
        for (std::size_t k = 0; k <= arity_; ++k) {
            const char* const t = c_type(k ? in_[k - 1] : out_, Dialect::numbers);
            s += filled("    $* const p$ = ($*)g.data[$];\n", t, k, t, k);
            if (k > 0 && !only_lines)
                s += filled("    const $ n$ = wg_number<$>(g.numbers[$]);\n", t, k, t, k);
        }
        s += "    const double zero = g.zero;\n    (void)zero;\n"
             "    for (wg_int i = wg_thread(); i < g.count; i += wg_threads()) {\n";
        if (placed)
            s += filled("        wg_int at[$];\n        wg_place<$>(g, i, at);\n", arity_ + 1, arity_ + 1);
        for (std::size_t k = 1; k <= arity_; ++k) {
            const std::string at = filled(placed ? "at[$]" : "i * g.steps[$][0]", k);
            s += filled("        const $ a$ = ", c_type(in_[k - 1], Dialect::numbers), k - 1);
            if (!only_lines) s += filled("g.here >> $ & 1 ? n$ : ", k, k);
            s += filled("p$[$];\n", k, at);
        }
        return s + body + filled("        p0[$] = $;\n    }\n}\n", placed ? "at[0]" : "i", result);
    }

    std::size_t arity_;
    DType out_;
    std::vector<DType> in_;
    TypedProgram program_;
};

/// The text of a primitive on operands of these types, "" where its rule cannot be written.
inline std::string elementwise_text(const Primitive& p, const DType* in)
{
    const ElementwiseText text(p, in);
    return text ? text.text() : std::string();
}

/// One line of elements, which every operand has in order or is a single element of.
inline bool is_flat(const Places& p, std::size_t n)
{
    for (std::size_t k = 0; k < n; ++k)
        if (p.steps[k][0] != 1 && (k == 0 || p.steps[k][0] != 0)) return false;
    return p.rank == 1;
}

/// False where there is no kernel: the rule cannot be written, or the layout has too many axes.
inline bool run_elementwise(Gpu& gpu, const Primitive& p, const Block* const* in, Block& out)
{
    if (!Kernels::any() || !p.describe) return false;
    const Block* blocks[kernels::max_operands] = {&out};
    DType types[kernels::max_operands] = {};
    char key[32 + 3 * sizeof(void*)];
    int length = std::snprintf(key, sizeof key, "elementwise %p", static_cast<const void*>(&p));
    for (std::size_t k = 0; k < p.arity; ++k) {
        blocks[k + 1] = in[k];
        types[k] = in[k]->dtype;
        key[length++] = static_cast<char>('0' + static_cast<int>(types[k]));
    }
    const std::optional<Places> places = places_of(out.shape, blocks, p.arity + 1U);
    if (!places) return false;
    if (places->count == 0) return true;
    const char* const name = !is_flat(*places, p.arity + 1U) ? "placed" : places->here ? "numbers" : "flat";
    Function* const f = Kernels::of(gpu).find(gpu, std::string(key, static_cast<std::size_t>(length)), name,
                                              [&] { return elementwise_text(p, types); });
    if (!f) return false;
    launch(gpu, f, places->count, *places);
    return true;
}

}  // namespace wengert::detail::gpu
