/* SPDX-License-Identifier: MIT */
/*
 * What a report shows is computed once more, after the run, so that the times are those of the run alone: the text is
 * read again with a print() for each stage (stages.h) behind it, and all of them are evaluated together while they fit
 * into TOGETHER_BYTES, else each by itself. The files that were read are those of which the graph says so.
 */
#include "report.h"
#include "output.h"
#include "page.h"
#include "signals.h"
#include "stages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_STAGES = 40, MOST_TRIED = 200, MAX_INPUTS = 24, TOGETHER_BYTES = 1 << 28 };

/* ---- the text, built --------------------------------------------------------------------------------- */

typedef struct arrays {
    imgpar_array **items;
    size_t n;
} arrays;

static void release(arrays *a)
{
    for (size_t k = 0; k < a->n; k++)
        imgpar_array_release(a->items[k]);
    imgpar_free(a->items);
    *a = (arrays){ 0 };
}

/* What text saves and prints, the input being $1. why (size bytes) tells what went wrong. */
static imgpar_status build(const report_run *run, imgpar_context *ctx, const char *text, arrays *out, char *why,
                           size_t size)
{
    imgpar_pipeline *p = NULL;
    char *whole = text ? stages_with_input(text, run->input) : NULL;
    *out = (arrays){ 0 };
    why[0] = '\0';
    imgpar_status st = whole ? imgpar_pipeline_parse(run->name, whole, run->folder, &p) : IMGPAR_E_HOST_MEMORY;
    free(whole);
    for (int k = 0; k < run->n_settings && !st; k++) {
        const size_t n = setting_name_length(run->settings[k]);
        char *name = strndup(run->settings[k], n);
        st = name ? imgpar_pipeline_set(p, name, run->settings[k] + n + 1) : IMGPAR_E_HOST_MEMORY;
        free(name);
    }
    if (!st) st = imgpar_pipeline_build(p, ctx, &out->items, &out->n);
    if (st) snprintf(why, size, "%s", p ? imgpar_pipeline_message(p) : imgpar_status_name(st));
    imgpar_pipeline_release(p);
    return st;
}

/* ---- items ------------------------------------------------------------------------------------------- */

static char *copy(const char *text) { return strdup(text ? text : ""); }

/* Takes the texts. False: out of memory. */
static bool add_item(page_items *list, char *title, char *expr, char *note)
{
    page_item *grown = realloc(list->items, (list->n + 1) * sizeof *grown);
    if (grown) list->items = grown;
    if (!grown || !title || !expr || !note) {
        free(title);
        free(expr);
        free(note);
        return false;
    }
    grown[list->n++] = (page_item){ .title = title, .expr = expr, .note = note };
    return true;
}

static void free_items(page_items *list)
{
    for (size_t k = 0; k < list->n; k++) {
        free(list->items[k].title);
        free(list->items[k].expr);
        free(list->items[k].note);
        facts_free(&list->items[k].facts);
    }
    free(list->items);
    *list = (page_items){ 0 };
}

/* ---- stages ------------------------------------------------------------------------------------------ */

/*
 * Keeps those that are arrays, MAX_STAGES at most: with one of them printed the text gives one array more. Of many
 * only the first MOST_TRIED are looked at, as each is a text to be read.
 */
static void keep_values(const report_run *run, imgpar_context *ctx, stage_list *list, page_items *shown)
{
    char why[16];
    arrays a;
    size_t n = 0;
    char *text = stages_printed_alone(list, list->n);
    const bool is_built = !build(run, ctx, text, &a, why, sizeof why);
    const size_t base = a.n;
    release(&a);
    free(text);
    for (size_t k = 0; k < list->n; k++) {
        const bool is_tried = is_built && n < MAX_STAGES && k < MOST_TRIED && !signals_seen();
        if (!is_tried) {
            list->items[k].is_value = false;
            shown->n_left_out += is_built;
            continue;
        }
        text = stages_printed_alone(list, k);
        list->items[k].is_value = text && !build(run, ctx, text, &a, why, sizeof why) && a.n == base + 1;
        if (text) release(&a);
        free(text);
        n += list->items[k].is_value;
    }
}

static bool add_stages(const stage_list *list, page_items *shown)
{
    for (size_t k = 0; k < list->n; k++) {
        const stage *s = &list->items[k];
        if (s->is_value &&
            !add_item(shown, copy(s->name ? s->name : s->expr), copy(s->name ? s->expr : ""), copy(s->note)))
            return false;
    }
    return true;
}

/* Where all fit into memory, what they share is computed once. */
static imgpar_status evaluate(const arrays *a, size_t first, const imgpar_options *of_run)
{
    uint64_t bytes = 0;
    for (size_t k = first; k < a->n; k++) {
        imgpar_info info = { .struct_size = sizeof info };
        if (imgpar_array_info(a->items[k], &info)) return IMGPAR_OK; /* told of where it stands */
        bytes += info.size_bytes;
    }
    if (bytes > TOGETHER_BYTES || a->n == first) return IMGPAR_OK;
    imgpar_status st = imgpar_eval(a->items + first, a->n - first, of_run);
    return st == IMGPAR_E_INTERRUPTED ? st : IMGPAR_OK;
}

static imgpar_status take_stages(const report_run *run, imgpar_context *ctx, page_items *shown,
                                 const imgpar_options *of_run)
{
    stage_list list;
    arrays a = { 0 };
    imgpar_status st = IMGPAR_OK;
    stages_find(&list, run->text);
    if (list.head && !list.failed) keep_values(run, ctx, &list, shown);
    bool is_done = list.head && !list.failed && add_stages(&list, shown);
    char *printed = is_done ? stages_printed(&list) : NULL;
    if (printed && shown->n > 0) {
        char why[500];
        const bool failed = build(run, ctx, printed, &a, why, sizeof why) || a.n < shown->n;
        const size_t first = failed ? 0 : a.n - shown->n;
        if (failed) free_items(shown);
        if (failed) snprintf(shown->problem, sizeof shown->problem, "not shown, since building them failed: %s", why);
        if (!failed) st = evaluate(&a, first, of_run);
        for (size_t k = 0; k < shown->n && !st; k++) {
            st = facts_take(ctx, a.items[first + k], of_run, &shown->items[k].facts);
            imgpar_array_release(a.items[first + k]); /* with what is kept of it */
            a.items[first + k] = NULL;
        }
    }
    is_done = is_done && printed;
    free(printed);
    release(&a);
    stages_free(&list);
    return st ? st : is_done ? IMGPAR_OK : IMGPAR_E_HOST_MEMORY;
}

/* ---- inputs ------------------------------------------------------------------------------------------ */

/* The text of the string at p, behind its first quote, as the graph writes strings; for free(). */
static char *unquoted(const char *p)
{
    char *text = malloc(strlen(p) + 1), *out = text;
    for (; text && *p && *p != '"'; p++) {
        unsigned byte;
        if (*p != '\\' || !p[1])
            *out++ = *p;
        else if (p[1] == 'x' && sscanf(p + 2, "%2x", &byte) == 1) {
            *out++ = (char)byte;
            p += 3;
        } else {
            *out++ = *++p;
        }
    }
    if (text) *out = '\0';
    return text;
}

/* "png of 1234567 bytes, profile Display P3". */
static char *describe_file(imgpar_context *ctx, const char *path, imgpar_array *a)
{
    enum { ROOM = 300 };
    char *text = malloc(ROOM), colours[100];
    imgpar_probe probe = { .struct_size = sizeof probe };
    struct stat found;
    if (!text) return NULL;
    const bool is_known = imgpar_probe_file(path, &probe, NULL, 0) == IMGPAR_OK;
    facts_profile(ctx, a, colours, sizeof colours);
    snprintf(text, ROOM, "%s", is_known ? probe.format : "");
    if (stat(path, &found) == 0)
        snprintf(text + strlen(text), ROOM - strlen(text), "%s%lld bytes", is_known ? " of " : "",
                 (long long)found.st_size);
    if (colours[0]) snprintf(text + strlen(text), ROOM - strlen(text), "%sprofile %s", text[0] ? ", " : "", colours);
    return text;
}

static imgpar_status take_input(imgpar_context *ctx, const char *call, page_items *shown, const imgpar_options *of_run)
{
    const char *quote = strstr(call, "path=\"");
    char *path = quote ? unquoted(quote + 6) : NULL, *title = NULL;
    if (!path) return quote ? IMGPAR_E_HOST_MEMORY : IMGPAR_OK;
    imgpar_array *a = imgpar_apply(ctx, call, NULL, 0);
    const char *slash = strrchr(path, '/');
    title = copy(slash && slash[1] ? slash + 1 : path);
    imgpar_status st = IMGPAR_E_HOST_MEMORY;
    if (add_item(shown, title, copy(path), describe_file(ctx, path, a)))
        st = facts_take(ctx, a, of_run, &shown->items[shown->n - 1].facts);
    imgpar_array_release(a);
    free(path);
    return st;
}

/* The files that the graph, a node a line, opens. */
static imgpar_status take_inputs(imgpar_context *ctx, const char *graph, page_items *shown,
                                 const imgpar_options *of_run)
{
    imgpar_status st = IMGPAR_OK;
    for (const char *line = graph, *next; *line && !st; line = next) {
        const size_t n = strcspn(line, "\n");
        next = line + n + (line[n] == '\n');
        char *text = strndup(line, n), *call = text ? strstr(text, " = open(") : NULL;
        if (!text) return IMGPAR_E_HOST_MEMORY;
        if (call && call == text + strcspn(text, " ")) {
            if (shown->n < MAX_INPUTS)
                st = take_input(ctx, call + 3, shown, of_run);
            else
                shown->n_left_out++;
        }
        free(text);
    }
    return st;
}

/* ---- the page ---------------------------------------------------------------------------------------- */

static int poll(void *user, double done)
{
    (void)user;
    return signals_poll(NULL, done);
}

static imgpar_status explain(const arrays *a, page *p)
{
    static const char *const formats[N_EXPLAINED] = { "text", "graph", "cl", "json" };
    for (int k = 0; k < N_EXPLAINED && a->n > 0; k++)
        if (imgpar_explain(a->items, a->n, formats[k], &p->explained[k]) == IMGPAR_E_HOST_MEMORY)
            return IMGPAR_E_HOST_MEMORY;
    return IMGPAR_OK;
}

static imgpar_status collect(const report_run *run, imgpar_context *ctx, page *p)
{
    char why[600];
    arrays a;
    const imgpar_options of_run = { .struct_size = sizeof of_run, .poll = poll };
    if (build(run, ctx, run->text, &a, why, sizeof why)) {
        snprintf(p->stages.problem, sizeof p->stages.problem, "what is read cannot be read once more: %.500s", why);
        return IMGPAR_OK;
    }
    imgpar_status st = explain(&a, p);
    release(&a);
    if (!st && p->explained[EXPLAINED_GRAPH]) st = take_inputs(ctx, p->explained[EXPLAINED_GRAPH], &p->inputs, &of_run);
    return st ? st : take_stages(run, ctx, &p->stages, &of_run);
}

static int fail(const char *path, const char *why)
{
    complain("--report=%s: %s", path, why);
    return EXIT_FAILED;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    if (!a || !b) return false;
    if (strcmp(a, b) == 0) return true;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* One of the files that the run read. */
static bool is_input(const char *path, const page_items *inputs)
{
    for (size_t k = 0; k < inputs->n; k++)
        if (is_same_file(path, inputs->items[k].expr)) return true;
    return false;
}

/* Into a file beside it, which is renamed when it is whole. */
static int write_whole(const char *path, const page *p)
{
    const size_t n = strlen(path);
    char *beside = malloc(n + 8);
    if (!beside) return fail(path, "out of memory");
    snprintf(beside, n + 8, "%s.XXXXXX", path);
    const mode_t mask = umask(0);
    umask(mask);
    const int file = mkstemp(beside);
    FILE *out = file >= 0 ? fdopen(file, "w") : NULL;
    const char *why = out ? NULL : strerror(errno);
    if (file >= 0 && !out) close(file);
    if (out && !page_write(out, p)) why = "out of memory";
    if (out && !why && (fflush(out) != 0 || ferror(out))) why = strerror(errno);
    if (out && fchmod(file, 0666 & ~mask) != 0 && !why) why = strerror(errno);
    if (out && fclose(out) != 0 && !why) why = strerror(errno);
    if (!why && rename(beside, path) != 0) why = strerror(errno);
    if (why && file >= 0) unlink(beside);
    free(beside);
    return why ? fail(path, why) : EXIT_DONE;
}

int report_write(const char *path, const report_run *run, imgpar_context *ctx)
{
    page p = { .name = run->name,
               .text = run->text,
               .settings = run->settings,
               .n_settings = run->n_settings,
               .printed = run->printed ? run->printed : "",
               .times = run->times,
               .wall_ms = run->wall_ms,
               .opening_ms = run->opening_ms,
               .copy_gb_per_s = profile_copy_gb_per_s(run->times, ctx),
               .ctx = ctx };
    imgpar_status st = collect(run, ctx, &p);
    int status = st ? fail(path, st == IMGPAR_E_INTERRUPTED ? "interrupted" : imgpar_status_name(st)) : EXIT_DONE;
    if (!status && is_input(path, &p.inputs)) status = fail(path, "it is a file that the run reads");
    if (!status) status = write_whole(path, &p);
    free_items(&p.inputs);
    free_items(&p.stages);
    for (int k = 0; k < N_EXPLAINED; k++)
        imgpar_free(p.explained[k]);
    return status;
}

/* ---- before anything runs ---------------------------------------------------------------------------- */

int report_check(const options *o, const char *input)
{
    const char *path = o->report, *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    if (!dot || (strcmp(dot, ".html") != 0 && strcmp(dot, ".htm") != 0 && strcmp(dot, ".xhtml") != 0)) {
        complain("--report=%s: a name that ends in .html is expected", path);
        return EXIT_USAGE;
    }
    if (is_same_file(path, o->output) || is_same_file(path, o->file) || is_same_file(path, o->trace) ||
        is_same_file(path, input)) {
        complain("--report=%s is a file that the run reads or writes itself", path);
        return EXIT_USAGE;
    }
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    const char *why = !folder ? "out of memory" : access(folder, W_OK | X_OK) != 0 ? strerror(errno) : NULL;
    free(folder);
    return why ? fail(path, why) : EXIT_DONE;
}
