/* SPDX-License-Identifier: MIT */
/* EXIF values: imgpar_exif_memory() and its like, on blocks that are made here in both orders of bytes, whole, cut,
 * changed and at random. */
#include "io_help.h"

#include "io/exif.h"
#include "io/exif_values.h"

#include <imgpar.h>
#include <math.h>
#include <stdio.h>

enum { MOST = 2048, W = 4, H = 3 };

/* ---- blocks that are made here -------------------------------------------------------------------- */

typedef struct put_tag {
    char where; /* 'i'mage, 'p'hoto, 'g'ps, interoperability: 'n' */
    unsigned tag, type, count;
    const void *values; /* chars, or uint32_t, two for each rational */
} put_tag;

#define TEXT(where, tag, text)           \
    {                                    \
        where, tag, 2, sizeof text, text \
    }
#define BYTES(where, tag, type, text)           \
    {                                           \
        where, tag, type, sizeof text - 1, text \
    }
#define NUMBERS(where, tag, type, count, ...)                       \
    {                                                               \
        where, tag, type, count, (const uint32_t[]) { __VA_ARGS__ } \
    }

static const put_tag camera[] = {
    TEXT('i', 0x010f, "  Imgpar Works "),
    TEXT('i', 0x0110, "Model\001 9"),
    NUMBERS('i', 0x0112, 3, 1, 6),
    NUMBERS('i', 0x011a, 5, 1, 300, 1),
    TEXT('i', 0x0132, "2024:05:06 07:08:09"),
    TEXT('i', 0x013b, "J\xfcrg"),
    TEXT('i', 0x8298, "Ann \0Ed"),
    BYTES('i', 0x9c9b, 1, "T\0\xac\x20\x3d\xd8\0\xde\0\0"),
    NUMBERS('i', 0xc4a5, 3, 3, 1, 2, 3),
    NUMBERS('p', 0x829a, 5, 1, 1, 250),
    NUMBERS('p', 0x829d, 5, 1, 28, 10),
    NUMBERS('p', 0x8827, 3, 1, 400),
    BYTES('p', 0x9000, 7, "0232"),
    TEXT('p', 0x9003, "2024:05:06 07:08:09"),
    TEXT('p', 0x9004, "0000:00:00 00:00:00"),
    BYTES('p', 0x9101, 7, "\1\2\3\0"),
    NUMBERS('p', 0x9204, 10, 1, (uint32_t)-1, 4),
    NUMBERS('p', 0x9206, 5, 1, 0, 0),
    NUMBERS('p', 0x920a, 5, 1, 50, 1),
    BYTES('p', 0x927c, 7, "\0makers' notes of more than sixty-four bytes, which nobody here can read at all\0"),
    BYTES('p', 0x9286, 7, "ASCII\0\0\0a comment\0"),
    NUMBERS('p', 0xa432, 5, 4, 24, 1, 70, 1, 0, 0, 0, 0),
    TEXT('p', 0xa434, "24-70mm F2.8"),
    BYTES('g', 0, 1, "\2\3\0\0"),
    TEXT('g', 1, "S"),
    NUMBERS('g', 2, 5, 3, 33, 1, 51, 1, 36, 1),
    TEXT('g', 3, "E"),
    NUMBERS('g', 4, 5, 3, 151, 1, 1275, 100, 0, 0),
    BYTES('g', 5, 1, "\1"),
    NUMBERS('g', 6, 5, 1, 25, 2),
    NUMBERS('g', 7, 5, 3, 7, 1, 8, 1, 19, 2),
    NUMBERS('g', 0x14, 5, 1, 7, 1),
    TEXT('g', 0x1d, "2024:05:06"),
    TEXT('n', 1, "R98"),
};

typedef struct block {
    unsigned char bytes[MOST];
    size_t n;
    bool is_big;
} block;

static void put(block *b, size_t at, int n, uint32_t v)
{
    for (int k = 0; k < n; k++, v >>= 8)
        b->bytes[at + (size_t)(b->is_big ? n - 1 - k : k)] = (unsigned char)v;
}

static void put_values(block *b, size_t at, const put_tag *t)
{
    const bool is_chars = t->type == 1 || t->type == 2 || t->type == 7;
    const int size = t->type == 3 ? 2 : 4;
    const size_t n = t->count * (t->type == 5 || t->type == 10 ? 2 : 1);
    if (is_chars) memcpy(b->bytes + at, t->values, t->count);
    for (size_t k = 0; !is_chars && k < n; k++)
        put(b, at + k * (size_t)size, size, ((const uint32_t *)t->values)[k]);
}

static size_t size_of(const put_tag *t)
{
    static const size_t sizes[] = { [1] = 1, [2] = 1, [3] = 2, [4] = 4, [5] = 8, [7] = 1, [9] = 4, [10] = 8 };
    return sizes[t->type] * t->count;
}

/* Where the entry of the k-th row of one directory stands, behind which its values are put. */
static void put_entry(block *b, size_t at, const put_tag *t)
{
    put(b, at, 2, t->tag);
    put(b, at + 2, 2, t->type);
    put(b, at + 4, 4, t->count);
    if (size_of(t) <= 4) {
        put_values(b, at + 8, t);
        return;
    }
    put(b, at + 8, 4, (uint32_t)b->n);
    put_values(b, b->n, t);
    b->n += size_of(t) + size_of(t) % 2;
}

/* The rows of tags that are of `where`, and a pointer to the directory at next (0: none), and to another one. */
static void put_directory(block *b, size_t at, char where, const put_tag *tags, int n_tags, const put_tag *pointers,
                          int n_pointers)
{
    int n = 0;
    for (int k = 0; k < n_tags; k++)
        if (tags[k].where == where) put_entry(b, at + 2 + 12 * (size_t)n++, &tags[k]);
    for (int k = 0; k < n_pointers; k++)
        put_entry(b, at + 2 + 12 * (size_t)n++, &pointers[k]);
    put(b, at, 2, (uint32_t)n);
}

static block block_of(const put_tag *tags, int n, bool is_big)
{
    enum { PHOTO = 200, GPS = 420, NEXT = 580, VALUES = 620 };
    block b = { .n = VALUES, .is_big = is_big };
    const put_tag below[] = { NUMBERS(0, 0x8769, 4, 1, PHOTO), NUMBERS(0, 0x8825, 4, 1, GPS) };
    const put_tag next[] = { NUMBERS(0, 0xa005, 4, 1, NEXT) };
    memcpy(b.bytes, is_big ? "MM\0*" : "II*\0", 4);
    put(&b, 4, 4, 8);
    put_directory(&b, 8, 'i', tags, n, below, 2);
    put_directory(&b, PHOTO, 'p', tags, n, next, 1);
    put_directory(&b, GPS, 'g', tags, n, NULL, 0);
    put_directory(&b, NEXT, 'n', tags, n, NULL, 0);
    ck_assert_uint_le(b.n, MOST);
    return b;
}

static blob png_with(const block *exif)
{
    unsigned char *pixels = smooth_bytes(H, W, 3);
    const ip_pixels p = pixels_3d(IMGPAR_U8, H, W, 3, pixels);
    blob b = encode(&p, IP_FORMAT_PNG, NULL);
    if (exif) png_add(&b, "IEND", "eXIf", exif->bytes, exif->n);
    free(pixels);
    return b;
}

/* ---- values ---------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *directory, *text;
    int n;
    double number;
    bool is_whole;
} wanted[] = {
    { "Make", "image", "Imgpar Works", 0, 0, false },
    { "Model", "image", "Model  9", 0, 0, false },
    { "Orientation", "image", "6", 1, 6, true },
    { "XResolution", "image", "300", 1, 300, false },
    { "DateTime", "image", "2024-05-06 07:08:09", 0, 0, false },
    { "Artist", "image", "J\xc3\xbcrg", 0, 0, false },
    { "Copyright", "image", "Ann ; Ed", 0, 0, false },
    { "XPTitle", "image", "T\xe2\x82\xac\xf0\x9f\x98\x80", 0, 0, false },
    { "0xc4a5", "image", "1 2 3", 3, 1, true },
    { "ExposureTime", "photo", "0.004", 1, 0.004, false },
    { "FNumber", "photo", "2.8", 1, 2.8, false },
    { "PhotographicSensitivity", "photo", "400", 1, 400, true },
    { "ExifVersion", "photo", "0232", 0, 0, false },
    { "DateTimeOriginal", "photo", "2024-05-06 07:08:09", 0, 0, false },
    { "ComponentsConfiguration", "photo", "1 2 3 0", 4, 1, true },
    { "ExposureBiasValue", "photo", "-0.25", 1, -0.25, false },
    { "FocalLength", "photo", "50", 1, 50, false },
    { "UserComment", "photo", "a comment", 0, 0, false },
    { "LensSpecification", "photo", "24 70 nan nan", 4, 24, false },
    { "LensModel", "photo", "24-70mm F2.8", 0, 0, false },
    { "GPSVersionID", "gps", "2 3 0 0", 4, 2, true },
    { "GPSLatitudeRef", "gps", "S", 0, 0, false },
    { "GPSLatitude", "gps", "-33.86", 1, -33.86, false },
    { "GPSLongitudeRef", "gps", "E", 0, 0, false },
    { "GPSLongitude", "gps", "151.2125", 1, 151.2125, false },
    { "GPSAltitudeRef", "gps", "1", 1, 1, true },
    { "GPSAltitude", "gps", "-12.5", 1, -12.5, false },
    { "GPSTimeStamp", "gps", "07:08:09.500", 0, 0, false },
    { "GPSDateStamp", "gps", "2024-05-06", 0, 0, false },
    { "InteroperabilityIndex", "interoperability", "R98", 0, 0, false },
};

START_TEST(values_are_what_people_ask_for)
{
    const block exif = block_of(camera, N(camera), _i);
    blob png = png_with(&exif);
    imgpar_exif_value **list;
    size_t n;
    ck_assert_int_eq(imgpar_exif_memory(png.bytes, png.n, &list, &n, NULL, 0), IMGPAR_OK);
    for (size_t k = 0; k < n && k < N(wanted); k++) {
        const char *name = wanted[k].name;
        ck_assert_str_eq(list[k]->name, name);
        ck_assert_str_eq(list[k]->directory, wanted[k].directory);
        ck_assert_str_eq(list[k]->text, wanted[k].text);
        ck_assert_msg((int)list[k]->n_numbers == wanted[k].n, "%s: %zu numbers", name, list[k]->n_numbers);
        ck_assert_msg(!wanted[k].n || fabs(list[k]->numbers[0] - wanted[k].number) < 1e-12, "%s: %.17g", name,
                      list[k]->numbers[0]);
        ck_assert_msg(!wanted[k].n || list[k]->is_whole == wanted[k].is_whole, "%s: is_whole", name);
        ck_assert_ptr_eq(imgpar_exif_find(list, n, name), list[k]);
    }
    ck_assert_uint_eq(n, N(wanted));
    imgpar_exif_release(list, n);
    blob_free(&png);
}
END_TEST

START_TEST(tags_are_found_by_other_names_and_numbers)
{
    const block exif = block_of(camera, N(camera), true);
    blob png = png_with(&exif);
    imgpar_exif_value **list;
    size_t n;
    ck_assert_int_eq(imgpar_exif_memory(png.bytes, png.n, &list, &n, NULL, 0), IMGPAR_OK);
    ck_assert_str_eq(imgpar_exif_find(list, n, "iso")->text, "400");
    ck_assert_str_eq(imgpar_exif_find(list, n, "ISOSpeedRatings")->text, "400");
    ck_assert_str_eq(imgpar_exif_find(list, n, "0x829A")->text, "0.004");
    ck_assert_str_eq(imgpar_exif_find(list, n, "0x0000829a")->text, "0.004");
    ck_assert_ptr_null(imgpar_exif_find(list, n, "0x1829a"));           /* its low 16 bits are a tag's */
    ck_assert_ptr_null(imgpar_exif_find(list, n, "DateTimeDigitized")); /* of a clock that was never set */
    ck_assert_ptr_null(imgpar_exif_find(list, n, "SubjectDistance"));   /* 0/0 */
    ck_assert_ptr_null(imgpar_exif_find(list, n, "GPSDestLatitude"));   /* north or south? */
    ck_assert_ptr_null(imgpar_exif_find(list, n, "0xzz"));
    ck_assert_ptr_null(imgpar_exif_find(list, n, NULL));
    ck_assert_str_eq(imgpar_exif_name("datetimeoriginal"), "DateTimeOriginal");
    ck_assert_ptr_null(imgpar_exif_name("DateTaken"));
    imgpar_exif_release(list, n);
    imgpar_exif_release(NULL, 0);
    blob_free(&png);
}
END_TEST

START_TEST(what_a_tag_may_be_called)
{
    static const char *const good[] = { "Make",
                                        "mAKE",
                                        "ISO",
                                        "MakerNote",
                                        "StripOffsets",
                                        "GPSDOP",
                                        "tileoffsets",
                                        "0x927c",
                                        "0x1",
                                        "0xffff",
                                        "0x0000ffff",
                                        "SpatialFrequencyResponse",
                                        "0X9003",
                                        "EXIF:Make",
                                        "Exif.Photo.FNumber",
                                        "Date Time Original",
                                        "Date/Time Original",
                                        "exif:0x9003" };
    static const char *const bad[] = { "",
                                       "DateTaken",
                                       "0x",
                                       "0xzz",
                                       "0x1g",
                                       "0x 1",
                                       "0x-1",
                                       "0x10000",
                                       "0x0x12",
                                       "33434",
                                       "0xffffffffffff",
                                       "0x1ffffffffffffffff",
                                       " Make",
                                       "Make ",
                                       "EXIF:",
                                       "Exif.Photo.",
                                       "Photo.Make",
                                       "EXIF: Make",
                                       "EXIF:EXIF:Make",
                                       " " };
    for (size_t k = 0; k < N(good); k++)
        ck_assert_msg(imgpar_exif_is_tag(good[k]) == 1, "%s", good[k]);
    for (size_t k = 0; k < N(bad); k++) {
        ck_assert_msg(imgpar_exif_is_tag(bad[k]) == 0, "%s", bad[k]);
        ck_assert_msg(!imgpar_exif_name(bad[k]), "%s", bad[k]);
    }
    ck_assert_int_eq(imgpar_exif_is_tag(NULL), 0);
    ck_assert_str_eq(imgpar_exif_name("makernote"), "MakerNote");
    ck_assert_str_eq(imgpar_exif_name("Exif.GPSInfo.GPSLatitude"), "GPSLatitude");
    ck_assert_str_eq(imgpar_exif_name("EXIF:GPSLatitude"), "GPSLatitude");
    ck_assert_str_eq(imgpar_exif_name("ExifIFD:ISO"), "PhotographicSensitivity");
    ck_assert_str_eq(imgpar_exif_name("InteropIFD:InteroperabilityIndex"), "InteroperabilityIndex");
    static const char *const of_others[] = { "GPS:Make", "GPS:ISO", "IFD0:GPSLatitude", "Exif.Photo.GPSLatitude",
                                             "Exif.Iop.Make" };
    for (size_t k = 0; k < sizeof of_others / sizeof *of_others; k++) {
        ck_assert_msg(imgpar_exif_name(of_others[k]) == NULL, "%s", of_others[k]);
        ck_assert_msg(!imgpar_exif_is_tag(of_others[k]), "%s", of_others[k]);
    }
    ck_assert_str_eq(imgpar_exif_name("EXIF:Date/Time Original"), "DateTimeOriginal");
}
END_TEST

/* ---- single values ----------------------------------------------------------------------------------- */

/* The text of one tag's value, which stands in a block behind others; "" where it is not told. */
static const char *text_of(const put_tag *t, bool is_big)
{
    static char text[200];
    const put_tag two[] = { TEXT('i', 0x0131, "before"), *t };
    const block exif = block_of(two, 2, is_big);
    const ip_blob given = { (unsigned char *)exif.bytes, exif.n };
    char number[16];
    ip_error err = { 0 };
    imgpar_exif_value **list;
    size_t n;
    ck_assert_int_eq(ip_exif_values(&given, 1, &list, &n, &err), IMGPAR_OK);
    ck_assert_str_eq(imgpar_exif_find(list, n, "Software")->text, "before");
    snprintf(number, sizeof number, "0x%x", t->tag);
    const imgpar_exif_value *v = imgpar_exif_find(list, n, number);
    snprintf(text, sizeof text, "%s", v ? v->text : "");
    imgpar_exif_release(list, n);
    return text;
}

START_TEST(times_of_gps_are_rounded)
{
    static const struct {
        uint32_t v[6];
        const char *text;
    } rows[] = {
        { { 7, 1, 8, 1, 9, 1 }, "07:08:09" },
        { { 7, 1, 8, 1, 589, 10 }, "07:08:58.900" },
        { { 7, 1, 8, 1, 12345, 1000 }, "07:08:12.345" },
        { { 7, 1, 8, 1, 90004, 10000 }, "07:08:09" },
        { { 7, 1, 8, 1, 599994, 10000 }, "07:08:59.999" },
        { { 7, 1, 8, 1, 599996, 10000 }, "07:09:00" },
        { { 7, 1, 59, 1, 599996, 10000 }, "08:00:00" },
        { { 23, 1, 59, 1, 599996, 10000 }, "23:59:59.999" }, /* not the next day's */
        { { 23, 1, 59, 1, 60, 1 }, "23:59:59.999" },         /* a leap second */
        { { 7, 1, 17, 2, 0, 1 }, "07:08:30" },
        { { 24, 1, 0, 1, 0, 1 }, "" },
        { { 7, 1, 60, 1, 0, 1 }, "" },
        { { 7, 1, 8, 1, 61, 1 }, "" },
        { { 47, 2, 59, 1, 0, 1 }, "" },
        { { 7, 1, 8, 1, 0, 0 }, "" },
    };
    for (size_t k = 0; k < N(rows); k++) {
        const put_tag t = { 'g', 7, 5, 3, rows[k].v };
        ck_assert_str_eq(text_of(&t, k % 2), rows[k].text);
    }
}
END_TEST

START_TEST(dates_are_those_that_sqlite_reads)
{
    static const struct {
        const char *here, *text;
    } rows[] = {
        { "2024:05:06 07:08:09", "2024-05-06 07:08:09" },
        { "2024-05-06T07:08:09", "2024-05-06T07:08:09" },
        { "2024:05:06 07:08", "2024-05-06 07:08" },
        { "2024:05:06 07:08:09.25", "2024-05-06 07:08:09.25" },
        { "2024:05:06 07:08:09Z", "2024-05-06 07:08:09Z" },
        { "2024:05:06 07:08:09-03:30", "2024-05-06 07:08:09-03:30" },
        { "2024:05:06 07:08:09 +02:00", "2024-05-06 07:08:09 +02:00" },
        { "2024:05:06", "2024-05-06" },
        { "2024:05:06   :  :  ", "2024-05-06" }, /* the time is not known */
        { "2024:05:06         ", "2024-05-06" },
        { "2024:02:29 00:00:00", "2024-02-29 00:00:00" },
        { "2000:02:29 23:59:59", "2000-02-29 23:59:59" },
        { "2023:02:29 00:00:00", "" },
        { "1900:02:29 00:00:00", "" },
        { "2024:04:31 00:00:00", "" },
        { "2024:12:32 00:00:00", "" },
        { "2024:00:00 00:00:00", "" },
        { "2024:01:00 00:00:00", "" },
        { "2024:13:01 00:00:00", "" },
        { "2024:13:45 99:99:99", "" },
        { "0000:01:01 00:00:00", "" },
        { "2024:05:06 24:00:00", "" },
        { "2024:05:06 07:60:00", "" },
        { "2024:05:06 07:08:60", "" }, /* SQLite knows no leap seconds */
        { "2024:05:06 7:08:09", "" },
        { "2024:05:06 07:08:0", "" },
        { "2024:05:06 07:08.5", "" },
        { "2024:05:06 07", "" },
        { "2024:05:06 07:08:09 PM", "" },
        { "2024:05:06 07:08:09+15:00", "" },
        { "2024:05:06 07:08:09+02", "" },
        { "2024:05:0607:08:09", "" },
        { "2024:05", "" },
        { "2024:5:6 07:08:09", "" },
        { "    :  :     :  :  ", "" },
        { "2024:  :     :  :  ", "" },
        { "+024:05:06 07:08:09", "" },
        { "no date", "" },
    };
    for (size_t k = 0; k < N(rows); k++) {
        const put_tag t = { 'p', 0x9003, 2, (unsigned)strlen(rows[k].here) + 1, rows[k].here };
        ck_assert_str_eq(text_of(&t, k % 2), rows[k].text);
    }
}
END_TEST

START_TEST(texts_end_at_their_zero)
{
    static const struct {
        put_tag tag;
        const char *text;
    } rows[] = {
        { TEXT('i', 0x010f, "Canon\0\x81\x9fgarbage"), "Canon" },
        { TEXT('i', 0x010f, "J\xc3\xbcrg\0\xff"), "J\xc3\xbcrg" },
        { TEXT('i', 0x010f, "\0Canon"), "" },
        { TEXT('i', 0x8298, "Ann\0Ed"), "Ann; Ed" },
        { TEXT('i', 0x8298, " \0Ed\0\0"), "Ed" },
        { TEXT('i', 0x8298, "Ann\0 \0"), "Ann" },
        { TEXT('i', 0x8298, "J\xc3\xbcrg\0J\xfcrg"), "J\xc3\xbcrg; J\xc3\xbcrg" }, /* UTF-8, and Latin-1 */
        { TEXT('i', 0x8298, "\0 \0"), "" },
        { BYTES('i', 0x9c9b, 1, "T\0\0\0x\0\0\0"), "T" },
        { BYTES('p', 0x9286, 7, "ASCII\0\0\0a\0\xffgarbage"), "a" },
        { TEXT('p', 0x9003, "2024:05:06 07:08:09\0x"), "2024-05-06 07:08:09" },
    };
    for (size_t k = 0; k < N(rows); k++)
        ck_assert_str_eq(text_of(&rows[k].tag, k % 2), rows[k].text);
}
END_TEST

START_TEST(some_tags_are_never_told)
{
    const put_tag untold[] = {
        NUMBERS('i', 0x0111, 4, 1, 8),       NUMBERS('i', 0x0117, 4, 1, 8), BYTES('p', 0x927c, 7, "Short notes"),
        BYTES('p', 0x927c, 7, "\1\2\3\4\5"), TEXT('i', 0x927c, "notes"),
    };
    for (size_t k = 0; k < N(untold); k++)
        ck_assert_str_eq(text_of(&untold[k], k % 2), "");
    const put_tag response = BYTES('p', 0xa20c, 7, "\0\1\0\1ab");
    ck_assert_str_eq(text_of(&response, true), "0 1 0 1 97 98");
}
END_TEST

START_TEST(an_array_tells_what_its_file_will)
{
    const block exif = block_of(camera, N(camera), true);
    blob png = png_with(&exif);
    imgpar_context *ctx;
    ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK);
    imgpar_array *a = imgpar_open_memory(ctx, png.bytes, png.n), *half = imgpar_apply(ctx, "resize($1, 50)", &a, 1);
    imgpar_exif_value **list;
    size_t n;
    ck_assert_int_eq(imgpar_array_exif(half, &list, &n), IMGPAR_OK);
    ck_assert_str_eq(imgpar_exif_find(list, n, "Orientation")->text, "1");
    ck_assert_str_eq(imgpar_exif_find(list, n, "Make")->text, "Imgpar Works");
    imgpar_exif_release(list, n);
    imgpar_array *bad = imgpar_apply(ctx, "blur($1, -1)", &a, 1);
    ck_assert_int_eq(imgpar_array_exif(bad, &list, &n), imgpar_array_status(bad));
    imgpar_array_release(bad);
    imgpar_array_release(half);
    imgpar_array_release(a);
    imgpar_context_release(ctx);
    blob_free(&png);
}
END_TEST

START_TEST(a_picture_without_exif_has_no_values)
{
    blob png = png_with(NULL);
    imgpar_exif_value **list;
    size_t n = 7;
    char message[100] = "";
    ck_assert_int_eq(imgpar_exif_memory(png.bytes, png.n, &list, &n, message, sizeof message), IMGPAR_OK);
    ck_assert_uint_eq(n, 0);
    ck_assert_ptr_null(imgpar_exif_find(list, n, "Make"));
    imgpar_exif_release(list, n);
    ck_assert_int_eq(imgpar_exif_memory("text", 4, &list, &n, message, sizeof message), IMGPAR_E_CORRUPT);
    ck_assert_ptr_nonnull(strstr(message, "not an image"));
    ck_assert_int_eq(imgpar_exif_memory(NULL, 0, &list, &n, NULL, 0), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_exif_memory(NULL, 0, &list, &n, message, sizeof message), IMGPAR_E_ARGUMENT);
    ck_assert_str_eq(message, "exif: bytes, out and n must not be NULL");
    ck_assert_int_eq(imgpar_exif_file("a.jpg", NULL, &n, message, sizeof message), IMGPAR_E_ARGUMENT);
    ck_assert_str_eq(message, "exif: path, out and n must not be NULL");
    ck_assert_int_eq(imgpar_exif_file("no such file", &list, &n, message, sizeof message), IMGPAR_E_IO);
    ck_assert_ptr_null(list);
    ck_assert_uint_eq(n, 0);
    blob_free(&png);
}
END_TEST

/* ---- damage ----------------------------------------------------------------------------------------- */

static bool is_utf8(const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        const int more = *p < 0x80 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
        if (*p < 0x20 || *p == 0x7f || (*p >= 0x80 && *p < 0xc2)) return false;
        p++;
        for (int k = 0; k < more; k++)
            if ((*p++ & 0xc0) != 0x80) return false;
    }
    return true;
}

/* Reads n bytes as they are, in memory of their own, where the sanitizer and valgrind see the end, and cleaned. */
static void read_all(const unsigned char *bytes, size_t n)
{
    for (int is_clean = 0; is_clean < 2; is_clean++) {
        ip_error err = { 0 };
        ip_blob exif = { malloc(n + 1), n };
        imgpar_exif_value **list;
        size_t n_values;
        memcpy(exif.bytes, bytes, n);
        if (is_clean) {
            free(exif.bytes);
            if (ip_exif_clean(bytes, n, &exif, &err)) return;
        }
        ck_assert_int_eq(ip_exif_values(&exif, 1, &list, &n_values, &err), IMGPAR_OK);
        for (size_t k = 0; k < n_values; k++) {
            ck_assert_msg(is_utf8(list[k]->text), "%s: no clean text", list[k]->name);
            ck_assert_msg(list[k]->text[0] && list[k]->n_numbers <= 64, "%s", list[k]->name);
        }
        imgpar_exif_release(list, n_values);
        is_clean ? ip_free(exif.bytes) : free(exif.bytes);
    }
}

START_TEST(no_damage_does_harm)
{
    block exif = block_of(camera, N(camera), _i);
    for (size_t n = 0; n <= exif.n; n++)
        read_all(exif.bytes, n);
    for (size_t at = 0; at < exif.n; at++)
        for (int k = 0; k < 3; k++) {
            const unsigned char kept = exif.bytes[at];
            exif.bytes[at] = k == 0 ? 0xff : k == 1 ? 0 : (unsigned char)ip_hash_u64((uint64_t)_i, at);
            read_all(exif.bytes, exif.n);
            exif.bytes[at] = kept;
        }
    for (int k = 0; k < 2000; k++) { /* random bytes behind a head */
        unsigned char bytes[300];
        for (size_t at = 0; at < sizeof bytes; at++) {
            const uint64_t h = ip_hash_u64((uint64_t)k * 2 + (uint64_t)_i, at);
            bytes[at] = (unsigned char)(h % 3 ? h >> 8 & 15 : h >> 8);
        }
        memcpy(bytes, _i ? "MM\0*\0\0\0\x8" : "II*\0\x8\0\0\0", 8);
        read_all(bytes, sizeof bytes);
    }
}
END_TEST

/* A directory of as many entries as there can be, each of which is nearly all of a large block: an attack. */
START_TEST(many_large_values_end_soon)
{
    enum { ENTRIES = 65535, ALL = 2 << 20 };
    block head = { .is_big = true };
    unsigned char *bytes = calloc(1, ALL);
    memset(bytes, 'a', ALL);
    memcpy(bytes, "MM\0*\0\0\0\x8\xff\xff", 10);
    for (uint32_t k = 0; k < ENTRIES; k++) {
        put(&head, 0, 2, k + 1);
        put(&head, 2, 2, 2);
        put(&head, 4, 4, ALL - 100);
        put(&head, 8, 4, 50);
        memcpy(bytes + 10 + 12 * k, head.bytes, 12);
    }
    read_all(bytes, ALL);
    for (uint32_t k = 0; k < ENTRIES; k++)
        memcpy(bytes + 10 + 12 * k + 2, "\0\3\0\0\0\1", 6); /* many small ones */
    read_all(bytes, ALL);
    free(bytes);
}
END_TEST

START_TEST(memory_may_end)
{
    const block exif = block_of(camera, N(camera), true);
    const ip_blob given = { (unsigned char *)exif.bytes, exif.n };
    for (unsigned long nth = 1;; nth++) {
        imgpar_exif_value **list;
        size_t n;
        ip_error err = { 0 };
        ip_fault_set(IP_FAULT_ALLOC, nth);
        imgpar_status st = ip_exif_values(&given, 1, &list, &n, &err);
        ip_fault_set(IP_FAULT_ALLOC, 0);
        if (st == IMGPAR_OK) {
            imgpar_exif_release(list, n);
            ck_assert_uint_gt(nth, 3);
            break;
        }
        ck_assert_int_eq(st, IMGPAR_E_HOST_MEMORY);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exif");
    TCase *c = tcase_create("exif");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, values_are_what_people_ask_for, 0, 2);
    tcase_add_test(c, tags_are_found_by_other_names_and_numbers);
    tcase_add_test(c, what_a_tag_may_be_called);
    tcase_add_test(c, times_of_gps_are_rounded);
    tcase_add_test(c, dates_are_those_that_sqlite_reads);
    tcase_add_test(c, texts_end_at_their_zero);
    tcase_add_test(c, some_tags_are_never_told);
    tcase_add_test(c, an_array_tells_what_its_file_will);
    tcase_add_test(c, a_picture_without_exif_has_no_values);
    tcase_add_loop_test(c, no_damage_does_harm, 0, 2);
    tcase_add_test(c, many_large_values_end_soon);
    tcase_add_test(c, memory_may_end);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
