// What may be said of a solver, and the forms of its call.
#pragma once

#include "converged.hpp"
#include "flat.hpp"

namespace wengert {

namespace detail {
/// Throws OptionError where an option is no number in its range.
inline void demand_option(bool good, std::string_view solver, std::string_view option, double given,
                          std::string_view expected, const Site& at)
{
    if (!good)
        fail<OptionError>(solver,
                          "." + std::string(option) + " = " + digits_of(given, 6) + ": " +
                              std::string(expected) + " is expected",
                          at);
}
}  // namespace detail

/// Of root, fixed_point, minimize, cg, gmres and bicgstab.
struct SolverOptions {
    double tolerance = 0;         ///< of the error relative to the answer; 0: one that fits the dtype
    std::int64_t iterations = 0;  ///< at most so many; 0: one that fits the method
    std::int64_t restart = 30;    ///< of gmres: so many vectors are kept
    std::int64_t dense = 256;     ///< unknowns up to which a Jacobian is a matrix; gmres needs none
    int orders = 3;               ///< of a frozen function's derivatives, those within it among them
    std::shared_ptr<SolverReport> report = nullptr;
    using is_options_of_a_solver = void;

    /// Throws OptionError for what is out of its range.
    void demand(std::string_view solver, const Site& at) const
    {
        const auto whole = [&](std::string_view name, std::int64_t n, std::int64_t least) {
            const bool good = n >= least;
            detail::demand_option(good, solver, name, static_cast<double>(n),
                                  least ? "at least 1" : "0 or more", at);
        };
        const bool good = tolerance >= 0 && tolerance < 1;
        detail::demand_option(good, solver, "tolerance", tolerance, "a number from 0 to 1", at);
        whole("iterations", iterations, 0), whole("restart", restart, 1), whole("dense", dense, 0);
        whole("orders", orders, 0);
    }
};

namespace detail {

/// No option and no line.
template <class X>
concept Parameter = !std::is_same_v<X, Site> && !requires { typename X::is_options_of_a_solver; };

/// The forms of solver(f, y, p…, options): up to five parameters, each any tree of tensors.
template <class Self, class Options> class SolverForms {
public:
    template <class F, class Y>
    auto operator()(const F& f, const Y& y, const Options& options = {},
                    Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return solve(at, options, f, argument(y));
    }
    template <class F, class Y, Parameter A>
    auto operator()(const F& f, const Y& y, const A& a, const Options& options = {},
                    Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return solve(at, options, f, argument(y), argument(a));
    }
    template <class F, class Y, Parameter A, Parameter B>
    auto operator()(const F& f, const Y& y, const A& a, const B& b, const Options& options = {},
                    Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return solve(at, options, f, argument(y), argument(a), argument(b));
    }
    template <class F, class Y, Parameter A, Parameter B, Parameter C>
    auto operator()(const F& f, const Y& y, const A& a, const B& b, const C& c, const Options& options = {},
                    Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return solve(at, options, f, argument(y), argument(a), argument(b), argument(c));
    }
    template <class F, class Y, Parameter A, Parameter B, Parameter C, Parameter E>
    auto operator()(const F& f, const Y& y, const A& a, const B& b, const C& c, const E& e,
                    const Options& options = {}, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return solve(at, options, f, argument(y), argument(a), argument(b), argument(c), argument(e));
    }
    template <class F, class Y, Parameter A, Parameter B, Parameter C, Parameter E, Parameter G>
    auto operator()(const F& f, const Y& y, const A& a, const B& b, const C& c, const E& e, const G& g,
                    const Options& options = {}, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        return solve(at, options, f, argument(y), argument(a), argument(b), argument(c), argument(e),
                     argument(g));
    }

private:
    template <class F, class Y, class... P>
    auto solve(const Site& at, const Options& options, const F& f, const Y& y, const P&... p) const
    {
        static_assert(
            !tree::contains_number<Y>,
            "wengert: a solver's unknowns are tensors, or containers and structs of them, here they are "
            "Reals: write Tensor<double>(x) and solve for that; parameters may be Reals");
        return self().run(at, options, f, y, p...);
    }
    const Self& self() const { return static_cast<const Self&>(*this); }
};

}  // namespace detail
}  // namespace wengert
