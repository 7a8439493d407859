#!/usr/bin/env python3
"""Compiles a case twice: with -DOK it must compile; without, it must fail and say what `// error: REGEX` asks for, in
at most as many lines as `// lines: N` allows, first of all where `// first error: REGEX` asks for it, and in all `// times:
N`. A case includes the library before all else: g++ takes a precompiled header there alone."""
import argparse
import pathlib
import re
import subprocess
import sys

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"


def compile_case(compiler, case, *flags):
    command = [*compiler, "-std=c++20", "-fsyntax-only", f"-I{INCLUDE}", *flags, str(case)]
    return subprocess.run(command, capture_output=True, text=True)


def check(compiler, case):
    """What is wrong with the case, or None."""
    wanted = re.findall(r"error: (.+)", "\n".join(re.findall(r"^// (?:first )?error: .+", case.read_text(), re.M)))
    if not wanted:
        return "has no `// error: REGEX` line"
    most = re.search(r"// lines: (\d+)", case.read_text())
    first = re.search(r"// first error: (.+)", case.read_text())
    good = compile_case(compiler, case, "-DOK")
    if good.returncode != 0:
        return f"does not compile with -DOK:\n{good.stderr}"
    bad = compile_case(compiler, case)
    if bad.returncode == 0:
        return "compiles"
    errors = "\n".join(line for line in bad.stderr.splitlines() if "error:" in line or "note:" in line)
    for pattern in wanted:
        if not re.search(pattern, errors):
            return f"fails without saying /{pattern}/:\n{bad.stderr}"
    lines = bad.stderr.splitlines()
    if most and len(lines) > int(most[1]):
        return f"says it in {len(lines)} lines, more than {most[1]}:\n{bad.stderr}"
    times = re.search(r"// times: (\d+)", case.read_text())
    said = sum(bool(re.search("error:.*(" + "|".join(wanted) + ")", line)) for line in lines)
    if times and said != int(times[1]):
        return f"says it {said} times, not {times[1]}:\n{bad.stderr}"
    if first and not re.search(first[1], next(line for line in lines if "error:" in line)):
        return f"says something else before /{first[1]}/:\n{bad.stderr}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="g++", help="compiler with its flags, one string: -I of the precompiled library, if there is one")
    parser.add_argument("cases", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    failed = 0
    for case in args.cases:
        problem = check(args.compiler.split(), case)
        failed += problem is not None
        print(f"{case.name}: {problem or 'refused, as it must be'}")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
