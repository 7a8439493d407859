/// Random programs run: what each word does, with the library's public functions.
#pragma once

#include <wengert/wengert.hpp>
#include <wengert/scalar.hpp>
#include <wengert/graph/freeze/freeze.hpp>

#include <cstring>
#include <map>
#include <sstream>

#include "primitives/entries.hpp"
#include "graph/random/random_programs.hpp"

namespace random_programs {

namespace wg = wengert;
using wg::Shape;
using wg::Tensor;

template <class T> using List = std::vector<Tensor<T>>;
using Whole = Tensor<std::int64_t>;

inline Shape shape_of(const Extents& e)
{
    Shape s;
    for (long n : e) s.push_back(n);
    return s;
}

/// Zeros of both signs, infinities, NaN, subnormal and huge numbers, numbers near 1 and near poles.
template <class T> T edge(unsigned k)
{
    using L = std::numeric_limits<T>;
    static constexpr T list[] = {T(0),
                                 -T(0),
                                 L::infinity(),
                                 -L::infinity(),
                                 L::quiet_NaN(),
                                 L::denorm_min(),
                                 -L::denorm_min(),
                                 L::min(),
                                 L::max(),
                                 L::lowest(),
                                 T(1),
                                 T(-1),
                                 T(1) - L::epsilon() / 2,
                                 T(1) + L::epsilon(),
                                 T(1e-6),
                                 T(-1e-6),
                                 T(700),
                                 T(-700),
                                 T(90),
                                 T(1e17),
                                 T(5.3e17),
                                 T(0.5),
                                 T(-2),
                                 T(170.5),
                                 T(2.0000001),
                                 T(1.5707963267948966),
                                 T(3.141592653589793),
                                 T(1e30),
                                 T(-1e-30),
                                 T(0.1)};
    return list[k % std::size(list)];
}

/// Numbers of all kinds, among them zeros, equal ones and large ones.
template <class T> Tensor<T> data(Random& r, const Shape& shape, bool edges = false)
{
    std::vector<T> values(wg::element_count(shape));
    for (auto& v : values) {
        v = static_cast<T>(static_cast<double>(r() >> 11) * 0x1p-53 * 4 - 2);
        if (r.chance(6)) v = static_cast<T>(static_cast<int>(r.below(5)) - 2);
        if (r.chance(1)) v *= static_cast<T>(50);
        if (edges && r.chance(15)) v = edge<T>(r.below(1000));
    }
    return Tensor<T>(shape, values);
}

template <class Is> bool holds(const std::vector<Instruction>& body, const Is& is)
{
    for (const auto& i : body)
        if (is(i.op) || holds(i.body, is) || holds(i.other, is)) return true;
    return false;
}
inline bool is_transform(Op op)
{
    return (op >= Op::recorded_scan && op <= Op::frozen_inside) ||
           (op >= Op::equal_branches && op <= Op::cell);
}
/// So many units in the last place are results off: how a program answers to rounding.
inline thread_local int units_off = 0;

template <class T> Tensor<T> nudged(Tensor<T> x)
{
    return units_off ? x * (1.0 + units_off * static_cast<double>(std::numeric_limits<T>::epsilon())) : x;
}
template <class T> List<T> nudged(List<T> list)
{
    for (auto& t : list) t = nudged(std::move(t));
    return list;
}

/// One run of a program. The recursion of templates ends because bodies are data.
template <class T> class Machine {
public:
    Machine(const Program& p, const List<T>& constants, List<T>* live, bool plain = false)
        : program_(p), constants_(constants), live_(live), plain_(plain)
    {}

    List<T> results(const List<T>& inputs)
    {
        values_ = inputs;
        for (const auto& c : constants_) values_.push_back(c);
        if (values_.empty()) values_.push_back(Tensor<T>(T(1)));
        run(program_.body);
        return last(program_.outputs);
    }
    List<T> last(std::size_t n) const
    {
        n = std::min(n, values_.size());
        return List<T>(values_.end() - static_cast<std::ptrdiff_t>(n), values_.end());
    }
    /// A body on its own values; what it computes last, with its own shape or that of the first value.
    Tensor<T> run_body(const std::vector<Instruction>& body, const List<T>& values, bool same_shape)
    {
        const wg::Restore<List<T>> before(values_, values);  // a trace may take a body back that throws
        run(body);
        const Tensor<T> y = values_.back();
        if (!same_shape) return y;
        return wg::broadcast_to(fitted(tanh(y), values.front().shape()), values.front().shape());
    }

    /// The same inside of a transform.
    Tensor<T> run_inside(const std::vector<Instruction>& body, const List<T>& values, bool same_shape)
    {
        const wg::Restore<int> deeper(depth_, depth_ + 1);
        return run_body(body, values, same_shape);
    }

    /// The same as a body that is part of the graph.
    Tensor<T> run_recorded(const std::vector<Instruction>& body, const List<T>& values)
    {
        const wg::Restore<int> inside(recorded_, recorded_ + 1);
        return run_body(body, values, true);
    }

private:
    void run(const std::vector<Instruction>& body)
    {
        for (const auto& i : body) push(step(i));
    }
    void push(Tensor<T> t)
    {
        if (t.size() > 20000) t = mean(t);
        if (t.dimension() > 4) t = flatten(t);
        values_.push_back(nudged(std::move(t)));
    }
    const Tensor<T>& operand(const Instruction& i, int k) const
    {
        return values_[values_.size() - 1 - i.x[static_cast<std::size_t>(k)] % values_.size()];
    }
    static bool broadcasts(const Shape& a, const Shape& to)
    {
        if (a.size() > to.size()) return false;
        for (std::size_t i = 0; i < a.size(); ++i)
            if (a[i] != 1 && a[i] != to[to.size() - a.size() + i]) return false;
        return true;
    }
    /// Now and then many parts in place of a few: as many as no elementwise operation has operands.
    static std::vector<Tensor<T>> joined(std::vector<Tensor<T>> parts, unsigned q)
    {
        const std::size_t few = parts.size();
        for (unsigned k = 0; q % 4 == 3 && parts[0].size() <= 32 && k < q / 4 % 16; ++k)
            parts.push_back(parts[k % few] * static_cast<T>(k));
        return parts;
    }
    static Tensor<T> fitted(const Tensor<T>& x, const Shape& to)
    {
        return broadcasts(x.shape(), to) ? x : sum(x) * 0.125;
    }
    /// b, or its mean where the two do not broadcast.
    static Tensor<T> beside(const Tensor<T>& b, const Tensor<T>& a)
    {
        const Shape &s = a.shape(), &t = b.shape();
        const std::size_t n = std::min(s.size(), t.size());
        for (std::size_t i = 1; i <= n; ++i)
            if (s[s.size() - i] != t[t.size() - i] && s[s.size() - i] != 1 && t[t.size() - i] != 1)
                return mean(b);
        return b;
    }
    static Tensor<T> matrix(const Tensor<T>& x)
    {
        const Shape& s = x.shape();
        if (s.size() == 2) return x;
        if (s.size() < 2) return reshape(x, {1, -1});
        std::int64_t columns = 1;
        for (std::size_t k = 1; k < s.size(); ++k) columns *= s[k];
        return reshape(x, {s[0], columns});
    }
    static std::int64_t axis_of(unsigned p, const Tensor<T>& x)
    {
        const auto n = static_cast<std::int64_t>(x.dimension());
        return static_cast<std::int64_t>(p) % (2 * n) - n;
    }
    static wg::Axes axes_of(unsigned p, const Tensor<T>& x)
    {
        wg::Axes axes;
        for (std::size_t k = 0; k < x.dimension(); ++k)
            if (p >> k & 1) axes.push_back(static_cast<std::int64_t>(k));
        return axes;
    }
    static Tensor<T> whole(const Tensor<T>& x) { return x.dimension() ? x : reshape(x, {1}); }

    static std::vector<wg::Slice> slices_of(const Instruction& i, const Tensor<T>& x)
    {
        std::vector<wg::Slice> slices;
        for (std::size_t k = 0; k < x.dimension(); ++k) {
            const auto n = static_cast<std::int64_t>(x.shape()[k]);
            const unsigned q = i.p[1] / (k == 0 ? 1 : k == 1 ? 7 : 49) + i.p[2];
            const std::int64_t a = static_cast<std::int64_t>(q) % (n + 1),
                               b = static_cast<std::int64_t>(q / 3) % (n + 1);
            if (i.p[0] >> k & 1)
                slices.push_back(wg::all());
            else if (q % 7 == 0 && n > 0)
                slices.push_back(wg::Slice(a % n));
            else if (q % 7 == 1)
                slices.push_back(wg::range(wg::placeholders::_, wg::placeholders::_,
                                           -1 - static_cast<std::int64_t>(q % 2)));
            else if (q % 7 == 2)
                slices.push_back(
                    wg::range(std::min(a, b), wg::placeholders::_, 1 + static_cast<std::int64_t>(q % 3)));
            else if (q % 7 == 3)
                slices.push_back(wg::range(0, n - (n > 0)));
            else if (q % 7 == 4)
                slices.push_back(wg::range(n > 0, n));
            else
                slices.push_back(wg::range(std::min(a, b), std::max(a, b)));
        }
        if (i.p[0] % 11 == 0 && slices.size() < 5) slices.insert(slices.begin(), wg::newaxis());
        return slices;
    }

    static Tensor<T> unary(Op op, const Tensor<T>& x, bool raw)
    {
        const Tensor<T> small = raw ? x : wg::clip(x, -3.0, 3.0), positive = raw ? x : abs(x) + 0.1;
        switch (op) {
        case Op::negative: return -x;
        case Op::square: return square(small);
        case Op::sqrt: return sqrt(positive);
        case Op::reciprocal: return reciprocal(positive);
        case Op::exp: return exp(small);
        case Op::expm1: return expm1(small);
        case Op::log: return log(positive);
        case Op::log1p: return log1p(positive);
        case Op::erf: return erf(x);
        case Op::abs: return abs(x);
        case Op::sign: return sign(x);
        case Op::floor: return floor(x);
        case Op::ceil: return ceil(x);
        case Op::round: return round(x);
        case Op::sin: return sin(x);
        case Op::cos: return cos(x);
        case Op::tan: return tan(tanh(x));
        case Op::asin: return asin(raw ? x : tanh(x));
        case Op::acos: return acos(raw ? x : tanh(x));
        case Op::atan: return atan(x);
        case Op::sinh: return sinh(small);
        case Op::cosh: return cosh(small);
        case Op::tanh: return tanh(x);
        case Op::sigmoid: return sigmoid(x);
        case Op::softplus: return softplus(x);
        case Op::relu: return relu(x);
        case Op::gelu: return gelu(x);
        default: return silu(x);
        }
    }
    static Tensor<T> binary(Op op, const Tensor<T>& a, const Tensor<T>& b, unsigned p)
    {
        switch (op) {
        case Op::add: return p % 5 ? a + b : (a * 0.5) + (b + 1.0);
        case Op::subtract: return p % 5 ? a - b : 1.0 - b - a;
        case Op::multiply: return p % 5 ? a * b : (a + a) * (b * 0.5);
        case Op::divide: return p % 5 ? a / (square(b) + 0.5) : a / b;
        case Op::pow: return p % 5 ? pow(abs(a) + 0.5, wg::clip(b, -2.0, 2.0)) : pow(a, 2.0 + b * 0.0);
        case Op::atan2: return atan2(a, b);
        case Op::hypot: return hypot(a, b);
        case Op::maximum: return maximum(a, b);
        default: return minimum(a, b);
        }
    }
    static Tensor<T> with_literal(const Tensor<T>& x, unsigned p)
    {
        const double c = static_cast<double>(p % 7) - 3;
        switch (p / 7 % 9) {
        case 0: return x + c;
        case 1: return c - x;
        case 2: return x * c;
        case 3: return x / (c * c + 0.5);
        case 4: return (c + 3.5) / (abs(x) + 1.0);
        case 5: return maximum(x, c);
        case 6: return x * 1.0 + 0.0;
        case 7: return -(-x) - 0.0;
        default: return pow(abs(x) + 0.1, c);
        }
    }
    static Tensor<T> reduction(Op op, const Tensor<T>& x, unsigned p, unsigned q)
    {
        const bool keep = q % 2, every = q % 5 == 0;
        const wg::Axes axes = axes_of(p, x);
        const auto with = [&](const auto& all, const auto& some) { return every ? all() : some(); };
        switch (op) {
        case Op::sum: return with([&] { return sum(x); }, [&] { return sum(x, axes, keep); });
        case Op::mean: return with([&] { return mean(x); }, [&] { return mean(x, axes, keep); });
        case Op::prod: return with([&] { return prod(tanh(x)); }, [&] { return prod(tanh(x), axes, keep); });
        case Op::amax: return with([&] { return amax(x); }, [&] { return amax(x, axes, keep); });
        case Op::amin: return with([&] { return amin(x); }, [&] { return amin(x, axes, keep); });
        case Op::var: return with([&] { return var(x); }, [&] { return var(x, axes, keep); });
        case Op::stddev: return with([&] { return stddev(x); }, [&] { return stddev(x, axes, keep); });
        case Op::norm: return with([&] { return norm(x); }, [&] { return norm(x, axes, keep); });
        default: return with([&] { return logsumexp(x); }, [&] { return logsumexp(x, axes, keep); });
        }
    }
    static wg::Tensor<bool> relation(const Tensor<T>& a, const Tensor<T>& b, unsigned p)
    {
        switch (p % 6) {
        case 0: return a < b;
        case 1: return a <= b;
        case 2: return a > b;
        case 3: return a >= b;
        case 4: return floor(a) == floor(b);
        default: return floor(a) != floor(b);
        }
    }
    /// Positions below n by data. A NaN is none: whether an operation throws that nothing needs is not for executors to agree on.
    static Whole below(const Tensor<T>& x, std::int64_t n)
    {
        const Tensor<T> known = where(x == x, abs(x) * 2.0, Tensor<T>(T(0)));
        return wg::cast<std::int64_t>(wg::clip(known, 0.0, static_cast<double>(n - 1)));
    }
    /// Positions along axis 0 of x: fixed ones, or by data.
    static Whole positions(const Tensor<T>& x, const Instruction& i, const Tensor<T>& by)
    {
        const std::int64_t n = x.shape()[0];
        if (i.p[0] % 3 == 0) return argmax(x, 0);
        if (i.p[0] % 3 == 1) { return below(flatten(by), n); }
        std::vector<std::int64_t> list(1 + i.p[1] % 4);
        for (std::size_t k = 0; k < list.size(); ++k)
            list[k] = static_cast<std::int64_t>(i.p[2] * (k + 1)) % (2 * n) - n;
        return Whole(list);
    }

    Tensor<T> step(const Instruction& i)
    {
        const Tensor<T>&a = operand(i, 0), &b = operand(i, 1);
        if (i.op <= Op::silu) return unary(i.op, a, i.p[0] % 5 == 0);
        if (i.op <= Op::minimum) return binary(i.op, a, beside(b, a), i.p[0]);
        if (i.op >= Op::sum && i.op <= Op::logsumexp) return reduction(i.op, a, i.p[0], i.p[1]);
        if (i.op == Op::listed) return listed(i, a, b);
        if (i.op == Op::mapped || i.op > Op::counted) return arrays(i, Tensor<T>(a), Tensor<T>(b));
        if (i.op > Op::listed) return newer(i, Tensor<T>(a), Tensor<T>(b));
        if (i.op >= Op::writer) return control(i, a, b);
        if (i.op >= Op::reshape) return structure(i, a, b);
        return other(i, a, b);
    }

    /// A line of the list of all primitives, where its functions are smooth or not. Products have words of their own.
    static Tensor<T> listed(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
    {
        const auto& list = primitives::entries<T>();
        const primitives::Entry<T>& e = list[i.p[0] % list.size()];
        if (e.asks.library || !e.takes(a.shape()) || a.dimension() > 3) return a;
        const auto within = [&](const Tensor<T>& x) {
            return i.p[1] % 7 == 0 ? x : i.p[1] % 7 < 3 ? tanh(x) : tanh(x) * 0.4 + 0.5;
        };
        return e.of(within(a), wg::broadcast_to(within(fitted(b, a.shape())), a.shape()));
    }

    Tensor<T> other(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b_any)
    {
        const Tensor<T> b = beside(b_any, a);
        switch (i.op) {
        case Op::literal: return with_literal(a, i.p[0]);
        case Op::clip:
            return i.p[0] % 2 ? wg::clip(a, -0.75, 1.25) : wg::clip(a, mean(b) - 1.0, mean(b) + 0.5);
        case Op::where: return where(relation(a, b, i.p[0]), a * 2.0, b);
        case Op::compare: return wg::cast<T>(relation(a, b, i.p[0])) - 0.5;
        case Op::logical: return where((a < b && a > b - 1.0) || !(b > 0.25), a, b * b);
        case Op::integer: {
            const Tensor<T> known = where(a == a, a, Tensor<T>(T(0)));  // a NaN is no whole number
            const Whole n = wg::cast<std::int64_t>(wg::clip(known * 3.0, -100.0, 100.0));
            return wg::cast<T>(i.p[0] % 2 ? n * n - std::int64_t(3)
                                          : maximum(n, std::int64_t(1)) + std::int64_t(2)) *
                   0.125;
        }
        case Op::lambda: {
            static const auto wave = wg::elementwise([](auto x, auto y) {
                using std::sin;
                return where(x > 0.5, sin(x) * y, x + y * y);
            });
            return wave(a, b);
        }
        case Op::argument: {
            if (a.size() == 0) return a;
            return wg::cast<T>(i.p[0] % 2 || a.dimension() == 0 ? argmax(a)
                                                                : argmin(a, axis_of(i.p[1], a), i.p[2] % 2)) *
                   0.5;
        }
        case Op::quantify: return where(i.p[0] % 2 ? all(a < b + 1.0) : any(a > b), a, b);
        case Op::softmax: return softmax(whole(a), axis_of(i.p[0], whole(a)));
        case Op::log_softmax: return log_softmax(whole(a), axis_of(i.p[0], whole(a)));
        default: {
            const Tensor<T> m = matrix(a);
            if (m.size() == 0) return m;
            return cross_entropy(m, argmax(cos(m * 3.0), -1));
        }
        }
    }

    /// Index programs, of many kinds in place of one.
    Tensor<T> moved(const Instruction& i, const Tensor<T>& a) const
    {
        const unsigned p = i.p[0], q = i.p[1], kind = i.p[2] % 16;
        const Shape& s = a.shape();
        wg::Padding widths;
        for (std::size_t k = 0; k < s.size(); ++k) widths.push_back({(p + k) % 3, (q + k) % 2});
        if (s.empty() || a.size() == 0 || kind > 11) return pad(a, widths, static_cast<double>(p % 3));
        const std::int64_t axis = axis_of(p, a), n = a.size(axis);
        const auto mode = static_cast<wg::PadMode>(1 + q % 3);
        const auto numbers = [&](const Shape& shape, std::int64_t below) {  // constants of the program
            auto b = wg::make_block(wg::DType::int64, shape);
            for (std::size_t k = 0; k < b->count; ++k)
                b->template as<std::int64_t>()[k] = static_cast<std::int64_t>(k * p + q) % below;
            return Tensor<std::int64_t>(wg::AnyTensor{b, {}});
        };
        Shape along = wg::Shape::filled(s.size(), 1);
        along[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(s.size()) : axis)] = n;
        switch (kind) {
        case 0: return roll(a, static_cast<std::int64_t>(q % 7) - 3, axis);
        case 1: return flip(a);
        case 2: return pad(a, widths, mode);
        case 3: return repeat(a, 2, axis);
        case 4: return sliding_window(a, 1 + static_cast<std::int64_t>(q) % n, axis);
        case 5: return diff(a, axis);
        case 6: return cumsum(a, axis, q % 2 == 1) * 0.25;
        case 7: return cumprod(sin(a), axis, q % 2 == 1);
        case 8: return cummax(a, axis, q % 2 == 1);
        case 9: return take_along_axis(a, numbers(along, n), axis);
        case 10: return put_along_axis(a, numbers(s, n), a * 0.5, axis);
        default: return segment_sum(a, numbers({s[0]}, 3), 3);
        }
    }

    Tensor<T> structure(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
    {
        const unsigned p = i.p[0], q = i.p[1];
        const Shape& s = a.shape();
        switch (i.op) {
        case Op::reshape: {
            if (p % 3 == 0) return flatten(a);
            const auto n = static_cast<std::int64_t>(a.size());
            for (std::int64_t k : {2, 3, 4, 5, 7})
                if (n % k == 0 && n > 0 && static_cast<std::int64_t>(q % 3) + 2 <= k)
                    return reshape(a, {k, n / k});
            return reshape(a, {1, n, 1});
        }
        case Op::transpose: return transpose(a);
        case Op::swapaxes: return s.empty() ? a : swapaxes(a, axis_of(p, a), axis_of(q, a));
        case Op::expand_dims: return expand_dims(a, static_cast<std::int64_t>(p % (s.size() + 1)));
        case Op::squeeze: return squeeze(a);
        case Op::broadcast: {
            Shape to;
            to.push_back(1 + static_cast<std::int64_t>(p % 3));
            for (auto e : s) to.push_back(e == 1 ? 1 + static_cast<std::int64_t>(q % 4) : e);
            return wg::broadcast_to(a, to);
        }
        case Op::concatenate: {
            const Tensor<T> x = whole(a);
            const Tensor<T> y = wg::broadcast_to(fitted(b, x.shape()), x.shape());
            return wg::concatenate(joined({x, y, -x}, q), axis_of(p, x));
        }
        case Op::stack:
            return wg::stack(joined({a, wg::broadcast_to(fitted(b, s), s)}, q),
                             static_cast<std::int64_t>(p % (s.size() + 1)));
        case Op::split: {
            if (s.empty()) return a;
            const std::int64_t axis = axis_of(p, a);
            const std::int64_t n = a.size(axis) % 2 == 0 ? 2 : a.size(axis) % 3 == 0 ? 3 : 1;
            const auto parts = split(a, n, axis);
            return parts.front() * 2.0 - parts.back();
        }
        case Op::pad: return moved(i, a);
        case Op::triangle:
            return p % 2 ? tril(matrix(a), static_cast<std::int64_t>(q % 4) - 2)
                         : triu(matrix(a), static_cast<std::int64_t>(q % 3) - 1);
        case Op::diagonal: {
            const Tensor<T> m = matrix(a);
            const std::int64_t n = std::min(m.shape()[0], m.shape()[1]);
            return diagonal(view(m, wg::range(n), wg::range(n)));
        }
        case Op::view: return view(std::as_const(a), slices_of(i, a));
        case Op::element: {
            if (a.size() == 0 || s.empty()) return a;
            const auto k = static_cast<std::int64_t>(p) % s[0];
            return s.size() == 2 && q % 2 ? a(k, static_cast<std::int64_t>(q) % s[1]) : a(k);
        }
        case Op::assign: {
            Tensor<T> x = a;
            const auto slices = slices_of(i, a);
            const Tensor<T> v = fitted(b, view(std::as_const(x), slices).shape());
            switch (i.p[2] % 6) {
            case 0: view(x, slices) = v; break;
            case 1: view(x, slices) += v; break;
            case 2: view(x, slices) -= v; break;
            case 3: view(x, slices) *= v; break;
            case 4: view(x, slices) = 0.5; break;
            default: {
                auto part = view(x, slices);
                part = v;
                part += 0.25;
                return x + sum(part);
            }
            }
            return x;
        }
        case Op::update: {
            Tensor<T> x = a;
            const Tensor<T> v = fitted(b, s), before = x;
            if (p % 5 == 0) x += v;
            if (p % 5 == 1) x -= v * 0.5;
            if (p % 5 == 2) x *= v;
            if (p % 5 == 3) x /= square(v) + 1.0;
            if (p % 5 == 4) x += x;
            return q % 2 ? x : x * 0.5 + before;
        }
        case Op::matmul: {
            if (p % 4 == 0 && s.size() == 3) return matmul(a, swapaxes(a * 0.5, 1, 2));
            if (p % 8 == 5 && s.size() == 3 && s[0] > 0) return matmul(a * 0.5, transpose(a(0)));
            if (p % 8 == 7 && s.size() == 3 && s[0] > 0) return matmul(transpose(a(0)), a * 0.5);
            const Tensor<T> x = matrix(a), y = matrix(b);
            if (x.shape()[1] == y.shape()[0]) return matmul(x, y);
            if (x.shape()[1] == y.shape()[1]) return matmul(x, transpose(y));
            if (x.shape()[0] == y.shape()[0]) return matmul(transpose(x), y);
            return p % 2 ? matmul(x, transpose(x)) : matmul(transpose(x), x);
        }
        case Op::dot: {
            const Tensor<T> x = flatten(a);
            const Tensor<T> y = flatten(b);
            return dot(x, y.size() == x.size() ? y : x * 0.5);
        }
        case Op::outer: {
            const Tensor<T> x = flatten(a), y = flatten(b);
            return x.size() * y.size() > 4000 ? x : outer(x, y);
        }
        case Op::take: {
            const Tensor<T> x = whole(a);
            return x.size() == 0 ? x : take(x, positions(x, i, b), 0);
        }
        case Op::scatter_add: {
            const Tensor<T> x = whole(a);
            if (x.size() == 0) return x;
            const Whole at = positions(x, i, b);
            return scatter_add(x, at, take(x * 0.5, at, 0), 0);
        }
        case Op::one_hot: {
            if (a.size() == 0 || s.empty()) return a;
            return wg::one_hot<T>(argmax(a, 0), s[0]) * 0.5;
        }
        case Op::stop: return p % 2 ? stop_gradient(a) * b.detach().size() : a + stop_gradient(fitted(b, s));
        default: return copy(a) + 0.0;
        }
    }

    Tensor<T> control(const Instruction& i, const Tensor<T>& a_now, const Tensor<T>& b_now);

    // random_programs_words.hpp
    Machine deferred(bool recorded) const;
    Tensor<T> some_result(const Instruction& i, const Tensor<T>& x, const Tensor<T>& captured,
                          bool same_shape);
    template <class F> static std::pair<Tensor<T>, Tensor<T>> steps(const F& f, Tensor<T> x, unsigned n);
    Tensor<T> transform(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    Tensor<T> plain_loop(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    Tensor<T> looped(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    Tensor<T> fresh(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b) const;
    Tensor<T> ruled(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b) const;
    Tensor<T> hidden(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);

    // random_programs_newer.hpp
    Tensor<T> newer(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    Tensor<T> equal_branches(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    template <class F, class G>
    Tensor<T> chosen(const wg::Tensor<bool>& c, const F& f, const G& g, const Tensor<T>& x) const;
    Tensor<T> scanned(const std::vector<Instruction>& body, const Tensor<T>& a, const Tensor<T>& b,
                      unsigned n);
    Tensor<T> twin_loops(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    Tensor<T> complete_scan(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    Tensor<T> sliced_scan(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    Tensor<T> checkpointed_control(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    Tensor<T> shown(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    Tensor<T> told(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    Tensor<T> pulled(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    Tensor<T> cell(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b) const;
    static Tensor<T> edges(const Instruction& i, const Tensor<T>& a);
    static Tensor<T> row_products(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    static Tensor<T> scattered(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    static Tensor<T> counted(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);

    // random_programs_arrays.hpp
    Tensor<T> arrays(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    Tensor<T> mapped(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    static Tensor<T> ordered(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    static Tensor<T> grouped(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    static Tensor<T> arranged(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);
    static Tensor<T> solved(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b);

    const Program& program_;
    const List<T>& constants_;
    List<T>* live_;
    List<T> values_;
    int depth_ = 0, recorded_ = 0;
    bool plain_ = false;  ///< transforms that change no value are left out, loops are those of C++
};

/// Σ over a list, each tensor weighted so that no cotangent is a constant.
template <class T> Tensor<T> total(const List<T>& list)
{
    Tensor<T> sum_of(T(0));
    for (const auto& t : list)
        if (t.size()) sum_of = sum_of + sum(sin(t) + t * 0.25);
    return sum_of;
}

/// A body as a scalar function of one tensor, beside values that it captures.
template <class T> struct BodyLoss {
    Machine<T>* machine;
    const std::vector<Instruction>* body;
    List<T> values;
    Tensor<T> operator()(const Tensor<T>& x) const
    {
        List<T> v = values;
        v.push_back(x);
        return total<T>({machine->run_inside(*body, v, false)});
    }
};
/// The same from state to state.
template <class T> struct BodyStep {
    Machine<T>* machine;
    const std::vector<Instruction>* body;
    Tensor<T> operator()(const Tensor<T>& x) const { return machine->run_inside(*body, {x}, true); }
};

template <class T>
Tensor<T> Machine<T>::control(const Instruction& i, const Tensor<T>& a_now, const Tensor<T>& b_now)
{
    const Tensor<T> a = a_now, b = b_now;
    const unsigned p = i.p[0];
    const bool plain = i.op == Op::writer || i.op == Op::item || i.op == Op::branch ||
                       i.op == Op::while_loop || i.op == Op::inner_frozen || i.op == Op::custom ||
                       i.op == Op::load || i.op == Op::store;
    if (recorded_ && plain)
        return a;  // plain C++ that looks at values has no place in the body of a loop of the graph
    if (i.op >= Op::recorded_snapshots) return transform(i, a, b);
    if (plain_ && i.op >= Op::recorded_scan) return plain_loop(i, a, b);
    switch (i.op) {
    case Op::writer: {
        Tensor<T> x = p % 2 ? wg::zeros<T>(a.shape()) : wg::full<T>({3}, T(0.5));
        {
            auto w = write(x);
            if (w.size()) w.data()[0] = static_cast<T>(p % 5);
        }
        return a * (p % 2 ? x : sum(x));
    }
    case Op::item:
        return a.size() && p % 4 == 0 ? b * static_cast<double>(std::floor(stop_gradient(sum(a)).item())) : a;
    case Op::branch: {
        const bool taken = static_cast<bool>(sum(a) > sum(b) * (p % 2 ? 1.0 : 0.0));
        return run_body(taken ? i.body : i.other, {b, a}, false);
    }
    case Op::loop: {
        Tensor<T> x = a;
        for (unsigned k = 0; k < p % 4; ++k) x = run_body(i.body, {b, x}, false);
        return x;
    }
    case Op::while_loop: {
        Tensor<T> x = a;
        for (int k = 0; k < 5 && static_cast<bool>(norm(x) > 0.5); ++k)
            x = run_body(i.body, {x}, true) * 0.75;
        return x;
    }
    case Op::inner_gradient: {
        const Tensor<T> g = wg::grad(BodyLoss<T>{this, &i.body, {b}})(a);
        return holds(i.body, is_transform) ? g + 0.0 : g;  // sums in another order have zeros of another sign
    }
    case Op::inner_jvp:
        return wg::jvp(BodyStep<T>{this, &i.body}, a, wg::broadcast_to(fitted(b, a.shape()), a.shape()))
            .second;
    case Op::inner_frozen:  // under a derivative it is one section, whose cotangents add up in another order
        if (program_.mode != Mode::forward || depth_) return a;
        if (plain_) return BodyStep<T>{this, &i.body}(a);
        return wg::freeze(BodyStep<T>{this, &i.body})(copy(a));  // it brings transposed arguments into order
    case Op::custom: {
        static const auto scaled = wg::custom_vjp(
            [](const Tensor<T>& x) { return tanh(x) * 2.0; },
            [](const Tensor<T>& g, const Tensor<T>& y, const Tensor<T>& x) { return g * (y + x); });
        return program_.has_tangents() ? a : scaled(a);
    }
    case Op::draw: return a + wg::normal<T>(wg::Key(p), a.shape()) * 0.1;
    case Op::load: return live_ && !live_->empty() ? (*live_)[p % live_->size()] : a;
    case Op::store: {
        if (!live_ || live_->empty()) return a;
        Tensor<T>& w = (*live_)[p % live_->size()];
        const Tensor<T> v = stop_gradient(tanh(fitted(a, w.shape())));
        if (i.p[1] % 4 == 0) w = wg::broadcast_to(v, w.shape()) + 0.0;
        if (i.p[1] % 4 == 1) w -= v * 0.1;
        if (i.p[1] % 4 == 2) w = w * 0.5 + v;
        if (i.p[1] % 4 == 3) view(w, wg::ellipsis()) += v;
        return a;
    }
    case Op::recorded_scan: {
        const auto [state, each] = wg::scan(
            [&](const Tensor<T>& x) {
                const Tensor<T> y = run_recorded(i.body, {x, b});
                return std::pair(y, i.p[1] % 4 ? sum(y) * 0.5 : b);
            },
            a, static_cast<std::int64_t>(p % 4));
        return state + sum(each);
    }
    case Op::recorded_while: {
        using State = std::pair<Tensor<T>, Whole>;
        return wg::while_loop(
                   [](const State& s) { return norm(s.first) > 0.5 && s.second < std::int64_t(4); },
                   [&](const State& s) {
                       return State(run_recorded(i.body, {s.first, b}) * 0.75, s.second + std::int64_t(1));
                   },
                   State(a, Whole(0)))
            .first;
    }
    case Op::recorded_cond:
        return wg::cond(
            sum(a) > sum(b) * (p % 2 ? 1.0 : 0.0),
            [&](const Tensor<T>& x) {
                return run_recorded(i.body, {x, b});
            },
            [&](const Tensor<T>& x) {
                return run_recorded(i.other, {x, b});
            },
            a);
    default: return a;
    }
}

}  // namespace random_programs
#include "graph/random/random_programs_words.hpp"

#include "graph/random/random_programs_newer.hpp"

#include "graph/random/random_programs_arrays.hpp"
