/* SPDX-License-Identifier: MIT */
/*
 * Pixels of any dtype as the 8- or 16-bit samples a picture format holds. With a range, which is white or a setting, v
 * becomes v * maximum / range in double, rounded, ties to even, and saturated. Without one u8, u16 and bool keep their
 * look: their maximum becomes the sample's maximum. Every other dtype keeps its numbers, rounded and saturated
 * likewise.
 */
#include "io/codec.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <math.h>
#include <string.h>

static imgpar_status refuse_shape(const ip_pixels *p, ip_format format, ip_error *err)
{
    ip_str shape = IP_STR_INIT;
    for (int i = 0; i < p->rank; i++)
        ip_str_printf(&shape, "%s%lld", i ? ", " : "", (long long)p->shape[i]);
    ip_fail(err, IMGPAR_E_UNSUPPORTED, "%s holds [height, width, 1-4 channels], not [%s]; npy holds any shape",
            ip_format_name(format), ip_str_text(&shape));
    ip_str_free(&shape);
    return IMGPAR_E_UNSUPPORTED;
}

/* Eight bits would not hold what there is between black and white. */
static bool is_deep(const ip_pixels *pixels)
{
    return pixels->white > 0 ? pixels->white > 255 : pixels->dtype == IMGPAR_U16;
}

imgpar_status ip_picture_of(const ip_pixels *pixels, ip_format format, int bits, ip_picture *picture, ip_error *err)
{
    const size_t max_side = ip_codec_of(format)->max_side;
    const int64_t *shape = pixels->shape;
    const int rank = pixels->rank;
    const int64_t height = rank == 1 ? 1 : shape[0], width = rank == 1 ? shape[0] : shape[1];
    const int64_t channels = rank == 3 ? shape[2] : 1;
    if (ip_dtype_is_complex(pixels->dtype))
        return ip_fail(err, IMGPAR_E_UNSUPPORTED,
                       "%s holds no complex numbers; npy does, or save abs(), real() or imag()",
                       ip_format_name(format));
    if (rank < 1 || rank > 3 || height < 1 || width < 1 || channels < 1 || channels > 4)
        return refuse_shape(pixels, format, err);
    if ((uint64_t)height > max_side || (uint64_t)width > max_side)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "%s: sides reach %zu pixels at most, not %lld x %lld",
                       ip_format_name(format), max_side, (long long)width, (long long)height);
    *picture = (ip_picture){
        .source = pixels,
        .format = ip_format_name(format),
        .bits = bits > 0          ? bits
                : is_deep(pixels) ? 16
                                  : 8,
        .range = pixels->white,
        .width = (size_t)width,
        .height = (size_t)height,
        .channels = (size_t)channels,
    };
    return IMGPAR_OK;
}

size_t ip_picture_row_bytes(const ip_picture *p)
{
    return p->width * p->channels * (size_t)(p->bits / 8); /* at most 1,000,000 * 4 * 2 */
}

imgpar_status ip_picture_fail(const ip_picture *p, ip_error *err)
{
    return ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted while encoding %s", p->format);
}

imgpar_status ip_picture_poll(const ip_picture *p, const ip_poll *poll, size_t y, ip_error *err)
{
    if (!poll || !poll->stop || !poll->stop(poll->user, (double)y / (double)p->height)) return IMGPAR_OK;
    return ip_picture_fail(p, err);
}

static void to_8(imgpar_dtype dtype, const unsigned char *src, uint8_t *dst, size_t n)
{
    const size_t size = imgpar_dtype_size(dtype);
    switch (dtype) {
    case IMGPAR_U8: memcpy(dst, src, n); break;
    case IMGPAR_BOOL:
        for (size_t i = 0; i < n; i++)
            dst[i] = src[i] ? 255 : 0;
        break;
    case IMGPAR_U16:
        for (size_t i = 0; i < n; i++) {
            uint16_t v;
            memcpy(&v, src + 2 * i, 2);
            dst[i] = (uint8_t)((v * 255u + 32767) / 65535); /* 65535 is odd: no ties */
        }
        break;
    case IMGPAR_F32:
        for (size_t i = 0; i < n; i++) {
            float v;
            memcpy(&v, src + 4 * i, 4);
            dst[i] = v >= 255.0f ? 255 : v > 0.0f ? (uint8_t)rintf(v) : 0; /* NaN is 0 */
        }
        break;
    default:
        for (size_t i = 0; i < n; i++)
            ip_store_number(IMGPAR_U8, dst + i, ip_load_number(dtype, src + i * size));
    }
}

static void to_16(imgpar_dtype dtype, const unsigned char *src, uint16_t *dst, size_t n)
{
    const size_t size = imgpar_dtype_size(dtype);
    switch (dtype) {
    case IMGPAR_U8:
        for (size_t i = 0; i < n; i++)
            dst[i] = (uint16_t)(src[i] * 257);
        break;
    case IMGPAR_BOOL:
        for (size_t i = 0; i < n; i++)
            dst[i] = src[i] ? 65535 : 0;
        break;
    case IMGPAR_U16: memcpy(dst, src, 2 * n); break;
    default:
        for (size_t i = 0; i < n; i++)
            ip_store_number(IMGPAR_U16, dst + i, ip_load_number(dtype, src + i * size));
    }
}

/* Whether to_8() and to_16() do what the range says: it is the dtype's own maximum, or numbers stay as they are. */
static bool is_plain(const ip_picture *p)
{
    const imgpar_dtype dtype = p->source->dtype;
    const bool has_look = dtype == IMGPAR_U8 || dtype == IMGPAR_U16 || dtype == IMGPAR_BOOL;
    return p->range == 0 || p->range == (has_look ? ip_dtype(dtype)->maximum : p->bits == 16 ? 65535 : 255);
}

/* The commonest case of scaled(), at several elements a step. */
static void scaled_f32(const ip_picture *p, const unsigned char *src, void *dst, size_t n)
{
    const double most = p->bits == 16 ? 65535 : 255;
    uint8_t *narrow = dst;
    uint16_t *wide = dst;
    for (size_t i = 0; i < n; i++) {
        float f;
        memcpy(&f, src + 4 * i, 4);
        double v = (double)f * most / p->range;
        v = v >= most ? most : v > 0 ? rint(v) : 0; /* NaN is 0 */
        if (p->bits == 16)
            wide[i] = (uint16_t)v;
        else
            narrow[i] = (uint8_t)v;
    }
}

static void scaled(const ip_picture *p, const unsigned char *src, void *dst, size_t n)
{
    const imgpar_dtype dtype = p->source->dtype;
    const size_t size = imgpar_dtype_size(dtype), sample = (size_t)p->bits / 8;
    const double most = p->bits == 16 ? 65535 : 255;
    for (size_t i = 0; i < n; i++) {
        const double v = ip_load_number(dtype, src + i * size) * most / p->range;
        ip_store_number(p->bits == 16 ? IMGPAR_U16 : IMGPAR_U8, (char *)dst + i * sample, v);
    }
}

void ip_picture_done(const ip_picture *p, size_t y)
{
    const ip_rows *rows = p->source->rows;
    if (rows) rows->done(rows->user, (int64_t)y);
}

bool ip_picture_row(const ip_picture *p, size_t y, void *dst)
{
    const imgpar_dtype dtype = p->source->dtype;
    const ip_rows *rows = p->source->rows;
    const size_t n = p->width * p->channels;
    const unsigned char *src = rows ? rows->row(rows->user, (int64_t)y)
                                    : (const unsigned char *)p->source->pixels + y * n * imgpar_dtype_size(dtype);
    if (!src) return false;
    if (!is_plain(p) && dtype == IMGPAR_F32)
        scaled_f32(p, src, dst, n);
    else if (!is_plain(p))
        scaled(p, src, dst, n);
    else if (p->bits == 16)
        to_16(dtype, src, dst, n);
    else
        to_8(dtype, src, dst, n);
    return true;
}
