/* SPDX-License-Identifier: MIT */
/* Kernels of sampling, and polynomials for their weights. */
#include "ops/interpolation.h"

#include "base/dtype.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* ---- the kernels --------------------------------------------------------------------------------- */

static double linear(double t) { return fmax(0, 1 - fabs(t)); }

/* Equation 8 of Mitchell and Netravali, the outer piece in powers of 2 - |t|, which does not cancel. */
static double cubic_spline(double t, double b, double c)
{
    t = fabs(t);
    const double u = 2 - t;
    if (t >= 2) return 0;
    if (t >= 1) return u * u * ((b + 6 * c) * u - 6 * c) / 6;
    return (((12 - 9 * b - 6 * c) * t - 18 + 12 * b + 6 * c) * t * t + 6 - 2 * b) / 6;
}

static double catmull_rom(double t) { return cubic_spline(t, 0, 1.0 / 2); }
static double mitchell(double t) { return cubic_spline(t, 1.0 / 3, 1.0 / 3); }

/* Exactly 0 at whole numbers but 0. */
static double sinc(double t)
{
    if (t == 0) return 1;
    return t == rint(t) ? 0 : sin(pi * t) / (pi * t);
}

static double lanczos2(double t) { return fabs(t) < 2 ? sinc(t) * sinc(t / 2) : 0; }
static double lanczos3(double t) { return fabs(t) < 3 ? sinc(t) * sinc(t / 3) : 0; }

const ip_interpolation *ip_interpolation_of(ip_at_filter filter)
{
    static const ip_interpolation kernels[] = {
        [IP_AT_LINEAR] = { linear, 1, false, true },     [IP_AT_CUBIC] = { catmull_rom, 2, true, true },
        [IP_AT_MITCHELL] = { mitchell, 2, true, true },  [IP_AT_LANCZOS2] = { lanczos2, 2, true, false },
        [IP_AT_LANCZOS3] = { lanczos3, 3, true, false },
    };
    return filter == IP_AT_NEAREST ? NULL : &kernels[filter];
}

double ip_interpolation_weight(const ip_interpolation *kernel, int k, double f)
{
    double sum = 0;
    for (int i = 1 - kernel->radius; i <= kernel->radius; i++)
        sum += kernel->at(f - i);
    return kernel->at(f - k) / sum;
}

/* ---- weights as polynomials ---------------------------------------------------------------------- */

enum { CUBIC = 2, OF_F32 = 10, OF_F64 = 20 }; /* coefficients; errors of Lanczos: 7e-8, 2e-14 */

/* s_k of Note [Weights of a fraction] at f. */
static double rest(const ip_interpolation *kernel, int k, double f)
{
    const double from = ip_interpolation_weight(kernel, k, 0), to = ip_interpolation_weight(kernel, k, 1);
    return (ip_interpolation_weight(kernel, k, f) - from - (to - from) * f) / (f * (1 - f));
}

/* The coefficients, in powers of f - 1/2, of the polynomial that is s_k at n Chebyshev points: by divided differences
 * (Newton), multiplied out. */
static void fit(const ip_interpolation *kernel, int k, int n, double out[OF_F64])
{
    double at[OF_F64], difference[OF_F64];
    for (int i = 0; i < n; i++) {
        at[i] = cos(pi * (2 * i + 1) / (2 * n)) / 2;
        difference[i] = rest(kernel, k, at[i] + 0.5);
    }
    for (int order = 1; order < n; order++)
        for (int i = n - 1; i >= order; i--)
            difference[i] = (difference[i] - difference[i - 1]) / (at[i] - at[i - order]);
    for (int i = 0; i < n; i++)
        out[i] = 0;
    for (int i = n - 1; i >= 0; i--) { /* out = out (x - at[i]) + difference[i] */
        for (int power = n - 1; power > 0; power--)
            out[power] = out[power - 1] - at[i] * out[power];
        out[0] = difference[i] - at[i] * out[0];
    }
}

ip_expr *ip_interpolation_weight_at(ip_ir *ir, const ip_interpolation *kernel, int k, ip_expr *f)
{
    double coefficient[OF_F64], from = ip_interpolation_weight(kernel, k, 0),
                                to = ip_interpolation_weight(kernel, k, 1);
    const imgpar_dtype w = f->dtype;
    double known;
    if (ip_x_is_const(f, &known) && known == 0) return ip_x_float(ir, w, from);
    ip_expr *line = ip_x_fma(ir, ip_x_float(ir, w, to - from), f, ip_x_float(ir, w, from));
    if (from == 0) line = to == 0 ? ip_x_float(ir, w, 0) : to == 1 ? f : line;
    if (kernel->radius == 1) return line;
    const int n = kernel->is_cubic ? CUBIC : w == IMGPAR_F32 ? OF_F32 : OF_F64;
    fit(kernel, k, n, coefficient);
    ip_expr *g = ip_x_binary(ir, IP_X_SUB, f, ip_x_float(ir, w, 0.5)), *s = ip_x_float(ir, w, coefficient[n - 1]);
    for (int power = n - 2; power >= 0; power--)
        s = ip_x_fma(ir, s, g, ip_x_float(ir, w, coefficient[power]));
    ip_expr *between = ip_x_fma(ir, ip_x_unary(ir, IP_X_NEG, f), f, f);
    return from == 0 && to == 0 ? ip_x_binary(ir, IP_X_MUL, between, s) : ip_x_fma(ir, between, s, line);
}
