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
    /// `vector`: its last axis alone.
    Matrix matrix(std::size_t i, bool transposed, bool as_column, bool vector = false)
    {
        const CppOperand x = input(i);
        const std::size_t r = x.shape.size();
        Matrix m{x.pointer, 1, 1, 1, 1};
        if (r == 0) return m;
        if (r == 1 || vector) {
            (as_column ? m.rows : m.columns) = x.shape[r - 1];
            (as_column ? m.row : m.column) = x.strides[r - 1];
        } else {
            m = {x.pointer, x.shape[r - 2], x.shape[r - 1], x.strides[r - 2], x.strides[r - 1]};
        }
        if (transposed) {
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
    bool multiplies(std::string_view name)
    {
        if (name == "matmul") {
            matmul();
        } else if (name == "matmul.pull0" || name == "matmul.pull1") {
            begin_with_first();
            const MatMul& m = op<MatMul>();
            const bool column = m.b.size() == 1, vector = column || m.a.size() == 1;
            const Matrix g = matrix(1, false, column, vector), gt = matrix(1, true, column, vector);
            if (name == "matmul.pull0")
                m.ta ? add_product(matrix(2, m.tb, true), 2, gt, 1)
                     : add_product(g, 1, matrix(2, !m.tb, true), 2);
            else
                m.tb ? add_product(gt, 1, matrix(2, m.ta, false), 2)
                     : add_product(matrix(2, !m.ta, false), 2, g, 1);
        } else if (name == "gemm") {
            const Gemm& m = op<Gemm>();
            begin_with_first();
            gemm(matrix(1, m.ta, false), matrix(2, m.tb, true),
                 (m.minus ? "-*(" : "*(") + w_.pointer(in(3)) + ")", "1");
        } else {
            return false;
        }
        return true;
    }
    /// Strides of the axes before the last `inner` ones, along those of the batch.
    static Strides leading(const CppOperand& o, const Shape& batch, std::size_t inner = 2)
    {
        const std::size_t rank = o.shape.size() < inner ? 0 : o.shape.size() - inner;
        return broadcast_strides(Shape(o.shape.data(), rank), Strides(o.strides.data(), rank), batch);
    }
    /// Added to the result for each place of the cotangent's batch: where the result has none, that is their sum.
    void add_product(const Matrix& a, std::size_t i, const Matrix& b, std::size_t k)
    {
        const CppOperand g = input(1);
        const std::size_t rank = std::max(op<MatMul>().a.size(), op<MatMul>().b.size());
        if (rank <= 2) return gemm(a, b, "1", "1");
        const Shape batch(g.shape.data(), rank - 2);
        const auto place = [&](std::size_t j) {
            return " + " +
                   w_.index(batch, leading(input(j), batch, j == 1 ? g.shape.size() - batch.size() : 2));
        };
        w_.open("{");
        w_.open_loops(batch);
        gemm(a, b, "1", "1", place(i), place(k), " + " + w_.index(batch, leading(result(), batch)));
        w_.close_loops(batch);
        w_.close();
    }
    void matmul()
    {
        const MatMul& m = op<MatMul>();
        const CppOperand x = input(0), y = input(1);
        const std::size_t rank = std::max(x.shape.size(), y.shape.size());
        if (rank <= 2) return gemm(matrix(0, m.ta, false), matrix(1, m.tb, true), "1", "0");
        const Shape batch(n_->shape.data(), rank - 2);
        const Strides sx = leading(x, batch), sy = leading(y, batch), whole = row_major(n_->shape),
                      sc(whole.data(), batch.size());
        w_.open("{");
        w_.open_loops(batch);
        gemm(matrix(0, m.ta, false), matrix(1, m.tb, true), "1", "0", " + " + w_.index(batch, sx),
             " + " + w_.index(batch, sy), " + " + w_.index(batch, sc));
        w_.close_loops(batch);
        w_.close();
    }
};

}  // namespace wengert::detail
