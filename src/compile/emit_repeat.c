/* SPDX-License-Identifier: MIT */
/*
 * Rows of pixels that are repeated.
 *
 * Note [Copies side by side]
 * Where pixel x of a row is pixel x div n of another one, as repeat() makes it, a loop over x would divide and gather.
 * This one goes over the pixels that are read, and writes each n times: of one, two or four bytes as a word of n of
 * them, which compilers make vectors of; of one channel else, element by element; of three or four channels as four
 * lanes, of which the fourth is written over by what follows. What is left of a pixel at the ends of a strip is made
 * element by element. A row that is only a part of what an element is made of is made by itself first
 * (place_repeats.c).
 *
 * Note [Interleaved rows]
 * Where an element is pixel x div n of one of several rows, which of them x mod n tells, as in
 *
 *     select(x % 2 == 0, repeat(even, 2, axis=1), repeat(odd, 2, axis=1))
 *
 * the copies are of different rows, and no row of copies is made of any.
 */
#include "base/dtype.h"
#include "compile/emit.h"

typedef struct repeating {
    int times;
    int64_t pixel; /* bytes */
    bool is_interleaved;
    const char *from[IP_FEW_TIMES], *to;
} repeating;

static void store(ip_emit *e, const char *to, const char *from) { ip_emit_set(e, to, from); }

/* Pixels from xa to low, and from high to xb, that begin and end a strip within copies of one. */
static void make_ends(ip_emit *e, const repeating *r, const ip_columns *c)
{
    ip_stmt *ends = ip_emit_for(e, "end", "0", "2");
    ip_stmt *loop = ip_s_add(e->ir, ends, IP_S_FOR, "x", ip_text(e->ir, "end ? high * %d : %s", r->times, c->from),
                             ip_text(e->ir, "(end ? %s : min(low * %d, %s))", c->to, r->times, c->to));
    ends->parallel = loop->parallel = IP_FEW;
    ip_mark mark = ip_emit_enter(e, loop);
    for (int k = 0; k < e->channels; k++) {
        const char *at = ip_text(e->ir, "[x / %d * %d + %d]", r->times, e->channels, k);
        const char *value = ip_text(e->ir, "%s%s", r->from[0], at);
        for (int phase = 1; phase < r->times && r->is_interleaved; phase++)
            value = ip_text(e->ir, "(x %% %d == %d ? %s%s : %s)", r->times, phase, r->from[phase], at, value);
        ip_emit_store(e, c->stage, c->target, ip_text(e->ir, "x * %d + %d", e->channels, k), value);
    }
    ip_emit_leave(e, mark);
}

static void make_words(ip_emit *e, const repeating *r)
{
    int64_t word = r->pixel * r->times;
    ip_mark mark =
        ip_emit_enter(e, ip_emit_vectors(e, "q", "low", "high", e->options->tuning.vector_bytes / (int)word));
    store(e,
          ip_text(e->ir, "ip_repeat_%s_as_%s((__global uchar *)(%s + q * %d), (__global const uchar *)(%s + q * %d))",
                  ip_emit_word_of(r->pixel), ip_emit_word_of(word), r->to, r->times * e->channels, r->from[0],
                  e->channels),
          NULL);
    ip_emit_leave(e, mark);
}

/* Elements of one channel, whatever their size and number. */
static void make_elements(ip_emit *e, const repeating *r)
{
    ip_mark mark =
        ip_emit_enter(e, ip_emit_vectors(e, "q", "low", "high", e->options->tuning.vector_bytes / (int)r->pixel));
    for (int k = 0; k < r->times; k++)
        store(e, ip_text(e->ir, "%s[q * %d + %d]", r->to, r->times, k), ip_text(e->ir, "%s[q]", r->from[k]));
    ip_emit_leave(e, mark);
}

static void make_lanes(ip_emit *e, const repeating *r, const char *from, const char *to, int lanes)
{
    ip_stmt *loop = ip_emit_for(e, "q", from, to);
    ip_mark mark = ip_emit_enter(e, loop);
    for (int k = 0; k < r->times; k++)
        store(e,
              ip_text(e->ir, "vstore%d(vload%d(0, %s + q * %d), 0, %s + (q * %d + %d) * %d)", lanes, lanes, r->from[k],
                      e->channels, r->to, r->times, k, e->channels),
              NULL);
    ip_emit_leave(e, mark);
}

void ip_emit_repeat_row(ip_emit *e, const ip_columns *c)
{
    const ip_segment *segment = c->segment;
    repeating r = { .times = segment->times,
                    .pixel = e->channels * (int64_t)ip_dtype(c->stage->dtype)->size_bytes,
                    .is_interleaved = segment->copies[0] != segment->copies[1],
                    .to = c->target };
    for (int k = 0; k < r.times; k++)
        r.from[k] = k > 0 && !r.is_interleaved ? r.from[0] : ip_emit_row_pointer(e, segment->copies[k]);
    ip_mark mark = ip_emit_enter(e, ip_s_add(e->ir, e->block, IP_S_BLOCK, NULL, NULL, NULL));
    ip_emit_let_int(e, "low", ip_text(e->ir, "(%s + %d) / %d", c->from, r.times - 1, r.times));
    ip_emit_let_int(e, "high", ip_text(e->ir, "max(%s / %d, low)", c->to, r.times));
    if (segment->are_words) {
        make_words(e, &r);
    } else if (e->channels == 1) {
        make_elements(e, &r);
    } else {
        make_lanes(e, &r, "low", "high - 1", IP_LANES);
        make_lanes(e, &r, "max(high - 1, low)", "high", e->channels);
    }
    make_ends(e, &r, c);
    ip_emit_leave(e, mark);
}
