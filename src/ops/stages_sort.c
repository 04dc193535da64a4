/* SPDX-License-Identifier: MIT */
/*
 * Sorting as an opaque stage over rows: the axis is brought to the end before and back after, by maps that fuse with
 * their neighbours. Short rows are merged, a work-item for some of them; long ones go through 8 bits of their keys at a
 * time (shaders/sort.cl), from the source into scratch memory, back and forth, and in the last pass into the result.
 */
#include "ops/keys.h"
#include "ops/permute.h"
#include "ops/sort.h"

#include "base/dtype.h"
#include "base/integers.h"

/* What its kernels take, in shaders/sort.cl. */
#define PARAMS(NAME)      \
    NAME(N)               \
    NAME(ROWS)            \
    NAME(ITEMS)           \
    NAME(EACH)            \
    NAME(CHUNKS)          \
    NAME(CHUNK)           \
    NAME(SHIFT)           \
    NAME(READS_ELEMENTS)  \
    NAME(WRITES_ELEMENTS) \
    NAME(DESCENDING)      \
    NAME(BEFORE)
enum { P_FIRST_ITEM, PARAMS(IP_PARAM_NUMBER) N_PARAMS };

enum { DIGITS = 256, DIGIT_BITS = 8 };
static const ip_opaque_constant constants[] = { { "SO_DIGITS", DIGITS }, { NULL, 0 } };
/* Up to so many elements a row is short. A GPU has work for many items in rows that are not. */
enum { SHORT_ON_CPU = 384, SHORT_ON_GPU = 128 };
/* Long rows: chunks for each compute unit, and elements in a chunk at least. */
enum { CPU_ITEMS = 8, CPU_CHUNK = 4096, GPU_ITEMS = 64, GPU_CHUNK = 1024, GPU_GROUP = 64 };

/* ---- access ---------------------------------------------------------------------------------- */

static void widen(const ip_opaque *o, ip_region *result)
{
    *result = (ip_region){ 0, o->dims[0], result->y0, result->y1, 0, o->dims[2] };
    if (o->sizes[IP_SORT_ROWS_PER_Y]) return;
    result->y0 = 0;
    result->y1 = o->dims[1];
}

static void reads(const ip_opaque *o, int input, const ip_region *result, ip_region *needed)
{
    (void)o, (void)input;
    *needed = *result; /* of the same size */
}

/* ---- work -------------------------------------------------------------------------------------- */

typedef struct division {
    bool is_short;
    int64_t n, rows, before; /* before: rows that the input's buffer holds before the first one */
    int64_t chunk, chunks;   /* long rows */
    int passes;
} division;

static division divide(const ip_opaque_call *call)
{
    const int64_t *s = call->opaque->sizes;
    division d = { .n = s[IP_SORT_N], .rows = s[IP_SORT_ROWS] };
    bool cpu = call->device.is_cpu;
    int64_t per_y = s[IP_SORT_ROWS_PER_Y], items = (int64_t)call->device.compute_units * (cpu ? CPU_ITEMS : GPU_ITEMS);
    if (per_y) d.rows = (call->result.y1 - call->result.y0) * per_y;
    if (per_y) d.before = (call->result.y0 - call->in[0].y0) * per_y;
    d.is_short = d.n <= (cpu ? SHORT_ON_CPU : SHORT_ON_GPU);
    d.passes = (int)ip_dtype(call->opaque->dtype)->size_bytes;
    d.chunk = ip_ceil_div(d.n, ip_ceil_div(items, d.rows));
    if (d.chunk < (cpu ? CPU_CHUNK : GPU_CHUNK)) d.chunk = cpu ? CPU_CHUNK : GPU_CHUNK;
    d.chunks = ip_ceil_div(d.n, d.chunk);
    return d;
}

/* Scratch: 0 keys, 1 keys again and 2 places for indices (elements use the result), 3 the table of counts. */
static void scratch(const ip_opaque_call *call, uint64_t bytes[IP_OPAQUE_SCRATCH])
{
    division d = divide(call);
    uint64_t count = (uint64_t)(d.rows * d.n), size = ip_dtype(call->opaque->dtype)->size_bytes;
    bool indices = call->opaque->sizes[IP_SORT_INDICES];
    bytes[0] = count * size;
    bytes[1] = indices ? count * size : 0;
    bytes[2] = indices ? count * sizeof(int32_t) : 0;
    bytes[3] = d.is_short ? 0 : (uint64_t)(d.rows * (d.chunks + 1) * DIGITS) * sizeof(int32_t);
}

static void set_items(const ip_opaque_call *call, int64_t items, ip_opaque_launch *out)
{
    size_t group = call->device.is_cpu ? 1 : GPU_GROUP;
    out->local[0] = group;
    out->global[0] = group;
    out->global[1] = 1;
    out->global[2] = (size_t)ip_ceil_div(items, (int64_t)group);
}

enum { SOURCE = IP_BUFFER_INPUT, RESULT = IP_BUFFER_RESULT, KEYS = IP_BUFFER_SCRATCH, OTHER_KEYS, PLACES, TABLE };

static void set_buffers(ip_opaque_launch *out, int n, const int *buffers)
{
    out->n_buffers = n;
    for (int k = 0; k < n; k++)
        out->buffers[k] = buffers[k];
}

static void rows_step(const ip_opaque_call *call, const division *d, ip_opaque_launch *out)
{
    bool cpu = call->device.is_cpu, indices = call->opaque->sizes[IP_SORT_INDICES];
    int64_t items = cpu ? (int64_t)call->device.compute_units * CPU_ITEMS : d->rows, each = ip_ceil_div(d->rows, items);
    const int of_elements[] = { SOURCE, KEYS, RESULT, KEYS, RESULT },
              of_indices[] = { SOURCE, KEYS, OTHER_KEYS, PLACES, RESULT };
    out->kernel = "so_rows";
    set_buffers(out, 5, indices ? of_indices : of_elements);
    out->params[P_ITEMS] = (int)ip_ceil_div(d->rows, each);
    out->params[P_EACH] = (int)each;
    set_items(call, out->params[P_ITEMS], out);
}

/* Pass p reads what pass p - 1 wrote: keys and places in scratch memory after an even pass, else in the others. */
static void digit_step(const ip_opaque_call *call, const division *d, int pass, int kernel, ip_opaque_launch *out)
{
    bool indices = call->opaque->sizes[IP_SORT_INDICES], is_last = pass == d->passes - 1;
    int other_keys = indices ? OTHER_KEYS : RESULT, other_places = indices ? RESULT : TABLE;
    int to_keys = pass % 2 || is_last ? other_keys : KEYS, from_keys = pass % 2 ? KEYS : other_keys;
    int to_places = pass % 2 || is_last ? other_places : PLACES, from_places = pass % 2 ? PLACES : other_places;
    if (!indices) to_places = from_places = TABLE; /* neither read nor written */
    const int count[] = { SOURCE, from_keys, TABLE }, scan[] = { TABLE };
    const int scatter[] = { SOURCE, from_keys, to_keys, from_places, to_places, TABLE };
    out->params[P_SHIFT] = pass * DIGIT_BITS;
    out->params[P_READS_ELEMENTS] = pass == 0;
    out->params[P_WRITES_ELEMENTS] = is_last;
    if (kernel == 0) {
        out->kernel = "so_count";
        set_buffers(out, 3, count);
    } else if (kernel == 1) {
        out->kernel = "so_scan";
        set_buffers(out, 1, scan);
    } else {
        out->kernel = "so_scatter";
        set_buffers(out, 6, scatter);
    }
    set_items(call, kernel == 1 ? d->rows * DIGITS : out->params[P_ITEMS], out);
}

static bool step(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    division d = divide(call);
    if (step >= (d.is_short ? 1 : 3 * d.passes)) return false;
    out->n_params = N_PARAMS;
    out->params[P_N] = (int)d.n;
    out->params[P_ROWS] = (int)d.rows;
    out->params[P_ITEMS] = (int)(d.rows * d.chunks);
    out->params[P_CHUNKS] = (int)d.chunks;
    out->params[P_CHUNK] = (int)d.chunk;
    out->params[P_DESCENDING] = (int)call->opaque->sizes[IP_SORT_DESCENDING];
    out->params[P_BEFORE] = (int)d.before;
    if (d.is_short)
        rows_step(call, &d, out);
    else
        digit_step(call, &d, step / 3, step % 3, out);
    return true;
}

static const ip_opaque_kind kind = { .name = "sort",
                                     .shader = "sort",
                                     .params = PARAMS(IP_PARAM_TEXT),
                                     .constants = constants,
                                     .before = "keys",
                                     .widen = widen,
                                     .reads = reads,
                                     .scratch = scratch,
                                     .step = step,
                                     .compute = ip_sort_compute };

/* ---- lowering ------------------------------------------------------------------------------------ */

ip_stage *ip_sort_order(ip_lower *l, ip_stage *stage, int64_t n)
{
    const ip_opaque o = { .kind = &kind,
                          .variant = "indices",
                          .defines = ip_key_defines(stage->dtype, true),
                          .dtype = stage->dtype,
                          .n_inputs = 1,
                          .inputs = { stage },
                          .sizes = { 1, n, 1, 0, 0 } };
    return ip_stage_opaque(l->ir, &o, IMGPAR_I32, stage->dims, l->node);
}

ip_stage *ip_stages_sort(ip_lower *l)
{
    const ip_type *type = &l->node->inputs[0]->type;
    const int last = type->rank - 1, axis = ip_sort_axis(l->node);
    const bool indices = l->node->op->variant == 1;
    int order[IMGPAR_MAX_RANK] = { 0, 1, 2, 3 };
    order[axis] = last;
    order[last] = axis;
    ip_type rows = ip_type_permuted(type, order);
    int64_t dims[4], n = type->shape[axis], count = ip_type_count(type);
    ip_type_dims(&rows, dims);
    if (count == 0) return ip_lower_map(l, ip_lower_i32(l, 0));
    if (count / n > INT32_MAX / DIGITS)
        return ip_lower_fail(l, IMGPAR_E_LIMIT, "more than 8388607 lines along the axis; slice() takes some of them");
    ip_opaque o = { .kind = &kind,
                    .variant = indices ? "indices" : NULL,
                    .defines = ip_key_defines(type->dtype, indices),
                    .dtype = type->dtype,
                    .n_inputs = 1,
                    .sizes = { count / n, n, indices, ip_param_number(l->node, "descending") != 0,
                               dims[0] == 1 ? dims[2] * dims[3] / n : 0 } };
    o.inputs[0] = ip_lower_permuted(l, l->in[0], type, order, type->dtype, "the axis at the end");
    ip_stage *sorted = ip_stage_opaque(l->ir, &o, l->node->type.dtype, dims, l->node);
    rows.dtype = l->node->type.dtype;
    return sorted ? ip_lower_permuted(l, sorted, &rows, order, rows.dtype, NULL) : NULL;
}
