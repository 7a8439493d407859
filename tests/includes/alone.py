#!/usr/bin/env python3
"""Compiles each public header alone, included twice, with every warning an error. The first compiler takes all of them; the
others those that no header includes, which bring in the rest."""
import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]


def compile_alone(compiler, header):
    text = f"#include <{header}>\n#include <{header}>\n"
    command = [compiler, "-std=c++20", "-fsyntax-only", *WARNINGS, f"-I{INCLUDE}", "-x", "c++", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True)


def not_included(headers):
    inner = set()
    for h in headers:
        for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', (INCLUDE / h).read_text(), re.M):
            inner.add(((INCLUDE / h).parent / name).resolve().relative_to(INCLUDE).as_posix())
    return [h for h in headers if h not in inner]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", action="append",
                        help="may be given several times; clang++-16 joins if it is there")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("headers", nargs="*", help="relative to include/; all of them by default")
    args = parser.parse_args()
    compilers = args.compiler or ["g++"]
    if shutil.which("clang++-16") and not any("clang" in c for c in compilers):
        compilers.append("clang++-16")
    headers = args.headers or sorted(p.relative_to(INCLUDE).as_posix() for p in INCLUDE.rglob("*.hpp"))
    work = [(compilers[0], h) for h in headers]
    work += [(c, h) for c in compilers[1:] for h in not_included(headers)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for (compiler, header), result in zip(work, pool.map(lambda w: compile_alone(*w), work)):
            if result.returncode != 0:
                failed += 1
                print(f"{header} alone, {compiler}:\n{result.stderr}", flush=True)
    print(f"headers alone: {len(headers)} headers, {len(work)} compilations, {failed} failed")
    sys.exit(failed != 0 or not headers)


if __name__ == "__main__":
    main()
