// The bodies of check_grads.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>
#include <cmath>

#include "../../ops/creation.hpp"
#include "../check_grads.hpp"

namespace wengert::detail {

/// Uniform in (−1, 1), away from 0, from a counter (splitmix64; Steele et al. 2014).
inline double projection_entry(std::uint64_t& state)
{
    std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;
    const double u = static_cast<double>(z >> 11) * 0x1p-53;
    return (z & 1 ? 1.0 : -1.0) * (0.1 + 0.9 * u);
}

template <class T> Tensors<T> random_like(const Tensors<T>& x, std::uint64_t& state)
{
    Tensors<T> out;
    for (const auto& t : x) {
        auto b = make_block(dtype_of<T>(), t.shape());
        for (std::size_t i = 0; i < b->count; ++i)
            b->template as<T>()[i] = static_cast<T>(projection_entry(state));
        out.push_back(Tensor<T>(AnyTensor{placed(std::move(b), t.any().value->device()), {}}));
    }
    return out;
}

template <class T> double inner(const Tensors<T>& a, const Tensors<T>& b, double* magnitude)
{
    double total = 0, size = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
        const Ref<Block> p = readable(a[k].any().value), q = readable(b[k].any().value);
        note_read(*a[k].any().value, Read::elements, {});
        note_read(*b[k].any().value, Read::elements, {});
        for (std::size_t i = 0; i < p->count; ++i) {
            const double term =
                static_cast<double>(p->template as<T>()[i]) * static_cast<double>(q->template as<T>()[i]);
            total += term;
            size += std::abs(term);
        }
    }
    if (magnitude) *magnitude = size;
    return total;
}

template <class T> Tensors<T> moved(const Tensors<T>& x, const Tensors<T>& v, double h)
{
    Tensors<T> out;
    for (std::size_t k = 0; k < x.size(); ++k) out.push_back(x[k].detach() + v[k] * static_cast<T>(h));
    return out;
}

/// (f(x + h v) − f(x − h v)) · 2/(3h) − (f(x + 2h v) − f(x − 2h v)) / 12h, projected on u: exact to h⁴.
template <class T>
double difference(const TensorFunction<T>& f, const Tensors<T>& x, const Tensors<T>& v, const Tensors<T>& u,
                  double h, double& size)
{
    double s[4];
    const auto at = [&](double step, double& magnitude) {
        return inner(f(moved(x, v, step)), u, &magnitude);
    };
    const double p1 = at(h, s[0]), m1 = at(-h, s[1]), p2 = at(2 * h, s[2]), m2 = at(-2 * h, s[3]);
    size = s[0] + s[1];
    return (8 * (p1 - m1) - (p2 - m2)) / (12 * h);
}

template <class T>
Checker<T>::Checker(const CheckOptions& o, const Site& at)
    : options_(o), single_(sizeof(T) == 4), h_(o.eps > 0 ? o.eps
                                               : single_ ? 3e-2
                                                         : 1e-4),
      tolerance_(o.tolerance > 0 ? o.tolerance
                 : single_       ? 3e-3
                                 : 1e-7),
      state_(o.seed), at_(at)
{
    if (!uses(Modes::reverse) && !uses(Modes::forward))
        fail<OptionError>("check_grads", ".modes has neither reverse nor forward", at);
}

template <class T>
CheckReport Checker<T>::check(const TensorFunction<T>& f, const Tensors<T>& x, int order,
                              const std::string& path)
{
    for (const auto& t : x) static_cast<void>(t.shape("check_grads", at_));  // throws where it is empty
    const Tensors<T> v = random_like(x, state_), u = random_like(f(x), state_);
    double size = 0;
    const double numeric = difference(f, x, v, u, h_, size);
    const double slack = tolerance_ * (1 + std::abs(numeric)) + size * (single_ ? 1e-6 : 1e-14) / h_;
    CheckReport report;
    if (const auto got = forward(f, x, v, u))
        if (!(std::abs(*got - numeric) <= slack))
            return describe(path + "forward", f, x, u, *got, numeric, Modes::forward);
    if (uses(Modes::reverse)) {
        const double got = inner(vjp(f, x, at_).second(u, at_), v);
        if (!(std::abs(got - numeric) <= slack))
            return describe(path + "reverse", f, x, u, got, numeric, Modes::reverse);
    }
    if (order <= 1) return report;
    if (uses(Modes::reverse)) {
        report = check([&](const Tensors<T>& at) { return vjp(f, at, at_).second(u, at_); }, x, order - 1,
                       path + "reverse, then ");
        if (!report.ok) return report;
    }
    if (uses(Modes::forward))
        report = check([&](const Tensors<T>& at) { return jvp(f, at, v, at_).second; }, x, order - 1,
                       path + "forward, then ");
    report.modes = options_.modes;
    return report;
}

/// ⟨u, J v⟩, or nothing where a custom_vjp has no forward mode; from then on reverse mode alone is checked. Somebody who
/// asked for forward mode is told.
template <class T>
std::optional<double> Checker<T>::forward(const TensorFunction<T>& f, const Tensors<T>& x,
                                          const Tensors<T>& v, const Tensors<T>& u)
{
    if (!uses(Modes::forward)) return {};
    try {
        return inner(jvp(f, x, v, at_).second, u);
    } catch (const NoForwardMode&) {
        if (options_.modes != Modes::both) throw;
        options_.modes = Modes::reverse;
        return {};
    }
}
/// Finds the element whose derivative is furthest off.
template <class T>
CheckReport Checker<T>::describe(const std::string& mode, const TensorFunction<T>& f, const Tensors<T>& x,
                                 const Tensors<T>& u, double analytic, double numeric, Modes which)
{
    CheckReport r{false, {}, 0, 0, analytic, numeric, options_.modes};
    const Tensors<T> g = which == Modes::reverse ? vjp(f, x, at_).second(u, at_) : Tensors<T>{};
    double worst = -1;
    for (std::size_t a = 0; a < x.size(); ++a)
        for (std::size_t e = 0; e < std::min<std::size_t>(x[a].size(), 256); ++e) {
            Tensors<T> one;
            for (std::size_t k = 0; k < x.size(); ++k)
                one.push_back(k == a ? unit(x[k], e) : zeros_like(x[k]));
            double size;
            const double n = difference(f, x, one, u, h_, size);
            const double d = which == Modes::reverse ? inner(g, one) : inner(jvp(f, x, one, at_).second, u);
            const double off = std::isfinite(d - n) ? std::abs(d - n) / (1 + std::abs(n)) : HUGE_VAL;
            if (off > worst) {
                worst = off;
                r.argument = a, r.element = e, r.analytic = d, r.numeric = n;
            }
        }
    r.message = "check_grads: " + mode + " mode, argument " + std::to_string(r.argument) + ", element " +
                std::to_string(r.element) + ": derivative " + std::to_string(r.analytic) + ", difference " +
                std::to_string(r.numeric);
    return r;
}

}  // namespace wengert::detail
