#pragma once

// ADBench's LSTM in tensor form. What does not depend on the recurrence (the forget and output gates, the
// output layer) is computed for the whole sequence at once; a step records the rest.

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>
#include <wengert/wengert.hpp>

#include "instances.hpp"

namespace bench {

class Lstm {
public:
    using T = wengert::Tensor<double>;

    explicit Lstm(const LstmInstance& l)
        : layers_(static_cast<std::int64_t>(l.layers)), steps_(static_cast<std::int64_t>(l.chars) - 1),
          bits_(static_cast<std::int64_t>(l.bits)), main({layers_, 8, bits_}, l.main),
          extra({3, bits_}, l.extra), state_({layers_, 2, bits_}, l.state)
    {
        const T sequence({steps_ + 1, bits_}, l.sequence);
        input_ = copy(view(sequence, wengert::range(0, steps_)));
        target_ = copy(view(sequence, wengert::range(1, steps_ + 1)));
    }

    T objective(const T& weights, const T& ends) const
    {
        T a = input_ * view(ends, 0);
        for (std::int64_t k = 0; k < layers_; ++k) a = layer(view(weights, k), view(state_, k), a);
        const T y = a * view(ends, 1) + view(ends, 2);
        const T norm = log(2.0 + sum(exp(y), {1}, true));
        return sum(target_ * (y - norm)) / -static_cast<double>(steps_ * bits_);
    }

    T objective() const { return objective(main, extra); }

    /// Objective, then the gradient with respect to the main and the extra parameters.
    Derivative derivative() const
    {
        const auto f = [this](const T& weights, const T& ends) { return objective(weights, ends); };
        const auto [value, gradient] = wengert::value_and_grad<0, 1>(f)(main, extra);
        Derivative out = {value.item()};
        const auto append = [&](const T& t) { out.insert(out.end(), t.data(), t.data() + t.size()); };
        append(std::get<0>(gradient)), append(std::get<1>(gradient));
        return out;
    }

private:
    /// The outputs h of one layer, (steps, bits), for its inputs a, (steps, bits).
    T layer(const T& w, const T& state, const T& a) const
    {
        const T forget = sigmoid(a * view(w, 0) + view(w, 4)), out = sigmoid(a * view(w, 2) + view(w, 6));
        const T w_in = view(w, 1), b_in = view(w, 5), w_change = view(w, 3), b_change = view(w, 7);
        T h = view(state, 0), c = view(state, 1);
        std::vector<T> outputs;
        outputs.reserve(static_cast<std::size_t>(steps_));
        // one primitive a line: each lambda is one loop forward and one for each input backward
        const auto gate = wengert::elementwise([](auto x, auto v, auto b) { return sigmoid(x * v + b); });
        const auto change = wengert::elementwise([](auto x, auto v, auto b) {
            using std::tanh;
            return tanh(x * v + b);
        });
        const auto mix =
            wengert::elementwise([](auto old, auto f, auto i, auto d) { return old * f + i * d; });
        const auto emit = wengert::elementwise([](auto o, auto cell) {
            using std::tanh;
            return o * tanh(cell);
        });
        for (std::int64_t t = 0; t < steps_; ++t) {
            c = mix(c, view(forget, t), gate(h, w_in, b_in), change(h, w_change, b_change));
            h = emit(view(out, t), c);
            outputs.push_back(h);
        }
        return stack(outputs, 0);
    }

    std::int64_t layers_, steps_, bits_;

public:
    T main, extra;

private:
    T state_, input_, target_;
};

}  // namespace bench
