// The program that tests/gdb/run.py looks at; the marks name lines for it.
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/scalar.hpp>
#include <wengert/tape/backward.hpp>
#include <wengert/transforms/grad.hpp>

using wengert::Tensor;

Tensor<double> f(const Tensor<double>& w, const Tensor<double>& x, const Tensor<double>& b)
{
    return tanh(matmul(w, x) + b);  // mark: value
}

Tensor<double> norm2(const Tensor<double>& u) { return sum(tanh(u) * u); }

Tensor<double> slope(const Tensor<double>& u) { return sum(wengert::grad(norm2)(u)); }

/// Where the debugger stops between two steps: with -O2, lines of main are no good places.
[[gnu::noinline]] void look_here() { asm volatile(""); }

/// Numbers that are there to be looked at, also with -O2.
[[gnu::noinline]] void keep(std::initializer_list<const wengert::Real<double>*>)
{
    asm volatile("" ::: "memory");
}

int main()
{
    Tensor<double> w = {{0.1, -0.2, 0.3}, {0.4, 0.5, -0.6}};
    Tensor<double> b = {0.01, -0.02};
    w.requires_grad();  // mark: leaf
    b.requires_grad();
    const Tensor<double> x = {1.0, 2.0, -1.0};
    look_here();
    const Tensor<double> y = f(w, x, b);
    const Tensor<double> loss = sum(y * y);  // mark: loss
    look_here();
    backward(loss);
    look_here();
    const Tensor<double> spread = b * Tensor<double>({{1.0, 2.0}, {3.0, 4.0}});
    const Tensor<double> total = sum(spread);
    look_here();
    backward(total);
    look_here();
    const Tensor<double> second = wengert::grad(slope)(x);

    const Tensor<float> turned = transpose(Tensor<float>({{1, 2}, {3, 4}, {5, 6}}));
    const auto row = view(turned, 1);
    const Tensor<std::int64_t> many = Tensor<std::int64_t>(std::vector<std::int64_t>(1000, 7));
    const Tensor<bool> flags = x > 0.0;
    const wengert::Shape shape = {2, 0, 5}, deep = {1, 1, 1, 1, 1, 1, 1, 9};
    Tensor<double> gone = {1.0};
    const Tensor<double> taken = std::move(gone);
    wengert::Real<double> variable = 2.0;
    variable.requires_grad();
    const wengert::Real<double> constant = 0.5, product = variable * 3.0, root = sqrt(product * product),
                                quotient = 1.0 / variable, element = wengert::real(sum(w));
    const wengert::AnomalyMode lines_are_kept;
    const wengert::Real<double> traced = quotient * 4.0;  // mark: traced
    keep({&variable, &constant, &product, &root, &quotient, &element, &traced});
    look_here();
    return static_cast<int>(second.size() + spread.size() + row.size() + many.size() + flags.size() +
                            shape.size() + deep.size() + taken.size()) == 0 &&
           constant + product + root + quotient + element + traced == 0.0;
}
