/* SPDX-License-Identifier: MIT */
/*
 * Note [Mixed channels]
 * A weighted sum of the three channels of a pixel of bytes in 32 bits, as gray is: compilers first take the channels apart, then widen each of them to
 * 32 bits, which takes two thirds of the time. Processors that multiply pairs of 16 bits and add them up need neither; compilers do not find
 * that. So helpers.cl has a function for it (ip_mix_pixels()), which makes as many pixels of a row as it can, and the loop makes the rest.
 * Sums are exact, and their shifted values are clamped as the stage says, so both make the same bytes. Nothing is read behind the last pixel that the
 * panel has and the source, so up to 33 pixels before that are left to the loop.
 */
#include "compile/emit.h"

enum { CHANNELS = 3, MOST_WEIGHT = 32767 /* of green, which counts in two pairs, twice that */, MOST_START = INT32_MAX - 4 * MOST_WEIGHT * UINT8_MAX };

/* Whether a load is of a channel of the pixel at the element's own place, the one that the first load reads. */
static bool is_own_pixel(const ip_expr *load, const ip_expr *first)
{
    return load->source->dims[3] == CHANNELS && load->source->dtype == IMGPAR_U8 && load->source == first->source && load->border == IP_BORDER_NONE
        && load->arg[0] == first->arg[0] && load->arg[1] == first->arg[1] && ip_x_is_coord(load->arg[2], 2)
        && ip_x_is_uniform(load->arg[0]) && ip_x_is_uniform(load->arg[1]);
}

/* The channel of a term, which has a weight that is known; -1: it is none. */
static int channel_of(const ip_linear_term *t)
{
    if (!t->weight || t->weight->op != IP_X_CONST || t->window || t->n_loads != 1 || t->load[0]->arg[3]->op != IP_X_CONST)
        return -1;
    int64_t c = t->load[0]->arg[3]->i;
    return c < 0 || c >= CHANNELS || t->weight->i < 0 || t->weight->i > (c == 1 ? 2 : 1) * MOST_WEIGHT ? -1 : (int)c;
}

/* The weights of the channels; false: it is no such sum. */
static bool is_mixed(const ip_stage *s, const ip_linear *form, int64_t weights[CHANNELS])
{
    bool is_shifted = s->dtype == IMGPAR_U8 && form->dtype == IMGPAR_U8 && form->wide == IMGPAR_I32 && form->shift && form->shift->op == IP_X_CONST
        && form->shift->i >= 0 && form->shift->i < 32 && !form->offset;
    bool may_start = !form->start || (form->start->op == IP_X_CONST && form->start->i >= 0 && form->start->i <= MOST_START);
    bool is_seen[CHANNELS] = { false };
    if (!is_shifted || !may_start || form->n_terms != CHANNELS)
        return false;
    for (int k = 0; k < CHANNELS; k++) {
        int c = channel_of(&form->terms[k]);
        if (c < 0 || is_seen[c] || !is_own_pixel(form->terms[k].load[0], form->terms[0].load[0]))
            return false;
        is_seen[c] = true;
        weights[c] = form->terms[k].weight->i;
    }
    return true;
}

const char *ip_emit_mixed(ip_emit *e, const ip_stage *s, ip_expr *body, const char *target, const char *xa, const char *xb)
{
    ip_linear form;
    int64_t w[CHANNELS];
    if (!ip_emit_calls_helpers(e) || e->is_short || e->channels != 1 || !ip_linear_of(e->ir, body, &form) || !is_mixed(s, &form, w))
        return xa;
    const ip_expr *pixel = form.terms[0].load[0];
    const char *mixed = ip_text(e->ir, "mixed%d", e->n_values++);
    const char *end = ip_text(e->ir, "min(%s, %s)", ip_emit_panel_end(e), ip_emit_dim(e, pixel->source, 2));
    ip_s_add(e->ir, e->block, IP_S_LET, "int", mixed,
             ip_text(e->ir, "%s + ip_mix_pixels(%s + %s, %s + (long)%s * 3, %s - %s, %s - %s, %lld, %lld, %lld, %lld, %lld)", xa, target, xa,
                     ip_emit_row_pointer(e, pixel), xa, xb, xa, end, xa, (long long)w[0], (long long)w[1], (long long)w[2],
                     (long long)(form.start ? form.start->i : 0), (long long)form.shift->i));
    return mixed;
}
