// The first steps with wengert: values are there at once, gradients follow from the tape. Each step checks itself.
//   g++ -std=c++20 -O2 -Iinclude examples/quickstart.cpp -lopenblas -llapacke -lpthread -ldl && ./a.out

#include <wengert/wengert.hpp>

#include <cmath>
#include <iostream>

namespace wg = wengert;
using Tensor = wg::Tensor<double>;

bool ok = true;

void expect(const char* what, double got, double wanted)
{
    const bool near = std::abs(got - wanted) <= 1e-12 * (1 + std::abs(wanted));
    std::cout << (near ? "  ok  " : "WRONG ") << what << " = " << got << '\n';
    ok = ok && near;
}

int main()
{
    // Braces are elements; nested ones make a matrix.
    Tensor w = {{0.1, -0.2, 0.3}, {0.4, 0.5, -0.6}};
    Tensor b = {0.01, -0.02};
    const Tensor x = {1.0, 2.0, -1.0};

    // What is to have a gradient says so; then compute as usual. Every line has its value when it has run.
    w.requires_grad();
    b.requires_grad();
    const Tensor y = tanh(matmul(w, x) + b);
    std::cout << "y = " << y << '\n';
    expect("y(0)", y(0).item(), std::tanh(0.1 - 0.4 - 0.3 + 0.01));

    // One walk back over the tape:  ∂L/∂b = 2 y (1 − y²),  ∂L/∂w = ∂L/∂b xᵀ
    const Tensor loss = sum(y * y);
    std::cout << wg::Tape::current() << '\n';  // what was recorded, with the line of each operation
    wg::backward(loss);
    const double slope = 2 * y(0).item() * (1 - y(0).item() * y(0).item());
    expect("dL/db(0)", b.grad()(0).item(), slope);
    expect("dL/dw(0, 1)", w.grad()(0, 1).item(), slope * 2.0);

    // The same from functions: no variables to mark, and gradients of gradients.
    const auto f = [](const Tensor& t) { return sum(t * sin(t)); };
    const Tensor at = {0.3, -1.2, 2.0};
    expect("f'", wg::grad(f)(at)(2).item(), std::sin(2.0) + 2 * std::cos(2.0));
    const auto cube = [](const Tensor& t) { return t * t * t; };
    expect("(t^3)''", wg::grad(wg::grad(cube))(Tensor(5.0)).item(), 30.0);

    // Loops and branches are C++'s own, also when they depend on the data.
    Tensor h = x;
    h.requires_grad();
    Tensor z = h;
    int doublings = 0;
    for (; sum(z * z) < 1e3; ++doublings) z = z * 2.0;
    wg::backward(sum(z));
    expect("d(doubled)/dx", h.grad()(0).item(), std::pow(2.0, doublings));

    // Parts are views: reading them copies nothing, assigning to them writes the variable and is differentiated too.
    const auto halved = [](Tensor t) {
        view(t, wg::range(0, 2)) *= 0.5;
        return sum(t);
    };
    expect("d(halved)/dx(0)", wg::grad(halved)(x)(0).item(), 0.5);
    expect("d(halved)/dx(2)", wg::grad(halved)(x)(2).item(), 1.0);

    // xtensor's arrays go in and come out.
    const xt::xarray<double> outside = 2.0 * w.array();
    expect("through xtensor", Tensor(outside)(1, 2).item(), -1.2);

    // Errors say what was wrong, and where.
    try {
        matmul(w, b);
    } catch (const wg::ShapeError& e) {
        std::cout << "an error: " << e.what() << '\n';
    }
    return ok ? 0 : 1;
}
