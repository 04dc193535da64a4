/* SPDX-License-Identifier: MIT */
/* Votes for centres of circles, their peaks, and edges at each radius, on the host, one at a time
 * (shaders/circles.cl). */
#include "ops/regions.h"

#include "base/alloc.h"
#include "base/integers.h"

#include <math.h>
#include <string.h>

/* The votes that are counted, and for whom. */
typedef struct ballot {
    int64_t height, width, least, largest;
    uint32_t *votes;
} ballot;

static float derivative(const ip_opaque *o, const void *in, int64_t place)
{
    return o->dtype == IMGPAR_I16 ? (float)((const int16_t *)in)[place] : ((const float *)in)[place];
}

/* The gradient's direction; false: it has none. What is too long or too short to be squared is scaled. */
static bool direction(float s, float q, float *dx, float *dy)
{
    float d = sqrtf(s * s + q * q);
    if (!(d >= 1e-15F && d < INFINITY)) {
        const float most = fmaxf(fabsf(s), fabsf(q));
        s /= most;
        q /= most;
        d = sqrtf(s * s + q * q);
    }
    *dx = s / d;
    *dy = q / d;
    return d > 0 && d < INFINITY;
}

static void count(const ballot *b, int64_t y, int64_t x)
{
    if (y >= 0 && y < b->height && x >= 0 && x < b->width) b->votes[y * b->width + x]++;
}

static void vote(const ballot *b, int64_t y, int64_t x, float s, float q)
{
    float dx, dy;
    if (!direction(s, q, &dx, &dy)) return;
    for (int64_t r = b->least; r <= b->largest; r++) {
        const int64_t right = (int64_t)nearbyintf((float)r * dx), down = (int64_t)nearbyintf((float)r * dy);
        count(b, y + down, x + right);
        count(b, y - down, x - right);
    }
}

/* Whether no place around this one has more votes, or as many and stands before it. */
static bool is_peak(const ballot *b, int64_t place, int64_t half)
{
    const int64_t y = place / b->width, x = place % b->width;
    for (int64_t v = ip_max(y - half, 0); v <= ip_min(y + half, b->height - 1); v++)
        for (int64_t u = ip_max(x - half, 0); u <= ip_min(x + half, b->width - 1); u++) {
            const int64_t other = v * b->width + u;
            if (b->votes[other] > b->votes[place] || (b->votes[other] == b->votes[place] && other < place))
                return false;
        }
    return true;
}

/* The first place of a square with the most votes. */
static int64_t most_of(const ballot *b, int64_t y0, int64_t x0, int64_t side)
{
    int64_t best = y0 * b->width + x0;
    for (int64_t y = y0; y < ip_min(y0 + side, b->height); y++)
        for (int64_t x = x0; x < ip_min(x0 + side, b->width); x++)
            if (b->votes[y * b->width + x] > b->votes[best]) best = y * b->width + x;
    return best;
}

static imgpar_status find_peaks(const ip_opaque *o, const ballot *b, int64_t *ranks, ip_opaque_ask ask, void *user)
{
    const int64_t apart = o->sizes[IP_CIRCLES_APART], side = ip_circles_side(apart), pixels = b->height * b->width;
    imgpar_status st = IMGPAR_OK;
    for (int64_t y = 0; !st && y < b->height; y += side) {
        for (int64_t x = 0; x < b->width; x += side) {
            const int64_t place = most_of(b, y, x, side), votes = b->votes[place];
            const bool counts = votes >= o->sizes[IP_CIRCLES_THRESHOLD] && is_peak(b, place, apart / 2);
            *ranks++ = counts ? votes * pixels + (pixels - 1 - place) : -1;
        }
        st = ask(user);
    }
    return st;
}

imgpar_status ip_circles_compute_centres(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask,
                                         void *user)
{
    const int64_t *s = o->sizes, pixels = s[IP_CIRCLES_HEIGHT] * s[IP_CIRCLES_WIDTH];
    const unsigned char *mask = in[0];
    const ballot b = { .height = s[IP_CIRCLES_HEIGHT],
                       .width = s[IP_CIRCLES_WIDTH],
                       .least = s[IP_CIRCLES_LEAST],
                       .largest = s[IP_CIRCLES_LARGEST],
                       .votes = ip_alloc_array((size_t)pixels, sizeof *b.votes) };
    imgpar_status st = b.votes ? IMGPAR_OK : IMGPAR_E_HOST_MEMORY;
    if (!st) memset(b.votes, 0, (size_t)pixels * sizeof *b.votes);
    for (int64_t y = 0; !st && y < b.height; y++) {
        for (int64_t x = 0; x < b.width; x++) {
            const int64_t place = y * b.width + x;
            if (mask[place] != 0) vote(&b, y, x, derivative(o, in[1], place), derivative(o, in[2], place));
        }
        st = ask(user);
    }
    if (!st) st = find_peaks(o, &b, out, ask, user);
    ip_free(b.votes);
    return st;
}

imgpar_status ip_circles_compute_radii(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask,
                                       void *user)
{
    const int64_t *s = o->sizes, height = s[IP_CIRCLES_HEIGHT], width = s[IP_CIRCLES_WIDTH],
                  least = s[IP_CIRCLES_LEAST], reach = s[IP_CIRCLES_LARGEST], radii = reach - least + 1;
    const unsigned char *mask = in[0];
    const int32_t *places = in[1];
    uint32_t *counts = out;
    imgpar_status st = IMGPAR_OK;
    memset(out, 0, (size_t)(s[IP_CIRCLES_CENTRES] * radii) * sizeof *counts);
    for (int64_t k = 0; !st && k < s[IP_CIRCLES_CENTRES]; k++) {
        const int64_t cy = places[k] / width, cx = places[k] % width;
        const bool is_inside = places[k] >= 0 && cy < height;
        for (int64_t y = ip_max(cy - reach, 0); is_inside && y <= ip_min(cy + reach, height - 1); y++)
            for (int64_t x = ip_max(cx - reach, 0); x <= ip_min(cx + reach, width - 1); x++) {
                const int64_t far = (y - cy) * (y - cy) + (x - cx) * (x - cx),
                              r = mask[y * width + x] != 0 ? (int64_t)nearbyintf(sqrtf((float)far)) - least : -1;
                if (r >= 0 && r < radii) counts[k * radii + r]++;
            }
        st = ask(user);
    }
    return st;
}
