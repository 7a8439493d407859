"""XLA's rows of wengert_bench: JAX's jit on the CPU, one thread. wengert_bench starts this program beside itself and asks
it for samples in turn with the other systems; it ends at once where JAX is not installed (python3 -m pip install jax).

Asked on standard input, one line each; answers on standard output:
    load WORKLOAD VARIANT FOLDER   reads the inputs there, compiles           ok, or why not
    run N                          runs it N times                            seconds
    results                        writes FOLDER/results as doubles           the number of elements of each result
"""
import sys
import time

try:
    import one_thread_jax  # noqa: F401, the first to import jax
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError:
    sys.exit(1)


def read_inputs(folder):
    """What write_inputs (workloads/xla.cpp) wrote: a line `name dtype extents…` for each array, then the elements."""
    arrays = {}
    with open(folder + "/inputs", "rb") as f:
        for _ in range(int(f.readline())):
            name, dtype, *shape = f.readline().decode().split()
            shape = [int(e) for e in shape]
            n = int(np.prod(shape, dtype=np.int64))
            arrays[name] = jnp.asarray(np.frombuffer(f.read(n * np.dtype(dtype).itemsize), dtype).reshape(shape))
    return arrays


def value_and_gradients(loss, *arguments):
    """The usual case: (value, gradients…) of loss(*arguments) with respect to all of them."""
    f = jax.jit(jax.value_and_grad(loss, argnums=tuple(range(len(arguments)))))
    def once():
        value, gradients = f(*arguments)
        return [value, *gradients]
    return once


def small_op(p, _):
    def loss(a, b):
        h, _ = jax.lax.scan(lambda h, _: (jnp.tanh(h * a + b), None), p["h"], None, length=333)
        return jnp.sum(h * a)
    return value_and_gradients(loss, p["a"], p["b"])


def elementwise(p, _):
    return value_and_gradients(lambda x, w, b: jnp.sum(jnp.tanh(x * w + b) * jax.nn.sigmoid(x) + x * x),
                               p["x"], p["w"], p["b"])


def cheap(p, _):
    def f(a, b, c, d):
        t0 = a * b
        t1, t2 = c * d + t0, a + c
        t3 = t2 * t1
        t4 = t3 * b + d
        t5 = t4 + t1
        t6 = t5 * t2
        t7 = t6 * t4 + a
        t8 = t7 + t3
        t9 = t8 * t0 + t5
        return t9 * t7, (t9 * d + t8) + t6
    f = jax.jit(f)
    return lambda: f(p["a"], p["b"], p["c"], p["d"])


def mlp_loss(w, x, labels):
    h = jax.nn.relu(x @ w[0] + w[1])
    h = jax.nn.relu(h @ w[2] + w[3])
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(h @ w[4] + w[5]), labels[:, None], axis=1))


def mlp_parameters(p, prefix=""):
    return [p[prefix + name] for name in ("w1", "b1", "w2", "b2", "w3", "b3")]


class mlp:
    """The parameters are donated: a step may update them where they lie."""

    def __init__(self, p, _):
        def step(w, x, labels, rate):
            value, g = jax.value_and_grad(mlp_loss)(w, x, labels)
            return value, [a - rate * b for a, b in zip(w, g)]
        self.step = jax.jit(step, donate_argnums=0)
        self.p = p
        self.w = [jnp.array(w) for w in mlp_parameters(p)]

    def __call__(self):
        value, self.w = self.step(self.w, self.p["x"], self.p["labels"], np.float32(0.01))
        return value

    def results(self):
        value, w = self.step([jnp.array(w) for w in mlp_parameters(self.p)], self.p["x"], self.p["labels"],
                             np.float32(1))
        return [value, *w]


def hvp(p, variant):
    loss = lambda w: mlp_loss(w, p["x"], p["labels"])
    w, v = mlp_parameters(p), mlp_parameters(p, "tangent_")
    if variant == "gradient":
        return value_and_gradients(lambda *w: loss(w), *w)
    f = jax.jit(lambda w, v: jax.jvp(jax.grad(loss), (w,), (v,))[1])
    return lambda: f(w, v)


def jvp(p, variant):
    loss = lambda w: mlp_loss(w, p["x"], p["labels"])
    w, v = mlp_parameters(p), mlp_parameters(p, "tangent_")
    if variant == "primal":
        f = jax.jit(loss)
        return lambda: [f(w)]
    g = jax.jit(lambda w, v: jax.jvp(loss, (w,), (v,)))
    return lambda: g(w, v)


def rk4(p, _):
    def loss(y, w1, b1, w2, b2, w3, b3):
        f = lambda y: jnp.tanh(jnp.tanh(y @ w1 + b1) @ w2 + b2) @ w3 + b3
        dt = np.float32(0.05)
        def step(y, _):
            k1 = f(y)
            k2 = f(y + dt / 2 * k1)
            k3 = f(y + dt / 2 * k2)
            k4 = f(y + dt * k3)
            return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None
        y, _ = jax.lax.scan(step, y, None, length=100)
        return jnp.sum(y * y)
    return value_and_gradients(loss, p["y"], *mlp_parameters(p))


def heat(p, _):
    def loss(u):
        def step(u, _):
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            return u.at[1:-1, 1:-1].add(np.float32(0.1) * (around - 4 * u[1:-1, 1:-1])), None
        u, _ = jax.lax.scan(step, u, None, length=100)
        return jnp.sum(u * u)
    return value_and_gradients(loss, p["u"])


def attention(p, _):
    def loss(x, gain, bias, wq, wk, wv, wo):
        heads = lambda t: t.reshape(128, 4, 16).swapaxes(0, 1)
        centred = x - jnp.mean(x, 1, keepdims=True)
        n = centred / jnp.sqrt(jnp.mean(centred * centred, 1, keepdims=True) + np.float32(1e-5)) * gain + bias
        q, k, v = heads(n @ wq), heads(n @ wk), heads(n @ wv)
        a = jax.nn.softmax(np.float32(0.25) * (q @ k.swapaxes(1, 2)), -1)
        y = x + (a @ v).swapaxes(0, 1).reshape(128, 64) @ wo
        return jnp.sum(y * y)
    return value_and_gradients(loss, *(p[name] for name in ("x", "gain", "bias", "wq", "wk", "wv", "wo")))


def joined(once):
    """The gradients in one row, as in ADBench's files."""
    def run():
        value, *gradients = once()
        return value, gradients
    return run


def gmm(p, _):
    x, (gamma, m, constant) = p["x"], (float(v) for v in p["numbers"])
    (n, d), K = x.shape, p["alpha"].shape[0]
    columns, rows = np.triu_indices(d, 1)  # the strict lower triangle, column by column
    def loss(alpha, mu, icf):
        q, lower = icf[:, :d], icf[:, d:]
        diagonal = jnp.exp(q)
        Q = jnp.zeros((K, d, d)).at[:, rows, columns].set(lower) + diagonal[:, :, None] * jnp.eye(d)
        y = jnp.einsum("kij,nkj->nki", Q, x[:, None] - mu)
        sum_q = jnp.sum(q, 1)
        term = alpha + sum_q - 0.5 * jnp.sum(y * y, 2)
        prior = 0.5 * gamma * gamma * (jnp.sum(diagonal**2) + jnp.sum(lower**2)) - m * jnp.sum(sum_q) + constant
        return jnp.sum(jax.nn.logsumexp(term, 1)) - n * jax.nn.logsumexp(alpha) + prior
    return joined(value_and_gradients(loss, p["alpha"], p["mu"], p["icf"]))


def lstm(p, _):
    state, x = p["state"], p["sequence"]
    steps, bits = x.shape[0] - 1, x.shape[1]
    def loss(main, extra):
        def layer(w, s, a):
            forget, out = jax.nn.sigmoid(a * w[0] + w[4]), jax.nn.sigmoid(a * w[2] + w[6])
            def step(hc, gates):
                (h, c), (f, o) = hc, gates
                c = c * f + jax.nn.sigmoid(h * w[1] + w[5]) * jnp.tanh(h * w[3] + w[7])
                h = o * jnp.tanh(c)
                return (h, c), h
            return jax.lax.scan(step, (s[0], s[1]), (forget, out))[1]
        a = x[:-1] * extra[0]
        for k in range(main.shape[0]):
            a = layer(main[k], state[k], a)
        y = a * extra[1] + extra[2]
        return -jnp.sum(x[1:] * (y - jnp.log(2 + jnp.sum(jnp.exp(y), 1, keepdims=True)))) / (steps * bits)
    return joined(value_and_gradients(loss, p["main"], p["extra"]))


def scan(p, variant):
    dt, steps = 0.01, int(variant.split("=")[1])
    def loss(start, parameters):
        k, b, s, c = parameters
        def step(y, _):
            q1, q2, v1, v2 = y
            pull = s * (q1 - q2)
            w1 = v1 - dt * ((k + b * (q1 * q1)) * q1 + c * v1 + pull)
            w2 = v2 - dt * ((k + b * (q2 * q2)) * q2 + c * v2 - pull)
            return (q1 + dt * w1, q2 + dt * w2, w1, w2), None
        y, _ = jax.lax.scan(step, tuple(start), None, length=steps)
        return sum(v * v for v in y)
    return value_and_gradients(loss, p["state"], p["parameters"])


WORKLOADS = {f.__name__: f for f in (small_op, elementwise, mlp, rk4, heat, attention, gmm, lstm, hvp, jvp, cheap, scan)}


def flat(result):
    """One result of the floor: an array, or several that it has in one row."""
    parts = result if isinstance(result, (list, tuple)) else [result]
    return np.concatenate([np.asarray(r, dtype=np.float64).ravel() for r in parts])


def write_results(case, folder):
    results = [flat(r) for r in (case.results() if hasattr(case, "results") else case())]
    np.concatenate(results).tofile(folder + "/results")
    return " ".join(str(r.size) for r in results)


def timed(case, n):
    start = time.perf_counter()
    for _ in range(n):
        jax.block_until_ready(case())
    return time.perf_counter() - start


def main():
    case = folder = None
    print("ready", flush=True)
    for line in filter(str.strip, sys.stdin):
        command, *words = line.split()
        try:
            if command == "load":
                case, folder = None, words[2]
                case = WORKLOADS[words[0]](read_inputs(folder), words[1])
                jax.block_until_ready(case())
                answer = "ok"
            elif command == "run":
                answer = repr(timed(case, int(words[0])))
            else:
                answer = write_results(case, folder)
        except Exception as e:  # for wengert_bench to report
            answer = "failed: " + repr(e).replace("\n", " ")
        print(answer, flush=True)


main()
