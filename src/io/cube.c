/* SPDX-License-Identifier: MIT */
/*
 * Tables of colours as .cube files hold them (Adobe, Cube LUT specification 1.0, 2013): text, a line of three numbers a
 * colour, red varying fastest. Read only, as an array [n, n, n, 3] of floats, which lut3d() takes.
 *
 *     # comment          TITLE "name"          LUT_3D_SIZE 33          DOMAIN_MIN 0 0 0          DOMAIN_MAX 1 1 1
 *
 * A domain other than 0 to 1 is refused: an array does not tell it. So are tables of one dimension.
 */
#include "io/codec.h"

#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_SIDE = 2, MOST_SIDE = 256, MAX_LINE = 250, LINES_A_POLL = 8192 };

typedef struct table {
    const ip_source *s;
    ip_error *err;
    const unsigned char *at, *end;
    uint64_t line; /* its number, from 1 */
    int side;      /* 0: not told yet */
    bool is_read;  /* text holds a line of numbers that is still to be taken */
    char text[MAX_LINE + 1];
} table;

static table table_of(const ip_source *s, const unsigned char *bytes, size_t n, ip_error *err)
{
    const size_t mark = n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* of UTF-8, as editors write it */
    return (table){ .s = s, .err = err, .at = bytes + mark, .end = bytes + n };
}

static imgpar_status bad(table *t, const char *what)
{
    return ip_fail(t->err, IMGPAR_E_CORRUPT, "%s: CUBE: line %llu: %s", t->s->name, (unsigned long long)t->line, what);
}

/* The next line that is neither empty nor a comment, without spaces at its ends; *found is false behind the last. */
static imgpar_status next_line(table *t, bool *found)
{
    *found = false;
    while (!*found && t->at < t->end) {
        const unsigned char *stop = memchr(t->at, '\n', (size_t)(t->end - t->at));
        const unsigned char *from = t->at, *to = stop ? stop : t->end;
        t->line++;
        if (!stop && t->s->n < t->s->total) return bad(t, "it ends early"); /* as the head of a file may */
        t->at = stop ? stop + 1 : t->end;
        while (from < to && (*from == ' ' || *from == '\t'))
            from++;
        while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r'))
            to--;
        if (from == to || *from == '#') continue;
        if (to - from > MAX_LINE) return bad(t, "it is longer than 250 characters");
        if (memchr(from, 0, (size_t)(to - from))) return bad(t, "a byte of 0 is no text");
        memcpy(t->text, from, (size_t)(to - from));
        t->text[to - from] = '\0';
        *found = true;
    }
    return IMGPAR_OK;
}

/* Three numbers, or n, and nothing else. */
static bool take_numbers(const char *text, double *to, int n)
{
    for (int k = 0; k < n; k++) {
        char *end;
        to[k] = ip_parse_number(text, &end);
        if (end == text || (*end && *end != ' ' && *end != '\t')) return false;
        text = end + strspn(end, " \t");
    }
    return !*text;
}

static bool is_word(const char *text, const char *word, const char **rest)
{
    const size_t n = strlen(word);
    if (strncmp(text, word, n) != 0 || (text[n] && text[n] != ' ' && text[n] != '\t')) return false;
    *rest = text + n + strspn(text + n, " \t");
    return true;
}

static imgpar_status check_domain(table *t, const char *numbers, int n, double lo, double hi)
{
    double v[3];
    if (!take_numbers(numbers, v, n)) return bad(t, "a domain is told by numbers");
    bool is_usual = true;
    for (int k = 0; k < n; k++)
        is_usual = is_usual && v[k] == (n == 2 && k == 1 ? hi : lo);
    if (is_usual) return IMGPAR_OK;
    return ip_fail(t->err, IMGPAR_E_UNSUPPORTED,
                   "%s: CUBE: line %llu: the domain is not 0 to 1, which an array cannot tell; without its lines the "
                   "file can be read, and lut3d(a, table, lo=..., hi=...) be told",
                   t->s->name, (unsigned long long)t->line);
}

static imgpar_status take_side(table *t, const char *number)
{
    double side;
    if (t->side) return bad(t, "LUT_3D_SIZE a second time");
    if (!take_numbers(number, &side, 1) || !(side >= LEAST_SIDE && side <= MOST_SIDE) || side != (int)side)
        return bad(t, "LUT_3D_SIZE is a whole number from 2 to 256");
    t->side = (int)side;
    const uint64_t colours = (uint64_t)t->side * (uint64_t)t->side * (uint64_t)t->side;
    if (colours <= t->s->max_pixels) return IMGPAR_OK;
    return ip_fail(t->err, IMGPAR_E_LIMIT, "%s: CUBE: %llu colours are more than %llu " IP_MAX_PIXELS_HINT, t->s->name,
                   (unsigned long long)colours, (unsigned long long)t->s->max_pixels);
}

/* Up to the first line of numbers, which stays in text. */
static imgpar_status read_head(table *t)
{
    bool found;
    const char *rest;
    for (;;) {
        imgpar_status st = next_line(t, &found);
        if (st) return st;
        if (!found) break;
        if (is_word(t->text, "TITLE", &rest)) continue;
        if (is_word(t->text, "LUT_1D_SIZE", &rest))
            return ip_fail(t->err, IMGPAR_E_UNSUPPORTED, "%s: CUBE: a table of one dimension is not read", t->s->name);
        if (is_word(t->text, "LUT_3D_SIZE", &rest))
            st = take_side(t, rest);
        else if (is_word(t->text, "DOMAIN_MIN", &rest))
            st = check_domain(t, rest, 3, 0, 0);
        else if (is_word(t->text, "DOMAIN_MAX", &rest))
            st = check_domain(t, rest, 3, 1, 1);
        else if (is_word(t->text, "LUT_3D_INPUT_RANGE", &rest))
            st = check_domain(t, rest, 2, 0, 1);
        else {
            t->is_read = true;
            break;
        }
        if (st) return st;
    }
    return t->side ? IMGPAR_OK : bad(t, "LUT_3D_SIZE is missing");
}

static imgpar_status read_colours(table *t, float *to)
{
    const int64_t n = (int64_t)t->side * t->side * t->side;
    bool found = t->is_read;
    double v[3];
    for (int64_t k = 0; k < n; k++) {
        imgpar_status st = k % LINES_A_POLL ? IMGPAR_OK : ip_source_poll(t->s, (double)k / (double)n, t->err);
        if (!st && (k > 0 || !found)) st = next_line(t, &found);
        if (st) return st;
        if (!found)
            return ip_fail(t->err, IMGPAR_E_CORRUPT, "%s: CUBE: it ends after %lld of %lld colours", t->s->name,
                           (long long)k, (long long)n);
        if (!take_numbers(t->text, v, 3)) return bad(t, "a colour is three numbers");
        for (int c = 0; c < 3; c++) {
            to[3 * k + c] = (float)v[c];
            if (!isfinite(to[3 * k + c])) return bad(t, "a number is not finite, or too large for a float");
        }
    }
    imgpar_status st = next_line(t, &found);
    return st || !found ? st : bad(t, "there are more colours than LUT_3D_SIZE tells");
}

bool ip_cube_sniff(const unsigned char *bytes, size_t n)
{
    static const char *const words[] = { "TITLE",      "LUT_1D_SIZE", "LUT_3D_SIZE",
                                         "DOMAIN_MIN", "DOMAIN_MAX",  "LUT_3D_INPUT_RANGE" };
    ip_error ignored = { .status = IMGPAR_OK };
    const ip_source s = { .name = "" };
    bool found = false, is_cube = false;
    const char *rest;
    if (n == 0) return false;
    table t = table_of(&s, bytes, n, &ignored);
    if (next_line(&t, &found) || !found) return false;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        is_cube = is_cube || is_word(t.text, words[k], &rest);
    return is_cube;
}

imgpar_status ip_cube_read(const ip_source *s, ip_header *header, ip_image *image, ip_error *err)
{
    table t = table_of(s, s->bytes, s->n, err);
    imgpar_status st = read_head(&t);
    if (st) return st;
    *header = (ip_header){ .format = IP_FORMAT_CUBE,
                           .dtype = IMGPAR_F32,
                           .space = IMGPAR_SPACE_DATA,
                           .orientation = 1,
                           .rank = 4,
                           .shape = { t.side, t.side, t.side, 3 } };
    if (!image) return IMGPAR_OK;
    image->header = *header;
    st = ip_image_alloc(s, image, err);
    return st ? st : read_colours(&t, image->pixels);
}
