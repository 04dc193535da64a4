/* SPDX-License-Identifier: MIT */
/* Sizes that programs and launches must agree on: of tables that histograms and folds by keys have, and of slots. */
#include "base/dtype.h"
#include "compile/passes.h"

enum { BINS_BETWEEN = 16 };

static int64_t rounded_bins(const ip_stage *histogram)
{
    int64_t bins = 256;
    while (bins < histogram->dims[2])
        bins *= 2;
    return bins;
}

int ip_histogram_tables(const ip_kernel *kernel, const ip_stage *histogram)
{
    enum { MOST = 8, CACHE_BYTES = 16384 };
    if (kernel->schedule == IP_SCHEDULE_TILES) return 1;
    int64_t bytes = histogram->dims[1] * rounded_bins(histogram) * 4;
    int tables = MOST;
    while (tables > 1 && tables * bytes > CACHE_BYTES)
        tables /= 2;
    return tables;
}

int64_t ip_histogram_pitch(const ip_kernel *kernel, const ip_stage *histogram)
{
    return ip_histogram_tables(kernel, histogram) > 1 ? rounded_bins(histogram) + BINS_BETWEEN : histogram->dims[2];
}

int64_t ip_histogram_cells(const ip_stage *histogram)
{
    int64_t cells = 4;
    while (cells < histogram->dims[1] * histogram->dims[2])
        cells *= 2;
    return cells;
}

int ip_by_key_pitch(const ip_stage *s)
{
    const bool in_vectors = s->reduce == IP_REDUCE_SUM && ip_dtype(s->acc_dtype)->is_float;
    return in_vectors && s->over[3] == 3 ? 4 : (int)s->over[3];
}

bool ip_slot_is_wide(const ip_slot *s)
{
    return s->kind == IP_SLOT_START || s->kind == IP_SLOT_PLANE ||
           (s->kind == IP_SLOT_PARAM && ip_dtype(s->param->dtype)->size_bytes == 8);
}
