// Two linked libraries with hidden visibility and their program record on one tape, and catch each other's errors.
#include "library.hpp"

#include "../check.hpp"

using wengert::Tensor;

int main()
{
    const void* const mine = &wengert::Tape::current();
    CHECK(first_tape() == mine);
    CHECK(second_tape() == mine);

    Tensor<double> x = {1.0, -2.0, 3.0};
    x.requires_grad(true);
    const auto size = wengert::Tape::current().size();
    const Tensor<double> y = second_scaled(first_scaled(x) * x);
    CHECK(wengert::Tape::current().size() > size);
    wengert::backward(sum(y));
    for (std::size_t i = 0; i < 3; ++i) CHECK(near(x.grad()(i).item(), 2 * 2 * 3 * x(i).item(), 1e-15));

    CHECK(has(message_of<wengert::ShapeError>(first_fail), "matmul"));
    CHECK(has(message_of<wengert::Error>(second_fail), "(4, 5)"));
    return report("two_libs.linked");
}
