/* SPDX-License-Identifier: MIT */
/* The matrix product by OpenBLAS, with two threads. */
#include "bench.h"

#ifdef HAVE_OPENBLAS
#include <cblas.h>

static bool product(bench_task *task)
{
    const bench_image *a = &task->in[0], *b = &task->in[1];
    const blasint rows = (blasint)a->height, inner = (blasint)a->width, columns = (blasint)b->width;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, inner, 1, a->data, inner, b->data, columns, 0,
                bench_out(task, 0, IMGPAR_F32), columns);
    return true;
}

bench_run bench_openblas(const bench_row *row)
{
    openblas_set_num_threads(BENCH_THREADS);
    return row->work == BENCH_MATMUL ? product : NULL;
}

/* "OpenBLAS 0.3.21 DYNAMIC_ARCH ... Haswell": which of its kernels it took is part of the answer. */
const char *bench_openblas_version(void) { return openblas_get_config(); }

#else

bench_run bench_openblas(const bench_row *row)
{
    (void)row;
    return NULL;
}
const char *bench_openblas_version(void) { return NULL; }

#endif
