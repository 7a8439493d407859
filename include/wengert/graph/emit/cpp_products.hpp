// Products of matrices as calls of gemm.
#pragma once

#include "../../ops/gemm.hpp"
#include "cpp_reductions.hpp"

namespace wengert::detail {

class CppProducts : protected CppReductions {
public:
    using CppReductions::CppReductions;

protected:
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
    void gemm(const Matrix& a, const Matrix& b, const std::string& alpha, const char* beta,
              const std::string& at_a = "", const std::string& at_b = "", const std::string& at_c = "")
    {
        w_.line(w_.helper(real() ? "gemm" : "product", n_->dtype) + "(" + number(a.rows) + ", " +
                number(b.columns) + ", " + number(a.columns) + ", " + alpha + ", " + a.pointer + at_a + ", " +
                number(a.row) + ", " + number(a.column) + ", " + b.pointer + at_b + ", " + number(b.row) +
                ", " + number(b.column) + ", " + beta + ", " + w_.pointer(v_) + at_c + ");");
    }
    /// Where the result has no batch and the operands do, it is their sum.
    void multiply()
    {
        const MatrixProduct p = product_of(*n_);
        if (p.adds) begin_with_first();
        const char* beta = p.adds ? "1" : "0";
        const std::string alpha =
            (p.minus ? "-" : "") +
            (p.factor == MatrixProduct::none ? std::string("1") : "*(" + w_.pointer(in(p.factor)) + ")");
        if (p.batch == 0) return gemm(matrix(p.a), matrix(p.b), alpha, beta);
        const CppOperand a = input(p.a.operand), b = input(p.b.operand), y = result();
        const std::size_t of_a = p.a.vector ? 1 : 2, of_b = p.b.vector ? 1 : 2;
        const Shape batch =
            broadcast_shapes(n_->primitive->name, leading(a.shape, of_a), leading(b.shape, of_b), n_->at);
        const auto place = [&](const CppOperand& o, std::size_t inner) {
            const Shape outer = leading(o.shape, inner);
            const Strides s = broadcast_strides(outer, Strides(o.strides.data(), outer.size()), batch);
            return " + " + w_.index(batch, s);
        };
        w_.open("{");
        w_.open_loops(batch);
        gemm(matrix(p.a), matrix(p.b), alpha, beta, place(a, of_a), place(b, of_b),
             place(y, p.adds ? 2 : y.shape.size() - batch.size()));
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
