/* SPDX-License-Identifier: MIT */
#include "ops/poisson.h"

#include "base/alloc.h"

#include <math.h>

/* Weights below it are no probability that counts: 2^-32 of the sum is 10^15 times as much. */
#define LEAST_WEIGHT 1e-25

/* Weights of n numbers from first on, where that of the most likely one is 1: each from its neighbour, and from there
 * to both sides, so that no factorial is needed. */
static void fill_weights(double mean, int64_t first, int n, double *weights)
{
    const int64_t mode = (int64_t)floor(mean);
    weights[mode - first] = 1;
    for (int64_t k = mode; k > first; k--)
        weights[k - 1 - first] = weights[k - first] * (double)k / mean;
    for (int64_t k = mode + 1; k < first + n; k++)
        weights[k - first] = weights[k - 1 - first] * mean / (double)k;
}

/* How many numbers above and below the most likely one have weights. */
static int64_t reach(double mean, int step)
{
    int64_t k = (int64_t)floor(mean), from = k;
    for (double weight = 1; weight > LEAST_WEIGHT && k >= 0; k += step)
        weight = step > 0 ? weight * mean / (double)(k + 1) : weight * (double)k / mean;
    return k < 0 ? from : step * (k - from);
}

imgpar_status ip_poisson_of(double mean, ip_poisson *out, ip_error *err)
{
    const int64_t mode = (int64_t)floor(mean), low = mode - (mode > 0 ? reach(mean, -1) : 0);
    const int n = (int)(mode + reach(mean, 1) - low + 1);
    double *weights = ip_alloc_array((size_t)n, sizeof *weights), sum = 0, below = 0;
    *out = (ip_poisson){ .first = low, .words = ip_alloc_array((size_t)n, sizeof *out->words) };
    if (!weights || !out->words) {
        ip_free(weights);
        ip_free(out->words);
        out->words = NULL;
        return ip_fail_memory(err, "poisson");
    }
    fill_weights(mean, low, n, weights);
    for (int k = 0; k < n; k++)
        sum += weights[k];
    for (int k = 0; k < n; k++) {
        below += weights[k];
        const double word = rint(below / sum * 0x1p32); /* from which on there is more than low + k */
        if (word >= 0x1p32) break;
        if (word < 1)
            out->first = low + k + 1;
        else
            out->words[out->n++] = (int32_t)(word - 1 - 0x1p31);
    }
    ip_free(weights);
    return IMGPAR_OK;
}
