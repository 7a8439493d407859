// Which products of matrices native code does by itself: small ones and those with a size of 1, where kernels::gemm has
// loops of its own whose order the text can keep. What BLAS does is left to BLAS, but for a bᵀ of vectors, of which it is
// asked how it rounds.
#pragma once

#include "../../kernels/cpu/gemm_small.hpp"
#include "../../kernels/cpu/gemv.hpp"
#include "../run/library_steps.hpp"
#include "../text/product_text.hpp"
#include "../text/term_code.hpp"

namespace wengert::detail {

/// A function's text behind its name, and the values whose addresses it is given.
struct ProductCode {
    std::string text;
    std::vector<ValueId> addresses;
};

class ProductWriter {
public:
    /// Elements of a matrix up to which its loops are written out.
    static constexpr std::size_t most_elements = 4096;
    /// Matrices of a batch whose rows are those of one. Their number is an int of the text.
    static constexpr std::int64_t most_joined = std::int64_t{1} << 24;

    ProductWriter(const Graph& g, const tiling::Layouts& layouts) : g_(g), layouts_(layouts) {}

    /// Of node v; without text where a step of the default executor does it, as for batches without `batches`: their extents are
    /// in the text.
    ProductCode write(ValueId v, bool batches) const
    {
        const GraphNode& n = g_.node(v);
        const tiling::Rule r = tiling::rule_of(g_, layouts_, v);
        if (r == tiling::Rule::product) return product(v, product_of(n), batches);
        if (r == tiling::Rule::add_product) return added(v, product_of(n));
        if (r == tiling::Rule::zero_rule && plain(n.inputs[0])) return with_zero_rule(v);
        return {};
    }
    /// What the text of products begins with.
    static std::string head()
    {
        return "enum { program_bytes = " + std::to_string(sizeof(Lane<float>)) +
               ", program_fuses = " + (fuses() ? "1" : "0") + " };\n" + product_text;
    }

private:
    struct Sizes {
        bool ta = false, tb = false;
        std::size_t m = 0, n = 0, k = 0, lda = 1, ldb = 1;
        std::size_t a_row() const { return ta ? 1 : lda; }
        std::size_t a_column() const { return ta ? lda : 1; }
        std::size_t b_row() const { return tb ? 1 : ldb; }
        std::size_t b_column() const { return tb ? ldb : 1; }
    };
    /// An axis of a batch, and the elements from one of its places to the next.
    struct BatchAxis {
        std::int64_t extent, a, b, c;
    };

    bool plain(ValueId v) const { return !layouts_[v].strided; }
    template <class... N> static std::string list(N... n)
    {
        std::string s;
        ((s += ", " + std::to_string(n)), ...);
        return s;
    }
    static bool fuses()
    {
        volatile float e = 0x1p-13F;  // (1 + e)(1 − e) is rounded to 1
        const Lane<float> more(1 + e), less(1 - e), one(-1.0F);
        return fma(more, less, one).first() != 0;
    }

    Matrices matrices(ValueId v, const MatrixProduct::Factor& f) const
    {
        const GraphNode& n = g_.node(v);
        const Ref<Block> root =
            make_borrowed(n.dtype, g_.node(layouts_[v].root).shape, tiling::detail::placeholder_address());
        return tiling::detail::matrices(tiling::detail::header_on(root, n.shape, layouts_[v]), f);
    }
    Sizes sizes(const GraphNode& n, const MatrixProduct& p) const
    {
        const Matrices ma = matrices(n.inputs[p.a.operand], p.a), mb = matrices(n.inputs[p.b.operand], p.b);
        return {ma.transposed, mb.transposed, ma.rows, mb.columns, ma.columns, ma.ld, mb.ld};
    }

    ProductCode product(ValueId v, const MatrixProduct& form, bool batches) const
    {
        if (form.batch > 0) return batches ? batch(v, form) : ProductCode{};
        const GraphNode& n = g_.node(v);
        const std::string p = written(v, sizes(n, form), false);
        if (p.empty()) return {};
        return called(p + "::run<false>", {n.inputs[form.a.operand], n.inputs[form.b.operand], v});
    }
    /// The axes of a batch, without those of extent 1; two that are one in all three arrays are one.
    std::vector<BatchAxis> batch_axes(ValueId v, const MatrixProduct& form, const Matrices& a,
                                      const Matrices& b) const
    {
        const GraphNode& n = g_.node(v);
        const Shape batch = tiling::detail::batch_of(n, form);
        const Strides to_a = batch_steps(a, g_.node(n.inputs[form.a.operand]).shape, batch),
                      to_b = batch_steps(b, g_.node(n.inputs[form.b.operand]).shape, batch);
        std::vector<BatchAxis> axes;  // the last one first
        auto to_c = static_cast<std::int64_t>(a.rows * b.columns);
        for (std::size_t d = batch.size(); d-- > 0; to_c *= batch[d]) {
            if (batch[d] == 1) continue;
            const BatchAxis now{batch[d], to_a[d], to_b[d], to_c};
            BatchAxis* const within = axes.empty() ? nullptr : &axes.back();
            if (within && now.a == within->a * within->extent && now.b == within->b * within->extent)
                within->extent *= now.extent;
            else
                axes.push_back(now);
        }
        return axes;
    }
    /// Small products for all places of a batch. Where all have one B, rows of A that lie in line are those of one matrix.
    ProductCode batch(ValueId v, const MatrixProduct& form) const
    {
        const GraphNode& n = g_.node(v);
        const ValueId x = n.inputs[form.a.operand], y = n.inputs[form.b.operand];
        Sizes s = sizes(n, form);
        std::string p = written(v, s, false);
        if (p.empty() || count(v) == 0) return {};
        std::vector<BatchAxis> axes = batch_axes(v, form, matrices(x, form.a), matrices(y, form.b));
        const bool small = std::min({s.m, s.n, s.k}) > 1,
                   one_b = small && std::all_of(axes.begin(), axes.end(), [](auto& d) { return d.b == 0; });
        const char* const type = c_type(n.dtype, Dialect::vectors);
        std::string text = filled("(void* const* p, f64)\n{\n    const $ *a = (const $*)p[0], *b = (const "
                                  "$*)p[1];\n    $* c = ($*)p[2];\n",
                                  type, type, type, type, type);
        if (one_b && s.b_column() != 1) {
            text +=
                filled("    $ turned[$];\n    $::turn(b, turned);\n    b = turned;\n", type, s.n * s.k, p);
            s.tb = false, s.ldb = s.n;
        }
        if (one_b && !axes.empty() && axes[0].a == static_cast<std::int64_t>(s.m * s.a_row()) &&
            axes[0].extent <= most_joined) {
            s.m *= static_cast<std::size_t>(axes[0].extent);
            axes.erase(axes.begin());
        }
        if (one_b) p = small_product(n.dtype, s);
        return {text + loops(axes, p), {x, y, v}};
    }
    /// The loops over a batch, around one product.
    static std::string loops(const std::vector<BatchAxis>& axes, const std::string& product)
    {
        std::string text, at[3] = {"a", "b", "c"};
        for (std::size_t d = axes.size(); d-- > 0;) {
            text += filled("    for (long i$ = 0; i$ < $; ++i$)\n", d, d, axes[d].extent, d);
            const std::int64_t steps[] = {axes[d].a, axes[d].b, axes[d].c};
            for (std::size_t k = 0; k < 3; ++k)
                if (steps[k] != 0) at[k] += filled(" + i$ * $", d, steps[k]);
        }
        return text + filled("        $::run<false>($, $, $);\n}\n", product, at[0], at[1], at[2]);
    }
    static std::string small_product(DType d, const Sizes& s)
    {
        return std::string("SmallProduct<") + row_of(d).lane +
               list(s.m, s.n, s.k, s.a_row(), s.a_column(), s.b_row(), s.b_column()) + ">";
    }
    /// A cotangent, to which a product under the zero-cotangent rule is added.
    ProductCode added(ValueId v, const MatrixProduct& form) const
    {
        const GraphNode& n = g_.node(v);
        if (form.factor != MatrixProduct::none || form.cotangent == MatrixProduct::none || form.always ||
            form.minus || !plain(n.inputs[0]))
            return {};
        const ValueId g = n.inputs[form.cotangent];
        const std::string p = written(v, sizes(n, form), true);
        if (p.empty()) return {};
        return called("add_product<" + p + list(count(v), count(g)) + ">",
                      {n.inputs[0], n.inputs[form.a.operand], n.inputs[form.b.operand], g, v}, ", zero");
    }
    ProductCode with_zero_rule(ValueId v) const
    {
        const GraphNode& n = g_.node(v);
        if (count(v) == 0 || count(n.inputs[1]) == 0) return {};
        return called(filled("zero_where_no_cotangent<$, $>", count(n.inputs[1]), count(v)),
                      {n.inputs[0], n.inputs[1], v});
    }
    /// A function that calls f with these values, the last one its result, and with `more`.
    ProductCode called(const std::string& f, std::vector<ValueId> values, const char* more = "") const
    {
        std::string arguments;
        for (std::size_t k = 0; k < values.size(); ++k)
            arguments += filled(k + 1 < values.size() ? "(const $*)p[$], " : "($*)p[$]",
                                c_type(g_.node(values[k]).dtype, Dialect::vectors), k);
        return {filled("(void* const* p, f64 zero)\n{\n    $($$);\n}\n", f, arguments, more),
                std::move(values)};
    }
    std::size_t count(ValueId v) const { return element_count(g_.node(v).shape); }

    /// The type that multiplies, or "".
    std::string written(ValueId v, const Sizes& s, bool add) const
    {
        if (std::min({s.m, s.n, s.k}) == 0 || std::max({s.m * s.n, s.m * s.k, s.k * s.n}) > most_elements)
            return "";
        return with_real(g_.node(v).dtype, [&]<class T>() { return chosen<T>(s, add); });
    }
    /// As kernels::gemm and kernels::detail::gemv choose.
    template <class T> std::string chosen(const Sizes& s, bool add) const
    {
        const std::string t = row_of(dtype_of<T>()).lane;
        const std::size_t a_row = s.a_row(), a_column = s.a_column(), b_row = s.b_row(),
                          b_column = s.b_column();
        if (s.m > 1 && s.n > 1 && s.k > 1)
            return std::max({s.m, s.n, s.k}) > kernels::detail::small_edge ? ""
                                                                           : small_product(dtype_of<T>(), s);
        const bool long_rows = s.n >= (add ? 4 : 1) * Lane<T>::width || s.m == 1;
        if (s.k == 1 && b_column == 1 && long_rows) return "Outer<" + t + list(s.m, s.n, a_row) + ">";
        if (s.k > kernels::detail::longest_chain) return "";  // longer sums are cut
        if (s.m == 1 && s.n == 1)
            return a_column == 1 && b_row == 1 ? "RowsTimesVector<" + t + list(s.n, s.k, s.k) + ">" : "";
        if (s.m == 1 && b_column == 1) return "VectorTimesRows<" + t + list(s.n, s.k, a_column, b_row) + ">";
        if (s.m == 1 && a_column == 1) return "RowsTimesVector<" + t + list(s.n, s.k, b_column) + ">";
        if (s.n == 1 && b_row == 1 && a_column == 1)
            return "Swapped<RowsTimesVector<" + t + list(s.m, s.k, a_row) + ">>";
        if (s.n == 1 && a_row == 1)
            return "Swapped<VectorTimesRows<" + t + list(s.m, s.k, b_row, a_column) + ">>";
        if (s.k == 1 && b_column == 1 && rounds_twice<T>(s, add))
            return "Outer<" + t + list(s.m, s.n, a_row) + ">";
        return "";
    }

    /// Does BLAS have c + a bᵀ as c + (a bᵀ + 0), each sum and product rounded?
    template <class T> static bool rounds_twice(const Sizes& s, bool add)
    {
        std::vector<T> a(s.ta ? s.lda : s.m * s.lda), b(s.tb ? s.n * s.ldb : s.ldb), c(s.m * s.n);
        auto number = [i = 0U]() mutable {
            i = i * 1664525U + 1013904223U;
            return (i >> 28) == 3 ? T(-0.0) : T(static_cast<std::int32_t>(i)) / T(0x1234567);
        };
        for (std::vector<T>* x : {&a, &b, &c})
            for (T& e : *x) e = number();
        std::vector<T> expected(c.size());
        const std::size_t a_row = s.ta ? 1 : s.lda;
        for (std::size_t i = 0; i < s.m; ++i)
            for (std::size_t j = 0; j < s.n; ++j) {
                const volatile T product = a[i * a_row] * b[j];
                const volatile T begun = product + T(0);
                expected[i * s.n + j] = add ? c[i * s.n + j] + begun : T(begun);
            }
        kernels::gemm<T>(s.ta, s.tb, s.m, s.n, 1, T(1), a.data(), s.lda, b.data(), s.ldb, T(add), c.data(),
                         s.n);
        return std::memcmp(c.data(), expected.data(), c.size() * sizeof(T)) == 0;
    }

    const Graph& g_;
    const tiling::Layouts& layouts_;
};

}  // namespace wengert::detail
