#!/usr/bin/env python3
"""Outside of ops/ no code asks which primitive it has: not by name, kind, type, address or a cast of its parameters. What a
primitive is it says itself: its description, its form as a library call, a property. Finds what asks all the same; --show lists it."""
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2] / "include" / "wengert"
FREE = ("base/", "kernels/", "array/", "ops/")  # what is below primitives, and where they are described
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
            r'|\bstring_view\s+\w+\s*(?::\s*|\[\]\s*=\s*)\{\s*"',
    "function": rf"{COMPARED}\s*&?\s*(?:\w+::)*(?:clone|destroy|make|visit|describe|run|structural|elementwise|variadic"
                r"|accumulation)_\w+<"
                rf"|(?:->|\.)(?:fields|compute|clone|vjp|jvp|describe|expand|inside)\s*{COMPARED}\s*&?"
                r"(?!nullptr\b)(?:\w+::)*[a-z]\w*\b(?!\s*(?:\.|->|<))",
    "address": rf"{COMPARED}\s*&\s*(?:\w+::)*\w*primitive\b|&(?:\w+::)*\w*_primitive<[^;]*>\s*{COMPARED}",
    "cast": rf"static_cast<const\s+(?:\w+::)*{TYPE}\s*[*&]>\(\s*(?:\w+(?:\.|->))*op(?:\.get\(\))?\s*\)"
            rf"|static_cast<const\s+(?:\w+::)*{TYPE}\s*\*>\(\s*\w+(?:\.\w+)*\([^()]*\)(?:\.|->)op(?:\.get\(\))?\s*\)",
    "helper": rf"\b(?:parameters_of|row_parameters|is_op|is_row_op|is_sum|is_mean|op)<(?:\w+::)*{TYPE}(?:,[^()]*)?>\(",
    "overload": r"\(\s*const (?!Primitive\b|GraphNode\b|Graph\b|Shape\b|Site\b)[A-Z]\w*&\s*\w*,\s*ValueTypes\b",
}
QUESTION = {what: re.compile(text) for what, text in QUESTIONS.items()}
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.S)

# A struct's own functions, where it is no primitive of ops/, and words that name none: {file: how many}.
NOT_ASKING = {
    "graph/emit/loop_text.hpp": 1,
    "graph/host.hpp": 1,
    "graph/look/entries.hpp": 3,
    "graph/look/loop_words.hpp": 9,
    "graph/look/parse.hpp": 2,
    "graph/look/text.hpp": 2,
    "graph/look/words.hpp": 4,
    "graph/loops/loop.hpp": 4,
    "graph/loops/loop_source.hpp": 3,
    "graph/loops/step_plan.hpp": 1,
    "scalar/entry.hpp": 1,
    "scalar/exchange.hpp": 2,
    "tape/primitive.hpp": 1,
    "tape/run_log_source.hpp": 1,
    "tape/section.hpp": 1,
    "tape/section_source.hpp": 1,
}


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
    for file in sorted(root.rglob("*.hpp")):
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
    print(f"kinds.py: {len(asks) + len(others) + len(ratchet)} self tests, {failed} failed")
    return failed


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test() != 0)
    asked = counts(ROOT, "--show" in sys.argv)
    found = problems(asked, NOT_ASKING)
    print(*found, sep="\n", end="\n" if found else "")
    print(f"kinds: {sum(asked.values()) - sum(NOT_ASKING.values())} questions of which primitive it is, {len(found)} problems")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
