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
#include "whole.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_STAGES = 40, MOST_BUILT = 200, MAX_INPUTS = 24, TOGETHER_BYTES = 1 << 28 };

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

/* What looks for the stages that are arrays: with n of them printed the text gives n arrays more. */
typedef struct search {
    const report_run *run;
    imgpar_context *ctx;
    stage_list *list;
    size_t n_before; /* arrays of the text alone */
    size_t n_built, n_found, n_left_out;
} search;

/* How many arrays there are with the stages from first to end printed. False: that cannot be built. */
static bool count_arrays(search *s, size_t first, size_t end, size_t *n)
{
    char why[16], *text = stages_printed_range(s->list, first, end);
    arrays a = { 0 };
    const bool is_built = text && !build(s->run, s->ctx, text, &a, why, sizeof why);
    *n = a.n;
    s->n_built++;
    release(&a);
    free(text);
    return is_built;
}

static void leave_out(search *s, size_t first, size_t end, bool is_counted)
{
    for (size_t k = first; k < end; k++)
        s->list->items[k].is_value = false;
    if (is_counted) s->n_left_out += end - first;
}

/* Mostly all of them are arrays, or none; else halves are looked at, and halves of these. */
static void keep_range(search *s, size_t first, size_t end)
{
    size_t n;
    if (signals_poll(NULL, 0) || s->n_built >= MOST_BUILT) {
        leave_out(s, first, end, true);
        return;
    }
    const bool is_built = count_arrays(s, first, end, &n);
    if (is_built && n == s->n_before + (end - first)) {
        s->n_found += end - first;
    } else if (end - first == 1 || (is_built && n == s->n_before)) {
        leave_out(s, first, end, false);
    } else {
        keep_range(s, first, first + (end - first) / 2);
        keep_range(s, first + (end - first) / 2, end);
    }
}

/* Keeps the first MAX_STAGES that are arrays. */
static void keep_values(const report_run *run, imgpar_context *ctx, stage_list *list, page_items *shown)
{
    search s = { .run = run, .ctx = ctx, .list = list };
    size_t k = 0;
    if (!count_arrays(&s, 0, 0, &s.n_before)) {
        leave_out(&s, 0, list->n, false);
        return;
    }
    while (k < list->n && s.n_found < MAX_STAGES) {
        const size_t room = MAX_STAGES - s.n_found, end = list->n - k > room ? k + room : list->n;
        keep_range(&s, k, end);
        k = end;
    }
    leave_out(&s, k, list->n, true);
    shown->n_left_out = s.n_left_out;
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
        if (imgpar_array_info(a->items[k], &info)) return IMGPAR_OK; /* facts_take() says so */
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
    if (signals_poll(NULL, 0)) st = IMGPAR_E_INTERRUPTED;
    bool is_done = !st && list.head && !list.failed && add_stages(&list, shown);
    char *printed = is_done ? stages_printed_range(&list, 0, list.n) : NULL;
    if (printed && shown->n > 0) {
        char why[500];
        bool failed = build(run, ctx, printed, &a, why, sizeof why) != IMGPAR_OK;
        if (!failed && a.n < shown->n) {
            failed = true;
            snprintf(why, sizeof why, "%zu arrays for %zu stages", a.n, shown->n);
        }
        const size_t first = failed ? 0 : a.n - shown->n;
        if (failed) free_items(shown);
        if (failed) snprintf(shown->problem, sizeof shown->problem, "not shown, since building them failed: %s", why);
        if (!failed) st = evaluate(&a, first, of_run);
        for (size_t k = 0; k < shown->n && !st; k++) {
            st = facts_take(ctx, a.items[first + k], of_run, &shown->items[k].facts);
            imgpar_array_release(a.items[first + k]); /* and with it its elements */
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

/* What a call of open() in a graph opens, for free(). */
static char *path_of(const char *call)
{
    const char *quoted = strstr(call, "path=\"");
    quoted += quoted ? 5 : 0;
    return quoted ? stages_next_string(&quoted) : NULL;
}

static imgpar_status take_input(imgpar_context *ctx, const char *call, page_items *shown, const imgpar_options *of_run)
{
    char *path = path_of(call), *title = NULL;
    if (!path) return IMGPAR_E_HOST_MEMORY;
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

/* The calls of open() in a graph, which has a node a line; for free(), and each of them, too. */
typedef struct calls {
    char **items;
    size_t n;
} calls;

static void free_calls(calls *c)
{
    for (size_t k = 0; k < c->n; k++)
        free(c->items[k]);
    free(c->items);
    *c = (calls){ 0 };
}

/* False: out of memory. */
static bool find_calls(const char *graph, calls *out)
{
    for (const char *line = graph, *next; *line; line = next) {
        const size_t n = strcspn(line, "\n"), name = strcspn(line, " \n");
        next = line + n + (line[n] == '\n');
        if (n < name + 8 || memcmp(line + name, " = open(", 8) != 0) continue;
        char *call = strndup(line + name + 3, n - name - 3);
        char **grown = call && strstr(call, "path=\"") ? realloc(out->items, (out->n + 1) * sizeof *grown) : NULL;
        if (grown) {
            out->items = grown;
            grown[out->n++] = call;
            continue;
        }
        const bool is_path = call && strstr(call, "path=\"");
        free(call);
        if (!call || is_path) return false;
    }
    return true;
}

static imgpar_status take_inputs(imgpar_context *ctx, const calls *files, page_items *shown,
                                 const imgpar_options *of_run)
{
    imgpar_status st = IMGPAR_OK;
    for (size_t k = 0; k < files->n && k < MAX_INPUTS && !st; k++)
        st = take_input(ctx, files->items[k], shown, of_run);
    if (files->n > MAX_INPUTS) shown->n_left_out = files->n - MAX_INPUTS;
    return st;
}

/* The first of the files that the run itself replaced, for free(); NULL: there is none. */
static char *find_changed(const named_files *named, const calls *files)
{
    for (size_t k = 0; k < files->n; k++) {
        char *path = path_of(files->items[k]);
        if (path && named_is_changed(named, path)) return path;
        free(path);
    }
    return NULL;
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

static void forget_explained(page *p)
{
    for (int k = 0; k < N_EXPLAINED; k++) {
        imgpar_free(p->explained[k]);
        p->explained[k] = NULL;
    }
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
    calls files = { 0 };
    if (!st && p->explained[EXPLAINED_GRAPH] && !find_calls(p->explained[EXPLAINED_GRAPH], &files))
        st = IMGPAR_E_HOST_MEMORY;
    char *changed = find_changed(run->named, &files);
    if (changed) {
        snprintf(p->stages.problem, sizeof p->stages.problem,
                 "not shown, since what was computed is not what would be computed now: the run, or somebody "
                 "meanwhile, wrote the file that it reads, %.400s",
                 changed);
        forget_explained(p);
    }
    if (!st && !changed) st = take_inputs(ctx, &files, &p->inputs, &of_run);
    if (!st && !changed) st = take_stages(run, ctx, &p->stages, &of_run);
    free(changed);
    free_calls(&files);
    return st;
}

static int fail(const char *path, const char *why)
{
    complain("--report=%s: %s", path, why);
    return EXIT_FAILED;
}

/* One of the files that the run read, whose name is not in the text as it is. */
static bool is_input(const char *path, const page_items *inputs)
{
    named_files of_graph = { 0 };
    for (size_t k = 0; k < inputs->n; k++)
        if (!named_add(&of_graph, inputs->items[k].expr)) break;
    const bool is_one = named_has(&of_graph, path);
    named_free(&of_graph);
    return is_one;
}

static int write_whole(const char *path, const page *p)
{
    whole_file made;
    FILE *out = whole_open(&made, path);
    if (!out) return fail(path, strerror(errno));
    const bool is_made = page_write(out, p);
    if (whole_close(&made, is_made) && is_made) return EXIT_DONE;
    return fail(path, is_made ? strerror(errno) : "out of memory");
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
    forget_explained(&p);
    return status;
}

/* ---- before anything runs ---------------------------------------------------------------------------- */

int report_check(const options *o, const named_files *named)
{
    const char *path = o->report, *dot = strrchr(path, '.');
    if (!dot || (strcmp(dot, ".html") != 0 && strcmp(dot, ".htm") != 0 && strcmp(dot, ".xhtml") != 0)) {
        complain("--report=%s: a name that ends in .html is expected", path);
        return EXIT_USAGE;
    }
    if (named_has(named, path)) {
        complain("--report=%s is a file that the run reads or writes itself", path);
        return EXIT_USAGE;
    }
    const int why = whole_check(path);
    return why ? fail(path, strerror(why)) : EXIT_DONE;
}
