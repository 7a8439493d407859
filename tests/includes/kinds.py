#!/usr/bin/env python3
"""Outside of ops/ no code asks which primitive it has: not by name, kind, type, address or a cast of its parameters. What a
primitive is it says itself: its description, its form as a library call, a property. Finds what asks all the same; --show lists it. Counts
choices between float and double, too: a type is a row of a table (base/dtype.hpp), and kernels know its registers."""
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2] / "include" / "wengert"
FREE = ("io/np", "io/impl/np", "base/", "kernels/", "array/", "ops/")  # what is below primitives, and where they are described
TYPE = r"[A-Z]\w*(?:<[^<>()]*(?:<[^<>()]*>)?[^<>()]*>)?"
COMPARED = r"(?:==|!=)"
QUESTIONS = {
    "kind": r"\bprimitive\s*(?:->|\.)\s*kind\b|\(\s*\*\s*\w*primitive\s*\)\s*\.\s*kind\b"
            rf"|(?<!switch \()\bp\s*(?:->|\.)\s*kind\b(?!\s*(?:{COMPARED}|=)\s*(?:\w+::)*\w*Kind::)(?=\s*(?:{COMPARED}|\.|,|\)))"
            rf"|\bp->kind\s*{COMPARED}\s*\"",
    "name": rf'{COMPARED}\s*"[a-z]\w*(?:\.\w+)?"|"[a-z]\w*(?:\.\w+)?"\s*{COMPARED}'
            r'|\b(?:starts_with|ends_with)\(\s*"'
            rf"|{COMPARED}\s*(?:\w+::)*{TYPE}::name\b|(?:\w+::)*{TYPE}::name\s*{COMPARED}"
            r'|\b(?:kind|name)(?:\(\))?\s*\.\s*(?:substr|find|back|front|starts_with|ends_with)\('
            r'|\bstring_view\s+\w+\s*(?::\s*|\[\]\s*=\s*)\{\s*"'
            r"|\b(?:primitive\s*->|p\s*(?:\.|->))\s*name\s*(?:\.|\[)"
            r"|\b(?:find|count|at|contains|equal|strn?cmp|hash<[\w:]*>\(\))\(\s*(?:std::string\(\s*)?"
            r"[\w.>*()-]*(?:\bprimitive\s*->|\bp\s*(?:\.|->))\s*name\b"
            r'|\bmap<\s*std::string(?:_view)?\s*,[^;{}]*\{\s*\{\s*"',
    "function": rf"{COMPARED}\s*&?\s*(?:\w+::)*(?:clone|destroy|make|visit|describe|run|structural|elementwise|variadic"
                r"|accumulation)_\w+<"
                rf"|(?:->|\.)(?:fields|compute|clone|vjp|jvp|describe|expand|inside)\s*{COMPARED}\s*&?"
                r"(?!nullptr\b)(?:\w+::)*[a-z]\w*\b(?!\s*(?:\.|->|<))",
    "address": rf"{COMPARED}\s*&\s*(?:\w+::)*\w*primitive\b|&(?:\w+::)*\w*_primitive<[^;]*>\s*{COMPARED}",
    "cast": rf"(?:static|reinterpret)_cast<(?:const\s+)?(?:\w+::)*{TYPE}\s*[*&]>\(\s*(?:\w+(?:\.|->))*op(?:\.get\(\))?\s*\)"
            rf"|_pointer_cast<(?:const\s+)?(?:\w+::)*{TYPE}>\(\s*(?:\w+(?:\.|->))*op\s*\)"
            rf"|\((?:const\s+)?(?:\w+::)*{TYPE}\s*\*\)\s*(?:\w+(?:\.|->))*op\b"
            rf"|static_cast<const\s+(?:\w+::)*{TYPE}\s*\*>\(\s*\w+(?:\.\w+)*\([^()]*\)(?:\.|->)op(?:\.get\(\))?\s*\)",
    "type": rf"\bis_same_v<\s*(?:Op|P)\s*,\s*(?:\w+::)*{TYPE}\s*>|\bis_one_of<",
    "helper": rf"\b(?:parameters_of|row_parameters|is_op|is_row_op|is_sum|is_mean|op)<(?:\w+::)*{TYPE}(?:,[^()]*)?>\(",
    "overload": r"\(\s*const (?!Primitive\b|GraphNode\b|Graph\b|Shape\b|Site\b)[A-Z]\w*&\s*\w*,\s*ValueTypes\b",
}
QUESTION = {what: re.compile(text) for what, text in QUESTIONS.items()}
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.S)

# A struct's own functions, where it is no primitive of ops/, and words that name none: {file: how many}.
NOT_ASKING = {
    "graph/text/loop_text.hpp": 1,
    "graph/control/host.hpp": 1,
    "graph/look/text.hpp": 2,
    "graph/control/impl/host.ipp": 1,
    "graph/loops/loop.hpp": 1,
    "graph/loops/impl/loop.ipp": 2,
    "graph/loops/impl/loop_rules.ipp": 2,
    "graph/loops/impl/run_loop.ipp": 1,
    "mpi/primitive.hpp": 3,
    "scalar/real/impl/adjoints.ipp": 1,
    "scalar/transforms/impl/exchange.ipp": 4,
    "scalar/stream/stream.hpp": 1,
    "scalar/transforms/impl/sweep.ipp": 2,
    "tape/primitive.hpp": 1,
    "tape/impl/run_log.ipp": 1,
    "tape/section.hpp": 2,
    "tape/impl/section.ipp": 1,
}
FORK = re.compile(r"\bis_single\(|\bDType::float(?:32|64)\b|\bis_same_v<[^<>;]*,\s*(?:float|double)>|\bsizeof\(T\) == [48]\b")
NO_FORK = re.compile(r"\bstatic_assert\(|\bconditional_t<sizeof\(T\) == 4, std::u?int32_t")
MOST_FORKS = 13  # two of which are texts over vectors, one a concept


def code(text):
    """Without comments, strings kept."""
    return COMMENT.sub(lambda m: m.group(1) or "", text)


def questions(text):
    """(question, line, words) of each place that asks."""
    text, seen = code(text), set()
    for what, pattern in QUESTION.items():
        for found in pattern.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            if (line, found.start()) not in seen:
                seen.add((line, found.start()))
                yield what, line, " ".join(found.group().split())


def counts(root, show=False):
    asked = {}
    for file in sorted(root.rglob("*.[hi]pp")):
        path = file.relative_to(root).as_posix()
        if path.startswith(FREE):
            continue
        found = list(questions(file.read_text()))
        if show:
            for what, line, words in found:
                print(f"{path}:{line}: {what}: {words}")
        if found:
            asked[path] = len(found)
    return asked


def problems(asked, allowed):
    """Files that ask more often than they may."""
    return [f"{path}: asks {n} times which primitive it has, {allowed.get(path, 0)} are allowed"
            for path, n in sorted(asked.items()) if n > allowed.get(path, 0)]


def forks(text):
    """Lines that choose between float and double."""
    return [line for line in code(text).splitlines() if FORK.search(line) and not NO_FORK.search(line)]


def all_forks(root):
    """(file, line) of each."""
    for file in sorted(root.rglob("*.[hi]pp")):
        path = file.relative_to(root).as_posix()
        if not path.startswith("kernels/") and path != "base/dtype.hpp":
            yield from ((path, line) for line in forks(file.read_text()))


def self_test():
    """Each way to ask is seen, once; what looks alike is not."""
    asks = [
        'if (n.primitive->kind == other) return;',
        'const std::string_view name = n.primitive->kind;',
        'if (name == "matmul") return;',
        'if ("matmul.pull0" != name) return;',
        'return p.kind == kind;',
        'const bool last = name.back() == c;',
        'if (name.starts_with("view")) return;',
        'return what == MatMul::name;',
        'for (std::string_view n : {"normal", "uniform"}) use(n);',
        'return p.clone == clone_pooled<Loop>;',
        'return p.compute != &structural_compute<Sum, float, float>;',
        'return p == &copy_primitive;',
        'if (n.primitive->fields == visit_loop) return;',
        'const auto& m = *static_cast<const MatMul*>(n.op.get());',
        'return static_cast<const Sum*>(g_.node(v).op.get())->axes;',
        'f(*static_cast<const AddView<false>*>(op));',
        'return is_op<Softmax>(p);',
        'return parameters_of<detail::Mean>(n);',
        'into_part(op<Embed>().part, 0);',
        'inline Shape result_shape(const Reshape& op, ValueTypes x);',
        'auto r = rules.find(n.primitive->name);',
        'if (rules.at(std::string(p.name))) return;',
        'static const std::map<std::string_view, Rule> rules = {{"sum", a}};',
        'if (n.primitive->name.compare(other) == 0) return;',
        'if (std::strcmp(n.primitive->name.data(), other)) return;',
        "if (p.name[0] == 's') return;",
        'switch (std::hash<std::string_view>()(p.name)) {}',
        'const auto* s = reinterpret_cast<const Sum*>(n.op.get());',
        'auto s = std::static_pointer_cast<const Sum>(n.op);',
        'const auto& s = *(const Sum*)n.op.get();',
        'auto* s = static_cast<Sum*>(op);',
        'if constexpr (std::is_same_v<Op, Sum>) return;',
        'if constexpr (is_one_of<Op>(Overrides())) return;',
    ]
    others = [
        'if (n.kind == Graph::Kind::operation) return;',
        'if (p.kind == LoopKind::scan) return;',
        'if (p_.kind == LoopParameters::Kind::cond) return;',
        'switch (p.kind) {',
        's.kind == TermKind::where',
        '// where name == "matmul" stood',
        'const auto& s = *static_cast<const Tiled*>(self);',
        'fail<Error>("matmul", "no", at);',
        'const X* x = static_cast<const X*>(in[0]);',
        'bool same = a.compute == b.compute && a.clone == b.clone;',
    ]
    failed = 0
    for line in asks + others:
        with tempfile.TemporaryDirectory() as folder:
            for place in ("graph/a.hpp", "ops/b.hpp"):
                file = pathlib.Path(folder, place)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(line + "\n")
            asked = counts(pathlib.Path(folder))
        wanted = {"graph/a.hpp"} if line in asks else set()
        if set(asked) != wanted:
            print(f"expected {sorted(wanted)}, found {asked}: {line}")
            failed += 1
    ratchet = [({"a": 2}, {"a": 1}, 1), ({"b": 1}, {}, 1), ({"a": 1}, {"a": 2}, 0), ({}, {"a": 1}, 0), ({"a": 1}, {"a": 1}, 0)]
    failed += sum(len(problems(asked, allowed)) != n for asked, allowed, n in ratchet)
    chosen = ["return is_single(d) ? f<float>() : f<double>();", "if (x.dtype == DType::float32) return;",
              "if constexpr (std::is_same_v<T, double>) return;", "const char* s = sizeof(T) == 4 ? a : b;",
              "static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);", "// is_single(d)",
              "with_real(d, [&]<class T>() { f<T>(); });", "return row_of(d).lane;"]
    failed += sum(len(forks(line)) != (k < 4) for k, line in enumerate(chosen))
    print(f"kinds.py: {len(asks) + len(others) + len(ratchet) + len(chosen)} self tests, {failed} failed")
    return failed


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test() != 0)
    asked = counts(ROOT, "--show" in sys.argv)
    found = problems(asked, NOT_ASKING)
    forked = list(all_forks(ROOT))
    if "--show" in sys.argv:
        print(*(f"{path}: fork: {line.strip()}" for path, line in forked), sep="\n")
    if len(forked) > MOST_FORKS:
        found.append(f"{len(forked)} choices between float and double, {MOST_FORKS} are allowed")
    print(*found, sep="\n", end="\n" if found else "")
    print(f"kinds: {sum(asked.values()) - sum(NOT_ASKING.values())} questions of which primitive it is, {len(found)} problems")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
