/* SPDX-License-Identifier: MIT */
/*
 * White belongs to the picture: every row's rule against a table written here, and what operations, meetings and files
 * make of it against numbers worked out in double, on the device and by the interpreter.
 */
#include "asserts.h"
#include "held.h"

#include <imgpar.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 7, W = 12, N = H * W * 3 };

static imgpar_context *ctx;
static imgpar_array *inputs[9];

/* $1 and $2 of 8 bits, $3 of 16, $4 to $6 gray of 8 bits, 16 bits, floats from 0 to 1 without white, $7 RGBA, $8 a
 * bool. */
static double level(int input, int k)
{
    const unsigned r = ((unsigned)k * 7919u + (unsigned)input * 104729u) * 2654435761u >> 7;
    return input == 3 || input == 5 ? r % 65536
           : input == 6             ? (double)(float)(r % 1000 / 999.0)
           : input == 8             ? r % 2
                                    : r % 256;
}

static imgpar_array *input_of(int input)
{
    static uint8_t narrow[H * W * 4];
    static uint16_t wide[H * W * 4];
    static float floats[H * W * 4];
    const int channels = input == 7 ? 4 : input >= 4 ? 1 : 3;
    const int64_t shape[] = { H, W, channels };
    for (int k = 0; k < H * W * channels; k++) {
        double v = level(input, k);
        narrow[k] = (uint8_t)v;
        wide[k] = (uint16_t)v;
        floats[k] = (float)v;
    }
    if (input == 3 || input == 5) return imgpar_array_from_data(ctx, IMGPAR_U16, 3, shape, wide);
    if (input == 6) return imgpar_array_from_data(ctx, IMGPAR_F32, 3, shape, floats);
    return imgpar_array_from_data(ctx, input == 8 ? IMGPAR_BOOL : IMGPAR_U8, 3, shape, narrow);
}

static void set_up(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    for (int k = 1; k <= 8; k++)
        inputs[k - 1] = input_of(k);
}

static void tear_down(void)
{
    for (int k = 0; k < 8; k++)
        imgpar_array_release(inputs[k]);
    imgpar_context_release(ctx);
}

static imgpar_array *apply(const char *text)
{
    imgpar_array *a = imgpar_apply(ctx, text, inputs, 8);
    ck_assert_msg(imgpar_array_status(a) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(a));
    return a;
}

static imgpar_info info_of(const char *text)
{
    imgpar_info info = { .struct_size = sizeof info };
    imgpar_array *a = apply(text);
    ck_assert_int_eq(imgpar_array_info(a, &info), IMGPAR_OK);
    imgpar_array_release(a);
    return info;
}

/* ---- the table of rules ------------------------------------------------------------------------------------- */

/* The white of each row's example for an a of 8 bits; the others keep that of a, 255 of 8 bits, 65535 of 16. */
static const struct {
    double white;
    const char *names;
} whites[] = {
    { 0,
      " numbers full zeros ones eye indices arange linspace random normal randint exponential poisson sobol"
      " sobol_at"
      " sum prod bits_and bits_or bits_xor argmin argmax variance norm dot histogram weighted_histogram count_nonzero"
      " count_unique unique_counts unique_inverse indexin lookup_by find argsort argtopk lexsort searchsorted cumsum "
      "cumprod scan matmul matprod matinv"
      " scatter_add rgb_to_hsv rgb_to_lab rgb_to_xyz rgb_to_oklab rgb_to_hsl rgb_to_cmyk lab_to_lch delta_e shi_tomasi "
      "mse mae "
      "sign hypot psnr ssim diff gradient softmax integral outer trace entropy skewness kurtosis correlation "
      "sharpness sigmoid softplus sinc radians degrees logsumexp trapezoid unit standardize kron cov cdist "
      "rms nansum nanmean rmse cosine_similarity iou dice centroid colorfulness noise_level rgb_to_yuv rgb_to_yiq "
      "group_sum "
      "group_count group_mean group_min group_max labels region_shapes region_moments distance nearest_zero geodesic "
      "watershed "
      "regions scatter_min scatter_max hdr_merge det solve "
      "cholesky lstsq pinv qr_q qr_r eigvalsh eigvecsh svdvals svd_u svd_vt matrix_rank matrix_power "
      "match_template phase_correlation hough_lines ms_ssim histogram2d "
      "nanvar nanstd ptp average unwrap cumulative_trapezoid cross vander ahash dhash phash hamming "
      "mutual_information dct idct dct2 idct2 rfft irfft haar ihaar daubechies4 idaubechies4 optical_flow grad "
      "find_trim hough_circles hull_points find_contours moments hu_moments estimate_affine estimate_similarity "
      "estimate_homography "
      "transform_points " },
    { 1, " all any hsv_to_rgb lab_to_rgb set_white rgb_to_linear linear_to_rgb xyz_to_rgb oklab_to_rgb hsl_to_rgb "
         "cmyk_to_rgb"
         " regional_maxima regional_minima h_maxima h_minima peaks isin hit_or_miss inliers convex_hull "
         "lch_to_lab harris radial_gradient isnan isinf isfinite smoothstep yuv_to_rgb yiq_to_rgb " },
    { 255, " circle fill lut ellipse line checkerboard lbp polyline canny text_mask text_lines plot flood " },
    { 65535, " depth rescale " },
};

static double white_in_table(const char *name, double of_a)
{
    char word[80];
    snprintf(word, sizeof word, " %s ", name);
    for (size_t k = 0; k < sizeof whites / sizeof *whites; k++)
        if (strstr(whites[k].names, word)) return whites[k].white;
    /* examples that are made of matrices of literals only */
    return of_a;
}

START_TEST(every_row_follows_the_table)
{
    for (int deep = 0; deep < 2; deep++)
        for (size_t k = 0; k < imgpar_op_count(); k++) {
            const imgpar_op_info *op = imgpar_op_get(k);
            char text[400];
            if (strstr(op->example, "open(")) continue;          /* of files that are not there */
            if (deep && strcmp(op->name, "take") == 0) continue; /* its example casts to indices: the same */
            snprintf(text, sizeof text, "a = crop($%d, 0, 0, 12, 7)\nb = invert(a)\n%s", deep ? 3 : 1, op->example);
            double want = white_in_table(op->name, deep ? 65535 : 255);
            ck_assert_msg(info_of(text).white == want, "%s: %s has white %g, not %g", op->name, op->example,
                          info_of(text).white, want);
        }
}
END_TEST

/* Operators, functions, meetings, masks. */
static const struct {
    const char *text;
    double white;
    int is_mask;
} rules[] = {
    { "$1", 255, 0 },
    { "$3", 65535, 0 },
    { "$6", 0, 0 },
    { "$8", 0, 0 },
    /* operators and functions keep it; the larger of two counts; literals and data have none */
    { "$1 + 20", 255, 0 },
    { "20 - $1", 255, 0 },
    { "$3 * 0.8", 65535, 0 },
    { "$1 + $3", 65535, 0 },
    { "$3 - $1", 65535, 0 },
    { "$1 * $6", 255, 0 },
    { "$6 + $6", 0, 0 },
    { "sqrt($1)", 255, 0 },
    { "max($1, $3)", 65535, 0 },
    { "-$3", 65535, 0 },
    { "$1 ** 2", 255, 0 },
    { "$1 >> 1", 255, 0 },
    { "make(4, 4, x)", 0, 0 },
    { "make(4, 4, 7)", 0, 0 },
    { "$1 * (x / 12)", 255, 0 },
    { "$1 - mean($1)", 255, 0 },
    { "cast($1, f64)", 255, 0 },
    { "cast($3, u8)", 65535, 0 },
    { "blur($3, 1) * 2", 65535, 0 },
    { "real(ifft2(fft2(slice($4, [0 0], [7 12]))))", 255, 0 },
    /* comparisons are masks */
    { "$1 > 100", 1, 1 },
    { "$1 == $2", 1, 1 },
    { "!$1", 1, 1 },
    { "$1 > 3 && $2 > 3", 1, 1 },
    { "($4 > 9) & ($4 < 99)", 1, 1 },
    { "($4 > 60) * 255", 255, 0 },
    { "255 * ($4 > 60)", 255, 0 },
    { "($4 > 60) * 0.5", 1, 1 },
    { "($4 > 60) / 2", 1, 1 },
    { "($4 > 60) / 0.01", 100, 0 },
    { "($4 > 60) * 200", 200, 0 },
    { "(1 - ($4 > 60)) * 255", 255, 0 },
    { "(($4 > 60) * 0.5) * 510", 510, 0 },
    { "($4 > 60) * 255 * 2", 255, 0 },
    { "($4 > 60) * -3", 1, 1 },
    { "($4 > 60) * $4", 255, 0 },
    { "$3 * ($1 > 3)", 65535, 0 },
    { "($4 > 60) * ($4 > 70)", 1, 1 },
    { "($4 > 60) * $6", 0, 0 },
    { "otsu($4)", 0, 0 },
    { "mean($4 > 60)", 1, 1 },
    { "cast($4 > 60, u8)", 1, 1 },
    { "cast($4 > 60, u8) * 255", 255, 0 },
    { "multiply(cast($4 > 60, f32), 255)", 255, 0 },
    { "linear(cast($4 > 60, f32), 255, 0)", 255, 0 },
    { "multiply($4 > 60, 255)", 1, 1 },
    /* a picture from 0 to 1, and back */
    { "$1 / 255", 1, 0 },
    { "$3 / 65535", 1, 0 },
    { "$1 / 254", 255, 0 },
    { "$1 / 255 * 65535", 65535, 0 },
    { "$1 / 255 * 255", 255, 0 },
    { "$1 / 255 * 100", 1, 0 },
    { "depth($1, float) * 200", 1, 0 },
    /* meetings: the first's */
    { "blend($1, $3, 0.5)", 255, 0 },
    { "blend($3, $1, 0.5)", 65535, 0 },
    { "overlay($3, $1, $8)", 65535, 0 },
    { "$8 ? $1 : $3", 255, 0 },
    { "$8 ? 7 : $3", 65535, 0 },
    { "concatenate($3, $1)", 65535, 0 },
    { "concatenate($6, $5)", 65535, 0 },
    { "minimum($1, $3)", 255, 0 },
    { "maximum($6, $5)", 65535, 0 },
    { "composite($3, $7)", 65535, 0 },
    { "zip($5, $4)", 65535, 0 },
    { "add($1, $3)", 255, 0 },
    { "add($6, $5)", 65535, 0 },
    /* depth and set_white */
    { "depth($1, 16)", 65535, 0 },
    { "depth($3, 8)", 255, 0 },
    { "depth($3, float)", 1, 0 },
    { "depth($4 > 60, 8)", 255, 0 },
    { "set_white($6, 1)", 1, 0 },
    { "set_white($1, 0)", 0, 0 },
    { "set_white($6, 1, mask=true) * 9", 9, 0 },
    { "scan($1, \"max\")", 255, 0 },
    { "scan($1, \"any\")", 1, 1 },
    { "reduce($1, 0, (p, q) -> max(p, q))", 255, 0 },
    { "scan($3, 0, (p, q) -> max(p, q))", 65535, 0 },
    { "lut($3, arange(0, 65536, dtype=u16))", 65535, 0 },
    { "lut($1 + 0, arange(0, 256, dtype=u16))", 65535, 0 },
    { "lut($1, linspace(0, 1, 256))", 0, 0 },
    { "iterate($4 > 60, 2, _ * 2)", 2, 0 },
    { "iterate($1, 200, _ * 0.99)", 255, 0 },
    { "iterate($4 > 60, 200, _ * 1.01)", 1.01, 0 },
    { "circle($3, radius=2)", 255, 0 },
    { "fill(4, 4, 1, dtype=f32)", 0, 0 },
};

START_TEST(the_rule_of_white)
{
    imgpar_info info = info_of(rules[_i].text);
    ck_assert_msg(info.white == rules[_i].white && info.is_mask == rules[_i].is_mask, "%s: white %g%s, not %g%s",
                  rules[_i].text, info.white, info.is_mask ? ", a mask" : "", rules[_i].white,
                  rules[_i].is_mask ? ", a mask" : "");
}
END_TEST

/* ---- values ----------------------------------------------------------------------------------------------------- */

static double element(imgpar_dtype dtype, const void *at)
{
    switch (dtype) {
    case IMGPAR_U8:
    case IMGPAR_BOOL: return *(const uint8_t *)at;
    case IMGPAR_U16: return *(const uint16_t *)at;
    case IMGPAR_I32: return *(const int32_t *)at;
    case IMGPAR_U32: return *(const uint32_t *)at;
    case IMGPAR_I64: return (double)*(const int64_t *)at;
    case IMGPAR_F32: return (double)*(const float *)at;
    case IMGPAR_F64: return *(const double *)at;
    default: ck_abort_msg("a dtype that these tests do not have"); return 0;
    }
}

static double clamp(double v, double most) { return fmin(fmax(rint(v), 0), most); }

/* Of the levels p, q, m of three inputs at one element, in double. */
static double e_invert_sum(const double *v) { return 255 - (v[0] + 20); }
static double e_gamma_sum(const double *v) { return rint(255 * pow((v[0] + 20) / 255, 1 / 1.5)); }
static double e_gamma_deep(const double *v) { return 65535 * pow((double)(float)(v[2] * 0.8) / 65535, 1 / 1.5); }
static double e_threshold_sum(const double *v) { return v[0] + 20 > 100 ? 255 : 0; }
static double e_invert_16_of_32(const double *v) { return 65535 - v[2] * 2; }
static double e_overlay_mask(const double *v) { return v[0] > 60 ? v[1] : v[0]; }
static double e_overlay_half(const double *v) { return v[0] > 60 ? rint((v[0] + v[1]) / 2) : v[0]; }
static double e_overlay_200(const double *v) { return v[0] > 60 ? v[1] : v[0]; }
static double e_blend_8_16(const double *v) { return clamp(0.5 * v[0] + 0.5 * rint(v[2] / 257), 255); }
static double e_blend_16_8(const double *v) { return clamp(0.5 * v[2] + 0.5 * v[0] * 257, 65535); }
static double e_select(const double *v) { return v[0] > 128 ? v[0] : rint(v[2] / 257); }
static double e_minimum(const double *v) { return fmin(v[2], v[0] * 257); }
static double e_depth_16(const double *v) { return v[0] * 257; }
static double e_depth_8(const double *v) { return rint(v[2] / 257); }
static double e_depth_float(const double *v) { return (double)(float)(v[2] / 65535); }
static double e_depth_back(const double *v) { return v[0]; }
static double e_mask_to_8(const double *v) { return v[0] > 60 ? 255 : 0; }
static double e_unit_inverted(const double *v) { return 1 - v[0] / 255; }
static double e_even(const double *v) { return rint(v[0] * 40 / 51); }
static double share(double v) { return fmin(fmax(v, 0), 1); }
static double e_gamma_12_bits(const double *v) { return 4095 * sqrt(v[2] / 4095); }
static double e_level_200(const double *v) { return rint(200 * share((v[0] / 200 - 0.1) / 0.7)); }
static double e_posterize_1000(const double *v) { return 1000 * rint(share(v[0] * 4 / 1000) * 4) / 4; }
static double e_tonemap_half(const double *v) { return 0.5 * v[0] / (v[0] + 0.5); }
static double e_ties(const double *v) { return rint(v[0] / 2); }

/* $1, $2, $3 stand at the same element. */
static const struct {
    const char *text;
    imgpar_dtype dtype;
    double (*want)(const double *v);
    double slack;
} values[] = {
    { "invert($1 + 20)", IMGPAR_I32, e_invert_sum, 0 },
    { "invert($3 * 2)", IMGPAR_I32, e_invert_16_of_32, 0 },
    { "gamma($1 + 20, 1.5)", IMGPAR_I32, e_gamma_sum, 1 },
    { "gamma($3 * 0.8, 1.5)", IMGPAR_F32, e_gamma_deep, 0.05 },
    { "threshold($1 + 20, 100)", IMGPAR_I32, e_threshold_sum, 0 },
    { "overlay($1, $2, ($1 > 60) * 255)", IMGPAR_U8, e_overlay_mask, 0 },
    { "overlay($1, $2, ($1 > 60) * 0.5)", IMGPAR_U8, e_overlay_half, 0.5 },
    { "overlay($1, $2, ($1 > 60) * 200)", IMGPAR_U8, e_overlay_200, 0 },
    { "overlay($1, $2, ($1 > 60) * 1)", IMGPAR_U8, e_overlay_mask, 0 },
    { "blend($1, $3, 0.5)", IMGPAR_U8, e_blend_8_16, 0 },
    { "blend($3, $1, 0.5)", IMGPAR_U16, e_blend_16_8, 0 },
    { "select($1 > 128, $1, $3)", IMGPAR_I32, e_select, 0 },
    { "minimum($3, $1)", IMGPAR_U16, e_minimum, 0 },
    { "depth($1, 16)", IMGPAR_U16, e_depth_16, 0 },
    { "depth($3, 8)", IMGPAR_U8, e_depth_8, 0 },
    { "depth($3, float)", IMGPAR_F32, e_depth_float, 1e-7 },
    { "depth(depth($1, float), 8)", IMGPAR_U8, e_depth_back, 0 },
    { "depth($1 > 60, 8)", IMGPAR_U8, e_mask_to_8, 0 },
    { "invert($1 / 255)", IMGPAR_F32, e_unit_inverted, 1e-6 },
    { "gamma(cast(set_white($3, 4095), f32), 2)", IMGPAR_F32, e_gamma_12_bits, 0.05 },
    { "level(set_white($1, 200), 0.1, 0.8)", IMGPAR_U8, e_level_200, 1 },
    { "posterize(set_white($1 * 4, 1000), 5)", IMGPAR_I32, e_posterize_1000, 0 },
    { "tonemap(cast(set_white($1, 0.5), f32))", IMGPAR_F32, e_tonemap_half, 1e-6 },
    { "maximum(($1 > 300) * 200, $1)", IMGPAR_I32, e_even, 0 }, /* brought from 255 to 200: 40 / 51 */
    { "maximum(set_white($1, 50) * 0 - 1, set_white($1, 100))", IMGPAR_I32, e_ties, 0 }, /* by 1/2: ties to even */
};

static void read_by(const char *way, imgpar_array *a, void *to, size_t bytes)
{
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", way), IMGPAR_OK);
    ck_assert_msg(imgpar_array_read(a, to, bytes) == IMGPAR_OK, "%s", imgpar_array_message(a));
}

START_TEST(operations_take_the_white_of_the_picture)
{
    static _Alignas(16) char bytes[N * 8];
    for (int way = 0; way < 2; way++) {
        imgpar_array *a = apply(values[_i].text);
        imgpar_info info = { .struct_size = sizeof info };
        imgpar_array_info(a, &info);
        ck_assert_int_eq((int)info.dtype, (int)values[_i].dtype);
        ck_assert_uint_le(info.size_bytes, sizeof bytes);
        read_by(way ? "ref" : "auto", a, bytes, info.size_bytes);
        imgpar_array_release(a);
        for (int k = 0; k < N; k++) {
            const double v[] = { level(1, k), level(2, k), level(3, k) };
            double got = element(info.dtype, bytes + (size_t)k * imgpar_dtype_size(info.dtype)),
                   want = values[_i].want(v);
            ck_assert_msg(fabs(got - want) <= values[_i].slack, "%s of %g, %g, %g is %.9g, not %.9g (%s)",
                          values[_i].text, v[0], v[1], v[2], got, want, way ? "ref" : "device");
        }
    }
}
END_TEST

/* The least level is black and the largest white, whatever white is. */
START_TEST(normalize_stretches_to_white)
{
    static const struct {
        const char *text;
        double most;
    } rows[] = {
        { "normalize($1 + 20)", 255 },
        { "normalize($3 * 0.5)", 65535 },
        { "normalize($1 / 255 * 0.5)", 1 },
        { "normalize($6)", 1 },
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char text[120];
        double ends[2];
        snprintf(text, sizeof text, "n = cast(%s, f64)\nnumbers([0 0], dtype=f64) + concatenate(minval(n), maxval(n))",
                 rows[k].text);
        imgpar_array *a = apply(text);
        read_by("ref", a, ends, sizeof ends);
        imgpar_array_release(a);
        ck_assert_msg(fabs(ends[0]) < 1e-3 * rows[k].most && fabs(ends[1] - rows[k].most) < 1e-3 * rows[k].most,
                      "%s: %g to %g", rows[k].text, ends[0], ends[1]);
    }
}
END_TEST

/* ---- files
 * --------------------------------------------------------------------------------------------------------- */

static double e_same(const double *v) { return v[0]; }
static double e_deep(const double *v) { return v[2]; }
static double e_deep_8(const double *v) { return (double)(float)(v[2] * (double)0.8f); }
static double e_sum(const double *v) { return fmin(v[0] + 20, 255); }
static double e_mask(const double *v) { return v[0] > 60 ? 255 : 0; }
static double e_half_mask(const double *v) { return v[0] > 60 ? 128 : 0; }
static double e_float(const double *v) { return v[0]; }
static double e_wide(const double *v) { return v[0] * 257; }

/* What a PNG, or another format, of it holds. */
static const struct {
    const char *text, *format, *settings;
    imgpar_dtype dtype;
    double (*want)(const double *v);
} files[] = {
    { "$1", "png", NULL, IMGPAR_U8, e_same },
    { "$3", "png", NULL, IMGPAR_U16, e_deep },
    { "$3 * 0.8", "png", NULL, IMGPAR_U16, e_deep_8 },
    { "$3 * 0.8", "pnm", NULL, IMGPAR_U16, e_deep_8 },
    { "cast($3, f32)", "png", NULL, IMGPAR_U16, e_deep },
    { "cast($1, f32)", "png", NULL, IMGPAR_U8, e_same },
    { "cast($1, u16)", "png", NULL, IMGPAR_U8, e_same },
    { "$1 + 20", "png", NULL, IMGPAR_U8, e_sum },
    { "$1 / 255", "png", NULL, IMGPAR_U8, e_float },
    { "depth($1, float)", "png", "bits=16", IMGPAR_U16, e_wide },
    { "depth($3, float)", "png", "bits=16", IMGPAR_U16, e_deep },
    { "$1", "png", "bits=16", IMGPAR_U16, e_wide },
    { "$1 > 60", "png", NULL, IMGPAR_U8, e_mask },
    { "($1 > 60) * 200", "png", NULL, IMGPAR_U8, e_mask },
    { "($1 > 60) * 0.5", "png", NULL, IMGPAR_U8, e_half_mask },
    { "cast($1 > 60, u8)", "png", NULL, IMGPAR_U8, e_mask },
    { "set_white(cast($1, f32), 0)", "png", NULL, IMGPAR_U8, e_same },
    { "cast($3, f32)", "png", "range=65535, bits=16", IMGPAR_U16, e_deep },
    { "$1 * 257", "png", "range=65535", IMGPAR_U8, e_same },
};

START_TEST(saving_scales_by_white)
{
    static _Alignas(16) char bytes[N * 2];
    imgpar_options options = { .struct_size = sizeof options,
                               .format = files[_i].format,
                               .settings = files[_i].settings };
    imgpar_array *a = apply(files[_i].text);
    void *file = NULL;
    size_t n = 0;
    ck_assert_msg(imgpar_encode(a, &options, &file, &n) == IMGPAR_OK, "%s: %s", files[_i].text,
                  imgpar_array_message(a));
    imgpar_array *back = imgpar_open_memory(ctx, file, n);
    imgpar_info info = { .struct_size = sizeof info };
    imgpar_array_info(back, &info);
    ck_assert_msg(info.dtype == files[_i].dtype, "%s: %s", files[_i].text, imgpar_dtype_name(info.dtype));
    ck_assert_double_eq(info.white, info.dtype == IMGPAR_U16 ? 65535 : 255);
    read_by("ref", back, bytes, info.size_bytes);
    for (int k = 0; k < N; k++) {
        const double v[] = { level(1, k), level(2, k), level(3, k) };
        double got = element(info.dtype, bytes + (size_t)k * imgpar_dtype_size(info.dtype)),
               want = rint(files[_i].want(v));
        ck_assert_msg(got == want, "%s of %g, %g: %g, not %g", files[_i].text, v[0], v[2], got, want);
    }
    imgpar_array_release(back);
    imgpar_array_release(a);
    imgpar_free(file);
}
END_TEST

/* ---- what is said
 * ---------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text, *message;
} wrong[] = {
    { "depth($1, 12)", "depth: to must be one of 8, 16, float" },
    { "depth($1)", "depth: to is missing" },
    { "set_white($1, -1)", "set_white: white=-1 is below 0" },
    { "set_white($1, 255, mask=true)", "set_white: white=255; that of a mask is 1" },
    { "set_white([1 2 3], 1, picture=true)",
      "set_white: picture=true: a is [3], and pictures are [height, width] or end in 1 to 4 channels" },
    { "set_white(zeros([2, 2, 5]), 1, picture=true)", "set_white: picture=true: a is [2, 2, 5]," },
};

START_TEST(mistakes_are_told)
{
    imgpar_array *a = imgpar_apply(ctx, wrong[_i].text, inputs, 8);
    ck_assert_msg(strstr(imgpar_array_message(a), wrong[_i].message) != NULL, "%s: %s", wrong[_i].text,
                  imgpar_array_message(a));
    imgpar_array_release(a);
}
END_TEST

START_TEST(a_matrix_may_be_a_gray_picture)
{
    static const struct {
        const char *text;
        imgpar_space space;
    } rows[] = { { "set_white(zeros([2, 3], i32), 9, picture=true)", IMGPAR_SPACE_GRAY },
                 { "set_white(zeros([2, 3, 2]), 1, picture=true)", IMGPAR_SPACE_GRAY },
                 { "set_white(zeros([2, 3, 2, 4]), 1, picture=true)", IMGPAR_SPACE_SRGB },
                 { "set_white(zeros([2, 3, 4]), 1)", IMGPAR_SPACE_DATA } };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        ck_assert_msg(info_of(rows[k].text).space == rows[k].space, "%s", rows[k].text);
}
END_TEST

/* Numbers of 8 and of 16 bits that are added or compared as they are. */
#define MET(OP, A, B, DEPTH) \
    OP ": white is " A " and " B "; numbers are taken as they are, and depth(b, " DEPTH ") brings b to the first"
static const struct {
    const char *text, *warning;
} meetings[] = {
    { "$1 * 0.5 + $3 * 0.5", MET("+", "255", "65535", "8") },
    { "$3 - $1", MET("-", "65535", "255", "16") },
    { "invert(absdiff($1, $3))", MET("absdiff", "255", "65535", "8") },
    { "mean($1 != $3)", MET("!=", "255", "65535", "8") },
    { "iterate($3, 40, p -> (p + $1) / 2)", MET("+", "65535", "255", "16") },
    { "min($1, $3)", MET("min", "255", "65535", "8") },
    { "$1 + depth($3, 8)", "" },
    { "$1 + ($3 > 60)", "" },
    { "$1 * ($3 / 65535)", "" },
    { "blend($1, $3, 0.5)", "" },
    { "maximum($1, $3)", "" },
    { "$3 - mean($3)", "" },
};

static void note_warning(void *user, const char *text) { snprintf(user, 400, "%s", text); }

START_TEST(numbers_on_two_scales_give_a_warning)
{
    char warning[400] = "";
    imgpar_options options = { .struct_size = sizeof options, .on_warning = note_warning, .user = warning };
    imgpar_array *a = apply(meetings[_i].text);
    ck_assert_msg(imgpar_array_eval(a, &options) == IMGPAR_OK, "%s", imgpar_array_message(a));
    imgpar_array_release(a);
    ck_assert_str_eq(warning, meetings[_i].warning);
}
END_TEST

/* A graph written as text and read again has the same white. */
START_TEST(graphs_written_as_text_keep_white)
{
    static const char *const texts[] = { "blend($1, $3, 0.5)", "depth($3, 8)", "set_white($6, 65535) * 0.5",
                                         "composite($3, $7)" };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        char *dump = NULL;
        imgpar_array *a = apply(texts[k]), *used[2] = { inputs[strstr(texts[k], "$1")   ? 0
                                                               : strstr(texts[k], "$6") ? 5
                                                                                        : 2],
                                                        inputs[strstr(texts[k], "$7") ? 6 : 2] };
        imgpar_info had = { .struct_size = sizeof had }, has = { .struct_size = sizeof has };
        imgpar_array_info(a, &had);
        ck_assert_int_eq(imgpar_array_explain(a, "graph", &dump), IMGPAR_OK);
        imgpar_array *again = imgpar_apply(ctx, dump, used, 2);
        ck_assert_msg(imgpar_array_info(again, &has) == IMGPAR_OK, "%s: %s", dump, imgpar_array_message(again));
        ck_assert_double_eq(had.white, has.white);
        imgpar_array_release(again);
        imgpar_array_release(a);
        imgpar_free(dump);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("white");
    TCase *tc = tcase_create("white");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, every_row_follows_the_table);
    tcase_add_loop_test(tc, the_rule_of_white, 0, (int)(sizeof rules / sizeof *rules));
    tcase_add_loop_test(tc, operations_take_the_white_of_the_picture, 0, (int)(sizeof values / sizeof *values));
    tcase_add_test(tc, normalize_stretches_to_white);
    tcase_add_loop_test(tc, saving_scales_by_white, 0, (int)(sizeof files / sizeof *files));
    tcase_add_test(tc, a_matrix_may_be_a_gray_picture);
    tcase_add_loop_test(tc, mistakes_are_told, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_loop_test(tc, numbers_on_two_scales_give_a_warning, 0, (int)(sizeof meetings / sizeof *meetings));
    tcase_add_test(tc, graphs_written_as_text_keep_white);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
