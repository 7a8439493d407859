#!/usr/bin/env python3
"""How often the headers say what is to be said once: a function of numbers, the zero-cotangent rule, the order of folds, and the like.
Prints each count; one that has grown beyond its limit fails. A path, as of another checkout's include/wengert, is counted instead.
Counts the lines of headers and bodies, too: a file of more than ROOMY lines fails, or of more than LONGEST where LONG names it."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2] / "include" / "wengert"
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.S)

# What is counted: how, of which files, and how many there may be.
COUNTS = {
    "headers that name a function with an approximation (erfc)": ("files", r"\b[Ee]rfc\b", "", 5),
    "headers that name one that is composed (log_sigmoid)": ("files", r"\blog_sigmoid\b|\bLogSigmoid\b", "", 3),
    "enumerators of functions": ("places", r"^\s+(?:expm1|log1p|sinh|erfc|lgamma|hypot|atan2|fmod)\s*,", "", 0),
    "dialects that spell the zero-cotangent rule of an element": (
        "places", r"(?:==|_EQ_)[^\n;]*(?:&&?|\?)[^\n;]*(?:is_?finite|- \$ != 0)", "", 5),
    "places that ask whether a whole cotangent is 0": (
        "places", r"(?<!bool )(?<!inline bool )\ball_zero(?:_of)?(?:<\w+>)?\((?!const)", "ops/ graph/ tape/ transforms/", 7),
    "writers of the order of folds": ("files", r"% 2 == 0;[^\n]*/= 2", "", 3),
    "writers of a fused group": ("files", r"\((?:[^()\n]*, )?const Group& \w+", "graph/ cuda/", 5),
    "headers outside of the stream that read entries, guards or paths of scalar code": (
        "files", r"\bScalarEntry\b|\bScalarGuard\b|\bPath\b|\bPathsOnTensors\b", "scalar/ graph/ -scalar/stream/", 15),
    "lists of primitives": ("files", r"\beach_primitive\b\(Taker|\bis_library_elementwise\(List<T>, List<T>\)", "", 2),
    "nodes of one result with packing hubs": ("places", r"\bhubs?\b|\bpacked\b|\bpacking\b", "tape/ graph/ scalar/ transforms/", 116),
    "visitors of arguments": ("places", r"\b(?:void|bool|auto) (?:visit_arguments|each_tensor|for_each_leaf)\(", "", 2),
}

ROOMY, LONGEST = 330, 400  # lines
# Files of more than ROOMY lines: they want a cut along a seam. Nothing is added here.
LONG = set("""base/parts.hpp graph/c/cpp_folds.hpp graph/freeze/freeze.hpp graph/plan/impl/plan.ipp graph/text/loop_text.hpp
    graph/text/stencils.hpp graph/tile/fused_partition.hpp kernels/cpu/lane_type.hpp kernels/cpu/passes.hpp ops/index/impl/run.ipp
    ops/shape_rules.hpp scalar/stream/stream.hpp""".split())


def code(text):
    """Without comments, strings kept."""
    return COMMENT.sub(lambda m: m.group(1) or "", text)


def count(root):
    sources = {f.relative_to(root).as_posix(): code(f.read_text()) for f in sorted(root.rglob("*.[hi]pp"))}
    found = {}
    for what, (unit, pattern, folders, _) in COUNTS.items():
        inside = tuple(f for f in folders.split() if not f.startswith("-"))
        outside = tuple(f[1:] for f in folders.split() if f.startswith("-"))
        each = {path: len(re.findall(pattern, text, re.M)) for path, text in sources.items()
                if path.startswith(inside or "") and not path.startswith(outside)}
        found[what] = {}
        for path, n in each.items():  # X.hpp and impl/X.ipp are one
            one = path.replace("/impl/", "/").rsplit(".", 1)[0]
            if n:
                found[what][one] = found[what].get(one, 0) + n
    return found


def lengths(root):
    """The lines of each file that has more than ROOMY."""
    lines = {f.relative_to(root).as_posix(): len(f.read_text().splitlines()) for f in root.rglob("*.[hi]pp")}
    return {path: n for path, n in sorted(lines.items()) if n > ROOMY}


def too_long(long):
    """What is longer than it may be, and what LONG names for no reason."""
    found = [f"{path}: {n} lines, {LONGEST if path in LONG else ROOMY} are allowed"
             for path, n in long.items() if n > (LONGEST if path in LONG else ROOMY)]
    return found + [f"{path}: has {ROOMY} lines or fewer, so LONG need not name it" for path in sorted(LONG - long.keys())]


def main():
    given = [a for a in sys.argv[1:] if not a.startswith("-")]
    root = pathlib.Path(given[0]) if given else ROOT
    failed = 0
    for what, places in count(root).items():
        unit, _, _, most = COUNTS[what]
        n = len(places) if unit == "files" else sum(places.values())
        note = "" if n <= most else f", {most} are allowed"
        print(f"{n:4} {what}" + (f", in {len(places)} headers" if unit == "places" else "") + note)
        if "--show" in sys.argv:
            print(*(f"         {path}: {k}" for path, k in places.items()), sep="\n")
        failed += n > most
    long = lengths(root)
    print(f"{len(long):4} headers of more than {ROOMY} lines, the longest has {max(long.values(), default=0)}")
    if "--show" in sys.argv:
        print(*(f"         {path}: {n}" for path, n in long.items()), sep="\n")
    found = too_long(long)
    print(*found, sep="\n", end="\n" if found else "")
    failed += len(found)
    sys.exit(bool(failed) and not given)


if __name__ == "__main__":
    main()
