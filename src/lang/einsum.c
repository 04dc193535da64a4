/* SPDX-License-Identifier: MIT */
/*
 * einsum("ij,jk->ik", a, b): sums of products, by letters for the axes (Einstein's convention, as numpy.einsum has it).
 * It is views, then what the letters ask for: a product of matrices where axes are summed and others are of one operand
 * alone; else an element-wise product, and sums, in one kernel.
 *
 *     "ij->ji" permutes        "ij->i" sums         "ii->i" is a diagonal        "ii->" a trace
 *     "i,j->ij" outer          "i,i->" dot          "bij,bjk->bik" matmul        "hwc,dc->hwd" recomb
 *
 * Without "->" the result has the letters that occur once, in the order of the alphabet.
 */
#include "lang/eval.h"
#include "base/dtype.h"
#include "base/plural.h"

#include <string.h>

enum { MOST_OPERANDS = 2, N_LETTERS = 128 };

/* An array, and the letters of its axes. */
typedef struct operand {
    ip_val v;
    char letters[IMGPAR_MAX_RANK + 1];
} operand;

typedef struct summation {
    ip_eval *ev;
    const ip_node *call;
    const ip_node *slots[1 + MOST_OPERANDS];
    const char *text;
    int n; /* operands */
    operand in[MOST_OPERANDS];
    char out[IMGPAR_MAX_RANK + 1];
    int64_t extents[N_LETTERS];
} summation;

static bool fail(summation *s, const char *why)
{
    return ip_eval_fail(s->ev, s->slots[0]->offset, "einsum: \"%.80s\": %s", s->text, why);
}

/* Of ASCII, whatever the locale: extents has a place for each. */
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static bool has(const char *letters, char c) { return c && strchr(letters, c) != NULL; }

/* ---- the text ------------------------------------------------------------------------------------------ */

/* Letters up to a comma, an arrow or the end. */
static bool read_letters(summation *s, const char **at, char letters[IMGPAR_MAX_RANK + 1])
{
    int n = 0;
    for (; **at && **at != ',' && **at != '-'; ++*at) {
        if (**at == ' ') continue;
        if (!is_letter(**at)) return fail(s, "axes are letters, as in \"ij,jk->ik\"");
        if (n == IMGPAR_MAX_RANK) return fail(s, "an array has up to 8 axes");
        letters[n++] = **at;
    }
    letters[n] = '\0';
    return true;
}

/* What occurs once, in the order of the alphabet. */
static bool implied_result(summation *s)
{
    int n = 0;
    for (char c = 'A'; c <= 'z'; c++) {
        int times = 0;
        for (int k = 0; k < s->n; k++)
            for (const char *l = s->in[k].letters; *l; l++)
                times += *l == c;
        if (times != 1) continue;
        if (n == IMGPAR_MAX_RANK) return fail(s, "the result would have more than 8 axes");
        s->out[n++] = c;
    }
    return true;
}

static bool check_result(summation *s)
{
    for (const char *l = s->out; *l; l++) {
        if (has(l + 1, *l)) return fail(s, "a letter occurs twice in the result");
        if (!has(s->in[0].letters, *l) && !has(s->in[1].letters, *l))
            return fail(s, "a letter of the result is in no operand");
    }
    return true;
}

static bool read_text(summation *s)
{
    const char *at = s->text;
    int n = 0;
    for (;;) {
        if (n == MOST_OPERANDS) return fail(s, "there are one or two operands");
        if (!read_letters(s, &at, s->in[n++].letters)) return false;
        if (*at != ',') break;
        at++;
    }
    if (n != s->n)
        return fail(s, n == 1 ? "one operand is named, two are given" : "two operands are named, one is given");
    if (!*at) return implied_result(s) && check_result(s);
    if (strncmp(at, "->", 2) != 0) return fail(s, "operands end at a comma or at ->");
    at += 2;
    if (!read_letters(s, &at, s->out)) return false;
    return *at ? fail(s, "behind -> stand the letters of the result") : check_result(s);
}

/* ---- steps ---------------------------------------------------------------------------------------------- */

static ip_arg vector(const char *name, const double *v, int n)
{
    return (ip_arg){ .name = name, .kind = IP_ARG_MATRIX, .rows = 1, .cols = n, .numbers = v };
}

/* o becomes that row of it, with the arguments behind the first. */
static bool step(summation *s, operand *o, const char *row, ip_arg *args, int n)
{
    ip_val out;
    args[0] = ip_arg_array(o->v.u.array);
    if (!ip_call_args(s->ev, ip_op_find(row), s->call->offset, args, NULL, n, &out)) return false;
    ip_val_free(&o->v);
    o->v = out;
    return true;
}

/* The extents of letters as a shape; of none 1. */
static bool reshaped(summation *s, operand *o, const char *letters)
{
    double shape[IMGPAR_MAX_RANK] = { 1 };
    const int n = (int)strlen(letters);
    for (int k = 0; k < n; k++)
        shape[k] = (double)(has(o->letters, letters[k]) ? s->extents[(int)letters[k]] : 1);
    ip_arg args[2] = { [1] = vector("shape", shape, n ? n : 1) };
    return step(s, o, "reshape", args, 2);
}

/* The axes in the order of these letters, which are its own. */
static bool permuted(summation *s, operand *o, const char *letters)
{
    double axes[IMGPAR_MAX_RANK];
    const int n = (int)strlen(letters);
    if (strcmp(o->letters, letters) == 0) return true;
    for (int k = 0; k < n; k++)
        axes[k] = (double)(strchr(o->letters, letters[k]) - o->letters);
    ip_arg args[2] = { [1] = vector("axes", axes, n) };
    if (!step(s, o, "permute", args, 2)) return false;
    memmove(o->letters, letters, (size_t)n + 1);
    return true;
}

/* A letter that occurs twice becomes one: both axes behind the others, as one of n * n elements, every (n + 1)th. */
static bool take_diagonal(summation *s, operand *o, char c)
{
    const int rank = (int)strlen(o->letters);
    const int64_t extent = s->extents[(int)c];
    double axes[IMGPAR_MAX_RANK], shape[IMGPAR_MAX_RANK];
    const double none = 0, end = (double)(extent * extent), stride = (double)(extent + 1);
    int n = 0, last = rank - 2;
    char letters[IMGPAR_MAX_RANK + 1] = "";
    for (int k = 0; k < rank; k++)
        if (o->letters[k] != c) {
            letters[n] = o->letters[k];
            shape[n] = (double)s->extents[(int)o->letters[k]];
            axes[n++] = k;
        } else if (last < rank) {
            axes[last++] = k;
        }
    if (n != rank - 2) return fail(s, "a letter occurs three times in an operand");
    letters[n] = c;
    shape[n] = end;
    ip_arg permute[2] = { [1] = vector("axes", axes, rank) }, reshape[2] = { [1] = vector("shape", shape, n + 1) };
    ip_arg slice[5] = { [1] = vector("from", &none, 1),
                        [2] = vector("to", &end, 1),
                        [3] = vector("step", &stride, 1),
                        [4] = { .name = "axis", .kind = IP_ARG_NUMBER, .number = n } };
    memcpy(o->letters, letters, sizeof letters);
    return step(s, o, "permute", permute, 2) && step(s, o, "reshape", reshape, 2) && step(s, o, "slice", slice, 5);
}

static bool take_diagonals(summation *s, operand *o)
{
    for (const char *l = o->letters; *l; l++)
        if (has(l + 1, *l)) return take_diagonal(s, o, *l) && take_diagonals(s, o);
    return true;
}

/* Sums over the letters that are in none of both. */
static bool sum_others(summation *s, operand *o, const char *keep, const char *keep_too)
{
    double axes[IMGPAR_MAX_RANK];
    int n_axes = 0, n = 0;
    char letters[IMGPAR_MAX_RANK + 1] = "";
    for (int k = 0; o->letters[k]; k++)
        if (has(keep, o->letters[k]) || has(keep_too, o->letters[k]))
            letters[n++] = o->letters[k];
        else
            axes[n_axes++] = k;
    if (n_axes == 0) return true;
    memcpy(o->letters, letters, sizeof letters);
    ip_arg args[2] = { [1] = vector("axis", axes, n_axes) };
    return step(s, o, "sum", args, 2);
}

/* ---- products -------------------------------------------------------------------------------------------- */

/* The letters of a that are, or are not, in b and in out. */
static void letters_of(const char *a, const char *b, bool in_b, const char *out, bool in_out, char *to)
{
    for (; *a; a++)
        if (has(b, *a) == in_b && has(out, *a) == in_out) *to++ = *a;
    *to = '\0';
}

typedef struct classes {
    char batch[IMGPAR_MAX_RANK + 1], rows[IMGPAR_MAX_RANK + 1], columns[IMGPAR_MAX_RANK + 1],
        summed[IMGPAR_MAX_RANK + 1];
} classes;

static int64_t count(const summation *s, const char *letters)
{
    int64_t n = 1;
    for (; *letters; letters++)
        n *= s->extents[(int)*letters]; /* of parts of arrays that exist */
    return n;
}

static bool as_matrices(summation *s, operand *o, const char *batch, const char *rows, const char *columns)
{
    double shape[3] = { (double)count(s, batch), (double)count(s, rows), (double)count(s, columns) };
    char order[3 * IMGPAR_MAX_RANK + 1] = "";
    strcat(strcat(strcpy(order, batch), rows), columns);
    ip_arg args[2] = { [1] = *batch ? vector("shape", shape, 3) : vector("shape", shape + 1, 2) };
    return permuted(s, o, order) && step(s, o, "reshape", args, 2);
}

static bool multiply_matrices(summation *s, const classes *c)
{
    operand *a = &s->in[0], *b = &s->in[1];
    if (!as_matrices(s, a, c->batch, c->rows, c->summed) || !as_matrices(s, b, c->batch, c->summed, c->columns))
        return false;
    ip_arg args[2] = { [1] = ip_arg_array(b->v.u.array) };
    char letters[3 * IMGPAR_MAX_RANK + 1] = "";
    strcat(strcat(strcpy(letters, c->batch), c->rows), c->columns);
    if (!step(s, a, "matmul", args, 2)) return false;
    memcpy(a->letters, letters, strlen(letters) + 1); /* those of the result */
    return reshaped(s, a, a->letters);
}

static bool is_integer(const operand *o)
{
    const imgpar_dtype dtype = o->v.u.array->type.dtype;
    return dtype != IMGPAR_BOOL && !ip_dtype(dtype)->is_float;
}

/* Integers whose products are summed are multiplied in 64 bits, as dot() does it. */
static bool widen(summation *s)
{
    bool has_signed = false;
    for (int k = 0; k < 2; k++) {
        if (!is_integer(&s->in[k])) return true;
        has_signed |= ip_dtype(s->in[k].v.u.array->type.dtype)->is_signed;
    }
    ip_arg args[2] = { [1] = { .kind = IP_ARG_TEXT, .text = has_signed ? "i64" : "u64" } };
    return step(s, &s->in[0], "cast", args, 2) && step(s, &s->in[1], "cast", args, 2);
}

/* Both get all axes, those that they lack with one element. */
static bool multiply_elements(summation *s, const classes *c)
{
    char all[4 * IMGPAR_MAX_RANK + 1] = "";
    strcat(strcat(strcat(strcpy(all, c->batch), c->rows), c->columns), c->summed);
    for (int k = 0; k < 2; k++) {
        char own[IMGPAR_MAX_RANK + 1];
        letters_of(all, s->in[k].letters, true, "", false, own);
        const double flat = -1;
        ip_arg args[2] = { [1] = vector("shape", &flat, 1) }; /* data, which has no alpha */
        if (!permuted(s, &s->in[k], own) || !step(s, &s->in[k], "reshape", args, 2) || !reshaped(s, &s->in[k], all))
            return false;
    }
    if (*c->summed && !widen(s)) return false;
    ip_val product, both[2] = { s->in[0].v, s->in[1].v };
    if (!ip_call_operator(s->ev, IP_O_MULTIPLY, s->call->offset, both, &product)) return false;
    ip_val_free(&s->in[0].v);
    s->in[0].v = product;
    memcpy(s->in[0].letters, all, IMGPAR_MAX_RANK + 1);
    return sum_others(s, &s->in[0], s->out, "");
}

static bool multiply(summation *s)
{
    const char *a = s->in[0].letters, *b = s->in[1].letters;
    classes c;
    letters_of(a, b, true, s->out, true, c.batch);
    letters_of(a, b, true, s->out, false, c.summed);
    letters_of(a, b, false, s->out, true, c.rows);
    letters_of(b, a, false, s->out, true, c.columns);
    const bool is_product = *c.summed && (*c.rows || *c.columns);
    return is_product ? multiply_matrices(s, &c) : multiply_elements(s, &c);
}

/* ---- the form --------------------------------------------------------------------------------------------- */

static bool find_extents(summation *s)
{
    for (int k = 0; k < s->n; k++) {
        const ip_type *type = &s->in[k].v.u.array->type;
        const char *letters = s->in[k].letters;
        char text[96];
        if ((int)strlen(letters) != type->rank)
            return ip_eval_fail(s->ev, s->slots[1 + k]->offset, "einsum: \"%.80s\" names %d %s for an array of %s",
                                s->text, (int)strlen(letters), ip_word_for((int64_t)strlen(letters), "axis", "axes"),
                                ip_shape_text(type, text));
        for (int axis = 0; axis < type->rank; axis++) {
            int64_t *extent = &s->extents[(int)letters[axis]];
            if (*extent >= 0 && *extent != type->shape[axis])
                return ip_eval_fail(s->ev, s->slots[1 + k]->offset, "einsum: %c is %lld elements, and %lld here",
                                    letters[axis], (long long)*extent, (long long)type->shape[axis]);
            *extent = type->shape[axis];
        }
    }
    return true;
}

static bool compute(summation *s)
{
    for (int k = 0; k < N_LETTERS; k++)
        s->extents[k] = -1;
    if (!find_extents(s)) return false;
    for (int k = 0; k < s->n; k++)
        if (!take_diagonals(s, &s->in[k])) return false;
    for (int k = 0; k < s->n; k++)
        if (!sum_others(s, &s->in[k], s->out, s->in[1 - k].letters)) return false;
    return (s->n == 1 || multiply(s)) && (!s->out[0] || permuted(s, &s->in[0], s->out));
}

static bool find_operands(summation *s)
{
    s->n = s->slots[2] ? 2 : 1;
    for (int k = 0; k < s->n; k++) {
        ip_val *v = &s->in[k].v;
        if (!ip_eval_value(s->ev, s->slots[1 + k], v)) return false;
        if (v->kind != IP_V_ARRAY && v->kind != IP_V_ANY)
            return ip_eval_fail(s->ev, s->slots[1 + k]->offset, "einsum: an array is expected, not %s",
                                ip_val_kind_text(v));
    }
    return true;
}

bool ip_form_einsum(ip_eval *ev, const ip_node *call, ip_val *out)
{
    summation s = { .ev = ev, .call = call };
    *out = (ip_val){ .kind = IP_V_NONE };
    if (!ip_form_args(ev, call, s.slots)) return false;
    s.text = ip_eval_word(ev, s.slots[0]);
    if (!s.text) return ip_eval_fail(ev, s.slots[0]->offset, "einsum: a text is expected first, as \"ij,jk->ik\"");
    ip_place place = ip_leave_region(ev, ip_inherited_coords(ev));
    bool ok = find_operands(&s) && read_text(&s) && (ev->checking || compute(&s));
    ev->place = place;
    if (ok) *out = ev->checking ? ip_val_unknown(IP_V_ARRAY) : ip_val_copy(&s.in[0].v);
    for (int k = 0; k < MOST_OPERANDS; k++)
        ip_val_free(&s.in[k].v);
    return ok;
}
