// The text of an elementwise primitive's kernels: that of its rule's program (graph/text/term_code.hpp), so they have the host's bits.
#pragma once

#include "../../graph/text/function_text.hpp"
#include "places.hpp"

namespace wengert::detail::gpu {

/// How much of an elementwise operation a thread does at once: all its elements are read before the first one is written, so that
/// the memory has something to do. Where arithmetic takes longer than memory, one after another.
struct AtOnce {
    static constexpr std::size_t most = 8;
    /// A function that many instructions make counts as so many steps.
    static constexpr std::size_t long_function = 24;

    static std::size_t cost(const std::vector<TermStep>& steps)
    {
        std::size_t cost = steps.size();
        for (const TermStep& s : steps) cost += is_long(s.kind) ? long_function : 0;
        return cost;
    }
    /// So many elements, of this cost each.
    static std::size_t of(std::size_t cost) { return cost < 2 * long_function ? most : 1; }
};

/// The text of a primitive on operands of these types: a kernel over lines and numbers, `flat`, whose elements go 16 bytes at a time,
/// and one over any layout, `placed`. The result may be an operand: each thread reads its elements of it first.
class ElementwiseText {
public:
    ElementwiseText(const Primitive& p, const DType* in)
        : arity_(p.arity), out_(p.dtype), in_(in, in + p.arity), pack_(pack_of(p, in))
    {
        GraphNode n;
        n.primitive = &p;
        n.dtype = p.dtype;
        for (std::size_t k = 0; k < arity_; ++k) n.inputs.push_back(static_cast<ValueId>(k));
        const double* known[kernels::max_operands] = {};
        program_ = TypedProgram(n, in, known);
        if (program_) at_once_ = AtOnce::of(AtOnce::cost(program_.steps()));
    }
    /// Can the rule be written?
    explicit operator bool() const noexcept { return static_cast<bool>(program_); }

    /// So many elements lie beside each other: 16 bytes of the widest type, and 8 elements at most.
    static std::size_t pack_of(const Primitive& p, const DType* in)
    {
        std::size_t widest = size_of(p.dtype);
        for (std::size_t k = 0; k < p.arity; ++k) widest = std::max(widest, size_of(in[k]));
        return std::min<std::size_t>(16 / widest, AtOnce::most);
    }
    /// And a thread makes so many of a line, or of elsewhere.
    std::size_t packs() const { return std::max<std::size_t>(at_once_ / pack_, 1); }
    std::size_t single() const { return std::max<std::size_t>(at_once_ / (arity_ > 1 ? 2 : 1), 1); }

    std::string text() const
    {
        std::set<std::string> helpers;
        std::vector<std::string> names;
        for (std::size_t k = 0; k < arity_; ++k) names.push_back(filled("a$", k));
        std::string body;
        TermCode code(body, "    ", "wg_", helpers, "zero");
        const std::string result = code.call_casts().write(program_, names);
        return std::string(places_text) + NumberFunctions("wg_", helpers).text() + std::string(pack_text) +
               rule(body, result) + flat() + placed();
    }

private:
    static constexpr std::string_view pack_text = R"wg(
template <class T, int n> struct alignas(n * sizeof(T)) wg_pack {
    T at[n];
};
/// Pack i of a line, or n times the one number.
template <class T, int n> inline wg_pack<T, n> wg_packed(const T* p, wg_int i, bool one, T number)
{
    wg_pack<T, n> x;
    if (one)
        for (int e = 0; e < n; ++e) x.at[e] = number;
    else
        x = ((const wg_pack<T, n>*)p)[i];
    return x;
}
)wg";
    std::string type(std::size_t k) const { return c_type(k ? in_[k - 1] : out_, Dialect::numbers); }

    /// With `between` two of them.
    template <class Text> std::string each(const char* between, const Text& text) const
    {
        std::string all;
        for (std::size_t k = 1; k <= arity_; ++k) all += (k > 1 ? between : "") + text(k);
        return all;
    }
    std::string rule(const std::string& body, const std::string& result) const
    {
        return filled("inline $ wg_rule($, double zero)\n{\n    (void)zero;\n", type(0),
                      each(", ", [&](std::size_t k) { return filled("$ a$", type(k), k - 1); })) +
               body + filled("    return $;\n}\n", result);
    }
    std::string pointers() const
    {
        std::string s = filled("    $* const p0 = ($*)g.data[0];\n", type(0), type(0));
        return s + each("", [&](std::size_t k) {
                   return filled("    const $* const p$ = (const $*)g.data[$];\n", type(k), k, type(k), k);
               });
    }
    /// A loop over what a thread does at once, where `inside` holds.
    static std::string some(std::size_t n, const std::string& inside, const std::string& body)
    {
        return filled("#pragma unroll\n        for (int u = 0; u < $; ++u) {\n            if ($) {\n", n,
                      inside) +
               body + "            }\n        }\n";
    }
    std::string flat() const
    {
        const std::string inside = "i + u * wg_threads() < packs";
        std::string s = "extern \"C\" __global__ void flat(const wg_places g)\n{\n" + pointers();
        s += each("", [&](std::size_t k) {
            return filled(
                "    const bool one$ = g.here >> $ & 1 || g.steps[$][0] == 0;\n"
                "    const $ n$ = g.here >> $ & 1 ? wg_number<$>(g.numbers[$]) : one$ ? *p$ : ($)0;\n",
                k, k, k, type(k), k, k, type(k), k, k, k, type(k));
        });
        s += filled("    const wg_int packs = g.count / $;\n"
                    "    for (wg_int i = wg_thread(); i < packs; i += $ * wg_threads()) {\n",
                    pack_, packs());
        s += each("", [&](std::size_t k) {
            return filled("        wg_pack<$, $> x$[$];\n", type(k), pack_, k, packs());
        });
        s += some(packs(), inside, each("", [&](std::size_t k) {
                      return filled(
                          "                x$[u] = wg_packed<$, $>(p$, i + u * wg_threads(), one$, n$);\n", k,
                          type(k), pack_, k, k, k);
                  }));
        s +=
            some(packs(), inside,
                 filled("                wg_pack<$, $> y;\n"
                        "                for (int e = 0; e < $; ++e) y.at[e] = wg_rule($, g.zero);\n"
                        "                ((wg_pack<$, $>*)p0)[i + u * wg_threads()] = y;\n",
                        type(0), pack_, pack_,
                        each(", ", [&](std::size_t k) { return filled("x$[u].at[e]", k); }), type(0), pack_));
        return s + "    }\n" +
               filled("#pragma unroll 1\n    for (wg_int i = packs * $ + wg_thread(); i < g.count; i += "
                      "wg_threads())\n"
                      "        p0[i] = wg_rule($, g.zero);\n}\n",
                      pack_, each(", ", [&](std::size_t k) { return filled("one$ ? n$ : p$[i]", k, k, k); }));
    }
    std::string placed() const
    {
        const std::string inside = "i + u * wg_threads() < g.count";
        std::string s = "extern \"C\" __global__ void placed(const wg_places g)\n{\n" + pointers();
        s += each("", [&](std::size_t k) {
            return filled("    const $ n$ = wg_number<$>(g.numbers[$]);\n", type(k), k, type(k), k);
        });
        s += filled("    for (wg_int i = wg_thread(); i < g.count; i += $ * wg_threads()) {\n"
                    "        wg_int to[$];\n",
                    single(), single());
        s += each("", [&](std::size_t k) { return filled("        $ x$[$];\n", type(k), k, single()); });
        s += some(single(), inside,
                  filled("                wg_int at[$];\n"
                         "                wg_place<$>(g, i + u * wg_threads(), at);\n"
                         "                to[u] = at[0];\n",
                         arity_ + 1, arity_ + 1) +
                      each("", [&](std::size_t k) {
                          return filled("                x$[u] = g.here >> $ & 1 ? n$ : p$[at[$]];\n", k, k,
                                        k, k, k);
                      }));
        s += some(single(), inside,
                  filled("                p0[to[u]] = wg_rule($, g.zero);\n",
                         each(", ", [&](std::size_t k) { return filled("x$[u]", k); })));
        return s + "    }\n}\n";
    }

    std::size_t arity_;
    DType out_;
    std::vector<DType> in_;
    std::size_t pack_, at_once_ = 1;
    TypedProgram program_;
};

/// The text of a primitive on operands of these types, "" where its rule cannot be written.
inline std::string elementwise_text(const Primitive& p, const DType* in)
{
    const ElementwiseText text(p, in);
    return text ? text.text() : std::string();
}

}  // namespace wengert::detail::gpu
