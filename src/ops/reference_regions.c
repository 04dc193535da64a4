/* SPDX-License-Identifier: MIT */
/* Where the regions of a matrix of labels are, on the host, an element at a time (shaders/regions.cl). */
#include "ops/regions.h"

#include <string.h>

imgpar_status ip_regions_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const int64_t height = o->sizes[IP_REGIONS_HEIGHT], width = o->sizes[IP_REGIONS_WIDTH];
    const int64_t most = o->sizes[IP_REGIONS_LABELS];
    const int32_t *label = in[0];
    int64_t(*regions)[IP_REGIONS_N_FIELDS] = out;
    imgpar_status st = IMGPAR_OK;
    memset(out, 0, (size_t)most * sizeof *regions);
    for (int64_t y = 0; !st && y < height; y++) {
        for (int64_t x = 0; x < width; x++) {
            const int32_t own = label[y * width + x];
            if (own < 1 || own > most) continue;
            int64_t *r = regions[own - 1];
            const bool is_first = r[IP_REGIONS_COUNT] == 0;
            r[IP_REGIONS_COUNT]++;
            r[IP_REGIONS_SUM_Y] += y;
            r[IP_REGIONS_SUM_X] += x;
            if (is_first || r[IP_REGIONS_MIN_Y] > y) r[IP_REGIONS_MIN_Y] = y;
            if (is_first || r[IP_REGIONS_MIN_X] > x) r[IP_REGIONS_MIN_X] = x;
            if (is_first || r[IP_REGIONS_MAX_Y] < y) r[IP_REGIONS_MAX_Y] = y;
            if (is_first || r[IP_REGIONS_MAX_X] < x) r[IP_REGIONS_MAX_X] = x;
        }
        st = ask(user);
    }
    return st;
}
