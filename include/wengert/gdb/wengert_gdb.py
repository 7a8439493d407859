"""gdb's view of wengert: printers for tensors, arrays, shapes and the tape, and the command `wengert tape`.

    (gdb) source /usr/local/include/wengert/gdb/wengert_gdb.py        or put that line into ~/.gdbinit

Only memory is read, no function of the program is called: it works on core files, and while a lock is held.
`set print elements N` is the number of elements from which on an array is summarised, as NumPy does.
"""
import math
import os
import re
import struct
import subprocess

import gdb
import gdb.printing

# DType (base/dtype.hpp) in order: name, struct's letter, bytes
DTYPES = (("float32", "f", 4), ("float64", "d", 8), ("int32", "i", 4), ("int64", "q", 8), ("bool", "?", 1))
EDGE = 3             # elements at each end of a summarised axis
MAX_RANK = 64        # beyond that it is no shape but memory that holds no tensor yet
LEAF, CONSUMED, REWRITTEN = 1, 2, 4  # Node::Flag
INLINE_INPUTS = 4  # Node::inline_inputs
NOT_ALIVE = "<no live object here: not constructed yet, or destroyed>"


def extents(value):
    """A list of numbers from an Extents (Shape, Strides)."""
    rank = int(value["rank_"])
    if rank > MAX_RANK:
        raise gdb.MemoryError("rank %d" % rank)
    inline = value["inline_"]
    entries = inline if rank <= inline.type.range()[1] + 1 else value["heap_"]
    return [int(entries[i]) for i in range(rank)]


def shape_text(shape):
    return "(" + ", ".join(str(e) for e in shape) + ")"


def site_text(site):
    """heat.cpp:42, or nothing where the library has no line of the user's."""
    line = int(site["line"])
    return os.path.basename(site["file"].string()) + ":" + str(line) if line else ""


def string_view(value):
    names = {field.name for field in value.type.strip_typedefs().fields()}
    data, size = ("_M_str", "_M_len") if "_M_str" in names else ("__data_", "__size_")  # libstdc++, libc++
    return value[data].string(length=int(value[size]))


def referred(ref):
    """The object behind a Ref<X>, or None."""
    pointer = ref["x_"]
    return pointer.dereference() if int(pointer) else None


def row_major(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return strides


class Elements:
    """The elements of a Block, read one by one through its strides."""

    def __init__(self, block):
        self.shape = extents(block["shape"])
        self.strides = extents(block["view_strides"]) if block["strided"] else row_major(self.shape)
        if math.prod(self.shape) != int(block["count"]):
            raise gdb.MemoryError("not a block")
        self.name, self.letter, self.size = DTYPES[int(block["dtype"])]
        self.data = int(block["data"])
        limit = gdb.parameter("print elements")
        self.summarised = limit and int(block["count"]) > limit
        self.memory = gdb.selected_inferior()

    def element(self, offset):
        raw = bytes(self.memory.read_memory(self.data + offset * self.size, self.size))
        value = struct.unpack("=" + self.letter, raw)[0]
        if self.letter in "fd":
            return "%.*g" % (6 if self.letter == "f" else 8, value)
        return str(value).lower() if self.letter == "?" else str(value)

    def text(self, axis=0, offset=0):
        if axis == len(self.shape):
            return self.element(offset)
        extent = self.shape[axis]
        at = list(range(extent))
        if self.summarised and extent > 2 * EDGE:
            at = at[:EDGE] + [None] + at[-EDGE:]
        parts = ["..." if i is None else self.text(axis + 1, offset + i * self.strides[axis]) for i in at]
        return "[" + ", ".join(parts) + "]"


def block_text(block):
    elements = Elements(block)
    return "%s %s %s" % (shape_text(elements.shape), elements.name, elements.text())


def origin_text(node):
    """tanh at heat.cpp:42, and what a leaf has collected."""
    text = string_view(node["primitive"]["name"])
    site = site_text(node["at"])
    if site:
        text += " at " + site
    if int(node["flags"]) & REWRITTEN:
        text += ", rewritten"
    gradient = node["inline_saved"][INLINE_INPUTS]
    if int(node["flags"]) & LEAF and int(gradient):
        text += ", grad " + Elements(gradient.dereference()).text()
    return text


class Printer:
    """What all have in common: a value that cannot be read is said to be so."""

    def __init__(self, value):
        is_reference = value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
        self.value = value.referenced_value() if is_reference else value

    def to_string(self):
        try:
            return self.text()
        except (gdb.MemoryError, IndexError, UnicodeDecodeError):  # pointers to anywhere
            return NOT_ALIVE


class ExtentsPrinter(Printer):
    def text(self):
        return shape_text(extents(self.value))


class BlockPrinter(Printer):
    def text(self):
        block = self.value
        text = block_text(block)
        if int(block["base"]):
            strides = extents(block["view_strides"]) if block["strided"] else row_major(extents(block["shape"]))
            text += ", view of %#x, strides %s" % (int(block["base"]), shape_text(strides))
        return text


class AnyTensorPrinter(Printer):
    def any(self):
        return self.value

    def text(self):
        any_tensor = self.any()
        block, node = referred(any_tensor["value"]), referred(any_tensor["node"])
        if block is None:
            return "<undefined>"
        return block_text(block) + ", " + ("constant" if node is None else origin_text(node))


class TensorPrinter(AnyTensorPrinter):
    def any(self):
        return self.value["any_"]


HEADINGS = ("#", "primitive", "inputs", "shape", "dtype", "saved", "where")  # as std::cout << Tape::current()


def saved_value(node, i):
    """Of many inputs they lie behind those, as Node::saved() says."""
    if int(node["inputs"]) == int(node["inline_input"].address):
        return node["inline_saved"][i]
    behind = (node["inputs"] + int(node["input_count"]) + i).dereference()
    return behind.cast(node["inline_saved"][0].type)


def saved_bytes(node):
    total, seen = 0, set()
    for i in range(int(node["input_count"]) + 1):
        block = saved_value(node, i)
        if int(block) and int(block) not in seen:
            seen.add(int(block))
            total += int(block["count"]) * DTYPES[int(block["dtype"])][2]
    return total


def node_row(node):
    def name(pointer):
        return "#%d" % int(pointer["sequence"]) if int(pointer) else "const"

    inputs = [name(node["inputs"][i]) for i in range(int(node["input_count"]))]
    primitive = string_view(node["primitive"]["name"])
    if int(node["flags"]) & CONSUMED:
        primitive, inputs = primitive + " (used up)", []
    return ("#%d" % int(node["sequence"]), primitive, " ".join(inputs), shape_text(extents(node["shape"])),
            DTYPES[int(node["dtype"])][0], str(saved_bytes(node)), site_text(node["at"]))


def table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows)


def node_text(node):
    sequence, primitive, inputs, shape, dtype, saved, site = node_row(node)
    text = "%s %s(%s) -> %s %s" % (sequence, primitive, inputs.replace(" ", ", "), shape, dtype)
    return text + (", saves %s bytes" % saved if saved != "0" else "") + (" at " + site if site else "")


class NodePrinter(Printer):
    def text(self):
        return node_text(self.value)


class RefPrinter(Printer):
    """Ref<Block>, Ref<Node>."""

    def text(self):
        pointed = referred(self.value)
        if pointed is None:
            return "null"
        return node_text(pointed) if pointed.type.strip_typedefs().name == "wengert::Node" else block_text(pointed)


class LanePrinter(Printer):
    """A SIMD register inside a rule."""

    def text(self):
        lane, register = self.value.type.strip_typedefs(), self.value["batch"]["data"]
        width = lane.sizeof // lane.template_argument(0).sizeof
        return "{" + ", ".join("%.8g" % float(register[i]) for i in range(width)) + "}"


def scalar_stream():
    """What this thread's scalar code has recorded, or None."""
    thread = gdb.parse_and_eval("wengert::this_thread")
    tape = thread["tape"] if int(thread) else thread
    if not int(tape):
        return None
    extension = tape.cast(gdb.lookup_type("wengert::Tape").pointer())["extension"]
    if not int(extension):
        return None
    return extension.cast(gdb.lookup_type("wengert::ScalarStream").pointer()).dereference()


def vector(value):
    """Elements of a std::vector."""
    first = value["_M_impl"]["_M_start"]
    return (first[i] for i in range(int(value["_M_impl"]["_M_finish"] - first)))


def beginning_of(stream, word):
    """Where among the stream's entries the chunk of a number begins, None where its span has gone."""
    for span in vector(stream["spans_"]):
        if any(int(n["id"]) == word >> 32 for n in vector(span["numbers"])):
            return int(span["chunk"]) - int(stream["oldest_"])
    return None


def operation_text(entries, place):
    """multiply of 2 and 3: the operation that gave the number at a place of a chunk."""
    entry = entries[place]
    word = int(entry["word"])  # scalar/stream/entry.hpp
    op, form, operand = word >> 34 & 0x3F, word >> 32 & 3, word & 0xFFFFFFFF
    name = str(gdb.Value(op).cast(gdb.lookup_type("wengert::ScalarOp"))).rsplit("::")[-1]
    if name == "input":
        return "an element of a tensor"
    value = lambda at: "%.8g" % float(entries[int(at)]["value"])
    number = "%.8g" % float(entry["c"])
    first = value(operand)
    if form == 0:
        return name + " of " + first
    operands = (first, value(entry["b"])) if form == 1 else (first, number) if form == 2 else (number, first)
    return name + " of " + " and ".join(operands)


def line_of_stack(stack):
    """" at fit.cpp:42" from scalar/stream/lines.hpp's CallStack, by addr2line; nothing where that does not know."""
    frames = stack["frames"]["_M_elems"]
    size = frames.type.strip_typedefs().range()[1] + 1
    frames = [frames[i] for i in range(size) if int(frames[i]["object"])]
    if not frames:
        return ""
    program = frames[0]["object"].string()
    places = [hex(int(f["place"])) for f in frames if f["object"].string() == program]
    try:
        lines = subprocess.run(["addr2line", "-i", "-e", program, *places], capture_output=True, text=True).stdout
    except OSError:
        return ""
    for line in lines.splitlines():
        line = line.split(" (")[0]
        if "?" not in line and not re.search(r"/wengert/(scalar|transforms|tape|ops|base)/|/include/c\+\+/", line):
            return " at " + line.rsplit("/", 1)[-1]
    return ""


def line_of_operation(stream, begin, word):
    """Where a number was made, if AnomalyMode was on."""
    made, stacks = (stream[name]["_M_impl"]["_M_start"] for name in ("made_", "stacks_"))
    place = begin + (word & 0xFFFFFFFF)
    if place >= int(stream["made_"]["_M_impl"]["_M_finish"] - made) or int(made[place]["span"]) != word >> 32:
        return ""
    return line_of_stack(stacks[int(made[place]["stack"])])


class RealPrinter(Printer):
    """6, multiply of 2 and 3 at fit.cpp:42."""

    def text(self):
        text, handle = "%.8g" % float(self.value["value_"]), self.value["handle_"]
        place = int(handle["word"]) & 0xFFFFFFFF
        if place == 0:
            return text + ", constant"
        if place >> 31:
            return text + ", variable"
        try:
            stream = scalar_stream()
        except gdb.error:
            stream = None
        word = int(handle["word"])
        begin = beginning_of(stream, word) if stream is not None else None
        if begin is None:
            return text + ", recorded by another thread, or on a tape or a part of it that has ended"
        return text + ", " + operation_text(stream["memory_"] + begin, place) + line_of_operation(stream, begin, word)


def tape_text(tape, limit):
    """The newest `limit` nodes in time order."""
    size, rows, node = int(tape["size_"]), [], tape["last_"]
    while int(node) and len(rows) < limit:
        rows.insert(0, node_row(node.dereference()))
        node = node["previous"]
    head = "tape of %d node%s" % (size, "" if size == 1 else "s")
    if size > len(rows):
        head += ", the newest %d" % len(rows)
    return head + ("\n" + table([HEADINGS] + rows) if rows else "")


class TapePrinter(Printer):
    def text(self):
        return tape_text(self.value, 100)


class WengertCommand(gdb.Command):
    """wengert's state in the current thread."""

    def __init__(self):
        super().__init__("wengert", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class TapeCommand(gdb.Command):
    """wengert tape [N]: the newest N (100) operations that the current thread has recorded and that are alive."""

    def __init__(self):
        super().__init__("wengert tape", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        try:
            thread = gdb.parse_and_eval("wengert::this_thread")
            tape = thread["tape"] if int(thread) else thread
            if not int(tape):
                print("this thread has recorded nothing")
                return
            tape = tape.cast(gdb.lookup_type("wengert::Tape").pointer()).dereference()
            print(tape_text(tape, int(argument or 100)))
        except gdb.error as error:
            raise gdb.GdbError("the tape cannot be read: %s" % error)


def register(objfile=None):
    printers = gdb.printing.RegexpCollectionPrettyPrinter("wengert")
    printers.add_printer("Tensor", r"^wengert::Tensor<.*>$", TensorPrinter)
    printers.add_printer("AnyTensor", r"^wengert::AnyTensor$", AnyTensorPrinter)
    printers.add_printer("Array", r"^wengert::Block$", BlockPrinter)
    printers.add_printer("Shape", r"^wengert::Extents$", ExtentsPrinter)
    printers.add_printer("Ref", r"^wengert::Ref<.*>$", RefPrinter)
    printers.add_printer("Lane", r"^wengert::Lane<.*>$", LanePrinter)
    printers.add_printer("Node", r"^wengert::Node$", NodePrinter)
    printers.add_printer("Real", r"^wengert::Real<.*>$", RealPrinter)
    printers.add_printer("Tape", r"^wengert::Tape$", TapePrinter)
    gdb.printing.register_pretty_printer(objfile, printers, replace=True)
    WengertCommand()
    TapeCommand()


register()
