/* SPDX-License-Identifier: MIT */
/*
 * Linear algebra of small matrices as an opaque stage over shaders/linalg.cl:
 *
 *     up to 8 x 8   the sizes are part of the program: on a CPU as many matrices as a vector has lanes are computed
 *                   at once, on a GPU a work-item has one
 *     larger        in scratch memory: on a CPU again by lanes, where there are enough matrices for them, on a GPU a
 *                   work-group has one
 *
 * Many right-hand sides of one matrix are cut into blocks, each of which eliminates for itself.
 */
#include "ops/infer.h"
#include "ops/linalg.h"
#include "ops/permute.h"

#include "base/dtype.h"
#include "base/integers.h"

#include <stdio.h>

enum { FIXED = 8 };           /* rows, columns and right-hand sides, up to which they are part of the program */
enum { BLOCK = 256 };         /* right-hand sides of a step */
enum { LEAST_LANES = 8 };     /* so many matrices are computed side by side */
enum { MOST_WORK = 1 << 22 }; /* elements of a step, about */
enum { MOST_LANES_WORK = 16384, GROUP = 64, SCRATCH_BYTES = 1 << 26 };
/* Work-items for each compute unit, groups on a GPU: enough to share the work, and to ask between them. */
enum { FIXED_ITEMS = 64, SCRATCH_ITEMS = 8 };

/* ---- access ------------------------------------------------------------------------------------------ */

static void cut(ip_region *region, int64_t dim, int64_t from, int64_t to)
{
    *(dim == 0 ? &region->z0 : &region->y0) = from;
    *(dim == 0 ? &region->z1 : &region->y1) = to;
}
static int64_t first_of(const ip_region *region, int64_t dim) { return dim == 0 ? region->z0 : region->y0; }
static int64_t end_of(const ip_region *region, int64_t dim) { return dim == 0 ? region->z1 : region->y1; }

static void widen(const ip_opaque *o, ip_region *result)
{
    const int64_t dim = o->sizes[IP_LA_CUT];
    const ip_region asked = *result;
    *result = (ip_region){ 0, o->dims[0], 0, o->dims[1], 0, o->dims[2] };
    if (dim >= 0) cut(result, dim, first_of(&asked, dim), end_of(&asked, dim));
}

static void reads(const ip_opaque *o, int input, const ip_region *result, ip_region *needed)
{
    const int64_t of_result = o->sizes[IP_LA_CUT], dim = o->sizes[IP_LA_CUT_INPUTS + input];
    *needed = ip_stage_region(o->inputs[input]);
    if (of_result >= 0 && dim >= 0) cut(needed, dim, first_of(result, of_result), end_of(result, of_result));
}

/* ---- work -------------------------------------------------------------------------------------------- */

typedef struct division {
    int64_t matrices, sides, blocks, steps, items, each; /* each: steps of an item */
    int64_t before[2];                                   /* places that the inputs' buffers hold before the first */
    bool in_scratch;
} division;

static division divide(const ip_opaque_call *call)
{
    const int64_t *s = call->opaque->sizes, dim = s[IP_LA_CUT];
    const bool cpu = call->device.is_cpu;
    const int64_t size = (int64_t)ip_dtype(call->opaque->dtype)->size_bytes;
    const int64_t lanes = cpu && s[IP_LA_IS_MANY] ? call->device.vector_bytes / size : 1;
    division d = { .matrices = s[IP_LA_MATRICES], .sides = s[IP_LA_SIDES], .in_scratch = !s[IP_LA_IS_FIXED] };
    if (dim >= 0) {
        const int64_t first = first_of(&call->result, dim),
                      places = (end_of(&call->result, dim) - first) * s[IP_LA_PER_CUT];
        if (s[IP_LA_CUT_INPUTS] < 0) /* one matrix for all */
            d.sides = places * s[IP_LA_K];
        else
            d.matrices = places;
        for (int k = 0; k < call->opaque->n_inputs; k++)
            if (s[IP_LA_CUT_INPUTS + k] >= 0)
                d.before[k] = (first - first_of(&call->in[k], s[IP_LA_CUT_INPUTS + k])) * s[IP_LA_PER_CUT];
    }
    d.blocks = d.sides ? ip_ceil_div(d.sides, s[IP_LA_AT_ONCE]) : 1;
    d.steps = ip_ceil_div(d.matrices, lanes) * d.blocks;
    int64_t most = (int64_t)call->device.compute_units * (d.in_scratch ? SCRATCH_ITEMS : FIXED_ITEMS);
    if (d.in_scratch) most = ip_clamp(SCRATCH_BYTES / (s[IP_LA_WORK] * lanes * size), 1, most);
    if (!cpu && !d.in_scratch) most = d.steps;
    d.each = ip_ceil_div(d.steps, most);
    d.items = ip_ceil_div(d.steps, d.each);
    return d;
}

static void scratch(const ip_opaque_call *call, uint64_t bytes[IP_OPAQUE_SCRATCH])
{
    const division d = divide(call);
    const int64_t *s = call->opaque->sizes;
    const bool lanes = call->device.is_cpu && s[IP_LA_IS_MANY];
    const uint64_t each = lanes ? (uint64_t)call->device.vector_bytes : ip_dtype(call->opaque->dtype)->size_bytes;
    if (d.in_scratch) bytes[0] = (uint64_t)(d.items * s[IP_LA_WORK]) * each;
}

static bool step(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    const int64_t *s = call->opaque->sizes;
    const division d = divide(call);
    const bool cpu = call->device.is_cpu;
    if (step > 0) return false;
    const int64_t P[IP_LA_N_P] = { [IP_LA_P_MATRICES] = d.matrices,  [IP_LA_P_STEPS] = d.steps,
                                   [IP_LA_P_STEPS_EACH] = d.each,    [IP_LA_P_M] = s[IP_LA_M],
                                   [IP_LA_P_N] = s[IP_LA_N],         [IP_LA_P_K] = s[IP_LA_K],
                                   [IP_LA_P_SIDES] = d.sides,        [IP_LA_P_AT_ONCE] = s[IP_LA_AT_ONCE],
                                   [IP_LA_P_BLOCKS] = d.blocks,      [IP_LA_P_BEFORE_A] = d.before[0],
                                   [IP_LA_P_BEFORE_B] = d.before[1], [IP_LA_P_WORK] = s[IP_LA_WORK] };
    out->n_params = IP_LA_N_P;
    for (int k = 1; k < IP_LA_N_P; k++)
        out->params[k] = (int)P[k];
    /* Where there is no b, and no scratch, any buffer stands for it, unread. */
    out->n_buffers = 4;
    out->buffers[0] = IP_BUFFER_INPUT;
    out->buffers[1] = IP_BUFFER_INPUT + (call->opaque->n_inputs > 1);
    out->buffers[2] = IP_BUFFER_RESULT;
    out->buffers[3] = d.in_scratch ? IP_BUFFER_SCRATCH : IP_BUFFER_INPUT;
    out->kernel = "la_run";
    out->local[0] = out->global[0] = cpu ? 1 : GROUP;
    out->global[1] = 1;
    out->global[2] = (size_t)(cpu || d.in_scratch ? d.items : ip_ceil_div(d.items, GROUP));
    return true;
}

static const ip_opaque_kind kind = { .name = "linalg",
                                     .shader = "linalg",
                                     .params = IP_LA_PARAMS(IP_PARAM_TEXT),
                                     .widen = widen,
                                     .reads = reads,
                                     .scratch = scratch,
                                     .step = step,
                                     .compute = ip_linalg_compute };

/* ---- lowering ---------------------------------------------------------------------------------------- */

/* The dim of the first axis, where it can be cut: not that within a row. */
static int64_t cut_of(const ip_type *type, int lead)
{
    const int dim = ip_type_axis_dim(type, 0);
    return lead > 0 && dim < 2 ? dim : -1;
}

static const char *defines_of(ip_lower *l, const ip_opaque *o)
{
    enum { ROOM = 320 };
    const int64_t *s = o->sizes;
    const bool is_f64 = o->dtype == IMGPAR_F64, fixed = s[IP_LA_IS_FIXED];
    char *text = ip_ir_alloc(l->ir, ROOM, 1);
    if (!text) return "";
    snprintf(text, ROOM,
             "#define LA_T %s\n#define LA_BYTES %d\n%s#define LA_METHOD %d\n#define LA_MANY %d\n"
             "#define LA_M %d\n#define LA_N %d\n#define LA_K %d\n#define LA_WORK %d\n",
             is_f64 ? "double" : "float", is_f64 ? 8 : 4,
             is_f64 ? "#define LA_EPS 0x1p-52\n#define LA_FAR 0x1p200\n#define LA_LITTLE 0x1p-300\n"
                    : "#define LA_EPS 0x1p-23f\n#define LA_FAR 0x1p20f\n#define LA_LITTLE 0x1p-40f\n",
             (int)s[IP_LA_METHOD], (int)s[IP_LA_IS_MANY], fixed ? (int)s[IP_LA_M] : 0, fixed ? (int)s[IP_LA_N] : 0,
             fixed ? (int)s[IP_LA_SIDES] : 0, fixed ? (int)s[IP_LA_WORK] : 0);
    return text;
}

/* Of a method: its name, the axes that the result has behind the places (with b: those of b), and the elements that a
 * step works in. k: the lesser of m and n, r: right-hand sides. */
typedef struct sizes {
    int64_t m, n, k, r;
} sizes;
static int64_t work_lu(const sizes *s) { return s->n * (s->n + s->r) + s->n; }
static int64_t work_cholesky(const sizes *s) { return s->n * s->n + s->n; }
static int64_t work_lstsq(const sizes *s) { return s->m * (s->n + s->r) + s->n + s->n + s->r; }
static int64_t work_qr(const sizes *s) { return s->m * s->n + s->k + s->n + s->m * s->k; }
static int64_t work_eigh(const sizes *s) { return 2 * s->n * s->n + s->n; }
static int64_t work_svd(const sizes *s) { return s->m * s->n + s->k * s->k + s->k; }

static const struct {
    const char *name;
    int axes;
    int64_t (*work)(const sizes *s);
} methods[] = {
    [IP_LINALG_DET] = { "det", 0, work_lu },         [IP_LINALG_SOLVE] = { "solve", 2, work_lu },
    [IP_LINALG_INVERSE] = { "inverse", 2, work_lu }, [IP_LINALG_CHOLESKY] = { "cholesky", 2, work_cholesky },
    [IP_LINALG_LSTSQ] = { "lstsq", 2, work_lstsq },  [IP_LINALG_QR] = { "qr", 1, work_qr },
    [IP_LINALG_EIGH] = { "eigh", 1, work_eigh },     [IP_LINALG_SVD] = { "svd", 1, work_svd },
    [IP_LINALG_PINV] = { "pinv", 2, work_svd },
};

/* Right-hand sides of a step: fewer of long ones. */
static int64_t sides_at_once(const ip_systems *s, int64_t sides)
{
    const int64_t most = ip_clamp(MOST_WORK / s->m - s->n, 1, BLOCK);
    return ip_min(sides, most);
}

ip_stage *ip_lower_linalg(ip_lower *l, ip_linalg_method method)
{
    const ip_type *a = &l->node->inputs[0]->type, *b = l->node->n_inputs > 1 ? &l->node->inputs[1]->type : NULL;
    static const int order[IMGPAR_MAX_RANK] = { 0, 1, 2, 3 };
    const imgpar_dtype dtype = l->node->type.dtype;
    const int lead = l->node->type.rank - (b && b->rank < a->rank ? 1 : methods[method].axes);
    ip_systems systems = { .m = a->shape[a->rank - 2], .n = a->shape[a->rank - 1] };
    if (b) ip_systems_of(a, b, &systems);
    const int64_t n = systems.n, count = ip_type_count(a);
    if (ip_type_count(&l->node->type) == 0 || count == 0)
        return ip_lower_map(l, ip_x_float(l->ir, dtype, method == IP_LINALG_DET));
    if (!b) systems.places = count / (systems.m * n);
    if (method == IP_LINALG_INVERSE) systems.k = n;
    if (ip_type_count(&l->node->type) > INT32_MAX || count > INT32_MAX)
        return ip_lower_fail(l, IMGPAR_E_LIMIT, "more than 2147483647 elements");
    const int64_t matrices = systems.one_matrix ? 1 : systems.places,
                  sides = systems.one_matrix ? systems.places * systems.k : systems.k,
                  at_once = sides_at_once(&systems, sides);
    const bool fixed = systems.m <= FIXED && n <= FIXED && sides <= FIXED && sides == systems.k;
    const int64_t work = methods[method].work(&(sizes){ systems.m, n, ip_min(systems.m, n), at_once });
    ip_opaque o = { .kind = &kind,
                    .variant = methods[method].name,
                    .uses_f64 = dtype == IMGPAR_F64,
                    .dtype = dtype,
                    .n_inputs = b ? 2 : 1,
                    .sizes = { [IP_LA_METHOD] = method,
                               [IP_LA_MATRICES] = matrices,
                               [IP_LA_M] = systems.m,
                               [IP_LA_N] = n,
                               [IP_LA_K] = systems.k,
                               [IP_LA_SIDES] = sides,
                               [IP_LA_AT_ONCE] = at_once,
                               [IP_LA_WORK] = work,
                               [IP_LA_IS_FIXED] = fixed,
                               [IP_LA_IS_MANY] = matrices >= LEAST_LANES && sides <= at_once && work <= MOST_LANES_WORK,
                               [IP_LA_PER_CUT] = lead > 0 ? systems.places / l->node->type.shape[0] : 1,
                               [IP_LA_CUT] = cut_of(&l->node->type, lead),
                               [IP_LA_CUT_INPUTS] = systems.one_matrix ? -1 : cut_of(a, lead),
                               [IP_LA_CUT_INPUTS + 1] = b ? cut_of(b, lead) : -1 } };
    o.defines = defines_of(l, &o);
    o.inputs[0] = ip_lower_permuted(l, l->in[0], a, order, dtype, "matrices in the dtype of the result");
    if (b) o.inputs[1] = ip_lower_permuted(l, l->in[1], b, order, dtype, "right-hand sides");
    return ip_stage_opaque(l->ir, &o, dtype, l->dims, l->node);
}

ip_stage *ip_stages_linalg(ip_lower *l) { return ip_lower_linalg(l, (ip_linalg_method)l->node->op->variant); }
