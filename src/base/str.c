/* SPDX-License-Identifier: MIT */
/*
 * The growing string, and numbers as text. Every formatted print runs under
 * the C locale: a program that called setlocale() must not change what our
 * kernels, caches and messages say. The "C" locale object is static in glibc
 * and musl, so newlocale() neither allocates nor fails there.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strtod_l */
#endif

#include "base/str.h"
#include "base/alloc.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ip_vsnprintf(char *buf, size_t n, const char *format, va_list args)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = c ? uselocale(c) : (locale_t)0;
    int length = vsnprintf(buf, n, format, args);
    if (before) uselocale(before);
    if (c) freelocale(c);
    return length;
}

static int print_c(char *buf, size_t n, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int print_c(char *buf, size_t n, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = ip_vsnprintf(buf, n, format, args);
    va_end(args);
    return length;
}

double ip_parse_number(const char *text, char **end)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value = c ? strtod_l(text, end, c) : strtod(text, end);
    if (c) freelocale(c);
    return value;
}

char *ip_number_text(double value, char *buf)
{
    if (isnan(value)) return strcpy(buf, "nan");
    if (fabs(value) < 1e15 && value == floor(value) && !(value == 0 && signbit(value))) {
        snprintf(buf, 32, "%" PRId64, (int64_t)value); /* what the loop would find, and most numbers are whole */
        return buf;
    }
    for (int digits = 15; digits <= 17; digits++) {
        print_c(buf, 32, "%.*g", digits, value);
        if (digits == 17 || ip_parse_number(buf, NULL) == value) break;
    }
    return buf;
}

void ip_str_free(ip_str *s)
{
    ip_free(s->text);
    *s = (ip_str)IP_STR_INIT;
}

void ip_str_clear(ip_str *s)
{
    s->length = 0;
    s->failed = false;
    if (s->text) s->text[0] = '\0';
}

/* Room for n more bytes and the terminator. */
static bool reserve(ip_str *s, size_t n)
{
    if (s->failed) return false;
    if (n < s->capacity - s->length) return true; /* an empty string has capacity 0: never enough */
    size_t needed, capacity;
    if (__builtin_add_overflow(s->length, n, &needed) || needed >= SIZE_MAX / 2) {
        s->failed = true;
        return false;
    }
    for (capacity = s->capacity ? s->capacity : 64; capacity <= needed;)
        capacity *= 2;
    char *text = ip_realloc(s->text, capacity);
    if (!text) {
        s->failed = true;
        return false;
    }
    s->text = text;
    s->capacity = capacity;
    return true;
}

void ip_str_append_n(ip_str *s, const char *bytes, size_t n)
{
    if (!reserve(s, n)) return;
    if (n) memcpy(s->text + s->length, bytes, n);
    s->length += n;
    s->text[s->length] = '\0';
}

void ip_str_append(ip_str *s, const char *text) { ip_str_append_n(s, text, strlen(text)); }

void ip_str_putc(ip_str *s, char c) { ip_str_append_n(s, &c, 1); }

void ip_str_vprintf(ip_str *s, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    size_t room = reserve(s, 0) ? s->capacity - s->length : 0;
    int n = ip_vsnprintf(room ? s->text + s->length : NULL, room, format, args);
    if (n < 0)
        s->failed = true;
    else if ((size_t)n >= room && reserve(s, (size_t)n))
        ip_vsnprintf(s->text + s->length, (size_t)n + 1, format, again);
    if (!s->failed)
        s->length += (size_t)n;
    else if (room)
        s->text[s->length] = '\0';
    va_end(again);
}

void ip_str_printf(ip_str *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ip_str_vprintf(s, format, args);
    va_end(args);
}

void ip_str_number(ip_str *s, double value)
{
    char buf[32];
    ip_str_append(s, ip_number_text(value, buf));
}

/* The length of the well-formed UTF-8 sequence at p, or 0. The terminator ends a short one. */
static size_t utf8_length(const unsigned char *p)
{
    if (p[0] < 0x80) return 1;
    size_t n = p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 : p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) || /* overlong, surrogates */
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))   /* overlong, too high */
        return 0;
    return n;
}

void ip_str_json(ip_str *s, const char *text)
{
    ip_str_putc(s, '"');
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        size_t n = utf8_length(p);
        if (*p == '"' || *p == '\\')
            ip_str_printf(s, "\\%c", *p);
        else if (*p == '\n')
            ip_str_append(s, "\\n");
        else if (*p == '\t')
            ip_str_append(s, "\\t");
        else if (*p < 0x20)
            ip_str_printf(s, "\\u%04x", *p);
        else if (n == 0)
            ip_str_append(s, "\\ufffd"); /* paths may hold any bytes; JSON may not */
        else
            ip_str_append_n(s, (const char *)p, n);
        p += n ? n : 1;
    }
    ip_str_putc(s, '"');
}

const char *ip_str_text(const ip_str *s) { return s->text ? s->text : ""; }

char *ip_str_take(ip_str *s)
{
    if (!s->failed && !s->text) ip_str_append_n(s, "", 0); /* "" must be freeable too */
    char *text = s->failed ? NULL : s->text;
    if (!text) ip_free(s->text);
    *s = (ip_str)IP_STR_INIT;
    return text;
}

const char *ip_env(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}
