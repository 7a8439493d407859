#include "hexahedra.hpp"

#include "../peers.hpp"

void bench::add_hexahedra(Codes& codes)
{
    const auto hydro = [](std::size_t n, int steps) {
        return [=]<class Number>(const std::vector<Number>& e) { return blast(n, e, steps); };
    };
    codes.add("hexahedra", "hexahedra, 4³ cells, 5 steps", hydro(4, 5), hot_corner(4), 3);
    codes.add("hexahedra", "hexahedra, 12³ cells, 10 steps", hydro(12, 10), hot_corner(12), 0.3);
}
