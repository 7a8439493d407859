#!/usr/bin/env python3
"""Compiles and runs every ```cpp block of a Markdown page, and each ```sh block that follows `<!-- run -->`.

A block with a main() is a program. Any other is the body of a function in which <wengert/wengert.hpp> is
included, `namespace wg = wengert` and `using wg::Tensor` hold; its types, templates and functions move to
namespace scope. A block that follows `<!-- continues -->` is appended to the one before. All bodies of a page are
one program, so the library is parsed once; programs that include the same headers of the library are one, too, each in a
namespace. A body that throws has failed; so has a program that exits non-zero.
"""
import argparse
import dataclasses
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(```+)\s*(\w*)[^\n]*$")
TOP_LEVEL = re.compile(  # what C++ refuses, or half refuses, inside a function
    r"^(template\b|struct\b|class\b|enum\b|namespace\b|concept\b|inline\b|static\b.*\)\s*\{"
    r"|(?!if\b|for\b|while\b|switch\b|else\b|do\b|try\b|return\b|const auto\b|auto\s+\[)"
    r"[\w:<>,&*\s]+?[&*\s]\w+\s*\([^;{}=]*\)\s*(const\s*)?(->[^{;]*)?\{)", re.S)


@dataclasses.dataclass
class Block:
    line: int      # of the first line of code, in the page
    language: str
    code: list     # of (line number, text)

    def text(self):
        return "\n".join(text for _, text in self.code)


def blocks_of(page):
    """The page's cpp blocks, continued ones joined, and its sh blocks that are to be run."""
    found, mark, lines = [], "", page.read_text().splitlines()
    number = 0
    while number < len(lines):
        opened = FENCE.match(lines[number])
        if not opened:
            if lines[number].strip():
                mark = lines[number].strip()
            number += 1
            continue
        start = number = number + 1
        while lines[number].strip() != opened[1]:
            number += 1
        code = [(i + 1, lines[i]) for i in range(start, number)]
        language = opened[2]
        if language == "cpp" and mark == "<!-- continues -->" and found:
            found[-1].code += code
        elif language == "cpp" or (language == "sh" and mark == "<!-- run -->"):
            found.append(Block(start + 1, language, code))
        mark = ""
        number += 1
    return found


def depth_change(line):
    bare = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'|//.*', "", line)
    return sum(bare.count(c) for c in "{([") - sum(bare.count(c) for c in "})]")


def chunks(code):
    """Runs of lines that end where every bracket is closed: a declaration or a statement each."""
    chunk, depth, found = [], 0, []
    for number, line in code:
        chunk.append((number, line))
        depth += depth_change(line)
        bare = re.sub(r"//.*", "", line).rstrip()
        if depth == 0 and bare.endswith((";", "}", ">")) and not bare.endswith(("template <>", "typename>")):
            if bare.endswith(">") and not bare.lstrip().startswith("#"):
                continue
            found.append(chunk)
            chunk = []
    return found + ([chunk] if chunk else [])


def placed(chunk, page):
    """The lines with the place they come from, so that errors name the page."""
    return f'#line {chunk[0][0]} "{page.name}"\n' + "\n".join(text for _, text in chunk) + "\n"


def snippet(block, page):
    """(headers, namespace-scope part, body) of a block without main()."""
    headers, outside, body = "", "", ""
    for chunk in chunks(block.code):
        code = [(n, t) for n, t in chunk if not t.lstrip().startswith("#include")]
        headers += "".join(t.strip() + "\n" for _, t in chunk if t.lstrip().startswith("#include"))
        bare = "\n".join(re.sub(r"//.*", "", t) for _, t in code).strip()
        if not bare:
            continue
        if bare in ("namespace wg = wengert;", "using wg::Tensor;", "using wengert::Tensor;"):
            continue
        if bare.startswith(("using", "namespace wg", "constexpr")) or TOP_LEVEL.match(bare):
            outside += placed(code, page)
        else:
            body += placed(code, page)
    return headers, outside, body


def batch(blocks, page):
    """One program of all the blocks without main(): exits with the number that failed."""
    headers, parts, calls = "#include <wengert/wengert.hpp>\n#include <cstdio>\n#include <exception>\n", "", ""
    for block in blocks:
        more, outside, body = snippet(block, page)
        headers += more
        name = f"block_{block.line}"
        parts += f"namespace {name} {{\n{outside}void run()\n{{\n{body}}}\n}}\n"
        calls += f"    failed += failure({block.line}, {name}::run);\n"
    return headers + "namespace wg = wengert;\nusing wg::Tensor;\n" + parts + count_failures(page, "void", calls)


def count_failures(page, result, calls):
    """main() of a program of many blocks, functions that return nothing or an exit status."""
    status = "block(), 0" if result == "void" else "block()"
    return f"""
static int failure(int line, {result} (*block)())
{{
    try {{
        const int status = ({status});
        if (status) std::fprintf(stderr, "{page.name}:%d: exit status %d\\n", line, status);
        return status != 0;
    }} catch (const std::exception& e) {{
        std::fflush(stdout);
        std::fprintf(stderr, "{page.name}:%d: thrown: %s\\n", line, e.what());
        return 1;
    }}
}}
int main()
{{
    int failed = 0;
{calls}    return failed;
}}
"""


def includes_of(block):
    """The headers of the library that a program includes."""
    return tuple(sorted(text.strip() for _, text in block.code if text.startswith("#include <wengert")))


def can_share(block):
    """Has the program a main() that may become a function in a namespace?"""
    text = block.text()
    return (block.language == "cpp" and re.search(r"^int main\(\)", text, re.M) and not re.search(r"^#(?!include)", text, re.M)
            and not re.search(r"^template <>|^namespace wengert\b(?! *=)", text, re.M))


def joined(blocks, page):
    """One program of several with main(): exits with the number that failed."""
    headers, parts, calls = [], "", ""
    for block in blocks:
        headers += [text for _, text in block.code if text.startswith("#include") and text not in headers]
        code = "\n".join("" if text.startswith("#include") else text for _, text in block.code)
        code = re.sub(r"^int main\(\)", "int program()", code, flags=re.M)
        code = re.sub(r"\}\s*$", "return 0; }", code)  # main() needs none
        parts += f'namespace block_{block.line} {{\n#line {block.line} "{page.name}"\n{code}\n}}\n'
        calls += f"    failed += failure({block.line}, block_{block.line}::program);\n"
    headers += ["#include <cstdio>", "#include <exception>"]
    return "\n".join(headers) + "\n" + parts + count_failures(page, "int", calls)


def compile_line(args):
    precompiled = [f"-I{args.pch}"] if args.pch else []  # where g++ finds wengert/wengert.hpp.gch first
    return [*args.compiler.split(), "-std=c++20", "-w", *precompiled, f"-I{ROOT / 'include'}"]


def precompile(args):
    """The library and scalar code, parsed once for all pages: for a program whose first include is one of them. Other compilers
    than g++ look for no such file, and need none."""
    folder, status = args.pch / "wengert", 0
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("wengert.hpp", "scalar.hpp"):
        made = folder / f"{name}.gch"
        made.unlink(missing_ok=True)
        command = [*compile_line(args), "-x", "c++-header", str(ROOT / "include/wengert" / name), "-o", str(made)]
        status |= subprocess.run(command).returncode
    return status


def compile_and_run(args, name, text):
    """The exit status of the program, or None where it does not compile."""
    source, made, binary = args.build / f"{name}.cpp", args.build / f"{name}.o", args.build / name
    source.write_text(text)
    compiler = args.compiler.split()  # in two steps, as a compiler cache keeps objects
    commands = ([*compile_line(args), "-c", str(source), "-o", str(made)],
                [*compiler, str(made), "-o", str(binary), *args.link.split()])
    if any(subprocess.run(command).returncode != 0 for command in commands):
        return None
    return subprocess.run([str(binary.resolve())], cwd=args.build, stdout=subprocess.DEVNULL).returncode


def run_batch(args, page, blocks):
    """How many failed. A batch that does not compile is tried block by block, to tell which."""
    if not blocks:
        return 0
    status = compile_and_run(args, f"{page.stem}_{blocks[0].line}", batch(blocks, page))
    if status is not None and status >= 0:
        return status
    if len(blocks) > 1:
        return sum(run_batch(args, page, [block]) for block in blocks)
    print(f"{page.name}:{blocks[0].line}: {'does not compile' if status is None else f'signal {-status}'}")
    return 1


def run_programs(args, page, blocks):
    """How many failed, of programs that include the same headers of the library."""
    if len(blocks) > 1:
        status = compile_and_run(args, f"{page.stem}_{blocks[0].line}_{len(blocks)}", joined(blocks, page))
        if status is not None and status >= 0:
            return status
    return sum(run_alone(args, page, block) for block in blocks)


def run_alone(args, page, block):
    if block.language == "sh":
        status = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text()], cwd=ROOT,
                                stdout=subprocess.DEVNULL).returncode
    else:
        text = f'#line {block.line} "{page.name}"\n' + block.text() + "\n"
        status = compile_and_run(args, f"{page.stem}_{block.line}", text)
    if status != 0:
        print(f"{page.name}:{block.line}: {'does not compile' if status is None else f'exit status {status}'}")
    return int(status != 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++", help="compiler with its flags, one string")
    parser.add_argument("--link", default="-lopenblas -llapacke -lpthread -ldl")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "docs")
    parser.add_argument("--pch", type=pathlib.Path, help="folder of the precompiled library")
    parser.add_argument("page", type=pathlib.Path, nargs="?", help="without one: precompile the library into --pch")
    args = parser.parse_args()
    if not args.page:
        sys.exit(precompile(args))
    args.build.mkdir(parents=True, exist_ok=True)

    blocks = blocks_of(args.page)
    is_program = [b.language == "sh" or re.search(r"\bint\s+main\s*\(", b.text()) for b in blocks]
    failed = run_batch(args, args.page, [b for b, program in zip(blocks, is_program) if not program])
    programs = [b for b, program in zip(blocks, is_program) if program]
    shared = {}
    for b in filter(can_share, programs):
        shared.setdefault(includes_of(b), []).append(b)
    failed += sum(run_programs(args, args.page, group) for group in shared.values())
    failed += sum(run_alone(args, args.page, b) for b in programs if not can_share(b))
    sys.stderr.flush()
    print(f"{args.page.name}: {len(blocks)} blocks run, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
