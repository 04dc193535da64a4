/* SPDX-License-Identifier: MIT */
/*
 * What the graph, its operations and the compiler ask of layers above them: a table of functions, which api/library.c
 * registers with the first context. Before that there is nothing to ask about, since arrays and values belong to
 * contexts.
 */
#ifndef IP_GRAPH_SERVICES_H
#define IP_GRAPH_SERVICES_H

#include "base/status.h"
#include "imgpar.h"

#include <stdbool.h>

struct ip_value;

/* What a text such as "[1 2 1] / 16" or "1 / 3" is: a list of numbers, a number or true or false. */
typedef struct ip_constant {
    bool is_list, is_bool, fractional;
    int rows, cols;
    double *numbers; /* new, for ip_free() */
} ip_constant;

typedef struct ip_services {
    /* run/ */
    imgpar_context *(*retain_context)(imgpar_context *ctx);
    void (*release_context)(imgpar_context *ctx);
    /* IMGPAR_E_DEVICE_LOST in a process that was forked after ctx was opened: there neither its device nor its locks
     * can be used. */
    imgpar_status (*check_context)(const imgpar_context *ctx, ip_error *err);
    /* The limit on pixels that files are opened with. */
    uint64_t (*max_pixels)(const imgpar_context *ctx);
    /* A number above 0 for a file that is being opened, another one each time. */
    uint64_t (*next_file)(imgpar_context *ctx);
    /* The value that the array keeps, retained; NULL: none. */
    struct ip_value *(*pin_array)(imgpar_array *a);
    struct ip_value *(*retain_value)(struct ip_value *value);
    /* An array has no handles any more, so it is not one of those that keep their values. */
    void (*forget_kept)(imgpar_array *a);
    void (*release_value)(struct ip_value *value); /* NULL is legal */
    /* lang/: what a row of ops/written.def gives for that call */
    imgpar_array *(*expand_written)(const imgpar_array *call);
    /* what a text that touches no files makes of arrays: imgpar_apply_safe() */
    imgpar_array *(*apply)(imgpar_context *ctx, const char *text, imgpar_array *const *arrays, size_t n);
    /* what a text is that names nothing; the error says what is wrong with it */
    imgpar_status (*read_constant)(const char *text, ip_constant *out, ip_error *err);
} ip_services;

/* Takes a table that lives as long as the process. Any number of times, from any thread. */
void ip_services_register(const ip_services *services);
/* The table; NULL before the first context. */
const ip_services *ip_services_get(void);

#endif
