/* SPDX-License-Identifier: MIT */
/*
 * Values are gathered into three texts that grow: records, their numbers, and their characters. What no person asks for
 * is left out: what exif_tags.def says is never told, and other bytes without a text of more than MOST_NUMBERS.
 */
#include "io/exif_values.h"
#include "io/exif.h"
#include "io/tiff.h"

#include "base/alloc.h"
#include "base/str.h"
#include "base/structs.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef enum directory { IMAGE, PHOTO, GPS, INTEROPERABILITY, N_DIRECTORIES } directory;
static const char *const directory_names[] = { "image", "photo", "gps", "interoperability" };

typedef struct tag {
    directory directory; /* of tags in PHOTO, too: IMAGE */
    unsigned number;
    const char *name;
    bool is_told;
} tag;

static const tag tags[] = {
#define TAG(directory, number, name) { directory, number, #name, true },
#define UNTOLD(directory, number, name) { directory, number, #name, false },
#define ALIAS(name, here)
#include "io/exif_tags.def"
#undef TAG
#undef UNTOLD
#undef ALIAS
};
enum { N_TAGS = sizeof tags / sizeof *tags };

static const struct alias {
    const char *name, *here;
} aliases[] = {
#define TAG(directory, number, name)
#define UNTOLD(directory, number, name)
#define ALIAS(name, here) { #name, #here },
#include "io/exif_tags.def"
#undef TAG
#undef UNTOLD
#undef ALIAS
};

enum {
    TAG_ORIENTATION = 0x0112,
    TAG_DATE = 0x0132, /* DateTime */
    TAG_COPYRIGHT = 0x8298,
    TAG_EXIF = 0x8769,
    TAG_GPS = 0x8825,
    TAG_DATE_ORIGINAL = 0x9003,
    TAG_DATE_DIGITIZED = 0x9004,
    TAG_COMMENT = 0x9286,
    TAG_XP_FIRST = 0x9c9b,
    TAG_XP_LAST = 0x9c9f,
    TAG_INTEROPERABILITY = 0xa005,
    GPS_LATITUDE = 2,
    GPS_LONGITUDE = 4,
    GPS_ALTITUDE = 6,
    GPS_TIME = 7,
    GPS_TO_LATITUDE = 0x14,
    GPS_TO_LONGITUDE = 0x16,
    GPS_METHOD = 0x1b,
    GPS_AREA = 0x1c,
    GPS_DATE = 0x1d
};
enum { MOST_NUMBERS = 64, MOST_VALUES = 512 }; /* of a value, and of a block */

typedef struct record {
    imgpar_exif_value value; /* its pointers are set when all is gathered */
    size_t text, numbers;    /* where they begin */
} record;

typedef struct gathered {
    ip_tiff from;
    int orientation;
    ip_str records, numbers, texts;
    size_t n_seen; /* bytes of values; more than the block has a few times over is an attack */
} gathered;

/* ---- characters --------------------------------------------------------------------------- */

static void put_utf8(ip_str *s, uint32_t c)
{
    if (c < 0x80) {
        ip_str_putc(s, (char)c);
    } else if (c < 0x800) {
        ip_str_putc(s, (char)(0xc0 | c >> 6));
        ip_str_putc(s, (char)(0x80 | (c & 63)));
    } else if (c < 0x10000) {
        ip_str_putc(s, (char)(0xe0 | c >> 12));
        ip_str_putc(s, (char)(0x80 | (c >> 6 & 63)));
        ip_str_putc(s, (char)(0x80 | (c & 63)));
    } else {
        ip_str_putc(s, (char)(0xf0 | c >> 18));
        ip_str_putc(s, (char)(0x80 | (c >> 12 & 63)));
        ip_str_putc(s, (char)(0x80 | (c >> 6 & 63)));
        ip_str_putc(s, (char)(0x80 | (c & 63)));
    }
}

/* How many bytes the UTF-8 character at p has, 0: it is none. */
static size_t utf8_length(const unsigned char *p, size_t n)
{
    const size_t length = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (length == 0 || length > n) return 0;
    for (size_t k = 1; k < length; k++)
        if ((p[k] & 0xc0) != 0x80) return 0;
    if (p[0] == 0xe0 && p[1] < 0xa0) return 0;
    if (p[0] == 0xed && p[1] > 0x9f) return 0; /* halves of UTF-16's pairs */
    if (p[0] == 0xf0 && p[1] < 0x90) return 0;
    return p[0] == 0xf4 && p[1] > 0x8f ? 0 : length;
}

static bool is_utf8(const unsigned char *p, size_t n)
{
    for (size_t k = 0, length; k < n; k += length)
        if ((length = utf8_length(p + k, n - k)) == 0) return false;
    return true;
}

/* One character behind those of a text that began at start, without blanks in front and control characters. */
static void put_clean(ip_str *s, size_t start, uint32_t c)
{
    if (c < 0x20 || (c >= 0x7f && c < 0xa0)) c = ' ';
    if (c != ' ' || s->length > start) put_utf8(s, c);
}

static uint32_t utf8_at(const unsigned char *p, size_t length)
{
    static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    uint32_t c = p[0] & masks[length];
    for (size_t k = 1; k < length; k++)
        c = c << 6 | (p[k] & 63);
    return c;
}

static size_t length_to_zero(const unsigned char *p, size_t n)
{
    const unsigned char *zero = n ? memchr(p, 0, n) : NULL;
    return zero ? (size_t)(zero - p) : n;
}

/* UTF-8, or what is none as Latin-1, up to the first zero. */
static void put_bytes(ip_str *s, const unsigned char *p, size_t n)
{
    n = length_to_zero(p, n);
    const bool is_coded = is_utf8(p, n);
    const size_t start = s->length;
    for (size_t k = 0, length; k < n; k += length) {
        length = is_coded ? utf8_length(p + k, n - k) : 1;
        put_clean(s, start, is_coded ? utf8_at(p + k, length) : p[k]);
    }
}

/* Texts that a zero ends each, with "; " between them: the photographer's copyright, and the editor's. */
static void put_parts(ip_str *s, const unsigned char *p, size_t n)
{
    const size_t start = s->length;
    for (size_t k = 0; k < n; k += length_to_zero(p + k, n - k) + 1) {
        const size_t behind = s->length;
        if (behind > start) ip_str_append(s, "; ");
        const size_t part = s->length;
        put_bytes(s, p + k, n - k);
        if (s->length == part) s->length = behind; /* a blank stands for a photographer who is not known */
    }
}

static void put_utf16(ip_str *s, const unsigned char *p, size_t n, bool is_big)
{
    const size_t start = s->length;
    if (n >= 2 && (ip_tiff_get(p, 2, is_big) == 0xfeff || ip_tiff_get(p, 2, is_big) == 0xfffe)) { /* byte order mark */
        is_big = ip_tiff_get(p, 2, true) == 0xfeff;
        p += 2;
        n -= 2;
    }
    for (size_t k = 0; k + 2 <= n; k += 2) {
        uint32_t c = ip_tiff_get(p + k, 2, is_big);
        if (c == 0) return;
        const uint32_t next = k + 4 <= n ? ip_tiff_get(p + k + 2, 2, is_big) : 0;
        if (c >= 0xd800 && c < 0xdc00 && next >= 0xdc00 && next < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (next - 0xdc00);
            k += 2;
        } else if (c >= 0xd800 && c < 0xe000) {
            c = 0xfffd;
        }
        put_clean(s, start, c);
    }
}

/* A text behind 8 bytes that name its characters. */
static void put_comment(ip_str *s, const unsigned char *p, size_t n, bool is_big)
{
    if (n < 8)
        put_bytes(s, p, n);
    else if (memcmp(p, "UNICODE", 8) == 0)
        put_utf16(s, p + 8, n - 8, is_big);
    else if (memcmp(p, "JIS\0\0\0\0", 8) != 0) /* which no table here tells */
        put_bytes(s, p + 8, n - 8);
}

/* ---- numbers ------------------------------------------------------------------------------ */

/* The k-th number of an entry; NaN where a rational is divided by 0, which means that it is not known. */
static double number_at(const ip_tiff *t, const ip_tiff_entry *e, size_t k)
{
    static const unsigned char sizes[] = { 1, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8 };
    if (e->type >= sizeof sizes) return NAN;
    const unsigned char *p = t->bytes + e->values + k * sizes[e->type];
    const uint32_t low = ip_tiff_get(p, sizes[e->type] < 4 ? sizes[e->type] : 4, t->is_big);
    const uint32_t next = sizes[e->type] == 8 ? ip_tiff_get(p + 4, 4, t->is_big) : 0;
    switch (e->type) {
    case IP_TIFF_SIGNED_BYTE: return (int8_t)low;
    case IP_TIFF_SIGNED_SHORT: return (int16_t)low;
    case IP_TIFF_SIGNED_LONG: return (int32_t)low;
    case IP_TIFF_RATIONAL: return next ? (double)low / next : NAN;
    case IP_TIFF_SIGNED_RATIONAL: return next ? (double)(int32_t)low / (int32_t)next : NAN;
    case IP_TIFF_FLOAT: {
        float v;
        memcpy(&v, &low, sizeof v);
        return v;
    }
    case IP_TIFF_DOUBLE: {
        const uint64_t bits = t->is_big ? (uint64_t)low << 32 | next : (uint64_t)next << 32 | low;
        double v;
        memcpy(&v, &bits, sizeof v);
        return v;
    }
    default: return low;
    }
}

/* Degrees, minutes and seconds as degrees; NaN where there are other than 1 to 3 numbers. */
static double degrees(const ip_tiff *t, const ip_tiff_entry *e)
{
    double sum = 0, unit = 1;
    if (e->type != IP_TIFF_RATIONAL || e->count > 3) return NAN;
    for (size_t k = 0; k < e->count; k++, unit *= 60) {
        const double v = number_at(t, e, k);
        if (k > 0 && k == e->count - 1 && isnan(v)) break; /* seconds that are not known: 0/0 */
        sum += v / unit;
    }
    return sum;
}

/* North and east count on. Without its direction, beyond most or in another form it is no place: NaN. */
static double place(const ip_tiff *t, size_t gps, const ip_tiff_entry *e)
{
    const bool is_latitude = e->tag == GPS_LATITUDE || e->tag == GPS_TO_LATITUDE;
    ip_tiff_entry ref;
    if (!ip_tiff_find(t, gps, e->tag - 1, &ref) || ref.type != IP_TIFF_ASCII) return NAN;
    const char c = (char)t->bytes[ref.values];
    const int sign = c == (is_latitude ? 'N' : 'E') ? 1 : c == (is_latitude ? 'S' : 'W') ? -1 : 0;
    const double v = degrees(t, e);
    return sign && v <= (is_latitude ? 90 : 180) ? sign * v : NAN;
}

static double altitude(const ip_tiff *t, size_t gps, const ip_tiff_entry *e)
{
    ip_tiff_entry ref;
    const bool is_below = ip_tiff_find(t, gps, e->tag - 1, &ref) && ref.type == IP_TIFF_BYTE &&
                          (t->bytes[ref.values] == 1 || t->bytes[ref.values] == 3);
    return e->count == 1 ? (is_below ? -1 : 1) * number_at(t, e, 0) : NAN;
}

/* ---- values ------------------------------------------------------------------------------- */

/* The number that n digits are, -1: they are none. */
static int digits(const char *text, int n)
{
    int v = 0;
    for (int k = 0; k < n; k++) {
        if (text[k] < '0' || text[k] > '9') return -1;
        v = 10 * v + (text[k] - '0');
    }
    return v;
}

static bool is_day(int year, int month, int day)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return year > 0 && month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] + (is_leap && month == 2);
}

/* Where "HH:MM", "HH:MM:SS" or "HH:MM:SS.25" ends, NULL: it is no time of a day. SQLite knows no second 60. */
static const char *behind_time(const char *text)
{
    const int hour = digits(text, 2), minute = hour < 0 || text[2] != ':' ? -1 : digits(text + 3, 2);
    if (hour > 23 || minute < 0 || minute > 59) return NULL;
    if (text[5] != ':') return text + 5;
    const int second = digits(text + 6, 2);
    if (second < 0 || second > 59) return NULL;
    return text[8] == '.' && digits(text + 9, 1) >= 0 ? text + 9 + strspn(text + 9, "0123456789") : text + 8;
}

/* Nothing, or as SQLite reads it "Z", "+02:00". */
static bool is_zone(const char *text)
{
    text += strspn(text, " ");
    if (*text != '+' && *text != '-') return *text == '\0' || strcmp(text, "Z") == 0;
    const int hour = digits(text + 1, 2), minute = hour < 0 || text[3] != ':' ? -1 : digits(text + 4, 2);
    return hour <= 14 && minute >= 0 && minute <= 59 && text[6] == '\0';
}

/* "2024:05:06" becomes "2024-05-06", as SQL and ISO 8601 write it; a time of blanks is not known and goes.
 * Returns the length, 0: it is no date, as of a clock never set. */
static size_t set_date(char *text)
{
    enum { DATE = 10 }; /* characters */
    const int year = digits(text, 4);
    if (year < 0 || (text[4] != ':' && text[4] != '-')) return 0;
    const int month = digits(text + 5, 2);
    if (month < 0 || text[7] != text[4]) return 0;
    if (!is_day(year, month, digits(text + 8, 2))) return 0;
    text[4] = text[7] = '-';
    if (!text[DATE + strspn(text + DATE, " :")]) return DATE;
    if (text[DATE] != ' ' && text[DATE] != 'T') return 0;
    const char *end = behind_time(text + DATE + 1);
    return end && is_zone(end) ? strlen(text) : 0;
}

static bool is_date(directory d, uint32_t number)
{
    return d == GPS ? number == GPS_DATE
                    : number == TAG_DATE || number == TAG_DATE_ORIGINAL || number == TAG_DATE_DIGITIZED;
}

/* To the nearest millisecond, but within the day: its date stands in another tag. */
static void put_time(gathered *g, const ip_tiff_entry *e)
{
    enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR }; /* in milliseconds */
    double v[3];
    for (size_t k = 0; k < 3; k++) {
        v[k] = e->count == 3 ? number_at(&g->from, e, k) : NAN;
        if (!(v[k] >= 0 && v[k] < (k == 0 ? 24 : k == 1 ? 60 : 61))) return;
    }
    const double exact = v[0] * HOUR + v[1] * MINUTE + v[2] * SECOND;
    if (exact >= DAY + SECOND) return;
    const int nearest = (int)llround(exact), t = nearest < DAY ? nearest : DAY - 1;
    ip_str_printf(&g->texts, "%02d:%02d:%02d", t / HOUR, t / MINUTE % 60, t / SECOND % 60);
    if (t % SECOND) ip_str_printf(&g->texts, ".%03d", t % SECOND);
}

static bool is_of_places(directory d, uint32_t number)
{
    return d == GPS && (number == GPS_LATITUDE || number == GPS_LONGITUDE || number == GPS_TO_LATITUDE ||
                        number == GPS_TO_LONGITUDE);
}

/* Of bytes without a type: are all of them characters, up to zeros at the end, as in "0232"? */
static bool is_text(const unsigned char *p, size_t n)
{
    while (n > 0 && p[n - 1] == 0)
        n--;
    for (size_t k = 0; k < n; k++)
        if (p[k] < 0x20 || p[k] >= 0x7f) return false;
    return n > 0;
}

/* Puts a text, if the value is one. */
static bool put_text(gathered *g, directory d, const ip_tiff_entry *e)
{
    const unsigned char *p = g->from.bytes + e->values;
    const bool is_xp = d != GPS && e->tag >= TAG_XP_FIRST && e->tag <= TAG_XP_LAST;
    const bool is_comment = d == GPS ? e->tag == GPS_METHOD || e->tag == GPS_AREA : e->tag == TAG_COMMENT;
    if (e->type == IP_TIFF_ASCII && d != GPS && e->tag == TAG_COPYRIGHT)
        put_parts(&g->texts, p, e->n_values);
    else if (e->type == IP_TIFF_ASCII)
        put_bytes(&g->texts, p, e->n_values);
    else if (is_xp && e->type == IP_TIFF_BYTE)
        put_utf16(&g->texts, p, e->n_values, false);
    else if (is_comment && e->type == IP_TIFF_UNDEFINED)
        put_comment(&g->texts, p, e->n_values, g->from.is_big);
    else if (e->type == IP_TIFF_UNDEFINED && is_text(p, e->n_values))
        put_bytes(&g->texts, p, e->n_values);
    else if (d == GPS && e->tag == GPS_TIME)
        put_time(g, e);
    else
        return false;
    return true;
}

/* Puts numbers, and their text. How many: 0, the value is left out. */
static size_t put_numbers(gathered *g, directory d, size_t at, const ip_tiff_entry *e)
{
    const bool is_one = is_of_places(d, e->tag) || (d == GPS && e->tag == GPS_ALTITUDE);
    const size_t n = is_one ? 1 : e->count;
    if (n > MOST_NUMBERS) return 0;
    for (size_t k = 0; k < n; k++) {
        const double v = is_of_places(d, e->tag)                   ? place(&g->from, at, e)
                         : is_one                                  ? altitude(&g->from, at, e)
                         : d == IMAGE && e->tag == TAG_ORIENTATION ? g->orientation
                                                                   : number_at(&g->from, e, k);
        if (n == 1 && !isfinite(v)) return 0;
        if (k) ip_str_putc(&g->texts, ' ');
        ip_str_number(&g->texts, v);
        ip_str_append_n(&g->numbers, (const char *)&v, sizeof v);
    }
    return n;
}

/* NULL: the standards have none of that number. */
static const tag *find_tag(directory d, uint32_t number)
{
    if (d == PHOTO) d = IMAGE;
    for (size_t k = 0; k < N_TAGS; k++)
        if (tags[k].directory == d && tags[k].number == number) return &tags[k];
    return NULL;
}

static bool is_there(const gathered *g, directory d, uint32_t number)
{
    for (size_t k = 0; k < g->records.length / sizeof(record); k++) {
        record r;
        memcpy(&r, g->records.text + k * sizeof r, sizeof r);
        if (r.value.tag == number && r.value.directory == directory_names[d]) return true;
    }
    return false;
}

/* known may be NULL. */
static void gather_entry(gathered *g, directory d, size_t at, const ip_tiff_entry *e, const tag *known)
{
    const size_t text = g->texts.length, numbers = g->numbers.length;
    record r = { .value = { .name = known ? known->name : NULL, .directory = directory_names[d], .tag = e->tag },
                 .text = text,
                 .numbers = numbers };
    const bool is_of_text = put_text(g, d, e);
    if (!is_of_text) r.value.n_numbers = put_numbers(g, d, at, e);
    while (is_of_text && g->texts.length > text && g->texts.text[g->texts.length - 1] == ' ')
        g->texts.text[--g->texts.length] = '\0';
    bool is_told = g->texts.length > text && (is_of_text || r.value.n_numbers > 0);
    if (is_told && is_date(d, e->tag)) {
        const size_t length = is_of_text ? set_date(g->texts.text + text) : 0;
        is_told = length > 0;
        g->texts.length = text + length;
    }
    if (!is_told) {
        g->texts.length = text;
        g->numbers.length = numbers;
        return;
    }
    ip_str_putc(&g->texts, '\0');
    r.value.is_whole = !is_of_places(d, e->tag) && e->type != IP_TIFF_RATIONAL && e->type < IP_TIFF_SIGNED_RATIONAL;
    if (!r.value.name) { /* it stands behind its text, see finish() */
        ip_str_printf(&g->texts, "0x%04x", (unsigned)e->tag);
        ip_str_putc(&g->texts, '\0');
    }
    ip_str_append_n(&g->records, (const char *)&r, sizeof r);
}

static void gather(gathered *g, directory d, size_t at)
{
    const size_t n = ip_tiff_count(&g->from, at);
    for (size_t k = 0; k < n; k++) {
        ip_tiff_entry e;
        if (!ip_tiff_entry_at(&g->from, at, k, &e)) continue;
        const tag *known = find_tag(d, e.tag);
        if (known && !known->is_told) continue;
        g->n_seen += e.n_values;
        if (g->n_seen > 4 * g->from.n || g->records.length >= MOST_VALUES * sizeof(record)) return;
        if (!is_there(g, d, e.tag)) gather_entry(g, d, at, &e, known);
    }
}

static imgpar_status finish(const gathered *g, imgpar_exif_value ***out, size_t *n, ip_error *err)
{
    const size_t n_records = g->records.length / sizeof(record);
    const size_t list = (n_records * (sizeof(imgpar_exif_value *) + sizeof(imgpar_exif_value)) + 7) / 8 * 8;
    if (g->records.failed || g->numbers.failed || g->texts.failed) return ip_fail_memory(err, "reading EXIF");
    void *block = ip_alloc(list + g->numbers.length + g->texts.length + 1);
    if (!block) return ip_fail_memory(err, "reading EXIF");
    imgpar_exif_value **pointers = block, *values = (void *)(pointers + n_records);
    char *numbers = (char *)block + list, *texts = numbers + g->numbers.length;
    if (g->numbers.length) memcpy(numbers, g->numbers.text, g->numbers.length);
    if (g->texts.length) memcpy(texts, g->texts.text, g->texts.length);
    for (size_t k = 0; k < n_records; k++) {
        record r;
        memcpy(&r, g->records.text + k * sizeof r, sizeof r);
        r.value.text = texts + r.text;
        r.value.numbers = r.value.n_numbers ? (const void *)(numbers + r.numbers) : NULL;
        if (!r.value.name) r.value.name = r.value.text + strlen(r.value.text) + 1;
        values[k] = r.value;
        pointers[k] = &values[k];
    }
    *out = pointers;
    *n = n_records;
    return IMGPAR_OK;
}

imgpar_status ip_exif_values(const ip_blob *exif, int orientation, imgpar_exif_value ***out, size_t *n, ip_error *err)
{
    gathered g = { .orientation = orientation, .records = IP_STR_INIT, .numbers = IP_STR_INIT, .texts = IP_STR_INIT };
    uint32_t photo, gps, interoperability;
    if (exif->bytes && ip_tiff_of(exif->bytes, exif->n, &g.from)) {
        const size_t first = ip_tiff_first(&g.from);
        const bool has_photo = ip_tiff_integer(&g.from, first, TAG_EXIF, &photo);
        gather(&g, IMAGE, first);
        if (has_photo) gather(&g, PHOTO, photo);
        if (ip_tiff_integer(&g.from, first, TAG_GPS, &gps)) gather(&g, GPS, gps);
        if (has_photo && ip_tiff_integer(&g.from, photo, TAG_INTEROPERABILITY, &interoperability))
            gather(&g, INTEROPERABILITY, interoperability);
    }
    imgpar_status st = finish(&g, out, n, err);
    ip_str_free(&g.records);
    ip_str_free(&g.numbers);
    ip_str_free(&g.texts);
    return st;
}

imgpar_status ip_exif_values_written(const ip_blob *exif, uint32_t width, uint32_t height, imgpar_exif_value ***out,
                                     size_t *n, ip_error *err)
{
    ip_blob sized = { NULL, 0 };
    if (exif->bytes && !ip_blob_copy(&sized, exif->bytes, exif->n)) return ip_fail_memory(err, "reading EXIF");
    if (sized.bytes) ip_exif_set_size(&sized, width, height);
    imgpar_status st = ip_exif_values(&sized, 1, out, n, err);
    ip_free(sized.bytes);
    return st;
}

/* The text behind what other programs put before a tag's name: ExifTool's groups, Exiv2's and ImageMagick's keys.
 * *of: the directory of the tags that it stands before (IMAGE: of those in PHOTO, too); N_DIRECTORIES: any. */
static const char *behind_prefix(const char *text, directory *of)
{
    static const struct {
        const char *text;
        directory of;
    } prefixes[] = { { "EXIF:", N_DIRECTORIES },
                     { "IFD0:", IMAGE },
                     { "ExifIFD:", IMAGE },
                     { "Exif.Image.", IMAGE },
                     { "Exif.Photo.", IMAGE },
                     { "GPS:", GPS },
                     { "Exif.GPSInfo.", GPS },
                     { "InteropIFD:", INTEROPERABILITY },
                     { "Exif.Iop.", INTEROPERABILITY } };
    for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++)
        if (strncasecmp(text, prefixes[k].text, strlen(prefixes[k].text)) == 0) {
            *of = prefixes[k].of;
            return text + strlen(prefixes[k].text);
        }
    *of = N_DIRECTORIES;
    return text;
}

/* In any case of letters, with blanks and the like before words, which begin with capitals: "Date/Time Original". */
static bool is_called(const char *text, const char *name)
{
    for (bool is_first = true;; text++, name++, is_first = false) {
        const size_t n = strspn(text, " _-/");
        if (n > 0 && (is_first || !isupper((unsigned char)*name))) return false;
        text += n;
        if (!*text || !*name) return *text == *name;
        if (strncasecmp(text, name, 1) != 0) return false;
    }
}

const char *imgpar_exif_name(const char *name)
{
    directory of = N_DIRECTORIES;
    const char *text = name ? behind_prefix(name, &of) : "", *here = NULL;
    for (size_t k = 0; !here && k < sizeof aliases / sizeof *aliases; k++)
        if (is_called(text, aliases[k].name)) here = aliases[k].here;
    for (size_t k = 0; k < N_TAGS; k++)
        if ((of == N_DIRECTORIES || tags[k].directory == of) &&
            (here ? strcmp(here, tags[k].name) == 0 : is_called(text, tags[k].name)))
            return tags[k].name;
    return NULL;
}

bool ip_exif_tag_of(const char *text, ip_exif_tag *out)
{
    *out = (ip_exif_tag){ .name = imgpar_exif_name(text) };
    if (!text || out->name) return out->name != NULL;
    if (strncasecmp(text, "EXIF:", 5) == 0) text += 5; /* other prefixes are of one directory, and numbers of several */
    const size_t n_digits = strncasecmp(text, "0x", 2) == 0 ? strspn(text + 2, "0123456789abcdefABCDEF") : 0;
    if (n_digits == 0 || text[2 + n_digits]) return false;
    const unsigned long number = strtoul(text + 2, NULL, 16); /* the largest where it is beyond */
    out->number = (unsigned)number;
    return number <= 0xffff;
}

int imgpar_exif_is_tag(const char *name) { return ip_exif_tag_of(name, &(ip_exif_tag){ 0 }); }
