/* SPDX-License-Identifier: MIT */
/*
 * From arrays to values: branches, then loops, then compile, decode, upload, launch. The one
 * door to all of it.
 */
#ifndef IP_RUN_EVALUATE_H
#define IP_RUN_EVALUATE_H

#include "graph/choices.h"
#include "run/context.h"
#include "run/launch.h"
#include "run/value.h"

/* Who computes. */
typedef enum ip_computing {
    IP_BY_DEVICE, /* the context's devices, or the interpreter where it has none */
    IP_BY_REF,    /* the interpreter, whatever the device */
    IP_BY_EITHER  /* as the first, but for what is not compiled yet: Note [Tiers] in tier.c */
} ip_computing;
/* values[k] gets the value of arrays[k], a new reference. None of the arrays is an error. */
imgpar_status ip_evaluate(imgpar_context *ctx, imgpar_array *const *arrays, size_t n, const imgpar_options *options,
                          ip_computing by, ip_value **values, ip_error *err);

/* The same of a graph whose branches that are decided are `choices`; profiles that differ are not told of. */
imgpar_status ip_evaluate_decided(imgpar_context *ctx, imgpar_array *const *arrays, size_t n,
                                  const imgpar_options *options, ip_computing by, const ip_choices *choices,
                                  ip_value **values, ip_error *err);
/* The same where the numbers below the arrays were looked at (usable.c). */
imgpar_status ip_evaluate_looked_at(imgpar_context *ctx, imgpar_array *const *arrays, size_t n,
                                    const imgpar_options *options, ip_computing by, const ip_choices *choices,
                                    ip_value **values, ip_error *err);

/* A graph that is evaluated again and again while nothing changes but the values of its placeholders: the step of a
 * loop. It is planned once, unless there are loops in it. */
typedef struct ip_step {
    imgpar_array *const *arrays, *const *placeholders; /* borrowed */
    size_t n;
    int n_placeholders;
    int times;                     /* steps that one evaluation takes; then arrays are as many as placeholders */
    const ip_choices *choices;     /* branches that are decided (branches.c) */
    struct ip_evaluation *planned; /* NULL: not yet */
    bool is_for_ref;               /* what was planned */
} ip_step;
/* As ip_evaluate() of the step's arrays. */
imgpar_status ip_evaluate_step(imgpar_context *ctx, ip_step *step, const imgpar_options *options, bool use_ref,
                               ip_value **values, ip_error *err);
/* Lets go of what was planned. */
void ip_step_end(ip_step *step);
/* How many steps of the loop are taken at once, steps.c; 1: each by itself. */
int ip_steps_at_once(imgpar_context *ctx, const ip_loop *loop);
/* Whether the interpreter runs the steps of the loop, since they are quicker there than a launch: steps.c, Note [Steps
 * on the host]. */
bool ip_steps_on_host(imgpar_context *ctx, const ip_loop *loop);
/* Whether a step runs a loop that the carried values change; true, too, without memory to find out. */
bool ip_loop_nests(const ip_loop *loop);

/* As ip_evaluate() of one array by either, but that its rows may go to taker; then *value is NULL. */
struct ip_row_taker;
imgpar_status ip_evaluate_rows(imgpar_context *ctx, imgpar_array *a, const imgpar_options *options,
                               struct ip_row_taker *taker, ip_value **value, ip_error *err);
/* As ip_evaluate() of one array, into dst, which has room for it. The kernels write there where the device shares
 * memory, so that nothing is copied; else it is copied. */
imgpar_status ip_evaluate_into(imgpar_context *ctx, imgpar_array *a, void *dst, const imgpar_options *options,
                               ip_computing by, ip_error *err);

/* The elements of a SOURCE stage's node that has no value yet: decoded or borrowed. */
imgpar_status ip_source_value(imgpar_context *ctx, const ip_runner *runner, const imgpar_array *node, ip_value **out,
                              ip_error *err);
/* Whether the context has the pixels of the file or blob that node opens. */
bool ip_source_is_decoded(imgpar_context *ctx, const imgpar_array *node);
/* Tells what decoding has warned of, a line each, and frees it. */
void ip_report_warnings(const ip_runner *runner, ip_str *warnings);
/* Nodes that keep the value they have or get (held.h), and the value each had when it was added; NULL: none yet. */
typedef struct ip_held {
    imgpar_array **nodes;
    ip_value **values;
    size_t n, capacity;
} ip_held;
/* Runs the loops below the arrays, of branches that are decided those below the side that is taken; *out, which is
 * empty before, holds their values for the evaluation that needs them. */
imgpar_status ip_loops_run(imgpar_context *ctx, imgpar_array *const *arrays, size_t n, const imgpar_options *options,
                           bool use_ref, const ip_choices *choices, ip_held *out, ip_error *err);
/* *loops: from ip_alloc, borrowed ones, each once: the loops that arrays without values are made of, those of their
 * steps after them. */
imgpar_status ip_loops_find(imgpar_array *const *arrays, size_t n, ip_loop ***loops, size_t *n_loops, ip_error *err);

/* Fills in a poll and a clock for options (NULL is legal); device NULL: what it reports is done by the host. */
void ip_runner_init(ip_runner *runner, ip_device *device, const imgpar_options *options);

#endif
