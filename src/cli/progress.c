/* SPDX-License-Identifier: MIT */
#include "progress.h"
#include "output.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A short run shows nothing, a long one not so often that reading it is tiring. */
static const double first_after_s = 1, line_every_s = 0.2, lines_every_s = 1;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Can the terminal write over a line? */
static bool can_erase(void)
{
    const char *terminal = getenv("TERM");
    return terminal && terminal[0] && strcmp(terminal, "dumb") != 0;
}

void progress_begin(progress *p, const options *o)
{
    *p = (progress){ .form = PROGRESS_HIDDEN, .started_s = now_s() };
    p->next_s = p->started_s + first_after_s;
    if (o->quiet) return;
    if (o->progress == PROGRESS_AS_JSON)
        p->form = PROGRESS_OBJECTS;
    else if (isatty(STDERR_FILENO) && can_erase())
        p->form = PROGRESS_LINE;
    else if (o->progress == PROGRESS_AS_TEXT)
        p->form = PROGRESS_LINES;
}

static double mb_per_s(const progress_state *now, double took_s)
{
    return took_s > 0 ? (double)(now->bytes - now->skipped_bytes) / 1e6 / took_s : 0;
}

/* Seconds that are left at the rate so far; below 0: nobody knows yet. */
static double left_s(const progress_state *now, double took_s)
{
    const double skipped = now->of_bytes ? (double)now->skipped_bytes / (double)now->of_bytes : 0,
                 done = now->fraction - skipped;
    if (now->fraction >= 1) return 0;
    return done > 0 ? took_s * (1 - now->fraction) / done : -1;
}

/* "7 s", "2:05", "1:02:05". */
static void print_time(FILE *out, double seconds)
{
    const unsigned long s = (unsigned long)(seconds + 0.5);
    if (s < 60)
        fprintf(out, "%lu s", s);
    else if (s < 3600)
        fprintf(out, "%lu:%02lu", s / 60, s % 60);
    else
        fprintf(out, "%lu:%02lu:%02lu", s / 3600, s / 60 % 60, s % 60);
}

static void print_files(FILE *out, const progress_state *now, double took_s)
{
    fprintf(out, "%zu of %zu files", now->files, now->of);
    if (now->failed) fprintf(out, ", %zu failed", now->failed);
    if (now->skipped) fprintf(out, ", %zu skipped", now->skipped);
    fprintf(out, ", %.1f MB/s", mb_per_s(now, took_s));
}

static void print_frames(FILE *out, const progress_state *now, double took_s)
{
    fprintf(out, "%zu frame%s", now->frames, now->frames == 1 ? "" : "s");
    if (took_s > 0) fprintf(out, ", %.1f a second", (double)now->frames / took_s);
}

static void print_text(FILE *out, const progress_state *now, double took_s)
{
    const double left = left_s(now, took_s);
    if (now->frames) {
        print_frames(out, now, took_s);
        return;
    }
    if (now->of)
        print_files(out, now, took_s);
    else
        fprintf(out, "%.0f%%", 100 * now->fraction);
    if (left < 0) return;
    fputs(", ", out);
    print_time(out, left);
    fputs(" left", out);
}

static void print_object(FILE *out, const progress_state *now, double took_s)
{
    const double left = left_s(now, took_s);
    if (now->frames) {
        fprintf(out, "{\"frames\": %zu, \"seconds\": %.3f}", now->frames, took_s);
        return;
    }
    fprintf(out, "{\"fraction\": %.4f", now->fraction);
    if (now->of)
        fprintf(out, ", \"files\": %zu, \"of\": %zu, \"failed\": %zu, \"skipped\": %zu, \"mb_per_s\": %.3f", now->files,
                now->of, now->failed, now->skipped, mb_per_s(now, took_s));
    fprintf(out, ", \"seconds\": %.3f", took_s);
    if (left >= 0) fprintf(out, ", \"seconds_left\": %.1f", left);
    fputs("}", out);
}

static void show(progress *p, const progress_state *now, double at_s)
{
    char text[200] = "";
    const double took_s = at_s - p->started_s;
    FILE *out = fmemopen(text, sizeof text, "w");
    if (!out) return;
    if (p->form == PROGRESS_OBJECTS)
        print_object(out, now, took_s);
    else
        print_text(out, now, took_s);
    fclose(out);
    if (p->form == PROGRESS_LINE)
        show_status(text);
    else
        tell(text);
}

void progress_tick(progress *p, const progress_state *now)
{
    const double at_s = p->form == PROGRESS_HIDDEN ? 0 : now_s();
    if (p->form == PROGRESS_HIDDEN || at_s < p->next_s) return;
    progress_state state = *now;
    if (state.fraction < p->fraction) state.fraction = p->fraction;
    p->fraction = state.fraction;
    p->next_s = at_s + (p->form == PROGRESS_LINE ? line_every_s : lines_every_s);
    show(p, &state, at_s);
}

void progress_end(progress *p, const progress_state *now)
{
    char text[200] = "";
    const double took_s = now_s() - p->started_s;
    if (p->form == PROGRESS_OBJECTS) show(p, now, p->started_s + took_s);
    show_status("");
    if (p->form != PROGRESS_LINE && p->form != PROGRESS_LINES) return;
    const bool is_counted = now->of || now->frames;
    FILE *out = is_counted && took_s >= first_after_s ? fmemopen(text, sizeof text, "w") : NULL;
    if (!out) return;
    if (now->frames)
        print_frames(out, now, took_s);
    else
        print_files(out, now, took_s);
    fputs(", ", out);
    print_time(out, took_s);
    fclose(out);
    tell(text);
}
