/* SPDX-License-Identifier: MIT */
/*
 * Adjoints of linear algebra, as the language writes them. With a the matrices of an input, v the result and g what
 * each of its elements counts for, all [places, rows, columns], a text gives what those of the input count for. It is
 * built over placeholders and lowered at once, these standing for stages: so what it is made of fuses, and has
 * gradients.
 *
 * The formulas: M. Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation
 * (2008); of the Cholesky factor I. Murray, Differentiation of the Cholesky decomposition (2016); of qr S. Walter and
 * L. Lehmann, Algorithmic differentiation of linear algebra functions (2010); of svd J. Townsend, Differentiating the
 * singular value decomposition (2016); of pinv G. Golub and V. Pereyra (1973). Values that are equal, of eigh and svd,
 * have no vectors of their own: between them nothing is counted.
 */
#include "ops/adjoint.h"

#include "graph/services.h"
#include "ops/build.h"
#include "ops/coverage.h"
#include "ops/linalg.h"

#include <stdio.h>
#include <string.h>

enum { MOST_NODES = 160, MOST_TEXT = 2048 };

/* ---- texts --------------------------------------------------------------------------------------- */

/* half: 1 below the diagonal, 0.5 on it, 0 above. of_lower(u): of what only the lower triangle is read.
 * All has three axes: of a picture and a matrix of two the matrix would be that of each channel. */
#define HALF                                                       \
    "half = reshape(tril(ones([n, n])) - eye(n) / 2, [1, n, n])\n" \
    "fn of_lower(u) = (u + t(u)) * half\n"
/* one over the differences of the numbers d, [places, 1, count], 0 where there is none */
#define BETWEEN                                                  \
    "fn unit(u) = reshape(eye(u), [1, u, u])\n"                  \
    "fn between(d) = select(d - t(d) == 0, 0, 1 / (d - t(d)))\n" \
    "fn part(u, from, p, q) = reshape(slice(u, from, from + p * q, axis=-1), [-1, p, q])\n"

static const struct {
    const char *of[2]; /* what its inputs count for */
} texts[] = {
    [IP_LINALG_DET] = { { "g * v * t(matinv(a))" } },
    [IP_LINALG_INVERSE] = { { "0 - matmul(matmul(t(v), g), t(v))" } },
    [IP_LINALG_SOLVE] = { { "h = solve(one ? transpose(reshape(a, [n, n])) : t(a), g)\n"
                            "u = 0 - matmul(h, t(v))\n"
                            "one ? sum(u, axis=0, keepdims=true) : u",
                            "solve(one ? transpose(reshape(a, [n, n])) : t(a), g)" } },
    [IP_LINALG_CHOLESKY] = { { HALF "inv = matinv(v)\n"
                                    "s = matmul(matmul(t(inv), matmul(t(v), select(half > 0, g, 0)) * half), inv)\n"
                                    "of_lower(s)" } },
    [IP_LINALG_LSTSQ] = { { "p = pinv(a)\n"
                            "h = matmul(t(p), g)\n"
                            "u = matmul(b - matmul(a, v), t(matmul(p, h))) - matmul(h, t(v))\n"
                            "one ? sum(u, axis=0, keepdims=true) : u",
                            "matmul(t(pinv(a)), g)" } },
    [IP_LINALG_QR] = { { HALF BETWEEN "half_k = slice(half, [0, 0, 0], [1, k, k])\n"
                                      "q = part(v, 0, m, k)\n"
                                      "r = part(v, m * k, k, n)\n"
                                      "gr = part(g, m * k, k, n)\n"
                                      "sq = slice(r, 0, k, axis=2)\n"
                                      "gs = select(t(half_k) > 0, slice(gr, 0, k, axis=2), 0)\n"
                                      "rest = slice(gr, k, n, axis=2)\n"
                                      "gq = part(g, 0, m, k) + (n > k ? matmul(slice(a, k, n, axis=2), t(rest)) : 0)\n"
                                      "w = (matmul(sq, t(gs)) - matmul(t(gq), q)) * half_k\n"
                                      "of_sq = matmul(gq + matmul(q, w + t(w)), t(matinv(sq)))\n"
                                      "n > k ? concatenate(of_sq, matmul(q, rest), axis=2) : of_sq" } },
    [IP_LINALG_EIGH] = { { HALF BETWEEN "values = part(v, 0, 1, n)\n"
                                        "vectors = part(v, n, n, n)\n"
                                        "inner = part(g, 0, 1, n) * unit(n) + between(values) * matmul(t(vectors), "
                                        "part(g, n, n, n))\n"
                                        "of_lower(matmul(matmul(vectors, inner), t(vectors)))" } },
    [IP_LINALG_SVD] = { { BETWEEN "s = part(v, 0, 1, k)\n"
                                  "left = part(v, k, m, k)\n"
                                  "right = part(v, k + m * k, k, n)\n"
                                  "g_left = part(g, k, m, k)\n"
                                  "g_right = part(g, k + m * k, k, n)\n"
                                  "over_s = select(s == 0, 0, 1 / s)\n"
                                  "in_left = matmul(t(left), g_left)\n"
                                  "in_right = matmul(g_right, t(right))\n"
                                  "f = between(s * s)\n"
                                  "p = f * in_left\n"
                                  "q = f * t(in_right)\n"
                                  "inner = (p + t(p)) * s + t(s) * (q + t(q)) + part(g, 0, 1, k) * unit(k)\n"
                                  "matmul(matmul(left, inner) + (g_left - matmul(left, in_left)) * over_s, right)"
                                  " + matmul(left, t(over_s) * (g_right - matmul(in_right, right)))" } },
    [IP_LINALG_PINV] = { { "h = t(g)\n"
                           "u = matmul(h, matmul(v, t(v)))\n"
                           "w = matmul(matmul(t(v), v), h)\n"
                           "u - matmul(a, matmul(v, u)) + w - matmul(matmul(w, v), a) - matmul(matmul(t(v), g), "
                           "t(v))" } },
};

/* ---- a graph as stages ----------------------------------------------------------------------------- */

typedef struct graph {
    ip_lower *l;
    int n;
    const imgpar_array *nodes[MOST_NODES];
    ip_stage *stages[MOST_NODES];
} graph;

static void know(graph *g, const imgpar_array *node, ip_stage *stage)
{
    if (g->n == MOST_NODES) return; /* then it is lowered once more */
    g->nodes[g->n] = node;
    g->stages[g->n++] = stage;
}

/* Texts are short, so their graphs are not deep. */
static ip_stage *stage_of(graph *g, const imgpar_array *node)
{
    ip_stage *in[4];
    for (int k = 0; k < g->n; k++)
        if (g->nodes[k] == node) return g->stages[k];
    if (node->n_inputs > 4 || !node->op->lower) return ip_lower_fail(g->l, IMGPAR_E_INTERNAL, "no stage");
    for (int k = 0; k < node->n_inputs; k++)
        if (!(in[k] = stage_of(g, node->inputs[k]))) return NULL;
    ip_lower l = { .ir = g->l->ir, .node = node, .in = in, .dtype = node->type.dtype, .err = g->l->err };
    ip_type_dims(&node->type, l.dims);
    ip_stage *s = ip_lower_row(&l);
    if (s) know(g, node, s);
    return s;
}

/* ---- matrices ---------------------------------------------------------------------------------------- */

static ip_type matrices(const ip_opaque *o, int64_t places, int64_t rows, int64_t columns)
{
    return (ip_type){ .dtype = o->dtype, .space = IMGPAR_SPACE_DATA, .rank = 3, .shape = { places, rows, columns } };
}

/* The elements of a stage in their order, in other dims. */
static ip_stage *in_dims(ip_adjoints *a, ip_stage *s, const int64_t dims[4])
{
    ip_expr *at[4], *to[4];
    if (!s || memcmp(s->dims, dims, sizeof s->dims) == 0) return s;
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(a->l->ir, d, dims[d]);
    ip_adjoint_place(a, ip_adjoint_number(a, dims, at), s->dims, to);
    return ip_adjoint_stage(a, dims, ip_adjoint_load(a, s, to), "matrices");
}

/* A placeholder that stands for a stage. */
static imgpar_array *stand_in(ip_adjoints *a, graph *g, ip_stage *s, const ip_type *type)
{
    int64_t dims[4];
    ip_type_dims(type, dims);
    imgpar_array *array = ip_build_placeholder(a->l->node->ctx, type);
    ip_stage *stage = in_dims(a, s, dims);
    if (stage) know(g, array, stage);
    return array;
}

static void of_input(ip_adjoints *a, ip_stage *s, ip_stage *own, int input)
{
    const ip_opaque *o = s->opaque;
    const int64_t *z = o->sizes, m = z[IP_LA_M], n = z[IP_LA_N], matrices_a = z[IP_LA_MATRICES];
    const bool one = z[IP_LA_SIDES] != z[IP_LA_K];
    const int64_t of_a = (int64_t)ip_dims_count(s->dims), columns = o->n_inputs > 1 ? z[IP_LA_K] : n;
    const int64_t places = o->n_inputs > 1 ? of_a / (n * columns) : matrices_a, each = of_a / places;
    const bool is_vector = z[IP_LA_METHOD] == IP_LINALG_QR || z[IP_LA_METHOD] == IP_LINALG_EIGH ||
                           z[IP_LA_METHOD] == IP_LINALG_SVD || z[IP_LA_METHOD] == IP_LINALG_DET;
    const int64_t width = is_vector ? each : z[IP_LA_METHOD] == IP_LINALG_PINV ? m : columns;
    const ip_type types[] = { matrices(o, matrices_a, m, n), matrices(o, places, m, columns),
                              matrices(o, places, each / width, width) };
    const char *formula = texts[z[IP_LA_METHOD]].of[input];
    char text[MOST_TEXT];
    snprintf(text, sizeof text,
             "m = %d\nn = %d\nk = %d\none = %s\nfn t(u) = permute(u, [0 2 1])\na = $1\nv = $2\ng = $3\n%s%s", (int)m,
             (int)n, (int)(m < n ? m : n), one ? "true" : "false", o->n_inputs > 1 ? "b = $4\n" : "", formula);
    graph g = { .l = a->l };
    const int first = a->l->ir->n_stages, n_arrays = o->n_inputs > 1 ? 4 : 3;
    imgpar_array *arrays[4] = { stand_in(a, &g, o->inputs[0], &types[0]), stand_in(a, &g, s, &types[2]),
                                stand_in(a, &g, own, &types[2]) };
    if (n_arrays == 4) arrays[3] = stand_in(a, &g, o->inputs[1], &types[1]);
    imgpar_array *result = ip_services_get()->apply(a->l->node->ctx, text, arrays, (size_t)n_arrays);
    ip_stage *part = NULL;
    if (!result->op)
        ip_fail(a->l->err, result->status, "grad: %s", result->message);
    else
        part = in_dims(a, stage_of(&g, result), o->inputs[input]->dims);
    for (int k = first; k < a->l->ir->n_stages; k++) { /* whose own nodes go */
        a->l->ir->stages[k]->node = a->l->node;
        a->l->ir->stages[k]->n_absorbed = 0;
    }
    if (part) ip_adjoint_add(a, o->inputs[input], part);
    imgpar_array_release(result);
    for (int k = 0; k < n_arrays; k++)
        imgpar_array_release(arrays[k]);
}

void ip_adjoint_of_linalg(ip_adjoints *a, const ip_stage *s, ip_stage *own)
{
    for (int k = 0; k < s->opaque->n_inputs && !ip_adjoint_failed(a); k++)
        if (ip_adjoint_wants(a, s->opaque->inputs[k])) of_input(a, a->l->ir->stages[s->id], own, k);
}
