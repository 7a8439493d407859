#!/usr/bin/env python3
"""Compiles each public header alone, included twice, with every warning an error. The first compiler takes all of them, and
once more as users of the built library do, without the bodies that are in it (WENGERT_COMPILED); the others take those that no
header includes, which bring in the rest.

What many headers include before anything else is precompiled for them: their own text comes behind it in any case.

With --changed only those of which a commit may have changed the answer: whose text differs from the base's, or which reach
fewer headers than they did there, so that what one of those had brought along may be missing. As users of the built library
do, it compiles those of them that no other of them includes. The base is --base or $BASE; else where this branch left
origin/main; else the newest tag before HEAD; else ten commits ago."""
import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
# Precompiled where enough headers include them: the first that a header has is its own.
PREFIXES = ["wengert/ops/describe/structural.hpp", "wengert/tape/tensor.hpp", "wengert/array/block.hpp"]
ENOUGH = 4


def frugal(compiler):
    """g++ looks for memory that it could use again long before it needs any: a tenth of its time."""
    return () if "clang" in compiler else ("--param=ggc-min-heapsize=500000",)


def compile_alone(compiler, header, defines=(), prefix=()):
    text = f"#include <{header}>\n#include <{header}>\n"
    command = [compiler, "-std=c++20", "-fsyntax-only", *frugal(compiler), *defines, *WARNINGS, f"-I{INCLUDE}", *prefix, "-x", "c++", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True)


def precompile(folder, compiler, header, defines):
    """The options that put it first, or none where it does not compile, which its own turn tells."""
    folder.mkdir(parents=True)
    name = folder / "prefix.hpp"
    name.write_text(f"#include <{header}>\n")
    made = f"{name}.pch" if "clang" in compiler else f"{name}.gch"
    command = [compiler, "-std=c++20", *defines, *WARNINGS, f"-I{INCLUDE}", "-x", "c++-header", str(name), "-o", made]
    ran = subprocess.run(command, capture_output=True)
    return ("-include", str(name)) if ran.returncode == 0 else ()


def included(header, text):
    """The headers of ours that this text includes, relative to include/."""
    found = set()
    for quote, name in re.findall(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', text, re.M):
        if quote == '"':
            found.add(posixpath.normpath(posixpath.join(posixpath.dirname(header), name)))
        elif name.startswith("wengert/"):
            found.add(name)
    return found


def included_at_top(header, text):
    """Those of them that stand before all else, and under no condition."""
    top = itertools.takewhile(lambda line: re.match(r"\s*(#\s*include\b|#pragma once|//|$)", line), text.splitlines())
    return included(header, "\n".join(top))


def reached(texts, step=included):
    """For each header all that it includes, in several steps, too."""
    graph = {h: step(h, text) & texts.keys() for h, text in texts.items()}
    found = {}
    for header in graph:
        seen, todo = set(), [header]
        while todo:
            fresh = graph[todo.pop()] - seen
            seen |= fresh
            todo += fresh
        found[header] = seen
    return found


def prefixes(texts):
    """What may be read before a header: an include of its top, unless that brings in the header itself."""
    at_top, anywhere = reached(texts, included_at_top), reached(texts)
    found = {h: [p for p in PREFIXES if p in at_top[h] and h not in anywhere[p]] for h in texts}
    return {h: p[0] for h, p in found.items() if p}


def texts_here():
    return {p.relative_to(INCLUDE).as_posix(): p.read_text() for p in INCLUDE.rglob("*.[hi]pp")}


def git(*arguments):
    result = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else ""


def base_commit(given):
    """The commit to compare with, or nothing where there is no history."""
    if given:
        return git("rev-parse", "--verify", f"{given}^{{commit}}")
    fork, head = git("merge-base", "HEAD", "origin/main"), git("rev-parse", "HEAD")
    if fork and fork != head:
        return fork
    tag = git("describe", "--tags", "--abbrev=0", "HEAD^")
    return git("rev-parse", "--verify", f"{tag or 'HEAD~10'}^{{commit}}")


def texts_at(commit):
    """The headers of that commit, in two processes whatever their number."""
    listed = git("ls-tree", "-r", "--format=%(objectname) %(path)", commit, "--", "include")
    names = dict(reversed(line.split(" ", 1)) for line in listed.splitlines() if line.endswith((".hpp", ".ipp")))
    blobs = subprocess.run(["git", "-C", str(ROOT), "cat-file", "--batch"], capture_output=True,
                           input="".join(f"{name}\n" for name in names.values()).encode()).stdout
    texts, at = {}, 0
    for path in names:
        start = blobs.index(b"\n", at) + 1
        end = start + int(blobs[at:start].split()[2])
        texts[path.removeprefix("include/")] = blobs[start:end].decode()
        at = end + 1
    return texts


def changed(now, before):
    """Headers that are to be compiled again."""
    reach_now, reach_before = reached(now), reached(before)
    return sorted(h for h in now if now[h] != before.get(h) or reach_before[h] - reach_now[h])


def not_included(headers):
    inner = set().union(*(included(h, (INCLUDE / h).read_text()) for h in headers))
    return [h for h in headers if h not in inner]


# Libraries that a program may do without: what includes them, and where Debian has them.
OPTIONAL = {"Eigen": (r"<eigen3/Eigen/", "<eigen3/Eigen/Dense>", "libeigen3-dev"),
            "Boost.Math": (r"<boost/math/", "<boost/math/policies/policy.hpp>", "libboost-dev"), "MPI": (r"<mpi\.h>", "<mpi.h>", "libopenmpi-dev")}


def find_mpi():
    """Compilers find <mpi.h> where mpicxx says that it is."""
    if shutil.which("mpicxx"):
        shown = subprocess.run(["mpicxx", "-show"], capture_output=True, text=True).stdout
        folders = [word[2:] for word in shown.split() if word.startswith("-I")]
        os.environ["CPLUS_INCLUDE_PATH"] = ":".join(folders + [os.environ.get("CPLUS_INCLUDE_PATH", "")]).strip(":")


def without_optional(compiler, texts):
    """The headers that cannot be compiled here: those that reach a library which is not installed."""
    skipped = set()
    for name, (pattern, header, package) in OPTIONAL.items():
        command = [compiler, "-std=c++20", "-fsyntax-only", "-x", "c++", "-"]
        if subprocess.run(command, input=f"#include {header}\n", capture_output=True, text=True).returncode == 0:
            continue
        need = {h for h, text in texts.items() if re.search(pattern, text)}
        need |= {h for h, seen in reached(texts).items() if seen & need}
        print(f"no {name} here (Debian: {package}): {len(need)} headers left out", flush=True)
        skipped |= need
    return skipped


def self_test():
    before = {"wengert/a.hpp": "", "wengert/b.hpp": '#include "a.hpp"', "wengert/c.hpp": "#include <wengert/b.hpp>",
              "wengert/d/e.hpp": '#include "../a.hpp"', "wengert/f.hpp": '#include "a.hpp"'}
    cases = [(before, []),
             ({**before, "wengert/a.hpp": "int a;"}, ["wengert/a.hpp"]),
             ({**before, "wengert/b.hpp": ""}, ["wengert/b.hpp", "wengert/c.hpp"]),
             ({**before, "wengert/new.hpp": ""}, ["wengert/new.hpp"]),
             ({**before, "wengert/b.hpp": '#include "f.hpp"'}, ["wengert/b.hpp"]),
             ({h: t for h, t in before.items() if "a.hpp" not in h},
              ["wengert/b.hpp", "wengert/c.hpp", "wengert/d/e.hpp", "wengert/f.hpp"])]
    failed = sum(changed(now, before) != wanted for now, wanted in cases)
    deep = PREFIXES[-1]
    tops = {deep: 'int b;\n#include "behind.hpp"', "wengert/array/behind.hpp": f"#include <{deep}>",
            "wengert/a.hpp": f"#pragma once\n\n#include <vector>\n#include <{deep}>\n", "wengert/b.hpp": '#include "a.hpp"',
            "wengert/c.hpp": f"int c;\n#include <{deep}>", "wengert/d.hpp": f"#if 1\n#include <{deep}>\n#endif"}
    failed += prefixes(tops) != {"wengert/a.hpp": deep, "wengert/b.hpp": deep}
    print(f"alone.py: {len(cases) + 1} self tests, {failed} failed")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", action="append",
                        help="may be given several times; clang++-16 joins if it is there")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--changed", action="store_true", help="only headers that differ from the base's")
    parser.add_argument("--base", default=os.environ.get("BASE"), help="a commit")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("headers", nargs="*", help="relative to include/; all of them by default")
    args = parser.parse_args()
    if args.self_test:
        sys.exit(self_test() != 0)
    compilers = args.compiler or ["g++"]
    if shutil.which("clang++-16") and not any("clang" in c for c in compilers):
        compilers.append("clang++-16")
    here = texts_here()
    headers = args.headers or sorted(here)
    base = base_commit(args.base) if args.changed else ""
    if base:
        headers = changed(here, texts_at(base))
        print(f"changed since {base[:12]}: {len(headers)} of {len(here)} headers", flush=True)
    elif args.changed:
        print("no base to compare with: all headers", flush=True)
    find_mpi()
    skipped = without_optional(compilers[0].split()[-1], here)
    headers = [h for h in headers if h not in skipped]
    work = [(compilers[0], h, ()) for h in headers]
    outer = not_included(headers)
    work += [(compilers[0], h, ("-DWENGERT_COMPILED",)) for h in (outer if args.changed else headers) if h.endswith(".hpp")]
    work += [(c, h, ()) for c in compilers[1:] for h in outer]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool, tempfile.TemporaryDirectory() as folder:
        first = {}  # by compiler, prefix and definitions
        before = prefixes(here)
        shared = collections.Counter((c, before[h], d) for c, h, d in work if h in before)
        for i, (key, count) in enumerate(shared.items()):
            if count >= ENOUGH:
                first[key] = pool.submit(precompile, pathlib.Path(folder, str(i)), *key)

        def run(compiler, header, defines):
            ready = first.get((compiler, before.get(header), defines))
            return compile_alone(compiler, header, defines, ready.result() if ready else ())

        for (compiler, header, defines), result in zip(work, pool.map(lambda w: run(*w), work)):
            if result.returncode != 0:
                failed += 1
                print(f"{header} alone, {compiler} {' '.join(defines)}:\n{result.stderr}", flush=True)
    print(f"headers alone: {len(headers)} headers, {len(work)} compilations, {failed} failed")
    sys.exit(failed != 0 or not here)


if __name__ == "__main__":
    main()
