/* SPDX-License-Identifier: MIT */
/* Tables of keys and look-ups in them (key_table.h) as opaque stages: shaders/key_table.cl. */
#include "ops/key_table.h"
#include "ops/keys.h"
#include "ops/permute.h"

#include "base/dtype.h"
#include "base/integers.h"

/* What its kernels take, in shaders/key_table.cl. */
#define PARAMS(NAME) NAME(N) NAME(ITEMS) NAME(EACH) NAME(FIRST) NAME(BITS)
enum { P_FIRST_ITEM, PARAMS(IP_PARAM_NUMBER) N_PARAMS };

/* On a CPU: elements that a work-item clears or looks up, and that one adds in a launch. */
enum { CPU_ELEMENTS = 1 << 14, CPU_ADDED = 1 << 20, GPU_GROUP = 64, LEAST_BITS = 4 };

int ip_key_table_bits(int64_t n)
{
    int bits = LEAST_BITS;
    while (INT64_C(1) << bits < 2 * n)
        bits++;
    return bits;
}

enum { RESULT = IP_BUFFER_RESULT, INPUT = IP_BUFFER_INPUT };

static void set(ip_opaque_launch *out, const char *kernel, int n, const int *buffers)
{
    out->kernel = kernel;
    out->n_buffers = n;
    for (int k = 0; k < n; k++)
        out->buffers[k] = buffers[k];
}

/* A work-item for so many of n elements. */
static void set_work(const ip_opaque_call *call, int64_t n, int64_t each, int64_t first, ip_opaque_launch *out)
{
    const int64_t items = ip_ceil_div(n, each);
    const int params[N_PARAMS] = { [P_N] = (int)n,
                                   [P_ITEMS] = (int)items,
                                   [P_EACH] = (int)each,
                                   [P_FIRST] = (int)first,
                                   [P_BITS] = (int)call->opaque->sizes[IP_KEY_TABLE_BITS] };
    ip_opaque_set_params(out, params, N_PARAMS);
    ip_opaque_set_items(out, items, call->device.is_cpu ? 1 : GPU_GROUP);
}

/* ---- the table ----------------------------------------------------------------------------------- */

static bool table_step(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    const int cleared[] = { RESULT }, added[] = { INPUT, RESULT };
    const int64_t n = call->opaque->sizes[IP_KEY_TABLE_N], first = (int64_t)(step - 1) * CPU_ADDED;
    const bool cpu = call->device.is_cpu;
    if (step > (cpu ? ip_ceil_div(n, CPU_ADDED) : 1)) return false;
    set(out, step == 0 ? "kt_clear" : "kt_add", step == 0 ? 1 : 2, step == 0 ? cleared : added);
    if (step == 0)
        set_work(call, INT64_C(1) << call->opaque->sizes[IP_KEY_TABLE_BITS], cpu ? CPU_ELEMENTS : 1, 0, out);
    else
        set_work(call, n, cpu ? CPU_ADDED : 1, 0, out);
    if (step == 0 || !cpu) return true;
    out->params[P_FIRST] = (int)first;
    ip_opaque_set_items(out, 1, 1);
    return true;
}

static const ip_opaque_kind table_kind = { .name = "key_table",
                                           .shader = "key_table",
                                           .params = PARAMS(IP_PARAM_TEXT),
                                           .before = "keys",
                                           .widen = ip_opaque_widen_all,
                                           .reads = ip_opaque_read_all,
                                           .step = table_step,
                                           .compute = ip_key_table_compute };

imgpar_status ip_infer_key_table(imgpar_array *node, ip_error *err)
{
    const ip_type *keys = &node->inputs[0]->type;
    const int64_t n = keys->shape[0];
    char text[96];
    if (keys->rank != 1 || n < 1 || n > IP_KEY_TABLE_MOST)
        return ip_fail(err, IMGPAR_E_SHAPE, "key_table: keys is %s; it must be a vector of 1 to 2^29 elements",
                       ip_shape_text(keys, text));
    node->type = *keys;
    node->type.shape[0] = INT64_C(1) << ip_key_table_bits(n);
    node->type.dtype = IMGPAR_I32;
    node->type.space = IMGPAR_SPACE_DATA;
    node->range = (ip_range){ 0, (double)n };
    return IMGPAR_OK;
}

ip_stage *ip_stages_key_table(ip_lower *l)
{
    const ip_type *type = &l->node->inputs[0]->type;
    const int64_t n = type->shape[0];
    ip_opaque o = { .kind = &table_kind,
                    .defines = ip_key_defines(type->dtype, true),
                    .dtype = type->dtype,
                    .n_inputs = 1,
                    .inputs = { l->in[0] },
                    .sizes = { ip_key_table_bits(n), n } };
    return ip_stage_opaque(l->ir, &o, IMGPAR_I32, l->dims, l->node);
}

/* ---- what is found ------------------------------------------------------------------------------- */

/* Whole rows; of several planes all of them, which lie one behind the other. */
static void widen(const ip_opaque *o, ip_region *result)
{
    *result = (ip_region){ 0, o->dims[0], result->y0, result->y1, 0, o->dims[2] };
    if (o->dims[0] == 1) return;
    result->y0 = 0;
    result->y1 = o->dims[1];
}

static void reads(const ip_opaque *o, int input, const ip_region *result, ip_region *needed)
{
    if (input == IP_PLACES_A)
        *needed = *result;
    else
        ip_opaque_read_all(o, input, result, needed);
}

static bool places_step(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    const int buffers[] = { INPUT + IP_PLACES_A, INPUT + IP_PLACES_KEYS, INPUT + IP_PLACES_TABLE, RESULT };
    const int64_t *dims = call->opaque->dims, of_row = dims[2] * dims[3];
    const int64_t n = dims[0] * (call->result.y1 - call->result.y0) * of_row;
    if (step > 0) return false;
    set(out, "kt_find", 4, buffers);
    set_work(call, n, call->device.is_cpu ? CPU_ELEMENTS : 1, (call->result.y0 - call->in[IP_PLACES_A].y0) * of_row,
             out);
    return true;
}

static const ip_opaque_kind places_kind = { .name = "key_places",
                                            .shader = "key_table",
                                            .params = PARAMS(IP_PARAM_TEXT),
                                            .before = "keys",
                                            .widen = widen,
                                            .reads = reads,
                                            .step = places_step,
                                            .compute = ip_key_places_compute };

imgpar_status ip_infer_key_places(imgpar_array *node, ip_error *err)
{
    const imgpar_array *keys = node->inputs[IP_PLACES_KEYS], *table = node->inputs[IP_PLACES_TABLE];
    if (table->op->infer != ip_infer_key_table || table->inputs[0] != keys)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "key_places: table is not the table of keys");
    if (node->inputs[IP_PLACES_A]->type.dtype != keys->type.dtype)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "key_places: a and keys differ in dtype");
    node->type = node->inputs[IP_PLACES_A]->type;
    node->type.dtype = IMGPAR_I32;
    node->type.space = IMGPAR_SPACE_DATA;
    node->range = (ip_range){ -1, (double)node->inputs[IP_PLACES_KEYS]->type.shape[0] - 1 };
    return IMGPAR_OK;
}

ip_stage *ip_stages_key_places(ip_lower *l)
{
    const ip_type *keys = &l->node->inputs[IP_PLACES_KEYS]->type;
    ip_opaque o = { .kind = &places_kind,
                    .defines = ip_key_defines(keys->dtype, true),
                    .dtype = keys->dtype,
                    .n_inputs = 3,
                    .inputs = { l->in[0], l->in[1], l->in[2] },
                    .sizes = { ip_key_table_bits(keys->shape[0]) } };
    return ip_stage_opaque(l->ir, &o, IMGPAR_I32, l->dims, l->node);
}
