#!/usr/bin/env python3
"""Every file that a comment, a page or a script names is there, and every link of a page leads somewhere: to a file, and to a heading of it.

A name counts as found where a tracked file's path ends with it. Only what has a folder in front, or is a header, is looked
at: `main.cpp` may be anybody's. What programs write, or what belongs to others, is listed in ELSEWHERE; a word in capitals
stands for a name. A script that begins with `#!` can be executed."""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = re.compile(r"(?<![\w./<>{}$*-])((?:[\w.-]+/)+[\w.*-]+\.(?:hpp|cpp|cuh|cu|md|py|sh|cmake|txt)|[a-z_]\w*\.(?:hpp|md))(?![\w/])")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
COMMENT = re.compile(r"//.*|#(?!include|pragma|if|endif|else|define|error|undef).*")
ELSEWHERE = re.compile(r"^(xtensor|xsimd|xtl|catch2|torch|oneapi|benchmark|build|wengert_compiled|CMakeFiles|usr|tmp)/|^(catch|codi|openblas_config)\.hpp$")


def files():
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    found = listed.stdout.split("\n")[:-1] if listed.returncode == 0 else [
        p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*") if p.is_file() and "build" not in p.parts]
    return [f for f in found if (ROOT / f).exists()]


def named(path, text):
    """(line number, name) of what comments and pages name."""
    for number, line in enumerate(text.splitlines(), 1):
        if path.endswith(".md"):
            part = line
        else:
            match = COMMENT.search(line)
            part = match[0] if match else ""
        for name in NAME.findall(part):
            yield number, name


def is_there(name, path, all_files):
    pattern = re.escape(name.removeprefix("./")).replace(r"\*", r"[^/]*")
    while pattern.startswith(r"\.\./"):
        pattern = pattern.removeprefix(r"\.\./")
    suffix = re.compile(rf"(^|/){pattern}$")
    return any(suffix.search(f) for f in all_files)


def anchors(page):
    """The names that GitHub gives a page's headings."""
    bare = re.sub(r"^```.*?^```", "", page, flags=re.S | re.M)
    return {re.sub(r"[^\w\- ]", "", h.strip().lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", bare, re.M)}


def main():
    all_files = files()
    problems, seen = [], 0
    for path in all_files:
        with open(ROOT / path, "rb") as file:
            if file.read(2) == b"#!" and not os.access(ROOT / path, os.X_OK):
                problems.append(f"{path}: begins with #!, but cannot be executed")
        if path.startswith("bench/data/") or not path.endswith((".hpp", ".ipp", ".cpp", ".md", ".py", ".sh", ".cmake", "CMakeLists.txt", ".ci/run")):
            continue
        text = (ROOT / path).read_text()
        for number, name in named(path, text):
            seen += 1
            if not ELSEWHERE.match(name) and not re.search(r"[A-Z]{3}", pathlib.PurePosixPath(name).stem) and not is_there(name, path, all_files):
                problems.append(f"{path}:{number}: names {name}, which is not there")
        if path.endswith(".md"):
            prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.S | re.M)
            for target, anchor in LINK.findall(prose):
                seen += 1
                page = (ROOT / path).parent / target if target else ROOT / path
                if not page.exists():
                    problems.append(f"{path}: links to {target}, which is not there")
                elif anchor and page.suffix == ".md" and anchor not in anchors(page.read_text()):
                    problems.append(f"{path}: links to {target}#{anchor}, and there is no such heading")
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"paths: {seen} names, {len(problems)} problems")
    sys.exit(bool(problems) or seen == 0)


if __name__ == "__main__":
    main()
