/* SPDX-License-Identifier: MIT */
/* Structuring elements: which neighbours morphology and rank filters look at (element.c). */
#ifndef IP_OPS_ELEMENT_H
#define IP_OPS_ELEMENT_H

#include "graph/array.h"
#include "ir/expr.h"

#include <stdbool.h>
#include <stdint.h>

/* MOST_SIDE: of sides up to this, rows * cols of an element is an int. */
enum { IP_ELEMENT_MOST_RUNS = 1024, IP_ELEMENT_MOST_SIDE = 32767 };

/* Neighbours of a line, a row or a column of the element: from `from` on so many side by side. Places are counted from
 * the element's first row and column. */
typedef struct ip_element_run {
    int line, from, length;
} ip_element_run;

typedef struct ip_element {
    int ry, rx;        /* how far it reaches up and down, to the left and to the right */
    unsigned char *on; /* owned; 2 ry + 1 rows of 2 rx + 1: whether each neighbour is one of it */
} ip_element;

/* Whether a node's neighbours are a plain square of "size". */
bool ip_element_is_square(const imgpar_array *node);
/* The node's element, from its parameters size, shape, angle and element. False: no memory. */
bool ip_element_of(const imgpar_array *node, ip_element *out);
void ip_element_free(ip_element *e);
/* How many neighbours it has. */
int64_t ip_element_count(const ip_element *e);
/* How many runs its rows have, or its columns, which go to *runs unless it is NULL. */
int ip_element_runs(const ip_element *e, bool of_columns, ip_element_run *runs);
/* Whether the node's element, if it is given, has a neighbour and sides up to that. */
imgpar_status ip_element_check(const imgpar_array *node, int most_side, ip_error *err);

struct ip_lower;
/* Erosion or dilation, op being IP_X_MIN or IP_X_MAX: stages_element.c. */
struct ip_stage *ip_stages_element(struct ip_lower *l, ip_xop op);

#endif
