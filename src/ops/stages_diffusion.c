/* SPDX-License-Identifier: MIT */
/*
 * Error diffusion: what a pixel loses by becoming one of few tones is added to pixels that come after it, in the order
 * of reading. Each pixel depends on the one before it, so this is an opaque stage that the host computes, one plane
 * and row after the other; channels do not meet.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"
#include "ir/opaque.h"
#include "ops/coverage.h"
#include "ops/lower.h"

#include <math.h>
#include <string.h>

enum { REACH = 2, ROWS = REACH + 1, COLUMNS = 2 * REACH + 1, MOST_TONES = 256, MOST_BYTES = 8 };

/* Shares of the error, over their divisor, of the rows from the pixel's own on; the pixel is amid the first.
 * As the row's parameter "kernel" numbers them. */
typedef struct diffusion {
    int divisor;
    int shares[ROWS][COLUMNS];
} diffusion;

static const diffusion diffusions[] = {
    { 16, { { 0, 0, 0, 7, 0 }, { 0, 3, 5, 1, 0 }, { 0 } } },             /* Floyd and Steinberg 1976 */
    { 48, { { 0, 0, 0, 7, 5 }, { 3, 5, 7, 5, 3 }, { 1, 3, 5, 3, 1 } } }, /* Jarvis, Judice and Ninke 1976 */
    { 42, { { 0, 0, 0, 8, 4 }, { 2, 4, 8, 4, 2 }, { 1, 2, 4, 2, 1 } } }, /* Stucki 1981 */
    { 8, { { 0, 0, 0, 1, 1 }, { 0, 1, 1, 1, 0 }, { 0, 0, 1, 0, 0 } } },  /* Atkinson; a quarter is lost */
    { 32, { { 0, 0, 0, 5, 3 }, { 2, 4, 5, 4, 2 }, { 0, 2, 3, 2, 0 } } }, /* Sierra 1989 */
};

/* The tones as elements, and as the numbers that those are. */
typedef struct tones {
    int n;
    double full, values[MOST_TONES];
    unsigned char elements[MOST_TONES][MOST_BYTES];
} tones;

static void find_tones(tones *t, const ip_type *type, int n)
{
    t->n = n;
    t->full = ip_type_full(type);
    for (int k = 0; k < n; k++) {
        ip_store_number(type->dtype, t->elements[k], t->full * k / (n - 1));
        t->values[k] = ip_load_number(type->dtype, t->elements[k]);
    }
}

/* The nearest of equal steps from black to white, of equals the lighter one; NaN is black. */
static int nearest(const tones *t, double v)
{
    const double k = floor(v / t->full * (t->n - 1) + 0.5);
    return k > 0 ? (int)fmin(k, t->n - 1) : 0;
}

/* One row: rows[r] has the errors that have come to the row r below it, REACH pixels of margin on either side. */
typedef struct line {
    const diffusion *by;
    const tones *tones;
    imgpar_dtype dtype;
    int64_t width, channels;
    int step; /* 1: from left to right, -1: back, with the shares mirrored */
    double *rows[ROWS];
} line;

static void diffuse(const line *l, const unsigned char *in, unsigned char *out)
{
    const size_t size = ip_dtype(l->dtype)->size_bytes;
    for (int64_t i = 0; i < l->width; i++) {
        const int64_t x = l->step > 0 ? i : l->width - 1 - i;
        for (int64_t c = 0; c < l->channels; c++) {
            const size_t at = (size_t)(x * l->channels + c) * size;
            const int64_t place = (x + REACH) * l->channels + c;
            const double a = ip_load_number(l->dtype, in + at);
            const double v = fmin(fmax(a, 0), l->tones->full) + l->rows[0][place];
            const int k = isnan(a) ? 0 : nearest(l->tones, v);
            const double error = isnan(a) ? 0 : (v - l->tones->values[k]) / l->by->divisor;
            memcpy(out + at, l->tones->elements[k], size);
            for (int r = 0; r < ROWS; r++)
                for (int j = r == 0 ? REACH + 1 : 0; j < COLUMNS; j++)
                    l->rows[r][place + l->step * (j - REACH) * l->channels] += error * l->by->shares[r][j];
        }
    }
}

static imgpar_status compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const imgpar_array *node = o->user;
    const size_t row_bytes = (size_t)(o->dims[2] * o->dims[3]) * ip_dtype(node->type.dtype)->size_bytes;
    const size_t n = (size_t)((o->dims[2] + 2 * REACH) * o->dims[3]);
    const bool is_serpentine = ip_param_number(node, "serpentine") != 0;
    line l = { .by = &diffusions[(int)ip_param_number(node, "kernel")],
               .dtype = node->type.dtype,
               .width = o->dims[2],
               .channels = o->dims[3] };
    imgpar_status st = IMGPAR_OK;
    tones *t = ip_alloc(sizeof *t);
    double *errors = ip_alloc_array(n, ROWS * sizeof *errors);
    if (!t || !errors) st = IMGPAR_E_HOST_MEMORY;
    if (t) find_tones(t, &node->type, (int)ip_param_number(node, "tones"));
    l.tones = t;
    for (int64_t y = 0; !st && y < o->dims[0] * o->dims[1]; y++) {
        const int64_t row = y % o->dims[1];
        if (row == 0) memset(errors, 0, n * ROWS * sizeof *errors);
        for (int r = 0; r < ROWS; r++)
            l.rows[r] = errors + (size_t)((row + r) % ROWS) * n;
        l.step = is_serpentine && row % 2 ? -1 : 1;
        diffuse(&l, (const unsigned char *)in[0] + (size_t)y * row_bytes, (unsigned char *)out + (size_t)y * row_bytes);
        memset(l.rows[0], 0, n * sizeof *errors);
        st = ask(user);
    }
    ip_free(errors);
    ip_free(t);
    return st;
}

static const ip_opaque_kind kind = {
    .name = "error_diffusion", .widen = ip_opaque_widen_all, .reads = ip_opaque_read_all, .compute = compute
};

ip_stage *ip_stages_error_diffusion(ip_lower *l)
{
    ip_expr *at[4];
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(l->ir, d, l->in[0]->dims[d]);
    ip_expr *x = ip_x_load(l->ir, l->in[0], at, IP_BORDER_NONE, NULL);
    ip_stage *input = ip_lower_stage_sized(l, l->in[0]->dims, l->dtype, x, "pixels in order");
    if (!input) return NULL;
    const ip_opaque o = {
        .kind = &kind, .defines = "", .dtype = l->dtype, .n_inputs = 1, .inputs = { input }, .user = l->node
    };
    ip_stage *done = ip_stage_opaque(l->ir, &o, l->dtype, l->dims, l->node);
    if (!done || ip_alpha_of(l->node) != IP_ALPHA_STAYS) return done;
    return ip_lower_map(l, ip_x_load(l->ir, done, at, IP_BORDER_NONE, NULL)); /* which gets its alpha back */
}
