/* SPDX-License-Identifier: MIT */
/*
 * Elements are read once and looked at here: the least and largest, which tell where the histogram begins and ends, and
 * then the rest. Pictures are made smaller and encoded by the library, with their profile; of plain numbers the
 * least is black and the largest white.
 */
#include "facts.h"
#include "output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 29, PICTURE_SIDE = 480 };

/* ---- elements ---------------------------------------------------------------------------------------- */

/* IEEE 754 binary16. */
static double of_half(uint16_t h)
{
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const double size = exponent == 0    ? ldexp(fraction, -24)
                        : exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                                         : ldexp(1024 + fraction, exponent - 25);
    return h >> 15 ? -size : size;
}

double facts_element(const void *data, imgpar_dtype dtype, size_t k)
{
    switch (dtype) {
    case IMGPAR_I8: return ((const int8_t *)data)[k];
    case IMGPAR_U16: return ((const uint16_t *)data)[k];
    case IMGPAR_I16: return ((const int16_t *)data)[k];
    case IMGPAR_U32: return ((const uint32_t *)data)[k];
    case IMGPAR_I32: return ((const int32_t *)data)[k];
    case IMGPAR_U64: return (double)((const uint64_t *)data)[k];
    case IMGPAR_I64: return (double)((const int64_t *)data)[k];
    case IMGPAR_F16: return of_half(((const uint16_t *)data)[k]);
    case IMGPAR_F32: return (double)((const float *)data)[k];
    case IMGPAR_F64: return ((const double *)data)[k];
    default: return ((const uint8_t *)data)[k]; /* and bool */
    }
}

static bool is_whole(imgpar_dtype dtype) { return dtype != IMGPAR_F16 && dtype != IMGPAR_F32 && dtype != IMGPAR_F64; }

void facts_number(imgpar_dtype dtype, double v, char out[FACT_LETTERS])
{
    const double all_digits = 9007199254740992; /* 2^53 */
    const bool has_many = imgpar_dtype_size(dtype) >= 4 && dtype != IMGPAR_F32;
    const bool is_counted = v == floor(v) && fabs(v) <= all_digits;
    snprintf(out, FACT_LETTERS, "%.*g", is_counted ? 16 : has_many ? 10 : 7, v);
}

static size_t count_of(const imgpar_info *info) { return info->size_bytes / imgpar_dtype_size(info->dtype); }

static void measure(facts *f, const void *data)
{
    const size_t n = count_of(&f->info);
    long double sums[FACT_CHANNELS] = { 0 }; /* where it is longer, of any f64 */
    for (int c = 0; c < f->n_channels; c++)
        f->channels[c] = (channel_facts){ .min = INFINITY, .max = -INFINITY };
    for (size_t k = 0; k < n; k++) {
        const int c = f->n_channels == 1 ? 0 : (int)(k % (size_t)f->n_channels);
        channel_facts *channel = &f->channels[c];
        const double v = facts_element(data, f->info.dtype, k);
        f->n_nan += isnan(v) != 0;
        f->n_infinite += isinf(v) != 0;
        if (!isfinite(v)) continue;
        if (v < channel->min) channel->min = v;
        if (v > channel->max) channel->max = v;
        sums[c] += v;
        channel->n_finite++;
    }
    for (int c = 0; c < f->n_channels; c++)
        if (f->channels[c].n_finite > 0) f->channels[c].mean = (double)(sums[c] / (long double)f->channels[c].n_finite);
}

/* From black to white, or as far as there are numbers. */
static void choose_range(facts *f)
{
    double lo = INFINITY, hi = -INFINITY;
    for (int c = 0; c < f->n_channels; c++) {
        if (f->channels[c].min < lo) lo = f->channels[c].min;
        if (f->channels[c].max > hi) hi = f->channels[c].max;
    }
    if (lo > hi) return; /* nothing is finite */
    if (f->info.white > 0) {
        if (lo > 0) lo = 0;
        if (hi < f->info.white) hi = f->info.white;
    }
    f->lo = lo;
    f->hi = hi;
    if (!isfinite(hi - lo)) return; /* too far apart to be told in between */
    f->n_bins = is_whole(f->info.dtype) && hi - lo + 1 < FACT_BINS ? (int)(hi - lo + 1) : lo == hi ? 1 : FACT_BINS;
}

static void count(facts *f, const void *data)
{
    const size_t n = count_of(&f->info);
    const double width = f->hi - f->lo + (is_whole(f->info.dtype) ? 1 : 0);
    for (size_t k = 0; k < n && f->n_bins > 0; k++) {
        const double v = facts_element(data, f->info.dtype, k);
        if (!isfinite(v)) continue;
        const int bin = width > 0 ? (int)((v - f->lo) / width * f->n_bins) : 0;
        f->channels[f->n_channels == 1 ? 0 : (int)(k % (size_t)f->n_channels)]
            .counts[bin < f->n_bins ? bin : f->n_bins - 1]++;
    }
}

/* ---- what is seen ------------------------------------------------------------------------------------ */

static imgpar_array *call(imgpar_array *takes, const char *op, const char *given)
{
    imgpar_array *result = imgpar_op(NULL, op, &takes, 1, given);
    imgpar_array_release(takes);
    return result;
}

/* Encodes what it takes, within PICTURE_SIDE pixels. */
static imgpar_status encode(facts *f, imgpar_array *takes, const imgpar_options *options)
{
    char size[80];
    imgpar_options as_png = *options;
    imgpar_info info = { .struct_size = sizeof info };
    snprintf(size, sizeof size, "width=%d, height=%d", PICTURE_SIDE, PICTURE_SIDE);
    imgpar_array *a = call(call(takes, "depth", "to=8"), "fit", size);
    as_png.format = "png";
    as_png.settings = "metadata=none"; /* which keeps the profile */
    imgpar_status st = imgpar_array_info(a, &info);
    if (!st) st = imgpar_encode(a, &as_png, &f->png, &f->png_bytes);
    if (st) snprintf(f->problem, sizeof f->problem, "no picture: %s", imgpar_array_message(a));
    f->png_width = info.width;
    f->png_height = info.height;
    imgpar_array_release(a);
    return st == IMGPAR_E_INTERRUPTED ? st : IMGPAR_OK;
}

/* Of numbers that are no picture: the middle plane, channels side by side unless they are three. */
static imgpar_status encode_numbers(facts *f, imgpar_context *ctx, const void *data, const imgpar_options *options)
{
    const imgpar_info *i = &f->info;
    const int64_t plane = i->depth / 2, channels = i->channels <= FACT_CHANNELS ? i->channels : 1;
    const bool is_rgb = channels == 3;
    const int64_t shape[3] = { i->height, i->width * (is_rgb ? 1 : channels), is_rgb ? 3 : 1 };
    unsigned char *bytes = malloc((size_t)(i->height * i->width * channels) + 1);
    const double scale = f->hi > f->lo ? 255 / (f->hi / 2 - f->lo / 2) : 0; /* halves: the whole may be infinite */
    if (!bytes) {
        snprintf(f->problem, sizeof f->problem, "no picture: out of memory");
        return IMGPAR_OK;
    }
    for (int64_t y = 0; y < i->height; y++)
        for (int64_t x = 0; x < i->width; x++)
            for (int64_t c = 0; c < channels; c++) {
                const int64_t from = ((plane * i->height + y) * i->width + x) * i->channels + c;
                const int64_t to =
                    is_rgb ? (y * i->width + x) * 3 + c : (y * channels + c) * i->width + x; /* side by side */
                const double v = (facts_element(data, i->dtype, (size_t)from) / 2 - f->lo / 2) * scale;
                bytes[to] = (unsigned char)(v >= 255 ? 255 : v > 0 ? v + 0.5 : 0); /* NaN is black */
            }
    const char *what = "";
    char of_planes[60] = "";
    if (i->depth > 1)
        snprintf(of_planes, sizeof of_planes, "plane %lld of %lld, ", (long long)plane, (long long)i->depth);
    if (i->channels > FACT_CHANNELS) what = "the first channel, ";
    if (!is_rgb && channels > 1) what = "channels side by side, ";
    char black[FACT_LETTERS], white[FACT_LETTERS];
    facts_number(i->dtype, f->lo, black);
    facts_number(i->dtype, f->hi, white);
    snprintf(f->shown_room, sizeof f->shown_room, "%s%sblack is %s, white %s", of_planes, what, black, white);
    f->shown = f->shown_room;
    imgpar_status st = encode(f, imgpar_array_from_data(ctx, IMGPAR_U8, is_rgb ? 3 : 2, shape, bytes), options);
    free(bytes);
    return st;
}

/* A few rows of numbers are seen better as lines. */
static bool is_lines(const imgpar_info *i)
{
    return i->space == IMGPAR_SPACE_DATA && i->depth == 1 && i->channels == 1 && i->height <= FACT_CHANNELS &&
           i->width > 1;
}

/* Of more points than can be seen apart, each that is drawn is the largest of several. */
static void take_lines(facts *f, const void *data)
{
    const size_t n = (size_t)f->info.width, step = (n + FACT_POINTS - 1) / FACT_POINTS;
    f->n_lines = (int)f->info.height;
    f->n_points = (int)((n + step - 1) / step);
    f->lines = malloc((size_t)(f->n_lines * f->n_points) * sizeof *f->lines);
    for (int line = 0; f->lines && line < f->n_lines; line++)
        for (int p = 0; p < f->n_points; p++) {
            double most = NAN;
            for (size_t k = (size_t)p * step; k < n && k < ((size_t)p + 1) * step; k++) {
                const double v = facts_element(data, f->info.dtype, (size_t)line * n + k);
                if (isfinite(v) && !(v <= most)) most = v;
            }
            f->lines[line * f->n_points + p] = most;
        }
    if (step > 1) {
        snprintf(f->shown_room, sizeof f->shown_room, "each point is the largest of %zu", step);
        f->shown = f->shown_room;
    }
}

static imgpar_status see(facts *f, imgpar_context *ctx, imgpar_array *a, const void *data,
                         const imgpar_options *options)
{
    const imgpar_info *i = &f->info;
    const bool is_picture = (i->rank == 2 || i->rank == 3) && i->depth == 1 && i->white > 0 && !f->complex_name;
    if (is_lines(i)) {
        take_lines(f, data);
        return IMGPAR_OK;
    }
    if (i->width * i->height < 2 && i->space == IMGPAR_SPACE_DATA) return IMGPAR_OK;
    if (is_picture) return encode(f, imgpar_array_retain(a), options);
    return encode_numbers(f, ctx, data, options);
}

static imgpar_status take(facts *f, imgpar_context *ctx, imgpar_array *a, const imgpar_options *options)
{
    void *data = f->info.size_bytes > 0 && f->info.size_bytes <= MAX_BYTES ? malloc(f->info.size_bytes) : NULL;
    if (!data) {
        snprintf(f->problem, sizeof f->problem, "%s",
                 f->info.size_bytes == 0          ? "it has no elements"
                 : f->info.size_bytes > MAX_BYTES ? "larger than 512 MB: neither numbers nor picture"
                                                  : "out of memory");
        return IMGPAR_OK;
    }
    imgpar_status st = imgpar_array_read_with(a, data, f->info.size_bytes, options);
    if (st) {
        snprintf(f->problem, sizeof f->problem, "%s", imgpar_array_message(a));
    } else {
        f->n_channels = f->info.channels <= FACT_CHANNELS ? (int)f->info.channels : 1;
        measure(f, data);
        choose_range(f);
        count(f, data);
        if (is_few(a) && f->info.space == IMGPAR_SPACE_DATA) st = imgpar_array_text(a, options, &f->text);
        if (!st) st = see(f, ctx, a, data, options);
    }
    free(data);
    return st == IMGPAR_E_INTERRUPTED ? st : IMGPAR_OK;
}

imgpar_status facts_take(imgpar_context *ctx, imgpar_array *a, const imgpar_options *options, facts *out)
{
    imgpar_array *looked_at = imgpar_array_retain(a);
    *out = (facts){ .shown = "", .info = { .struct_size = sizeof out->info } };
    imgpar_status st = imgpar_array_info(looked_at, &out->info);
    const imgpar_dtype dtype = out->info.dtype;
    if (!st && (dtype == IMGPAR_COMPLEX64 || dtype == IMGPAR_COMPLEX128)) {
        out->complex_name = imgpar_dtype_name(dtype);
        looked_at = call(looked_at, "abs", NULL);
        st = imgpar_array_info(looked_at, &out->info);
    }
    if (st)
        snprintf(out->problem, sizeof out->problem, "%s", imgpar_array_message(looked_at));
    else
        st = take(out, ctx, looked_at, options);
    imgpar_array_release(looked_at);
    return st == IMGPAR_E_INTERRUPTED ? st : IMGPAR_OK;
}

void facts_free(facts *f)
{
    imgpar_free(f->text);
    imgpar_free(f->png);
    free(f->lines);
    *f = (facts){ 0 };
}

const char *facts_channel(const imgpar_info *info, int channel)
{
    static const char *const gray[] = { "gray", "alpha" }, *const colours[] = { "red", "green", "blue", "alpha" },
                             *const numbers[] = { "channel 0", "channel 1", "channel 2", "channel 3" };
    if (info->channels > FACT_CHANNELS) return "";
    if (info->space == IMGPAR_SPACE_GRAY) return gray[channel < 2 ? channel : 0];
    if (info->space != IMGPAR_SPACE_DATA) return colours[channel];
    return info->channels == 1 ? "" : numbers[channel];
}

/* ---- the profile ------------------------------------------------------------------------------------- */

static uint32_t number(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* What an ICC profile (ICC.1:2022, 7.3 and 10.15; ICC.1:2001-04, 6.5.17 in version 2) calls itself, in ASCII. */
static void describe(const unsigned char *icc, size_t n, char *out, size_t room)
{
    enum { HEADER = 128, TAG = 12 };
    size_t at = 0, length = 0, step = 1;
    for (size_t k = 0; n >= HEADER + 4 && k < number(icc + HEADER) && HEADER + 4 + (k + 1) * TAG <= n; k++) {
        const unsigned char *tag = icc + HEADER + 4 + k * TAG;
        if (memcmp(tag, "desc", 4) == 0 && number(tag + 4) <= n && n - number(tag + 4) >= 28) at = number(tag + 4);
    }
    if (at == 0) return;
    const unsigned char *desc = icc + at;
    if (memcmp(desc, "desc", 4) == 0) {
        length = number(desc + 8);
        at += 12;
    } else if (memcmp(desc, "mluc", 4) == 0 && number(desc + 24) < n - at) { /* its first record, in UTF-16 */
        length = number(desc + 20) / 2;
        at += number(desc + 24) + 1;
        step = 2;
    }
    for (size_t k = 0; k < length && at < n && icc[at] && k + 1 < room; k++, at += step) {
        out[k] = (char)(icc[at] >= ' ' && icc[at] < 127 ? icc[at] : '?');
        out[k + 1] = '\0';
    }
}

/* A JPEG of one pixel carries the profile as it is, in segments APP2. */
void facts_profile(imgpar_context *ctx, imgpar_array *a, char *out, size_t n)
{
    static const char name[] = "ICC_PROFILE";
    enum { BEFORE = 4 + sizeof name + 2 };
    imgpar_options as_jpeg = { .struct_size = sizeof as_jpeg, .format = "jpeg" };
    imgpar_array *pixel = imgpar_apply(ctx, "depth(crop($1, 0, 0, 1, 1), to=8)", &a, 1);
    void *jpeg = NULL;
    size_t size = 0;
    out[0] = '\0';
    if (imgpar_encode(pixel, &as_jpeg, &jpeg, &size) == IMGPAR_OK)
        for (const unsigned char *p = (unsigned char *)jpeg + 2, *end = (unsigned char *)jpeg + size;
             end - p > BEFORE && p[0] == 0xff && p[1] != 0xda;) {
            const size_t length = (size_t)p[2] << 8 | p[3];
            if (length + 2 > (size_t)(end - p)) break;
            if (p[1] == 0xe2 && length + 2 > BEFORE && memcmp(p + 4, name, sizeof name) == 0) {
                describe(p + BEFORE, length + 2 - BEFORE, out, n);
                break;
            }
            p += length + 2;
        }
    imgpar_free(jpeg);
    imgpar_array_release(pixel);
}
