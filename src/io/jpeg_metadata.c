/* SPDX-License-Identifier: MIT */
#include "io/jpeg_metadata.h"

#include "base/alloc.h"
#include "base/integers.h"
#include "io/exif.h"
#include "io/iptc.h"
#include "io/xmp.h"

#include <math.h>
#include <string.h>

/* What segments of each kind begin with. */
static const char jfif_name[] = "JFIF";                        /* with its zero */
static const char exif_name[] = "Exif\0";                      /* with two */
static const char xmp_name[] = "http://ns.adobe.com/xap/1.0/"; /* with its zero */
/* With its zero; then digest, size of all, place. */
static const char extension_name[] = "http://ns.adobe.com/xmp/extension/";
static const char resources_name[] = "Photoshop 3.0"; /* with its zero */
static const char icc_name[] = "ICC_PROFILE";         /* with its zero; then number and count */
enum {
    MAX_SEGMENT = 65533,
    MAX_EXIF = MAX_SEGMENT - (int)sizeof exif_name,
    MAX_XMP = MAX_SEGMENT - (int)sizeof xmp_name,
    ICC_HEAD = (int)sizeof icc_name + 2,
    MAX_PART = MAX_SEGMENT - ICC_HEAD,
    EXTENSION_HEAD = (int)sizeof extension_name + IP_XMP_DIGEST + 8,
    MAX_EXTENSION_PART = MAX_SEGMENT - EXTENSION_HEAD,
    MAX_RESOURCES_PART = MAX_SEGMENT - (int)sizeof resources_name
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
    if (number < 1 || number > count || count != found->n_icc || found->icc[number - 1].bytes)
        found->is_icc_damaged = true;
    else
        found->icc[number - 1] = (ip_jpeg_part){ p + 2, n - 2 };
}

static void note_piece(ip_jpeg_pieces *pieces, const unsigned char *p, size_t n)
{
    if (pieces->n < IP_JPEG_MAX_PIECES)
        pieces->of[pieces->n++] = (ip_jpeg_part){ p, n };
    else
        pieces->is_full = true;
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
    else if (code == 0xe1 && begins(body, n, extension_name, sizeof extension_name) && n > EXTENSION_HEAD)
        note_piece(&found->extension, body + sizeof extension_name, n - sizeof extension_name);
    else if (code == 0xed && begins(body, n, resources_name, sizeof resources_name))
        note_piece(&found->resources, body + sizeof resources_name, n - sizeof resources_name);
}

static imgpar_status fail_memory(const ip_source *s, ip_error *err)
{
    return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", s->name);
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
    if (!icc->bytes) return fail_memory(s, err);
    for (int k = 0; k < found->n_icc; k++) {
        memcpy(icc->bytes + icc->n, found->icc[k].bytes, found->icc[k].n);
        icc->n += found->icc[k].n;
    }
    return IMGPAR_OK;
}

/* The digest by which the packet names its extension; NULL: it names none. */
static const char *named_extension(const ip_blob *xmp)
{
    static const char note[] = "HasExtendedXMP";
    for (size_t at = 0; at + sizeof note + 3 + IP_XMP_DIGEST <= xmp->n; at++) {
        if (memcmp(xmp->bytes + at, note, sizeof note - 1) != 0) continue;
        at += sizeof note - 1;
        while (at + IP_XMP_DIGEST < xmp->n && xmp->bytes[at] && strchr(" \t\r\n='\">", xmp->bytes[at]))
            at++;
        return at + IP_XMP_DIGEST < xmp->n ? (const char *)xmp->bytes + at : NULL;
    }
    return NULL;
}

/* The piece of the packet so called that begins at a place; NULL: there is none. */
static const ip_jpeg_part *find_piece(const ip_jpeg_pieces *pieces, const char *digest, size_t place)
{
    for (int k = 0; k < pieces->n; k++) {
        const unsigned char *p = pieces->of[k].bytes;
        if (memcmp(p, digest, IP_XMP_DIGEST) == 0 && ip_get32(p + IP_XMP_DIGEST + 4) == place) return &pieces->of[k];
    }
    return NULL;
}

/* The packet so called; no bytes where its pieces do not make one. */
static imgpar_status join_extension(const ip_source *s, const ip_jpeg_pieces *pieces, const char *digest,
                                    ip_blob *packet, ip_error *err)
{
    enum { HEAD = IP_XMP_DIGEST + 8 };
    const ip_jpeg_part *piece = find_piece(pieces, digest, 0);
    const size_t n = piece ? ip_get32(piece->bytes + IP_XMP_DIGEST) : 0;
    *packet = (ip_blob){ NULL, 0 };
    if (n == 0 || n > IP_MAX_BLOB_BYTES || pieces->is_full) return IMGPAR_OK;
    packet->bytes = ip_alloc(n);
    if (!packet->bytes) return fail_memory(s, err);
    while (piece && ip_get32(piece->bytes + IP_XMP_DIGEST) == n && piece->n - HEAD <= n - packet->n) {
        memcpy(packet->bytes + packet->n, piece->bytes + HEAD, piece->n - HEAD);
        packet->n += piece->n - HEAD;
        if (packet->n == n) return IMGPAR_OK;
        piece = find_piece(pieces, digest, packet->n);
    }
    ip_free(packet->bytes);
    *packet = (ip_blob){ NULL, 0 };
    return IMGPAR_OK;
}

/* A packet that the first one does not name is not the picture's, and left out as the specification has it. */
static imgpar_status read_extension(const ip_source *s, const ip_jpeg_segments *found, ip_metadata *contents,
                                    ip_error *err)
{
    const char *digest = contents->xmp.bytes && found->extension.n ? named_extension(&contents->xmp) : NULL;
    ip_blob packet;
    if (!digest) return IMGPAR_OK;
    imgpar_status st = join_extension(s, &found->extension, digest, &packet, err);
    if (st) return st;
    if (!packet.bytes)
        return ip_source_damaged(s, IP_DAMAGE_WARNING, "JPEG", "extended XMP is damaged or too large, and left out",
                                 err);
    ip_source_take_xmp_extension(packet, digest, contents);
    return IMGPAR_OK;
}

/* A resource may begin in one segment and end in the next. */
static imgpar_status read_resources(const ip_source *s, const ip_jpeg_pieces *pieces, ip_metadata *contents,
                                    ip_error *err)
{
    size_t n = 0;
    for (int k = 0; k < pieces->n; k++)
        n += pieces->of[k].n;
    if (n == 0) return IMGPAR_OK;
    if (pieces->is_full) return ip_source_damaged(s, IP_DAMAGE_WARNING, "JPEG", "IPTC is too large, and left out", err);
    unsigned char *all = ip_alloc(n), *to = all;
    if (!all) return fail_memory(s, err);
    for (int k = 0; k < pieces->n; k++) {
        memcpy(to, pieces->of[k].bytes, pieces->of[k].n);
        to += pieces->of[k].n;
    }
    imgpar_status st = ip_source_take_iptc(s, "JPEG", all, n, contents, err);
    ip_free(all);
    return st;
}

static void set_adobe_rgb(ip_colour *c)
{
    static const uint32_t adobe_rgb[8] = { 31270, 32900, 64000, 33000, 21000, 71000, 15000, 6000 };
    c->has_gamma = c->has_primaries = true;
    c->gamma = 45470; /* 256/563 */
    memcpy(c->primaries, adobe_rgb, sizeof adobe_rgb);
}

imgpar_status ip_jpeg_read_metadata(const ip_source *s, const ip_jpeg_segments *found, ip_metadata *contents,
                                    ip_error *err)
{
    ip_blob icc;
    imgpar_status st = IMGPAR_OK;
    if (found->n_icc || found->is_icc_damaged) {
        st = join_parts(s, found, &icc, err);
        if (!st) st = ip_source_take_icc(s, "JPEG", icc, contents, err);
    }
    if (!st && found->exif.bytes) st = ip_source_take_exif(s, "JPEG", found->exif.bytes, found->exif.n, contents, err);
    if (!st && found->xmp.bytes) st = ip_source_take_xmp(s, found->xmp.bytes, found->xmp.n, contents, err);
    if (!st) st = read_extension(s, found, contents, err);
    if (!st) st = read_resources(s, &found->resources, contents, err);
    contents->resolution = found->resolution;
    if (!(contents->resolution.x > 0) && contents->exif.bytes)
        contents->resolution = ip_exif_resolution(&contents->exif);
    if (!contents->colour.icc.bytes && contents->exif.bytes && ip_exif_is_adobe_rgb(&contents->exif))
        set_adobe_rgb(&contents->colour);
    return st;
}

/* ---- writing ------------------------------------------------------------------------------ */

/*
 * Note [Long packets]
 * A packet of more than a segment stands in the extension as a whole, and the first packet says nothing but where. To
 * part it, as the specification advises, its RDF would have to be understood. What was written so is one packet again
 * when it is read.
 */
static imgpar_status output_xmp(ip_jpeg_output *output, ip_error *err)
{
    const ip_metadata *m = output->metadata;
    output->xmp = m->xmp;
    output->xmp_extension = m->xmp_extension;
    memcpy(output->xmp_digest, m->xmp_digest, IP_XMP_DIGEST);
    if (m->xmp.n <= MAX_XMP) return IMGPAR_OK;
    ip_str *pointer = &output->xmp_pointer;
    output->xmp_extension = ip_xmp_unwrapped(&m->xmp);
    ip_xmp_digest(&output->xmp_extension, output->xmp_digest);
    ip_xmp_append_pointer(pointer, output->xmp_digest);
    output->xmp = (ip_blob){ (unsigned char *)pointer->text, pointer->length };
    return pointer->failed ? ip_fail_memory(err, "encoding jpeg") : IMGPAR_OK;
}

imgpar_status ip_jpeg_output_make(const ip_picture *picture, bool is_gray, bool is_all, ip_jpeg_output *output,
                                  ip_error *err)
{
    const ip_metadata *m = picture->source->metadata;
    *output = (ip_jpeg_output){ .resources = IP_STR_INIT, .xmp_pointer = IP_STR_INIT, .metadata = m, .is_all = is_all };
    if (!m) return IMGPAR_OK;
    imgpar_status st = ip_colour_profile(&m->colour, is_gray, &output->icc, &output->is_icc_made, err);
    if (st) return st;
    if (output->icc.n > (size_t)MAX_PART * IP_JPEG_MAX_PARTS)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "jpeg: the colour profile has %zu bytes, and a JPEG holds %zu",
                       output->icc.n, (size_t)MAX_PART * IP_JPEG_MAX_PARTS);
    if (is_all && m->iptc.bytes) ip_iptc_append_resource(&output->resources, &m->iptc);
    if (output->resources.failed) return ip_fail_memory(err, "encoding jpeg");
    if (is_all) st = output_xmp(output, err);
    if (st || !is_all || !m->exif.bytes || m->exif.n > MAX_EXIF) return st;
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
    ip_str_free(&output->resources);
    ip_str_free(&output->xmp_pointer);
}

static bool is_density(double v) { return v >= 0.5 && v < 65535; }

/* In dots per inch, unless only dots per centimetre are whole numbers. */
void ip_jpeg_set_resolution(j_compress_ptr c, const ip_jpeg_output *output)
{
    if (!output->metadata || !output->is_all) return;
    const ip_resolution *r = &output->metadata->resolution;
    const double x = r->x * 0.0254, y = r->y * 0.0254;
    if (!is_density(x) || !is_density(y)) return;
    const bool is_metric =
        fabs(x - round(x)) > 0.01 && fabs(r->x / 100 - round(r->x / 100)) < 0.001 && is_density(r->y / 100);
    c->density_unit = is_metric ? 2 : 1;
    c->X_density = (UINT16)lround(is_metric ? r->x / 100 : x);
    c->Y_density = (UINT16)lround(is_metric ? r->y / 100 : y);
}

static void write_bytes(j_compress_ptr c, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++)
        jpeg_write_m_byte(c, p[i]);
}

static void write_number(j_compress_ptr c, size_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        jpeg_write_m_byte(c, (int)(v >> shift & 255));
}

/* The second packet of XMP, in parts. */
static void write_extension(j_compress_ptr c, const ip_jpeg_output *output)
{
    const ip_blob *all = &output->xmp_extension;
    for (size_t at = 0; at < all->n; at += MAX_EXTENSION_PART) {
        const size_t n = all->n - at < MAX_EXTENSION_PART ? all->n - at : MAX_EXTENSION_PART;
        jpeg_write_m_header(c, JPEG_APP0 + 1, (unsigned)(EXTENSION_HEAD + n));
        write_bytes(c, extension_name, sizeof extension_name);
        write_bytes(c, output->xmp_digest, sizeof output->xmp_digest);
        write_number(c, all->n);
        write_number(c, at);
        write_bytes(c, all->bytes + at, n);
    }
}

static void write_resources(j_compress_ptr c, const ip_str *all)
{
    for (size_t at = 0; at < all->length; at += MAX_RESOURCES_PART) {
        const size_t n = all->length - at < MAX_RESOURCES_PART ? all->length - at : MAX_RESOURCES_PART;
        jpeg_write_m_header(c, JPEG_APP0 + 13, (unsigned)(sizeof resources_name + n));
        write_bytes(c, resources_name, sizeof resources_name);
        write_bytes(c, all->text + at, n);
    }
}

static void write_parts(j_compress_ptr c, const ip_blob *icc)
{
    const size_t count = (icc->n + MAX_PART - 1) / MAX_PART;
    for (size_t k = 0; k < count; k++) {
        const size_t at = k * MAX_PART, n = icc->n - at < MAX_PART ? icc->n - at : MAX_PART;
        jpeg_write_m_header(c, JPEG_APP0 + 2, (unsigned)(ICC_HEAD + n));
        write_bytes(c, icc_name, sizeof icc_name);
        jpeg_write_m_byte(c, (int)k + 1);
        jpeg_write_m_byte(c, (int)count);
        write_bytes(c, icc->bytes + at, n);
    }
}

void ip_jpeg_write_metadata(j_compress_ptr c, const ip_jpeg_output *output)
{
    if (output->exif.bytes) jpeg_write_marker(c, JPEG_APP0 + 1, output->exif.bytes, (unsigned)output->exif.n);
    if (output->xmp.bytes) {
        jpeg_write_m_header(c, JPEG_APP0 + 1, (unsigned)(sizeof xmp_name + output->xmp.n));
        write_bytes(c, xmp_name, sizeof xmp_name);
        write_bytes(c, output->xmp.bytes, output->xmp.n);
        write_extension(c, output);
    }
    write_resources(c, &output->resources);
    if (output->icc.bytes) write_parts(c, &output->icc);
}

void ip_jpeg_losses(const ip_metadata *m, ip_str *lines)
{
    if (m->exif.n > MAX_EXIF)
        ip_str_printf(lines, "jpeg: EXIF of %zu bytes is left out; a JPEG holds %d\n", m->exif.n, MAX_EXIF);
}
