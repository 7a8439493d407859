// Functions of loops and branches in which two parts are equal, or one is used twice.
#pragma once

#include "catch.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/wengert.hpp>

using namespace wengert;
using D = Tensor<double>;

using EqualParts = std::function<D(const D&)>;

struct EqualCase {
    const char* name;
    EqualParts f;
};

/// The other way round for the same numbers with another sign.
inline D decided(const D& x, const EqualParts& f, const EqualParts& g) { return cond(sum(x) > 0.0, f, g, x); }

inline std::vector<EqualCase> equal_branches()
{
    const auto twice = [](const D& p) { return 2.0 * p; };
    const auto itself = [](const D& p) { return p; };
    return {
        {"equal_values", [=](const D& x) { return decided(x, twice, twice); }},
        {"equal_derivatives",
         [](const D& x) {
             return decided(
                 x, [](const D& p) { return 0.5 * p + 2.0; }, [](const D& p) { return 0.5 * p - 2.0; });
         }},
        {"equal_second_derivatives",
         [](const D& x) {
             return decided(
                 x, [](const D& p) { return p * p + 3.0 * p; }, [](const D& p) { return p * p - p; });
         }},
        {"both_return_the_argument", [=](const D& x) { return decided(x, itself, itself) * x; }},
        {"one_returns_the_argument", [=](const D& x) { return decided(x, itself, twice); }},
        {"both_return_what_they_capture",
         [](const D& x) {
             const D w = sin(x);
             const auto given = [&](const D&) { return w; };
             return decided(x, given, given);
         }},
        {"one_value_captured_and_given_twice",
         [](const D& x) {
             const auto f = [&](const D& a, const D& b) { return a * b + x; };
             return cond(sum(x) > 0.0, f, f, x, x);
         }},
        {"several_equal_results",
         [](const D& x) {
             const auto f = [](const D& a) { return std::tuple(exp(a), exp(a), a); };
             const auto [a, b, c] = cond(sum(x) > 0.0, f, f, x);
             return a * b + c;
         }},
        {"zeros_of_both_signs",
         [](const D& x) {
             const D y = decided(
                 x, [](const D& p) { return p + 0.0; }, [](const D& p) { return p + -0.0; });
             return 1.0 / (y * y + 1.0);
         }},
        {"equal_branches_in_a_branch",
         [=](const D& x) {
             const auto inner = [=](const D& p) { return cond(sum(p * p) > 1.0, twice, twice, p); };
             return decided(x, inner, inner);
         }},
        {"equal_branches_in_a_scan",
         [=](const D& x) {
             const auto step = [=](const D& s, const D& u) {
                 const D next = cond(
                     sum(u) > 0.0, [](const D& p) { return 0.5 * p + 2.0; },
                     [](const D& p) { return 0.5 * p - 2.0; }, s);
                 return std::pair(next, cond(sum(s) > 0.0, twice, twice, u));
             };
             const auto [last, all] = scan(step, x, x);
             return last * all;
         }},
        {"equal_branches_in_a_while_loop",
         [](const D& x) {
             return while_loop([](const D& s) { return sum(s * s) > 0.1; },
                               [](const D& s) {
                                   const auto half = [](const D& p) { return 0.5 * p; };
                                   return cond(sum(s) > 0.0, half, half, s);
                               },
                               x);
         }},
        {"equal_branches_with_guards",
         [](const D& x) {
             const auto f = [](const D& p) { return bool(sum(p * p) > 100.0) ? p : 3.0 * p * p; };
             return decided(x, f, f);
         }},
    };
}

inline std::vector<EqualCase> equal_bodies()
{
    return {
        {"two_scans_of_one_body",
         [](const D& x) {
             const auto step = [](const D& s) { return std::pair(tanh(0.7 * s), s); };
             const auto [a, as] = scan(step, x, 3);
             const auto [b, bs] = scan(step, x * x, 5);
             return a * b + sum(as, {0}) - sum(bs, {0});
         }},
        {"one_scan_twice",
         [](const D& x) {
             const auto step = [](const D& s) { return std::pair(tanh(0.7 * s), s); };
             return scan(step, x, 3).first + scan(step, x, 3).first;
         }},
        {"equal_bodies_and_other_captures",
         [](const D& x) {
             const auto run = [&](const D& w) {
                 return scan([&](const D& s) { return std::pair(sin(s * w), std::tuple()); }, x, 3).first;
             };
             return run(x) * run(exp(x)) + run(D(0.3)) - run(D(-0.3));
         }},
        {"a_body_in_a_scan_and_in_a_branch",
         [](const D& x) {
             const auto f = [](const D& s) { return 0.5 * s * s; };
             const D a = scan([&](const D& s) { return std::pair(f(s), std::tuple()); }, x, 2).first;
             return a + cond(sum(x) > 0.0, f, f, x);
         }},
        {"forwards_and_backwards",
         [](const D& x) {
             const auto step = [](const D& s, const D& u) { return std::pair(0.5 * s + u, s * u); };
             const auto [a, as] = scan(step, x, x);
             const auto [b, bs] = scan(step, x, flip(x, {0}));
             return a * b + sum(as * bs);
         }},
        {"a_test_that_is_its_body",
         [](const D& x) {
             using Truth = Tensor<bool>;
             const Truth last = while_loop([](const Truth& t) { return !t; },
                                           [](const Truth& t) { return !t; }, sum(x) > 0.0);
             return where(last, x, x * x);
         }},
        {"results_that_are_one_value",
         [](const D& x) {
             const auto [last, all] = scan(
                 [](const D& s) {
                     const D next = cos(s);
                     return std::pair(next, std::tuple(next, next, s));
                 },
                 x, 4);
             return last + sum(std::get<0>(all) * std::get<1>(all) - std::get<2>(all), {0});
         }},
        {"states_that_change_places",
         [](const D& x) {
             using State = std::tuple<D, D, D>;
             const auto [last, none] = scan(
                 [](const State& s) {
                     const auto& [a, b, c] = s;
                     return std::pair(State(b, reshape(a, a.shape()), b), std::tuple());
                 },
                 State(x, x, sin(x)), 5);
             return std::get<0>(last) * std::get<1>(last) + std::get<2>(last);
         }},
        {"views_of_states_change_places",
         [](const D& x) {
             using State = std::tuple<D, D, D>;
             const State last = while_loop([](const State& s) { return sum(std::get<2>(s)) < 5.0; },
                                           [](const State& s) {
                                               const auto& [a, b, n] = s;
                                               return State(b, flip(flip(a, {0}), {0}), n + 1.0);
                                           },
                                           State(x, cos(x), D(0.0)));
             return std::get<0>(last) - 3.0 * std::get<1>(last);
         }},
        {"one_value_as_two_states",
         [](const D& x) {
             using State = std::tuple<D, D>;
             const State last = while_loop([](const State& s) { return sum(square(std::get<0>(s))) > 0.1; },
                                           [](const State& s) {
                                               const auto& [a, b] = s;
                                               return State(0.5 * a, b + a);
                                           },
                                           State(x, x));
             return std::get<1>(last);
         }},
        {"equal_large_constants",
         [](const D& x) {
             const D a = linspace<double>(0.0, 1.0, 3), b = linspace<double>(0.0, 1.0, 3);
             const auto run = [&](const D& w) {
                 return scan([&](const D& s) { return std::pair(s * w + 0.1, std::tuple()); }, x, 3).first;
             };
             return run(a) * run(b) - run(a + 1.0);
         }},
        {"numbers_in_bodies",
         [](const D& x) {
             const auto run = [&](double w) {
                 return scan([=](const D& s) { return std::pair(sin(s * w), std::tuple()); }, x, 3).first;
             };
             return run(0.5) * run(-0.5) + run(0.25);
         }},
    };
}

/// Rules with numbers of their own, and keys: bodies with these are no text.
inline std::vector<EqualCase> equal_rules()
{
    return {
        {"rules_with_other_numbers",
         [](const D& x) {
             const auto run = [&](double w) {
                 const auto f =
                     custom_jvp([w](const D& a) { return w * a * a; },
                                [w](const D& dot, const D&, const D& a) { return 2.0 * w * a * dot; });
                 return scan([f](const D& s) { return std::pair(f(s), std::tuple()); }, x, 2).first;
             };
             return run(0.5) * run(2.0) + run(0.5);
         }},
        {"one_rule_in_both_branches",
         [](const D& x) {
             const auto f = custom_jvp([](const D& a) { return a * a; },
                                       [](const D& dot, const D&, const D& a) { return 2.0 * a * dot; });
             return decided(x, f, f) + decided(x, f, [f](const D& p) { return f(p); });
         }},
        {"keys_in_two_scans",
         [](const D& x) {
             using State = std::tuple<Key, D>;
             const auto step = [](const State& s) {
                 const auto [mine, next] = split(std::get<0>(s));
                 return std::pair(State(next, std::get<1>(s) * (1.0 + 0.1 * uniform<double>(mine, {3}))),
                                  std::tuple());
             };
             const auto run = [&](std::uint64_t seed) {
                 return std::get<1>(scan(step, State(Key(seed), x), 3).first);
             };
             return run(1) * run(2) - run(1);
         }},
    };
}
