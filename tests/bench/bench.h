/* SPDX-License-Identifier: MIT */
/*
 * bench.h - what the parts of the benchmark say to one another.
 *
 *     workloads.c  the table of workloads: texts, inputs, bars, tolerances
 *     picture.c    the inputs, drawn from numbers
 *     ours.c       contexts of libimgpar with their resident inputs
 *     opencv*.c, vips.c, fftw.c, openblas.c, gsl.c, hand.c, hand_cl.c   the same works by others
 *     compare.c    are two answers the same
 *     clock.c      how long a run takes
 *     measure.c    one workload: checks, then times everybody in turn
 *     report.c     the table, JSON
 *     calls.c      what a call takes beyond its kernels, for small pictures
 *     memory.c     peak memory of one run in a process of its own
 *
 * The program sees the public interface of libimgpar and nothing else. A contender is a function that
 * computes one work from bench_task.in into bench_task.out. It may be absent: libraries are optional.
 */
#ifndef BENCH_H
#define BENCH_H

#include <imgpar.h>

#include <stdbool.h>
#include <stdint.h>

#define BENCH_MAX_IN 3
#define BENCH_MAX_OUT 4
#define BENCH_MAX_SCRATCH 8

/* Pixels in host memory, tightly packed. */
typedef struct bench_image {
    imgpar_dtype dtype;
    int64_t width, height, channels;
    size_t size_bytes;
    void *data;
} bench_image;

typedef enum bench_input {
    BENCH_RGB,      /* 4000 x 3000 x 3 u8 */
    BENCH_RGBA,     /* 4000 x 3000 x 4 u8, alpha like another colour */
    BENCH_GRAY,     /* 4000 x 3000 u8 */
    BENCH_RGB_F32,  /* 4000 x 3000 x 3 f32, 0 to 255 */
    BENCH_LINE_F32, /* 60,000,000 f32, 0 to 1 */
    BENCH_LINE_10M, /* 10,000,000 of them */
    BENCH_LINE_6M,
    BENCH_HIMENO,     /* a volume of 129 x 65 x 65 f32, as a line; never smaller */
    BENCH_HIMENO_ALL, /* 13 such volumes, one behind the other */
    BENCH_GRAY_1080P,
    BENCH_GRAY_4K,
    BENCH_MATRIX_F32,     /* 4000 x 3000 f32 */
    BENCH_SQUARE_F32,     /* 1024 x 1024 f32 */
    BENCH_SQUARE_COMPLEX, /* 1024 x 1024 complex64 */
    BENCH_LINE_COMPLEX,   /* 1,048,576 of them */
    BENCH_GATHERED,       /* 10,000,000 f32; the second input: as many places, i32, each within 64 of its own */
    BENCH_MAPPED,         /* as BENCH_RGB; then rows and columns, f32, each within 40 of its own, some outside */
    BENCH_N_INPUTS
} bench_input;

/* What is computed. Contenders are looked up by it; size and sigma are in the row. */
typedef enum bench_work {
    BENCH_SUNSET,
    BENCH_BOX,
    BENCH_GAUSS,
    BENCH_MEDIAN,
    BENCH_ERODE,
    BENCH_DILATE,
    BENCH_SOBEL,
    BENCH_CONVOLVE,           /* the 5x5 matrix bench_matrix */
    BENCH_CONVOLVE_SEPARABLE, /* bench_matrix_separable */
    BENCH_BLEND,
    BENCH_MAPS,
    BENCH_TO_GRAY,
    BENCH_RESIZE_AREA,
    BENCH_RESIZE_LINEAR,
    BENCH_THRESHOLD,
    BENCH_SUM,
    BENCH_STATISTICS,
    BENCH_HISTOGRAM,
    BENCH_HISTOGRAM_MEAN,
    BENCH_UNSHARP,
    BENCH_LOCAL_DEVIATION,
    BENCH_EDGES,
    BENCH_CANNY,
    BENCH_TEMPLATE, /* of size x size, from the middle; correlation coefficients */
    BENCH_FOUR_BOXES,
    BENCH_FOUR_FILTERS,
    BENCH_DISTANCE, /* from what is not above 128 */
    BENCH_EQUALIZE,
    BENCH_PYR_DOWN,
    BENCH_DCT,           /* of rows and columns, orthonormal */
    BENCH_WARP,          /* turned by 10 degrees around the middle, linearly, 0 outside */
    BENCH_PERSPECTIVE,   /* by bench_perspective, as BENCH_WARP */
    BENCH_REMAP,         /* linearly, from the rows and columns of the second and the third input, 0 outside */
    BENCH_BILATERAL,     /* windows of size x size, nearness by sigma, likeness by BENCH_BILATERAL_CONTRAST of white */
    BENCH_HOUGH_CIRCLES, /* of 10 to 40 pixels */
    BENCH_TO_LAB,        /* from 0 to 255 */
    BENCH_SORT,
    /* Ikra's programs (workloads.c says what was assumed); the first is BENCH_MAPS. */
    BENCH_IKRA_2,
    BENCH_IKRA_3,
    BENCH_IKRA_4,
    BENCH_IKRA_5,
    BENCH_IKRA_6,
    BENCH_IKRA_7,
    BENCH_MATMUL,
    BENCH_SOLVE, /* systems of 3x3: nine elements each, then three */
    BENCH_FFT,   /* along all axes */
    BENCH_NORMAL,
    BENCH_OWN, /* offered by us alone */
    BENCH_N_WORKS
} bench_work;

#define BENCH_MATRIX_SCALE 273
#define BENCH_SEPARABLE_SCALE 256
#define BENCH_WARP_DEGREES 10
#define BENCH_BILATERAL_CONTRAST 0.1
extern const float bench_matrix[25], bench_matrix_separable[25], bench_perspective[9];

/* How much an answer may differ: |a - b| <= levels + relative |b| for all but a share of the elements. */
typedef struct bench_tolerance {
    double levels, relative, share;
} bench_tolerance;

/* The least ratio of their time to ours; 0: no bar. */
typedef struct bench_bars {
    double opencv, vips, fftw, openblas, gsl, hand, hand_cl;
    double copy;        /* of as many bytes as are read and written */
    double unfused;     /* of --no-fuse to fused */
    const char *cousin; /* our time over that of another workload ... */
    double cousin_most; /* ... is at most this */
} bench_bars;

typedef struct bench_row {
    const char *name;
    bench_work work;
    bench_input input;
    int size;                                   /* of the work's window; resize: unused */
    double sigma;                               /* of the work's bell; resize: the factor */
    const char *ours[BENCH_MAX_OUT];            /* one text for each answer, all computed at once */
    const char *needs;                          /* an operation that may not be there yet */
    int n_in;                                   /* inputs that are read */
    int margin_px;                              /* not compared with peers: borders differ */
    bench_tolerance opencv, vips, numeric, ref; /* numeric: FFTW, OpenBLAS, GSL */
    bench_bars bars;
    bool wants_memory; /* peak memory is measured too */
} bench_row;

extern const bench_row bench_rows[];
extern const int bench_n_rows;

/* A contender's run. Answers stay where the contender likes them, unless is_checked: then they are in out. */
typedef struct bench_task {
    const bench_row *row;
    int n_in, n_out;
    bench_image in[BENCH_MAX_IN];
    bench_image out[BENCH_MAX_OUT];
    bool is_checked;
    bool counts_kernels; /* BENCH_BY_KERNELS, of ours and the copy on the device */
    double kernels_ms;   /* of the run before */
    char message[256];
    void *scratch[BENCH_MAX_SCRATCH];
    size_t scratch_bytes[BENCH_MAX_SCRATCH];
} bench_task;

typedef bool (*bench_run)(bench_task *task);

/* Memory for answer k with the elements of task->out[k] in dtype, and for intermediate results; kept between
 * runs, so that nobody is charged for fresh pages. They end the program where there is no memory. */
void *bench_out(bench_task *task, int k, imgpar_dtype dtype);
void *bench_scratch(bench_task *task, int k, size_t size_bytes);
void bench_task_clear(bench_task *task);
void *bench_alloc(size_t size_bytes);

/* ---- the inputs ---- */

/* The n-th input (0 to 2) of a kind, whole or its small version for slow references. Lives as long as the program. */
const bench_image *bench_picture(bench_input kind, int n, bool is_small);

/* ---- contenders; NULL where a work is not offered or the library is absent ---- */

bench_run bench_hand(const bench_row *row);    /* C, two threads */
bench_run bench_hand_cl(const bench_row *row); /* OpenCL */
bench_run bench_opencv(const bench_row *row);
bench_run bench_vips(const bench_row *row);
bench_run bench_fftw(const bench_row *row);
bench_run bench_openblas(const bench_row *row);
bench_run bench_gsl(const bench_row *row);
/* That of contender k; NULL for ours and the copy too. */
bench_run bench_run_of(const bench_row *row, int k);
const char *bench_opencv_version(void); /* NULL: absent */
const char *bench_vips_version(void);
const char *bench_fftw_version(void);
const char *bench_openblas_version(void);
const char *bench_gsl_version(void);
bool bench_copy(bench_task *task); /* task->in[0] by two threads */
/* What OpenCL takes, beyond the kernel itself, to launch one that reads and writes so many bytes and to wait for it; 0:
 * there is none. */
double bench_launch_us(size_t bytes);

#define BENCH_THREADS 2
/* Calls part(of, first, end) for two halves of 0..n, each in a thread. */
void bench_split(int64_t n, void (*part)(void *of, int64_t first, int64_t end), void *of);

/* ---- ours ---- */

typedef struct bench_ours bench_ours; /* a context and the inputs that are resident in it */

/* selector as for imgpar_context_new. Ends the program where there is no such device. */
bench_ours *bench_ours_new(const char *selector, bool fuses);
void bench_ours_release(bench_ours *o);
imgpar_context *bench_ours_context(bench_ours *o);
/* Makes the row's inputs resident; they replace those of the row before. */
bool bench_ours_prepare(bench_ours *o, const bench_row *row, bool is_small, char *message, size_t size);
/* Builds the row's graph and computes it. With task->is_checked the answers are read into task->out. */
bool bench_ours_run(bench_ours *o, bench_task *task);
/* Copies the first input within the device's memory; for task->kernels_ms. */
bool bench_ours_copy(bench_ours *o, bench_task *task);
/* Kernels of the run before this call, and bytes it uploaded. */
int bench_ours_kernels(const bench_ours *o);
uint64_t bench_ours_uploaded(const bench_ours *o);

/* ---- answers ---- */

typedef struct bench_difference {
    double largest; /* |a - b| over everything compared */
    double share;   /* of the elements beyond the tolerance */
    bool is_wrong;
    char where[128]; /* the first element beyond the tolerance */
} bench_difference;

/* Compares all answers of two tasks, without margin_px pixels at the edges. */
void bench_compare(const bench_task *a, const bench_task *b, const bench_tolerance *t, int margin_px,
                   bench_difference *out);

/* ---- measuring ---- */

/* Which time is taken. */
typedef enum bench_by {
    BENCH_BY_TIME,
    BENCH_BY_CPU,    /* bench_clock's second way */
    BENCH_BY_KERNELS /* what the device says its kernels took; of ours, and of a copy within its memory */
} bench_by;

#define BENCH_MAX_THREADS 256

typedef struct bench_thread {
    int id;
    double ms;
} bench_thread;

typedef struct bench_clock {
    bool counts_cpu;
    double start_ms;
    int n_threads;
    bench_thread threads[BENCH_MAX_THREADS]; /* at the start */
} bench_clock;

void bench_clock_start(bench_clock *c, bool counts_cpu);
double bench_clock_ms(const bench_clock *c); /* since the start */

enum {
    BENCH_FUSED,
    BENCH_UNFUSED,
    BENCH_HAND,
    BENCH_HAND_CL,
    BENCH_OPENCV,
    BENCH_VIPS,
    BENCH_FFTW,
    BENCH_OPENBLAS,
    BENCH_GSL,
    BENCH_COPY,
    BENCH_N_CONTENDERS
};
extern const char *const bench_contender_names[BENCH_N_CONTENDERS];

typedef struct bench_times {
    bool is_there, is_wrong;
    double median_ms, min_ms, max_ms;
    double largest_difference; /* to ours */
    int64_t peak_bytes;        /* -1: not measured */
} bench_times;

typedef struct bench_result {
    const bench_row *row;
    bench_by by;
    bool is_there, is_wrong;
    char note[300]; /* why it is not there, or what is wrong */
    int kernels, kernels_unfused;
    int64_t device_peak_bytes; /* of our buffers; -1: not measured */
    double bytes;              /* read and written at least */
    double copy_bytes;         /* read and written by the copy */
    bench_times times[BENCH_N_CONTENDERS];
} bench_result;

typedef struct bench_options {
    int repetitions;
    const char *device;
    bool is_json;
    bench_by by;
} bench_options;

void bench_measure(bench_ours *fused, bench_ours *unfused, bench_ours *ref, const bench_row *row,
                   const bench_options *options, bench_result *out);

/* Peak memory of one run of a contender, inputs included; -1 if it cannot be told. *device_bytes, of ours only: what
 * its buffers held at most. */
int64_t bench_memory(const bench_options *options, const bench_row *row, int contender, int64_t *device_bytes);
/* The other end, in the process of its own: prints the numbers. Returns the exit status. */
int bench_memory_child(const bench_options *options, const bench_row *row, int contender);

/* ---- calls ---- */

/* The table of calls: small pictures, by text and by a pipeline that is parsed once, beside OpenCV. Returns the exit
 * status. */
int bench_calls(const bench_options *options, char **patterns, int n_patterns);

/* ---- reports ---- */

void bench_report_start(const bench_options *options, const imgpar_device *device);
void bench_report_row(const bench_options *options, const bench_result *r, const bench_result *all, int n);
/* Geometric means, counts. Returns the number of wrong answers. */
int bench_report_end(const bench_options *options, const bench_result *all, int n);

#endif
