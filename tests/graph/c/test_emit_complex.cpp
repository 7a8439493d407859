// Functions of complex tensors and their gradients as C.
#include "complex/complex_cases.hpp"
#include "graph/c/emit_programs.hpp"

TEST_CASE("emitted C of complex functions and their gradients, compiled and run")
{
    const Tensor<double> parts = complex_cases::numbers<double>({2, 3}).parts();
    std::vector<Program> programs;
    for (const auto& c : complex_cases::elementwise<double>()) {
        const auto loss = [&](const std::vector<Tensor<double>>& x) {
            return sum(abs(c.f(Tensor<std::complex<double>>::from_parts(x[0]))));
        };
        programs.push_back(gradient<double>("complex_" + std::to_string(programs.size()), {parts}, loss));
    }
    const Compiled all(programs, true);
    if (!all.object) return;
    for (const Program& p : programs) check(p, *all.object);
}
