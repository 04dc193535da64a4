/* SPDX-License-Identifier: MIT */
/*
 * The different values of a vector (distinct.h) as an opaque stage: hash tables (shaders/distinct.cl). On a CPU
 * work-items have tables of their own, which are joined; on others all add to one.
 */
#include "ops/distinct.h"
#include "ops/keys.h"
#include "ops/permute.h"

#include "base/dtype.h"
#include "base/integers.h"

/* What its kernels take, in shaders/distinct.cl. */
#define PARAMS(NAME) \
    NAME(N)          \
    NAME(ITEMS)      \
    NAME(EACH)       \
    NAME(FROM)       \
    NAME(TO)         \
    NAME(ROOM)       \
    NAME(BITS)       \
    NAME(LAST_BITS)  \
    NAME(MOST)       \
    NAME(SAMPLE)     \
    NAME(TABLES)     \
    NAME(APART)
enum { P_FIRST_ITEM, PARAMS(IP_PARAM_NUMBER) N_PARAMS };

/* A sort of fewer takes less than a plan of its own for what tells whether it is needed. Of elements of which a large
 * share differ a table takes as long. */
enum { LEAST_ELEMENTS = 1 << 18, SHARE = 8 };
enum { SAMPLE = 1 << 14 };
/* Work-items with a table of their own, and the elements that one counts in a launch. Of others, elements an item. */
enum { CPU_ITEMS = 8, CPU_ELEMENTS = 1 << 21, GPU_ELEMENTS = 32, GPU_GROUP = 64 };

int64_t ip_distinct_most(int64_t n)
{
    int64_t most = INT64_C(1) << (IP_DISTINCT_MOST_BITS - 1);
    if (n < LEAST_ELEMENTS) return 0;
    while (most > n / SHARE)
        most /= 4;
    return most;
}

typedef struct division {
    int64_t n, most, items, each, room, pieces;
    int bits;
} division;

static division divide(const ip_opaque_call *call)
{
    const int64_t *s = call->opaque->sizes;
    division d = { .n = s[IP_DISTINCT_N], .most = s[IP_DISTINCT_MOST] };
    while (INT64_C(1) << d.bits < 2 * d.most)
        d.bits++;
    d.items = call->device.compute_units < CPU_ITEMS ? call->device.compute_units : CPU_ITEMS;
    if (d.items > d.n / (2 * d.most)) d.items = d.n / (2 * d.most);
    d.each = ip_ceil_div(d.n, d.items);
    d.pieces = ip_ceil_div(d.each, CPU_ELEMENTS);
    d.room = ((INT64_C(4) << d.bits) - (1 << IP_DISTINCT_BITS)) / 3;
    return d;
}

/* On a CPU: 0 keys and counts, 1 places, 2 info. Else: 0 places, 1 counts, 2 info. */
static void scratch(const ip_opaque_call *call, uint64_t bytes[IP_OPAQUE_SCRATCH])
{
    const division d = divide(call);
    const uint64_t key = ip_dtype(call->opaque->dtype)->size_bytes == 8 ? 8 : 4,
                   slots = call->device.is_cpu ? (uint64_t)(d.items * d.room) : UINT64_C(1) << d.bits;
    bytes[0] = slots * (call->device.is_cpu ? 2 * key : sizeof(int32_t));
    bytes[1] = slots * sizeof(int32_t);
    bytes[2] = (uint64_t)(2 + 2 * CPU_ITEMS) * sizeof(int32_t);
}

enum { SOURCE = IP_BUFFER_INPUT, RESULT = IP_BUFFER_RESULT, TABLE = IP_BUFFER_SCRATCH, MORE, INFO };

static void set(ip_opaque_launch *out, const char *kernel, int n, const int *buffers)
{
    out->kernel = kernel;
    out->n_buffers = n;
    for (int k = 0; k < n; k++)
        out->buffers[k] = buffers[k];
}

static const int elements[] = { SOURCE, TABLE, MORE, INFO }, collected[] = { TABLE, MORE, INFO, RESULT };

/* Work-items that there is work for. */
static int64_t cpu_step(const division *d, int step, ip_opaque_launch *out)
{
    const int cleared[] = { TABLE, INFO };
    if (step == 0)
        set(out, "hs_clear", 2, cleared);
    else if (step <= 1 + d->pieces)
        set(out, step == 1 ? "hs_sample" : "hs_count", 4, elements);
    else
        set(out, "hs_collect", 4, collected);
    return step == 0 || (step > 1 && step <= 1 + d->pieces) ? d->items : 1;
}

static int64_t gpu_step(const division *d, int step, ip_opaque_launch *out)
{
    const int sampled[] = { SOURCE, TABLE, INFO }, judged[] = { INFO };
    const int64_t items[] = { 2 * d->most, SAMPLE, 1, ip_ceil_div(d->n, GPU_ELEMENTS), 2 * d->most };
    if (step == 1)
        set(out, "hs_sample", 3, sampled);
    else if (step == 2)
        set(out, "hs_judge", 1, judged);
    else if (step == 3)
        set(out, "hs_count", 4, elements);
    else
        set(out, step == 0 ? "hs_clear" : "hs_collect", 4, collected);
    return items[step];
}

static bool step(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    const division d = divide(call);
    const bool cpu = call->device.is_cpu;
    if (step >= (cpu ? 3 + d.pieces : 5)) return false;
    const int64_t items = cpu ? cpu_step(&d, step, out) : gpu_step(&d, step, out);
    const int64_t from = (int64_t)(step - 2) * CPU_ELEMENTS, to = from + CPU_ELEMENTS;
    const int params[N_PARAMS] = { [P_N] = (int)d.n,
                                   [P_ITEMS] = (int)items,
                                   [P_EACH] = (int)d.each,
                                   [P_FROM] = (int)from,
                                   [P_TO] = (int)(to < d.each ? to : d.each),
                                   [P_ROOM] = (int)d.room,
                                   [P_BITS] = IP_DISTINCT_BITS,
                                   [P_LAST_BITS] = d.bits,
                                   [P_MOST] = (int)d.most,
                                   [P_SAMPLE] = SAMPLE,
                                   [P_TABLES] = (int)d.items,
                                   [P_APART] = (int)(d.n / SAMPLE) };
    ip_opaque_set_params(out, params, N_PARAMS);
    ip_opaque_set_items(out, items, cpu ? 1 : GPU_GROUP);
    return true;
}

static const ip_opaque_kind kind = { .name = "distinct",
                                     .shader = "distinct",
                                     .params = PARAMS(IP_PARAM_TEXT),
                                     .before = "keys",
                                     .widen = ip_opaque_widen_all,
                                     .reads = ip_opaque_read_all,
                                     .scratch = scratch,
                                     .step = step,
                                     .compute = ip_distinct_compute };

imgpar_status ip_infer_distinct(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    const int64_t most = a->rank == 1 ? ip_distinct_most(a->shape[0]) : 0;
    char text[96];
    if (most == 0 || a->shape[0] > INT32_MAX)
        return ip_fail(err, IMGPAR_E_SHAPE, "distinct: a is %s; it must be a vector of %d elements or more",
                       ip_shape_text(a, text), LEAST_ELEMENTS);
    node->type = *a;
    node->type.shape[0] = 1 + 2 * most;
    node->type.dtype = IMGPAR_I32;
    node->type.space = IMGPAR_SPACE_DATA;
    node->range = (ip_range){ 0, INT32_MAX };
    return IMGPAR_OK;
}

ip_stage *ip_stages_distinct(ip_lower *l)
{
    const ip_type *type = &l->node->inputs[0]->type;
    const int64_t n = type->shape[0];
    const int order[IMGPAR_MAX_RANK] = { 0 };
    ip_opaque o = { .kind = &kind,
                    .defines = ip_key_defines(type->dtype, false),
                    .dtype = type->dtype,
                    .n_inputs = 1,
                    .sizes = { n, ip_distinct_most(n) } };
    o.inputs[0] = ip_lower_permuted(l, l->in[0], type, order, type->dtype, "elements in order");
    return o.inputs[0] ? ip_stage_opaque(l->ir, &o, IMGPAR_I32, l->dims, l->node) : NULL;
}
