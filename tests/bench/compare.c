/* SPDX-License-Identifier: MIT */
/* Whether two contenders gave the same answers, whatever dtypes they keep them in. */
#include "bench.h"

#include <math.h>
#include <stdio.h>

static double element(const bench_image *p, int64_t i)
{
    switch (p->dtype) {
    case IMGPAR_U8:
    case IMGPAR_BOOL: return ((const uint8_t *)p->data)[i];
    case IMGPAR_I8: return ((const int8_t *)p->data)[i];
    case IMGPAR_U16: return ((const uint16_t *)p->data)[i];
    case IMGPAR_I16: return ((const int16_t *)p->data)[i];
    case IMGPAR_U32: return ((const uint32_t *)p->data)[i];
    case IMGPAR_I32: return ((const int32_t *)p->data)[i];
    case IMGPAR_U64: return (double)((const uint64_t *)p->data)[i];
    case IMGPAR_I64: return (double)((const int64_t *)p->data)[i];
    case IMGPAR_F32: return (double)((const float *)p->data)[i];
    case IMGPAR_F64: return ((const double *)p->data)[i];
    default: return NAN;
    }
}

/* Only pictures have edges: answers that are a number, a table or a line are compared whole. */
static int64_t margin_of(const bench_image *p, int margin_px)
{
    return p->width > 4 * (int64_t)margin_px && p->height > 4 * (int64_t)margin_px ? margin_px : 0;
}

void bench_compare(const bench_task *a, const bench_task *b, const bench_tolerance *t, int margin_px,
                   bench_difference *out)
{
    *out = (bench_difference){ 0 };
    int64_t n_compared = 0, n_beyond = 0;
    for (int k = 0; k < a->n_out; k++) {
        const bench_image *p = &a->out[k], *q = &b->out[k];
        if (!p->data || !q->data || p->width != q->width || p->height != q->height || p->channels != q->channels) {
            snprintf(out->where, sizeof out->where, "answer %d is missing", k + 1);
            out->is_wrong = true;
            return;
        }
        int64_t m = margin_of(p, margin_px);
        for (int64_t y = m; y < p->height - m; y++)
            for (int64_t i = (y * p->width + m) * p->channels; i < (y * p->width + p->width - m) * p->channels; i++) {
                double v = element(p, i), w = element(q, i), d = fabs(v - w);
                n_compared++;
                if (d > out->largest) out->largest = d;
                if (d <= t->levels + t->relative * fabs(w)) continue;
                if (n_beyond++ == 0)
                    snprintf(out->where, sizeof out->where, "answer %d at x=%lld y=%lld: %g, not %g", k + 1,
                             (long long)(i / p->channels % p->width), (long long)y, v, w);
            }
    }
    out->share = n_compared ? (double)n_beyond / (double)n_compared : 0;
    out->is_wrong = out->share > t->share || n_compared == 0;
}
