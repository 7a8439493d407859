#!/usr/bin/env python3
"""What a user sees in gdb, with -O0 -g and with -O2 -g: backtraces in rules, and the printers.

Stopped in a rule, at most 8 frames lie between the user's line and the rule, and no frame's name has more than 200
characters (design.md). The printers' output is compared with the text below. Exits with 77 where there is no gdb.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
PROGRAM = HERE / "program.cpp"
MAX_BETWEEN, MAX_NAME = 8, 200
FRAME = re.compile(r"^#\d+ +(?:0x[0-9a-f]+ in )?(.+?) \((?:\.\.\.)?\) at (.+):(\d+)$")

# mark in program.cpp, rule to break in from there on
RULES = [
    ("value", "wengert::Tanh::value"),
    ("pull", "wengert::Tanh::pull"),
    ("broadcast", "wengert::Multiply::value"),
    ("pull_broadcast", "wengert::Multiply::pull"),
    ("inner", "wengert::Tanh::pull<wengert::Tensor<double, wengert::cpu> >"),
]

BEFORE = """\
w = (2, 3) float64 [[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]], leaf at program.cpp:{leaf}
x = (3) float64 [1, 2, -1], constant
y = (2) float64 [-0.52989561, 0.96258698], tanh at program.cpp:{value}
loss = () float64 1.207363, sum at program.cpp:{loss}
tape of 7 nodes
sequence  primitive  inputs    shape   dtype    saved bytes  file:line
#1        leaf                 (2, 3)  float64  0            program.cpp:{leaf}
#2        leaf                 (2)     float64  0            program.cpp:{leaf_b}
#3        matmul     #1 const  (2)     float64  24           program.cpp:{value}
#4        add        #3 #2     (2)     float64  0            program.cpp:{value}
#5        tanh       #4        (2)     float64  16           program.cpp:{value}
#6        multiply   #5 #5     (2)     float64  16           program.cpp:{loss}
#7        sum        #6        ()      float64  0            program.cpp:{loss}
#7 sum(#6) -> () float64 at program.cpp:{loss}
"""
AFTER = """\
w = (2, 3) float64 [[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]], leaf at program.cpp:{leaf}, \
grad [[-0.76221312, -1.5244262, 0.76221312], [0.14135841, 0.28271682, -0.14135841]]
turned = (2, 3) float32 [[1, 3, 5], [2, 4, 6]], constant
row = (3) float32 [2, 4, 6], constant
many = (1000) int64 [7, 7, 7, ..., 7, 7, 7], constant
flags = (3) bool [true, true, false], constant
shape = (2, 0, 5)
deep = (1, 1, 1, 1, 1, 1, 1, 9)
gone = <moved from>
array = (3, 2) float32 [[1, 2], [3, 4], [5, 6]]
"""


def marks():
    """Line numbers by name."""
    found = {}
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1):
        if mark := re.search(r"// mark: (\w+)", line):
            found[mark[1]] = number
    found["leaf_b"] = found["leaf"] + 1
    return found


def show(name, expression=None):
    """gdb commands that print `name = value`."""
    return [f"echo {name}\\ =\\ ", f"output {expression or name}", "echo \\n"]


def stop_at(line):
    return [f"tbreak program.cpp:{line}", "continue"]


def commands(lines):
    """The session: a section of output for each rule, and two for the printers."""
    script = [f"source {INCLUDE / 'wengert/gdb/wengert_gdb.py'}", "set pagination off", "set width 0",
              "set print frame-arguments presence", "set debuginfod enabled off", "tbreak main", "run"]
    for mark, rule in RULES:
        if mark == "pull":
            script += ["tbreak look_here", "continue", "up", "echo \\n== before\\n"]
            for name in ("w", "x", "y", "loss"):
                script += show(name)
            script += ["wengert tape", "output *loss.any_.node.x_", "echo \\n== end\\n"]
        script += stop_at(lines[mark]) + [f"tbreak {rule}", "continue", f"echo \\n== {mark}\\n", "backtrace", "echo == end\\n"]
    script += ["tbreak look_here", "continue", "up", "echo \\n== after\\n"]
    for name in ("w", "turned", "row", "many", "flags", "shape", "deep", "gone"):
        script += show(name)
    return script + show("array", "*row.any_.value.x_->base") + ["echo == end\\n"]


def session(program, lines):
    """Output sections by name."""
    arguments = [word for command in commands(lines) for word in ("-ex", command)]
    output = subprocess.run(["gdb", "-nx", "-batch", *arguments, str(program)], capture_output=True, text=True, timeout=300)
    sections = dict(re.findall(r"^== (\w+)\n(.*?)^== end$", output.stdout, re.S | re.M))
    return sections, output.stdout + output.stderr


def check_backtrace(text):
    """What is wrong with the backtrace, or nothing."""
    frames = [FRAME.match(line) for line in text.splitlines() if line.startswith("#")]
    if not frames or None in frames:
        return ["cannot be read:\n" + text]
    problems = [f"frame {i}: a name of {len(f[1])} characters: {f[1]}" for i, f in enumerate(frames) if len(f[1]) > MAX_NAME]
    users = next(i for i, f in enumerate(frames) if f[2].endswith(PROGRAM.name))
    if users - 1 > MAX_BETWEEN:
        names = "\n    ".join(f[1] for f in frames[:users + 1])
        problems.append(f"{users - 1} frames between the rule and the user's line:\n    {names}")
    return problems


def check_printers(text, expected, lines):
    wanted, got = expected.format(**lines).strip().splitlines(), text.strip().splitlines()
    return [f"printed {g!r}, not {w!r}" for g, w in zip(got, wanted) if g != w] + (
        [f"{len(got)} lines, not {len(wanted)}:\n{text}"] if len(got) != len(wanted) else [])


def check(args, level, lines):
    """The number of failed checks at one level of optimisation."""
    program = args.build / f"program{level}"
    subprocess.run([*args.compiler.split(), "-std=c++20", level, "-g", "-w", f"-I{INCLUDE}", str(PROGRAM), "-o",
                    str(program), *args.link.split()], check=True)
    sections, output = session(program, lines)
    failed = 0
    for name in ["before", *(mark for mark, _ in RULES), "after"]:
        if name not in sections:
            problems = ["gdb did not get there:\n" + output]
        elif name in ("before", "after"):
            problems = check_printers(sections[name], BEFORE if name == "before" else AFTER, lines)
        else:
            problems = check_backtrace(sections[name])
        failed += bool(problems)
        print(f"{level} {name}: " + ("\n  ".join(["FAILED", *problems]) if problems else "ok"))
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++", help="compiler with its flags, one string")
    parser.add_argument("--link", default="-lopenblas -llapacke -lpthread -ldl")
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parents[1] / "build" / "gdb")
    args = parser.parse_args()
    if not shutil.which("gdb"):
        print("skipped: no gdb here. On Debian or Ubuntu: apt-get install gdb")
        sys.exit(77)
    args.build.mkdir(parents=True, exist_ok=True)
    lines = marks()
    sys.exit(sum(check(args, level, lines) for level in ("-O0", "-O2")) != 0)


if __name__ == "__main__":
    main()
