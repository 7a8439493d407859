#!/usr/bin/env python3
"""The tables of README.md and docs/*.md, from the files in bench/results.

    bench/tables.py                    writes each marked section anew
    bench/tables.py --check            fails where a section is not what the results give, so no figure is typed by hand
    bench/tables.py --collect FOLDER   makes the results from a run's raw output in FOLDER, then writes the sections
                                       (bench/run.sh tables does both)

A section lies between `<!-- table: NAME -->` and `<!-- end of table -->`. NAME is one of VIEWS below or a file of
bench/results: {"machine", "date", "commit", "how", "columns": [...], "rows": [[...], ...]}.
"""
import argparse
import datetime
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
SECTION = re.compile(r"(<!-- table: ([\w-]+) -->\n)(.*?)(<!-- end of table -->)", re.S)
SYSTEMS = {"wengert": "eager", "wengert-tile": "frozen, tiles", "wengert-native": "frozen, native", "floor": "floor",
           "floor_fused": "floor, folded", "plain": "plain", "libtorch": "libtorch", "xla": "XLA"}
README = [
    ("small_op", "n=8", "one recorded operation on 8 doubles, forward and backward"),
    ("elementwise", "f32/1000000", "Σ tanh(xw+b)·σ(x)+x², 10⁶ floats"),
    ("mlp", "batch=64", "MLP 784-512-512-10 step, batch 64"),
    ("mlp", "batch=1", "the same, batch 1"),
    ("rk4", "batch=1", "100 RK4 steps of a small network"),
    ("heat", "256x256", "heat equation by slices, 256², 100 steps"),
    ("attention", "128x64", "attention, 128×64"),
    ("gmm", "d10_K25", "ADBench GMM d10 K25"),
    ("lstm", "l2_c1024", "ADBench LSTM l2 c1024"),
]


def readable(seconds):
    if not seconds:
        return "–"
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if seconds >= size or unit == "ns":
            value = seconds / size
            return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"


def ratio(seconds, other):
    return f"{seconds / other:.2f}" if seconds and other else "–"


def markdown(columns, rows):
    """Without the columns that are empty in all rows."""
    full = [i for i in range(len(columns)) if i == 0 or any(row[i] not in ("", "–") for row in rows)]
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join("| " + " | ".join(str(line[i]) for i in full) + " |\n" for line in lines)


def origin(results):
    said = [results.get(key, "") for key in ("how", "machine", "date")] + [f"commit {results['commit']}"]
    return "; ".join(part for part in said if part) + ".\n\n"


def by_variant(results, seconds="seconds"):
    found = {}
    for row in results["rows"]:
        found.setdefault((row["workload"], row["variant"]), {})[row["system"]] = row[seconds]
    return found


def readme_view(results):
    rows, variants = [], by_variant(results)
    for workload, variant, label in README:
        t = variants.get((workload, variant), {})
        frozen = min((t[s] for s in ("wengert-tile", "wengert-native") if s in t), default=0)
        folded = t.get("floor_fused", t.get("floor", 0))
        rows.append([label, readable(t.get("wengert")), readable(frozen), readable(min(folded, t.get("floor", 0))),
                     readable(t.get("libtorch")), readable(t.get("xla"))])
    return origin(results) + markdown(["workload", "eager", "frozen", "floor", "libtorch", "XLA"], rows)


def speed_view(results):
    rows = []
    for (workload, variant), t in by_variant(results).items():
        floor = t.get("floor_fused", t.get("floor"))
        rows.append([f"`{workload}`", f"`{variant}`"] + [readable(t.get(system)) for system in SYSTEMS] +
                    [ratio(t.get(system), floor) for system in ("wengert", "wengert-tile", "wengert-native")])
    names = ["workload", "variant", *SYSTEMS.values(), "eager / floor", "tiles / floor", "native / floor"]
    return origin(results) + markdown(names, rows)


def change_view(results):
    """Seconds now over seconds before. Both are of one run: a later table of speeds may be of another machine."""
    now = by_variant(results, "now")
    systems, rows = list(SYSTEMS)[:3], []
    for key, then in by_variant(results).items():
        here = now.get(key, {})
        rows.append([f"`{key[0]}`", f"`{key[1]}`", *(readable(then.get(s)) for s in systems),
                     *(ratio(here.get(s), then.get(s)) for s in systems)])
    names = [SYSTEMS[s] for s in systems]
    return origin(results) + markdown(["workload", "variant", *(f"{n}, then" for n in names), *(f"{n}, now / then" for n in names)], rows)


def ci_view(results):
    rows = [[f"`{r['stage']}`", f"{r['seconds']} s", f"{r['passed']}"] for r in results["rows"]]
    total = sum(r["seconds"] for r in results["rows"])
    rows.append(["in all", f"{total // 60} min {total % 60} s", sum(r["passed"] for r in results["rows"])])
    return origin(results) + markdown(["stage", "took", "passed"], rows)


def plain_view(results):
    return origin(results) + markdown(results["columns"], results["rows"])


def first_gpu_view(results):
    """Of the file that cuda/first_gpu.sh writes."""
    rows = [[f"`{s['stage']}`", s["result"], s["seconds"], s["summary"].replace("\n", "; ")] for s in results["stages"]]
    said = ["`cuda/first_gpu.sh`", results["gpu"], f"driver {results['driver']}", results["date"][:10], f"commit {results['commit'][:12]}"]
    return "; ".join(said) + ".\n\n" + markdown(["stage", "", "seconds", "Catch2 says"], rows)


def unseen_view():
    """Each file of the tests of CUDA: what its first comment says, and whether its tests run on a GPU as they are."""
    rows = []
    for file in sorted((ROOT / "tests" / "cuda").glob("test_*.cpp")):
        head, _, body = file.read_text().partition("#include")
        about = re.sub(r"\s*//\s*", " ", head).strip()
        cases = re.split(r"\n(?:TEMPLATE_)?TEST_CASE\(", body)[1:]
        fake_alone = [bool(re.search(r"\n    if \([^\n]*!fake::(?:heal|order|break_down)[^\n]*\) \{\n\s*SUCCEED", case)) for case in cases]
        ready = "–" if all(fake_alone) else "in part" if any(fake_alone) else "all"
        rows.append([f"`{file.stem}`", about.split(". ")[0].rstrip("."), ready])
    return markdown(["tests", "of what", "made for a GPU, too"], rows)


def light_view(results):
    """A program a row, of the commit that was measured last, in seconds of the compiler."""
    newest = f"`{results['commit'][:7]}`"
    seconds = {(program, library): f"{time} ({beside})" for program, library, commit, time, beside, _ in results["rows"]
               if commit == newest and beside}
    libraries = ["with `wengert::compiled`", "headers alone", "headers alone, `eager.hpp`"]
    rows = [[p, *(seconds.get((p, library), "–") for library in libraries)] for p in dict.fromkeys(program for program, _ in seconds)]
    rows += [["the library itself, once", time, "", ""] for _, _, commit, time, beside, _ in results["rows"]
             if commit == newest and not beside]
    return origin(results) + markdown(["program, -O2", "`wengert::compiled` (times xtensor's xarray alone)", *libraries[1:]], rows)


# Of MPI between two machines: half a round trip, and bytes a second (J. Squyres 2014, MPI over 40Gb Ethernet, Cisco's blog:
# NetPIPE with Open MPI 1.8.1 on usNIC, 1.93 µs and 37.23 Gb/s).
LATENCY, BANDWIDTH = 1.93e-6, 37.23e9 / 8


def scaling_view(results):
    """Seconds a cell and step, and what a message costs more than MPI's own, as measured on one rank; messages as published."""
    figure = {(row[0], row[1]): row for row in results["rows"]}
    row = next(r for (what, ranks), r in figure.items() if ranks == "1" and re.match(r"heat (\d+)², (\d+) steps, native$", what))
    side, steps = map(int, re.match(r"heat (\d+)², (\d+)", row[0]).groups())
    cell = float(row[3].split()[0]) * 1e-3 / (side * side * steps)  # forwards and back
    more = max(0, float(figure["a message of 8 B", "1"][4].split()[0])) * 1e-6
    rows = []
    for ranks in (1, 4, 16, 100, 1024, 4096, 10000):
        across = ranks ** 0.5

        def step(cells):  # of one rank, on a grid of ranks: four messages forwards and four back
            edge = cells ** 0.5 * 8
            return cells * cell, 8 * (LATENCY + more + edge / BANDWIDTH) if ranks > 1 else 0

        strong, weak = step(10240 ** 2 / ranks), step(1024 ** 2)
        limit = "computing" if strong[0] > strong[1] else "latency" if LATENCY + more > 8 * 10240 / across / BANDWIDTH else "bandwidth"
        rows.append([ranks, readable(sum(strong)), f"{strong[0] / sum(strong):.2f}", limit, readable(sum(weak)), f"{weak[0] / sum(weak):.2f}"])
    return origin(results) + markdown(["ranks", "a step and its adjoint, 10240² in all", "efficiency", "what limits it",
                                       "the same, 1024² a rank", "efficiency"], rows)


VIEWS = {"first-gpu": ("first_gpu", first_gpu_view), "mpi-scaling": ("mpi", scaling_view), "light-readme": ("light", light_view), "readme": ("speed", readme_view), "speed": ("speed", speed_view), "change": ("before", change_view), "ci": ("ci", ci_view)}


def section(name):
    if name == "unseen":
        return unseen_view()
    file, view = VIEWS.get(name, (name, plain_view))
    path = RESULTS / f"{file}.json"
    if not path.exists():
        return "Not measured yet.\n"
    return view(json.loads(path.read_text()))


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def rewritten(text):
    return SECTION.sub(lambda m: m[1] + section(m[2]) + m[4], text)


def output(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def machine():
    info = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*:\s*(.*)", info)
    flags = re.search(r"^flags\s*:\s*(.*)", info, re.M)
    kind = "/".join(m[1] for m in (re.search(rf"^{key}\s*:\s*(\d+)", info, re.M) for key in ("cpu family", "model")) if m)
    wide = [name for name, flag in (("AVX-512", "avx512f"), ("AVX2", "avx2")) if flags and flag in flags[1].split()]
    return ", ".join([f"{info.count('processor')} cores of {model[1] if model else 'a processor without a name'}"
                      + (f" (family/model {kind})" if kind else ""), *wide[:1]])


def header(how):
    commit = output("git", "rev-parse", "--short=12", "HEAD") or "unknown"
    if output("git", "status", "--porcelain", "--untracked-files=no", "--", "include", "bench/workloads"):
        commit += " with changes"
    return {"how": how, "machine": machine(), "date": datetime.date.today().isoformat(), "commit": commit}


def store(name, how, **content):
    if not content["rows"]:
        print(f"{name}: the run has left no rows, what was there stays")
        return
    RESULTS.mkdir(exist_ok=True)
    given = {key: content[key] for key in ("date", "commit") if key in content}
    text = json.dumps({**header(how), **given, "rows": []}, ensure_ascii=False)[:-3]  # a row a line, so that differences can be read
    rows = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in content["rows"])
    columns = f'"columns": {json.dumps(content["columns"], ensure_ascii=False)}, ' if "columns" in content else ""
    text = text.replace('"rows": ', f'{columns}"rows": ') + f"[\n{rows}\n]}}\n"
    json.loads(text)
    (RESULTS / f"{name}.json").write_text(text)


def xla_rows(file):
    """What bench/solvers_xla.py has printed: the versions, and the milliseconds of each row."""
    text = file.read_text() if file.exists() else ""
    return text.partition("\n")[0], dict(re.findall(r"^(.*?\S) {2,}([\d.]+)$", text, re.M))


def collect(folder, beside):
    """What the run has left in the folder; what it has not left stays as it was."""
    compiler = output("g++", "-dumpfullversion")
    speed, memory, peak = folder / "results.json", folder / "memory.txt", folder / "peak.txt"
    stages = ROOT / "build" / "ci" / "stages.json"
    before = folder / "before.json"
    if beside and before.exists():
        commit = output("git", "-C", str(beside), "rev-parse", "--short=12", "HEAD")
        seconds = by_variant({"rows": json.loads(speed.read_text())})
        rows = [{**row, "now": seconds.get((row["workload"], row["variant"]), {}).get(row["system"])} for row in json.loads(before.read_text())]
        today = output("git", "rev-parse", "--short=12", "HEAD")
        store("before", f"Each workload right after that of commit {today} in one run", commit=commit, rows=rows)
    if speed.exists():
        store("speed", f"One run, all systems of a row in turn, medians, one thread, g++ {compiler} -O3 -march=native",
              rows=json.loads(speed.read_text()))
    if memory.exists():
        lines = [line.split(": ", 1) for line in memory.read_text().splitlines() if ": " in line]
        store("memory", f"One run of wengert_memory, g++ {compiler} -O3 -march=native", columns=["what", "measured"],
              rows=lines)
    if peak.exists():
        found = re.findall(r"^(\S+) +(\S+) +(\S+) +([\d.]+ \w+) +([\d.]+ \w+) +([\d.]+)$", peak.read_text(), re.M)
        store("peak", "Each system in a process of its own", columns=["workload", "system", "cold", "warm", "peak MiB"],
              rows=[[f"`{w}` {v}", SYSTEMS[s], cold.replace("us", "µs"), warm.replace("us", "µs"), p]
                    for w, v, s, cold, warm, p in found])
    scalars, loops = folder / "scalars.txt", folder / "loops.txt"
    if scalars.exists():
        found = re.findall(r"^(.+?) +plain +(\S+) +passive Real +(\S+) +record +(\S+) +reverse +(\S+) ns, (\S+) bytes",
                           scalars.read_text(), re.M)
        store("scalars", f"One run of wengert_scalars, nanoseconds an operation, g++ {compiler} -O3 -march=native",
              columns=["a chain of", "plain", "passive `Real`", "record", "reverse", "bytes"], rows=[list(row) for row in found])
    codes = folder / "scalar_codes.txt"
    if codes.exists():
        store("scalar_codes", f"One run of wengert_scalar_codes, systems in turn, medians, g++ {compiler} -O3 -march=native",
              columns=["what", "plain loops", "measured", "figure", "wanted", "holds"],
              rows=[[part.strip() for part in line.split("|")] for line in codes.read_text().splitlines() if line.count("|") == 5])
    peers = folder / "scalar_peers.txt"
    if peers.exists() and (peer := re.match("beside (.*)", peers.read_text())[1]) != "nothing":
        store("scalar_peers", f"One run of wengert_scalar_peers beside {peer}, in turn, the least of many samples, nanoseconds and bytes "
                              f"an operation of `Real`, adjoints included, g++ {compiler} -O3 -march=native",
              columns=["what", "operations", "plain", "record", "sweep", "`grad`", "bytes", "peer: record", "sweep", "bytes", "time, ratio",
                       "`grad`, ratio", "bytes, ratio"],
              rows=[[part.strip() for part in line.split("|")] for line in peers.read_text().splitlines() if line.count("|") == 12])
        store("scalar_second", f"The same run: nanoseconds an operation of `Real`, by `hvp` and by a nested type of {peer}",
              columns=["what", "gradient", "`hvp`", "`hvp`, gradients", "peer: `hvp`", "time, ratio"],
              rows=[[part.strip() for part in line.split("|")] for line in peers.read_text().splitlines() if line.count("|") == 5])
        store("scalar_kernels", "The same run: nanoseconds an operation of `Real`, and seconds of the first call",
              columns=["what", "plain", "`Real`", "kernel, native", "peer", "kernel, ratio", "first call"],
              rows=[[part.strip() for part in line.split("|")] for line in peers.read_text().splitlines() if line.count("|") == 6])
    ranks = folder / "mpi.txt"
    if ranks.exists():
        version = output("mpirun", "--version").splitlines()[:1]
        store("mpi", f"bench/run.sh mpi, the least of several runs in turn, {''.join(version)}, g++ {compiler} -O3 -march=native",
              columns=["what", "ranks", "by hand", "wengert", "more", "times"],
              rows=[[part.strip() for part in line.split("|")] for line in ranks.read_text().splitlines() if line.count("|") == 5])
        peer = re.search("^beside (.*)", ranks.read_text(), re.M)
        store("mpi_scalars", f"The same run, beside {peer[1] if peer else 'nothing'}, the least of nine",
              columns=["gradient of", "ranks", "peer", "wengert", "times"],
              rows=[[part.strip() for part in line.split("|")] for line in ranks.read_text().splitlines() if line.count("|") == 4])
    if loops.exists():
        found = re.findall(r"^(\D.*?\S) {2,}(\S+) +(\S+) +(\S+) +(\S+) +(\d+)$", loops.read_text(), re.M)
        store("loops", f"One run of wengert_loops, 100,000 steps, milliseconds, g++ {compiler} -O3 -march=native",
              columns=["step", "native", "value by value", "gradient, native", "gradient, value by value", "loops not compiled"],
              rows=[list(row) for row in found])
    solvers = folder / "solvers.txt"
    if solvers.exists():
        found = re.findall(r"^(.*?\S) {2,}([\d.]+) +([\d.]+) +([\d.]+)$", solvers.read_text(), re.M)
        how = f"One run of wengert_solvers, milliseconds, one thread, g++ {compiler} -O3 -march=native"
        version, xla = xla_rows(folder / "xla.txt")
        how += f", and of {version} right behind it" if version else ""
        beside = [[*row, xla.get(row[0], "–"), f"{float(row[2]) / float(xla[row[0]]):.2f}" if row[0] in xla else "–"]
                  for row in found if not row[0].startswith("odeint")]
        store("solvers", how, columns=["what", "by hand over LAPACK", "frozen", "times", "XLA", "frozen / XLA"], rows=beside)
        store("stiff", how, columns=["what", "value", "gradient", "times"],
              rows=[list(row) for row in found if row[0].startswith("odeint")] +
                   [[what.removesuffix(", value"), time, xla[gradient := what.replace(", value", ", gradient")],
                     f"{float(xla[gradient]) / float(time):.2f}"] for what, time in xla.items() if what.endswith(", value")])
    long_text = folder / "long_text.txt"
    if long_text.exists():
        store("long_text", f"One run of wengert_long_text, processor seconds; the text is compiled with -O1, g++ {compiler}",
              columns=["kernel", "operations", "text, KB", "written", "-O2", "-O1", "run, ns an operation and cell"],
              rows=[[part.strip() for part in line.split("|")] for line in long_text.read_text().splitlines() if line.count("|") == 6])
    if stages.exists():
        ran = json.loads(stages.read_text())
        if not any(row["failed"] for row in ran["rows"]):
            store("ci", "One run of .ci/run with an empty compiler cache", **ran)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--collect", type=pathlib.Path)
    parser.add_argument("--beside", type=pathlib.Path, help="the checkout that before.json was measured in")
    args = parser.parse_args()
    if args.collect:
        collect(args.collect, args.beside)
    empty = [f.name for f in sorted(RESULTS.glob("*.json")) if not json.loads(f.read_text()).get("rows", True)]
    for name in empty:
        print(f"bench/results/{name} has no rows")
    stale = tables = 0
    for page in pages():
        text = page.read_text()
        tables += len(SECTION.findall(text))
        if (fresh := rewritten(text)) != text:
            stale += 1
            if args.check:
                print(f"{page.relative_to(ROOT)}: a table is not what bench/results gives; bench/tables.py writes it")
            else:
                page.write_text(fresh)
    print(f"{tables} tables, {stale} pages {'differ' if args.check else 'rewritten'}")
    sys.exit(bool(args.check and (stale or empty)) or tables == 0)


if __name__ == "__main__":
    main()
