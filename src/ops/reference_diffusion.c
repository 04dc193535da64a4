/* SPDX-License-Identifier: MIT */
/*
 * Error diffusion: what a pixel loses by becoming one of few colours is added to pixels that come after it, in the
 * order of reading. Each pixel waits for the one before it, so rows are computed side by side, in the lanes of vectors,
 * each some columns behind the one above it.
 *
 * Note [Rows side by side]
 * LANES rows are a strip. At a step row r of it is at column step - LAG r, so that what it needs of the rows above, up
 * to REACH columns ahead, is there. The errors of a step stand side by side behind those of the two rows before the
 * strip, which are at columns of their own likewise: from its k-th element on an element of `errors` holds, for each
 * row, the error of the row 2 - k above. What has come to a pixel is added up in the order in which the errors were
 * made, as a loop over pixels would, so sums are the same to the bit. Where every second row goes from right to left a
 * strip is one row.
 */
#include "ops/diffusion.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"
#include "graph/array.h"

#include <math.h>
#include <string.h>

/* Sanitizers are not ready yet when the loader chooses among the clones. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || defined(__clang__)
#define VECTORS
#elif defined(__x86_64__) && defined(__GLIBC__)
#define VECTORS __attribute__((optimize("O3"), target_clones("avx512f", "avx2", "default")))
#elif defined(__GNUC__)
#define VECTORS __attribute__((optimize("O3")))
#else
#define VECTORS
#endif
#define INLINE static inline __attribute__((always_inline))

enum {
    REACH = 2,        /* columns and rows that an error goes at most */
    ROWS = REACH + 1, /* from the pixel's own on */
    COLUMNS = 2 * REACH + 1,
    LANES = 8, /* rows of a strip */
    LAG = REACH + 1,
    RING = 16,               /* steps whose errors are kept: more than 2 LAG + REACH, a power of two */
    BLOCK = 64,              /* steps between two looks at the picture */
    COLOURS_ASKED = 1 << 20, /* looked at between two questions whether to go on */
    AT_ONCE = 4,             /* channels; a palette's colours have no more */
    MOST_TAPS = ROWS * COLUMNS,
    MOST_BYTES = 8
};

/* A number of each row of a strip. */
typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));
typedef int64_t masks __attribute__((vector_size(LANES * sizeof(int64_t)), aligned(sizeof(int64_t)), may_alias));
typedef int32_t wholes __attribute__((vector_size(LANES * sizeof(int32_t)), aligned(sizeof(int32_t)), may_alias));

/* Shares of the error, over their divisor, of the rows from the pixel's own on; the pixel is amid the first.
 * As the parameter "kernel" numbers them. */
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

/* Where an error comes from: so many rows above, made so many steps ago. */
typedef struct tap {
    int row, steps;
    double share;
} tap;

/* What there is to choose from: of colour k and channel c element and number stand at k * of + c * each; and in
 * `across` the numbers of LANES colours of one channel side by side, NaN where there are no more. */
typedef struct colours {
    int64_t n, of, each;
    unsigned char (*elements)[MOST_BYTES];
    double *values, *across;
} colours;

/* See Note [Rows side by side]. */
typedef double errors[REACH + LANES];

typedef struct strip {
    const colours *colours;
    imgpar_dtype dtype;
    bool is_palette; /* channels meet in it; else they are by themselves */
    double full, divisor;
    int n_taps;
    tap taps[MOST_TAPS];     /* in the order in which their errors were made */
    int64_t width, channels; /* of the picture */
    int64_t first, n;        /* the channels that are computed */
    int64_t used[LANES];     /* -1: that row is there, 0: it is not */
    int64_t rows, step;      /* of the strip; step: 1 from left to right, -1 back */
    const unsigned char *in; /* its first row */
    unsigned char *out;
    double *before[REACH]; /* errors of the rows before it, the last one at 1: of each column AT_ONCE channels */
    errors ring[RING][AT_ONCE];
    double levels[BLOCK][AT_ONCE][LANES];
    int32_t chosen[BLOCK][AT_ONCE][LANES];
} strip;

/* ---- colours ---------------------------------------------------------------------------------------------------- */

static void colours_free(colours *c)
{
    ip_free(c->elements);
    ip_free(c->values);
    ip_free(c->across);
}

static imgpar_status colours_new(const ip_opaque *o, const unsigned char *palette, colours *c)
{
    const ip_type *type = &((const imgpar_array *)o->user)->type;
    const int64_t tones = o->sizes[IP_DIFFUSION_TONES];
    const size_t size = ip_dtype(type->dtype)->size_bytes;
    *c = tones ? (colours){ .n = tones, .of = 1 }
               : (colours){ .n = o->sizes[IP_DIFFUSION_COLOURS], .of = o->dims[3], .each = 1 };
    const size_t n = (size_t)(c->n * c->of), most = (size_t)(ip_ceil_div(c->n, LANES) * c->of) * LANES;
    c->elements = ip_alloc_array(n, sizeof *c->elements);
    c->values = ip_alloc_array(n, sizeof *c->values);
    c->across = ip_alloc_array(most, sizeof *c->across);
    if (!c->elements || !c->values || !c->across) return IMGPAR_E_HOST_MEMORY; /* the caller frees what there is */
    for (size_t k = 0; k < n; k++) {
        if (tones)
            ip_store_number(type->dtype, c->elements[k], ip_type_full(type) * (double)k / (double)(tones - 1));
        else
            memcpy(c->elements[k], palette + k * size, size);
        c->values[k] = ip_load_number(type->dtype, c->elements[k]);
    }
    for (size_t k = 0; k < most; k++) {
        const size_t of = (size_t)c->of, colour = k / LANES / of * LANES + k % LANES, channel = k / LANES % of;
        c->across[k] = colour < (size_t)c->n ? c->values[colour * of + channel] : (double)NAN;
    }
    return IMGPAR_OK;
}

/* ---- the picture and the lanes ---------------------------------------------------------------------------------- */

/* The steps of a block from `start` on at which row r is within the picture. */
typedef struct within {
    int64_t from, to;
} within;

INLINE within steps_within(const strip *s, int64_t start, int64_t n, int64_t r)
{
    const int64_t behind = start - LAG * r; /* the column of the first step */
    return (within){ ip_max(-behind, 0), ip_min(s->width - behind, n) };
}

INLINE size_t place_of(const strip *s, int64_t step, int64_t r, int64_t c)
{
    const int64_t x = step - LAG * r;
    return (size_t)((r * s->width + (s->step > 0 ? x : s->width - 1 - x)) * s->channels + s->first + c);
}

INLINE double number_of(imgpar_dtype dtype, const unsigned char *at)
{
    uint16_t word;
    float real;
    switch (dtype) {
    case IMGPAR_U8: return *at;
    case IMGPAR_U16: memcpy(&word, at, sizeof word); return word;
    case IMGPAR_F32: memcpy(&real, at, sizeof real); return real;
    default: return ip_load_number(dtype, at);
    }
}

/* Levels between black and white; NaN stay. */
INLINE void load_as(strip *s, int64_t start, int64_t n, imgpar_dtype dtype, size_t size)
{
    for (int64_t r = 0; r < s->rows; r++) {
        const within w = steps_within(s, start, n, r);
        for (int64_t i = w.from; i < w.to; i++) {
            const unsigned char *at = s->in + place_of(s, start + i, r, 0) * size;
            for (int64_t c = 0; c < s->n; c++) {
                double a = number_of(dtype, at + (size_t)c * size);
                a = a < 0 ? 0 : a;
                s->levels[i][c][r] = a > s->full ? s->full : a;
            }
        }
    }
}

static void load(strip *s, int64_t start, int64_t n)
{
    switch (s->dtype) {
    case IMGPAR_U8: load_as(s, start, n, IMGPAR_U8, 1); break;
    case IMGPAR_U16: load_as(s, start, n, IMGPAR_U16, 2); break;
    case IMGPAR_F32: load_as(s, start, n, IMGPAR_F32, 4); break;
    default: load_as(s, start, n, s->dtype, ip_dtype(s->dtype)->size_bytes); break;
    }
}

INLINE void store_as(const strip *s, int64_t start, int64_t n, size_t size)
{
    for (int64_t r = 0; r < s->rows; r++) {
        const within w = steps_within(s, start, n, r);
        for (int64_t i = w.from; i < w.to; i++) {
            unsigned char *at = s->out + place_of(s, start + i, r, 0) * size;
            for (int64_t c = 0; c < s->n; c++) {
                const int64_t k = s->chosen[i][s->is_palette ? 0 : c][r] * s->colours->of + c * s->colours->each;
                memcpy(at + (size_t)c * size, s->colours->elements[k], size);
            }
        }
    }
}

static void store(const strip *s, int64_t start, int64_t n)
{
    switch (ip_dtype(s->dtype)->size_bytes) {
    case 1: store_as(s, start, n, 1); break;
    case 2: store_as(s, start, n, 2); break;
    case 4: store_as(s, start, n, 4); break;
    default: store_as(s, start, n, 8); break;
    }
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static void carry_in(strip *s, int64_t step)
{
    for (int k = 0; k < REACH; k++) {
        const int64_t x = step + LAG * (REACH - k), at = s->step > 0 ? x : s->width - 1 - x;
        for (int64_t c = 0; c < s->n; c++)
            s->ring[step & (RING - 1)][c][k] = x >= 0 && x < s->width ? s->before[k][at * AT_ONCE + c] : 0;
    }
}

/* The errors of rows that are beside the picture are none; those of the last two rows are kept for the next strip. */
static void carry_out(strip *s, int64_t step)
{
    errors *now = s->ring[step & (RING - 1)];
    const bool is_edge = step < LAG * (s->rows - 1) || step >= s->width;
    for (int64_t r = 0; is_edge && r < s->rows; r++) {
        const int64_t x = step - LAG * r;
        for (int64_t c = 0; (x < 0 || x >= s->width) && c < s->n; c++)
            now[c][REACH + r] = 0;
    }
    for (int k = 0; k < REACH; k++) {
        const int64_t r = s->rows - REACH + k, x = step - LAG * r, at = s->step > 0 ? x : s->width - 1 - x;
        for (int64_t c = 0; x >= 0 && x < s->width && c < s->n; c++)
            s->before[k][at * AT_ONCE + c] = now[c][REACH + r];
    }
}

/* What a pixel of each row is with the errors that have come to it. */
INLINE void gather(const strip *s, int64_t step, int64_t i, int64_t c, lanes *v)
{
    lanes sum = { 0 };
    for (int t = 0; t < s->n_taps; t++) {
        const tap *by = &s->taps[t];
        sum += *(const lanes *)(s->ring[(step - by->steps) & (RING - 1)][c] + REACH - by->row) * by->share;
    }
    *v = *(const lanes *)s->levels[i][c] + sum;
}

/* yes where the mask is set, else no. */
#define CHOOSE(MASK, YES, NO) ((lanes)(((MASK) & (masks)(YES)) | (~(MASK) & (masks)(NO))))

/* v between 0 and most; NaN is 0. */
INLINE void limit(lanes *v, double most)
{
    const lanes none = { 0 }, top = none + most;
    *v = CHOOSE(*v > none, *v, none);
    *v = CHOOSE(*v < top, *v, top);
}

/* What is lost where a pixel becomes the chosen colour, one of values; of NaN nothing. */
INLINE void lose(strip *s, int64_t step, int64_t i, int64_t c, const lanes *v, const double *values)
{
    const lanes level = *(const lanes *)s->levels[i][c], none = { 0 };
    const int32_t *chosen = s->chosen[i][s->is_palette ? 0 : c];
    const int64_t of = s->is_palette ? s->colours->of : 1;
    lanes value;
    for (int r = 0; r < LANES; r++)
        value[r] = values[chosen[r] * of];
    const lanes error = (*v - value) / s->divisor;
    *(lanes *)(s->ring[step & (RING - 1)][c] + REACH) = CHOOSE((level == level) & *(const masks *)s->used, error, none);
}

/* The nearest of equal steps from black to white, of equals the lighter one; NaN is black. */
VECTORS static void tone_step(strip *s, int64_t step, int64_t i)
{
    const double full = s->full, last = (double)(s->colours->n - 1);
    for (int64_t c = 0; c < s->n; c++) {
        lanes v, k;
        gather(s, step, i, c, &v);
        k = v / full * last + 0.5;
        limit(&k, last);
        *(wholes *)s->chosen[i][c] = __builtin_convertvector(k, wholes);
        lose(s, step, i, c, &v, s->colours->values);
    }
}

/* Where v is nearer to a colour than `least` tells; v[c]: channel c. */
INLINE void compare(const lanes *v, const lanes *to, int64_t n, const lanes *number, lanes *least, lanes *best)
{
    lanes far = { 0 };
    for (int64_t c = 0; c < n; c++)
        far += (v[c] - to[c]) * (v[c] - to[c]);
    const masks is_nearer = far < *least;
    *best = CHOOSE(is_nearer, *number, *best);
    *least = CHOOSE(is_nearer, far, *least);
}

/* The nearest colour to each row's pixel, of equals the first. */
INLINE void choose(const colours *p, const lanes *v, int64_t n, int32_t *chosen)
{
    const lanes none = { 0 };
    lanes least = none + (double)INFINITY, best = none, to[AT_ONCE];
    for (int64_t k = 0; k < p->n; k++) {
        const lanes number = none + (double)k;
        for (int64_t c = 0; c < n; c++)
            to[c] = none + p->values[k * p->of + c];
        compare(v, to, n, &number, &least, &best);
    }
    *(wholes *)chosen = __builtin_convertvector(best, wholes);
}

/* The same of the first row alone, colours being side by side. */
INLINE void choose_of_one(const colours *p, const lanes *v, int64_t n, int32_t *chosen)
{
    const lanes none = { 0 };
    lanes least = none + (double)INFINITY, best = none, number = { 0, 1, 2, 3, 4, 5, 6, 7 }, all[AT_ONCE];
    for (int64_t c = 0; c < n; c++)
        all[c] = none + v[c][0];
    for (int64_t k = 0; k < p->n; k += LANES, number += LANES)
        compare(all, (const lanes *)(p->across + k * p->of), n, &number, &least, &best);
    double far = (double)INFINITY, first = 0;
    for (int r = 0; r < LANES; r++)
        if (least[r] < far || (least[r] == far && best[r] < first)) far = least[r], first = best[r];
    chosen[0] = (int32_t)first;
}

/* With its errors a pixel is between black and white. */
VECTORS static void palette_step(strip *s, int64_t step, int64_t i)
{
    const colours *p = s->colours;
    lanes v[AT_ONCE];
    for (int64_t c = 0; c < s->n; c++) {
        gather(s, step, i, c, &v[c]);
        limit(&v[c], s->full);
    }
    if (s->rows == 1)
        choose_of_one(p, v, s->n, s->chosen[i][0]);
    else
        choose(p, v, s->n, s->chosen[i][0]);
    for (int64_t c = 0; c < s->n; c++)
        lose(s, step, i, c, &v[c], p->values + c);
}

/* From REACH rows before its first on, so that what these lost is there. */
static imgpar_status diffuse(strip *s, ip_opaque_ask ask, void *user)
{
    const int64_t end = s->width + LAG * (s->rows - 1);
    const int64_t asked = ip_max(COLOURS_ASKED / s->colours->n, 1); /* after so many steps */
    imgpar_status st = IMGPAR_OK;
    memset(s->ring, 0, sizeof s->ring);
    for (int64_t r = 0; r < LANES; r++)
        s->used[r] = r < s->rows ? -1 : 0;
    for (int64_t step = -LAG * REACH; step < 0; step++) {
        carry_in(s, step);
        carry_out(s, step);
    }
    for (int64_t start = 0; !st && start < end; start += BLOCK) {
        const int64_t n = ip_min(end - start, BLOCK);
        load(s, start, n);
        for (int64_t i = 0; !st && i < n; i++) {
            carry_in(s, start + i);
            if (s->is_palette)
                palette_step(s, start + i, i);
            else
                tone_step(s, start + i, i);
            carry_out(s, start + i);
            if ((i + 1) % asked == 0) st = ask(user);
        }
        if (!st) store(s, start, n);
        if (!st) st = ask(user);
    }
    return st;
}

/* ---- pictures --------------------------------------------------------------------------------------------------- */

/* From rows above first, of each from the pixel on that was computed first. */
static void find_taps(strip *s, const diffusion *by, bool is_serpentine)
{
    for (int row = REACH; row >= 0; row--)
        for (int k = 0; k < (row ? COLUMNS : REACH); k++) {
            const bool is_back = is_serpentine && row % 2;
            const int j = is_back ? REACH - k : k - REACH; /* so many columns ahead of the pixel */
            const int share = by->shares[row][is_back ? REACH + j : REACH - j];
            if (share) s->taps[s->n_taps++] = (tap){ row, LAG * row - j, share };
        }
}

/* A plane's rows, of some channels. */
static imgpar_status plane(strip *s, const ip_opaque *o, size_t at, const unsigned char *in, unsigned char *out,
                           ip_opaque_ask ask, void *user)
{
    const bool is_serpentine = o->sizes[IP_DIFFUSION_SERPENTINE] != 0;
    const int64_t high = is_serpentine ? 1 : LANES;
    const size_t row_bytes = (size_t)(s->width * s->channels) * ip_dtype(s->dtype)->size_bytes;
    imgpar_status st = IMGPAR_OK;
    for (int k = 0; k < REACH; k++)
        memset(s->before[k], 0, (size_t)s->width * AT_ONCE * sizeof(double));
    for (int64_t y = 0; !st && y < o->dims[1]; y += high) {
        s->rows = ip_min(high, o->dims[1] - y);
        s->step = is_serpentine && y % 2 ? -1 : 1;
        s->in = in + (at + (size_t)y) * row_bytes;
        s->out = out + (at + (size_t)y) * row_bytes;
        st = diffuse(s, ask, user);
    }
    return st;
}

imgpar_status ip_diffusion_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const imgpar_array *node = o->user;
    const diffusion *by = &diffusions[o->sizes[IP_DIFFUSION_KERNEL]];
    const bool is_palette = o->sizes[IP_DIFFUSION_TONES] == 0;
    colours table = { 0 };
    imgpar_status st = colours_new(o, is_palette ? in[1] : NULL, &table);
    strip *s = ip_alloc(sizeof *s);
    double *before = ip_alloc_array((size_t)o->dims[2], REACH * AT_ONCE * sizeof *before);
    if (!s || !before) st = IMGPAR_E_HOST_MEMORY;
    if (!st) {
        memset(s, 0, sizeof *s);
        *s = (strip){ .colours = &table,
                      .dtype = node->type.dtype,
                      .is_palette = is_palette,
                      .full = ip_type_full(&node->type),
                      .divisor = by->divisor,
                      .width = o->dims[2],
                      .channels = o->dims[3],
                      .before = { before, before + o->dims[2] * AT_ONCE } };
        find_taps(s, by, o->sizes[IP_DIFFUSION_SERPENTINE] != 0);
    }
    for (int64_t z = 0; !st && z < o->dims[0]; z++)
        for (s->first = 0; !st && s->first < s->channels; s->first += AT_ONCE) {
            s->n = ip_min(s->channels - s->first, AT_ONCE);
            st = plane(s, o, (size_t)(z * o->dims[1]), in[0], out, ask, user);
        }
    ip_free(before);
    ip_free(s);
    colours_free(&table);
    return st;
}
