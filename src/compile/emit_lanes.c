/* SPDX-License-Identifier: MIT */
/*
 * Pixels that read others at computed columns.
 *
 * Note [Channels as lanes]
 * Where a pixel is made of pixels at computed columns of a row that is kept, its neighbour's lie anywhere: a loop over pixels
 * would gather what it reads element by element. The channels of each pixel do lie side by side. So three or four channels are
 * the lanes of a vector, one read for all of them, and the loop is over pixels as they come. A row that is kept has room behind
 * its end for the fourth lane.
 */
#include "base/dtype.h"
#include "compile/emit.h"

#include <math.h>

enum { LANES = 4, LEAST_CHANNELS = 3 };

typedef struct lane_check { const ip_emit *e; ip_expr *root; bool fits, gathers; } lane_check;

static bool is_f32(const ip_expr *x) { return x->dtype == IMGPAR_F32; }

static bool is_integer(const ip_expr *x) { return !ip_dtype(x->dtype)->is_float && x->dtype != IMGPAR_BOOL && ip_dtype(x->dtype)->size_bytes <= 4; }

static bool is_number(const ip_expr *x) { return is_f32(x) || is_integer(x); }

static bool load_fits(lane_check *c, ip_expr *x)
{
    const ip_placed *placed = ip_kernel_placed(c->e->kernel, x->source);
    bool is_kept = placed && placed->place == IP_PLACE_RING && x->border == IP_BORDER_NONE;
    bool own_channel = x->arg[3]->op == IP_X_COORD && x->arg[3]->axis == 3 && x->source->dims[3] == c->e->channels;
    c->gathers |= !ip_x_offset_from(c->e->ir, x->arg[2], 2);
    return is_kept && own_channel && is_number(x) && !((x->arg[0]->uses | x->arg[1]->uses | x->arg[2]->uses) & IP_USES_C);
}

static bool window_fits(const ip_expr *x)
{
    if (x->fold == IP_FOLD_FMA)
        return is_f32(x) && !(x->arg[1]->uses & IP_USES_C);
    return x->fold == IP_FOLD_SUM && is_number(x);
}

static bool check(ip_expr *x, void *user)
{
    lane_check *c = user;
    if (!(x->uses & IP_USES_C) || !c->fits)
        return false;
    switch (x->op) {
    case IP_X_LOAD: c->fits = load_fits(c, x); return false;
    case IP_X_ADD: case IP_X_SUB: case IP_X_MUL: case IP_X_FMA: case IP_X_MIN: case IP_X_MAX: c->fits = is_number(x); break;
    case IP_X_CAST: c->fits = is_number(x) && is_integer(x->arg[0]); break;
    case IP_X_IDIV: c->fits = is_integer(x) && x->arg[0]->lo >= 0 && x->arg[1]->op == IP_X_CONST && x->arg[1]->i > 0; break;
    case IP_X_WINDOW: c->fits = window_fits(x); break;
    case IP_X_SATURATE: c->fits = x == c->root && is_f32(x->arg[0]) && ip_dtype(x->dtype)->size_bytes <= 2; break;
    default: c->fits = false;
    }
    return c->fits;
}

bool ip_emit_fits_lanes(ip_emit *e, const ip_stage *s)
{
    bool may = e->options->pragmas && e->channels >= LEAST_CHANNELS && e->channels <= LANES && s->dtype == s->body->dtype;
    lane_check c = { .e = e, .root = s->body, .fits = may };
    if (may)
        ip_x_descend(e->ir, s->body, check, &c);
    return c.fits && c.gathers && !e->ir->failed;
}

static const char *lanes_type(ip_emit *e, const ip_expr *x) { return ip_text(e->ir, "%s4", ip_cl_type(x->dtype)); }

static const char *spread(ip_emit *e, const ip_expr *x, const char *value) { return ip_text(e->ir, "(%s)(%s)", lanes_type(e, x), value); }

static const char *declared(ip_emit *e, const ip_expr *x, const char *text)
{
    const char *name = ip_text(e->ir, "v%d", e->n_values++);
    ip_s_add(e->ir, e->block, IP_S_LET, lanes_type(e, x), name, text);
    return name;
}

static const char *lanes_of(ip_emit *e, ip_expr *x);

static const char *window(ip_emit *e, const ip_expr *x)
{
    const char *sum = ip_text(e->ir, "w%d", e->n_values++), *old_y = e->tap_y, *old_x = e->tap_x;
    ip_s_add(e->ir, e->block, IP_S_VAR, lanes_type(e, x), sum, spread(e, x, ip_emit_window_start(e, x)));
    ip_stmt *rows = ip_s_add(e->ir, e->block, IP_S_FOR, "j", "0", ip_text(e->ir, "%d", x->taps_y));
    ip_stmt *columns = ip_s_add(e->ir, rows, IP_S_FOR, "k", "0", ip_text(e->ir, "%d", x->taps_x));
    ip_mark mark = ip_emit_enter(e, columns);
    e->tap_y = "j";
    e->tap_x = "k";
    const char *value = lanes_of(e, x->arg[0]);
    const char *next = x->fold == IP_FOLD_FMA ? ip_text(e->ir, "fma(%s, %s, %s)", lanes_of(e, x->arg[1]), value, sum)
                                              : ip_text(e->ir, "%s + %s", sum, value);
    ip_s_add(e->ir, e->block, IP_S_STORE, sum, next, NULL);
    e->tap_y = old_y;
    e->tap_x = old_x;
    ip_emit_leave(e, mark);
    return sum;
}

/* Where a load's pixel is. What is added to a computed column is added to the address, so that columns beside it share one. */
static const char *pixel_of(ip_emit *e, const ip_expr *load)
{
    ip_expr *column = load->arg[2], *by = column->op == IP_X_ADD ? column->arg[1] : NULL;
    const char *row = ip_emit_row_pointer(e, load);
    if (!by || by->op != IP_X_CONST)
        return ip_text(e->ir, "%s + (long)%s * %d", row, ip_emit_value(e, column), e->channels);
    return ip_text(e->ir, "%s + (long)%s * %d + %lld", row, ip_emit_value(e, column->arg[0]), e->channels, (long long)by->i * e->channels);
}

/* The lesser or greater; as of scalars, of a number and NaN the number. */
static const char *extreme(ip_emit *e, const ip_expr *x, const char *a, const char *b)
{
    if (is_integer(x))
        return ip_text(e->ir, "%s(%s, %s)", x->op == IP_X_MIN ? "min" : "max", a, b);
    return ip_text(e->ir, "select(%s, %s, (%s %s %s) | (%s != %s))", b, a, a, x->op == IP_X_MIN ? "<" : ">", b, b, b);
}

static const char *lanes_text(ip_emit *e, const ip_expr *x, const char *const a[3])
{
    switch (x->op) {
    case IP_X_ADD: return ip_text(e->ir, "%s + %s", a[0], a[1]);
    case IP_X_SUB: return ip_text(e->ir, "%s - %s", a[0], a[1]);
    case IP_X_MUL: return ip_text(e->ir, "%s * %s", a[0], a[1]);
    case IP_X_IDIV: return ip_text(e->ir, "%s / %s", a[0], a[1]);
    case IP_X_FMA: return ip_text(e->ir, "fma(%s, %s, %s)", a[0], a[1], a[2]);
    case IP_X_CAST: return ip_text(e->ir, "convert_%s(%s)", lanes_type(e, x), a[0]);
    default: return extreme(e, x, a[0], a[1]);
    }
}

/* A vector of the channels' values. */
static const char *lanes_of(ip_emit *e, ip_expr *x)
{
    if (!(x->uses & IP_USES_C))
        return spread(e, x, ip_emit_value(e, x));
    const char *name = ip_emit_name_of(e, x), *a[3] = { NULL };
    if (name)
        return name;
    if (x->op == IP_X_WINDOW)
        return window(e, x);
    for (int k = 0; k < x->n_args && x->op != IP_X_LOAD; k++)
        a[k] = lanes_of(e, x->arg[k]);
    name = declared(e, x, x->op == IP_X_LOAD ? ip_text(e->ir, "vload4(0, %s)", pixel_of(e, x)) : lanes_text(e, x, a));
    ip_emit_name(e, x, name);
    return name;
}

/* As emit_expr.c, Note [Rounding to nearest even]. NaN becomes 0, and the least value is at most that. */
static const char *saturated(ip_emit *e, const ip_expr *x)
{
    const ip_expr *a = x->arg[0];
    const ip_dtype_facts *facts = ip_dtype(x->dtype);
    const char *v = lanes_of(e, x->arg[0]), *least = ip_text(e->ir, "(float4)(%d.0f)", (int)facts->minimum),
               *most = ip_text(e->ir, "(float4)(%d.0f)", (int)facts->maximum);
    if (facts->is_signed && !isfinite(a->lo + a->hi))
        v = declared(e, a, ip_text(e->ir, "select(%s, (float4)(0.0f), %s != %s)", v, v, v));
    if (!(a->lo >= facts->minimum - 0.49 && isfinite(a->hi)))
        v = declared(e, a, ip_text(e->ir, "select(%s, %s, %s > %s)", least, v, v, least));
    if (!(a->hi <= facts->maximum + 0.49))
        v = declared(e, a, ip_text(e->ir, "select(%s, %s, %s < %s)", most, v, v, most));
    return ip_text(e->ir, "convert_%s4(as_int4(%s + 12582912.0f))", facts->cl, v);
}

static void pixels(ip_emit *e, const ip_stage *s, const char *from, const char *to, const char *store)
{
    ip_mark mark = ip_emit_enter(e, ip_s_add(e->ir, e->block, IP_S_FOR, "x", from, to));
    e->coord[2] = "x";
    ip_emit_count_uses(e, (ip_expr *[]){ s->body }, 1);
    const char *value = s->body->op == IP_X_SATURATE ? saturated(e, s->body) : lanes_of(e, s->body);
    ip_s_add(e->ir, e->block, IP_S_LET, ip_text(e->ir, "%s4", ip_dtype(s->dtype)->cl), "pixel", value);
    ip_s_add(e->ir, e->block, IP_S_STORE, store, NULL, NULL);
    e->coord[2] = NULL;
    ip_emit_leave(e, mark);
}

static void lanes_row(ip_emit *e, const ip_stage *s, const char *target, const char *xa, const char *xb)
{
    const char *four = ip_text(e->ir, "vstore4(pixel, 0, %s + x * %d)", target, e->channels);
    if (e->channels == LANES) {
        pixels(e, s, xa, xb, four);
        return;
    }
    const char *last = ip_text(e->ir, "last%d", e->n_values++); /* before it the fourth lane goes where the next pixel will */
    ip_s_add(e->ir, e->block, IP_S_LET, "int", last, ip_text(e->ir, "max(%s - 1, %s)", xb, xa));
    pixels(e, s, xa, last, four);
    pixels(e, s, last, xb, ip_text(e->ir, "vstore3(pixel.xyz, 0, %s + x * 3)", target));
}

/* ---- even steps ------------------------------------------------------------------------------ */

/*
 * Note [Even steps]
 * Where pixel x is made of pixels from step * x on, as in a resize to a half, what it would be is computed at every column of the row
 * that is read, a block of them at a time: that is a flat loop over elements side by side. Then every step-th pixel is taken. For few
 * columns a pixel it is cheaper than to compute pixel by pixel, four lanes of which are a quarter of a vector.
 */
enum { MOST_STEP = 6, BLOCK_PIXELS = 160 };

/* The step of a column step * x + constant, or 0. */
static int64_t step_of(const ip_expr *column)
{
    if (column->op == IP_X_ADD && column->arg[1]->op == IP_X_CONST)
        column = column->arg[0];
    bool is_multiple = column->op == IP_X_MUL && column->arg[0]->op == IP_X_COORD && column->arg[0]->axis == 2;
    return is_multiple && column->arg[1]->op == IP_X_CONST ? column->arg[1]->i : 0;
}

typedef struct step_check { int64_t step; bool fits; } step_check;

static bool check_step(ip_expr *x, void *user)
{
    step_check *c = user;
    if (!(x->uses & (IP_USES_X | IP_USES_C)))
        return false;
    if (x->op == IP_X_LOAD && c->step == 0)
        c->step = step_of(x->arg[2]);
    if (x->op == IP_X_WINDOW || x->op == IP_X_COORD || (x->op == IP_X_LOAD && step_of(x->arg[2]) != c->step))
        c->fits = false;
    return c->fits && x->op != IP_X_LOAD;
}

/* The step of all columns that the body, which fits lanes, reads; 0: there is none, or it does not pay. */
static int64_t even_step(ip_emit *e, ip_expr *body)
{
    step_check c = { 0, true };
    ip_x_descend(e->ir, body, check_step, &c);
    return c.fits && c.step >= 2 && c.step <= MOST_STEP ? c.step : 0;
}

static ip_expr *without_step(ip_ir *ir, ip_expr *x, void *user)
{
    (void)ir;
    (void)user;
    return x->op == IP_X_MUL && step_of(x) ? x->arg[0] : x;
}

static void stepped_row(ip_emit *e, const ip_stage *s, int64_t step, const char *target, const char *xa, const char *xb)
{
    int channels = e->channels, by = (int)step * channels;
    const char *type = ip_dtype(s->dtype)->cl, *row = ip_text(e->ir, "every%d", e->n_values++);
    ip_expr *body = ip_x_map(e->ir, s->body, without_step, NULL);
    ip_emit_row_pointers(e, body);
    ip_stmt *blocks = ip_s_add(e->ir, e->block, IP_S_FOR, "p", xa, xb);
    blocks->d = ip_text(e->ir, "%d", BLOCK_PIXELS);
    ip_mark in_block = ip_emit_enter(e, blocks);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", "n", ip_text(e->ir, "min(%s - p, %d)", xb, BLOCK_PIXELS));
    ip_s_add(e->ir, e->block, IP_S_VAR, type, ip_text(e->ir, "%s[%d]", row, BLOCK_PIXELS * by + LANES), NULL);
    ip_mark in_flat = ip_emit_enter(e, ip_emit_vectors(e, "i", ip_text(e->ir, "p * %d", by), ip_text(e->ir, "(p + n) * %d - %d", by, by - channels),
                                                       ip_emit_width(e, body, s->dtype)));
    e->flat = "i";
    ip_emit_count_uses(e, &body, 1);
    ip_s_add(e->ir, e->block, IP_S_STORE, ip_text(e->ir, "%s[i - p * %d]", row, by), ip_emit_value(e, body), NULL);
    e->flat = NULL;
    ip_emit_leave(e, in_flat);
    int n_loops = channels == LANES ? 1 : 2; /* before the last pixel the fourth lane goes where the next one will */
    for (int k = 0; k < n_loops; k++) {
        const char *to = ip_text(e->ir, k + 1 < n_loops ? "n - 1" : "n"), *from = k == 0 ? "0" : "n - 1";
        int width = k + 1 < n_loops ? LANES : channels;
        ip_stmt *taking = ip_s_add(e->ir, e->block, IP_S_FOR, "k", from, to);
        ip_s_add(e->ir, taking, IP_S_STORE, ip_text(e->ir, "vstore%d(vload%d(0, %s + k * %d), 0, %s + (p + k) * %d)", width, width, row, by,
                                                    target, channels), NULL, NULL);
    }
    ip_emit_leave(e, in_block);
}

void ip_emit_lanes_row(ip_emit *e, const ip_stage *s, const char *target, const char *xa, const char *xb)
{
    int64_t step = even_step(e, s->body);
    if (step)
        stepped_row(e, s, step, target, xa, xb);
    else
        lanes_row(e, s, target, xa, xb);
}
