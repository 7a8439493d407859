// What a result holds beside Reals would come back as zeros.
// error: parallel_for: f returns Reals alone
#include <wengert/scalar.hpp>

using Real = wengert::Real<double>;

struct Result {
    Real value;
#ifndef OK
    int count = 0;
#endif
};

int main()
{
    Real x = 2.0;
    const auto results = wengert::parallel_for(
        3, [](std::size_t, const Real& q) { return Result{q * q}; }, x);
    return results.size() == 3 ? 0 : 1;
}
