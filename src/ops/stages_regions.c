/* SPDX-License-Identifier: MIT */
/* Where the regions of labels are: an opaque stage over them (shaders/regions.cl), and a map that makes means
 * of its sums. */
#include "ops/infer.h"
#include "ops/regions.h"
#include "ops/view.h"

#include "base/dtype.h"
#include "base/integers.h"

/* What its kernels take, in shaders/regions.cl. */
#define PARAMS(NAME) \
    NAME(HEIGHT)     \
    NAME(PLANE)      \
    NAME(WIDTH)      \
    NAME(LABELS)     \
    NAME(STRIPS)     \
    NAME(ROWS)       \
    NAME(PARTS)      \
    NAME(ITEMS)      \
    NAME(EACH)
enum { P_FIRST_ITEM, PARAMS(IP_PARAM_NUMBER) N_PARAMS };

/* Work-items for each compute unit; rows of a strip at least; elements for each label of a strip at least, so that
 * tables take no more time than labels do. */
enum { CPU_ITEMS = 2, GPU_ITEMS = 64, GPU_GROUP = 64, LEAST_ROWS = 16, ELEMENTS_A_LABEL = 16, LEAST_LABELS = 64 };

/* height: rows of all planes; elements: labels that a work-item of the second step sums. */
typedef struct division {
    int64_t height, plane, width, labels, strips, rows, parts, elements;
} division;

static division divide(const ip_opaque_call *call)
{
    const int64_t *s = call->opaque->sizes;
    const int64_t items = (int64_t)call->device.compute_units * (call->device.is_cpu ? CPU_ITEMS : GPU_ITEMS);
    division d = { .height = s[IP_REGIONS_PLANES] * s[IP_REGIONS_HEIGHT],
                   .plane = s[IP_REGIONS_HEIGHT],
                   .width = s[IP_REGIONS_WIDTH],
                   .labels = s[IP_REGIONS_LABELS] };
    const int64_t most = ip_max(d.height * d.width / (d.labels * ELEMENTS_A_LABEL), 1);
    d.rows = ip_max(ip_ceil_div(d.height, ip_min(items, most)), LEAST_ROWS);
    d.strips = ip_ceil_div(d.height, d.rows);
    d.parts = ip_min(ip_ceil_div(items, d.strips), d.labels);
    d.elements = ip_max(ip_ceil_div(d.labels, items), LEAST_LABELS);
    return d;
}

static void scratch(const ip_opaque_call *call, uint64_t bytes[IP_OPAQUE_SCRATCH])
{
    const division d = divide(call);
    bytes[0] = (uint64_t)(d.strips * d.labels * ip_regions_fields(call->opaque->sizes[IP_REGIONS_AXES])) * 8;
}

static bool step(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    const division d = divide(call);
    if (step > 1) return false;
    const int64_t items = step == 0 ? d.strips * d.parts : ip_ceil_div(d.labels, d.elements);
    const int64_t group = call->device.is_cpu ? 1 : GPU_GROUP;
    out->kernel = step == 0 ? "rg_add" : "rg_sum";
    out->n_buffers = 2;
    out->buffers[0] = step == 0 ? IP_BUFFER_INPUT : IP_BUFFER_SCRATCH;
    out->buffers[1] = step == 0 ? IP_BUFFER_SCRATCH : IP_BUFFER_RESULT;
    const int params[N_PARAMS] = { [P_HEIGHT] = (int)d.height, [P_PLANE] = (int)d.plane,   [P_WIDTH] = (int)d.width,
                                   [P_LABELS] = (int)d.labels, [P_STRIPS] = (int)d.strips, [P_ROWS] = (int)d.rows,
                                   [P_PARTS] = (int)d.parts,   [P_ITEMS] = (int)items,     [P_EACH] = (int)d.elements };
    ip_opaque_set_params(out, params, N_PARAMS);
    ip_opaque_set_items(out, items, group);
    return true;
}

static const ip_opaque_kind kind = { .name = "regions",
                                     .shader = "regions",
                                     .params = PARAMS(IP_PARAM_TEXT),
                                     .widen = ip_opaque_widen_all,
                                     .reads = ip_opaque_read_all,
                                     .scratch = scratch,
                                     .step = step,
                                     .compute = ip_regions_compute };

static int64_t axes_of(const ip_type *a)
{
    int64_t dims[4];
    ip_type_dims(a, dims);
    return dims[0] > 1 ? 3 : 2;
}

imgpar_status ip_infer_regions(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    char text[96];
    if (a->rank == 1 && ip_type_count(a) > 0)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: a is %s; it must be an image of 1 channel", node->op->info.name,
                       ip_type_text(a, text));
    imgpar_status st = ip_infer_of_mask(node, IMGPAR_I32, err);
    if (st) return st;
    const int64_t shape[2] = { (int64_t)ip_param_number(node, "most"), ip_regions_fields(axes_of(a)) };
    node->type = (ip_type){ .dtype = IMGPAR_F64, .space = IMGPAR_SPACE_DATA };
    node->range = ip_range_of(IMGPAR_F64);
    return ip_shape_set(node, 2, shape, err);
}

/* Input 0 as labels of one channel, i32. */
static ip_stage *labels_stage(ip_lower *l)
{
    ip_stage *in = l->in[0];
    const int64_t dims[4] = { in->dims[0], in->dims[1], in->dims[2], 1 };
    ip_expr *at[4];
    if (in->dtype == IMGPAR_I32 && in->dims[3] == 1) return in;
    for (int d = 0; d < 4; d++)
        at[d] = d == 3 ? ip_lower_i32(l, 0) : ip_x_coord(l->ir, d, dims[d]);
    ip_expr *v = ip_x_load(l->ir, in, at, IP_BORDER_NONE, NULL);
    if (v->dtype == IMGPAR_BOOL) v = ip_x_cast(l->ir, IMGPAR_U8, v);
    return ip_lower_stage_sized(l, dims, IMGPAR_I32, ip_lower_convert(l, IMGPAR_I32, v), "labels");
}

ip_stage *ip_stages_regions(ip_lower *l)
{
    const int64_t most = (int64_t)ip_param_number(l->node, "most"), axes = axes_of(&l->node->inputs[0]->type),
                  dims[4] = { 1, most, ip_regions_fields(axes), 1 };
    ip_stage *labels = labels_stage(l);
    if (!labels) return NULL;
    ip_opaque o = { .kind = &kind,
                    .defines = axes == 3 ? "#define RG_VOLUME\n" : "",
                    .dtype = IMGPAR_I64,
                    .n_inputs = 1,
                    .inputs = { labels },
                    .sizes = { [IP_REGIONS_PLANES] = labels->dims[0],
                               [IP_REGIONS_HEIGHT] = labels->dims[1],
                               [IP_REGIONS_WIDTH] = labels->dims[2],
                               [IP_REGIONS_LABELS] = most,
                               [IP_REGIONS_AXES] = axes } };
    ip_stage *sums = ip_stage_opaque(l->ir, &o, IMGPAR_I64, dims, l->node);
    if (!sums) return NULL;
    ip_expr *zero = ip_lower_i32(l, 0), *field = ip_lower_coord(l, 2),
            *at[4] = { zero, ip_lower_coord(l, 1), zero, zero },
            *count = ip_x_cast(l->ir, IMGPAR_F64, ip_x_load(l->ir, sums, at, IP_BORDER_NONE, NULL));
    ip_expr *own = ip_x_cast(l->ir, IMGPAR_F64, ip_lower_read(l, sums, zero, zero, zero, IP_BORDER_NONE, NULL));
    ip_expr *is_mean = ip_x_binary(l->ir, IP_X_AND, ip_x_binary(l->ir, IP_X_LE, ip_lower_i32(l, 1), field),
                                   ip_x_binary(l->ir, IP_X_LE, field, ip_lower_i32(l, axes)));
    return ip_lower_map(l, ip_x_select(l->ir, is_mean, ip_x_binary(l->ir, IP_X_DIV, own, count), own));
}
