#!/usr/bin/env python3
"""What an include leaves behind, and what it says to an old compiler: door.py --compiler "g++ -std=c++20"

An empty program with wengert.hpp defines nothing of the library's: no vtable, no function, no variable. g++ emits a vtable,
and all that it reaches, in every source where the key function of its class is not inline; then each program compiles the
compiler of graphs.
"""
import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]


def fail(text):
    sys.exit("door: " + text)


def compile(command, source, *flags):
    with tempfile.TemporaryDirectory() as folder:
        program, out = pathlib.Path(folder, "program.cpp"), pathlib.Path(folder, "program.o")
        program.write_text(source)
        line = [*command, f"-I{root}/include", *flags, "-c", str(program), "-o", str(out)]
        done = subprocess.run(line, capture_output=True, text=True)
        symbols = ""
        if done.returncode == 0:
            symbols = subprocess.run(["nm", "-C", "--defined-only", str(out)], capture_output=True, text=True,
                                     check=True).stdout
        return done.returncode, done.stderr, symbols


def empty_program(command):
    for level in "-O0", "-O2":
        code, errors, symbols = compile(command, "#include <wengert/wengert.hpp>\nint main() {}\n", "-std=c++20", level)
        if code:
            fail(f"an empty program does not compile at {level}:\n{errors}")
        # but for constants that are meant to be each source's own (base/arithmetic_options.hpp)
        ours = [line for line in symbols.splitlines() if "wengert::" in line and " r " not in line]
        if ours:
            fail(f"an empty program at {level} has {len(ours)} symbols of the library:\n" + "\n".join(ours[:10]))


def kernels_of_the_library(command):
    """They are wengert::compiled's: at -O0 the linker would take a program's slow copies for that library's too."""
    source = """#include <wengert/wengert.hpp>
int main()
{
    const wengert::Tensor<double> x = {0.5, 1.5};
    const auto loss = [](const wengert::Tensor<double>& y) { return sum(softmax(tanh(y) * exp(y), -1)); };
    return wengert::grad(loss)(x).size() == 2 ? 0 : 1;
}
"""
    code, errors, symbols = compile(command, source, "-std=c++20", "-O0", "-DWENGERT_COMPILED")
    if code:
        fail(f"a program does not compile with WENGERT_COMPILED:\n{errors}")
    # but for the sum of two cotangents (array/layout.hpp), which is no primitive's
    ours = [line for line in symbols.splitlines()
            if re.search("(lane_loop|ScalarLoop|PullOf|RecordedRule)<(?!wengert::kernels::Plus)", line)]
    if ours:
        fail(f"a program beside wengert::compiled has {len(ours)} kernels and rules of its own:\n" + "\n".join(ours[:10]))


def code_of_the_library(command):
    """What no type of the program's decides is wengert::compiled's: the tape, the sweep, traces and paths of frozen functions."""
    source = """#include <wengert/wengert.hpp>
int main()
{
    const auto f = wengert::freeze([](const wengert::Tensor<double>& x) { return sum(tanh(x)); });
    return wengert::grad(f)(wengert::Tensor<double>{0.5, 1.5}).size() == 2 ? 0 : 1;
}
"""
    code, errors, symbols = compile(command, source, "-std=c++20", "-O0", "-DWENGERT_COMPILED")
    if code:
        fail(f"a program that freezes does not compile with WENGERT_COMPILED:\n{errors}")
    ours = [line for line in symbols.splitlines()
            if re.search(r"wengert::(Walk::run|Trace::operation|Graph::input|apply_elementwise|apply_any|record|replay|copy_elements|"
                         r"detail::(FrozenCore::(run|replay|compile)|finish_trace|escaped|make_node|record_loop|FrozenRule::\w+))\(",
                         line)]
    if ours:
        fail(f"a program beside wengert::compiled has {len(ours)} functions of its own that are that library's:\n"
             + "\n".join(ours[:10]))


def old_compilers(command):
    header = "#include <wengert/base/compiler.hpp>\n"
    disguises = {"g++ 12": ["-U__clang__", "-U__apple_build_version__", "-U__GNUC__", "-D__GNUC__=11"],
                 "clang 16": ["-D__clang__", "-U__apple_build_version__", "-U__clang_major__", "-D__clang_major__=14"]}
    for sentence, flags in disguises.items():
        code, errors, _ = compile(command, header, "-std=c++20", "-w", *flags)
        if code == 0 or f"wengert needs g++ 12 or later, or clang 16" not in errors or errors.count("error:") > 3:
            fail(f"older than {sentence}: {errors or 'no error'}")
    code, errors, _ = compile(command, header, "-std=c++17")
    if code == 0 or "wengert needs C++20" not in errors:
        fail(f"C++17: {errors or 'no error'}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="g++")
    command = shlex.split(parser.parse_args().compiler)
    old_compilers(command)
    empty_program(command)
    kernels_of_the_library(command)
    code_of_the_library(command)
    print("the door: an empty program defines nothing of the library's, a program beside wengert::compiled neither kernels nor "
          "a tape; old compilers are told")


main()
