/* SPDX-License-Identifier: MIT */
/* What every decoder asks: is this damage tolerable, is this size allowed, go on? */
#include "io/exif.h"
#include "io/icc.h"
#include "io/iptc.h"
#include "io/xmp.h"

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
        .bytes = bytes,
        .n = n,
        .total = n,
        .fd = -1,
        .name = name,
        .max_pixels = o->max_pixels ? o->max_pixels : IP_DEFAULT_MAX_PIXELS,
        .counts_held = o->counts_held,
        .fail_on = o->fail_on,
        .poll = o->poll,
        .shrink = o->shrink,
        .warnings = o->warnings,
        .metadata = o->metadata,
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
    if (s->fail_on >= fails_from[damage]) return ip_fail(err, IMGPAR_E_CORRUPT, "%s: %s: %s", s->name, format, text);
    if (s->warnings) ip_str_printf(s->warnings, "%s: %s: %s\n", s->name, format, text);
    return IMGPAR_OK;
}

imgpar_status ip_source_check_size(const ip_source *s, uint64_t width, uint64_t height, bool has_rows, ip_error *err)
{
    if (width > IP_MAX_SIDE || height > IP_MAX_SIDE)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: %llu x %llu pixels: a side is above the limit of %d", s->name,
                       (unsigned long long)width, (unsigned long long)height, IP_MAX_SIDE);
    if (width * height > s->max_pixels && !(has_rows && s->counts_held))
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: %llu x %llu pixels are above the limit of %llu " IP_MAX_PIXELS_HINT,
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
        ssize_t got =
            ip_fault(IP_FAULT_FILE) ? (errno = EIO, -1) : pread(s->fd, (char *)dst + at, n - at, (off_t)(offset + at));
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

/* ---- the bytes behind the first ones --------------------------------------------------------------- */

enum { FEED_BYTES = 256 << 10 };

ip_feed ip_feed_of(const ip_source *s) { return (ip_feed){ .s = s, .at = s->n }; }

imgpar_status ip_feed_next(ip_feed *f, const unsigned char **bytes, size_t *n, ip_error *err)
{
    bool found;
    *n = 0;
    if (!f->s || f->s->fd < 0 || f->at >= f->s->total) return IMGPAR_OK;
    if (!f->piece && !(f->piece = ip_alloc(FEED_BYTES)))
        return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", f->s->name);
    const uint64_t left = f->s->total - f->at;
    const size_t wanted = left < FEED_BYTES ? (size_t)left : FEED_BYTES;
    imgpar_status st = ip_source_peek(f->s, f->at, f->piece, wanted, &found, err);
    if (st) return st;
    if (!found) return ip_fail(err, IMGPAR_E_IO, "%s: became shorter while it was read", f->s->name);
    f->at += wanted;
    *bytes = f->piece;
    *n = wanted;
    return IMGPAR_OK;
}

void ip_feed_end(ip_feed *f)
{
    ip_free(f->piece);
    f->piece = NULL;
}

/* ---- what stands beside the pixels ----------------------------------------------------------------- */

/* Of a block that was cleaned with status st: damage is a warning, and the block is left out. */
static imgpar_status after_cleaning(const ip_source *s, const char *format, imgpar_status st, const char *damage,
                                    ip_error *err)
{
    if (st == IMGPAR_E_CORRUPT) return ip_source_damaged(s, IP_DAMAGE_WARNING, format, damage, err);
    return st ? ip_fail(err, st, "%s: out of host memory while reading it", s->name) : IMGPAR_OK;
}

imgpar_status ip_source_take_exif(const ip_source *s, const char *format, const unsigned char *bytes, size_t n,
                                  ip_metadata *contents, ip_error *err)
{
    ip_error why = { 0 };
    imgpar_status st = ip_exif_clean(bytes, n, &contents->exif, &why);
    return after_cleaning(s, format, st, "EXIF is damaged, and left out", err);
}

imgpar_status ip_source_take_xmp(const ip_source *s, const unsigned char *bytes, size_t n, ip_metadata *contents,
                                 ip_error *err)
{
    ip_blob *xmp = &contents->xmp;
    if (n == 0 || n > IP_MAX_BLOB_BYTES) return IMGPAR_OK;
    if (!ip_blob_copy(xmp, bytes, n))
        return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", s->name);
    ip_xmp_clean(xmp);
    if (xmp->n > 0) return IMGPAR_OK;
    ip_free(xmp->bytes);
    xmp->bytes = NULL;
    return IMGPAR_OK;
}

void ip_source_take_xmp_extension(ip_blob takes, const char *digest, ip_metadata *contents)
{
    ip_xmp_clean(&takes);
    if (takes.n > 0 && ip_xmp_is_pointer(&contents->xmp, digest)) { /* jpeg_metadata.c, Note [Long packets] */
        ip_free(contents->xmp.bytes);
        contents->xmp = takes;
    } else if (takes.n > 0) {
        contents->xmp_extension = takes;
        memcpy(contents->xmp_digest, digest, IP_XMP_DIGEST);
    } else {
        ip_free(takes.bytes);
    }
}

imgpar_status ip_source_take_iptc(const ip_source *s, const char *format, const unsigned char *bytes, size_t n,
                                  ip_metadata *contents, ip_error *err)
{
    ip_error why = { 0 };
    imgpar_status st = ip_iptc_clean(bytes, n, &contents->iptc, &why);
    return after_cleaning(s, format, st, "IPTC is damaged, and left out", err);
}

imgpar_status ip_source_take_icc(const ip_source *s, const char *format, ip_blob takes, ip_metadata *contents,
                                 ip_error *err)
{
    ip_colour *colour = &contents->colour;
    if (takes.bytes && ip_icc_check(takes.bytes, takes.n, &colour->is_icc_gray)) {
        colour->icc = takes;
        return IMGPAR_OK;
    }
    const bool is_of_inks = takes.bytes && ip_icc_is_whole(takes.bytes, takes.n); /* which the pixels no longer are */
    ip_free(takes.bytes);
    if (is_of_inks) return IMGPAR_OK;
    return ip_source_damaged(s, IP_DAMAGE_WARNING, format, "the colour profile is damaged or too large, and left out",
                             err);
}

imgpar_status ip_source_give_metadata(const ip_source *s, ip_metadata *contents, bool is_turned, ip_error *err)
{
    const ip_resolution r = contents->resolution;
    const bool has_any = ip_colour_is_told(&contents->colour) || contents->exif.bytes || contents->xmp.bytes ||
                         contents->iptc.bytes || r.x > 0;
    if (!s->metadata || !has_any) {
        ip_metadata_clear(contents);
        return IMGPAR_OK;
    }
    ip_colour_settle(&contents->colour);
    if (is_turned) contents->resolution = (ip_resolution){ r.y, r.x };
    *s->metadata = ip_metadata_new(contents);
    return *s->metadata ? IMGPAR_OK
                        : ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", s->name);
}

void ip_header_picture(ip_header *h, ip_format format, imgpar_dtype dtype, uint64_t width, uint64_t height,
                       int channels, int orientation)
{
    bool is_turned = orientation >= 5;
    *h = (ip_header){
        .format = format,
        .dtype = dtype,
        .rank = 3,
        .orientation = orientation,
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
    if (!image->pixels) return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory for its pixels", s->name);
    image->size_bytes = n;
    return IMGPAR_OK;
}
