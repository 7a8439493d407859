#!/usr/bin/env python3
"""Every name of the library's that a page writes in `backticks` is in its code: what looks like an identifier, a call, a member.

    tests/docs/names.py               README.md and docs/**/*.md
    tests/docs/names.py --self-test   finds what is wrong in a page made for that

`Owner::name` has to be declared in that class or namespace, or in a base of it. Any other name has to stand somewhere in the code, the
build files, the scripts or the pages' own programs, comments left out. Names of other projects are in OTHERS, NumPy's in docs/reference.py."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "docs"))
import reference  # noqa: E402: its parser of declarations

QUALIFIED = re.compile(r"(?<![\w:./-])((?:[A-Za-z_]\w*::)+~?[A-Za-z_]\w*)")
SINGLE = re.compile(r"[{(]*\.?([A-Za-z_]\w*)(?:<[\w:, <>*]*>)?(?:\(.*\)| = .*)?[})]*(?: const)?")
MEMBERS = re.compile(r"(?:^\{?|[(,{] ?)\.([a-z_]\w*)(?= =|[,})]|$)")
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)
FOREIGN = ("std", "Eigen", "torch", "xt", "xsimd", "tbb", "benchmark", "Catch", "codi", "adept", "jax", "numpy", "np")
OTHERS = set("""cudaStreamBeginCapture cudaStreamCaptureModeRelaxed CUevent cudaEvent_t DLManagedTensor DLManagedTensorVersioned vprintf
    fullPivHouseholderQr bdcSvd SimplicialLLT omp_set_num_threads name_workspace""".split())  # CUDA's, Eigen's …, and a name that stands for any


def tracked(pattern):
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    files = listed.stdout.split("\n")[:-1] if listed.returncode == 0 else [
        p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*") if p.is_file() and "build" not in p.parts]
    return [ROOT / f for f in files if re.search(pattern, f) and (ROOT / f).exists()]


def without_comments(text):
    return COMMENT.sub(lambda m: m[0] if m[0].startswith('"') else " ", text)


def programs(page):
    return "\n".join(re.findall(r"^```\w*\n(.*?)^```", page, re.S | re.M))


def written(page):
    """(line number, text) of what stands in backticks outside of programs."""
    inside = False
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            for text in re.findall(r"(?<!`)`([^`]+)`(?!`)", line):
                yield number, text


class Code:
    """What is declared where, and every word."""

    def __init__(self, headers, others):
        self.members, self.bases, self.words, self.targets = {}, {}, set(), set()
        for text in headers:
            bare = without_comments(text)
            for scopes, _, head in reference.declarations(text, private=True):
                self.declare(scopes, head)
            for owner, name in re.findall(r"\b(\w+)(?:<[^<>;]*>)?::~?(\w+) ?(?=\(|\{|=|;)", bare):
                if owner in self.members:
                    self.members[owner].add(name)
            self.words.update(re.findall(r"[A-Za-z_]\w*", bare))
        for text in others:
            self.words.update(re.findall(r"[A-Za-z_]\w*", text))
            self.targets.update(re.findall(r"wengert::\w+", text))  # of CMake

    def declare(self, scopes, head):
        owner = scopes[-1].removeprefix("class ") if scopes else ""
        if scopes and scopes[-1].startswith("class "):
            owner = reference.name_of(owner)
        head = re.sub(r"__attribute__\(\(.*?\)\)\)?", "", head).strip()
        pointer = re.search(r"\(\*(?:const )?(\w+)\)\(", head)
        name = pointer[1] if pointer else reference.name_of(head)
        for space in owner.split("::") if scopes and not scopes[-1].startswith("class ") else [owner]:
            self.members.setdefault(space, set())
        self.members.setdefault(owner.split("::")[-1], set()).add(name)
        self.members[owner.split("::")[-1]].update(re.findall(r"(\w+)(?= : \d|,|;|$)", head.split("(")[0]))  # int a, b;
        if not reference.is_type(head):
            return
        self.members.setdefault(name, set())
        if base := re.search(r"\) ?:|[\w>] ?: (?!:)(.*)", head):
            self.bases.setdefault(name, set()).update(re.findall(r"[A-Za-z_]\w*", (base[1] or "").split("{")[0]))
        if values := re.search(r"\{(.*)\}", head):
            self.members[name].update(re.findall(r"(\w+)(?: = [^,]*)?(?:,|$)", values[1].strip()))

    def has_member(self, owner, name, seen=()):
        if owner not in self.members:
            return False
        return name in self.members[owner] or any(
            self.has_member(base, name, (*seen, owner)) for base in self.bases.get(owner, ()) if base not in seen)

    def problem(self, text):
        """What is wrong with the names in what stands in backticks, or nothing."""
        for name in QUALIFIED.findall(text):
            parts = [p for p in name.split("::") if p not in ("wengert", "wg")]
            if name in self.targets or parts[0] in FOREIGN:
                continue
            if len(parts) == 1:
                if parts[0] not in self.words:
                    return name
            elif not self.has_member(parts[-2], parts[-1].lstrip("~")):
                return name
        whole = SINGLE.fullmatch(text)
        names = ([whole[1]] if whole and "::" not in text else []) + MEMBERS.findall(text)
        return next((n for n in names if n not in self.words and n not in OTHERS), "")


def problems_of(pages, code):
    return [f"{path}:{number}: `{text}`: {name} is not in the code"
            for path, page in pages for number, text in written(page) if (name := code.problem(text))]


def self_test():
    code = Code(["namespace wengert {\n/// Symbol was one.\nstruct Base { int kept; };\nclass Walk : public Base {\npublic:\n    void step(int n);\n"
                 "private:\n    int hidden_, other_;\n};\nenum class How { one, two };\nnamespace tree {\nint count(int x);\n}\n}\n"], ["set(option)\n"])
    page = "\n".join(["`Walk::step` `Walk::kept` `How::two` `tree::count(x)` `wg::Walk` `option` `Walk<T>` `std::none` `Walk::other_` `a + gone`",
                      "```", "`Never`", "```", "`Walk::gone`", "`Symbol`", "`gone(x, y)`", "`{.gone = 1}`", "`How::three`", "`tree::gone`", "`wg::Gone`"])
    found = [p.split("`")[1] for p in problems_of([("page", page)], code)]
    wanted = ["Walk::gone", "Symbol", "gone(x, y)", "{.gone = 1}", "How::three", "tree::gone", "wg::Gone"]
    print("names: self-test", "passed" if found == wanted else f"failed: found {found}")
    sys.exit(found != wanted)


def main():
    if "--self-test" in sys.argv[1:]:
        self_test()
    pages = [(p.relative_to(ROOT).as_posix(), p.read_text()) for p in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]]
    headers = [p.read_text() for p in tracked(r"^include/.*\.[hi]pp$")]
    others = [without_comments(p.read_text()) for p in tracked(r"\.(cpp|[hi]pp|h|cu|cuh|c|f90)$") if "/include/" not in f"/{p.relative_to(ROOT)}"]
    others += [p.read_text() for p in tracked(r"(CMakeLists\.txt|CMakePresets\.json|\.cmake|\.sh|\.json|\.in)$|^\.ci/|^bench/.*\.py$|^include/.*\.py$")]
    others += [programs(page) for _, page in pages]
    others += [p.stem for p in tracked(r"^(tests|examples|bench)/.*\.\w+$")] + [" ".join(reference.TASKS.values())]
    code = Code(headers, others)
    problems = problems_of(pages, code)
    seen = sum(1 for _, page in pages for _ in written(page))
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"names: {seen} in backticks, {len(problems)} problems")
    sys.exit(bool(problems) or seen == 0)


if __name__ == "__main__":
    main()
