/* SPDX-License-Identifier: MIT */
/*
 * Checking a call against its row, without looking at the types of arrays: the
 * names, the kinds, the ranges. The language runs this over a whole file before
 * any is opened; building runs it again on every call.
 *
 * Every message is "OP: what is wrong", with the value and the rule.
 */
#include "ops/check.h"

#include "base/colours.h"
#include "base/str.h"
#include "ops/hints.h"
#include "ops/view.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *ip_op_label(const ip_op *op) { return op->symbol && op->flags & IP_OP_HIDDEN ? op->symbol : op->info.name; }

bool ip_param_is_auto(const imgpar_op_param *p) { return p->default_text && strcmp(p->default_text, "auto") == 0; }

bool ip_arg_is_number(const ip_arg *arg, double *value)
{
    if (arg->kind == IP_ARG_ARRAY) return ip_array_is_number(arg->array, value, NULL);
    if (arg->kind != IP_ARG_NUMBER && arg->kind != IP_ARG_BOOL) return false;
    *value = arg->number;
    return true;
}

/* ---- names ------------------------------------------------------------------------- */

static const char *slot_name(const ip_op *op, int slot)
{
    const imgpar_op_info *info = &op->info;
    return slot < info->n_inputs ? info->input_names[slot] : info->params[slot - info->n_inputs]->name;
}

static int slot_count(const ip_op *op) { return op->info.n_inputs + op->info.n_params; }

static int slot_find(const ip_op *op, const char *name)
{
    for (int k = 0; k < slot_count(op); k++)
        if (strcmp(slot_name(op, k), name) == 0) return k;
    return -1;
}

/* "a, sigma, border", or "no arguments". */
static const char *slot_list(const ip_op *op, char *buf, size_t size)
{
    size_t used =
        (size_t)snprintf(buf, size, slot_count(op) ? "%s" : "no arguments", slot_count(op) ? slot_name(op, 0) : "");
    for (int k = 1; k < slot_count(op) && used < size; k++)
        used += (size_t)snprintf(buf + used, size - used, ", %s", slot_name(op, k));
    return buf;
}

/* "; that is HINT", or "". */
static const char *that_is(const char *hint, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s", hint ? "; that is " : "", hint ? hint : "");
    return buf;
}

imgpar_status ip_bind(const ip_op *op, const ip_arg *args, int n, ip_bound *bound, int *bad_arg, ip_error *err)
{
    char list[256], here[120];
    const char *label = ip_op_label(op);
    for (int k = 0; k < IP_MAX_SLOTS; k++)
        bound->arg[k] = -1;
    for (int k = 0; k < n; k++) {
        *bad_arg = k;
        int slot = args[k].name ? slot_find(op, args[k].name) : k;
        if (args[k].name && slot < 0)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: unknown parameter %.60s; it has %s%s", label, args[k].name,
                           slot_list(op, list, sizeof list),
                           that_is(ip_hint_param(op, args[k].name), here, sizeof here));
        if (slot >= slot_count(op))
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: too many arguments; it has %s", label,
                           slot_list(op, list, sizeof list));
        if (bound->arg[slot] >= 0)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s is given twice", label, slot_name(op, slot));
        bound->arg[slot] = k;
    }
    *bad_arg = -1;
    for (int k = 0; k < slot_count(op); k++)
        if (bound->arg[k] < 0 && (k < op->info.n_inputs || !op->info.params[k - op->info.n_inputs]->default_text)) {
            const char *name = slot_name(op, k), *hint = ip_hint_missing(op, name);
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s is missing%s%s", label, name, hint ? "; " : "",
                           hint ? hint : "");
        }
    return IMGPAR_OK;
}

const ip_op *ip_op_taking(const ip_op *op, const ip_arg *args, int n)
{
    char by[64];
    const ip_op *other = NULL;
    for (int k = 0; k < n; k++) {
        const int slot = args[k].name ? slot_find(op, args[k].name) : k;
        const bool is_param = slot >= op->info.n_inputs && slot < slot_count(op);
        const imgpar_op_param *p = is_param ? op->info.params[slot - op->info.n_inputs] : NULL;
        const bool is_array = args[k].kind == IP_ARG_ARRAY && !args[k].unknown &&
                              !(args[k].array && ip_array_is_number(args[k].array, NULL, NULL));
        if (!p || ip_param_kind_of(p) != IP_PARAM_MATRIX || !is_array) continue;
        snprintf(by, sizeof by, "%.50s_by", op->info.name);
        other = ip_op_find(by);
        const bool is_input =
            other && other->info.n_inputs == slot + 1 && strcmp(other->info.input_names[slot], p->name) == 0;
        return is_input ? other : op;
    }
    return op;
}

void ip_tell_written(const ip_op *written, const ip_op *op, ip_error *err)
{
    char rest[sizeof err->message];
    const size_t n = strlen(op->info.name);
    if (written == op || !err->status || strncmp(err->message, op->info.name, n) != 0 || err->message[n] != ':') return;
    snprintf(rest, sizeof rest, "%s", err->message + n);
    snprintf(err->message, sizeof err->message, "%.60s%.*s", written->info.name,
             (int)(sizeof rest - strlen(written->info.name) - 1), rest);
}

/* ---- choices ----------------------------------------------------------------------- */

static int word_index(const char *words, const char *word)
{
    size_t n = strlen(word);
    int index = 0;
    for (const char *at = words; at; index++) {
        const char *end = strchr(at, '|');
        if ((end ? (size_t)(end - at) : strlen(at)) == n && memcmp(at, word, n) == 0) return index;
        at = end ? end + 1 : NULL;
    }
    return -1;
}

static const struct {
    const char *param, *alias, *word;
} aliases[] = {
    { "border", "nearest", "replicate" }, { "border", "clamp", "replicate" },   { "border", "edge", "replicate" },
    { "border", "symmetric", "reflect" }, { "border", "circular", "wrap" },     { "border", "periodic", "wrap" },
    { "border", "zero", "constant" },     { "border", "clamped", "replicate" }, { "border", "safe", "constant" },
    { "filter", "bilinear", "linear" },   { "filter", "bicubic", "cubic" },     { "filter", "catmull_rom", "cubic" },
    { "filter", "lanczos", "lanczos3" },
};

/* Places are also taken as ImageMagick and others write them: NorthWest, north-west, Center. */
static int place_index(const char *choices, const char *word)
{
    char plain[16];
    size_t n = 0;
    for (; *word && n + 1 < sizeof plain; word++)
        if (isalpha((unsigned char)*word)) plain[n++] = (char)tolower((unsigned char)*word);
    plain[n] = '\0';
    if (*word) return -1;
    return word_index(choices, strcmp(plain, "center") == 0 ? "centre" : plain);
}

int ip_choice_find(const imgpar_op_param *p, const char *word)
{
    int index = word_index(p->choices, word);
    if (index < 0 && (strcmp(p->name, "gravity") == 0 || strcmp(p->name, "anchor") == 0))
        return place_index(p->choices, word);
    for (size_t k = 0; index < 0 && k < sizeof aliases / sizeof *aliases; k++)
        if (strcmp(aliases[k].param, p->name) == 0 && strcmp(aliases[k].alias, word) == 0)
            index = word_index(p->choices, aliases[k].word);
    return index;
}

int ip_choice_of(const imgpar_op_param *p, const ip_arg *arg)
{
    char number[32];
    if (arg->kind == IP_ARG_TEXT) return arg->text ? ip_choice_find(p, arg->text) : -1;
    return arg->kind == IP_ARG_NUMBER ? ip_choice_find(p, ip_number_text(arg->number, number)) : -1;
}

static imgpar_status check_choice(const ip_op *op, const imgpar_op_param *p, const ip_arg *arg, ip_error *err)
{
    const char *label = ip_op_label(op);
    if (arg->unknown && arg->kind != IP_ARG_TEXT) return IMGPAR_OK;
    if (ip_choice_of(p, arg) >= 0) return IMGPAR_OK;
    if (arg->kind == IP_ARG_TEXT && arg->text && strcmp(p->name, "border") == 0 && strcmp(arg->text, "mirror") == 0)
        return ip_fail(err, IMGPAR_E_ARGUMENT,
                       "%s: border=mirror may mean reflect (ba|abcd|dc) or reflect101 "
                       "(cb|abcd|cb); write one of these",
                       label);
    char words[512], hint[32], here[120]; /* no list is longer: check_ops.c */
    size_t used = 0;
    for (const char *c = p->choices; *c && used + 3 < sizeof words; c++) {
        words[used++] = *c == '|' ? ',' : *c;
        if (*c == '|') words[used++] = ' ';
    }
    words[used] = '\0';
    if (arg->kind != IP_ARG_TEXT || !arg->text)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s must be one of %s", label, p->name, words);
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s=%.60s is not one of %s%s", label, p->name, arg->text, words,
                   that_is(ip_hint_word(op, p, arg->text, hint, sizeof hint), here, sizeof here));
}

/* ---- numbers ----------------------------------------------------------------------- */

static bool has_rule(const imgpar_op_param *p, const char *rule) { return p->choices && strcmp(p->choices, rule) == 0; }

static imgpar_status check_number(const ip_op *op, const imgpar_op_param *p, double value, ip_error *err)
{
    const char *label = ip_op_label(op);
    char text[32], limit[32], hint[120] = "";
    ip_number_text(value, text);
    bool whole = ip_param_kind_of(p) == IP_PARAM_INTEGER || has_rule(p, "whole");
    if (isnan(value) && has_rule(p, "free")) return IMGPAR_OK;
    if (isnan(value) || (whole && isinf(value)))
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s=%s is not a number", label, p->name, text);
    if (whole && value != floor(value))
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s=%s is not a whole number", label, p->name, text);
    if (value < p->minimum)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s=%s is below %s", label, p->name, text,
                       ip_number_text(p->minimum, limit));
    if (value > p->maximum) {
        const bool is_share = strcmp(p->unit, "shares of white") == 0;
        snprintf(hint, sizeof hint, is_share ? "; it is in shares of white: %s of 255 levels are %s/255" : "", text,
                 text);
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s=%s is above %s%s", label, p->name, text,
                       ip_number_text(p->maximum, limit), hint);
    }
    if (whole && has_rule(p, "odd") && fmod(value, 2) == 0)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s=%s is even; it must be odd", label, p->name, text);
    return IMGPAR_OK;
}

/* Numbers of axes. */
static imgpar_status check_wholes(const ip_op *op, const imgpar_op_param *p, const double *numbers, int n,
                                  ip_error *err)
{
    const char *label = ip_op_label(op);
    char text[32], limit[32];
    if (n > IP_MAX_AXES)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s has %d elements; there are up to %d axes", label, p->name, n,
                       IP_MAX_AXES);
    for (int k = 0; k < n; k++) {
        if (numbers[k] == floor(numbers[k]) && numbers[k] >= p->minimum && numbers[k] <= p->maximum) continue;
        ip_number_text(numbers[k], text);
        if (numbers[k] != floor(numbers[k]))
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s has %s, which is not a whole number", label, p->name, text);
        if (numbers[k] < p->minimum)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s has %s, which is below %s", label, p->name, text,
                           ip_number_text(p->minimum, limit));
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s has %s, which is above %s", label, p->name, text,
                       ip_number_text(p->maximum, limit));
    }
    return IMGPAR_OK;
}

static imgpar_status check_matrix(const ip_op *op, const imgpar_op_param *p, const ip_arg *arg, ip_error *err)
{
    const char *label = ip_op_label(op);
    const bool is_matrix = ip_param_kind_of(p) == IP_PARAM_MATRIX;
    const bool gives_levels =
        strcmp(p->unit, "levels") == 0 && strcmp(p->name, "cval") != 0; /* of the result's pixels */
    if (arg->unknown && !arg->numbers) return IMGPAR_OK;
    if (!arg->numbers || arg->rows < 1 || arg->cols < 1)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s has no elements", label, p->name);
    if (!is_matrix && arg->rows != 1 && arg->cols != 1)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s is a matrix of %d rows and %d columns; it must be a vector",
                       label, p->name, arg->rows, arg->cols);
    if (has_rule(p, "odd") && (arg->rows % 2 == 0 || arg->cols % 2 == 0)) {
        if (is_matrix)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s is %dx%d; both sides must be odd", label, p->name, arg->rows,
                           arg->cols);
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s has %d elements; their number must be odd", label, p->name,
                       arg->rows * arg->cols);
    }
    if (arg->unknown) return IMGPAR_OK; /* some of its numbers */
    for (int64_t k = 0; k < (int64_t)arg->rows * arg->cols; k++)
        if (!isfinite(arg->numbers[k]) && !has_rule(p, "free"))
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s has an element that is not finite%s", label, p->name,
                           gives_levels ? "; select(mask, nan, a) makes some" : "");
    return has_rule(p, "whole") ? check_wholes(op, p, arg->numbers, arg->rows * arg->cols, err) : IMGPAR_OK;
}

/* Levels of channels, or the one level of all of them beyond an edge. */
static bool may_be_colour(const imgpar_op_param *p)
{
    return strcmp(p->unit, "levels") == 0 && (has_rule(p, "vector") || strcmp(p->name, "cval") == 0);
}

bool ip_arg_is_colour(const imgpar_op_param *p, const ip_arg *arg, unsigned char rgb[3])
{
    return may_be_colour(p) && arg->kind == IP_ARG_TEXT && arg->text &&
           ip_colour_read(arg->text, strlen(arg->text), rgb);
}

bool ip_param_is_beyond(const imgpar_op_param *p) { return has_rule(p, "vector") && strcmp(p->name, "cval") == 0; }

static bool is_colour_beyond(const imgpar_op_param *p, const ip_arg *arg)
{
    unsigned char rgba[4];
    return ip_param_is_beyond(p) && arg->kind == IP_ARG_TEXT && arg->text &&
           ip_colour_read_alpha(arg->text, strlen(arg->text), rgba);
}

static imgpar_status check_param(const ip_op *op, const imgpar_op_param *p, const ip_arg *arg, ip_error *err)
{
    const char *label = ip_op_label(op);
    double value;
    ip_param_kind kind = ip_param_kind_of(p);
    if (kind == IP_PARAM_CHOICE) return check_choice(op, p, arg, err);
    if (kind == IP_PARAM_TEXT)
        return (arg->kind == IP_ARG_TEXT && (arg->text || arg->unknown)) || arg->unknown
                   ? IMGPAR_OK
                   : ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s must be a text", label, p->name);
    bool is_list = kind == IP_PARAM_VECTOR || kind == IP_PARAM_MATRIX;
    if (arg->kind == IP_ARG_MATRIX && (is_list || has_rule(p, "vector"))) return check_matrix(op, p, arg, err);
    if (arg->kind == IP_ARG_ARRAY && !ip_array_is_number(arg->array, &value, NULL)) {
        if (arg->unknown || p->may_be_array) return IMGPAR_OK;
        char hint[80] = "";
        if (is_list) snprintf(hint, sizeof hint, "; write its numbers, as in [1 2 1]: print(ARRAY) shows them");
        if (op->info.n_inputs > 1 && p == op->info.params[0]) /* one more came, where this stands */
            snprintf(hint, sizeof hint, "; %.40s takes %d arrays", label, op->info.n_inputs);
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s must be %s %s, not an array%s", label, p->name,
                       kind == IP_PARAM_INTEGER ? "an" : "a", p->type, hint);
    }
    if (arg->unknown && arg->kind != IP_ARG_TEXT && arg->kind != IP_ARG_MATRIX) return IMGPAR_OK;
    if (ip_arg_is_number(arg, &value)) return check_number(op, p, value, err);
    if (arg->kind == IP_ARG_TEXT && arg->text && ip_param_is_auto(p) && strcmp(arg->text, "auto") == 0)
        return IMGPAR_OK;
    unsigned char rgb[3];
    if (ip_arg_is_colour(p, arg, rgb) || is_colour_beyond(p, arg) ||
        (arg->unknown && arg->kind == IP_ARG_TEXT && may_be_colour(p)))
        return IMGPAR_OK;
    const char *article = kind == IP_PARAM_INTEGER ? "an" : "a";
    if (arg->kind == IP_ARG_TEXT && may_be_colour(p))
        return ip_fail(err, IMGPAR_E_ARGUMENT,
                       "%s: %s=\"%.60s\" is neither a number nor a colour by its name or #rrggbb", label, p->name,
                       arg->text ? arg->text : "");
    if (arg->kind == IP_ARG_TEXT)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s=\"%.60s\" is not %s %s", label, p->name,
                       arg->text ? arg->text : "", article, p->type);
    char several[64];
    const char *hint = arg->kind == IP_ARG_MATRIX && !is_list ? ip_hint_several(op, p, several, sizeof several) : NULL;
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s must be %s %s%s%s%s", label, p->name, article, p->type,
                   arg->kind == IP_ARG_MATRIX && !is_list ? ", not a list of numbers" : "", hint ? "; " : "",
                   hint ? hint : "");
}

/* ---- between parameters ------------------------------------------------------------ */

static int param_index(const ip_op *op, const char *name)
{
    for (int k = 0; k < op->info.n_params; k++)
        if (strcmp(op->info.params[k]->name, name) == 0) return k;
    return -1;
}

/* The number a parameter has, its default if it is not given; false where it is none, or not known yet. */
static bool param_value(const ip_op *op, int param, const ip_arg *args, const ip_bound *bound, double *value)
{
    const imgpar_op_param *p = op->info.params[param];
    int at = bound->arg[op->info.n_inputs + param];
    if (at >= 0) return !args[at].unknown && ip_arg_is_number(&args[at], value) && !isnan(*value);
    if (!p->default_text || ip_param_is_auto(p)) return false;
    *value = ip_parse_number(p->default_text, NULL);
    return true;
}

/* How many numbers a parameter is told by: more than one only of a list. */
static int number_count(const ip_op *op, int param, const ip_arg *args, const ip_bound *bound)
{
    const int at = bound->arg[op->info.n_inputs + param];
    return at >= 0 && args[at].kind == IP_ARG_MATRIX && args[at].numbers ? args[at].rows * args[at].cols : 1;
}

/* The k-th of them; one that stands for all is each. */
static bool nth_value(const ip_op *op, int param, int k, const ip_arg *args, const ip_bound *bound, double *value)
{
    const int at = bound->arg[op->info.n_inputs + param], n = number_count(op, param, args, bound);
    if (at < 0 || args[at].kind != IP_ARG_MATRIX) return param_value(op, param, args, bound, value);
    if (!args[at].numbers || args[at].unknown) return false;
    *value = args[at].numbers[n == 1 ? 0 : k];
    return n == 1 || k < n;
}

/* How often a parameter has this number among its elements, as far as they are known; one that is a number has one. */
static int count_number(const ip_op *op, int param, const ip_arg *args, const ip_bound *bound, double number)
{
    double value;
    int at = bound->arg[op->info.n_inputs + param], count = 0;
    if (at < 0 || args[at].kind != IP_ARG_MATRIX) return param_value(op, param, args, bound, &value) && value == number;
    for (int k = 0; args[at].numbers && !args[at].unknown && k < args[at].rows * args[at].cols; k++)
        count += args[at].numbers[k] == number;
    return count;
}

/* "a or b or c", as a rule: none of them is 0. Of what is not known yet nothing is said. */
static imgpar_status check_alternatives(const ip_op *op, const ip_arg *args, const ip_bound *bound, ip_error *err)
{
    char word[32];
    double value;
    const char *at = op->info.rule;
    for (int n = 0; sscanf(at, "%31s%n", word, &n) == 1; at += n) {
        if (strcmp(word, "or") == 0) continue;
        if (!param_value(op, param_index(op, word), args, bound, &value) || value != 0) return IMGPAR_OK;
    }
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s is needed", ip_op_label(op), op->info.rule);
}

/* What the row's rule says of two parameters a and b, or of a and a number. */
static imgpar_status check_rule(const ip_op *op, const ip_arg *args, const ip_bound *bound, int *bad_arg, ip_error *err)
{
    char first[32], sign[8], second[32];
    double a, b;
    const char *label = ip_op_label(op);
    if (!op->info.rule || sscanf(op->info.rule, "%31s %7s %31s", first, sign, second) != 3) return IMGPAR_OK;
    int param_a = param_index(op, first), param_b = param_index(op, second);
    int at = bound->arg[op->info.n_inputs + param_a];
    *bad_arg = at;
    if (strcmp(sign, "per") == 0) {
        bool is_list = at >= 0 && args[at].kind == IP_ARG_MATRIX && args[at].numbers;
        int n = is_list ? args[at].rows * args[at].cols : 0;
        if (!is_list || !param_value(op, param_b, args, bound, &b) || n == b) return IMGPAR_OK;
        const int letters = (int)strlen(second) - (b == 1); /* one channel, two channels */
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s has %d numbers for %g %.*s", label, first, n, b, letters,
                       second);
    }
    if (strcmp(sign, "!=") == 0)
        return count_number(op, param_a, args, bound, ip_parse_number(second, NULL)) == 0
                   ? IMGPAR_OK
                   : ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s must not be %s", label, first, second);
    if (strcmp(sign, "once") == 0)
        return count_number(op, param_a, args, bound, ip_parse_number(second, NULL)) <= 1
                   ? IMGPAR_OK
                   : ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s has %s more than once", label, first, second);
    if (strcmp(sign, "or") == 0) return check_alternatives(op, args, bound, err);
    const int n_a = number_count(op, param_a, args, bound), n_b = number_count(op, param_b, args, bound);
    for (int k = 0; k < n_a || k < n_b; k++) {
        if (!nth_value(op, param_a, k, args, bound, &a) || !nth_value(op, param_b, k, args, bound, &b))
            return IMGPAR_OK;
        if (strcmp(sign, "<") == 0 && !(a < b))
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s=%g is not below %s=%g", label, first, a, second, b);
        if (a > b) return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s=%g is above %s=%g", label, first, a, second, b);
    }
    return IMGPAR_OK;
}

/* border=zero is border=constant with the value 0, which cval must not contradict. */
static imgpar_status check_zero_border(const ip_op *op, const ip_arg *args, const ip_bound *bound, int *bad_arg,
                                       ip_error *err)
{
    double value;
    int border = param_index(op, "border"), cval = param_index(op, "cval");
    int at = border < 0 ? -1 : bound->arg[op->info.n_inputs + border];
    if (at < 0 || cval < 0 || args[at].kind != IP_ARG_TEXT || strcmp(args[at].text, "zero") != 0) return IMGPAR_OK;
    *bad_arg = at;
    const int given = bound->arg[op->info.n_inputs + cval];
    const bool is_colour = given >= 0 && (args[given].kind == IP_ARG_TEXT || args[given].kind == IP_ARG_MATRIX);
    if (!is_colour && (!param_value(op, cval, args, bound, &value) || value == 0)) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: border=zero takes no cval; write border=constant", ip_op_label(op));
}

/* Whether another value than the default is given for it. */
static bool differs_from_default(const ip_op *op, int param, const ip_arg *args, const ip_bound *bound)
{
    const imgpar_op_param *p = op->info.params[param];
    const int at = bound->arg[op->info.n_inputs + param];
    double value;
    if (at < 0 || !p->default_text || args[at].unknown) return false;
    if (ip_param_kind_of(p) == IP_PARAM_CHOICE) return ip_choice_of(p, &args[at]) != ip_choice_find(p, p->default_text);
    return !ip_arg_is_number(&args[at], &value) || value != ip_parse_number(p->default_text, NULL);
}

/* An element takes the place of what would draw one. Defaults beside it are what written rows hand on. */
static imgpar_status check_element(const ip_op *op, const ip_arg *args, const ip_bound *bound, int *bad_arg,
                                   ip_error *err)
{
    static const char *const drawn[] = { "size", "shape", "angle" };
    const int element = param_index(op, "element");
    const int at = element < 0 ? -1 : bound->arg[op->info.n_inputs + element];
    if (at < 0 || args[at].kind != IP_ARG_MATRIX) return IMGPAR_OK;
    for (size_t k = 0; k < sizeof drawn / sizeof *drawn; k++) {
        const int param = param_index(op, drawn[k]);
        if (param < 0 || !differs_from_default(op, param, args, bound)) continue;
        *bad_arg = bound->arg[op->info.n_inputs + param];
        return ip_fail(err, IMGPAR_E_ARGUMENT,
                       "%s: %s and element contradict each other: an element stands in place of size, shape and angle",
                       ip_op_label(op), drawn[k]);
    }
    return IMGPAR_OK;
}

/* ---- the call ---------------------------------------------------------------------- */

static imgpar_status check_input(const ip_op *op, int slot, const ip_arg *arg, ip_error *err)
{
    static const char *const words[] = { "an array", "a number", "a bool", "a text", "a matrix" };
    bool is_number = arg->kind == IP_ARG_NUMBER || arg->kind == IP_ARG_BOOL;
    if (arg->kind == IP_ARG_ARRAY || (is_number && arg->unknown)) return IMGPAR_OK;
    if (is_number && (op->flags & IP_OP_ELEMENTWISE)) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s must be an array, not %s%s", ip_op_label(op),
                   op->info.input_names[slot], words[arg->kind],
                   arg->kind == IP_ARG_TEXT     ? "; open(\"FILE\") gives a file's image"
                   : arg->kind == IP_ARG_MATRIX ? "; numbers([1 2 3]) is one"
                                                : "");
}

static imgpar_status check_call(const ip_op *op, const ip_arg *args, int n, int *bad_arg, ip_error *err)
{
    ip_bound bound;
    imgpar_status st = ip_bind(op, args, n, &bound, bad_arg, err);
    if (st) return st;
    for (int k = 0; k < slot_count(op); k++) {
        if (bound.arg[k] < 0) continue;
        *bad_arg = bound.arg[k];
        const ip_arg *arg = &args[bound.arg[k]];
        st = k < op->info.n_inputs ? check_input(op, k, arg, err)
                                   : check_param(op, op->info.params[k - op->info.n_inputs], arg, err);
        if (st) return st;
    }
    st = check_rule(op, args, &bound, bad_arg, err);
    if (!st) st = check_zero_border(op, args, &bound, bad_arg, err);
    if (!st) st = check_element(op, args, &bound, bad_arg, err);
    if (!st) *bad_arg = -1;
    return st;
}

imgpar_status ip_check_call(const ip_op *op, const ip_arg *args, int n, int *bad_arg, ip_error *err)
{
    int ignored;
    const ip_op *taking = ip_op_taking(op, args, n);
    imgpar_status st = check_call(taking, args, n, bad_arg ? bad_arg : &ignored, err);
    if (st) ip_tell_written(op, taking, err);
    return st;
}
