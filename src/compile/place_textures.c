/* SPDX-License-Identifier: MIT */
/*
 * The texture schedule: which inputs of a kernel are read through image2d_t. The kernel itself is that of pixels, one
 * work-item a pixel; the texture cache serves reads near each other in both directions, and the sampler applies
 * borders (emit_memory.c, Note [Samplers]).
 *
 * Only nearest texels are asked for, so a read gives the element's own bytes. The sampler's linear filter is not used:
 * many devices weight with 8 bits, which is coarser than the rows of resize and at promise; they compute their weights.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "compile/passes.h"
#include "compile/stmt.h"

#include <assert.h>

typedef struct sampling {
    ip_plan *plan;
    const ip_kernel *kernel;
    const ip_stage *source;
    bool is_read_around, fits;
} sampling;

/* Reads whose channel is known while compiling, in the one plane there is. */
static void check_load(ip_expr *load, void *user)
{
    sampling *s = user;
    if (load->source != s->source) return;
    const int64_t *domain = s->kernel->domain;
    const ip_expr *z = load->arg[0], *c = load->arg[3];
    bool in_plane = (z->op == IP_X_CONST && z->i == 0) || (ip_x_is_coord(z, 0) && domain[0] == 1);
    bool own_channel = ip_reads_own_index(load, 3, domain[3]);
    bool fixed_channel = c->op == IP_X_CONST && c->i >= 0 && c->i < s->source->dims[3];
    s->fits = s->fits && in_plane && (own_channel || fixed_channel);
    s->is_read_around |= ((load->arg[1]->uses | load->arg[2]->uses) & IP_USES_COORDS) != 0;
}

static bool has_texels(imgpar_dtype dtype)
{
    switch (dtype) {
    case IMGPAR_U8:
    case IMGPAR_I8:
    case IMGPAR_BOOL:
    case IMGPAR_U16:
    case IMGPAR_I16:
    case IMGPAR_F16:
    case IMGPAR_F32: return true;
    default: return false;
    }
}

/* Why a source cannot be an image; NULL: it can. */
static const char *why_not(ip_plan *plan, const ip_kernel *k, const ip_stage *s, const ip_target *target)
{
    sampling check = { plan, k, s, false, true };
    if (s->dims[0] != 1) return "its source is a volume";
    if (s->dims[3] > 4) return "its source has more than four channels";
    if (!has_texels(s->dtype)) return ip_text(plan->ir, "no image has texels of %s", ip_dtype(s->dtype)->name);
    if (s->dims[2] > target->image_width || s->dims[1] > target->image_height)
        return ip_text(plan->ir, "its source is larger than the device's images, %lldx%lld",
                       (long long)target->image_width, (long long)target->image_height);
    ip_stage_each_load(plan->ir, k->stages[0], check_load, &check);
    if (!check.is_read_around) return "its source is one number";
    return check.fits ? NULL : "its source is read at computed channels";
}

typedef struct collecting {
    ip_plan *plan;
    ip_kernel *kernel;
    const ip_target *target;
    const char *why;
} collecting;

static void collect(ip_expr *load, void *user)
{
    collecting *c = user;
    ip_kernel *k = c->kernel;
    if (load->source->kind == IP_STAGE_TABLE || ip_kernel_texture(k, load->source) || k->n_textures == IP_MAX_TEXTURES)
        return;
    const char *why = why_not(c->plan, k, load->source, c->target);
    if (why) {
        c->why = why;
        return;
    }
    unsigned offered = load->source->dtype == IMGPAR_F16 ? c->target->half_channels : c->target->texel_channels;
    int channels = 1;
    assert(offered & 1u << 4 && load->source->dims[3] <= 4); /* run/device.c, why_not(): so the search ends */
    while (channels < (int)load->source->dims[3] || !(offered & 1u << channels))
        channels *= 2;
    k->textures[k->n_textures++] = (ip_texture){ load->source, channels };
}

const ip_texture *ip_kernel_texture(const ip_kernel *kernel, const ip_stage *stage)
{
    for (int i = 0; i < kernel->n_textures; i++)
        if (kernel->textures[i].stage == stage) return &kernel->textures[i];
    return NULL;
}

bool ip_place_textures(ip_plan *plan, ip_kernel *kernel, const ip_target *target, const char **why)
{
    collecting c = { plan, kernel, target, "it reads no image" };
    if (target->image_width == 0)
        c.why = "the device has no images";
    else if (kernel->n_folds > 0)
        c.why = "a fold reads whole rows";
    else
        ip_stage_each_load(plan->ir, kernel->stages[0], collect, &c);
    *why = c.why;
    return kernel->n_textures > 0;
}
