/* SPDX-License-Identifier: MIT */
/* Numbers of the regions of a mask on the host: a forest of pixels, each below one of its region that comes before it,
 * as shaders/labels.cl has of runs. */
#include "ops/regions.h"

/* The first pixel of k's region that is known; what leads there is shortened. */
static int32_t root_of(int32_t *before, int32_t k)
{
    while (before[k] != k) {
        before[k] = before[before[k]];
        k = before[k];
    }
    return k;
}

static void join(int32_t *before, int32_t a, int32_t b)
{
    a = root_of(before, a);
    b = root_of(before, b);
    before[a > b ? a : b] = a > b ? b : a;
}

imgpar_status ip_labels_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const int32_t height = (int32_t)o->sizes[IP_LABELS_HEIGHT], width = (int32_t)o->sizes[IP_LABELS_WIDTH];
    const bool corners = o->sizes[IP_LABELS_CONNECTIVITY] == 8;
    const unsigned char *mask = in[0];
    int32_t *label = out, n = 0; /* pixels before, until they are numbers */
    imgpar_status st = IMGPAR_OK;
    for (int32_t y = 0; !st && y < height; y++) {
        for (int32_t x = 0; x < width; x++) {
            const int32_t k = y * width + x;
            label[k] = k;
            if (!mask[k]) continue;
            if (x > 0 && mask[k - 1]) join(label, k - 1, k);
            if (y > 0 && mask[k - width]) join(label, k - width, k);
            if (y > 0 && corners && x > 0 && mask[k - width - 1]) join(label, k - width - 1, k);
            if (y > 0 && corners && x < width - 1 && mask[k - width + 1]) join(label, k - width + 1, k);
        }
        st = ask(user);
    }
    for (int32_t k = 0; !st && k < height * width; k++) /* those before k are numbers already */
        label[k] = !mask[k] ? 0 : label[k] == k ? ++n : label[label[k]];
    return st;
}
