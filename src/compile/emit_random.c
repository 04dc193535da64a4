/* SPDX-License-Identifier: MIT */
/*
 * Note [Random words]
 * Philox makes four words of a counter at once, the words of four elements that follow each other. Element by element
 * each is made together with the three others, which takes four times as long. So on a CPU words are rows of their own,
 * which no reader takes in (inline_choice.c), and shaders/random.cl makes whole rows of them. A normal number has two
 * words, of a pair of elements; each is a row. (Random numbers take a sixth of the time, normal ones too.)
 */
#include "compile/emit.h"

const char *ip_call_random(ip_emit *e, const ip_match *m, const ip_columns *c)
{
    const ip_random *random = m->stage->random;
    const char *made = ip_text(e->ir, "made%d", e->n_values++);
    ip_emit_let_int(e, made,
                    ip_text(e->ir, "ip_random_words(%s, %s, %s, %d, %s, %s, %s, %s, %d)", c->target, c->from, c->to,
                            (int)m->stage->dims[3], ip_emit_value(e, random->row), ip_emit_value(e, random->stream),
                            ip_emit_value(e, random->key[0]), ip_emit_value(e, random->key[1]), random->pair));
    return made;
}
