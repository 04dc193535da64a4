/* SPDX-License-Identifier: MIT */
/*
 * Coverage that is drawn by the host: how much of each pixel lies under lines, rectangles and areas, from 0 to 255. A
 * pixel has the largest coverage of all that is drawn there. Lines are antialiased by how far away a pixel's middle is,
 * areas are exact.
 *
 *     ip_canvas canvas = { .cover = zeroed, .width = w, .height = h };
 *     ip_canvas_line(&canvas, (ip_point){ 1, 1 }, (ip_point){ 9, 5 }, 2);
 *
 * Places are in pixels from the upper left corner of the canvas; pixel (i, j) has its middle at (i + 0.5, j + 0.5).
 * What lies beyond the canvas is cut off.
 */
#ifndef IP_OPS_CANVAS_H
#define IP_OPS_CANVAS_H

#include "imgpar.h"

#include <stdbool.h>
#include <stddef.h>
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

/* Turned around the origin, clockwise as y goes down; exactly by quarters. */
ip_point ip_point_turned(ip_point p, double degrees);

/* Raises coverage to that of a line with round ends, of a width above 0. */
void ip_canvas_line(const ip_canvas *canvas, ip_point from, ip_point to, double width);
/* A filled rectangle, its edges antialiased. */
void ip_canvas_fill(const ip_canvas *canvas, ip_point upper_left, ip_point lower_right);
void ip_canvas_clear(const ip_canvas *canvas);

/* Straight edges, in any order, that together go around an area. */
typedef struct ip_edge {
    ip_point from, to;
} ip_edge;
typedef struct ip_edges {
    ip_edge *at; /* of ip_alloc() */
    size_t n, room;
    bool failed; /* without memory; nothing is added any more */
} ip_edges;

void ip_edges_add(ip_edges *edges, ip_point from, ip_point to);
void ip_edges_free(ip_edges *edges);
/* Raises coverage to what of each pixel lies inside: where edges go around it, twice as well as once, but not there and
 * back. False without memory. */
bool ip_canvas_area(const ip_canvas *canvas, const ip_edges *edges);
/* Where there is any coverage it becomes more by so much of a pixel's width. */
void ip_canvas_widen(const ip_canvas *canvas, double by);

#endif
