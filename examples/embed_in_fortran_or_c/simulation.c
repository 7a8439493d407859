/* A simulation in C that finds out what a rod is made of. The temperatures "observed" come from the loop below; the loss
 * and its gradient come from rod.h, which wengert has written (emit_rod_gradient.cpp). */
#include "rod.h"

#include <stdio.h>
#include <stdlib.h>

enum { cells = 24, faces = cells - 1, steps = 40 };

static void simulate(const double* kappa, double* u)
{
    for (int i = 0; i < cells; ++i) u[i] = i == 0;
    for (int s = 0; s < steps; ++s) {
        double flux[faces];
        for (int i = 0; i < faces; ++i) flux[i] = kappa[i] * (u[i + 1] - u[i]);
        for (int i = 1; i + 1 < cells; ++i) u[i] += flux[i] - flux[i - 1];
    }
}

static double loss_of(const double* kappa, const double* observed)
{
    double u[cells], sum = 0;
    simulate(kappa, u);
    for (int i = 0; i < cells; ++i) sum += (u[i] - observed[i]) * (u[i] - observed[i]);
    return sum;
}

/* The largest difference from central differences of the loop above, relative to the largest derivative. */
static double error_of(const double* gradient, const double* kappa, const double* observed)
{
    double worst = 0, largest = 0;
    for (int i = 0; i < faces; ++i) {
        double moved[faces];
        for (int k = 0; k < faces; ++k) moved[k] = kappa[k];
        const double h = 1e-5;
        moved[i] = kappa[i] + h;
        const double above = loss_of(moved, observed);
        moved[i] = kappa[i] - h;
        const double slope = (above - loss_of(moved, observed)) / (2 * h);
        worst = fmax(worst, fabs(slope - gradient[i]));
        largest = fmax(largest, fabs(slope));
    }
    return worst / largest;
}

int main(void)
{
    double truth[faces], kappa[faces], observed[cells], gradient[faces], loss = 0;
    for (int i = 0; i < faces; ++i) {
        truth[i] = i >= 4 && i < 8 ? 0.1 : 0.4; /* an insulating layer */
        kappa[i] = 0.25;
    }
    simulate(truth, observed);

    if (rod(kappa, observed, &loss, gradient) != 0) return 1;
    const double expected = loss_of(kappa, observed), error = error_of(gradient, kappa, observed);
    printf("loss %.12f, by the loop in C %.12f; gradient differs from finite differences by %.1e\n", loss, expected, error);
    if (fabs(loss - expected) > 1e-12 || !(error < 1e-6)) return 1;

    const double start = loss;
    void* workspace = malloc(rod_workspace() + 64);
    void* aligned = (void*)(((uintptr_t)workspace + 63) / 64 * 64);
    for (int k = 0; k < 4000; ++k) {
        rod_with(kappa, observed, &loss, gradient, aligned);
        for (int i = 0; i < faces; ++i) kappa[i] = fmin(0.45, fmax(0.05, kappa[i] - 0.2 * gradient[i]));
    }
    free(workspace);
    printf("after 4000 steps of gradient descent the loss is %.1e of what it was\nconductivity", loss / start);
    for (int i = 0; i < 12; ++i) printf(" %.2f", kappa[i]);
    printf(" ...\n       truth");
    for (int i = 0; i < 12; ++i) printf(" %.2f", truth[i]);
    printf(" ...\n");
    return !(loss < 1e-3 * start);
}
