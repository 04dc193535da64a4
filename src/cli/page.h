/* SPDX-License-Identifier: MIT */
/* The page of --report: what was found out, written as one file of HTML that is XML, too. */
#ifndef IMGPAR_CLI_PAGE_H
#define IMGPAR_CLI_PAGE_H

#include "facts.h"
#include "profile.h"

#include <imgpar.h>
#include <stdbool.h>
#include <stdio.h>

/* An input, or a stage: what it is called, how it is made, what becomes of it. "" where there is nothing to say. */
typedef struct page_item {
    char *title, *expr, *note;
    facts facts;
} page_item;

typedef struct page_items {
    page_item *items;
    size_t n, n_left_out;
    char problem[600]; /* why there are none; "" */
} page_items;

typedef struct page {
    const char *name, *text; /* of the pipeline */
    char *const *settings;   /* NAME=VALUE */
    int n_settings;
    const char *printed; /* what the run printed */
    page_items inputs, stages;
    char *explained[4]; /* as text, graph, cl and json; for imgpar_free(), or NULL */
    const profile *times;
    double wall_ms, opening_ms, copy_gb_per_s; /* 0: not known */
    const imgpar_context *ctx;
} page;

enum { EXPLAINED_TEXT, EXPLAINED_GRAPH, EXPLAINED_CL, EXPLAINED_JSON, N_EXPLAINED };

/* False: out of memory. Errors of out are its own. */
bool page_write(FILE *out, const page *p);

#endif
