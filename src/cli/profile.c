/* SPDX-License-Identifier: MIT */
/*
 * A table of timed steps in the order they ended, and the sum of each kind.
 * Times of steps may overlap (decoding one file while a kernel runs), so their
 * sum can exceed the time that passed.
 */
#include "profile.h"

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
}

void profile_add(profile *p, const imgpar_event *event)
{
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
    profile_row row = { copy(event->kind), copy(event->name), copy(event->ops), copy(event->schedule),
                        event->end_ms - event->start_ms, event->bytes_read + event->bytes_written };
    if (row.kind && row.name && row.ops && row.schedule) {
        p->rows[p->n++] = row;
    } else {
        free_row(&row);
        p->failed = true;
    }
}

static double gb_per_s(const profile_row *row)
{
    return row->ms > 0 ? (double)row->bytes / row->ms / 1e6 : 0;
}

static void print_table(const profile *p)
{
    fputs("        ms     GB/s  step\n", stderr);
    for (size_t i = 0; i < p->n; i++) {
        const profile_row *row = &p->rows[i];
        fprintf(stderr, "%10.3f", row->ms);
        if (row->bytes) fprintf(stderr, " %8.2f  ", gb_per_s(row));
        else fputs("        -  ", stderr);
        fprintf(stderr, "%-9s %s", row->kind, row->name);
        if (row->ops[0]) fprintf(stderr, "  %s", row->ops);
        if (row->schedule[0]) fprintf(stderr, "  (%s)", row->schedule);
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
        fprintf(stderr, "%10.3f           all %s\n", ms, p->rows[i].kind);
    }
}

static void print_json_text(const char *name, const char *text)
{
    fprintf(stderr, "\"%s\": \"", name);
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\') fprintf(stderr, "\\%c", *c);
        else if ((unsigned char)*c < 0x20) fprintf(stderr, "\\u%04x", (unsigned)*c);
        else fputc(*c, stderr);
    }
    fputc('"', stderr);
}

static void print_json(const profile *p)
{
    fputs("{\"events\": [", stderr);
    for (size_t i = 0; i < p->n; i++) {
        const profile_row *row = &p->rows[i];
        fputs(i ? ",\n  {" : "\n  {", stderr);
        print_json_text("kind", row->kind);
        fputs(", ", stderr);
        print_json_text("name", row->name);
        fputs(", ", stderr);
        print_json_text("ops", row->ops);
        fputs(", ", stderr);
        print_json_text("schedule", row->schedule);
        fprintf(stderr, ", \"ms\": %.6f, \"bytes\": %llu, \"gb_per_s\": %.3f}", row->ms, (unsigned long long)row->bytes,
                gb_per_s(row));
    }
    fputs("\n]}\n", stderr);
}

void profile_print(const profile *p, bool json)
{
    if (json) print_json(p);
    else print_table(p);
    if (p->failed) fputs("imgpar-run: --profile: out of memory, some steps are missing\n", stderr);
}

void profile_free(profile *p)
{
    for (size_t i = 0; i < p->n; i++)
        free_row(&p->rows[i]);
    free(p->rows);
    *p = (profile){ 0 };
}
