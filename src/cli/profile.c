/* SPDX-License-Identifier: MIT */
/*
 * A table of timed steps in the order they ended, and the sum of each kind.
 * Times of steps may overlap (decoding one file while a kernel runs), so their
 * sum can exceed the time that passed.
 */
#include "profile.h"
#include "options.h"
#include "output.h"

#include <errno.h>
#include <imgpar_cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *copy(const char *text)
{
    char *new = malloc(strlen(text ? text : "") + 1);
    return new ? strcpy(new, text ? text : "") : NULL;
}

static void free_row(profile_row *row)
{
    free(row->kind);
    free(row->name);
    free(row->ops);
    free(row->schedule);
    free(row->device);
}

/* Is the event one more of the row? Files and transfers of one kind are alike, whatever they are called. */
static bool is_alike(const profile_row *row, const imgpar_event *event)
{
    const bool is_kernel = strcmp(row->kind, "kernel") == 0;
    return strcmp(row->kind, event->kind) == 0 && strcmp(row->device, event->device ? event->device : "") == 0 &&
           (!is_kernel || (strcmp(row->name, event->name) == 0 &&
                           strcmp(row->schedule, event->schedule ? event->schedule : "") == 0));
}

static bool merge(profile *p, const imgpar_event *event)
{
    for (size_t i = 0; i < p->n && p->merges; i++) {
        profile_row *row = &p->rows[i];
        if (!is_alike(row, event)) continue;
        row->ms += event->end_ms - event->start_ms;
        row->bytes += event->bytes_read + event->bytes_written;
        row->count++;
        return true;
    }
    return false;
}

/* What stands for the names of several. */
static const char *name_of(const profile_row *row, char room[40])
{
    if (row->count == 1 || strcmp(row->kind, "kernel") == 0) return row->name;
    snprintf(room, 40, "%zu of them", row->count);
    return room;
}

void profile_add(profile *p, const imgpar_event *event)
{
    if (merge(p, event)) return;
    if (p->n == p->capacity) {
        size_t capacity = p->capacity ? p->capacity * 2 : 64;
        profile_row *grown = realloc(p->rows, capacity * sizeof *grown);
        if (!grown) {
            p->failed = true;
            return;
        }
        p->rows = grown;
        p->capacity = capacity;
    }
    profile_row row = { copy(event->kind),
                        copy(event->name),
                        copy(event->ops),
                        copy(event->schedule),
                        copy(event->device),
                        event->evaluation_ms + event->start_ms,
                        event->end_ms - event->start_ms,
                        event->bytes_read + event->bytes_written,
                        1 };
    if (row.kind && row.name && row.ops && row.schedule && row.device) {
        p->rows[p->n++] = row;
    } else {
        free_row(&row);
        p->failed = true;
    }
}

/* Did more than one device have something to do? Then each step is told with its device. */
static bool has_several_devices(const profile *p)
{
    const char *first = "";
    for (size_t i = 0; i < p->n; i++) {
        const char *device = p->rows[i].device;
        if (device[0] && first[0] && strcmp(device, first) != 0) return true;
        if (device[0]) first = device;
    }
    return false;
}

static double gb_per_s(const profile_row *row) { return row->ms > 0 ? (double)row->bytes / row->ms / 1e6 : 0; }

/* ---- the copy limit -------------------------------------------------------------------------- */

enum { COPY_BYTES = 32 << 20, COPIES = 4 /* the first touches the memory */ };

static double copy_ms(imgpar_cl_queue *queue, imgpar_cl_buffer *from, imgpar_cl_buffer *to)
{
    imgpar_cl_event *done = NULL;
    imgpar_cl_times times = { .struct_size = sizeof times };
    imgpar_status st = imgpar_cl_copy(queue, from, NULL, to, NULL, IMGPAR_CL_ORDER(.event = &done));
    if (!st) st = imgpar_cl_event_times(done, &times);
    imgpar_cl_event_release(done);
    return st ? 0 : (double)(times.ended_ns - times.started_ns) / 1e6;
}

/* GB/s read and written by a copy within the device's memory; 0: not known. */
static double copy_limit(imgpar_context *ctx)
{
    imgpar_cl_queue *queue = NULL;
    imgpar_cl_buffer *buffers[2] = { NULL, NULL };
    const imgpar_cl_layout layout = imgpar_cl_vector(COPY_BYTES, 1);
    const unsigned char zero = 0;
    double best = 0;
    imgpar_status st = imgpar_cl_queue_new(ctx, NULL, &queue);
    for (int k = 0; k < 2 && !st; k++) {
        st = imgpar_cl_buffer_new(ctx, IMGPAR_CL_INOUT, &layout, &buffers[k]);
        if (!st) st = imgpar_cl_fill(queue, buffers[k], NULL, &zero, NULL);
    }
    for (int k = 0; k < COPIES && !st; k++) {
        double ms = copy_ms(queue, buffers[0], buffers[1]);
        if (ms > 0 && (best == 0 || ms < best)) best = ms;
    }
    for (int k = 0; k < 2; k++)
        imgpar_cl_buffer_release(buffers[k]);
    imgpar_cl_queue_release(queue);
    return best > 0 ? 2.0 * COPY_BYTES / best / 1e6 : 0;
}

static bool is_kernel(const profile_row *row) { return strcmp(row->kind, "kernel") == 0; }

double profile_copy_gb_per_s(const profile *p, imgpar_context *ctx)
{
    for (size_t i = 0; i < p->n; i++)
        if (is_kernel(&p->rows[i])) return copy_limit(ctx);
    return 0;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void print_table(const profile *p, double limit)
{
    bool several = has_several_devices(p);
    char name[40];
    fputs("        ms     GB/s   copy  step\n", stderr);
    for (size_t i = 0; i < p->n; i++) {
        const profile_row *row = &p->rows[i];
        fprintf(stderr, "%10.3f", row->ms);
        if (row->bytes)
            fprintf(stderr, " %8.2f", gb_per_s(row));
        else
            fputs("        -", stderr);
        if (row->bytes && limit > 0 && is_kernel(row))
            fprintf(stderr, " %5.0f%%  ", 100 * gb_per_s(row) / limit);
        else
            fputs("      -  ", stderr);
        fprintf(stderr, "%-9s %s", row->kind, name_of(row, name));
        if (row->ops[0] || row->schedule[0]) fprintf(stderr, "  %s", row->ops[0] ? row->ops : "arithmetic");
        if (row->schedule[0]) fprintf(stderr, "  (%s)", row->schedule);
        if (several && row->device[0]) fprintf(stderr, "  on %s", row->device);
        fputc('\n', stderr);
    }
    for (size_t i = 0; i < p->n; i++) { /* the sums, at each kind's first row */
        double ms = 0;
        size_t first = 0;
        while (strcmp(p->rows[first].kind, p->rows[i].kind) != 0)
            first++;
        if (first != i) continue;
        for (size_t k = i; k < p->n; k++)
            if (strcmp(p->rows[k].kind, p->rows[i].kind) == 0) ms += p->rows[k].ms;
        fprintf(stderr, "%10.3f                  all %s\n", ms, p->rows[i].kind);
    }
    if (limit > 0) fprintf(stderr, "copy: the share of %.2f GB/s, what a copy in the device's memory moves\n", limit);
}

static void print_json_text(FILE *f, const char *name, const char *text)
{
    fprintf(f, "\"%s\": \"", name);
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(f, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            fprintf(f, "\\u%04x", (unsigned)*c);
        else
            fputc(*c, f);
    }
    fputc('"', f);
}

static void print_json(const profile *p, double limit)
{
    char name[40];
    fputs("{\"events\": [", stderr);
    for (size_t i = 0; i < p->n; i++) {
        const profile_row *row = &p->rows[i];
        fputs(i ? ",\n  {" : "\n  {", stderr);
        print_json_text(stderr, "kind", row->kind);
        fputs(", ", stderr);
        print_json_text(stderr, "name", name_of(row, name));
        fputs(", ", stderr);
        print_json_text(stderr, "ops", row->ops);
        fputs(", ", stderr);
        print_json_text(stderr, "schedule", row->schedule);
        fputs(", ", stderr);
        print_json_text(stderr, "device", row->device);
        if (p->merges) fprintf(stderr, ", \"count\": %zu", row->count);
        fprintf(stderr, ", \"ms\": %.6f, \"bytes\": %llu, \"gb_per_s\": %.3f", row->ms, (unsigned long long)row->bytes,
                gb_per_s(row));
        if (limit > 0 && is_kernel(row)) fprintf(stderr, ", \"copy_share\": %.4f", gb_per_s(row) / limit);
        fputc('}', stderr);
    }
    fprintf(stderr, "\n], \"copy_gb_per_s\": %.3f}\n", limit);
}

void profile_print(const profile *p, imgpar_context *ctx, bool json)
{
    double limit = profile_copy_gb_per_s(p, ctx);
    if (json)
        print_json(p, limit);
    else
        print_table(p, limit);
    if (p->failed) fputs("imgpar-run: --profile: out of memory, some steps are missing\n", stderr);
}

/* ---- --trace ----------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const profile_row *const *x = a, *const *y = b;
    return ((*x)->start_ms > (*y)->start_ms) - ((*x)->start_ms < (*y)->start_ms);
}

/* A line of the picture: events of one kind on one device that do not overlap. */
typedef struct lane {
    const char *kind, *device;
    double end_ms;
} lane;

static size_t lane_for(lane *lanes, size_t *n, const profile_row *row)
{
    size_t k = 0;
    while (k < *n && (strcmp(lanes[k].kind, row->kind) != 0 || strcmp(lanes[k].device, row->device) != 0 ||
                      lanes[k].end_ms > row->start_ms))
        k++;
    *n += k == *n;
    lanes[k] = (lane){ row->kind, row->device, row->start_ms + row->ms };
    return k;
}

static void trace_row(FILE *f, const profile_row *row, size_t at, double origin_ms)
{
    fprintf(f, "{\"ph\": \"X\", \"pid\": 1, \"tid\": %zu, \"ts\": %.3f, \"dur\": %.3f, ", at + 1,
            (row->start_ms - origin_ms) * 1e3, row->ms * 1e3);
    print_json_text(f, "name", row->name);
    fputs(", ", f);
    print_json_text(f, "cat", row->kind);
    fputs(", \"args\": {", f);
    print_json_text(f, "ops", row->ops);
    fputs(", ", f);
    print_json_text(f, "schedule", row->schedule);
    fputs(", ", f);
    print_json_text(f, "device", row->device);
    fprintf(f, ", \"bytes\": %llu}}", (unsigned long long)row->bytes);
}

static void trace_rows(FILE *f, const profile_row **rows, lane *lanes, size_t n, bool several)
{
    size_t n_lanes = 0;
    fputs("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [", f);
    for (size_t i = 0; i < n; i++) {
        size_t before = n_lanes, at = lane_for(lanes, &n_lanes, rows[i]);
        fputs(i ? ",\n" : "\n", f);
        if (n_lanes > before)
            fprintf(f,
                    "{\"ph\": \"M\", \"pid\": 1, \"tid\": %zu, \"name\": \"thread_name\", \"args\": {\"name\": "
                    "\"%s%s%s\"}},\n",
                    at + 1, rows[i]->kind, several && rows[i]->device[0] ? " on " : "", several ? rows[i]->device : "");
        trace_row(f, rows[i], at, rows[0]->start_ms);
    }
    fputs("\n]}\n", f);
}

int profile_trace(const profile *p, const char *path)
{
    const profile_row **rows = malloc((p->n + 1) * sizeof *rows);
    lane *lanes = malloc((p->n + 1) * sizeof *lanes);
    bool to_stdout = strcmp(path, "-") == 0;
    FILE *f = rows && lanes ? (to_stdout ? stdout : fopen(path, "w")) : NULL;
    bool failed = !f;
    if (f) {
        for (size_t i = 0; i < p->n; i++)
            rows[i] = &p->rows[i];
        qsort(rows, p->n, sizeof *rows, by_start);
        trace_rows(f, rows, lanes, p->n, has_several_devices(p));
        failed = (to_stdout ? fflush(f) : fclose(f)) != 0 || p->failed;
    }
    if (failed) complain("--trace=%s: %s", path, p->failed || !rows || !lanes ? "out of memory" : strerror(errno));
    free(rows);
    free(lanes);
    return failed ? EXIT_FAILED : EXIT_DONE;
}

void profile_free(profile *p)
{
    for (size_t i = 0; i < p->n; i++)
        free_row(&p->rows[i]);
    free(p->rows);
    *p = (profile){ 0 };
}
