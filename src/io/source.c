/* SPDX-License-Identifier: MIT */
/* What every decoder asks: is this damage tolerable, is this size allowed, go on? */
#include "io/codec.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

ip_source ip_source_of(const void *bytes, size_t n, const char *name, const ip_read_options *options)
{
    static const ip_read_options defaults = { .fail_on = IP_FAIL_ON_ERROR };
    const ip_read_options *o = options ? options : &defaults;
    return (ip_source){
        .bytes = bytes, .n = n, .total = n, .fd = -1, .name = name,
        .max_pixels = o->max_pixels ? o->max_pixels : IP_DEFAULT_MAX_PIXELS,
        .fail_on = o->fail_on, .poll = o->poll, .shrink = o->shrink, .warnings = o->warnings,
    };
}

imgpar_status ip_source_damaged(const ip_source *s, ip_damage damage, const char *format, const char *text,
                                ip_error *err)
{
    static const ip_fail_on fails_from[] = {
        [IP_DAMAGE_WARNING] = IP_FAIL_ON_WARNING,
        [IP_DAMAGE_READABLE] = IP_FAIL_ON_ERROR,
        [IP_DAMAGE_MISSING] = IP_FAIL_ON_TRUNCATED,
    };
    if (s->fail_on >= fails_from[damage])
        return ip_fail(err, IMGPAR_E_CORRUPT, "%s: %s: %s", s->name, format, text);
    if (s->warnings) ip_str_printf(s->warnings, "%s: %s: %s\n", s->name, format, text);
    return IMGPAR_OK;
}

imgpar_status ip_source_check_size(const ip_source *s, uint64_t width, uint64_t height, ip_error *err)
{
    if (width > IP_MAX_SIDE || height > IP_MAX_SIDE)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: %llu x %llu pixels: a side is above the limit of %d", s->name,
                       (unsigned long long)width, (unsigned long long)height, IP_MAX_SIDE);
    if (width * height > s->max_pixels)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: %llu x %llu pixels are above the limit of %llu (max_pixels)",
                       s->name, (unsigned long long)width, (unsigned long long)height,
                       (unsigned long long)s->max_pixels);
    return IMGPAR_OK;
}

imgpar_status ip_source_poll(const ip_source *s, double done, ip_error *err)
{
    if (!s->poll.stop || !s->poll.stop(s->poll.user, done)) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_INTERRUPTED, "%s: interrupted while reading", s->name);
}

imgpar_status ip_source_peek(const ip_source *s, uint64_t offset, void *dst, size_t n, bool *found, ip_error *err)
{
    *found = offset <= s->total && n <= s->total - offset;
    if (!*found) return IMGPAR_OK;
    if (offset <= s->n && n <= s->n - offset) {
        memcpy(dst, s->bytes + offset, n);
        return IMGPAR_OK;
    }
    if (s->fd < 0) {
        *found = false;
        return IMGPAR_OK;
    }
    for (size_t at = 0; at < n;) {
        ssize_t got = ip_fault(IP_FAULT_FILE) ? (errno = EIO, -1)
                                              : pread(s->fd, (char *)dst + at, n - at, (off_t)(offset + at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return ip_fail(err, IMGPAR_E_IO, "%s: reading failed", s->name);
        if (got == 0) {
            *found = false;
            return IMGPAR_OK;
        }
        at += (size_t)got;
    }
    return IMGPAR_OK;
}

void ip_header_picture(ip_header *h, ip_format format, imgpar_dtype dtype, uint64_t width, uint64_t height,
                       int channels, int orientation)
{
    bool is_turned = orientation >= 5;
    *h = (ip_header){
        .format = format, .dtype = dtype, .rank = 3, .orientation = orientation,
        .space = channels <= 2 ? IMGPAR_SPACE_GRAY : IMGPAR_SPACE_SRGB,
        .shape = { (int64_t)(is_turned ? width : height), (int64_t)(is_turned ? height : width), channels },
    };
}

imgpar_status ip_image_alloc(const ip_source *s, ip_image *image, ip_error *err)
{
    size_t n = imgpar_dtype_size(image->header.dtype);
    bool fits = true;
    for (int i = 0; i < image->header.rank; i++)
        fits = fits && ip_mul_size(n, (size_t)image->header.shape[i], &n);
    image->pixels = fits ? ip_zalloc(n) : NULL;
    if (!image->pixels)
        return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory for its pixels", s->name);
    image->size_bytes = n;
    return IMGPAR_OK;
}
