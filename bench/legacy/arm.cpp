#include "../peers.hpp"

#if __has_include(<Eigen/Dense>) || __has_include(<eigen3/Eigen/Dense>)
#include "arm.hpp"

void bench::add_arm(Codes& codes)
{
    const auto f = []<class Number>(const std::vector<Number>& x) { return swing(x, 20); };
    codes.add("arm", "an arm of 7 joints over Eigen, 20 steps", f, arm_at_rest(), 1);
}
#else
void bench::add_arm(Codes&) {}
#endif
