/* SPDX-License-Identifier: MIT */
/*
 * A string that grows. Appending after memory ran out does nothing and is
 * remembered in failed, so a writer checks once at the end. Everything is
 * printed as in the C locale, whatever setlocale() was told.
 *
 *     ip_str s = IP_STR_INIT;
 *     ip_str_printf(&s, "%d rows", n);
 *     if (s.failed) ...
 *     ip_str_free(&s);
 */
#ifndef IP_BASE_STR_H
#define IP_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct ip_str {
    char *text; /* NULL while empty; else terminated */
    size_t length, capacity;
    bool failed;
} ip_str;

#define IP_STR_INIT       \
    {                     \
        NULL, 0, 0, false \
    }

void ip_str_free(ip_str *s);
void ip_str_clear(ip_str *s);
void ip_str_append(ip_str *s, const char *text);
void ip_str_append_n(ip_str *s, const char *bytes, size_t n);
void ip_str_putc(ip_str *s, char c);
/* Like printf, in the C locale. For doubles prefer ip_str_number(): %g drops digits. */
void ip_str_printf(ip_str *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ip_str_vprintf(ip_str *s, const char *format, va_list args);
/* The shortest decimal text that reads back as value ("0.3", "1e+20", "inf", "nan"), C locale. */
void ip_str_number(ip_str *s, double value);
/* The same into buf of at least 32 bytes; returns buf. */
char *ip_number_text(double value, char *buf);
/* As a quoted JSON string. */
void ip_str_json(ip_str *s, const char *text);
/* The text ("" when empty); stays owned by s. */
const char *ip_str_text(const ip_str *s);
/* Gives the text to the caller (for ip_free) and empties s; NULL when failed. */
char *ip_str_take(ip_str *s);
/* Like vsnprintf, in the C locale. */
int ip_vsnprintf(char *buf, size_t n, const char *format, va_list args) __attribute__((format(printf, 3, 0)));
/* Reads a number in the C locale; like strtod. */
double ip_parse_number(const char *text, char **end);
/* A variable of the environment that is set and not empty, or NULL. */
const char *ip_env(const char *name);

#endif
