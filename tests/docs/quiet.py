#!/usr/bin/env python3
"""The first example of every page compiles as a user's program would: under -Wall -Wextra -Wconversion -Wshadow -Werror, with -I (not
-isystem), for three instruction sets, with g++ and clang. Run by none of it.

g++ warns of what it has inlined, above all of its own AVX-512 headers, and which header comes first decides about that. So the
examples that include wengert.hpp alone, and those with scalar.hpp alone, are compiled at -O2 for AVX-512. All else comes from the
compilers' front ends, which see one unit of all pages: g++ for the oldest instruction set, clang for the one between. --all:
each page by itself, at -O2, with headers alone and with WENGERT_COMPILED, for every instruction set and compiler."""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import run

ROOT = run.ROOT
WARNINGS = "-Wall -Wextra -Wconversion -Wshadow -Werror".split()
MARCHES = ["x86-64", "x86-64-v3", "x86-64-v4"]
FIRST = "#include <wengert/wengert.hpp>\n"


def example(page):
    """(includes, code) of the first cpp block, or None."""
    block = next((b for b in run.blocks_of(page) if b.language == "cpp"), None)
    if not block:
        return None
    name = "page_" + re.sub(r"\W", "_", page.stem)
    if not re.search(r"\bint\s+main\s*\(", block.text()):
        headers, outside, body = run.snippet(block, page)
        code = f"namespace {name} {{\nnamespace wg = wengert;\nusing wg::Tensor;\n{outside}void program()\n{{\n{body}}}\n}}\n"
        return FIRST + headers.replace(FIRST, ""), code
    lines = block.text().splitlines()
    headers = "".join(line + "\n" for line in lines if line.startswith("#include"))
    rest = "\n".join("" if line.startswith("#include") else line for line in lines)
    rest = re.sub(r"\bint\s+main\s*\(", "int program(", rest)
    rest = re.sub(r"\}\s*$", "return 0; }", rest)  # main() needs none
    return headers, f'namespace {name} {{\n#line {block.line} "{page.name}"\n{rest}\n}}\n'


def joined(examples):
    seen = []
    for headers, _ in examples:
        seen += [line for line in headers.splitlines() if line not in seen]
    return "\n".join(seen) + "\n" + "".join(code for _, code in examples)


def units_of(examples):
    """The examples that include one umbrella header and no other of the library's."""
    groups = {}
    for e in examples:
        groups.setdefault(tuple(line for line in e[0].splitlines() if "wengert/" in line), []).append(e)
    return [joined(groups[(f"#include <wengert/{name}.hpp>",)]) for name in ("wengert", "scalar")]


def quiet(compiler, options, text):
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.write(text)
        source.flush()
        command = [*compiler.split(), "-std=c++20", *WARNINGS, *options.split(), f"-I{ROOT / 'include'}", "-S", "-o",
                   "/dev/null", source.name]
        ran = subprocess.run(command, capture_output=True, text=True)
    print("\n".join(line for line in ran.stderr.splitlines() if re.search("error|warning|inlined|required from here", line))[:3000],
          end="")
    return ran.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compilers", nargs="+", default=["g++", "clang++-16"], help="those that are not there are left out")
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    pages = [p for p in pages if p.stem != "mpi"]  # its headers are where MPI's compiler says
    if not pathlib.Path("/usr/include/eigen3").exists():
        pages = [p for p in pages if p.stem != "eigen"]
    examples = [e for e in map(example, pages) if e]
    compiled, eigen = "-DWENGERT_COMPILED", "-isystem /usr/include/eigen3"
    checks = []
    for compiler in args.compilers:
        if not shutil.which(compiler.split()[0]):
            print(f"no {compiler} here")
            continue
        clang = "clang" in compiler
        for march in MARCHES:
            options = f"-march={march} {eigen}"
            if args.all:
                checks += [(compiler, f"-O2 {options} {mode}", joined([e])) for e in examples for mode in ("", compiled)]
            elif march == "x86-64-v4" and not clang:
                checks += [(compiler, f"-O2 {options} {compiled}", unit) for unit in units_of(examples)]
            elif march == ("x86-64-v3" if clang else "x86-64"):
                checks.append((compiler, f"-fsyntax-only {options} {compiled}", joined(examples)))
    failed = 0
    for compiler, options, text in checks:
        good = quiet(compiler, options, text)
        named = ", ".join(re.findall(r"^namespace page_(\w+)", text, re.M))
        print(f"{compiler} {options}: {named}: {'without warnings' if good else 'NOT without warnings'}", flush=True)
        failed += not good
    print(f"{len(checks)} checks, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
