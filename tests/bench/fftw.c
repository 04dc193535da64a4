/* SPDX-License-Identifier: MIT */
/* Fourier transforms by FFTW, planned by measuring, with two threads. Planning is not timed: it is done once a size. */
#include "bench.h"

#ifdef HAVE_FFTW
#include <fftw3.h>

#include <stdio.h>
#include <stdlib.h>

/* The plan of this size; out of place, of memory as aligned as what bench_alloc() gives. */
static fftwf_plan plan_of(const bench_image *in)
{
    static struct {
        int64_t width, height;
        fftwf_plan plan;
    } kept[4];
    int n = 0;
    for (; n < 4 && kept[n].plan; n++)
        if (kept[n].width == in->width && kept[n].height == in->height) return kept[n].plan;
    if (n == 4) return NULL;
    /* Measuring writes to both. */
    fftwf_complex *from = bench_alloc(in->size_bytes), *to = bench_alloc(in->size_bytes);
    const int extents[2] = { (int)in->height, (int)in->width };
    const int is_line = in->height == 1;
    kept[n].plan = fftwf_plan_dft(2 - is_line, extents + is_line, from, to, FFTW_FORWARD, FFTW_MEASURE);
    kept[n].width = in->width;
    kept[n].height = in->height;
    free(from);
    free(to);
    return kept[n].plan;
}

static bool transform(bench_task *task)
{
    void *out = bench_out(task, 0, IMGPAR_F32);
    fftwf_plan plan = plan_of(&task->in[0]);
    if (!plan) {
        snprintf(task->message, sizeof task->message, "no plan");
        return false;
    }
    fftwf_execute_dft(plan, task->in[0].data, out);
    return true;
}

bench_run bench_fftw(const bench_row *row)
{
    static bool is_ready;
    if (row->work != BENCH_FFT) return NULL;
    if (!is_ready) {
        if (!fftwf_init_threads()) return NULL;
        fftwf_plan_with_nthreads(BENCH_THREADS);
        is_ready = true;
    }
    return transform;
}

const char *bench_fftw_version(void) { return fftwf_version; }

#else

bench_run bench_fftw(const bench_row *row)
{
    (void)row;
    return NULL;
}
const char *bench_fftw_version(void) { return NULL; }

#endif
