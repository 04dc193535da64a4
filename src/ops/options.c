/* SPDX-License-Identifier: MIT */
/*
 * Options as text, "sigma=2, border=wrap, matrix=[1 2 1; 2 4 2; 1 2 1]": what
 * imgpar_op(), SQL and recipes pass. An item is NAME=VALUE; the row says how VALUE
 * is read. Texts may stand in double quotes, with \" and \\ inside. A number or a list
 * may be computed, as the language does: "sigma=1 / 3, matrix=[1 2 1] / 4".
 */
#include "ops/build.h"

#include "base/alloc.h"
#include "base/str.h"
#include "graph/services.h"
#include "ops/check.h"

#include <ctype.h>
#include <string.h>

typedef struct reader {
    const ip_op *op;
    const char *at;
    char *copy;      /* names and words are cut out of it, so args may point into it */
    double *numbers; /* room for every matrix element there can be */
    size_t n_numbers;
    ip_arg args[IP_MAX_SLOTS];
    double *computed[IP_MAX_SLOTS]; /* by the argument's number */
    int n;
    ip_error *err;
} reader;

static imgpar_status bad_options(reader *r, const char *what)
{
    return ip_fail(r->err, IMGPAR_E_ARGUMENT, "%s: %s in the options at \"%.40s\"", ip_op_label(r->op), what, r->at);
}

static void skip_spaces(reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
}

/* The kind of value that name takes: a parameter's, or a number for an input. */
static ip_param_kind kind_of(const ip_op *op, const char *name, const imgpar_op_param **param)
{
    *param = NULL;
    for (int k = 0; k < op->info.n_params; k++)
        if (strcmp(op->info.params[k]->name, name) == 0) {
            *param = op->info.params[k];
            return ip_param_kind_of(*param);
        }
    return IP_PARAM_NUMBER;
}

/* "[1 2 1; 2 4 2]", elements separated by spaces or commas. */
static imgpar_status read_matrix(reader *r, ip_arg *arg)
{
    double *first = r->numbers + r->n_numbers;
    int in_row = 0;
    arg->kind = IP_ARG_MATRIX;
    arg->numbers = first;
    r->at++;
    for (;;) {
        while (isspace((unsigned char)*r->at) || *r->at == ',')
            r->at++;
        if (*r->at == ']' || *r->at == ';') {
            if (arg->rows && in_row != arg->cols) return bad_options(r, "rows of different lengths");
            arg->cols = in_row;
            arg->rows++;
            in_row = 0;
            if (*r->at++ == ']') return IMGPAR_OK;
            continue;
        }
        char *end;
        double value = ip_parse_number(r->at, &end);
        if (end == r->at) return bad_options(r, "a number or ] is expected");
        r->numbers[r->n_numbers++] = value;
        in_row++;
        r->at = end;
    }
}

static imgpar_status read_quoted(reader *r, char **text)
{
    char *to = r->copy + (r->at - r->copy) + 1;
    *text = to;
    for (r->at++; *r->at != '"'; r->at++) {
        if (*r->at == '\\' && (r->at[1] == '"' || r->at[1] == '\\')) r->at++;
        if (!*r->at) return bad_options(r, "an open quote");
        *to++ = *r->at;
    }
    *to = '\0';
    r->at++;
    return IMGPAR_OK;
}

static bool is_input(const ip_op *op, const char *name)
{
    for (int k = 0; k < op->info.n_inputs; k++)
        if (strcmp(op->info.input_names[k], name) == 0) return true;
    return false;
}

/* An unquoted word, up to the next comma; its end is cut off by the caller once the comma was seen. */
static char *read_word(reader *r, char **end)
{
    char *word = r->copy + (r->at - r->copy);
    size_t n = strcspn(word, ",");
    r->at = word + n;
    while (n && isspace((unsigned char)word[n - 1]))
        n--;
    *end = word + n;
    return word;
}

/* How long the value at is: up to a comma outside brackets, or the end. */
static size_t value_length(const char *at)
{
    size_t n = 0;
    for (int depth = 0; at[n] && (at[n] != ',' || depth > 0); n++)
        depth += (at[n] == '[' || at[n] == '(') - (at[n] == ']' || at[n] == ')');
    return n;
}

/* Whether the + or - adds: it stands directly behind an element, or alone; in "[1 -1]" and 1e-3 it is a sign. */
static bool adds(const char *sign)
{
    return isspace((unsigned char)sign[1]) || (isalnum((unsigned char)sign[-1]) && !strchr("eEpP", sign[-1])) ||
           strchr(".)", sign[-1]);
}

/* Whether elements of the list are computed: "[1 / 3, pi, 2-1]". */
static bool has_expressions(const char *list, const char *end)
{
    for (const char *at = list + 1; at < end; at++)
        if (strchr("*/%(", *at) || strncmp(at, "pi", 2) == 0 || (strchr("+-", *at) && adds(at))) return true;
    return false;
}

/* Is it an expression? A number, a list of such or a word of their own are read here, without the language. */
static bool is_expression(const char *value, size_t n)
{
    const char *first = value + (*value == '-' || *value == '+'), *list_end = memchr(value, ']', n);
    char *end = NULL;
    if (*value == '[' && !list_end) return false;
    if (*value == '[' && has_expressions(value, list_end)) return true;
    if ((*first == '[' && first > value) || *first == '(') return true;
    if (strncmp(first, "pi", 2) == 0 && !isalnum((unsigned char)first[2])) return true;
    if (*value == '[')
        end = (char *)list_end + 1;
    else
        ip_parse_number(value, &end);
    while (end < value + n && isspace((unsigned char)*end))
        end++;
    return end > value && end < value + n && strchr("+-*/%&|^<>=?", *end);
}

/* What the language makes of it. */
static imgpar_status read_expression(reader *r, ip_arg *arg, size_t n)
{
    const ip_services *services = ip_services_get();
    if (!services) return bad_options(r, "arithmetic before there is a context");
    char *text = r->copy + (r->at - r->copy);
    const char kept = text[n];
    ip_error why = { .status = IMGPAR_OK };
    ip_constant c = { .numbers = NULL };
    text[n] = '\0';
    imgpar_status st = services->read_constant(text, &c, &why);
    if (st)
        st = ip_fail(r->err, st == IMGPAR_E_HOST_MEMORY ? st : IMGPAR_E_ARGUMENT, "%s: %s=%.60s: %s",
                     ip_op_label(r->op), arg->name, text, why.message);
    text[n] = kept;
    r->at = text + n + (kept == ',');
    r->computed[arg - r->args] = c.numbers;
    if (st) return st;
    *arg = (ip_arg){ .name = arg->name,
                     .kind = c.is_list   ? IP_ARG_MATRIX
                             : c.is_bool ? IP_ARG_BOOL
                                         : IP_ARG_NUMBER,
                     .number = *c.numbers,
                     .fractional = c.fractional,
                     .rows = c.rows,
                     .cols = c.cols,
                     .numbers = c.is_list ? c.numbers : NULL };
    return IMGPAR_OK;
}

static imgpar_status read_value(reader *r, ip_arg *arg)
{
    const imgpar_op_param *param;
    ip_param_kind kind = kind_of(r->op, arg->name, &param);
    char *text, *end = NULL, *number_end;
    const size_t n = value_length(r->at);
    if (kind != IP_PARAM_TEXT && kind != IP_PARAM_CHOICE && *r->at != '"' && is_expression(r->at, n))
        return read_expression(r, arg, n);
    if (*r->at == '[') return read_matrix(r, arg);
    if (*r->at == '"') {
        imgpar_status st = read_quoted(r, &text);
        if (st) return st;
    } else {
        text = read_word(r, &end);
        if (end == text) return bad_options(r, "a value is missing");
    }
    arg->kind = IP_ARG_TEXT;
    arg->text = text;
    skip_spaces(r);
    if (*r->at && *r->at != ',') return bad_options(r, "a comma is expected");
    bool more = *r->at == ',';
    if (end) *end = '\0';
    if (more) r->at++;
    if (kind == IP_PARAM_TEXT || kind == IP_PARAM_CHOICE) return IMGPAR_OK;
    double number = ip_parse_number(text, &number_end);
    if (number_end != text && !*number_end) {
        arg->kind = IP_ARG_NUMBER;
        arg->number = number;
        arg->fractional = strpbrk(text, ".eE") != NULL;
    } else if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        arg->kind = IP_ARG_BOOL;
        arg->number = text[0] == 't';
    } else if (!param && is_input(r->op, arg->name)) { /* names that are neither are ip_bind()'s to refuse */
        return ip_fail(r->err, IMGPAR_E_ARGUMENT, "%s: %s=%.60s is not a number", ip_op_label(r->op), arg->name, text);
    }
    return IMGPAR_OK;
}

/* NAME=VALUE and the comma behind it. */
static imgpar_status read_item(reader *r)
{
    if (r->n == IP_MAX_SLOTS) return bad_options(r, "too many items");
    ip_arg *arg = &r->args[r->n++];
    *arg = (ip_arg){ .kind = IP_ARG_NUMBER };
    char *name = r->copy + (r->at - r->copy), *end = name;
    while (isalnum((unsigned char)*end) || *end == '_')
        end++;
    r->at = end;
    skip_spaces(r);
    if (end == name || *r->at != '=') {
        r->at = name;
        return bad_options(r, "NAME=VALUE is expected");
    }
    *end = '\0';
    arg->name = name;
    r->at++;
    skip_spaces(r);
    imgpar_status st = read_value(r, arg);
    if (st || arg->kind != IP_ARG_MATRIX || r->computed[arg - r->args]) return st;
    skip_spaces(r);
    if (*r->at && *r->at != ',') return bad_options(r, "a comma is expected");
    if (*r->at) r->at++;
    return IMGPAR_OK;
}

static imgpar_status read_options(reader *r, const char *options)
{
    size_t length = options ? strlen(options) : 0;
    r->copy = ip_alloc(length + 1);
    r->numbers = ip_alloc_array(length / 2 + 1, sizeof(double)); /* two characters an element at least */
    if (!r->copy || !r->numbers) return ip_fail_memory(r->err, "reading options");
    memcpy(r->copy, options ? options : "", length + 1);
    r->at = r->copy;
    for (skip_spaces(r); *r->at; skip_spaces(r)) {
        imgpar_status st = read_item(r);
        if (st) return st;
    }
    return IMGPAR_OK;
}

imgpar_array *ip_build_text(imgpar_context *ctx, const ip_op *op, imgpar_array *const *inputs, size_t n_inputs,
                            const char *options)
{
    ip_arg args[IP_MAX_SLOTS];
    if (op->info.takes_more && inputs && n_inputs > (size_t)op->info.n_inputs) {
        const bool are_keys = op->info.n_inputs == 1;
        const ip_op *pairs = are_keys ? ip_op_find(IP_KEYS) : op;
        imgpar_array *all = imgpar_array_retain(inputs[0]);
        for (size_t k = 1; k < n_inputs; k++)
            imgpar_array_replace(
                &all, ip_build_text(ctx, pairs, (imgpar_array *[]){ all, inputs[k] }, 2, are_keys ? NULL : options));
        if (are_keys) imgpar_array_replace(&all, ip_build_text(ctx, op, &all, 1, options));
        return all;
    }
    if (n_inputs > IP_MAX_SLOTS) n_inputs = IP_MAX_SLOTS; /* one more than any row takes: refused below */
    for (size_t k = 0; k < n_inputs; k++)
        args[k] = ip_arg_array(inputs ? inputs[k] : NULL);
    return ip_build_with_text(ctx, op, args, (int)n_inputs, options);
}

imgpar_array *ip_build_with_text(imgpar_context *ctx, const ip_op *op, const ip_arg *args, int n, const char *options)
{
    ip_error err = { .status = IMGPAR_OK };
    reader r = { .op = op, .n = n, .err = &err };
    imgpar_array *result = NULL;
    memcpy(r.args, args, (size_t)n * sizeof *args);
    if (!read_options(&r, options)) result = ip_build(ctx, op, r.args, r.n);
    if (!result) result = ip_array_error(ctx, err.status, err.message);
    for (int k = 0; k < IP_MAX_SLOTS; k++)
        ip_free(r.computed[k]);
    ip_free(r.copy);
    ip_free(r.numbers);
    return result;
}

IMGPAR_API imgpar_array *imgpar_op(imgpar_context *ctx, const char *name, imgpar_array *const *inputs, size_t n_inputs,
                                   const char *options)
{
    const ip_op *op = ip_op_find(name);
    if (op && !(op->flags & IP_OP_HIDDEN)) return ip_build_text(ctx, op, inputs, n_inputs, options);
    ip_error err = { .status = IMGPAR_OK };
    char near[128];
    ip_op_near(name ? name : "", near, sizeof near);
    ip_fail(&err, IMGPAR_E_ARGUMENT, "unknown operation %.60s%s%s%s", name ? name : "NULL", near[0] ? " (near: " : "",
            near, near[0] ? ")" : "");
    return ip_array_error(ctx, err.status, err.message);
}
