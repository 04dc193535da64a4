/* SPDX-License-Identifier: MIT */
/*
 * Letters as coverage: the built-in font (glyphs.def), whose strokes have round ends and are antialiased by how far
 * away a pixel's middle is. It is what text_mask() and plot() draw with; it knows nothing of arrays.
 *
 *     ip_canvas canvas = { .cover = zeroed, .width = w, .height = h };
 *     ip_lettering l = { .words = "0.5", .size = 14, .weight = 400, .spacing = 1.2 };
 *     ip_lettering_draw(&l, &canvas, x, y);
 *
 * Places are in pixels from the upper left corner of the canvas; pixel (i, j) has its middle at (i + 0.5, j + 0.5).
 * What lies beyond the canvas is cut off.
 */
#ifndef IP_OPS_GLYPHS_H
#define IP_OPS_GLYPHS_H

#include "imgpar.h"

#include <stdbool.h>
#include <stdint.h>

/* Who is asked now and then whether drawing goes on; after an answer that is not 0 nothing more is drawn. */
typedef struct ip_watch {
    imgpar_status (*ask)(void *user);
    void *user;
    int64_t work; /* since it was asked */
    imgpar_status status;
} ip_watch;

/* Counts work, in about pixels, and asks if that is enough; false: stop. A NULL watch always goes on. */
bool ip_watch_goes_on(ip_watch *watch, int64_t work);

typedef struct ip_canvas {
    unsigned char *cover; /* 0 to 255, rows from top to bottom */
    int64_t width, height;
    ip_watch *watch; /* NULL: nobody is asked */
} ip_canvas;

typedef struct ip_point {
    double x, y;
} ip_point;

/* Raises coverage to that of a line with round ends, of a width above 0. */
void ip_canvas_line(const ip_canvas *canvas, ip_point from, ip_point to, double width);
/* A filled rectangle, its edges antialiased. */
void ip_canvas_fill(const ip_canvas *canvas, ip_point upper_left, ip_point lower_right);
void ip_canvas_clear(const ip_canvas *canvas);

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

/* The size of the box around all lines, turned and grown. */
ip_point ip_lettering_box(const ip_lettering *l);
/* Draws it with the upper left corner of its box at (x, y). */
void ip_lettering_draw(const ip_lettering *l, const ip_canvas *canvas, double x, double y);

#endif
