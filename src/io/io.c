/* SPDX-License-Identifier: MIT */
/* The table of formats, and decoding and encoding through it. */
#include "io/jpeg_metadata.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static const ip_codec codecs[IP_N_FORMATS] = {
    [IP_FORMAT_PNG] = { "png",
                        { "png" },
                        IP_MAX_SIDE,
                        ip_png_sniff,
                        ip_png_read,
                        ip_png_write,
                        ip_png_rows_held,
                        &ip_png_rows },
    [IP_FORMAT_JPEG] = { "jpeg",
                         { "jpg", "jpeg" },
                         IP_JPEG_MAX_SIDE,
                         ip_jpeg_sniff,
                         ip_jpeg_read,
                         ip_jpeg_write,
                         NULL,
                         &ip_jpeg_rows },
    [IP_FORMAT_NPY] = { "npy", { "npy" }, 0, ip_npy_sniff, ip_npy_read, ip_npy_write, NULL, &ip_npy_rows },
    [IP_FORMAT_PNM] = { "pnm",
                        { "pnm", "ppm", "pgm", "pam" },
                        IP_MAX_SIDE,
                        ip_pnm_sniff,
                        ip_pnm_read,
                        ip_pnm_write,
                        NULL,
                        &ip_pnm_rows },
    [IP_FORMAT_CUBE] = { "cube", { NULL }, 0, ip_cube_sniff, ip_cube_read, NULL, NULL, NULL }, /* read only */
    [IP_FORMAT_FONT] = { "font", { NULL }, 0, ip_font_sniff, ip_font_read, NULL, NULL, NULL }, /* the same */
};

const ip_codec *ip_codec_of(ip_format format) { return &codecs[format]; }

const char *ip_format_name(ip_format format) { return (unsigned)format < IP_N_FORMATS ? codecs[format].name : NULL; }

bool ip_format_find(const char *name, ip_format *format)
{
    for (int f = 0; f < IP_N_FORMATS; f++)
        for (const char *const *n = codecs[f].names; *n; n++)
            if (strcasecmp(*n, name) == 0) {
                *format = (ip_format)f;
                return true;
            }
    return false;
}

bool ip_io_is_font(const void *bytes, size_t n) { return ip_font_sniff(bytes, n); }

const char *ip_path_ending(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    return dot ? dot + 1 : NULL;
}

bool ip_format_from_path(const char *path, ip_format *format)
{
    const char *ending = ip_path_ending(path);
    return ending && ip_format_find(ending, format);
}

/* Files that people take for pictures, by what stands in them at a place: a message that says what they are says what
 * to do. */
static const struct {
    const char *name;
    size_t at;
    const char *bytes;
    size_t n;
} foreign[] = {
    { "a GIF", 0, "GIF8", 4 },
    { "a TIFF", 0, "II*\0", 4 },
    { "a TIFF", 0, "MM\0*", 4 },
    { "a TIFF", 0, "II+\0", 4 }, /* BigTIFF */
    { "a TIFF", 0, "MM\0+", 4 },
    { "a WebP", 8, "WEBP", 4 },
    { "an AVIF", 4, "ftypavi", 7 },
    { "an HEIC", 4, "ftyphei", 7 },
    { "an HEIC", 4, "ftyphev", 7 },
    { "an HEIC", 4, "ftypmif1", 8 },
    { "an HEIC", 4, "ftypmsf1", 8 },
    { "a JPEG 2000", 4, "jP  \r\n", 6 },
    { "a JPEG XL", 4, "JXL \r\n", 6 },
    { "a JPEG XL", 0, "\xff\x0a", 2 },
    { "a BMP", 6, "\0\0\0\0", 4 }, /* and BM, see is_foreign() */
    { "an OpenEXR", 0, "v/1\x01", 4 },
    { "a PSD", 0, "8BPS", 4 },
    { "a PDF", 0, "%PDF-", 5 },
    { "an SVG", 0, "<svg", 4 },
    { "an XML text, perhaps an SVG,", 0, "<?xml", 5 },
    { "compressed by gzip", 0, "\x1f\x8b", 2 },
    { "a ZIP, perhaps an NPZ,", 0, "PK\3\4", 4 },
    { "a WOFF, a font that woff2_decompress makes a TTF of,", 0, "wOF2", 4 },
    { "a WOFF, a compressed font,", 0, "wOFF", 4 },
    { "a deferred image of SQL, which png() finishes,", 0, "imgpar deferred image", 21 },
};

static bool is_foreign(const ip_source *s, size_t k)
{
    const size_t at = foreign[k].at, n = foreign[k].n;
    if (s->n < at + n || memcmp(s->bytes + at, foreign[k].bytes, n) != 0) return false;
    return at != 6 || memcmp(s->bytes, "BM", 2) == 0;
}

imgpar_status ip_codec_sniff(const ip_source *s, const ip_codec **codec, ip_error *err)
{
    static const char video[] = "YUV4MPEG2";
    *codec = NULL;
    if (s->n == 0) return ip_fail(err, IMGPAR_E_CORRUPT, "%s: it is empty, not an image", s->name);
    for (int f = 0; f < IP_N_FORMATS && !*codec; f++)
        if (codecs[f].sniff(s->bytes, s->n)) *codec = &codecs[f];
    if (*codec) return IMGPAR_OK;
    if (s->n >= sizeof video - 1 && memcmp(s->bytes, video, sizeof video - 1) == 0)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED,
                       "%s: cannot read it: it is a video, which imgpar-run reads: imgpar-run -e '... $1 ...' FILE.y4m",
                       s->name);
    for (size_t k = 0; k < sizeof foreign / sizeof *foreign; k++)
        if (is_foreign(s, k))
            return ip_fail(err, IMGPAR_E_UNSUPPORTED,
                           "%s: cannot read it: it is %s and neither PNG, JPEG, NPY, PNM, .cube nor a font", s->name,
                           foreign[k].name);
    return ip_fail(err, IMGPAR_E_CORRUPT, "%s: not an image: neither PNG, JPEG, NPY, PNM, .cube nor a font", s->name);
}

imgpar_status ip_source_probe(const ip_source *s, ip_header *header, ip_error *err)
{
    const ip_codec *codec;
    ip_source quiet = *s;
    quiet.warnings = NULL; /* decoding will tell them */
    memset(header, 0, sizeof *header);
    imgpar_status st = ip_codec_sniff(s, &codec, err);
    return st ? st : codec->read(&quiet, header, NULL, err);
}

imgpar_status ip_source_decode(const ip_source *s, ip_image *image, ip_error *err)
{
    const ip_codec *codec;
    ip_header header;
    memset(image, 0, sizeof *image);
    imgpar_status st = ip_codec_sniff(s, &codec, err);
    if (st) return st;
    st = codec->read(s, &header, image, err);
    if (st) ip_image_release(image);
    return st;
}

imgpar_status ip_io_probe(const void *bytes, size_t n, const char *name, const ip_read_options *options,
                          ip_header *header, ip_error *err)
{
    const ip_source s = ip_source_of(bytes, n, name, options);
    return ip_source_probe(&s, header, err);
}

imgpar_status ip_io_decode(const void *bytes, size_t n, const char *name, const ip_read_options *options,
                           ip_image *image, ip_error *err)
{
    const ip_source s = ip_source_of(bytes, n, name, options);
    return ip_source_decode(&s, image, err);
}

void ip_image_release(ip_image *image)
{
    ip_free(image->pixels);
    memset(image, 0, sizeof *image);
}

imgpar_status ip_io_check_settings(ip_format format, const char *settings, ip_error *err)
{
    ip_settings parsed;
    return ip_settings_parse(format, settings, &parsed, err);
}

/* "pgm" promises gray and "ppm" RGB, whatever PNM holds: their readers would not expect anything else. */
static imgpar_status check_kind(const char *name, size_t channels, ip_error *err)
{
    bool is_pgm = strcasecmp(name, "pgm") == 0, is_ppm = strcasecmp(name, "ppm") == 0;
    if (!is_pgm && !is_ppm) return IMGPAR_OK;
    if (channels % 2 == 0)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED,
                       "%s holds no alpha, and the image has %zu channels; .pam and .png hold it", name, channels);
    if (is_pgm && channels == 3)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED,
                       "%s holds one gray channel, and the image has 3; .ppm and .pnm hold them, gray() makes "
                       "one of them",
                       name);
    if (is_ppm && channels == 1)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED,
                       "%s holds red, green and blue, and the image is gray; .pgm and .pnm hold it", name);
    return IMGPAR_OK;
}

imgpar_status ip_io_check_pixels(const ip_pixels *pixels, ip_format format, const char *name, ip_error *err)
{
    ip_picture picture;
    if (codecs[format].max_side == 0) return IMGPAR_OK;
    imgpar_status st = ip_picture_of(pixels, format, -1, &picture, err);
    return st || !name ? st : check_kind(name, picture.channels, err);
}

double ip_io_least_bytes(const ip_pixels *pixels, ip_format format)
{
    double bytes = format == IP_FORMAT_NPY ? (double)ip_dtype(pixels->dtype)->size_bytes : format == IP_FORMAT_PNM;
    for (int k = 0; k < pixels->rank; k++)
        bytes *= (double)pixels->shape[k];
    return bytes;
}

imgpar_status ip_io_check_exact(const ip_pixels *p, ip_format format, const char *settings, ip_error *err)
{
    bool is_sampled = p->dtype == IMGPAR_U8 || p->dtype == IMGPAR_U16 || p->dtype == IMGPAR_BOOL;
    if (settings && *settings)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "exact values take no settings, not \"%s\"", settings);
    if (format == IP_FORMAT_NPY || (format == IP_FORMAT_PNG && is_sampled && p->rank >= 2)) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_UNSUPPORTED, "%s does not give back %s of rank %d exactly; npy does",
                   codecs[format].name, imgpar_dtype_name(p->dtype), p->rank);
}

imgpar_status ip_look_begin(const ip_pixels *p, ip_format format, const char *settings, ip_looker *l, ip_error *err)
{
    ip_settings parsed = { .range = 0 };
    *l = (ip_looker){ .dtype = p->dtype, .is_fine = true };
    if (p->dtype == IMGPAR_U8 || p->dtype == IMGPAR_BOOL || codecs[format].max_side == 0) return IMGPAR_OK;
    imgpar_status st = ip_settings_parse(format, settings, &parsed, err);
    if (st || parsed.range > 0 || (p->white > 0 && p->white <= 1)) return st;
    l->is_fine = false;
    l->most = p->white > 0 ? INFINITY : parsed.value[IP_SET_BITS] == 16 ? 65535 : 255;
    l->least = ip_dtype(p->dtype)->is_float ? 1 : 0;
    return IMGPAR_OK;
}

void ip_look_at(ip_looker *l, const void *elements, size_t size_bytes)
{
    const size_t size = imgpar_dtype_size(l->dtype);
    for (size_t at = 0; at < size_bytes && !l->is_fine; at += size) {
        const double v = ip_load_number(l->dtype, (const char *)elements + at);
        l->any_low |= !(v > l->least);
        l->any_high |= v > l->most;
        l->any_far |= v > 65535;
        l->is_above_0 |= v > 0;
        l->is_below_0 |= v < 0;
        l->is_fine = (v > l->least && v <= l->most) || (l->any_low && l->any_high);
    }
}

ip_look ip_look_told(const ip_looker *l)
{
    if (l->is_fine) return IP_LOOKS_FINE;
    if (l->any_high) return l->any_far ? IP_LOOKS_BEYOND : IP_LOOKS_WHITE;
    if (l->is_above_0) return ip_dtype(l->dtype)->is_float ? IP_LOOKS_BLACK : IP_LOOKS_FINE;
    return l->is_below_0 ? IP_LOOKS_NEGATIVE : IP_LOOKS_FINE;
}

imgpar_status ip_io_look(const ip_pixels *p, ip_format format, const char *settings, const ip_poll *poll, ip_look *look,
                         ip_error *err)
{
    enum { N_A_POLL = 1 << 20 };
    ip_looker looker;
    size_t n = 1, size = imgpar_dtype_size(p->dtype);
    imgpar_status st = ip_look_begin(p, format, settings, &looker, err);
    for (int i = 0; i < p->rank; i++)
        n *= (size_t)p->shape[i];
    for (size_t i = 0; i < n && !st && !looker.is_fine; i += N_A_POLL) {
        ip_look_at(&looker, (const char *)p->pixels + i * size, (n - i < N_A_POLL ? n - i : N_A_POLL) * size);
        if (poll->stop && poll->stop(poll->user, 0))
            st = ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted while encoding %s", codecs[format].name);
    }
    *look = st ? IP_LOOKS_FINE : ip_look_told(&looker);
    return st;
}

imgpar_status ip_io_losses(const ip_pixels *pixels, ip_format format, const char *settings, ip_str *lines,
                           ip_error *err)
{
    const ip_metadata *m = pixels->metadata;
    ip_settings parsed;
    char name[96];
    imgpar_status st = ip_settings_parse(format, settings, &parsed, err);
    if (st || !m) return st;
    if (format == IP_FORMAT_JPEG && parsed.value[IP_SET_METADATA] != 0) ip_jpeg_losses(m, lines);
    if ((format == IP_FORMAT_NPY || format == IP_FORMAT_PNM) && !m->colour.is_srgb)
        ip_str_printf(lines, "%s holds no colour profile: the numbers are those of %s, and will be taken for sRGB\n",
                      codecs[format].name, ip_metadata_colour_name(m, name));
    return IMGPAR_OK;
}

imgpar_status ip_sink_settle(ip_sink *sink, ip_error *err)
{
    enum { SETTLED_BYTES = 256 << 10 };
    if (!sink->put || sink->text.length < SETTLED_BYTES) return IMGPAR_OK;
    imgpar_status st = sink->put(sink->user, sink->text.text, sink->text.length, err);
    ip_str_clear(&sink->text);
    return st;
}

static imgpar_status encode(const ip_pixels *pixels, ip_format format, const char *settings, const ip_poll *poll,
                            ip_sink *out, ip_error *err)
{
    ip_settings parsed;
    imgpar_status st = ip_settings_parse(format, settings, &parsed, err);
    if (!st) st = codecs[format].write(pixels, &parsed, poll, out, err);
    if (!st && out->text.failed)
        st = ip_fail(err, IMGPAR_E_HOST_MEMORY, "out of host memory while encoding %s", codecs[format].name);
    return st;
}

imgpar_status ip_io_encode(const ip_pixels *pixels, ip_format format, const char *settings, const ip_poll *poll,
                           void **bytes, size_t *n, ip_error *err)
{
    ip_sink out = { .text = IP_STR_INIT };
    *bytes = NULL;
    *n = 0;
    imgpar_status st = encode(pixels, format, settings, poll, &out, err);
    if (st) {
        ip_str_free(&out.text);
        return st;
    }
    *n = out.text.length;
    *bytes = ip_str_take(&out.text);
    return IMGPAR_OK;
}

imgpar_status ip_io_encode_to(const ip_pixels *pixels, ip_format format, const char *settings, const ip_poll *poll,
                              ip_put put, void *user, ip_error *err)
{
    ip_sink out = { .text = IP_STR_INIT, .put = put, .user = user };
    imgpar_status st = encode(pixels, format, settings, poll, &out, err);
    if (!st && out.text.length > 0) st = put(user, out.text.text, out.text.length, err);
    ip_str_free(&out.text);
    return st;
}

imgpar_status ip_io_rows_held(const ip_pixels *pixels, ip_format format, const char *settings, size_t *n, ip_error *err)
{
    ip_settings parsed;
    ip_picture picture;
    *n = 1;
    imgpar_status st = ip_settings_parse(format, settings, &parsed, err);
    if (st || !codecs[format].rows_held) return st;
    st = ip_picture_of(pixels, format, parsed.value[IP_SET_BITS], &picture, err);
    if (!st) *n = codecs[format].rows_held(&picture);
    return st;
}
