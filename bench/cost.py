#!/usr/bin/env python3
"""What an include costs: compiles a few programs and writes bench/results/cost.json, from which docs/performance.md has its table.

    bench/cost.py                       instructions of the compiler, by perf where it can count, else by callgrind (an hour)
    bench/cost.py --quick               its user seconds, the best of three: compare within one table only
    bench/cost.py --beside FOLDER       the same of another checkout in the same run, in turn with this one
    bench/cost.py --only empty freeze   some of the programs        --print   the table alone, nothing is written
    bench/cost.py --lines [--beside …]  counts the lines of each folder instead, into bench/results/lines.json: a second

What is held to be light by .ci/run, in seconds beside those of xtensor/xarray.hpp, is bench/light.py's.
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tables  # noqa: E402

ROOT = tables.ROOT
EMPTY = "#include <wengert/wengert.hpp>\nint main() {}\n"
FREEZE = """#include <wengert/wengert.hpp>
namespace wg = wengert;
int main()
{
    const auto f = wg::freeze([](const wg::Tensor<double>& x) { return sum(square(tanh(x))); });
    return f(wg::Tensor<double>{0.1, 0.2, 0.3}).item() > 0.0 ? 0 : 1;
}
"""
PROGRAMS = {"empty": EMPTY, "quickstart": ROOT / "examples" / "quickstart.cpp", "freeze": FREEZE}
COMPILED = "-DWENGERT_COMPILED"
ROWS = [("empty", "-O2"), ("empty", f"-O2 {COMPILED}"), ("quickstart", "-O2"), ("quickstart", f"-O2 {COMPILED}"),
        ("freeze", "-O2"), ("freeze", f"-O2 {COMPILED}"), ("freeze", "-O0 -g"), ("freeze", f"-O0 -g {COMPILED}")]


def text_of(program):
    text = PROGRAMS[program]
    return text if isinstance(text, str) else text.read_text()


def run(command):
    """User seconds and peak memory in MB of a command and its children."""
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"cost: {shlex.join(command)} failed")
    return usage.ru_utime, usage.ru_maxrss / 1024


def perf_counts():
    if not shutil.which("perf"):
        return False
    tried = subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", "true"], capture_output=True, text=True)
    return tried.returncode == 0 and re.search(r"^\d+,", tried.stderr, re.M) is not None


def by_perf(command):
    done = subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", *command], capture_output=True, text=True)
    return int(re.search(r"^(\d+),", done.stderr, re.M)[1])


def by_callgrind(command, folder):
    """Of the compiler proper: callgrind does not count the assembler."""
    listed = subprocess.run([*command, "-###"], capture_output=True, text=True).stderr
    proper = next(line for line in listed.splitlines() if re.search(r'cc1plus|"-cc1"', line))
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind", *shlex.split(proper)],
                          capture_output=True, text=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


class Measured:
    def __init__(self, checkout, text, flags, compiler, folder):
        folder.mkdir(parents=True, exist_ok=True)
        source = folder / "program.cpp"
        source.write_text(text)
        self.object = folder / "program.o"
        self.flags = shlex.split(flags)
        self.base = [*shlex.split(compiler), "-std=c++20", *self.flags, f"-I{checkout}/include"]
        self.command = [*self.base, "-c", str(source), "-o", str(self.object)]
        self.source, self.seconds, self.memory, self.instructions = source, [], 0, None

    def compile(self):
        seconds, memory = run(self.command)
        self.seconds.append(seconds)
        self.memory = max(self.memory, memory)

    def row(self):
        text = subprocess.run([*self.base, "-E", "-P", str(self.source)], capture_output=True, text=True).stdout
        cost = f"{self.instructions / 1e9:.1f} G" if self.instructions else f"{min(self.seconds):.1f} s"
        return [cost, f"{self.memory:.0f}", f"{text.count(chr(10)):,}", f"{self.object.stat().st_size / 1024:.0f}"]


def header_lines(checkout):
    return sum(len(p.read_text().splitlines()) for p in pathlib.Path(checkout, "include").rglob("*.hpp"))


def lines_of(checkout, folder):
    """Headers, lines, lines of code and of comments of a folder of include/wengert, without its subfolders."""
    texts = [p.read_text().splitlines() for p in pathlib.Path(checkout, "include/wengert", folder).glob("*.hpp")]
    lines = [line.strip() for text in texts for line in text]
    comments = sum(line.startswith("//") for line in lines)
    bare = re.compile(r"[{}();\s]*|#.*|(namespace .*\{|\}  // namespace.*)")
    code = sum(not line.startswith("//") and not bare.fullmatch(line) for line in lines)
    return [f"{n:,}" if n else "–" for n in (len(texts), len(lines), code, comments)]


def count_lines(checkouts):
    names = {str(p.parent.relative_to(pathlib.Path(c, "include/wengert"))) for c in checkouts
             for p in pathlib.Path(c, "include/wengert").rglob("*.hpp")}
    columns, rows = ["folder"], [[f"`{name}/`" if name != "." else "the umbrellas"] for name in sorted(names)]
    for checkout in checkouts:
        mark = f" of `{commit_of(checkout)[:7]}`" if len(checkouts) > 1 else ""
        columns += ["headers" + mark, "lines", "code", "comments"]
        for row, name in zip(rows, sorted(names)):
            row += lines_of(checkout, name)
    how = "Counted by bench/cost.py --lines; code without braces of their own, includes and namespaces"
    return how, columns, rows


def commit_of(checkout):
    return subprocess.run(["git", "-C", checkout, "rev-parse", "--short=12", "HEAD"], capture_output=True,
                          text=True).stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--beside")
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--lines", action="store_true")
    args = parser.parse_args()
    compiler = os.environ.get("CXX", "g++")
    checkouts = [*([args.beside] if args.beside else []), str(ROOT)]
    if args.lines:
        how, columns, rows = count_lines(checkouts)
        print(tables.markdown(columns, rows))
        return None if args.print else tables.store("lines", how, columns=columns, rows=rows)
    way = "user seconds" if args.quick else "perf" if perf_counts() else "callgrind"
    rows = []
    for program, flags in ROWS:
        if program not in args.only:
            continue
        with tempfile.TemporaryDirectory() as top:
            beside = []
            for i, checkout in enumerate(checkouts):
                beside.append(Measured(checkout, text_of(program), flags, compiler, pathlib.Path(top, str(i))))
            for _ in range(args.repeat if args.quick else 1):
                for m in beside:
                    m.compile()
            for m in beside:
                if way != "user seconds":
                    m.instructions = by_perf(m.command) if way == "perf" else by_callgrind(m.command, top)
                which = [f"`{commit_of(checkouts[beside.index(m)])[:7]}`"] if args.beside else []
                rows.append([program, f"`{flags.replace(COMPILED, '')}`".replace(" `", "`"),
                             "with `wengert::compiled`" if COMPILED in flags else "headers alone", *which, *m.row()])
                print(*rows[-1], flush=True)
    columns = ["program", "flags", "library", *(["commit"] if args.beside else []),
               "the compiler's " + ("user time" if way == "user seconds" else "instructions"), "peak MB", "lines read",
               "object KB"]
    version = tables.output(*shlex.split(compiler), "-dumpfullversion")
    how = f"One run of bench/cost.py, {compiler} {version}, by {way}; " + ", ".join(
        f"include/ of {commit_of(c)[:7]} has {header_lines(c):,} lines" for c in checkouts)
    if not args.print:
        tables.store("cost", how, columns=columns, rows=rows)
        print("bench/results/cost.json; bench/tables.py writes the page")


if __name__ == "__main__":
    main()
