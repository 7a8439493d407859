// The plain objective, and a floor with the reverse sweep by hand over saved gates.

#include <cmath>
#include <memory>

#include "../models/instances.hpp"
#include "simd.hpp"

namespace bench {
namespace {

template <class V> V sigmoid(const V& x)
{
    using std::exp;
    return V(1.0) / (V(1.0) + exp(-x));
}

class LstmFloor {
public:
    /// Saved per step and layer: input, h and c before, the four gates, tanh(c) after.
    enum { input, h_before, c_before, forget, in, out, change, c_tanh, saved };

    explicit LstmFloor(LstmInstance instance) : l_(std::move(instance)), b_(l_.bits)
    {
        const std::size_t steps = l_.chars - 1;
        tape_.resize(steps * l_.layers * saved * b_);
        last_.resize(steps * b_), p_.resize(steps * b_);
        gstate_.resize(l_.state.size()), ga_.resize(b_), gy_.resize(b_);
    }

    void run()
    {
        state_ = l_.state;
        main_.assign(l_.main.size(), 0.0), extra_.assign(l_.extra.size(), 0.0);
        double total = 0;
        for (std::size_t t = 0; t + 1 < l_.chars; ++t) total += step(t);
        scale_ = -1 / static_cast<double>((l_.chars - 1) * b_);
        loss_ = total * scale_;
        std::fill(gstate_.begin(), gstate_.end(), 0.0);
        for (std::size_t t = l_.chars - 1; t-- > 0;) step_back(t);
    }

    Results results()
    {
        run();
        Results r = {{loss_}, main_};
        r[1].insert(r[1].end(), extra_.begin(), extra_.end());
        return r;
    }

private:
    double* slot(std::size_t t, std::size_t layer, int which)
    {
        return &tape_[((t * l_.layers + layer) * saved + static_cast<std::size_t>(which)) * b_];
    }

    double step(std::size_t t)
    {
        double* first = slot(t, 0, input);
        for (std::size_t j = 0; j < b_; ++j) first[j] = l_.sequence[t * b_ + j] * l_.extra[j];
        for (std::size_t k = 0; k < l_.layers; ++k) {
            for_batches<double>(b_, [&]<class V>(std::size_t j) { layer<V>(t, k, j); });
            double* next = k + 1 < l_.layers ? slot(t, k + 1, input) : &last_[t * b_];
            std::copy_n(&state_[k * 2 * b_], b_, next);
        }
        return output(t);
    }

    template <class V> void layer(std::size_t t, std::size_t k, std::size_t j)
    {
        using std::tanh;
        double *h = &state_[k * 2 * b_ + j], *c = h + b_;
        const double* w = &l_.main[k * 8 * b_ + j];
        const V a = get<V>(slot(t, k, input) + j), hv = get<V>(h), cv = get<V>(c);
        const V f = sigmoid(V(a * get<V>(w) + get<V>(w + 4 * b_)));
        const V i = sigmoid(V(hv * get<V>(w + b_) + get<V>(w + 5 * b_)));
        const V o = sigmoid(V(a * get<V>(w + 2 * b_) + get<V>(w + 6 * b_)));
        const V g = tanh(V(hv * get<V>(w + 3 * b_) + get<V>(w + 7 * b_)));
        const V next = cv * f + i * g, squashed = tanh(next);
        put(slot(t, k, h_before) + j, hv), put(slot(t, k, c_before) + j, cv), put(slot(t, k, forget) + j, f);
        put(slot(t, k, in) + j, i), put(slot(t, k, out) + j, o), put(slot(t, k, change) + j, g);
        put(slot(t, k, c_tanh) + j, squashed);
        put(c, next), put(h, V(o * squashed));
    }

    double output(std::size_t t)
    {
        double norm = 2, *p = &p_[t * b_], *a = &last_[t * b_], total = 0;
        const double *target = &l_.sequence[(t + 1) * b_], *w = l_.extra.data() + b_;
        for (std::size_t j = 0; j < b_; ++j) gy_[j] = a[j] * w[j] + w[b_ + j];
        for_batches<double>(b_, [&]<class V>(std::size_t j) {
            using std::exp;
            put(p + j, V(exp(get<V>(&gy_[j]))));
        });
        for (std::size_t j = 0; j < b_; ++j) norm += p[j];
        const double log_norm = std::log(norm);
        for (std::size_t j = 0; j < b_; ++j) p[j] /= norm, total += target[j] * (gy_[j] - log_norm);
        return total;
    }

    void step_back(std::size_t t)
    {
        const double *target = &l_.sequence[(t + 1) * b_], *w = l_.extra.data() + b_;
        double weight = 0;
        for (std::size_t j = 0; j < b_; ++j) weight += target[j];
        for (std::size_t j = 0; j < b_; ++j) {
            const double g = scale_ * (target[j] - weight * p_[t * b_ + j]);
            extra_[b_ + j] += g * last_[t * b_ + j], extra_[2 * b_ + j] += g;
            ga_[j] = g * w[j];
        }
        for (std::size_t k = l_.layers; k-- > 0;)
            for_batches<double>(b_, [&]<class V>(std::size_t j) { layer_back<V>(t, k, j); });
        for (std::size_t j = 0; j < b_; ++j) extra_[j] += ga_[j] * l_.sequence[t * b_ + j];
    }

    /// ga holds the cotangent of this layer's output and leaves with that of its input.
    template <class V> void layer_back(std::size_t t, std::size_t k, std::size_t j)
    {
        double *gh = &gstate_[k * 2 * b_ + j], *gc = gh + b_;
        const double* w = &l_.main[k * 8 * b_ + j];
        double* gw = &main_[k * 8 * b_ + j];
        const auto at = [&](int which) { return get<V>(slot(t, k, which) + j); };
        const V one(1.0), f = at(forget), i = at(in), o = at(out), g = at(change), squashed = at(c_tanh);
        const V h = get<V>(gh) + get<V>(&ga_[j]), c = get<V>(gc) + h * o * (one - squashed * squashed);
        const V zf = c * at(c_before) * f * (one - f), zi = c * g * i * (one - i);
        const V zo = h * squashed * o * (one - o), zg = c * i * (one - g * g);
        const auto gain = [&](std::size_t gate, const V& z, const V& x) {
            put(gw + gate * b_, V(get<V>(gw + gate * b_) + z * x));
            put(gw + (gate + 4) * b_, V(get<V>(gw + (gate + 4) * b_) + z));
        };
        gain(0, zf, at(input)), gain(1, zi, at(h_before)), gain(2, zo, at(input)), gain(3, zg, at(h_before));
        put(gc, V(c * f));
        put(gh, V(zi * get<V>(w + b_) + zg * get<V>(w + 3 * b_)));
        put(&ga_[j], V(zf * get<V>(w) + zo * get<V>(w + 2 * b_)));
    }

    LstmInstance l_;
    std::size_t b_;
    std::vector<double> tape_, last_, p_, state_, gstate_, ga_, gy_, main_, extra_;
    double loss_ = 0, scale_ = 0;
};

/// The floor is held to ADBench's own derivative, every other system to the floor.
Results checked(Results r)
{
    const Derivative d = read_expected(instance("lstm_l2_c1024.expected.txt"));
    check({"lstm", "expected", "floor", nullptr, 1e-10}, r, {{d[0]}, Derivative(d.begin() + 1, d.end())});
    return r;
}

Case make_floor()
{
    auto floor = std::make_shared<LstmFloor>(read_lstm(instance("lstm_l2_c1024.txt")));
    return {[floor] { floor->run(); }, [floor] { return checked(floor->results()); }};
}

Case make_plain()
{
    auto l = std::make_shared<LstmInstance>(read_lstm(instance("lstm_l2_c1024.txt")));
    auto loss = std::make_shared<double>(0);
    return {[=] { *loss = plain_lstm(*l); }, [=] { return Results{{plain_lstm(*l)}}; }};
}

const bool added = add({"lstm", "l2_c1024", "floor", make_floor, 1e-10}) &&
                   add({"lstm", "l2_c1024", "plain", make_plain, 1e-10});

}  // namespace
}  // namespace bench
