/* SPDX-License-Identifier: MIT */
/* Which rows are made of pixels at computed places: emit_places.c, Note [Pixels at computed places]. */
#include "base/dtype.h"
#include "compile/segments.h"

#include <string.h>

enum { PLACES_OPERATIONS = 400 };

bool ip_reads_far(ip_ir *ir, const ip_expr *x)
{
    return x->op == IP_X_LOAD && x->source->kind != IP_STAGE_TABLE &&
           ((x->arg[1]->uses & IP_USES_X) || !ip_x_offset_from(ir, x->arg[2], 2));
}

static bool is_at_computed_place(ip_ir *ir, const ip_expr *x)
{
    return ip_reads_far(ir, x) && x->border != IP_BORDER_NONE;
}

/* For ip_x_map_values(): what is read to tell a place keeps its border, since its own place is not tested. */
static ip_expr *without_border(ip_ir *ir, ip_expr *x, void *user)
{
    (void)user;
    return is_at_computed_place(ir, x) ? ip_x_load(ir, x->source, x->arg, IP_BORDER_NONE, NULL) : x;
}

/* The places, of loads of the body as it is. */
typedef struct place_check {
    const ip_site *site;
    int n;
    bool fits, reads_far, has_own_channel;
} place_check;

static bool check_place(ip_expr *x, void *user)
{
    place_check *c = user;
    if (x->op != IP_X_LOAD || !is_at_computed_place(c->site->ir, x)) return true;
    bool own_channel = ip_reads_own_index(x, 3, c->site->channels);
    c->n++;
    c->reads_far |= (x->arg[1]->uses & IP_USES_X) != 0;
    /* what tells the places is computed before it is known that all are inside */
    c->has_own_channel &= own_channel;
    c->fits = c->fits && !ip_kernel_placed(c->site->kernel, x->source) && ip_x_is_uniform(x->arg[0]) &&
              !((x->arg[1]->uses | x->arg[2]->uses) & IP_USES_C);
    return false;
}

/* Expressions that channels share, of each of which there is an array. */
typedef struct shared_values {
    const ip_site *site;
    ip_expr *of[IP_MOST_SHARED];
    int n;
    bool fits;
    bool are_words; /* pixels are made of words that are gathered, not of lanes */
} shared_values;

static void share(shared_values *s, ip_expr *x)
{
    if (!(x->uses & IP_USES_X) || x->n_args == 0) return;
    for (int k = 0; k < s->n; k++)
        if (s->of[k] == x) return;
    if (s->n == IP_MOST_SHARED || x->dtype == IMGPAR_BOOL || x->dtype == IMGPAR_F16)
        s->fits = false;
    else
        s->of[s->n++] = x;
}

ip_expr *ip_without_number(ip_expr *x) { return x->op == IP_X_ADD && x->arg[1]->op == IP_X_CONST ? x->arg[0] : x; }

/* Whether x is made of pixels at computed places, of which the border has been left out. */
static void find_place(ip_expr *x, void *user)
{
    *(bool *)user |= x->op == IP_X_LOAD && x->source->kind != IP_STAGE_TABLE && (x->arg[1]->uses & IP_USES_X);
}

static bool reads_places(ip_ir *ir, ip_expr *x)
{
    bool found = false;
    ip_x_walk(ir, x, find_place, &found);
    return found;
}

static bool note_shared(ip_expr *x, void *user)
{
    shared_values *s = user;
    if (s->are_words && !reads_places(s->site->ir, x)) {
        if (!(x->uses & IP_USES_C)) share(s, x);
        return false;
    }
    if (!s->are_words && !(x->uses & IP_USES_C)) {
        share(s, x);
        return false;
    }
    if (x->op != IP_X_LOAD) return true;
    share(s, ip_without_number(x->arg[1]));
    share(s, ip_without_number(x->arg[2]));
    return false;
}

/* Of what lanes are made of, borders left out. */
static shared_values shared_of(const ip_site *site, ip_expr *inner)
{
    shared_values s = { .site = site, .fits = true, .are_words = ip_gathers_words(site, inner) };
    ip_x_descend(site->ir, s.are_words ? inner : ip_lanes_part(site, inner), note_shared, &s);
    return s;
}

/* What is prefetched: loads whose row and column are i32 arrays that are computed before anyway, which is what
 * ip_prefetch_places() takes. */
static bool is_shared(const ip_places *p, const ip_expr *x)
{
    for (int k = 0; k < p->n_shared; k++)
        if (p->shared[k] == x) return x->dtype == IMGPAR_I32;
    return false;
}

typedef struct prefetches {
    ip_ir *ir;
    const ip_expr *of[IP_MOST_SHARED];
    int n;
} prefetches;

static bool note_prefetched(ip_expr *x, void *user)
{
    prefetches *f = user;
    if (!ip_reads_far(f->ir, x)) return true;
    for (int k = 0; k < f->n; k++)
        if (f->of[k]->source == x->source && ip_without_number(f->of[k]->arg[1]) == ip_without_number(x->arg[1]) &&
            ip_without_number(f->of[k]->arg[2]) == ip_without_number(x->arg[2]))
            return false;
    if (f->n < IP_MOST_SHARED) f->of[f->n++] = x;
    return false;
}

static void find_fetched(ip_ir *ir, ip_places *p)
{
    prefetches f = { .ir = ir };
    ip_x_descend(ir, p->inner, note_prefetched, &f);
    for (int k = 0; k < f.n; k++)
        if (is_shared(p, ip_without_number(f.of[k]->arg[1])) && is_shared(p, ip_without_number(f.of[k]->arg[2])))
            p->prefetched[p->n_prefetched++] = f.of[k];
}

bool ip_fits_places(const ip_site *site, const ip_placed *p, ip_segment *segment)
{
    ip_expr *body = segment->within;
    place_check c = { .site = site, .fits = site->kernel->schedule == IP_SCHEDULE_ROWS, .has_own_channel = true };
    if (!c.fits || ip_x_has_window(site->ir, body) || ip_x_has_loop(site->ir, body) ||
        ip_x_size(site->ir, body) > PLACES_OPERATIONS)
        return false;
    ip_x_descend(site->ir, body, check_place, &c);
    if (!c.fits || !c.reads_far) return false;
    ip_expr *inner = ip_x_map_values(site->ir, body, without_border, NULL);
    const shared_values s = shared_of(site, inner);
    const bool are_lanes = c.has_own_channel && ip_are_lanes(site, inner, p->stage->dtype);
    /* blocks that need no places at all are skipped, where pixels are not made of lanes */
    const bool are_words = s.are_words && (are_lanes || !ip_find_skip(site, body).condition);
    if (!(are_words || are_lanes) || !s.fits || s.n == 0 || site->ir->failed) return false;
    ip_places *places = ip_ir_alloc(site->ir, 1, sizeof *places);
    if (!places) return false;
    *places = (ip_places){ .inner = inner, .n_shared = s.n, .are_words = s.are_words };
    memcpy(places->shared, s.of, sizeof places->shared);
    if (!s.are_words) places->part = ip_lanes_part(site, inner);
    places->shared_width = ip_width_of(site, s.of[0], IMGPAR_F32);
    places->width = ip_width_of(site, inner, p->stage->dtype);
    places->in_pairs = places->part && ip_fits_pairs(site, places->part);
    if (site->options->device.has_clang_builtins) find_fetched(site->ir, places);
    if (places->n_prefetched > 0) segment->calls |= 1u << IP_IDIOM_PREFETCH_PLACES;
    if (places->are_words) segment->calls |= 1u << IP_IDIOM_GATHER;
    if (s.are_words) places->elements = ip_elements_of(site, inner, p->stage->dtype, places, true);
    segment->elements = ip_elements_of(site, body, p->stage->dtype, places, false);
    segment->places = places;
    return true;
}
