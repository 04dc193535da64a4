/* SPDX-License-Identifier: MIT */
/* Where the regions of labels are, on the host, an element at a time (shaders/regions.cl). */
#include "ops/regions.h"

#include <string.h>

/* r: a region's fields; at: z, y and x of an element of it. */
static void add(int64_t *r, int64_t axes, const int64_t at[3])
{
    const bool is_first = r[0]++ == 0;
    int64_t *sum = r + 1, *least = sum + axes, *largest = least + axes;
    for (int64_t k = 0; k < axes; k++) {
        const int64_t v = at[3 - axes + k];
        sum[k] += v;
        if (is_first || least[k] > v) least[k] = v;
        if (is_first || largest[k] < v) largest[k] = v;
    }
}

imgpar_status ip_regions_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const int64_t height = o->sizes[IP_REGIONS_HEIGHT], width = o->sizes[IP_REGIONS_WIDTH];
    const int64_t most = o->sizes[IP_REGIONS_LABELS], axes = o->sizes[IP_REGIONS_AXES];
    const int64_t fields = ip_regions_fields(axes);
    const int32_t *label = in[0];
    int64_t *regions = out;
    imgpar_status st = IMGPAR_OK;
    memset(out, 0, (size_t)(most * fields) * sizeof *regions);
    for (int64_t row = 0; !st && row < o->sizes[IP_REGIONS_PLANES] * height; row++) {
        for (int64_t x = 0; x < width; x++) {
            const int32_t own = label[row * width + x];
            if (own < 1 || own > most) continue;
            add(regions + (own - 1) * fields, axes, (int64_t[]){ row / height, row % height, x });
        }
        st = ask(user);
    }
    return st;
}
