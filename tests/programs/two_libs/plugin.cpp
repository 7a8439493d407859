// A plugin, to be opened with dlopen(RTLD_LOCAL): its tape is the program's own or a foreign one.
#include <wengert/eager.hpp>

#include "plugin.hpp"

using wengert::Tensor;

extern "C" EXPORT Outcome plugin_triple(const Tensor<double>* x, Tensor<double>* y)
{
    try {
        *y = *x * 3.0;
        return Outcome::done;
    } catch (const wengert::TapeError&) {
        return Outcome::refused;
    } catch (...) {
        return Outcome::other_error;
    }
}

extern "C" EXPORT double plugin_own_gradient()
{
    Tensor<double> x = {1.0, 2.0};
    x.requires_grad(true);
    wengert::backward(sum(x * x));
    return x.grad()(1).item();
}
