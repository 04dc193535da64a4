/* SPDX-License-Identifier: MIT */
/*
 * Note [Broadcast rows]
 * A row whose pixels have one value in all channels, or in all but the last (broadcast.c, Note [Broadcasting]), is made
 * of a row of these values. Compilers store such pixels element by element, four times a pixel. Functions of helpers.cl
 * shuffle vectors of sixteen pixels instead; narrower rows are left to the loop.
 */
#include "base/dtype.h"
#include "compile/emit.h"

const char *ip_call_broadcast_values(ip_emit *e, const ip_match *m, const ip_columns *c)
{
    const char *broadcast = ip_text(e->ir, "broadcast%d", e->n_values++), *row = ip_emit_row_pointer(e, m->value);
    ip_emit_let_int(e, broadcast,
                    ip_text(e->ir, "ip_broadcast_%d_%s(%s, %s, %s, %s, %d, %s)", e->channels,
                            ip_dtype(m->stage->dtype)->cl, c->target, row, c->from, c->to, m->last != NULL,
                            m->last ? ip_emit_value(e, m->last) : "0"));
    return broadcast;
}
