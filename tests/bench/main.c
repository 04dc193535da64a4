/* SPDX-License-Identifier: MIT */
/*
 * bench - how long libimgpar and others take for the same works.
 *
 *     make bench                          the table
 *     make bench BENCH='boxblur* sum'     some workloads
 *     make bench REPETITIONS=21
 *     make bench-json                     for machines
 *     tests/bench/bench --cpu             by CPU time, for a machine that others use too (clock.c)
 *     tests/bench/bench --kernels         what the device says its kernels took, beside a copy within its memory
 *     tests/bench/bench --calls           what calls take beyond their kernels, for small pictures (calls.c)
 *
 * Exit status: 1 if an answer is wrong, 2 for a bad command line, else 0; bars that are not met are only said.
 */
#include "bench.h"

#include <fnmatch.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_wanted(const bench_row *row, char **patterns, int n)
{
    bool is_wanted = n == 0;
    for (int i = 0; i < n && !is_wanted; i++)
        is_wanted = fnmatch(patterns[i], row->name, 0) == 0;
    return is_wanted;
}

static int list(void)
{
    for (int i = 0; i < bench_n_rows; i++)
        printf("%s\n", bench_rows[i].name);
    return 0;
}

static int usage(void)
{
    fprintf(stderr, "usage: bench [--json] [--cpu|--kernels|--calls] [--list] [--repetitions N] [--device SELECTOR] "
                    "[PATTERN ...]\n");
    return 2;
}

static int measure_all(const bench_options *options, char **patterns, int n_patterns)
{
    bench_ours *fused = bench_ours_new(options->device, true), *unfused = bench_ours_new(options->device, false);
    bench_ours *ref = bench_ours_new("ref", true);
    bench_result *all = bench_alloc((size_t)bench_n_rows * sizeof *all);
    int n = 0;
    bench_report_start(options, imgpar_context_device(bench_ours_context(fused)));
    for (int i = 0; i < bench_n_rows; i++) {
        if (!is_wanted(&bench_rows[i], patterns, n_patterns)) continue;
        bench_measure(fused, unfused, ref, &bench_rows[i], options, &all[n]);
        n++;
        bench_report_row(options, &all[n - 1], all, n);
    }
    int n_wrong = bench_report_end(options, all, n);
    bench_ours_release(fused);
    bench_ours_release(unfused);
    bench_ours_release(ref);
    free(all);
    if (!n) fprintf(stderr, "bench: no workload has such a name; --list tells them\n");
    return n_wrong ? 1 : n ? 0 : 2;
}

static int memory_of(const bench_options *options, const char *contender, const char *name)
{
    for (int i = 0; i < bench_n_rows; i++)
        if (!strcmp(bench_rows[i].name, name)) return bench_memory_child(options, &bench_rows[i], atoi(contender));
    return 2;
}

int main(int argc, char **argv)
{
    bench_options o = { .repetitions = 9 };
    bool counts_calls = false;
    const char *contender = NULL; /* of --memory-of, which the program gives itself */
    int i = 1;
    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--json"))
            o.is_json = true;
        else if (!strcmp(argv[i], "--cpu"))
            o.by = BENCH_BY_CPU;
        else if (!strcmp(argv[i], "--kernels"))
            o.by = BENCH_BY_KERNELS;
        else if (!strcmp(argv[i], "--calls"))
            counts_calls = true;
        else if (!strcmp(argv[i], "--list"))
            return list();
        else if (!strcmp(argv[i], "--repetitions") && value && atoi(value) > 0 && atoi(value) <= 1000)
            o.repetitions = atoi(value), i++;
        else if (!strcmp(argv[i], "--device") && value)
            o.device = *value ? value : NULL, i++;
        else if (!strcmp(argv[i], "--memory-of") && value)
            contender = value, i++;
        else
            return usage();
    }
#if defined(M_MMAP_MAX) && defined(M_TRIM_THRESHOLD)
    /* Freed memory stays with the process: nobody is charged for fresh pages in each run. */
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
    /* As the library does (src/run/drivers.h) in a process that has no threads yet; here the peers' libraries have
     * theirs already. */
    setenv("POCL_AFFINITY", "1", 0);
    if (contender) return i + 1 == argc ? memory_of(&o, contender, argv[i]) : usage();
    return counts_calls ? bench_calls(&o, argv + i, argc - i) : measure_all(&o, argv + i, argc - i);
}
