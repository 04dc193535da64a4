/* SPDX-License-Identifier: MIT */
/* What the GNU Scientific Library has of the works. It has no threads; where lines fall apart by themselves they are
 * given two. */
#include "bench.h"

#ifdef HAVE_GSL
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort_float.h>
#include <gsl/gsl_version.h>

#include <string.h>

static bool sort(bench_task *task)
{
    const bench_image *in = &task->in[0];
    float *out = bench_out(task, 0, IMGPAR_F32);
    memcpy(out, in->data, in->size_bytes);
    gsl_sort_float(out, 1, (size_t)in->width);
    return true;
}

/* Each half has a generator of its own. */
static void normal_part(void *of, int64_t first, int64_t end)
{
    bench_task *task = of;
    float *out = task->out[0].data;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, (unsigned long)first + 1);
    for (int64_t i = first; i < end; i++)
        out[i] = (float)gsl_ran_gaussian_ziggurat(rng, 1);
    gsl_rng_free(rng);
}

static bool normal(bench_task *task)
{
    bench_out(task, 0, IMGPAR_F32);
    bench_split(task->in[0].width, normal_part, task);
    return true;
}

bench_run bench_gsl(const bench_row *row)
{
    return row->work == BENCH_SORT ? sort : row->work == BENCH_NORMAL ? normal : NULL;
}
const char *bench_gsl_version(void) { return gsl_version; }

#else

bench_run bench_gsl(const bench_row *row)
{
    (void)row;
    return NULL;
}
const char *bench_gsl_version(void) { return NULL; }

#endif
