/* SPDX-License-Identifier: MIT */
/* Structuring elements of morphology: which neighbours erode() and dilate() look at (element.c). */
#ifndef IP_OPS_ELEMENT_H
#define IP_OPS_ELEMENT_H

#include "graph/array.h"
#include "ir/expr.h"

#include <stdbool.h>
#include <stdint.h>

/* Of sides up to that rows * cols is an int. */
enum { IP_ELEMENT_MOST_RUNS = 1024, IP_ELEMENT_MOST_SIDE = 32767 };

/* Neighbours of one row, by so many rows below: from the column `from` on so many side by side. */
typedef struct ip_element_run {
    int dy, from, length;
} ip_element_run;

typedef struct ip_element {
    int ry, rx; /* how far it reaches up and down, to the left and to the right */
    int n;
    ip_element_run *runs; /* owned */
} ip_element;

/* Whether a node's neighbours are a plain square of "size". */
bool ip_element_is_square(const imgpar_array *node);
/* The node's element, from its parameters size, shape, angle and element. More runs than there may be: counted, not
 * kept (runs is NULL). False: no memory. */
bool ip_element_of(const imgpar_array *node, ip_element *out);
void ip_element_free(ip_element *e);

struct ip_lower;
/* Erosion or dilation, op being IP_X_MIN or IP_X_MAX: stages_element.c. */
struct ip_stage *ip_stages_element(struct ip_lower *l, ip_xop op);

#endif
