#!/usr/bin/env python3
"""Writes the tables of docs/reference.md: every public name, by task, with its signature, one line from its declaration, its header and
its NumPy name. The examples behind each table are written by hand and stay; the tests compile and run them.

    docs/reference.py            writes the page
    docs/reference.py --check    fails where it is not what the headers give, or a name has no example

Public are: functions of namespaces wengert and linalg that take the caller's line or an Operand; what memory:: and tree:: hold; classes
derived from Error; and all that TASKS names besides. A public name that TASKS does not place, and a name in TASKS that no
header declares, are errors. The line is the first sentence of the `///` comment, or of that of the primitive behind it.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
INCLUDE, PAGE = ROOT / "include" / "wengert", ROOT / "docs" / "reference.md"

# NAME, or NAME=NUMPY where NumPy calls it otherwise, NAME=- where it has no such thing; Class.member for members; NAME@PARAMETER
# for the one of several functions that has it.
TASKS = {
    "Creation": "zeros ones full zeros_like ones_like full_like eye arange linspace logspace copy broadcast_to cast=astype "
                "Tensor=array Tensor.defined=- tensor=array borrow=- from_dlpack to_dlpack=__dlpack__ Shape=- DType=dtype",
    "Looking at a tensor": "Tensor.shape Tensor.dimension=ndim Tensor.size Tensor.dtype Tensor.strides Tensor.data=- "
                           "Tensor.array=- Tensor.item Tensor.T=T Tensor.reshape=reshape Tensor.sum=sum Tensor.mean=mean allclose operator<<=array2string to_string=- element_count=-",
    "Arithmetic and comparisons": "operator+=add operator-=subtract operator*=multiply operator/=divide add subtract multiply "
                                  "divide negative operator<=less less less_equal greater greater_equal equal not_equal "
                                  "logical_and logical_or logical_not where masked_fill=ma.filled is_finite=isfinite isfinite isnan isinf nan_to_num maximum minimum clip",
    "Functions of elements": "abs sign floor ceil trunc round=round square sqrt reciprocal exp expm1 log log1p log2 log10 pow=power "
                             "hypot sin cos tan asin=arcsin acos=arccos atan=arctan atan2=arctan2 sinh cosh tanh asinh=arcsinh acosh=arccosh atanh=arctanh exp2 cbrt fmod remainder=- mod floor_divide erf=- erfc=- erfcx=- erfinv=- logaddexp xlogy=- log_sigmoid=- tgamma=- lgamma=- digamma=- "
                             "sigmoid=- normal_cdf=- softplus=- relu=- gelu=- silu=- elementwise=vectorize",
    "Reductions": "sum mean prod amax amin var stddev=std norm=linalg.norm logsumexp=- argmax argmin all any "
                  "cumsum cumprod cummax=maximum.accumulate logcumsumexp=logaddexp.accumulate diff trapezoid segment_sum=-",
    "Shape": "reshape flatten=ravel transpose swapaxes expand_dims squeeze concatenate stack split@axis=split pad PadMode=- roll "
             "flip repeat sliding_window=lib.stride_tricks.sliding_window_view tril triu "
             "diagonal moveaxis rot90 tile meshgrid",
    "Order": "sort argsort topk=- median quantile searchsorted interp",
    "Groups, counts, curves (`arrays.hpp`)": "segment_max=- segment_min=- segment_mean=- scatter_max=maximum.at scatter_min=minimum.at "
                                             "unique bincount histogram cubic_spline=- CubicSpline=- SplineEnds=- solve_tridiagonal=-",
    "Statistics, convolutions, places (`arrays.hpp`)": "cov corrcoef average nansum nanmean nanmax nanmin ptp count_nonzero "
                                                      "convolve correlate ConvolveMode=- gradient diag digitize isclose "
                                                      "flatnonzero nonzero extract",
    "Special functions (`special.hpp`)": "beta=- betaln=- betainc=- gammainc=- gammaincc=- cyl_bessel_j=- cyl_neumann=- cyl_bessel_i=- "
                                         "cyl_bessel_k=- comp_ellint_1=- comp_ellint_2=- ellint_1=- ellint_2=- riemann_zeta=- lambert_w=-",
    "Indexing": "Tensor.operator()=- Tensor.operator[]=- view=- View=- range=- newaxis ellipsis=- take gather=take scatter_add=add.at "
                "one_hot=- take_along_axis put_along_axis write@x=- Writer=-",
    "Products": "matmul dot outer einsum Subscripts=- tensordot kron trace cross",
    "Linear algebra (`linalg.hpp`)": "linalg::solve=linalg.solve linalg::inv=linalg.inv linalg::matrix_power=linalg.matrix_power "
                                     "linalg::det=linalg.det linalg::slogdet=linalg.slogdet linalg::lu=- "
                                     "linalg::cholesky=linalg.cholesky linalg::cho_solve=- linalg::solve_triangular=- "
                                     "linalg::TriangleOptions=- linalg::qr=linalg.qr linalg::lstsq=linalg.lstsq "
                                     "linalg::eigh=linalg.eigh linalg::eigvalsh=linalg.eigvalsh linalg::svd=linalg.svd "
                                     "linalg::svdvals=linalg.svdvals linalg::pinv=linalg.pinv linalg::expm=- "
                                     "linalg::norm=linalg.norm linalg::MatrixNorm=- linalg::cond=linalg.cond",
    "Complex numbers (`complex.hpp`)": "complex=- real@z imag conj angle polar=- adjoint=- linalg::eig=linalg.eigvals",
    "Fourier transforms (`fft.hpp`)": "fft::fft=fft.fft fft::ifft=fft.ifft fft::rfft=fft.rfft fft::irfft=fft.irfft fft::fft2=fft.fft2 fft::ifft2=fft.ifft2 "
                                      "fft::rfft2=fft.rfft2 fft::irfft2=fft.irfft2 fft::fftn=fft.fftn fft::ifftn=fft.ifftn fft::rfftn=fft.rfftn "
                                      "fft::irfftn=fft.irfftn fft::fftfreq=fft.fftfreq fft::rfftfreq=fft.rfftfreq fft::fftshift=fft.fftshift "
                                      "fft::ifftshift=fft.ifftshift fft::Norm=-",
    "Implicit functions (`implicit.hpp`)": "root=- fixed_point=- minimize=- cg=- gmres=- bicgstab=- odeint=- odeint_adjoint=- SolverOptions=- "
                                           "OdeOptions=- OdeMethod=- SolverReport=-",
    "Random numbers": "Key=random.Generator split@key=random.SeedSequence.spawn fold_in=- uniform=random.uniform "
                      "normal=random.normal bernoulli=- randint=random.randint permutation=random.permutation "
                      "dropout_mask=-",
    "Losses": "softmax=- log_softmax=- cross_entropy=- mse=-",
    "Tape and backward": "backward=- BackwardOptions=- Tensor.requires_grad=- Tensor.is_leaf=- Tensor.grad=- "
                         "Tensor.zero_grad=- Tensor.detach=- stop_gradient=- NoGrad=- AllowNaN=- TapeScope=- Tape=- "
                         "SavedTensorHooks=- save_on_disk=- save_on_host=- save_as_float32=- save_as_bfloat16=-",
    "Transforms": "grad=- value_and_grad=- HasAux=- vjp=- jvp=- jacobian=- hessian=- hvp=- custom_vjp=- custom_jvp=- preaccumulate=- "
                  "checkpoint=- vmap=vectorize VmapOptions=-",
    "Scalar code (`scalar.hpp`)": "Real=- Real.value=- Real.is_active=- Real.detach=- Real.requires_grad=- Real.grad=- "
                                  "Real.set_value=- is_real_number=- elements=- real@x=- kernel=- KernelOptions=- for_each=- "
                                  "vjps=- sparse_jacobian=- sparse_hessian=- BlockPlaces=- SparseMatrix=- external=- parallel_for=- ParallelOptions=- "
                                  "solve=linalg.solve polygamma=- Tangents=- Tangents.variable=-",
    "Structs of tensors": "tree::map=- tree::for_each=- tree::zip_for_each=- tree::count=- tree::Mismatch=- "
                          "tree::is_leaf=- tree::is_opaque=- tree::ElementsOf=- named=-",
    "Loops and branches": "checkpoint_loop=- LoopOptions=- LoopReport=- loop_report=- scan=- ScanOptions=- while_loop=- cond=- "
                          "host_callback=-",
    "Freezing": "freeze=- Frozen=- Frozen.live=- Frozen.into=- Frozen.stats=- Frozen.explain=- Frozen.graph=- FreezeOptions=- "
                "FreezeStats=- PassOptions=- interpret=- native=- emit_cpp=- save_report=- ReportOptions=- to_text=- "
                "to_dot=- profile=- trace_graph=- rematerialise=-",
    "Memory": "memory::stats=- memory::Stats=- memory::reset_peak=- memory::keep=- memory::trim=- TapeReport=-",
    "Devices": "to=- cuda=- DeviceMemory=- OnDevice=-",
    "Files": "save_npy=save load_npy=load save_npz=savez load_npz=load",
    "Debugging": "about=- set_report_handler=- ReportHandler=- AnomalyMode=- check_grads=- CheckOptions=- CheckReport=- Modes=- audit=- AuditReport=- AuditFinding=- AuditOmission=-",
    "Errors": "Error=- ShapeError=- IndexError=- OptionError=- DTypeError=- TapeError=- NoForwardMode=- NumericError=- DeviceError=- MemoryError=-",
    "Primitives of your own": "Index=- Positions=- Combine=- Scan=- apply=- apply_elementwise=- apply_variadic=- record=- wrt=- Uses=- Site=- rule_text=- sum_to=-",
}
# Takes a line or an Operand, or lies in memory:: or tree::, and is for the library's own use.
INTERNAL = set("""operand zero_where_undefined zeros_block apply_operator HoldersText TapeSize holders tape_size
    Injection injection inject_failure Pool Cells Operand LiteralOperand Padding Total Indices contains_leaf
    contains_number for_each_array map_arrays is_array is_number derives_from_leaf is_empty_leaf DenseElements
    lround llround lrint llrint signbit""".split())  # the last: functions of <cmath>, of which docs/scalars.md tells
OF_COMPLEX = {"real"}  # names that real tensors do not have, though others do
LINES = {  # what a comment in one place cannot say
    "backward": "Adds ∂y/∂v · cotangent to the gradient of every variable v that y depends on.",
    "operator<": "Less; >, <=, >=, == and != likewise, as a Tensor<bool>.",
    "operator+": "The sum, shapes broadcast as in NumPy; += writes in place and is recorded.",
    "operator-": "The difference; -= writes in place. Unary: the negative.",
    "operator*": "The product of elements; *= writes in place.",
    "operator/": "The quotient; integers give doubles. /= writes in place.",
    "operator<<": "Prints a tensor as NumPy does.",
    "tensor": "The elements of a range, or of a list, in row-major order, in a shape.",
    "Tensor": "A value of any rank: from nested braces, a range with a shape, a number, an xtensor expression.",
    "Shape": "The extents, one for each axis.",
    "Tensor.shape": "The extents.",
    "Tensor.dimension": "The number of axes.",
    "Tensor.size": "The number of elements, or the extent of one axis; −1 is the last.",
    "Tensor.dtype": "The element type.",
    "Tensor.strides": "Elements from one index to the next, for each axis.",
    "Tensor.is_leaf": "Whether it is a variable.",
    "Tensor.zero_grad": "Its gradient is 0 again.",
    "element_count": "The number of elements of a shape.",
    "from_dlpack": "A tensor of another library's array, without a copy; on a device after what its stream does.",
    "to_dlpack": "x for another library, without a copy; on a device with the stream in which that reads.",
    "cuda": "NVIDIA's devices, as a tensor's second template argument and with what one asks of them.",
    "Index": "The program that `describe` writes: axes, places to write, places to read, how elements meet.",
    "Writer": "A tensor's elements to write: data(), size(), span(), array(), shape(), and w(i, j, …) of any rank.",
    "Frozen.stats": "How often it was traced and replayed, and what the plan takes.",
    "Frozen": "What freeze returns, held by `auto`: a function of the same arguments.",
}

TOKEN = re.compile(r'///<?[^\n]*|//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
                   r'|^[ \t]*#(?:[^\n\\]|\\.)*(?:\\\n[^\n]*)*|[{};]', re.S | re.M)
CLASS = re.compile(r"(?:template <.*?> ?)?(?:requires .*? )?(?:class|struct|enum class|enum|union)\b")


def is_type(head):
    """The head of a class, not of a function that mentions one."""
    bare = re.sub(r"alignas\([^)]*\)|\[\[.*?\]\]|__attribute__\(\(.*?\)\)", "", head)
    while (less := re.sub(r"<[^<>]*>", "", bare)) != bare:
        bare = less
    return bool(re.match(r"(template\s*)?(class|struct|enum class|enum|union)\b", bare.strip())) and "(" not in bare


def declarations(text, private=False):
    """(scopes, comment, head) of what is declared at namespace or class scope; bodies are left out."""
    found, scopes, comment, opened, hidden = [], [], [], [], [False]
    head, at, skipped, last, last_end = "", 0, 0, 0, 0
    for token in TOKEN.finditer(text):
        head += "" if skipped else text[at:token.start()]
        at, mark = token.end(), token[0]
        if skipped:
            skipped += {"{": 1, "}": -1}.get(mark, 0)
            if not skipped and not inside_head:
                head, comment = "", []
            continue
        if label := re.match(r" *(public|private|protected):", " ".join(head.split())):
            hidden = hidden[:-1] + [label[1] != "public"]
        flat = re.sub(r"^(public|private|protected): ?|__attribute__\(\(.*?\)\)\)? ?|\[\[.*?\]\] ?", "", " ".join(head.split()))
        if mark.startswith("///<"):  # behind what it is about, on the same line
            if not flat and "\n" not in text[last_end:token.start()] and found and not found[last][1]:
                found[last] = (found[last][0], mark[4:].strip(), found[last][2])
        elif mark.startswith("///"):
            if not flat:
                comment.append(mark[3:].strip())
        elif mark.startswith(("//", "/*")) or mark.lstrip().startswith("#"):
            comment = comment if flat else []
        elif mark == ";":
            known = flat and not is_type(flat) and not flat.endswith("= delete")  # no class that is defined elsewhere
            if known and (private or not hidden[-1]):
                last = len(found)
                found.append((tuple(scopes), " ".join(comment), flat))
            head, comment, last_end = "", [], at
        elif mark == "{":
            if space := re.match(r"(?:inline )?namespace ?([\w:]*)$", flat):
                scopes.append(space[1])
                head, comment = "", []
                continue
            inside_head = flat.endswith(("=", "(", ",")) or (flat.count("(") > flat.count(")"))
            if not inside_head and (private or not hidden[-1]):
                found.append((tuple(scopes), " ".join(comment), flat))
            if is_type(flat):
                opened.append(len(found) - 1)
                hidden.append(bool(re.search(r"\bclass (?!.*\bstruct\b)", re.sub(r"<[^<>]*>", "", flat))))
                scopes.append("class " + flat)
                head, comment = "", []
            else:
                skipped = 1
        elif mark == "}":
            if scopes and scopes.pop().startswith("class ") and opened:
                last = opened.pop()
                hidden.pop()
                if "enum" in found[last][2].split() and flat:
                    found[last] = (*found[last][:2], f"{found[last][2]} {{ {flat.rstrip(', ')} }}")
            head, comment = "", []
        elif mark[0] in "\"'R":
            head += '""'
    return found


def bare_of_templates(head):
    """Without `template <…>` and `requires …` in front."""
    while head.startswith("template"):
        depth = 0
        for i, c in enumerate(head):
            depth += {"<": 1, ">": -1}.get(c, 0)
            if c == ">" and depth == 0 and head[i - 1] != "-":
                break
        head = head[i + 1:].lstrip()
    while match := re.match(r"(?:requires|&&|\|\|) ?(?=\(|[\w:]+<)", head):
        depth = 0
        for i in range(match.end(), len(head)):
            depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(head[i], 0)
            if head[i] in ")>" and depth == 0:
                break
        head = head[i + 1:].lstrip()
    return head


def name_of(head):
    bare = bare_of_templates(head)
    if kind := re.match(r"(?:class|struct|enum class|enum|using|concept) (?:\w+\(.*?\) )?(\w+)", bare):
        return kind[1]
    if function := re.search(r"(operator ?(?:\(\)|[^\s\w(]+)|[A-Za-z_]\w*) ?\(", bare):
        return function[1].replace(" ", "")
    variable = re.search(r"(\w+)(?: ?<[^=]*>)?(?: ?=.*)?$", bare)
    return variable[1] if variable else ""


def parameters(head, name):
    """The names of a function's parameters, or nothing for what is no function."""
    bare = bare_of_templates(head)
    at = bare.find(name + "(")
    if at < 0 or re.match(r"(class|struct|enum|using)\b", bare):
        return None
    inside, depth, parts = bare[at + len(name) + 1:], 0, [""]
    for c in inside:
        if c == ")" and depth == 0:
            break
        depth += {"(": 1, "<": 1, "{": 1, ")": -1, ">": -1, "}": -1}.get(c, 0)
        parts.append("") if c == "," and depth == 0 else parts.__setitem__(-1, parts[-1] + c)
    names = []
    for part in parts:
        word = re.search(r"(\.\.\.)? ?([A-Za-z_]\w*)$", part.split("=")[0].strip())
        if word and not re.search(r"\bSite\b|__builtin|\bat$", part) and word[2] not in ("T", "Tensor"):
            names.append(word[2] + ("…" if "..." in part else ""))
    return names


def takes_line(head):
    return bool(re.search(r"\bSite( \w+)? =", head) or re.search(r"\bOperand<T, D>|\bArg [ab]\b", head))


def everything():
    """For each name its declarations (comment, head, header), and the names that are public."""
    names, public = {}, set()
    for file in sorted(INCLUDE.rglob("*.hpp")):
        path = file.relative_to(INCLUDE).as_posix()
        for scopes, comment, head in declarations(file.read_text()):
            spaces = [s for s in scopes if not s.startswith("class ")]
            space = re.sub(r"^wengert(::)?", "", "::".join(spaces))
            owners = [name_of(s.removeprefix("class ")) for s in scopes if s.startswith("class ")]
            name = name_of(head)
            if not spaces or not spaces[0].startswith("wengert") or not name:
                continue
            if space not in ("", "memory", "tree", "linalg", "fft") and (owners or [name])[0] != "Frozen":
                continue
            if space == "detail":  # what freeze returns
                space = ""
            prefix = f"{space}::" if space else "".join(f"{o}." for o in owners)
            if owners and (len(owners) > 1 or head.startswith(("friend", "template <class> friend"))):
                prefix = "" if head.startswith("friend") and len(owners) == 1 else "-"
            names.setdefault(prefix + name, []).append((comment, head, path))
            if not owners and (takes_line(head) or space in ("memory", "tree") or re.search(r": (\w*Error)$", head)) and name not in INTERNAL:
                public.add(prefix + name)
    for name, found in names.items():  # what real and complex tensors have alike is shown once: docs/complex.md lists it
        real = [d for d in found if not re.search(r"\bcomplex(/|_solve)", d[2])]
        if real and name not in OF_COMPLEX:
            names[name] = real
    return names, public


def first_sentence(text):
    text = re.split(r"(?<=[.:]) (?=[A-ZΣΠ`])|[:;]  ", text.strip())[0].rstrip(":;. ")
    return (text[0].upper() + text[1:] if re.match(r"[a-z]+ ", text) and text[1] != " " else text) + "." if text else ""


def plain(name):
    return name.split(".")[-1].split("::")[-1]


def declared(name, names, parameter):
    """The declarations of a name, those that take the caller's line first, as the others are the library's own."""
    found = [d for d in names[name] if not parameter or parameter in (parameters(d[1], plain(name)) or [])]
    return sorted(found, key=lambda d: not takes_line(d[1]))


def line_of(name, names, parameter=""):
    if name in LINES:
        return LINES[name]
    own = declared(name, names, parameter)
    primitive = "".join(part.capitalize() for part in plain(name).split("_"))
    formula = [d for d in names.get(primitive, []) if d[0].startswith("y = ") and re.search(r"\bstruct\b", d[1])]
    of_users = [d for d in own if takes_line(d[1])]
    for comment, *_ in [*of_users, *formula, *own]:
        if comment:
            line = first_sentence(comment)
            return f"{first_sentence(formula[0][0])} {line}" if formula and line.startswith("The gradient") else line
    return ""


def closing(text, at):
    """Where the bracket that opens at `at` closes."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(text[i], 0)
        depth += {"<": 1, ">": -1 if text[i - 1] != "-" else 0}.get(text[i], 0) if not text[i - 1:i + 2].strip("<>=") == "" else 0
        if depth == 0:
            return i
    return len(text)


def split_list(text):
    parts, depth = [""], 0
    for i, c in enumerate(text):
        depth += {"(": 1, "<": 1, "{": 1, ")": -1, ">": 0 if text[i - 1] == "-" else -1, "}": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts if p.strip()]


def plain_type(text):
    """As one says it: values for const references, tensors without their device."""
    text = re.sub(r"\b(inline|static|constexpr|friend|explicit|virtual|typename|template)\b ?|\[\[.*?\]\] ?|WENGERT_\w+ ?", "", text)
    text = re.sub(r"\bconst ([\w:<>]+) ?&(?!&)", r"\1", text)
    text = re.sub(r"\bconst (?![\w:<>]+ ?\*)|(?<=\*) ?const\b", "", text)
    text = re.sub(r"= ?$", "= {}", text)
    text = re.sub(r", (D|Device)>", ">", text)
    text = re.sub(r"\bValue\b", "T", text.replace("detail::Subscript", "I"))  # Tensor's parameter, as it has a member T
    text = re.sub(r"\bOperand<T>", "Tensor<T>", text)
    text = re.sub(r"std::type_identity_t<((?:[^<>]|<[^<>]*>)*)>", r"\1", text)
    text = re.sub(r"detail::GivenNumber<(\w+)>", r"\1", text)  # what converts to an element
    text = text.replace("detail::Condition", "Tensor<bool>").replace("detail::DeclaredShape", "Shape")
    text = re.sub(r"(\w|>) ?&&(\.\.\.)?", r"\1\2", text)
    return " ".join(re.sub(r"std::(u?int64_t|size_t)", r"\1", text.replace("std::string_view", "std::string")).split())


def signature(head, name):
    """A function as its user sees it: without the caller's line, what is deduced, and how arguments are passed."""
    bare = bare_of_templates(head)
    at = bare.find(name + "(")
    end = closing(bare, at + len(name))
    given = [p for p in split_list(bare[at + len(name) + 1:end]) if not re.search(r"\bSite\b", p)]
    if "detail::Calls" in head or "detail::Special" in head:  # for every value type (functions/calls.hpp), of which a page about tensors shows them
        return f"Tensor<T> {name}({', '.join('Tensor<T> ' + re.sub('.*[ &]', '', p) for p in given)})"
    shown_parameters = []
    for p in given:
        written = re.search(r"(?<!const )\b[\w:<>, ]+&(?!&)", p) and not p.startswith("const ")
        p = plain_type(p)
        shown_parameters.append(p if written else re.sub(r" ?&(?!&)", "", p))
    explicit = []
    for kind in re.findall(r"template <([^{}]*?)>(?= ?(?:requires|template|[A-Za-z]|$))", head[:len(head) - len(bare)]):
        for p in split_list(kind):
            word = re.search(r"(\w+)(?: ?= ?(.*))?$", p)
            deduced = re.sub(r"type_identity_t<(?:[^<>]|<[^<>]*>)*>|=.*", "", " ; ".join(given))
            if word and not re.search(rf"\b{word[1]}\b", deduced) and word[1] not in ("D", "Device", "F") and "=" not in p:
                explicit.append(word[1] + ("..." if "..." in p else ""))
    result = re.sub(r" ?&(?!&)", "", plain_type(bare[:at])).strip()
    angled = f"<{', '.join(explicit)}>" if explicit and not name.startswith("operator") else ""
    return f"{result} {name}{angled}({', '.join(shown_parameters)})".strip()


def members(name, names):
    """The data of a struct of options or results."""
    found = []
    for key, declared_here in names.items():
        if key.startswith(name + ".") and key.count(".") == 1:
            head = declared_here[0][1]
            flat = re.sub(r"<(?:[^<>]|<[^<>]*>)*>", "", head)
            if "(" not in flat.split("=")[0] and not re.match(r"(using|struct|class|enum|static|friend|template)\b|<<", head):
                found.append(re.sub(r" = int64_t$", "", plain_type(head)))
    return found


def of_users(name, names, parameter):
    """Those that a user calls, where there are others."""
    own = declared(name, names, parameter)
    if any(is_type(head) for _, head, _ in own):
        return own
    return ([d for d in own if takes_line(d[1])] or ("." not in name and [d for d in own if "Tensor" in d[1]]) or own)


def shown(name, names, parameter=""):
    """The signatures of a name: of a type its values or members."""
    heads = [head for _, head, _ in declared(name, names, parameter)]
    users = [head for _, head, _ in of_users(name, names, parameter)]
    types = [head for head in heads if is_type(head)]
    if types and not name.startswith("operator"):
        head = max(types, key=len)
        kind = re.search(r"\b(class|struct|enum class|enum|union)\b", bare_of_templates(head))[1]
        if kind.startswith("enum"):
            return [re.sub(r" : [\w:]+ \{", " {", f"{kind} {head.split(kind + ' ', 1)[1]}")]
        data = members(name, names) if kind == "struct" and "::" not in name else []
        if len("; ".join(data)) > 100:
            return [f"{kind} {name} {{", *(f"{member};" for member in data), "}"]
        return [f"{kind} {name}" + (f" {{ {'; '.join(data)}; }}" if data else "")]
    if name.startswith("operator"):
        return [f"a {name.removeprefix('operator')} b" if name != "operator<<" else "os << x"]
    variable = re.compile(rf"(inline )?(constexpr|const|extern|static)\b.*\b{re.escape(plain(name))}\b(?!\()")
    if any(variable.match(bare_of_templates(head)) and plain(name) + "(" not in head for head in users):
        return [name]
    found = []
    for head in users:
        if parameters(head, plain(name)) is None:
            continue
        text = signature(head, plain(name))
        if name != plain(name):
            text = text.replace(plain(name), name, 1) if plain(name).startswith("operator") else re.sub(
                rf"\b{plain(name)}(?=[<(])", name, text, count=1)
        if text not in found:
            found.append(text)
    if "." in name and users is heads:
        found = found[:1]  # overloads of a member beside the plain one are the library's own
    return sorted(found, key=len)[-3:] or [name]


def umbrella(front):
    """All that a header includes."""
    seen, todo = set(), [front]
    while todo:
        path = todo.pop()
        if path in seen or not (INCLUDE / path).exists():
            continue
        seen.add(path)
        for other in re.findall(r'^#include "([^"]+)"', (INCLUDE / path).read_text(), re.M):
            todo.append((INCLUDE / path).parent.joinpath(other).resolve().relative_to(INCLUDE.resolve()).as_posix())
    return seen


FRONTS = ("wengert.hpp", "arrays.hpp", "special.hpp", "linalg.hpp", "complex.hpp", "complex_linalg.hpp", "fft.hpp", "implicit.hpp", "scalar.hpp", "cuda.hpp", "eigen.hpp")
ELSEWHERE = {"from_dlpack": "io/dlpack.hpp", "to_dlpack": "io/dlpack.hpp", "cuda": "cuda.hpp"}  # what several headers declare


def header_of(name, names, parameter, within):
    found = of_users(name, names, parameter)
    path = ELSEWHERE.get(name) or min(found, key=lambda d: (d[2] not in within["wengert.hpp"], not d[0]))[2]
    if path in within["wengert.hpp"]:
        return f"`{path}`"
    front = next((f for f in FRONTS if path in within[f]), path)
    return f"**`<wengert/{front}>`**"


INTRODUCTION = """# Reference

Every public name, by task: its signature, the first sentence of its declaration's comment, where it is declared, and NumPy's name where
there is one. Examples follow each table. All names are in namespace `wengert`, here `wg`; functions of tensors are also found without
it, by their arguments. `<wengert/wengert.hpp>` includes all but what has another include in **bold**.

Signatures leave out what a call does not write: the caller's line, a tensor's device, how an argument is passed; `&` stands where it is
written to. The tables are written by `docs/reference.py` from the headers.
"""
MARK = "<!-- examples -->"


def examples():
    """Of each task, from the page as it is: what is behind its mark."""
    text = PAGE.read_text() if PAGE.exists() else ""
    parts = re.split(r"^## (.*)$", text, flags=re.M)[1:]
    return {task: part.split(MARK, 1)[1].strip("\n") for task, part in zip(parts[::2], parts[1::2]) if MARK in part}


def in_example(name, code):
    if name.startswith("operator"):
        return name.removeprefix("operator") in code
    word = plain(name)
    return "(" in code if word.startswith("operator") else re.search(rf"\b{re.escape(word)}\b", code)


def cell(text):
    return text.replace("|", "\\|")


def page():
    names, public = everything()
    within, by_hand = {front: umbrella(front) for front in FRONTS}, examples()
    listed, problems, text = set(), [], INTRODUCTION
    for task, entries in TASKS.items():
        text += f"\n## {task}\n\n| signature | what | header | NumPy |\n|---|---|---|---|\n"
        code = by_hand.get(task, "")
        for entry in entries.split():
            name, parameter, numpy = re.fullmatch(
                r"([\w:.]*?operator(?:<<|\(\)|\[\]|[^\w\s])|[\w:.]+)(?:@(\w+))?(?:=(.*))?", entry).groups()
            if name not in names:
                problems.append(f"{name}: TASKS names it, no header declares it")
                continue
            listed.add(name)
            what = line_of(name, names, parameter)
            if not what:
                problems.append(f"{name}: has no /// comment")
            if not in_example(name, code):
                problems.append(f"{name}: no example of '{task}' has it")
            numpy = numpy or name.split(".")[-1]
            theirs = "" if numpy == "-" else f"`{numpy}`"
            written = "<br>".join(f"`{cell(one)}`" for one in shown(name, names, parameter))
            text += f"| {written} | {cell(what)} | {header_of(name, names, parameter, within)} | {theirs} |\n"
        text += f"\n{MARK}\n\n{code.strip()}\n"
    if re.search(r"^(<{7}|={7}|>{7})", text, re.M):
        problems.append("docs/reference.md: a mark that a merge has left")
    problems += [f"{name}: is public, TASKS does not place it" for name in sorted(public - listed)]
    return text, problems


def main():
    text, problems = page()
    print(*problems, sep="\n", end="\n" if problems else "")
    stale = not PAGE.exists() or PAGE.read_text() != text
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text)
    elif stale:
        print("docs/reference.md is not what the headers give; docs/reference.py writes it")
    print(f"reference: {len(re.findall('^. `', text, re.M))} names, {len(problems)} problems")
    sys.exit(bool(problems) or ("--check" in sys.argv[1:] and stale))


if __name__ == "__main__":
    main()
