/* SPDX-License-Identifier: MIT */
/* Rows of values that the channels of a pixel share, or that their numbers tell: broadcast.c, Note [Broadcasting]. */
#include "compile/placing.h"

#include "base/dtype.h"

typedef struct replacing {
    const ip_expr *value;
    ip_expr *with;
} replacing;

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
    ip_stage *s = ip_added_stage(p, value->dtype, dims, reader->node);
    if (!s || !ip_add_placed(p, s, value, false)) return NULL;
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
    if (!s) return value;
    ip_expr *at[4];
    for (int k = 0; k < 4; k++)
        at[k] = k < 3 || channels > 1 ? ip_x_coord(ir, k, s->dims[k]) : ip_x_int(ir, IMGPAR_I32, 0);
    return ip_x_load(ir, s, at, IP_BORDER_NONE, NULL);
}

/*
 * Note [Masks]
 * A mask is mostly the same for a whole row of a strip: inside or outside. Where a broadcast value is all 0 or all at
 * its maximum there, it is not broadcast, and its reader is computed with that number in its place, so that what the
 * mask hides is neither read nor computed. The loop is written three times, so the body must be short, and save
 * something.
 */
enum { MASKED_OPERATIONS = 60 };

ip_expr *ip_masked_body(ip_ir *ir, ip_expr *body, ip_expr *mask, bool is_set)
{
    ip_expr *number = ip_x_int(ir, mask->dtype, is_set ? (int64_t)ip_dtype(mask->dtype)->maximum : 0);
    return ip_put_value(ir, body, mask, number);
}

static bool is_mask(ip_placing *p, const ip_stage *reader, ip_expr *body, ip_expr *broadcast)
{
    ip_ir *ir = p->plan->ir;
    int size = ip_x_size(ir, body);
    if (reader->kind != IP_STAGE_MAP || (broadcast->dtype != IMGPAR_BOOL && broadcast->dtype != IMGPAR_U8) ||
        size > MASKED_OPERATIONS)
        return false;
    return ip_x_size(ir, ip_masked_body(ir, body, broadcast, false)) * 2 < size ||
           ip_x_size(ir, ip_masked_body(ir, body, broadcast, true)) * 2 < size;
}

static ip_expr *put_channel(ip_ir *ir, ip_expr *x, void *user)
{
    return ip_x_is_coord(x, 3) ? ip_x_int(ir, IMGPAR_I32, *(int *)user) : x;
}

static ip_expr *of_channel(ip_ir *ir, ip_expr *value, int c) { return ip_x_map_values(ir, value, put_channel, &c); }

/* value, which differs by the channel's number, from a row of what all channels but the last share, where the last is
 * the same in all columns: the form that is written in vectors (emit_broadcast.c). Else value itself. */
static ip_expr *but_for_last(ip_placing *p, const ip_stage *reader, ip_expr *value)
{
    ip_ir *ir = p->plan->ir;
    int last = (int)ip_stage_domain(reader)[3] - 1;
    ip_expr *first = of_channel(ir, value, 0), *of_last = of_channel(ir, value, last);
    bool fits = !(of_last->uses & IP_USES_X) && first->uses & IP_USES_X;
    for (int c = 1; c < last && fits; c++)
        fits = of_channel(ir, value, c) == first;
    if (!fits) return value;
    ip_expr *once = first->op == IP_X_LOAD ? first : kept_row(p, reader, first, 1, "what the channels share");
    ip_expr *is_last = ip_x_binary(ir, IP_X_EQ, ip_x_coord(ir, 3, last + 1), ip_x_int(ir, IMGPAR_I32, last));
    return ip_x_select(ir, is_last, of_last, once);
}

static void broadcast_value(ip_placing *p, const ip_stage *reader, ip_expr **body, ip_expr *value)
{
    ip_expr *once = value, *broadcast;
    if (value->uses & IP_USES_C)
        once = but_for_last(p, reader, value);
    else if (value->op != IP_X_LOAD)
        once = kept_row(p, reader, value, 1, "what the channels share");
    const char *note = once->uses & IP_USES_C ? "by the channel's number" : "the same for each channel";
    broadcast = kept_row(p, reader, once, ip_stage_domain(reader)[3], note);
    *body = ip_put_value(p->plan->ir, *body, value, broadcast);
    if (!p->mask && is_mask(p, reader, *body, broadcast)) {
        p->kernel->placed[p->kernel->n_placed - 1].is_mask = true;
        p->mask = broadcast;
    }
}

typedef struct occurrence {
    const ip_expr *value;
    bool found;
} occurrence;

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

/* What is made of others comes first, and takes its own with it. */
static void sort_by_size(ip_broadcast *broadcast)
{
    for (int k = 1; k < broadcast->n; k++)
        for (int i = k; i > 0 && broadcast->values[i - 1]->id < broadcast->values[i]->id; i--) {
            ip_expr *later = broadcast->values[i];
            broadcast->values[i] = broadcast->values[i - 1];
            broadcast->values[i - 1] = later;
        }
}

void ip_place_broadcast(ip_placing *p, const ip_stage *reader, ip_expr **body)
{
    ip_broadcast broadcast;
    p->mask = NULL;
    if ((reader->kind != IP_STAGE_MAP && reader->kind != IP_STAGE_REDUCE) ||
        !ip_find_broadcast(p->plan->ir, *body, ip_stage_domain(reader)[3], &broadcast))
        return;
    sort_by_size(&broadcast);
    for (int k = 0; k < broadcast.n; k++)
        if (occurs(p->plan->ir, *body, broadcast.values[k])) broadcast_value(p, reader, body, broadcast.values[k]);
}
