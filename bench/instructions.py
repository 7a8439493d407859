#!/usr/bin/env python3
"""How many instructions small eager operations take (bench/instructions.cpp), counted by callgrind, so the same on a busy machine.
Writes bench/results/instructions.json, from which docs/performance.md has its table.

    bench/instructions.py                   of this checkout
    bench/instructions.py --beside FOLDER   and of another one's headers, with the ratio       --print: the table alone
Needs valgrind, which cannot run AVX-512: the build is for x86-64-v3.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tables  # noqa: E402

# So large a unit that what is inlined into one row does not depend on how many rows, and what else, a file holds.
FLAGS = "-std=c++20 -O3 -march=x86-64-v3 --param large-unit-insns=10000000"
LINK = "-lopenblas -llapacke -lpthread -ldl"
TIMES = 1000


def counted(checkout, folder):
    """{name: instructions of one time}."""
    binary = folder / "instructions"
    program = tables.ROOT / "bench" / "instructions.cpp"
    subprocess.run([os.environ.get("CXX", "g++"), *shlex.split(FLAGS), f"-I{checkout}/include", str(program), "-o", str(binary),
                    *shlex.split(LINK)], check=True)
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", str(binary)], check=True,
                   capture_output=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    found = {}
    for file in folder.glob("out.*"):
        text = file.read_text()
        name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.M)
        total = re.search(r"^(?:totals|summary): (\d+)$", text, re.M)
        if name and total:
            found[name[1]] = int(total[1]) / TIMES
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=pathlib.Path)
    parser.add_argument("--print", action="store_true")
    args = parser.parse_args()
    counts = []
    for checkout in [tables.ROOT, *([args.beside] if args.beside else [])]:
        with tempfile.TemporaryDirectory() as folder:
            counts.append(counted(checkout, pathlib.Path(folder)))
    names = re.findall(r'^    {"([^"]+)",', (tables.ROOT / "bench" / "instructions.cpp").read_text(), re.M)
    rows = []
    for name in names:
        row = [f"`{name}`"]
        for kind in ("value", "gradient"):
            now, *then = (c.get(f"{kind} {name}", 0) for c in counts)
            row += [f"{now:,.0f}", *(f"{t:,.0f}" for t in then), *(f"{now / t:.2f}" if t else "–" for t in then)]
        rows.append(row)
    beside = ["then", "now / then"] if args.beside else []
    columns = ["operation", "value", *beside, "with gradient", *beside]
    how = f"Instructions, callgrind, g++ {tables.output('g++', '-dumpfullversion')} {FLAGS.split(' ', 1)[1]}"
    if args.beside:
        how += f"; then: commit {tables.output('git', '-C', str(args.beside), 'rev-parse', '--short=12', 'HEAD')}"
    if args.print:
        print(tables.markdown(columns, rows))
    else:
        tables.store("instructions", how, columns=columns, rows=rows)
        print("written; bench/tables.py writes the tables")


if __name__ == "__main__":
    main()
