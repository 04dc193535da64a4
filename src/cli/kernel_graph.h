/* SPDX-License-Identifier: MIT */
/* The kernels that compute something, drawn as SVG: what they read and write between them, layer below layer. */
#ifndef IMGPAR_CLI_KERNEL_GRAPH_H
#define IMGPAR_CLI_KERNEL_GRAPH_H

#include "json.h"

#include <stdbool.h>
#include <stdio.h>

/* kernels: the list of that name in what --explain=json says; number: of the graph on its page, from 1. False: there is
 * no memory. */
bool kernel_graph(FILE *out, const json *kernels, int number);

#endif
