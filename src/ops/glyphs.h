/* SPDX-License-Identifier: MIT */
/*
 * Letters as coverage: the built-in font (glyphs.def), drawn as lines with round ends. It is what text_mask() and
 * plot() draw with; it knows nothing of arrays. Fonts of files are typeset.h's.
 *
 *     ip_canvas canvas = { .cover = zeroed, .width = w, .height = h };
 *     ip_lettering l = { .words = "0.5", .size = 14, .weight = 400, .spacing = 1.2 };
 *     ip_lettering_draw(&l, &canvas, x, y);
 */
#ifndef IP_OPS_GLYPHS_H
#define IP_OPS_GLYPHS_H

#include "ops/canvas.h"

/* In the order of the words "left|centre|center|right". */
typedef enum ip_align { IP_ALIGN_LEFT, IP_ALIGN_CENTRE, IP_ALIGN_CENTER, IP_ALIGN_RIGHT } ip_align;

typedef struct ip_lettering {
    const char *words; /* UTF-8; lines end with \n, a tab goes to the next eighth column of spaces */
    double size;       /* of what is called the em: from one line to the next it is spacing times that */
    double weight;     /* 400 is regular, 700 bold: strokes are size * weight / 5000 wide */
    double spacing;
    ip_align align;
    double angle; /* degrees, clockwise, around the middle of the box */
    double grow;  /* strokes are wider by so much on either side, and the box larger */
} ip_lettering;

/* The next character of a text in UTF-8, which does not end here; what is no UTF-8 is an unknown one for each byte. */
enum { IP_UNKNOWN_CHARACTER = 0xfffd };
uint32_t ip_next_character(const char **at);

/* The size of the box around all lines, turned and grown. */
ip_point ip_lettering_box(const ip_lettering *l);
/* Draws it with the upper left corner of its box at (x, y). */
void ip_lettering_draw(const ip_lettering *l, const ip_canvas *canvas, double x, double y);

#endif
