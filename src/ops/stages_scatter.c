/* SPDX-License-Identifier: MIT */
/*
 * Sums and extremes at given places: an opaque stage over indices, values and what they join (shaders/scatter.cl).
 * scatter.h tells the order in which they are taken.
 */
#include "ops/axes.h"
#include "ops/bins.h"
#include "ops/infer.h"
#include "ops/lower.h"
#include "ops/permute.h"
#include "ops/scatter.h"
#include "ops/view.h"

#include "base/dtype.h"
#include "base/integers.h"

#include <math.h>

/* What its kernels take, in shaders/scatter.cl. */
#define PARAMS(NAME) \
    NAME(N)          \
    NAME(ROWS)       \
    NAME(WIDTH)      \
    NAME(BLOCK)      \
    NAME(BLOCKS)     \
    NAME(PARTS)      \
    NAME(ITEMS)      \
    NAME(EACH)       \
    NAME(ONE_VALUE)  \
    NAME(HAS_BASE)
enum { P_FIRST_ITEM, PARAMS(IP_PARAM_NUMBER) N_PARAMS };

/* Work-items for each compute unit that share the blocks, and that sum them; elements that one sums at least. */
enum { CPU_ITEMS = 1, GPU_ITEMS = 64, GPU_GROUP = 64, LEAST_ELEMENTS = 64 };

/* ---- the opaque stage --------------------------------------------------------------------------- */

/* elements: that a work-item of the second step sums. */
typedef struct division {
    int64_t n, rows, width, m, block, blocks, parts, elements;
} division;

static division divide(const ip_opaque_call *call)
{
    const int64_t *s = call->opaque->sizes;
    division d = { .n = s[IP_SCATTER_N], .rows = s[IP_SCATTER_ROWS], .width = s[IP_SCATTER_WIDTH] };
    int64_t items = (int64_t)call->device.compute_units * (call->device.is_cpu ? CPU_ITEMS : GPU_ITEMS);
    d.m = d.rows * d.width;
    d.block = ip_scatter_block(d.m);
    d.blocks = ip_ceil_div(d.n, d.block);
    d.parts = ip_ceil_div(items, d.blocks);
    if (d.parts > d.rows) d.parts = d.rows;
    if (d.block > d.n) d.block = d.n;
    d.elements = ip_ceil_div(d.m, items);
    if (d.elements < LEAST_ELEMENTS) d.elements = LEAST_ELEMENTS;
    return d;
}

/* Whether tables count how often the one value is added, which is as good as adding it: integers wrap. */
static bool counts(imgpar_dtype dtype, ip_scatter_fold fold, bool one_value)
{
    return one_value && fold == IP_SCATTER_SUM && !ip_dtype(dtype)->is_float;
}

static void scratch(const ip_opaque_call *call, uint64_t bytes[IP_OPAQUE_SCRATCH])
{
    const ip_opaque *o = call->opaque;
    const int64_t *s = o->sizes;
    const bool is_counted = counts(o->dtype, (ip_scatter_fold)s[IP_SCATTER_FOLD], s[IP_SCATTER_ONE_VALUE] != 0);
    division d = divide(call);
    bytes[0] = (uint64_t)(d.blocks * d.m) * (is_counted ? sizeof(uint32_t) : ip_dtype(o->dtype)->size_bytes);
}

static bool step(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    enum { RESULT = IP_BUFFER_RESULT, INPUT = IP_BUFFER_INPUT, TABLES = IP_BUFFER_SCRATCH };
    const int64_t *s = call->opaque->sizes;
    division d = divide(call);
    if (step > 1) return false;
    int64_t items = step == 0 ? d.blocks * d.parts : ip_ceil_div(d.m, d.elements),
            group = call->device.is_cpu ? 1 : GPU_GROUP;
    const int add[] = { INPUT + IP_SCATTER_INDICES, INPUT + IP_SCATTER_VALUES, TABLES };
    /* Without a base any buffer stands for it, unread. */
    const int sum[] = { INPUT + (s[IP_SCATTER_HAS_BASE] ? IP_SCATTER_BASE : IP_SCATTER_VALUES),
                        INPUT + IP_SCATTER_VALUES, TABLES, RESULT };
    out->kernel = step == 0 ? "sc_add" : "sc_sum";
    out->n_buffers = step == 0 ? 3 : 4;
    for (int k = 0; k < out->n_buffers; k++)
        out->buffers[k] = step == 0 ? add[k] : sum[k];
    const int params[N_PARAMS] = { [P_N] = (int)d.n,
                                   [P_ROWS] = (int)d.rows,
                                   [P_WIDTH] = (int)d.width,
                                   [P_BLOCK] = (int)d.block,
                                   [P_BLOCKS] = (int)d.blocks,
                                   [P_PARTS] = (int)d.parts,
                                   [P_ITEMS] = (int)items,
                                   [P_EACH] = (int)d.elements,
                                   [P_ONE_VALUE] = (int)s[IP_SCATTER_ONE_VALUE],
                                   [P_HAS_BASE] = (int)s[IP_SCATTER_HAS_BASE] };
    ip_opaque_set_params(out, params, N_PARAMS);
    ip_opaque_set_items(out, items, group);
    return true;
}

const ip_opaque_kind ip_scatter_kind = { .name = "scatter",
                                         .shader = "scatter",
                                         .params = PARAMS(IP_PARAM_TEXT),
                                         .widen = ip_opaque_widen_all,
                                         .reads = ip_opaque_read_all,
                                         .scratch = scratch,
                                         .step = step,
                                         .compute = ip_scatter_compute };

/* What is added where, all of it stages. */
typedef struct scattering {
    ip_stage *indices, *values, *base; /* i32; of dtype; base NULL: zeros */
    imgpar_dtype dtype;                /* f32 f64 i64 u64; of extremes i32, too */
    int64_t n, rows, width;
    ip_scatter_fold fold;
    bool one_value;
    int64_t dims[4]; /* of the result */
} scattering;

/* What stands before the shader's text. Integers are added as unsigned ones, which wrap. */
static const char *defines_of(ip_scatter_fold fold, imgpar_dtype dtype, bool counts)
{
#define LESSER "#define SC_JOIN(a, b) ((a) != (a) || (b) < (a) ? (b) : (a))\n"
#define LARGER "#define SC_JOIN(a, b) ((a) != (a) || (b) > (a) ? (b) : (a))\n"
#define SUM "#define SC_JOIN(a, b) ((a) + (b))\n#define SC_NOTHING 0\n"
    enum { FLOAT, DOUBLE, SIGNED, UNSIGNED, INT_32, N_TYPES };
    if (counts) return "#define SC_T ulong\n#define SC_COUNTS 1\n" SUM;
    static const char *const texts[][N_TYPES] = {
        [IP_SCATTER_SUM] = { "#define SC_T float\n" SUM, "#define SC_T double\n" SUM, "#define SC_T ulong\n" SUM,
                             "#define SC_T ulong\n" SUM, NULL },
        [IP_SCATTER_MIN] = { "#define SC_T float\n#define SC_NOTHING NAN\n" LESSER,
                             "#define SC_T double\n#define SC_NOTHING ((double)NAN)\n" LESSER,
                             "#define SC_T long\n#define SC_NOTHING LONG_MAX\n" LESSER,
                             "#define SC_T ulong\n#define SC_NOTHING ULONG_MAX\n" LESSER,
                             "#define SC_T int\n#define SC_NOTHING INT_MAX\n" LESSER },
        [IP_SCATTER_MAX] = { "#define SC_T float\n#define SC_NOTHING NAN\n" LARGER,
                             "#define SC_T double\n#define SC_NOTHING ((double)NAN)\n" LARGER,
                             "#define SC_T long\n#define SC_NOTHING LONG_MIN\n" LARGER,
                             "#define SC_T ulong\n#define SC_NOTHING 0\n" LARGER,
                             "#define SC_T int\n#define SC_NOTHING INT_MIN\n" LARGER },
    };
#undef LESSER
#undef LARGER
#undef SUM
    return texts[fold][dtype == IMGPAR_F32   ? FLOAT
                       : dtype == IMGPAR_F64 ? DOUBLE
                       : dtype == IMGPAR_I64 ? SIGNED
                       : dtype == IMGPAR_I32 ? INT_32
                                             : UNSIGNED];
}

static ip_stage *scatter_stage(ip_lower *l, const scattering *s)
{
    ip_opaque o = { .kind = &ip_scatter_kind,
                    .defines = defines_of(s->fold, s->dtype, counts(s->dtype, s->fold, s->one_value)),
                    .uses_f64 = s->dtype == IMGPAR_F64,
                    .dtype = s->dtype,
                    .n_inputs = s->base ? 3 : 2,
                    .inputs = { s->indices, s->values, s->base },
                    .sizes = { s->n, s->rows, s->width, s->one_value, s->base != NULL, s->fold } };
    return ip_stage_opaque(l->ir, &o, s->dtype, s->dims, l->node);
}

/* ---- scatter_add, scatter_min, scatter_max --------------------------------------------------------- */

/* In what an array's elements are added. */
static imgpar_dtype sum_dtype(imgpar_dtype dtype)
{
    const ip_dtype_facts *facts = ip_dtype(dtype);
    if (facts->is_float) return dtype == IMGPAR_F64 ? IMGPAR_F64 : IMGPAR_F32;
    return dtype == IMGPAR_U64 ? IMGPAR_U64 : IMGPAR_I64;
}

/* In what their extremes are taken. */
static imgpar_dtype extreme_dtype(imgpar_dtype dtype)
{
    const ip_dtype_facts *facts = ip_dtype(dtype);
    return !facts->is_float && facts->maximum <= INT32_MAX ? IMGPAR_I32 : sum_dtype(dtype);
}

/* Input k as dtype, rounded to nearest and saturated; NaN as a number, which may be infinite. Indices and values are
 * taken by their number, in whatever dims they are; the base lies as the result does. */
static ip_stage *input_as(ip_lower *l, int k, imgpar_dtype dtype, double of_nan, const char *note)
{
    ip_stage *stage = k == 0 ? l->in[k] : ip_view_in_order(l->in[k]);
    ip_expr *at[4];
    if (stage->dtype == dtype) return stage;
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(l->ir, d, stage->dims[d]);
    ip_expr *x = ip_x_load(l->ir, stage, at, IP_BORDER_NONE, NULL);
    if (x->dtype == IMGPAR_BOOL) x = ip_x_cast(l->ir, IMGPAR_U8, x);
    if (of_nan != 0 && ip_dtype(x->dtype)->is_float && !ip_dtype(dtype)->is_float)
        x = ip_x_select(l->ir, ip_x_binary(l->ir, IP_X_EQ, x, x), x, ip_x_float(l->ir, x->dtype, of_nan));
    return ip_lower_stage_sized(l, stage->dims, dtype, ip_x_saturate(l->ir, dtype, x), note);
}

imgpar_status ip_infer_scatter(imgpar_array *node, ip_error *err)
{
    const ip_type *base = &node->inputs[0]->type, *indices = &node->inputs[1]->type, *values = &node->inputs[2]->type;
    const char *name = node->op->info.name;
    int64_t shape[2 * IP_MAX_AXES];
    int n = 0;
    char text_i[96], text_v[96], text_b[96];
    for (int k = 0; k < indices->rank; k++)
        shape[n++] = indices->shape[k];
    for (int k = 1; k < base->rank; k++)
        shape[n++] = base->shape[k];
    if (ip_dtype(indices->dtype)->is_float)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: indices is %s; it must be an integer; write cast(indices, i32)", name,
                       ip_dtype(indices->dtype)->name);
    bool fits = values->rank == n;
    for (int k = 0; fits && k < n; k++)
        fits = values->shape[k] == shape[k];
    if (!fits && ip_type_count(values) != 1)
        return ip_fail(err, IMGPAR_E_SHAPE,
                       "%s: values is %s; base %s and indices %s need one element, or the axes of "
                       "indices and those of base behind its first",
                       name, ip_shape_text(values, text_v), ip_shape_text(base, text_b),
                       ip_shape_text(indices, text_i));
    if (ip_type_count(indices) > INT32_MAX)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: more than 2147483647 indices", name);
    node->type = *base;
    node->range = ip_range_of(base->dtype);
    return IMGPAR_OK;
}

ip_stage *ip_stages_scatter(ip_lower *l)
{
    const ip_type *base = &l->node->inputs[0]->type, *values = &l->node->inputs[2]->type;
    scattering s = { .fold = (ip_scatter_fold)l->node->op->variant,
                     .dtype =
                         l->node->op->variant == IP_SCATTER_SUM ? sum_dtype(base->dtype) : extreme_dtype(base->dtype),
                     .n = ip_type_count(&l->node->inputs[1]->type),
                     .rows = base->shape[0] };
    int64_t m = ip_type_count(base);
    /* that counts for nothing */
    const double of_nan = s.fold == IP_SCATTER_MIN ? INFINITY : s.fold == IP_SCATTER_MAX ? -INFINITY : 0;
    if (s.n == 0 || m == 0) return ip_lower_map(l, ip_lower_value(l, 0));
    s.width = m / s.rows;
    s.one_value = ip_type_count(values) == 1 && s.n * s.width > 1;
    s.base = input_as(l, 0, s.dtype, 0, "folded in a wide dtype");
    s.indices = input_as(l, 1, IMGPAR_I32, 0, "indices");
    s.values = input_as(l, 2, s.dtype, of_nan, "values that are folded");
    for (int d = 0; d < 4; d++)
        s.dims[d] = l->dims[d];
    if (!s.base || !s.indices || !s.values) return NULL;
    ip_stage *sums = scatter_stage(l, &s);
    if (!sums || sums->dtype == l->node->type.dtype) return sums;
    ip_expr *zero = ip_lower_i32(l, 0);
    return ip_lower_map(l, ip_lower_read(l, sums, zero, zero, zero, IP_BORDER_NONE, NULL));
}

ip_stage *ip_scatter_sum(ip_lower *l, const int64_t dims[4], ip_stage *places, ip_stage *values)
{
    scattering s = { .indices = places,
                     .values = values,
                     .dtype = values->dtype,
                     .n = (int64_t)ip_dims_count(places->dims),
                     .rows = (int64_t)ip_dims_count(dims),
                     .width = 1 };
    for (int d = 0; d < 4; d++)
        s.dims[d] = dims[d];
    return scatter_stage(l, &s);
}

/* ---- weighted histogram ---------------------------------------------------------------------------- */

imgpar_status ip_infer_weighted_histogram(imgpar_array *node, ip_error *err)
{
    int64_t a[4], w[4];
    char text_a[96], text_w[96];
    ip_type_dims(&node->inputs[0]->type, a);
    ip_type_dims(&node->inputs[1]->type, w);
    for (int d = 0; d < 4; d++)
        if (a[d] != w[d] && !(d == 3 && w[d] == 1))
            return ip_fail(err, IMGPAR_E_SHAPE,
                           "weighted_histogram: a is %s, weights is %s; they must have one size, and weights as "
                           "many channels or one",
                           ip_shape_text(&node->inputs[0]->type, text_a),
                           ip_shape_text(&node->inputs[1]->type, text_w));
    if (ip_type_count(&node->inputs[0]->type) > INT32_MAX)
        return ip_fail(err, IMGPAR_E_LIMIT, "weighted_histogram: more than 2147483647 elements");
    imgpar_status st = ip_infer_histogram(node, err);
    node->type.dtype = ip_sum_dtype(node->inputs[1]->type.dtype);
    node->range = ip_range_of(node->type.dtype);
    return st;
}

/* The weight at each place, one for every channel. */
static ip_stage *weights_stage(ip_lower *l, imgpar_dtype dtype)
{
    ip_stage *stage = l->in[1];
    ip_expr *at[4];
    for (int d = 0; d < 4; d++)
        at[d] = stage->dims[d] == 1 ? ip_lower_i32(l, 0) : ip_x_coord(l->ir, d, l->in[0]->dims[d]);
    ip_expr *x = ip_x_load(l->ir, stage, at, IP_BORDER_NONE, NULL);
    if (x->dtype == IMGPAR_BOOL) x = ip_x_cast(l->ir, IMGPAR_U8, x);
    return ip_lower_stage_sized(l, l->in[0]->dims, dtype, ip_x_cast(l->ir, dtype, x), "weights");
}

ip_stage *ip_stages_weighted_histogram(ip_lower *l)
{
    const int64_t bins = (int64_t)ip_param_number(l->node, "bins"), channels = l->in[0]->dims[3];
    scattering s = {
        .dtype = l->node->type.dtype, .n = ip_type_count(&l->node->inputs[0]->type), .rows = channels * bins, .width = 1
    };
    if (s.n == 0) return ip_lower_map(l, ip_lower_i32(l, 0));
    ip_expr *bin = ip_histogram_bin(l),
            *first = ip_x_binary(l->ir, IP_X_MUL, ip_x_coord(l->ir, 3, channels), ip_lower_i32(l, bins));
    ip_expr *inside = ip_x_binary(l->ir, IP_X_LE, ip_lower_i32(l, 0), bin);
    ip_expr *index = ip_x_select(l->ir, inside, ip_x_binary(l->ir, IP_X_ADD, first, bin), ip_lower_i32(l, -1));
    s.indices = ip_lower_stage_sized(l, l->in[0]->dims, IMGPAR_I32, index, "bins");
    s.values = weights_stage(l, s.dtype);
    for (int d = 0; d < 4; d++)
        s.dims[d] = l->dims[d];
    return s.indices && s.values ? scatter_stage(l, &s) : NULL;
}
