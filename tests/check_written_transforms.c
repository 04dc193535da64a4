/* SPDX-License-Identifier: MIT */
/* Cosine transforms, Fourier transforms of reals and wavelets (ops/written_transforms.def) against sums in long
 * double. */
#include "asserts.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const real pi = 3.14159265358979323846264338327950288L;

static void expect(const char *text, const picture *in, picture *want, real slack)
{
    const picture *const one[] = { in };
    for (int64_t k = 0; k < picture_count(want); k++)
        want->slack[k] = slack;
    written_expect(text, one, 1, want, true);
}

static real largest(const picture *p)
{
    real most = 0;
    for (int64_t k = 0; k < picture_count(p); k++)
        most = fmaxl(most, fabsl(p->v[k]));
    return most;
}

static picture as_real(const picture *p)
{
    picture out = picture_copy(p);
    out.dtype = p->dtype == IMGPAR_F64 ? IMGPAR_F64 : IMGPAR_F32;
    return out;
}

/* ---- lines --------------------------------------------------------------------------------------------------- */

/* Element i of the line along an axis that goes through the k-th element. */
static real *on_line(const picture *p, int axis, int64_t k, int64_t i)
{
    const int64_t y = k / (p->w * p->c), x = k / p->c % p->w, c = k % p->c;
    return picture_at(p, axis == 0 ? i : y, axis == 1 ? i : x, axis == 2 ? i : c);
}

static int64_t extent_of(const picture *p, int axis) { return axis == 0 ? p->h : axis == 1 ? p->w : p->c; }

static int64_t place_of(const picture *p, int axis, int64_t k)
{
    return axis == 0 ? k / (p->w * p->c) : axis == 1 ? k / p->c % p->w : k % p->c;
}

/* ---- cosines --------------------------------------------------------------------------------------------------- */

/* The cosine of each 4n-th of a full turn; every weight of a line of n is one of them. */
static real *cosines(int64_t n)
{
    real *of_turn = malloc((size_t)(4 * n) * sizeof *of_turn);
    ck_assert_ptr_nonnull(of_turn);
    for (int64_t k = 0; k < 4 * n; k++)
        of_turn[k] = cosl(pi * (real)k / (real)(2 * n));
    return of_turn;
}

static picture transformed(const picture *p, int axis, bool inverse)
{
    const int64_t n = extent_of(p, axis);
    real *const of_turn = cosines(n), constant = sqrtl(1 / (real)n), others = sqrtl(2 / (real)n);
    picture out = as_real(p);
    for (int64_t at = 0; at < picture_count(p); at++) {
        const int64_t own = place_of(p, axis, at);
        out.v[at] = 0;
        for (int64_t i = 0; i < n; i++) {
            const int64_t k = inverse ? i : own, place = inverse ? own : i;
            const real weight = of_turn[(2 * place + 1) * k % (4 * n)] * (k == 0 ? constant : others);
            out.v[at] += *on_line(p, axis, at, i) * weight;
        }
    }
    free(of_turn);
    return out;
}

static const imgpar_dtype dtypes[] = { IMGPAR_U8, IMGPAR_F32, IMGPAR_F64 };
static const int64_t sides[][2] = { { 6, 35 }, { 11, 13 }, { 1, 7 }, { 2, 1 }, { 16, 64 }, { 2, 1009 } };
enum { N_DTYPES = sizeof dtypes / sizeof *dtypes, N_SIDES = sizeof sides / sizeof *sides };

START_TEST(cosine_transforms_along_an_axis) /* _i: the dtype, and the sides */
{
    const imgpar_dtype dtype = dtypes[_i % N_DTYPES];
    const int64_t *size = sides[_i / N_DTYPES];
    char text[64];
    picture a = written_levels(dtype, size[0], size[1], 3, 5);
    for (int axis = 0; axis < 3; axis++)
        for (int inverse = 0; inverse < 2; inverse++) {
            picture want = transformed(&a, axis, inverse);
            const real slack = largest(&a) * (dtype == IMGPAR_F64 ? 0x1p-40L : 0x1p-18L);
            snprintf(text, sizeof text, "%s($1, axis=%d)", inverse ? "idct" : "dct", axis == 2 ? -1 : axis);
            expect(text, &a, &want, slack);
            picture_free(&want);
        }
    picture_free(&a);
}
END_TEST

START_TEST(cosine_transforms_of_pictures) /* _i: the dtype, and the sides */
{
    const imgpar_dtype dtype = dtypes[_i % N_DTYPES];
    const int64_t *size = sides[_i / N_DTYPES];
    picture a = written_levels(dtype, size[0], size[1], 3, 8);
    const real slack = largest(&a) * (dtype == IMGPAR_F64 ? 0x1p-40L : 0x1p-16L);
    for (int inverse = 0; inverse < 2; inverse++) {
        picture rows = transformed(&a, 0, inverse), want = transformed(&rows, 1, inverse);
        expect(inverse ? "idct2($1)" : "dct2($1)", &a, &want, slack);
        picture_free(&rows);
        picture_free(&want);
    }
    picture back = as_real(&a);
    expect("idct2(dct2($1))", &a, &back, slack);
    picture_free(&a);
    picture_free(&back);
}
END_TEST

/* Of axes that pictures have not: two texts that give nearly the same. */
static const char *const alike[][2] = {
    { "dct(reshape($1, [-1]))", "reshape(dct(reshape($1, [1, -1]), axis=1), [-1])" },
    { "dct2(reshape($1, [4 15 35 1]))", "dct(dct(reshape($1, [4 15 35 1]), axis=1), axis=2)" },
    { "dct2(reshape($1, [4 15 35]))", "dct(dct(reshape($1, [4 15 35]), axis=1), axis=2)" },
    { "slice(dct2(reshape($1, [4 15 35])), 1, 2)", "dct2(slice(reshape($1, [4 15 35]), 1, 2))" },
    { "dct(reshape($1, [2 6 25 7]), axis=0)", "reshape(dct(reshape($1, [2 1050]), axis=0), [2 6 25 7])" },
    { "dct(reshape($1, [3 10 11 5]), axis=2)", /* 11 is none of the lengths of a Fourier transform */
      "permute(reshape(matmul(reshape(permute(reshape($1, [3 10 11 5]), [0 1 3 2]), [-1 11]), "
      "transpose(make(11, 11, cos((2 * x + 1) * y * (pi / 22)) * select(y == 0, sqrt(1 / 11), sqrt(2 / 11))))), "
      "[3 10 5 11]), [0 1 3 2])" },
    { "dct2(reshape($1, [-1]))", "dct(reshape($1, [-1]), axis=0)" },
    { "idct2(dct2(reshape($1, [-1])))", "reshape($1, [-1])" },
};

START_TEST(cosine_transforms_of_other_axes)
{
    char text[600];
    const bool is_odd = strstr(alike[_i][0], "11") != NULL;
    picture a = written_levels(IMGPAR_F32, is_odd ? 30 : 20, is_odd ? 55 : 105, 1, 4);
    picture want = picture_new(IMGPAR_BOOL, 1, 1, 1);
    want.v[0] = 1;
    snprintf(text, sizeof text, "p = %s\nq = %s\nall(abs(p - q) < 0.0001) && any(p)", alike[_i][0], alike[_i][1]);
    expect(text, &a, &want, 0);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- Fourier transforms of reals --------------------------------------------------------------------------------- */

static void resize(picture *p, int axis, int64_t n)
{
    const imgpar_dtype dtype = p->dtype == IMGPAR_F64 ? IMGPAR_F64 : IMGPAR_F32;
    *p = picture_new(dtype, axis == 0 ? n : p->h, axis == 1 ? n : p->w, axis == 2 ? n : p->c);
}

/* What the rows promise of a line of n whose largest element is most. */
static real promised(imgpar_dtype dtype, int64_t n, real most)
{
    return (dtype == IMGPAR_F64 ? 0x1p-50L : 0x1p-20L) * fmaxl(log2l((real)n), 1) * sqrtl((real)n) * most;
}

/* Of the first n div 2 + 1 elements of the spectrum the real parts, and behind them the imaginary ones. */
static picture half_spectrum(const picture *p, int axis)
{
    const int64_t n = extent_of(p, axis), half = n / 2 + 1;
    picture out = *p;
    resize(&out, axis, 2 * half);
    for (int64_t at = 0; at < picture_count(&out); at++) {
        const int64_t own = place_of(&out, axis, at), k = own % half, y = at / (out.w * out.c), x = at / out.c % out.w,
                      c = at % out.c;
        for (int64_t i = 0; i < n; i++) {
            const real angle = 2 * pi * (real)(i * k % n) / (real)n, weight = own < half ? cosl(angle) : -sinl(angle);
            out.v[at] += *picture_at(p, axis == 0 ? i : y, axis == 1 ? i : x, axis == 2 ? i : c) * weight;
        }
    }
    return out;
}

/* n numbers of a spectrum's first ones, whose parts are re and im; others are 0, as are the imaginary parts of the
 * first and of that at n / 2. */
static picture of_half_spectrum(const picture *re, const picture *im, int axis, int64_t n)
{
    picture out = *re;
    resize(&out, axis, n);
    for (int64_t at = 0; at < picture_count(&out); at++) {
        const int64_t own = place_of(&out, axis, at), y = at / (out.w * out.c), x = at / out.c % out.w, c = at % out.c;
        for (int64_t k = 0; k <= n / 2 && k < extent_of(re, axis); k++) {
            const real angle = 2 * pi * (real)(own * k % n) / (real)n;
            const int64_t from[3] = { axis == 0 ? k : y, axis == 1 ? k : x, axis == 2 ? k : c };
            const real u = *picture_at(re, from[0], from[1], from[2]), v = *picture_at(im, from[0], from[1], from[2]);
            out.v[at] += k == 0 ? u : 2 * k == n ? u * cosl(angle) : 2 * (u * cosl(angle) - v * sinl(angle));
        }
        out.v[at] /= (real)n;
    }
    return out;
}

START_TEST(spectra_of_reals_along_an_axis) /* _i: the dtype, and the sides */
{
    const imgpar_dtype dtype = dtypes[_i % N_DTYPES];
    const int64_t *size = sides[_i / N_DTYPES];
    const bool on_device = dtype == IMGPAR_F32 && _i / N_DTYPES < 2; /* each is some programs */
    char text[120];
    picture a = written_levels(dtype, size[0], size[1], 3, 6), b = written_levels(dtype, size[0], size[1], 3, 7);
    const picture *const both[] = { &a, &b };
    for (int axis = 0; axis < 3; axis++) {
        const int64_t n = extent_of(&a, axis), lengths[] = { 0, n, 2 * n + 4, 2 * n + 1 };
        picture want = half_spectrum(&a, axis);
        for (int64_t k = 0; k < picture_count(&want); k++)
            want.slack[k] = promised(dtype, n, largest(&a));
        snprintf(text, sizeof text, "f = rfft($1, axis=%d)\nconcatenate(real(f), imag(f), axis=%d)", axis - 3, axis);
        written_expect(text, both, 1, &want, on_device);
        picture_free(&want);
        for (int k = n == 1; k < 4; k++) {
            const int64_t length = lengths[k] ? lengths[k] : 2 * (n - 1);
            if (axis == 2 && length > 4) continue; /* no picture */
            picture back = of_half_spectrum(&a, &b, axis, length);
            for (int64_t j = 0; j < picture_count(&back); j++)
                back.slack[j] = promised(dtype, length, 2 * largest(&a)) / (real)length;
            snprintf(text, sizeof text, "irfft(complex($1, $2), %d, axis=%d)", (int)lengths[k], axis);
            written_expect(text, both, 2, &back, on_device);
            picture_free(&back);
        }
    }
    picture_free(&a);
    picture_free(&b);
}
END_TEST

START_TEST(spectra_without_elements)
{
    written_prints("shape(rfft(zeros([0 4]), axis=1))", "[0 3]");
    written_prints("shape(irfft(zeros([0 4]), axis=1))", "[0 6]");
    written_prints("shape(dct(zeros([0 4]), axis=1))", "[0 4]");
    written_prints("shape(idct(zeros([0 4]), axis=1))", "[0 4]");
}
END_TEST

/* ---- wavelets -------------------------------------------------------------------------------------------------- */

typedef struct wavelet {
    const char *name;
    int first, n; /* where the weights begin, and how many there are */
    real low[4], high[4];
} wavelet;

/* As PyWavelets has them; Daubechies' from their closed form. */
static wavelet wavelet_of(int which)
{
    const real r = sqrtl(0.5L), s = sqrtl(3), d = sqrtl(32);
    if (which == 0) return (wavelet){ "haar", 0, 2, { r, r }, { r, -r } };
    return (wavelet){ "daubechies4",
                      -1,
                      4,
                      { (1 + s) / d, (3 + s) / d, (3 - s) / d, (1 - s) / d },
                      { (1 - s) / d, -(3 - s) / d, (3 + s) / d, -(1 + s) / d } };
}

/* Of the h x w elements in the upper left corner the low and the high half along an axis. */
static void split(picture *p, const wavelet *wave, int axis, int64_t h, int64_t w)
{
    picture from = picture_copy(p);
    const int64_t n = axis == 0 ? h : w;
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++)
            for (int64_t c = 0; c < p->c; c++) {
                const int64_t own = axis == 0 ? y : x, half = own % (n / 2);
                real sum = 0;
                for (int k = 0; k < wave->n; k++) {
                    const int64_t at = (2 * half + wave->first + k + n) % n;
                    const real v = *picture_at(&from, axis == 0 ? at : y, axis == 1 ? at : x, c);
                    sum += v * (own < n / 2 ? wave->low[k] : wave->high[k]);
                }
                *picture_at(p, y, x, c) = sum;
            }
    picture_free(&from);
}

START_TEST(wavelets_and_back) /* _i: the wavelet, the dtype, and the levels */
{
    const wavelet wave = wavelet_of(_i % 2);
    const imgpar_dtype dtype = dtypes[_i / 2 % N_DTYPES];
    const int levels = _i / 2 / N_DTYPES + 1;
    char text[96];
    picture a = written_levels(dtype, 24, 40, levels, 6), want = as_real(&a), back = as_real(&a);
    for (int k = 0; k < levels; k++)
        for (int axis = 0; axis < 2; axis++)
            split(&want, &wave, axis, 24 >> k, 40 >> k);
    const real slack = largest(&want) * (dtype == IMGPAR_F64 ? 0x1p-46L : 0x1p-19L);
    snprintf(text, sizeof text, "%s($1, levels=%d)", wave.name, levels);
    expect(text, &a, &want, slack);
    snprintf(text, sizeof text, "i%s(%s($1, %d), %d)", wave.name, wave.name, levels, levels);
    expect(text, &a, &back, slack);
    picture_free(&a);
    picture_free(&want);
    picture_free(&back);
}
END_TEST

/* ---- spectra ----------------------------------------------------------------------------------------------------- */

START_TEST(a_spectrum_around_its_middle) /* of complex numbers, too */
{
    picture a = written_levels(IMGPAR_F32, 15, 21, 1, 2), want = picture_new(IMGPAR_F32, 15, 21, 1);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        real re = 0, im = 0;
        for (int64_t at = 0; at < picture_count(&a); at++) {
            const real turn = (real)(k / 21 - 7) * (real)(at / 21) / 15 + (real)(k % 21 - 10) * (real)(at % 21) / 21;
            re += a.v[at] * cosl(2 * pi * turn);
            im -= a.v[at] * sinl(2 * pi * turn);
        }
        want.v[k] = hypotl(re, im);
    }
    expect("abs(fftshift(fft2($1)))", &a, &want, 0x1p-12L);
    expect("real(ifft2(ifftshift(fftshift(fft2($1)))))", &a, &a, 0x1p-18L);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

static const struct {
    const char *text, *why;
} refused[] = {
    { "haar(zeros([6 5]))", "haar: a is [6, 5] f32; with levels=1 its sides must be multiples of 2, to which extent() "
                            "brings them" },
    { "idaubechies4(zeros([12 16]), levels=3)", "idaubechies4: a is [12, 16] f32; with levels=3 its sides must be "
                                                "multiples of 8, to which extent() brings them" },
    { "haar(zeros([8]))", "haar: a is [8] f32, which is no image" },
    { "haar(zeros([8 8]), levels=9)", "haar: levels=9 is above 8" },
    { "dct(zeros([4 4]), axis=2)", "dct: " },
    { "rfft(zeros([4 4]), axis=2)", "rfft: there is no axis 2" },
    { "rfft(zeros([0 4]), axis=0)", "rfft: a is [0, 4]; there must be an element along axis 0, and in the result" },
    { "irfft(zeros([4 1]))", "irfft: a is [4, 1]; there must be an element along axis 1, and in the result" },
    { "rfft(complex(zeros([4]), 1))", "rfft: a is complex64; it must be real" },
};

START_TEST(what_does_not_fit_is_refused) { written_refuses(refused[_i].text, refused[_i].why); }
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_loop_test(tc, cosine_transforms_along_an_axis, 0, N_DTYPES * N_SIDES);
    tcase_add_loop_test(tc, cosine_transforms_of_pictures, 0, N_DTYPES * N_SIDES);
    tcase_add_loop_test(tc, cosine_transforms_of_other_axes, 0, (int)(sizeof alike / sizeof *alike));
    tcase_add_loop_test(tc, spectra_of_reals_along_an_axis, 0, N_DTYPES * (N_SIDES - 1));
    tcase_add_test(tc, spectra_without_elements);
    tcase_add_loop_test(tc, wavelets_and_back, 0, 2 * N_DTYPES * 3);
    tcase_add_test(tc, a_spectrum_around_its_middle);
    tcase_add_loop_test(tc, what_does_not_fit_is_refused, 0, (int)(sizeof refused / sizeof *refused));
    return written_run("written_transforms", tc);
}
