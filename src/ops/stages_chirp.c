/* SPDX-License-Identifier: MIT */
/*
 * Fourier transforms of lines whose n elements are no product of two lengths up to 2048 of factors 2, 3, 5 and 7
 * (Bluestein 1970, A linear filtering approach to the computation of discrete Fourier transform).
 * With j k = (j^2 + k^2 - (k - j)^2) / 2 and the chirp w[k] = exp(-pi i k^2 / n)
 *
 *     r[k] = w[k] (sum of (a[j] w[j]) / w[k - j])
 *
 * is a convolution, made by transforms of m elements, the least such product that is no less than 2 n - 1. Stages:
 *
 *     chirp     w, of one line
 *     filter    1 / w[|k|] around the first element of m, and its transform
 *     padded    a w, followed by zeros, and its transform
 *     product   of both transforms, and its inverse transform
 *     the first n elements of that times w, which readers compute
 *
 * The inverse has -i for i, and is divided by n.
 */
#include "ops/complex.h"
#include "ops/fft.h"

#include "base/dtype.h"

#include <math.h>
#include <string.h>

/* One axis of the node that is transformed; none of those that are folded (IP_OP_ALONG). */
typedef struct chirped {
    ip_lower *l;
    imgpar_dtype part;
    int dim;      /* of the axis */
    int64_t n, m; /* elements of lines, and padded */
    bool is_inverse;
    ip_stage *chirp;
} chirped;

static ip_expr *binary(const chirped *c, ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(c->l->ir, op, a, b); }
static ip_expr *i32(const chirped *c, int64_t v) { return ip_x_int(c->l->ir, IMGPAR_I32, v); }
/* An argument, so that lengths share their programs. */
static ip_expr *length(const chirped *c, int64_t v) { return ip_x_param(c->l->ir, IMGPAR_I32, (double)v, 1, 0x1p23); }
static ip_expr *number(const chirped *c, double v) { return ip_x_number(c->l->ir, c->part, v); }

static ip_expr *choose(const chirped *c, ip_expr *condition, ip_expr *a, ip_expr *b)
{
    return ip_x_select(c->l->ir, condition, a, b);
}

/* A stage of complex numbers of these dims, numbers side by side along the last one. */
static ip_stage *stored(const chirped *c, const int64_t dims[4], ip_complex z, const char *note)
{
    ip_expr *part = binary(c, IP_X_MOD, ip_x_coord(c->l->ir, 3, dims[3]), i32(c, 2));
    return ip_lower_stage_sized(c->l, dims, c->part, choose(c, binary(c, IP_X_EQ, part, i32(c, 0)), z.re, z.im), note);
}

/* The number at this place, the last index counting numbers; by border CONSTANT 0 beyond edges. */
static ip_complex number_at(const chirped *c, ip_stage *s, ip_expr *const at[4], int border)
{
    ip_expr *part[2], *index[4];
    memcpy(index, at, sizeof index);
    ip_expr *first = binary(c, IP_X_MUL, at[3], i32(c, 2));
    for (int k = 0; k < 2; k++) {
        index[3] = binary(c, IP_X_ADD, first, i32(c, k));
        part[k] = ip_x_load(c->l->ir, s, index, border, border == IP_BORDER_NONE ? NULL : number(c, 0));
    }
    return (ip_complex){ part[0], part[1] };
}

/* The same of a stage of one line. */
static ip_complex number_of_line(const chirped *c, ip_stage *s, ip_expr *k, int border)
{
    ip_expr *at[4] = { i32(c, 0), i32(c, 0), k, i32(c, 0) };
    return number_at(c, s, at, border);
}

static ip_complex conjugate(const chirped *c, ip_complex z)
{
    return (ip_complex){ z.re, ip_x_unary(c->l->ir, IP_X_NEG, z.im) };
}

/* ---- the chirp ---------------------------------------------------------------------------------- */

/* k^2 mod 2n, of k < n <= 2^21, by digits of seven bits: nothing exceeds 2^30. */
static ip_expr *square_rest(const chirped *c, ip_expr *k, ip_expr *turn)
{
    enum { DIGIT = 128 };
    ip_expr *digit = i32(c, DIGIT), *high = binary(c, IP_X_IDIV, k, digit), *rest = NULL;
    ip_expr *digits[] = { binary(c, IP_X_IDIV, high, digit), binary(c, IP_X_MOD, high, digit),
                          binary(c, IP_X_MOD, k, digit) };
    for (int d = 0; d < 3; d++) {
        ip_expr *x = binary(c, IP_X_MUL, k, digits[d]);
        if (rest) x = binary(c, IP_X_ADD, binary(c, IP_X_MUL, rest, digit), x);
        rest = binary(c, IP_X_MOD, x, turn);
    }
    return rest;
}

/* exp(-pi i k^2 / n), or its conjugate, from an angle of at most an eighth of a turn. */
static ip_stage *chirp(const chirped *c)
{
    const int64_t dims[4] = { 1, 1, c->n, 2 };
    ip_ir *ir = c->l->ir;
    ip_expr *n = length(c, c->n), *r = square_rest(c, ip_x_coord(ir, 2, c->n), length(c, 2 * c->n));
    ip_expr *eighths = binary(c, IP_X_MUL, r, i32(c, 4)), *octant = binary(c, IP_X_IDIV, eighths, n);
    ip_expr *rest = binary(c, IP_X_SUB, eighths, binary(c, IP_X_MUL, octant, n));
    ip_expr *is_odd = binary(c, IP_X_EQ, binary(c, IP_X_MOD, octant, i32(c, 2)), i32(c, 1));
    rest = choose(c, is_odd, binary(c, IP_X_SUB, n, rest), rest);
    ip_expr *share = binary(c, IP_X_DIV, ip_x_cast(ir, c->part, rest), ip_x_cast(ir, c->part, n));
    ip_expr *angle = binary(c, IP_X_MUL, share, number(c, atan(1.0)));
    ip_expr *x = ip_x_unary(ir, IP_X_COS, angle), *y = ip_x_unary(ir, IP_X_SIN, angle);
    ip_expr *around = binary(c, IP_X_MOD, binary(c, IP_X_ADD, octant, i32(c, 1)), i32(c, 4));
    ip_expr *is_turned = binary(c, IP_X_LE, i32(c, 2), around);
    ip_expr *re = choose(c, is_turned, y, x), *im = choose(c, is_turned, x, y);
    ip_expr *is_left = binary(c, IP_X_LE, i32(c, 2), octant);
    is_left = binary(c, IP_X_AND, is_left, binary(c, IP_X_LT, octant, i32(c, 6)));
    ip_expr *is_up = binary(c, IP_X_LT, octant, i32(c, 4));
    re = choose(c, is_left, ip_x_unary(ir, IP_X_NEG, re), re);
    im = choose(c, is_up, im, ip_x_unary(ir, IP_X_NEG, im));
    const ip_complex z = { re, im };
    return stored(c, dims, c->is_inverse ? z : conjugate(c, z), "chirp");
}

/* The transform of 1 / w[k], k from 1 - n to n - 1 on a circle of m elements. */
static ip_stage *filter(const chirped *c)
{
    const int64_t dims[4] = { 1, 1, c->m, 2 };
    ip_expr *k = ip_x_coord(c->l->ir, 2, c->m);
    ip_expr *distance = binary(c, IP_X_MIN, k, binary(c, IP_X_SUB, length(c, c->m), k));
    ip_complex w = number_of_line(c, c->chirp, distance, IMGPAR_BORDER_CONSTANT);
    ip_stage *s = stored(c, dims, conjugate(c, w), "filter of chirps");
    return ip_fft_of_lines(c->l, s, dims, &(ip_fft_lines){ 1, c->m, 1, 0 }, false);
}

/* ---- lines ------------------------------------------------------------------------------------- */

/* The own place in a domain of these dims, the last index counting numbers. */
static void place(const chirped *c, const int64_t dims[4], ip_expr *at[4])
{
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(c->l->ir, d, dims[d]);
    at[3] = binary(c, IP_X_IDIV, at[3], i32(c, 2));
}

/* Lines of n elements times w, and of zeros up to m. */
static ip_stage *padded(const chirped *c, ip_stage *in, const int64_t dims[4])
{
    ip_expr *at[4];
    place(c, dims, at);
    ip_complex a = number_at(c, in, at, IMGPAR_BORDER_CONSTANT);
    ip_complex w = number_of_line(c, c->chirp, at[c->dim], IMGPAR_BORDER_CONSTANT);
    return stored(c, dims, ip_complex_product(c->l, a, w), "padded by zeros");
}

/* Numbers of a stage, from the first element of each line on, times those of a line. */
static ip_complex product(const chirped *c, ip_stage *s, ip_stage *line, const int64_t dims[4])
{
    ip_expr *at[4];
    place(c, dims, at);
    return ip_complex_product(c->l, number_at(c, s, at, IP_BORDER_NONE),
                              number_of_line(c, line, at[c->dim], IP_BORDER_NONE));
}

ip_stage *ip_fft_by_chirps(ip_lower *l, ip_stage *in, int axis, bool is_inverse)
{
    const ip_type *type = &l->node->type;
    int64_t dims[4], wide[4];
    chirped c = { .l = l, .dim = ip_type_axis_dim(type, axis), .n = type->shape[axis], .is_inverse = is_inverse };
    c.part = ip_type_storage(type, dims);
    c.m = ip_fft_longer(c.n);
    memcpy(wide, dims, sizeof wide);
    wide[c.dim] = dims[c.dim] / c.n * c.m;
    const ip_fft_lines lines = ip_fft_lines_of(type, axis, c.m);
    c.chirp = chirp(&c);
    ip_stage *s = ip_fft_of_lines(l, padded(&c, in, wide), wide, &lines, false);
    s = stored(&c, wide, product(&c, s, filter(&c), wide), "product of transforms");
    ip_complex z = product(&c, ip_fft_of_lines(l, s, wide, &lines, true), c.chirp, dims);
    if (is_inverse) {
        ip_expr *share = ip_x_param(l->ir, c.part, 1 / (double)c.n, 0, 1);
        z = (ip_complex){ binary(&c, IP_X_MUL, z.re, share), binary(&c, IP_X_MUL, z.im, share) };
    }
    return stored(&c, dims, z, "of chirps");
}
