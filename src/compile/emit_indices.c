/* SPDX-License-Identifier: MIT */
/*
 * Rows that read at places which are read themselves.
 *
 * Note [Indices in blocks]
 * Where gathers are slow, as AVX2's are, compilers read the elements of a vector one by one, and what their indices are
 * made of, too, since each index is to be a number by itself: pixels of bytes are then put together channel by channel.
 * So a block of the row is made by two loops of vectors: one makes the indices, in their own bits, and the other one
 * reads them, and finds each in memory. (A picture of bytes that is equalized by the luminance of its colours takes a
 * fifth less CPU time.)
 */
#include "base/dtype.h"
#include "compile/emit.h"

enum { BLOCK = 512 };

/* The indices of pixels p to end, as arrays. */
static void make_indices(ip_emit *e, const ip_places *places, const char *const *arrays, const char *p, const char *end)
{
    ip_mark mark = ip_emit_enter(e, ip_emit_vectors(e, "x", p, end, places->shared_width));
    e->coord[2] = "x";
    ip_emit_count_uses(e, places->shared, places->n_shared);
    for (int k = 0; k < places->n_shared; k++)
        ip_emit_set(e, ip_text(e->ir, "%s[x - %s]", arrays[k], p), ip_emit_variable(e, places->shared[k]));
    e->coord[2] = NULL;
    ip_emit_leave(e, mark);
}

void ip_emit_indices_row(ip_emit *e, const ip_columns *c)
{
    const ip_places *places = c->segment->places;
    const char *arrays[IP_MOST_INDICES];
    const int number = e->n_values++;
    const char *p = ip_text(e->ir, "q%d", number), *end = ip_text(e->ir, "end%d", number);
    ip_stmt *blocks = ip_emit_for(e, p, c->from, c->to);
    blocks->d = ip_text(e->ir, "%d", BLOCK);
    blocks->parallel = IP_FEW;
    ip_mark mark = ip_emit_enter(e, blocks);
    ip_emit_let_int(e, end, ip_text(e->ir, "min(%s + %d, %s)", p, BLOCK, c->to));
    for (int k = 0; k < places->n_shared; k++) {
        arrays[k] = ip_text(e->ir, "at%d", e->n_values++);
        ip_emit_var(e, ip_cl_type(places->shared[k]->dtype), ip_text(e->ir, "%s[%d]", arrays[k], BLOCK), NULL);
    }
    make_indices(e, places, arrays, p, end);
    for (int k = 0; k < places->n_shared; k++)
        ip_emit_name(e, places->shared[k], ip_text(e->ir, "%s[x - %s]", arrays[k], p));
    ip_columns block = *c;
    block.from = p;
    block.to = end;
    ip_emit_plain_row(e, &block);
    ip_emit_leave(e, mark);
}
