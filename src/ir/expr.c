/* SPDX-License-Identifier: MIT */
/*
 * Making expressions: hash-consing, argument checks and ranges. Simplification
 * happens here too, through the rules of rules.c, so an expression is in its
 * simplest form whenever and by whomever it is made; there is no separate pass that
 * could be forgotten.
 */
#include "ir/expr.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/hash.h"
#include "base/integers.h"
#include "ir/internal.h"
#include "ir/stage.h"

#include <math.h>
#include <string.h>

/* What a builder returns when memory is short: a legal expression of the wanted dtype. */
static ip_expr *poison(ip_ir *ir, imgpar_dtype dtype)
{
    static const ip_expr zero_int = { .op = IP_X_CONST, .dtype = IMGPAR_I32 };
    static const ip_expr zero_float = { .op = IP_X_CONST, .dtype = IMGPAR_F32 };
    static const ip_expr zero_bool = { .op = IP_X_CONST, .dtype = IMGPAR_BOOL };
    ir->failed = true;
    if (dtype == IMGPAR_BOOL) return (ip_expr *)&zero_bool;
    return (ip_expr *)(ip_dtype(dtype)->is_float ? &zero_float : &zero_int);
}

static uint64_t expr_hash(const ip_expr *x)
{
    uint64_t h = ip_hash_u64((uint64_t)x->op * 31 + (uint64_t)x->dtype, (uint64_t)x->i);
    uint64_t bits;
    memcpy(&bits, &x->f, sizeof bits);
    h = ip_hash_u64(h, bits);
    h = ip_hash_u64(h, (uint64_t)x->axis << 32 ^ (uint64_t)(uint32_t)x->window);
    h = ip_hash_u64(h, (uint64_t)x->border << 8 ^ (uint64_t)x->fold);
    h = ip_hash_u64(h, (uint64_t)(uintptr_t)x->source);
    for (int k = 0; k < x->n_args; k++)
        h = ip_hash_u64(h, x->arg[k]->id);
    return h;
}

/* Whether both are the same of their arguments, which are as many. */
static bool is_same_of_arguments(const ip_expr *a, const ip_expr *b)
{
    if (a->op != b->op || a->dtype != b->dtype || a->n_args != b->n_args || a->i != b->i ||
        memcmp(&a->f, &b->f, sizeof a->f) != 0 || a->axis != b->axis || a->window != b->window ||
        a->taps_y != b->taps_y || a->taps_x != b->taps_x || a->fold != b->fold || a->border != b->border ||
        a->source != b->source)
        return false;
    /* A coordinate's range is part of what it is; everything else's follows from its arguments. */
    return a->op != IP_X_COORD || a->hi == b->hi;
}

static bool expr_equal(const ip_expr *a, const ip_expr *b)
{
    for (int k = 0; k < a->n_args && a->n_args == b->n_args; k++)
        if (a->arg[k] != b->arg[k]) return false;
    return is_same_of_arguments(a, b);
}

static bool is_same(const ip_expr *a, const ip_expr *b, int *steps)
{
    if (a == b) return true;
    if (!a || !b || --*steps < 0 || !is_same_of_arguments(a, b)) return false;
    if (a->op == IP_X_PARAM) return a->lo == b->lo && a->hi == b->hi;
    for (int k = 0; k < a->n_args; k++)
        if (!is_same(a->arg[k], b->arg[k], steps)) return false;
    return a->n_args > 0;
}

bool ip_x_is_same(const ip_expr *a, const ip_expr *b)
{
    enum { MOST_STEPS = 2000 }; /* what is shared within both is compared again each time it is met */
    int steps = MOST_STEPS;
    return is_same(a, b, &steps);
}

static bool table_grow(ip_ir *ir)
{
    size_t size = ir->table_size ? ir->table_size * 2 : 256;
    ip_expr **table = ip_zalloc(size * sizeof *table);
    if (!table) return false;
    for (size_t k = 0; k < ir->table_size; k++)
        for (ip_expr *x = ir->table[k], *next; x; x = next) {
            next = x->next;
            x->next = table[x->hash & (size - 1)];
            table[x->hash & (size - 1)] = x;
        }
    ip_free(ir->table);
    ir->table = table;
    ir->table_size = size;
    return true;
}

/* Windows and loops that are around an expression and are used in it, at most. */
enum { MOST_FREE_TAPS = 64 };

/* Windows whose taps are used, and no window around them has been met. */
typedef struct free_taps {
    int n, windows[MOST_FREE_TAPS];
    bool are_many;
} free_taps;

static void remove_window(free_taps *f, int window)
{
    for (int k = 0; k < f->n; k++)
        if (f->windows[k] == window) f->windows[k--] = f->windows[--f->n];
}

static void note_free_taps(ip_expr *x, void *user)
{
    free_taps *f = user;
    const bool is_leaf = x->op == IP_X_TAP || x->op == IP_X_STATE;
    if (x->op == IP_X_WINDOW || x->op == IP_X_LOOP || is_leaf) remove_window(f, x->window);
    if (!is_leaf) return;
    f->are_many |= f->n == MOST_FREE_TAPS;
    if (f->n < MOST_FREE_TAPS) f->windows[f->n++] = x->window;
}

/* Whether a window depends on the tap of one around it. */
static bool uses_other_taps(ip_ir *ir, const ip_expr *window)
{
    free_taps f = { .n = 0 };
    for (int k = 0; k < window->n_args; k++)
        if (window->arg[k]->uses & IP_USES_TAP) ip_x_walk(ir, window->arg[k], note_free_taps, &f);
    remove_window(&f, window->window);
    return f.n > 0 || f.are_many;
}

/* The unique expression equal to proto. */
static ip_expr *intern(ip_ir *ir, ip_expr *proto, bool shared)
{
    if (ir->n_exprs >= ir->table_size && !table_grow(ir)) return poison(ir, proto->dtype);
    proto->hash = expr_hash(proto);
    if (shared)
        for (ip_expr *x = ir->table[proto->hash & (ir->table_size - 1)]; x; x = x->next)
            if (x->hash == proto->hash && expr_equal(x, proto)) return x;
    ip_expr *x = ip_ir_alloc(ir, 1, sizeof *x);
    if (!x) return poison(ir, proto->dtype);
    *x = *proto;
    x->uses = x->op == IP_X_COORD ? (unsigned char)(1 << x->axis)
              : x->op == IP_X_TAP ? IP_USES_TAP
              : x->op == IP_X_ACC ? IP_USES_ACC
              : x->op == IP_X_STATE
                  ? (unsigned char)(IP_USES_TAP | IP_USES_Z | IP_USES_Y | IP_USES_X | (x->i ? IP_USES_C : 0))
                  : 0;
    for (int k = 0; k < x->n_args; k++)
        x->uses |= x->arg[k]->uses;
    if ((x->op == IP_X_WINDOW || x->op == IP_X_LOOP) && !uses_other_taps(ir, x)) /* its taps are bound here */
        x->uses &= (unsigned char)~IP_USES_TAP;
    x->id = (unsigned)ir->n_exprs++;
    x->next = ir->table[x->hash & (ir->table_size - 1)];
    ir->table[x->hash & (ir->table_size - 1)] = x;
    return x;
}

ip_expr *ip_x_int(ip_ir *ir, imgpar_dtype dtype, int64_t value)
{
    value = dtype == IMGPAR_BOOL ? value != 0 : ip_wrap_int(dtype, value);
    ip_expr x = { .op = IP_X_CONST, .dtype = dtype, .i = value, .border = IP_BORDER_NONE };
    x.lo = x.hi = dtype == IMGPAR_U64 ? (double)(uint64_t)value : (double)value;
    return intern(ir, &x, true);
}

ip_expr *ip_x_float(ip_ir *ir, imgpar_dtype dtype, double value)
{
    double f = dtype == IMGPAR_F32 ? (double)(float)value : value;
    ip_expr x = { .op = IP_X_CONST, .dtype = dtype, .f = f, .border = IP_BORDER_NONE, .lo = f, .hi = f };
    if (isnan(f)) {
        x.lo = -INFINITY;
        x.hi = INFINITY;
    }
    return intern(ir, &x, true);
}

ip_expr *ip_x_number(ip_ir *ir, imgpar_dtype dtype, double value)
{
    if (ip_dtype(dtype)->is_float) return ip_x_float(ir, dtype, value);
    if (dtype == IMGPAR_U64 || dtype == IMGPAR_I64) {
        uint64_t bits;
        ip_store_number(dtype, &bits, value);
        return ip_x_int(ir, dtype, (int64_t)bits);
    }
    const ip_dtype_facts *facts = ip_dtype(dtype);
    double v = isnan(value) ? 0 : fmin(fmax(rint(value), facts->minimum), facts->maximum);
    return ip_x_int(ir, dtype, (int64_t)v);
}

static ip_expr *param(ip_ir *ir, imgpar_dtype dtype, int64_t i, double f, double lo, double hi)
{
    ip_expr x = { .op = IP_X_PARAM, .dtype = dtype, .i = i, .f = f, .border = IP_BORDER_NONE, .lo = lo, .hi = hi };
    return intern(ir, &x, false);
}

ip_expr *ip_x_param(ip_ir *ir, imgpar_dtype dtype, double value, double lo, double hi)
{
    const ip_dtype_facts *facts = ip_dtype(dtype);
    if (facts->is_float) return param(ir, dtype, 0, dtype == IMGPAR_F32 ? (double)(float)value : value, lo, hi);
    ip_expr *c = ip_x_number(ir, dtype, value);
    return param(ir, dtype, c->i, 0, fmax(lo, facts->minimum), fmin(hi, facts->maximum));
}

ip_expr *ip_x_param_i64(ip_ir *ir, int64_t value)
{
    return param(ir, IMGPAR_I64, value, 0, -9223372036854775808.0, 9223372036854775807.0);
}

ip_expr *ip_x_param_of(ip_ir *ir, const ip_expr *number, double lo, double hi)
{
    const ip_dtype_facts *facts = ip_dtype(number->dtype);
    if (!facts->is_float) {
        lo = fmax(lo, facts->minimum);
        hi = fmin(hi, facts->maximum);
    }
    return param(ir, number->dtype, number->i, number->f, lo, hi);
}

ip_expr *ip_x_coord(ip_ir *ir, int axis, int64_t extent)
{
    ip_expr x = { .op = IP_X_COORD, .dtype = IMGPAR_I32, .axis = axis, .border = IP_BORDER_NONE };
    /* classes, not sizes: programs depend on it */
    x.hi = extent <= 32768 ? 32767 : extent <= 1 << 24 ? (1 << 24) - 1 : 2147483647.0;
    if (axis == 3) /* channels are few and part of the program */
        x.hi = extent > 0 ? (double)(extent - 1) : 0;
    return intern(ir, &x, true);
}

ip_expr *ip_x_tap(ip_ir *ir, int window, int axis, int taps)
{
    ip_expr x = {
        .op = IP_X_TAP, .dtype = IMGPAR_I32, .axis = axis, .window = window, .border = IP_BORDER_NONE, .hi = taps - 1
    };
    return taps == 1 ? ip_x_int(ir, IMGPAR_I32, 0) : intern(ir, &x, true);
}

ip_expr *ip_x_acc(ip_ir *ir, int which, imgpar_dtype dtype)
{
    ip_expr x = { .op = IP_X_ACC, .dtype = dtype, .axis = which, .border = IP_BORDER_NONE };
    ip_range_of_dtype(dtype, &x.lo, &x.hi);
    return intern(ir, &x, true);
}

/* Whether indices are inside by their ranges, as a byte is in a table of 256. */
static bool is_inside(const ip_stage *source, ip_expr *const index[4])
{
    for (int k = 0; k < 4; k++)
        if (index[k]->lo < 0 || index[k]->hi >= (double)source->dims[k]) return false;
    return true;
}

/* The rule that is read by; *promise: Note [Promises]. */
static int settled(const ip_ir *ir, int border, int *promise)
{
    *promise = ip_is_promise(border) && ir->keeps_promises ? border : 0;
    return ip_is_promise(border) ? IMGPAR_BORDER_REPLICATE : border;
}

ip_expr *ip_x_load(ip_ir *ir, ip_stage *source, ip_expr *const index[4], int border, ip_expr *outside)
{
    int promise;
    if (!source) return poison(ir, IMGPAR_F32);
    border = settled(ir, border, &promise);
    if (border != IP_BORDER_NONE && is_inside(source, index)) return ip_x_load(ir, source, index, IP_BORDER_NONE, NULL);
    imgpar_dtype dtype = source->dtype == IMGPAR_F16 ? IMGPAR_F32 : source->dtype;
    ip_expr x = { .op = IP_X_LOAD,
                  .dtype = dtype,
                  .n_args = outside ? 5 : 4,
                  .axis = promise,
                  .border = border,
                  .source = source,
                  .lo = source->lo,
                  .hi = source->hi };
    for (int k = 0; k < 4; k++)
        x.arg[k] = index[k];
    if (outside) {
        x.arg[4] = outside;
        x.lo = fmin(x.lo, outside->lo);
        x.hi = fmax(x.hi, outside->hi);
    }
    return intern(ir, &x, true);
}

ip_expr *ip_x_beside(ip_ir *ir, ip_stage *source, int by, int border)
{
    ip_expr *at[4];
    for (int k = 0; k < 4; k++)
        at[k] = ip_x_coord(ir, k, source->dims[k]);
    if (by) at[2] = ip_x_binary(ir, IP_X_ADD, at[2], ip_x_int(ir, IMGPAR_I32, by));
    return ip_x_load(ir, source, at, border, NULL);
}

ip_expr *ip_x_border(ip_ir *ir, int border, ip_expr *index, ip_expr *extent)
{
    int promise;
    border = settled(ir, border, &promise);
    ip_expr x = { .op = IP_X_BORDER,
                  .dtype = IMGPAR_I32,
                  .n_args = 2,
                  .arg = { index, extent },
                  .axis = promise,
                  .border = border,
                  .lo = 0,
                  .hi = fmax(extent->hi - 1, 0) };
    return intern(ir, &x, true);
}

static bool is_comparison(ip_xop op) { return op >= IP_X_LT && op <= IP_X_NE; }

/* The general path: fold, simplify, or make it. */
static ip_expr *make(ip_ir *ir, ip_expr *proto)
{
    ip_expr *simpler = ip_rules_apply(ir, proto);
    if (simpler) return simpler;
    ip_range_infer(proto);
    return intern(ir, proto, true);
}

ip_expr *ip_x_make(ip_ir *ir, ip_expr *proto)
{
    ip_range_infer(proto);
    return intern(ir, proto, true);
}

ip_expr *ip_x_binary(ip_ir *ir, ip_xop op, ip_expr *a, ip_expr *b)
{
    ip_expr x = { .op = op,
                  .dtype = is_comparison(op) ? IMGPAR_BOOL : a->dtype,
                  .n_args = 2,
                  .arg = { a, b },
                  .border = IP_BORDER_NONE };
    return make(ir, &x);
}

ip_expr *ip_x_unary(ip_ir *ir, ip_xop op, ip_expr *a)
{
    ip_expr x = { .op = op,
                  .dtype = op == IP_X_ISNAN ? IMGPAR_BOOL : a->dtype,
                  .n_args = 1,
                  .arg = { a },
                  .border = IP_BORDER_NONE };
    return make(ir, &x);
}

ip_expr *ip_x_cast(ip_ir *ir, imgpar_dtype dtype, ip_expr *a)
{
    if (dtype == IMGPAR_F16) dtype = IMGPAR_F32;
    if (a->dtype == dtype) return a;
    ip_expr x = { .op = IP_X_CAST, .dtype = dtype, .n_args = 1, .arg = { a }, .border = IP_BORDER_NONE };
    return make(ir, &x);
}

ip_expr *ip_x_saturate(ip_ir *ir, imgpar_dtype dtype, ip_expr *a)
{
    if (dtype == IMGPAR_BOOL || dtype == IMGPAR_F16 || ip_dtype(dtype)->is_float || a->dtype == dtype)
        return ip_x_cast(ir, dtype, a);
    ip_expr x = { .op = IP_X_SATURATE, .dtype = dtype, .n_args = 1, .arg = { a }, .border = IP_BORDER_NONE };
    return make(ir, &x);
}

ip_expr *ip_x_select(ip_ir *ir, ip_expr *condition, ip_expr *yes, ip_expr *no)
{
    ip_expr x = {
        .op = IP_X_SELECT, .dtype = yes->dtype, .n_args = 3, .arg = { condition, yes, no }, .border = IP_BORDER_NONE
    };
    return make(ir, &x);
}

ip_expr *ip_x_fma(ip_ir *ir, ip_expr *a, ip_expr *b, ip_expr *c)
{
    ip_expr x = { .op = IP_X_FMA, .dtype = a->dtype, .n_args = 3, .arg = { a, b, c }, .border = IP_BORDER_NONE };
    return make(ir, &x);
}

ip_xop ip_fold_op(ip_fold fold)
{
    static const ip_xop ops[] = { [IP_FOLD_SUM] = IP_X_ADD,
                                  [IP_FOLD_MIN] = IP_X_MIN,
                                  [IP_FOLD_MAX] = IP_X_MAX,
                                  [IP_FOLD_FMA] = IP_X_FMA,
                                  [IP_FOLD_PRODUCT] = IP_X_MUL };
    return ops[fold];
}

static ip_expr *unrolled(ip_ir *ir, ip_fold fold, int taps_y, int taps_x, ip_tap_fn body, ip_tap_fn weight, void *user)
{
    ip_expr *acc = NULL;
    for (int j = 0; j < taps_y; j++)
        for (int i = 0; i < taps_x; i++) {
            ip_expr *ty = ip_x_int(ir, IMGPAR_I32, j), *tx = ip_x_int(ir, IMGPAR_I32, i);
            ip_expr *v = body(ir, ty, tx, user);
            if (fold == IP_FOLD_FMA) {
                ip_expr *w = weight(ir, ty, tx, user);
                /* fma(w, v, -0) is the rounded product. */
                acc = acc ? ip_x_fma(ir, w, v, acc) : ip_x_binary(ir, IP_X_MUL, w, v);
            } else {
                acc = acc ? ip_x_binary(ir, ip_fold_op(fold), acc, v) : v;
            }
        }
    return acc;
}

ip_expr *ip_x_window(ip_ir *ir, ip_fold fold, int taps_y, int taps_x, ip_tap_fn body, ip_tap_fn weight, void *user)
{
    bool is_line =
        fold == IP_FOLD_SUM && (taps_x == 1 ? taps_y > IP_UNROLLED_ROWS : taps_y == 1 && taps_x > IP_UNROLLED_COLUMNS);
    bool is_small = (int64_t)taps_y * taps_x <= IP_UNROLLED_TAPS;
    const bool is_kept = ir->keeps_windows && (int64_t)taps_y * taps_x > IP_UNROLLED_INSIDE;
    if (is_small && !is_line && !is_kept) return unrolled(ir, fold, taps_y, taps_x, body, weight, user);
    int window = ip_x_new_window(ir);
    ip_expr *ty = ip_x_tap(ir, window, 0, taps_y), *tx = ip_x_tap(ir, window, 1, taps_x);
    ip_expr *v = body(ir, ty, tx, user);
    if (is_small && !is_kept && ip_dtype(v->dtype)->is_float)
        return unrolled(ir, fold, taps_y, taps_x, body, weight, user);
    ip_expr x = { .op = IP_X_WINDOW,
                  .dtype = v->dtype,
                  .n_args = 1,
                  .arg = { v },
                  .window = window,
                  .taps_y = taps_y,
                  .taps_x = taps_x,
                  .fold = fold,
                  .border = IP_BORDER_NONE };
    if (fold == IP_FOLD_FMA) {
        x.arg[1] = weight(ir, ty, tx, user);
        x.n_args = 2;
    }
    ip_range_infer(&x);
    return intern(ir, &x, true);
}

ip_expr *ip_x_make_window(ip_ir *ir, ip_fold fold, int window, int taps_y, int taps_x, ip_expr *body)
{
    ip_expr x = { .op = IP_X_WINDOW,
                  .dtype = body->dtype,
                  .n_args = 1,
                  .arg = { body },
                  .window = window,
                  .taps_y = taps_y,
                  .taps_x = taps_x,
                  .fold = fold,
                  .border = IP_BORDER_NONE };
    ip_range_infer(&x);
    return intern(ir, &x, true);
}

ip_expr *ip_x_make_products(ip_ir *ir, const ip_window_taps *w, ip_expr *value, ip_expr *weight)
{
    ip_expr x = { .op = IP_X_WINDOW,
                  .dtype = value->dtype,
                  .n_args = 2,
                  .arg = { value, weight },
                  .window = w->window,
                  .taps_y = w->taps_y,
                  .taps_x = w->taps_x,
                  .fold = IP_FOLD_FMA,
                  .border = IP_BORDER_NONE };
    ip_range_infer(&x);
    return intern(ir, &x, true);
}

ip_expr *ip_x_with_args(ip_ir *ir, const ip_expr *x, ip_expr *const *args)
{
    bool same = true;
    for (int k = 0; k < x->n_args; k++)
        same = same && x->arg[k] == args[k];
    if (same) return (ip_expr *)x;
    ip_expr proto = *x;
    proto.next = NULL;
    for (int k = 0; k < x->n_args; k++)
        proto.arg[k] = args[k];
    const int border = x->axis ? x->axis : x->border; /* of these two: Note [Promises] */
    if (x->op == IP_X_LOAD) return ip_x_load(ir, x->source, args, border, x->n_args == 5 ? args[4] : NULL);
    if (x->op == IP_X_BORDER) return ip_x_border(ir, border, args[0], args[1]);
    return x->op > IP_X_WINDOW ? ip_x_make(ir, &proto) : make(ir, &proto);
}

/* ---- walking ----------------------------------------------------------------- */

typedef struct mapping {
    ip_ir *ir;
    ip_expr **memo; /* by id; NULL: not visited */
    size_t n;
    ip_x_map_fn fn;
    void *user;
    bool keeps_indices;
} mapping;

static ip_expr *map_one(mapping *m, ip_expr *x)
{
    if (x->id < m->n && m->memo[x->id]) return m->memo[x->id];
    ip_expr *args[IP_X_MAX_ARGS];
    for (int k = 0; k < x->n_args; k++)
        args[k] = m->keeps_indices && x->op == IP_X_LOAD && k < 4 ? x->arg[k] : map_one(m, x->arg[k]);
    ip_expr *y = ip_x_with_args(m->ir, x, args);
    /* simplified to what fn made of an argument */
    bool was_seen = y->op != x->op && (y->n_args == 0 || y->op == IP_X_LOAD);
    if (!was_seen) y = m->fn(m->ir, y, m->user);
    if (x->id < m->n) m->memo[x->id] = y;
    return y;
}

static ip_expr *map_all(mapping *m, ip_expr *root)
{
    m->n = m->ir->n_exprs;
    m->memo = ip_zalloc((m->n + 1) * sizeof *m->memo);
    if (!m->memo) return poison(m->ir, root->dtype);
    ip_expr *result = map_one(m, root);
    ip_free(m->memo);
    return result;
}

ip_expr *ip_x_map(ip_ir *ir, ip_expr *root, ip_x_map_fn fn, void *user)
{
    return map_all(&(mapping){ .ir = ir, .fn = fn, .user = user }, root);
}

ip_expr *ip_x_map_values(ip_ir *ir, ip_expr *root, ip_x_map_fn fn, void *user)
{
    return map_all(&(mapping){ .ir = ir, .fn = fn, .user = user, .keeps_indices = true }, root);
}

static ip_expr *put_coord(ip_ir *ir, ip_expr *x, void *user)
{
    ip_expr *const *at = user;
    (void)ir;
    return x->op == IP_X_COORD && at[x->axis] ? at[x->axis] : x;
}

ip_expr *ip_x_put_coords(ip_ir *ir, ip_expr *x, ip_expr *const at[4]) { return ip_x_map(ir, x, put_coord, (void *)at); }

static void walk_one(ip_expr *x, unsigned char *seen, void (*fn)(ip_expr *, void *), void *user)
{
    if (seen[x->id]) return;
    seen[x->id] = 1;
    for (int k = 0; k < x->n_args; k++)
        walk_one(x->arg[k], seen, fn, user);
    fn(x, user);
}

void ip_x_walk(ip_ir *ir, ip_expr *root, void (*fn)(ip_expr *x, void *user), void *user)
{
    unsigned char *seen = ip_zalloc(ir->n_exprs + 1);
    if (!seen) {
        ir->failed = true;
        return;
    }
    walk_one(root, seen, fn, user);
    ip_free(seen);
}

static void descend_one(ip_expr *x, unsigned char *seen, bool (*fn)(ip_expr *, void *), void *user)
{
    if (seen[x->id]) return;
    seen[x->id] = 1;
    if (!fn(x, user)) return;
    for (int k = 0; k < x->n_args; k++)
        descend_one(x->arg[k], seen, fn, user);
}

void ip_x_descend(ip_ir *ir, ip_expr *root, bool (*fn)(ip_expr *x, void *user), void *user)
{
    unsigned char *seen = ip_zalloc(ir->n_exprs + 1);
    if (!seen) {
        ir->failed = true;
        return;
    }
    descend_one(root, seen, fn, user);
    ip_free(seen);
}

static void find_window(ip_expr *x, void *user) { *(bool *)user |= ip_x_is_repeated(x); }
static void find_loop(ip_expr *x, void *user) { *(bool *)user |= x->op == IP_X_LOOP; }

bool ip_x_has_window(ip_ir *ir, ip_expr *root)
{
    bool found = false;
    ip_x_walk(ir, root, find_window, &found);
    return found;
}

bool ip_x_has_loop(ip_ir *ir, ip_expr *root)
{
    bool found = false;
    ip_x_walk(ir, root, find_loop, &found);
    return found;
}

static void count_op(ip_expr *x, void *user)
{
    if (x->op > IP_X_ACC && !(x->op == IP_X_CAST)) ++*(int *)user;
}

int ip_x_size(ip_ir *ir, ip_expr *root)
{
    int n = 0;
    ip_x_walk(ir, root, count_op, &n);
    return n;
}

typedef struct cost {
    ip_ir *ir;
    double operations;
} cost;

static double cost_of(ip_ir *ir, ip_expr *root);

static void add_cost(ip_expr *x, void *user)
{
    cost *c = user;
    if (x->op == IP_X_WINDOW)
        c->operations += (double)x->taps_y * x->taps_x * fmax(3, cost_of(c->ir, x->arg[0]));
    else if (x->op == IP_X_LOOP)
        c->operations += (double)x->arg[3]->i * (cost_of(c->ir, x->arg[1]) + cost_of(c->ir, x->arg[2]));
    else if (x->op > IP_X_ACC && x->op != IP_X_CAST)
        c->operations++;
}

static double cost_of(ip_ir *ir, ip_expr *root)
{
    cost c = { ir, 0 };
    ip_x_walk(ir, root, add_cost, &c);
    return c.operations;
}

int64_t ip_x_cost(ip_ir *ir, ip_expr *root) { return (int64_t)fmin(cost_of(ir, root), 0x1p60); }

bool ip_x_is_const(const ip_expr *x, double *value)
{
    if (x->op != IP_X_CONST) return false;
    if (value) *value = ip_dtype(x->dtype)->is_float ? x->f : x->lo;
    return true;
}
