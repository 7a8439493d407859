/// The words of random programs for what two things may share: branches and loops with equal bodies, structs of all kinds of
/// fields, functions of one cell, rows, scatters, whole numbers. Included by random_programs_run.hpp.
#pragma once

#include "graph/random/random_programs_cell.hpp"
#include "graph/random/random_programs_run.hpp"
#include "graph/random/random_programs_together.hpp"

namespace random_programs {

/// f(x) where c holds, else g(x).
template <class T>
template <class F, class G>
Tensor<T> Machine<T>::chosen(const wg::Tensor<bool>& c, const F& f, const G& g, const Tensor<T>& x) const
{
    if (plain_) return static_cast<bool>(c) ? f(x) : g(x);
    return wg::cond(c, f, g, x);
}

/// Branches with equal bodies, with equal derivatives, that return what they were given, with equal constants.
template <class T>
Tensor<T> Machine<T>::equal_branches(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b_any)
{
    const Tensor<T> b = wg::broadcast_to(fitted(b_any, a.shape()), a.shape());
    const wg::Tensor<bool> c =
        i.p[2] % 4 == 0 ? wg::Tensor<bool>(i.p[2] % 8 == 0) : sum(a) > sum(b) * (i.p[0] % 2 ? 1.0 : 0.0);
    const auto body = [&](const Tensor<T>& x, const Tensor<T>& y) { return run_recorded(i.body, {x, y, y}); };
    const double n = 1.0 + i.p[2] % 3;
    const auto with = [&](const auto& f, const auto& g) { return chosen(c, f, g, a); };
    using X = const Tensor<T>&;
    const Tensor<T> same[] = {wg::full<T>(a.shape(), T(0.5)), wg::full<T>(a.shape(), T(0.5))};
    switch (i.p[1] % 10) {
    case 0: return with([&](X x) { return body(x, b); }, [&](X x) { return body(x, b); });
    case 1: return with([&](X x) { return body(x, b) + n; }, [&](X x) { return body(x, b) - n; });
    case 2: return with([&](X x) { return body(x, b) * n; }, [&](X x) { return body(x, b) * -n; });
    case 3: return with([](X x) { return x; }, [](X x) { return x; });
    case 4: return with([](X x) { return x; }, [&](X) { return b; });
    case 5: return with([&](X) { return b; }, [&](X) { return b; });
    case 6: return with([&](X x) { return body(x, b); }, [&](X x) { return body(b, x); });
    case 7: return with([&](X x) { return x * same[0]; }, [&](X x) { return x * same[1]; });
    case 8: return with([&](X x) { return sum(x) + b * 0.0 + n; }, [&](X x) { return sum(x) + b * 0.0 - n; });
    default: return with([&](X x) { return x * 2.0; }, [&](X x) { return x * 2.0000001; });
    }
}

/// n steps of a body: the last state, and the sum of what they gave.
template <class T>
Tensor<T> Machine<T>::scanned(const std::vector<Instruction>& body, const Tensor<T>& a, const Tensor<T>& b,
                              unsigned n)
{
    const auto step = [&](const Tensor<T>& x) {
        const Tensor<T> y = run_recorded(body, {x, b, b});
        return std::pair(y, sum(y) * 0.5);
    };
    if (plain_) {
        const auto [state, each] = steps(step, a, n);
        return state + each;
    }
    const auto [state, each] = wg::scan(step, a, static_cast<std::int64_t>(n));
    return state + sum(each);
}

/// Loops that share a body.
template <class T>
Tensor<T> Machine<T>::twin_loops(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
{
    const unsigned n = i.p[0] % 4, m = i.p[0] / 4 % 4;
    const Tensor<T> other = wg::broadcast_to(fitted(b, a.shape()), a.shape());
    switch (i.p[1] % 5) {
    case 0: return scanned(i.body, a, b, n) + scanned(i.body, a, b, m);
    case 1: return scanned(i.body, a, b, n) - scanned(i.body, other, b, n);
    case 2: return scanned(i.body, a, b, n) * scanned(i.body, a, b * 0.5, n);
    case 3: return scanned(i.body, scanned(i.body, a, b, n), b, n);
    default: {
        using X = const Tensor<T>&;
        return chosen(
            sum(a) > 0.0, [&](X x) { return scanned(i.body, x, b, n); },
            [&](X x) { return scanned(i.body, x, b, m); }, a);
    }
    }
}

/// A state with every kind of field.
template <class T> struct Complete {
    Tensor<T> a;
    std::vector<Tensor<T>> more;
    Whole count;
    wg::Tensor<bool> flag;
    wg::Key key;
};

template <class T>
Tensor<T> Machine<T>::complete_scan(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b_any)
{
    const Tensor<T> b = wg::broadcast_to(fitted(b_any, a.shape()), a.shape());
    const auto step = [&](const Complete<T>& s) {
        Tensor<T> y = run_recorded(i.body, {s.a, s.more[0], s.more[1]});
        if (i.p[1] % 2) y = y + wg::normal<T>(s.key, y.shape()) * 0.125;
        const Tensor<T> kept = i.p[1] % 3 == 0   ? s.more[0]
                               : i.p[1] % 3 == 1 ? s.a
                                                 : s.more[0] * 0.5 + s.more[1];
        Complete<T> next{where(s.flag, y, y * 0.5),
                         {s.more[1], kept},
                         s.count + std::int64_t(1),
                         !s.flag || sum(y) > 0.5,
                         i.p[1] % 5 == 0 ? s.key : wg::fold_in(s.key, 3)};
        return std::pair(next, std::pair(sum(y), wg::cast<T>(s.count) * 0.25));
    };
    Complete<T> s{a,
                  {b, i.p[2] % 2 ? b : a},
                  Whole(static_cast<std::int64_t>(i.p[2] % 5)),
                  wg::Tensor<bool>(i.p[2] % 3 == 0),
                  wg::Key(i.p[2])};
    const unsigned n = i.p[0] % 4;
    Tensor<T> all(T(0));
    if (plain_) {
        for (unsigned k = 0; k < n; ++k) {
            const auto [next, y] = step(s);
            s = next;
            all = all + y.first + y.second;
        }
    } else {
        const auto [last_state, ys] = wg::scan(step, s, static_cast<std::int64_t>(n));
        s = last_state;
        all = sum(ys.first) + sum(ys.second);
    }
    return where(s.flag, s.a, s.more[0]) + s.more[1] * 0.5 + wg::cast<T>(s.count) * 0.125 + all;
}

/// A loop over slices, of two arrays that may be one, or lie otherwise.
template <class T>
Tensor<T> Machine<T>::sliced_scan(const Instruction& i, const Tensor<T>& a_any, const Tensor<T>& b)
{
    const Tensor<T> a = whole(a_any);
    if (a.shape()[0] > 9) return a;
    const Tensor<T> turned = i.p[1] % 4 == 0
                                 ? view(a, wg::range(wg::placeholders::_, wg::placeholders::_, -1))
                             : i.p[1] % 4 == 1 ? a * 0.5
                             : i.p[1] % 4 == 2 ? transpose(transpose(a) + 0.0)
                                               : a;
    Shape row;
    for (std::size_t k = 1; k < a.dimension(); ++k) row.push_back(a.shape()[k]);
    const Tensor<T> start = wg::broadcast_to(fitted(b, row), row);
    using Slices = std::pair<Tensor<T>, Tensor<T>>;
    const auto step = [&](const Tensor<T>& s, const Slices& x) {
        const Tensor<T> y = run_recorded(i.body, {s, x.first, x.second}) + x.second;
        return std::pair(y, i.p[0] % 3 ? x.first * y : x.second);
    };
    if (!plain_) {
        const auto [s, ys] = wg::scan(step, start, Slices(a, turned));
        return i.p[0] % 2 ? ys + s : sum(ys) + s;
    }
    Tensor<T> s = start;
    std::vector<Tensor<T>> ys;
    for (std::int64_t k = 0; k < a.shape()[0]; ++k) {
        const auto [next, y] = step(s, Slices(Tensor<T>(a(k)), Tensor<T>(turned(k))));
        s = next;
        ys.push_back(y);
    }
    const Tensor<T> all = ys.empty() ? wg::zeros<T>(a.shape()) : wg::stack(ys, 0);
    return i.p[0] % 2 ? all + s : sum(all) + s;
}

/// Loops and branches inside of a checkpoint, or checkpoints inside of them.
template <class T>
Tensor<T> Machine<T>::checkpointed_control(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
{
    const auto loop = [m = deferred(true), &i, b](const Tensor<T>& x) {
        Machine inner(m);
        if (i.p[0] % 3 == 0) return inner.scanned(i.body, x, b, 1 + i.p[1] % 3);
        if (i.p[0] % 3 == 1) return inner.equal_branches(i, x, b);
        return inner.twin_loops(i, x, b);
    };
    if (plain_) return i.p[2] % 3 ? loop(a) : tanh(loop(a));
    if (i.p[2] % 3) return wg::checkpoint(loop)(a);
    return wg::scan([&](const Tensor<T>& x) { return std::pair(tanh(wg::checkpoint(loop)(x)), sum(x)); }, a,
                    std::int64_t(1))
        .first;
}

/// A pullback in the body of a loop or branch, beside the result that it belongs to.
template <class T> Tensor<T> Machine<T>::pulled(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
{
    const auto f = [&](const Tensor<T>& x) {
        switch (i.p[1] % 4) {
        case 0: return scanned(i.body, x, b, 1 + i.p[1] / 4 % 3);
        case 1: return wg::broadcast_to(equal_branches(i, x, b), x.shape());
        case 2: return tanh(x) * x + wg::broadcast_to(fitted(b, x.shape()), x.shape());
        default: return run_recorded(i.body, {x, b, b});
        }
    };
    const auto [value, pull] = wg::vjp(f, a);
    const auto row = [pull = pull](const Tensor<T>& g) { return pull(g); };
    const Tensor<T> y = wg::broadcast_to(value, a.shape()) * 0.5, g = i.p[2] % 3 == 0
                                                                          ? wg::full<T>(a.shape(), T(0.75))
                                                                      : i.p[2] % 3 == 1 ? y
                                                                                        : a;
    const auto again = [&](const Tensor<T>& x) { return tanh(row(x)); };
    switch (i.p[0] % 4) {
    case 0: {
        if (!plain_)
            return wg::scan([&](const Tensor<T>& x) { return std::pair(again(x), sum(x)); }, g, 2).first + y;
        return again(again(g)) + y;
    }
    case 1:
        return chosen(
                   sum(a) > 0.0, again, [&](const Tensor<T>& x) { return row(x * 0.5) * 2.0; }, g) +
               y;
    case 2: {
        if (plain_) return row(g) + row(g * 2.0) + y;
        return sum(wg::vmap(row)(wg::stack({g, g * 2.0}, 0)), {0}) + y;
    }
    default: return row(row(g)) + y;
    }
}

/// Views in the results of functions given to a checkpoint, a loop, a map and a transform: each is the tensor that it shows.
template <class T> Tensor<T> Machine<T>::shown(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
{
    const auto f = [c = wg::broadcast_to(fitted(b, a.shape()), a.shape())](const Tensor<T>& x) {
        return tanh(x) * x + c * 0.25;
    };
    const auto part = [f](const Tensor<T>& x) {
        Tensor<T> n = f(x);
        return std::pair(n, view(n, wg::ellipsis()));
    };
    switch (i.p[0] % 4) {
    case 0: {
        if (plain_) return f(a) * 1.5;
        const auto [y, same] = wg::checkpoint(part)(a);
        return y + same * 0.5;
    }
    case 1: {
        if (plain_) return f(f(a)) * 2.0 + f(a);
        const auto [last, all] = wg::scan(part, a, std::int64_t(2));
        return last + sum(all, {0});
    }
    case 2: {
        if (plain_) return f(a) + f(a * 2.0);
        return sum(wg::vmap(part)(wg::stack({a, a * 2.0}, 0)).second, {0});
    }
    default: {
        const auto [y, pull] = wg::vjp(part, a);
        if (plain_) return wg::vjp(f, a).second(y.first * 2.0);
        return pull(std::pair(y.first, y.second));
    }
    }
}

/// Calls of the host before and after a body, which order what has effects. Outside of loops the host may give a value.
template <class T> Tensor<T> Machine<T>::told(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
{
    static thread_local double heard = 0;
    const auto hear = [](const Tensor<T>& x) {
        heard += x.size() ? static_cast<double>(copy(x).data()[0]) : 1.0;
    };
    const auto tell = [&](const Tensor<T>& x) {
        if (!plain_) wg::host_callback(hear, x);
    };
    if (i.p[0] % 3) tell(a);
    const Tensor<T> y = run_recorded(i.body, {a, b, b});
    if (i.p[0] % 3 < 2) tell(i.p[1] % 2 ? y : b);
    if (recorded_ || i.p[2] % 3) return y;
    const auto half = [](const Tensor<T>& x) { return tanh(x) * 0.5; };
    return y * (plain_ ? half(wg::stop_gradient(y)) : wg::host_callback<T>(y.shape(), half, y));
}

/// Kernels are kept, as programs do; each is used eagerly, in traces, in loops.
template <class T> const auto& kernel_of(const Cell& c)
{
    using Kernel = decltype(wg::kernel(Cell{}));
    static thread_local std::map<std::array<unsigned, 3>, Kernel> known;
    if (known.size() > 300) known.clear();
    const auto at = known.find(c.code);
    return at != known.end() ? at->second : known.emplace(c.code, wg::kernel(c)).first->second;
}

/// A kernel's values beside the same code on plain numbers: a composition may lose digits, one function only few.
template <class T>
void compare_cells(const Cell& c, const Tensor<T>& x, const Tensor<T>& y, const Tensor<T>& made)
{
    const auto p = wg::readable(x.any().value), q = wg::readable(y.any().value),
               z = wg::readable(made.any().value);
    for (std::size_t k = 0; k < z->count && complaint.empty(); ++k) {
        const auto at = [k](const auto& b) {  // the sign of a NaN is nobody's
            const T w = b->template as<T>()[k];
            return w != w ? std::numeric_limits<T>::quiet_NaN() : w;
        };
        const T u = at(p), v = at(q), is = at(z), want = c(u, v);
        const auto kind = [](T w) { return w != w ? 0 : std::isinf(w) ? (w > 0 ? 1 : 2) : 3; };
        const double tolerance = sizeof(T) == 4 ? 1e-4 : 1e-10;
        if (kind(is) == kind(want) &&
            (kind(is) != 3 ||
             std::abs(is - want) <= tolerance * std::abs(want) + std::numeric_limits<T>::min() * 8))
            continue;
        std::ostringstream out;
        out.precision(17);
        out << "kernel of cell(" << c.code[0] << ", " << c.code[1] << ", " << c.code[2] << ") of " << u
            << ", " << v << " gives " << is << ", plain numbers " << want;
        complaint = out.str();
    }
}

template <class T>
Tensor<T> Machine<T>::cell(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b_any) const
{
    const Cell c{i.p};
    const Tensor<T> b = wg::broadcast_to(fitted(b_any, a.shape()), a.shape());
    const bool within = i.x[2] % 3 != 0;
    const Tensor<T> x = within ? tanh(a) * 0.4 + 1.5 : a, y_any = within ? tanh(b) * 0.4 + 0.5 : b;
    // The sign of a NaN is nobody's: compilers and processors choose it, so a number that copies it may have either.
    const Tensor<T> y = c.copies_sign() ? where(y_any == y_any, y_any, Tensor<T>(T(0.5))) : y_any;
    if (!plain_ || x.size() > 60 || !c.is_single())
        return kernel_of<T>(c)(x, y);  // rounding grows in compositions, and jumps
    compare_cells(c, x.detach(), y.detach(), kernel_of<T>(c)(x.detach(), y.detach()));
    const std::vector<wg::Real<T>> us = wg::elements(x), vs = wg::elements(y);
    std::vector<wg::Real<T>> zs;
    for (std::size_t k = 0; k < us.size(); ++k) zs.push_back(c(us[k], vs[k]));
    return zs.empty() ? x : reshape(wg::stack(zs), x.shape());
}

template <class T> Tensor<T> Machine<T>::edges(const Instruction& i, const Tensor<T>& a)
{
    auto e = wg::make_block(wg::dtype_of<T>(), a.shape());
    for (std::size_t k = 0; k < e->count; ++k)
        e->template as<T>()[k] = edge<T>(static_cast<unsigned>(k) * i.p[0] + i.p[1]);
    return where(a > static_cast<double>(i.p[2] % 3) * 0.5, Tensor<T>(wg::AnyTensor{e, {}}), a);
}

/// Products at one row or column, and sums of them.
template <class T>
Tensor<T> Machine<T>::row_products(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
{
    const auto row = [](const Tensor<T>& x) {
        return reshape(
            view(flatten(x), wg::range(std::min<std::int64_t>(static_cast<std::int64_t>(x.size()), 19))),
            {1, -1});
    };
    if (a.size() == 0 || b.size() == 0) return a;
    const Tensor<T> u = row(a), v = row(b), m = matmul(transpose(sin(u)), cos(v));
    switch (i.p[0] % 8) {
    case 0: return matmul(u, m) + matmul(u * 0.5, m * 2.0 + 1.0);
    case 1: return matmul(u, m) + v;
    case 2: return v - matmul(u, m);
    case 3: return matmul(m, transpose(v)) + matmul(m + 1.0, transpose(v * 2.0));
    case 4: return matmul(u, matmul(m, transpose(m))) + u;
    case 5: return matmul(u, m) * 0.5 + matmul(u, m);
    case 6: return tanh(matmul(u, m) + 0.25) + sum(matmul(v, transpose(m)));
    default: return matmul(wg::concatenate({u, u * 2.0}, 0), m) + matmul(wg::concatenate({u, u}, 0), m * 0.5);
    }
}

/// Writes to places that data choose, some of them more than once.
template <class T>
Tensor<T> Machine<T>::scattered(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
{
    const Tensor<T> x = whole(a);
    if (x.size() == 0) return x;
    const std::int64_t n = x.shape()[0], axis = axis_of(i.p[1], x);
    const Whole at = positions(x, i, b);
    switch (i.p[2] % 6) {
    case 0: return scatter_add(scatter_add(x, at, take(x, at, 0), 0), at, take(x * -0.5, at, 0), 0);
    case 1: return put_along_axis(x, below(x * 1.5, x.size(axis)), x * 0.5, axis);
    case 2: return segment_sum(x, below(flatten(take(reshape(x, {n, -1}), Whole(0), 1)), 3), 3);
    case 3: return take_along_axis(x, below(x, x.size(axis)), axis);
    case 4: {
        Tensor<T> y = x + 0.0;
        view(y, wg::range(0, n / 2 + 1), wg::ellipsis()) +=
            view(std::as_const(x), wg::range(n - n / 2 - 1, n), wg::ellipsis());
        view(y, wg::range(n / 2, n), wg::ellipsis()) *= 0.5;
        return y;
    }
    default: return take(scatter_add(wg::zeros<T>(x.shape()), at, take(x, at, 0), 0), at, 0);
    }
}

/// Whole numbers and truth values.
template <class T> Tensor<T> Machine<T>::counted(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
{
    const Tensor<T> c = beside(b, a);
    const Whole n = wg::cast<std::int64_t>(wg::clip(where(a == a, a, Tensor<T>(T(0))) * 4.0, -50.0, 50.0));
    const wg::Tensor<bool> yes = relation(a, c, i.p[0]);
    switch (i.p[1] % 7) {
    case 0: return wg::cast<T>(sum(n)) * 0.125;
    case 1: return n.dimension() ? wg::cast<T>(cumsum(n, axis_of(i.p[2], a))) * 0.125 : wg::cast<T>(-n);
    case 2: return wg::cast<T>(sum(wg::cast<std::int32_t>(yes)));
    case 3: return wg::cast<T>(where(yes, n + std::int64_t(1), n * std::int64_t(2)));
    case 4: return wg::cast<T>(yes != (a > 0.0)) * a;
    case 5: return n.size() && n.dimension() ? wg::cast<T>(amax(n, axes_of(i.p[2] | 1, a), true)) + a : a;
    default: return a * wg::cast<T>(n) + wg::cast<T>(n > std::int64_t(2));
    }
}

template <class T> Tensor<T> Machine<T>::newer(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
{
    switch (i.op) {
    case Op::equal_branches: return equal_branches(i, a, b);
    case Op::twin_loops: return twin_loops(i, a, b);
    case Op::complete_scan: return complete_scan(i, a, b);
    case Op::sliced_scan: return sliced_scan(i, a, b);
    case Op::checkpointed_control: return checkpointed_control(i, a, b);
    case Op::pulled: return pulled(i, a, b);
    case Op::told: return told(i, a, b);
    case Op::shown: return shown(i, a, b);
    case Op::cell: return cell(i, a, b);
    case Op::edges: return edges(i, a);
    case Op::row_products: return row_products(i, a, b);
    case Op::scattered: return scattered(i, a, b);
    default: return counted(i, a, b);
    }
}

}  // namespace random_programs
