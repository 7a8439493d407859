#!/usr/bin/env python3
"""What a user sees in gdb, with -O0 -g and with -O2 -g: backtraces in rules, and the printers.

Stopped in a rule, at most 8 frames lie between the user's line and the rule, and no frame's name has more than 200
characters. The printers' output is compared with the text below. Exits with 77, which ctest counts as skipped, where
there is no gdb.
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

# The rule to break in after each look_here() of program.cpp.
RULES = {
    "value": "wengert::Tanh::value",
    "pull": "wengert::Tanh::pull",
    "broadcast value": "wengert::Multiply::value",
    "broadcast pull": "wengert::Multiply::pull",
    "recorded pull": "wengert::Tanh::pull<wengert::Tensor<double, wengert::cpu> >",
}
USERS = ("f", "norm2", "slope", "main")  # functions of program.cpp

BEFORE = """\
w = (2, 3) float64 [[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]], leaf at program.cpp:{leaf}
x = (3) float64 [1, 2, -1], constant
y = (2) float64 [-0.52989561, 0.96258698], tanh at program.cpp:{value}
loss = () float64 1.207363, sum at program.cpp:{loss}
tape of 7 nodes
#   primitive  inputs    shape   dtype    saved  where
#1  leaf                 (2, 3)  float64  0      program.cpp:{leaf}
#2  leaf                 (2)     float64  0      program.cpp:{leaf_b}
#3  matmul     #1 const  (2)     float64  24     program.cpp:{value}
#4  add        #3 #2     (2)     float64  0      program.cpp:{value}
#5  tanh       #4        (2)     float64  16     program.cpp:{value}
#6  multiply   #5 #5     (2)     float64  16     program.cpp:{loss}
#7  sum        #6        ()      float64  0      program.cpp:{loss}
#7 sum(#6) -> () float64 at program.cpp:{loss}
"""
INSIDE = "y = {{-0.52989561, 0.96258698}}"  # a register; optimised out at -O2
AFTER = """\
w = (2, 3) float64 [[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]], leaf at program.cpp:{leaf}, \
grad [[-0.76221312, -1.5244262, 0.76221312], [0.14135841, 0.28271682, -0.14135841]]
turned = (2, 3) float32 [[1, 3, 5], [2, 4, 6]], constant
row = (3) float32 [2, 4, 6], constant
many = (1000) int64 [7, 7, 7, ..., 7, 7, 7], constant
flags = (3) bool [true, true, false], constant
shape = (2, 0, 5)
deep = (1, 1, 1, 1, 1, 1, 1, 9)
gone = <undefined>
variable = 2, variable
constant = 0.5, constant
product = 6, multiply of 2 and 3
root = 6, sqrt of 36
quotient = 0.5, divide of 1 and 2
element = 0.5, an element of a tensor
traced = 2, multiply of 0.5 and 4 at program.cpp:{traced}
array = (3, 2) float32 [[1, 2], [3, 4], [5, 6]]
"""
PRINTED = {"before": BEFORE, "inside": INSIDE, "after": AFTER}


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
    return [f"echo {name} =\\040", f"output {expression or name}", "echo \\n"]


def commands():
    """The session: a section of output for each rule, and two for the printers."""
    next_step = ["tbreak look_here", "continue"]
    script = [f"source {INCLUDE / 'wengert/gdb/wengert_gdb.py'}", "set pagination off", "set width 0",
              "set print frame-arguments presence", "set debuginfod enabled off", "tbreak main", "run"]
    for name, rule in RULES.items():
        script += next_step
        if name == "pull":
            script += ["up", "echo \\n== before\\n"]
            for variable in ("w", "x", "y", "loss"):
                script += show(variable)
            script += ["wengert tape", "output *loss.any_.node.x_", "echo \\n== end\\n"]
        script += [f"tbreak {rule}", "continue", f"echo \\n== {name}\\n", "backtrace", "echo == end\\n"]
        if name == "pull":
            script += ["echo \\n== inside\\n", *show("y"), "echo == end\\n"]
    script += [*next_step, "up", "echo \\n== after\\n"]
    for variable in ("w", "turned", "row", "many", "flags", "shape", "deep", "gone", "variable", "constant", "product",
                     "root", "quotient", "element", "traced"):
        script += show(variable)
    return script + show("array", "*row.any_.value.x_->base") + ["echo == end\\n"]


def session(program):
    """Output sections by name."""
    arguments = [word for command in commands() for word in ("-ex", command)]
    output = subprocess.run(["gdb", "-nx", "-batch", *arguments, str(program)], capture_output=True, text=True, timeout=300)
    sections = dict(re.findall(r"^== ([\w ]+)\n(.*?)^== end$", output.stdout, re.S | re.M))
    return sections, output.stdout + output.stderr


def check_backtrace(text):
    """What is wrong with the backtrace, or nothing. At -O2 the line of a user's frame may be that of an inlined
    default argument, so frames are the user's by their names."""
    frames = [FRAME.match(line) for line in text.splitlines() if line.startswith("#")]
    if not frames or None in frames:
        return ["cannot be read:\n" + text]
    names = [f[1] for f in frames]
    users = next(i for i, name in enumerate(names) if name in USERS)
    problems = [f"a name of {len(n)} characters: {n}" for n in names[:users] if len(n) > MAX_NAME]
    if users - 1 > MAX_BETWEEN:
        problems.append(f"{users - 1} frames between the rule and the user:\n    " +
                        "\n    ".join(names[:users + 1]))
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
    sections, output = session(program)
    failed = 0
    for name in [*RULES, *PRINTED]:
        if name == "inside" and level != "-O0":
            continue
        if name not in sections:
            problems = ["gdb did not get there:\n" + output]
        elif name in PRINTED:
            problems = check_printers(sections[name], PRINTED[name], lines)
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
