/* SPDX-License-Identifier: MIT */
/* Which rows are made behind their indices: emit_indices.c, Note [Indices in blocks]. */
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/segments.h"

/* What pixels of other places are told by. */
typedef struct index_check {
    const ip_site *site;
    ip_places found;
    bool fits;
} index_check;

static void find_load(ip_expr *x, void *user)
{
    *(bool *)user |= x->op == IP_X_LOAD && x->source->kind != IP_STAGE_TABLE && x->uses & IP_USES_X;
}

static bool is_whole(const ip_expr *x) { return !ip_x_is_float(x) && x->dtype != IMGPAR_BOOL; }

/* What is the same for all of a row added later, x in its own bits: as it is kept until it is read. */
static ip_expr *kept_of(ip_expr *x)
{
    while (x->op == IP_X_ADD && is_whole(x) && ip_x_is_uniform(x->arg[1]))
        x = x->arg[0];
    while (x->op == IP_X_CAST && is_whole(x) && is_whole(x->arg[0]) &&
           ip_dtype(x->arg[0]->dtype)->size_bytes < ip_dtype(x->dtype)->size_bytes)
        x = x->arg[0];
    return x;
}

static void note_index(index_check *c, ip_expr *index)
{
    bool is_read = false;
    if (!(index->uses & IP_USES_X)) return;
    ip_x_walk(c->site->ir, index, find_load, &is_read);
    if (!is_read) return;
    ip_expr *x = kept_of(index);
    for (int k = 0; k < c->found.n_shared; k++)
        if (c->found.shared[k] == x) return;
    const bool is_of_pixel = c->site->channels == 1 || !(x->uses & IP_USES_C);
    c->fits = c->fits && is_of_pixel && is_whole(x) && c->found.n_shared < IP_MOST_INDICES;
    if (c->fits) c->found.shared[c->found.n_shared++] = x;
}

static bool note_indices(ip_expr *x, void *user)
{
    if (x->op != IP_X_LOAD || x->source->kind == IP_STAGE_TABLE) return true;
    for (int k = 0; k < 4; k++)
        note_index(user, x->arg[k]);
    return false;
}

bool ip_fits_indices(const ip_site *site, const ip_placed *p, ip_segment *segment)
{
    ip_expr *body = segment->within;
    index_check c = { .site = site, .fits = true };
    const bool may = ip_site_vectorises(site) && site->options->device.vector_bytes < IP_WIDE_VECTOR &&
                     site->channels <= IP_WRITTEN_CHANNELS && !(site->channels > 1 && ip_is_flat(site, body));
    if (!may || ip_x_has_window(site->ir, body) || ip_x_has_loop(site->ir, body) ||
        ip_x_size(site->ir, body) * site->channels > IP_VECTORISED_OPERATIONS)
        return false;
    ip_x_descend(site->ir, body, note_indices, &c);
    if (!c.fits || c.found.n_shared == 0 || ip_only_gathers(site->ir, body)) return false;
    ip_places *places = ip_ir_alloc(site->ir, 1, sizeof *places);
    if (!places) return false;
    *places = c.found;
    places->shared_width = ip_width_of(site, places->shared[0], places->shared[0]->dtype);
    for (int k = 1; k < places->n_shared; k++)
        places->shared_width =
            ip_min_int(places->shared_width, ip_width_of(site, places->shared[k], places->shared[k]->dtype));
    segment->elements = ip_elements_of(site, body, p->stage->dtype, places, false);
    segment->places = places;
    return segment->elements.is_vector;
}
