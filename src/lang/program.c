/* SPDX-License-Identifier: MIT */
/* Statements, one function a kind. */
#include "lang/program.h"
#include "base/alloc.h"
#include "io/io.h"

#include <string.h>

static bool run_param(ip_eval *ev, const ip_statement *s, const ip_val *given)
{
    ip_val *slot = &ev->globals[s->names[0]->index];
    if (!given || given->kind == IP_V_NONE) return ip_eval_value(ev, s->value, slot);
    *slot = ip_val_copy(given);
    return true;
}

static bool run_assign(ip_eval *ev, const ip_statement *s)
{
    ip_val v;
    if (s->n_names == 1) {
        if (!ip_eval_value(ev, s->value, &v)) return false;
        ev->globals[s->names[0]->index] = v;
        return true;
    }
    if (!ip_eval_any(ev, s->value, &v)) return false;
    int n = v.kind == IP_V_TUPLE ? v.u.tuple->n : 1;
    bool ok = n == s->n_names || v.kind == IP_V_ANY;
    if (!ok) ip_eval_fail(ev, s->offset, "%d names for %d value%s", s->n_names, n, n == 1 ? "" : "s");
    for (int i = 0; ok && i < s->n_names; i++)
        ev->globals[s->names[i]->index] = ip_val_copy(v.kind == IP_V_TUPLE ? &v.u.tuple->items[i] : &v);
    ip_val_free(&v);
    return ok;
}

/* A function's body is checked when it is defined, on parameters of which nothing is known. */
static bool run_fn(ip_eval *ev, const ip_statement *s)
{
    const ip_node *fn = s->value;
    ip_val self = { .kind = IP_V_FUNCTION, .u.fn = { .lambda = fn } };
    if (ev->checking) {
        ip_val *params = ip_vals_new(fn->n_names), out;
        if (!params) return ip_eval_fail_memory(ev);
        for (int i = 0; i < fn->n_names; i++)
            params[i] = ip_val_unknown(IP_V_ANY);
        ip_coords shaped = { .bound = true }; /* the caller's region may shape its coordinates */
        ev->defining = fn->name;
        ev->place.fallback = &shaped;
        bool ok = ip_call_function(ev, &self, params, fn->n_names, fn->offset, &out);
        ev->place.fallback = NULL;
        ev->defining = NULL;
        ip_vals_free(params, fn->n_names);
        if (!ok) return false;
        ip_val_free(&out);
    }
    ev->globals[s->names[0]->index] = self;
    return true;
}

/* ---- outputs --------------------------------------------------------------------------- */

static ip_output *add_output(ip_eval *ev, ip_outputs *outputs, const ip_statement *s, int n)
{
    if (outputs->n == outputs->capacity) {
        int capacity = outputs->capacity ? outputs->capacity * 2 : 8;
        ip_output *grown = ip_realloc_array(outputs->output, (size_t)capacity, sizeof *grown);
        if (!grown) {
            ip_eval_fail_memory(ev);
            return NULL;
        }
        outputs->output = grown;
        outputs->capacity = capacity;
    }
    ip_val *vals = ip_vals_new(n);
    if (!vals) {
        ip_eval_fail_memory(ev);
        return NULL;
    }
    ip_output *output = &outputs->output[outputs->n++];
    *output = (ip_output){ .statement = s, .vals = vals, .n = n };
    return output;
}

void ip_outputs_free(ip_outputs *outputs)
{
    for (int i = 0; i < outputs->n; i++) {
        ip_output *o = &outputs->output[i];
        ip_vals_free(o->vals, o->n);
        ip_free(o->path);
        ip_free(o->format);
        ip_free(o->settings);
    }
    ip_free(outputs->output);
    *outputs = (ip_outputs){ 0 };
}

/* A number alone becomes a one-element array, a list an array. */
static bool need_array(ip_eval *ev, const ip_node *node, ip_val *v)
{
    if (v->kind == IP_V_ARRAY || v->kind == IP_V_ANY) return true;
    if (v->kind == IP_V_MATRIX) return ip_call_list(ev, node->offset, v);
    if (!ip_val_is_scalar(v))
        return ip_eval_fail(ev, node->offset, "an array or a number is expected, not %s%s", ip_val_kind_text(v),
                            v->kind == IP_V_TEXT ? "; open(\"FILE\") gives a file's image" : "");
    if (ev->checking) return true;
    double number = v->number;
    bool fractional = v->fractional;
    return ip_call_result(ev, node->offset, ip_build_number(ev->ctx, number, fractional), v);
}

/* Appends "name=value" of one option of save to settings. *known: false when the value is not known yet. */
static bool add_setting(ip_eval *ev, const ip_node *item, const ip_symbol *name, ip_str *settings, bool *known)
{
    ip_val v;
    if (item->kind == IP_N_NAME && !ip_eval_lookup(ev, item->name))
        v = ip_val_text(item->name->name); /* a bare word */
    else if (!ip_eval_value(ev, item, &v))
        return false;
    ip_str_printf(settings, "%s%s=", settings->length ? ", " : "", name->name);
    bool ok = ip_val_is_scalar(&v) || v.kind == IP_V_TEXT || v.kind == IP_V_MATRIX || v.kind == IP_V_ANY;
    if (!ok)
        ip_eval_fail(ev, item->offset, "save: %.60s must be a number or a word, not %s", name->name,
                     ip_val_kind_text(&v));
    else if (v.kind == IP_V_TEXT)
        ip_str_append(settings, v.u.text);
    else if (v.unknown || v.kind == IP_V_ANY)
        *known = false;
    else if (v.kind == IP_V_MATRIX)
        ok = !ip_show(&v, NULL, settings, ev->err); /* "[255 128 0]" */
    else
        ip_str_number(settings, v.number);
    ip_val_free(&v);
    return ok;
}

/* The format that format= names, else the path. *is_known: false where neither does and the caller is to say. */
static bool save_format(ip_eval *ev, const ip_node *call, ip_output *o, ip_format *format, bool *is_known)
{
    *is_known = true;
    for (int i = 2; i < call->n_items; i++) {
        const ip_node *item = call->items[i];
        if (!call->names[i])
            return ip_eval_fail(ev, call->starts[i], "save takes an expression, a path and options NAME=VALUE");
        if (strcmp(call->names[i]->name, "format") != 0) continue;
        const char *word = item->kind == IP_N_NAME ? item->name->name : item->kind == IP_N_TEXT ? item->text : NULL;
        if (!word || !ip_format_find(word, format))
            return ip_eval_fail(ev, item->offset, "save: format is one of png jpeg npy pnm");
        o->format = ip_strdup(word);
        return o->format || ip_eval_fail_memory(ev);
    }
    *is_known = strcmp(o->path, "-") != 0;
    return !*is_known || ip_format_from_path(o->path, format) ||
           ip_eval_fail(
               ev, call->items[1]->offset,
               "save: no format is known by the name %.200s; png jpg npy pnm ppm pgm pam are, or format=", o->path);
}

/* The options of save(expr, path, name=value...) into o. */
static bool save_options(ip_eval *ev, const ip_node *call, ip_output *o)
{
    ip_str settings = IP_STR_INIT;
    ip_format format;
    ip_error err = { .status = IMGPAR_OK };
    bool known, ok = save_format(ev, call, o, &format, &known);
    for (int i = 2; ok && i < call->n_items; i++) {
        if (strcmp(call->names[i]->name, "format") == 0) continue;
        ok = add_setting(ev, call->items[i], call->names[i], &settings, &known);
        if (ok && ev->checking && known && ip_io_check_settings(format, ip_str_text(&settings), &err))
            ok = ip_eval_fail(ev, call->starts[i], "save: %s", err.message);
    }
    if (ok && settings.length) o->settings = ip_str_take(&settings);
    if (ok && settings.failed) ok = ip_eval_fail_memory(ev);
    ip_str_free(&settings);
    return ok;
}

bool ip_outputs_save_to(const ip_outputs *outputs, const char *path)
{
    if (strcmp(path, "-") == 0 || strncmp(path, "/dev/", 5) == 0) return false;
    for (int i = 0; i < outputs->n; i++)
        if (outputs->output[i].path && strcmp(outputs->output[i].path, path) == 0) return true;
    return false;
}

static bool run_save(ip_eval *ev, const ip_statement *s, ip_outputs *outputs)
{
    const ip_node *call = s->value;
    if (call->n_items < 2 || call->names[0] || call->names[1])
        return ip_eval_fail(ev, call->offset, "save takes an expression and a path: save(out, \"out.png\")");
    ip_output *o = add_output(ev, outputs, s, 1);
    if (!o || !ip_eval_value(ev, call->items[0], &o->vals[0])) return false;
    if (!need_array(ev, call->items[0], &o->vals[0])) return false;
    ip_val path;
    if (!ip_eval_value(ev, call->items[1], &path)) return false;
    if (path.kind != IP_V_TEXT) {
        ip_eval_fail(ev, call->items[1]->offset, "save: the path must be text, not %s", ip_val_kind_text(&path));
        ip_val_free(&path);
        return false;
    }
    if (!path.u.text[0]) return ip_eval_fail(ev, call->items[1]->offset, "save: the path is empty");
    char *file = ip_eval_path(ev, &path);
    if (!file) return ip_eval_fail_memory(ev);
    bool again = !path.unknown && ip_outputs_save_to(outputs, file);
    o->path = file;
    if (again)
        return ip_eval_fail(ev, call->items[1]->offset, "save: %.200s is saved before, and this would replace it",
                            path.u.text);
    return save_options(ev, call, o);
}

static bool run_print(ip_eval *ev, const ip_statement *s, ip_outputs *outputs)
{
    const ip_node *call = s->value;
    if (call->n_items == 0) return ip_eval_fail(ev, call->offset, "print takes at least one value");
    ip_output *o = add_output(ev, outputs, s, call->n_items);
    if (!o) return false;
    for (int i = 0; i < call->n_items; i++) {
        if (call->names[i])
            return ip_eval_fail(ev, call->starts[i], "print has no parameter %.60s", call->names[i]->name);
        if (!ip_eval_value(ev, call->items[i], &o->vals[i])) return false;
    }
    return true;
}

static bool run_expr(ip_eval *ev, const ip_statement *s, ip_outputs *outputs)
{
    ip_output *o = add_output(ev, outputs, s, 1);
    return o && ip_eval_value(ev, s->value, &o->vals[0]) && need_array(ev, s->value, &o->vals[0]);
}

imgpar_status ip_program_run(ip_eval *ev, const ip_val *given, ip_outputs *outputs)
{
    const ip_program *program = ev->program;
    ev->globals = ip_vals_new(program->symbols.count);
    ev->outputs = outputs;
    if (!ev->globals) ip_eval_fail_memory(ev);
    bool ok = ev->globals != NULL;
    for (int i = 0; ok && i < program->n_statements; i++) {
        const ip_statement *s = &program->statements[i];
        switch (s->kind) {
        case IP_S_PARAM: ok = run_param(ev, s, given ? &given[i] : NULL); break;
        case IP_S_ASSIGN: ok = run_assign(ev, s); break;
        case IP_S_FN: ok = run_fn(ev, s); break;
        case IP_S_SAVE: ok = run_save(ev, s, outputs); break;
        case IP_S_PRINT: ok = run_print(ev, s, outputs); break;
        case IP_S_EXPR: ok = run_expr(ev, s, outputs); break;
        }
    }
    return ok ? IMGPAR_OK : ev->err->status;
}
