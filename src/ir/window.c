/* SPDX-License-Identifier: MIT */
/* Folds over the taps of a window that several expressions share (around(), ops/around.h). */
#include "base/dtype.h"
#include "ir/internal.h"
#include "ir/stage.h"

/*
 * Note [Sliding windows]
 * An expression slides along an axis with a window's tap if the two occur as the sum coordinate + tap alone: a tap
 * further is an element further. What one window of a row needs of such an expression, its neighbour needs too, so a
 * loop over a block of elements makes it once for each (compile/emit_window.c). A fold over rows and columns of an
 * expression that slides along both is the fold of columns, folded along the row: 2 n operations, not n^2. Integers are
 * the same; sums of floats are in this order wherever they are computed.
 */
typedef struct sum_of {
    int coordinates, taps;
} sum_of;

/* x as a sum of the coordinate along an axis, the window's tap along it, and what depends on neither. */
static bool sum_with_tap(const ip_expr *x, int window, int axis, sum_of *sum)
{
    const unsigned depends = IP_USES_TAP | 1u << axis;
    sum_of b = { 0, 0 };
    *sum = (sum_of){ 0, 0 };
    if (x->op == IP_X_TAP)
        sum->taps = x->window == window && x->axis == axis - 1;
    else if (x->op == IP_X_COORD)
        sum->coordinates = x->axis == axis;
    else if (x->op == IP_X_ADD || x->op == IP_X_SUB) {
        int sign = x->op == IP_X_ADD ? 1 : -1;
        if (!sum_with_tap(x->arg[0], window, axis, sum) || !sum_with_tap(x->arg[1], window, axis, &b)) return false;
        sum->coordinates += sign * b.coordinates;
        sum->taps += sign * b.taps;
    } else if (x->uses & depends)
        return false;
    return true;
}

typedef struct slide_check {
    int window, axis;
    bool slides;
} slide_check;

static bool check_slide(ip_expr *x, void *user)
{
    slide_check *c = user;
    sum_of sum;
    if (!c->slides || !(x->uses & (IP_USES_TAP | 1u << c->axis))) return false;
    c->slides = x->op != IP_X_STATE && x->op != IP_X_LOOP; /* steps of an element are no element's beside it */
    if (!c->slides) return false;
    if (!sum_with_tap(x, c->window, c->axis, &sum)) return true;
    c->slides = sum.coordinates == sum.taps;
    return false;
}

bool ip_x_slides(ip_ir *ir, ip_expr *x, int window, int axis)
{
    slide_check c = { window, axis, true };
    ip_x_descend(ir, x, check_slide, &c);
    return c.slides && !ir->failed;
}

int ip_x_new_window(ip_ir *ir) { return ir->n_windows++; }

/* Another expression for a window's tap. */
typedef struct tap_put {
    int window, axis;
    ip_expr *tap;
} tap_put;

static ip_expr *put_tap(ip_ir *ir, ip_expr *x, void *user)
{
    const tap_put *p = user;
    (void)ir;
    return x->op == IP_X_TAP && x->window == p->window && x->axis == p->axis ? p->tap : x;
}

ip_expr *ip_x_put_tap(ip_ir *ir, ip_expr *x, int window, int axis, ip_expr *tap)
{
    return ip_x_map(ir, x, put_tap, &(tap_put){ window, axis, tap });
}

static ip_expr *written_out(ip_ir *ir, ip_fold fold, int window, int taps_y, int taps_x, ip_expr *body)
{
    ip_expr *acc = NULL;
    for (int t = 0; t < taps_y * taps_x; t++) {
        ip_expr *row = ip_x_put_tap(ir, body, window, 0, ip_x_int(ir, IMGPAR_I32, t / taps_x));
        ip_expr *v = ip_x_put_tap(ir, row, window, 1, ip_x_int(ir, IMGPAR_I32, t % taps_x));
        acc = acc ? ip_x_binary(ir, ip_fold_op(fold), acc, v) : v;
    }
    return acc;
}

ip_expr *ip_x_fold_taps(ip_ir *ir, ip_fold fold, int window, int taps_y, int taps_x, ip_expr *body)
{
    const int64_t taps = (int64_t)taps_y * taps_x;
    const bool is_square = taps_y > 2 && taps_x > 2;
    if (taps == 1) return body;
    if (is_square && ip_x_slides(ir, body, window, 1) && ip_x_slides(ir, body, window, 2)) {
        int column = ip_x_new_window(ir);
        body = ip_x_put_tap(ir, body, window, 0, ip_x_tap(ir, column, 0, taps_y));
        return ip_x_make_window(ir, fold, window, 1, taps_x, ip_x_make_window(ir, fold, column, taps_y, 1, body));
    }
    if (taps * ip_x_size(ir, body) <= IP_UNROLLED_OPERATIONS)
        return written_out(ir, fold, window, taps_y, taps_x, body);
    return ip_x_make_window(ir, fold, window, taps_y, taps_x, body);
}

ip_expr *ip_x_fold_products(ip_ir *ir, const ip_window_taps *w, ip_expr *inside, ip_expr *value, ip_expr *weight)
{
    const imgpar_dtype dtype = value->dtype;
    ip_expr *product = ip_x_binary(ir, IP_X_MUL, value, weight);
    const bool slides = ip_x_slides(ir, product, w->window, 1) && ip_x_slides(ir, product, w->window, 2);
    const bool is_long = (int64_t)w->taps_y * w->taps_x * ip_x_size(ir, product) > IP_UNROLLED_OPERATIONS;
    if (slides || !is_long || !ip_dtype(dtype)->is_float) {
        if (inside)
            product = ip_x_select(ir, inside, product, ip_x_number(ir, dtype, ip_dtype(dtype)->is_float ? -0.0 : 0));
        return ip_x_fold_taps(ir, IP_FOLD_SUM, w->window, w->taps_y, w->taps_x, product);
    }
    if (inside) { /* fma(0, -0, sum) is sum */
        value = ip_x_select(ir, inside, value, ip_x_number(ir, dtype, -0.0));
        weight = ip_x_select(ir, inside, weight, ip_x_number(ir, dtype, 0));
    }
    return ip_x_make_products(ir, w, value, weight);
}
