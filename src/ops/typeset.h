/* SPDX-License-Identifier: MIT */
/*
 * Words in a font that came from a file: lines of letters, their box, and their coverage on a canvas. Letters are set
 * one after the other, from left to right, by their advances and the font's kerning; nothing is shaped or hinted. The
 * built-in font is glyphs.h's.
 *
 *     ip_typeset t = { .font = font, .words = "Hello", .size = 24, .spacing = NAN };
 *     st = ip_typeset_box(&t, &box, err);
 *     if (!st) st = ip_typeset_draw(&t, &canvas, err);     (of box.x times box.y pixels)
 */
#ifndef IP_OPS_TYPESET_H
#define IP_OPS_TYPESET_H

#include "io/freetype.h"
#include "ops/glyphs.h"

typedef struct ip_typeset {
    ip_font *font;
    const char *words; /* UTF-8; lines end with \n, a tab goes to the next eighth column of spaces */
    double size;       /* of an em, in pixels */
    double spacing;    /* from one line to the next, in em; NaN: as the font tells */
    ip_align align;
    double angle; /* degrees, clockwise, around the middle of the box */
    double grow;  /* letters reach further by so much on all sides, and the box by that in whole pixels */
} ip_typeset;

/* The size of the box around all lines and what of letters reaches beyond them, turned and grown, in whole pixels. */
imgpar_status ip_typeset_box(const ip_typeset *t, ip_point *box, ip_error *err);
/* Draws it with the upper left corner of its box at that of the canvas, which nothing else was drawn on. */
imgpar_status ip_typeset_draw(const ip_typeset *t, const ip_canvas *canvas, ip_error *err);

#endif
