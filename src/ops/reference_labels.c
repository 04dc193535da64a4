/* SPDX-License-Identifier: MIT */
/* Numbers of the regions of a mask, and which of them are marked, on the host: a forest of pixels, each below one of
 * its region that comes before it, as shaders/labels.cl has of runs. */
#include "ops/regions.h"

#include "base/alloc.h"

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

/* Joins pixel x of row k with what it touches in a row before that, which begins at `other`. */
static void join_row(const unsigned char *mask, int32_t *before, int32_t k, int32_t other, int32_t x, int32_t width,
                     bool corners)
{
    for (int32_t by = corners && x > 0 ? -1 : 0; by <= (corners && x < width - 1); by++)
        if (mask[other + x + by]) join(before, other + x + by, k + x);
}

/* before[k]: a pixel of k's region that is not behind it, by a path of such to the first; k itself where mask is 0. Of
 * `planes` planes, which meet as IP_LABELS_ACROSS says. */
static imgpar_status grow(const ip_opaque *o, const unsigned char *mask, int32_t planes, int32_t *before,
                          ip_opaque_ask ask, void *user)
{
    const int32_t height = (int32_t)o->sizes[IP_LABELS_HEIGHT], width = (int32_t)o->sizes[IP_LABELS_WIDTH];
    const int32_t across = (int32_t)o->sizes[IP_LABELS_ACROSS];
    const bool corners = o->sizes[IP_LABELS_CORNERS];
    imgpar_status st = IMGPAR_OK;
    for (int32_t row = 0; !st && row < planes * height; row++) {
        const int32_t y = row % height, k = row * width, plane = k - height * width, reach = across > 0;
        for (int32_t x = 0; x < width; x++) {
            before[k + x] = k + x;
            if (!mask[k + x]) continue;
            if (x > 0 && mask[k + x - 1]) join(before, k + x - 1, k + x);
            if (y > 0) join_row(mask, before, k, k - width, x, width, corners);
            for (int32_t by = -reach; across >= 0 && plane >= 0 && by <= reach; by++)
                if (y + by >= 0 && y + by < height)
                    join_row(mask, before, k, plane + by * width, x, width, across > (by != 0));
        }
        st = ask(user);
    }
    return st;
}

imgpar_status ip_labels_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const int32_t planes = (int32_t)o->sizes[IP_LABELS_PLANES],
                  count = planes * (int32_t)(o->sizes[IP_LABELS_HEIGHT] * o->sizes[IP_LABELS_WIDTH]);
    const unsigned char *mask = in[0];
    int32_t *label = out, n = 0; /* pixels before, until they are numbers */
    imgpar_status st = grow(o, mask, planes, label, ask, user);
    for (int32_t k = 0; !st && k < count; k++) /* those before k are numbers already */
        label[k] = !mask[k] ? 0 : label[k] == k ? ++n : label[label[k]];
    return st;
}

imgpar_status ip_labels_compute_marked(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask,
                                       void *user)
{
    const int32_t count = (int32_t)(o->sizes[IP_LABELS_HEIGHT] * o->sizes[IP_LABELS_WIDTH]);
    int32_t *before = ip_alloc_array((size_t)count, sizeof *before);
    imgpar_status st = before ? IMGPAR_OK : IMGPAR_E_HOST_MEMORY;
    for (int64_t z = 0; !st && z < o->sizes[IP_LABELS_PLANES]; z++) {
        const unsigned char *mask = (const unsigned char *)in[0] + z * count,
                            *marks = (const unsigned char *)in[1] + z * count;
        unsigned char *is_marked = (unsigned char *)out + z * count;
        st = grow(o, mask, 1, before, ask, user);
        for (int32_t k = 0; !st && k < count; k++)
            is_marked[k] = 0;
        for (int32_t k = 0; !st && k < count; k++)
            if (mask[k] && marks[k]) is_marked[root_of(before, k)] = 1;
        for (int32_t k = 0; !st && k < count; k++) /* the first ones come first */
            is_marked[k] = is_marked[root_of(before, k)];
    }
    ip_free(before);
    return st;
}
