/* SPDX-License-Identifier: MIT */
/*
 * Note [Upsampling rows]
 * A row of bytes that gets longer, pixel by pixel of two that stand beside each other: what a few pixels are made of
 * lies within 16 bytes. So a processor takes it out of one vector for all of them, by places that are computed as it
 * goes, where compilers read every pixel by itself. Processors that permute 64 bytes (emit_lookup.c, Note [Tables in
 * registers]) make up to 16 pixels so, and read their places and weights at once. Sums are those of emit_dot.c, Note
 * [Dot products].
 * shaders/upsample.cl makes as many pixels as read nothing behind the row and no table's end; the rest, a few, or all
 * on processors of other kinds, are made as they were.
 */
#include "base/dtype.h"
#include "compile/emit.h"
#include "compile/idioms.h"

const char *ip_call_upsample(ip_emit *e, const ip_match *m, const ip_columns *c)
{
    const ip_linear *form = &m->form;
    const ip_expr *load = form->terms[0].load[0];
    const char *rest = ip_text(e->ir, "rest%d", e->n_values++), *row = ip_emit_row_pointer(e, load);
    const char *width = ip_emit_dim(e, load->source, 2), *to = ip_dtype(m->stage->dtype)->cl;
    const char *start = ip_emit_addend(e, form->start), *shift = ip_emit_value(e, form->shift);
    const char *offset = ip_emit_addend(e, form->offset);
    const char *factors = ip_emit_slot_of(e, IP_SLOT_TABLE, m->factors);
    const char *columns = ip_emit_slot_of(e, IP_SLOT_TABLE, m->columns);
    ip_emit_let_int(e, rest,
                    ip_text(e->ir, "ip_upsample_%d_%s(%s, %s, %s * %d, P + %s, P + %s, %s, %s, %s, %s & 31, %s)",
                            e->channels, to, c->target, row, width, e->channels, columns, factors, c->from, c->to,
                            start, shift, offset));
    return rest;
}
