#include "../harness.hpp"
#include "../models/gmm.hpp"
#include "../models/lstm.hpp"

#include <memory>

namespace bench {
namespace {

template <class Model> Case make(Model model)
{
    auto shared = std::make_shared<Model>(std::move(model));
    return {[=] { shared->derivative(); },
            [=] {
                const Derivative d = shared->derivative();
                return Results{{d[0]}, Derivative(d.begin() + 1, d.end())};
            }};
}

Case gmm() { return make(Gmm(read_gmm(instance("gmm_d10_K25.txt")))); }
Case lstm() { return make(Lstm(read_lstm(instance("lstm_l2_c1024.txt")))); }

const bool added =
    add({"gmm", "d10_K25", "wengert", gmm, 1e-10}) && add({"lstm", "l2_c1024", "wengert", lstm, 1e-10});

}  // namespace
}  // namespace bench
