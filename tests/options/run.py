#!/usr/bin/env python3
"""A program under options that loosen arithmetic: either it is refused with the reason, or its results are right. And for
AVX-512, whose headers g++ 12 warns of, it compiles under -Werror as a user's would."""
import argparse
import pathlib
import platform
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"

REFUSED = ["-ffast-math", "-Ofast", "-ffinite-math-only"]
ASSOCIATIVE = "-fassociative-math -fno-signed-zeros -fno-trapping-math"
SERVED = ["-ffast-math -fno-finite-math-only"]  # of which the others are parts
MORE = [ASSOCIATIVE, "-Ofast -fno-finite-math-only", "-funsafe-math-optimizations", "-freciprocal-math", "-fno-signed-zeros",
        "-fno-math-errno", "-ffp-contract=fast", "-fno-trapping-math"]
WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
QUIET = ["-O2 -march=x86-64-v4"] if platform.machine() in ("x86_64", "AMD64") else ["-O2"]
MORE_QUIET = [f"-O{level} -march={march}" for level in (0, 1, 3)
              for march in ("x86-64", "x86-64-v3", "skylake-avx512", "native")]
MARCHES = ["-march=native", "-march=x86-64", "-march=x86-64-v3"]


def refused(compiler, options):
    command = [*compiler, "-std=c++20", "-E", f"-I{INCLUDE}", *options.split(), str(HERE / "program.cpp")]
    run = subprocess.run(command, capture_output=True, text=True)
    return run.returncode != 0 and "add -fno-finite-math-only" in run.stderr


def right(compiler, options, link):
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/program"
        command = [*compiler, "-std=c++20", "-O2", f"-I{INCLUDE}", *options.split(), str(HERE / "program.cpp"), "-o",
                   program, *link.split()]
        for step in (command, [program]):
            run = subprocess.run(step, capture_output=True, text=True)
            if run.returncode != 0:
                print(run.stdout + run.stderr[:2000])
                return False
    return True


def quiet(compiler, options):
    command = [*compiler, "-std=c++20", "-S", "-o", "/dev/null", f"-I{INCLUDE}", *WARNINGS.split(), *options.split(),
               str(HERE / "program.cpp")]
    run = subprocess.run(command, capture_output=True, text=True)
    print(run.stderr[:2000], end="")
    return run.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="g++", help="compiler with its flags, one string")
    parser.add_argument("--link", default="-lopenblas -llapacke -lpthread -ldl")
    parser.add_argument("--all", action="store_true", help="every option with every instruction set")
    args = parser.parse_args()
    compiler, failed = args.compiler.split(), 0
    checks = [(o, refused(compiler, o), "refused") for o in REFUSED]
    served = [f"{o} {m}" for o in SERVED + MORE for m in MARCHES] if args.all else SERVED
    checks += [(o, right(compiler, o, args.link), "right") for o in served]
    checks += [(o, quiet(compiler, o), "without warnings") for o in QUIET + (MORE_QUIET if args.all else [])]
    for options, good, what in checks:
        print(f"{options}: {what if good else 'NOT ' + what}", flush=True)
        failed += not good
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
