/* SPDX-License-Identifier: MIT */
#include "io/jpeg_metadata.h"

#include "base/alloc.h"
#include "io/exif.h"

#include <math.h>
#include <string.h>

/* What segments of each kind begin with. */
static const char jfif_name[] = "JFIF";                           /* with its zero */
static const char exif_name[] = "Exif\0";                         /* with two */
static const char xmp_name[] = "http://ns.adobe.com/xap/1.0/";    /* with its zero */
static const char icc_name[] = "ICC_PROFILE";                     /* with its zero; then number and count */
enum {
    MAX_SEGMENT = 65533,
    MAX_EXIF = MAX_SEGMENT - (int)sizeof exif_name,
    MAX_XMP = MAX_SEGMENT - (int)sizeof xmp_name,
    ICC_HEAD = (int)sizeof icc_name + 2,
    MAX_PART = MAX_SEGMENT - ICC_HEAD
};

static bool begins(const unsigned char *body, size_t n, const char *name, size_t n_name)
{
    return n >= n_name && memcmp(body, name, n_name) == 0;
}

/* ---- reading ------------------------------------------------------------------------------ */

static void note_density(ip_jpeg_segments *found, const unsigned char *p)
{
    const double x = p[1] << 8 | p[2], y = p[3] << 8 | p[4];
    const double a_metre = p[0] == 1 ? 1 / 0.0254 : p[0] == 2 ? 100 : 0; /* inches, centimetres */
    found->resolution = (ip_resolution){ x * a_metre, y * a_metre };
}

static void note_part(ip_jpeg_segments *found, const unsigned char *p, size_t n)
{
    const int number = p[0], count = p[1];
    if (found->n_icc == 0) found->n_icc = count;
    if (number < 1 || number > count || count != found->n_icc || found->icc[number - 1].bytes) found->is_icc_damaged = true;
    else found->icc[number - 1] = (ip_jpeg_part){ p + 2, n - 2 };
}

void ip_jpeg_note_segment(ip_jpeg_segments *found, int code, const unsigned char *body, size_t n)
{
    if (code == 0xe0 && begins(body, n, jfif_name, sizeof jfif_name) && n >= 12)
        note_density(found, body + 7);
    else if (code == 0xe1 && !found->exif.bytes && begins(body, n, exif_name, sizeof exif_name))
        found->exif = (ip_jpeg_part){ body + sizeof exif_name, n - sizeof exif_name };
    else if (code == 0xe1 && !found->xmp.bytes && begins(body, n, xmp_name, sizeof xmp_name))
        found->xmp = (ip_jpeg_part){ body + sizeof xmp_name, n - sizeof xmp_name };
    else if (code == 0xe2 && begins(body, n, icc_name, sizeof icc_name) && n > ICC_HEAD)
        note_part(found, body + sizeof icc_name, n - sizeof icc_name);
}

/* The whole profile; no bytes where parts are missing. At most 255 segments: below IP_MAX_BLOB_BYTES. */
static imgpar_status join_parts(const ip_source *s, const ip_jpeg_segments *found, ip_blob *icc, ip_error *err)
{
    size_t n = 0;
    bool is_whole = !found->is_icc_damaged;
    *icc = (ip_blob){ NULL, 0 };
    for (int k = 0; k < found->n_icc; k++) {
        is_whole = is_whole && found->icc[k].bytes;
        n += found->icc[k].n;
    }
    if (!is_whole) return IMGPAR_OK;
    icc->bytes = ip_alloc(n);
    if (!icc->bytes) return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", s->name);
    for (int k = 0; k < found->n_icc; k++) {
        memcpy(icc->bytes + icc->n, found->icc[k].bytes, found->icc[k].n);
        icc->n += found->icc[k].n;
    }
    return IMGPAR_OK;
}

static void set_adobe_rgb(ip_colour *c)
{
    static const uint32_t adobe_rgb[8] = { 31270, 32900, 64000, 33000, 21000, 71000, 15000, 6000 };
    c->has_gamma = c->has_primaries = true;
    c->gamma = 45470; /* 256/563 */
    memcpy(c->primaries, adobe_rgb, sizeof adobe_rgb);
}

imgpar_status ip_jpeg_read_metadata(const ip_source *s, const ip_jpeg_segments *found, ip_metadata *contents, ip_error *err)
{
    ip_blob icc;
    imgpar_status st = IMGPAR_OK;
    if (found->n_icc || found->is_icc_damaged) {
        st = join_parts(s, found, &icc, err);
        if (!st) st = ip_source_take_icc(s, "JPEG", icc, contents, err);
    }
    if (!st && found->exif.bytes) st = ip_source_take_exif(s, "JPEG", found->exif.bytes, found->exif.n, contents, err);
    if (!st && found->xmp.bytes) st = ip_source_take_xmp(s, found->xmp.bytes, found->xmp.n, contents, err);
    contents->resolution = found->resolution;
    if (!(contents->resolution.x > 0) && contents->exif.bytes) contents->resolution = ip_exif_resolution(&contents->exif);
    if (!contents->colour.icc.bytes && contents->exif.bytes && ip_exif_is_adobe_rgb(&contents->exif))
        set_adobe_rgb(&contents->colour);
    return st;
}

/* ---- writing ------------------------------------------------------------------------------ */

imgpar_status ip_jpeg_output_make(const ip_picture *picture, bool is_all, ip_jpeg_output *output, ip_error *err)
{
    const ip_metadata *m = picture->source->metadata;
    *output = (ip_jpeg_output){ .metadata = m, .is_all = is_all };
    if (!m) return IMGPAR_OK;
    imgpar_status st = ip_colour_profile(&m->colour, picture->channels <= 2, &output->icc, &output->is_icc_made, err);
    if (st) return st;
    if (output->icc.n > (size_t)MAX_PART * IP_JPEG_MAX_PARTS)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "jpeg: the colour profile has %zu bytes, and a JPEG holds %zu", output->icc.n,
                       (size_t)MAX_PART * IP_JPEG_MAX_PARTS);
    if (!is_all || !m->exif.bytes || m->exif.n > MAX_EXIF) return IMGPAR_OK;
    output->exif.bytes = ip_alloc(sizeof exif_name + m->exif.n);
    if (!output->exif.bytes) return ip_fail_memory(err, "encoding jpeg");
    output->exif.n = sizeof exif_name + m->exif.n;
    memcpy(output->exif.bytes, exif_name, sizeof exif_name);
    memcpy(output->exif.bytes + sizeof exif_name, m->exif.bytes, m->exif.n);
    ip_blob block = { output->exif.bytes + sizeof exif_name, m->exif.n };
    ip_exif_set_size(&block, (uint32_t)picture->width, (uint32_t)picture->height);
    return IMGPAR_OK;
}

void ip_jpeg_output_free(ip_jpeg_output *output)
{
    ip_free(output->exif.bytes);
    if (output->is_icc_made) ip_free(output->icc.bytes);
}

static bool is_density(double v) { return v >= 0.5 && v < 65535; }

/* In dots per inch, unless only dots per centimetre are whole numbers. */
void ip_jpeg_set_resolution(j_compress_ptr c, const ip_jpeg_output *output)
{
    if (!output->metadata || !output->is_all) return;
    const ip_resolution *r = &output->metadata->resolution;
    const double x = r->x * 0.0254, y = r->y * 0.0254;
    if (!is_density(x) || !is_density(y)) return;
    const bool is_metric = fabs(x - round(x)) > 0.01 && fabs(r->x / 100 - round(r->x / 100)) < 0.001 && is_density(r->y / 100);
    c->density_unit = is_metric ? 2 : 1;
    c->X_density = (UINT16)lround(is_metric ? r->x / 100 : x);
    c->Y_density = (UINT16)lround(is_metric ? r->y / 100 : y);
}

static void write_parts(j_compress_ptr c, const ip_blob *icc)
{
    const size_t count = (icc->n + MAX_PART - 1) / MAX_PART;
    for (size_t k = 0; k < count; k++) {
        const size_t at = k * MAX_PART, n = icc->n - at < MAX_PART ? icc->n - at : MAX_PART;
        jpeg_write_m_header(c, JPEG_APP0 + 2, (unsigned)(ICC_HEAD + n));
        for (size_t i = 0; i < sizeof icc_name; i++)
            jpeg_write_m_byte(c, icc_name[i]);
        jpeg_write_m_byte(c, (int)k + 1);
        jpeg_write_m_byte(c, (int)count);
        for (size_t i = 0; i < n; i++)
            jpeg_write_m_byte(c, icc->bytes[at + i]);
    }
}

void ip_jpeg_write_metadata(j_compress_ptr c, const ip_jpeg_output *output)
{
    const ip_metadata *m = output->metadata;
    if (output->exif.bytes) jpeg_write_marker(c, JPEG_APP0 + 1, output->exif.bytes, (unsigned)output->exif.n);
    if (m && output->is_all && m->xmp.bytes && m->xmp.n <= MAX_XMP) {
        jpeg_write_m_header(c, JPEG_APP0 + 1, (unsigned)(sizeof xmp_name + m->xmp.n));
        for (size_t i = 0; i < sizeof xmp_name; i++)
            jpeg_write_m_byte(c, xmp_name[i]);
        for (size_t i = 0; i < m->xmp.n; i++)
            jpeg_write_m_byte(c, m->xmp.bytes[i]);
    }
    if (output->icc.bytes) write_parts(c, &output->icc);
}

void ip_jpeg_losses(const ip_metadata *m, ip_str *lines)
{
    if (m->exif.n > MAX_EXIF)
        ip_str_printf(lines, "jpeg: EXIF of %zu bytes is left out; a JPEG holds %d\n", m->exif.n, MAX_EXIF);
    if (m->xmp.n > MAX_XMP)
        ip_str_printf(lines, "jpeg: XMP of %zu bytes is left out; a JPEG holds %d\n", m->xmp.n, MAX_XMP);
}
