/* SPDX-License-Identifier: MIT */
/* Harmonic values where a mask is set: an opaque stage over values and mask (shaders/harmonic.cl). */
#include "ops/harmonic.h"
#include "ops/infer.h"
#include "ops/regions.h"

#include "base/dtype.h"
#include "base/integers.h"

/* Work-items of a group on a GPU, which the kernels' text has, too. */
#define GPU_GROUP 64
/* Cells that the cycles of a launch go through, about; of cycles the most. */
enum { CELLS = 1 << 22, MOST = 16 };

enum { V = IP_BUFFER_SCRATCH, M, INTS };

static void scratch(const ip_opaque_call *call, uint64_t bytes[IP_OPAQUE_SCRATCH])
{
    const ip_opaque *o = call->opaque;
    const ip_harmonic_memory each = ip_harmonic_memory_of(o->dims[1], o->dims[2]);
    bytes[V - IP_BUFFER_SCRATCH] = (uint64_t)(each.values * o->dims[3] * ip_dtype(o->dtype)->size_bytes);
    bytes[M - IP_BUFFER_SCRATCH] = (uint64_t)(each.bytes * o->dims[3]);
    bytes[INTS - IP_BUFFER_SCRATCH] = (uint64_t)((IP_HARMONIC_STATE + each.spans) * o->dims[3] * 4);
}

static bool step(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    enum { COPY, BEGIN, FIRST, CYCLE, END };
    static const struct {
        const char *kernel;
        int n_buffers, buffers[5];
    } kernels[] = {
        { "hm_copy", 2, { IP_BUFFER_INPUT, IP_BUFFER_RESULT } },
        { "hm_begin", 5, { IP_BUFFER_INPUT, IP_BUFFER_INPUT + 1, V, M, INTS } },
        { "hm_first", 3, { V, M, INTS } },
        { "hm_cycle", 3, { V, M, INTS } },
        { "hm_end", 4, { IP_BUFFER_RESULT, V, M, INTS } },
    };
    const int64_t *dims = call->opaque->dims;
    const ip_harmonic_memory each = ip_harmonic_memory_of(dims[1], dims[2]);
    const int64_t cycles = ip_max(1, ip_min(MOST, CELLS / (dims[1] * dims[2])));
    const int launches = (int)ip_ceil_div(IP_HARMONIC_CYCLES, cycles);
    const int64_t group = call->device.is_cpu ? 1 : GPU_GROUP;
    const int which = step < CYCLE ? step : step < CYCLE + launches ? CYCLE : END;
    if (step > CYCLE + launches) return false;
    const int64_t items = which == COPY ? dims[1] : dims[3] * group;
    out->kernel = kernels[which].kernel;
    out->n_buffers = kernels[which].n_buffers;
    for (int k = 0; k < out->n_buffers; k++)
        out->buffers[k] = kernels[which].buffers[k];
    const int params[IP_HARMONIC_N_P] = {
        [IP_HARMONIC_P_ROWS] = (int)dims[1],       [IP_HARMONIC_P_COLUMNS] = (int)dims[2],
        [IP_HARMONIC_P_CHANNELS] = (int)dims[3],   [IP_HARMONIC_P_ITEMS] = (int)items,
        [IP_HARMONIC_P_VALUES] = (int)each.values, [IP_HARMONIC_P_BYTES] = (int)each.bytes,
        [IP_HARMONIC_P_SPANS] = (int)each.spans,   [IP_HARMONIC_P_CYCLES] = (int)cycles
    };
    ip_opaque_set_params(out, params, sizeof params / sizeof *params);
    ip_opaque_set_items(out, items, group);
    return true;
}

static const ip_opaque_kind kind = { .name = "harmonic",
                                     .shader = "harmonic",
                                     .params = IP_HARMONIC_PARAMS(IP_PARAM_TEXT),
                                     .widen = ip_opaque_widen_all,
                                     .reads = ip_opaque_read_all,
                                     .scratch = scratch,
                                     .step = step,
                                     .compute = ip_harmonic_compute };

imgpar_status ip_infer_harmonic(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    int64_t dims[4];
    imgpar_status st = ip_check_masked(node, err);
    if (st) return st;
    ip_type_dims(a, dims);
    if (ip_type_count(a) > INT32_MAX || ip_harmonic_memory_of(dims[1], dims[2]).values > INT32_MAX)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: more elements than it can number, about 580 million",
                       node->op->info.name);
    ip_infer_copy(node);
    node->range = ip_range_of(node->type.dtype);
    return IMGPAR_OK;
}

#define TEXT_OF(N) #N
#define NUMBER(N) TEXT_OF(N)
#define DEFINES(T, LEAST) "#define HM_T " #T "\n#define HM_LEAST " LEAST "\n#define HM_GROUP " NUMBER(GPU_GROUP) "\n"

ip_stage *ip_stages_harmonic(ip_lower *l)
{
    const imgpar_dtype own = l->node->type.dtype;
    const bool is_small =
        own == IMGPAR_F32 || own == IMGPAR_F16 || (!ip_dtype(own)->is_float && ip_dtype(own)->size_bytes <= 2);
    const imgpar_dtype dtype = is_small ? IMGPAR_F32 : IMGPAR_F64;
    if (ip_type_count(&l->node->type) == 0) return ip_lower_map(l, ip_lower_in(l, 0));
    if (!l->in[0] || !l->in[1]) return NULL;
    ip_stage *values =
        own == dtype ? l->in[0] : ip_lower_stage(l, ip_x_cast(l->ir, dtype, ip_lower_value(l, 0)), "values");
    ip_stage *mask = ip_lower_mask(l, 1);
    if (!values || !mask) return NULL;
    ip_opaque o = { .kind = &kind,
                    .defines = dtype == IMGPAR_F32 ? DEFINES(float, "5e-6f") : DEFINES(double, "3e-10"),
                    .uses_f64 = dtype == IMGPAR_F64,
                    .dtype = dtype,
                    .n_inputs = 2,
                    .inputs = { values, mask } };
    ip_stage *solved = ip_stage_opaque(l->ir, &o, dtype, l->dims, l->node);
    if (!solved || dtype == own) return solved;
    ip_expr *zero = ip_lower_i32(l, 0), *v = ip_lower_read(l, solved, zero, zero, zero, IP_BORDER_NONE, NULL);
    v = ip_lower_convert(l, own, v);
    if (!ip_is_wide_integer(own)) return ip_lower_map(l, v);
    ip_expr *is_set = ip_lower_read(l, mask, zero, zero, zero, IP_BORDER_NONE, NULL);
    if (is_set->dtype != IMGPAR_BOOL) is_set = ip_x_binary(l->ir, IP_X_NE, is_set, ip_x_int(l->ir, is_set->dtype, 0));
    return ip_lower_map(l, ip_x_select(l->ir, is_set, v, ip_lower_value(l, 0))); /* doubles do not hold all of them */
}
