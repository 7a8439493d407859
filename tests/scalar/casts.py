#!/usr/bin/env python3
"""Casts of a Real to a plain number end a derivative. With WENGERT_WARN_CASTS a compiler tells the line of each, and of nothing else; without
it of none. What would convert silently does not compile at all.

    tests/scalar/casts.py [--compiler COMPILER]
"""
import argparse
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASTS = ["d = double(x);", "d = (double)x;", "d = static_cast<float>(x);", "k = int(x);"]
MEANT = ["d = x.value();", "if (x) k = 1;", "if (x > 0.0 && !x) k = 2;", "x = 2.0 * x;", "x = wengert::Real<double>(k);"]
REFUSED = ["d = x;", "k = x;", "d += x;", "d = std::sqrt(x);", "double b[] = {x};"]


def source(lines):
    return "\n".join(["#include <wengert/scalar.hpp>", "#include <cmath>", "int main()", "{", "wengert::Real<double> x = 1.5;",
                      "double d = 0; int k = 0; static_cast<void>(d), static_cast<void>(k);", *lines, "}", ""])


def lines_told(compiler, text, kind, *flags):
    """The statements at which the compiler has something of this kind to say."""
    run = subprocess.run([*shlex.split(compiler), "-std=c++20", "-fsyntax-only", "-DWENGERT_COMPILED", f"-I{ROOT}/include", *flags, "-x", "c++", "-"],
                         input=text, capture_output=True, text=True)
    return [text.splitlines()[int(n) - 1] for n in dict.fromkeys(re.findall(rf"^<stdin>:(\d+):\d+: {kind}", run.stderr, re.M))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    compiler = parser.parse_args().compiler
    valid = source(MEANT + CASTS)
    found = {"with the warning": (lines_told(compiler, valid, "warning", "-DWENGERT_WARN_CASTS"), CASTS),
             "without it": (lines_told(compiler, valid, "(?:warning|error)"), []),
             "implicit": (lines_told(compiler, source(REFUSED), "error"), REFUSED)}
    wrong = {what: got for what, (got, wanted) in found.items() if got != wanted}
    for what, got in wrong.items():
        print(f"casts, {what}: told of {got}")
    print(f"casts: {len(CASTS) + len(MEANT) + len(REFUSED)} statements, {len(wrong)} problems")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
