/* SPDX-License-Identifier: MIT */
/*
 * Note [Mixed channels]
 * A weighted sum of the three channels of a pixel of bytes in 32 bits, as gray is: compilers first take the channels apart, then widen each of them to
 * 32 bits, which takes two thirds of the time. Processors that multiply pairs of 16 bits and add them up need neither; compilers do not find
 * that. So helpers.cl has a function for it (ip_mix_pixels()), which makes as many pixels of a row as it can, and the loop makes the rest.
 * Sums are exact, and their shifted values are clamped as the stage says, so both make the same bytes. Nothing is read behind the last pixel that the
 * panel has and the source, so up to 33 pixels before that are left to the loop.
 */
#include "base/dtype.h"
#include "compile/emit.h"

enum { CHANNELS = 3, MOST_WEIGHT = 32767 /* of green, which counts in two pairs, twice that */, MOST_START = INT32_MAX - 4 * MOST_WEIGHT * UINT8_MAX };

/* (sum of weight[c] * channel c + start) >> shift */
typedef struct mix { ip_expr *load[CHANNELS]; int64_t weight[CHANNELS], start, shift; bool fits; } mix;

static const ip_expr *without_casts(const ip_expr *x)
{
    while (x->op == IP_X_CAST && !ip_dtype(x->dtype)->is_float && x->dtype != IMGPAR_BOOL && ip_dtype(x->dtype)->size_bytes <= 4
           && x->arg[0]->lo >= ip_dtype(x->dtype)->minimum && x->arg[0]->hi <= ip_dtype(x->dtype)->maximum)
        x = x->arg[0];
    return x;
}

static bool note_product(mix *m, const ip_expr *x)
{
    ip_expr *load = (ip_expr *)without_casts(x->arg[0]);
    if (x->arg[1]->op != IP_X_CONST || load->op != IP_X_LOAD || load->arg[3]->op != IP_X_CONST)
        return false;
    int64_t c = load->arg[3]->i, weight = x->arg[1]->i, most = c == 1 ? 2 * MOST_WEIGHT : MOST_WEIGHT;
    if (load->source->dims[3] != CHANNELS || load->source->dtype != IMGPAR_U8 || c < 0 || c >= CHANNELS || m->load[c] || weight < 0 || weight > most)
        return false;
    m->load[c] = load;
    m->weight[c] = weight;
    return true;
}

static bool note_sum(mix *m, const ip_expr *x)
{
    if (x->op == IP_X_ADD)
        return note_sum(m, x->arg[0]) && note_sum(m, x->arg[1]);
    if (x->op == IP_X_MUL)
        return note_product(m, x);
    m->start += x->op == IP_X_CONST ? x->i : 0;
    return x->op == IP_X_CONST;
}

/* The channels of one pixel, which stands at the element's own place. */
static bool is_one_pixel(ip_emit *e, const mix *m)
{
    for (int c = 0; c < CHANNELS; c++) {
        const ip_expr *load = m->load[c];
        if (!load || load->source != m->load[0]->source || load->arg[0] != m->load[0]->arg[0] || load->arg[1] != m->load[0]->arg[1])
            return false;
        if (!ip_x_is_coord(load->arg[2], 2) || load->border != IP_BORDER_NONE || (load->arg[0]->uses | load->arg[1]->uses) & (IP_USES_X | IP_USES_C))
            return false;
    }
    return !ip_kernel_texture(e->kernel, m->load[0]->source);
}

static mix mix_of(ip_emit *e, const ip_stage *s, const ip_expr *body)
{
    mix m = { .fits = false };
    const ip_expr *shifted = (body->op == IP_X_SATURATE || body->op == IP_X_CAST) && body->dtype == IMGPAR_U8 ? body->arg[0] : NULL;
    bool may = shifted && s->dtype == IMGPAR_U8 && shifted->dtype == IMGPAR_I32 && shifted->op == IP_X_SHR && shifted->arg[1]->op == IP_X_CONST
        && (body->op == IP_X_SATURATE || (shifted->lo >= 0 && shifted->hi <= UINT8_MAX));
    if (!may)
        return m;
    m.shift = shifted->arg[1]->i;
    m.fits = note_sum(&m, shifted->arg[0]) && m.start >= 0 && m.start <= MOST_START && m.shift >= 0 && m.shift < 32 && is_one_pixel(e, &m);
    return m;
}

const char *ip_emit_mixed(ip_emit *e, const ip_stage *s, ip_expr *body, const char *target, const char *xa, const char *xb)
{
    if (!ip_emit_calls_helpers(e) || e->is_short || e->channels != 1)
        return xa;
    mix m = mix_of(e, s, body);
    if (!m.fits)
        return xa;
    const char *mixed = ip_text(e->ir, "mixed%d", e->n_values++);
    const char *end = ip_text(e->ir, "min(%s, %s)", ip_emit_panel_end(e), ip_emit_dim(e, m.load[0]->source, 2));
    ip_s_add(e->ir, e->block, IP_S_LET, "int", mixed,
             ip_text(e->ir, "%s + ip_mix_pixels(%s + %s, %s + (long)%s * 3, %s - %s, %s - %s, %lld, %lld, %lld, %lld, %lld)", xa, target, xa,
                     ip_emit_row_pointer(e, m.load[0]), xa, xb, xa, end, xa, (long long)m.weight[0], (long long)m.weight[1], (long long)m.weight[2],
                     (long long)m.start, (long long)m.shift));
    return mixed;
}
