/* SPDX-License-Identifier: MIT */
/*
 * Outlines of letters, from the bytes of a TrueType or OpenType font, by FreeType. The library is loaded when it is
 * first asked for. It scales, hints and draws nothing, so what a font gives is what stands in its tables, whatever
 * version of FreeType reads them.
 *
 *     st = ip_font_open(bytes, n, 0, &font, err);
 *     if (!st) st = ip_font_measure(font, ip_font_glyph(font, 'A'), &measures, err);
 *     if (!st) st = ip_font_walk(font, glyph, &pen, err);
 *     ip_font_close(font);
 *
 * Lengths are in em; x goes to the right and y up. A font belongs to one thread; any number of them may be open.
 */
#ifndef IP_IO_FREETYPE_H
#define IP_IO_FREETYPE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ip_font ip_font;

/* Above and below the baseline, both positive; from one line to the next. */
typedef struct ip_font_lines {
    double ascent, descent, pitch;
} ip_font_lines;

/* Of one glyph: how far the next one is, and the box around its outline and what that is told by. */
typedef struct ip_font_measures {
    double advance, x0, y0, x1, y1;
    bool has_outline;
} ip_font_measures;

/* Takes an outline: contours, each of which ends where it began. */
typedef struct ip_font_pen {
    void (*move)(void *user, const double to[2]);
    void (*line)(void *user, const double to[2]);
    void (*conic)(void *user, const double control[2], const double to[2]);
    void (*cubic)(void *user, const double control[4], const double to[2]);
    void *user;
} ip_font_pen;

/* Whether this library was built with FreeType. */
bool ip_font_is_known(void);
/* bytes are borrowed while the font is open. index: which font of a collection. Messages name no operation.
 * IMGPAR_E_UNSUPPORTED without FreeType, and for fonts without outlines. */
imgpar_status ip_font_open(const void *bytes, size_t n, int index, ip_font **out, ip_error *err);
void ip_font_close(ip_font *font); /* NULL is legal */

ip_font_lines ip_font_lines_of(const ip_font *font);
/* The number of a character's glyph; 0, which is the font's sign for what is missing: it has none. */
uint32_t ip_font_glyph(const ip_font *font, uint32_t character);
/* How much further away the second glyph is behind the first, by the font's table kern. */
double ip_font_kern(const ip_font *font, uint32_t first, uint32_t second);
imgpar_status ip_font_measure(ip_font *font, uint32_t glyph, ip_font_measures *out, ip_error *err);
/* Hands the outline of a glyph to the pen. */
imgpar_status ip_font_walk(ip_font *font, uint32_t glyph, const ip_font_pen *pen, ip_error *err);

#endif
