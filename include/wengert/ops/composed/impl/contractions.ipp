// The bodies of contractions.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>

#include "../../../base/separate.hpp"
#include "../contractions.hpp"

namespace wengert::detail {

[[noreturn]] inline void wrong_subscripts(const Subscripts& s, const std::vector<Shape>& shapes,
                                          const std::string& why)
{
    std::string text = "\"";  // a sum that begins with it makes g++ 12 warn (its bug 105651)
    text.append(s.text).append("\" for shapes");
    for (const Shape& shape : shapes) text.append(" ").append(to_string(shape));
    fail<ShapeError>("einsum", text + ": " + why, s.at);
}

/// The parts between commas, without spaces.
inline std::vector<std::string> terms_of(std::string_view text)
{
    std::vector<std::string> terms(1);
    for (const char c : text)
        if (c == ',')
            terms.emplace_back();
        else if (c != ' ')
            terms.back().push_back(c);
    return terms;
}
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// A term with digits in place of its ellipsis, the last `axes` of `most`.
inline std::string with_digits(const Subscripts& s, const std::vector<Shape>& shapes, std::string term,
                               std::size_t axes, std::size_t most)
{
    std::string digits;
    for (std::size_t k = most - axes; k < most; ++k) digits.push_back(static_cast<char>('0' + k));
    const std::size_t dots = term.find("...");
    if (dots != std::string::npos) term.replace(dots, 3, digits);
    for (const char c : term)
        if (!is_letter(c) && (dots == std::string::npos || c < '0' || c > '9'))
            wrong_subscripts(s, shapes, std::string("'") + c + "' is no letter");
    return term;
}

/// The labels of the operands, each with as many as its shape has axes.
inline std::vector<std::string> operand_labels(const Subscripts& s, const std::vector<Shape>& shapes,
                                               std::size_t& most)
{
    std::vector<std::string> terms = terms_of(s.text.substr(0, s.text.find("->")));
    if (terms.size() != shapes.size())
        wrong_subscripts(s, shapes,
                         std::to_string(terms.size()) + " terms for " + std::to_string(shapes.size()) +
                             " operands");
    std::vector<std::size_t> unnamed(terms.size());
    for (std::size_t i = 0; i < terms.size(); ++i) {
        const bool dots = terms[i].find("...") != std::string::npos;
        const std::size_t named = terms[i].size() - (dots ? 3 : 0), rank = shapes[i].size();
        if (dots ? named > rank : named != rank)
            wrong_subscripts(s, shapes,
                             "term " + terms[i] + " names " + std::to_string(named) + " axes of shape " +
                                 to_string(shapes[i]));
        unnamed[i] = rank - named;
        most = std::max(most, unnamed[i]);
    }
    if (most > 10) wrong_subscripts(s, shapes, "more than 10 axes have no name");
    for (std::size_t i = 0; i < terms.size(); ++i)
        terms[i] = with_digits(s, shapes, terms[i], unnamed[i], most);
    return terms;
}

/// Letters that stand once, in the order of the alphabet, behind the axes without a name.
inline std::string implied_result(const std::vector<std::string>& operands, std::size_t unnamed)
{
    std::string all, once;
    for (const auto& labels : operands) all += labels;
    for (std::size_t k = 0; k < unnamed; ++k) once.push_back(static_cast<char>('0' + k));
    std::sort(all.begin(), all.end());
    for (const char l : all)
        if (is_letter(l) && std::count(all.begin(), all.end(), l) == 1) once.push_back(l);
    return once;
}

inline void check_result(const Subscripts& s, const std::vector<Shape>& shapes, const Contractions& c,
                         std::size_t unnamed)
{
    for (std::size_t k = 0; k < c.result.size(); ++k) {
        const char l = c.result[k];
        const auto has = [&](const std::string& labels) { return labels.find(l) != std::string::npos; };
        if (c.result.find(l, k + 1) != std::string::npos)
            wrong_subscripts(s, shapes, std::string("the result has '") + l + "' twice");
        if (std::none_of(c.operands.begin(), c.operands.end(), has))
            wrong_subscripts(s, shapes, std::string("the result has '") + l + "', no operand has it");
    }
    if (unnamed > 0 && c.result.find('0') == std::string::npos)
        wrong_subscripts(s, shapes, "the result lacks the axes of the ellipsis");
}

WENGERT_INLINE Contractions read_subscripts(const Subscripts& s, const std::vector<Shape>& shapes)
{
    Contractions c;
    std::size_t unnamed = 0;
    c.operands = operand_labels(s, shapes, unnamed);
    const std::size_t arrow = s.text.find("->");
    if (arrow == std::string_view::npos)
        c.result = implied_result(c.operands, unnamed);
    else
        c.result = with_digits(s, shapes, terms_of(s.text.substr(arrow + 2)).front(), unnamed, unnamed);
    check_result(s, shapes, c, unnamed);
    for (auto& e : c.extents) e = -1;
    for (std::size_t i = 0; i < shapes.size(); ++i)
        for (std::size_t k = 0; k < shapes[i].size(); ++k) {
            std::int64_t& known = c.extents[static_cast<unsigned char>(c.operands[i][k])];
            const std::int64_t n = shapes[i][k];
            const bool repeats = !is_letter(c.operands[i][k]) && (known == 1 || n == 1);
            if (known >= 0 && known != n && !repeats)
                wrong_subscripts(s, shapes,
                                 std::string("'") + c.operands[i][k] + "' is " + std::to_string(known) +
                                     " and " + std::to_string(n));
            if (known < 0 || known == 1) known = n;
        }
    return c;
}

WENGERT_INLINE std::pair<std::size_t, std::size_t> cheapest_pair(const Contractions& c)
{
    std::pair<std::size_t, std::size_t> best{0, 1};
    double least = -1;
    for (std::size_t i = 0; i < c.operands.size(); ++i)
        for (std::size_t j = i + 1; j < c.operands.size(); ++j) {
            double cost = 1;
            for (const char l : c.operands[i]) cost *= double(c.extents[static_cast<unsigned char>(l)]);
            for (const char l : c.operands[j])
                if (c.operands[i].find(l) == std::string::npos)
                    cost *= double(c.extents[static_cast<unsigned char>(l)]);
            if (least >= 0 && cost >= least) continue;
            least = cost;
            best = {i, j};
        }
    return best;
}

WENGERT_INLINE std::string kept_by_others(const Contractions& c, std::size_t i, std::size_t j)
{
    std::string kept = c.result;
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (k != i && k != j) kept += c.operands[k];
    return kept;
}

WENGERT_INLINE SharedLabels shared_labels(const std::string& a, const std::string& b, const std::string& kept)
{
    SharedLabels s;
    const auto in = [](const std::string& labels, char l) { return labels.find(l) != std::string::npos; };
    for (const char l : a) (!in(b, l) ? s.left : in(kept, l) ? s.batch : s.summed).push_back(l);
    for (const char l : b)
        if (!in(a, l)) s.right.push_back(l);
    return s;
}

WENGERT_INLINE Axes places_of(const std::string& labels, const std::string& among)
{
    Axes axes;
    for (const char l : labels) axes.push_back(static_cast<std::int64_t>(among.find(l)));
    return axes;
}

}  // namespace wengert::detail
