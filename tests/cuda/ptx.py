#!/usr/bin/env python3
"""What a real NVRTC makes of elementwise kernels, without a GPU: all that a thread reads for its elements comes before the first store,
16 bytes at a time where the elements lie beside each other, and by addresses of the device's global memory.

    tests/cuda/ptx.py TEST_CUDA FAKE_DRIVER      ends with 77 where there is no NVRTC"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import kernels  # noqa: E402

CASES = "elements of several axes lie anywhere,elements go in packs*,launches and bytes*"
ACCESS = re.compile(r"^\s*(?:@!?%p\d+\s+)?(ld|st)\.([\w.:]+)", re.M)
WIDTH = {"v2": 2, "v4": 4}


def entries(ptx):
    """(kernel, its accesses to memory but parameters: ld or st, and how) of each."""
    for part in re.split(r"\.visible \.entry ", ptx)[1:]:
        name = part[:part.index("(")]
        yield name, [(what, how.split(".")) for what, how in ACCESS.findall(part) if not how.startswith("param")]


def at_once(text, name):
    """So many elements, or packs of them, a thread makes at once, and how many elements a pack has."""
    body = text[text.index(f"__global__ void {name}("):]
    body = body[:body.find("\n}\n")]
    found, pack = re.search(r"u < (\d+)", body), re.search(r"wg_pack<[\w ]+, (\d+)>", body)
    operands = len(set(re.findall(r"\bx\d+\[u\] =|\bread\d+\[u\] =", body)))
    return (int(found[1]) if found else 1), (int(pack[1]) if pack else 1), operands


def faults(text, ptx):
    for name, accesses in entries(ptx):
        if not re.fullmatch(r"flat|placed|wg_\d+", name):
            continue
        generic = [f"{what}.{'.'.join(how)}" for what, how in accesses if "global" not in how]
        if generic:
            yield f"{name}: {generic[0]} is of no known memory"
        times, pack, operands = at_once(text, name)
        stores = [k for k, (what, how) in enumerate(accesses) if what == "st"]
        before = [how for what, how in accesses[:stores[0]] if what == "ld"] if stores else []
        wide = [how for how in before if WIDTH.keys() & set(how)]
        elements = sum(next((WIDTH[w] for w in how if w in WIDTH), 1) for how in before)
        if name == "flat" and pack in (2, 4) and len(wide) < times * operands:
            yield f"{name}: {len(wide)} wide loads before the first store, not {times * operands}"
        if elements < times * operands:
            yield f"{name}: {elements} loads before the first store, not {times * operands}"


def main():
    library = kernels.nvrtc()
    if not library:
        print("there is no NVRTC here")
        return 77
    texts, _ = kernels.kept_texts(sys.argv[1], sys.argv[2], ["-#", CASES])
    said, looked_at = set(), 0
    for text in texts:
        if "wg_places" in text or "wg_group" in text:
            looked_at += 1
            said |= set(faults(text, kernels.ptx(library, text, 90).decode()))
    print("\n".join(sorted(said)) or f"{looked_at} texts: loads come first")
    return 1 if said or looked_at < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
