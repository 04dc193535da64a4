/* SPDX-License-Identifier: MIT */
/*
 * The product of matrices as an opaque stage: which of the three kernels of shaders/matmul.cl, and its launches.
 *
 *     few columns, long sums           reduce: memory is what takes time, b is transposed so that both run straight
 *     16 rows and 32 columns or more   blocked: b in panels, micro-tiles in registers; on a GPU tiles in local memory
 *     16 rows and 5 to 31 columns      on a CPU blocked, with micro-tiles of one register's columns where these fit
 *     the rest                         direct: no preparation
 *
 * Many matrices that meet one are a matrix of all their rows.
 */
#include "ops/matmul.h"
#include "ops/permute.h"
#include "ops/view.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"
#include "base/str.h"

#include <assert.h>
#include <string.h>

/* What its kernels take, in shaders/matmul.cl. */
#define PARAMS(NAME) \
    NAME(M)          \
    NAME(N)          \
    NAME(K)          \
    NAME(INNER)      \
    NAME(A_OUTER)    \
    NAME(A_INNER)    \
    NAME(B_OUTER)    \
    NAME(B_INNER)    \
    NAME(A_FIRST)    \
    NAME(A_ROWS)     \
    NAME(ROWS)       \
    NAME(COLUMNS)    \
    NAME(ROW_BLOCKS)
enum { P_FIRST_ITEM, PARAMS(IP_PARAM_NUMBER) N_PARAMS };

enum {
    FEW_COLUMNS = 4,
    LONG_SUM = 64,
    BLOCKED_ROWS = 16,
    BLOCKED_COLUMNS = 32,
    BLOCKED_STEPS = 32,
    NARROW_STEPS = 16 /* of products of fewer columns */
};

/* The constants of the same names in shaders/matmul.cl, for the device at hand. */
typedef struct tiling {
    int lanes, w, r, kb;
} tiling;

static tiling tiling_of(const ip_opaque_call *call)
{
    int bytes = (int)ip_dtype(call->opaque->dtype)->size_bytes, lanes = call->device.vector_bytes / bytes;
    int64_t n = call->opaque->sizes[IP_MM_N];
    int across = n <= lanes && n <= BLOCKED_COLUMNS / 2 ? 1 : 2; /* as MM_MOST_N tells the shader */
    return (tiling){ .lanes = lanes, .w = across * lanes, .r = call->device.vector_bytes == 64 ? 12 : 6, .kb = 256 };
}

/* ---- access ----------------------------------------------------------------------------- */

static void widen(const ip_opaque *o, ip_region *result)
{
    const ip_region all = { 0, o->dims[0], 0, o->dims[1], 0, o->dims[2] };
    const ip_region rows = { 0, 1, result->y0, result->y1, 0, o->dims[2] };
    *result = o->sizes[IP_MM_BY_ROWS] ? rows : all;
}

static void reads(const ip_opaque *o, int input, const ip_region *result, ip_region *needed)
{
    *needed = ip_stage_region(o->inputs[input]);
    if (input == 0 && o->sizes[IP_MM_BY_ROWS]) {
        needed->y0 = result->y0;
        needed->y1 = result->y1;
    }
}

/* ---- work ---------------------------------------------------------------------------------- */

/* Whether one right factor meets all of the left ones, which lie one behind the other. */
static bool meets_one(const int64_t *s)
{
    return s[IP_MM_N_B] == 1 && (s[IP_MM_INNER] == 1 || s[IP_MM_A_INNER] == 1) &&
           (s[IP_MM_OUTER] == 1 || s[IP_MM_A_OUTER] == s[IP_MM_INNER]);
}

static bool is_one(const int64_t *s) { return meets_one(s) && !s[IP_MM_BY_ROWS]; }

static int64_t products_of(const int64_t *s) { return is_one(s) ? 1 : s[IP_MM_OUTER] * s[IP_MM_INNER]; }

static int64_t rows_of(const ip_opaque_call *call)
{
    const int64_t *s = call->opaque->sizes;
    if (s[IP_MM_BY_ROWS]) return call->result.y1 - call->result.y0;
    return is_one(s) ? s[IP_MM_OUTER] * s[IP_MM_INNER] * s[IP_MM_M] : s[IP_MM_M];
}

/* Whether the right factor is laid out in panels first. One that is as wide as a panel is one. */
static bool is_packed(const ip_opaque_call *call)
{
    const int64_t *s = call->opaque->sizes;
    return s[IP_MM_METHOD] == IP_MM_BLOCKED && call->device.is_cpu && s[IP_MM_N] != tiling_of(call).w;
}

static void scratch(const ip_opaque_call *call, uint64_t bytes[IP_OPAQUE_SCRATCH])
{
    const int64_t *s = call->opaque->sizes;
    tiling t = tiling_of(call);
    if (!is_packed(call)) return;
    bytes[0] = (uint64_t)(s[IP_MM_N_B] * ip_ceil_div(s[IP_MM_N], t.w) * t.w * s[IP_MM_K]) *
               ip_dtype(call->opaque->dtype)->size_bytes;
}

static void set_params(const ip_opaque_call *call, ip_opaque_launch *out)
{
    const int64_t *s = call->opaque->sizes;
    bool by_rows = s[IP_MM_BY_ROWS];
    const int64_t p[N_PARAMS] = { [P_M] = rows_of(call),
                                  [P_N] = s[IP_MM_N],
                                  [P_K] = s[IP_MM_K],
                                  [P_INNER] = is_one(s) ? 1 : s[IP_MM_INNER],
                                  [P_A_OUTER] = s[IP_MM_A_OUTER],
                                  [P_A_INNER] = s[IP_MM_A_INNER],
                                  [P_B_OUTER] = s[IP_MM_B_OUTER],
                                  [P_B_INNER] = s[IP_MM_B_INNER],
                                  [P_A_FIRST] = by_rows ? call->result.y0 - call->in[0].y0 : 0,
                                  [P_A_ROWS] = by_rows ? call->in[0].y1 - call->in[0].y0 : rows_of(call),
                                  [P_ROWS] = 1,
                                  [P_COLUMNS] = 1,
                                  [P_ROW_BLOCKS] = 1 };
    out->n_params = N_PARAMS;
    for (int k = 0; k < out->n_params; k++)
        out->params[k] = (int)p[k];
    out->n_buffers = 3;
    out->buffers[0] = IP_BUFFER_RESULT;
    out->buffers[1] = IP_BUFFER_INPUT;
    out->buffers[2] = IP_BUFFER_INPUT + 1;
}

/* A work-item's rows and columns. */
static void set_block(ip_opaque_launch *out, int64_t rows, int64_t columns, int64_t row_blocks)
{
    out->params[P_ROWS] = (int)rows;
    out->params[P_COLUMNS] = (int)columns;
    out->params[P_ROW_BLOCKS] = (int)row_blocks;
}

static bool pack(const ip_opaque_call *call, ip_opaque_launch *out)
{
    const int64_t *s = call->opaque->sizes;
    tiling t = tiling_of(call);
    out->kernel = "mm_pack";
    out->n_buffers = 2;
    out->buffers[0] = IP_BUFFER_INPUT + 1;
    out->buffers[1] = IP_BUFFER_SCRATCH;
    out->global[0] = (size_t)ip_ceil_div(s[IP_MM_N], t.w);
    out->global[1] = (size_t)ip_ceil_div(s[IP_MM_K], t.kb);
    out->global[2] = (size_t)s[IP_MM_N_B];
    return true;
}

/* Blocks of about MOST_ROWS x MOST_COLUMNS, less where the units would not all have some. */
enum { MOST_ROWS = 96, MOST_COLUMNS = 512, ITEMS_PER_UNIT = 8 };

/* Where the rows of the left factor lie: MM_V_* in shaders/matmul.cl. */
static void set_view(ip_opaque_launch *out, const ip_mm_view *v)
{
    enum { BEFORE = 26, OF_A_PIECE = 6 }; /* parameters */
    static_assert(N_PARAMS == 14, "a view follows the named parameters: MM_V_PIECES of shaders/matmul.cl is P[14]");
    static_assert(BEFORE + OF_A_PIECE * IP_MM_PIECES <= IP_OPAQUE_PARAMS, "a view fits its launch");
    int *p = out->params + out->n_params;
    int64_t end = 0;
    *p++ = v->n_pieces;
    *p++ = (int)v->height;
    *p++ = (int)v->width;
    for (int d = 0; d < 3; d++) {
        p[d] = (int)v->stride[d];
        p[3 + d] = (int)v->step[d];
        p[6 + d] = (int)v->extent[d];
    }
    p += 9;
    for (int k = 0; k < v->n_pieces; k++) {
        const ip_mm_piece *piece = &v->pieces[k];
        *p++ = (int)(end += piece->steps);
        for (int d = 0; d < 3; d++)
            *p++ = (int)piece->move[d];
        *p++ = (int)piece->offset;
        *p++ = piece->leaves;
    }
    out->n_params = (int)(p - out->params);
}

static bool blocked_on_cpu(const ip_opaque_call *call, ip_opaque_launch *out)
{
    const int64_t *s = call->opaque->sizes;
    tiling t = tiling_of(call);
    int64_t m = rows_of(call), products = products_of(s), rows = MOST_ROWS / t.r * t.r;
    int64_t column_blocks = ip_ceil_div(s[IP_MM_N], MOST_COLUMNS);
    int64_t wanted = call->device.compute_units * ITEMS_PER_UNIT;
    while (rows > t.r && products * column_blocks * ip_ceil_div(m, rows) < wanted)
        rows -= t.r;
    out->kernel = "mm_blocked";
    if (is_packed(call)) out->buffers[2] = IP_BUFFER_SCRATCH;
    out->global[0] = (size_t)column_blocks;
    out->global[1] = 1;
    out->global[2] = (size_t)(products * ip_ceil_div(m, rows));
    set_block(out, rows, ip_ceil_div(ip_ceil_div(s[IP_MM_N], column_blocks), t.w) * t.w, ip_ceil_div(m, rows));
    if (call->opaque->user) set_view(out, call->opaque->user);
    return true;
}

enum { SIDE = 16 }; /* of the blocked kernel's groups on a GPU; shaders/matmul.cl has it as MM_SIDE */

/* Whether the device has groups of so many work-items. */
static bool has_blocks(const ip_opaque_call *call) { return call->device.most_items >= SIDE * SIDE; }

static bool blocked_on_gpu(const ip_opaque_call *call, ip_opaque_launch *out)
{
    enum { TILE = 64 };
    const int64_t *s = call->opaque->sizes;
    out->kernel = "mm_blocked";
    out->local[0] = out->local[1] = SIDE;
    out->global[0] = (size_t)ip_ceil_div(s[IP_MM_N], TILE) * SIDE;
    out->global[1] = (size_t)ip_ceil_div(rows_of(call), TILE) * SIDE;
    out->global[2] = (size_t)products_of(s);
    return true;
}

static bool direct(const ip_opaque_call *call, ip_opaque_launch *out)
{
    enum { COLUMNS = 16, GROUP = 64 }; /* registers of columns on a CPU; work-items on a GPU */
    const int64_t *s = call->opaque->sizes;
    int64_t columns = call->device.is_cpu ? COLUMNS * tiling_of(call).lanes : 1;
    out->kernel = "mm_direct";
    out->local[0] = call->device.is_cpu ? 1 : GROUP;
    out->global[0] =
        call->device.is_cpu ? (size_t)ip_ceil_div(s[IP_MM_N], columns) : (size_t)ip_ceil_div(s[IP_MM_N], GROUP) * GROUP;
    out->global[1] = 1;
    out->global[2] = (size_t)(products_of(s) * rows_of(call));
    set_block(out, 1, columns, rows_of(call));
    return true;
}

static bool reduce(const ip_opaque_call *call, ip_opaque_launch *out)
{
    enum { GROUP = 64, WORK = 65536 }; /* products a work-item on a CPU, about */
    const int64_t *s = call->opaque->sizes;
    int64_t m = rows_of(call), products = products_of(s), rows = 1;
    if (call->device.is_cpu) rows = ip_ceil_div(WORK, s[IP_MM_N] * s[IP_MM_K]);
    if (rows > m) rows = m;
    out->kernel = "mm_reduce";
    out->local[0] = call->device.is_cpu ? 1 : GROUP;
    out->global[0] = call->device.is_cpu ? 1 : (size_t)s[IP_MM_N] * GROUP;
    out->global[1] = 1;
    out->global[2] = (size_t)(products * ip_ceil_div(m, rows));
    set_block(out, rows, s[IP_MM_N], ip_ceil_div(m, rows));
    return true;
}

static bool step(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    ip_mm_method method = (ip_mm_method)call->opaque->sizes[IP_MM_METHOD];
    const bool packs = is_packed(call);
    if (step > packs) return false;
    set_params(call, out);
    if (packs && step == 0) return pack(call, out);
    if (method == IP_MM_BLOCKED && call->device.is_cpu) return blocked_on_cpu(call, out);
    if (method == IP_MM_BLOCKED && call->opaque->sizes[IP_MM_N] >= BLOCKED_COLUMNS && has_blocks(call))
        return blocked_on_gpu(call, out);
    return method == IP_MM_REDUCE ? reduce(call, out) : direct(call, out);
}

/* What the blocked kernel would compute: the rest is too little for a library to gain anything. */
static bool gemm(const ip_opaque_call *call, ip_gemm *out)
{
    const int64_t *s = call->opaque->sizes;
    imgpar_dtype dtype = call->opaque->dtype;
    if (s[IP_MM_METHOD] != IP_MM_BLOCKED || (dtype != IMGPAR_F32 && dtype != IMGPAR_F64)) return false;
    if (s[IP_MM_N] < BLOCKED_COLUMNS || call->opaque->user) return false;
    const int64_t a = s[IP_MM_M] * s[IP_MM_K], b = s[IP_MM_K] * s[IP_MM_N];
    *out = (ip_gemm){ .dtype = dtype,
                      .m = rows_of(call),
                      .n = s[IP_MM_N],
                      .k = s[IP_MM_K],
                      .whole_m = is_one(s) ? rows_of(call) : s[IP_MM_M],
                      .count = { is_one(s) ? 1 : s[IP_MM_OUTER], is_one(s) ? 1 : s[IP_MM_INNER] },
                      .a_next = { s[IP_MM_A_OUTER] * a, s[IP_MM_A_INNER] * a },
                      .b_next = { s[IP_MM_B_OUTER] * b, s[IP_MM_B_INNER] * b } };
    if (s[IP_MM_BY_ROWS]) out->a_first = (call->result.y0 - call->in[0].y0) * s[IP_MM_K];
    if (out->count[1] == 1) { /* one batch axis */
        out->count[1] = out->count[0];
        out->a_next[1] = out->a_next[0];
        out->b_next[1] = out->b_next[0];
        out->count[0] = 1;
    }
    return true;
}

static const ip_opaque_kind kind = { .name = "matmul",
                                     .shader = "matmul",
                                     .params = PARAMS(IP_PARAM_TEXT),
                                     .widen = widen,
                                     .reads = reads,
                                     .scratch = scratch,
                                     .step = step,
                                     .gemm = gemm,
                                     .compute = ip_matmul_compute };

/* ---- lowering -------------------------------------------------------------------------------- */

/* Integers are multiplied as unsigned ones, which wrap. */
static const char *defines_of(imgpar_dtype dtype)
{
    switch (dtype) {
    case IMGPAR_F32: return "#define MM_T float\n#define MM_BYTES 4\n#define MM_FMA(a, b, c) fma(a, b, c)\n";
    case IMGPAR_F64: return "#define MM_T double\n#define MM_BYTES 8\n#define MM_FMA(a, b, c) fma(a, b, c)\n";
    case IMGPAR_I64:
    case IMGPAR_U64: return "#define MM_T ulong\n#define MM_BYTES 8\n#define MM_FMA(a, b, c) ((a) * (b) + (c))\n";
    default: return "#define MM_T uint\n#define MM_BYTES 4\n#define MM_FMA(a, b, c) ((a) * (b) + (c))\n";
    }
}

/* The same, and what tells how many columns there may be where they are few. */
static const char *defines_for(ip_ir *ir, imgpar_dtype dtype, int64_t n, const char *more)
{
    ip_str text = IP_STR_INIT;
    ip_str_append(&text, defines_of(dtype));
    for (int most = BLOCKED_COLUMNS / 4; most <= BLOCKED_COLUMNS / 2; most *= 2) /* lanes of f64, of f32 */
        if (n <= most && n > most / 2) ip_str_printf(&text, "#define MM_MOST_N %d\n", most);
    ip_str_append(&text, more);
    const size_t size = text.length + 1;
    char *made = ip_str_take(&text), *kept = made ? ip_ir_alloc(ir, size, 1) : NULL;
    if (kept) memcpy(kept, made, size);
    if (!made) ir->failed = true;
    ip_free(made);
    return kept;
}

static ip_mm_method method_of(const ip_product *p)
{
    const int64_t s[IP_OPAQUE_SIZES] = { [IP_MM_INNER] = p->inner,
                                         [IP_MM_OUTER] = p->outer,
                                         [IP_MM_N_B] = p->n_b,
                                         [IP_MM_A_INNER] = p->a_inner,
                                         [IP_MM_A_OUTER] = p->a_outer };
    const int64_t m = is_one(s) ? p->outer * p->inner * p->m : p->m;
    if (p->n <= FEW_COLUMNS && p->k >= LONG_SUM) return IP_MM_REDUCE;
    if (m < BLOCKED_ROWS) return IP_MM_DIRECT;
    if (p->n >= BLOCKED_COLUMNS) return p->k >= BLOCKED_STEPS ? IP_MM_BLOCKED : IP_MM_DIRECT;
    return p->n > FEW_COLUMNS && p->k >= NARROW_STEPS ? IP_MM_BLOCKED : IP_MM_DIRECT;
}

/* Input k of dtype, the last two axes exchanged or not. */
static ip_stage *operand(ip_lower *l, int k, bool transposed, imgpar_dtype dtype)
{
    const ip_type *type = &l->node->inputs[k]->type;
    int order[IMGPAR_MAX_RANK] = { 0, 1, 2, 3 }, last = type->rank - 1;
    if (transposed && last > 0) {
        order[last] = last - 1;
        order[last - 1] = last;
    }
    return ip_lower_permuted(l, l->in[k], type, order, dtype, k ? "right factor" : "left factor");
}

static bool fits_device(const ip_product *p)
{
    const int64_t batch = p->outer * p->inner;
    return p->m <= INT32_MAX && p->n <= INT32_MAX && p->k <= INT32_MAX && batch * p->m <= INT32_MAX;
}

bool ip_stage_may_read_view(const ip_stage *stage)
{
    const ip_opaque *o = stage->opaque;
    if (!o || o->kind != &kind || o->user || !meets_one(o->sizes) || o->sizes[IP_MM_METHOD] == IP_MM_REDUCE)
        return false;
    return o->sizes[IP_MM_N] > FEW_COLUMNS &&
           o->sizes[IP_MM_OUTER] * o->sizes[IP_MM_INNER] * o->sizes[IP_MM_M] >= BLOCKED_ROWS;
}

const ip_stage *ip_product_reshaped_left(const ip_opaque *product)
{
    const ip_view *view = product->inputs[0]->view;
    return view ? view->reshaped : NULL;
}

ip_stage *ip_stage_product_of_view(ip_ir *ir, const ip_stage *product, const int64_t dims[4], ip_stage *from,
                                   const ip_mm_view *view, ip_stage *right, int64_t k)
{
    ip_opaque o = *product->opaque;
    ip_mm_view *kept = k >= NARROW_STEPS ? ip_ir_alloc(ir, 1, sizeof *kept) : NULL;
    if (!kept) return NULL;
    *kept = *view;
    o.user = kept;
    o.variant = "view";
    o.defines = defines_for(ir, o.dtype, o.sizes[IP_MM_N], "#define MM_VIEW\n");
    o.inputs[0] = from;
    o.inputs[1] = right;
    o.sizes[IP_MM_K] = k;
    o.sizes[IP_MM_METHOD] = IP_MM_BLOCKED;
    o.sizes[IP_MM_BY_ROWS] = 0;
    return ip_stage_opaque(ir, &o, product->dtype, dims, product->node);
}

ip_stage *ip_stages_matmul(ip_lower *l)
{
    static const char *const variants[] = { "reduce", "blocked", "direct" };
    const ip_type *a = &l->node->inputs[0]->type, *b = &l->node->inputs[1]->type;
    imgpar_dtype dtype = l->node->type.dtype == IMGPAR_F16 ? IMGPAR_F32 : l->node->type.dtype;
    ip_product p;
    ip_type type;
    ip_product_of(a, b, &p, &type);
    if (!fits_device(&p)) return ip_lower_fail(l, IMGPAR_E_LIMIT, "more than 2^31 rows");
    ip_mm_method method = method_of(&p);
    ip_opaque o = { .kind = &kind,
                    .variant = variants[method],
                    .defines = method == IP_MM_BLOCKED ? defines_for(l->ir, dtype, p.n, "") : defines_of(dtype),
                    .dtype = dtype,
                    .uses_f64 = dtype == IMGPAR_F64,
                    .n_inputs = 2,
                    .sizes = { p.m, p.n, p.k, p.outer, p.inner, p.a_outer, p.a_inner, p.b_outer, p.b_inner, p.n_b,
                               method, a->rank == 2 && b->rank == 2 } };
    o.inputs[0] = operand(l, 0, false, dtype);
    o.inputs[1] = operand(l, 1, method == IP_MM_REDUCE && p.n > 1, dtype);
    ip_stage *product = ip_stage_opaque(l->ir, &o, dtype, l->dims, l->node);
    if (!product || dtype == l->node->type.dtype) return product;
    ip_expr *index[4];
    for (int k = 0; k < 4; k++)
        index[k] = ip_lower_coord(l, k);
    return ip_lower_map(l, ip_x_load(l->ir, product, index, IP_BORDER_NONE, NULL));
}
