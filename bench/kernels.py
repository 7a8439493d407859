#!/usr/bin/env python3
"""Registers, spills and shared memory of CUDA's kernels, as ptxas reports them; no GPU is needed.

    bench/kernels.py TEST_CUDA FAKE_DRIVER   runs that program on the fake driver (tests/cuda/fake/), which keeps the text of all
                                             kernels, and writes bench/results/kernels.json,
                                             kernel_texts.json and launches.json

NVRTC makes PTX of each text with the library's options, ptxas machine code. One row for each kernel by name; where a name has many
texts (an elementwise primitive, a fold), the most of each column. kernel_texts has a row for texts that contain the same kernels:
seconds that NVRTC takes for machine code of sm_90, and its size. Launches and bytes of replays are what a test of the program counts and
compares with numbers that were found by hand (tests/cuda/test_cuda_groups.cpp). Without NVRTC or ptxas it says so, and does nothing."""
import argparse
import collections
import ctypes
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

import tables

ARCHITECTURES = (80, 90)
OPTIONS = ["--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true",
           "--device-as-default-execution-space"]
TOOLKIT = pathlib.Path("/usr/local/cuda")
ENTRY = re.compile(r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
                   r"(\d+) bytes spill loads.*?Used (\d+) registers([^\n]*)", re.S)


def nvrtc():
    for file in (TOOLKIT / "lib64/libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"):
        try:
            return ctypes.CDLL(str(file))
        except OSError:
            continue
    return None


def compiled(library, text, target, what):
    """What NVRTC makes of a text for compute_80 or sm_80: its PTX or CUBIN."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
    options = [o.encode() for o in [f"--gpu-architecture={target}", *OPTIONS]]
    if library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)) != 0:
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        raise SystemExit(log.value.decode())
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, code)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return code


def ptx(library, text, architecture):
    return compiled(library, text, f"compute_{architecture}", "PTX").value


def used(ptxas, code, architecture, folder):
    """(kernel, registers, bytes of spills, bytes on the stack, bytes shared) of each kernel."""
    file = folder / "kernels.ptx"
    file.write_bytes(code)
    said = subprocess.run([ptxas, "-v", f"-arch=sm_{architecture}", file, "-o", folder / "kernels.cubin"],
                          capture_output=True, text=True, check=True).stderr
    for name, stack, stores, loads, registers, rest in ENTRY.findall(said):
        shared = re.search(r"(\d+) bytes smem", rest)
        yield name, int(registers), int(stores) + int(loads), int(stack), int(shared[1]) if shared else 0


def kept_texts(program, driver, arguments=()):
    with tempfile.TemporaryDirectory() as folder:
        counts = pathlib.Path(folder) / "counts"
        settings = {"WENGERT_CUDA_DRIVER": driver, "WENGERT_FAKE_CUDA_KEEP": folder, "XDG_CACHE_HOME": folder,
                    "WENGERT_COUNTS": str(counts)}
        subprocess.run([program, *arguments], env=os.environ | settings, stdout=subprocess.DEVNULL, check=True)
        texts = [file.read_text() for file in sorted(pathlib.Path(folder).glob("*.cu"))]
        return texts, [line.split("|") for line in counts.read_text().splitlines()] if counts.exists() else []


def rows(texts, library, ptxas):
    most, count = collections.defaultdict(lambda: [0, 0, 0, 0, 0]), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for text in texts:
            for k, architecture in enumerate(ARCHITECTURES):
                for name, registers, *bytes_of in used(ptxas, ptx(library, text, architecture), architecture,
                                                       pathlib.Path(folder)):
                    row = most[plain_name(name)]
                    row[k] = max(row[k], registers)
                    row[2:] = map(max, row[2:], bytes_of)
                    count[plain_name(name)] += k == 0
    return [[f"`{name}`", count[name], *row] for name, row in sorted(most.items())]


def plain_name(name):
    name = re.sub(r"^wg_\d+_(?=[a-z])", "wg_", name)  # of a group that folds
    return re.sub(r"(_(f32|f64|i32|i64|u8|\d+))+$", "", name)


def text_rows(texts, library):
    """Of texts with the same kernels: how many there are, seconds for machine code (median and most), kilobytes of it (the same)."""
    found = collections.defaultdict(list)
    for text in texts:
        names = sorted({plain_name(name) for name in re.findall(r"__global__ void (\w+)\(", text)})
        start = time.perf_counter()
        code = compiled(library, text, f"sm_{ARCHITECTURES[-1]}", "CUBIN")
        found[", ".join(f"`{name}`" for name in names)].append((time.perf_counter() - start, len(code) / 1024))
    for names, costs in sorted(found.items()):
        seconds, kilobytes = zip(*costs)
        yield [names, len(costs), *(round(f(seconds), 3) for f in (statistics.median, max)),
               *(round(f(kilobytes), 1) for f in (statistics.median, max))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("driver")
    arguments = parser.parse_args()
    library = nvrtc()
    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path=TOOLKIT / "bin")
    if not library or not ptxas:
        return print("kernels.py: NVRTC and ptxas are not both installed")
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    columns = ["kernel", "texts", *(f"registers, sm_{a}" for a in ARCHITECTURES), "spills, bytes", "stack, bytes",
               "shared, bytes"]
    texts, counts = kept_texts(arguments.program, arguments.driver)
    tables.store("kernels", f"`bench/kernels.py`, NVRTC {major.value}.{minor.value}, {len(texts)} texts",
                 columns=columns, rows=rows(texts, library, ptxas))
    tables.store("kernel_texts", f"`bench/kernels.py`, NVRTC {major.value}.{minor.value}, sm_{ARCHITECTURES[-1]}",
                 columns=["kernels of a text", "texts", "seconds of NVRTC, median", "most", "KB of machine code, median",
                          "most"],
                 rows=list(text_rows(texts, library)))
    if counts:
        tables.store("launches", "`bench/kernels.py`, on the fake driver",
                     columns=["a replay", "launches", "by hand", "bytes that kernels touch", "by hand"],
                     rows=[[name, *map(int, numbers)] for name, *numbers in counts])


if __name__ == "__main__":
    main()
