/* SPDX-License-Identifier: MIT */
/* Distances from the nearest zero of a mask: an opaque stage over the mask as bytes (shaders/distance.cl). */
#include "ops/infer.h"
#include "ops/regions.h"
#include "ops/view.h"

#include "base/dtype.h"
#include "base/integers.h"

/* What its kernels take, in shaders/distance.cl. */
#define PARAMS(NAME) NAME(DEPTH) NAME(HEIGHT) NAME(WIDTH) NAME(PANELS) NAME(PANEL) NAME(ITEMS) NAME(EACH) NAME(LINE)
enum { P_FIRST_ITEM, PARAMS(IP_PARAM_NUMBER) N_PARAMS };

/* Runs of rows for each compute unit; columns of a panel. */
enum { CPU_ITEMS = 8, GPU_ITEMS = 64, GPU_GROUP = 64, CPU_PANEL = 512, GPU_PANEL = 16 };

/* ---- masks ------------------------------------------------------------------------------------- */

bool ip_is_volume(const ip_type *type)
{
    int64_t dims[4];
    ip_type_dims(type, dims);
    return type->rank > 3 || (type->rank == 3 && type->shape[2] != dims[3]);
}

imgpar_status ip_infer_of_mask(imgpar_array *node, imgpar_dtype dtype, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    const char *name = node->op->info.name;
    int64_t dims[4];
    char text[96];
    ip_type_dims(a, dims);
    if (ip_type_count(a) == 0)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: a is %s, which has no elements", name, ip_type_text(a, text));
    if (dims[3] > 2 || (dims[3] == 2 && dims[0] > 1))
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: a is %s; it must be an image of 1 channel; gray() makes one", name,
                       ip_type_text(a, text));
    if (dims[0] * dims[1] * dims[2] > INT32_MAX)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: a has more than 2147483647 elements", name);
    node->type = (ip_type){ .dtype = dtype, .space = IMGPAR_SPACE_DATA };
    imgpar_status st = ip_shape_set(node, ip_is_volume(a) ? a->rank : ip_min(a->rank, 2), a->shape, err);
    if (!st && node->type.rank == 4) node->type.shape[3] = 1; /* without alpha */
    return st;
}

ip_stage *ip_lower_mask(ip_lower *l, int k)
{
    ip_stage *in = l->in[k];
    const int64_t dims[4] = { in->dims[0], in->dims[1], in->dims[2], 1 };
    ip_expr *at[4];
    if ((in->dtype == IMGPAR_U8 || in->dtype == IMGPAR_BOOL) && in->dims[3] == 1) return in;
    for (int d = 0; d < 4; d++)
        at[d] = d < 3 ? ip_x_coord(l->ir, d, dims[d]) : ip_lower_i32(l, 0);
    ip_expr *v = ip_x_load(l->ir, in, at, IP_BORDER_NONE, NULL);
    if (v->dtype == IMGPAR_BOOL) v = ip_x_cast(l->ir, IMGPAR_U8, v);
    ip_expr *is_zero = ip_x_binary(l->ir, IP_X_EQ, v, ip_x_cast(l->ir, v->dtype, ip_lower_i32(l, 0)));
    ip_expr *mask = ip_x_select(l->ir, is_zero, ip_x_int(l->ir, IMGPAR_U8, 0), ip_x_int(l->ir, IMGPAR_U8, 1));
    return ip_lower_stage_sized(l, dims, IMGPAR_U8, mask, "the mask");
}

/* ---- the opaque stage --------------------------------------------------------------------------- */

typedef struct division {
    int64_t depth, height, width, panel, panels;
    int64_t rows, row_items;   /* of a work-item; work-items */
    int64_t lines, line_items; /* along z */
    int64_t longest;           /* elements of a line */
    uint64_t square_bytes;
} division;

static division divide(const ip_opaque_call *call)
{
    const int64_t *s = call->opaque->sizes;
    const bool cpu = call->device.is_cpu;
    const int64_t items = (int64_t)call->device.compute_units * (cpu ? CPU_ITEMS : GPU_ITEMS);
    division d = { .depth = s[IP_DISTANCE_DEPTH], .height = s[IP_DISTANCE_HEIGHT], .width = s[IP_DISTANCE_WIDTH] };
    d.panel = cpu ? CPU_PANEL : GPU_PANEL;
    d.panels = ip_ceil_div(d.width, d.panel);
    d.rows = ip_ceil_div(d.depth * d.height, items);
    d.row_items = ip_ceil_div(d.depth * d.height, d.rows);
    d.lines = ip_ceil_div(d.height * d.width, items);
    d.line_items = ip_ceil_div(d.height * d.width, d.lines);
    d.longest = ip_max(d.width, d.depth);
    d.square_bytes = call->opaque->dtype == IMGPAR_I64 ? 8 : 4;
    return d;
}

enum { AWAY = IP_BUFFER_SCRATCH, LINES, SQUARES, PLACES };

static void scratch(const ip_opaque_call *call, uint64_t bytes[IP_OPAQUE_SCRATCH])
{
    const division d = divide(call);
    const uint64_t count = (uint64_t)(d.depth * d.height * d.width);
    bytes[AWAY - IP_BUFFER_SCRATCH] = count * (uint64_t)call->opaque->sizes[IP_DISTANCE_COLUMN_BYTES];
    bytes[LINES - IP_BUFFER_SCRATCH] = (uint64_t)(ip_max(d.row_items, d.line_items) * d.longest) * 4 * d.square_bytes;
    if (d.depth == 1) return;
    bytes[SQUARES - IP_BUFFER_SCRATCH] = count * d.square_bytes;
    bytes[PLACES - IP_BUFFER_SCRATCH] = call->opaque->sizes[IP_DISTANCE_WANTED] == IP_DISTANCE_NEAREST ? count * 4 : 0;
}

static bool step(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    const division d = divide(call);
    const bool is_volume = d.depth > 1, nearest = call->opaque->sizes[IP_DISTANCE_WANTED] == IP_DISTANCE_NEAREST;
    if (step > (is_volume ? 2 : 1)) return false;
    /* Where there are none any buffer stands for squares and places, unread. */
    const int squares = is_volume ? SQUARES : LINES;
    const int places = !nearest ? LINES : is_volume ? PLACES : IP_BUFFER_RESULT;
    const struct {
        const char *kernel;
        int n_buffers, buffers[6];
        int64_t items, each;
    } steps[] = {
        { "ds_columns", 2, { IP_BUFFER_INPUT, AWAY }, d.depth * d.panels, 0 },
        { "ds_rows", 6, { IP_BUFFER_INPUT, AWAY, LINES, squares, places, IP_BUFFER_RESULT }, d.row_items, d.rows },
        { "ds_planes", 4, { squares, places, LINES, IP_BUFFER_RESULT }, d.line_items, d.lines },
    };
    out->kernel = steps[step].kernel;
    out->n_buffers = steps[step].n_buffers;
    for (int k = 0; k < out->n_buffers; k++)
        out->buffers[k] = steps[step].buffers[k];
    const int64_t group = call->device.is_cpu ? 1 : GPU_GROUP, items = steps[step].items;
    const int params[N_PARAMS] = {
        [P_DEPTH] = (int)d.depth,         [P_HEIGHT] = (int)d.height, [P_WIDTH] = (int)d.width,
        [P_PANELS] = (int)d.panels,       [P_PANEL] = (int)d.panel,   [P_ITEMS] = (int)items,
        [P_EACH] = (int)steps[step].each, [P_LINE] = (int)d.longest
    };
    ip_opaque_set_params(out, params, N_PARAMS);
    ip_opaque_set_items(out, items, group);
    return true;
}

static const ip_opaque_kind kind = { .name = "distance",
                                     .shader = "distance",
                                     .params = PARAMS(IP_PARAM_TEXT),
                                     .widen = ip_opaque_widen_all,
                                     .reads = ip_opaque_read_all,
                                     .scratch = scratch,
                                     .step = step,
                                     .compute = ip_distance_compute };

/* ---- distance, nearest_zero ------------------------------------------------------------------------ */

/* Squares of distances that there can be. */
static int64_t largest_square(const int64_t dims[4])
{
    int64_t sum = 0;
    for (int d = 0; d < 3; d++)
        sum += (dims[d] - 1) * (dims[d] - 1);
    return sum;
}

static ip_distance wanted(const imgpar_array *node)
{
    if (node->op->variant == IP_DISTANCE_NEAREST) return IP_DISTANCE_NEAREST;
    return ip_param_number(node, "squared") != 0 ? IP_DISTANCE_SQUARE : IP_DISTANCE_ROOT;
}

imgpar_status ip_infer_distance(imgpar_array *node, ip_error *err)
{
    const ip_distance what = wanted(node);
    int64_t dims[4];
    imgpar_status st = ip_infer_of_mask(node, what == IP_DISTANCE_ROOT ? IMGPAR_F32 : IMGPAR_I32, err);
    if (st) return st;
    ip_type_dims(&node->inputs[0]->type, dims);
    if (what == IP_DISTANCE_SQUARE && largest_square(dims) >= INT32_MAX)
        return ip_fail(err, IMGPAR_E_LIMIT, "distance: squares of distances of so large an array do not fit i32");
    node->range = what == IP_DISTANCE_ROOT     ? ip_range_of(IMGPAR_F32)
                  : what == IP_DISTANCE_SQUARE ? (ip_range){ 0, INT32_MAX }
                                               : (ip_range){ -1, (double)(dims[0] * dims[1] * dims[2] - 1) };
    return IMGPAR_OK;
}

/* What stands before the shader's text: by what is wanted, whether squares are wide, whether columns are. */
#define OF_COLUMNS(G, S, NONE)                                                                                        \
    "#define DS_G " #G "\n#define DS_G16 " #G "16\n#define DS_AS_G16 as_" #G "16\n#define DS_CONVERT_S16 convert_" #S \
    "16\n#define DS_NONE " #NONE "\n"
#define OF_SQUARES(T, U, FAR) "#define DS_T " #T "\n#define DS_U " #U "\n#define DS_FAR " #FAR "\n"
#define SIZES(RESULT)                                                                        \
    {                                                                                        \
        { RESULT OF_SQUARES(int, uint, INT_MAX) OF_COLUMNS(ushort, short, USHRT_MAX),        \
          RESULT OF_SQUARES(int, uint, INT_MAX) OF_COLUMNS(uint, int, UINT_MAX) },           \
            { RESULT OF_SQUARES(long, ulong, LONG_MAX) OF_COLUMNS(ushort, short, USHRT_MAX), \
              RESULT OF_SQUARES(long, ulong, LONG_MAX) OF_COLUMNS(uint, int, UINT_MAX) },    \
    }
static const char *const defines[3][2][2] = {
    [IP_DISTANCE_ROOT] = SIZES("#define DS_WANTED 0\n#define DS_R float\n"),
    [IP_DISTANCE_SQUARE] = SIZES("#define DS_WANTED 1\n#define DS_R int\n"),
    [IP_DISTANCE_NEAREST] = SIZES("#define DS_WANTED 2\n#define DS_R int\n"),
};

ip_stage *ip_stages_distance(ip_lower *l)
{
    const ip_distance what = wanted(l->node);
    ip_stage *mask = ip_lower_mask(l, 0);
    if (!mask) return NULL;
    const bool is_wide = largest_square(mask->dims) >= INT32_MAX, is_high = mask->dims[1] >= UINT16_MAX;
    ip_opaque o = { .kind = &kind,
                    .defines = defines[what][is_wide][is_high],
                    .dtype = is_wide ? IMGPAR_I64 : IMGPAR_I32,
                    .n_inputs = 1,
                    .inputs = { mask },
                    .sizes = { mask->dims[0], mask->dims[1], mask->dims[2], what, is_high ? 4 : 2 } };
    return ip_stage_opaque(l->ir, &o, l->node->type.dtype, l->dims, l->node);
}
