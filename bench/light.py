#!/usr/bin/env python3
"""Is the library as light as it was? User seconds of compiling a few programs at -O2, as multiples of those of xtensor/xarray.hpp alone,
which is compiled in turn with them; the least of five. What takes more than ten times as long as that is compiled once, and
twice to record. Then what wengert::compiled takes to build, and its size.

    bench/light.py [ROW…]           beside bench/light_targets.json: what is more than 10 % over its target and over what is recorded
                                    there fails. A row is done early where it is no worse than recorded. Before it fails it is
                                    tried ten times more, three times where that takes long; then in turn with the headers it was
                                    recorded with, as on a loaded machine large programs slow down more than small ones. What
                                    .ci/run runs: four minutes.
                                    --night: the rows that take a minute each, which are left out otherwise
    bench/light.py --record [ROW…]  all repeats; where a row is better than what is recorded (--anyway: or not), it is that from now on;
                                    and the tables of README.md and docs/performance.md, if no rows are named
    bench/light.py --beside FOLDER  the same rows of another checkout, too, in turn with this one's; nothing is checked

ROW is a part of a row's name, such as eigen or "freeze, headers". CXX names the compiler.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "docs"))
import cost  # noqa: E402
import run as pages  # noqa: E402
import tables  # noqa: E402

ROOT = tables.ROOT
TARGETS = ROOT / "bench" / "light_targets.json"
UMBRELLA = "#include <wengert/wengert.hpp>"
XARRAY = "#include <xtensor/xarray.hpp>\nint main() {}\n"
WITH = {"compiled": f"-O2 {cost.COMPILED}", "headers": "-O2", "eager": "-O2",
        "linalg": f"-O2 {cost.COMPILED} -DWENGERT_COMPILED_LINALG"}
SLACK, DEAR = 1.1, 10  # dear: so many times xtensor/xarray.hpp
TURNS = 11  # more with the headers of a record, until they agree


def first_example(page):
    """The first program of a page of docs/."""
    return next(b.text() + "\n" for b in pages.blocks_of(ROOT / "docs" / page) if b.language == "cpp")


def source_of(program, mode):
    text = cost.text_of(program) if program in cost.PROGRAMS else first_example(f"{program}.md")
    return text.replace(UMBRELLA, "#include <wengert/eager.hpp>") if mode == "eager" else text


@dataclasses.dataclass
class Row:
    program: str
    mode: str            # of WITH, "build" or "archive"
    target: float
    recorded: float      # None: nothing yet, nothing fails
    unit: str = "times"  # as xtensor/xarray.hpp, or MB
    commit: str = ""     # at which that was recorded
    night: bool = False  # takes a minute or more: measured by name, at night and to record

    def name(self):
        return f"{self.program}, {self.mode}" + (", peak MB" if self.unit == "MB" and self.mode in WITH else "")

    def of(self, times, memory):
        return memory if self.unit == "MB" else times

    def known(self):
        """What it need not be better than."""
        return float("inf") if self.recorded is None else max(self.target, self.recorded)

    def limit(self):
        return SLACK * self.known()


def recorded_checkout(commit, folder):
    """The headers of the commit that a row was recorded at; None where they are not to be had."""
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit or "none", "include"], capture_output=True)
    folder.mkdir()
    unpacked = archive.returncode == 0 and subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout).returncode == 0
    return str(folder) if unpacked else None


class Turns:
    """A program of several checkouts and xtensor/xarray.hpp, compiled in turn."""

    def __init__(self, checkouts, program, mode, compiler, folder):
        self.folder, self.compiler = folder, compiler
        self.alone = cost.Measured(checkouts[0], XARRAY, "-O2", compiler, folder / "xarray")
        self.programs = [cost.Measured(c, source_of(program, mode), WITH[mode], compiler, folder / str(i))
                         for i, c in enumerate(checkouts)]

    def turn(self):
        for measured in (self.alone, *self.programs):
            measured.compile()

    def times(self, measured):
        while len(self.alone.seconds) < 3:
            self.alone.compile()
        return min(measured.seconds) / min(self.alone.seconds)

    def measure(self, rows, all_turns):
        """(times, MB, seconds) of each checkout, the last of which is held against the rows."""
        mine = self.programs[-1]
        self.turn()
        dear = self.times(mine) > DEAR
        for _ in range(int(bool(all_turns)) if dear else 4):
            if not all_turns and all(r.of(self.times(mine), mine.memory) <= r.known() for r in rows):
                break
            self.turn()
        for _ in range(3 if dear else 10):  # the least of few is too much by chance
            if all(r.of(self.times(mine), mine.memory) <= r.limit() for r in rows):
                break
            self.turn()
        found = [(self.times(m), m.memory, min(m.seconds)) for m in self.programs]
        late = [r for r in rows if r.unit == "times" and found[-1][0] > r.limit()]
        if late and not all_turns:
            by_record = self.times_as_recorded(mine, late[0], found[-1][0])
            if by_record is None:
                print(f"{late[0].name()}: the headers of its record cannot compile it here, so what is measured counts", flush=True)
            else:
                found[-1] = (by_record, *found[-1][1:])
        return found

    def times_as_recorded(self, mine, row, times):
        """What is recorded, as many times as the program is slower than with the headers of that record, in turn; None where these are
        not here or lack something of the program."""
        checkout = recorded_checkout(row.commit, self.folder / "recorded")
        if checkout is None:
            return None
        now, then = (cost.Measured(c, mine.source.read_text(), " ".join(mine.flags), self.compiler, self.folder / name)
                     for c, name in ((str(ROOT), "now"), (checkout, "then")))
        try:
            then.compile()
        except SystemExit:
            return None
        now.compile()
        for _ in range(5 if times > DEAR else TURNS):  # other work doubles single compilations
            then.compile()
            now.compile()
            if undisturbed(then) and undisturbed(now):
                break
        slower = min(now.seconds) / min(then.seconds)
        print(f"{row.name()}: {times:.1f} on this machine, {slower:.2f} times what is recorded, in turn", flush=True)
        return min(times, row.recorded * slower)


def undisturbed(measured):
    """Do the two least of three times or more agree?"""
    least, *others = sorted(measured.seconds)
    return len(others) > 1 and others[0] < 1.05 * least


def build_library(checkout, folder):
    """User seconds of building wengert::compiled, one compiler at a time, peak MB, and MB of its archive."""
    configure = ["cmake", "-S", checkout, "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O2",
                 "-DCMAKE_CXX_COMPILER_LAUNCHER=", "-DWENGERT_BUILD_TESTS=OFF", "-DWENGERT_BUILD_EXAMPLES=OFF",
                 "-DWENGERT_BUILD_BENCH=OFF"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    seconds, memory = cost.run(["cmake", "--build", str(folder), "-j", "1", "--target", "wengert_compiled"])
    return seconds, memory, (folder / "libwengert_compiled.a").stat().st_size / 1e6


def library_of(checkout, compiler):
    """Of building wengert::compiled by one compiler at a time: times xtensor/xarray.hpp, MB of its archive, user seconds, peak MB."""
    with tempfile.TemporaryDirectory() as top:
        folder = pathlib.Path(top)
        alone = cost.Measured(checkout, XARRAY, "-O2", compiler, folder / "xarray")
        for _ in range(3):
            alone.compile()
        seconds, memory, size = build_library(checkout, folder / "library")
        for _ in range(2):
            alone.compile()
    return seconds / min(alone.seconds), size, seconds, memory


def read_rows(wanted, at_night):
    """Rows by parts of their names; else all that are measured by day, or at night, or both where that is None."""
    rows = [Row(**row) for row in json.loads(TARGETS.read_text())["rows"]]
    if wanted:
        return [row for row in rows if any(part in row.name() for part in wanted)]
    return [row for row in rows if at_night in (None, row.night)]


def write_rows(rows):
    """These rows in the place of what is recorded of them."""
    by_name, everything = {row.name(): row for row in rows}, json.loads(TARGETS.read_text())
    for row in everything["rows"]:
        new = by_name.get(Row(**row).name(), Row(**row))
        row["recorded"], row["commit"] = new.recorded, new.commit
    lines = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in everything["rows"])
    TARGETS.write_text(f'{{"about": {json.dumps(everything["about"], ensure_ascii=False)},\n "rows": [\n{lines}\n]}}\n')


def is_there(row):
    needed = {"eager": ROOT / "include/wengert/eager.hpp"}.get(row.mode)
    if row.program == "eigen" and not pathlib.Path("/usr/include/eigen3/Eigen/Dense").exists():
        needed = pathlib.Path("Eigen")
    if needed and not needed.exists():
        print(f"{row.name()}: skipped, no {needed.name} here")
        return False
    return True


def figures(rows, checkouts, compiler, all_turns):
    """Of each program: its rows, and (times, MB, seconds) of each checkout."""
    for key in dict.fromkeys((row.program, row.mode if row.mode in WITH else "build") for row in rows if is_there(row)):
        group = [r for r in rows if (r.program, r.mode if r.mode in WITH else "build") == key]
        if key[1] == "build":
            yield group, [library_of(c, compiler) for c in checkouts]
            continue
        with tempfile.TemporaryDirectory() as top:
            yield group, Turns(checkouts, *key, compiler, pathlib.Path(top)).measure(group, all_turns)


def report(row, value):
    """What is printed of a row, and whether it holds."""
    good = value <= row.limit()
    digits = 0 if value >= 100 else 1
    word = "" if row.unit == "times" else " MB"
    said = f"{row.name()}: {value:.{digits}f}{word}, target {row.target:g}, recorded {row.recorded or 'nothing'}"
    print(said + ("" if good else f": MORE THAN {row.limit():.{digits}f}") + ("" if value <= row.target else "  (not met yet)"), flush=True)
    return good


def described(group, commit, figure):
    """A row of bench/results/light.json."""
    program, mode = group[0].program, group[0].mode
    times, memory, seconds = figure[:3]
    if mode not in WITH:
        return [f"`wengert::compiled` itself, {memory:.1f} MB", "", commit, f"{seconds:.0f} s", "", f"{figure[3]:.0f}"]
    library = {"compiled": "with `wengert::compiled`", "headers": "headers alone", "eager": "headers alone, `eager.hpp`",
               "linalg": "with `wengert::compiled_linalg`"}[mode]
    return [program, library, commit, f"{seconds:.1f} s", f"{times:.1f}", f"{memory:.0f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--anyway", action="store_true")
    parser.add_argument("--night", action="store_true")
    parser.add_argument("--beside")
    args = parser.parse_args()
    compiler = os.environ.get("CXX", "g++")
    rows = read_rows(args.rows, None if args.record or args.beside else args.night)
    if not rows:
        sys.exit(f"light: no row is named {' or '.join(args.rows)}")
    checkouts = [*([args.beside] if args.beside else []), str(ROOT)]
    commits = [f"`{cost.commit_of(c)[:7]}`" for c in checkouts]
    passed, failed, unmet, table = 0, 0, [], []
    for group, found in figures(rows, checkouts, compiler, args.record or args.beside):
        table += [described(group, commit, figure) for commit, figure in zip(commits, found)]
        for other, commit in zip(found[:-1], commits):
            print(f"{group[0].name()}, {commit}: {other[0]:.1f}, {other[1]:.1f} MB")
        for row in group:
            value = row.of(*found[-1][:2])
            good = report(row, value)
            passed, failed = passed + good, failed + (not good)
            unmet += [row.name()] if value > row.target else []
            if args.record and (args.anyway or row.recorded is None or value < row.recorded):
                row.recorded, row.commit = float(f"{value:.3g}"), cost.commit_of(str(ROOT))[:12]
    if args.record:
        write_rows(rows)
        if not args.rows:
            tables.store("light", f"bench/light.py --record, {compiler}, in turn",
                         columns=["program", "library", "commit", "user seconds", "beside xtensor's xarray", "peak MB"], rows=table)
    print(f"not met yet: {'; '.join(unmet) or 'none'}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0 and not args.beside and not args.record)


if __name__ == "__main__":
    main()
