/* SPDX-License-Identifier: MIT */
/* How many pixels of a mask lie on each straight line, on the host, a pixel at a time (shaders/hough.cl). */
#include "ops/regions.h"

#include <math.h>
#include <string.h>

imgpar_status ip_hough_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const int64_t height = o->sizes[IP_HOUGH_HEIGHT], width = o->sizes[IP_HOUGH_WIDTH];
    const int64_t angles = o->sizes[IP_HOUGH_ANGLES], distances = o->sizes[IP_HOUGH_DISTANCES];
    const unsigned char *mask = in[0];
    const double *cosines = in[1], *sines = in[2];
    uint32_t *counts = out;
    imgpar_status st = IMGPAR_OK;
    memset(out, 0, (size_t)(angles * distances) * sizeof *counts);
    for (int64_t y = 0; !st && y < height; y++) {
        for (int64_t x = 0; x < width; x++)
            for (int64_t t = 0; t < angles && mask[y * width + x] != 0; t++)
                counts[t * distances + distances / 2 +
                       (int64_t)nearbyint((double)x * cosines[t] + (double)y * sines[t])]++;
        st = ask(user);
    }
    return st;
}
