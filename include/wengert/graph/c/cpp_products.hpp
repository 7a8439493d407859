// Products of matrices as calls of gemm.
#pragma once

#include "../../ops/gemm.hpp"
#include "cpp_reductions.hpp"

namespace wengert::detail {

class CppProducts : protected CppReductions {
public:
    using CppReductions::CppReductions;

protected:
    /// Under the zero-cotangent rule, where all of the cotangent is 0, elements of the product that are not finite count as 0.
    void multiply()
    {
        const MatrixProduct p = product_of(*n_);
        if (p.adds) begin_with_first();
        const std::string alpha =
            (p.minus ? "-" : "") +
            (p.factor == MatrixProduct::none ? std::string("1") : "*(" + w_.pointer(in(p.factor)) + ")");
        if (p.cotangent == MatrixProduct::none) return products(p, alpha, p.adds ? "1" : "0", w_.pointer(v_));
        const std::size_t bytes = w_.plan.bytes_of(v_);
        w_.open("{");
        find_zero_cotangent(in(p.cotangent));
        w_.open("if (no_cotangent) {");
        w_.line("$* const x = ($*)($);", w_.type(v_), w_.type(v_), room(bytes));
        w_.line("memset(x, 0, $);", bytes);
        products(p, "1", "1", "x");
        w_.line("$($, $, x, $);", own("add_finite"), element_count(n_->shape), alpha, w_.pointer(v_));
        w_.close();
        w_.open("else {");
        products(p, alpha, "1", w_.pointer(v_));
        w_.close();
        w_.close();
    }
    /// `no_cotangent`: is all of g 0?
    void find_zero_cotangent(ValueId v)
    {
        const CppOperand g = w_.operand(v);
        w_.declare("g", g, false);
        w_.line("int no_cotangent = 1;");
        w_.open_loops(g.shape);
        w_.line("no_cotangent = no_cotangent && g[$] == 0;", w_.index(g.shape, g.strides));
        w_.close_loops(g.shape);
    }

private:
    /// An operand of a product: rows and columns of op(X) and how far apart they are.
    struct Matrix {
        std::string pointer;
        std::int64_t rows, columns, row, column;
    };
    Matrix matrix(const MatrixProduct::Factor& f)
    {
        const CppOperand x = input(f.operand);
        const std::size_t r = x.shape.size();
        Matrix m{x.pointer, 1, 1, 1, 1};
        if (r == 0) return m;
        if (r == 1 || f.vector) {
            (f.column ? m.rows : m.columns) = x.shape[r - 1];
            (f.column ? m.row : m.column) = x.strides[r - 1];
        } else {
            m = {x.pointer, x.shape[r - 2], x.shape[r - 1], x.strides[r - 2], x.strides[r - 1]};
        }
        if (f.transposed) {
            std::swap(m.rows, m.columns);
            std::swap(m.row, m.column);
        }
        return m;
    }
    /// The products of a batch. If the result has no batch and the operands do, it is their sum.
    void products(const MatrixProduct& p, const std::string& alpha, const char* beta, const std::string& to)
    {
        const CppOperand a = input(p.a.operand), b = input(p.b.operand), y = result();
        const std::size_t of_a = p.a.vector ? 1 : 2, of_b = p.b.vector ? 1 : 2;
        Shape batch;
        if (p.batch > 0)
            batch =
                broadcast_shapes(n_->primitive->name, leading(a.shape, of_a), leading(b.shape, of_b), n_->at);
        const auto place = [&](const CppOperand& o, std::size_t inner) -> std::string {
            if (p.batch == 0) return "";
            const Shape outer = leading(o.shape, inner);
            const Strides s = broadcast_strides(outer, Strides(o.strides.data(), outer.size()), batch);
            return " + " + w_.index(batch, s);
        };
        const Matrix ma = matrix(p.a), mb = matrix(p.b);
        w_.open("{");
        w_.open_loops(batch);
        w_.line("$($, $, $, $, $, $, $, $, $, $, $, $);", w_.helper(real() ? "gemm" : "product", n_->dtype),
                ma.rows, mb.columns, ma.columns, alpha, ma.pointer + place(a, of_a), ma.row, ma.column,
                mb.pointer + place(b, of_b), mb.row, mb.column, beta,
                to + place(y, p.adds ? 2 : y.shape.size() - batch.size()));
        w_.close_loops(batch);
        w_.close();
    }
    /// The axes before the last `inner` ones.
    static Shape leading(const Shape& s, std::size_t inner)
    {
        return Shape(s.data(), s.size() < inner ? 0 : s.size() - inner);
    }
};

}  // namespace wengert::detail
