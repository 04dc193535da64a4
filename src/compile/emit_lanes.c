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

static bool load_fits(lane_check *c, ip_expr *x)
{
    const ip_placed *placed = ip_kernel_placed(c->e->kernel, x->source);
    bool is_kept = placed && placed->place == IP_PLACE_RING && x->border == IP_BORDER_NONE;
    bool own_channel = x->arg[3]->op == IP_X_COORD && x->arg[3]->axis == 3 && x->source->dims[3] == c->e->channels;
    c->gathers |= !ip_x_offset_from(c->e->ir, x->arg[2], 2);
    return is_kept && own_channel && is_f32(x) && !((x->arg[0]->uses | x->arg[1]->uses | x->arg[2]->uses) & IP_USES_C);
}

static bool check(ip_expr *x, void *user)
{
    lane_check *c = user;
    if (!(x->uses & IP_USES_C) || !c->fits)
        return false;
    switch (x->op) {
    case IP_X_LOAD: c->fits = load_fits(c, x); return false;
    case IP_X_ADD: case IP_X_SUB: case IP_X_MUL: case IP_X_FMA: case IP_X_MIN: case IP_X_MAX: c->fits = is_f32(x); break;
    case IP_X_WINDOW: c->fits = is_f32(x) && x->fold == IP_FOLD_FMA && !(x->arg[1]->uses & IP_USES_C); break;
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

static const char *declared(ip_emit *e, const ip_expr *x, const char *text)
{
    const char *name = ip_text(e->ir, "v%d", e->n_values++);
    ip_s_add(e->ir, e->block, IP_S_LET, "float4", name, text);
    if (x)
        ip_emit_name(e, x, name);
    return name;
}

static const char *lanes_of(ip_emit *e, ip_expr *x);

static const char *window(ip_emit *e, const ip_expr *x)
{
    const char *sum = ip_text(e->ir, "w%d", e->n_values++), *old_y = e->tap_y, *old_x = e->tap_x;
    ip_s_add(e->ir, e->block, IP_S_VAR, "float4", sum, ip_text(e->ir, "(float4)(%s)", ip_emit_window_start(e, x)));
    ip_stmt *rows = ip_s_add(e->ir, e->block, IP_S_FOR, "j", "0", ip_text(e->ir, "%d", x->taps_y));
    ip_stmt *columns = ip_s_add(e->ir, rows, IP_S_FOR, "k", "0", ip_text(e->ir, "%d", x->taps_x));
    ip_mark mark = ip_emit_enter(e, columns);
    e->tap_y = "j";
    e->tap_x = "k";
    const char *value = lanes_of(e, x->arg[0]), *weight = lanes_of(e, x->arg[1]);
    ip_s_add(e->ir, e->block, IP_S_STORE, sum, ip_text(e->ir, "fma(%s, %s, %s)", weight, value, sum), NULL);
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

/* A float4 of channels. */
static const char *lanes_of(ip_emit *e, ip_expr *x)
{
    if (!(x->uses & IP_USES_C))
        return ip_text(e->ir, "(float4)(%s)", ip_emit_value(e, x));
    const char *name = ip_emit_name_of(e, x), *a[3] = { NULL };
    if (name)
        return name;
    if (x->op == IP_X_WINDOW)
        return window(e, x);
    if (x->op == IP_X_LOAD)
        return declared(e, x, ip_text(e->ir, "vload4(0, %s)", pixel_of(e, x)));
    for (int k = 0; k < x->n_args; k++)
        a[k] = lanes_of(e, x->arg[k]);
    const char *symbol = x->op == IP_X_ADD ? "+" : x->op == IP_X_SUB ? "-" : x->op == IP_X_MUL ? "*" : x->op == IP_X_MIN ? "<" : ">";
    if (x->op == IP_X_FMA)
        return declared(e, x, ip_text(e->ir, "fma(%s, %s, %s)", a[0], a[1], a[2]));
    if (x->op == IP_X_MIN || x->op == IP_X_MAX) /* as scalars: of a number and NaN the number */
        return declared(e, x, ip_text(e->ir, "select(%s, %s, (%s %s %s) | (%s != %s))", a[1], a[0], a[0], symbol, a[1], a[1], a[1]));
    return declared(e, x, ip_text(e->ir, "%s %s %s", a[0], symbol, a[1]));
}

/* As emit_expr.c, Note [Rounding to nearest even]. NaN becomes 0, and the least value is at most that. */
static const char *saturated(ip_emit *e, const ip_expr *x)
{
    const ip_expr *a = x->arg[0];
    const ip_dtype_facts *facts = ip_dtype(x->dtype);
    const char *v = lanes_of(e, x->arg[0]), *least = ip_text(e->ir, "(float4)(%d.0f)", (int)facts->minimum),
               *most = ip_text(e->ir, "(float4)(%d.0f)", (int)facts->maximum);
    if (facts->is_signed && !isfinite(a->lo + a->hi))
        v = declared(e, NULL, ip_text(e->ir, "select(%s, (float4)(0.0f), %s != %s)", v, v, v));
    if (!(a->lo >= facts->minimum - 0.49 && isfinite(a->hi)))
        v = declared(e, NULL, ip_text(e->ir, "select(%s, %s, %s > %s)", least, v, v, least));
    if (!(a->hi <= facts->maximum + 0.49))
        v = declared(e, NULL, ip_text(e->ir, "select(%s, %s, %s < %s)", most, v, v, most));
    return ip_text(e->ir, "convert_%s4(as_int4(%s + 12582912.0f))", facts->cl, v);
}

void ip_emit_lanes_row(ip_emit *e, const ip_stage *s, const char *target, const char *xa, const char *xb)
{
    ip_mark mark = ip_emit_enter(e, ip_s_add(e->ir, e->block, IP_S_FOR, "x", xa, xb));
    e->coord[2] = "x";
    ip_emit_count_uses(e, (ip_expr *[]){ s->body }, 1);
    const char *value = s->body->op == IP_X_SATURATE ? saturated(e, s->body) : lanes_of(e, s->body);
    ip_s_add(e->ir, e->block, IP_S_LET, ip_text(e->ir, "%s4", ip_dtype(s->dtype)->cl), "pixel", value);
    const char *store = ip_text(e->ir, "vstore4(pixel, 0, %s + x * %d)", target, e->channels);
    if (e->channels < LANES) { /* the fourth lane goes where the next pixel will, if there is one */
        ip_stmt *inner = ip_s_add(e->ir, e->block, IP_S_IF, ip_text(e->ir, "x + 1 < %s", xb), NULL, NULL);
        ip_s_add(e->ir, inner, IP_S_STORE, store, NULL, NULL);
        e->block = ip_s_add(e->ir, e->block, IP_S_IF, ip_text(e->ir, "x + 1 == %s", xb), NULL, NULL);
        store = ip_text(e->ir, "vstore3(pixel.xyz, 0, %s + x * 3)", target);
    }
    ip_s_add(e->ir, e->block, IP_S_STORE, store, NULL, NULL);
    e->coord[2] = NULL;
    ip_emit_leave(e, mark);
}
