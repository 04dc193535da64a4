/* SPDX-License-Identifier: MIT */
/*
 * Every n-th pixel of a row.
 *
 * Note [Strided loads]
 * What slice(step=) makes of a row that is at hand, or in memory, computes nothing: it moves pixels closer together.
 * Compilers put such elements into vectors one by one, or shuffle twice as many vectors as there need be. A pixel of
 * one, two or four bytes and what is left out behind it are a word where they are two or four pixels together: words
 * lie side by side and are narrowed as vectors, as in emit_memory.c, Note [Four channels]. Pixels of three or four
 * channels are moved as four lanes each. The last pixel is moved alone, since nothing need lie behind it.
 */
#include "base/dtype.h"
#include "compile/emit.h"

enum { AT_ONCE = 4 };

/* ---- pixels of lanes -------------------------------------------------------------------------- */

/* The pixels from..to, at_once of them a round. */
static void take_lanes(ip_emit *e, const ip_taking *t, const char *from, const char *to, int at_once, int lanes)
{
    ip_stmt *loop = ip_emit_for(e, "k", from, to);
    loop->d = ip_text(e->ir, "%d", at_once);
    for (int j = 0; j < at_once; j++)
        ip_s_add(e->ir, loop, IP_S_STORE,
                 ip_text(e->ir, "vstore%d(vload%d(0, %s + (k + %d) * %d), 0, %s + (k + %d) * %d)", lanes, lanes,
                         t->from, j, t->by, t->to, j, e->channels),
                 NULL, NULL);
}

/* Where helpers.cl has a function for such steps, which takes several pixels at once: how many it took. */
static const char *taken_at_once(ip_emit *e, const ip_taking *t)
{
    if (!ip_takes_several(e->channels, t->dtype, t->by)) return "0";
    const char *row = t->is_global ? "_row" : "";
    ip_emit_let_int(e, "taken", ip_text(e->ir, "ip_take%s_%d(%s, %s, %s)", row, t->by, t->to, t->from, t->n));
    return "taken";
}

/* Before the last pixel the fourth lane goes where the next one will. Four pixels a round: with one, counting the
 * rounds takes as long as the store. */
void ip_emit_take(ip_emit *e, const ip_taking *t)
{
    const char *taken = taken_at_once(e, t), *last = ip_text(e->ir, "%s - 1", t->n);
    const char *whole_rounds = ip_text(e->ir, "%s + (%s - %s) / %d * %d", taken, last, taken, AT_ONCE, AT_ONCE);
    take_lanes(e, t, taken, whole_rounds, AT_ONCE, IP_LANES);
    take_lanes(e, t, whole_rounds, last, 1, IP_LANES);
    take_lanes(e, t, last, t->n, 1, e->channels);
}

/* ---- words ------------------------------------------------------------------------------------ */

const char *ip_emit_word_of(int64_t bytes)
{
    return bytes == 1 ? "uchar" : bytes == 2 ? "ushort" : bytes == 4 ? "uint" : "ulong";
}

static int64_t pixel_bytes(int channels, const ip_taking *t)
{
    return channels * (int64_t)ip_dtype(t->dtype)->size_bytes;
}

static void take_words(ip_emit *e, const ip_taking *t)
{
    int64_t pixel = pixel_bytes(e->channels, t), word = pixel * t->by / e->channels;
    const char *last = ip_text(e->ir, "%s - 1", t->n);
    ip_mark mark = ip_emit_enter(e, ip_emit_vectors(e, "k", "0", last, e->options->tuning.vector_bytes / (int)word));
    ip_emit_do(e, ip_text(e->ir,
                          "ip_strided_%s_of_%s((__global uchar *)(%s + k * %d), (__global const uchar *)(%s + k * %d))",
                          ip_emit_word_of(pixel), ip_emit_word_of(word), t->to, e->channels, t->from, t->by));
    ip_emit_leave(e, mark);
    for (int c = 0; c < e->channels; c++)
        ip_emit_set(e, ip_text(e->ir, "(%s)[(%s) * %d + %d]", t->to, last, e->channels, c),
                    ip_text(e->ir, "(%s)[(%s) * %d + %d]", t->from, last, t->by, c));
}

/* ---- rows --------------------------------------------------------------------------------------- */

void ip_emit_strided_row(ip_emit *e, const ip_columns *c)
{
    const ip_stage *s = c->stage;
    ip_taking t = { .by = c->segment->times * e->channels, .dtype = s->dtype, .is_global = true };
    const char *type = ip_text(e->ir, "__global %s *", ip_dtype(s->dtype)->cl),
               *const_type = ip_text(e->ir, "__global const %s *", ip_dtype(s->dtype)->cl);
    ip_mark mark = ip_emit_enter(e, ip_emit_if(e, ip_text(e->ir, "%s < %s", c->from, c->to)));
    e->coord[2] = c->from;
    const char *first = ip_text(e->ir, "%s + (long)(%s) * %d", ip_emit_row_pointer(e, c->body),
                                ip_emit_value(e, c->body->arg[2]), e->channels);
    e->coord[2] = NULL;
    ip_emit_let(e, const_type, "first", first);
    ip_emit_let(e, type, "taker", ip_text(e->ir, "%s + %s * %d", c->target, c->from, e->channels));
    ip_emit_let_int(e, "n", ip_text(e->ir, "%s - %s", c->to, c->from));
    t.from = "first";
    t.to = "taker";
    t.n = "n";
    if (c->segment->are_words)
        take_words(e, &t);
    else
        ip_emit_take(e, &t);
    ip_emit_leave(e, mark);
}
