// Pearlmutter's R-operator by hand (1994, "Fast exact multiplication by the Hessian"): every line of the
// forward and reverse sweep beside its derivative along the tangent.

#include <memory>

#include "mlp_floor.hpp"

namespace bench {
namespace {

struct MlpTangents {
    MlpFloor f;
    MlpWeights v, hv;
    Buffer<float> r1, r2, rz, rg1, rg2, rgz;

    MlpTangents()
        : f(64), v(MlpTangent()), hv(f.p), r1(f.h1.size()), r2(f.h1.size()), rz(f.z.size()), rg1(r1), rg2(r1),
          rgz(rz)
    {}

    /// y += rx w, where w has n columns
    void add_product(const Buffer<float>& rx, const Buffer<float>& w, std::size_t n, Buffer<float>& y)
    {
        gemm(false, false, f.p.batch, n, w.size() / n, 1, rx.data(), w.data(), 1, y.data());
    }

    /// The loss and its derivative along v.
    std::pair<float, float> jvp()
    {
        const std::size_t batch = f.p.batch;
        affine(batch, f.x, f.w.w1, f.w.b1, f.h1), relu(f.h1);
        affine(batch, f.x, v.w1, v.b1, r1), mask(f.h1, r1);
        affine(batch, f.h1, f.w.w2, f.w.b2, f.h2), relu(f.h2);
        affine(batch, f.h1, v.w2, v.b2, r2), add_product(r1, f.w.w2, Mlp::hidden, r2), mask(f.h2, r2);
        affine(batch, f.h2, f.w.w3, f.w.b3, f.z);
        affine(batch, f.h2, v.w3, v.b3, rz), add_product(r2, f.w.w3, Mlp::out, rz);
        const float loss = softmax_cross_entropy(f.p, f.z);
        f.logits_back();
        float dot = 0;
        for (std::size_t i = 0; i < rz.size(); ++i) dot += f.gz[i] * rz[i];
        return {loss, dot};
    }

    /// rgz = (diag p - p pᵀ) rz / batch
    void softmax_tangent()
    {
        for (std::size_t i = 0; i < f.p.batch; ++i) {
            const float *p = &f.z[i * Mlp::out], *r = &rz[i * Mlp::out];
            float dot = 0;
            for (std::size_t j = 0; j < Mlp::out; ++j) dot += p[j] * r[j];
            for (std::size_t j = 0; j < Mlp::out; ++j)
                rgz[i * Mlp::out + j] = p[j] * (r[j] - dot) / static_cast<float>(f.p.batch);
        }
    }

    /// rgx = rg wᵀ + g vwᵀ
    void back_tangent(std::size_t n, const Buffer<float>& rg, const Buffer<float>& w, const Buffer<float>& g,
                      const Buffer<float>& vw, Buffer<float>& rgx)
    {
        affine_back(f.p.batch, n, rg, w, rgx);
        gemm(false, true, f.p.batch, w.size() / n, n, 1, g.data(), vw.data(), 1, rgx.data());
    }

    /// Hessian times v; the gradient itself comes along except for its matrix products with the inputs.
    float hvp()
    {
        const std::size_t batch = f.p.batch;
        const float loss = jvp().first;
        f.hidden_back(), softmax_tangent();
        back_tangent(Mlp::out, rgz, f.w.w3, f.gz, v.w3, rg2), mask(f.h2, rg2);
        back_tangent(Mlp::hidden, rg2, f.w.w2, f.g2, v.w2, rg1), mask(f.h1, rg1);
        outer(batch, 1, f.x, rg1, 0, hv.w1), column_sums(batch, 1, rg1, 0, hv.b1);
        outer(batch, 1, f.h1, rg2, 0, hv.w2), outer(batch, 1, r1, f.g2, 1, hv.w2),
            column_sums(batch, 1, rg2, 0, hv.b2);
        outer(batch, 1, f.h2, rgz, 0, hv.w3), outer(batch, 1, r2, f.gz, 1, hv.w3),
            column_sums(batch, 1, rgz, 0, hv.b3);
        return loss;
    }
};

Results hvp_results(MlpTangents& t)
{
    t.hvp();
    return flat(t.hv);
}

Results gradient_results(MlpTangents& t)
{
    Results out = {{t.f.gradient()}};
    for (auto& g : flat(t.f.g)) out.push_back(g);
    return out;
}

Results jvp_results(MlpTangents& t)
{
    const auto [loss, dot] = t.jvp();
    return {{loss}, {dot}};
}

Results primal_results(MlpTangents& t) { return {{t.f.forward()}}; }

template <class Run>
Entry entry(const std::string& workload, const std::string& variant, Run run,
            Results (*results)(MlpTangents&))
{
    const auto make = [=] {
        auto t = std::make_shared<MlpTangents>();
        return Case{[=] { run(*t); }, [=] { return results(*t); }};
    };
    return {workload, variant, "floor", make, 1e-4};
}

const bool added = add(entry(
                       "hvp", "hvp", [](MlpTangents& t) { t.hvp(); }, hvp_results)) &&
                   add(entry(
                       "hvp", "gradient", [](MlpTangents& t) { t.f.gradient(); }, gradient_results)) &&
                   add(entry(
                       "jvp", "jvp", [](MlpTangents& t) { t.jvp(); }, jvp_results)) &&
                   add(entry(
                       "jvp", "primal", [](MlpTangents& t) { t.f.forward(); }, primal_results));

}  // namespace
}  // namespace bench
