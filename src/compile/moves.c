/* SPDX-License-Identifier: MIT */
/* Which rows are pixels of others, moved and no more: emit_pick.c, Note [Picks]; emit_repeat.c, Note [Copies side by
 * side]. */
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

bool ip_fits_pick(const ip_site *site, const ip_placed *p, ip_segment *segment)
{
    const imgpar_dtype stored = p->stage->dtype;
    const int64_t step = step_of(site, segment->within, stored);
    if (!step || !site->options->pragmas || site->options->checks || site->kernel->schedule != IP_SCHEDULE_ROWS)
        return false;
    segment->times = (int)step;
    segment->are_words = ip_site_calls_helpers(site) && are_words(pixel_bytes(site, stored), step);
    if (segment->are_words)
        segment->calls |= 1u << IP_IDIOM_PICK;
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

bool ip_fits_repeat(const ip_site *site, const ip_placed *p, ip_segment *segment)
{
    const ip_expr *load = segment->within;
    const imgpar_dtype stored = p->stage->dtype;
    if (!ip_site_calls_helpers(site) || load->op != IP_X_LOAD || load->source->dtype != stored ||
        stored == IMGPAR_F16 || !ip_repeats_pixels(load, site->channels))
        return false;
    segment->times = (int)ip_x_divisor(load->arg[2]);
    segment->are_words = are_words(pixel_bytes(site, stored), segment->times);
    if (segment->are_words) segment->calls |= 1u << IP_IDIOM_REPEAT;
    return segment->are_words || site->channels == IP_LANES - 1 || site->channels == IP_LANES || site->channels == 1;
}
