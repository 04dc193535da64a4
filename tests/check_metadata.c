/* SPDX-License-Identifier: MIT */
/* Profiles, EXIF, XMP and resolution: read, carried through operations, written back; and files that are made to do
 * harm. */
#include "io_help.h"

#include "base/md5.h"
#include "io/exif.h"
#include "io/icc.h"
#include "io/xmp.h"

#include <imgpar.h>
#include <math.h>
#include <zlib.h>

enum { W = 12, H = 9 };

static const uint32_t p3[8] = { 31270, 32900, 68000, 32000, 26500, 69000, 15000, 6000 };
static const uint32_t adobe[8] = { 31270, 32900, 64000, 33000, 21000, 71000, 15000, 6000 };
static const char packet[] = "<x:xmpmeta><rdf:Description tiff:Orientation=\"6\" dc:title=\"a title\"/>"
                             "<xmp:Thumbnails>AAAA</xmp:Thumbnails></x:xmpmeta>";
static const char clean_packet[] =
    "<x:xmpmeta><rdf:Description tiff:Orientation=\"1\" dc:title=\"a title\"/></x:xmpmeta>";

static imgpar_context *ctx;

static void start(void) { ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK); }
static void stop(void) { imgpar_context_release(ctx); }

/* ---- files that are made here -------------------------------------------------------------------- */

static ip_blob profile(const uint32_t *primaries, const char *name)
{
    ip_blob icc;
    ip_error err = { 0 };
    ck_assert_int_eq(ip_icc_make(45470, primaries, name, &icc, &err), IMGPAR_OK);
    return icc;
}

static void put(unsigned char **p, int n, uint32_t v)
{
    for (int i = n - 1; i >= 0; i--, v >>= 8)
        (*p)[i] = (unsigned char)v;
    *p += n;
}

static void put_entry(unsigned char **p, uint32_t tag, uint32_t type, uint32_t count, uint32_t value)
{
    put(p, 2, tag);
    put(p, 2, type);
    put(p, 4, count);
    put(p, 4, type == 3 ? value << 16 : value);
}

enum { EXIF_BYTES = 200, AT_DETAILS = 80, AT_NEXT = 110, AT_THUMBNAIL = 150 };

/* Orientation 6, a maker's name, sizes of W x H as stored, and a thumbnail in a second directory. */
static void make_exif(unsigned char exif[EXIF_BYTES])
{
    unsigned char *p = exif;
    memset(exif, 0, EXIF_BYTES);
    put(&p, 4, 0x4d4d002a);
    put(&p, 4, 8);
    put(&p, 2, 4);
    put_entry(&p, 0x010f, 2, 8, 64); /* maker */
    put_entry(&p, 0x0112, 3, 1, 6);  /* orientation */
    put_entry(&p, 0x8769, 4, 1, AT_DETAILS);
    put_entry(&p, 0x0128, 3, 1, 2);
    put(&p, 4, AT_NEXT);
    memcpy(exif + 64, "Imgpar\0", 8);
    p = exif + AT_DETAILS;
    put(&p, 2, 2);
    put_entry(&p, 0xa002, 3, 1, W);
    put_entry(&p, 0xa003, 4, 1, H);
    p = exif + AT_NEXT;
    put(&p, 2, 2);
    put_entry(&p, 0x0201, 4, 1, AT_THUMBNAIL);
    put_entry(&p, 0x0202, 4, 1, EXIF_BYTES - AT_THUMBNAIL);
    memset(exif + AT_THUMBNAIL, 0xaa, EXIF_BYTES - AT_THUMBNAIL);
    memcpy(exif + AT_THUMBNAIL, "\xff\xd8\xff", 3);
}

static blob plain_png(int channels)
{
    unsigned char *pixels = smooth_bytes(H, W, (size_t)channels);
    const ip_pixels p = pixels_3d(IMGPAR_U8, H, W, channels, pixels);
    blob b = encode(&p, IP_FORMAT_PNG, NULL);
    free(pixels);
    return b;
}

static void png_add_icc(blob *b, const ip_blob *icc)
{
    unsigned char packed[8192] = "name\0";
    uLongf n = sizeof packed - 6;
    ck_assert_int_eq(compress(packed + 6, &n, icc->bytes, icc->n), Z_OK);
    png_add(b, "IDAT", "iCCP", packed, n + 6);
}

static void png_add_xmp(blob *b, const void *bytes, size_t n)
{
    unsigned char *body = calloc(1, 22 + n);
    strcpy((char *)body, "XML:com.adobe.xmp");
    memcpy(body + 22, bytes, n);
    png_add(b, "IEND", "iTXt", body, 22 + n);
    free(body);
}

/* A PNG with a profile, 300 dots an inch, EXIF and XMP. */
static blob tagged_png(int channels, const uint32_t *primaries, const char *name)
{
    static const unsigned char dpi[9] = { 0, 0, 0x2e, 0x23, 0, 0, 0x2e, 0x23, 1 }; /* 11811 a metre */
    unsigned char exif[EXIF_BYTES];
    blob b = plain_png(channels);
    ip_blob icc = profile(primaries, name);
    make_exif(exif);
    png_add_icc(&b, &icc);
    png_add(&b, "IDAT", "pHYs", dpi, sizeof dpi);
    png_add(&b, "IEND", "eXIf", exif, sizeof exif);
    png_add_xmp(&b, packet, sizeof packet - 1);
    ip_free(icc.bytes);
    return b;
}

static imgpar_array *open_blob(blob b)
{
    imgpar_array *a = imgpar_open_memory(ctx, b.bytes, b.n);
    ck_assert_msg(imgpar_array_status(a) == IMGPAR_OK, "%s", imgpar_array_message(a));
    return a;
}

static char warning[1024];

static void on_warning(void *user, const char *text)
{
    (void)user;
    snprintf(warning, sizeof warning, "%s", text);
}

/* What the text makes of a (and b, which may be NULL), encoded. */
static blob result(const char *text, blob a, const blob *b, const char *format, const char *settings)
{
    imgpar_array *in[2] = { open_blob(a), b ? open_blob(*b) : NULL };
    imgpar_array *out = imgpar_apply(ctx, text, in, b ? 2 : 1);
    imgpar_options o = { .struct_size = sizeof o, .format = format, .settings = settings, .on_warning = on_warning };
    void *bytes;
    size_t n;
    warning[0] = '\0';
    ck_assert_msg(imgpar_encode(out, &o, &bytes, &n) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(out));
    blob r = { NULL, 0 };
    blob_add(&r, bytes, n);
    imgpar_free(bytes);
    imgpar_array_release(out);
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
    return r;
}

/* What a file tells, read again. NULL: nothing. */
static ip_metadata *told(blob b)
{
    ip_metadata *m = NULL;
    ip_header header;
    ip_error err = { 0 };
    const ip_read_options o = { .fail_on = IP_FAIL_ON_WARNING, .metadata = &m };
    ck_assert_msg(ip_io_probe(b.bytes, b.n, "x", &o, &header, &err) == IMGPAR_OK, "%s", err.message);
    return m;
}

static bool holds(blob b, const char *bytes, size_t n)
{
    for (size_t k = 0; k + n <= b.n; k++)
        if (memcmp(b.bytes + k, bytes, n) == 0) return true;
    return false;
}

/* The one LONG or SHORT of a big-endian EXIF block at a place of make_exif(). */
static uint32_t exif_value(const ip_metadata *m, size_t entry)
{
    const unsigned char *p = m->exif.bytes + entry;
    return p[3] == 3 ? (uint32_t)p[8] << 8 | p[9]
                     : (uint32_t)p[8] << 24 | (uint32_t)p[9] << 16 | (uint32_t)p[10] << 8 | p[11];
}

#define DIGEST "0123456789ABCDEF0123456789ABCDEF"
static const char main_packet[] =
    "<x:xmpmeta><rdf:RDF><rdf:Description xmpNote:HasExtendedXMP=\"" DIGEST "\" dc:title=\"a\"/></rdf:RDF></x:xmpmeta>";
/* as they are kept */
static const char records[] = "\x1c\x02\x05\0\7A title\x1c\x02\x78\0\5words";
static const char stored_records[] =
    "\x1c\x02\x05\0\7A title\x1c\x02\x83\0\1P\x1c\x02\xca\0\4\xaa\xaa\xaa\xaa\x1c\x02\x78\0\5words";
enum { N_RECORDS = sizeof records - 1, N_STORED = sizeof stored_records - 1, EXTENSION_HEAD = 35 + 32 + 8 };

/* A second packet of n bytes. */
static unsigned char *extension_of(size_t n)
{
    static const char from[] = "<x:xmpmeta><rdf:RDF><rdf:Description G:Data=\"", to[] = "\"/></rdf:RDF></x:xmpmeta>";
    unsigned char *second = malloc(n);
    memset(second, 'x', n);
    memcpy(second, from, sizeof from - 1);
    memcpy(second + n - (sizeof to - 1), to, sizeof to - 1);
    return second;
}

static void add_segment(blob *b, int code, const void *body, size_t n)
{
    unsigned char *segment = malloc(n + 4), *p = segment;
    put(&p, 2, 0xff00 | (uint32_t)code);
    put(&p, 2, (uint32_t)n + 2);
    memcpy(p, body, n);
    blob_insert(b, 2, segment, n + 4);
    free(segment);
}

static void add_extension_part(blob *b, const unsigned char *second, size_t total, size_t at, size_t n)
{
    unsigned char *body = malloc(EXTENSION_HEAD + n), *p = body + 35 + 32;
    memcpy(body, "http://ns.adobe.com/xmp/extension/\0" DIGEST, 35 + 32);
    put(&p, 4, (uint32_t)total);
    put(&p, 4, (uint32_t)at);
    memcpy(p, second + at, n);
    add_segment(b, 0xe1, body, EXTENSION_HEAD + n);
    free(body);
}

static blob plain_jpeg(void)
{
    unsigned char *pixels = smooth_bytes(H, W, 3);
    blob b = jpeg_of((jpeg_make){ .in = JCS_RGB, .stored = JCS_YCbCr, .channels = 3, .quality = 90 }, pixels, H, W);
    free(pixels);
    return b;
}

static void add_main_packet(blob *b)
{
    unsigned char body[29 + sizeof main_packet] = "http://ns.adobe.com/xap/1.0/";
    memcpy(body + 29, main_packet, sizeof main_packet - 1);
    add_segment(b, 0xe1, body, 29 + sizeof main_packet - 1);
}

/* Image resources: another one, with a name, and IPTC's, which ends in a second segment. */
static void add_resources(blob *b)
{
    unsigned char all[200] = "8BIM\x04\x25\3abc\0\0\0\1z\0"
                             "8BIM\4\4\0\0\0\0\0",
                  body[200] = "Photoshop 3.0";
    enum { FIRST = 16, HEAD = 12, CUT = FIRST + HEAD + 9, ALL = FIRST + HEAD + N_STORED };
    all[FIRST + HEAD - 1] = N_STORED;
    memcpy(all + FIRST + HEAD, stored_records, N_STORED);
    memcpy(body + 14, all + CUT, ALL - CUT);
    add_segment(b, 0xed, body, 14 + ALL - CUT); /* each goes in front of those before */
    memcpy(body + 14, all, CUT);
    add_segment(b, 0xed, body, 14 + CUT);
}

/* A JPEG with both; the parts of the extension stand in any order. */
static blob annotated_jpeg(const unsigned char *extension, size_t n)
{
    blob b = plain_jpeg();
    add_resources(&b);
    add_extension_part(&b, extension, n, 0, n / 2);
    add_extension_part(&b, extension, n, n / 2, n - n / 2);
    add_main_packet(&b);
    return b;
}

/* ---- through operations ----------------------------------------------------------------------------- */

static const struct {
    const char *text;
    uint32_t width, height;
} kept[] = {
    { "$1", H, W },
    { "$1 + 20", H, W },
    { "invert($1)", H, W },
    { "blur($1, 1)", H, W },
    { "unsharp($1)", H, W },
    { "resize($1, width=5, height=4)", 5, 4 },
    { "crop($1, 1, 2, 3, 4)", 3, 4 },
    { "transpose($1)", W, H },
    { "iterate($1, 3, boxblur(_, size=3))", H, W },
    { "iterate($1, 40, boxblur(_, size=3))", H, W },
    { "fn f(v) = v * 0.5\nf($1)", H, W },
    { "blend($1, invert($1), 0.3)", H, W },
    { "cast($1, f32)", H, W },
    { "select(gray($1) > 60, $1, invert($1))", H, W },
    { "median($1)", H, W },
    { "threshold($1, 90)", H, W },
    { "thumbnail($1, 4)", 3, 4 },
    { "a = $1\noverlay(a, invert(a), circle(a, radius=3))", H, W },
};
static const char *const formats[] = { "png", "jpeg" };

START_TEST(metadata_is_kept_through_every_operation)
{
    const char *text = kept[_i / 2].text;
    blob in = tagged_png(3, p3, "Display P3"), out = result(text, in, NULL, formats[_i % 2], NULL);
    ip_blob icc = profile(p3, "Display P3");
    ip_metadata *m = told(out);
    ck_assert_msg(m && m->colour.icc.n == icc.n && memcmp(m->colour.icc.bytes, icc.bytes, icc.n) == 0, "%s: profile",
                  text);
    ck_assert_msg(m->xmp.n == sizeof clean_packet - 1 && memcmp(m->xmp.bytes, clean_packet, m->xmp.n) == 0, "%s: XMP",
                  text);
    ck_assert_msg(fabs(m->resolution.x * 0.0254 - 300) < 0.01, "%s: resolution %g", text, m->resolution.x);
    ck_assert_msg(m->exif.bytes && holds((blob){ m->exif.bytes, m->exif.n }, "Imgpar", 7), "%s: EXIF", text);
    ck_assert_uint_eq(exif_value(m, 10 + 12), 1);
    ck_assert_msg(exif_value(m, AT_DETAILS + 2) == kept[_i / 2].width &&
                      exif_value(m, AT_DETAILS + 14) == kept[_i / 2].height,
                  "%s: EXIF tells %u x %u", text, exif_value(m, AT_DETAILS + 2), exif_value(m, AT_DETAILS + 14));
    ck_assert_msg(!holds(out, "\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa", 10), "%s: a thumbnail", text);
    ck_assert_str_eq(warning, "");
    ip_metadata_release(m);
    ip_free(icc.bytes);
    blob_free(&in);
    blob_free(&out);
}
END_TEST

START_TEST(metadata_none_keeps_the_profile_only)
{
    blob in = tagged_png(3, p3, "Display P3"), out = result("$1", in, NULL, formats[_i], "metadata=none");
    ip_metadata *m = told(out);
    ck_assert_ptr_nonnull(m);
    ck_assert_str_eq(m->colour.name, "Display P3");
    ck_assert_ptr_null(m->exif.bytes);
    ck_assert_ptr_null(m->xmp.bytes);
    ck_assert_msg(!(m->resolution.x > 0), "resolution");
    ip_metadata_release(m);
    blob_free(&in);
    blob_free(&out);
}
END_TEST

START_TEST(gray_drops_an_rgb_profile_and_keeps_the_rest)
{
    blob in = tagged_png(3, p3, "Display P3"), out = result("gray($1)", in, NULL, formats[_i], NULL);
    ip_metadata *m = told(out);
    ck_assert_ptr_nonnull(m);
    ck_assert_ptr_null(m->colour.icc.bytes);
    ck_assert_ptr_nonnull(m->exif.bytes);
    ip_metadata_release(m);
    blob_free(&in);
    blob_free(&out);
}
END_TEST

START_TEST(data_has_no_metadata)
{
    blob in = tagged_png(3, p3, "Display P3"), out = result("histogram($1)", in, NULL, "png", NULL);
    ck_assert_ptr_null(told(out));
    blob_free(&in);
    blob_free(&out);
}
END_TEST

#define DIFFER(OP, A, B) \
    OP ": profiles differ: " A " and " B "; numbers are not converted, and the result is tagged as " A
static const struct {
    const char *text;
    const uint32_t *second;
    const char *name, *warning, *profile;
} pairs[] = {
    { "blend($1, $2, 0.5)", adobe, "Adobe RGB (1998)", DIFFER("blend", "\"Display P3\"", "\"Adobe RGB (1998)\""),
      "Display P3" },
    { "blend($2, $1, 0.5)", adobe, "Adobe RGB (1998)", DIFFER("blend", "\"Adobe RGB (1998)\"", "\"Display P3\""),
      "Adobe RGB (1998)" },
    { "blend($1, $2, 0.5)", NULL, "", DIFFER("blend", "\"Display P3\"", "none (taken for sRGB)"), "Display P3" },
    { "blur(blend($2, $1, 0.5), 1)", NULL, "", DIFFER("blend", "\"Display P3\"", "none (taken for sRGB)"),
      "Display P3" },
    { "iterate($1, 40, blend(_, $2, 0.5))", adobe, "Adobe RGB (1998)",
      DIFFER("blend", "\"Display P3\"", "\"Adobe RGB (1998)\""), "Display P3" },
    { "iterate($1, 3000, blend($2, _, 0.5))", adobe, "Adobe RGB (1998)",
      DIFFER("iterate", "\"Display P3\"", "\"Adobe RGB (1998)\""), "Display P3" },
    { "blend($1, $2, 0.5)", p3, "Display P3", "", "Display P3" },
    { "overlay($1, invert($1), gray($2) > 60)", adobe, "Adobe RGB (1998)", "", "Display P3" },
};

START_TEST(profiles_that_differ_give_a_warning_that_names_both)
{
    blob a = tagged_png(3, p3, "Display P3");
    blob b = pairs[_i].second ? tagged_png(3, pairs[_i].second, pairs[_i].name) : plain_png(3);
    if (!pairs[_i].second) { /* as upright as the other */
        unsigned char exif[26];
        png_add(&b, "IEND", "eXIf", exif, exif_block(exif, true, 6));
    }
    blob out = result(pairs[_i].text, a, &b, "png", NULL);
    ip_metadata *m = told(out);
    ck_assert_str_eq(warning, pairs[_i].warning);
    ck_assert_str_eq(m->colour.name, pairs[_i].profile);
    ip_metadata_release(m);
    blob_free(&a);
    blob_free(&b);
    blob_free(&out);
}
END_TEST

/* ---- what formats cannot hold ---------------------------------------------------------------------- */

static double fixed(const unsigned char *p)
{
    return (int32_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]) / 65536.0;
}

/* The colorants that Adobe's own profile has. */
START_TEST(a_jpeg_of_a_png_with_gamma_and_primaries_gets_their_profile)
{
    static const char *const tags[] = { "rXYZ", "gXYZ", "bXYZ" };
    static const double colorants[3][3] = { { 0.60974, 0.31111, 0.01947 },
                                            { 0.20528, 0.62567, 0.06087 },
                                            { 0.14919, 0.06322, 0.74457 } };
    unsigned char gamma[4], primaries[32];
    blob in = plain_png(3);
    put32(gamma, 45470);
    for (int k = 0; k < 8; k++)
        put32(primaries + 4 * k, adobe[k]);
    png_add(&in, "IDAT", "gAMA", gamma, 4);
    png_add(&in, "IDAT", "cHRM", primaries, 32);
    blob out = result("invert($1)", in, NULL, "jpeg", _i ? "metadata=none" : NULL),
         again = result("$1", in, NULL, "png", NULL);
    ip_metadata *m = told(out);
    ck_assert_ptr_nonnull(m);
    ck_assert_str_eq(m->colour.name, "Adobe RGB");
    for (int k = 0; k < 3; k++) {
        const unsigned char *p = m->colour.icc.bytes + 132;
        while (memcmp(p, tags[k], 4) != 0)
            p += 12;
        p = m->colour.icc.bytes + ((size_t)p[6] << 8 | p[7]);
        for (int i = 0; i < 3; i++)
            ck_assert_msg(fabs(fixed(p + 8 + 4 * i) - colorants[k][i]) < 0.0005, "%s %d: %g", tags[k], i,
                          fixed(p + 8 + 4 * i));
    }
    ck_assert_mem_eq(again.bytes + png_find(again, "cHRM") + 8, primaries, 32);
    ck_assert_mem_eq(again.bytes + png_find(again, "gAMA") + 8, gamma, 4);
    ip_metadata_release(m);
    blob_free(&in);
    blob_free(&out);
    blob_free(&again);
}
END_TEST

START_TEST(a_colour_that_no_jpeg_tells_is_refused)
{
    static const unsigned char pq[4] = { 9, 16, 0, 1 };
    blob in = plain_png(3);
    png_add(&in, "IDAT", "cICP", pq, 4);
    imgpar_array *a = open_blob(in);
    imgpar_options o = { .struct_size = sizeof o, .format = "jpeg" };
    void *bytes;
    size_t n;
    ck_assert_int_eq(imgpar_encode(a, &o, &bytes, &n), IMGPAR_E_UNSUPPORTED);
    ck_assert_str_eq(
        imgpar_array_message(a),
        "encode: jpeg: the picture is tagged \"BT.2020 PQ\", which no profile of a JPEG tells; png holds it");
    imgpar_array_release(a);
    blob out = result("$1", in, NULL, "png", "metadata=none");
    ck_assert_mem_eq(out.bytes + png_find(out, "cICP") + 8, pq, 4);
    blob_free(&out);
    blob_free(&in);
}
END_TEST

START_TEST(a_format_without_profiles_warns)
{
    static const char *const names[] = { "pnm", "npy" };
    char expected[200];
    blob in = tagged_png(3, p3, "Display P3"), out = result("$1", in, NULL, names[_i], NULL);
    snprintf(expected, sizeof expected,
             "save: %s holds no colour profile: the numbers are those of \"Display P3\", and will be taken for sRGB",
             names[_i]);
    ck_assert_str_eq(warning, expected);
    blob_free(&in);
    blob_free(&out);
}
END_TEST

START_TEST(a_plain_picture_stays_plain)
{
    blob in = plain_png(3), out = result("invert($1)", in, NULL, formats[_i], NULL);
    ck_assert_ptr_null(told(out));
    blob_free(&in);
    blob_free(&out);
}
END_TEST

/* ---- harm --------------------------------------------------------------------------------------------- */

/* 64 MB of zeros in 64 KB. */
START_TEST(a_bomb_in_a_profile_or_a_text_is_left_out)
{
    uLongf n = 100000;
    unsigned char *zeros = calloc(1, 64 << 20), *packed = calloc(1, n + 30);
    ck_assert_int_eq(compress(packed + 22, &n, zeros, 64 << 20), Z_OK);
    blob b = plain_png(3);
    if (_i) {
        memcpy(packed, "XML:com.adobe.xmp\0\1", 19);
        png_add(&b, "IDAT", "iTXt", packed, n + 22);
    } else {
        memcpy(packed, "nnnnnnnnnnnnnnnnnnnn\0", 22);
        png_add(&b, "IDAT", "iCCP", packed, n + 22);
    }
    ip_str warnings = IP_STR_INIT;
    ip_image image;
    ip_error err;
    ck_assert_int_eq(decode_with(b.bytes, b.n, IP_FAIL_ON_ERROR, &warnings, &image, &err), IMGPAR_OK);
    ck_assert_str_eq(ip_str_text(&warnings), _i ? "x: PNG: XMP is damaged or too large, and left out\n"
                                                : "x: PNG: the colour profile is damaged or too large, and left out\n");
    ip_image_release(&image);
    ck_assert_int_eq(decode_with(b.bytes, b.n, IP_FAIL_ON_WARNING, NULL, &image, &err), IMGPAR_E_CORRUPT);
    ip_str_free(&warnings);
    blob_free(&b);
    free(zeros);
    free(packed);
}
END_TEST

/* Every byte of what stands beside the pixels changed, in a JPEG, which has no sums, and in blocks given as they
 * are. */
START_TEST(no_damage_to_metadata_does_harm)
{
    unsigned char *extension = extension_of(150);
    blob png = tagged_png(3, p3, "Display P3"), whole = result("$1", png, NULL, "jpeg", NULL);
    if (_i == 3) {
        blob_free(&whole);
        whole = annotated_jpeg(extension, 150);
    }
    free(extension);
    const size_t n = jpeg_find(whole, 0xdb);
    for (size_t at = 2; at < n; at++) {
        blob b = { NULL, 0 };
        ip_metadata *m = NULL;
        ip_header header;
        ip_error err = { 0 };
        const ip_read_options o = { .fail_on = IP_FAIL_ON_NONE, .metadata = &m };
        blob_add(&b, whole.bytes, whole.n);
        b.bytes[at] ^= (unsigned char)(1 + ip_hash_u64((uint64_t)_i, at) % 255);
        ip_io_probe(b.bytes, b.n, "x", &o, &header, &err);
        if (m && m->exif.bytes) ip_exif_set_size(&m->exif, 100000, 3);
        ip_metadata_release(m);
        blob_free(&b);
    }
    blob_free(&png);
    blob_free(&whole);
}
END_TEST

/* ---- extended XMP and IPTC ------------------------------------------------------------------------ */

static const struct {
    const char *text;
    size_t n;
} annotated[] = {
    { "$1", 300 },
    { "blur($1, 1) + 1", 300 },
    { "resize($1, width=5, height=4)", 300 },
    { "gray(transpose($1))", 300 },
    { "$1", 70001 },
};

START_TEST(extended_xmp_and_iptc_are_kept_through_every_operation)
{
    const char *text = annotated[_i / 2].text, *format = formats[_i % 2];
    const size_t n = annotated[_i / 2].n;
    unsigned char *extension = extension_of(n);
    blob in = annotated_jpeg(extension, n), out = result(text, in, NULL, format, NULL);
    ip_metadata *m = told(out);
    ck_assert_str_eq(warning, "");
    ck_assert_msg(m && m->iptc.n == N_RECORDS && memcmp(m->iptc.bytes, records, N_RECORDS) == 0, "%s, %s: IPTC", format,
                  text);
    const blob xmp = { m->xmp.bytes, m->xmp.n };
    if (_i % 2) {
        ck_assert_msg(m->xmp.n == sizeof main_packet - 1 && memcmp(m->xmp.bytes, main_packet, m->xmp.n) == 0, "%s: XMP",
                      text);
        ck_assert_msg(m->xmp_extension.n == n && memcmp(m->xmp_extension.bytes, extension, n) == 0, "%s: extended XMP",
                      text);
        ck_assert(memcmp(m->xmp_digest, DIGEST, 32) == 0);
        ck_assert(holds(out,
                        "Photoshop 3.0\0"
                        "8BIM\4\4\0\0\0\0\0",
                        25));
    } else { /* one packet says it all */
        ck_assert_uint_eq(m->xmp.n, (sizeof main_packet - 1) - 57 + n - 20 - 22);
        ck_assert(holds(xmp, "<rdf:RDF><rdf:Description  dc:title=\"a\"/><rdf:Description G:Data=\"xxx", 68));
        ck_assert(holds(xmp, "xxx\"/></rdf:RDF></x:xmpmeta>", 28));
        ck_assert(holds(out, "zTXtRaw profile type iptc\0\0", 27));
    }
    ip_metadata_release(m);
    blob none = result(text, in, NULL, format, "metadata=none");
    ck_assert_ptr_null(told(none));
    blob_free(&none);
    blob_free(&in);
    blob_free(&out);
    free(extension);
}
END_TEST

/* ---- packets of more than a segment ---------------------------------------------------------------- */

static const struct {
    size_t n;
    bool is_wrapped;
} long_packets[] = {
    { 65504, false }, { 65505, false }, { 65537, false }, { 65537, true }, { 200 << 10, true }, { 1 << 20, false },
};
#define WRAP "<?xpacket begin=\"\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>\n"
#define UNWRAP "\n   \n<?xpacket end='w'?>"

/* Unlike everywhere, so that parts in another order would be noticed. */
static unsigned char *long_packet(size_t n)
{
    unsigned char *bytes = extension_of(n);
    for (size_t k = 50; k + 50 < n; k++)
        bytes[k] = (unsigned char)('a' + ip_hash_u64(7, k) % 26);
    return bytes;
}

static size_t take32(const unsigned char *p)
{
    return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
}

/* By the specification, and by none of the reader's code: what the segments named by that digest make together. */
static blob extension_in(blob jpeg, const char *digest)
{
    blob all = { NULL, 0 };
    for (const unsigned char *p = jpeg.bytes + 2; p[1] != 0xda; p += 2 + (p[2] << 8 | p[3])) {
        const size_t size = (size_t)(p[2] << 8 | p[3]) - 2;
        if (p[1] != 0xe1 || memcmp(p + 4, "http://ns.adobe.com/xmp/extension/", 35) != 0) continue;
        ck_assert(memcmp(p + 4 + 35, digest, 32) == 0);
        ck_assert_uint_eq(take32(p + 4 + 35 + 36), all.n);
        blob_add(&all, p + 4 + EXTENSION_HEAD, size - EXTENSION_HEAD);
        ck_assert_uint_ge(take32(p + 4 + 35 + 32), all.n);
    }
    return all;
}

static void check_segments(blob jpeg, const unsigned char *bytes, size_t n)
{
    char digest[33], note[64];
    unsigned char md5[IP_MD5_BYTES];
    ip_md5(bytes, n, md5);
    for (int k = 0; k < IP_MD5_BYTES; k++)
        snprintf(digest + 2 * k, 3, "%02X", md5[k]);
    const int n_note = snprintf(note, sizeof note, "xmpNote:HasExtendedXMP=\"%s\"", digest);
    blob all = extension_in(jpeg, digest);
    ck_assert_msg(holds(jpeg, note, (size_t)n_note), "the first packet names no extension");
    ck_assert_msg(all.n == n && memcmp(all.bytes, bytes, n) == 0, "the extension has %zu bytes", all.n);
    blob_free(&all);
}

START_TEST(xmp_of_any_size_goes_from_png_to_jpeg_and_back)
{
    const size_t n = long_packets[_i].n;
    unsigned char *bytes = long_packet(n);
    blob in = plain_png(3), whole = { NULL, 0 };
    if (long_packets[_i].is_wrapped) blob_add(&whole, WRAP, sizeof WRAP - 1);
    blob_add(&whole, bytes, n);
    if (long_packets[_i].is_wrapped) blob_add(&whole, UNWRAP, sizeof UNWRAP - 1);
    png_add_xmp(&in, whole.bytes, whole.n);
    blob jpeg = result("$1", in, NULL, "jpeg", NULL);
    ck_assert_str_eq(warning, "");
    if (n > 65504) check_segments(jpeg, bytes, n);
    blob jpeg_again = result("$1", jpeg, NULL, "jpeg", NULL), png = result("$1", jpeg_again, NULL, "png", NULL);
    const blob all[] = { jpeg, jpeg_again, png };
    for (int k = 0; k < N(all); k++) {
        ip_metadata *m = told(all[k]);
        ck_assert_msg(m && m->xmp.n == n && memcmp(m->xmp.bytes, bytes, n) == 0, "%d: XMP", k);
        ck_assert_ptr_null(m->xmp_extension.bytes);
        ip_metadata_release(m);
        blob_free((blob *)&all[k]);
    }
    blob_free(&in);
    blob_free(&whole);
    free(bytes);
}
END_TEST

START_TEST(memory_may_end_where_long_xmp_is_written)
{
    unsigned char *bytes = long_packet(70000);
    blob in = plain_png(3);
    png_add_xmp(&in, bytes, 70000);
    imgpar_array *a = open_blob(in);
    ck_assert_int_eq(imgpar_array_eval(a, NULL), IMGPAR_OK);
    imgpar_status st = IMGPAR_E_HOST_MEMORY;
    for (unsigned long nth = 1; st; nth++) {
        imgpar_options o = { .struct_size = sizeof o, .format = "jpeg" };
        void *file = NULL;
        size_t n;
        ip_fault_set(IP_FAULT_ALLOC, nth);
        st = imgpar_encode(a, &o, &file, &n);
        ip_fault_set(IP_FAULT_ALLOC, 0);
        ck_assert(st == IMGPAR_OK || st == IMGPAR_E_HOST_MEMORY);
        imgpar_free(file);
    }
    imgpar_array_release(a);
    blob_free(&in);
    free(bytes);
}
END_TEST

#define XMP_DAMAGED "x: JPEG: extended XMP is damaged or too large, and left out\n"
#define IPTC_DAMAGED "x: JPEG: IPTC is damaged, and left out\n"

static void a_part_is_missing(blob *b, const unsigned char *second)
{
    add_extension_part(b, second, 300, 0, 150);
    add_main_packet(b);
}
static void parts_overlap(blob *b, const unsigned char *second)
{
    add_extension_part(b, second, 300, 0, 150);
    add_extension_part(b, second, 300, 149, 151);
    add_main_packet(b);
}
static void a_part_is_longer(blob *b, const unsigned char *second)
{
    add_extension_part(b, second, 100, 0, 150);
    add_main_packet(b);
}
static void all_is_huge(blob *b, const unsigned char *second)
{
    add_extension_part(b, second, 0xfffffff0, 0, 150);
    add_main_packet(b);
}
static void it_is_not_named(blob *b, const unsigned char *second) { add_extension_part(b, second, 300, 0, 300); }
static void a_resource_is_cut(blob *b, const unsigned char *second)
{
    (void)second;
    add_segment(b, 0xed,
                "Photoshop 3.0\0"
                "8BIM\4\4\0\0\0\0\1\0\x1c\2\5\0\1a",
                32);
}
static void a_record_is_cut(blob *b, const unsigned char *second)
{
    (void)second;
    add_segment(b, 0xed,
                "Photoshop 3.0\0"
                "8BIM\4\4\0\0\0\0\0\6\x1c\2\5\0\2a",
                32);
}
static void a_record_is_huge(blob *b, const unsigned char *second)
{
    (void)second;
    add_segment(b, 0xed,
                "Photoshop 3.0\0"
                "8BIM\4\4\0\0\0\0\0\x0a\x1c\2\5\x80\4\xff\xff\xff\xff"
                "a",
                36);
}
static void resources_have_no_iptc(blob *b, const unsigned char *second)
{
    (void)second;
    add_segment(b, 0xed,
                "Photoshop 3.0\0"
                "8BIM\4\x25\0\0\0\0\0\1a\0",
                28);
}

static const struct {
    void (*add)(blob *b, const unsigned char *second);
    const char *warnings;
} damages[] = {
    { a_part_is_missing, XMP_DAMAGED },
    { parts_overlap, XMP_DAMAGED },
    { a_part_is_longer, XMP_DAMAGED },
    { all_is_huge, XMP_DAMAGED },
    { it_is_not_named, "" },
    { a_resource_is_cut, IPTC_DAMAGED },
    { a_record_is_cut, IPTC_DAMAGED },
    { a_record_is_huge, IPTC_DAMAGED },
    { resources_have_no_iptc, "" },
};

/* ExifTool's main packets name the extension by an element. */
START_TEST(a_merged_packet_names_no_extension)
{
    static const char *const packets[] = {
        "<rdf:RDF><a xmpNote:HasExtendedXMP='0'/></rdf:RDF>",
        "<rdf:RDF><xmpNote:HasExtendedXMP>0</xmpNote:HasExtendedXMP><a /></rdf:RDF>",
        "<rdf:RDF><a /></rdf:RDF>",
        "<rdf:RDF/>",
        "",
        "<rdf:RDF xmpNote:HasExtendedXMP=\"",
        "<rdf:RDF a> xmpNote:HasExtendedXMP=\"A</rdf:RDF>\"", /* ends behind what it stands in */
    };
    static const char *const merged[] = { "<rdf:RDF><a /><b/></rdf:RDF>", "<rdf:RDF><a /><b/></rdf:RDF>",
                                          "<rdf:RDF><a /><b/></rdf:RDF>" };
    unsigned char more[] = "<rdf:RDF><b/></rdf:RDF>";
    ip_str out = IP_STR_INIT;
    ip_blob xmp = { NULL, strlen(packets[_i]) }; /* memory of its own, so that valgrind sees its end */
    xmp.bytes = malloc(xmp.n + 1);
    memcpy(xmp.bytes, packets[_i], xmp.n);
    ip_xmp_append_merged(&out, &xmp, &(ip_blob){ more, sizeof more - 1 });
    ck_assert_str_eq(ip_str_text(&out), _i < N(merged) ? merged[_i] : packets[_i]);
    ip_str_free(&out);
    free(xmp.bytes);
}
END_TEST

START_TEST(damaged_extended_xmp_and_iptc_are_left_out)
{
    unsigned char *second = extension_of(300);
    blob b = plain_jpeg();
    ip_str warnings = IP_STR_INIT;
    ip_metadata *m = NULL;
    ip_header header;
    ip_error err = { 0 };
    ip_image image;
    const ip_read_options o = { .metadata = &m };
    damages[_i].add(&b, second);
    ck_assert_int_eq(ip_io_probe(b.bytes, b.n, "x", &o, &header, &err), IMGPAR_OK);
    ck_assert_int_eq(decode_with(b.bytes, b.n, IP_FAIL_ON_ERROR, &warnings, &image, &err), IMGPAR_OK);
    ip_image_release(&image);
    ck_assert_str_eq(ip_str_text(&warnings), damages[_i].warnings);
    ck_assert(!m || (!m->xmp_extension.bytes && !m->iptc.bytes));
    ip_metadata_release(m);
    ip_str_free(&warnings);
    blob_free(&b);
    free(second);
}
END_TEST

/* As ImageMagick and ExifTool write it, and what is none. */
static const struct {
    const char *text;
    bool is_whole;
} texts[] = {
    { "\niptc\n       6\n1c02050001\n61\n", true },
    { "\niptc\n      18\n3842494d040400000000\n00061C02050001 61\n", true },
    { "\niptc\n       7\n1c02050001\n61\n", false },
    { "\niptc\n       6\n1c0205000161g0\n", false },
    { "\niptc\n", false },
    { "\niptc\n99999999999999999999\n1c02050001\n61\n", false },
    { "\niptc\n       6\n1c02050001\n6", false },
};

START_TEST(iptc_of_a_png_is_read_from_its_digits)
{
    unsigned char body[200] = "Raw profile type iptc";
    const size_t n = strlen(texts[_i].text);
    ip_str warnings = IP_STR_INIT;
    ip_metadata *m = NULL;
    ip_header header;
    ip_error err = { 0 };
    ip_image image;
    const ip_read_options o = { .metadata = &m };
    blob b = plain_png(3);
    memcpy(body + 22, texts[_i].text, n);
    png_add(&b, "IEND", "tEXt", body, 22 + n);
    ck_assert_int_eq(ip_io_probe(b.bytes, b.n, "x", &o, &header, &err), IMGPAR_OK);
    ck_assert_int_eq(decode_with(b.bytes, b.n, IP_FAIL_ON_ERROR, &warnings, &image, &err), IMGPAR_OK);
    ip_image_release(&image);
    ck_assert_str_eq(ip_str_text(&warnings),
                     texts[_i].is_whole ? "" : "x: PNG: IPTC is damaged or too large, and left out\n");
    ck_assert_int_eq(m && m->iptc.bytes, texts[_i].is_whole);
    if (m)
        ck_assert_msg(m->iptc.n == 6 && memcmp(m->iptc.bytes, "\x1c\2\5\0\1a", 6) == 0, "IPTC of %zu bytes", m->iptc.n);
    ip_metadata_release(m);
    ip_str_free(&warnings);
    blob_free(&b);
}
END_TEST

/* ImageMagick's way before there was eXIf: with "Exif" and two zeros before the block, and under either name. */
static const char *const exif_texts[] = { "exif", "APP1" };

START_TEST(exif_of_a_png_is_read_from_its_digits_where_there_is_no_chunk)
{
    unsigned char own[26], other[26], body[200];
    char digits[2 * sizeof other + 1];
    const size_t n_own = exif_block(own, true, 3), n_other = exif_block(other, false, 6);
    for (size_t k = 0; k < n_other; k++)
        snprintf(digits + 2 * k, 3, "%02x", other[k]);
    /* alone; before a chunk, and behind one, which counts; behind and before one that is damaged */
    for (int chunk = 0; chunk <= 4; chunk++) {
        ip_metadata *m = NULL;
        ip_header header;
        ip_error err = { 0 };
        const ip_read_options o = { .metadata = &m };
        blob b = plain_png(3);
        const int n = snprintf((char *)body, sizeof body, "Raw profile type %s%c\n%s\n%8zu\n457869660000%.20s\n%s\n",
                               exif_texts[_i], 0, "exif", n_other + 6, digits, digits + 20);
        const bool is_whole = chunk == 1 || chunk == 2;
        own[0] = is_whole ? 'M' : 'X';
        if (chunk == 2 || chunk == 3) png_add(&b, "IDAT", "eXIf", own, n_own);
        png_add(&b, "IDAT", "tEXt", body, (size_t)n);
        if (chunk == 1 || chunk == 4) png_add(&b, "IEND", "eXIf", own, n_own);
        ck_assert_int_eq(ip_io_probe(b.bytes, b.n, "x", &o, &header, &err), IMGPAR_OK);
        ck_assert_int_eq(header.orientation, is_whole ? 3 : 6);
        ck_assert(m && m->exif.bytes);
        ck_assert_mem_eq(m->exif.bytes, is_whole ? "MM" : "II", 2);
        ip_metadata_release(m);
        blob_free(&b);
    }
}
END_TEST

/* Of inks, or, which no printer's file has, of red, green and blue. */
START_TEST(the_profile_of_a_cmyk_jpeg_is_left_out)
{
    unsigned char *pixels = smooth_bytes(H, W, 4), body[8192] = "ICC_PROFILE\0\1\1";
    blob b = jpeg_of((jpeg_make){ .in = JCS_CMYK, .stored = JCS_CMYK, .channels = 4, .quality = 90 }, pixels, H, W);
    ip_blob icc = profile(p3, "Inks");
    if (_i) memcpy(icc.bytes + 16, "CMYK", 4);
    memcpy(body + 14, icc.bytes, icc.n);
    add_segment(&b, 0xe2, body, 14 + icc.n);
    add_resources(&b);
    ip_metadata *m = told(b); /* without a warning */
    ck_assert(m && m->iptc.bytes && !m->colour.icc.bytes && m->colour.is_srgb);
    blob out = result("$1", b, NULL, "png", NULL);
    ck_assert(!holds(out, "iCCP", 4));
    ip_metadata_release(m);
    ip_free(icc.bytes);
    free(pixels);
    blob_free(&b);
    blob_free(&out);
}
END_TEST

START_TEST(exif_directories_that_point_at_each_other_end)
{
    unsigned char exif[EXIF_BYTES], *p = exif + 8 + 2 + 24 + 8;
    ip_blob clean;
    ip_error err = { 0 };
    make_exif(exif);
    put(&p, 4, 8); /* the details are the first directory itself */
    ck_assert_int_eq(ip_exif_clean(exif, sizeof exif, &clean, &err), IMGPAR_OK);
    ck_assert_int_eq(ip_exif_orientation(clean.bytes, clean.n), 1);
    ip_free(clean.bytes);
    for (size_t n = 0; n < sizeof exif; n++) { /* cut anywhere; memory of its own, so that valgrind sees its end */
        unsigned char *part = malloc(n + 1);
        memcpy(part, exif, n);
        ip_error cut = { 0 };
        if (!ip_exif_clean(part, n, &clean, &cut)) ip_free(clean.bytes);
        free(part);
    }
}
END_TEST

START_TEST(memory_may_end_anywhere)
{
    unsigned char *extension = extension_of(150);
    blob in = tagged_png(3, p3, "Display P3"), jpeg = result("$1", in, NULL, "jpeg", NULL),
         annotated_too = annotated_jpeg(extension, 150);
    blob png = result("$1", annotated_too, NULL, "png", NULL);
    const blob all[] = { in, jpeg, annotated_too, png };
    free(extension);
    for (int k = 0; k < N(all); k++)
        for (unsigned long nth = 1;; nth++) {
            ip_metadata *m = NULL;
            ip_header header;
            ip_error err = { 0 };
            const ip_read_options o = { .metadata = &m };
            ip_fault_set(IP_FAULT_ALLOC, nth);
            imgpar_status st = ip_io_probe(all[k].bytes, all[k].n, "x", &o, &header, &err);
            ip_fault_set(IP_FAULT_ALLOC, 0);
            ip_metadata_release(m);
            if (st == IMGPAR_OK && nth > 3 && m) break;
            ck_assert_int_eq(st, IMGPAR_E_HOST_MEMORY);
        }
    blob_free(&in);
    blob_free(&jpeg);
    blob_free(&annotated_too);
    blob_free(&png);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metadata");
    TCase *c = tcase_create("metadata");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, start, stop);
    tcase_add_loop_test(c, metadata_is_kept_through_every_operation, 0, 2 * N(kept));
    tcase_add_loop_test(c, metadata_none_keeps_the_profile_only, 0, 2);
    tcase_add_loop_test(c, gray_drops_an_rgb_profile_and_keeps_the_rest, 0, 2);
    tcase_add_test(c, data_has_no_metadata);
    tcase_add_loop_test(c, profiles_that_differ_give_a_warning_that_names_both, 0, N(pairs));
    tcase_add_loop_test(c, a_jpeg_of_a_png_with_gamma_and_primaries_gets_their_profile, 0, 2);
    tcase_add_test(c, a_colour_that_no_jpeg_tells_is_refused);
    tcase_add_loop_test(c, a_format_without_profiles_warns, 0, 2);
    tcase_add_loop_test(c, a_plain_picture_stays_plain, 0, 2);
    tcase_add_loop_test(c, a_bomb_in_a_profile_or_a_text_is_left_out, 0, 2);
    tcase_add_loop_test(c, no_damage_to_metadata_does_harm, 0, 4);
    tcase_add_loop_test(c, extended_xmp_and_iptc_are_kept_through_every_operation, 0, 2 * N(annotated));
    tcase_add_loop_test(c, xmp_of_any_size_goes_from_png_to_jpeg_and_back, 0, N(long_packets));
    tcase_add_test(c, memory_may_end_where_long_xmp_is_written);
    tcase_add_loop_test(c, a_merged_packet_names_no_extension, 0, 7);
    tcase_add_loop_test(c, damaged_extended_xmp_and_iptc_are_left_out, 0, N(damages));
    tcase_add_loop_test(c, iptc_of_a_png_is_read_from_its_digits, 0, N(texts));
    tcase_add_loop_test(c, exif_of_a_png_is_read_from_its_digits_where_there_is_no_chunk, 0, N(exif_texts));
    tcase_add_loop_test(c, the_profile_of_a_cmyk_jpeg_is_left_out, 0, 2);
    tcase_add_test(c, exif_directories_that_point_at_each_other_end);
    tcase_add_test(c, memory_may_end_anywhere);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
