// parallel_for over scalar code: threads with tapes of their own, joined in order.
#pragma once

#include <atomic>
#include <exception>
#include <system_error>
#include <thread>

#include "jacobian/dense.hpp"
#include "transforms/external.hpp"

namespace wengert {

/// How parallel_for divides its work.
struct ParallelOptions {
    std::size_t chunks =
        32;  ///< contiguous parts; they, not the threads, fix the order in which cotangents are added
    std::size_t threads = 0;  ///< at most so many; 0: as many as the machine has
};

namespace detail {

/// What the caller's tape has been told, for those of threads that work for it: they share a limit of memory.
class TapeModes {
public:
    explicit TapeModes(std::size_t threads)
        : anomaly_(Tape::current().anomaly), allow_nan_(Tape::current().allow_nan),
          zero_(kernels::zero_cotangent)
    {
        if (const auto* const s = static_cast<const ScalarStream*>(Tape::current().extension))
            budget_ = s->budget();
        if (budget_.bytes != ScalarBudget{}.bytes) budget_.bytes /= std::max<std::size_t>(threads, 1);
    }
    double zero_cotangent() const noexcept { return zero_; }
    void give(Tape& tape) const
    {
        tape.anomaly = anomaly_;
        tape.allow_nan = allow_nan_;
        if (budget_.bytes != ScalarBudget{}.bytes) ScalarStream::of(tape).set_budget(budget_);
    }

private:
    bool anomaly_, allow_nan_;
    double zero_;
    ScalarBudget budget_;
};

/// work(c) for c < n, on several threads, the caller among them. Throws what the first of them in order has thrown.
template <class Work> void on_threads(std::size_t n, std::size_t threads, const Work& work)
{
    if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
    threads = std::min(threads, n);
    const TapeModes modes(threads);
    std::vector<std::exception_ptr> errors(n);
    std::atomic<std::size_t> next{0};
    const auto serve = [&] {
        const Restore<Recorder*> unseen(current_thread().recorder, nullptr);
        const Restore<double> zero(kernels::zero_cotangent, modes.zero_cotangent());
        for (std::size_t c = next++; c < n; c = next++) {
            try {
                TapeScope own;  // numbers of the caller's tape are refused on every thread
                modes.give(own.tape());
                work(c);
            } catch (...) {
                errors[c] = std::current_exception();
            }
        }
    };
    std::vector<std::thread> helpers;
    try {
        while (helpers.size() + 1 < threads) helpers.emplace_back(serve);
    } catch (const std::system_error&) {  // as many as the system gives
    }
    serve();
    for (std::thread& t : helpers) t.join();
    for (const std::exception_ptr& e : errors)
        if (e) std::rethrow_exception(e);
}

/// The loop y[i] = f(i, x) as the rules of an external call: x̄ is added up chunk by chunk in order.
template <class T, class F, class X, class Y> class ParallelLoop {
public:
    ParallelLoop(std::size_t n, F f, const X& shell, const ParallelOptions& options, const Site& at)
        : n_(n), width_(count()), function_(std::move(f)), shell_(shell), options_(options), at_(at)
    {
        options_.chunks = std::min(std::max<std::size_t>(options.chunks, 1), n);
    }
    std::size_t outputs() const { return n_ * width_; }

    void forward(std::span<const T> x, std::span<T> y) const
    {
        on_threads(options_.chunks, options_.threads, [&](std::size_t c) {
            const auto out = run(c, Numbers(x.begin(), x.end()));
            for (std::size_t k = 0; k < out.size(); ++k) y[begin(c) * width_ + k] = out[k].value();
        });
    }
    template <class Number>
    void reverse(std::span<const Number> x, std::span<const Number> g, std::span<Number> to) const
    {
        std::vector<Numbers> parts(options_.chunks);
        each_chunk<Number>([&](std::size_t c) {
            const auto of_chunk = [&](const Numbers& in) { return run(c, in); };
            parts[c] = vjp_at(of_chunk, at_, Numbers(x.begin(), x.end())).second(part(c, g), at_);
        });
        for (const Numbers& p : parts)
            for (std::size_t k = 0; k < p.size(); ++k) to[k] += static_cast<Number>(p[k]);
    }
    template <class Number>
    void tangent(std::span<const Number> x, std::span<const Number> dot, std::span<Number> to) const
    {
        each_chunk<Number>([&](std::size_t c) {
            const auto of_chunk = [&](const Numbers& in) { return run(c, in); };
            const Numbers y =
                jvp(of_chunk, Numbers(x.begin(), x.end()), Numbers(dot.begin(), dot.end()), at_).second;
            for (std::size_t k = 0; k < y.size(); ++k) to[begin(c) * width_ + k] = static_cast<Number>(y[k]);
        });
    }
    /// The i-th result, from all of them.
    Y result(std::size_t i, const std::vector<Real<T>>& all) const
    {
        Y y{};
        std::size_t k = i * width_;
        for (Real<T>* r : reals_in<T>(y)) *r = all[k++];
        return y;
    }

private:
    using Numbers = std::vector<Real<T>>;
    static std::size_t count()
    {
        static_assert(only_reals_in<Y>(),
                      "wengert: parallel_for: f returns Reals alone: what else a struct holds would be lost");
        Y y{};
        return reals_in<T>(y).size();
    }

    /// On threads in numbers; a derivative that is itself recorded is computed on the tape that records it.
    template <class Number, class Work> void each_chunk(const Work& work) const
    {
        if constexpr (is_real<Number>) {
            int& unlogged = Tape::current().unlogged;
            const Restore<int> as_on_threads(unlogged, unlogged + 1);
            for (std::size_t c = 0; c < options_.chunks; ++c) work(c);
        } else {
            on_threads(options_.chunks, options_.threads, work);
        }
    }
    std::size_t begin(std::size_t c) const { return n_ * c / options_.chunks; }
    template <class Number> Numbers part(std::size_t c, std::span<const Number> g) const
    {
        const auto p = g.subspan(begin(c) * width_, (begin(c + 1) - begin(c)) * width_);
        return Numbers(p.begin(), p.end());
    }
    Numbers run(std::size_t c, const Numbers& in) const
    {
        X x = tree::detail::copied(shell_);
        std::size_t k = 0;
        for (Real<T>* r : reals_in<T>(x)) *r = in[k++];
        Numbers out;
        for (std::size_t i = begin(c); i < begin(c + 1); ++i) {
            Y y = function_(i, std::as_const(x));
            const auto reals = reals_in<T>(y);
            if (reals.size() != width_)
                fail<ShapeError>("parallel_for",
                                 "f(" + std::to_string(i) + ", x) returned " + std::to_string(reals.size()) +
                                     " Reals where its type has " + std::to_string(width_) +
                                     ": return a Real, an array or a struct of them",
                                 at_);
            for (const Real<T>* r : reals) out.push_back(*r);
        }
        return out;
    }

    std::size_t n_, width_;
    F function_;
    X shell_;
    ParallelOptions options_;
    Site at_;
};

}  // namespace detail

/// y[i] = f(i, x) for i < n, on several threads: x is a number or a container of them, f's result a Real, an array or a struct of them.
/// In a sweep each thread records its part of the loop again, on a tape of its own, and the parts are joined in order: values and
/// derivatives have the same bits for any number of threads. f is called on several threads at once and may use of this tape's
/// numbers only those in x; others are refused.
template <class F, class X>
auto parallel_for(std::size_t n, F f, const X& x, ParallelOptions options = {},
                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    using T = typename detail::first_real<X>::type;
    using Y = std::remove_cvref_t<std::invoke_result_t<const F&, std::size_t, const X&>>;
    using Loop = detail::ParallelLoop<T, F, X, Y>;
    std::vector<Y> results;
    if (n == 0) return results;
    const X passive = tree::map([](const Real<T>& r) { return r.detach(); }, x);
    const auto loop = std::make_shared<const Loop>(n, std::move(f), passive, options, at);
    std::vector<Real<T>> in, out(loop->outputs());
    tree::for_each([&](const Real<T>& r) { in.push_back(r); }, x);
    const auto reverse = [loop]<class N>(std::span<const N> v, std::span<const N>, std::span<const N> g,
                                         std::span<N> to) { loop->reverse(v, g, to); };
    const auto tangent = [loop]<class N>(std::span<const N> v, std::span<const N>, std::span<const N> dot,
                                         std::span<N> to) { loop->tangent(v, dot, to); };
    external(
        in, out, [loop](std::span<const T> v, std::span<T> y) { loop->forward(v, y); }, reverse, tangent, at);
    for (std::size_t i = 0; i < n; ++i) results.push_back(loop->result(i, out));
    return results;
}

}  // namespace wengert
