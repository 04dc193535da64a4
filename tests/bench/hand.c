/* SPDX-License-Identifier: MIT */
/*
 * What a person writes in C for one workload alone: the sunset pipeline with the arithmetic of our rows, to the
 * byte, fused by hand; and a copy. Two threads. Compiled with -O3 -march=native.
 */
#include "bench.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* ---- two threads ---- */

typedef struct half {
    void (*part)(void *of, int64_t first, int64_t end);
    void *of;
    int64_t first, end;
} half;

static void *run_half(void *p)
{
    half *h = p;
    h->part(h->of, h->first, h->end);
    return NULL;
}

void bench_split(int64_t n, void (*part)(void *of, int64_t first, int64_t end), void *of)
{
    half upper = { part, of, n / 2, n };
    pthread_t thread;
    bool is_started = !pthread_create(&thread, NULL, run_half, &upper);
    part(of, 0, n / 2);
    if (is_started)
        pthread_join(thread, NULL);
    else
        run_half(&upper);
}

/* ---- a copy ---- */

static void copy_part(void *of, int64_t first, int64_t end)
{
    bench_task *t = of;
    memcpy((char *)t->scratch[0] + first, (const char *)t->in[0].data + first, (size_t)(end - first));
}

bool bench_copy(bench_task *task)
{
    bench_scratch(task, 0, task->in[0].size_bytes);
    bench_split((int64_t)task->in[0].size_bytes, copy_part, task);
    return true;
}

/* ---- the sunset pipeline ---- */

/*
 * A strip of columns narrow enough that all its rows in flight stay in the first-level cache. Each box keeps
 * three rows of the one before; rows carry EDGE bytes more on both sides.
 */
enum { STRIP = 1152, EDGE = 9, ROW = STRIP + 2 * EDGE + 64 };

typedef struct strip {
    int64_t first, end;           /* bytes of the row that are written */
    int64_t row_bytes, height;
    uint8_t ring[3][4][ROW];      /* outputs of the boxes; index 0 is byte first - EDGE */
    uint16_t sums[ROW];
} strip;

/* Where row y + d of an image with edges replicated is. */
static int64_t inside(int64_t y, int64_t n) { return y < 0 ? 0 : y >= n ? n - 1 : y; }

static void vertical(uint16_t *restrict sums, const uint8_t *a, const uint8_t *b, const uint8_t *c, int n)
{
    for (int i = 0; i < n; i++)
        sums[i] = (uint16_t)(a[i] + b[i] + c[i]);
}

/* (s + 4) div 9; exact for sums up to 2295. */
static void horizontal(uint8_t *restrict out, const uint16_t *sums, int n)
{
    for (int i = 0; i < n; i++) {
        uint16_t s = (uint16_t)(sums[i - 3] + sums[i] + sums[i + 3] + 4);
        out[i] = (uint8_t)((uint32_t)s * 7282u >> 16);
    }
}

/*
 * One row of one box: rows a, b, c (pointing at the strip's first byte) into out, which may reach as far as
 * `left` bytes before the strip and `right` after its end. At the image's edges sums are replicated.
 */
static void box_row(strip *s, uint8_t *out, const uint8_t *a, const uint8_t *b, const uint8_t *c, int reach)
{
    int64_t from = s->first - reach < 0 ? 0 : s->first - reach;
    int64_t to = s->end + reach > s->row_bytes ? s->row_bytes : s->end + reach;
    int64_t sums_from = from - 3 < 0 ? 0 : from - 3, sums_to = to + 3 > s->row_bytes ? s->row_bytes : to + 3;
    int64_t shift = sums_from - s->first; /* where it stands to the strip's first byte */
    uint16_t *sums = s->sums + EDGE + 16 + shift;
    vertical(sums, a + shift, b + shift, c + shift, (int)(sums_to - sums_from));
    if (sums_from == 0)
        for (int i = 1; i <= 3; i++)
            sums[-i] = sums[3 - i];
    if (sums_to == s->row_bytes)
        for (int i = 0, n = (int)(sums_to - sums_from); i < 3; i++)
            sums[n + i] = sums[n - 3 + i];
    horizontal(out + (from - s->first), s->sums + EDGE + 16 + (from - s->first), (int)(to - from));
}

static void blend_row(uint8_t *restrict out, const uint8_t *restrict a, const uint8_t *restrict b, int64_t n)
{
    const float keep = (float)(1 - 0.3), ratio = (float)0.3;
    for (int64_t i = 0; i < n; i++) {
        /* At most 255 since the weights sum to one; adding 2^23 + 2^22 rounds to nearest even. */
        union { float f; uint32_t u; } v = { fmaf((float)a[i], keep, (float)b[i] * ratio) + 12582912.0f };
        out[i] = (uint8_t)v.u;
    }
}

static void invert_row(uint8_t *restrict out, const uint8_t *restrict a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (uint8_t)(255 - a[i]);
}

/* The pixels of row y inside the circle: [*from, *to). In doubled coordinates all is whole. */
static void circle_row(int64_t y, int64_t width, int64_t height, double radius, int64_t *from, int64_t *to)
{
    double dy = (double)(2 * y - (height - 1)) / 2, rest = radius * radius - dy * dy;
    *from = *to = 0;
    if (rest < 0)
        return;
    double middle = (double)(width - 1) / 2, reach = sqrt(rest);
    *from = inside((int64_t)ceil(middle - reach), width + 1);
    *to = inside((int64_t)floor(middle + reach) + 1, width + 1);
}

static int64_t within(int64_t v, int64_t from, int64_t to) { return v < from ? from : v > to ? to : v; }

static void compose_row(const bench_task *t, const strip *s, const uint8_t *soft, int64_t y, uint8_t *result)
{
    const bench_image *p = &t->in[0];
    int64_t from, to;
    circle_row(y, p->width, p->height, (double)p->height / 4, &from, &to);
    from = within(from * 3, s->first, s->end);
    to = within(to * 3, from, s->end);
    const uint8_t *sunset = (const uint8_t *)t->in[1].data + y * s->row_bytes;
    const uint8_t *forest = (const uint8_t *)t->in[2].data + y * s->row_bytes;
    uint8_t *out = result + y * s->row_bytes;
    blend_row(out + s->first, soft, sunset + s->first, from - s->first);
    invert_row(out + from, forest + from, to - from);
    blend_row(out + to, soft + (to - s->first), sunset + to, s->end - to);
}

/* Row y of box k is computed from rows y - 1, y, y + 1 of the one before, as soon as those are there. */
static void advance(strip *s, const uint8_t *tower, int k, int64_t y)
{
    const uint8_t *rows[3];
    for (int d = 0; d < 3; d++) {
        int64_t from = inside(y + d - 1, s->height);
        rows[d] = k == 0 ? tower + from * s->row_bytes + s->first : s->ring[k - 1][from & 3] + EDGE;
    }
    box_row(s, s->ring[k][y & 3] + EDGE, rows[0], rows[1], rows[2], 6 - 3 * k);
}

static void sunset_part(void *of, int64_t first, int64_t end)
{
    bench_task *t = of;
    const bench_image *p = &t->in[0];
    strip s = { .row_bytes = p->width * 3, .height = p->height };
    for (s.first = 0; s.first < s.row_bytes; s.first = s.end) {
        s.end = s.first + STRIP > s.row_bytes ? s.row_bytes : s.first + STRIP;
        /* Box k runs 2 - k rows ahead of the result; a part starts with the rows its first ones need. */
        for (int64_t y = first - 4; y < end; y++)
            for (int k = 0; k < 3; k++) {
                int64_t row = y + 2 - k;
                if (row >= 0 && row < p->height && row >= first - (2 - k))
                    advance(&s, p->data, k, row);
                if (k == 2 && y >= first)
                    compose_row(t, &s, s.ring[2][y & 3] + EDGE, y, t->out[0].data);
            }
    }
}

static bool sunset(bench_task *task)
{
    bench_out(task, 0, IMGPAR_U8);
    bench_split(task->in[0].height, sunset_part, task);
    return true;
}

bench_run bench_hand(const bench_row *row)
{
    return row->work == BENCH_SUNSET ? sunset : NULL;
}
