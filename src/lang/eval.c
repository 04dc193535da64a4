/* SPDX-License-Identifier: MIT */
/* The walk: one case a kind of node, and the limits every evaluation passes. */
#include "lang/eval.h"
#include "base/alloc.h"
#include "base/str.h"
#include "lang/parser.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool ip_eval_fail(ip_eval *ev, size_t offset, const char *format, ...)
{
    char message[480];
    va_list args;
    va_start(args, format);
    ip_vsnprintf(message, sizeof message, format, args);
    va_end(args);
    ip_text_fail(ev->err, &ev->program->text, offset, ev->checking ? IMGPAR_E_SYNTAX : IMGPAR_E_ARGUMENT, "%s",
                 message);
    return false;
}

bool ip_eval_fail_memory(ip_eval *ev)
{
    ip_fail_memory(ev->err, "evaluating a pipeline");
    return false;
}

/* An array that was given, as a value; name in messages. */
static bool give_array(ip_eval *ev, imgpar_array *a, const char *name, ip_val *out)
{
    *out = ip_val_unknown(IP_V_ARRAY);
    if (ev->checking) return true;
    if (!a) {
        ip_fail(ev->err, IMGPAR_E_ARGUMENT, "%s: the array is NULL", name);
        return false;
    }
    if (!a->op) { /* the first cause, as it was */
        ip_fail(ev->err, imgpar_array_status(a), "%s", imgpar_array_message(a));
        return false;
    }
    *out = ip_val_array(imgpar_array_retain(a));
    return true;
}

static bool eval_input(ip_eval *ev, const ip_node *node, ip_val *out)
{
    size_t index = (size_t)node->number - 1;
    if (index >= ev->n_inputs) {
        if (ev->n_inputs == 0) return ip_eval_fail(ev, node->offset, "$%zu: no arguments are given here", index + 1);
        return ip_eval_fail(ev, node->offset, "$%zu: only %zu argument%s given", index + 1, ev->n_inputs,
                            ev->n_inputs == 1 ? " is" : "s are");
    }
    char name[32];
    snprintf(name, sizeof name, "$%zu", index + 1);
    ev->inputs_read |= 1u << index;
    return give_array(ev, ev->checking ? NULL : ev->inputs[index], name, out);
}

/* frame(-k), the k-th frame before $1. */
static bool eval_frame(ip_eval *ev, const ip_node *node, ip_val *out)
{
    const size_t k = (size_t)node->number;
    if (ev->n_frames == 0)
        return ip_eval_fail(ev, node->offset,
                            "frame(-%zu) is of a video: Y4M or PNM on standard input, or a file of Y4M, for imgpar-run",
                            k);
    if (k >= ev->n_frames)
        return ip_eval_fail(ev, node->offset, "frame(-%zu): at most %zu frames are kept", k, ev->n_frames - 1);
    if (k >= ev->frames_read) ev->frames_read = k + 1;
    char name[32];
    snprintf(name, sizeof name, "frame(-%zu)", k);
    return give_array(ev, ev->checking ? NULL : ev->frames[k], name, out);
}

static bool eval_matrix(ip_eval *ev, const ip_node *node, ip_val *out)
{
    ip_place place = ip_leave_region(ev, ev->place.make);
    ip_matrix *m = ip_matrix_new(node->rows, node->cols);
    bool ok = m != NULL || ip_eval_fail_memory(ev), unknown = false;
    for (int i = 0; ok && i < node->n_items; i++) {
        ip_val element;
        ok = node->items[i]->kind != IP_N_MATRIX ||
             ip_eval_fail(ev, node->items[i]->offset,
                          "an element must be a number; rows of a matrix end in semicolons, as in [1 2; 3 4]");
        ok = ok && ip_eval_number(ev, node->items[i], "an element", &element);
        m->numbers[i] = ok ? element.number : 0;
        unknown = unknown || (ok && element.unknown);
    }
    ev->place = place;
    *out = (ip_val){ .kind = IP_V_MATRIX, .unknown = unknown, .u.matrix = m };
    if (!ok) {
        ip_free(m);
        out->kind = IP_V_NONE;
    }
    return ok;
}

static bool eval_tuple(ip_eval *ev, const ip_node *node, ip_val *out)
{
    ip_val tuple = ip_val_tuple(node->n_items);
    if (tuple.kind == IP_V_NONE) return ip_eval_fail_memory(ev);
    ip_place place = ip_leave_region(ev, ip_inherited_coords(ev));
    bool ok = true;
    for (int i = 0; ok && i < node->n_items; i++)
        ok = ip_eval_value(ev, node->items[i], &tuple.u.tuple->items[i]);
    ev->place = place;
    if (ok)
        *out = tuple;
    else
        ip_val_free(&tuple);
    return ok;
}

static bool dispatch(ip_eval *ev, const ip_node *node, ip_val *out)
{
    switch ((ip_node_kind)node->kind) {
    case IP_N_NUMBER: *out = ip_val_number(node->number, node->fractional); return true;
    case IP_N_BOOL: *out = ip_val_bool(node->number != 0); return true;
    case IP_N_TEXT: *out = ip_val_text(node->text); return true;
    case IP_N_NAME: return ip_eval_name(ev, node, out);
    case IP_N_INPUT: return eval_input(ev, node, out);
    case IP_N_FRAME: return eval_frame(ev, node, out);
    case IP_N_MATRIX: return eval_matrix(ev, node, out);
    case IP_N_OPERATOR:
    case IP_N_READ: return ip_eval_elementwise(ev, node, out);
    case IP_N_CALL:
        return ip_elementwise_op(ev, node) ? ip_eval_elementwise(ev, node, out) : ip_eval_call(ev, node, out);
    case IP_N_COMPONENT: return ip_eval_component(ev, node, out);
    case IP_N_TUPLE: return eval_tuple(ev, node, out);
    case IP_N_LAMBDA:
        *out =
            (ip_val){ .kind = IP_V_FUNCTION, .u.fn = { .lambda = node, .scope = ev->scope, .stencil = ev->stencil } };
        return true;
    }
    return ip_eval_fail(ev, node->offset, "this cannot be evaluated");
}

bool ip_eval_any(ip_eval *ev, const ip_node *node, ip_val *out)
{
    ip_region *region = ev->place.region;
    *out = (ip_val){ .kind = IP_V_NONE };
    if (region && region->cursor < region->n && region->memo[region->cursor].node == node) {
        struct ip_memo *memo = &region->memo[region->cursor++];
        *out = memo->val;
        memo->val.kind = IP_V_NONE;
        return true;
    }
    if (++ev->steps > IP_EVAL_MAX_STEPS)
        return ip_eval_fail(ev, node->offset, "this text takes more than %d steps to evaluate", IP_EVAL_MAX_STEPS);
    if (ev->depth >= IP_EVAL_MAX_DEPTH)
        return ip_eval_fail(ev, node->offset, "functions and expressions are nested more than %d deep",
                            IP_EVAL_MAX_DEPTH);
    ev->depth++;
    bool ok = dispatch(ev, node, out);
    ev->depth--;
    if (ok && ev->dead && ip_val_is_scalar(out)) out->unknown = true;
    return ok;
}

bool ip_eval_value(ip_eval *ev, const ip_node *node, ip_val *out)
{
    if (!ip_eval_any(ev, node, out)) return false;
    if (out->kind != IP_V_FUNCTION && out->kind != IP_V_TUPLE) return true;
    bool is_tuple = out->kind == IP_V_TUPLE;
    ip_val_free(out);
    if (is_tuple)
        return ip_eval_fail(
            ev, node->offset,
            "one value is expected here, these are several: (a, b) = ... names them, and a list is [a b]");
    if (node->kind == IP_N_NAME)
        return ip_eval_fail(ev, node->offset, "a value is expected, and %.60s is a function: call it, %.60s(...)",
                            node->name->name, node->name->name);
    return ip_eval_fail(ev, node->offset,
                        "a value is expected; a function '->' is an argument of fn, iterate or "
                        "reduce");
}

bool ip_eval_number(ip_eval *ev, const ip_node *node, const char *what, ip_val *out)
{
    if (!ip_eval_value(ev, node, out)) return false;
    if (out->kind == IP_V_ANY) *out = ip_val_unknown(IP_V_NUMBER);
    if (ip_val_is_scalar(out)) return true;
    ip_val found = *out;
    out->kind = IP_V_NONE;
    bool is_array = found.kind == IP_V_ARRAY;
    ip_eval_fail(ev, node->offset, "%s must be a number%s, not %s", what,
                 is_array ? " that is known before anything is computed" : "", ip_val_kind_text(&found));
    ip_val_free(&found);
    return false;
}

bool ip_eval_integer(ip_eval *ev, const ip_node *node, const char *what, int64_t lo, int64_t hi, int64_t *out,
                     bool *known)
{
    ip_val v;
    char text[32];
    if (!ip_eval_number(ev, node, what, &v)) return false;
    *out = 0;
    *known = !v.unknown;
    if (v.unknown) return true;
    if (v.number != floor(v.number) || isnan(v.number))
        return ip_eval_fail(ev, node->offset, "%s=%s is not a whole number", what, ip_number_text(v.number, text));
    if (v.number < (double)lo)
        return ip_eval_fail(ev, node->offset, "%s=%s is below %lld", what, ip_number_text(v.number, text),
                            (long long)lo);
    if (v.number > (double)hi)
        return ip_eval_fail(ev, node->offset, "%s=%s is above %lld", what, ip_number_text(v.number, text),
                            (long long)hi);
    *out = (int64_t)v.number;
    return true;
}

char *ip_eval_path(const ip_eval *ev, const ip_val *text)
{
    const char *path = text->u.text;
    bool as_is = text->from_caller || path[0] == '/' || strcmp(path, "-") == 0 || !ev->folder || !ev->folder[0];
    ip_str joined = IP_STR_INIT;
    if (!as_is) {
        ip_str_append(&joined, ev->folder);
        if (ev->folder[strlen(ev->folder) - 1] != '/') ip_str_putc(&joined, '/');
    }
    ip_str_append(&joined, path);
    return ip_str_take(&joined);
}

void ip_eval_free(ip_eval *ev)
{
    ip_vals_free(ev->globals, ev->program ? ev->program->symbols.count : 0);
    ev->globals = NULL;
}
