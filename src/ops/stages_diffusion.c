/* SPDX-License-Identifier: MIT */
/* Error diffusion, to equal tones and to a palette: an opaque stage that the host computes, since each pixel depends on
 * the one before it (reference_diffusion.c). */
#include "ops/diffusion.h"
#include "ops/infer.h"
#include "ops/lower.h"

#include "base/dtype.h"
#include "ops/coverage.h"

static const ip_opaque_kind kind = { .name = "error_diffusion",
                                     .widen = ip_opaque_widen_all,
                                     .reads = ip_opaque_read_all,
                                     .compute = ip_diffusion_compute };

/* Input k as a stage of its own, in memory. */
static ip_stage *kept(ip_lower *l, int k, const char *note)
{
    ip_expr *at[4];
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(l->ir, d, l->in[k]->dims[d]);
    return ip_lower_stage_sized(l, l->in[k]->dims, l->dtype, ip_x_load(l->ir, l->in[k], at, IP_BORDER_NONE, NULL),
                                note);
}

static ip_stage *diffused(ip_lower *l, int64_t tones)
{
    ip_stage *input = kept(l, 0, "pixels in order"), *palette = tones ? NULL : kept(l, 1, "palette");
    if (!input || (!tones && !palette)) return NULL;
    const ip_opaque o = { .kind = &kind,
                          .defines = "",
                          .dtype = l->dtype,
                          .n_inputs = palette ? 2 : 1,
                          .inputs = { input, palette },
                          .sizes = { (int64_t)ip_param_number(l->node, "kernel") - (tones ? 0 : 1), /* after "none" */
                                     (int64_t)ip_param_number(l->node, "serpentine"), tones,
                                     palette ? palette->dims[1] : 0 },
                          .user = l->node };
    return ip_stage_opaque(l->ir, &o, l->dtype, l->dims, l->node);
}

ip_stage *ip_stages_error_diffusion(ip_lower *l)
{
    ip_expr *at[4];
    ip_stage *done = diffused(l, (int64_t)ip_param_number(l->node, "tones"));
    if (!done || ip_alpha_of(l->node) != IP_ALPHA_STAYS) return done;
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(l->ir, d, l->dims[d]);
    return ip_lower_map(l, ip_x_load(l->ir, done, at, IP_BORDER_NONE, NULL)); /* which gets its alpha back */
}

enum { MOST_COLOURS = 1 << 16 /* each pixel looks at all of them */ };

imgpar_status ip_infer_palette_diffusion(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type, *palette = &node->inputs[1]->type;
    int64_t dims[4];
    char text[96];
    ip_type_dims(a, dims);
    if (palette->rank != 2 || palette->shape[0] < 1 || palette->shape[1] != dims[3] || palette->dtype != a->dtype)
        return ip_fail(err, IMGPAR_E_SHAPE, "palette_diffusion: palette is %s; it must be a matrix of %s, %lld columns",
                       ip_type_text(palette, text), ip_dtype(a->dtype)->name, (long long)dims[3]);
    if (palette->shape[0] > MOST_COLOURS)
        return ip_fail(err, IMGPAR_E_LIMIT, "what is lost is diffused to palettes of at most %d colours, not %lld",
                       MOST_COLOURS, (long long)palette->shape[0]);
    if (ip_param_number(node, "kernel") == 0)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "palette_diffusion: kernel=none diffuses nothing");
    return ip_infer_pixel(node, err);
}

ip_stage *ip_stages_palette_diffusion(ip_lower *l) { return diffused(l, 0); }
