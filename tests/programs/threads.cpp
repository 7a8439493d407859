// Constants are read by many threads, handles die anywhere, each thread has its tape, and foreign tensors are refused.
// Also run under ThreadSanitizer.
#include <wengert/wengert.hpp>

#include <cmath>
#include <thread>
#include <vector>

#include "check.hpp"

namespace wg = wengert;
using wg::Tensor;

static constexpr std::size_t thread_count = 8;
static constexpr int rounds = 200;

/// f(0) … f(thread_count − 1), each in a thread of its own.
template <class F> static void in_threads(F&& f)
{
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < thread_count; ++t) threads.emplace_back([&f, t] { f(t); });
    for (std::thread& thread : threads) thread.join();
}

static void constants_are_read_by_all()
{
    const Tensor<double> small = wg::arange<double>(5), large = wg::linspace<double>(0.0, 1.0, 10'000);
    const Tensor<double> part = view(large, wg::range(0, 10'000, 7));
    in_threads([&](std::size_t t) {
        for (int i = 0; i < rounds; ++i) {
            const Tensor<double> mine = large;  // a copy shares the buffer
            CHECK(near(sum(small * double(t)).item(), 10.0 * double(t), 0.0));
            CHECK(near(sum(mine).item(), 5000.0, 1e-12));
            CHECK(near(part(3).item(), 21.0 / 9999.0, 1e-15));
        }
    });
}

static void a_copy_is_written_while_others_read()
{
    const Tensor<double> shared = wg::ones<double>({1000});
    in_threads([&](std::size_t t) {
        for (int i = 0; i < rounds; ++i) {
            Tensor<double> mine = shared;
            mine += double(t);
            view(mine, wg::range(0, 10)) = 0.0;
            CHECK(near(sum(mine).item(), 990.0 * double(1 + t), 1e-12));
        }
    });
    CHECK(near(sum(shared).item(), 1000.0, 0.0));
}

static void each_thread_has_its_tape_and_gradients()
{
    std::vector<const void*> tapes(thread_count);
    in_threads([&](std::size_t t) {
        tapes[t] = &wg::Tape::current();
        Tensor<double> w = wg::full<double>({3}, double(t));
        w.requires_grad(true);
        for (int i = 0; i < rounds; ++i) {
            w.zero_grad();
            wg::backward(sum(w * w * w));
            CHECK(near(w.grad()(2).item(), 3.0 * double(t * t), 1e-14));
        }
        const auto f = [](const Tensor<double>& x) { return sum(sin(x) * x); };
        CHECK(wg::check_grads(f, w.detach(), {.order = 2}).ok);
    });
    for (std::size_t t = 0; t < thread_count; ++t) CHECK(tapes[t] != &wg::Tape::current());
}

/// Small values live in line and large ones in the pool; leaves, recorded tensors and constants.
static std::vector<Tensor<double>> handles_of_each_kind(std::size_t n)
{
    Tensor<double> leaf = wg::ones<double>({n});
    leaf.requires_grad(true);
    return {leaf, leaf.detach(), sin(leaf) * 2.0, sum(leaf * leaf), view(leaf, wg::range(0, 1))};
}

static void handles_die_anywhere()
{
    const auto size = wg::Tape::current().size();
    for (int i = 0; i < 20; ++i) {
        std::vector<std::vector<Tensor<double>>> handles;
        for (std::size_t t = 0; t < thread_count; ++t)
            handles.push_back(handles_of_each_kind(t % 2 ? 3 : 300));
        in_threads([&](std::size_t t) { handles[t].clear(); });
    }
    // the owner's next operations take back what the others let go
    Tensor<double> x = {1.0};
    x.requires_grad(true);
    wg::backward(sum(x * x));
    CHECK(near(x.grad()(0).item(), 2.0, 0.0));
    CHECK(wg::Tape::current().size() <= size + 2);
}

static void the_maker_may_be_gone()
{
    // a constant, a leaf and a recorded tensor outlive the thread that made them
    std::vector<Tensor<double>> constants(thread_count), leaves(thread_count), recorded(thread_count);
    in_threads([&](std::size_t t) {
        constants[t] = wg::full<double>({500}, double(t));
        leaves[t] = wg::ones<double>({2});
        leaves[t].requires_grad(true);
        recorded[t] = leaves[t] * double(t);
    });
    for (std::size_t t = 0; t < thread_count; ++t) {
        CHECK(near(sum(constants[t]).item(), 500.0 * double(t), 0.0));
        CHECK(near(recorded[t].detach()(1).item(), double(t), 0.0));
        CHECK(has(message_of<wg::TapeError>([&] { recorded[t] * 2.0; }), "thread"));
    }
}

static void foreign_tensors_are_refused()
{
    Tensor<double> leaf = {1.0, 2.0};
    leaf.requires_grad(true);
    const Tensor<double> recorded = leaf * 2.0;
    in_threads([&](std::size_t) {
        const auto size = wg::Tape::current().size();
        CHECK(has(message_of<wg::TapeError>([&] { leaf + 1.0; }), "thread"));
        CHECK(has(message_of<wg::TapeError>([&] { recorded + 1.0; }), "thread"));
        CHECK(has(message_of<wg::TapeError>([&] { wg::backward(sum(recorded)); }), "thread"));
        CHECK(wg::Tape::current().size() == size);
        CHECK(near(sum(recorded.detach()).item(), 6.0, 0.0));
    });
    wg::backward(sum(recorded));
    CHECK(near(leaf.grad()(0).item(), 2.0, 0.0));
}

static void random_numbers_depend_on_the_key_alone()
{
    const Tensor<double> mine = wg::uniform<double>(wg::Key(7), {1000});
    in_threads([&](std::size_t) {
        const Tensor<double> theirs = wg::uniform<double>(wg::Key(7), {1000});
        CHECK(all(theirs == mine).item());
    });
}

int main()
{
    constants_are_read_by_all();
    a_copy_is_written_while_others_read();
    each_thread_has_its_tape_and_gradients();
    handles_die_anywhere();
    the_maker_may_be_gone();
    foreign_tensors_are_refused();
    random_numbers_depend_on_the_key_alone();
    return report("threads");
}
