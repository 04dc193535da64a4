/* SPDX-License-Identifier: MIT */
/*
 * Index maps: what a load's index along one axis does with the coordinates of the element that reads. This is the one
 * place where indices are classified. There are two views of them:
 *
 *   - that of a run, in which numbers that are arguments of a kernel (offsets of crop, extents) count with the values
 *     they have: the map, and its inverse on boxes, of a box of elements the interval of the source that they read. So
 *     demand is exact though no program's text knows those numbers.
 *   - that of a program's text, to which an argument is any number of its range.
 *
 *     ip_span rows;
 *     if (ip_index_span(load->arg[1], &box, &rows))
 *         rows = ip_border_span(load->border, rows, load->source->dims[1]);
 *     ... load reads rows rows.lo to rows.hi of load->source, both included
 */
#ifndef IP_IR_INDEX_MAP_H
#define IP_IR_INDEX_MAP_H

#include "ir/stage.h"

/* ---- in a run: arguments have their values ------------------------------------------------- */

/* Whole numbers from lo to hi, both included. */
typedef struct ip_span {
    int64_t lo, hi;
} ip_span;

/* Elements of a domain: an interval along each of z y x c, none of them empty. */
typedef struct ip_box {
    ip_span axis[4];
} ip_box;

/* In the order of what they can do: FIXED and OFFSET are special cases of AFFINE, AFFINE of STEPS. */
typedef enum ip_map_kind {
    IP_MAP_FIXED,  /* the same for all elements */
    IP_MAP_OFFSET, /* a coordinate plus an offset; a window's taps may be part of it */
    IP_MAP_AFFINE, /* a sum of multiples of coordinates and an offset: slice(step=), flip, diag, a decimating filter */
    IP_MAP_STEPS,  /* floor divisions, remainders, choices, clamps, tables of positions: repeat, tile, circshift, resize
                    */
    IP_MAP_GATHER  /* it depends on what is read, or on more than is known here */
} ip_map_kind;

typedef struct ip_index_map {
    ip_map_kind kind;
    int64_t step[4];     /* FIXED to AFFINE: what each coordinate is multiplied by */
    int64_t first, last; /* the rest, over all taps of a window */
} ip_index_map;

ip_index_map ip_index_map_of(const ip_expr *index);
/* The sum of multiples of coordinates that index is for all elements of box, of which its clamps and border rules then
 * choose one side, and in which nothing wraps. Box NULL: for all elements there are; what wraps is then looked for at
 * casts only. False: it is none, map->kind is GATHER. */
bool ip_index_affine(const ip_expr *index, const ip_box *box, ip_index_map *map);

/* Of FIXED to AFFINE: a + times * b into *a, but for its kind; the smallest interval that holds all of a box. False:
 * numbers are too large. */
bool ip_index_map_add(ip_index_map *a, const ip_index_map *b, int64_t times);
bool ip_index_map_span(const ip_index_map *map, const ip_box *box, ip_span *span);
bool ip_index_map_is_same(const ip_index_map *a, const ip_index_map *b);
/* All elements of a domain; empty extents have one. */
ip_box ip_box_of(const int64_t dims[4]);

/* The smallest interval that holds index for all elements of box; larger only where two parts of index depend on one
 * coordinate in ways that neither a sum of multiples, nor a remainder, nor a choice tells. False: a gather. */
bool ip_index_span(const ip_expr *index, const ip_box *box, ip_span *span);
/* What x, a number of any dtype, is for the element at a place, computed as a host does. False: it depends on what is
 * read, or on functions. */
bool ip_index_number(const ip_expr *x, const int64_t place[4], double *number);
/* The elements in 0..extent - 1 that an interval of indices comes to by a border rule; extent > 0. For CONSTANT the
 * nearest element counts as read, since kernels may read it and not use it; so it does for IP_BORDER_NONE, of which
 * nothing lies outside. */
ip_span ip_border_span(int border, ip_span span, int64_t extent);

/* ---- the reader's own elements ----------------------------------------------------------------- */

/* Whether load reads, along axis, what has the reader's coordinate there, of a source as long as the reader. */
bool ip_reads_own_index(const ip_expr *load, int axis, int64_t extent);
/* The same along all four axes: the reader's own element. */
bool ip_reads_own_element(const ip_expr *load, const int64_t domain[4]);
/* Whether load reads the channel that the reader's element is of; where there is one, 0 may stand for it. */
bool ip_reads_own_channel(const ip_expr *load, int64_t channels);

/* ---- in a program's text: arguments are any numbers -------------------------------------------- */

typedef enum ip_index_kind {
    IP_INDEX_UNIT,  /* COORD(axis) + an offset in [lo, hi] (a window's taps: lo < hi) */
    IP_INDEX_FIXED, /* the same for all elements: constant or uniform */
    IP_INDEX_OTHER  /* anything else: a gather */
} ip_index_kind;
typedef struct ip_index {
    ip_index_kind kind;
    int axis;   /* UNIT */
    int lo, hi; /* UNIT: offsets */
    bool uses_tap;
} ip_index;
ip_index ip_x_classify(const ip_expr *index);
/* x's value minus the coordinate along axis: what is added to it, if that does not depend on coordinates 2 and 3;
 * else NULL. */
ip_expr *ip_x_offset_from(ip_ir *ir, ip_expr *x, int axis);
/* The k of a column k x + a constant or an argument; 0: it is none of those. */
int64_t ip_x_step(const ip_expr *column);
/* The k of a column x div k; 0: it is none. */
int64_t ip_x_divisor(const ip_expr *column);

#endif
