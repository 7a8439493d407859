#include "euler.hpp"

#include "../peers.hpp"

void bench::add_euler(Codes& codes)
{
    const auto force = [mesh = Triangles(12)]<class Number>(const std::vector<Number>& x) {
        return force_on_wall(mesh, x, 10);
    };
    codes.add("euler", "Roe's flux, 288 triangles, 10 steps", force, moving_gas(12), 1,
              euler_by_kernel(12, 10));
}
