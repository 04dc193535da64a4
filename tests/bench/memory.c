/* SPDX-License-Identifier: MIT */
/*
 * Peak memory of one run, in a process of its own: the growth of its largest resident size over what it held with
 * its programs warm and its inputs in place, plus the inputs.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A line of /proc/self/status in bytes; -1: there is none. */
static int64_t status_bytes(const char *name)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long long kib = -1;
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, name, strlen(name)) && sscanf(line + strlen(name), ": %lld", &kib) == 1) break;
    if (f) fclose(f);
    return kib < 0 ? -1 : (int64_t)kib * 1024;
}

static bool reset_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    bool is_ok = f && fputs("5", f) >= 0;
    return f && !fclose(f) && is_ok;
}

static bool run_once(bench_ours *ours, bench_run run, const bench_row *row, bool is_small, int64_t *input_bytes,
                     int64_t *held)
{
    bench_task t = { .row = row, .n_in = row->n_in };
    *input_bytes = 0;
    for (int i = 0; i < row->n_in; i++) {
        t.in[i] = *bench_picture(row->input, i, is_small);
        *input_bytes += (int64_t)t.in[i].size_bytes;
    }
    if (ours && !bench_ours_prepare(ours, row, is_small, t.message, sizeof t.message)) return false;
    /* Only filters of one kept shape ask for memory. */
    t.out[0] = t.in[0];
    t.out[0].data = NULL;
    *held = reset_peak() ? status_bytes("VmRSS") : -1;
    bool is_ok = ours ? bench_ours_run(ours, &t) : run(&t);
    int64_t peak = status_bytes("VmHWM");
    *held = *held < 0 || peak < 0 ? -1 : peak - *held;
    bench_task_clear(&t);
    return is_ok;
}

int bench_memory_child(const bench_options *options, const bench_row *row, int contender)
{
    bench_ours *ours = contender <= BENCH_UNFUSED ? bench_ours_new(options->device, contender == BENCH_FUSED) : NULL;
    bench_run run = bench_run_of(row, contender);
    int64_t input_bytes, growth;
    if (!ours && !run) return 1;
    bool is_ok =
        run_once(ours, run, row, true, &input_bytes, &growth) && run_once(ours, run, row, false, &input_bytes, &growth);
    imgpar_counters counters = { .struct_size = sizeof counters };
    if (ours) {
        imgpar_context_counters(bench_ours_context(ours), &counters);
        bench_ours_release(ours);
    }
    if (!is_ok || growth < 0) return 1;
    printf("%lld %lld\n", (long long)(input_bytes + growth), (long long)counters.device_bytes_peak);
    return 0;
}

int64_t bench_memory(const bench_options *options, const bench_row *row, int contender, int64_t *device_bytes)
{
    int ends[2];
    if (pipe(ends)) return -1;
    pid_t child = fork();
    if (child == 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", contender);
        dup2(ends[1], 1);
        close(ends[0]);
        execl("/proc/self/exe", "bench", "--device", options->device ? options->device : "", "--memory-of", number,
              row->name, (char *)NULL);
        _exit(1);
    }
    close(ends[1]);
    long long bytes = -1, device = -1;
    FILE *f = child > 0 ? fdopen(ends[0], "r") : NULL;
    if (!f || fscanf(f, "%lld %lld", &bytes, &device) != 2) bytes = device = -1;
    if (f)
        fclose(f);
    else
        close(ends[0]);
    if (child > 0) waitpid(child, NULL, 0);
    if (contender == BENCH_FUSED) *device_bytes = device;
    return bytes;
}
