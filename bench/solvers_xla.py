"""What XLA takes for rows of wengert_solvers: JAX's jit on the CPU, one thread, and diffrax for the stiff equations.

    solvers_xla.py FOLDER   FOLDER has the inputs and results that `wengert_solvers FOLDER` has written

A line for each row, as wengert_solvers has it: what, milliseconds. The results are compared. It ends at once where JAX and
diffrax are not installed (python3 -m pip install jax diffrax).
"""
import sys
import time

try:
    import one_thread_jax  # noqa: F401, the first to import jax
    import diffrax
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError:
    sys.exit(0)


def kept(name):
    return jnp.asarray(np.fromfile(f"{sys.argv[1]}/{name}"))


def flat(value, gradient):
    return jnp.concatenate([value[None], gradient.ravel()])


def row(what, f, *arguments, wanted, tolerance, rounds=15):
    call = jax.jit(f)
    found = jax.block_until_ready(call(*arguments))
    if not jnp.max(jnp.abs(found - wanted)) <= tolerance * jnp.max(jnp.abs(wanted)):
        sys.exit(f"{what}: {found} differs from {wanted}")
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        jax.block_until_ready(call(*arguments))
        best = min(best, time.perf_counter() - start)
    print(f"{what:<52} {best * 1e3:10.4f}", flush=True)


def with_gradient(loss):
    return lambda p: flat(*jax.value_and_grad(loss)(p))


def gaussian_process(x, y):
    squares = jnp.square(x[:, None] - x)

    def loss(q):
        k = jnp.exp(2 * q[0] - 0.5 * squares * jnp.exp(-2 * q[1])) + jnp.exp(2 * q[2]) * jnp.eye(x.size)
        l = jnp.linalg.cholesky(k)
        return 0.5 * jnp.sum(y * jax.scipy.linalg.cho_solve((l, True), y)) + jnp.sum(jnp.log(jnp.diag(l)))
    return loss


def kalman(z, n):
    def step(belief, measured):
        transition, mean, covariance, loss = belief
        p = transition @ covariance @ transition.T + 0.1 * jnp.eye(n)
        m = transition @ mean
        column, s, e = p[0], p[0, 0] + 0.5, measured - m[0]
        return (transition, m + column * (e / s), p - column[:, None] * column / s, loss + 0.5 * (jnp.log(s) + e * e / s)), None
    return lambda a: jax.lax.scan(step, (a.reshape(n, n), jnp.zeros(n), jnp.eye(n), 0.0), z)[0][3]


def stiff(solver):
    y0 = 0.5 + 0.4 * jnp.sin(jnp.linspace(0, 6.2, 100))
    control = diffrax.PIDController(rtol=1e-6, atol=1e-9)

    def f(_, y, q):
        return q[0] * (jnp.roll(y, 1) + jnp.roll(y, -1) - 2 * y) + q[1] * y * (1 - y * y)

    def loss(q):
        solution = diffrax.diffeqsolve(diffrax.ODETerm(f), solver, 0.0, 1.0, None, y0, args=q, stepsize_controller=control)
        return jnp.sum(jnp.square(solution.ys[-1]))
    return loss


print(f"JAX {jax.__version__}, diffrax {diffrax.__version__}")
row("Gaussian process, 200 points, value and gradient", with_gradient(gaussian_process(kept("gp_x"), kept("gp_y"))), kept("gp_p"),
    wanted=kept("gp_result"), tolerance=1e-8)
row("Kalman filter, 20 states, 1,000 steps, value and gradient", with_gradient(kalman(kept("kalman_z"), 20)), kept("kalman_a"),
    wanted=kept("kalman_result"), tolerance=1e-8)
for solver in diffrax.Kvaerno3(), diffrax.Kvaerno5():
    name = f"odeint, 100 stiff equations, diffrax's {type(solver).__name__}"
    loss = stiff(solver)
    row(f"{name}, value", lambda q: loss(q)[None], kept("stiff_p"), wanted=kept("stiff_result")[:1], tolerance=1e-5, rounds=5)
    row(f"{name}, gradient", jax.grad(loss), kept("stiff_p"), wanted=kept("stiff_result")[1:], tolerance=1e-2, rounds=5)
