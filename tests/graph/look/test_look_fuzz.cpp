// Damaged text: whatever is done to it, it is refused with an error that names a line, or it is a graph that runs.
//
// WENGERT_FUZZ_ROUNDS sets how many mutants are tried (a few hundred otherwise), WENGERT_FUZZ_SEED which.
#include "graph/look/reading/parse.hpp"

#include <cstdlib>

#include "graph/look/look_graphs.hpp"

using namespace look;

namespace {

/// Splitmix64 (Steele, Lea, Flood 2014).
struct Chance {
    std::uint64_t state;
    std::uint64_t next()
    {
        std::uint64_t z = state += 0x9e3779b97f4a7c15U;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
        z = (z ^ z >> 27) * 0x94d049bb133111ebU;
        return z ^ z >> 31;
    }
    std::size_t below(std::size_t n) { return n ? next() % n : 0; }
};

std::vector<std::string> lines_of(const std::string& text)
{
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        lines.push_back(text.substr(at, end - at + 1));
        at = end == std::string::npos ? text.size() : end + 1;
    }
    return lines;
}
std::string joined(const std::vector<std::string>& lines)
{
    std::string text;
    for (const auto& l : lines) text += l;
    return text;
}

/// Another number in the place of one of them.
void edit_number(std::string& text, Chance& chance)
{
    static const char* numbers[] = {"0",
                                    "1",
                                    "2",
                                    "3",
                                    "4",
                                    "-1",
                                    "5",
                                    "12",
                                    "100",
                                    "65536",
                                    "4294967296",
                                    "1000000000",
                                    "99999999999",
                                    "-9223372036854775808",
                                    "9223372036854775807",
                                    "18446744073709551616",
                                    "true",
                                    "1e308",
                                    "nan",
                                    ""};
    std::vector<std::pair<std::size_t, std::size_t>> found;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto digit = [&](std::size_t k) { return k < text.size() && text[k] >= '0' && text[k] <= '9'; };
        if (!digit(i) || (i && digit(i - 1))) continue;
        std::size_t n = 1;
        while (digit(i + n)) ++n;
        found.emplace_back(i, n);
    }
    if (found.empty()) return;
    const auto [at, n] = found[chance.below(found.size())];
    text.replace(at, n, numbers[chance.below(std::size(numbers))]);
}

void edit_line(std::string& text, Chance& chance)
{
    auto lines = lines_of(text);
    if (lines.size() < 2) return;
    const std::size_t i = chance.below(lines.size()), k = chance.below(lines.size());
    const auto at = lines.begin() + static_cast<std::ptrdiff_t>(i);
    switch (chance.below(3)) {
    case 0: lines.erase(at); break;
    case 1: lines.insert(at, std::string(lines[k])); break;
    default: std::swap(lines[i], lines[k]);
    }
    text = joined(lines);
}

/// One operation's name in the place of another's, or its parameters.
void edit_word(std::string& text, Chance& chance)
{
    auto lines = lines_of(text);
    const std::size_t i = chance.below(lines.size()), k = chance.below(lines.size());
    const char *open = chance.below(2) ? "= " : "{", *close = *open == '{' ? "}" : "(";
    const std::size_t a = lines[i].find(open), b = lines[i].find(close), c = lines[k].find(open),
                      d = lines[k].find(close);
    if (std::max({a, b, c, d}) == std::string::npos || b < a || d < c) return;
    lines[i].replace(a, b - a, lines[k].substr(c, d - c));
    text = joined(lines);
}

void mutate(std::string& text, Chance& chance)
{
    if (text.empty()) return;
    const std::size_t at = chance.below(text.size()), n = 1 + chance.below(8);
    switch (chance.below(10)) {
    case 0: text[at] = static_cast<char>(chance.next()); break;
    case 1: text[at] = "(){}%,=:# \n\"-.0f"[chance.below(16)]; break;
    case 2: text.erase(at, n); break;
    case 3: text.insert(at, text.substr(chance.below(text.size()), n)); break;
    case 4: edit_line(text, chance); break;
    case 5: edit_word(text, chance); break;
    default: edit_number(text, chance);
    }
}

/// Few elements, few steps, and no loop that may have no end.
bool small(const Graph& g)
{
    std::size_t elements = 0;
    bool ends = true;
    for (const auto& n : g.nodes()) {
        elements += std::min<std::size_t>(wg::element_count(n.shape), 1 << 20);
        const auto* loop = wg::loop_parameters(n);
        if (!loop) continue;
        ends = ends && loop->kind != wg::LoopParameters::Kind::while_loop &&
               loop->kind != wg::LoopParameters::Kind::while_pull && loop->steps < 30;
        for (const Graph* inner : wg::detail::graphs_of(*loop)) ends = ends && small(*inner);
    }
    return ends && elements < 20000;
}

void run_it(const Graph& g)
{
    if (!small(g)) return;
    std::vector<wg::Ref<wg::Block>> in;
    for (wg::ValueId v : g.inputs()) in.push_back(wg::zeros_block(g.node(v).dtype, g.node(v).shape));
    static_cast<void>(wg::interpret(g, in));
}

struct Outcome {
    std::size_t refused = 0, ran = 0, failed = 0;
};
void try_it(const std::string& text, Outcome& outcome)
{
    reading::ReadLimits limits;
    limits.splat_bytes = 1 << 20;
    try {
        const Graph g = reading::parse_graph(text, reading::registry(), limits);
        try {
            run_it(g);
            ++outcome.ran;
        } catch (const wg::Error&) {  // an index out of range
            ++outcome.failed;
        }
        CHECK(difference(g, reading::parse_graph(wg::to_text(g))) == "");
    } catch (const reading::GraphTextError& e) {
        ++outcome.refused;
        if (e.line == 0) FAIL(e.what());
    }
}

std::size_t setting(const char* name, std::size_t otherwise)
{
    const char* text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace

TEST_CASE("mutants of graphs are refused in words or run")
{
    const std::size_t rounds = setting("WENGERT_FUZZ_ROUNDS", 400), seed = setting("WENGERT_FUZZ_SEED", 1);
    std::vector<std::string> texts;
    for (const auto& named : graphs()) texts.push_back(wg::to_text(named.graph));
    Outcome outcome;
    for (std::size_t round = 0; round < rounds; ++round) {
        Chance chance{seed * 0x100000001b3U + round};
        std::string text = texts[chance.below(texts.size())];
        for (std::size_t k = 1 + chance.below(3); k > 0; --k) mutate(text, chance);
        INFO("seed " << seed << ", round " << round << "\n" << text);
        CHECK_NOTHROW(try_it(text, outcome));
    }
    CAPTURE(outcome.refused, outcome.ran, outcome.failed);
    CHECK(outcome.refused > rounds / 4);
    CHECK(outcome.ran > rounds / 20);
}
