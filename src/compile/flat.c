/* SPDX-License-Identifier: MIT */
/* Which rows are flat loops over x * channels + c: those in which the channels of a pixel do not interact. */
#include "base/dtype.h"
#include "compile/segments.h"

static bool flat_value(const ip_site *site, ip_expr *x);

static bool flat_load(const ip_site *site, const ip_expr *load)
{
    const ip_stage *s = load->source;
    if (s->kind == IP_STAGE_TABLE) return ip_x_is_uniform(load->arg[2]);
    if (!load->uses || (ip_x_is_uniform(load->arg[2]) && ip_x_is_uniform(load->arg[3]))) return !load->uses;
    ip_expr *rest = ip_x_offset_from(site->ir, load->arg[2], 2);
    bool in_row = rest && (load->border == IP_BORDER_NONE || ip_site_column_is_inside(site, load) ||
                           (rest->op == IP_X_CONST && rest->i == 0 && s->dims[2] == site->domain[2]));
    bool same_channels = load->arg[3]->op == IP_X_COORD && s->dims[3] == site->channels;
    bool row_is_uniform = ip_x_reads_uniform_row(load);
    ip_expr *outside = load->n_args == 5 ? load->arg[4] : NULL; /* another value a channel is none for a flat loop */
    bool flat_outside = !outside || !(outside->uses & IP_USES_C) || outside->op == IP_X_LOAD;
    return in_row && same_channels && row_is_uniform && flat_outside && (!outside || flat_value(site, outside));
}

static bool flat_value(const ip_site *site, ip_expr *x)
{
    if (x->op == IP_X_LOAD) return flat_load(site, x);
    if (ip_x_is_uniform(x)) return true;
    return x->op != IP_X_COORD && x->op != IP_X_BORDER;
}

typedef struct flat_check {
    const ip_site *site;
    bool ok;
} flat_check;

/* Values, not the indices of loads. */
static bool check_flat(ip_expr *x, void *user)
{
    flat_check *f = user;
    f->ok = f->ok && flat_value(f->site, x);
    return f->ok && x->op != IP_X_LOAD;
}

bool ip_may_be_flat(const ip_site *site, ip_expr *body)
{
    flat_check f = { site, true };
    ip_x_descend(site->ir, body, check_flat, &f);
    return f.ok && !site->ir->failed;
}

bool ip_is_flat(const ip_site *site, ip_expr *body) { return site->channels > 1 && ip_may_be_flat(site, body); }

/* ---- many channels: emit_row.c, Note [Many channels] ------------------------------------------------- */

int ip_lanes_of_channels(int64_t channels, int width)
{
    enum { LEAST_LANES = 4 };
    while (width >= LEAST_LANES && channels % width)
        width /= 2;
    return channels <= IP_WRITTEN_CHANNELS || width < LEAST_LANES ? 1 : width;
}

int ip_lanes_of_ends(const ip_expr *body, int64_t channels, int vector_bytes)
{
    /* of a selection, only what is selected is computed */
    if (body->op == IP_X_SELECT) return 1;
    return ip_lanes_of_channels(channels, vector_bytes / (int)ip_dtype(body->dtype)->size_bytes);
}
