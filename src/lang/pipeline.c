/* SPDX-License-Identifier: MIT */
/* The public pipeline functions: parse, set, check, build, run, apply. */
#include "base/alloc.h"
#include "base/str.h"
#include "base/structs.h"
#include "graph/template.h"
#include "lang/constant.h"
#include "lang/parser.h"
#include "lang/program.h"
#include "run/progress.h"
#include "run/save.h"

#include <pthread.h>
#include <string.h>

typedef struct applied applied;
struct imgpar_pipeline {
    ip_program program;
    char *name, *text, *folder;   /* copies */
    ip_val *given;                /* per statement: what imgpar_pipeline_set() gave a param, or NONE */
    ip_arena arena;               /* texts of given */
    imgpar_array *standard_input; /* what open("-") gave, for another run; or NULL */
    imgpar_status parsed;         /* of imgpar_pipeline_parse() */
    ip_error error;               /* of the last call */
    applied *applied;
};

/* The graph of the last call as a function, which is made again for arrays of the same types without evaluating the
 * text. Of any thread: a pipeline that is applied is const. */
struct applied {
    pthread_mutex_t lock;
    ip_template *last; /* NULL: none */
    size_t n_frames;   /* which $1 and frame() of last stood for; 0: arguments */
};

static applied *new_applied(void)
{
    applied *a = ip_zalloc(sizeof *a);
    if (!a || pthread_mutex_init(&a->lock, NULL) == 0) return a;
    ip_free(a);
    return NULL;
}

/* The one before is forgotten. Takes t over. */
static void remember(applied *a, ip_template *t, size_t n_frames)
{
    pthread_mutex_lock(&a->lock);
    ip_template *before = a->last;
    a->last = t;
    a->n_frames = n_frames;
    pthread_mutex_unlock(&a->lock);
    ip_template_release(before);
}

static ip_template *remembered(applied *a, size_t n_frames)
{
    pthread_mutex_lock(&a->lock);
    ip_template *t = a->n_frames == n_frames ? ip_template_retain(a->last) : NULL;
    pthread_mutex_unlock(&a->lock);
    return t;
}

static void free_applied(applied *a)
{
    if (!a) return;
    ip_template_release(a->last);
    pthread_mutex_destroy(&a->lock);
    ip_free(a);
}

/* ---- parse -------------------------------------------------------------------------------- */

static imgpar_status parse(imgpar_pipeline *p, const char *name, const char *text, const char *folder)
{
    p->name = ip_strdup(name ? name : "pipeline");
    p->text = ip_strdup(text ? text : "");
    p->folder = folder ? ip_strdup(folder) : NULL;
    p->applied = new_applied();
    if (!p->name || !p->text || (folder && !p->folder) || !p->applied)
        return ip_fail_memory(&p->error, "reading a pipeline");
    p->program.text = (ip_text){ .name = p->name, .text = p->text, .length = strlen(p->text) };
    imgpar_status st = ip_parse(&p->program, IP_PARSE_FILE, &p->error);
    if (st) return st;
    p->given = ip_vals_new(p->program.n_statements);
    return p->given ? IMGPAR_OK : ip_fail_memory(&p->error, "reading a pipeline");
}

IMGPAR_API imgpar_status imgpar_pipeline_parse(const char *name, const char *text, const char *folder,
                                               imgpar_pipeline **out)
{
    if (!out) return IMGPAR_E_ARGUMENT;
    *out = ip_zalloc(sizeof **out);
    if (!*out) return IMGPAR_E_HOST_MEMORY;
    (*out)->parsed = parse(*out, name, text, folder);
    return (*out)->parsed;
}

IMGPAR_API void imgpar_pipeline_release(imgpar_pipeline *p)
{
    if (!p) return;
    ip_vals_free(p->given, p->given ? p->program.n_statements : 0);
    ip_program_free(&p->program);
    ip_arena_free(&p->arena);
    ip_free(p->name);
    ip_free(p->text);
    imgpar_array_release(p->standard_input);
    free_applied(p->applied);
    ip_free(p->folder);
    ip_free(p);
}

IMGPAR_API const char *imgpar_pipeline_message(const imgpar_pipeline *p)
{
    return p ? p->error.message : "out of host memory while reading a pipeline";
}

/* Forgets the last call's error; a failed parse stays. */
static imgpar_status begin(imgpar_pipeline *p)
{
    if (!p) return IMGPAR_E_ARGUMENT;
    if (!p->parsed) p->error = (ip_error){ .status = IMGPAR_OK };
    return p->parsed;
}

/* ---- set ------------------------------------------------------------------------------------ */

/* What a param's text is parsed as, for messages. */
static const char *kind_wanted(const ip_val *wanted)
{
    switch (wanted->kind) {
    case IP_V_NUMBER: return "a number";
    case IP_V_BOOL: return "true or false";
    default: return wanted->u.matrix->rows == 1 ? "a vector such as [1 2 1]" : "a matrix such as [1 2; 3 4]";
    }
}

/* Text as the command line gives it to a value of the default's kind; kind NONE: it is none. */
static ip_val value_from_text(imgpar_pipeline *p, const ip_val *wanted, const char *value)
{
    ip_val v = { .kind = IP_V_NONE };
    size_t n = strlen(value);
    char *copy = ip_arena_alloc(&p->arena, n + 3);
    if (!copy) return v;
    memcpy(copy, value, n + 1);
    if (wanted->kind == IP_V_TEXT) {
        v = ip_val_text(copy);
        v.from_caller = true;
        return v;
    }
    if (wanted->kind == IP_V_MATRIX && !strchr(value, '[')) { /* brackets need quoting in a shell */
        copy[0] = '[';
        memcpy(copy + 1, value, n);
        memcpy(copy + n + 1, "]", 2);
    }
    ip_error ignored = { .status = IMGPAR_OK };
    v = ip_constant_read(copy, &ignored);
    v.fractional = v.fractional || wanted->fractional;
    if (v.kind == wanted->kind) return v;
    ip_val_free(&v);
    return (ip_val){ .kind = IP_V_NONE };
}

static imgpar_status unknown_param(imgpar_pipeline *p, const char *name)
{
    ip_str have = IP_STR_INIT;
    for (int i = 0; i < p->program.n_statements; i++)
        if (p->program.statements[i].kind == IP_S_PARAM)
            ip_str_printf(&have, "%s%.60s", have.length ? ", " : "", p->program.statements[i].names[0]->name);
    if (have.length)
        ip_fail(&p->error, IMGPAR_E_SYNTAX, "%.240s has no param %.60s; its params are %.400s", p->name, name,
                ip_str_text(&have));
    else
        ip_fail(&p->error, IMGPAR_E_SYNTAX, "%.240s has no params; param %.60s = ... makes one", p->name, name);
    ip_str_free(&have);
    return IMGPAR_E_SYNTAX;
}

IMGPAR_API imgpar_status imgpar_pipeline_set(imgpar_pipeline *p, const char *name, const char *value)
{
    if (!p) return IMGPAR_E_ARGUMENT;
    imgpar_status st = begin(p);
    if (st) return st;
    if (!name || !value) return ip_fail(&p->error, IMGPAR_E_ARGUMENT, "imgpar_pipeline_set: NULL is no text");
    for (int i = 0; i < p->program.n_statements; i++) {
        const ip_statement *s = &p->program.statements[i];
        if (s->kind != IP_S_PARAM || strcmp(s->names[0]->name, name) != 0) continue;
        ip_val wanted = ip_constant_value(&p->program, s->value, &p->error);
        if (wanted.kind == IP_V_NONE) return p->error.status;
        ip_val v = value_from_text(p, &wanted, value);
        if (v.kind == IP_V_NONE)
            ip_fail(&p->error, IMGPAR_E_SYNTAX, "%.60s=%.200s: param %.60s is %s", name, value, name,
                    kind_wanted(&wanted));
        ip_val_free(&wanted);
        if (v.kind == IP_V_NONE) return p->error.status;
        ip_val_free(&p->given[i]);
        p->given[i] = v;
        remember(p->applied, NULL, 0);
        return IMGPAR_OK;
    }
    return unknown_param(p, name);
}

IMGPAR_API const char *imgpar_pipeline_param(const imgpar_pipeline *p, size_t index)
{
    for (int i = 0; p && i < p->program.n_statements; i++)
        if (p->program.statements[i].kind == IP_S_PARAM && index-- == 0) return p->program.statements[i].names[0]->name;
    return NULL;
}

/* ---- check, build ----------------------------------------------------------------------------- */

/* One pass over the statements; ctx NULL: the checking one. */
static imgpar_status evaluate(imgpar_pipeline *p, imgpar_context *ctx, ip_outputs *outputs)
{
    ip_eval ev = { .program = &p->program,
                   .ctx = ctx,
                   .checking = ctx == NULL,
                   .folder = p->folder,
                   .err = &p->error,
                   .standard_input = &p->standard_input };
    imgpar_status st = ip_program_run(&ev, p->given, outputs);
    ip_eval_free(&ev);
    return st;
}

/* A save to "-" has a format of its own or the caller's. */
static imgpar_status check_formats(imgpar_pipeline *p, const ip_outputs *outputs, const imgpar_options *options)
{
    for (int i = 0; i < outputs->n; i++) {
        const ip_output *o = &outputs->output[i];
        if (o->statement->kind != IP_S_SAVE || o->format || options->format || strcmp(o->path, "-") != 0) continue;
        return ip_text_fail(&p->error, &p->program.text, o->statement->offset, IMGPAR_E_SYNTAX,
                            "save: standard output needs a format: format=png, jpeg, npy or pnm");
    }
    return IMGPAR_OK;
}

/* options: the run's, or NULL where they are not known yet. */
static imgpar_status check(imgpar_pipeline *p, const imgpar_options *options)
{
    ip_outputs outputs = { 0 };
    imgpar_status st = evaluate(p, NULL, &outputs);
    const ip_statement *last = p->program.n_statements ? &p->program.statements[p->program.n_statements - 1] : NULL;
    if (!st && outputs.n == 0)
        st = ip_text_fail(&p->error, &p->program.text, last ? last->offset : 0, IMGPAR_E_SYNTAX,
                          "nothing is saved or printed: save(expr, \"FILE\") or print(expr) is expected");
    if (!st && options) st = check_formats(p, &outputs, options);
    ip_outputs_free(&outputs);
    return st;
}

IMGPAR_API imgpar_status imgpar_pipeline_check(imgpar_pipeline *p)
{
    imgpar_status st = begin(p);
    return st ? st : check(p, NULL);
}

static imgpar_status check_and_build(imgpar_pipeline *p, imgpar_context *ctx, const imgpar_options *options,
                                     ip_outputs *outputs)
{
    imgpar_status st = begin(p);
    if (!st && !ctx) st = ip_fail(&p->error, IMGPAR_E_ARGUMENT, "a pipeline needs a context to run in");
    if (!st) st = check(p, options);
    return st ? st : evaluate(p, ctx, outputs);
}

IMGPAR_API imgpar_status imgpar_pipeline_build(imgpar_pipeline *p, imgpar_context *ctx, imgpar_array ***arrays,
                                               size_t *n_arrays)
{
    ip_outputs outputs = { 0 };
    if (!p || !arrays || !n_arrays) return IMGPAR_E_ARGUMENT;
    *arrays = NULL;
    *n_arrays = 0;
    imgpar_status st = check_and_build(p, ctx, NULL, &outputs);
    size_t n = 0;
    for (int i = 0; i < outputs.n; i++)
        n += (size_t)outputs.output[i].n;
    if (!st && !(*arrays = ip_alloc_array(n, sizeof **arrays))) st = ip_fail_memory(&p->error, "building a pipeline");
    for (int i = 0; !st && i < outputs.n; i++)
        for (int k = 0; k < outputs.output[i].n; k++)
            if (outputs.output[i].vals[k].kind == IP_V_ARRAY)
                (*arrays)[(*n_arrays)++] = imgpar_array_retain(outputs.output[i].vals[k].u.array);
    ip_outputs_free(&outputs);
    return st;
}

/* ---- run --------------------------------------------------------------------------------------- */

static imgpar_status fail_at(imgpar_pipeline *p, const ip_output *o, imgpar_status st, const char *message)
{
    if (!message[0]) message = imgpar_status_name(st);
    return ip_text_fail(&p->error, &p->program.text, o->statement->offset, st, "%s", message);
}

/* Is the array's value needed? A big one in print() is only named. */
static bool is_computed(const ip_output *o, const ip_val *v)
{
    return v->kind == IP_V_ARRAY &&
           (o->statement->kind == IP_S_SAVE || ip_type_count(&v->u.array->type) <= IP_SHOW_MAX_ELEMENTS);
}

/* Of arrays that failed together, the first that fails by itself is to blame; else all are, and the first stands for
 * them. */
static imgpar_status blame(imgpar_pipeline *p, imgpar_array *const *arrays, const ip_output *const *from, size_t n,
                           imgpar_status st, const imgpar_options *options)
{
    ip_error together = { .status = IMGPAR_OK };
    if (n == 0) return st;
    ip_fail(&together, st, "%s", imgpar_array_message(arrays[0]));
    for (size_t i = 0; i < n && st != IMGPAR_E_INTERRUPTED && st != IMGPAR_E_DEVICE_LOST; i++) {
        imgpar_status own = imgpar_array_eval(arrays[i], options);
        if (own) return fail_at(p, from[i], own, imgpar_array_message(arrays[i]));
    }
    return fail_at(p, from[0], st, together.message);
}

/* Everything in one evaluation, when there is more than one array: what is shared is computed once. */
static imgpar_status evaluate_outputs(imgpar_pipeline *p, const ip_outputs *outputs, const imgpar_options *options)
{
    size_t n = 0;
    for (int i = 0; i < outputs->n; i++)
        for (int k = 0; k < outputs->output[i].n; k++)
            n += is_computed(&outputs->output[i], &outputs->output[i].vals[k]);
    if (n < 2) return IMGPAR_OK;
    imgpar_array **arrays = ip_alloc_array(n, sizeof *arrays);
    const ip_output **from = ip_alloc_array(n, sizeof *from);
    imgpar_status st = arrays && from ? IMGPAR_OK : ip_fail_memory(&p->error, "running a pipeline");
    n = 0;
    for (int i = 0; !st && i < outputs->n; i++)
        for (int k = 0; k < outputs->output[i].n; k++)
            if (is_computed(&outputs->output[i], &outputs->output[i].vals[k])) {
                from[n] = &outputs->output[i];
                arrays[n++] = outputs->output[i].vals[k].u.array;
            }
    if (!st) st = imgpar_eval(arrays, n, options);
    if (st) st = blame(p, arrays, from, n, st, options);
    if (st) ip_fail(&p->error, st, "%s", imgpar_status_name(st));
    ip_free(from);
    ip_free(arrays);
    return st;
}

/* The caller's options with what the statement says. */
static imgpar_options options_of(const ip_output *o, const imgpar_options *options)
{
    imgpar_options save = *options;
    save.settings = o->settings;
    if (o->format)
        save.format = o->format;
    else if (strcmp(o->path, "-") != 0)
        save.format = NULL; /* the caller's is for standard output */
    return save;
}

static imgpar_status run_save(imgpar_pipeline *p, const ip_output *o, const imgpar_options *options)
{
    imgpar_options save = options_of(o, options);
    imgpar_status st = imgpar_save(o->vals[0].u.array, o->path, &save);
    return st ? fail_at(p, o, st, imgpar_array_message(o->vals[0].u.array)) : IMGPAR_OK;
}

/* What cannot be saved is known before anything is computed. */
static imgpar_status check_saved(imgpar_pipeline *p, const ip_output *o, const imgpar_options *options)
{
    ip_format format;
    ip_error err = { .status = IMGPAR_OK };
    if (o->statement->kind != IP_S_SAVE) return IMGPAR_OK;
    imgpar_options save = options_of(o, options);
    imgpar_status st = ip_check_save(o->vals[0].u.array, o->path, &save, &format, &err);
    return st ? fail_at(p, o, st, err.message) : IMGPAR_OK;
}

static imgpar_status run_print(imgpar_pipeline *p, const ip_output *o, const imgpar_options *options, ip_str *line)
{
    ip_str_clear(line);
    for (int i = 0; i < o->n; i++) {
        ip_error err = { .status = IMGPAR_OK };
        if (i > 0) ip_str_putc(line, ' ');
        imgpar_status st = ip_show(&o->vals[i], options, line, &err);
        if (st) return fail_at(p, o, st, err.message);
    }
    return line->failed ? ip_fail_memory(&p->error, "printing") : IMGPAR_OK;
}

/* The value of a last expression is for imgpar_pipeline_build(); run prints it, unless it is a picture. */
static imgpar_status refuse_unused(imgpar_pipeline *p, const ip_output *o)
{
    char text[96];
    if (o->statement->kind != IP_S_EXPR) return IMGPAR_OK;
    const ip_type *type = &o->vals[0].u.array->type; /* an array always: see need_array() */
    if (ip_type_count(type) <= IP_SHOW_MAX_ELEMENTS) return IMGPAR_OK;
    return ip_text_fail(&p->error, &p->program.text, o->statement->offset, IMGPAR_E_ARGUMENT,
                        "this expression gives %s, which goes nowhere: save(expr, \"FILE\"), or imgpar-run -o FILE",
                        ip_type_text(type, text));
}

/* What an output takes, computing all of them taking as much again. */
static double work_of(const ip_output *o)
{
    double work = 0;
    for (int i = 0; i < o->n; i++)
        if (is_computed(o, &o->vals[i])) work += (double)ip_type_count(&o->vals[i].u.array->type);
    return work;
}

/* Everything is one to whoever polls: the evaluation, and each output. */
static void announce(const ip_outputs *outputs, const imgpar_options *options)
{
    double work = 0;
    for (int i = 0; i < outputs->n; i++)
        work += work_of(&outputs->output[i]);
    ip_progress_expect(options, 2 * work);
    ip_progress_step(options, work);
}

static imgpar_status run_outputs(imgpar_pipeline *p, const ip_outputs *outputs, const imgpar_options *options,
                                 void (*print)(void *user, const char *line), void *print_user)
{
    ip_str line = IP_STR_INIT;
    imgpar_status st = IMGPAR_OK;
    if (outputs->n > 1) announce(outputs, options);
    for (int i = 0; !st && i < outputs->n; i++)
        st = refuse_unused(p, &outputs->output[i]);
    for (int i = 0; !st && i < outputs->n; i++)
        st = check_saved(p, &outputs->output[i], options);
    if (!st) st = evaluate_outputs(p, outputs, options);
    for (int i = 0; !st && i < outputs->n; i++) {
        const ip_output *o = &outputs->output[i];
        ip_progress_step(options, work_of(o));
        if (o->statement->kind == IP_S_SAVE) {
            st = run_save(p, o, options);
            continue;
        }
        st = run_print(p, o, options, &line);
        if (!st && print) print(print_user, ip_str_text(&line));
    }
    ip_str_free(&line);
    return st;
}

/* What the last expression gives; NULL: the text ends in something else. */
static imgpar_array *take_result(ip_outputs *outputs)
{
    const ip_output *last = outputs->n > 0 ? &outputs->output[outputs->n - 1] : NULL;
    if (!last || last->statement->kind != IP_S_EXPR) return NULL;
    return imgpar_array_retain(last->vals[0].u.array); /* an array always: see need_array() */
}

IMGPAR_API imgpar_status imgpar_pipeline_run_result(imgpar_pipeline *p, imgpar_context *ctx,
                                                    void (*print)(void *user, const char *line), void *print_user,
                                                    const imgpar_options *options, imgpar_array **result)
{
    ip_outputs outputs = { 0 };
    ip_progress all = { .own = { .struct_size = sizeof all.own } };
    imgpar_array *given = NULL;
    if (result) *result = NULL;
    imgpar_status st = begin(p);
    if (!st && options) st = ip_struct_in(&all.own, options, "run", "options", &p->error);
    ip_progress_begin(&all);
    if (!st) st = check_and_build(p, ctx, &all.own, &outputs);
    if (!st && result) given = take_result(&outputs);
    const ip_outputs run = { .output = outputs.output, .n = outputs.n - (given != NULL) };
    if (!st) st = run_outputs(p, &run, &all.own, print, print_user);
    ip_outputs_free(&outputs);
    if (!st && result)
        *result = given;
    else
        imgpar_array_release(given);
    return st;
}

IMGPAR_API imgpar_status imgpar_pipeline_run(imgpar_pipeline *p, imgpar_context *ctx,
                                             void (*print)(void *user, const char *line), void *print_user,
                                             const imgpar_options *options)
{
    return imgpar_pipeline_run_result(p, ctx, print, print_user, options, NULL);
}

/* ---- apply --------------------------------------------------------------------------------------- */

/* As a function of its inputs the text has one result, its last expression. */
static imgpar_status check_is_function(const imgpar_pipeline *p, ip_error *err)
{
    const int n = p->program.n_statements;
    const ip_statement *last = n > 0 ? &p->program.statements[n - 1] : NULL;
    for (int i = 0; i < n; i++) {
        const ip_statement *s = &p->program.statements[i];
        if (s->kind != IP_S_SAVE && s->kind != IP_S_PRINT) continue;
        return ip_text_fail(
            err, &p->program.text, s->offset, IMGPAR_E_SYNTAX,
            "%s: this text is run for every picture it is given, and ends in one expression, its result",
            s->kind == IP_S_SAVE ? "save" : "print");
    }
    if (last && last->kind == IP_S_EXPR) return IMGPAR_OK;
    return ip_text_fail(err, &p->program.text, last ? last->offset : 0, IMGPAR_E_SYNTAX,
                        "an expression is expected at the end of the text, whose value is the result");
}

/* What params were given, for one evaluator: matrices are counted without a lock, so that each has its own. */
static ip_val *own_given(const imgpar_pipeline *p)
{
    const int n = p->program.n_statements;
    ip_val *own = ip_vals_new(n);
    for (int i = 0; own && i < n; i++) {
        const ip_val *v = &p->given[i];
        own[i] = *v;
        if (v->kind != IP_V_MATRIX) continue;
        const ip_matrix *m = v->u.matrix;
        own[i].u.matrix = ip_matrix_new(m->rows, m->cols);
        if (own[i].u.matrix) {
            memcpy(own[i].u.matrix->numbers, m->numbers, (size_t)m->rows * (size_t)m->cols * sizeof *m->numbers);
        } else {
            own[i].kind = IP_V_NONE;
            ip_vals_free(own, n);
            return NULL;
        }
    }
    return own;
}

static imgpar_array *function_value(const imgpar_pipeline *p, ip_eval *ev)
{
    ip_val *given = own_given(p);
    imgpar_array *result = NULL;
    ev->program = &p->program;
    ev->folder = p->folder;
    ev->is_repeated = true;
    if (given)
        result = ip_program_value(ev, given);
    else
        ip_fail_memory(ev->err, "applying a pipeline");
    ip_vals_free(given, given ? p->program.n_statements : 0);
    return result;
}

IMGPAR_API imgpar_status imgpar_pipeline_check_apply(imgpar_pipeline *p, size_t n)
{
    imgpar_status st = begin(p);
    if (!st) st = check_is_function(p, &p->error);
    if (st) return st;
    ip_eval ev = { .checking = true, .n_inputs = n, .err = &p->error };
    function_value(p, &ev);
    for (size_t k = 0; k < n && k < 9 && !p->error.status; k++)
        if (!(ev.inputs_read & 1u << k))
            ip_fail(&p->error, IMGPAR_E_SYNTAX, "%.240s reads no $%zu, so what is given for it would change nothing",
                    p->name, k + 1);
    return p->error.status;
}

IMGPAR_API imgpar_status imgpar_pipeline_check_frames(imgpar_pipeline *p, size_t *n)
{
    imgpar_status st = begin(p);
    if (!st) st = check_is_function(p, &p->error);
    if (st) return st;
    ip_eval ev = { .checking = true, .n_inputs = 1, .n_frames = IMGPAR_MAX_FRAMES, .err = &p->error };
    function_value(p, &ev);
    if (!p->error.status && !ev.inputs_read && ev.frames_read == 0)
        ip_fail(&p->error, IMGPAR_E_SYNTAX, "%.240s reads no $1, so that frames would change nothing", p->name);
    if (n) *n = ev.frames_read > 0 ? ev.frames_read : 1;
    return p->error.status;
}

/* Whether the text's value depends on its arguments alone: it names no row that reads files, which may change. */
static bool reads_no_files(const ip_program *program)
{
    for (int k = 0; program->symbols.buckets && k < IP_SYMBOL_BUCKETS; k++)
        for (const ip_symbol *s = program->symbols.buckets[k]; s; s = s->next)
            if (s->op && s->op->flags & IP_OP_FILE) return false;
    return true;
}

/* The text's value for n arguments, or for n_frames of a video, the first of which is $1. */
static imgpar_array *evaluated(const imgpar_pipeline *p, imgpar_context *ctx, imgpar_array *const *arrays, size_t n,
                               size_t n_frames)
{
    ip_error err = { .status = IMGPAR_OK };
    if (p->parsed)
        err = p->error;
    else
        check_is_function(p, &err);
    ip_eval ev = { .ctx = ctx, .inputs = arrays, .n_inputs = n, .frames = arrays, .n_frames = n_frames, .err = &err };
    imgpar_array *result = err.status ? NULL : function_value(p, &ev);
    return result ? result : ip_array_error(ctx, err.status ? err.status : IMGPAR_E_INTERNAL, err.message);
}

static imgpar_array *apply(const imgpar_pipeline *p, imgpar_context *ctx, imgpar_array *const *arrays, size_t n,
                           size_t n_frames)
{
    if (!p || !ctx || (n > 0 && !arrays))
        return ip_array_error(ctx, IMGPAR_E_ARGUMENT, "apply: a pipeline, a context and its arrays are needed");
    const size_t n_arrays = n_frames > 0 ? n_frames : n;
    ip_template *last = p->parsed ? NULL : remembered(p->applied, n_frames);
    imgpar_array *result = last ? ip_template_make(last, ctx, arrays, n_arrays) : NULL;
    ip_template_release(last);
    if (result) return result;
    result = evaluated(p, ctx, arrays, n, n_frames);
    ip_template *made = NULL;
    if (!p->parsed && reads_no_files(&p->program) && !ip_template_new(result, arrays, n_arrays, &made)) {
        imgpar_array_release(result);
        return ip_array_error(ctx, IMGPAR_E_HOST_MEMORY, "out of host memory");
    }
    if (made) remember(p->applied, made, n_frames);
    return result;
}

IMGPAR_API imgpar_array *imgpar_pipeline_apply(const imgpar_pipeline *p, imgpar_context *ctx,
                                               imgpar_array *const *arrays, size_t n)
{
    return apply(p, ctx, arrays, n, 0);
}

IMGPAR_API imgpar_array *imgpar_pipeline_apply_frames(const imgpar_pipeline *p, imgpar_context *ctx,
                                                      imgpar_array *const *frames, size_t n)
{
    if (n == 0 || !frames) return ip_array_error(ctx, IMGPAR_E_ARGUMENT, "apply: a frame is needed");
    return apply(p, ctx, frames, 1, n);
}
