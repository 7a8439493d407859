#!/usr/bin/env python3
"""What work on a device costs: the rows of wengert_device (cuda/device_bench.cpp), and where PyTorch or JAX see a GPU some of theirs.

    cuda/device_bench.py PROGRAM            prints a table; on a GPU with times
    cuda/device_bench.py PROGRAM --store    writes it to bench/results, device.json on a GPU and else device_counts.json
    cuda/device_bench.py PROGRAM --check    fails where counts are others than those in bench/results/device_counts.json

The program runs on the driver that WENGERT_CUDA_DRIVER names; without it on the machine's GPU."""
import argparse
import json
import pathlib
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import tables  # noqa: E402

COUNTS = ["launches", "graphs", "copies", "waits", "bytes"]
COLUMNS = ["a run", "launches", "graphs", "copies", "waits", "bytes copied"]
TIMES = ["time", "GB/s", "of a copy's", "beside (host or cuBLAS)", "PyTorch", "JAX"]


def torch_rows():
    """Seconds by the names of rows, {} where there is no PyTorch with a GPU."""
    try:
        import torch
        if not torch.cuda.is_available():
            return {}
    except ImportError:
        return {}
    x, y = (torch.randn(10_000_000, device="cuda") for _ in range(2))
    square = torch.randn(3200, 3200, device="cuda")
    a, b = (torch.randn(4096, 4096, device="cuda") for _ in range(2))
    work = {"unary, abs(x)": lambda: x.abs(), "function, tanh(x)": lambda: x.tanh(), "binary, x + y": lambda: x + y,
            "transposed, x' + x": lambda: square.T + square, "sums of rows": lambda: square.sum(1),
            "sums of columns": lambda: square.sum(0), "sum of all": lambda: x.sum(),
            "softmax of rows": lambda: square.softmax(1), "running sums, cumsum(x)": lambda: x.cumsum(0),
            "matmul(a, b)": lambda: a @ b, "MLP, a step of training": torch_training(torch), "heat, ten steps by roll": torch_heat(torch)}
    return {name: seconds(f, torch.cuda.synchronize) for name, f in work.items()}


def torch_training(torch):
    """A step with tensors of autograd, as the program's (Layers::step)."""
    shapes = ((64, 784), (64, 10), (784, 512), (512, 512), (512, 10))
    x, y, *weights = (0.1 * torch.randn(*shape, device="cuda") for shape in shapes)
    weights = [w.requires_grad_() for w in weights]

    def step():
        h = x
        for w in weights[:-1]:
            h = (h @ w).relu()
        slopes = torch.autograd.grad(((h @ weights[-1] - y) ** 2).mean(), weights)
        with torch.no_grad():
            return [w - 0.1 * g for w, g in zip(weights, slopes)]

    return step


def torch_heat(torch):
    u = torch.randn(1024, 1024, device="cuda")

    def steps():
        v = u
        for _ in range(10):
            v = v + 0.1 * (v.roll(1, 0) + v.roll(-1, 0) + v.roll(1, 1) + v.roll(-1, 1) - 4 * v)
        return v

    return steps


def jax_rows():
    try:
        import jax
        if jax.default_backend() != "gpu":
            return {}
    except ImportError:
        return {}
    import jax.numpy as jnp
    jax.config.update("jax_default_matmul_precision", "highest")  # else products are TF32's
    x, y = (jax.random.normal(jax.random.PRNGKey(k), (10_000_000,)) for k in (0, 1))
    square = jax.random.normal(jax.random.PRNGKey(2), (3200, 3200))
    a, b = (jax.random.normal(jax.random.PRNGKey(k), (4096, 4096)) for k in (3, 4))
    work = {"unary, abs(x)": (jnp.abs, x), "function, tanh(x)": (jnp.tanh, x), "binary, x + y": (jnp.add, x, y),
            "transposed, x' + x": (lambda s: s.T + s, square), "sums of rows": (lambda s: s.sum(1), square),
            "sums of columns": (lambda s: s.sum(0), square), "sum of all": (jnp.sum, x),
            "softmax of rows": (lambda s: jax.nn.softmax(s, 1), square), "running sums, cumsum(x)": (jnp.cumsum, x),
            "matmul(a, b)": (jnp.matmul, a, b), "MLP, a step of training": jax_training(jax), "heat, ten steps by roll": jax_heat(jax)}
    rows = {}
    for name, (f, *of) in work.items():
        compiled = jax.jit(f)
        rows[name] = seconds(lambda: compiled(*of), lambda: jax.block_until_ready(compiled(*of)))
    return rows


def jax_training(jax):
    shapes = ((64, 784), (64, 10), (784, 512), (512, 512), (512, 10))
    x, y, *weights = (0.1 * jax.random.normal(jax.random.PRNGKey(k), shape) for k, shape in enumerate(shapes))

    def loss(weights, x, y):
        h = x
        for w in weights[:-1]:
            h = jax.nn.relu(h @ w)
        return ((h @ weights[-1] - y) ** 2).mean()

    def step(weights, x, y):
        return [w - 0.1 * g for w, g in zip(weights, jax.grad(loss)(weights, x, y))]

    return step, weights, x, y


def jax_heat(jax):
    roll = jax.numpy.roll

    def steps(v):
        for _ in range(10):
            v = v + 0.1 * (roll(v, 1, 0) + roll(v, -1, 0) + roll(v, 1, 1) + roll(v, -1, 1) - 4 * v)
        return v

    return steps, jax.random.normal(jax.random.PRNGKey(9), (1024, 1024))


def seconds(run, wait):
    for _ in range(3):
        run()
    wait()
    all_of_them = []
    for _ in range(15):
        begin = time.perf_counter()
        for _ in range(20):
            run()
        wait()
        all_of_them.append((time.perf_counter() - begin) / 20)
    return sorted(all_of_them)[7]


def measured(program):
    """The device's name, and the rows."""
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    first, *rows = [json.loads(line) for line in lines]
    return first["device"], rows


def table(rows):
    if not any("seconds" in row for row in rows):
        return COLUMNS, [[row["name"], *(row[c] for c in COUNTS)] for row in rows]
    torch, jax = torch_rows(), jax_rows()

    def line(row):
        name = row["name"].rsplit(",", 1)[0]
        bandwidth = [f"{row['bandwidth'] / 1e9:.0f}", f"{row['share']:.2f}"] if "share" in row else ["", ""]
        return [row["name"], *(row[c] for c in COUNTS), tables.readable(row["seconds"]), *bandwidth,
                *(tables.readable(s) if s else "" for s in (row.get("beside"), torch.get(name), jax.get(name)))]

    return COLUMNS + TIMES, [line(row) for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    device, all_rows = measured(arguments.program)
    columns, rows = table(all_rows)
    if arguments.check:
        wanted = json.loads((tables.RESULTS / "device_counts.json").read_text())["rows"]
        found = [[row["name"], *(row[c] for c in COUNTS)] for row in all_rows]
        for row in [r for r in wanted if r not in found]:
            print("wanted:", *row)
        for row in [r for r in found if r not in wanted]:
            print("found: ", *row)
        return found != wanted
    print(tables.markdown(columns, [[str(cell) for cell in row] for row in rows]))
    if arguments.store:
        timed = len(columns) > len(COLUMNS)
        tables.store("device" if timed else "device_counts",
                     f"`cuda/device_bench.py`, on {device}" if timed else "`cuda/device_bench.py`, on the fake driver",
                     columns=columns, rows=rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
