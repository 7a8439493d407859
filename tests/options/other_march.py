#!/usr/bin/env python3
"""A source with another -march than wengert::compiled's does not link, and the first thing that the linker names says so."""
import argparse
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
SENTENCE = "wengert_compiled_is_not_linked_or_was_built_for_another_march__give_both_the_same_flags"
PROGRAM = """#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/sum.hpp>
int main() { return sum(exp(wengert::Tensor<double>{0.0, 0.0})).item() == 2.0 ? 0 : 1; }
"""


def link(args, folder, march):
    """What the linker says; nothing where the program links."""
    source, made = pathlib.Path(folder, "program.cpp"), pathlib.Path(folder, f"{march}.o")
    source.write_text(PROGRAM)
    subprocess.run([*args.compiler.split(), "-std=c++20", "-w", f"-march={march}", f"-I{INCLUDE}", "-c", str(source),
                    "-o", str(made)], check=True)
    ran = subprocess.run([*args.compiler.split(), str(made), "-o", f"{folder}/program", *args.link.split()],
                         capture_output=True, text=True)
    return ran.stderr if ran.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="g++ -DWENGERT_COMPILED", help="compiler with its flags, one string")
    parser.add_argument("--link", required=True)
    args = parser.parse_args()
    if platform.machine() not in ("x86_64", "AMD64"):
        sys.exit(0)
    said = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for march in ("x86-64", "x86-64-v3"):
            text = link(args, folder, march)
            undefined = re.findall(r"undefined reference to [`']?(.*)", text)
            good = not text or bool(undefined and SENTENCE in undefined[0])
            print(f"-march={march}: {'links' if not text else 'refused, first ' + (undefined + ['nothing'])[0]}")
            said += good and bool(text)
            failed += not good
    sys.exit(failed != 0 or said == 0)  # the library is for one of the two at most


if __name__ == "__main__":
    main()
