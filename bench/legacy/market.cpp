#include "market.hpp"

#include "../peers.hpp"

void bench::add_market(Codes& codes)
{
    const auto paths = [](std::size_t count) {
        return [normals = normals_of(count), count]<class Number>(const std::vector<Number>& x) {
            Number sum = 0.0;
            for (std::size_t p = 0; p < count; ++p)
                sum += swaption_path(x, normals.data() + p * Market::steps);
            return sum;
        };
    };
    codes.add("market", "LIBOR, a path", paths(1), rates_today(), 10, market_by_kernel(256));
    codes.add("market", "LIBOR, 20 paths", paths(20), rates_today(), 1);
}
