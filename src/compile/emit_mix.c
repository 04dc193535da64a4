/* SPDX-License-Identifier: MIT */
/*
 * Note [Mixed channels]
 * A weighted sum of the three channels of a pixel of bytes in 32 bits, as gray is: compilers first take the channels
 * apart, then widen each of them to 32 bits, which takes two thirds of the time. Processors that multiply pairs of
 * 16 bits and add them up need neither; compilers do not find that. So helpers.cl has a function for it
 * (ip_mix_pixels()), which makes as many pixels of a row as it can, and the loop makes the rest. Sums are exact, and
 * their shifted values are clamped as the stage says, so both make the same bytes. Nothing is read behind the last
 * pixel that the panel has and the source, so up to 33 pixels before that are left to the loop.
 */
#include "compile/emit.h"
#include "compile/idioms.h"

const char *ip_call_mix(ip_emit *e, const ip_match *m, const ip_columns *c)
{
    const ip_linear *form = &m->form;
    const ip_expr *pixel = form->terms[0].load[0];
    const long long *w = m->weights, start = form->start ? form->start->i : 0, shift = form->shift->i;
    const char *mixed = ip_text(e->ir, "mixed%d", e->n_values++), *from = c->from;
    const char *end = ip_text(e->ir, "min(%s, %s)", ip_emit_panel_end(e), ip_emit_dim(e, pixel->source, 2));
    const char *pixels = ip_text(e->ir, "%s + (long)%s * 3", ip_emit_row_pointer(e, pixel), from);
    ip_emit_let_int(e, mixed,
                    ip_text(e->ir, "%s + ip_mix_pixels(%s + %s, %s, %s - %s, %s - %s, %lld, %lld, %lld, %lld, %lld)",
                            from, c->target, from, pixels, c->to, from, end, from, w[0], w[1], w[2], start, shift));
    return mixed;
}
