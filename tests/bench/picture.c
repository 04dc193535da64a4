/* SPDX-License-Identifier: MIT */
/* Inputs: slow waves, hard edges and noise, so that no filter sees a special case. Drawn from integers. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
    imgpar_dtype dtype;
    int64_t width, height, channels, small_width, small_height;
} kinds[BENCH_N_INPUTS] = {
    [BENCH_RGB] = { IMGPAR_U8, 4000, 3000, 3, 240, 180 },
    [BENCH_RGBA] = { IMGPAR_U8, 4000, 3000, 4, 240, 180 },
    [BENCH_GRAY] = { IMGPAR_U8, 4000, 3000, 1, 240, 180 },
    [BENCH_RGB_F32] = { IMGPAR_F32, 4000, 3000, 3, 240, 180 },
    [BENCH_LINE_F32] = { IMGPAR_F32, 60000000, 1, 1, 20000, 1 },
    [BENCH_LINE_10M] = { IMGPAR_F32, 10000000, 1, 1, 20000, 1 },
    [BENCH_LINE_6M] = { IMGPAR_F32, 6000000, 1, 1, 20000, 1 },
    [BENCH_HIMENO] = { IMGPAR_F32, 129 * 65 * 65, 1, 1, 129 * 65 * 65, 1 },
    [BENCH_HIMENO_ALL] = { IMGPAR_F32, 13 * 129 * 65 * 65, 1, 1, 13 * 129 * 65 * 65, 1 },
    [BENCH_GRAY_1080P] = { IMGPAR_U8, 1920, 1080, 1, 240, 180 },
    [BENCH_GRAY_4K] = { IMGPAR_U8, 3840, 2160, 1, 240, 180 },
    [BENCH_MATRIX_F32] = { IMGPAR_F32, 4000, 3000, 1, 240, 180 },
    [BENCH_SQUARE_F32] = { IMGPAR_F32, 1024, 1024, 1, 48, 48 },
    [BENCH_SQUARE_COMPLEX] = { IMGPAR_COMPLEX64, 1024, 1024, 1, 64, 64 },
    [BENCH_LINE_COMPLEX] = { IMGPAR_COMPLEX64, 1 << 20, 1, 1, 1 << 10, 1 },
    [BENCH_MAPPED] = { IMGPAR_U8, 4000, 3000, 3, 240, 180 },
    [BENCH_GATHERED] = { IMGPAR_F32, 10000000, 1, 1, 20000, 1 },
};

/* A triangle wave from 0 to 127. */
static unsigned wave(unsigned t)
{
    t &= 255;
    return t < 128 ? t : 255 - t;
}

static unsigned noise(uint32_t n)
{
    n ^= n >> 16;
    n *= 0x7feb352du;
    n ^= n >> 15;
    n *= 0x846ca68bu;
    return (n ^ n >> 16) & 15;
}

static unsigned level(int64_t x, int64_t y, int64_t c, int n)
{
    unsigned u = (unsigned)x, v = (unsigned)y, k = (unsigned)c + 3u * (unsigned)n;
    unsigned smooth = (wave((u + 97 * k) / (5 + k)) + wave((v + 31 * k) / 7 + u / 23)) / 2;
    unsigned edge = ((u / 61 + v / 43 + k) % 5 == 0) ? 90 : 20;
    return smooth + edge + noise((uint32_t)(u * 73856093u) ^ (v * 19349663u) ^ (k * 83492791u));
}

/* Near each element, mixed up. */
static void draw_places(int32_t *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t place = i + 8 * (int64_t)noise((uint32_t)i) - 60;
        to[i] = (int32_t)(place < 0 ? 0 : place < n ? place : n - 1);
    }
}

/* Rows, n being 1, or columns, as a lens might move them. */
static void draw_map(const bench_image *p, int n)
{
    float *to = p->data;
    for (int64_t y = 0; y < p->height; y++)
        for (int64_t x = 0; x < p->width; x++) {
            const unsigned u = (unsigned)x, v = (unsigned)y;
            const float moved = (float)wave(n == 1 ? u / 9 + v / 23 : v / 7 + u / 31) * 0.625f - 40;
            *to++ = (float)(n == 1 ? y : x) + moved;
        }
}

static void draw(bench_image *p, int n)
{
    /* Complex numbers are pairs of real ones. */
    const int64_t channels = p->dtype == IMGPAR_COMPLEX64 ? 2 : p->channels;
    int64_t i = 0;
    for (int64_t y = 0; y < p->height; y++)
        for (int64_t x = 0; x < p->width; x++)
            for (int64_t c = 0; c < channels; c++, i++) {
                if (p->dtype == IMGPAR_U8)
                    ((uint8_t *)p->data)[i] = (uint8_t)level(x, y, c, n);
                else if (p->height == 1)
                    ((float *)p->data)[i] = (float)level(x & 4095, x >> 12, c, n) / 255;
                else
                    ((float *)p->data)[i] = (float)level(x, y, c, n) + 0.37f;
            }
}

const bench_image *bench_picture(bench_input kind, int n, bool is_small)
{
    static bench_image kept[BENCH_N_INPUTS][BENCH_MAX_IN][2];
    bench_image *p = &kept[kind][n][is_small];
    if (!p->data) {
        const bool is_places = kind == BENCH_GATHERED && n == 1, is_map = kind == BENCH_MAPPED && n > 0;
        p->dtype = is_places ? IMGPAR_I32 : is_map ? IMGPAR_F32 : kinds[kind].dtype;
        p->width = is_small ? kinds[kind].small_width : kinds[kind].width;
        p->height = is_small ? kinds[kind].small_height : kinds[kind].height;
        p->channels = is_map ? 1 : kinds[kind].channels;
        p->size_bytes = (size_t)(p->width * p->height * p->channels) * imgpar_dtype_size(p->dtype);
        p->data = bench_alloc(p->size_bytes);
        if (is_places)
            draw_places(p->data, p->width);
        else if (is_map)
            draw_map(p, n);
        else
            draw(p, n);
    }
    return p;
}

/* ---- memory of tasks ---- */

void *bench_alloc(size_t size_bytes)
{
    void *p = aligned_alloc(4096, (size_bytes + 4095) / 4096 * 4096);
    if (!p) {
        fprintf(stderr, "bench: no memory for %zu bytes\n", size_bytes);
        exit(1);
    }
    return p;
}

void *bench_out(bench_task *task, int k, imgpar_dtype dtype)
{
    bench_image *p = &task->out[k];
    if (!p->data) {
        p->dtype = dtype;
        p->size_bytes = (size_t)(p->width * p->height * p->channels) * imgpar_dtype_size(dtype);
        p->data = bench_alloc(p->size_bytes);
    }
    return p->data;
}

void *bench_scratch(bench_task *task, int k, size_t size_bytes)
{
    if (task->scratch_bytes[k] < size_bytes) {
        free(task->scratch[k]);
        task->scratch[k] = bench_alloc(size_bytes);
        task->scratch_bytes[k] = size_bytes;
    }
    return task->scratch[k];
}

void bench_task_clear(bench_task *task)
{
    for (int k = 0; k < BENCH_MAX_OUT; k++)
        free(task->out[k].data), task->out[k].data = NULL;
    for (int k = 0; k < BENCH_MAX_SCRATCH; k++)
        free(task->scratch[k]), task->scratch[k] = NULL, task->scratch_bytes[k] = 0;
}
