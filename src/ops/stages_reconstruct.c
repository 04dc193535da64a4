/* SPDX-License-Identifier: MIT */
/* Reconstruction of one picture within another, and steps along equal values: an opaque stage over both
 * (shaders/reconstruct.cl). Of a mask's regions those are looked for that are marked (stages_labels.c). */
#include "ops/infer.h"
#include "ops/regions.h"

#include "base/dtype.h"
#include "base/integers.h"

/* What its kernels take, in shaders/reconstruct.cl. */
#define PARAMS(NAME) \
    NAME(HEIGHT)     \
    NAME(PLANE)      \
    NAME(WIDTH)      \
    NAME(CHANNELS)   \
    NAME(ROWS)       \
    NAME(STRIPS)     \
    NAME(ITEMS)      \
    NAME(CORNERS)    \
    NAME(GROUP)
enum { P_FIRST_ITEM, PARAMS(IP_PARAM_NUMBER) N_PARAMS };

/* Strips for each compute unit; rows of a strip at least. Steps go over a strip again for each step, so theirs stay in
 * the cache. */
enum { CPU_ITEMS = 2, CPU_ITEMS_OF_STEPS = 16, CPU_ROWS = 32, GPU_ITEMS = 64, GPU_ROWS = 4, GPU_GROUP = 64 };

typedef struct division {
    int64_t all, plane, width, channels; /* rows; rows a plane */
    int64_t rows, strips;
    int joins; /* until all strips are one group */
} division;

static division divide(const ip_opaque_call *call)
{
    const int64_t *s = call->opaque->dims;
    const bool cpu = call->device.is_cpu;
    const bool counts = call->opaque->sizes[IP_RECONSTRUCT_WHAT] == IP_RECONSTRUCT_STEPS;
    const int64_t of_cpu = counts ? CPU_ITEMS_OF_STEPS : CPU_ITEMS;
    const int64_t items = (int64_t)call->device.compute_units * (cpu ? of_cpu : GPU_ITEMS);
    division d = { .all = s[0] * s[1], .plane = s[1], .width = s[2], .channels = s[3] };
    d.rows = ip_max(ip_ceil_div(d.all, items), cpu ? CPU_ROWS : GPU_ROWS);
    d.strips = ip_ceil_div(d.all, d.rows);
    while (INT64_C(1) << d.joins < d.strips)
        d.joins++;
    return d;
}

static void scratch(const ip_opaque_call *call, uint64_t bytes[IP_OPAQUE_SCRATCH])
{
    const division d = divide(call);
    bytes[0] = (uint64_t)(d.all * d.width * d.channels) * 4;
}

static bool step(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    enum { FROM = IP_BUFFER_INPUT, LIMIT, NEXT = IP_BUFFER_SCRATCH };
    const int of_strips[] = { FROM, LIMIT, IP_BUFFER_RESULT, NEXT }, of_join[] = { LIMIT, IP_BUFFER_RESULT, NEXT };
    const division d = divide(call);
    if (step > d.joins) return false;
    const int64_t group_of_strips = step > 0 ? INT64_C(1) << (step - 1) : 0;
    const int64_t items = step > 0 ? ip_ceil_div(d.strips, 2 * group_of_strips) : d.strips;
    const int64_t group = call->device.is_cpu ? 1 : GPU_GROUP;
    out->kernel = step > 0 ? "rc_join" : "rc_strips";
    out->n_buffers = step > 0 ? 3 : 4;
    for (int k = 0; k < out->n_buffers; k++)
        out->buffers[k] = step > 0 ? of_join[k] : of_strips[k];
    const int params[N_PARAMS] = { [P_HEIGHT] = (int)d.all,
                                   [P_PLANE] = (int)d.plane,
                                   [P_WIDTH] = (int)(d.width * d.channels),
                                   [P_CHANNELS] = (int)d.channels,
                                   [P_ROWS] = (int)d.rows,
                                   [P_STRIPS] = (int)d.strips,
                                   [P_ITEMS] = (int)items,
                                   [P_CORNERS] = call->opaque->sizes[IP_RECONSTRUCT_CONNECTIVITY] == 8,
                                   [P_GROUP] = (int)group_of_strips };
    ip_opaque_set_params(out, params, N_PARAMS);
    ip_opaque_set_items(out, items, group);
    return true;
}

static const ip_opaque_kind kind = { .name = "reconstruct",
                                     .shader = "reconstruct",
                                     .params = PARAMS(IP_PARAM_TEXT),
                                     .widen = ip_opaque_widen_all,
                                     .reads = ip_opaque_read_all,
                                     .scratch = scratch,
                                     .step = step,
                                     .compute = ip_reconstruct_compute };

/* Whether its elements are known to be 0 and 1 alone. */
static bool is_of_bits(const imgpar_array *a)
{
    return a->type.dtype == IMGPAR_BOOL || (!ip_dtype(a->type.dtype)->is_float && a->range.lo >= 0 && a->range.hi <= 1);
}

imgpar_status ip_infer_reconstruct(imgpar_array *node, ip_error *err)
{
    const bool counts = node->op->variant == IP_RECONSTRUCT_STEPS;
    imgpar_status st = ip_check_connectivity(node, err);
    if (!st) st = counts ? ip_check_one_shape(node, err) : ip_check_alike(node, err);
    if (!st && ip_type_count(&node->inputs[0]->type) > INT32_MAX)
        st = ip_fail(err, IMGPAR_E_LIMIT, "%s: more than 2147483647 elements", node->op->info.name);
    if (st) return st;
    ip_infer_copy(node);
    if (counts) {
        node->type.dtype = IMGPAR_I32;
        node->type.space = IMGPAR_SPACE_DATA;
        node->type.is_mask = false;
    }
    node->range = ip_range_of(node->type.dtype);
    if (!counts && is_of_bits(node->inputs[0]) && is_of_bits(node->inputs[1])) node->range = (ip_range){ 0, 1 };
    return IMGPAR_OK;
}

/* What stands before the shader's text, by the dtype of the limit. */
#define SPREAD(T, FAR, NEAR)                                                 \
    "#define RC_T " #T "\n#define RC_FROM " #T "\n#define RC_LIMIT " #T "\n" \
    "#define RC_START(from, limit) rc_zero(" #NEAR "(from, limit))\n"        \
    "#define RC_OFFER(own, v, limit, other) " #NEAR "(" #FAR "(own, v), rc_zero(limit))\n"
#define STEPS(T)                                                                           \
    "#define RC_STEPS\n#define RC_T int\n#define RC_FROM uchar\n#define RC_LIMIT " #T "\n" \
    "#define RC_START(from, limit) ((from) ? 0 : INT_MAX)\n"                               \
    "#define RC_OFFER(own, v, limit, other) ((limit) == (other) && (v) < (own) ? min(own, (v) + 1) : (own))\n"
#define WHOLE(T)                                           \
    {                                                      \
        SPREAD(T, max, min), SPREAD(T, min, max), STEPS(T) \
    }
#define FLOATS(T)                                              \
    {                                                          \
        SPREAD(T, fmax, fmin), SPREAD(T, fmin, fmax), STEPS(T) \
    }
static const char *const defines[IMGPAR_N_DTYPES][3] = {
    [IMGPAR_U8] = WHOLE(uchar),    [IMGPAR_I8] = WHOLE(char),  [IMGPAR_U16] = WHOLE(ushort),
    [IMGPAR_I16] = WHOLE(short),   [IMGPAR_U32] = WHOLE(uint), [IMGPAR_I32] = WHOLE(int),
    [IMGPAR_U64] = WHOLE(ulong),   [IMGPAR_I64] = WHOLE(long), [IMGPAR_F32] = FLOATS(float),
    [IMGPAR_F64] = FLOATS(double),
};

/* Input k as a stage of dtype. */
static ip_stage *input_as(ip_lower *l, int k, imgpar_dtype dtype, const char *note)
{
    if (l->in[k]->dtype == dtype) return l->in[k];
    return ip_lower_stage(l, ip_lower_convert(l, dtype, ip_lower_value(l, k)), note);
}

/* In what elements of dtype are computed. */
static imgpar_dtype computed_in(imgpar_dtype dtype)
{
    return dtype == IMGPAR_BOOL ? IMGPAR_U8 : dtype == IMGPAR_F16 ? IMGPAR_F32 : dtype;
}

static ip_stage *spread_stage(ip_lower *l, ip_stage *from, ip_stage *limit, ip_reconstruct what)
{
    const imgpar_dtype own = l->node->type.dtype, dtype = computed_in(own);
    if (!from || !limit) return NULL;
    ip_opaque o = { .kind = &kind,
                    .defines = defines[limit->dtype][what],
                    .uses_f64 = limit->dtype == IMGPAR_F64,
                    .dtype = limit->dtype,
                    .n_inputs = 2,
                    .inputs = { from, limit },
                    .sizes = { (int64_t)ip_param_number(l->node, "connectivity"), what } };
    ip_stage *spread = ip_stage_opaque(l->ir, &o, dtype, l->dims, l->node);
    if (!spread || dtype == own) return spread;
    ip_expr *zero = ip_lower_i32(l, 0);
    return ip_lower_map(l, ip_lower_read(l, spread, zero, zero, zero, IP_BORDER_NONE, NULL));
}

/* Input k as a mask of u8, 0 and 1; of an erosion the other way round. */
static ip_stage *bits_of(ip_lower *l, int k, bool turned)
{
    const imgpar_dtype dtype = l->in[k]->dtype;
    if (!turned && (dtype == IMGPAR_U8 || dtype == IMGPAR_BOOL)) return l->in[k];
    ip_expr *v = ip_lower_convert(l, IMGPAR_U8, ip_lower_value(l, k));
    if (turned) v = ip_x_binary(l->ir, IP_X_SUB, ip_x_int(l->ir, IMGPAR_U8, 1), v);
    return ip_lower_stage(l, v, "bits");
}

/* Bits spread in bits: a region is reached where it has one that is. What shrinks are zeros that spread. */
static ip_stage *bits_stage(ip_lower *l, bool erodes)
{
    ip_stage *marks = bits_of(l, 0, erodes), *mask = bits_of(l, 1, erodes);
    if (!marks || !mask) return NULL;
    ip_stage *reached = ip_stage_marked_regions(l, mask, marks, (int64_t)ip_param_number(l->node, "connectivity"));
    if (!reached || (!erodes && l->node->type.dtype == IMGPAR_U8)) return reached;
    ip_expr *zero = ip_lower_i32(l, 0), *v = ip_lower_read(l, reached, zero, zero, zero, IP_BORDER_NONE, NULL);
    if (erodes) v = ip_x_binary(l->ir, IP_X_SUB, ip_x_int(l->ir, IMGPAR_U8, 1), v);
    return ip_lower_map(l, v);
}

ip_stage *ip_stages_reconstruct(ip_lower *l)
{
    const imgpar_dtype dtype = computed_in(l->node->type.dtype);
    const bool erodes = ip_param_number(l->node, "method") != 0;
    if (ip_type_count(&l->node->type) == 0) return ip_lower_map(l, ip_lower_value(l, 0));
    if (is_of_bits(l->node->inputs[0]) && is_of_bits(l->node->inputs[1]) && ip_can_mark_regions(l->in[1]))
        return bits_stage(l, erodes);
    return spread_stage(l, input_as(l, 0, dtype, "what is spread"), input_as(l, 1, dtype, "how far it may"),
                        erodes ? IP_RECONSTRUCT_EROSION : IP_RECONSTRUCT_DILATION);
}

ip_stage *ip_stages_geodesic(ip_lower *l)
{
    const imgpar_dtype dtype = computed_in(l->node->inputs[1]->type.dtype);
    if (ip_type_count(&l->node->type) == 0) return ip_lower_map(l, ip_lower_i32(l, 0));
    ip_expr *v = ip_lower_value(l, 0),
            *is_zero = ip_x_binary(l->ir, IP_X_EQ, v, ip_x_cast(l->ir, v->dtype, ip_lower_i32(l, 0)));
    ip_expr *mask = ip_x_select(l->ir, is_zero, ip_x_int(l->ir, IMGPAR_U8, 0), ip_x_int(l->ir, IMGPAR_U8, 1));
    return spread_stage(l, ip_lower_stage(l, mask, "from where"), input_as(l, 1, dtype, "what is equal"),
                        IP_RECONSTRUCT_STEPS);
}
