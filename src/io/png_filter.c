/* SPDX-License-Identifier: MIT */
/* Plain loops over bytes, each of which the compiler makes vectors of; those of the first pixel have no left neighbour
 * and go by themselves. */
#include "io/png_filter.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Sanitizers are not ready yet when the loader chooses among the clones. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || defined(__clang__)
#define VECTORS
#elif defined(__x86_64__) && defined(__GLIBC__)
#define VECTORS __attribute__((optimize("O3"), target_clones("avx2", "default")))
#elif defined(__GNUC__)
#define VECTORS __attribute__((optimize("O3")))
#else
#define VECTORS
#endif

enum { NONE, SUB, UP, AVERAGE, PAETH };

/* PNG specification, section 9.4: of a, left, b, above, and c, above left, the one nearest to a + b - c. */
static inline int paeth(int a, int b, int c)
{
    const int to_a = abs(b - c), to_b = abs(a - c), to_c = abs(a + b - 2 * c);
    const int ab = to_b < to_a ? b : a, to_ab = to_b < to_a ? to_b : to_a;
    return to_c < to_ab ? c : ab;
}

VECTORS static void sub(const uint8_t *restrict row, size_t n, size_t pixel, uint8_t *restrict out)
{
    memcpy(out, row, pixel);
    for (size_t k = pixel; k < n; k++)
        out[k] = (uint8_t)(row[k] - row[k - pixel]);
}

VECTORS static void up(const uint8_t *restrict row, const uint8_t *restrict above, size_t n, uint8_t *restrict out)
{
    for (size_t k = 0; k < n; k++)
        out[k] = (uint8_t)(row[k] - above[k]);
}

VECTORS static void average(const uint8_t *restrict row, const uint8_t *restrict above, size_t n, size_t pixel,
                            uint8_t *restrict out)
{
    for (size_t k = 0; k < pixel; k++)
        out[k] = (uint8_t)(row[k] - above[k] / 2);
    for (size_t k = pixel; k < n; k++)
        out[k] = (uint8_t)(row[k] - (row[k - pixel] + above[k]) / 2);
}

VECTORS static void nearest(const uint8_t *restrict row, const uint8_t *restrict above, size_t n, size_t pixel,
                            uint8_t *restrict out)
{
    for (size_t k = 0; k < pixel; k++)
        out[k] = (uint8_t)(row[k] - above[k]);
    for (size_t k = pixel; k < n; k++)
        out[k] = (uint8_t)(row[k] - paeth(row[k - pixel], above[k], above[k - pixel]));
}

/* The sum of the bytes' magnitudes as signed numbers. */
VECTORS static uint64_t weight(const uint8_t *bytes, size_t n)
{
    uint64_t sum = 0;
    for (size_t at = 0; at < n;) {
        const size_t end = n - at < 65536 ? n : at + 65536;
        uint32_t part = 0;
        for (; at < end; at++)
            part += bytes[at] < 128 ? bytes[at] : 256u - bytes[at];
        sum += part;
    }
    return sum;
}

static void apply(int filter, const ip_png_row *r, uint8_t *out)
{
    switch (filter) {
    case SUB: sub(r->row, r->n, r->pixel, out); break;
    case UP: up(r->row, r->above, r->n, out); break;
    case AVERAGE: average(r->row, r->above, r->n, r->pixel, out); break;
    case PAETH: nearest(r->row, r->above, r->n, r->pixel, out); break;
    default: memcpy(out, r->row, r->n); break;
    }
}

static int filter_of_least_sum(const ip_png_row *r, uint8_t *scratch)
{
    int best = NONE;
    uint64_t least = weight(r->row, r->n);
    for (int filter = SUB; filter < IP_PNG_N_FILTERS; filter++) {
        apply(filter, r, scratch);
        const uint64_t sum = weight(scratch, r->n);
        if (sum >= least) continue;
        least = sum;
        best = filter;
    }
    return best;
}

void ip_png_filter(int filter, const ip_png_row *row, unsigned char *out, unsigned char *scratch)
{
    const int chosen = filter == IP_PNG_LEAST_SUM ? filter_of_least_sum(row, scratch) : filter;
    out[0] = (unsigned char)chosen;
    apply(chosen, row, out + 1);
}

/* ---- back ------------------------------------------------------------------------------------------- */

static inline void undo_average(unsigned char *row, const unsigned char *above, size_t n, size_t pixel)
{
    for (size_t k = 0; k < pixel; k++)
        row[k] = (unsigned char)(row[k] + above[k] / 2);
    for (size_t k = pixel; k < n; k++)
        row[k] = (unsigned char)(row[k] + (row[k - pixel] + above[k]) / 2);
}

static inline void undo_paeth(unsigned char *row, const unsigned char *above, size_t n, size_t pixel)
{
    for (size_t k = 0; k < pixel; k++)
        row[k] = (unsigned char)(row[k] + above[k]);
    for (size_t at = pixel; at < n; at += pixel)
        for (size_t k = at; k < at + pixel; k++)
            row[k] = (unsigned char)(row[k] + paeth(row[k - pixel], above[k], above[k - pixel]));
}

/* With a constant size of pixels their bytes are computed side by side. */
static inline void undo(int filter, unsigned char *row, const unsigned char *above, size_t n, size_t pixel)
{
    switch (filter) {
    case SUB:
        for (size_t k = pixel; k < n; k++)
            row[k] = (unsigned char)(row[k] + row[k - pixel]);
        break;
    case UP:
        for (size_t k = 0; k < n; k++)
            row[k] = (unsigned char)(row[k] + above[k]);
        break;
    case AVERAGE: undo_average(row, above, n, pixel); break;
    case PAETH: undo_paeth(row, above, n, pixel); break;
    default: break;
    }
}

void ip_png_unfilter(int filter, unsigned char *row, const unsigned char *above, size_t n, size_t pixel)
{
    switch (pixel) {
    case 1: undo(filter, row, above, n, 1); break;
    case 2: undo(filter, row, above, n, 2); break;
    case 3: undo(filter, row, above, n, 3); break;
    case 4: undo(filter, row, above, n, 4); break;
    case 6: undo(filter, row, above, n, 6); break;
    default: undo(filter, row, above, n, 8); break;
    }
}
