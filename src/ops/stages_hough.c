/* SPDX-License-Identifier: MIT */
/* How many pixels of a mask lie on each straight line: an opaque stage over the mask and the directions
 * (shaders/hough.cl), angle by angle, and a map that turns it. */
#include "ops/infer.h"
#include "ops/regions.h"
#include "ops/view.h"

#include "base/integers.h"

#include <math.h>

/* What its kernels take, in shaders/hough.cl. */
#define PARAMS(NAME) NAME(HEIGHT) NAME(WIDTH) NAME(ANGLES) NAME(DISTANCES) NAME(EACH) NAME(COUNTS) NAME(ACROSS)
enum { P_FIRST_ITEM, PARAMS(IP_PARAM_NUMBER) N_PARAMS };

/* Work-items for each compute unit, each of which looks through the mask; angles of one at most, so that there are
 * polls; a group's work-items and a block's pixels. */
enum { CPU_ITEMS = 2, MOST_ANGLES = 64, GPU_GROUP = 64, BLOCK_ROWS = 16, BLOCK_COLUMNS = 64 };

static const ip_opaque_constant constants[] = {
    { "HG_GROUP", GPU_GROUP }, { "HG_ROWS", BLOCK_ROWS }, { "HG_COLUMNS", BLOCK_COLUMNS }, { NULL, 0 }
};

static bool step(const ip_opaque_call *call, int step, ip_opaque_launch *out)
{
    static const int of_pixels[] = { IP_BUFFER_INPUT, IP_BUFFER_INPUT + 1, IP_BUFFER_INPUT + 2, IP_BUFFER_RESULT };
    const bool cpu = call->device.is_cpu;
    const int64_t *s = call->opaque->sizes;
    const int64_t angles = s[IP_HOUGH_ANGLES], counts = angles * s[IP_HOUGH_DISTANCES],
                  own = ip_min(ip_ceil_div(angles, (int64_t)call->device.compute_units * CPU_ITEMS), MOST_ANGLES),
                  across = ip_ceil_div(s[IP_HOUGH_WIDTH], BLOCK_COLUMNS),
                  blocks = across * ip_ceil_div(s[IP_HOUGH_HEIGHT], BLOCK_ROWS);
    if (step > (cpu ? 0 : 1)) return false;
    const bool clears = !cpu && step == 0;
    out->kernel = cpu ? "hg_angles" : clears ? "hg_clear" : "hg_blocks";
    out->n_buffers = clears ? 1 : 4;
    for (int k = 0; k < out->n_buffers; k++)
        out->buffers[k] = clears ? IP_BUFFER_RESULT : of_pixels[k];
    const int params[N_PARAMS] = { [P_HEIGHT] = (int)s[IP_HOUGH_HEIGHT],
                                   [P_WIDTH] = (int)s[IP_HOUGH_WIDTH],
                                   [P_ANGLES] = (int)angles,
                                   [P_DISTANCES] = (int)s[IP_HOUGH_DISTANCES],
                                   [P_EACH] = (int)own,
                                   [P_COUNTS] = (int)counts,
                                   [P_ACROSS] = (int)across };
    ip_opaque_set_params(out, params, N_PARAMS);
    if (cpu)
        ip_opaque_set_items(out, ip_ceil_div(angles, own), 1);
    else
        ip_opaque_set_items(out, clears ? counts : blocks * GPU_GROUP, GPU_GROUP);
    return true;
}

static const ip_opaque_kind kind = { .name = "hough_lines",
                                     .shader = "hough",
                                     .params = PARAMS(IP_PARAM_TEXT),
                                     .constants = constants,
                                     .widen = ip_opaque_widen_all,
                                     .reads = ip_opaque_read_all,
                                     .step = step,
                                     .compute = ip_hough_compute };

imgpar_status ip_infer_hough_lines(imgpar_array *node, ip_error *err)
{
    int64_t dims[4];
    imgpar_status st = ip_check_one_channel(node, err);
    if (st) return st;
    ip_type_dims(&node->inputs[0]->type, dims);
    const double height = (double)dims[1], width = (double)dims[2];
    const int64_t angles = (int64_t)ip_param_number(node, "angles"),
                  shape[2] = { 2 * (int64_t)ceil(sqrt(width * width + height * height)) + 1, angles };
    const int64_t pixels = dims[1] * dims[2], lines = shape[0] * angles;
    if (pixels > INT32_MAX || lines > INT32_MAX)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: %lld %s are more than 2147483647", node->op->info.name,
                       (long long)(pixels > INT32_MAX ? pixels : lines),
                       pixels > INT32_MAX ? "pixels" : "pairs of a distance and an angle");
    node->type = (ip_type){ .dtype = IMGPAR_U32, .space = IMGPAR_SPACE_DATA };
    node->range = (ip_range){ 0, height * width };
    return ip_shape_set(node, 2, shape, err);
}

/* The cosine or the sine of each angle. */
static ip_stage *directions(ip_lower *l, ip_xop function, int64_t angles, const char *note)
{
    const int64_t dims[4] = { 1, 1, angles, 1 };
    ip_expr *t = ip_x_cast(l->ir, IMGPAR_F64, ip_x_coord(l->ir, 2, angles)),
            *turned = ip_x_binary(l->ir, IP_X_MUL, t, ip_x_float(l->ir, IMGPAR_F64, M_PI / (double)angles)),
            *angle = ip_x_binary(l->ir, IP_X_SUB, turned, ip_x_float(l->ir, IMGPAR_F64, M_PI / 2));
    return ip_lower_stage_sized(l, dims, IMGPAR_F64, ip_x_unary(l->ir, function, angle), note);
}

ip_stage *ip_stages_hough_lines(ip_lower *l)
{
    const int64_t distances = l->dims[1], angles = l->dims[2], dims[4] = { 1, angles, distances, 1 };
    ip_stage *mask = ip_lower_mask(l, 0), *cosines = directions(l, IP_X_COS, angles, "cosines"),
             *sines = directions(l, IP_X_SIN, angles, "sines");
    if (!mask || !cosines || !sines) return NULL;
    ip_opaque o = { .kind = &kind,
                    .defines = "",
                    .uses_f64 = true,
                    .dtype = IMGPAR_U32,
                    .n_inputs = 3,
                    .inputs = { mask, cosines, sines },
                    .sizes = { mask->dims[1], mask->dims[2], angles, distances } };
    ip_stage *counts = ip_stage_opaque(l->ir, &o, IMGPAR_U32, dims, l->node);
    if (!counts) return NULL;
    ip_expr *zero = ip_lower_i32(l, 0), *at[4] = { zero, ip_lower_coord(l, 2), ip_lower_coord(l, 1), zero };
    return ip_lower_map(l, ip_x_load(l->ir, counts, at, IP_BORDER_NONE, NULL));
}
