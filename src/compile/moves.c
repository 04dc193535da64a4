/* SPDX-License-Identifier: MIT */
/* Which rows are pixels of others, moved and no more: emit_strided.c, Note [Strided loads]; emit_repeat.c, Note [Copies
 * side by side], Note [Interleaved rows]. */
#include "base/dtype.h"
#include "compile/segments.h"

enum { WORD_BYTES = 8 };

static int64_t pixel_bytes(const ip_site *site, imgpar_dtype dtype)
{
    return site->channels * (int64_t)ip_dtype(dtype)->size_bytes;
}

/* Whether a pixel and what is left out behind it, or its copies, are moved as a word. */
static bool are_words(int64_t pixel, int64_t times)
{
    return (pixel == 1 || pixel == 2 || pixel == 4) && (times == 2 || times == 4) && pixel * times <= WORD_BYTES;
}

/* ---- every n-th pixel ------------------------------------------------------------------------------- */

static bool is_own_pixel(const ip_site *site, const ip_expr *load)
{
    return ip_reads_own_channel(load, site->channels) && load->border == IP_BORDER_NONE;
}

/* The n of every n-th pixel of a row, of which load is one; 0: it is none. */
static int64_t step_of(const ip_site *site, const ip_expr *load, imgpar_dtype stored)
{
    if (load->op != IP_X_LOAD || load->source->kind == IP_STAGE_TABLE || load->source->dtype != stored ||
        stored == IMGPAR_F16)
        return 0;
    int64_t step = ip_x_step(load->arg[2]);
    bool fits =
        step >= IP_LEAST_STEP && step <= IP_MOST_STEP && is_own_pixel(site, load) && ip_x_reads_uniform_row(load);
    return fits ? step : 0;
}

bool ip_takes_several(int channels, imgpar_dtype dtype, int by)
{
    return channels == 3 && dtype == IMGPAR_U8 && by <= 4 * channels;
}

bool ip_fits_strided(const ip_site *site, const ip_placed *p, ip_segment *segment)
{
    const imgpar_dtype stored = p->stage->dtype;
    const int64_t step = step_of(site, segment->within, stored);
    if (!step || !ip_site_vectorises(site)) return false;
    segment->times = (int)step;
    segment->are_words = ip_site_calls_helpers(site) && are_words(pixel_bytes(site, stored), step);
    if (segment->are_words)
        segment->calls |= 1u << IP_IDIOM_STRIDED;
    else if (ip_takes_several(site->channels, stored, segment->times * site->channels))
        segment->calls |= 1u << IP_IDIOM_TAKE;
    return segment->are_words || site->channels == IP_LANES - 1 || site->channels == IP_LANES;
}

/* ---- pixels several times --------------------------------------------------------------------------- */

bool ip_repeats_pixels(const ip_expr *load, int64_t channels)
{
    int64_t times = ip_x_divisor(load->arg[2]);
    return load->source->kind != IP_STAGE_TABLE && load->border == IP_BORDER_NONE &&
           load->source->dtype != IMGPAR_F16 && times >= 2 && times <= IP_FEW_TIMES &&
           ip_reads_own_channel(load, channels) && ip_x_reads_uniform_row(load);
}

/* n, where x is (column mod n == *k) and both stand in the text; 0: it is something else. */
static int64_t phase_of(const ip_expr *x, int64_t *k)
{
    if (x->op != IP_X_EQ || x->arg[1]->op != IP_X_CONST || ip_dtype(x->arg[0]->dtype)->is_float) return 0;
    const ip_expr *rest = x->arg[0];
    while (rest->op == IP_X_CAST)
        rest = rest->arg[0];
    *k = x->arg[1]->i;
    bool is_rest = rest->op == IP_X_MOD && ip_x_is_coord(rest->arg[0], 2) && rest->arg[1]->op == IP_X_CONST;
    return is_rest ? rest->arg[1]->i : 0;
}

/* Sets copies[] to the pixels that body chooses by the column's remainder: emit_repeat.c, Note [Interleaved rows].
 * Returns how many, 0: it does not. */
static int interleaved(const ip_expr *body, int64_t channels, const ip_expr *copies[IP_FEW_TIMES])
{
    int64_t k, n = body->op == IP_X_SELECT ? phase_of(body->arg[0], &k) : 0;
    if (n < 2 || n > IP_FEW_TIMES) return 0;
    for (int phase = 0; phase < n; phase++) {
        const ip_expr *x = body;
        while (x->op == IP_X_SELECT && phase_of(x->arg[0], &k) == n)
            x = phase == k ? x->arg[1] : x->arg[2];
        if (x->op != IP_X_LOAD || x->source->dtype != body->dtype || !ip_repeats_pixels(x, channels)) return 0;
        if (ip_x_divisor(x->arg[2]) != n) return 0;
        copies[phase] = x;
    }
    return (int)n;
}

bool ip_interleaves_pixels(const ip_expr *body, int64_t channels)
{
    const ip_expr *copies[IP_FEW_TIMES];
    return interleaved(body, channels, copies) > 0;
}

/* The same of a body that is one pixel, several times. */
static int repeated(const ip_expr *body, int64_t channels, const ip_expr *copies[IP_FEW_TIMES])
{
    if (body->op != IP_X_LOAD || body->source->dtype != body->dtype || !ip_repeats_pixels(body, channels)) return 0;
    int times = (int)ip_x_divisor(body->arg[2]);
    for (int k = 0; k < times; k++)
        copies[k] = body;
    return times;
}

bool ip_fits_repeat(const ip_site *site, const ip_placed *p, ip_segment *segment)
{
    const ip_expr *body = segment->within;
    const imgpar_dtype stored = p->stage->dtype;
    if (!ip_site_calls_helpers(site) || body->dtype != stored || stored == IMGPAR_F16) return false;
    const int n = interleaved(body, site->channels, segment->copies);
    segment->times = n > 0 ? n : repeated(body, site->channels, segment->copies);
    if (segment->times == 0) return false;
    segment->are_words = n == 0 && are_words(pixel_bytes(site, stored), segment->times);
    if (segment->are_words) segment->calls |= 1u << IP_IDIOM_REPEAT;
    return segment->are_words || site->channels == IP_LANES - 1 || site->channels == IP_LANES || site->channels == 1;
}
