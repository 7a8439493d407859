// A graph on several threads gives the bits of interpret, as it does on one.
#include "graph/tile/tile_common.hpp"

#include <atomic>
#include <cfenv>
#include <thread>

#include "graph/threads/seven_threads.hpp"

namespace {

using namespace tile_test;
namespace wg = wengert;

constexpr unsigned counts[] = {1, 2, 3, 7};

template <class T, class F> void check_threads(const F& f, const Blocks& inputs)
{
    const Graph g = graph_of<T>(f, inputs);
    const Blocks expected = interpret(g, inputs);
    for (unsigned threads : counts) {
        INFO(threads << " threads");
        PlanOptions options;
        options.threads = threads;
        const auto program = Backend(tile).compile(g, options);
        for (int run = 0; run < 2; ++run) {
            Blocks in = inputs, outputs;
            REQUIRE(program->run(in, outputs) == g.guards().size());
            for (std::size_t k = 0; k < outputs.size(); ++k) {
                INFO("output " << k << " of run " << run);
                REQUIRE(identical(*outputs[k], *expected[g.outputs()[k]]));
            }
        }
    }
}

template <class T> using List = std::vector<Tensor<T>>;

}  // namespace

TEMPLATE_TEST_CASE("elementwise passes in parts", "", float, double)
{
    using T = TestType;
    const Shape flat{70'003};
    check_threads<T>([](const List<T>& x) { return List<T>{tanh(x[0])}; }, {random_block<T>(flat)});
    check_threads<T>(
        [](const List<T>& x) {
            const Tensor<T> y = x[0] * x[1] + exp(x[0]) * T(0.5);
            return List<T>{y, y * y - x[1], where(y > T(0), y, x[1])};
        },
        {random_block<T>(flat, 1), random_block<T>(flat, 2)});
    check_threads<T>([](const List<T>& x) { return List<T>{x[0] * x[1]}; },
                     {random_block<T>(flat), random_block<T>(Shape{})});
    check_threads<
        T>(  // the scaled complement of the error function from all its branches, and its derivative
        [](const List<T>& x) {
            const Tensor<T> wide = x[0] * T(14);
            const auto slope = grad([](const Tensor<T>& t) { return sum(erfcx(t)); })(wide);
            return List<T>{erfcx(wide), slope, sum(erfcx(x[0]) * slope)};
        },
        {random_block<T>(flat)});
}

TEMPLATE_TEST_CASE("broadcast and transposed operands in parts", "", float, double)
{
    using T = TestType;
    const auto f = [](const List<T>& x) { return List<T>{tanh(x[0] + x[1]) * x[2]}; };
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{201, 411}, {10'001, 7}})
        check_threads<T>(f, {random_block<T>({m, n}), random_block<T>({n}, 2), random_block<T>({m, 1}, 3)});
    check_threads<T>([](const List<T>& x) { return List<T>{exp(transpose(x[0])) + x[1]}; },
                     {random_block<T>({201, 411}), random_block<T>({411, 201}, 2)});
}

TEMPLATE_TEST_CASE("sums in parts", "", float, double)
{
    using T = TestType;
    for (const Shape& shape : {Shape{3, 22'001}, Shape{1'101, 61}, Shape{17'000, 4}, Shape{9, 8'192}}) {
        const Blocks x{random_block<T>(shape)};
        check_threads<T>(
            [](const List<T>& in) {
                return List<T>{sum(in[0] * in[0]), sum(in[0], {0}), mean(in[0], {1})};
            },
            x);
        check_threads<T>([](const List<T>& in) { return List<T>{sum(in[0] * in[0], {1}), sum(in[0])}; }, x);
        check_threads<T>(
            [](const List<T>& in) {
                const Tensor<T> y = in[0] * in[0];
                return List<T>{mean(y, {1}), sum(y), sum(y, {0})};
            },
            x);
    }
    check_threads<T>(
        [](const List<T>& x) {
            return List<T>{sum(x[0], {1}), mean(x[0], {2})};
        },
        {random_block<T>({11, 71, 90})});
    check_threads<T>(
        [](const List<T>& x) {
            const Tensor<T> y = (x[0] - x[1]) * x[2];
            return List<T>{y, mean(y), sum(y * y)};
        },
        {random_block<T>({6, 12'345}), random_block<T>({12'345}, 2), random_block<T>({6, 1}, 3)});
    check_threads<T>(
        [](const List<T>& x) {
            return List<T>{softmax(x[0]), logsumexp(x[0])};
        },
        {random_block<T>({700, 100})});
}

TEST_CASE("a training step on several threads")
{
    using D = Tensor<double>;
    const auto loss = [](const D& w, const D& b, const D& x, const D& y) {
        const D d = tanh(matmul(x, w) + b) - y;
        return mean(d * d);
    };
    const auto some = [](const Shape& shape, unsigned seed) {
        return D(AnyTensor{random_block<double>(shape, seed), {}});
    };
    const D w = some({20, 90}, 1), b = some({90}, 2), x = some({800, 20}, 3), y = some({800, 90}, 4);
    const auto eager = value_and_grad<0, 1>(loss);
    const auto [value, gradient] = eager(w, b, x, y);
    for (unsigned threads : counts) {
        FreezeOptions options;
        options.threads = threads;
        auto step = freeze(eager, options);
        for (int run = 0; run < 4; ++run) {
            const auto [v, g] = step(w, b, x, y);
            CHECK(identical(*v.any().value, *value.any().value));
            CHECK(identical(*std::get<0>(g).any().value, *std::get<0>(gradient).any().value));
            CHECK(identical(*std::get<1>(g).any().value, *std::get<1>(gradient).any().value));
        }
        CHECK(step.stats().replays > 0);
    }
}

TEST_CASE("a step that throws between divided ones")
{
    const auto row = [](std::int64_t i) {
        auto b = make_block(DType::int64, Shape{1});
        *b->as<std::int64_t>() = i;
        return b;
    };
    const Shape shape{2, 40'000};
    const Graph g = trace_graph(
        [](const std::vector<AnyTensor>& in) {
            const Tensor<double> x(in[0]), y = exp(x) * x;
            return std::vector<AnyTensor>{(take(y, Tensor<std::int64_t>(in[1]), 0) + 1.0).any()};
        },
        {random_block<double>(shape), row(0)});
    PlanOptions options;
    options.threads = 3;
    const auto program = Backend(tile).compile(g, options);
    for (std::int64_t i : {1, 5, 0}) {
        Blocks in{random_block<double>(shape), row(i)}, out;
        if (i == 5) {
            CHECK_THROWS_AS(program->run(in, out), IndexError);
            CHECK(out.empty());
        } else {
            program->run(in, out);
            CHECK(identical(*out[0], *interpret(g, in)[g.outputs()[0]]));
        }
    }
}

TEST_CASE("many parts or none")
{
    const auto any = [](std::size_t at) { return at; };
    CHECK(tiling::cuts_for(1, 1U << 24, any).empty());
    CHECK(tiling::cuts_for(8, 1U << 12, any).empty());
    CHECK(tiling::cuts_for(8, 1U << 24, [](std::size_t) { return std::size_t{1} << 24; }).empty());
    const auto cuts = tiling::cuts_for(2, 1U << 20, any);
    REQUIRE(cuts.size() > 2);
    CHECK(cuts.front() == 0);
    CHECK(cuts.back() == 1U << 20);
    CHECK(std::is_sorted(cuts.begin(), cuts.end()));
}

TEST_CASE("a team works at once, each in a place of its own, as its caller has set things")
{
    tiling::Team team(3);
    std::atomic<int> inside[3] = {}, wrong = 0, started = 0;
    team.run(2, [&](std::size_t, std::size_t) {  // each waits for the other, for a minute at most
        ++started;
        for (int i = 0; started < 2 && i < 60'000; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (started < 2) ++wrong;
    });
    kernels::zero_cotangent = 5;
    std::fesetround(FE_UPWARD);
    std::vector<int> seen(5'000);
    team.run(seen.size(), [&](std::size_t k, std::size_t place) {
        if (place >= 3 || ++inside[place] != 1) ++wrong;
        if (kernels::zero_cotangent != 5 || std::fegetround() != FE_UPWARD) ++wrong;
        ++seen[k];
        --inside[place];
    });
    if (std::fegetround() != FE_UPWARD) ++wrong;
    std::fesetround(FE_TONEAREST);
    kernels::zero_cotangent = 0;
    CHECK(wrong == 0);
    CHECK(std::count(seen.begin(), seen.end(), 1) == 5'000);
    CHECK_THROWS_AS(team.run(10,
                             [](std::size_t k, std::size_t) {
                                 if (k == 7) throw 1;
                             }),
                    int);
}

TEST_CASE("a plan says on how many threads it runs, and why not on as many as were asked for")
{
    const auto f = [](const List<float>& in) { return List<float>{exp(in[0])}; };
    const Blocks few{random_block<float>({10})}, many{random_block<float>({100'000})};
    const Graph small = graph_of<float>(f, few), large = graph_of<float>(f, many);
    PlanOptions options;
    CHECK(Backend(tile).compile(large, options)->note.empty());
    CHECK(Backend(tile).compile(large, options)->stats.threads == 1);
    options.threads = 3;
    CHECK(Backend(tile).compile(large, options)->note.empty());
    CHECK(Backend(tile).compile(large, options)->stats.threads == 3);
    CHECK(Backend(tile).compile(small, options)->note.find("no step is long enough") != std::string::npos);
    CHECK(Backend(tile).compile(small, options)->stats.threads == 1);
    options.threads = 9;
    CHECK(Backend(tile).compile(large, options)->note.find("7 of the 9 threads") != std::string::npos);
    CHECK(Backend(tile).compile(large, options)->stats.threads == 7);
    auto frozen = freeze([](const Tensor<float>& x) { return exp(x); }, {.threads = 9});
    static_cast<void>(frozen(ones<float>({100'000})));
    CHECK(frozen.stats().threads == 7);
    CHECK(frozen.explain().find("7 of the 9 threads") != std::string::npos);
}
