#include "market.hpp"

#include "../peers.hpp"

void bench::add_market(Codes& codes)
{
    const auto paths = [](std::size_t count) {
        std::vector<double> normals(count * Market::steps);
        for (std::size_t i = 0; i < normals.size(); ++i)
            normals[i] = 1.2 * std::sin(1.7 * static_cast<double>(i));
        return [normals, count]<class Number>(const std::vector<Number>& x) {
            Number sum = 0.0;
            for (std::size_t p = 0; p < count; ++p)
                sum += swaption_path(x, normals.data() + p * Market::steps);
            return sum;
        };
    };
    codes.add("market", "LIBOR, a path", paths(1), rates_today(), 10);
    codes.add("market", "LIBOR, 20 paths", paths(20), rates_today(), 1);
}
