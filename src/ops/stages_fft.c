/* SPDX-License-Identifier: MIT */
/*
 * Fourier transforms as opaque stages, one for each axis: lines of complex numbers that lie anywhere in the array
 * (shaders/fft.cl), so nothing is permuted before or after. Lines of more than IP_FFT_MAX elements take two passes, of
 * doubles those of more than IP_FFT_MAX_F64, and in groups those of more than local memory holds.
 */
#include "ops/complex.h"
#include "ops/fft.h"

#include "base/dtype.h"
#include "base/integers.h"

#include <string.h>

/* What its kernels take, in shaders/fft.cl. */
#define PARAMS(NAME)   \
    NAME(LINES)        \
    NAME(N)            \
    NAME(ITEMS)        \
    NAME(BATCHES)      \
    NAME(LOW)          \
    NAME(READ_HIGH)    \
    NAME(READ_STEP)    \
    NAME(MIDDLE)       \
    NAME(WRITE_HIGH)   \
    NAME(WRITE_MIDDLE) \
    NAME(WRITE_STEP)   \
    NAME(SWAPS)        \
    NAME(FACTOR)       \
    NAME(RADICES)      \
    NAME(ROOTS)        \
    NAME(IS_TURNED)    \
    NAME(LOW_EACH)     \
    NAME(TURNS)        \
    NAME(BEFORE)       \
    NAME(FIRST)        \
    NAME(FACTOR_HIGH)  \
    NAME(N1)           \
    NAME(N2)           \
    NAME(IS_SPLIT)
enum { P_FIRST_ITEM, PARAMS(IP_PARAM_NUMBER) N_PARAMS };

/* The constants of the same names in shaders/fft.cl. */
enum { FT_LOW = 1024 };
/* Work-items for each compute unit, and the numbers that one transforms at most in a launch, so that somebody who waits
 * can be asked between launches; work-items of a group, on a GPU that has as many. */
enum { ITEMS = 4, NUMBERS = 1 << 19, GPU_GROUP = 128 };

/* ---- sizes ------------------------------------------------------------------------------------ */

static const int radices[] = { 7, 5, 4, 3, 2 };
enum { N_RADICES = sizeof radices / sizeof *radices };

/* The radices of n's passes, three bits each, the first one lowest; 0: n has another prime factor, or is 1. */
static int passes_of(int64_t n)
{
    int packed = 0, n_passes = 0;
    for (int k = 0; k < N_RADICES; k++)
        for (; n % radices[k] == 0; n /= radices[k])
            packed |= radices[k] << (3 * n_passes++);
    return n == 1 ? packed : 0;
}

bool ip_fft_split(int64_t n, int64_t most, int64_t *n1, int64_t *n2)
{
    int64_t rest = n;
    static const int primes[] = { 7, 5, 3, 2 };
    if (n < 1) return false;
    for (int k = 0; k < 4; k++)
        while (rest % primes[k] == 0)
            rest /= primes[k];
    if (rest != 1) return false;
    *n1 = n;
    *n2 = 1;
    if (n <= most) return true;
    /* The divisor nearest to a square: the largest n2 with n2^2 <= n. */
    for (int64_t k = 2; k * k <= n && k <= most; k++)
        if (n % k == 0) *n2 = k;
    *n1 = n / *n2;
    return *n1 <= most;
}

bool ip_fft_is_direct(int64_t n)
{
    int64_t n1, n2;
    return ip_fft_split(n, IP_FFT_MAX, &n1, &n2);
}

int64_t ip_fft_longer(int64_t n)
{
    const int64_t most = (int64_t)IP_FFT_MAX * IP_FFT_MAX;
    int64_t longer = 2 * n - 1;
    while (longer <= most && !ip_fft_is_direct(longer))
        longer++;
    return longer <= most ? longer : 0;
}

/* ---- access ------------------------------------------------------------------------------------ */

static void widen(const ip_opaque *o, ip_region *result)
{
    *result = (ip_region){ 0, o->dims[0], result->y0, result->y1, 0, o->dims[2] };
    if (o->sizes[IP_FFT_LINES_PER_Y]) return;
    result->y0 = 0;
    result->y1 = o->dims[1];
}

static void reads(const ip_opaque *o, int input, const ip_region *result, ip_region *needed)
{
    (void)o, (void)input;
    *needed = *result; /* of the same size */
}

/* ---- work --------------------------------------------------------------------------------------- */

enum { SOURCE = IP_BUFFER_INPUT, RESULT = IP_BUFFER_RESULT, TABLE = IP_BUFFER_SCRATCH, WORK, BETWEEN };

typedef struct division {
    int64_t outer, n, inner, n1, n2;
    int64_t lanes, items; /* lines side by side; at most so many work-items, or groups of a GPU */
    bool is_far;          /* they have scratch memory, which the lines share one after another */
    int64_t before;       /* numbers that the input's buffer holds before the first one */
} division;

static int64_t part_bytes(const ip_opaque_call *call) { return ip_dtype(call->opaque->dtype)->size_bytes; }

/* The longest part of a line: as many numbers as a group's local memory holds, with as many for the passes between. */
static int64_t longest_part(const ip_opaque_call *call)
{
    const int64_t most = call->opaque->dtype == IMGPAR_F64 ? IP_FFT_MAX_F64 : IP_FFT_MAX;
    const uint64_t in_local = call->device.local_bytes / (4 * (uint64_t)part_bytes(call));
    return call->device.is_cpu || in_local >= (uint64_t)most ? most : (int64_t)in_local;
}

/* Splits n for where it is computed. Returns whether work-items have scratch memory: on a CPU, and where local memory
 * holds no parts of n. */
static bool split(const ip_opaque_call *call, int64_t n, int64_t *n1, int64_t *n2)
{
    if (ip_fft_split(n, longest_part(call), n1, n2)) return call->device.is_cpu;
    ip_fft_split(n, IP_FFT_MAX, n1, n2);
    return true;
}

static division divide(const ip_opaque_call *call)
{
    const int64_t *s = call->opaque->sizes;
    division d = { .outer = s[IP_FFT_OUTER], .n = s[IP_FFT_N], .inner = s[IP_FFT_INNER] };
    int64_t per_y = s[IP_FFT_LINES_PER_Y], vector = call->device.vector_bytes;
    d.is_far = split(call, d.n, &d.n1, &d.n2);
    if (per_y) d.outer = (call->result.y1 - call->result.y0) * per_y;
    if (per_y) d.before = (call->result.y0 - call->in[0].y0) * per_y * d.n * d.inner;
    d.lanes = call->device.is_cpu ? (vector >= 64 ? 64 : vector >= 32 ? 32 : 16) / part_bytes(call) : 1;
    d.items = (int64_t)call->device.compute_units * ITEMS;
    return d;
}

static void specialise(const ip_opaque_call *call, ip_str *defines)
{
    if (call->device.is_cpu) return; /* the same program for all lines */
    if (divide(call).is_far)
        ip_str_append(defines, "#define FT_FAR\n");
    else
        ip_str_printf(defines, "#define FT_MAX %d\n", (int)longest_part(call));
}

static int64_t table_size(const division *d)
{
    return d->n1 + d->n2 + (d->n2 > 1 ? FT_LOW + ip_ceil_div(d->n, FT_LOW) : 0);
}

static void scratch(const ip_opaque_call *call, uint64_t bytes[IP_OPAQUE_SCRATCH])
{
    division d = divide(call);
    const uint64_t number = 2 * (uint64_t)part_bytes(call);
    bytes[TABLE - IP_BUFFER_SCRATCH] = (uint64_t)table_size(&d) * number;
    if (d.is_far)
        bytes[WORK - IP_BUFFER_SCRATCH] = (uint64_t)(d.items * d.lanes * (d.n1 > d.n2 ? d.n1 : d.n2)) * 2 * number;
    if (d.n2 > 1) bytes[BETWEEN - IP_BUFFER_SCRATCH] = (uint64_t)(d.outer * d.n * d.inner) * number;
}

static void set_items(const ip_opaque_call *call, int64_t items, ip_opaque_launch *out)
{
    const size_t group = call->device.is_cpu ? 1 : (size_t)ip_min(GPU_GROUP, call->device.most_items);
    out->local[0] = out->global[0] = group;
    out->global[1] = 1;
    out->global[2] = (size_t)items;
}

static void roots_step(const division *d, ip_opaque_launch *out)
{
    out->kernel = "ft_roots";
    out->n_buffers = 1;
    out->buffers[0] = TABLE;
    out->n_params = N_PARAMS;
    out->params[P_N1] = (int)d->n1;
    out->params[P_N2] = (int)d->n2;
    out->params[P_IS_SPLIT] = d->n2 > 1;
    out->global[0] = out->global[1] = 1;
    out->global[2] = (size_t)table_size(d);
}

/* The columns of split lines, or lines that are not split. */
static void columns_of(const division *d, int *p)
{
    int64_t side_by_side = d->n2 * d->inner;
    p[P_LINES] = (int)(d->outer * side_by_side);
    p[P_N] = (int)d->n1;
    p[P_LOW] = p[P_READ_STEP] = p[P_WRITE_STEP] = (int)side_by_side;
    p[P_READ_HIGH] = p[P_WRITE_HIGH] = (int)(d->n1 * side_by_side);
    p[P_MIDDLE] = 1;
    p[P_IS_TURNED] = d->n2 > 1;
    p[P_LOW_EACH] = (int)d->inner;
    p[P_TURNS] = (int)(d->n1 + d->n2);
    p[P_BEFORE] = (int)d->before;
}

static void rows_of(const division *d, int *p)
{
    p[P_LINES] = (int)(d->outer * d->n1 * d->inner);
    p[P_N] = (int)d->n2;
    p[P_LOW] = p[P_READ_STEP] = p[P_WRITE_MIDDLE] = (int)d->inner;
    p[P_READ_HIGH] = (int)(d->n2 * d->inner);
    p[P_MIDDLE] = (int)d->n1;
    p[P_WRITE_HIGH] = (int)(d->n * d->inner);
    p[P_WRITE_STEP] = (int)(d->n1 * d->inner);
    p[P_ROOTS] = (int)d->n1;
}

/* What results are multiplied by, as bits of the parts' dtype. */
static void set_factor(const ip_opaque_call *call, double factor, int *p)
{
    const float rounded = (float)factor;
    if (call->opaque->dtype == IMGPAR_F32) {
        memcpy(&p[P_FACTOR], &rounded, sizeof rounded);
        return;
    }
    memcpy(&p[P_FACTOR], &factor, sizeof *p);
    memcpy(&p[P_FACTOR_HIGH], (const char *)&factor + sizeof *p, sizeof *p);
}

/* Launch `part` of the first pass or of the second one; false: there are fewer. Work-items of different launches share
 * their scratch memory. */
static bool lines_step(const ip_opaque_call *call, const division *d, bool is_first, int64_t part,
                       ip_opaque_launch *out)
{
    bool is_last = !is_first || d->n2 == 1, is_inverse = call->opaque->sizes[IP_FFT_IS_INVERSE];
    int *p = out->params;
    memset(p, 0, N_PARAMS * sizeof *p); /* another pass may have been asked before, and had no launch left */
    if (is_first)
        columns_of(d, p);
    else
        rows_of(d, p);
    int64_t batches = ip_ceil_div(p[P_LINES], d->lanes), most = ip_ceil_div(NUMBERS, d->lanes * p[P_N]);
    int64_t each = !d->is_far ? 1 : ip_min(ip_ceil_div(batches, d->items), most),
            first = d->is_far ? part * each * d->items : part * batches;
    if (first >= batches) return false;
    p[P_BATCHES] = (int)each;
    p[P_ITEMS] = (int)ip_ceil_div(batches - first, each);
    if (d->is_far && p[P_ITEMS] > d->items) p[P_ITEMS] = (int)d->items;
    p[P_FIRST] = (int)first;
    p[P_SWAPS] = is_inverse ? is_first + 2 * is_last : 0;
    set_factor(call, is_inverse && is_last ? 1.0 / (double)d->n : 1, p);
    p[P_RADICES] = passes_of(p[P_N]);
    out->kernel = "ft_lines";
    out->n_params = N_PARAMS;
    const int buffers[] = { is_first ? SOURCE : BETWEEN, is_last ? RESULT : BETWEEN, TABLE, WORK };
    out->n_buffers = d->is_far ? 4 : 3;
    memcpy(out->buffers, buffers, sizeof buffers);
    set_items(call, p[P_ITEMS], out);
    return true;
}

/* How many launches the first pass takes. */
static int64_t first_launches(const ip_opaque_call *call, const division *d)
{
    ip_opaque_launch ignored = { .n_params = 1 };
    int64_t n = 0;
    while (lines_step(call, d, true, n, &ignored))
        n++;
    return n;
}

static bool step(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    division d = divide(call);
    if (step == 0) roots_step(&d, out);
    if (step == 0 || lines_step(call, &d, true, step - 1, out)) return true;
    return d.n2 > 1 && lines_step(call, &d, false, step - 1 - first_launches(call, &d), out);
}

static const ip_opaque_kind kind = { .name = "fft",
                                     .shader = "fft",
                                     .params = PARAMS(IP_PARAM_TEXT),
                                     .widen = widen,
                                     .reads = reads,
                                     .specialise = specialise,
                                     .scratch = scratch,
                                     .step = step,
                                     .compute = ip_fft_compute };

/* ---- lowering -------------------------------------------------------------------------------------- */

ip_fft_lines ip_fft_lines_of(const ip_type *type, int axis, int64_t n)
{
    ip_fft_lines lines = { .outer = 1, .n = n, .inner = 1 };
    int64_t dims[4];
    for (int k = 0; k < type->rank; k++)
        if (k != axis) *(k < axis ? &lines.outer : &lines.inner) *= type->shape[k];
    ip_type_dims(type, dims);
    if (dims[0] == 1 && ip_type_axis_dim(type, axis) >= 2) lines.per_y = lines.outer / dims[1];
    return lines;
}

ip_stage *ip_fft_of_lines(ip_lower *l, ip_stage *in, const int64_t dims[4], const ip_fft_lines *lines, bool is_inverse)
{
    if (!in) return NULL;
    const imgpar_dtype dtype = in->dtype;
    ip_opaque o = { .kind = &kind,
                    .uses_f64 = dtype == IMGPAR_F64,
                    .dtype = dtype,
                    .defines = dtype == IMGPAR_F64 ? "#define FT_DOUBLE\n" : "",
                    .n_inputs = 1,
                    .inputs = { in },
                    .sizes = { lines->outer, lines->n, lines->inner, is_inverse, lines->per_y } };
    return ip_stage_opaque(l->ir, &o, dtype, dims, l->node);
}

/* Lines along an axis of a stage that holds an array of the node's type. */
static ip_stage *transformed(ip_lower *l, ip_stage *in, int axis)
{
    const ip_type *type = &l->node->type;
    const int64_t n = type->shape[axis];
    const bool is_inverse = l->node->op->variant % 2;
    if (!ip_fft_is_direct(n)) return ip_fft_by_chirps(l, in, axis, is_inverse);
    const ip_fft_lines lines = ip_fft_lines_of(type, axis, n);
    int64_t dims[4];
    ip_type_storage(type, dims);
    return ip_fft_of_lines(l, in, dims, &lines, is_inverse);
}

ip_stage *ip_stages_fft(ip_lower *l)
{
    int axes[2], n = ip_fft_axes(l->node, axes);
    bool is_complex = ip_type_is_complex(&l->node->inputs[0]->type);
    ip_stage *s = is_complex ? l->in[0] : ip_complex_map(l, ip_complex_in(l, 0));
    bool is_empty = ip_type_count(&l->node->type) == 0;
    for (int k = n - 1; s && !is_empty && k >= 0; k--)
        if (l->node->type.shape[axes[k]] > 1) s = transformed(l, s, axes[k]);
    return s;
}
