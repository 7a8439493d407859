/// The words of random programs that are transforms: bodies that capture, results that are returned untouched, updates of
/// fresh tensors, rules, structs with hidden parts, frozen functions. Each has a plain meaning, that of the same code without
/// the transform, beside which eager is compared. Included by random_programs_run.hpp.
#pragma once

#include "graph/random/random_programs_run.hpp"

namespace random_programs {

/// Two tensors that only a hook shows.
template <class T> class Hidden {
public:
    Hidden(Tensor<T> a, Tensor<T> b) : a_(std::move(a)), b_(std::move(b)) {}
    auto fields() { return std::tie(a_, b_); }
    const Tensor<T>& a() const { return a_; }
    const Tensor<T>& b() const { return b_; }

private:
    Tensor<T> a_, b_;
};

/// A machine for a body that may run again after this one is gone. It knows no live tensors.
template <class T> Machine<T> Machine<T>::deferred(bool recorded) const
{
    Machine m(program_, constants_, nullptr, plain_);
    m.depth_ = depth_;
    m.recorded_ = recorded_ + recorded;
    return m;
}

/// What a body makes of an argument and a captured value; or one of the two untouched.
template <class T>
Tensor<T> Machine<T>::some_result(const Instruction& i, const Tensor<T>& x, const Tensor<T>& captured,
                                  bool same_shape)
{
    if (i.p[1] % 6 == 0 && (!same_shape || captured.shape() == x.shape())) return captured;
    if (i.p[1] % 6 == 1) return x;
    return run_body(i.body, {x, captured}, same_shape);
}

/// f(x) -> (x, y), n times: the last x and the sum of all y.
template <class T>
template <class F>
std::pair<Tensor<T>, Tensor<T>> Machine<T>::steps(const F& f, Tensor<T> x, unsigned n)
{
    Tensor<T> all(T(0));
    for (unsigned k = 0; k < n; ++k) {
        const auto [next, y] = f(x);
        x = next;
        all = all + wg::sum(y);
    }
    return {x, all};
}

/// The loops and branches of a graph as those of C++.
template <class T>
Tensor<T> Machine<T>::plain_loop(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
{
    if (i.op == Op::recorded_scan) {
        const auto [state, each] = steps(
            [&](const Tensor<T>& x) {
                const Tensor<T> y = run_recorded(i.body, {x, b});
                return std::pair(y, i.p[1] % 4 ? sum(y) * 0.5 : b);
            },
            a, i.p[0] % 4);
        return state + each;
    }
    if (i.op == Op::recorded_while) {
        Tensor<T> x = a;
        for (int k = 0; k < 4 && static_cast<bool>(norm(x) > 0.5); ++k)
            x = run_recorded(i.body, {x, b}) * 0.75;
        return x;
    }
    const bool taken = static_cast<bool>(sum(a) > sum(b) * (i.p[0] % 2 ? 1.0 : 0.0));
    return run_recorded(taken ? i.body : i.other, {a, b});
}

/// Loops that keep some of their states.
template <class T> Tensor<T> Machine<T>::looped(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
{
    const auto step = [m = deferred(true), &i, b](const Tensor<T>& x) {
        const Tensor<T> y = Machine(m).some_result(i, x, b, true);
        return std::pair(y, i.p[2] % 4 ? sum(y) * 0.5 : i.p[2] % 8 ? b : x);
    };
    const unsigned n = std::max(i.p[0] % 6, i.op == Op::checkpointed_loop ? 1u : 0u),
                   snapshots = 1 + i.p[0] / 6 % 3;
    if (plain_) {
        const auto [state, each] = steps(step, a, n);
        return state + each;
    }
    if (i.op == Op::recorded_snapshots) {
        const auto [state, each] =
            wg::scan(step, a, std::int64_t(n), wg::ScanOptions{.snapshots = snapshots});
        return state + wg::sum(each);
    }
    wg::LoopOptions<Tensor<T>> options;
    options.steps = n;
    options.snapshots = snapshots;
    const auto [state, each] = wg::checkpoint_loop(step, a, options);
    return state + wg::sum(each);
}

/// Tensors that are made, then filled in place.
template <class T>
Tensor<T> Machine<T>::fresh(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b_any) const
{
    const Tensor<T> b = fitted(b_any, a.shape());
    Tensor<T> y = i.p[0] % 3 == 0 ? wg::full<T>(a.shape(), T(0.5)) : wg::zeros<T>(a.shape());
    switch (i.p[0] / 3 % 5) {
    case 0: y += a * b; break;
    case 1:
        view(y, wg::ellipsis()) = a;
        y -= b;
        break;
    case 2: view(y, slices_of(i, y)) += view(std::as_const(a), slices_of(i, a)); break;
    case 3: {
        std::vector<Tensor<T>> v(3);
        v[0] = a;
        v[2] = y + b;
        for (auto& x : v)
            if (x.defined()) y += x * x;
        break;
    }
    default: {
        Tensor<T> empty;
        empty = y;
        empty += tanh(a);
        y = empty * b;
    }
    }
    return y;
}

/// Rules made on the spot that capture an array; they are the derivative.
template <class T>
Tensor<T> Machine<T>::ruled(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b) const
{
    const Tensor<T> c = wg::stop_gradient(tanh(fitted(b, a.shape())));
    const auto f = [c](const Tensor<T>& x) { return tanh(x) * c; };
    const auto slope = [c, inner = i.p[1] % 2](const Tensor<T>& x, const Tensor<T>& y) {
        if (inner) return wg::grad([&](const Tensor<T>& z) { return sum(tanh(z) * c); })(x);
        return c * (1.0 - square(tanh(x))) + y * 0.0;
    };
    if (plain_) return f(a);
    if (i.p[0] % 2 && !program_.has_tangents())
        return wg::custom_vjp(f, [slope](const Tensor<T>& g, const Tensor<T>& y, const Tensor<T>& x) {
            return g * slope(x, y);
        })(a);
    return wg::custom_jvp(f, [slope](const Tensor<T>& dx, const Tensor<T>& y, const Tensor<T>& x) {
        return slope(x, y) * dx;
    })(a);
}

/// A struct with hidden parts as what a gradient is taken of, as an argument of a checkpoint, as the state of a loop.
template <class T> Tensor<T> Machine<T>::hidden(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
{
    const auto make = [m = deferred(true), &i](const Tensor<T>& x, const Tensor<T>& y) {
        return Machine(m).some_result(i, x, y, true);
    };
    if (i.p[0] % 3 == 0) {
        if (plain_) {
            const auto g =
                wg::grad([&](const List<T>& x) { return total<T>({make(x[0], x[1])}); })(List<T>{a, b});
            return g[0] + wg::sum(g[1]);
        }
        const auto g =
            wg::grad([&](const Hidden<T>& h) { return total<T>({make(h.a(), h.b())}); })(Hidden<T>(a, b));
        return g.a() + wg::sum(g.b());
    }
    if (i.p[0] % 3 == 1) {
        if (plain_) return make(a, b) + wg::sum(b);
        const Hidden<T> h = wg::checkpoint(
            [f = make](const Hidden<T>& x) { return Hidden<T>(f(x.a(), x.b()), x.b()); })(Hidden<T>(a, b));
        return h.a() + wg::sum(h.b());
    }
    const auto step = [f = make](const Hidden<T>& x) { return Hidden<T>(f(x.a(), x.b()), x.b()); };
    Hidden<T> h(a, b);
    if (plain_)
        for (unsigned k = 0; k < 2; ++k) h = step(h);
    else
        h = wg::scan([step](const Hidden<T>& x) { return std::pair(step(x), x.b()); }, h, std::int64_t(2))
                .first;
    return h.a() + wg::sum(h.b());
}

template <class T>
Tensor<T> Machine<T>::transform(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
{
    switch (i.op) {
    case Op::recorded_snapshots:
    case Op::checkpointed_loop: return looped(i, a, b);
    case Op::checkpointed: {
        const auto f = [m = deferred(false), &i, b](const Tensor<T>& x) {
            return Machine(m).some_result(i, x, b, false);
        };
        if (plain_) return f(a);
        return wg::checkpoint(f)(a);
    }
    case Op::preaccumulated: {
        const auto f = [m = deferred(false), &i](const Tensor<T>& x, const Tensor<T>& y) {
            const Tensor<T> z = Machine(m).some_result(i, x, y, false);
            return z.size() < 5 ? z : sum(z) * 0.25;
        };
        if (plain_) return f(a, b);
        return wg::preaccumulate(f)(a, b);
    }
    case Op::fresh: return fresh(i, a, b);
    case Op::ruled: return ruled(i, a, b);
    case Op::hidden: return hidden(i, a, b);
    default: {
        const auto f = [m = deferred(true), &i, b](const Tensor<T>& x) {
            return Machine(m).some_result(i, x, b, false);
        };
        if (plain_) {
            const Tensor<T> y = f(a);
            return i.p[0] % 2 ? y + y * 0.5 : y;
        }
        auto frozen = wg::freeze(f);
        Tensor<T> y = frozen(copy(a));
        if (i.p[0] % 2) y = y + frozen(copy(a)) * 0.5;
        return y;
    }
    }
}

}  // namespace random_programs
