/* SPDX-License-Identifier: MIT */
/*
 * Rank filters of windows that are too large for a network of min and max: an opaque stage (shaders/rank.cl) over the
 * input with a margin, which is a map that knows the borders and fuses with what comes before. Mode filters of all
 * windows likewise.
 */
#include "ops/element.h"
#include "ops/families.h"
#include "ops/infer.h"
#include "ops/keys.h"
#include "ops/lower.h"
#include "ops/rank.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"

#include <math.h>

/* What its kernels take, in shaders/rank.cl. */
#define PARAMS(NAME)    \
    NAME(COLUMNS)       \
    NAME(ROWS)          \
    NAME(PLANES)        \
    NAME(CHANNELS)      \
    NAME(RX)            \
    NAME(RY)            \
    NAME(RUNS)          \
    NAME(COLUMN_RUNS)   \
    NAME(K)             \
    NAME(STRIP_COLUMNS) \
    NAME(STRIP_ROWS)    \
    NAME(ACROSS)        \
    NAME(DOWN)          \
    NAME(FIRST)         \
    NAME(STRIPS)        \
    NAME(BEFORE)        \
    NAME(PLANE_ROWS)    \
    NAME(WORDS)
enum { P_FIRST_ITEM, PARAMS(IP_PARAM_NUMBER) N_PARAMS };

/* Work-items that are launched together for each compute unit, and bytes of scratch memory of all of them at most;
 * work-items of a group where each counts for one element. */
enum { CPU_ITEMS = 4, MOST_SCRATCH = 64 << 20, GPU_GROUP = 64 };
/* Where each counts for a column: elements of that at least; work-items of a group then. */
enum { GPU_ROWS = 32, DOWN_GROUP = 32 };
static const ip_opaque_constant constants[] = { { "RK_ITEMS", DOWN_GROUP }, { NULL, 0 } };
/* A strip of histograms of columns: columns with the margin, and without it at least; rows at least, and in radii. */
enum { BYTES_COLUMNS = 512, LEAST_COLUMNS = 256, BYTES_ROWS = 512, RADII = 16 };
/* A strip in which a histogram of keys slides; a tile whose elements are ranked: its side with the margin, and without
 * it at least. */
enum { SLIDE_COLUMNS = 512, SLIDE_ROWS = 64, TILE = 256, LEAST_TILE = 64 };
/* Windows of no more elements than a square of this side have their most frequent one found by counting, where elements
 * have more than 8 bits. */
enum { CPU_COUNTED = 3, GPU_COUNTED = 31 };

/* ---- the opaque stage --------------------------------------------------------------------------- */

static void widen(const ip_opaque *o, ip_region *result)
{
    const ip_region all = { 0, o->dims[0], 0, o->dims[1], 0, o->dims[2] };
    const ip_region rows = { 0, 1, result->y0, result->y1, 0, o->dims[2] };
    *result = o->dims[0] == 1 ? rows : all;
}

static void reads(const ip_opaque *o, int input, const ip_region *result, ip_region *needed)
{
    *needed = ip_stage_region(o->inputs[input]);
    if (o->dims[0] > 1) return;
    needed->y0 = result->y0;
    needed->y1 = result->y1 + 2 * o->sizes[IP_RANK_RY];
}

typedef struct division {
    bool counts, goes_down, has_columns; /* the kernels rk_count, rk_down, rk_bytes or their like; else rk_slide */
    int64_t rows, planes, columns, each; /* of the result; of a strip: columns and rows */
    int64_t across, down, strips, words; /* strips; scratch memory of one */
    int64_t items;                       /* work-items of a launch */
} division;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* Words of 4 bytes of the counts of so many levels, and of the largest of 16 of these, and so on (shaders/rank.cl). */
static int64_t tree_words(int64_t levels)
{
    int64_t counts = 0;
    do {
        levels = ip_ceil_div(levels, 16);
        counts += levels * 16;
    } while (levels > 1);
    return counts / 2;
}

static int64_t mode_words(const ip_opaque_call *call, const division *d)
{
    const int64_t *sizes = call->opaque->sizes, size = ip_dtype(call->opaque->dtype)->size_bytes;
    const int64_t columns = d->columns + 2 * sizes[IP_RANK_RX], all = columns * (d->each + 2 * sizes[IP_RANK_RY]);
    if (d->has_columns) return columns * (256 / 2);
    return ip_ceil_div(size > 2 ? tree_words(all) + all * (2 * size / 4 + 2) : tree_words((int64_t)1 << 8 * size), 16) *
           16;
}

/* Words of 4 bytes that a strip takes. */
static int64_t words_of(const ip_opaque_call *call, const division *d)
{
    const int64_t *sizes = call->opaque->sizes, size = ip_dtype(call->opaque->dtype)->size_bytes;
    const int64_t columns = d->columns + 2 * sizes[IP_RANK_RX], all = columns * (d->each + 2 * sizes[IP_RANK_RY]);
    const int64_t levels = size > 2 ? all + 256 : 1 << 8 * size;
    const int64_t histogram = levels + levels / 256 + 2, ranks = size > 2 ? all * (2 * size / 4 + 2) : 0;
    return d->has_columns ? ip_ceil_div(columns * (16 + 256), 32) * 16
                          : ip_ceil_div(ranks + ip_ceil_div(histogram, 2), 16) * 16;
}

static division divide(const ip_opaque_call *call)
{
    const ip_opaque *o = call->opaque;
    const int64_t rx = o->sizes[IP_RANK_RX], ry = o->sizes[IP_RANK_RY], size = ip_dtype(o->dtype)->size_bytes;
    const bool is_cpu = call->device.is_cpu, is_mode = o->sizes[IP_RANK_MODE];
    const int64_t counted = is_cpu ? CPU_COUNTED : GPU_COUNTED;
    const bool is_small = o->sizes[IP_RANK_COUNT] <= counted * counted;
    division d = { .counts = is_mode ? is_small && (!is_cpu || size > 1) : !is_cpu && size > 1,
                   .goes_down = !is_mode && !is_cpu && size == 1,
                   .has_columns = size == 1 && ip_rank_is_full(o) && (is_cpu || !is_mode),
                   .rows = call->result.y1 - call->result.y0,
                   .planes = call->result.z1 - call->result.z0,
                   .columns = most(BYTES_COLUMNS - 2 * rx, LEAST_COLUMNS),
                   .each = most(BYTES_ROWS, RADII * ry),
                   .items = (int64_t)call->device.compute_units * CPU_ITEMS };
    if (!d.has_columns) {
        d.columns = size > 2 ? most(TILE - 2 * rx, LEAST_TILE) : SLIDE_COLUMNS;
        d.each = size > 2 ? most(TILE - 2 * ry, LEAST_TILE) : SLIDE_ROWS;
    }
    if (d.goes_down) d.each = most(GPU_ROWS, 2 * ry);
    d.columns = least(d.columns, o->dims[2]);
    d.each = least(d.each, d.rows);
    d.across = ip_ceil_div(o->dims[2], d.columns);
    d.down = ip_ceil_div(d.rows, d.each);
    d.strips = d.across * d.down * d.planes * o->dims[3];
    d.words = is_mode ? mode_words(call, &d) : words_of(call, &d);
    d.items = least(d.strips, most(least(d.items, MOST_SCRATCH / (d.words * 4)), 1));
    return d;
}

static void scratch(const ip_opaque_call *call, uint64_t bytes[IP_OPAQUE_SCRATCH])
{
    const division d = divide(call);
    if (!d.counts && !d.goes_down) bytes[0] = (uint64_t)(d.items * d.words) * 4;
}

static bool step(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    const ip_opaque *o = call->opaque;
    const division d = divide(call);
    const bool in_groups = d.counts || d.goes_down;
    const int64_t group = d.goes_down ? DOWN_GROUP : in_groups ? GPU_GROUP : 1;
    const int64_t count = (d.goes_down ? d.down : d.rows) * d.planes * o->dims[2] * o->dims[3];
    if (in_groups ? step > 0 : step * d.items >= d.strips) return false;
    const int64_t params[N_PARAMS] = { [P_COLUMNS] = o->dims[2],
                                       [P_ROWS] = d.rows,
                                       [P_PLANES] = d.planes,
                                       [P_CHANNELS] = o->dims[3],
                                       [P_RX] = o->sizes[IP_RANK_RX],
                                       [P_RY] = o->sizes[IP_RANK_RY],
                                       [P_RUNS] = o->sizes[IP_RANK_RUNS],
                                       [P_COLUMN_RUNS] = o->sizes[IP_RANK_COLUMN_RUNS],
                                       [P_K] = o->sizes[IP_RANK_K],
                                       [P_STRIP_COLUMNS] = d.columns,
                                       [P_STRIP_ROWS] = d.each,
                                       [P_ACROSS] = d.across,
                                       [P_DOWN] = d.down,
                                       [P_FIRST] = step * d.items,
                                       [P_STRIPS] = d.strips,
                                       [P_BEFORE] = call->result.y0 - call->in[0].y0,
                                       [P_PLANE_ROWS] = call->in[0].y1 - call->in[0].y0,
                                       [P_WORDS] = d.words };
    out->n_params = N_PARAMS;
    for (int k = 0; k < out->n_params; k++)
        out->params[k] = (int)params[k];
    if (o->sizes[IP_RANK_MODE])
        out->kernel = d.counts ? "rk_count_mode" : d.has_columns ? "rk_bytes_mode" : "rk_slide_mode";
    else
        out->kernel = d.goes_down ? "rk_down" : d.counts ? "rk_count" : d.has_columns ? "rk_bytes" : "rk_slide";
    out->n_buffers = 0;
    out->buffers[out->n_buffers++] = IP_BUFFER_INPUT;
    if (!in_groups) out->buffers[out->n_buffers++] = IP_BUFFER_SCRATCH;
    out->buffers[out->n_buffers++] = IP_BUFFER_RESULT;
    out->local[0] = out->global[0] = (size_t)group;
    out->global[1] = 1;
    out->global[2] = (size_t)(in_groups ? ip_ceil_div(count, group) : least(d.items, d.strips - step * d.items));
    return true;
}

static void specialise(const ip_opaque_call *call, ip_str *defines)
{
    ip_str_printf(defines, "#define RK_MODE %d\n", call->opaque->sizes[IP_RANK_MODE] != 0);
}

static const ip_opaque_kind kind = { .name = "rank",
                                     .shader = "rank",
                                     .params = PARAMS(IP_PARAM_TEXT),
                                     .has_list = true,
                                     .constants = constants,
                                     .before = "keys",
                                     .widen = widen,
                                     .reads = reads,
                                     .specialise = specialise,
                                     .scratch = scratch,
                                     .step = step,
                                     .compute = ip_rank_compute };

/* ---- lowering ------------------------------------------------------------------------------------- */

static ip_expr *moved(ip_lower *l, int dim, const int64_t dims[4], int64_t by)
{
    return ip_x_binary(l->ir, IP_X_SUB, ip_x_coord(l->ir, dim, dims[dim]), ip_lower_i32(l, by));
}

/* The input with a margin, as the border rule has it. */
static ip_stage *with_margin(ip_lower *l, int rx, int ry)
{
    ip_stage *in = l->in[0];
    const int64_t dims[4] = { in->dims[0], in->dims[1] + 2 * ry, in->dims[2] + 2 * rx, in->dims[3] };
    ip_expr *cval, *at[] = { ip_x_coord(l->ir, 0, dims[0]), moved(l, 1, dims, ry), moved(l, 2, dims, rx),
                             ip_x_coord(l->ir, 3, dims[3]) };
    int border = ip_lower_border(l, in->dtype, &cval);
    return ip_lower_stage_sized(l, dims, in->dtype, ip_x_load(l->ir, in, at, border, cval), "with a margin");
}

/* Of the n elements of the window that with floor(n percent / 100) of them before it, or the most frequent one. */
static ip_stage *rank_stage_of(ip_lower *l, const ip_element *e, ip_element_run *runs, double percent, bool is_mode)
{
    const int n_rows = ip_element_runs(e, false, runs), n_columns = ip_element_runs(e, true, runs + n_rows);
    const int64_t count = ip_element_count(e);
    ip_opaque o = { .kind = &kind,
                    .defines = ip_key_defines(l->in[0]->dtype, is_mode),
                    .dtype = l->in[0]->dtype,
                    .n_inputs = 1,
                    .columns = 2 * e->rx + 1,
                    .list = (const int *)runs,
                    .n_list = (n_rows + n_columns) * (int)(sizeof *runs / sizeof(int)),
                    .sizes = { [IP_RANK_RX] = e->rx,
                               [IP_RANK_RY] = e->ry,
                               [IP_RANK_RUNS] = n_rows,
                               [IP_RANK_COLUMN_RUNS] = n_columns,
                               [IP_RANK_COUNT] = count,
                               [IP_RANK_K] = least((int64_t)floor((double)count * percent / 100), count - 1),
                               [IP_RANK_MODE] = is_mode } };
    o.inputs[0] = with_margin(l, e->rx, e->ry);
    return o.inputs[0] ? ip_stage_opaque(l->ir, &o, l->node->type.dtype, l->dims, l->node) : NULL;
}

static ip_stage *rank_stage(ip_lower *l, double percent, bool is_mode)
{
    if (ip_dims_count(l->dims) == 0) return ip_lower_map(l, ip_lower_i32(l, 0));
    ip_element e;
    ip_element_run *runs = NULL;
    if (ip_element_of(l->node, &e))
        runs =
            ip_alloc_array((size_t)(ip_element_runs(&e, false, NULL) + ip_element_runs(&e, true, NULL)), sizeof *runs);
    ip_stage *result = runs ? rank_stage_of(l, &e, runs, percent, is_mode)
                            : ip_lower_fail(l, IMGPAR_E_HOST_MEMORY, "out of host memory");
    ip_free(runs);
    ip_element_free(&e);
    return result;
}

/* The type of its input; an element's sides are those of a window at most. */
imgpar_status ip_infer_rank(imgpar_array *node, ip_error *err)
{
    ip_infer_copy(node);
    return ip_element_check(node, IP_RANK_MOST_SIDE, err);
}

ip_stage *ip_stages_percentile_filter(ip_lower *l) { return rank_stage(l, ip_param_number(l->node, "p"), false); }

ip_stage *ip_stages_rank_median(ip_lower *l) { return rank_stage(l, 50, false); }

ip_stage *ip_stages_mode_filter(ip_lower *l) { return rank_stage(l, 0, true); }
