/* SPDX-License-Identifier: MIT */
/* What was measured, as a table for people or as JSON for machines, with every bar met or NOT MET. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MIB (1024.0 * 1024.0)

/* How many times as long another takes as we do; 0: not there. */
static double ratio(const bench_result *r, int k)
{
    double ours = r->times[BENCH_FUSED].median_ms;
    return r->times[k].is_there && ours > 0 ? r->times[k].median_ms / ours : 0;
}

static double gigabytes_a_second(double bytes, double ms) { return ms > 0 ? bytes / ms / 1e6 : 0; }

/* The numerical library that offers a work: one at most. Without any, the first of them. */
static int numeric(const bench_result *r)
{
    for (int k = BENCH_FFTW; k <= BENCH_GSL; k++)
        if (r->times[k].is_there) return k;
    return BENCH_FFTW;
}

/* ---- bars ---- */

typedef struct bar {
    char name[64];
    double have, want; /* want at least */
} bar;

enum { MAX_BARS = BENCH_N_CONTENDERS + 1 };

static void add_bar(bar *bars, int *n, const char *name, double have, double want)
{
    if (want <= 0 || have <= 0) return;
    snprintf(bars[*n].name, sizeof bars[*n].name, "%s", name);
    bars[*n].have = have;
    bars[(*n)++].want = want;
}

static const bench_result *find(const bench_result *all, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(all[i].row->name, name) && all[i].is_there) return &all[i];
    return NULL;
}

/* The bars of a row that can be told in this run. */
static int bars_of(const bench_result *r, const bench_result *all, int n_all, bar *bars)
{
    const bench_bars *b = &r->row->bars;
    int n = 0;
    if (!r->is_there) return 0;
    double copy_ms = ratio(r, BENCH_COPY) * r->bytes / r->copy_bytes; /* of what is read and written, in our time */
    if (r->by == BENCH_BY_KERNELS) {                                  /* pictures, in 1.5 times what a copy takes */
        add_bar(bars, &n, "a copy of the same bytes", copy_ms, r->row->input < BENCH_LINE_F32 ? 1 / 1.5 : 0);
        return n;
    }
    const double least[BENCH_N_CONTENDERS] = {
        [BENCH_HAND] = b->hand, [BENCH_HAND_CL] = b->hand_cl,   [BENCH_OPENCV] = b->opencv, [BENCH_VIPS] = b->vips,
        [BENCH_FFTW] = b->fftw, [BENCH_OPENBLAS] = b->openblas, [BENCH_GSL] = b->gsl,
    };
    for (int k = BENCH_HAND; k < BENCH_COPY; k++)
        add_bar(bars, &n, bench_contender_names[k], ratio(r, k), least[k]);
    add_bar(bars, &n, "copy", copy_ms, b->copy);
    add_bar(bars, &n, "no-fuse", ratio(r, BENCH_UNFUSED), b->unfused);
    const bench_result *cousin = b->cousin ? find(all, n_all, b->cousin) : NULL;
    if (cousin) /* at most cousin_most times the cousin's time */
        add_bar(bars, &n, b->cousin, cousin->times[BENCH_FUSED].median_ms / r->times[BENCH_FUSED].median_ms,
                1 / b->cousin_most);
    return n;
}

/* ---- the table ---- */

static void print_time(const bench_times *t)
{
    char text[32] = "-";
    if (t->is_there)
        snprintf(text, sizeof text, "%.*f%s",
                 t->median_ms < 1    ? 4
                 : t->median_ms < 10 ? 2
                                     : 1,
                 t->median_ms, t->is_wrong ? "!" : "");
    printf(" %8s", text);
}

static void print_ratio(double v)
{
    char text[32] = "-";
    if (v > 0) snprintf(text, sizeof text, "%.2f", v);
    printf(" %7s", text);
}

static void table_row(const bench_result *r, const bench_result *all, int n)
{
    printf("%-27s", r->row->name);
    if (!r->is_there) {
        printf(" %s\n", r->note);
        return;
    }
    const bench_times *t = r->times;
    char spread[40];
    int digits = t[BENCH_FUSED].max_ms < 1 ? 3 : 1;
    snprintf(spread, sizeof spread, "%.*f..%.*f", digits, t[BENCH_FUSED].min_ms, digits, t[BENCH_FUSED].max_ms);
    print_time(&t[BENCH_FUSED]);
    printf(" %13s %2d", spread, r->kernels);
    print_time(&t[BENCH_UNFUSED]);
    print_time(t[BENCH_HAND].is_there ? &t[BENCH_HAND] : &t[BENCH_HAND_CL]);
    print_time(&t[BENCH_OPENCV]);
    print_time(&t[BENCH_VIPS]);
    print_time(&t[numeric(r)]);
    print_ratio(ratio(r, BENCH_OPENCV));
    print_ratio(ratio(r, BENCH_VIPS));
    print_ratio(ratio(r, numeric(r)));
    double speed = gigabytes_a_second(r->bytes, t[BENCH_FUSED].median_ms);
    double copy = gigabytes_a_second(r->copy_bytes, t[BENCH_COPY].median_ms);
    printf(" %6.1f %4.0f%% ", speed, copy > 0 ? 100 * speed / copy : 0);
    if (r->is_wrong) printf(" WRONG %s", r->note);
    bar bars[MAX_BARS];
    int n_bars = bars_of(r, all, n, bars), n_missed = 0;
    for (int i = 0; i < n_bars; i++)
        if (bars[i].have < bars[i].want) {
            printf("%s %s %.2f of %.2f", n_missed ? "," : " NOT MET:", bars[i].name, bars[i].have, bars[i].want);
            n_missed++;
        }
    printf("%s\n", n_bars && !n_missed ? " met" : "");
}

static void table_memory(const bench_result *r)
{
    if (!r->is_there || r->times[BENCH_FUSED].peak_bytes < 0) return;
    printf("%-27s", r->row->name);
    for (int k = 0; k < BENCH_COPY; k++) {
        const bench_times *t = &r->times[k];
        if (t->peak_bytes >= 0)
            printf("  %s %.1f ms %.1f MiB", bench_contender_names[k], t->median_ms, (double)t->peak_bytes / MIB);
    }
    if (r->device_peak_bytes >= 0)
        printf("  (our device buffers at most %.1f MiB)", (double)r->device_peak_bytes / MIB);
    printf("\n");
}

/* Geometric mean of a contender's ratios; *n gets how many there are. k < 0: of the faster peer. */
static double mean_ratio(const bench_result *all, int n_all, int k, int *n)
{
    double sum = 0;
    *n = 0;
    for (int i = 0; i < n_all; i++) {
        double a = ratio(&all[i], BENCH_OPENCV), b = ratio(&all[i], BENCH_VIPS);
        double v = k >= 0 ? ratio(&all[i], k) : a > 0 && (a < b || b <= 0) ? a : b;
        if (v > 0) {
            sum += log(v);
            ++*n;
        }
    }
    return *n ? exp(sum / *n) : 0;
}

static void print_spread(const char *who, const bench_result *all, int n, int k)
{
    double worst = 1, sum = 0;
    int count = 0;
    for (int i = 0; i < n; i++) {
        const bench_times *t = &all[i].times[k];
        if (!all[i].is_there || !t->is_there || t->min_ms <= 0) continue;
        double s = t->max_ms / t->min_ms;
        worst = s > worst ? s : worst;
        sum += log(t->median_ms / t->min_ms);
        count++;
    }
    if (count)
        printf("noise of %-9s median / minimum %.2f (geometric mean), largest maximum / minimum %.2f\n", who,
               exp(sum / count), worst);
}

static void table_end(const bench_result *all, int n)
{
    int n_met = 0, n_bars = 0, n_wrong = 0, count;
    bar bars[MAX_BARS];
    printf("\n");
    for (int i = 0; i < n; i++) {
        int n_row = bars_of(&all[i], all, n, bars);
        for (int k = 0; k < n_row; k++)
            n_met += bars[k].have >= bars[k].want;
        n_bars += n_row;
        n_wrong += all[i].is_wrong;
        table_memory(&all[i]);
    }
    static const struct {
        const char *name;
        int k;
    } means[] = { { "OpenCV", BENCH_OPENCV }, { "libvips", BENCH_VIPS }, { "the faster of both", -1 } };
    for (int i = 0; i < 3; i++) {
        double mean = mean_ratio(all, n, means[i].k, &count);
        if (!count) continue;
        printf("geometric mean over %d workloads: %.2f x %s", count, mean, means[i].name);
        printf(means[i].k < 0 ? "\n" : mean >= 3 ? " (bar 3: met)\n" : " (bar 3: NOT MET)\n");
    }
    print_spread("ours:", all, n, BENCH_FUSED);
    print_spread("the copy:", all, n, BENCH_COPY);
    printf("%d of %d bars met, %d wrong\n", n_met, n_bars, n_wrong);
}

/* ---- JSON ---- */

static void json_text(const char *s)
{
    putchar('"');
    for (; *s; s++)
        if (*s == '"' || *s == '\\')
            printf("\\%c", *s);
        else if ((unsigned char)*s < ' ')
            printf("\\u%04x", (unsigned)*s);
        else
            putchar(*s);
    putchar('"');
}

static void json_row(const bench_result *r, const bench_result *all, int n)
{
    printf("%s\n  {\"name\": ", n > 1 ? "," : "");
    json_text(r->row->name);
    printf(", \"measured\": %s, \"wrong\": %s, \"note\": ", r->is_there ? "true" : "false",
           r->is_wrong ? "true" : "false");
    json_text(r->note);
    if (r->is_there) {
        printf(", \"kernels\": %d, \"kernels_unfused\": %d, \"bytes\": %.0f", r->kernels, r->kernels_unfused, r->bytes);
        printf(", \"gb_per_s\": %.3f, \"copy_gb_per_s\": %.3f",
               gigabytes_a_second(r->bytes, r->times[BENCH_FUSED].median_ms),
               gigabytes_a_second(r->copy_bytes, r->times[BENCH_COPY].median_ms));
        if (r->device_peak_bytes >= 0) printf(", \"device_peak_bytes\": %lld", (long long)r->device_peak_bytes);
        printf(", \"times\": {");
        for (int k = 0, shown = 0; k < BENCH_N_CONTENDERS; k++) {
            const bench_times *t = &r->times[k];
            if (!t->is_there) continue;
            printf("%s\"%s\": {\"median_ms\": %.4f, \"min_ms\": %.4f, \"max_ms\": %.4f, \"difference\": %.6g, "
                   "\"wrong\": %s",
                   shown++ ? ", " : "", bench_contender_names[k], t->median_ms, t->min_ms, t->max_ms,
                   t->largest_difference, t->is_wrong ? "true" : "false");
            if (t->peak_bytes >= 0) printf(", \"peak_bytes\": %lld", (long long)t->peak_bytes);
            printf("}");
        }
        printf("}");
    }
    printf(", \"bars\": [");
    bar bars[MAX_BARS];
    int n_bars = bars_of(r, all, n, bars);
    for (int i = 0; i < n_bars; i++)
        printf("%s{\"against\": \"%s\", \"ratio\": %.4f, \"bar\": %.4f, \"met\": %s}", i ? ", " : "", bars[i].name,
               bars[i].have, bars[i].want, bars[i].have >= bars[i].want ? "true" : "false");
    printf("]}");
}

/* ---- both ---- */

static const struct {
    const char *clock, *unit;
} by_names[] = {
    [BENCH_BY_TIME] = { "time", "milliseconds" },
    [BENCH_BY_CPU] = { "cpu", "milliseconds of CPU time" },
    [BENCH_BY_KERNELS] = { "kernels", "milliseconds of kernels" },
};

/* The libraries that it is compared with; absent ones are said so, with their Debian package. */
static const struct {
    const char *name, *package;
    const char *(*version)(void);
} peers[] = {
    { "OpenCV", "libopencv-imgproc-dev", bench_opencv_version },
    { "libvips", "libvips-dev", bench_vips_version },
    { "FFTW", "libfftw3-dev", bench_fftw_version },
    { "OpenBLAS", "libopenblas-dev", bench_openblas_version },
    { "GSL", "libgsl-dev", bench_gsl_version },
};
enum { N_PEERS = sizeof peers / sizeof *peers };

static void json_start(const bench_options *options, const imgpar_device *device)
{
    printf("{\"device\": ");
    json_text(device->name);
    printf(", \"compute_units\": %u, \"repetitions\": %d, \"clock\": \"%s\", \"peers\": {", device->compute_units,
           options->repetitions, by_names[options->by].clock);
    for (int i = 0; i < N_PEERS; i++) {
        const char *version = peers[i].version();
        printf("%s\"%s\": ", i ? ", " : "", peers[i].name);
        json_text(version ? version : "");
    }
    printf("}, \"rows\": [");
}

void bench_report_start(const bench_options *options, const imgpar_device *device)
{
    if (options->is_json) {
        json_start(options, device);
        return;
    }
    printf("device: %s, %u compute units; %d repetitions, everybody in turn; peers have %d threads\n", device->name,
           device->compute_units, options->repetitions, BENCH_THREADS);
    for (int i = 0; i < N_PEERS; i++) {
        const char *version = peers[i].version();
        if (version)
            printf("%s: %s\n", peers[i].name, version);
        else
            printf("%s: absent (Debian package %s)\n", peers[i].name, peers[i].package);
    }
    printf("\n%s, medians; k: kernels; hand: C or OpenCL; numeric: FFTW, OpenBLAS or GSL; %%: of the copy's GB/s\n",
           by_names[options->by].unit);
    printf("%-27s %8s %13s %2s %8s %8s %8s %8s %8s %7s %7s %7s %6s %5s  bars\n", "workload", "ours", "min..max", "k",
           "no-fuse", "hand", "OpenCV", "libvips", "numeric", "xOpenCV", "xvips", "xnum", "GB/s", "copy");
}

void bench_report_row(const bench_options *options, const bench_result *r, const bench_result *all, int n)
{
    (options->is_json ? json_row : table_row)(r, all, n);
    fflush(stdout);
}

int bench_report_end(const bench_options *options, const bench_result *all, int n)
{
    int n_wrong = 0, n_opencv, n_vips;
    for (int i = 0; i < n; i++)
        n_wrong += all[i].is_wrong;
    if (options->is_json) {
        double opencv = mean_ratio(all, n, BENCH_OPENCV, &n_opencv), vips = mean_ratio(all, n, BENCH_VIPS, &n_vips);
        printf("\n], \"geometric_means\": {\"OpenCV\": %.4f, \"libvips\": %.4f}, \"wrong\": %d}\n", opencv, vips,
               n_wrong);
    } else
        table_end(all, n);
    return n_wrong;
}
