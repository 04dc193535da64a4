/* SPDX-License-Identifier: MIT */
/* Selection by rank (nth.h, Note [Selection]) as an opaque stage: shaders/nth.cl. */
#include "ops/keys.h"
#include "ops/lower.h"
#include "ops/nth.h"

#include "base/dtype.h"
#include "base/integers.h"
#include "ops/infer.h"

/* What its kernels take, in shaders/nth.cl. */
#define PARAMS(NAME) \
    NAME(ITEMS)      \
    NAME(EACH)       \
    NAME(CHUNK)      \
    NAME(REST)       \
    NAME(CHUNKS)     \
    NAME(PLACES)     \
    NAME(LAST)       \
    NAME(LAST_HIGH)  \
    NAME(ABOVE)      \
    NAME(SHIFT)
enum { P_FIRST_ITEM, PARAMS(IP_PARAM_NUMBER) N_PARAMS };

static const ip_opaque_constant constants[] = { { "NT_CPU_BITS", IP_NTH_DIGIT_BITS },
                                                { "NT_GPU_BITS", IP_NTH_GPU_DIGIT_BITS },
                                                { "NT_MOST", IP_NTH_MOST },
                                                { NULL, 0 } };
/* Chunks for each compute unit, elements in a chunk at least, and digits that a work-item sums; work-items of a group.
 */
enum { CPU_ITEMS = 4, CPU_CHUNK = 1 << 17, CPU_SUMMED = 4096, GPU_ITEMS = 8, GPU_CHUNK = 1 << 14, GPU_GROUP = 64 };
/* Elements in a chunk at most: between two of its launches an evaluation can be interrupted, and 32 bits count them. */
enum { MOST_CHUNK = 1 << 26 };

static int digit_bits_of(const ip_opaque_call *call)
{
    const int bits = (int)ip_dtype(call->opaque->dtype)->size_bytes * 8;
    return ip_min_int(bits, call->device.is_cpu ? IP_NTH_DIGIT_BITS : IP_NTH_GPU_DIGIT_BITS);
}

static int64_t n_of(const ip_opaque_call *call) { return (int64_t)ip_dims_count(call->opaque->inputs[IP_NTH_A]->dims); }
static int64_t places_of(const ip_opaque_call *call) { return (int64_t)ip_dims_count(call->opaque->dims); }

/* Chunks are so long that their counts are no larger than their elements. */
static int64_t chunk_of(const ip_opaque_call *call)
{
    const bool cpu = call->device.is_cpu;
    const int64_t wanted = ip_ceil_div(n_of(call), (int64_t)call->device.compute_units * (cpu ? CPU_ITEMS : GPU_ITEMS)),
                  counts = (places_of(call) * (int64_t)sizeof(uint32_t)) << digit_bits_of(call),
                  size = (int64_t)ip_dtype(call->opaque->dtype)->size_bytes;
    return ip_clamp(wanted, ip_max(cpu ? CPU_CHUNK : GPU_CHUNK, counts / size), MOST_CHUNK);
}

enum { STATE = IP_BUFFER_SCRATCH, TABLE, SUMS };

static void scratch(const ip_opaque_call *call, uint64_t bytes[IP_OPAQUE_SCRATCH])
{
    const uint64_t places = (uint64_t)places_of(call), chunks = (uint64_t)ip_ceil_div(n_of(call), chunk_of(call));
    bytes[0] = places * 2 * sizeof(uint64_t);
    bytes[1] = (places * chunks * sizeof(uint32_t)) << digit_bits_of(call);
    bytes[2] = (places * sizeof(uint64_t)) << digit_bits_of(call);
}

/* A kernel and its buffers, up to one below 0. */
static void set(ip_opaque_launch *out, const char *kernel, const int *buffers)
{
    out->kernel = kernel;
    for (out->n_buffers = 0; buffers[out->n_buffers] >= 0; out->n_buffers++)
        out->buffers[out->n_buffers] = buffers[out->n_buffers];
}

static bool step(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    static const int count[] = { IP_BUFFER_INPUT + IP_NTH_A, STATE, TABLE, -1 }, sum[] = { STATE, TABLE, SUMS, -1 },
                     choose[] = { IP_BUFFER_INPUT + IP_NTH_PLACES, SUMS, STATE, IP_BUFFER_RESULT, -1 };
    const bool cpu = call->device.is_cpu;
    const int64_t n = n_of(call), chunk = chunk_of(call), chunks = ip_ceil_div(n, chunk), places = places_of(call);
    const int64_t each = cpu ? CPU_SUMMED : 1;
    const int bits = (int)ip_dtype(call->opaque->dtype)->size_bytes * 8, digit_bits = digit_bits_of(call);
    int above, shift;
    if (!ip_nth_digit(bits, digit_bits, step / 3, &above, &shift)) return false;
    const int64_t items = step % 3 == 0 ? chunks : step % 3 == 1 ? ip_ceil_div(places << digit_bits, each) : 1;
    const int params[N_PARAMS] = { [P_ITEMS] = (int)items,
                                   [P_EACH] = (int)each,
                                   [P_CHUNK] = (int)chunk,
                                   [P_REST] = (int)(n - (chunks - 1) * chunk),
                                   [P_CHUNKS] = (int)chunks,
                                   [P_PLACES] = (int)places,
                                   [P_LAST] = (int)(uint32_t)(n - 1),
                                   [P_LAST_HIGH] = (int)((n - 1) >> 32),
                                   [P_ABOVE] = above,
                                   [P_SHIFT] = shift };
    ip_opaque_set_params(out, params, N_PARAMS);
    set(out,
        step % 3 == 0   ? "nt_count"
        : step % 3 == 1 ? "nt_sum"
                        : "nt_choose",
        step % 3 == 0   ? count
        : step % 3 == 1 ? sum
                        : choose);
    ip_opaque_set_items(out, step % 3 == 0 && !cpu ? items * GPU_GROUP : items, cpu ? 1 : GPU_GROUP);
    return true;
}

static const ip_opaque_kind kind = { .name = "nth",
                                     .shader = "nth",
                                     .params = PARAMS(IP_PARAM_TEXT),
                                     .constants = constants,
                                     .before = "keys",
                                     .widen = ip_opaque_widen_all,
                                     .reads = ip_opaque_read_all,
                                     .scratch = scratch,
                                     .step = step,
                                     .compute = ip_nth_compute };

imgpar_status ip_infer_nth(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[IP_NTH_A]->type, *places = &node->inputs[IP_NTH_PLACES]->type;
    char text[96];
    if (ip_type_count(a) == 0)
        return ip_fail(err, IMGPAR_E_SHAPE, "nth: a is %s; it must have elements", ip_shape_text(a, text));
    if (places->dtype != IMGPAR_I64 || places->rank != 1 || places->shape[0] < 1 || places->shape[0] > IP_NTH_MOST)
        return ip_fail(err, IMGPAR_E_SHAPE, "nth: places is %s; it must be a vector of 1 to %d elements, i64",
                       ip_shape_text(places, text), IP_NTH_MOST);
    node->type = *places;
    node->type.dtype = a->dtype;
    node->type.space = IMGPAR_SPACE_DATA;
    node->range = node->inputs[IP_NTH_A]->range;
    return IMGPAR_OK;
}

ip_stage *ip_stages_nth(ip_lower *l)
{
    const imgpar_dtype dtype = l->node->inputs[IP_NTH_A]->type.dtype;
    ip_opaque o = { .kind = &kind,
                    .defines = ip_key_defines(dtype, false),
                    .dtype = dtype,
                    .n_inputs = 2,
                    .inputs = { l->in[IP_NTH_A], l->in[IP_NTH_PLACES] } };
    return ip_stage_opaque(l->ir, &o, dtype, l->dims, l->node);
}
