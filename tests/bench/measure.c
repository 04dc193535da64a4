/* SPDX-License-Identifier: MIT */
/*
 * One workload. Everybody's answer is checked before anybody is timed; then all take turns, so that what else the
 * machine does hits all of them alike.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const bench_contender_names[BENCH_N_CONTENDERS] = {
    "ours", "no-fuse", "hand C", "hand OpenCL", "OpenCV", "libvips", "FFTW", "OpenBLAS", "GSL", "copy",
};

typedef struct contender {
    bench_run run; /* NULL: on our device, or absent */
    bench_ours *ours;
    bool is_copy; /* on our device */
    bench_task task;
    double *ms;
    int n;                  /* of ms */
    bool is_slow, is_quick; /* by its last run */
} contender;

bench_run bench_run_of(const bench_row *row, int k)
{
    static bench_run (*const offers[BENCH_N_CONTENDERS])(const bench_row *row) = {
        [BENCH_HAND] = bench_hand, [BENCH_HAND_CL] = bench_hand_cl, [BENCH_OPENCV] = bench_opencv,
        [BENCH_VIPS] = bench_vips, [BENCH_FFTW] = bench_fftw,       [BENCH_OPENBLAS] = bench_openblas,
        [BENCH_GSL] = bench_gsl,
    };
    return offers[k] ? offers[k](row) : NULL;
}

static bool is_there(const contender *c) { return c->run || c->ours; }

static bool run(contender *c)
{
    return c->is_copy ? bench_ours_copy(c->ours, &c->task)
           : c->ours  ? bench_ours_run(c->ours, &c->task)
                      : c->run(&c->task);
}

static bool run_checked(contender *c)
{
    c->task.is_checked = true;
    bool is_ok = run(c);
    c->task.is_checked = false;
    return is_ok;
}

static void set_inputs(bench_task *task, const bench_row *row, bool is_small)
{
    *task = (bench_task){ .row = row, .n_in = row->n_in };
    for (int i = 0; i < row->n_in; i++)
        task->in[i] = *bench_picture(row->input, i, is_small);
}

/* Peers answer in the shapes that ours has, each in a dtype of its own. */
static void set_shapes(bench_task *task, const bench_task *like)
{
    task->n_out = like->n_out;
    for (int k = 0; k < like->n_out; k++) {
        task->out[k] = like->out[k];
        task->out[k].data = NULL;
    }
}

static void note(bench_result *r, const char *who, const char *what)
{
    size_t n = strlen(r->note);
    snprintf(r->note + n, sizeof r->note - n, "%s%s: %s", n ? "; " : "", who, what);
}

/* Small inputs, against the reference interpreter: the row's arithmetic to the byte, or to its tolerance. */
static void check_small(bench_ours *fused, bench_ours *ref, const bench_row *row, bench_result *out)
{
    bench_task a, b;
    set_inputs(&a, row, true);
    set_inputs(&b, row, true);
    a.is_checked = b.is_checked = true;
    bool is_ok = bench_ours_prepare(fused, row, true, a.message, sizeof a.message) && bench_ours_run(fused, &a);
    if (!is_ok)
        note(out, "ours", a.message);
    else if (!bench_ours_prepare(ref, row, true, b.message, sizeof b.message) || !bench_ours_run(ref, &b)) {
        note(out, "reference", b.message);
        is_ok = false;
    }
    if (is_ok) {
        bench_difference d;
        bench_compare(&a, &b, &row->ref, 0, &d);
        if (d.is_wrong) note(out, "not the reference's answer", d.where);
        is_ok = !d.is_wrong;
    }
    out->is_wrong |= !is_ok;
    bench_task_clear(&a);
    bench_task_clear(&b);
}

static const bench_tolerance *tolerance_of(const bench_row *row, int k)
{
    static const bench_tolerance exact;
    switch (k) {
    case BENCH_OPENCV: return &row->opencv;
    case BENCH_VIPS: return &row->vips;
    case BENCH_FFTW:
    case BENCH_OPENBLAS:
    case BENCH_GSL: return &row->numeric;
    case BENCH_UNFUSED: return &row->ref;
    default: return &exact;
    }
}

/* Whole inputs, against ours fused. A contender whose answer differs is timed all the same, but marked. */
static void check_peers(contender *all, const bench_row *row, bench_result *out)
{
    for (int k = BENCH_UNFUSED; k < BENCH_COPY; k++) {
        bench_difference d = { .is_wrong = true };
        if (!is_there(&all[k])) continue;
        set_shapes(&all[k].task, &all[BENCH_FUSED].task);
        if (run_checked(&all[k])) {
            int margin = k == BENCH_OPENCV || k == BENCH_VIPS ? row->margin_px : 0;
            bench_compare(&all[BENCH_FUSED].task, &all[k].task, tolerance_of(row, k), margin, &d);
            out->times[k].largest_difference = d.largest;
        } else
            snprintf(d.where, sizeof d.where, "%.60s", all[k].task.message);
        if (d.is_wrong) {
            size_t n = strlen(d.where);
            snprintf(d.where + n, sizeof d.where - n, ", %.3g%% in all", 100 * d.share);
            note(out, bench_contender_names[k], d.where);
        }
        out->times[k].is_wrong = d.is_wrong;
        out->is_wrong |= d.is_wrong;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarise(const contender *c, bench_times *out)
{
    int n = c->n;
    out->is_there = n > 0;
    if (!n) return;
    qsort(c->ms, (size_t)n, sizeof *c->ms, by_value);
    out->median_ms = n % 2 ? c->ms[n / 2] : (c->ms[n / 2 - 1] + c->ms[n / 2]) / 2;
    out->min_ms = c->ms[0];
    out->max_ms = c->ms[n - 1];
}

static void read_part(void *of, int64_t first, int64_t end)
{
    const volatile unsigned char *p = of;
    for (int64_t i = first; i < end; i += 64)
        (void)p[i];
}

/* Data of everybody stands in memory, and caches hold nothing that was written: else whoever comes after the copy would
 * wait for what that wrote. */
static void settle_caches(void)
{
    enum { BYTES = 128 << 20 };
    static unsigned char *memory;
    if (!memory) {
        memory = bench_alloc(BYTES);
        memset(memory, 1, BYTES);
    }
    bench_split(BYTES, read_part, memory);
}

/*
 * The first two rounds warm up: programs, memory. In the later ones each runs once more just before it is timed, unless
 * it takes long: nobody pays for waking its threads. Who needs seconds has a turn in every third round.
 */
static bool time_all(contender *all, const bench_options *options)
{
    for (int round = -2; round < options->repetitions; round++)
        for (int k = 0; k < BENCH_N_CONTENDERS; k++) {
            if (!is_there(&all[k]) || (all[k].is_slow && (round < 0 || round % 3))) continue;
            bench_clock clock;
            if (round >= 0 && all[k].is_quick && !run(&all[k])) return false;
            settle_caches();
            bench_clock_start(&clock, options->by == BENCH_BY_CPU);
            if (!run(&all[k])) return false;
            double ms = options->by == BENCH_BY_KERNELS ? all[k].task.kernels_ms : bench_clock_ms(&clock);
            if (round >= 0) all[k].ms[all[k].n++] = ms;
            all[k].is_slow = ms > 1000;
            all[k].is_quick = ms < 200;
        }
    return true;
}

static void set_contenders(contender *all, bench_ours *fused, bench_ours *unfused, const bench_row *row,
                           const bench_options *options)
{
    memset(all, 0, BENCH_N_CONTENDERS * sizeof *all);
    all[BENCH_FUSED].ours = fused;
    all[BENCH_UNFUSED].ours = unfused;
    if (options->by == BENCH_BY_KERNELS) {
        all[BENCH_COPY] = (contender){ .ours = fused, .is_copy = true };
    } else {
        for (int k = BENCH_HAND; k < BENCH_COPY; k++)
            all[k].run = bench_run_of(row, k);
        all[BENCH_COPY].run = bench_copy;
    }
    for (int k = 0; k < BENCH_N_CONTENDERS; k++) {
        set_inputs(&all[k].task, row, false);
        all[k].task.counts_kernels = options->by == BENCH_BY_KERNELS;
        all[k].ms = bench_alloc((size_t)options->repetitions * sizeof *all[k].ms);
    }
}

static void measure_whole(contender *all, const bench_row *row, const bench_options *options, bench_result *out)
{
    bench_ours *ours[2] = { all[BENCH_FUSED].ours, all[BENCH_UNFUSED].ours };
    bench_task *first = &all[BENCH_FUSED].task;
    for (int i = 0; i < 2; i++)
        if (!bench_ours_prepare(ours[i], row, false, first->message, sizeof first->message)) {
            note(out, "ours", first->message);
            out->is_wrong = true;
            return;
        }
    if (!run_checked(&all[BENCH_FUSED])) {
        note(out, "ours", first->message);
        out->is_wrong = true;
        return;
    }
    check_peers(all, row, out);
    for (int k = 0; k < row->n_in; k++)
        out->bytes += (double)first->in[k].size_bytes;
    for (int k = 0; k < first->n_out; k++)
        out->bytes += (double)first->out[k].size_bytes;
    out->copy_bytes = 2 * (double)first->in[0].size_bytes;

    out->is_there = time_all(all, options);
    if (!out->is_there) {
        note(out, "timing", "a run failed");
        out->is_wrong = true;
    }
    for (int k = 0; k < BENCH_N_CONTENDERS; k++)
        summarise(&all[k], &out->times[k]);
    out->kernels = bench_ours_kernels(ours[0]);
    out->kernels_unfused = bench_ours_kernels(ours[1]);
    if (bench_ours_uploaded(ours[0]) >= first->in[0].size_bytes) {
        note(out, "ours", "inputs were uploaded while it was timed");
        out->is_wrong = true;
    }
}

void bench_measure(bench_ours *fused, bench_ours *unfused, bench_ours *ref, const bench_row *row,
                   const bench_options *options, bench_result *out)
{
    *out = (bench_result){ .row = row, .by = options->by, .device_peak_bytes = -1 };
    for (int k = 0; k < BENCH_N_CONTENDERS; k++)
        out->times[k].peak_bytes = -1;
    if (row->needs && !imgpar_op_find(row->needs)) {
        snprintf(out->note, sizeof out->note, "not there yet: %s", row->needs);
        return;
    }
    check_small(fused, ref, row, out);
    contender all[BENCH_N_CONTENDERS];
    set_contenders(all, fused, unfused, row, options);
    measure_whole(all, row, options, out);
    for (int k = 0; k < BENCH_N_CONTENDERS; k++) {
        bench_task_clear(&all[k].task);
        free(all[k].ms);
        if (row->wants_memory && out->times[k].is_there && k != BENCH_COPY)
            out->times[k].peak_bytes = bench_memory(options, row, k, &out->device_peak_bytes);
    }
}
