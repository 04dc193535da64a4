/* SPDX-License-Identifier: MIT */
/* Which bodies are made pixel by pixel, the channels of each as the lanes of a vector: emit_lanes.c, Note [Channels as
 * lanes]. */
#include "base/dtype.h"
#include "compile/segments.h"

enum { LEAST_CHANNELS = 3, LEAST_PAIRED = 32 /* bytes of a vector that is worth pairs of pixels */ };

typedef struct lane_check {
    const ip_site *site;
    bool fits, gathers, is_kept;
    int n_windows;
} lane_check;

static bool is_f32(const ip_expr *x) { return x->dtype == IMGPAR_F32; }

static bool is_integer(const ip_expr *x)
{
    return !ip_dtype(x->dtype)->is_float && x->dtype != IMGPAR_BOOL && ip_dtype(x->dtype)->size_bytes <= 4;
}

static bool is_number(const ip_expr *x) { return is_f32(x) || is_integer(x); }

static bool load_fits(lane_check *c, ip_expr *x)
{
    const ip_placed *placed = ip_kernel_placed(c->site->kernel, x->source);
    /* of three channels the fourth lane is read behind the last pixel */
    c->is_kept &= x->source->dims[3] == IP_LANES || (placed && placed->place == IP_PLACE_LINE_BUFFER);
    bool own_channel = ip_reads_own_index(x, 3, c->site->channels);
    c->gathers |= !ip_x_offset_from(c->site->ir, x->arg[2], 2);
    return x->border == IP_BORDER_NONE && own_channel && is_number(x) && x->source->dtype == x->dtype &&
           !((x->arg[0]->uses | x->arg[1]->uses | x->arg[2]->uses) & IP_USES_C);
}

/* Comparisons of lanes are masks of 32 bits, which choose between numbers of as many. Each bit of them is set: they are
 * no numbers, and nothing else is made of them. */
static bool fits_masks(const ip_expr *x) { return is_number(x) && ip_dtype(x->dtype)->size_bytes == 4; }

static bool window_fits(lane_check *c, const ip_expr *x)
{
    if (++c->n_windows > IP_LANE_WINDOWS || ip_x_has_window(c->site->ir, x->arg[0])) return false;
    if (x->n_args > 1 && ip_x_has_window(c->site->ir, x->arg[1])) return false;
    if (x->fold == IP_FOLD_FMA) return is_f32(x) && !(x->arg[1]->uses & IP_USES_C);
    return x->fold == IP_FOLD_SUM && is_number(x);
}

static bool check(ip_expr *x, void *user)
{
    lane_check *c = user;
    if (!(x->uses & IP_USES_C) || !c->fits || ip_is_by_channel(x)) return false;
    switch (x->op) {
    case IP_X_LOAD: c->fits = load_fits(c, x); return false;
    case IP_X_ADD:
    case IP_X_SUB:
    case IP_X_MUL:
    case IP_X_FMA:
    case IP_X_MIN:
    case IP_X_MAX: c->fits = is_number(x); break;
    case IP_X_DIV: c->fits = is_f32(x); break;
    case IP_X_LT:
    case IP_X_LE:
    case IP_X_EQ:
    case IP_X_NE: c->fits = fits_masks(x->arg[0]); break;
    case IP_X_SELECT: c->fits = fits_masks(x); break;
    case IP_X_CAST: c->fits = is_number(x) && is_integer(x->arg[0]); break;
    case IP_X_IDIV:
        c->fits = is_integer(x) && x->arg[0]->lo >= 0 && x->arg[1]->op == IP_X_CONST && x->arg[1]->i > 0;
        break;
    case IP_X_WINDOW: c->fits = window_fits(c, x); break;
    default: c->fits = false;
    }
    return c->fits;
}

static bool note_gather(ip_expr *x, void *user)
{
    lane_check *c = user;
    c->gathers |= x->op == IP_X_LOAD && x->uses & IP_USES_C && !ip_x_offset_from(c->site->ir, x->arg[2], 2);
    return !c->gathers && x->op != IP_X_LOAD;
}

static bool gathers(const ip_site *site, ip_expr *x)
{
    lane_check c = { .site = site };
    ip_x_descend(site->ir, x, note_gather, &c);
    return c.gathers;
}

ip_expr *ip_lanes_part(const ip_site *site, ip_expr *x)
{
    while (x->op != IP_X_LOAD && !ip_x_is_repeated(x)) {
        ip_expr *inner = NULL;
        for (int k = 0; k < x->n_args; k++) {
            if (!inner && gathers(site, x->arg[k]))
                inner = x->arg[k];
            else if (!ip_x_is_uniform(x->arg[k]))
                return x;
        }
        if (!inner) return x;
        x = inner;
    }
    return x;
}

typedef struct pairs_check {
    bool fits, has_list;
} pairs_check;

static bool is_listed(const ip_expr *column)
{
    return column->op == IP_X_LOAD && column->source->kind == IP_STAGE_TABLE && ip_x_is_coord(column->arg[2], 2);
}

/* Elements of four floats at the pixel's own column or one that a list tells, and numbers of lists. */
static bool load_fits_pairs(pairs_check *c, const ip_expr *x)
{
    const ip_stage *s = x->source;
    if (s->dtype != IMGPAR_F32 || x->dtype != IMGPAR_F32) return false;
    if (s->kind == IP_STAGE_TABLE) return is_listed(x);
    bool is_list = is_listed(x->arg[2]) && x->uses & IP_USES_C, is_own = ip_x_is_coord(x->arg[2], 2);
    c->has_list |= is_list;
    return s->dims[3] == IP_LANES && x->border == IP_BORDER_NONE && (is_own || is_list) &&
           (ip_x_is_coord(x->arg[3], 3) || x->arg[3]->op == IP_X_CONST) && ip_x_reads_uniform_row(x);
}

static bool check_pairs(ip_expr *x, void *user)
{
    pairs_check *c = user;
    if (ip_x_is_uniform(x) || !c->fits || ip_is_by_channel(x)) return false;
    switch (x->op) {
    case IP_X_LOAD: c->fits = load_fits_pairs(c, x); return false;
    case IP_X_ADD:
    case IP_X_SUB:
    case IP_X_MUL:
    case IP_X_DIV:
    case IP_X_FMA:
    case IP_X_SELECT: c->fits = is_f32(x); break;
    default: c->fits = false;
    }
    return c->fits;
}

bool ip_fits_pairs(const ip_site *site, ip_expr *part)
{
    pairs_check c = { .fits = site->channels == IP_LANES && site->options->tuning.vector_bytes >= LEAST_PAIRED };
    if (c.fits) ip_x_descend(site->ir, part, check_pairs, &c);
    return c.fits && c.has_list;
}

typedef struct step_check {
    int64_t step, channels;
    int n_loads;
    bool fits;
} step_check;

static bool check_step(ip_expr *x, void *user)
{
    step_check *c = user;
    if (ip_x_is_uniform(x)) return false;
    if (x->op != IP_X_LOAD) {
        c->fits = c->fits && !ip_x_is_repeated(x) && x->op != IP_X_COORD;
        return c->fits;
    }
    int64_t step = ip_x_step(x->arg[2]);
    if (c->n_loads++ == 0) c->step = step;
    bool is_flat = ip_reads_own_index(x, 3, c->channels);
    c->fits = c->fits && step == c->step && is_flat && ip_x_reads_uniform_row(x);
    return false;
}

/* The step of all columns that it reads (emit_lanes.c, Note [Even steps]); 0: they have none in common from
 * IP_LEAST_STEP to IP_MOST_STEP, or what is read has other channels. */
static int64_t even_step(const ip_site *site, ip_expr *body)
{
    step_check c = { .channels = site->channels, .fits = true };
    ip_x_descend(site->ir, body, check_step, &c);
    return c.fits && c.step >= IP_LEAST_STEP && c.step <= IP_MOST_STEP ? c.step : 0;
}

/* The element of the pixel, where every so many-th is taken. */
static ip_expr *without_step(ip_ir *ir, ip_expr *x, void *user)
{
    (void)ir;
    (void)user;
    return x->op == IP_X_MUL && ip_x_step(x) ? x->arg[0] : x;
}

static lane_check check_lanes(const ip_site *site, ip_expr *body, imgpar_dtype stored)
{
    bool may = site->options->device.has_loop_hints && site->channels >= LEAST_CHANNELS && site->channels <= IP_LANES &&
               stored == body->dtype;
    lane_check c = { .site = site, .fits = may, .is_kept = true };
    ip_expr *part = ip_lanes_part(site, body);
    c.fits = may && is_number(part);
    if (c.fits) ip_x_descend(site->ir, part, check, &c);
    c.fits = c.fits && c.gathers && !site->ir->failed;
    return c;
}

bool ip_are_lanes(const ip_site *site, ip_expr *body, imgpar_dtype stored)
{
    return check_lanes(site, body, stored).fits;
}

bool ip_fits_lanes(const ip_site *site, const ip_placed *p, ip_segment *segment)
{
    const lane_check c = check_lanes(site, segment->within, p->stage->dtype);
    const int64_t step = c.fits ? even_step(site, segment->within) : 0;
    if (step && ip_takes_several(site->channels, p->stage->dtype, (int)step * site->channels))
        segment->calls |= 1u << IP_IDIOM_TAKE;
    if (!c.fits || !(c.is_kept || step)) return false;
    segment->times = (int)step;
    segment->part =
        step ? ip_x_map(site->ir, segment->within, without_step, NULL) : ip_lanes_part(site, segment->within);
    segment->in_pairs = !step && ip_fits_pairs(site, segment->part);
    segment->width = ip_width_of(site, step ? segment->part : segment->within, p->stage->dtype);
    return true;
}
