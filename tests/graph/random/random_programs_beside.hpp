/// Random programs beside eager: frozen in several ways, each graph run by several executors. Results, live tensors and exceptions
/// must be the same, arguments, constants and earlier results untouched.
#pragma once

#include <wengert/graph/passes/passes.hpp>

#include <list>
#include <optional>

#include "graph/random/random_programs_run.hpp"
#include "graph/random/random_programs_together.hpp"

namespace random_programs {

template <class T> struct PlainFunction {
    const Program* program;
    const List<T>* constants;
    bool plainly = false;
    List<T> operator()(const List<T>& x) const
    {
        List<T> none;
        return Machine<T>(*program, *constants, &none, plainly).results(x);
    }
};

/// Derivatives of a function in a program's mode; those of the last modes are of one that is frozen.
template <class T, class F> List<T> derived(Mode mode, const F& f, const List<T>& x)
{
    const auto loss = [&f](const List<T>& y) { return total(f(y)); };
    const auto gradient = [&loss](const List<T>& y) { return wg::grad(loss)(y); };
    List<T> v;
    for (const auto& t : x) v.push_back(cos(t));
    switch (mode) {
    case Mode::forward: return f(x);
    case Mode::gradient:
    case Mode::frozen_gradient: return gradient(x);
    case Mode::value_and_gradient: {
        auto [y, g] = wg::value_and_grad(loss)(x);
        g.push_back(y);
        return g;
    }
    case Mode::second: return wg::grad([&gradient](const List<T>& y) { return total(gradient(y)); })(x);
    case Mode::jvp:
    case Mode::frozen_jvp: return wg::jvp(f, x, v).second;
    default: return wg::jvp(gradient, x, v).second;
    }
}

/// The whole program as one function of its inputs, in its mode. Live tensors end with an update by the result.
template <class T> struct Step {
    const Program* program;
    const List<T>* constants;
    List<T>* live;
    bool plainly = false;

    List<T> operator()(const List<T>& inputs) const
    {
        if (program->mode == Mode::forward)
            return Machine<T>(*program, *constants, live, plainly).results(inputs);
        List<T> x = inputs;
        x.insert(x.end(), live->begin(), live->end());
        const List<T> y = derived<T>(program->mode, PlainFunction<T>{program, constants, plainly}, x);
        for (std::size_t k = 0; k < live->size(); ++k) {
            Tensor<T>& w = (*live)[k];
            const Tensor<T>& g = y[(x.size() + k) % y.size()];
            if (g.shape() == w.shape()) w -= g * 0.01;
        }
        return y;
    }
};

/// Calls of a frozen function, plain ones before derivatives.
inline Mode mode_of_call(const Program& p, int call)
{
    if (call % 2 == 0) return Mode::forward;
    return p.mode == Mode::frozen_hvp && call % 4 == 1 ? Mode::frozen_jvp : p.mode;
}

template <class T>
std::string difference(const List<T>& a, const List<T>& b, bool exact = true, double slack = 1)
{
    if (a.size() != b.size()) return "another number of results";
    for (std::size_t k = 0; k < a.size(); ++k) {
        const auto x = wg::readable(a[k].any().value), y = wg::readable(b[k].any().value);
        if (std::string d = difference(*x, *y, exact, slack); !d.empty())
            return "result " + std::to_string(k) + " of shape " + wg::to_string(a[k].shape()) + d;
    }
    return {};
}

template <class T> List<T> own(const List<T>& list)
{
    List<T> out;
    for (const auto& t : list) out.push_back(Tensor<T>(wg::AnyTensor{wg::copy_of(*t.any().value), {}}));
    return out;
}

/// Rounding of one call must not grow over the next ones. The tensors stay where they are: functions refer to them.
template <class T> void follow(List<T>& live, const List<T>& leader)
{
    List<T> values = own(leader);
    for (std::size_t k = 0; k < live.size(); ++k) live[k] = std::move(values[k]);
}

/// What a call gave: results, or what it threw.
template <class T> struct Outcome {
    List<T> results;
    std::string thrown;
};
template <class T, class F> Outcome<T> outcome(const F& f, const List<T>& x)
{
    try {
        return {f(x), {}};
    } catch (const std::exception& e) {
        return {{}, e.what()};
    }
}

inline bool refuses_data(const std::string& thrown)
{
    return thrown.find("out of range") != std::string::npos ||
           thrown.find("of no elements") != std::string::npos;
}

inline bool has_no_forward_mode(const std::string& thrown)
{
    return thrown.find("has no forward mode") != std::string::npos;
}

struct Way {
    std::string name;
    wg::FreezeOptions options;
    bool exact = true;
};

inline bool may_branch(Op op)
{
    return op == Op::recorded_cond || op == Op::equal_branches || op == Op::twin_loops ||
           op == Op::checkpointed_control || op == Op::pulled;
}
inline bool is_inner_derivative(Op op)
{
    return op == Op::inner_gradient || op == Op::inner_jvp || op == Op::pulled || op == Op::shown;
}

/// A trace writes the zero-cotangent rule out, and so brings cotangents that lie transposed into order: products in derivatives
/// of derivatives, which meet them, add up in another order then.
inline bool reorders_products(const Program& p)
{
    const bool twice = p.mode == Mode::second || p.mode == Mode::hvp ||
                       (p.mode != Mode::forward && holds(p.body, is_inner_derivative));
    const auto is_product = [](Op op) {
        return (op >= Op::matmul && op <= Op::dot) || op == Op::row_products || op == Op::arranged ||
               op == Op::solved;
    };
    return twice && holds(p.body, is_product);
}

/// Derivatives of the loops of a graph add up in another order.
inline bool is_exact(const Program& p)
{
    const auto is_section = [](Op op) { return op >= Op::hidden && op <= Op::frozen_inside; };
    if (p.of_frozen()) return false;
    if (p.mode == Mode::forward && !holds(p.body, is_inner_derivative) && !holds(p.body, is_section))
        return true;
    return !holds(p.body, is_transform) && !reorders_products(p);
}

/// The graph as it is recorded, checked, half optimized: each now and then. Updates are not folded into products, which rounds
/// otherwise.
inline std::vector<Way> ways(const Program& p)
{
    Random r{p.seed + 2};
    const bool exact = is_exact(p);
    const auto with = [&](const char* name, bool optimize) {
        wg::FreezeOptions o;
        o.backend = side_by_side;
        o.optimize = optimize;
        o.check = false;
        o.passes.fold_updates = false;
        if (p.dynamic()) {
            o.dynamic = {0};
            o.check = true;  // what a program does with plain extents is only seen when it runs
        }
        return Way{name, o, exact};
    };
    std::vector<Way> list{with("optimized", true)};
    if (r.chance(compiles() ? 8 : 25)) list.push_back(with("not optimized", false));
    if (compiles()) return list;
    if (r.chance(15)) {
        list.push_back(with("checked", true));
        list.back().options.check = true;
    }
    if (r.chance(15)) {
        list.push_back(with("some passes only", true));
        for (const auto& pass : wg::passes::all)
            if (r.chance(50)) list.back().options.passes.off.emplace_back(pass.name);
    }
    if (r.chance(10)) {
        list.push_back(with("updates folded", true));
        list.back().options.passes.fold_updates = true;
        list.back().exact = false;
    }
    return list;
}

/// Some calls with other data, one of them with one tensor twice.
template <class T> std::vector<List<T>> calls_of(const Program& p)
{
    Random r{p.seed};
    std::vector<List<T>> sets(3), calls;
    static constexpr long more[] = {0, 1, 0, 3, 2, 3};
    const auto set_of = [&](long extra) {
        List<T> set;
        for (Extents e : p.inputs) {
            if (p.dynamic() && !e.empty()) e[0] += extra;
            set.push_back(data<T>(r, shape_of(e), p.edges()));
        }
        return set;
    };
    if (p.dynamic()) {
        for (long extra : more) calls.push_back(set_of(extra));
    } else {
        for (auto& set : sets) set = set_of(0);
        for (int k : {0, 1, 0, 2, 1, 0}) calls.push_back(sets[static_cast<std::size_t>(k)]);
    }
    if (p.inputs.size() > 1 && p.inputs[0] == p.inputs[1]) calls[4][1] = calls[4][0];
    return calls;
}

/// A program's constants and live tensors.
template <class T> struct Surroundings {
    List<T> constants, live;
    explicit Surroundings(const Program& p)
    {
        Random r{p.seed + 1};
        for (const auto& e : p.constants) constants.push_back(data<T>(r, shape_of(e), p.edges()));
        if (p.equal_constants() && constants.size() > 1 && p.constants[0] == p.constants[1])
            constants[1] = Tensor<T>(wg::AnyTensor{wg::copy_of(*constants[0].any().value), {}});
        for (const auto& e : p.live) live.push_back(data<T>(r, shape_of(e), p.edges()));
    }
};

/// What eager makes of all calls, and of the live tensors after each.
template <class T> struct EagerRun {
    std::vector<List<T>> calls, live;
    std::vector<Outcome<T>> made;

    /// `off`: so many units in the last place is all that the program reads off, and what its instructions give.
    explicit EagerRun(const Program& p, int off = 0) : calls(calls_of<T>(p))
    {
        const wg::Restore<int> each(units_off, off);
        Surroundings<T> s(p);
        for (auto& x : calls) x = nudged(std::move(x));
        s.constants = nudged(std::move(s.constants));
        s.live = nudged(std::move(s.live));
        List<T> now = own(s.live);
        const Step<T> step{&p, &s.constants, &now};
        for (std::size_t k = 0; k < calls.size(); ++k) {
            const List<T> before = own(now);
            if (p.of_frozen())
                made.push_back(outcome<T>(
                    [&](const List<T>& x) {
                        return derived<T>(mode_of_call(p, static_cast<int>(k)),
                                          PlainFunction<T>{&p, &s.constants}, x);
                    },
                    calls[k]));
            else
                made.push_back(outcome<T>(step, calls[k]));
            if (!made.back().thrown.empty()) follow(now, before);
            live.push_back(own(now));
        }
    }
};

/// One way, call by call beside what eager made of it.
template <class T> class FrozenRun {
public:
    FrozenRun(const Program& p, const Way& way, const EagerRun<T>& eager)
        : program_(p), way_(way), eager_(eager), around_(p), constants_then_(own(around_.constants)),
          step_(wg::freeze(Step<T>{&program_, &around_.constants, &around_.live}, way.options)),
          function_(wg::freeze(PlainFunction<T>{&program_, &around_.constants}, way.options))
    {
        if (!p.of_frozen()) step_.live(around_.live);
    }
    FrozenRun(const FrozenRun&) = delete;

    /// The calls up to that one.
    std::string run_to(std::size_t end)
    {
        for (; call_ < std::min(end, eager_.calls.size()) && !over_; ++call_)
            if (std::string d = one_call(); !d.empty())
                return way_.name + ", call " + std::to_string(call_) + ": " + d;
        for (const auto& [now, then] : earlier_)
            if (auto d = difference<T>(now, then); !d.empty())
                return way_.name + ", an earlier result changed: " + d;
        if (auto d = difference<T>(around_.constants, constants_then_); !d.empty())
            return way_.name + ", constants: " + d;
        return {};
    }

private:
    std::string one_call()
    {
        const List<T>& x = eager_.calls[call_];
        const Outcome<T>& e = eager_.made[call_];
        const List<T> x_then = own(x), live_before = own(around_.live);
        const Outcome<T> f = outcome<T>([&](const List<T>& y) { return called(y); }, x);
        ++counts().calls;
        if (!complaint.empty()) return std::exchange(complaint, {});
        if (refuses_data(e.thrown)) {
            over_ = true;  // an operation whose result nothing needs is not run, and does not throw
            return {};
        }
        if (e.thrown.empty() && has_no_forward_mode(f.thrown) && holds(program_.body, may_branch)) {
            over_ = true;  // a graph holds the branch that is not taken, too
            return {};
        }
        if (e.thrown != f.thrown) return "threw '" + f.thrown + "' where eager threw '" + e.thrown + "'";
        if (!e.thrown.empty()) {
            follow(around_.live, live_before);
            return {};
        }
        if (auto d = difference<T>(f.results, e.results, way_.exact); !d.empty()) return d;
        if (auto d = difference<T>(around_.live, eager_.live[call_], way_.exact); !d.empty())
            return "live: " + d;
        if (!way_.exact) follow(around_.live, eager_.live[call_]);
        if (auto d = difference<T>(x, x_then); !d.empty()) return "arguments: " + d;
        earlier_.emplace_back(f.results, own(f.results));
        return {};
    }
    List<T> called(const List<T>& x)
    {
        if (program_.of_frozen())
            return derived<T>(mode_of_call(program_, static_cast<int>(call_)), function_, x);
        return step_(x);
    }

    using FrozenStep = decltype(wg::freeze(std::declval<Step<T>>()));
    using FrozenFunction = decltype(wg::freeze(std::declval<PlainFunction<T>>()));
    const Program& program_;
    Way way_;
    const EagerRun<T>& eager_;
    Surroundings<T> around_;
    List<T> constants_then_;
    FrozenStep step_;
    FrozenFunction function_;
    std::vector<std::pair<List<T>, List<T>>> earlier_;
    std::size_t call_ = 0;
    bool over_ = false;
};

/// Eager beside itself without the transforms: loops and branches of C++, no checkpoints, rules, snapshots, frozen parts.
template <class T> std::string beside_plain(const Program& p)
{
    if (!holds(p.body, is_transform)) return {};
    const Surroundings<T> s(p);
    List<T> live_eager = own(s.live), live_plain = own(s.live);
    constexpr double slack =
        sizeof(T) == 4 ? 10 : 1000;  // sums in another order, then the sine of large numbers
    const Step<T> eager{&p, &s.constants, &live_eager}, plain{&p, &s.constants, &live_plain, true};
    const std::vector<List<T>> calls = calls_of<T>(p);
    for (std::size_t k = 0; k < 3; ++k) {
        const Outcome<T> e = outcome<T>(eager, calls[k]), f = outcome<T>(plain, calls[k]);
        if (!complaint.empty()) return std::exchange(complaint, {});
        if (refuses_data(e.thrown)) return {};  // a loop without steps calls its body
        if (has_no_forward_mode(e.thrown)) return {};
        if (e.thrown.empty() != f.thrown.empty())
            return "eager threw '" + e.thrown + "' where plain code threw '" + f.thrown + "'";
        if (!e.thrown.empty()) return {};
        if (auto d = difference<T>(e.results, f.results, false, slack); !d.empty())
            return "eager beside plain code: " + d;
        if (auto d = difference<T>(live_eager, live_plain, false, slack); !d.empty())
            return "eager beside plain code, live: " + d;
        follow(live_plain, live_eager);
    }
    return {};
}

template <class T> class SessionOf : public Session {
public:
    explicit SessionOf(const Program& p) : program_(p) {}
    std::string start() override
    {
        complaint.clear();
        if (std::string what = beside_plain<T>(program_); !what.empty()) return what;
        eager_.emplace(program_);
        complaint.clear();
        for (const Way& way : ways(program_)) {
            runs_.emplace_back(program_, way, *eager_);
            if (std::string what = runs_.back().run_to(program_.of_frozen() || program_.dynamic() ? 4 : 1);
                !what.empty())
                return what;
        }
        return {};
    }
    std::string finish() override
    {
        for (FrozenRun<T>& run : runs_)
            if (std::string what = run.run_to(99); !what.empty()) return what;
        return {};
    }

    bool is_unstable() override
    {
        const EagerRun<T> as_given(program_);
        for (const int off : {2, -3}) {
            const EagerRun<T> beside(program_, off);
            for (std::size_t k = 0; k < beside.made.size(); ++k)
                if (as_given.made[k].thrown != beside.made[k].thrown ||
                    !difference<T>(as_given.made[k].results, beside.made[k].results, false, 0.1).empty() ||
                    !difference<T>(as_given.live[k], beside.live[k], false, 0.1).empty())
                    return true;
        }
        return false;
    }

private:
    Program program_;
    std::optional<EagerRun<T>> eager_;
    std::list<FrozenRun<T>> runs_;
};

}  // namespace random_programs
