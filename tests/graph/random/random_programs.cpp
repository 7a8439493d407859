// Random programs as data: generated, printed, saved, read, shortened.
#include "graph/random/random_programs.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <tuple>

namespace random_programs {

namespace {

// clang-format off
constexpr const char* names[] = {
    "negative", "square", "sqrt", "reciprocal", "exp", "expm1", "log", "log1p", "erf", "abs", "sign", "floor", "ceil", "round",
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sigmoid", "softplus", "relu", "gelu", "silu",
    "add", "subtract", "multiply", "divide", "pow", "atan2", "hypot", "maximum", "minimum", "literal", "clip", "where",
    "compare", "logical", "integer", "lambda", "sum", "mean", "prod", "amax", "amin", "var", "stddev", "norm", "logsumexp",
    "argument", "quantify", "softmax", "log_softmax", "cross_entropy", "reshape", "transpose", "swapaxes", "expand_dims",
    "squeeze", "broadcast", "concatenate", "stack", "split", "pad", "triangle", "diagonal", "view", "element", "assign",
    "update", "matmul", "dot", "outer", "take", "scatter_add", "one_hot", "stop", "copy", "writer", "item", "branch", "loop",
    "while_loop", "inner_gradient", "inner_jvp", "inner_frozen", "custom", "draw", "load", "store", "recorded_scan",
    "recorded_while", "recorded_cond", "recorded_snapshots", "checkpointed", "checkpointed_loop", "preaccumulated", "fresh",
    "ruled", "hidden", "frozen_inside", "listed", "equal_branches", "twin_loops", "complete_scan", "sliced_scan",
    "checkpointed_control", "pulled", "told", "shown", "mapped", "cell", "edges", "row_products", "scattered", "counted", "arranged", "ordered",
    "solved"};
constexpr const char* modes[] = {"forward", "gradient", "value_and_gradient", "second", "jvp", "hvp", "frozen_gradient",
    "frozen_jvp", "frozen_hvp"};
// clang-format on
static_assert(std::size(names) == static_cast<std::size_t>(Op::count));
static_assert(std::size(modes) == static_cast<std::size_t>(Mode::count));

bool has_body(Op op)
{
    return op == Op::branch || op == Op::loop || op == Op::while_loop || op == Op::inner_gradient ||
           op == Op::inner_jvp || op == Op::inner_frozen || op == Op::recorded_scan ||
           op == Op::recorded_while || op == Op::recorded_cond || op == Op::recorded_snapshots ||
           op == Op::checkpointed || op == Op::checkpointed_loop || op == Op::preaccumulated ||
           op == Op::hidden || op == Op::frozen_inside || (op >= Op::equal_branches && op <= Op::mapped);
}
bool has_other(Op op) { return op == Op::branch || op == Op::recorded_cond; }

/// Lines of the list of all primitives, and words of their own: mostly arithmetic and maps, as in real programs; views and reductions often; control flow seldom.
Op random_op(Random& r)
{
    const auto one_of = [&](Op first, Op last) {
        return static_cast<Op>(static_cast<int>(first) +
                               static_cast<int>(r.below(static_cast<unsigned>(static_cast<int>(last) -
                                                                              static_cast<int>(first) + 1))));
    };
    const unsigned k = r.below(135);
    if (k < 15) return Op::listed;
    if (k < 22) return one_of(Op::negative, Op::silu);
    if (k < 26) return Op::tanh;
    if (k < 48) return one_of(Op::add, Op::lambda);
    if (k < 54) return one_of(Op::add, Op::multiply);
    if (k < 66) return one_of(Op::sum, Op::cross_entropy);
    if (k < 83) return one_of(Op::reshape, Op::copy);
    if (k < 85) return r.chance(50) ? Op::load : Op::store;
    if (k < 102) return one_of(Op::writer, Op::frozen_inside);
    if (k < 112) return Op::cell;
    if (k < 126) return one_of(Op::equal_branches, Op::mapped);
    return one_of(Op::edges, Op::solved);
}

class Generator {
public:
    Generator(std::uint64_t seed, const Wanted& wanted) : r_{seed}, wanted_(wanted) {}
    Program program();

private:
    bool allows(Op op) const
    {
        return std::find(wanted_.without.begin(), wanted_.without.end(), name_of(op)) ==
               wanted_.without.end();
    }
    std::vector<Instruction> body(unsigned length, unsigned depth);
    std::vector<Instruction> nearly(std::vector<Instruction> of);
    void shapes(Program& p);

    Random r_;
    const Wanted& wanted_;
};

std::vector<Instruction> Generator::body(unsigned length, unsigned depth)
{
    std::vector<Instruction> body_of;
    for (unsigned k = 0; k < length; ++k) {
        Instruction i;
        i.op = random_op(r_);
        if ((has_body(i.op) && depth == 0) || !allows(i.op)) i.op = Op::add;
        for (auto& x : i.x) x = r_.chance(60) ? r_.below(3) : r_.below(12);
        for (auto& p : i.p) p = r_.below(1000);
        if (has_body(i.op)) i.body = body(1 + r_.below(4), depth - 1);
        if (has_other(i.op))
            i.other = allows(Op::equal_branches) && r_.chance(40) ? nearly(i.body)
                                                                  : body(1 + r_.below(4), depth - 1);
        body_of.push_back(std::move(i));
    }
    return body_of;
}

/// The same, or with one change.
std::vector<Instruction> Generator::nearly(std::vector<Instruction> of)
{
    Instruction& i = of[r_.below(static_cast<unsigned>(of.size()))];
    const unsigned change = r_.below(6);
    if (change == 0) i.p[r_.below(3)] = r_.below(1000);
    if (change == 1) std::swap(i.x[0], i.x[1]);
    if (change == 2) i.op = i.op == Op::add && allows(Op::multiply) ? Op::multiply : Op::add;
    return of;
}

Extents random_extents(Random& r)
{
    static constexpr long extents[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33};
    Extents e(r.below(4));
    for (auto& n : e) n = extents[r.below(r.chance(80) ? 7 : 11)];
    if (e.size() == 1 && r.chance(8)) e[0] = 500 + r.below(600);  // more than a tile
    if (e.size() == 2 && r.chance(3)) e[0] = 40 + r.below(40), e[1] = 30 + r.below(40);
    if (!e.empty() && r.chance(3)) e[r.below(static_cast<unsigned>(e.size()))] = 0;
    return e;
}

void Generator::shapes(Program& p)
{
    p.inputs.resize(1 + r_.below(3));
    p.constants.resize(r_.below(3));
    p.live.resize(!p.of_frozen() && r_.chance(40) ? 1 + r_.below(2) : 0);
    for (auto member : {&Program::inputs, &Program::constants, &Program::live})
        for (auto& s : p.*member) s = random_extents(r_);
    if (p.inputs.size() > 1 && r_.chance(50)) p.inputs[1] = p.inputs[0];
    if (p.equal_constants() && p.constants.size() > 1) p.constants[1] = p.constants[0];
    if (p.dynamic())
        for (auto& s : p.inputs) {
            if (s.empty()) s.resize(1);
            s[0] = p.inputs[0][0] = std::clamp(p.inputs[0][0], 2L, 40L);
        }
}

Program Generator::program()
{
    Program p;
    p.seed = r_() % Program::flags;
    if (r_.chance(12) && allows(Op::edges)) p.seed += Program::flags;
    if (r_.chance(8)) p.seed += 2 * Program::flags;
    if (r_.chance(30)) p.seed += 4 * Program::flags;
    static constexpr Mode first[] = {
        Mode::forward,  Mode::forward,         Mode::forward,   Mode::forward,
        Mode::gradient, Mode::gradient,        Mode::gradient,  Mode::value_and_gradient,
        Mode::jvp,      Mode::frozen_gradient, Mode::frozen_jvp};
    static constexpr Mode second[] = {Mode::second, Mode::second, Mode::hvp, Mode::frozen_hvp};
    const bool deep = wanted_.order == 2 || (wanted_.order == 0 && r_.chance(22));
    p.mode = deep ? second[r_.below(std::size(second))] : first[r_.below(std::size(first))];
    p.twice = r_.chance(40);
    p.outputs = 1 + r_.below(3);
    shapes(p);
    p.body = body(2 + r_.below(deep ? 5 : r_.chance(80) ? 8 : 18), 2);
    return p;
}

void save(std::ostream& out, const std::vector<Instruction>& body)
{
    out << "{ ";
    for (const auto& i : body) {
        out << name_of(i.op) << ' ';
        for (auto x : i.x) out << x << ' ';
        for (auto p : i.p) out << p << ' ';
        save(out, i.body);
        save(out, i.other);
    }
    out << "} ";
}
void save(std::ostream& out, const std::vector<Extents>& shapes)
{
    out << shapes.size() << ' ';
    for (const auto& s : shapes) {
        out << s.size() << ' ';
        for (long e : s) out << e << ' ';
    }
}

template <class X> X next(std::istream& in)
{
    X x{};
    if (!(in >> x)) throw std::runtime_error("no program: it ends too early");
    return x;
}
int index_of(const std::string& word, const char* const* list, std::size_t n)
{
    const auto at = std::find(list, list + n, word);
    if (at == list + n) throw std::runtime_error("no program: unknown word " + word);
    return static_cast<int>(at - list);
}
std::vector<Instruction> load_body(std::istream& in)
{
    std::vector<Instruction> body;
    if (next<std::string>(in) != "{") throw std::runtime_error("no program: { is missing");
    for (std::string word; (word = next<std::string>(in)) != "}";) {
        Instruction i;
        i.op = static_cast<Op>(index_of(word, names, std::size(names)));
        for (auto& x : i.x) x = next<unsigned>(in);
        for (auto& p : i.p) p = next<unsigned>(in);
        i.body = load_body(in);
        i.other = load_body(in);
        body.push_back(std::move(i));
    }
    return body;
}
std::vector<Extents> load_shapes(std::istream& in)
{
    std::vector<Extents> shapes(next<std::size_t>(in));
    for (auto& s : shapes) {
        s.resize(next<std::size_t>(in));
        for (auto& e : s) e = next<long>(in);
    }
    return shapes;
}

void list(std::ostream& out, const std::vector<Instruction>& body, int depth)
{
    const std::string indent(static_cast<std::size_t>(4 * depth), ' ');
    for (const auto& i : body) {
        out << indent << name_of(i.op) << "(−" << i.x[0] << ", −" << i.x[1] << ", −" << i.x[2] << "; "
            << i.p[0] << ", " << i.p[1] << ", " << i.p[2] << ")\n";
        list(out, i.body, depth + 1);
        if (!i.other.empty()) {
            out << indent << "else\n";
            list(out, i.other, depth + 1);
        }
    }
}
void list(std::ostream& out, const char* what, const std::vector<Extents>& shapes)
{
    out << what;
    for (const auto& s : shapes) {
        out << " (";
        for (std::size_t k = 0; k < s.size(); ++k) out << (k ? ", " : "") << s[k];
        out << ')';
    }
    out << '\n';
}

/// Tries changes to a program one after the other and keeps those with which it still fails.
class Shrinker {
public:
    Shrinker(Program p, const Check& check, int attempts) : best(std::move(p)), check_(check), left_(attempts)
    {}
    Program best;

    bool attempt(const Program& p)
    {
        if (left_-- <= 0 || check_(p).empty()) return false;
        best = p;
        return true;
    }
    bool exhausted() const { return left_ <= 0; }
    bool shorten()
    {
        bool changed = false;
        for (std::size_t k = count(best.body); k-- > 0 && !exhausted();) {
            Program p = best;
            std::size_t n = k;
            if (remove(p.body, n, false) && attempt(p)) {
                changed = true;
                continue;
            }
            p = best;
            n = k;
            if (remove(p.body, n, true)) changed = attempt(p) || changed;
        }
        return changed;
    }
    /// Both bodies of a branch shortened alike: what is wrong with equal ones needs them equal.
    bool shorten_twins(Program& p, std::vector<Instruction>& body)
    {
        bool changed = false;
        for (auto& i : body) {
            for (std::size_t k = std::min(i.body.size(), i.other.size()); k-- > 0;) {
                const auto kept = std::pair(i.body, i.other);
                i.body.erase(i.body.begin() + static_cast<long>(k));
                i.other.erase(i.other.begin() + static_cast<long>(k));
                if (attempt(p))
                    changed = true;
                else
                    std::tie(i.body, i.other) = kept;
            }
            changed = shorten_twins(p, i.body) || changed;
        }
        return changed;
    }
    bool simplify()
    {
        Program twins = best;
        bool changed = shorten_twins(twins, twins.body);
        const auto tried = [&](const auto& change) {
            Program p = best;
            if (change(p)) changed = attempt(p) || changed;
        };
        tried([](Program& p) { return p.mode != Mode::forward && (p.mode = Mode::forward, true); });
        tried([](Program& p) {
            return p.mode != Mode::gradient && p.mode != Mode::forward && (p.mode = Mode::gradient, true);
        });
        tried([](Program& p) { return p.outputs > 1 && (p.outputs = 1, true); });
        for (auto member : {&Program::inputs, &Program::constants, &Program::live})
            for (std::size_t k = (best.*member).size(); k-- > 0;) {
                tried([&](Program& p) {
                    if (member == &Program::inputs && p.inputs.size() == 1) return false;
                    (p.*member).erase((p.*member).begin() + static_cast<long>(k));
                    return true;
                });
                if (k >= (best.*member).size()) continue;
                for (std::size_t axis = (best.*member)[k].size(); axis-- > 0;) {
                    tried([&](Program& p) {
                        (p.*member)[k].erase((p.*member)[k].begin() + static_cast<long>(axis));
                        return true;
                    });
                    if (axis < (best.*member)[k].size())
                        tried([&](Program& p) {
                            return (p.*member)[k][axis] > 2 && ((p.*member)[k][axis] = 2, true);
                        });
                }
            }
        return changed;
    }

private:
    static std::size_t count(const std::vector<Instruction>& body)
    {
        std::size_t n = 0;
        for (const auto& i : body) n += 1 + count(i.body) + count(i.other);
        return n;
    }
    /// The n-th instruction, or it and nothing of its body.
    static bool remove(std::vector<Instruction>& body, std::size_t& n, bool keep_body)
    {
        for (std::size_t k = 0; k < body.size(); ++k) {
            if (n-- == 0) {
                if (keep_body && body[k].body.empty()) return false;
                const auto inner = keep_body ? body[k].body : std::vector<Instruction>();
                body.erase(body.begin() + static_cast<long>(k));
                body.insert(body.begin() + static_cast<long>(k), inner.begin(), inner.end());
                return true;
            }
            if (remove(body[k].body, n, keep_body) || remove(body[k].other, n, keep_body)) return true;
            if (n == static_cast<std::size_t>(-1)) return false;
        }
        return false;
    }

    const Check& check_;
    int left_;
};

}  // namespace

const char* name_of(Op op) { return names[static_cast<int>(op)]; }

Program generate(std::uint64_t seed, const Wanted& wanted) { return Generator(seed, wanted).program(); }

std::string saved(const Program& p)
{
    std::ostringstream out;
    out << p.seed << ' ' << modes[static_cast<int>(p.mode)] << ' ' << p.twice << ' ' << p.outputs << ' ';
    save(out, p.inputs);
    save(out, p.constants);
    save(out, p.live);
    save(out, p.body);
    std::string line = out.str();
    line.pop_back();
    return line;
}

Program parse(const std::string& line)
{
    std::istringstream in(line);
    Program p;
    p.seed = next<std::uint64_t>(in);
    p.mode = static_cast<Mode>(index_of(next<std::string>(in), modes, std::size(modes)));
    p.twice = next<bool>(in);
    p.outputs = next<unsigned>(in);
    p.inputs = load_shapes(in);
    p.constants = load_shapes(in);
    p.live = load_shapes(in);
    p.body = load_body(in);
    return p;
}

std::string listing(const Program& p)
{
    std::ostringstream out;
    out << modes[static_cast<int>(p.mode)] << " in " << (p.twice ? "double" : "float") << ", " << p.outputs
        << " results, data " << p.seed << '\n';
    list(out, "inputs", p.inputs);
    list(out, "constants", p.constants);
    list(out, "live", p.live);
    list(out, p.body, 1);
    return out.str();
}

Program shrunk(const Program& p, const Check& check, int attempts)
{
    Shrinker s(p, check, attempts);
    while (!s.exhausted()) {
        const bool shorter = s.shorten();
        if (!s.simplify() && !shorter) break;
    }
    return s.best;
}

}  // namespace random_programs
