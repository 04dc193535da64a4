/* SPDX-License-Identifier: MIT */
/*
 * Two ways to tell how long a run takes: the time; or, on a machine that others use too, what it would have taken
 * alone: the CPU time of all threads over their number, or that of the busiest thread where it is more, as it is
 * for a library that works in one thread only. Waiting is not seen by the second.
 */
#include "bench.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double clock_ms(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* CPU time of every thread there is. Those that end before a run does are in the sum of all only. */
static int look_at_threads(bench_thread *threads)
{
    DIR *d = opendir("/proc/self/task");
    int n = 0;
    for (struct dirent *e; d && n < BENCH_MAX_THREADS && (e = readdir(d));) {
        char path[300];
        unsigned long long ns;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (f && fscanf(f, "%llu", &ns) == 1) threads[n++] = (bench_thread){ atoi(e->d_name), (double)ns / 1e6 };
        if (f) fclose(f);
    }
    if (d) closedir(d);
    return n;
}

void bench_clock_start(bench_clock *c, bool counts_cpu)
{
    c->counts_cpu = counts_cpu;
    c->n_threads = counts_cpu ? look_at_threads(c->threads) : 0;
    c->start_ms = clock_ms(counts_cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC);
}

double bench_clock_ms(const bench_clock *c)
{
    double ms = clock_ms(c->counts_cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC) - c->start_ms;
    if (!c->counts_cpu) return ms;
    bench_thread after[BENCH_MAX_THREADS];
    int n = look_at_threads(after);
    double busiest = ms / BENCH_THREADS;
    for (int i = 0; i < n; i++) {
        double before = 0;
        for (int k = 0; k < c->n_threads; k++)
            if (c->threads[k].id == after[i].id) before = c->threads[k].ms;
        if (after[i].ms - before > busiest) busiest = after[i].ms - before;
    }
    return busiest < ms ? busiest : ms;
}
