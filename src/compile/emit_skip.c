/* SPDX-License-Identifier: MIT */
/*
 * Rows of which most elements need little.
 *
 * Note [Skipped blocks]
 * Loops of vectors compute both sides of a choice. Where one side is much and the other next to nothing, as of what is
 * looked for among pixels that are above a threshold, a block of the row is looked through first: if the condition is
 * the same throughout, and the one that needs little, the block's elements are computed with that in its place. So
 * what is rare costs little more than the looking, and blocks that have it are computed as they were before.
 */
#include "base/dtype.h"
#include "compile/emit.h"

enum { SKIP_COLUMNS = 64 };

/* Whether the block [from, to) has an element that needs more: declares a variable that tells. */
static const char *look_through(ip_emit *e, const ip_columns *c, const ip_skip *skip)
{
    const char *any = ip_text(e->ir, "any%d", e->n_values++);
    const bool is_flat = e->channels > 1;
    const char *from = is_flat ? ip_text(e->ir, "%s * %d", c->from, e->channels) : c->from;
    const char *to = is_flat ? ip_text(e->ir, "%s * %d", c->to, e->channels) : c->to;
    ip_emit_var(e, "uchar", any, "0");
    ip_stmt *loop = ip_emit_for(e, is_flat ? "i" : "x", from, to);
    loop->parallel = IP_REDUCTION;
    loop->vector_width = skip->width;
    loop->is_whole = true;
    ip_mark mark = ip_emit_enter(e, loop);
    *(is_flat ? &e->flat : &e->coord[2]) = is_flat ? "i" : "x";
    if (!is_flat) e->coord[3] = "0";
    ip_expr *condition = skip->condition;
    ip_emit_count_uses(e, &condition, 1);
    const char *value = ip_emit_value(e, condition);
    ip_emit_set(e, any, ip_text(e->ir, skip->holds ? "%s | !(%s)" : "%s | (%s)", any, value));
    e->flat = e->coord[2] = e->coord[3] = NULL;
    ip_emit_leave(e, mark);
    return any;
}

void ip_emit_skip_row(ip_emit *e, const ip_columns *c)
{
    const ip_skip *skip = &c->segment->skip;
    const int number = e->n_values++;
    ip_columns block = *c;
    block.from = ip_text(e->ir, "q%d", number);
    block.to = ip_text(e->ir, "end%d", number);
    ip_stmt *blocks = ip_emit_for(e, block.from, c->from, c->to);
    blocks->d = ip_text(e->ir, "%d", SKIP_COLUMNS);
    blocks->parallel = IP_FEW;
    ip_mark mark = ip_emit_enter(e, blocks);
    ip_emit_let_int(e, block.to, ip_text(e->ir, "min(%s + %d, %s)", block.from, SKIP_COLUMNS, c->to));
    const char *any = look_through(e, &block, skip);
    for (int all = 1; all >= 0; all--) {
        ip_mark within = ip_emit_enter(e, ip_emit_if(e, ip_text(e->ir, all ? "%s" : "!%s", any)));
        block.body = all ? c->body : skip->left;
        block.elements = all ? c->elements : &skip->elements;
        ip_emit_plain_row(e, &block);
        ip_emit_leave(e, within);
    }
    ip_emit_leave(e, mark);
}
