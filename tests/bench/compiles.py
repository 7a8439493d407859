#!/usr/bin/env python3
"""Do the benches compile? No test runs them, so a header that no longer brings what one of them uses would be noticed by nobody. Each source
is compiled for its syntax alone, as users of the built library do. What needs another library than the tests do is left out where that is
not installed.

    tests/bench/compiles.py [--compiler COMPILER] [--jobs N] [SOURCE…]
"""
import argparse
import concurrent.futures
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-std=c++20", "-fsyntax-only", "-DWENGERT_COMPILED", f"-I{ROOT}/include", f"-I{ROOT}/bench", '-DWENGERT_BENCH_DIR=""']
NEEDS = {"mpi.h": ["mpi_by_hand.cpp"], "torch/torch.h": ["libtorch.cpp"]}  # sources that need a header


def mpi_flags():
    try:
        return subprocess.run(["mpicxx", "--showme:compile"], capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        return []


def problem(source, compiler, flags):
    """What the compiler says of a source that it refuses, else nothing."""
    run = subprocess.run([*shlex.split(compiler), *FLAGS, *flags, str(source)], capture_output=True, text=True)
    errors = [line for line in run.stderr.splitlines() if "error" in line]
    return f"{source.relative_to(ROOT)}: {errors[0] if errors else run.stderr[-300:]}" if run.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("sources", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    flags = mpi_flags()
    left_out = NEEDS["torch/torch.h"] + ([] if flags else NEEDS["mpi.h"])
    found = args.sources or sorted(s for folder in ("", "legacy", "workloads") for s in (ROOT / "bench" / folder).glob("*.cpp"))
    sources = [s.resolve() for s in found if s.name not in left_out]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        problems = [p for p in pool.map(lambda s: problem(s, args.compiler, flags), sources) if p]
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"benches: {len(sources)} sources, {len(problems)} problems")
    sys.exit(bool(problems) or not sources)


if __name__ == "__main__":
    main()
