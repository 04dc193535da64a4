/* SPDX-License-Identifier: MIT */
/* Errors with a place. The echoed line is clipped around the caret and cannot carry control characters. */
#include "lang/text.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ECHO_BEFORE = 80, ECHO_MAX = 120 }; /* characters of the line shown: before the caret, and in all */

static bool is_continuation(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

size_t ip_text_line(const ip_text *text, size_t offset)
{
    size_t line = 1;
    for (size_t i = 0; i < offset && i < text->length; i++)
        line += text->text[i] == '\n';
    return line;
}

/* Appends the characters from..to of the text; control characters as spaces, or all of them when blank is set
 * (a tab stays a tab, so the caret stands right below). */
static void echo(ip_str *out, const ip_text *text, size_t from, size_t to, bool blank)
{
    for (size_t i = from; i < to; i++) {
        char c = text->text[i];
        if (blank && is_continuation(c)) continue;
        bool hidden = blank || (unsigned char)c < 0x20 || c == 0x7f;
        ip_str_putc(out, c == '\t' ? '\t' : hidden ? ' ' : c);
    }
}

/* Nothing of an empty line. */
static void show_line(ip_str *out, const ip_text *text, size_t start, size_t offset)
{
    size_t from = offset, to = offset;
    while (from > start && offset - from < ECHO_BEFORE)
        from--;
    while (from < offset && is_continuation(text->text[from]))
        from++;
    while (to < text->length && text->text[to] != '\n' && to - from < ECHO_MAX)
        to++;
    while (to > offset && to < text->length && is_continuation(text->text[to]))
        to--;
    if (to > from && text->text[to - 1] == '\r' && to > offset) to--;
    if (to == from) return;
    ip_str_putc(out, '\n');
    echo(out, text, from, to, false);
    ip_str_putc(out, '\n');
    echo(out, text, from, offset, true);
    ip_str_putc(out, '^');
}

imgpar_status ip_text_fail(ip_error *err, const ip_text *text, size_t offset, imgpar_status status, const char *format,
                           ...)
{
    if (!err || err->status != IMGPAR_OK) return status;
    if (offset > text->length) offset = text->length;
    size_t start = offset, column = 1;
    while (start > 0 && text->text[start - 1] != '\n')
        start--;
    for (size_t i = start; i < offset; i++)
        column += !is_continuation(text->text[i]);

    char message[480];
    va_list args;
    va_start(args, format);
    ip_vsnprintf(message, sizeof message, format, args);
    va_end(args);

    if (!text->name) return ip_fail(err, status, "%s", message);
    ip_str shown = IP_STR_INIT;
    show_line(&shown, text, start, offset);
    ip_fail(err, status, "%.240s:%zu:%zu: %s%s", text->name, ip_text_line(text, offset), column, message,
            shown.failed ? "" : ip_str_text(&shown));
    ip_str_free(&shown);
    return status;
}
