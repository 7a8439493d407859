// Every workload in libtorch's own idiom, one plugin (see main.cpp): its headers take longest to compile.

#include <ATen/Parallel.h>
#include <torch/autograd.h>
#include <torch/csrc/autograd/forward_grad.h>
#include <torch/types.h>

#include <memory>

#include "../models/instances.hpp"
#include "problems.hpp"

namespace bench {
namespace {

using torch::Tensor;
using Tensors = std::vector<Tensor>;

template <class T> Tensor constant(const std::vector<T>& v, torch::IntArrayRef shape)
{
    return torch::tensor(v, torch::TensorOptions(torch::CppTypeToScalarType<T>::value)).reshape(shape);
}

template <class T> Tensor leaf(const std::vector<T>& v, torch::IntArrayRef shape)
{
    return constant(v, shape).requires_grad_(true);
}

std::vector<double> doubles(const Tensor& t)
{
    const Tensor c = t.detach().to(torch::kDouble).contiguous();
    return {c.data_ptr<double>(), c.data_ptr<double>() + c.numel()};
}

/// Value and gradients of loss() with respect to `leaves`.
Case differentiate(Tensors leaves, std::function<Tensor()> loss)
{
    const auto once = [=] {
        const Tensor value = loss();
        Tensors out = torch::autograd::grad({value}, leaves);
        out.insert(out.begin(), value);
        return out;
    };
    return {[=] { once(); },
            [=] {
                Results r;
                for (const Tensor& t : once()) r.push_back(doubles(t));
                return r;
            }};
}

Case small_op(std::size_t n)
{
    const SmallOp p(n);
    const auto size = static_cast<std::int64_t>(n);
    const Tensor x = constant(p.h, {size}), a = leaf(p.a, {size}), b = leaf(p.b, {size});
    return differentiate({a, b}, [=] {
        Tensor h = x;
        for (int op = 0; op < SmallOp::operations; ++op)
            h = op % 3 == 0 ? h * a : op % 3 == 1 ? h + b : torch::tanh(h);
        return h.sum();
    });
}

template <class T> Case elementwise(std::size_t n)
{
    const Elementwise<T> p(n);
    const auto size = static_cast<std::int64_t>(n);
    const Tensor x = leaf(p.x, {size}), w = leaf(p.w, {size}), b = leaf(p.b, {size});
    return differentiate({x, w, b},
                         [=] { return (torch::tanh(x * w + b) * torch::sigmoid(x) + x * x).sum(); });
}

Case cheap(std::size_t n)
{
    const Cheap p(n);
    const Tensor a = constant(p.a, {-1}), b = constant(p.b, {-1}), c = constant(p.c, {-1}),
                 d = constant(p.d, {-1});
    const auto once = [=] {
        torch::NoGradGuard off;
        return Cheap::outputs(a, b, c, d, [](const Tensor& x, const Tensor& y, const Tensor& z) {
            return torch::addcmul(z, x, y);
        });
    };
    return {[=] { once(); },
            [=] {
                const auto [u, v] = once();
                return Results{doubles(u), doubles(v)};
            }};
}

/// Both positions in one tensor, both velocities in another: fewer operations to record.
Case scan(std::size_t steps)
{
    const Scan p;
    const Tensor start = leaf(p.state, {4}), parameters = leaf(p.parameters, {4});
    return differentiate({start, parameters}, [=] {
        const Tensors w = parameters.unbind(0);
        Tensor q = start.narrow(0, 0, 2), v = start.narrow(0, 2, 2);
        for (std::size_t s = 0; s < steps; ++s) {
            const Tensor pull = w[2] * (q - q.flip(0));
            v = v - Scan::dt * ((w[0] + w[1] * (q * q)) * q + w[3] * v + pull);
            q = q + Scan::dt * v;
        }
        return (q * q).sum() + (v * v).sum();
    });
}

struct Net {
    Tensor x, labels;
    Tensors w;

    explicit Net(const Mlp& p)
    {
        x = constant(p.x, {-1, Mlp::in}), labels = constant(p.labels, {-1});
        w = parameters(p);
        for (Tensor& t : w) t.requires_grad_(true);
    }

    template <class Source> static Tensors parameters(const Source& s)
    {
        return {constant(s.w1, {Mlp::in, Mlp::hidden}),     constant(s.b1, {Mlp::hidden}),
                constant(s.w2, {Mlp::hidden, Mlp::hidden}), constant(s.b2, {Mlp::hidden}),
                constant(s.w3, {Mlp::hidden, Mlp::out}),    constant(s.b3, {Mlp::out})};
    }

    Tensor loss(const Tensors& v) const
    {
        const Tensor h1 = torch::relu(torch::addmm(v[1], x, v[0]));
        const Tensor h2 = torch::relu(torch::addmm(v[3], h1, v[2]));
        return at::cross_entropy_loss(torch::addmm(v[5], h2, v[4]), labels);
    }

    Tensor step(float rate)
    {
        const Tensor value = loss(w);
        const Tensors g = torch::autograd::grad({value}, w);
        torch::NoGradGuard off;
        for (std::size_t i = 0; i < w.size(); ++i) w[i].add_(g[i], -rate);
        return value;
    }
};

Results mlp_once(const Mlp& p)
{
    Net net(p);
    Results r = {doubles(net.step(1))};
    for (const Tensor& t : net.w) r.push_back(doubles(t));
    return r;
}

Case mlp(std::size_t batch)
{
    const Mlp p(batch);
    auto net = std::make_shared<Net>(p);
    return {[=] { net->step(0.01f); }, [=] { return mlp_once(p); }};
}

Results all(const Tensors& tensors)
{
    Results r;
    for (const Tensor& t : tensors) r.push_back(doubles(t));
    return r;
}

Case hvp()
{
    const Net net{Mlp(64)};
    const Tensors v = Net::parameters(MlpTangent());
    const auto once = [=] {
        const Tensors g = torch::autograd::grad({net.loss(net.w)}, net.w, {}, true, true);
        return torch::autograd::grad(g, net.w, v, false, false, true);
    };
    return {[=] { once(); }, [=] { return all(once()); }};
}

Case gradient()
{
    const Net net{Mlp(64)};
    return differentiate(net.w, [=] { return net.loss(net.w); });
}

Case jvp()
{
    const Net net{Mlp(64)};
    const Tensors v = Net::parameters(MlpTangent());
    const auto once = [=]() -> Tensors {
        torch::NoGradGuard off;
        const std::uint64_t level = torch::autograd::ForwardADLevel::get_next_idx();
        Tensors dual;
        for (std::size_t i = 0; i < v.size(); ++i)
            dual.push_back(at::_make_dual(net.w[i].detach(), v[i], static_cast<std::int64_t>(level)));
        const auto [value, tangent] = at::_unpack_dual(net.loss(dual), static_cast<std::int64_t>(level));
        Tensors out = {value.clone(), tangent.clone()};
        torch::autograd::ForwardADLevel::release_idx(level);
        return out;
    };
    return {[=] { once(); }, [=] { return all(once()); }};
}

Case primal()
{
    const Net net{Mlp(64)};
    const auto once = [=]() -> Tensors {
        torch::NoGradGuard off;
        return {net.loss(net.w)};
    };
    return {[=] { once(); }, [=] { return all(once()); }};
}

Case rk4(std::size_t batch)
{
    const Rk4 p(batch);
    const Tensors w = {leaf(p.y, {-1, 2}),
                       leaf(p.w1, {2, Rk4::hidden}),
                       leaf(p.b1, {Rk4::hidden}),
                       leaf(p.w2, {Rk4::hidden, Rk4::hidden}),
                       leaf(p.b2, {Rk4::hidden}),
                       leaf(p.w3, {Rk4::hidden, 2}),
                       leaf(p.b3, {2})};
    const auto f = [=](const Tensor& y) {
        return torch::addmm(
            w[6], torch::tanh(torch::addmm(w[4], torch::tanh(torch::addmm(w[2], y, w[1])), w[3])), w[5]);
    };
    return differentiate(w, [=] {
        const float dt = Rk4::dt;
        Tensor y = w[0];
        for (int s = 0; s < Rk4::steps; ++s) {
            const Tensor k1 = f(y), k2 = f(y + dt / 2 * k1), k3 = f(y + dt / 2 * k2), k4 = f(y + dt * k3);
            y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
        }
        return (y * y).sum();
    });
}

Case heat()
{
    const std::int64_t n = Heat::n, m = n - 2;
    const Tensor start = leaf(Heat().u, {n, n});
    return differentiate({start}, [=] {
        const auto at = [=](const Tensor& u, std::int64_t i, std::int64_t j) {
            return u.narrow(0, i, m).narrow(1, j, m);
        };
        Tensor u = start.clone();
        for (int s = 0; s < Heat::steps; ++s) {
            const Tensor around = at(u, 0, 1) + at(u, 2, 1) + at(u, 1, 0) + at(u, 1, 2) - 4 * at(u, 1, 1);
            at(u, 1, 1).add_(around, Heat::k);
        }
        return (u * u).sum();
    });
}

Case attention()
{
    constexpr std::int64_t L = Attention::length, W = Attention::width, H = Attention::heads,
                           D = Attention::head;
    const Attention p;
    const Tensors w = {leaf(p.x, {L, W}),  leaf(p.gain, {W}),  leaf(p.bias, {W}), leaf(p.wq, {W, W}),
                       leaf(p.wk, {W, W}), leaf(p.wv, {W, W}), leaf(p.wo, {W, W})};
    return differentiate(w, [=] {
        const auto heads = [](const Tensor& t) { return t.reshape({L, H, D}).transpose(0, 1); };
        const Tensor n = torch::layer_norm(w[0], {W}, w[1], w[2], Attention::epsilon);
        const Tensor q = heads(n.matmul(w[3])), k = heads(n.matmul(w[4])), v = heads(n.matmul(w[5]));
        const Tensor a = torch::softmax(q.matmul(k.transpose(1, 2)) * 0.25, -1);
        const Tensor y = w[0] + a.matmul(v).transpose(0, 1).reshape({L, W}).matmul(w[6]);
        return (y * y).sum();
    });
}

/// Value and the gradients of several leaves as one vector, as in ADBench's files.
Case joined(Tensors leaves, std::function<Tensor()> loss)
{
    const Case one = differentiate(std::move(leaves), std::move(loss));
    return {one.run, [=] {
                const Results r = one.results();
                Results out = {r[0], {}};
                for (std::size_t i = 1; i < r.size(); ++i)
                    out[1].insert(out[1].end(), r[i].begin(), r[i].end());
                return out;
            }};
}

Case gmm()
{
    const GmmInstance g = read_gmm(instance("gmm_d10_K25.txt"));
    const auto d = static_cast<std::int64_t>(g.d), K = static_cast<std::int64_t>(g.K),
               n = static_cast<std::int64_t>(g.n);
    const Tensor alpha = leaf(g.alpha, {K}), mu = leaf(g.mu, {K, d}), icf = leaf(g.icf, {K, -1}),
                 x = constant(g.x, {n, d});
    std::vector<std::int64_t> order;  // the strict lower triangle, column by column
    for (std::int64_t j = 0; j < d; ++j)
        for (std::int64_t i = j + 1; i < d; ++i) order.push_back(i * d + j);
    const Tensor place = constant(order, {-1});
    const double offset = gmm_constant(g);
    return joined({alpha, mu, icf}, [=] {
        const Tensor q = icf.narrow(1, 0, d), diagonal = q.exp(), lower = icf.narrow(1, d, d * (d - 1) / 2);
        const Tensor strict =
            torch::zeros({K, d * d}, x.options()).index_copy(1, place, lower).reshape({K, d, d});
        const Tensor Q = strict + torch::diag_embed(diagonal);
        const Tensor rows = torch::matmul(x.unsqueeze(0) - mu.unsqueeze(1), Q.transpose(1, 2));  // (K, n, d)
        const Tensor sum_q = q.sum(1), term = (alpha + sum_q).unsqueeze(1) - 0.5 * rows.square().sum(2);
        const Tensor prior =
            0.5 * g.gamma * g.gamma * (diagonal.square().sum() + lower.square().sum()) - g.m * sum_q.sum();
        return term.logsumexp(0).sum() - static_cast<double>(n) * alpha.logsumexp(0) + prior + offset;
    });
}

Case lstm()
{
    const LstmInstance l = read_lstm(instance("lstm_l2_c1024.txt"));
    const auto layers = static_cast<std::int64_t>(l.layers), chars = static_cast<std::int64_t>(l.chars),
               bits = static_cast<std::int64_t>(l.bits);
    const Tensor main = leaf(l.main, {layers, 8, bits}), extra = leaf(l.extra, {3, bits});
    const Tensor state = constant(l.state, {layers, 2, bits}), x = constant(l.sequence, {chars, bits});
    return joined({main, extra}, [=] {
        Tensor a = x.narrow(0, 0, chars - 1) * extra[0];
        for (std::int64_t k = 0; k < layers;
             ++k) {  // what does not depend on h is computed for the whole sequence
            const Tensors w = main[k].unbind(0);
            const Tensors f = torch::sigmoid(a * w[0] + w[4]).unbind(0),
                          o = torch::sigmoid(a * w[2] + w[6]).unbind(0);
            Tensor h = state[k][0], c = state[k][1];
            Tensors hs;
            for (std::size_t t = 0; t < f.size(); ++t) {
                c = c * f[t] + torch::sigmoid(h * w[1] + w[5]) * torch::tanh(h * w[3] + w[7]);
                h = o[t] * torch::tanh(c);
                hs.push_back(h);
            }
            a = torch::stack(hs);
        }
        const Tensor y = a * extra[1] + extra[2], norm = torch::log(2 + y.exp().sum(1, true));
        return -(x.narrow(0, 1, chars - 1) * (y - norm)).sum() / static_cast<double>((chars - 1) * bits);
    });
}

template <class Make>
void put(Registry& r, const std::string& workload, const std::string& variant, Make make, double tolerance,
         const std::string& per = "iteration", double parts = 1)
{
    r.push_back({workload, variant, "libtorch", make, tolerance, per, parts});
}

template <class T> void put_elementwise(Registry& r, const std::string& type, double tolerance)
{
    for (std::size_t n = 1000; n <= 10000000; n *= 10)
        put(
            r, "elementwise", type + '/' + std::to_string(n), [n] { return elementwise<T>(n); }, tolerance);
}

}  // namespace
}  // namespace bench

extern "C" __attribute__((visibility("default"))) void bench_register(bench::Registry& r)
{
    using namespace bench;
    at::set_num_threads(1);
    at::set_num_interop_threads(1);
    for (std::size_t n : {1, 8, 64})
        put(
            r, "small_op", "n=" + std::to_string(n), [n] { return small_op(n); }, 1e-9, "operation",
            SmallOp::operations);
    put_elementwise<float>(r, "f32", 1e-5), put_elementwise<double>(r, "f64", 1e-9);
    for (std::size_t b : {64, 1})
        put(
            r, "mlp", "batch=" + std::to_string(b), [b] { return mlp(b); }, 1e-4, "step");
    for (std::size_t b : {1, 32})
        put(
            r, "rk4", "batch=" + std::to_string(b), [b] { return rk4(b); }, 1e-3);
    put(r, "heat", "256x256", heat, 1e-4), put(r, "attention", "128x64", attention, 1e-3);
    put(r, "gmm", "d10_K25", gmm, 1e-10), put(r, "lstm", "l2_c1024", lstm, 1e-10);
    put(r, "hvp", "hvp", hvp, 1e-3), put(r, "hvp", "gradient", gradient, 1e-3);
    for (std::size_t n : {1000, 8000, 100000, 1000000, 10000000})
        put(
            r, "cheap", "f32/" + std::to_string(n), [n] { return cheap(n); }, 1e-6);
    put(
        r, "scan", "steps=10000", [] { return scan(10000); }, 1e-6);
    put(r, "jvp", "jvp", jvp, 1e-3), put(r, "jvp", "primal", primal, 1e-4);
}
