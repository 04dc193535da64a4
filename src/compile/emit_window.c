/* SPDX-License-Identifier: MIT */
/*
 * Windows within rows: folds over so many taps that they are loops. They are computed for a block of elements at a
 * time, with taps outside and elements inside, so that the inner loop is vectorised. (Sums that can be carried along
 * are rows of another kind: emit_running.c.)
 */
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/emit_block.h"

#include <math.h>

/* Elements computed together; fewer where loops stop early, which a block does when its last element has ended. */
enum { BLOCK = 256, BLOCK_OF_LOOPS = 32 };
enum { TAPS = 8 /* folded each time their accumulators are loaded and stored */ };
enum { FUNCTION = 12, HALF_EXP = 8 /* operations that exp() and the like, and half_exp(), are counted as */ };
enum { VECTOR = 16 /* elements of most vectors */ };
enum { LEAST_APART = 3 /* taps along a row */ };
enum { NESTED = 3 /* windows within others that are computed together, for as many taps */ };

/* Of the values that are folded in one loop. */
enum { MOST_WINDOWS = 16, WINDOW_OPERATIONS = 84 };

/* Windows, and loops of an element, each once. Windows of a group have the same taps, and are folded in one loop over
 * them. */
typedef struct windows {
    ip_expr *of[MOST_WINDOWS];
    const char *acc[MOST_WINDOWS];
    int n;
    /* Windows within them, for the elements of the block and as many more as there are taps; NULL: none. */
    const struct windows *sliding;
    /* Loads that are in arrays, for as many elements: Note [Channels apart]. */
    const struct windows *apart;
    /* First column that counts of each row, and the one behind the last: Note [Rows of a disc]; NULL: all do. */
    const char *first, *end;
    bool at_once; /* one loop folds all taps, so nothing stands in the accumulators before it */
} windows;

typedef struct window_search {
    ip_emit *e;
    windows *found;
} window_search;

static bool find_outermost(ip_expr *x, void *user)
{
    window_search *s = user;
    windows *w = s->found;
    if (x->op != IP_X_WINDOW && x->op != IP_X_LOOP) return true;
    bool known = w->n == MOST_WINDOWS || ip_emit_name_of(s->e, x);
    for (int k = 0; k < w->n; k++)
        known |= w->of[k] == x;
    if (!known) w->of[w->n++] = x;
    return false;
}

/* The windows and loops below roots that stand in no other one and have no name yet. More than MOST_WINDOWS are left to
 * be written where they are used. */
static windows outermost_windows(ip_emit *e, ip_expr *const *roots, int n)
{
    windows w = { .n = 0 };
    for (int k = 0; k < n; k++)
        ip_x_descend(e->ir, roots[k], find_outermost, &(window_search){ e, &w });
    return w;
}

ip_mark ip_emit_enter_lanes(ip_blockwise *b, int width)
{
    ip_emit *e = b->e;
    const char *n = b->more ? ip_text(e->ir, "(%s + %d)", b->n, b->more) : b->n;
    ip_stmt *lanes = b->may_repeat ? ip_emit_vectors(e, "t", "0", n, width) : ip_emit_for(e, "t", "0", n);
    lanes->parallel = IP_INDEPENDENT;
    lanes->vector_width = width;
    ip_mark mark = ip_emit_enter(e, lanes);
    ip_emit_let_int(e, b->flat ? "i" : "x", ip_text(e->ir, "%s + t", b->start));
    e->flat = b->flat ? "i" : NULL;
    e->coord[2] = b->flat ? NULL : "x";
    if (!b->flat) e->coord[3] = "0";
    return mark;
}

void ip_emit_leave_lanes(ip_blockwise *b, ip_mark mark)
{
    b->e->flat = NULL;
    b->e->coord[2] = b->e->coord[3] = NULL;
    ip_emit_leave(b->e, mark);
}

/* acc folded with v, weighted for FMA. */
static const char *folded(ip_emit *e, const ip_expr *x, const char *acc, const char *v, const char *weight)
{
    const char *type = ip_cl_type(x->dtype);
    if (x->fold == IP_FOLD_FMA) return ip_text(e->ir, "fma(%s, %s, %s)", weight, v, acc);
    if (x->fold == IP_FOLD_SUM || x->fold == IP_FOLD_PRODUCT)
        return ip_text(e->ir, "(%s)(%s %c %s)", type, acc, x->fold == IP_FOLD_SUM ? '+' : '*', v);
    if (ip_x_is_float(x)) return ip_emit_extreme(e, x->fold == IP_FOLD_MIN, acc, v);
    return ip_text(e->ir, "%s(%s, (%s)%s)", x->fold == IP_FOLD_MIN ? "min" : "max", acc, type, v);
}

/* An argument of a window so many taps further along its axis. */
static ip_expr *at_tap_further(ip_blockwise *b, const ip_expr *window, int arg, int axis, int by)
{
    ip_ir *ir = b->e->ir;
    ip_expr *tap = ip_x_tap(ir, window->window, axis, axis == 0 ? window->taps_y : window->taps_x);
    ip_expr *there = ip_x_binary(ir, IP_X_ADD, tap, ip_x_int(ir, IMGPAR_I32, by));
    return by ? ip_x_put_tap(ir, window->arg[arg], window->window, axis, there) : window->arg[arg];
}

/* What is folded, and the weights of products. */
enum { MOST_OPERANDS = 2 * MOST_WINDOWS };

static int operands(const windows *g, ip_expr **operand)
{
    int n = 0;
    for (int k = 0; k < g->n; k++)
        for (int i = 0; i < g->of[k]->n_args; i++)
            operand[n++] = g->of[k]->arg[i];
    return n;
}

static bool has_nested(ip_emit *e, const windows *g)
{
    ip_expr *operand[MOST_OPERANDS];
    bool has = false;
    for (int k = operands(g, operand) - 1; k >= 0; k--)
        has |= ip_x_has_window(e->ir, operand[k]);
    return has;
}

/* Counts what lanes do, a read, whatever its index and its border are, being one operation. */
static bool count_in_lanes(ip_expr *x, void *user)
{
    int *n = user;
    if (ip_x_is_uniform(x)) return false;
    const bool is_read = x->op == IP_X_LOAD || x->op == IP_X_WINDOW;
    if (x->op == IP_X_LOOP)
        *n += WINDOW_OPERATIONS;
    else if (x->op == IP_X_HALF_EXP)
        *n += HALF_EXP;
    else if (x->n_args > 0 && x->op != IP_X_CAST && x->op != IP_X_NEG)
        *n += ip_x_is_function(x->op) || x->op == IP_X_POW ? FUNCTION : 1;
    return !is_read;
}

/* How many taps are folded between loading and storing an accumulator. What windows share is computed once. Taps that
 * are left over are folded one by one: the fewer, the better. */
static int taps_at_once(ip_emit *e, const windows *g, int n)
{
    int operations = 1;
    ip_expr *operand[MOST_OPERANDS];
    if (has_nested(e, g) && !g->sliding) { /* the ends of rows are few columns, and not worth the text */
        if (!e->is_within) return 1;
        const windows nested = outermost_windows(e, operand, operands(g, operand));
        n = ip_min_int(n, ip_max_int(NESTED / ip_max_int(nested.n, 1), 1));
    }
    for (int k = operands(g, operand) - 1; k >= 0; k--) {
        int in_lanes = 0;
        ip_x_descend(e->ir, operand[k], count_in_lanes, &in_lanes);
        operations = ip_max_int(operations, in_lanes) + 1;
    }
    int most = ip_min_int(n, ip_min_int(TAPS, ip_max_int(WINDOW_OPERATIONS / operations, 1))), best = most;
    for (int k = most - 1; 2 * k >= most && k > 1; k--)
        if (n % k < n % best) best = k;
    return best;
}

/* Names what the lanes share of a weight; NULL: it differs from lane to lane. */
static const char *weight_of_lanes(ip_blockwise *b, const ip_expr *window, ip_expr *weight, int number)
{
    ip_emit *e = b->e;
    if (window->fold != IP_FOLD_FMA || weight->uses & IP_USES_COORDS) return NULL;
    const char *name = ip_text(e->ir, "weight%d", number);
    ip_emit_let(e, ip_cl_type(window->dtype), name, ip_emit_value(e, weight));
    return name;
}

/* What is the same for all elements of a row, of the values that an element is made of. */
static bool declare_shared(ip_expr *x, void *user)
{
    ip_emit *e = user;
    if (x->n_args == 0 || x->op == IP_X_LOAD || ip_x_is_repeated(x) || ip_emit_name_of(e, x)) return false;
    if (!ip_x_is_uniform(x)) return true;
    const char *text = ip_emit_value(e, x);
    if (!ip_emit_name_of(e, x)) {
        const char *name = ip_text(e->ir, "v%d", e->n_values++);
        ip_emit_let(e, ip_cl_type(x->dtype), name, text);
        ip_emit_name(e, x, name);
    }
    return false;
}

/* The bytes of the widest element below x that has no name yet, where they are more than *widest. */
static void find_widest(const ip_emit *e, const ip_expr *x, unsigned char *seen, int *widest)
{
    if (seen[x->id] || ip_emit_name_of(e, x)) return;
    seen[x->id] = 1;
    *widest = ip_max_int(*widest, ip_lane_bytes(x));
    for (int k = x->op == IP_X_LOAD ? 4 : 0; k < x->n_args; k++)
        find_widest(e, x->arg[k], seen, widest);
}

static int lanes_for(ip_emit *e, const ip_expr *root, imgpar_dtype stored)
{
    const int bytes = e->options->tuning.vector_bytes;
    int widest = (int)ip_dtype(stored)->size_bytes;
    unsigned char *seen = ip_ir_alloc(e->ir, e->ir->n_exprs + 1, 1);
    if (seen) find_widest(e, root, seen, &widest);
    return widest < bytes ? bytes / widest : 1;
}

static int width_of(ip_emit *e, const windows *g)
{
    ip_expr *operand[MOST_OPERANDS];
    int width = lanes_for(e, g->of[0]->arg[0], g->of[0]->dtype);
    for (int k = operands(g, operand) - 1; k > 0; k--)
        width = ip_min_int(width, lanes_for(e, operand[k], operand[k]->dtype));
    return width;
}

/* What stands in arrays, of the tap so many further than the current one. */
static void name_arrays(ip_blockwise *b, const windows *g, const windows *arrays, int by)
{
    ip_emit *e = b->e;
    const ip_expr *x = g->of[0];
    ip_expr *tap = ip_x_tap(e->ir, x->window, 1, x->taps_x);
    for (int k = 0; arrays && k < arrays->n; k++) {
        ip_expr *there = ip_x_put_tap(e->ir, arrays->of[k], x->window, 1,
                                      ip_x_binary(e->ir, IP_X_ADD, tap, ip_x_int(e->ir, IMGPAR_I32, by)));
        ip_emit_name(e, there, ip_text(e->ir, "%s[t + %s + %d]", arrays->acc[k], ip_emit_value(e, tap), by));
    }
}

/* Folds `taps` taps along axis, from the current one on, into the block's accumulators. */
static void fold_taps(ip_blockwise *b, const windows *g, int axis, int taps)
{
    ip_emit *e = b->e;
    ip_expr *values[MOST_OPERANDS * TAPS], *weights[MOST_WINDOWS * TAPS];
    const char *names[MOST_WINDOWS * TAPS];
    int n = 0, n_values;
    for (int k = 0; k < g->n; k++)
        for (int u = 0; u < taps; u++, n++) {
            values[n] = at_tap_further(b, g->of[k], 0, axis, u);
            ip_emit_row_pointers(e, values[n]);
            weights[n] = g->of[k]->n_args > 1 ? at_tap_further(b, g->of[k], 1, axis, u) : NULL;
            names[n] = weight_of_lanes(b, g->of[k], weights[n], n);
        }
    n_values = n;
    for (int k = 0; k < n; k++) { /* behind the values, weights that differ from lane to lane */
        if (!weights[k] || names[k]) continue;
        ip_emit_row_pointers(e, weights[k]);
        values[n_values++] = weights[k];
    }
    bool is_nested = has_nested(e, g);
    for (int u = 0; u < taps && axis == 1; u++) {
        name_arrays(b, g, g->sliding, u);
        name_arrays(b, g, g->apart, u);
    }
    if (is_nested) ip_emit_block_windows(b, values, n_values);
    for (int k = 0; k < n_values; k++) /* what all lanes share is computed once, of whatever width it is */
        ip_x_descend(e->ir, values[k], declare_shared, e);
    ip_blockwise lanes = *b;
    lanes.may_repeat = g->at_once && b->more > 0;
    ip_mark in_lanes = ip_emit_enter_lanes(&lanes, width_of(e, g));
    if (n_values > taps || is_nested) ip_emit_count_uses(e, values, n_values);
    const char *sum[MOST_WINDOWS];
    for (int i = 0; i < g->n * taps; i++) { /* tap by tap, so that what windows share is soon done with */
        const int k = i % g->n, u = i / g->n, of = k * taps + u;
        const ip_expr *x = g->of[k];
        const char *at = ip_text(e->ir, "%s[t]", g->acc[k]);
        if (u == 0)
            sum[k] = g->at_once ? ip_text(e->ir, "(%s)(%s)", ip_cl_type(x->dtype), ip_emit_window_start(e, x)) : at;
        const char *w = !weights[of] || names[of] ? names[of] : ip_emit_value(e, weights[of]);
        const char *next = folded(e, x, sum[k], ip_emit_value(e, values[of]), w);
        sum[k] = u + 1 < taps ? ip_text(e->ir, "a%d", g->n > 1 ? e->n_values++ : u) : at;
        if (u + 1 < taps)
            ip_emit_let(e, ip_cl_type(x->dtype), sum[k], next);
        else
            ip_emit_set(e, at, next);
    }
    ip_emit_leave_lanes(b, in_lanes);
}

/* 0, which compilers cannot tell. Where they know which elements beside an element's own a lane reads, they keep those
 * from one lane to the next, and the lanes are no vector any more. */
static const char *unknown_zero(ip_emit *e) { return ip_text(e->ir, "min(%s, 0)", ip_emit_bound(e, IP_Z0)); }

/* All taps of a row of the window, or of a column of one: several at a time, then the rest. */
static void fold_line(ip_blockwise *b, const windows *g, int axis, int n, const char *var)
{
    ip_emit *e = b->e;
    int at_once = taps_at_once(e, g, n);
    for (int part = 0; part < 2; part++) {
        const char *from, *to;
        if (g->first) {
            const char *whole = ip_text(e->ir, "%s - (%s - %s) %% %d", g->end, g->end, g->first, at_once);
            from = part == 0 ? g->first : whole;
            to = part == 0 ? whole : g->end;
            if (part == 1 && at_once == 1) continue;
        } else {
            const int whole = n / at_once * at_once;
            if (part == 1 && whole == n) continue;
            from = ip_text(e->ir, "%d", part == 0 ? 0 : whole);
            if (g->at_once && g->sliding) from = unknown_zero(e);
            to = ip_text(e->ir, "%d", part == 0 ? whole : n);
        }
        ip_stmt *loop = ip_emit_for(e, var, from, to);
        loop->d = part == 0 ? ip_text(e->ir, "%d", at_once) : NULL;
        ip_mark mark = ip_emit_enter(e, loop);
        ip_emit_name_tap(e, g->of[0], axis, var);
        fold_taps(b, g, axis, part == 0 ? at_once : 1);
        ip_emit_leave(e, mark);
    }
}

static void compute_group(ip_blockwise *b, windows *g);

static bool have_same_taps(const ip_expr *a, const ip_expr *b)
{
    return b->op == IP_X_WINDOW && a->window == b->window && a->taps_y == b->taps_y && a->taps_x == b->taps_x;
}

/* Of windows along a row, those within that slide with their taps (ir/window.c, Note [Sliding windows]): computed once
 * for all taps. */
static void compute_sliding(ip_blockwise *b, const windows *g, windows *sliding)
{
    ip_emit *e = b->e;
    ip_expr *operand[MOST_OPERANDS];
    const int taps = g->of[0]->taps_x;
    if (g->of[0]->taps_y > 1 || b->flat) return;
    windows inner = outermost_windows(e, operand, operands(g, operand));
    for (int k = 0; k < inner.n; k++)
        if (!ip_x_slides(e->ir, inner.of[k], g->of[0]->window, 2)) return;
    ip_blockwise wide = *b;
    wide.more += taps - 1;
    windows first = { .n = inner.n };
    for (int k = 0; k < inner.n; k++)
        first.of[k] = ip_x_put_tap(e->ir, inner.of[k], g->of[0]->window, 1, ip_x_int(e->ir, IMGPAR_I32, 0));
    for (int k = 0; k < inner.n; k++) {
        windows group = { .n = 0 };
        int at[MOST_WINDOWS];
        for (int i = k; i < inner.n; i++) {
            if (inner.acc[i] || !have_same_taps(first.of[k], first.of[i])) continue;
            at[group.n] = i;
            group.of[group.n++] = first.of[i];
        }
        if (inner.acc[k]) continue;
        compute_group(&wide, &group);
        for (int i = 0; i < group.n; i++)
            inner.acc[at[i]] = group.acc[i];
    }
    *sliding = inner;
}

/*
 * Note [Channels apart]
 * A fold over pixels reads every third float of a row, of each channel, again for each tap: a vector of them is put
 * together by several shuffles. So before the taps of a row are folded its channels are taken apart, an array for each
 * of the block's pixels and as many more as there are taps. What is read beside the taps is the same for all rows, and
 * taken apart once.
 */
typedef struct apart_search {
    ip_emit *e;
    const ip_expr *window;
    windows *found;
    bool by_tap; /* those that move on by a pixel with each tap; else those that no tap moves */
} apart_search;

static bool find_apart(ip_expr *x, void *user)
{
    apart_search *s = user;
    windows *w = s->found;
    if (x->op == IP_X_WINDOW || x->op == IP_X_LOOP) return false;
    if (x->op != IP_X_LOAD) return true;
    if (x->dtype == IMGPAR_BOOL || x->source->kind == IP_STAGE_TABLE || x->source->dims[3] < 2 ||
        x->source->dims[3] > IP_WRITTEN_CHANNELS || x->arg[3]->op != IP_X_CONST ||
        (x->arg[0]->uses | x->arg[1]->uses) & IP_USES_X || !(x->uses & IP_USES_X))
        return false;
    bool fits = s->by_tap ? x->arg[2]->uses & IP_USES_TAP && ip_x_slides(s->e->ir, x, s->window->window, 2)
                          : !(x->uses & IP_USES_TAP);
    if (!fits || w->n == MOST_WINDOWS || ip_emit_name_of(s->e, x)) return false;
    for (int k = 0; k < w->n; k++)
        if (w->of[k] == x) return false;
    w->of[w->n++] = x;
    return false;
}

static windows take_apart(ip_blockwise *b, const windows *g, bool by_tap)
{
    ip_emit *e = b->e;
    const ip_expr *x = g->of[0];
    windows found = { .n = 0 };
    if (b->flat || x->taps_x < LEAST_APART) return found;
    ip_expr *operand[MOST_OPERANDS];
    const int n = operands(g, operand);
    for (int k = 0; k < n; k++)
        ip_x_descend(e->ir, operand[k], find_apart, &(apart_search){ e, x, &found, by_tap });
    if (found.n == 0) return found;
    ip_expr *first[MOST_WINDOWS];
    ip_blockwise wide = *b;
    wide.more += by_tap ? x->taps_x - 1 : 0;
    wide.may_repeat = wide.more > 0;
    for (int k = 0; k < found.n; k++) {
        found.acc[k] = ip_text(e->ir, "q%d_apart", e->n_values++);
        first[k] = ip_x_put_tap(e->ir, found.of[k], x->window, 1, ip_x_int(e->ir, IMGPAR_I32, 0));
        ip_emit_var(e, ip_cl_type(first[k]->dtype), ip_text(e->ir, "%s[%d]", found.acc[k], wide.size + wide.more),
                    NULL);
        ip_emit_row_pointers(e, first[k]);
    }
    ip_mark in_lanes = ip_emit_enter_lanes(&wide, lanes_for(e, first[0], first[0]->dtype));
    for (int k = 0; k < found.n; k++)
        ip_emit_set(e, ip_text(e->ir, "%s[t]", found.acc[k]), ip_emit_value(e, first[k]));
    ip_emit_leave_lanes(&wide, in_lanes);
    return found;
}

/*
 * Note [Rows of a disc]
 * A sum over a disc is one over its square of select(inside, value, -0.0), inside being an expression of the taps
 * alone; so is one of products, whose weights are select(inside, weight, 0). Where the taps that are inside are
 * neighbours in each row, the loop along the row is over these, and of the selection its value is left. What is left
 * out would add -0.0, which changes no sum.
 */
enum { MOST_ROWS_OF_DISC = 128 };

/* False: that depends on taps of other windows, too. */
static bool tells_inside(ip_emit *e, const ip_expr *window, ip_expr *inside, int row, int column, bool *is_inside)
{
    double value;
    inside = ip_x_put_tap(e->ir, inside, window->window, 0, ip_x_int(e->ir, IMGPAR_I32, row));
    inside = ip_x_put_tap(e->ir, inside, window->window, 1, ip_x_int(e->ir, IMGPAR_I32, column));
    if (!ip_x_is_const(inside, &value)) return false;
    *is_inside = value != 0;
    return true;
}

static bool adds_nothing(const ip_expr *x)
{
    double value;
    if (!ip_x_is_const(x, &value) || value != 0) return false;
    return !ip_dtype(x->dtype)->is_float || signbit(value);
}

static bool is_zero(const ip_expr *x)
{
    double value;
    return ip_x_is_const(x, &value) && value == 0;
}

/* The condition that all windows of a group have; NULL: none. Of products both factors have it. */
static ip_expr *condition_of(const windows *g)
{
    ip_expr *inside = NULL;
    for (int k = 0; k < g->n; k++) {
        const ip_expr *x = g->of[k], *body = x->arg[0], *weight = x->fold == IP_FOLD_FMA ? x->arg[1] : NULL;
        if ((x->fold != IP_FOLD_SUM && !weight) || body->op != IP_X_SELECT || body->arg[0]->uses != IP_USES_TAP ||
            !adds_nothing(body->arg[2]) || (inside && inside != body->arg[0]))
            return NULL;
        if (weight && (weight->op != IP_X_SELECT || weight->arg[0] != body->arg[0] || !is_zero(weight->arg[2])))
            return NULL;
        inside = body->arg[0];
    }
    return inside;
}

/* The windows without their condition, and which columns of a row they have. */
static bool find_rows_of_disc(ip_emit *e, const windows *g, windows *disc, const char *row)
{
    const ip_expr *x = g->of[0];
    ip_expr *inside = x->taps_y > 1 && x->taps_x > 1 && x->taps_y <= MOST_ROWS_OF_DISC ? condition_of(g) : NULL;
    if (!inside) return false;
    const char *first = "0", *end = "0";
    for (int j = 0; j < x->taps_y; j++) {
        int from = 0, to = 0, n = 0;
        for (int i = 0; i < x->taps_x; i++) {
            bool is_inside;
            if (!tells_inside(e, x, inside, j, i, &is_inside)) return false;
            if (!is_inside) continue;
            if (n++ == 0) from = i;
            to = i + 1;
        }
        if (n != to - from) return false;
        first = ip_text(e->ir, "%s == %d ? %d : %s", row, j, from, first);
        end = ip_text(e->ir, "%s == %d ? %d : %s", row, j, to, end);
    }
    *disc = *g;
    disc->first = first;
    disc->end = end;
    for (int k = 0; k < g->n; k++) {
        ip_expr *selected[2];
        for (int i = 0; i < g->of[k]->n_args; i++)
            selected[i] = g->of[k]->arg[i]->arg[1];
        disc->of[k] = ip_x_with_args(e->ir, g->of[k], selected);
    }
    return true;
}

static void compute_taps(ip_blockwise *b, windows *g);

/* Windows of the same taps for a block of elements: an accumulator each, taps outside, lanes inside. */
static void compute_group(ip_blockwise *b, windows *g)
{
    windows disc;
    const char *row = ip_text(b->e->ir, "j%d", g->of[0]->window);
    if (!find_rows_of_disc(b->e, g, &disc, row)) {
        compute_taps(b, g);
        return;
    }
    compute_taps(b, &disc);
    for (int k = 0; k < g->n; k++) {
        g->acc[k] = disc.acc[k];
        ip_emit_name(b->e, g->of[k], ip_text(b->e->ir, "%s[t]", g->acc[k]));
    }
}

static void compute_taps(ip_blockwise *b, windows *g)
{
    ip_emit *e = b->e;
    windows sliding = { .n = 0 };
    compute_sliding(b, g, &sliding);
    g->sliding = sliding.n > 0 ? &sliding : NULL;
    const ip_expr *x = g->of[0];
    const int n = x->taps_y * x->taps_x;
    g->at_once = (x->taps_x == 1 || x->taps_y == 1) && taps_at_once(e, g, n) == n;
    for (int k = 0; k < g->n; k++) {
        g->acc[k] = ip_text(e->ir, "w%d", e->n_values++);
        const char *size = ip_text(e->ir, "%d", b->size + b->more);
        ip_emit_var(e, ip_cl_type(g->of[k]->dtype), ip_text(e->ir, "%s[%s]", g->acc[k], size), NULL);
        if (g->at_once) continue;
        ip_stmt *init = ip_emit_for(e, "t", "0", size);
        ip_s_add(e->ir, init, IP_S_STORE, ip_text(e->ir, "%s[t]", g->acc[k]), ip_emit_window_start(e, g->of[k]), NULL);
    }
    const char *j = ip_text(e->ir, "j%d", x->window), *i = ip_text(e->ir, "k%d", x->window);
    if (x->taps_x == 1) {
        fold_line(b, g, 0, x->taps_y, j);
    } else {
        windows beside = take_apart(b, g, false);
        ip_mark in_rows = ip_emit_enter(e, ip_emit_for(e, j, "0", ip_text(e->ir, "%d", x->taps_y)));
        for (int k = 0; k < beside.n; k++)
            ip_emit_name(e, beside.of[k], ip_text(e->ir, "%s[t]", beside.acc[k]));
        ip_emit_name_tap(e, x, 0, j);
        ip_expr *operand[MOST_OPERANDS];
        for (int k = operands(g, operand) - 1; k >= 0; k--)
            ip_emit_row_pointers(e, operand[k]);
        windows apart = take_apart(b, g, true);
        g->apart = apart.n > 0 ? &apart : NULL;
        if (g->first) {
            const char *first = ip_text(e->ir, "first%d", e->n_values++), *end = ip_text(e->ir, "end%d", e->n_values++);
            ip_emit_let_int(e, first, g->first);
            ip_emit_let_int(e, end, g->end);
            g->first = first;
            g->end = end;
        }
        fold_line(b, g, 1, x->taps_x, i);
        g->apart = NULL;
        ip_emit_leave(e, in_rows);
    }
    g->sliding = NULL;
    for (int k = 0; k < g->n; k++)
        ip_emit_name(e, g->of[k], ip_text(e->ir, "%s[t]", g->acc[k])); /* in the lanes to come */
}

void ip_emit_block_windows(ip_blockwise *b, ip_expr *const *roots, int n)
{
    windows all = outermost_windows(b->e, roots, n);
    for (int k = 0; k < all.n; k++) {
        windows group = { .n = 0 };
        if (all.of[k]->op == IP_X_LOOP) {
            ip_emit_block_loop(b, all.of[k]);
            continue;
        }
        for (int i = k; i < all.n; i++)
            if (have_same_taps(all.of[k], all.of[i]) && !ip_emit_name_of(b->e, all.of[i]))
                group.of[group.n++] = all.of[i];
        if (group.n > 0 && !ip_emit_name_of(b->e, all.of[k])) compute_group(b, &group);
    }
}

static int block_of(ip_emit *e, const ip_columns *c) { return ip_x_has_loop(e->ir, c->body) ? BLOCK_OF_LOOPS : BLOCK; }

/* n elements from i0 on. */
static void compute_block(ip_emit *e, const ip_columns *columns, bool flat, const char *n)
{
    ip_expr *body = columns->body, *bodies[IP_WRITTEN_CHANNELS] = { body };
    const char *values[IP_WRITTEN_CHANNELS];
    int n_bodies = flat ? 1 : e->channels;
    for (int c = 0; c < n_bodies && n_bodies > 1; c++)
        bodies[c] = ip_emit_of_channel(e, body, c);
    ip_blockwise b = { .e = e, .flat = flat, .start = "i0", .n = n, .size = block_of(e, columns) };
    ip_emit_count_uses(e, bodies, n_bodies);
    ip_emit_block_windows(&b, bodies, n_bodies);
    ip_mark in_lanes = ip_emit_enter_lanes(&b, columns->segment->width);
    ip_emit_count_uses(e, bodies, n_bodies);
    for (int c = 0; c < n_bodies; c++)
        values[c] = ip_emit_value(e, bodies[c]);
    for (int c = 0; c < n_bodies; c++)
        ip_emit_store(e, columns->stage, columns->target, flat ? "i" : ip_emit_pixel_index(e, "x", c), values[c]);
    ip_emit_leave_lanes(&b, in_lanes);
}

/* By blocks. */
static void compute_blocks(ip_emit *e, const ip_columns *c)
{
    ip_stmt *blocks = ip_emit_for(e, "i0", c->from, c->to);
    const int size = block_of(e, c);
    blocks->d = ip_text(e->ir, "%d", size);
    ip_mark mark = ip_emit_enter(e, blocks);
    compute_block(e, c, false, ip_text(e->ir, "min(%s - i0, %d)", c->to, size));
    ip_emit_leave(e, mark);
}

/* Whole blocks, whose size the compiler knows so that it keeps them in registers, then the rest. */
static void compute_row(ip_emit *e, const ip_columns *c)
{
    const ip_site site = ip_emit_site(e);
    bool flat = ip_is_flat(&site, c->body);
    const char *from = flat ? ip_text(e->ir, "%s * %d", c->from, e->channels) : c->from;
    const char *to = flat ? ip_text(e->ir, "%s * %d", c->to, e->channels) : c->to;
    const int size = block_of(e, c);
    const char *whole = ip_text(e->ir, "e%d", e->n_values++), *block = ip_text(e->ir, "%d", size);
    ip_emit_let_int(e, whole, ip_text(e->ir, "%s - (%s - %s) %% %d", to, to, from, size));
    ip_stmt *blocks = ip_emit_for(e, "i0", from, whole);
    blocks->d = block;
    ip_mark mark = ip_emit_enter(e, blocks);
    compute_block(e, c, flat, block);
    ip_emit_leave(e, mark);
    /* in whole vectors: the first elements are some of those that the blocks before have made */
    const char *left = ip_text(e->ir, "(%s - %s + %d) / %d * %d", to, whole, VECTOR - 1, VECTOR, VECTOR);
    ip_stmt *rest = ip_emit_for(e, "i0", ip_text(e->ir, "max(%s - %s, %s)", to, left, from), to);
    rest->d = block;
    mark = ip_emit_enter(e, rest);
    compute_block(e, c, flat, ip_text(e->ir, "%s - i0", to));
    ip_emit_leave(e, mark);
}

/*
 * Note [Inner columns]
 * What a function of around() reads beside a neighbour goes through border rules of its own, and rows of what is not
 * read at one distance along y are not copied with their edges filled in. Both are computed for each element where
 * columns may lie outside; between these ends of a row no rule changes a column, so the loops go without.
 */
typedef struct beside {
    ip_emit *e;
    int left, right;
    bool fits;
} beside;

static void note_column(beside *b, ip_expr *column)
{
    ip_index index = ip_x_classify(column);
    b->fits = b->fits && index.kind == IP_INDEX_UNIT && index.axis == 2;
    b->left = ip_max_int(b->left, -index.lo);
    b->right = ip_max_int(b->right, index.hi);
}

static bool is_border_of_column(const ip_emit *e, const ip_expr *x)
{
    return x->op == IP_X_BORDER && x->uses & IP_USES_X && x->arg[1]->op == IP_X_PARAM && x->arg[1]->i == e->domain[2];
}

static ip_expr *without_border(ip_ir *ir, ip_expr *x, void *user)
{
    (void)ir;
    return is_border_of_column(user, x) ? x->arg[0] : x;
}

static void look_beside(ip_expr *x, void *user)
{
    beside *b = user;
    if (is_border_of_column(b->e, x)) note_column(b, ip_x_map(b->e->ir, x->arg[0], without_border, b->e));
    if (x->op != IP_X_LOAD || x->source->kind == IP_STAGE_TABLE || !(x->arg[2]->uses & IP_USES_X)) return;
    const ip_site site = ip_emit_site(b->e);
    ip_expr *column = ip_x_map(b->e->ir, x->arg[2], without_border, b->e);
    bool is_bordered =
        x->border != IP_BORDER_NONE && !ip_site_column_is_inside(&site, x) && !ip_x_is_coord(x->arg[2], 2);
    if (is_bordered && x->source->dims[2] == b->e->domain[2]) note_column(b, column);
}

void ip_emit_windows_row(ip_emit *e, const ip_columns *c)
{
    beside b = { .e = e, .fits = e->channels <= IP_WRITTEN_CHANNELS };
    ip_x_walk(e->ir, c->body, look_beside, &b);
    if (!b.fits || b.left + b.right == 0) {
        compute_row(e, c);
        return;
    }
    ip_columns end = *c, inner = *c;
    end.from = ip_text(e->ir, "from%d", e->n_values++);
    end.to = ip_text(e->ir, "to%d", e->n_values++);
    inner.body = ip_x_map(e->ir, c->body, without_border, e);
    ip_emit_split_row(e, c, (const int[]){ b.left, b.right }, &inner.from, &inner.to);
    ip_stmt *ends = ip_emit_for(e, "end", "0", "2");
    ends->parallel = IP_FEW;
    ip_mark mark = ip_emit_enter(e, ends);
    ip_emit_let_int(e, end.from, ip_text(e->ir, "end ? %s : %s", inner.to, c->from));
    ip_emit_let_int(e, end.to, ip_text(e->ir, "end ? %s : %s", c->to, inner.from));
    compute_blocks(e, &end);
    ip_emit_leave(e, mark);
    e->is_within = true;
    compute_row(e, &inner);
    e->is_within = false;
}
