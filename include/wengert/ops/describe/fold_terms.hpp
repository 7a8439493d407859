// The formulas of a fold as programs of terms, from which every text is printed.
#pragma once

#include "../../functions/term.hpp"
#include "../../kernels/cpu/passes.hpp"

namespace wengert {

/// Which input of a formula is what: elements of the operands, what FoldLine has, the state, and another one.
struct FoldInput {
    enum : std::int32_t {
        element = 0,
        n = 4,
        number = 5,
        first = 6,
        r = 7,
        kept = 10,
        least = 11,
        a = 12,
        b = 16,
        count = 20
    };
};

/// Several numbers, each a step of one program. Without steps: what it is given.
struct FoldFormula {
    TermProgram program;
    std::vector<std::int32_t> roots;
    explicit operator bool() const noexcept { return !roots.empty(); }
};

struct FoldPass {
    std::vector<double> identity;  ///< one for each number of the state
    bool places = false;           ///< the second number is an element's place
    bool keeps = false;            ///< elements stay as they are mapped
    FoldFormula map, combine, finish, result, enough;
    std::size_t numbers() const noexcept { return places ? 2 : identity.size(); }
};
struct FoldProgram {
    std::vector<FoldPass> passes;
    FoldFormula each;
    bool whole = false;           ///< of elements alone, not line by line
    bool needs_elements = false;  ///< of none there is no result
};

namespace detail {

inline void note_roots(FoldFormula& f, Term t) { f.roots = {t.id}; }
inline void note_roots(FoldFormula& f, const std::pair<Term, Term>& t)
{
    f.roots = {t.first.id, t.second.id};
}
template <std::size_t k> void note_roots(FoldFormula& f, const std::array<Term, k>& t)
{
    for (const Term& x : t) f.roots.push_back(x.id);
}
/// The formula that write() makes. Its inputs are those that write() asks for.
template <class Write> FoldFormula formula(const Write& write)
{
    FoldFormula f;
    const TermScope scope(f.program);
    note_roots(f, write());
    return f;
}
inline FoldLine<Term> line_of_terms()
{
    FoldLine<Term> line;
    line.n = Term::input(FoldInput::n), line.number = Term::input(FoldInput::number);
    line.first = Term::input(FoldInput::first), line.kept = Term::input(FoldInput::kept);
    line.least = Term::input(FoldInput::least);
    for (std::int32_t q = 0; q < 3; ++q) line.r[q] = Term::input(FoldInput::r + q);
    return line;
}
template <class P> auto state_of_terms(std::int32_t at)
{
    if constexpr (has_places<P>)
        return std::pair(Term::input(at), Term::input(at + 1));
    else
        return no_elements<P>([&](Literal) { return Term::input(at++); });
}
template <std::size_t operands, class F> auto with_elements(const F& f)
{
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
        return f(Term::input(FoldInput::element + static_cast<std::int32_t>(k))...);
    }(std::make_index_sequence<operands>());
}

template <class P, std::size_t operands> FoldPass write_pass()
{
    using S = decltype(state_of_terms<P>(0));
    FoldPass p;
    for (std::size_t i = 0; i < numbers_of<P>(); ++i) p.identity.push_back(identity_of<P>(i).value);
    p.places = has_places<P>, p.keeps = keeps_elements<P>;
    if constexpr (requires { &P::template map<double>; } || numbers_of<P>() > 1 || reads_line<P> ||
                  operands > 1)
        p.map = formula([] {
            return with_elements<operands>([](auto... x) { return mapped<P>(line_of_terms(), x...); });
        });
    p.combine =
        formula([] { return P::combine(state_of_terms<P>(FoldInput::a), state_of_terms<P>(FoldInput::b)); });
    if constexpr (requires(const S& s) { P::finish(s); })
        p.finish = formula([] { return P::finish(state_of_terms<P>(FoldInput::a)); });
    if constexpr (HasResult<P>)
        p.result = formula([] { return resulting<P>(line_of_terms(), state_of_terms<P>(FoldInput::a)); });
    if constexpr (requires { &P::template enough<Term>; })
        p.enough = formula([] { return P::enough(Term::input(FoldInput::a), line_of_terms()); });
    return p;
}

template <class Op, std::size_t operands> FoldProgram write_fold()
{
    FoldProgram f;
    [&]<class... P>(Passes<P...>) { (f.passes.push_back(write_pass<P, operands>()), ...); }(passes_of<Op>());
    if constexpr (requires { typename Op::maps; })
        f.each = formula([] {
            return with_elements<operands>([](auto... x) { return Op::each(x..., line_of_terms()); });
        });
    f.whole = kernels::detail::goes_whole<Op>;
    f.needs_elements = requires { Op::needs_elements; };
    return f;
}

}  // namespace detail
}  // namespace wengert
