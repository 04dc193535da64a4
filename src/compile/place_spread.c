/* SPDX-License-Identifier: MIT */
/* Rows of values that the channels of a pixel share: spread.c, Note [Spreading]. */
#include "compile/placing.h"

#include "base/dtype.h"

typedef struct replacing { const ip_expr *value; ip_expr *with; } replacing;

static ip_expr *replace(ip_ir *ir, ip_expr *x, void *user)
{
    const replacing *r = user;
    (void)ir;
    return x == r->value ? r->with : x;
}

ip_expr *ip_put_value(ip_ir *ir, ip_expr *body, const ip_expr *value, ip_expr *with)
{
    return ip_x_map_values(ir, body, replace, &(replacing){ value, with });
}

ip_stage *ip_add_row(ip_placing *p, const ip_stage *reader, ip_expr *value, int64_t channels, const char *note)
{
    const int64_t *domain = ip_stage_domain(reader);
    const int64_t dims[4] = { domain[0], domain[1], domain[2], channels };
    ip_stage *s = ip_stage_new(p->plan->ir, IP_STAGE_MAP, value->dtype, dims, reader->node);
    if (!s || !ip_add_placed(p, s, false))
        return NULL;
    s->body = value;
    s->lo = value->lo;
    s->hi = value->hi;
    s->note = note;
    return s;
}

/* The same; returns its element at the reader's place. */
static ip_expr *kept_row(ip_placing *p, const ip_stage *reader, ip_expr *value, int64_t channels, const char *note)
{
    ip_ir *ir = p->plan->ir;
    ip_stage *s = ip_add_row(p, reader, value, channels, note);
    if (!s)
        return value;
    ip_expr *at[4];
    for (int k = 0; k < 4; k++)
        at[k] = k < 3 || channels > 1 ? ip_x_coord(ir, k, s->dims[k]) : ip_x_int(ir, IMGPAR_I32, 0);
    return ip_x_load(ir, s, at, IP_BORDER_NONE, NULL);
}

/*
 * Note [Masks]
 * A mask is mostly the same for a whole row of a strip: inside or outside. Where a spread value is all 0 or all at its
 * maximum there, it is not spread, and its reader is computed with that number in its place, so that what the mask hides is
 * neither read nor computed. The loop is written three times, so the body must be short, and save something.
 */
enum { MASKED_OPERATIONS = 60 };

ip_expr *ip_masked_body(ip_ir *ir, ip_expr *body, ip_expr *mask, bool is_set)
{
    ip_expr *number = ip_x_int(ir, mask->dtype, is_set ? (int64_t)ip_dtype(mask->dtype)->maximum : 0);
    return ip_put_value(ir, body, mask, number);
}

static bool is_mask(ip_placing *p, const ip_stage *reader, ip_expr *spread)
{
    ip_ir *ir = p->plan->ir;
    int size = ip_x_size(ir, reader->body);
    if (reader->kind != IP_STAGE_MAP || (spread->dtype != IMGPAR_BOOL && spread->dtype != IMGPAR_U8) || size > MASKED_OPERATIONS)
        return false;
    return ip_x_size(ir, ip_masked_body(ir, reader->body, spread, false)) * 2 < size
        || ip_x_size(ir, ip_masked_body(ir, reader->body, spread, true)) * 2 < size;
}

static void spread_value(ip_placing *p, ip_stage *reader, ip_expr *value)
{
    ip_expr *once = value->op == IP_X_LOAD ? value : kept_row(p, reader, value, 1, "what the channels share");
    ip_expr *spread = kept_row(p, reader, once, ip_stage_domain(reader)[3], "the same for each channel");
    reader->body = ip_put_value(p->plan->ir, reader->body, value, spread);
    if (!p->mask && is_mask(p, reader, spread)) {
        p->kernel->placed[p->kernel->n_placed - 1].is_mask = true;
        p->mask = spread;
    }
}

typedef struct occurrence { const ip_expr *value; bool found; } occurrence;

static bool look_for(ip_expr *x, void *user)
{
    occurrence *o = user;
    o->found |= x == o->value;
    return !o->found && x->op != IP_X_LOAD;
}

/* Not where value was made of another one, which has been replaced. */
static bool occurs(ip_ir *ir, ip_expr *body, const ip_expr *value)
{
    occurrence o = { .value = value };
    ip_x_descend(ir, body, look_for, &o);
    return o.found;
}

void ip_place_spread(ip_placing *p, ip_stage *reader)
{
    ip_spread spread;
    p->mask = NULL;
    if ((reader->kind == IP_STAGE_MAP || reader->kind == IP_STAGE_REDUCE)
        && ip_find_spread(p->plan->ir, reader->body, ip_stage_domain(reader)[3], &spread))
        for (int k = 0; k < spread.n; k++)
            if (occurs(p->plan->ir, reader->body, spread.values[k]))
                spread_value(p, reader, spread.values[k]);
}
