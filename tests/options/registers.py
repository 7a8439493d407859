#!/usr/bin/env python3
"""The tests of registers and of what is written for them, built for wider registers than the other tests are: AVX2 and AVX-512, as far
as this processor has them. --all for the factorizations of small matrices and derivatives of reals as well, which take longer to
compile; where products and sums may fuse, these must not depend on how the operations lie in memory."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
SOURCES, MORE_SOURCES = ["unit/kernels/test_lane.cpp"], ["linalg/test_lu_lanes.cpp", "scalar/stream/test_scalar_pairs.cpp"]
MARCHES = {"x86-64-v3": "avx2", "x86-64-v4": "avx512dq"}  # and a flag of /proc/cpuinfo


def here():
    flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    return [march for march, flag in MARCHES.items() if flag in flags]


def works(*steps):
    for step in steps:
        run = subprocess.run(step, capture_output=True, text=True)
        if run.returncode != 0:
            print((run.stdout + run.stderr)[:4000])
            return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++", help="compiler with its flags, one string")
    parser.add_argument("--link", default="-lopenblas -llapacke -lpthread -ldl")
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    compiler = [*args.compiler.split(), "-std=c++20", f"-I{TESTS.parent / 'include'}", f"-I{TESTS}"]
    sources = [str(TESTS / source) for source in SOURCES + (MORE_SOURCES if args.all else [])]
    with tempfile.TemporaryDirectory() as folder:
        program = [f"{folder}/program"]
        failed = not works([*compiler, "-O0", "-c", str(TESTS / "main.cpp"), "-o", f"{folder}/main.o"])
        level = "-O2" if args.all else "-O1"  # g++ fuses a product and a sum of numbers from -O2 on
        for march in here():
            good = works([*compiler, level, f"-march={march}", *sources, f"{folder}/main.o", "-o", *program, *args.link.split()],
                         program)
            print(f"-march={march}: {'passed' if good else 'FAILED'}", flush=True)
            failed += not good
    if not here():
        print("this processor has neither AVX2 nor AVX-512")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
