/* SPDX-License-Identifier: MIT */
/*
 * What a person writes in C for one workload alone: the sunset pipeline with the arithmetic of our rows, to the
 * byte, fused by hand; qsort(); and a copy. Two threads. Compiled with -O3 -march=native.
 */
#include "bench.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
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

/* Whole rows: each box keeps four of its results, the last ones, so nothing between the boxes leaves the cache. */
typedef struct rows {
    int64_t n, height; /* elements in a row; rows */
    uint8_t *ring[3];  /* of each box: four rows */
    uint16_t *sums;    /* of one row, three elements more on both sides */
} rows;

/* The row that stands for row y where edges are replicated. */
static int64_t inside(int64_t y, int64_t n) { return y < 0 ? 0 : y >= n ? n - 1 : y; }

static void vertical(uint16_t *restrict sums, const uint8_t *a, const uint8_t *b, const uint8_t *c, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sums[i] = (uint16_t)(a[i] + b[i] + c[i]);
}

/* (s + 4) div 9; exact for sums up to 2295. */
static void horizontal(uint8_t *restrict out, const uint16_t *sums, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t s = (uint16_t)(sums[i - 3] + sums[i] + sums[i + 3] + 4);
        out[i] = (uint8_t)((uint32_t)s * 7282u >> 16);
    }
}

static void blend_row(uint8_t *restrict out, const uint8_t *restrict a, const uint8_t *restrict b, int64_t n)
{
    const float keep = (float)(1 - 0.3), ratio = (float)0.3;
    for (int64_t i = 0; i < n; i++) {
        /* At most 255 since the weights sum to one; adding 2^23 + 2^22 rounds to nearest even. */
        union {
            float f;
            uint32_t u;
        } v = { fmaf((float)a[i], keep, (float)b[i] * ratio) + 12582912.0f };
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
    if (rest < 0) return;
    double middle = (double)(width - 1) / 2, reach = sqrt(rest);
    *from = inside((int64_t)ceil(middle - reach), width + 1);
    *to = inside((int64_t)floor(middle + reach) + 1, width + 1);
}

static void compose_row(const bench_task *t, const uint8_t *soft, int64_t y)
{
    const bench_image *p = &t->in[0];
    int64_t n = p->width * 3, from, to;
    circle_row(y, p->width, p->height, (double)p->height / 4, &from, &to);
    from *= 3, to *= 3;
    const uint8_t *evening = (const uint8_t *)t->in[1].data + y * n, *forest = (const uint8_t *)t->in[2].data + y * n;
    uint8_t *out = (uint8_t *)t->out[0].data + y * n;
    blend_row(out, soft, evening, from);
    invert_row(out + from, forest + from, to - from);
    blend_row(out + to, soft + to, evening + to, n - to);
}

/* Row y of box k, from rows y - 1, y and y + 1 of the box before. */
static void box_row(rows *r, const uint8_t *tower, int k, int64_t y)
{
    const uint8_t *in[3];
    for (int d = 0; d < 3; d++) {
        int64_t from = inside(y + d - 1, r->height);
        in[d] = k == 0 ? tower + from * r->n : r->ring[k - 1] + (from & 3) * r->n;
    }
    vertical(r->sums, in[0], in[1], in[2], r->n);
    for (int i = 0; i < 3; i++) {
        r->sums[i - 3] = r->sums[i];
        r->sums[r->n + i] = r->sums[r->n - 3 + i];
    }
    horizontal(r->ring[k] + (y & 3) * r->n, r->sums, r->n);
}

static void sunset_part(void *of, int64_t first, int64_t end)
{
    bench_task *t = of;
    rows r = { .n = t->in[0].width * 3, .height = t->in[0].height };
    uint8_t *memory = (uint8_t *)t->scratch[0] + (first > 0 ? t->scratch_bytes[0] / 2 : 0);
    for (int k = 0; k < 3; k++)
        r.ring[k] = memory + k * 4 * r.n;
    r.sums = (uint16_t *)(memory + 12 * r.n) + 32;
    /* Box k runs 2 - k rows ahead of the result; the first rows are what row `first` needs of it. */
    for (int64_t y = first - 4; y < end; y++) {
        for (int k = 0; k < 3; k++) {
            int64_t row = y + 2 - k;
            if (row >= inside(first - (2 - k), r.height) && row < r.height) box_row(&r, t->in[0].data, k, row);
        }
        if (y >= first) compose_row(t, r.ring[2] + (y & 3) * r.n, y);
    }
}

static bool sunset(bench_task *task)
{
    bench_out(task, 0, IMGPAR_U8);
    bench_scratch(task, 0, (size_t)(2 * (task->in[0].width * 3 * 14 + 128) + 127) / 128 * 128);
    bench_split(task->in[0].height, sunset_part, task);
    return true;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static bool sort(bench_task *task)
{
    const bench_image *in = &task->in[0];
    float *out = bench_out(task, 0, IMGPAR_F32);
    memcpy(out, in->data, in->size_bytes);
    qsort(out, (size_t)in->width, sizeof *out, by_value);
    return true;
}

/* ---- systems of three equations ---- */

/* Of m: three rows of four, the last of which are the right-hand side; Gauss with the largest pivots. */
static void solve_one(float m[3][4], float x[3])
{
    for (int k = 0; k < 3; k++) {
        int best = k;
        for (int i = k + 1; i < 3; i++)
            if (fabsf(m[i][k]) > fabsf(m[best][k])) best = i;
        for (int j = k; j < 4 && best != k; j++) {
            const float kept = m[k][j];
            m[k][j] = m[best][j];
            m[best][j] = kept;
        }
        for (int i = k + 1; i < 3; i++) {
            const float f = m[i][k] / m[k][k];
            for (int j = k + 1; j < 4; j++)
                m[i][j] = fmaf(-f, m[k][j], m[i][j]);
        }
    }
    for (int i = 2; i >= 0; i--) {
        x[i] = m[i][3];
        for (int j = i + 1; j < 3; j++)
            x[i] = fmaf(-m[i][j], x[j], x[i]);
        x[i] /= m[i][i];
    }
}

static void solve_part(void *of, int64_t first, int64_t end)
{
    bench_task *task = of;
    const float *a = task->in[0].data, *b = a + task->in[0].width / 12 * 9;
    float *out = task->out[0].data;
    for (int64_t p = first; p < end; p++) {
        float m[3][4];
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++)
                m[i][j] = a[p * 9 + i * 3 + j] + (i == j ? 4 : 0);
            m[i][3] = b[p * 3 + i];
        }
        solve_one(m, out + p * 3);
    }
}

static bool solve(bench_task *task)
{
    bench_out(task, 0, IMGPAR_F32);
    bench_split(task->in[0].width / 12, solve_part, task);
    return true;
}

bench_run bench_hand(const bench_row *row)
{
    return row->work == BENCH_SUNSET  ? sunset
           : row->work == BENCH_SORT  ? sort
           : row->work == BENCH_SOLVE ? solve
                                      : NULL;
}
