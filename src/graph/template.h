/* SPDX-License-Identifier: MIT */
/*
 * A graph that was made of arrays once, to be made again of others of the same types without asking what made it.
 *
 *     ip_template *t;
 *     if (!ip_template_new(made, arrays, n, &t)) ...                       no memory
 *     imgpar_array *again = t ? ip_template_make(t, ctx, others, n) : NULL;    NULL: ask what made it
 *
 * What makes a graph of arrays decides by their types: shape, dtype, space, white. That is compared, so a template is
 * nothing but a shorter way: it gives the graph that was to be made. Where more could have been looked at there is no
 * template: arrays that are no leaves of elements, or have metadata; rows that look at elements to know their type
 * (IP_OP_LOOKS), loops, branches, files and kernels of the user. A template never changes and belongs to no context, so
 * any thread may use it.
 */
#ifndef IP_GRAPH_TEMPLATE_H
#define IP_GRAPH_TEMPLATE_H

#include "graph/array.h"

typedef struct ip_template ip_template;

/* *out: one reference; NULL: of this graph there is no template. False: there is no memory for it. */
bool ip_template_new(imgpar_array *made, imgpar_array *const *arrays, size_t n, ip_template **out);
ip_template *ip_template_retain(ip_template *t);
void ip_template_release(ip_template *t); /* NULL is legal */
/* The graph of these arrays, all of context ctx; a new handle, of an error array without memory. NULL: the arrays are
 * others than those before. */
imgpar_array *ip_template_make(const ip_template *t, imgpar_context *ctx, imgpar_array *const *arrays, size_t n);

#endif
