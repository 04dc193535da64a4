/* SPDX-License-Identifier: MIT */
/* Pyramids, and several pictures of one scene (ops/written_multiscale.def), against plain loops in long double. */
#include "asserts.h"
#include "tier.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 19, W = 26, MOST_LEVELS = 9 };

static void expect(const char *text, const picture *const *in, int n, picture *want, real slack)
{
    for (int64_t k = 0; k < picture_count(want); k++)
        want->slack[k] = slack;
    written_expect(text, in, n, want, (in[0]->dtype == IMGPAR_U8 && in[0]->c == 3) || test_tier_is_full());
}

static int64_t colours(const picture *a) { return a->c - picture_is_alpha(a, a->c - 1); }

static real saturated(imgpar_dtype dtype, real v)
{
    return dtype == IMGPAR_F32 ? v : fminl(fmaxl(v, 0), dtype_full(dtype));
}

/* ---- pyramids ------------------------------------------------------------------------------------------------- */

typedef struct plane {
    int h, w;
    real v[H * W];
} plane;

static int mirrored(int k, int n)
{
    while (k < 0 || k >= n)
        k = n == 1 ? 0 : k < 0 ? -k : 2 * (n - 1) - k;
    return k;
}

static plane down(const plane *p)
{
    static const int weights[5] = { 1, 4, 6, 4, 1 };
    plane out = { (p->h + 1) / 2, (p->w + 1) / 2, { 0 } };
    for (int k = 0; k < out.h * out.w; k++)
        for (int j = 0; j < 25; j++)
            out.v[k] +=
                p->v[mirrored(k / out.w * 2 + j / 5 - 2, p->h) * p->w + mirrored(k % out.w * 2 + j % 5 - 2, p->w)] *
                weights[j / 5] * weights[j % 5] / 256;
    return out;
}

/* Weights of the two or three elements that position k of twice as many is made of; edges replicated. */
static real expanded(const real *v, int step, int n, int k)
{
    const int at = k / 2, before = at > 0 ? at - 1 : 0, after = at < n - 1 ? at + 1 : n - 1;
    return k % 2 ? (v[at * step] + v[after * step]) / 2 : (v[before * step] + 6 * v[at * step] + v[after * step]) / 8;
}

static plane up(const plane *p, const plane *like)
{
    plane tall = { like->h, p->w, { 0 } }, out = { like->h, like->w, { 0 } };
    for (int k = 0; k < tall.h * tall.w; k++)
        tall.v[k] = expanded(p->v + k % tall.w, p->w, p->h, k / tall.w);
    for (int k = 0; k < out.h * out.w; k++)
        out.v[k] = expanded(tall.v + k / out.w * tall.w, 1, tall.w, k % out.w);
    return out;
}

/* Adds the bands of v times the levels of weight to sums. */
static void add_bands(plane v, plane weight, int levels, plane *sums)
{
    for (int level = 0; level <= levels; level++) {
        const plane next = down(&v), coarse = up(&next, &v);
        sums[level].h = v.h;
        sums[level].w = v.w;
        for (int k = 0; k < v.h * v.w; k++)
            sums[level].v[k] += weight.v[k] * (v.v[k] - (level < levels ? coarse.v[k] : 0));
        v = next;
        weight = down(&weight);
    }
}

static plane collapsed(plane *sums, int levels)
{
    for (int level = levels; level > 0; level--) {
        const plane coarse = up(&sums[level], &sums[level - 1]);
        for (int k = 0; k < coarse.h * coarse.w; k++)
            sums[level - 1].v[k] += coarse.v[k];
    }
    return sums[0];
}

static plane channel_of(const picture *a, int64_t c)
{
    plane p = { H, W, { 0 } };
    for (int k = 0; k < H * W; k++)
        p.v[k] = a->v[k * a->c + c] / dtype_full(a->dtype);
    return p;
}

START_TEST(bands_are_blended) /* _i: dtype and channels, by levels */
{
    static const int levels[] = { 0, 1, 3, 8 };
    const int n = levels[_i % 4], which = _i / 4;
    picture a = written_levels(written_dtypes[which % WRITTEN_DTYPES], H, W, which / WRITTEN_DTYPES + 1, 3);
    picture b = written_levels(a.dtype, H, W, a.c, 5), want = picture_copy(&a);
    for (int64_t c = 0; c < colours(&a); c++) {
        static plane sums[MOST_LEVELS];
        memset(sums, 0, sizeof sums);
        plane of_a = channel_of(&a, c), of_b = channel_of(&b, c), mask = { H, W, { 0 } }, rest = { H, W, { 0 } };
        for (int k = 0; k < H * W; k++) {
            mask.v[k] = k % W >= 4 && k % W < 13 && k / W >= 2;
            rest.v[k] = 1 - mask.v[k];
        }
        add_bands(of_a, rest, n, sums);
        add_bands(of_b, mask, n, sums);
        const plane sum = collapsed(sums, n);
        for (int k = 0; k < H * W; k++)
            want.v[k * a.c + c] = saturated(a.dtype, sum.v[k] * dtype_full(a.dtype));
    }
    char text[120];
    snprintf(text, sizeof text, "blend_pyramid($1, $2, rectangle($1, 4, 2, 9, 100), levels=%d)", n);
    expect(text, (const picture *const[]){ &a, &b }, 2, &want, a.dtype == IMGPAR_F32 ? 1e-5L : 1);
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
}
END_TEST

/* ---- stacks ---------------------------------------------------------------------------------------------------- */

#define STACK "s = concatenate(expand_dims($1), expand_dims($2))\n"

static plane luminance_of(const picture *a)
{
    plane p = channel_of(a, 0);
    if (colours(a) != 3) return p;
    for (int k = 0; k < H * W; k++)
        p.v[k] = (0.299L * a->v[k * a->c] + 0.587L * a->v[k * a->c + 1] + 0.114L * a->v[k * a->c + 2]) /
                 dtype_full(a->dtype);
    return p;
}

static real near(const plane *p, int y, int x)
{
    return p->v[(y < 0 ? 0 : y >= H ? H - 1 : y) * W + (x < 0 ? 0 : x >= W ? W - 1 : x)];
}

/* Mertens' three measures of each pixel. */
static plane quality(const picture *a)
{
    const plane l = luminance_of(a);
    plane out = { H, W, { 0 } };
    const int64_t n = colours(a);
    for (int k = 0; k < H * W; k++) {
        const int y = k / W, x = k % W;
        const real apart =
            near(&l, y - 1, x) + near(&l, y + 1, x) + near(&l, y, x - 1) + near(&l, y, x + 1) - 4 * l.v[k];
        real mean = 0, spread = 0, exposed = 1;
        for (int64_t c = 0; c < n; c++)
            mean += a->v[k * a->c + c] / dtype_full(a->dtype) / n;
        for (int64_t c = 0; c < n; c++) {
            const real v = a->v[k * a->c + c] / dtype_full(a->dtype);
            spread += (v - mean) * (v - mean) / n;
            exposed *= expl(-(v - 0.5L) * (v - 0.5L) / (2 * 0.2L * 0.2L));
        }
        out.v[k] = fabsl(apart) * (n == 1 ? 1 : sqrtl(spread)) * exposed + 1e-12L;
    }
    return out;
}

/* Gray and RGB, with alpha and without, of bytes, shorts and floats: of those only without. */
static picture one_of(int which, unsigned seed)
{
    const imgpar_dtype dtype = written_dtypes[which % WRITTEN_DTYPES];
    const int n = which / WRITTEN_DTYPES + 1;
    return written_levels(dtype, H, W, dtype == IMGPAR_F32 && n % 2 == 0 ? n - 1 : n, seed);
}

START_TEST(exposures_are_fused) /* _i: dtype and channels */
{
    picture a = one_of(_i, 3), b = one_of(_i, 8), want = picture_new(a.dtype, H, W, colours(&a));
    const picture *const both[] = { &a, &b };
    plane weights[2] = { quality(&a), quality(&b) };
    for (int k = 0; k < H * W; k++) {
        const real sum = weights[0].v[k] + weights[1].v[k];
        for (int j = 0; j < 2; j++)
            weights[j].v[k] /= sum;
    }
    const int levels = 4; /* log2(19), rounded down */
    for (int64_t c = 0; c < want.c; c++) {
        static plane sums[MOST_LEVELS];
        memset(sums, 0, sizeof sums);
        for (int j = 0; j < 2; j++)
            add_bands(channel_of(both[j], c), weights[j], levels, sums);
        const plane sum = collapsed(sums, levels);
        for (int k = 0; k < H * W; k++)
            want.v[k * want.c + c] = saturated(a.dtype, sum.v[k] * dtype_full(a.dtype));
    }
    expect(STACK "exposure_fusion(s)", both, 2, &want, a.dtype == IMGPAR_F32 ? 1e-4L : 1e-4L * dtype_full(a.dtype) + 1);
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
}
END_TEST

/* Sums of the modified Laplacian by [1 2 3 2 1] across and down, twice. */
static plane focus(const picture *a)
{
    static const int weights[5] = { 1, 2, 3, 2, 1 };
    const plane l = luminance_of(a);
    plane out = { H, W, { 0 } }, sum;
    for (int k = 0; k < H * W; k++) {
        const int y = k / W, x = k % W;
        out.v[k] = fabsl(2 * l.v[k] - near(&l, y - 1, x) - near(&l, y + 1, x)) +
                   fabsl(2 * l.v[k] - near(&l, y, x - 1) - near(&l, y, x + 1));
    }
    for (int pass = 0; pass < 2; pass++) {
        sum = (plane){ H, W, { 0 } };
        for (int k = 0; k < H * W * 25; k++)
            sum.v[k / 25] += near(&out, k / 25 / W + k % 25 / 5 - 2, k / 25 % W + k % 5 - 2) * weights[k % 25 / 5] *
                             weights[k % 5] / 81;
        out = sum;
    }
    return out;
}

START_TEST(what_is_in_focus) /* _i: dtype and channels */
{
    picture a = one_of(_i, 3), b = one_of(_i, 8), want = picture_new(a.dtype, H, W, colours(&a));
    const plane of_a = focus(&a), of_b = focus(&b);
    for (int64_t k = 0; k < picture_count(&want); k++) {
        const int64_t at = k / want.c;
        const picture *of = of_a.v[at] >= of_b.v[at] ? &a : &b;
        want.v[k] = of->v[at * of->c + k % want.c];
        ck_assert(fabsl(of_a.v[at] - of_b.v[at]) > 1e-6L);
    }
    expect(STACK "focus_stack(s)", (const picture *const[]){ &a, &b }, 2, &want, a.dtype == IMGPAR_F32 ? 1e-6L : 0);
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
}
END_TEST

static real light_of(real v) { return v <= 0.04045L ? v / 12.92L : powl((v + 0.055L) / 1.055L, 2.4L); }

START_TEST(light_of_exposures) /* _i: dtype and channels */
{
    picture a = one_of(_i, 3), b = one_of(_i, 8), want = picture_new(IMGPAR_F32, H, W, colours(&a));
    const picture *const both[] = { &a, &b };
    const real times[] = { 0.25L, 2 };
    for (int linear = 0; linear < 2; linear++) {
        for (int64_t k = 0; k < picture_count(&want); k++) {
            real sum = 0, weights = 0;
            for (int j = 0; j < 2; j++) {
                const real v = both[j]->v[k / want.c * a.c + k % want.c] / dtype_full(a.dtype);
                const real weight = 1 - fabsl(2 * v - 1) + 1e-6L;
                sum += weight * (logl(fmaxl(linear ? v : light_of(v), 1e-6L)) - logl(times[j]));
                weights += weight;
            }
            want.v[k] = expl(sum / weights);
            want.slack[k] = want.v[k] * 0x1p-14L;
        }
        written_expect(linear ? STACK "hdr_merge(s, [0.25 2], curve=linear)" : STACK "hdr_merge(s, [0.25 2])", both, 2,
                       &want, a.dtype == IMGPAR_U8 && a.c == 3);
    }
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
}
END_TEST

static const struct {
    const char *text, *why;
} refused[] = {
    { "exposure_fusion($1)", "exposure_fusion: a is [3, 3] f32; it must be a stack of images" },
    { "hdr_merge(zeros([2 3 3 1]), [1])", "hdr_merge: times has 1 number for 2 images" },
    { "hdr_merge(zeros([2 3 3 1]), [1 0])", "hdr_merge: times has 0; each must be above 0" },
    { "blend_pyramid($1, $1, zeros([3 3 2]))", "they must be images of one size, and the mask of one channel" },
    { "blend_pyramid($1, $1, $1, levels=9)", "levels=9 is above 8" },
};

START_TEST(what_does_not_fit_is_refused) { written_refuses(refused[_i].text, refused[_i].why); }
END_TEST

static const struct {
    const char *text, *as;
} small[] = {
    { "blend_pyramid(fill(1, 1, 9), fill(1, 1, 99), fill(1, 1, 255))", "99" },
    { "exposure_fusion(expand_dims(fill(1, 1, 9)))", "9" },
    { "focus_stack(expand_dims(fill(3, 1, 9)))", "[[9; 9; 9]]" },
    { "hdr_merge(expand_dims(fill(2, 1, 255)), [0.5])", "[[2; 2]]" },
};

START_TEST(small_arrays) { written_prints(small[_i].text, small[_i].as); }
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_loop_test(tc, bands_are_blended, 0, 4 * 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, exposures_are_fused, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, what_is_in_focus, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, light_of_exposures, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, small_arrays, 0, (int)(sizeof small / sizeof *small));
    tcase_add_loop_test(tc, what_does_not_fit_is_refused, 0, (int)(sizeof refused / sizeof *refused));
    return written_run("written_multiscale", tc);
}
