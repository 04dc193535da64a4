/* SPDX-License-Identifier: MIT */
/*
 * Rows of what is looked up in a small table.
 *
 * Note [Lookups in blocks]
 * Processors gather elements of 32 and 64 bits only. Of bytes and shorts a loop of vectors takes each index out of its
 * vector and puts each element into one, which takes longer than the lookup. So a block of the row is made by two
 * loops: one of vectors, which makes the indices, as narrow as they are, and one that reads an index and its element
 * and stores that.
 *
 * Note [Tables in registers]
 * A table of few bytes fits into vectors, of which some processors take elements by their indices, for 64 of them at
 * once: shaders/lookup.cl, where 256 bytes, or 1024 by indices of 16 bits, are held. Those with AVX2 do for 32 indices
 * of a row of 16 bytes, which is asked of all rows of 256. It makes what it can of a block, the loop of lookups the
 * rest.
 */
#include "base/dtype.h"
#include "compile/emit.h"

#include <string.h>

enum { BLOCK = 1024, LANES = 64, AT_ONCE = 8 };

/* Elements k to k + n of a block that begins at element `first` of the row. */
static void look_up(ip_emit *e, const ip_columns *c, const char *indices, const char *first, int n)
{
    const char *table = ip_emit_row_pointer(e, c->body), *names[AT_ONCE];
    for (int k = 0; k < n; k++) {
        names[k] = ip_text(e->ir, "v%d", e->n_values++);
        ip_emit_let(e, ip_cl_type(c->stage->dtype), names[k], ip_text(e->ir, "%s[%s[k + %d]]", table, indices, k));
    }
    for (int k = 0; k < n; k++)
        ip_emit_store(e, c->stage, c->target, ip_text(e->ir, "%s + k + %d", first, k), names[k]);
}

/* Calls what has tables in registers; how many elements of a block of n it has made. */
static const char *call_look_up(ip_emit *e, const ip_columns *c, const char *indices, const ip_stage *index,
                                const char *first, const char *n)
{
    if (!(c->segment->calls >> IP_IDIOM_LOOK_UP & 1)) return "0";
    const char *made = ip_text(e->ir, "made%d", e->n_values++);
    ip_emit_let_int(e, made,
                    ip_text(e->ir, "ip_look_up_%s((__global uchar *)(%s + %s), %s, %s, (__global const uchar *)%s, %s)",
                            ip_cl_type(index->dtype), c->target, first, indices, n, ip_emit_row_pointer(e, c->body),
                            ip_emit_dim(e, c->body->source, 2)));
    return made;
}

/* `made` of the n elements of the block there are. */
static void look_up_block(ip_emit *e, const ip_columns *c, const char *indices, const char *made, const char *first,
                          const char *n)
{
    const char *const from[] = { made, ip_text(e->ir, "%s - %s %% %d", n, n, AT_ONCE) }, *const to[] = { from[1], n };
    for (int rest = 0; rest < 2; rest++) {
        ip_stmt *loop = ip_emit_for(e, "k", from[rest], to[rest]);
        loop->d = ip_text(e->ir, "%d", rest ? 1 : AT_ONCE);
        loop->parallel = IP_FEW;
        ip_mark mark = ip_emit_enter(e, loop);
        look_up(e, c, indices, first, rest ? 1 : AT_ONCE);
        ip_emit_leave(e, mark);
    }
}

void ip_emit_lookup_row(ip_emit *e, const ip_columns *c)
{
    const int pixels = BLOCK / e->channels / LANES * LANES, number = e->n_values++;
    const char *q = ip_text(e->ir, "q%d", number), *end = ip_text(e->ir, "end%d", number),
               *indices = ip_text(e->ir, "at%d", number), *n = ip_text(e->ir, "n%d", number);
    ip_stage index = { .kind = IP_STAGE_MAP, .dtype = c->segment->part->dtype };
    ip_stmt *blocks = ip_emit_for(e, q, c->from, c->to);
    blocks->d = ip_text(e->ir, "%d", pixels);
    blocks->parallel = IP_FEW;
    ip_mark mark = ip_emit_enter(e, blocks);
    ip_emit_let_int(e, end, ip_text(e->ir, "min(%s + %d, %s)", q, pixels, c->to));
    ip_emit_var(e, ip_cl_type(index.dtype), ip_text(e->ir, "%s[%d]", indices, BLOCK), NULL);
    memcpy(index.dims, c->stage->dims, sizeof index.dims);
    ip_emit_plain_row(e, &(ip_columns){ .stage = &index,
                                        .body = c->segment->part,
                                        .elements = c->elements,
                                        .target = indices,
                                        .from = q,
                                        .to = end,
                                        .first = ip_text(e->ir, "%s * %d", q, e->channels) });
    ip_emit_let_int(e, n, ip_text(e->ir, "(%s - %s) * %d", end, q, e->channels));
    const char *first = ip_text(e->ir, "%s * %d", q, e->channels);
    look_up_block(e, c, indices, call_look_up(e, c, indices, &index, first, n), first, n);
    ip_emit_leave(e, mark);
}
