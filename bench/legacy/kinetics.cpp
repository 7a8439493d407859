#include "kinetics.hpp"

#include "../peers.hpp"

void bench::add_kinetics(Codes& codes)
{
    const auto burn = []<class Number>(const std::vector<Number>& x) { return burn_all(x, 40); };
    codes.add("kinetics", "Robertson's kinetics, 20 reactors, 40 steps", burn, reactors(20), 1,
              kinetics_by_kernel(1000, 40));
}
