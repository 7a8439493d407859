#!/usr/bin/env python3
"""Includes point only downwards: no header names a layer above its own, no folders include each other in a
circle, the umbrella stays free of CUDA, and xsimd and BLAS are named in kernels/ alone. Prints what breaks a rule."""
import collections
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2] / "include" / "wengert"
LAYERS = ["base", "functions", "kernels", "array", "tape", "ops", "transforms", "io", "graph", "complex", "fft", "linalg", "implicit", "scalar", "mpi", "cuda"]
MOST = 25  # headers in a folder
TOP = len(LAYERS)  # headers directly in wengert/
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
KERNEL_ONLY = re.compile(r"^(xsimd/|cblas|lapacke)")
REGISTERS = re.compile(r"^(xsimd/|immintrin)")  # where g++'s warnings of them are off
REGISTER_HEADER = "kernels/cpu/simd.hpp"


def rank(path):
    """The layer of a header, given relative to wengert/; the version stands below everything."""
    if path == "version.hpp":
        return -1
    first, *rest = pathlib.PurePosixPath(path).parts
    if not rest or first == "impl":
        return TOP
    return LAYERS.index(first) if first in LAYERS else None


def includes(root, path):
    """(own, foreign): the library's headers that a header includes, relative to wengert/, and the others."""
    own, foreign = [], []
    for quote, name in INCLUDE.findall((root / path).read_text()):
        if name.startswith("wengert/"):
            own.append(name.removeprefix("wengert/"))
        elif quote == '"':
            own.append((root / path).parent.joinpath(name).resolve().relative_to(root.resolve()).as_posix())
        else:
            foreign.append(name)
    return own, foreign


def reachable(graph, start):
    seen, todo = set(), list(graph[start])
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += graph.get(node, [])
    return seen


def circles(graph):
    """Folders that reach themselves through others, and what the umbrella must not reach."""
    folder = lambda path: str(pathlib.PurePosixPath(path).parent).removesuffix("/impl")
    folders = {folder(path): set() for path in graph}
    for path, others in graph.items():
        if path != "version.hpp":
            folders[folder(path)] |= {folder(o) for o in others if o != "version.hpp"} - {folder(path)}
    found = [f"{start}/: includes itself in a circle" for start in folders if start in reachable(folders, start)]
    if "wengert.hpp" in graph:
        cuda = sorted(p for p in reachable(graph, "wengert.hpp") if p.startswith("cuda/"))
        found += [f"wengert.hpp: reaches {p}" for p in cuda]
    return found


def crowds(graph):
    """Folders in which a stranger finds nothing."""
    count = collections.Counter(str(pathlib.PurePosixPath(path).parent) for path in graph)
    return [f"{folder}/: {n} headers, more than {MOST}" for folder, n in sorted(count.items()) if n > MOST]


def problems(root):
    graph, found = {}, []
    for file in sorted(root.rglob("*.[hi]pp")):
        path = file.relative_to(root).as_posix()
        own, foreign = includes(root, path)
        graph[path] = own
        here = rank(path)
        if here is None:
            found.append(f"{path}: is in no layer of {', '.join(LAYERS)}")
            continue
        for other in own:
            there = rank(other)
            if not (root / other).exists():
                found.append(f"{path}: includes {other}, which does not exist")
            elif there is not None and there > here:
                found.append(f"{path}: includes {other}, which is above it")
        if not path.startswith(("kernels/", "cuda/")):
            found += [f"{path}: names {f}, which only kernels/ may" for f in foreign if KERNEL_ONLY.match(f)]
        if path != REGISTER_HEADER:
            found += [f"{path}: names {f}, which only {REGISTER_HEADER} may" for f in foreign if REGISTERS.match(f)]
    return found + circles(graph) + crowds(graph), len(graph)


def self_test():
    """Each rule, broken once, is seen."""
    cases = {
        "above": {"base/a.hpp": "#include <wengert/array/b.hpp>", "array/b.hpp": ""},
        "circle": {"kernels/a.hpp": '#include "cpu/b.hpp"', "kernels/cpu/b.hpp": "#include <wengert/kernels/a.hpp>"},
        "reaches": {"wengert.hpp": '#include "x.hpp"', "x.hpp": '#include "cuda/c.hpp"', "cuda/c.hpp": ""},
        "only kernels": {"array/a.hpp": "#include <cblas.h>"},
        "which only kernels/cpu/simd.hpp": {"kernels/cpu/a.hpp": "#include <immintrin.h>"},
        "no layer": {"misc/a.hpp": ""},
        "26 headers, more than 25": {f"base/{n}.hpp": "" for n in range(26)},
        "not exist": {"base/a.hpp": '#include "b.hpp"'},
        "": {"base/a.hpp": '#include "b.hpp"', "base/b.hpp": '#include "a.hpp"',
             "array/b.hpp": "#include <wengert/base/a.hpp>\n#include <wengert/version.hpp>",
             "version.hpp": "", "kernels/cpu/simd.hpp": "#include <xsimd/xsimd.hpp>"},
    }
    failed = 0
    for wanted, files in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            found = problems(pathlib.Path(folder))[0]
        if bool(found) != bool(wanted) or not any(wanted in f for f in found or [""]):
            print(f"expected '{wanted}', found {found}")
            failed += 1
    print(f"direction.py: {len(cases)} self tests, {failed} failed")
    return failed


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test() != 0)
    found, headers = problems(ROOT)
    print(*found, sep="\n", end="\n" if found else "")
    print(f"include direction: {headers} headers, {len(found)} problems")
    sys.exit(bool(found) or headers == 0)


if __name__ == "__main__":
    main()
