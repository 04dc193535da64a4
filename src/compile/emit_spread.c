/* SPDX-License-Identifier: MIT */
/*
 * Note [Spread rows]
 * A row whose pixels have one value in all channels, or in all but the last (spread.c, Note [Spreading]), is made of a
 * row of these values. Compilers store such pixels element by element, four times a pixel. Functions of helpers.cl
 * shuffle vectors of sixteen pixels instead; narrower rows are left to the loop.
 */
#include "base/dtype.h"
#include "compile/emit.h"

/* The value that all channels have, or all but the last, which then is *last. */
static ip_expr *shared_part(ip_expr *body, int channels, ip_expr **last)
{
    *last = NULL;
    if (body->op != IP_X_SELECT) return body;
    const ip_expr *test = body->arg[0];
    bool is_number = test->op == IP_X_EQ && ip_x_is_coord(test->arg[0], 3) && test->arg[1]->op == IP_X_CONST;
    if (!is_number || test->arg[1]->i != channels - 1 || !ip_x_is_uniform(body->arg[1])) return NULL;
    *last = body->arg[1];
    return body->arg[2];
}

static bool has_function(imgpar_dtype dtype)
{
    return dtype == IMGPAR_BOOL || dtype == IMGPAR_U8 || dtype == IMGPAR_U16 || dtype == IMGPAR_I32 ||
           dtype == IMGPAR_F32;
}

/* Whether load reads a row of that dtype that is kept, at the element's own place. */
static bool reads_kept_row(const ip_emit *e, const ip_expr *load, imgpar_dtype dtype)
{
    const ip_placed *placed = load->op == IP_X_LOAD ? ip_kernel_placed(e->kernel, load->source) : NULL;
    return placed && placed->place == IP_PLACE_RING && load->source->dims[3] == 1 && load->source->dtype == dtype &&
           load->dtype == dtype && ip_x_is_coord(load->arg[2], 2);
}

const char *ip_emit_spread_row(ip_emit *e, const ip_columns *c)
{
    const ip_stage *s = c->stage;
    ip_expr *last, *value = shared_part(c->body, e->channels, &last);
    bool may =
        !c->first && ip_emit_calls_helpers(e) && (e->channels == 2 || e->channels == 4) && has_function(s->dtype);
    if (!may || !value || !reads_kept_row(e, value, s->dtype)) return c->from;
    const char *spread = ip_text(e->ir, "spread%d", e->n_values++), *row = ip_emit_row_pointer(e, value);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", spread,
             ip_text(e->ir, "ip_spread_%d_%s(%s, %s, %s, %s, %d, %s)", e->channels, ip_dtype(s->dtype)->cl, c->target,
                     row, c->from, c->to, last != NULL, last ? ip_emit_value(e, last) : "0"));
    return spread;
}
