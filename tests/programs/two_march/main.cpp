// Two units with different -march in one program agree, and share tensors and one tape.
#include "work.hpp"

#include "../check.hpp"

template <class T> static double difference(const Tensor<T>& a, const Tensor<T>& b)
{
    return amax(abs(a - b)).item();
}

int main()
{
    for (const std::size_t n : {1, 2, 3, 5, 8, 13, 31, 64, 100, 257}) {
        const Result baseline = work_baseline(n), native = work_native(n);
        CHECK(near(baseline.value.item(), native.value.item(), 1e-14 * double(n)));
        CHECK(difference(baseline.gradient, native.gradient) < 1e-14);
        CHECK(difference(baseline.single, native.single) < 2e-6);

        // what one unit made, the other reads
        const double both = sum_native(baseline.gradient).item();
        CHECK(near(sum_baseline(native.gradient).item(), both, 1e-13));

        // recorded by one, by the other, and by this third unit: gradient of 2 sum x^2
        Tensor<double> x = native.gradient.detach();
        x.requires_grad(true);
        wengert::backward(sum_native(x) + sum_baseline(x));
        CHECK(difference(x.grad(), 4.0 * x.detach()) < 1e-14);
    }
    return report("two_march");
}
