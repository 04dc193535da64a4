/* SPDX-License-Identifier: MIT */
/* Numbers of the regions of a mask, and which of them are reached from another one: opaque stages over masks as bytes
 * (shaders/labels.cl). */
#include "ops/infer.h"
#include "ops/regions.h"

#include "base/dtype.h"
#include "base/integers.h"

/* What its kernels take, in shaders/labels.cl. */
#define PARAMS(NAME) \
    NAME(HEIGHT)     \
    NAME(WIDTH)      \
    NAME(ROWS)       \
    NAME(STRIPS)     \
    NAME(ITEMS)      \
    NAME(MOST)       \
    NAME(CORNERS)    \
    NAME(EACH)       \
    NAME(PLANE)      \
    NAME(ACROSS)     \
    NAME(GROUP)
enum { P_FIRST_ITEM, PARAMS(IP_PARAM_NUMBER) N_PARAMS };

/* Strips for each compute unit; rows of a strip at least. */
enum { CPU_ITEMS = 4, CPU_ROWS = 32, GPU_ITEMS = 64, GPU_ROWS = 4, GPU_GROUP = 64 };

typedef struct division {
    int64_t height, plane, width, most; /* rows, rows a plane; runs a row */
    int64_t rows, strips;               /* of a strip */
    int joins;                          /* until all strips are one group */
} division;

static division divide(const ip_opaque_call *call)
{
    const int64_t *s = call->opaque->sizes;
    const bool cpu = call->device.is_cpu;
    const int64_t items = (int64_t)call->device.compute_units * (cpu ? CPU_ITEMS : GPU_ITEMS);
    division d = { .height = s[IP_LABELS_PLANES] * s[IP_LABELS_HEIGHT],
                   .plane = s[IP_LABELS_HEIGHT],
                   .width = s[IP_LABELS_WIDTH] };
    d.most = d.width / 2 + 1;
    d.rows = ip_max(ip_ceil_div(d.height, items), cpu ? CPU_ROWS : GPU_ROWS);
    d.strips = ip_ceil_div(d.height, d.rows);
    while (INT64_C(1) << d.joins < d.strips)
        d.joins++;
    return d;
}

static bool is_marked(const ip_opaque *o) { return o->n_inputs == 2; }

enum { ENDS = IP_BUFFER_SCRATCH, PARENTS, ROWS, ROOTS }; /* roots: with marks the runs' */

static void scratch(const ip_opaque_call *call, uint64_t bytes[IP_OPAQUE_SCRATCH])
{
    const division d = divide(call);
    const uint64_t runs = (uint64_t)(d.height * d.most);
    bytes[ENDS - IP_BUFFER_SCRATCH] = runs * 2 * (uint64_t)call->opaque->sizes[IP_LABELS_END_BYTES];
    bytes[PARENTS - IP_BUFFER_SCRATCH] = runs * 4;
    bytes[ROWS - IP_BUFFER_SCRATCH] = (uint64_t)d.height * 8;
    bytes[ROOTS - IP_BUFFER_SCRATCH] = is_marked(call->opaque) ? runs : (uint64_t)d.strips * 4;
}

static bool step(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    static const struct {
        const char *kernel;
        int n_buffers, buffers[6];
    } kernels[] = {
        { "lb_strips", 5, { IP_BUFFER_INPUT, ENDS, PARENTS, ROWS, ROOTS } },
        { "lb_join", 4, { ENDS, PARENTS, ROWS, ROOTS } },
        { "lb_number", 3, { PARENTS, ROWS, ROOTS } },
        { "lb_write", 4, { ENDS, PARENTS, ROWS, IP_BUFFER_RESULT } },
        { "lb_strips", 6, { IP_BUFFER_INPUT, IP_BUFFER_INPUT + 1, ENDS, PARENTS, ROWS, ROOTS } },
        { "lb_write", 5, { ENDS, PARENTS, ROWS, ROOTS, IP_BUFFER_RESULT } },
    };
    enum { STRIPS, JOIN, NUMBER, WRITE, STRIPS_MARKED, WRITE_MARKED };
    const division d = divide(call);
    const bool marked = is_marked(call->opaque);
    const int64_t group_of_strips = step > 0 && step <= d.joins ? INT64_C(1) << (step - 1) : 0;
    const int which = step == 0             ? marked ? STRIPS_MARKED : STRIPS
                      : step <= d.joins     ? JOIN
                      : marked              ? WRITE_MARKED
                      : step == d.joins + 1 ? NUMBER
                                            : WRITE;
    const int64_t items = which == JOIN ? ip_ceil_div(d.strips, 2 * group_of_strips) : d.strips;
    const int64_t group = call->device.is_cpu ? 1 : GPU_GROUP;
    if (step > d.joins + (marked ? 1 : 2)) return false;
    out->kernel = kernels[which].kernel;
    out->n_buffers = kernels[which].n_buffers;
    for (int k = 0; k < out->n_buffers; k++)
        out->buffers[k] = kernels[which].buffers[k];
    const int params[N_PARAMS] = { [P_HEIGHT] = (int)d.height,
                                   [P_WIDTH] = (int)d.width,
                                   [P_ROWS] = (int)d.rows,
                                   [P_STRIPS] = (int)d.strips,
                                   [P_ITEMS] = (int)items,
                                   [P_MOST] = (int)d.most,
                                   [P_CORNERS] = call->opaque->sizes[IP_LABELS_CORNERS] != 0,
                                   [P_EACH] = (int)d.rows,
                                   [P_PLANE] = (int)d.plane,
                                   [P_ACROSS] = (int)call->opaque->sizes[IP_LABELS_ACROSS],
                                   [P_GROUP] = (int)group_of_strips };
    ip_opaque_set_params(out, params, N_PARAMS);
    ip_opaque_set_items(out, items, group);
    return true;
}

static const ip_opaque_kind kind = { .name = "labels",
                                     .shader = "labels",
                                     .params = PARAMS(IP_PARAM_TEXT),
                                     .widen = ip_opaque_widen_all,
                                     .reads = ip_opaque_read_all,
                                     .scratch = scratch,
                                     .step = step,
                                     .compute = ip_labels_compute },
                            kind_marked = { .name = "reconstruct",
                                            .shader = "labels",
                                            .params = PARAMS(IP_PARAM_TEXT),
                                            .widen = ip_opaque_widen_all,
                                            .reads = ip_opaque_read_all,
                                            .scratch = scratch,
                                            .step = step,
                                            .compute = ip_labels_compute_marked };

imgpar_status ip_infer_labels(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    int64_t dims[4];
    char text[96];
    ip_type_dims(a, dims);
    if (ip_type_count(a) > 0 && a->rank < 2)
        return ip_fail(err, IMGPAR_E_SHAPE, "labels: a is %s; it must be an image of 1 channel", ip_type_text(a, text));
    imgpar_status st = ip_check_connectivity(node, err);
    if (!st) st = ip_infer_of_mask(node, IMGPAR_I32, err);
    node->range = (ip_range){ 0, (double)(dims[0] * dims[1] * dims[2]) };
    return st;
}

static bool has_too_many_runs(const ip_stage *mask)
{
    return mask->dims[0] * mask->dims[1] * (mask->dims[2] / 2 + 1) > INT32_MAX / 2;
}

static void fill_in_sizes(ip_opaque *o, const ip_stage *mask, int64_t connectivity, ip_across across)
{
    o->sizes[IP_LABELS_PLANES] = mask->dims[0];
    o->sizes[IP_LABELS_HEIGHT] = mask->dims[1];
    o->sizes[IP_LABELS_WIDTH] = mask->dims[2];
    o->sizes[IP_LABELS_CORNERS] = connectivity > 6;
    o->sizes[IP_LABELS_ACROSS] = across;
    o->sizes[IP_LABELS_END_BYTES] = mask->dims[2] > UINT16_MAX ? 4 : 2;
}

static ip_across across_planes(const ip_stage *mask, int64_t connectivity)
{
    if (mask->dims[0] == 1) return IP_ACROSS_NOTHING;
    return connectivity <= 6 ? IP_ACROSS_FACES : connectivity == 18 ? IP_ACROSS_EDGES : IP_ACROSS_CORNERS;
}

ip_stage *ip_stages_labels(ip_lower *l)
{
    ip_stage *mask = ip_lower_mask(l, 0);
    if (!mask) return NULL;
    if (has_too_many_runs(mask)) return ip_lower_fail(l, IMGPAR_E_LIMIT, "too large a mask");
    ip_opaque o = { .kind = &kind,
                    .defines = mask->dims[2] > UINT16_MAX ? "#define LB_END int\n" : "#define LB_END ushort\n",
                    .dtype = IMGPAR_I32,
                    .n_inputs = 1,
                    .inputs = { mask } };
    const int64_t connectivity = (int64_t)ip_param_number(l->node, "connectivity");
    fill_in_sizes(&o, mask, connectivity, across_planes(mask, connectivity));
    return ip_stage_opaque(l->ir, &o, IMGPAR_I32, l->dims, l->node);
}

bool ip_can_mark_regions(const ip_stage *mask) { return mask->dims[3] == 1 && !has_too_many_runs(mask); }

ip_stage *ip_stage_marked_regions(ip_lower *l, ip_stage *mask, ip_stage *marks, int64_t connectivity)
{
    ip_opaque o = { .kind = &kind_marked,
                    .variant = "runs",
                    .defines = mask->dims[2] > UINT16_MAX ? "#define LB_MARKED\n#define LB_END int\n"
                                                          : "#define LB_MARKED\n#define LB_END ushort\n",
                    .dtype = IMGPAR_U8,
                    .n_inputs = 2,
                    .inputs = { mask, marks } };
    fill_in_sizes(&o, mask, connectivity, IP_ACROSS_NOTHING);
    return ip_stage_opaque(l->ir, &o, IMGPAR_U8, mask->dims, l->node);
}
