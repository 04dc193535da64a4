/* SPDX-License-Identifier: MIT */
/*
 * Erosions and dilations by any structuring element.
 *
 * Note [Runs of an element]
 * Of each row of the element every run of n neighbours side by side is the extreme of two that overlap: from its first
 * neighbour and up to its last, each 2^k of them, k as large as fits. The extremes of 2^k side by side are made in
 * steps over the input with a margin, each of two of the step before, and serve all rows. So a disc of 41 x 41 takes 5
 * steps and 82 reads of their results, where it has 1,257 neighbours.
 */
#include "ops/element.h"
#include "ops/infer.h"
#include "ops/lower.h"

#include "base/alloc.h"
#include "base/dtype.h"

enum { Y = 1, X = 2, MOST_STEPS = 15 }; /* 2^14 fits into IP_ELEMENT_MOST_SIDE, 2^15 does not */

typedef struct steps {
    ip_lower *l;
    ip_xop op;
    ip_element element;
    int n;
    ip_element_run *runs;     /* of its rows; owned */
    int64_t dims[4];          /* with the margin */
    ip_stage *of[MOST_STEPS]; /* extremes of 2^k from each element on; those that are missing are NULL */
} steps;

static ip_expr *moved(const steps *s, int dim, const int64_t dims[4], int64_t by)
{
    return ip_x_binary(s->l->ir, IP_X_ADD, ip_x_coord(s->l->ir, dim, dims[dim]), ip_lower_i32(s->l, by));
}

/* stage, of the margin's size, so far below and to the right; in the domain dims. */
static ip_expr *read_at(const steps *s, ip_stage *stage, const int64_t dims[4], int64_t dy, int64_t dx)
{
    ip_expr *at[] = { ip_x_coord(s->l->ir, 0, dims[0]), moved(s, Y, dims, dy), moved(s, X, dims, dx),
                      ip_x_coord(s->l->ir, 3, dims[3]) };
    return ip_x_load(s->l->ir, stage, at, IMGPAR_BORDER_REPLICATE, NULL);
}

static bool margin(steps *s)
{
    ip_lower *l = s->l;
    ip_stage *in = l->in[0];
    ip_expr *cval, *at[] = { ip_x_coord(l->ir, 0, s->dims[0]), moved(s, Y, s->dims, -s->element.ry),
                             moved(s, X, s->dims, -s->element.rx), ip_x_coord(l->ir, 3, s->dims[3]) };
    int border = ip_lower_border(l, in->dtype, &cval);
    ip_expr *x = ip_x_load(l->ir, in, at, border, cval);
    if (x && x->dtype == IMGPAR_BOOL) x = ip_x_cast(l->ir, IMGPAR_U8, x);
    s->of[0] = x ? ip_lower_stage_sized(l, s->dims, x->dtype, x, "with a margin") : NULL;
    return s->of[0] != NULL;
}

static int step_of(int length)
{
    int k = 0;
    while (2 << k <= length)
        k++;
    return k;
}

static ip_stage *extremes(steps *s, int k)
{
    for (int have = 1; have <= k; have++) {
        if (s->of[have]) continue;
        ip_stage *half = s->of[have - 1];
        ip_expr *x = ip_x_binary(s->l->ir, s->op, read_at(s, half, s->dims, 0, 0),
                                 read_at(s, half, s->dims, 0, (int64_t)1 << (have - 1)));
        s->of[have] = ip_lower_stage_sized(s->l, s->dims, x->dtype, x, "extremes side by side");
        if (!s->of[have]) return NULL;
    }
    return s->of[k];
}

/* The extreme over a run, for an element of the node. */
static ip_expr *over_run(steps *s, const ip_element_run *run)
{
    const int k = step_of(run->length);
    const int64_t *dims = s->l->dims, down = run->line, first = run->from;
    ip_stage *stage = extremes(s, k);
    if (!stage) return NULL;
    ip_expr *x = read_at(s, stage, dims, down, first);
    if (run->length == 1 << k) return x;
    return ip_x_binary(s->l->ir, s->op, x, read_at(s, stage, dims, down, first + run->length - (1 << k)));
}

static ip_stage *over_runs(steps *s)
{
    ip_expr *x = NULL;
    for (int k = 0; k < s->n; k++) {
        ip_expr *run = over_run(s, &s->runs[k]);
        if (!run) return NULL;
        x = x ? ip_x_binary(s->l->ir, s->op, x, run) : run;
    }
    return ip_lower_map(s->l, x);
}

ip_stage *ip_stages_element(ip_lower *l, ip_xop op)
{
    steps s = { .l = l, .op = op };
    if (ip_element_of(l->node, &s.element)) {
        s.n = ip_element_runs(&s.element, false, NULL);
        s.runs = ip_alloc_array((size_t)s.n, sizeof *s.runs);
    }
    if (!s.runs) {
        ip_element_free(&s.element);
        return ip_lower_fail(l, IMGPAR_E_HOST_MEMORY, "out of host memory");
    }
    ip_element_runs(&s.element, false, s.runs);
    const int64_t dims[] = { l->dims[0], l->dims[1] + 2 * s.element.ry, l->dims[2] + 2 * s.element.rx, l->dims[3] };
    for (int k = 0; k < 4; k++)
        s.dims[k] = dims[k];
    ip_stage *result = margin(&s) ? over_runs(&s) : NULL;
    ip_free(s.runs);
    ip_element_free(&s.element);
    return result;
}

imgpar_status ip_infer_extreme(imgpar_array *node, ip_error *err)
{
    ip_infer_copy(node);
    if (ip_element_is_square(node)) return IMGPAR_OK;
    ip_element e;
    const char *name = node->op->info.name;
    imgpar_status st = ip_element_check(node, IP_ELEMENT_MOST_SIDE, err);
    if (st) return st;
    if (!ip_element_of(node, &e)) return ip_fail_memory(err, name);
    const int n = ip_element_runs(&e, false, NULL);
    ip_element_free(&e);
    if (n <= IP_ELEMENT_MOST_RUNS) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_ARGUMENT,
                   "%s: the rows of element have %d runs of neighbours side by side; at most %d", name, n,
                   IP_ELEMENT_MOST_RUNS);
}
