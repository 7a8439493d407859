// The programs of look_graphs.hpp, traced. In a source of its own: they instantiate nearly every rule of the library.
#include "graph/look/look_graphs.hpp"

namespace look {

namespace {

template <class T> void add_reductions(std::vector<Named>& out)
{
    const Many<T> x{numbers<T>({2, 3, 4})};
    const auto add = [&](const char* name, auto f) { out.push_back({name, with_gradients<T>(f, x)}); };
    add("sum", [](const Many<T>& v) { return wg::sum(v[0], {0, 2}, true); });
    add("mean", [](const Many<T>& v) { return wg::mean(v[0], {1}); });
    add("prod", [](const Many<T>& v) { return wg::prod(v[0], {1}); });
    add("amax", [](const Many<T>& v) { return wg::amax(v[0], {1}) + wg::amin(v[0], {1}); });
    add("var", [](const Many<T>& v) { return wg::var(v[0], {0, 1}, 1, true) + wg::stddev(v[0]); });
    add("norm", [](const Many<T>& v) { return wg::norm(v[0], {2}) + wg::norm(v[0]); });
    add("logsumexp", [](const Many<T>& v) { return wg::logsumexp(v[0], {0}); });
    add("softmax", [](const Many<T>& v) { return wg::softmax(v[0]) + wg::log_softmax(v[0], 0); });
}

template <class T> void add_shapes(std::vector<Named>& out)
{
    const Many<T> x{numbers<T>({3, 4}), numbers<T>({3, 4}, 1.2)};
    const auto add = [&](const char* name, auto f) { out.push_back({name, with_gradients<T>(f, x)}); };
    add("reshape", [](const Many<T>& v) { return wg::reshape(v[0], {2, 6}) * T(2); });
    add("transpose", [](const Many<T>& v) { return wg::transpose(v[0]) * wg::transpose(v[1]); });
    add("dims", [](const Many<T>& v) { return wg::squeeze(wg::expand_dims(v[0], 1) * T(3), wg::Axes{1}); });
    add("view", [](const Many<T>& v) {
        return wg::view(v[0], 1, wg::range(0, 4, 2)) + wg::view(v[0], wg::range(0, 2), 3) +
               wg::view(v[0], 0, wg::range(1, 3));
    });
    add("split", [](const Many<T>& v) {
        const auto parts = wg::split(v[0], 2, 1);
        return parts[0] * parts[1];
    });
    add("joined", [](const Many<T>& v) { return wg::concatenate({v[0], v[1], v[0]}, 1); });
    add("stack", [](const Many<T>& v) { return wg::stack({v[0], v[1]}, 2); });
    add("pad", [](const Many<T>& v) { return wg::pad(v[0], {{1, 0}, {0, 2}}, 0.1); });
    add("moves", [](const Many<T>& v) {
        const auto around = wg::pad(v[0], {{1, 0}, {2, 3}}, wg::PadMode::reflect);
        return wg::sum(wg::sliding_window(around, 2, 1), {0, 2}) + wg::sum(wg::diff(wg::repeat(v[1], 3, 1))) +
               wg::sum(wg::roll(v[0], {1, -2}, {0, 1}) * wg::flip(v[1]));
    });
}

/// Elements by their places, writes, products.
template <class T> void add_places(std::vector<Named>& out)
{
    const Many<T> x{numbers<T>({3, 4}), numbers<T>({3, 4}, 1.2)};
    const auto add = [&](const char* name, auto f) { out.push_back({name, with_gradients<T>(f, x)}); };
    add("scans", [](const Many<T>& v) {
        return wg::cumsum(v[0], 1, true) * wg::cumprod(v[1], 0) + wg::cummax(v[0], 1);
    });
    const auto places = wg::reshape(wg::Indices{0, 2, 1, 0, 3, 1}, {3, 2});
    add("along", [=](const Many<T>& v) {
        const auto put = wg::put_along_axis(v[0], places, wg::take_along_axis(v[1], places, 1), 1);
        return put * wg::segment_sum(v[1], wg::Indices{1, 1, 0}, 2)(1);
    });
    add("triangles", [](const Many<T>& v) { return wg::tril(v[0], -1) + wg::triu(v[1]); });
    add("diagonal",
        [](const Many<T>& v) { return wg::diagonal(v[0]) * wg::diagonal(v[1]) + wg::diagonal(v[0]); });
    add("element", [](const Many<T>& v) { return v[0](1, 2) * v[0](0, 0) + v[1](2, 3); });
    add("copy", [](const Many<T>& v) { return wg::copy(v[0]) * v[1]; });
    add("writes", [](const Many<T>& v) {
        Tensor<T> y = v[0] * T(2);
        wg::view(y, 1, wg::range(0, 2)) = wg::view(v[1], 2, wg::range(1, 3));
        wg::view(y, wg::range(0, 2)) += v[1](0);
        wg::view(y, wg::range(1, 3), 2) -= T(0.5);
        return y;
    });
    add("matmul", [](const Many<T>& v) {
        const auto w = wg::transpose(v[1]);
        return wg::matmul(wg::matmul(v[0], w), wg::matmul(v[0], w)) + wg::matmul(v[0], w);
    });
    add("vectors", [](const Many<T>& v) { return wg::matmul(v[0], v[1](0)) * wg::dot(v[0](1), v[1](2)); });
    const auto index = wg::Indices{2, 0, 2};
    add("take", [=](const Many<T>& v) {
        return wg::take(v[0], index, 0) * wg::take(v[0], index, 1, {})(0, 0) + wg::take(v[0], index, 0);
    });
    add("scatter", [=](const Many<T>& v) { return wg::scatter_add(v[0], index, v[1], 0); });
    add("losses", [=](const Many<T>& v) { return wg::cross_entropy(v[0], index) + wg::mse(v[0], v[1]); });
    add("where", [](const Many<T>& v) {
        return wg::where(v[0] > v[1], wg::exp(v[0]),
                         wg::log(v[1]) + wg::pow(v[0], T(2)) + wg::hypot(v[0], v[1]));
    });
    add("cast", [](const Many<T>& v) {
        return wg::cast<T>(wg::cast<float>(v[0])) * wg::cast<T>(wg::cast<double>(v[1]));
    });
}

/// Gradients of gradients, and what passes make.
template <class T> void add_second(std::vector<Named>& out)
{
    const auto add = [&](const char* name, auto f) {
        const auto gradient = [f](const Many<T>& v) {
            return wg::grad([f](const Tensor<T>& x) { return wg::sum(wg::square(f(x))); })(v[0]);
        };
        out.push_back({name, with_gradients<T>(gradient, {numbers<T>({3, 4})})});
    };
    add("softmax twice", [](const Tensor<T>& x) { return wg::softmax(x) * wg::log_softmax(x); });
    add("prod twice", [](const Tensor<T>& x) { return wg::prod(x, {0}); });
    add("cross_entropy twice", [](const Tensor<T>& x) { return wg::cross_entropy(x, wg::Indices{1, 0, 3}); });
    add("moves twice", [](const Tensor<T>& x) {
        const auto y = wg::pad(wg::roll(wg::flip(x), 1, 0), {{1, 1}, {1, 2}}, wg::PadMode::wrap);
        const auto z = wg::diff(wg::cumsum(wg::repeat(y, 2, 1), 0));
        return wg::sliding_window(z * z, 2, 1) * wg::sum(wg::square(x));
    });
    add("scans twice", [](const Tensor<T>& x) { return wg::cumprod(x, 1) * wg::cummax(x, 0); });
    const auto places = wg::reshape(wg::Indices{0, 2, 1, 0, 3, 1}, {3, 2});
    add("along twice", [=](const Tensor<T>& x) {
        return wg::exp(wg::take_along_axis(x, places, 1)) *
               wg::sum(wg::exp(wg::segment_sum(x, wg::Indices{1, 1, 0}, 2)));
    });
    add("labels twice", [](const Tensor<T>& x) {
        return wg::exp(wg::apply<wg::AtLabels, T>({}, wg::Site{}, x, wg::Indices{1, 0, 3}));
    });
    add("diagonal twice", [](const Tensor<T>& x) { return wg::diagonal(x) * x(1, 1); });
    const auto& gemm = wg::structural_primitive<wg::Gemm, xsimd::default_arch, T, T, T, T, T>;
    const wg::Gemm op{false, true, true, 2, {2, 3}, {4, 3}};
    Graph g;
    const auto d = wg::dtype_of<T>();
    g.output(g.operation(gemm, wg::keep_parameters(gemm, &op),
                         {g.input(d, {2, 4}), g.input(d, {2, 3}), g.input(d, {4, 3}), g.input(d, {})},
                         {2, 4}));
    out.push_back({"gemm", std::move(g)});
}

/// Without derivatives: integers, truth, random numbers.
Graph discrete()
{
    return traced(
        [](const std::vector<AnyTensor>& in) {
            const Tensor<std::int64_t> i(in[0]);
            const Tensor<std::int32_t> j(in[1]);
            const Tensor<bool> b(in[2]);
            const Tensor<double> x(in[3]);
            std::vector<AnyTensor> out;
            const auto keep = [&](const auto& t) { out.push_back(t.any()); };
            keep(wg::one_hot<float>(i, 5));
            keep(i * i + wg::cast<std::int64_t>(j));
            keep(wg::sum(j) + wg::sum(b) + wg::sum(i));
            keep(wg::prod(j));
            keep(wg::all(b) || wg::any(b, {0}) || !b(0));
            keep(wg::argmax(x, 1));
            keep(wg::argmin(i));
            keep(wg::amax(j));
            keep(wg::where(b, i, i + 1));
            keep(wg::is_finite(x) && x < 0.5);
            keep(wg::take(b, i, 0));
            keep(wg::pad(j, {{1, 1}}, 7));
            keep(wg::cumsum(j) + wg::cumprod(j) + wg::cast<std::int64_t>(wg::cummax(j)));
            keep(wg::flip(b) && wg::roll(b, 1));
            keep(wg::matmul(i, i));
            return out;
        },
        {Tensor<std::int64_t>{0, 2, 1}.any(), Tensor<std::int32_t>{3, -4, 5}.any(),
         Tensor<bool>{true, false, true}.any(), numbers<double>({2, 3}).any()});
}

/// Draws from a key, which is the graph's input.
Graph random()
{
    const wg::Key key(7);
    wg::Trace trace;
    const auto block = wg::detail::tensor_of(key);
    trace.input(block, {});
    wg::Key traced(7);
    trace.enter_key(traced, block);
    const auto keep = [&](const auto& t) { trace.output(t.any().value, {}); };
    const auto keys = wg::split(traced, 2);
    keep(wg::normal<float>(keys[0], {2, 3}));
    keep(wg::normal<double>(traced, {4}));
    keep(wg::uniform<double>(keys[1], {3}, -1.0, 2.5));
    keep(wg::uniform<float>(keys[1], {3}));
    keep(wg::bernoulli(traced, {5}, 0.25));
    keep(wg::randint<std::int32_t>(traced, {5}, -3, 9));
    keep(wg::randint(wg::fold_in(traced, 3), {5}, 0, 9));
    keep(wg::permutation(traced, 6));
    keep(wg::dropout_mask<float>(traced, {4}, 0.5));
    keep(wg::dropout_mask<double>(traced, {4}, 0.5));
    trace.stop();
    return std::move(trace.graph());
}

/// Loops and branches, their derivatives, and a loop in a loop.
template <class T> Graph loops()
{
    return with_gradients<T>(
        [](const Many<T>& v) {
            const Tensor<T>&a = v[0], &b = v[1];
            const auto step = [&](const Tensor<T>& s, const Tensor<T>& x) {
                const auto inner =
                    wg::scan([&](const Tensor<T>& t) { return std::pair(wg::sin(t) * a, wg::sum(t)); }, s, 3);
                return std::pair(inner.first + x, wg::tanh(inner.first));
            };
            const auto [last, all] = wg::scan(step, a, b);
            const auto grown = wg::while_loop([](const Tensor<T>& s) { return wg::sum(wg::abs(s)) < T(10); },
                                              [](const Tensor<T>& s) { return s * T(2) + T(0.1); }, last);
            return grown + wg::sum(all, {0}) +
                   wg::cond(
                       wg::sum(a) > T(0), [](const Tensor<T>& x) { return wg::exp(x); },
                       [](const Tensor<T>& x) { return wg::cos(x); }, b(0));
        },
        {numbers<T>({4}), numbers<T>({2, 4}, 0.1)});
}

/// A scan with memory for two states, and a while_loop whose body reads what is differentiated.
template <class T> Graph bounded_loops()
{
    return with_gradients<T>(
        [](const Many<T>& v) {
            const Tensor<T>&a = v[0], &b = v[1];
            const auto [last, all] = wg::scan(
                [a](const std::tuple<Tensor<T>, Tensor<std::int64_t>>& s, const Tensor<T>& x) {
                    const Tensor<T> next = wg::sin(std::get<0>(s)) * a + x;
                    return std::pair(std::tuple(next, std::get<1>(s) + 1), next * x);
                },
                std::tuple(a, Tensor<std::int64_t>(std::int64_t{2})), b, {.snapshots = 2});
            const auto grown =
                wg::while_loop([](const Tensor<T>& s) { return wg::sum(wg::abs(s)) < T(10); },
                               [&](const Tensor<T>& s) { return s * T(2) + wg::abs(a); }, std::get<0>(last));
            return grown + wg::sum(all, {0});
        },
        {numbers<T>({4}), numbers<T>({5, 4}, 0.1)});
}

/// What derivatives of derivatives of loops make.
Graph packs()
{
    const auto& pack = wg::structural_primitive<wg::Pack, xsimd::default_arch, double, double>;
    const auto& add = *wg::structural_primitive<wg::Unpack, xsimd::default_arch, double, double>.pull[0].add;
    const wg::Pack op{2, {3}, 7};
    const wg::Unpack back{4, {3}, 7};
    Graph g;
    const auto x = g.input(wg::DType::float64, {3});
    const auto packed = g.operation(pack, wg::keep_parameters(pack, &op), {x}, {7});
    g.output(g.operation(add, wg::keep_parameters(add, &back), {packed, x}, {7}));
    return g;
}

}  // namespace

std::vector<Named> graphs()
{
    std::vector<Named> out;
    add_reductions<double>(out);
    add_reductions<float>(out);
    add_shapes<double>(out);
    add_places<double>(out);
    add_shapes<float>(out);
    add_places<float>(out);
    add_second<double>(out);
    out.push_back({"loops", loops<double>()});
    out.push_back({"loops f32", loops<float>()});
    out.push_back({"bounded loops", bounded_loops<double>()});
    out.push_back({"bounded loops f32", bounded_loops<float>()});
    out.push_back({"packs", packs()});
    out.push_back({"discrete", discrete()});
    out.push_back({"random", random()});
    return out;
}

}  // namespace look
