/* SPDX-License-Identifier: MIT */
/* Distances from the nearest zero on the host: along columns, rows and planes, as shaders/distance.cl, but always with
 * squares in 64 bits and the places of zeros. */
#include "ops/regions.h"

#include "base/alloc.h"
#include "base/integers.h"

#include <math.h>

/* The square of the distance from a zero, and its place; of none NOWHERE, -1. */
typedef struct near {
    int64_t square;
    int64_t place;
} near;
#define NOWHERE INT64_MAX

typedef struct lines {
    near *of; /* a line */
    int64_t *at, *start;
} lines;

static int64_t square(int64_t x) { return x * x; }
static int64_t from_site(const lines *l, int64_t i, int64_t x) { return l->of[i].square + square(x - i); }

/* Which elements of a line of n are nearest to some: their number, in at, and from where on the one before is not
 * nearer, in start. */
static int64_t envelope(const lines *l, int64_t n)
{
    int64_t found = 0;
    for (int64_t u = 0; u < n; u++) {
        int64_t first = 0;
        if (l->of[u].square == NOWHERE) continue;
        for (; found > 0; found--) {
            const int64_t i = l->at[found - 1], x = l->start[found - 1];
            if (from_site(l, u, x) < from_site(l, i, x)) continue;
            first = ip_ceil_div(square(u) + l->of[u].square - square(i) - l->of[i].square, 2 * (u - i));
            break;
        }
        if (first >= n) continue;
        l->at[found] = u;
        l->start[found++] = first;
    }
    return found;
}

/* Along a line of n elements, each `next` behind the one before: of the sites within it the nearest, of equals the one
 * of the first place. */
static void along(const lines *l, near *from, int64_t n, int64_t next)
{
    for (int64_t k = 0; k < n; k++)
        l->of[k] = from[k * next];
    const int64_t found = envelope(l, n);
    for (int64_t x = 0, k = 0; found > 0 && x < n; x++) {
        while (k + 1 < found && l->start[k + 1] <= x)
            k++;
        near *to = &from[x * next];
        *to = (near){ from_site(l, l->at[k], x), l->of[l->at[k]].place };
        for (int64_t j = k - 1; j >= 0 && from_site(l, l->at[j], x) == to->square; j--)
            to->place = ip_min(to->place, l->of[l->at[j]].place);
    }
}

static void store(const ip_opaque *o, const near *from, void *out, int64_t count)
{
    const ip_distance wanted = (ip_distance)o->sizes[IP_DISTANCE_WANTED];
    float *roots = out;
    int32_t *wholes = out;
    for (int64_t k = 0; k < count; k++)
        if (wanted == IP_DISTANCE_ROOT)
            roots[k] = from[k].square == NOWHERE ? INFINITY : sqrtf((float)from[k].square);
        else
            wholes[k] = (int32_t)(wanted == IP_DISTANCE_NEAREST ? from[k].place
                                  : from[k].square == NOWHERE   ? INT32_MAX
                                                                : from[k].square);
}

imgpar_status ip_distance_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const int64_t depth = o->sizes[IP_DISTANCE_DEPTH], height = o->sizes[IP_DISTANCE_HEIGHT],
                  width = o->sizes[IP_DISTANCE_WIDTH], plane = height * width, count = depth * plane;
    const int64_t longest = ip_max(ip_max(depth, height), width);
    const unsigned char *mask = in[0];
    lines l = { .of = ip_alloc_array((size_t)longest, sizeof *l.of),
                .at = ip_alloc_array((size_t)longest, sizeof *l.at),
                .start = ip_alloc_array((size_t)longest, sizeof *l.start) };
    near *from = ip_alloc_array((size_t)count, sizeof *from);
    imgpar_status st = l.of && l.at && l.start && from ? IMGPAR_OK : IMGPAR_E_HOST_MEMORY;
    for (int64_t k = 0; !st && k < count; k++)
        from[k] = mask[k] ? (near){ NOWHERE, -1 } : (near){ 0, k };
    for (int64_t z = 0; !st && z < depth; z++) {
        for (int64_t x = 0; x < width; x++)
            along(&l, from + z * plane + x, height, width);
        for (int64_t y = 0; y < height; y++)
            along(&l, from + z * plane + y * width, width, 1);
        st = ask(user);
    }
    for (int64_t k = 0; !st && depth > 1 && k < plane; k++)
        along(&l, from + k, depth, plane);
    if (!st) store(o, from, out, count);
    ip_free(l.of);
    ip_free(l.at);
    ip_free(l.start);
    ip_free(from);
    return st;
}
