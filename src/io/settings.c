/* SPDX-License-Identifier: MIT */
/* The text of encoder settings, "quality=90, bits=16", checked against a table. */
#include "io/codec.h"

#include "base/colours.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    ip_setting setting;
    const char *name;
    unsigned formats; /* bits 1 << ip_format */
    int minimum, maximum;
    int choices[4]; /* instead of the range; ended by 0 */
    const char *choice_text;
    int initial;          /* -1: the format chooses */
    const char *words[3]; /* instead of numbers: their places are the values; ended by NULL */
} row;

#define IN(format) (1u << IP_FORMAT_##format)

/* The one setting that is no whole number. */
static const char range_name[] = "range";
enum { RANGE_FORMATS = IN(PNG) | IN(JPEG) | IN(PNM) };

static const row rows[] = {
    { IP_SET_BITS, "bits", IN(PNG) | IN(PNM), 0, 0, { 8, 16 }, "8 or 16", -1, { NULL } },
    { IP_SET_LEVEL, "level", IN(PNG), 0, 9, { 0 }, NULL, -1, { NULL } },
    { IP_SET_QUALITY, "quality", IN(JPEG), 1, 100, { 0 }, NULL, 90, { NULL } },
    { IP_SET_SUBSAMPLE, "subsample", IN(JPEG), 0, 0, { 420, 422, 444 }, "420, 422 or 444", 420, { NULL } },
    { IP_SET_PROGRESSIVE, "progressive", IN(JPEG), 0, 1, { 0 }, NULL, 0, { NULL } },
    { IP_SET_BACKGROUND, "background", IN(JPEG), 0, 255, { 0 }, NULL, 0, { NULL } },
    { IP_SET_METADATA, "metadata", IN(PNG) | IN(JPEG), 0, 1, { 0 }, "none or all", 1, { "none", "all" } },
};

enum { N_ROWS = sizeof rows / sizeof *rows };

static bool is_gap(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static imgpar_status refuse_name(ip_format format, const char *name, size_t n, ip_error *err)
{
    ip_str known = IP_STR_INIT;
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].formats & 1u << format) ip_str_printf(&known, "%s%s", known.length ? ", " : "", rows[i].name);
    if (RANGE_FORMATS & 1u << format) ip_str_printf(&known, ", %s", range_name);
    if (known.length)
        ip_fail(err, IMGPAR_E_ARGUMENT, "%s: unknown setting %.*s; there are %s", ip_format_name(format), (int)n, name,
                ip_str_text(&known));
    else
        ip_fail(err, IMGPAR_E_ARGUMENT, "%s: unknown setting %.*s; it has none", ip_format_name(format), (int)n, name);
    ip_str_free(&known);
    return IMGPAR_E_ARGUMENT;
}

static imgpar_status check_value(const row *r, const char *format, int value, ip_error *err)
{
    if (r->choices[0]) {
        for (int i = 0; i < 4 && r->choices[i]; i++)
            if (value == r->choices[i]) return IMGPAR_OK;
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s=%d is not %s", format, r->name, value, r->choice_text);
    }
    if (value < r->minimum)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s=%d is below %d", format, r->name, value, r->minimum);
    if (value > r->maximum)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s=%d is above %d", format, r->name, value, r->maximum);
    return IMGPAR_OK;
}

/* A whole number at p, ended by a gap, a comma or the end; huge ones stay huge, to be refused by range. */
static bool parse_int(const char *p, const char **end, int *value)
{
    const bool is_negative = *p == '-';
    long v = 0;
    if (*p == '-' || *p == '+') p++;
    if (*p < '0' || *p > '9') return false;
    for (; *p >= '0' && *p <= '9'; p++)
        if (v < INT_MAX / 10)
            v = v * 10 + (*p - '0');
        else
            v = INT_MAX;
    *end = p;
    *value = (int)(is_negative ? -v : v);
    return *p == '\0' || *p == ',' || is_gap(*p);
}

/* A word of the row at *text, which moves behind it. */
static imgpar_status parse_word(const row *r, const char *format, const char **text, int *value, ip_error *err)
{
    const size_t n = strcspn(*text, ", \t\r\n");
    for (int k = 0; r->words[k]; k++)
        if (strlen(r->words[k]) == n && memcmp(r->words[k], *text, n) == 0) {
            *text += n;
            *value = k;
            return IMGPAR_OK;
        }
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s=%.*s is not %s", format, r->name, n < 40 ? (int)n : 40, *text,
                   r->choice_text);
}

static imgpar_status parse_range(const char *format, const char **text, ip_settings *settings, ip_error *err)
{
    char *end;
    const char *p = *text;
    settings->range = ip_parse_number(p, &end);
    *text = end;
    if (end > p && (*end == '\0' || *end == ',' || is_gap(*end)) && settings->range > 0 && isfinite(settings->range))
        return IMGPAR_OK;
    const int n = (int)strcspn(p, ", \t\r\n");
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: range=%.*s is not a number above 0", format, n < 40 ? n : 40, p);
}

/* "[255 128 0]" at p, *behind gets its end; false: it is none. */
static bool parse_levels(const char *p, const char **behind, unsigned char rgb[3])
{
    if (*p++ != '[') return false;
    for (int k = 0; k < 3; k++) {
        while (is_gap(*p) || (k > 0 && *p == ','))
            p++;
        char *end;
        const long value = strtol(p, &end, 10);
        if (end == p || value < 0 || value > 255) return false;
        rgb[k] = (unsigned char)value;
        p = end;
    }
    while (is_gap(*p))
        p++;
    *behind = p + 1;
    return *p == ']';
}

/* "name=value" at *text, which moves behind it. */
static imgpar_status parse_one(ip_format format, const char **text, ip_settings *settings, unsigned *seen,
                               ip_error *err)
{
    const char *name = *text, *p = name, *format_name = ip_format_name(format);
    const row *r = NULL;
    int value;
    while (*p && *p != '=' && *p != ',' && !is_gap(*p))
        p++;
    const size_t n = (size_t)(p - name);
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].formats & 1u << format && strlen(rows[i].name) == n && memcmp(rows[i].name, name, n) == 0)
            r = &rows[i];
    const bool is_range = RANGE_FORMATS & 1u << format && strlen(range_name) == n && memcmp(range_name, name, n) == 0;
    if (!r && !is_range) return refuse_name(format, name, n < 40 ? n : 40, err);
    while (is_gap(*p))
        p++;
    if (*p != '=') return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %.*s has no value", format_name, (int)n, name);
    for (p++; is_gap(*p);)
        p++;
    const unsigned bit = 1u << (is_range ? IP_N_SETTINGS : r->setting);
    if (*seen & bit) return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %.*s is given twice", format_name, (int)n, name);
    *seen |= bit;
    if (is_range) {
        *text = p;
        return parse_range(format_name, text, settings, err);
    }
    if (r->words[0]) {
        *text = p;
        return parse_word(r, format_name, text, &settings->value[r->setting], err);
    }
    unsigned char rgb[3];
    const char *close = *p == '[' ? strchr(p, ']') : NULL, *behind = p + strcspn(p, ", \t\r\n");
    const size_t word = close ? (size_t)(close + 1 - p) : (size_t)(behind - p);
    if (r->setting == IP_SET_BACKGROUND && (parse_levels(p, &behind, rgb) || ip_colour_read(p, word, rgb))) {
        *text = behind;
        settings->value[r->setting] = rgb[0] << 16 | rgb[1] << 8 | rgb[2];
        return IMGPAR_OK;
    }
    if (!parse_int(p, text, &value) && r->setting == IP_SET_BACKGROUND)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: background=%.*s is neither a gray from 0 to 255 nor a colour",
                       format_name, word < 40 ? (int)word : 40, p);
    if (!parse_int(p, text, &value)) {
        int length = (int)strcspn(p, ", \t\r\n");
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s=%.*s is not a whole number", format_name, r->name,
                       length < 40 ? length : 40, p);
    }
    imgpar_status st = check_value(r, format_name, value, err);
    settings->value[r->setting] = !st && r->setting == IP_SET_BACKGROUND ? value * 0x010101 : value;
    return st;
}

imgpar_status ip_settings_parse(ip_format format, const char *text, ip_settings *settings, ip_error *err)
{
    unsigned seen = 0;
    settings->range = 0;
    for (int i = 0; i < N_ROWS; i++)
        settings->value[rows[i].setting] = rows[i].initial;
    for (const char *p = text ? text : ""; *p;) {
        if (is_gap(*p) || *p == ',') {
            p++;
            continue;
        }
        imgpar_status st = parse_one(format, &p, settings, &seen, err);
        if (st) return st;
    }
    return IMGPAR_OK;
}
