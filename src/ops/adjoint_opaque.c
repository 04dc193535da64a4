/* SPDX-License-Identifier: MIT */
/* Adjoints of hand-written kernels: Fourier transforms, products of matrices, ranks within windows, sorted and
 * scattered elements. Those of linear algebra: adjoint_linalg.c. */
#include "ops/adjoint.h"

#include "base/dtype.h"
#include "ops/fft.h"
#include "ops/keys.h"
#include "ops/matmul.h"
#include "ops/nth.h"
#include "ops/rank.h"
#include "ops/scatter.h"
#include "ops/sort.h"

#include <string.h>

static ip_expr *binary(ip_adjoints *a, ip_xop op, ip_expr *x, ip_expr *y) { return ip_x_binary(a->l->ir, op, x, y); }

static bool wants(const ip_adjoints *a, const ip_opaque *o, int input)
{
    return input < o->n_inputs && ip_adjoint_wants(a, o->inputs[input]);
}

/* ---- Fourier transforms --------------------------------------------------------------------- */

/* The inverse of n elements is the conjugate transpose over n. */
static void of_fft(ip_adjoints *a, const ip_stage *s, ip_stage *own)
{
    ip_opaque o = *s->opaque;
    const double n = (double)o.sizes[IP_FFT_N];
    const bool was_inverse = o.sizes[IP_FFT_IS_INVERSE] != 0;
    o.inputs[0] = own;
    o.sizes[IP_FFT_IS_INVERSE] = !was_inverse;
    ip_stage *t = ip_stage_opaque(a->l->ir, &o, s->dtype, s->dims, a->l->node);
    ip_expr *factor = ip_x_param(a->l->ir, s->dtype, was_inverse ? 1 / n : n, 0, 0x1p31);
    ip_expr *x = binary(a, IP_X_MUL, ip_adjoint_here(a, t), factor);
    ip_adjoint_add(a, s->opaque->inputs[0],
                   ip_adjoint_stage(a, s->opaque->inputs[0]->dims, x, "adjoint of a transform"));
}

/* ---- products of matrices --------------------------------------------------------------------- */

/* A stage that holds rows x columns matrices, as ones of columns x rows. */
static ip_stage *transposed(ip_adjoints *a, ip_stage *s, int64_t rows, int64_t columns)
{
    const int64_t dims[4] = { (int64_t)ip_dims_count(s->dims) / (rows * columns), columns, rows, 1 };
    ip_expr *at[4], *z = ip_x_coord(a->l->ir, 0, dims[0]), *y = ip_x_coord(a->l->ir, 1, columns),
                    *x = ip_x_coord(a->l->ir, 2, rows);
    ip_expr *row = binary(a, IP_X_ADD, binary(a, IP_X_MUL, z, ip_adjoint_i32(a, rows)), x);
    ip_adjoint_place(a, binary(a, IP_X_ADD, binary(a, IP_X_MUL, row, ip_adjoint_i32(a, columns)), y), s->dims, at);
    return ip_adjoint_stage(a, dims, ip_adjoint_load(a, s, at), "transposed factor");
}

/* An m x k left factor, or the right one: its matrices, and how far apart they are along the two axes of batches. */
typedef struct factor {
    ip_stage *stage;
    int64_t outer, inner;
} factor;

/* left, m x k, times right, k x n, as a stage of these dims, by the kernel without preparation. */
static ip_stage *product(ip_adjoints *a, const ip_opaque *like, factor left, factor right, const int64_t mnk[3],
                         const int64_t dims[4])
{
    ip_opaque o = *like;
    if (!left.stage || !right.stage) return NULL;
    o.variant = "direct";
    o.inputs[0] = left.stage;
    o.inputs[1] = right.stage;
    o.sizes[IP_MM_M] = mnk[0];
    o.sizes[IP_MM_N] = mnk[1];
    o.sizes[IP_MM_K] = mnk[2];
    o.sizes[IP_MM_A_OUTER] = left.outer;
    o.sizes[IP_MM_A_INNER] = left.inner;
    o.sizes[IP_MM_B_OUTER] = right.outer;
    o.sizes[IP_MM_B_INNER] = right.inner;
    o.sizes[IP_MM_N_B] = (int64_t)ip_dims_count(right.stage->dims) / (mnk[1] * mnk[2]);
    o.sizes[IP_MM_METHOD] = IP_MM_DIRECT;
    o.sizes[IP_MM_BY_ROWS] = 0;
    return ip_stage_opaque(a->l->ir, &o, o.dtype, dims, a->l->node);
}

/* The adjoint of an operand, rows x columns: the product of left and right, summed where its matrices serve several. */
static void add_product(ip_adjoints *a, const ip_stage *s, const factor *operand, factor left, factor right,
                        const int64_t mnk[3])
{
    const ip_opaque *o = s->opaque;
    const int64_t outer = o->sizes[IP_MM_OUTER], inner = o->sizes[IP_MM_INNER];
    const bool all_outer = outer > 1 && operand->outer == 0, all_inner = inner > 1 && operand->inner == 0;
    if (!all_outer && !all_inner) {
        ip_adjoint_add(a, operand->stage, product(a, o, left, right, mnk, operand->stage->dims));
        return;
    }
    if (!all_outer && outer > 1) {
        ip_adjoint_fail(a, s, "matrices that serve several along their second axis only");
        return;
    }
    int64_t dims[4] = { outer, inner * mnk[0], mnk[1], 1 };
    if (all_inner || inner == 1) dims[0] = outer * inner, dims[1] = mnk[0];
    ip_stage *sum = ip_adjoint_summed(a, product(a, o, left, right, mnk, dims), 0);
    ip_expr *at[4], *to[4];
    if (!sum) return;
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(a->l->ir, d, operand->stage->dims[d]);
    ip_adjoint_place(a, ip_adjoint_number(a, operand->stage->dims, at), sum->dims, to);
    ip_adjoint_add(a, operand->stage,
                   ip_adjoint_stage(a, operand->stage->dims, ip_adjoint_load(a, sum, to), "adjoint of a factor"));
}

static void of_matmul(ip_adjoints *a, const ip_stage *s, ip_stage *own)
{
    const ip_opaque *o = s->opaque;
    const int64_t *sizes = o->sizes, m = sizes[IP_MM_M], n = sizes[IP_MM_N], k = sizes[IP_MM_K];
    const bool is_turned = sizes[IP_MM_METHOD] == IP_MM_REDUCE && n > 1; /* b lies transposed */
    const double batch = (double)sizes[IP_MM_OUTER] * (double)sizes[IP_MM_INNER], most = INT32_MAX;
    if (!ip_dtype(o->dtype)->is_float || batch * (double)m * (double)n > most || batch * (double)m * (double)k > most ||
        batch * (double)k * (double)n > most) {
        ip_adjoint_fail(a, s, "a product of whole numbers, or a very large one");
        return;
    }
    const factor left = { o->inputs[0], sizes[IP_MM_A_OUTER], sizes[IP_MM_A_INNER] },
                 right = { o->inputs[1], sizes[IP_MM_B_OUTER], sizes[IP_MM_B_INNER] },
                 g = { own, sizes[IP_MM_INNER], 1 };
    factor turned = right;
    if (wants(a, o, 0)) {
        if (!is_turned) turned.stage = transposed(a, right.stage, k, n);
        add_product(a, s, &left, g, turned, (int64_t[]){ m, k, n });
    }
    if (!wants(a, o, 1) || ip_adjoint_failed(a)) return;
    turned = is_turned ? g : left;
    turned.stage = is_turned ? transposed(a, own, m, n) : transposed(a, left.stage, m, k);
    add_product(a, s, &right, turned, is_turned ? left : g,
                is_turned ? (int64_t[]){ n, k, m } : (int64_t[]){ k, n, m });
}

/* ---- sorted elements --------------------------------------------------------------------------------- */

static void of_sort(ip_adjoints *a, const ip_stage *s, ip_stage *own)
{
    ip_opaque o = *s->opaque;
    if (o.sizes[IP_SORT_INDICES] || ip_dims_count(s->dims) > INT32_MAX) {
        a->cut = s;
        return;
    }
    o.sizes[IP_SORT_INDICES] = 1;
    o.variant = "indices";
    o.defines = ip_key_defines(o.dtype, true);
    ip_stage *order = ip_stage_opaque(a->l->ir, &o, IMGPAR_I32, s->dims, a->l->node);
    ip_expr *at[4], *n = ip_adjoint_i32(a, o.sizes[IP_SORT_N]);
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(a->l->ir, d, s->dims[d]);
    ip_expr *row = binary(a, IP_X_IDIV, ip_adjoint_number(a, s->dims, at), n);
    ip_expr *place = binary(a, IP_X_ADD, binary(a, IP_X_MUL, row, n), ip_adjoint_here(a, order));
    ip_stage *places = ip_adjoint_stage(a, s->dims, place, "where they stood");
    if (places) ip_adjoint_add(a, o.inputs[0], ip_scatter_sum(a->l, o.inputs[0]->dims, places, own));
}

/* All elements are one line, whose order tells where those at the places stood. */
static void of_nth(ip_adjoints *a, const ip_stage *s, ip_stage *own)
{
    ip_stage *values = s->opaque->inputs[IP_NTH_A], *places = s->opaque->inputs[IP_NTH_PLACES];
    if (!wants(a, s->opaque, IP_NTH_A)) {
        a->cut = s;
        return;
    }
    if (ip_dims_count(values->dims) > INT32_MAX) {
        ip_adjoint_fail(a, s, "more than 2147483647 elements");
        return;
    }
    const int64_t n = (int64_t)ip_dims_count(values->dims);
    ip_stage *order = ip_sort_order(a->l, values, n);
    if (!order) return;
    ip_ir *ir = a->l->ir;
    ip_expr *to[4], *place = binary(a, IP_X_MIN, ip_adjoint_here(a, places), ip_x_int(ir, IMGPAR_I64, n - 1));
    place = binary(a, IP_X_MAX, place, ip_x_int(ir, IMGPAR_I64, 0));
    ip_adjoint_place(a, ip_x_cast(ir, IMGPAR_I32, place), values->dims, to);
    ip_stage *stood = ip_adjoint_stage(a, s->dims, ip_adjoint_load(a, order, to), "where they stood");
    if (stood) ip_adjoint_add(a, values, ip_scatter_sum(a->l, values->dims, stood, own));
}

/* ---- ranks within windows ----------------------------------------------------------------------------- */

/* The window of a rank filter, and one of its taps. */
typedef struct ranked {
    int window, rows, columns;
    ip_expr *ty, *tx;
    ip_expr *is_in; /* whether the tap is in the window; NULL: all are */
} ranked;

/* For each place around whether it is in the window. */
static ip_stage *mask_of(ip_adjoints *a, const ip_opaque *o, const ranked *r)
{
    const ip_element_run *runs = ip_rank_runs(o);
    int32_t *mask = ip_ir_alloc(a->l->ir, (size_t)r->rows * (size_t)r->columns, sizeof *mask);
    for (int k = 0; mask && k < r->rows * r->columns; k++)
        mask[k] = 0;
    for (int64_t j = 0; mask && j < o->sizes[IP_RANK_RUNS]; j++)
        for (int i = 0; i < runs[j].length; i++)
            mask[runs[j].line * r->columns + runs[j].from + i] = 1;
    return mask ? ip_stage_table(a->l->ir, IMGPAR_I32, (int64_t)r->rows * r->columns, mask) : NULL;
}

static ranked ranked_of(ip_adjoints *a, const ip_opaque *o)
{
    ip_ir *ir = a->l->ir;
    ranked r = { .window = ip_x_new_window(ir),
                 .rows = (int)(2 * o->sizes[IP_RANK_RY] + 1),
                 .columns = (int)(2 * o->sizes[IP_RANK_RX] + 1) };
    r.ty = ip_x_tap(ir, r.window, 0, r.rows);
    r.tx = ip_x_tap(ir, r.window, 1, r.columns);
    if (ip_rank_is_full(o)) return r;
    ip_stage *mask = mask_of(a, o, &r);
    ip_expr *at = binary(a, IP_X_ADD, binary(a, IP_X_MUL, r.ty, ip_adjoint_i32(a, r.columns)), r.tx);
    if (mask) r.is_in = binary(a, IP_X_NE, ip_table_at(ir, mask, at), ip_adjoint_i32(a, 0));
    return r;
}

/* The sum of x over the taps where two are equal. */
static ip_expr *sum_of_equal(ip_adjoints *a, const ranked *r, ip_expr *one, ip_expr *other, ip_expr *x)
{
    ip_expr *is_it = binary(a, IP_X_EQ, one, other);
    if (r->is_in) is_it = binary(a, IP_X_AND, r->is_in, is_it);
    x = ip_x_select(a->l->ir, is_it, x, ip_x_float(a->l->ir, x->dtype, 0));
    return ip_x_fold_taps(a->l->ir, IP_FOLD_SUM, r->window, r->rows, r->columns, x);
}

/* Each element of the result goes to the elements of its window that are equal to it, in equal shares. NaN is equal to
 * none. */
static void of_rank(ip_adjoints *a, const ip_stage *s, ip_stage *own)
{
    ip_ir *ir = a->l->ir;
    const ip_opaque *o = s->opaque;
    ip_stage *in = o->inputs[0], *out = ir->stages[s->id];
    if (!wants(a, o, 0)) return;
    const ranked r = ranked_of(a, o);
    ip_expr *at[4], *one = ip_x_float(ir, own->dtype, 1), *zero = ip_x_float(ir, own->dtype, 0);
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(ir, d, s->dims[d]);
    at[1] = binary(a, IP_X_ADD, at[1], r.ty);
    at[2] = binary(a, IP_X_ADD, at[2], r.tx);
    ip_expr *n = sum_of_equal(a, &r, ip_adjoint_load(a, in, at), ip_adjoint_here(a, out), one);
    ip_expr *share = binary(a, IP_X_DIV, ip_adjoint_here(a, own), binary(a, IP_X_MAX, n, one));
    ip_stage *shares = ip_adjoint_stage(a, s->dims, share, "shares of a rank");
    if (!shares) return;
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(ir, d, in->dims[d]);
    at[1] = binary(a, IP_X_SUB, at[1], r.ty);
    at[2] = binary(a, IP_X_SUB, at[2], r.tx);
    ip_expr *value = ip_x_load(ir, out, at, IMGPAR_BORDER_REPLICATE, NULL);
    ip_expr *g = ip_x_load(ir, shares, at, IMGPAR_BORDER_CONSTANT, zero);
    g = sum_of_equal(a, &r, ip_adjoint_here(a, in), value, g);
    ip_adjoint_add(a, in, ip_adjoint_stage(a, in->dims, g, "adjoint of a rank"));
}

/* ---- scatter_add, scatter_min, scatter_max ------------------------------------------------------------ */

/* The values that are scattered, as elements of a domain: where each goes in the result. */
typedef struct scattered {
    int64_t all[4];
    const int64_t *dims; /* of the values, or of all that one value is scattered to */
    ip_expr *value;      /* at the element */
    ip_expr *inside;     /* whether it goes anywhere */
    ip_expr *at[4];      /* where, 0 for what goes nowhere */
} scattered;

static scattered scattered_of(ip_adjoints *a, const ip_stage *s)
{
    const ip_opaque *o = s->opaque;
    ip_stage *indices = o->inputs[IP_SCATTER_INDICES], *values = o->inputs[IP_SCATTER_VALUES];
    const bool is_one = o->sizes[IP_SCATTER_ONE_VALUE] != 0;
    scattered out = { .all = { 1, 1, o->sizes[IP_SCATTER_N], o->sizes[IP_SCATTER_WIDTH] } };
    ip_expr *at[4], *wide = ip_adjoint_i32(a, o->sizes[IP_SCATTER_WIDTH]);
    const int64_t *dims = is_one ? out.all : values->dims;
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(a->l->ir, d, dims[d]);
    out.dims = is_one ? NULL : values->dims;
    out.value = is_one ? ip_adjoint_first(a, values) : ip_adjoint_load(a, values, at);
    ip_expr *number = ip_adjoint_number(a, dims, at), *column = binary(a, IP_X_MOD, number, wide);
    ip_adjoint_place(a, binary(a, IP_X_IDIV, number, wide), indices->dims, at);
    ip_expr *row = ip_adjoint_load(a, indices, at), *rows = ip_adjoint_i32(a, o->sizes[IP_SCATTER_ROWS]);
    out.inside = binary(a, IP_X_AND, binary(a, IP_X_LE, ip_adjoint_i32(a, 0), row), binary(a, IP_X_LT, row, rows));
    ip_expr *safe = ip_x_select(a->l->ir, out.inside, row, ip_adjoint_i32(a, 0));
    ip_adjoint_place(a, binary(a, IP_X_ADD, binary(a, IP_X_MUL, safe, wide), column), s->dims, out.at);
    return out;
}

/* x for those of the values that go somewhere, 0 for the others. */
static ip_stage *of_those(ip_adjoints *a, const scattered *to, ip_expr *condition, ip_expr *x, const char *note)
{
    x = ip_x_select(a->l->ir, condition, x, ip_x_float(a->l->ir, x->dtype, 0));
    return ip_adjoint_stage(a, to->dims ? to->dims : to->all, x, note);
}

/* What each element of an extreme counts for, shared alike among those that are it: the base's and the values'. */
static ip_stage *shares_of_extreme(ip_adjoints *a, const ip_stage *s, ip_stage *own, const scattered *to,
                                   ip_expr **base_is, ip_expr **value_is)
{
    ip_ir *ir = a->l->ir;
    const ip_opaque *o = s->opaque;
    ip_stage *extreme = ir->stages[s->id];
    ip_expr *one = ip_x_float(ir, own->dtype, 1), *zero = ip_x_float(ir, own->dtype, 0);
    *value_is = binary(a, IP_X_AND, to->inside, binary(a, IP_X_EQ, to->value, ip_adjoint_load(a, extreme, to->at)));
    ip_stage *places = ip_adjoint_stage(a, to->dims ? to->dims : to->all,
                                        ip_x_select(ir, to->inside, ip_adjoint_number(a, s->dims, to->at),
                                                    ip_adjoint_i32(a, (int64_t)ip_dims_count(s->dims))),
                                        "where they go");
    ip_stage *ones = of_those(a, to, *value_is, one, "values that are the extreme");
    if (!places || !ones) return NULL;
    ip_expr *n = ip_adjoint_here(a, ip_scatter_sum(a->l, s->dims, places, ones));
    if (o->sizes[IP_SCATTER_HAS_BASE]) {
        *base_is = binary(a, IP_X_EQ, ip_adjoint_here(a, o->inputs[IP_SCATTER_BASE]), ip_adjoint_here(a, extreme));
        n = binary(a, IP_X_ADD, n, ip_x_select(ir, *base_is, one, zero));
    }
    ip_expr *g = ip_adjoint_here(a, own);
    g = ip_x_select(ir, binary(a, IP_X_EQ, n, zero), zero, binary(a, IP_X_DIV, g, n));
    return ip_adjoint_stage(a, s->dims, g, "shares of an extreme");
}

static void of_scatter(ip_adjoints *a, const ip_stage *s, ip_stage *own)
{
    const ip_opaque *o = s->opaque;
    ip_stage *values = o->inputs[IP_SCATTER_VALUES];
    const bool is_extreme = o->sizes[IP_SCATTER_FOLD] != IP_SCATTER_SUM;
    const bool base_counts = o->sizes[IP_SCATTER_HAS_BASE] && wants(a, o, IP_SCATTER_BASE);
    if ((double)o->sizes[IP_SCATTER_N] * (double)o->sizes[IP_SCATTER_WIDTH] > INT32_MAX ||
        ip_dims_count(s->dims) > INT32_MAX) {
        ip_adjoint_fail(a, s, "more than 2147483647 elements");
        return;
    }
    if (is_extreme && !ip_dtype(o->dtype)->is_float) {
        ip_adjoint_fail(a, s, "extremes of whole numbers");
        return;
    }
    const scattered to = scattered_of(a, s);
    ip_expr *base_is = NULL, *value_is = to.inside;
    if (is_extreme) own = shares_of_extreme(a, s, own, &to, &base_is, &value_is);
    if (!own) return;
    ip_expr *g = ip_adjoint_here(a, own);
    if (base_is) g = ip_x_select(a->l->ir, base_is, g, ip_x_float(a->l->ir, g->dtype, 0));
    if (base_counts)
        ip_adjoint_add(a, o->inputs[IP_SCATTER_BASE], ip_adjoint_stage(a, s->dims, g, "adjoint of a base"));
    if (!wants(a, o, IP_SCATTER_VALUES)) return;
    ip_stage *part = of_those(a, &to, value_is, ip_adjoint_load(a, own, to.at), "adjoint of values");
    for (int k = 2; !to.dims && k < 4; k++)
        part = ip_adjoint_summed(a, part, k);
    ip_adjoint_add(a, values, part);
}

/* ---- all ------------------------------------------------------------------------------------------------- */

void ip_adjoint_opaque(ip_adjoints *a, const ip_stage *s, ip_stage *own)
{
    static const struct {
        const char *name;
        void (*adjoint)(ip_adjoints *a, const ip_stage *s, ip_stage *own);
    } rows[] = { { "fft", of_fft },
                 { "matmul", of_matmul },
                 { "rank", of_rank },
                 { "sort", of_sort },
                 { "nth", of_nth },
                 { "scatter", of_scatter },
                 { "linalg", ip_adjoint_of_linalg } };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (strcmp(s->opaque->kind->name, rows[k].name) == 0) {
            rows[k].adjoint(a, s, own);
            return;
        }
    for (int k = 0; k < s->opaque->n_inputs; k++)
        if (wants(a, s->opaque, k)) {
            ip_adjoint_fail(a, s, NULL);
            return;
        }
    a->cut = s;
}
