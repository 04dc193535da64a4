/* SPDX-License-Identifier: MIT */
/* Parts of hough_circles: opaque stages of the peaks of the votes for centres, and of how many edges lie at each radius
 * around them (shaders/circles.cl). */
#include "ops/infer.h"
#include "ops/regions.h"
#include "ops/view.h"

#include "base/integers.h"

/* What its kernels take, in shaders/circles.cl. */
#define PARAMS(NAME) \
    NAME(HEIGHT)     \
    NAME(WIDTH)      \
    NAME(RADIUS)     \
    NAME(RADII)      \
    NAME(ROWS)       \
    NAME(CLEARS)     \
    NAME(ACROSS)     \
    NAME(SIDE)       \
    NAME(LEAST)      \
    NAME(APART)      \
    NAME(COUNTS)     \
    NAME(CENTRES)    \
    NAME(ROWS_AROUND)
enum { P_FIRST_ITEM, PARAMS(IP_PARAM_NUMBER) N_PARAMS };

/* Rows of a band for each radius at least: edges near a band's ends vote for both, and each vote is looked at. */
enum { BAND_RADII = 2, RADII_AT_ONCE = 64, GPU_GROUP = 64, BLOCK_ROWS = 16, BLOCK_COLUMNS = 64 };
static const ip_opaque_constant constants[] = { { "HC_RADII_AT_ONCE", RADII_AT_ONCE },
                                                { "HC_ROWS", BLOCK_ROWS },
                                                { "HC_WIDE", BLOCK_COLUMNS },
                                                { "HC_GROUP", GPU_GROUP },
                                                { NULL, 0 } };

static const int counted[] = { IP_BUFFER_INPUT, IP_BUFFER_INPUT + 1, IP_BUFFER_INPUT + 2, IP_BUFFER_SCRATCH };
static const int cleared[] = { IP_BUFFER_SCRATCH }, ranked[] = { IP_BUFFER_SCRATCH, IP_BUFFER_RESULT };
static const int emptied[] = { IP_BUFFER_RESULT };
static const int around[] = { IP_BUFFER_INPUT, IP_BUFFER_INPUT + 1, IP_BUFFER_RESULT };

static void set(ip_opaque_launch *out, const char *kernel, const int *buffers, int n)
{
    out->kernel = kernel;
    out->n_buffers = n;
    for (int k = 0; k < n; k++)
        out->buffers[k] = buffers[k];
}

/* What all have; the rest is 0. */
static void set_params(ip_opaque_launch *out, const int64_t *s, int64_t radius, int64_t radii)
{
    const int params[N_PARAMS] = { [P_HEIGHT] = (int)s[IP_CIRCLES_HEIGHT],
                                   [P_WIDTH] = (int)s[IP_CIRCLES_WIDTH],
                                   [P_RADIUS] = (int)radius,
                                   [P_RADII] = (int)radii };
    ip_opaque_set_params(out, params, N_PARAMS);
}

static int64_t radii_of(const int64_t *s) { return s[IP_CIRCLES_LARGEST] - s[IP_CIRCLES_LEAST] + 1; }

/* ---- centres ---------------------------------------------------------------------------------------------------- */

static void scratch(const ip_opaque_call *call, uint64_t bytes[IP_OPAQUE_SCRATCH])
{
    const int64_t *s = call->opaque->sizes;
    bytes[0] = (uint64_t)(s[IP_CIRCLES_HEIGHT] * s[IP_CIRCLES_WIDTH]) * sizeof(uint32_t);
}

/* The radii from `first` on, as many as are counted together. */
static void count_step(const ip_opaque_call *call, int64_t first, bool clears, ip_opaque_launch *out)
{
    const int64_t *s = call->opaque->sizes, height = s[IP_CIRCLES_HEIGHT],
                  radii = ip_min(s[IP_CIRCLES_LARGEST] + 1 - first, RADII_AT_ONCE);
    if (call->device.is_cpu) {
        const int64_t share = ip_ceil_div(height, call->device.compute_units),
                      rows = ip_min(ip_max(share, BAND_RADII * (first + radii)), height);
        set(out, "hc_votes", counted, 4);
        set_params(out, s, first, radii);
        out->params[P_ROWS] = (int)rows;
        out->params[P_CLEARS] = clears;
        ip_opaque_set_items(out, ip_ceil_div(height, rows), 1);
    } else {
        const int64_t across = ip_ceil_div(s[IP_CIRCLES_WIDTH], BLOCK_COLUMNS);
        set(out, "hc_blocks", counted, 4);
        set_params(out, s, first, radii);
        out->params[P_ACROSS] = (int)across;
        ip_opaque_set_items(out, across * ip_ceil_div(height, BLOCK_ROWS) * GPU_GROUP, GPU_GROUP);
    }
}

static void peak_step(const ip_opaque_call *call, ip_opaque_launch *out)
{
    const int64_t *s = call->opaque->sizes, side = ip_circles_side(s[IP_CIRCLES_APART]),
                  down = ip_ceil_div(s[IP_CIRCLES_HEIGHT], side), across = ip_ceil_div(s[IP_CIRCLES_WIDTH], side);
    const bool cpu = call->device.is_cpu;
    set(out, cpu ? "hc_peaks" : "hc_squares", ranked, 2);
    set_params(out, s, 0, 0);
    out->params[P_SIDE] = (int)side;
    out->params[P_LEAST] = (int)s[IP_CIRCLES_THRESHOLD];
    out->params[P_APART] = (int)(s[IP_CIRCLES_APART] / 2);
    ip_opaque_set_items(out, cpu ? down : down * across, cpu ? 1 : GPU_GROUP);
}

static bool step_centres(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    const int64_t *s = call->opaque->sizes, counts = s[IP_CIRCLES_HEIGHT] * s[IP_CIRCLES_WIDTH],
                  launches = ip_ceil_div(radii_of(s), RADII_AT_ONCE);
    const int before = call->device.is_cpu ? 0 : 1, part = step - before;
    if (part > launches) return false;
    if (part < 0) {
        set(out, "hc_clear", cleared, 1);
        set_params(out, s, 0, 0);
        out->params[P_COUNTS] = (int)counts;
        ip_opaque_set_items(out, counts, GPU_GROUP);
    } else if (part < launches)
        count_step(call, s[IP_CIRCLES_LEAST] + (int64_t)part * RADII_AT_ONCE, part == 0, out);
    else
        peak_step(call, out);
    return true;
}

static const ip_opaque_kind centres_kind = { .name = "hough_circles",
                                             .shader = "circles",
                                             .params = PARAMS(IP_PARAM_TEXT),
                                             .constants = constants,
                                             .widen = ip_opaque_widen_all,
                                             .reads = ip_opaque_read_all,
                                             .scratch = scratch,
                                             .step = step_centres,
                                             .compute = ip_circles_compute_centres };

static imgpar_status check_radii(const imgpar_array *node, ip_error *err)
{
    const double least = ip_param_number(node, "least"), largest = ip_param_number(node, "largest");
    return least <= largest ? IMGPAR_OK
                            : ip_fail(err, IMGPAR_E_ARGUMENT, "%s: least=%g is above largest=%g", node->op->info.name,
                                      least, largest);
}

imgpar_status ip_infer_hough_centres(imgpar_array *node, ip_error *err)
{
    int64_t dims[4];
    imgpar_status st = ip_check_one_channel(node, err);
    if (!st) st = check_radii(node, err);
    if (st) return st;
    ip_type_dims(&node->inputs[0]->type, dims);
    if (dims[1] * dims[2] > INT32_MAX)
        return ip_fail(err, IMGPAR_E_LIMIT, "%lld pixels are more than 2147483647", (long long)(dims[1] * dims[2]));
    const int64_t side = ip_circles_side((int64_t)ip_param_number(node, "apart")),
                  squares = ip_ceil_div(dims[1], side) * ip_ceil_div(dims[2], side);
    node->type = (ip_type){ .dtype = IMGPAR_I64, .space = IMGPAR_SPACE_DATA };
    node->range = ip_range_of(IMGPAR_I64);
    return ip_shape_set(node, 1, &squares, err);
}

/* Input k in that dtype. */
static ip_stage *input_as(ip_lower *l, int k, imgpar_dtype dtype, const char *note)
{
    ip_stage *in = l->in[k];
    ip_expr *at[4];
    if (in->dtype == dtype) return in;
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(l->ir, d, in->dims[d]);
    ip_expr *v = ip_x_load(l->ir, in, at, IP_BORDER_NONE, NULL);
    return ip_lower_stage_sized(l, in->dims, dtype, ip_x_saturate(l->ir, dtype, v), note);
}

static int64_t size_of(const ip_lower *l, const char *param) { return (int64_t)ip_param_number(l->node, param); }

ip_stage *ip_stages_hough_centres(ip_lower *l)
{
    const bool is_short = l->in[1]->dtype == IMGPAR_I16 && l->in[2]->dtype == IMGPAR_I16;
    const imgpar_dtype dtype = is_short ? IMGPAR_I16 : IMGPAR_F32;
    ip_stage *mask = ip_lower_mask(l, 0), *u = input_as(l, 1, dtype, "derivative along x"),
             *w = input_as(l, 2, dtype, "derivative along y");
    if (!mask || !u || !w) return NULL;
    ip_opaque o = { .kind = &centres_kind,
                    .variant = "centres",
                    .defines = is_short ? "#define HC_T short\n" : "#define HC_T float\n",
                    .dtype = dtype,
                    .n_inputs = 3,
                    .inputs = { mask, u, w },
                    .sizes = { mask->dims[1], mask->dims[2], size_of(l, "least"), size_of(l, "largest"),
                               size_of(l, "threshold"), size_of(l, "apart") } };
    return ip_stage_opaque(l->ir, &o, IMGPAR_I64, l->dims, l->node);
}

/* ---- radii ------------------------------------------------------------------------------------------------------ */

static bool step_radii(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    const int64_t *s = call->opaque->sizes, centres = s[IP_CIRCLES_CENTRES], counts = centres * radii_of(s),
                  rows = ip_min(2 * s[IP_CIRCLES_LARGEST] + 1, s[IP_CIRCLES_HEIGHT]);
    const bool cpu = call->device.is_cpu, clears = !cpu && step == 0;
    if (step > (cpu ? 0 : 1)) return false;
    if (clears)
        set(out, "hc_clear", emptied, 1);
    else
        set(out, "hc_radii", around, 3);
    set_params(out, s, s[IP_CIRCLES_LEAST], radii_of(s));
    out->params[P_COUNTS] = (int)counts;
    out->params[P_CENTRES] = (int)centres;
    out->params[P_ROWS_AROUND] = (int)rows;
    ip_opaque_set_items(out, cpu ? centres : clears ? counts : centres * rows, cpu ? 1 : GPU_GROUP);
    return true;
}

static const ip_opaque_kind radii_kind = { .name = "hough_circles",
                                           .shader = "circles",
                                           .params = PARAMS(IP_PARAM_TEXT),
                                           .constants = constants,
                                           .widen = ip_opaque_widen_all,
                                           .reads = ip_opaque_read_all,
                                           .step = step_radii,
                                           .compute = ip_circles_compute_radii };

imgpar_status ip_infer_hough_radii(imgpar_array *node, ip_error *err)
{
    const int64_t radii = (int64_t)(ip_param_number(node, "largest") - ip_param_number(node, "least")) + 1,
                  shape[2] = { ip_type_count(&node->inputs[1]->type), radii };
    int64_t dims[4];
    imgpar_status st = check_radii(node, err);
    if (st) return st;
    ip_type_dims(&node->inputs[0]->type, dims);
    const int64_t n = ip_type_count(&node->inputs[0]->type);
    if (dims[0] != 1 || dims[3] > 2 || n < 1 || n > INT32_MAX)
        return ip_fail(err, IMGPAR_E_SHAPE, "hough_radii: a must be an image of 1 channel, with pixels");
    if (shape[0] > INT32_MAX / (2 * (int64_t)ip_param_number(node, "largest") + 1))
        return ip_fail(err, IMGPAR_E_LIMIT, "hough_radii: more places than are counted at once");
    node->type = (ip_type){ .dtype = IMGPAR_U32, .space = IMGPAR_SPACE_DATA };
    node->range = ip_range_of(IMGPAR_U32);
    return ip_shape_set(node, 2, shape, err);
}

ip_stage *ip_stages_hough_radii(ip_lower *l)
{
    ip_stage *mask = ip_lower_mask(l, 0), *places = input_as(l, 1, IMGPAR_I32, "places");
    if (!mask || !places) return NULL;
    ip_opaque o = { .kind = &radii_kind,
                    .variant = "radii",
                    .defines = "#define HC_RADII\n",
                    .dtype = IMGPAR_U32,
                    .n_inputs = 2,
                    .inputs = { mask, places },
                    .sizes = { mask->dims[1], mask->dims[2], size_of(l, "least"), size_of(l, "largest"),
                               ip_type_count(&l->node->inputs[1]->type) } };
    return ip_stage_opaque(l->ir, &o, IMGPAR_U32, l->dims, l->node);
}
