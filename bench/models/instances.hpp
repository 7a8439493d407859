#pragma once

// ADBench's instance files, the files of expected values, and both objectives in plain loops on doubles.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

struct GmmInstance {
    std::size_t d = 0, K = 0, n = 0;
    std::vector<double> alpha, mu, icf, x;  // (K), (K, d), (K, d(d+1)/2), (n, d)
    double gamma = 0, m = 0;

    std::size_t icf_width() const { return d * (d + 1) / 2; }
};

struct LstmInstance {
    std::size_t layers = 0, chars = 0, bits = 0;
    std::vector<double> main, extra, state,
        sequence;  // (layers, 8, bits), (3, bits), (layers, 2, bits), (chars, bits)
};

/// Objective first, then the gradient in the file's parameter order.
using Derivative = std::vector<double>;

inline std::vector<double> read_numbers(std::istream& in, std::size_t count, const std::string& path)
{
    std::vector<double> out(count);
    for (double& v : out)
        if (!(in >> v)) throw std::runtime_error(path + ": too few numbers");
    return out;
}

inline std::ifstream open(const std::string& path)
{
    std::ifstream in(path);
    if (!in) throw std::runtime_error(path + ": cannot be read");
    return in;
}

inline GmmInstance read_gmm(const std::string& path)
{
    std::ifstream in = open(path);
    GmmInstance g;
    if (!(in >> g.d >> g.K >> g.n)) throw std::runtime_error(path + ": expected `d K n`");
    g.alpha = read_numbers(in, g.K, path);
    g.mu = read_numbers(in, g.K * g.d, path);
    g.icf = read_numbers(in, g.K * g.icf_width(), path);
    g.x = read_numbers(in, g.n * g.d, path);
    const std::vector<double> wishart = read_numbers(in, 2, path);
    g.gamma = wishart[0], g.m = wishart[1];
    return g;
}

inline LstmInstance read_lstm(const std::string& path)
{
    std::ifstream in = open(path);
    LstmInstance l;
    if (!(in >> l.layers >> l.chars >> l.bits))
        throw std::runtime_error(path + ": expected `layers chars bits`");
    l.main = read_numbers(in, l.layers * 8 * l.bits, path);
    l.extra = read_numbers(in, 3 * l.bits, path);
    l.state = read_numbers(in, l.layers * 2 * l.bits, path);
    l.sequence = read_numbers(in, l.chars * l.bits, path);
    return l;
}

inline Derivative read_expected(const std::string& path)
{
    std::ifstream in = open(path);
    std::string comment;
    std::getline(in, comment);
    Derivative out;
    for (double v; in >> v;) out.push_back(v);
    return out;
}

/// The two instances that come with the project.
inline std::string instance(const std::string& name)
{
    return (std::filesystem::path(__FILE__).parent_path().parent_path() / "data" / "adbench" / name).string();
}

/// W − n d/2 · log 2π: what does not depend on the data. `W` is the Wishart prior without its parameter
/// terms.
inline double gmm_constant(const GmmInstance& g)
{
    const double pi = std::acos(-1.0), d = static_cast<double>(g.d), nu = d + g.m + 1;
    double log_gamma = d * (d - 1) / 4 * std::log(pi);
    for (double j = 1; j <= d; ++j) log_gamma += std::lgamma(nu / 2 + (1 - j) / 2);
    const double c = nu * d * (std::log(g.gamma) - 0.5 * std::log(2.0)) - log_gamma;
    return -static_cast<double>(g.n) * d / 2 * std::log(2 * pi) - static_cast<double>(g.K) * c;
}

inline double logsumexp(const double* v, std::size_t n)
{
    const double top = *std::max_element(v, v + n);
    double total = 0;
    for (std::size_t i = 0; i < n; ++i) total += std::exp(v[i] - top);
    return top + std::log(total);
}

/// ‖Q (x − μ)‖², Q lower triangular: its diagonal, and its strict lower part column by column.
inline double gmm_distance(std::size_t d, const double* diagonal, const double* lower, const double* centred,
                           double* row)
{
    for (std::size_t i = 0; i < d; ++i) row[i] = diagonal[i] * centred[i];
    for (std::size_t j = 0; j < d; ++j)
        for (std::size_t i = j + 1; i < d; ++i) row[i] += *lower++ * centred[j];
    double total = 0;
    for (std::size_t i = 0; i < d; ++i) total += row[i] * row[i];
    return total;
}

inline double plain_gmm(const GmmInstance& g)
{
    const std::size_t d = g.d, K = g.K, w = g.icf_width();
    std::vector<double> diagonal(K * d), sum_q(K), term(K), centred(d), row(d);
    double prior = 0;
    for (std::size_t k = 0; k < K; ++k) {
        double squares = 0;
        for (std::size_t i = 0; i < w; ++i) {
            const double v = g.icf[k * w + i], e = i < d ? std::exp(v) : v;
            if (i < d) sum_q[k] += v, diagonal[k * d + i] = e;
            squares += e * e;
        }
        prior += 0.5 * g.gamma * g.gamma * squares - g.m * sum_q[k];
    }
    double total = 0;
    for (std::size_t i = 0; i < g.n; ++i) {
        for (std::size_t k = 0; k < K; ++k) {
            for (std::size_t j = 0; j < d; ++j) centred[j] = g.x[i * d + j] - g.mu[k * d + j];
            const double* lower = &g.icf[k * w] + d;
            term[k] = g.alpha[k] + sum_q[k] -
                      0.5 * gmm_distance(d, &diagonal[k * d], lower, centred.data(), row.data());
        }
        total += logsumexp(term.data(), K);
    }
    return gmm_constant(g) + total - static_cast<double>(g.n) * logsumexp(g.alpha.data(), K) + prior;
}

inline double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

/// One layer of one step: `w` holds four weights and four biases of `b` each; c and h are updated, a is the
/// input.
inline void plain_lstm_layer(std::size_t b, const double* w, double* h, double* c, const double* a)
{
    for (std::size_t j = 0; j < b; ++j) {
        const double forget = sigmoid_of(a[j] * w[j] + w[4 * b + j]),
                     in = sigmoid_of(h[j] * w[b + j] + w[5 * b + j]);
        const double out = sigmoid_of(a[j] * w[2 * b + j] + w[6 * b + j]);
        const double change = std::tanh(h[j] * w[3 * b + j] + w[7 * b + j]);
        c[j] = c[j] * forget + in * change;
        h[j] = out * std::tanh(c[j]);
    }
}

inline double plain_lstm(const LstmInstance& l)
{
    const std::size_t b = l.bits;
    std::vector<double> state = l.state, first(b), y(b);
    double total = 0;
    for (std::size_t t = 0; t + 1 < l.chars; ++t) {
        for (std::size_t j = 0; j < b; ++j) first[j] = l.sequence[t * b + j] * l.extra[j];
        const double* a = first.data();
        for (std::size_t k = 0; k < l.layers; ++k) {
            double* h = &state[k * 2 * b];
            plain_lstm_layer(b, &l.main[k * 8 * b], h, h + b, a);
            a = h;
        }
        double norm = 2;
        for (std::size_t j = 0; j < b; ++j)
            y[j] = a[j] * l.extra[b + j] + l.extra[2 * b + j], norm += std::exp(y[j]);
        norm = std::log(norm);
        for (std::size_t j = 0; j < b; ++j) total += l.sequence[(t + 1) * b + j] * (y[j] - norm);
    }
    return -total / static_cast<double>((l.chars - 1) * b);
}

}  // namespace bench
