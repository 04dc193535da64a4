/* SPDX-License-Identifier: MIT */
/*
 * What kernels print and check. OpenCL's own printf() writes to the standard output of the process, where a library's
 * user cannot get at it, and a kernel has no other way to tell something than memory it was given: so launches of
 * kernels with IMGPAR_REPORT get a buffer, into which shaders/module.cl writes records; it is read once the launch is
 * over.
 */
#include "cl/cl.h"

#include "base/str.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { HEADER_INTS = 4, RECORD_INTS = 8, ARG_INTS = 3, MOST_ARGS = 119 };
enum { KIND_PRINT, KIND_ASSERT, KIND_INDEX, KIND_FINITE, KIND_TEXT };
enum { ARG_SIGNED, ARG_UNSIGNED, ARG_FLOAT, ARG_DOUBLE, ARG_BOOL, ARG_POINTER, ARG_STRING };

struct ip_cl_report {
    ip_buffer *memory; /* NULL: it was fetched */
    int32_t *ints;     /* what was fetched */
    size_t used;
    size_t n_ints;
    char kernel[64];
};

/* The ints of a report as the host has read them; those behind `used` are nobody's. */
typedef struct report_text {
    const int32_t *ints;
    size_t used;
} report_text;

imgpar_status ip_cl_report_new(ip_device *device, const imgpar_cl_kernel *kernel, size_t size_bytes, ip_cl_report **out,
                               ip_error *err)
{
    const size_t n_ints = (size_bytes ? size_bytes : IP_CL_REPORT_BYTES) / sizeof(int32_t);
    const int32_t header[HEADER_INTS] = { 0, (int32_t)n_ints, 0, 0 };
    ip_cl_report *r = ip_zalloc(sizeof *r);
    if (!r) return ip_fail_memory(err, "launching a kernel");
    r->n_ints = n_ints;
    strncpy(r->kernel, kernel->name, sizeof r->kernel - 1);
    imgpar_status st = ip_buffer_new(device, n_ints * sizeof(int32_t), &r->memory, err);
    if (!st) st = ip_buffer_write(r->memory, 0, header, sizeof header, err);
    if (st)
        ip_cl_report_free(r);
    else
        *out = r;
    return st;
}

ip_buffer *ip_cl_report_memory(const ip_cl_report *r) { return r->memory; }

void ip_cl_report_free(ip_cl_report *r)
{
    if (!r) return;
    ip_buffer_release(r->memory);
    ip_free(r->ints);
    ip_free(r);
}

/* ---- records ------------------------------------------------------------------------------------------------- */

typedef struct record {
    int32_t kind, id[3], line;
    int n_args, n_chars;
    const char *chars; /* not terminated */
    const int32_t *args;
} record;

/* The record at *at, which moves behind it; false at the end, and where it is none: a kernel may have written over
 * it. */
static bool next_record(const report_text *t, size_t *at, record *out)
{
    if (*at + RECORD_INTS > t->used) return false;
    const int32_t *r = t->ints + *at;
    if (r[0] < KIND_PRINT || r[0] > KIND_TEXT || r[6] < 0 || r[6] > MOST_ARGS || r[7] < 0 || (size_t)r[7] / 4 > t->used)
        return false;
    size_t chars = ((size_t)r[7] + 3) / 4, length = RECORD_INTS + chars + ARG_INTS * (size_t)r[6];
    if ((size_t)r[1] != length || *at + length > t->used) return false;
    *out = (record){ .kind = r[0],
                     .id = { r[2], r[3], r[4] },
                     .line = r[5],
                     .n_args = r[6],
                     .n_chars = r[7],
                     .chars = (const char *)(r + RECORD_INTS),
                     .args = r + RECORD_INTS + chars };
    *at += length;
    return true;
}

static uint64_t bits_of(const int32_t *arg) { return (uint32_t)arg[1] | (uint64_t)(uint32_t)arg[2] << 32; }

/* Behind the type stand its bytes. */
static int type_of(const int32_t *arg) { return arg[0] & 15; }
static bool is_real(const int32_t *arg) { return type_of(arg) == ARG_FLOAT || type_of(arg) == ARG_DOUBLE; }

static double real_of(const int32_t *arg)
{
    uint64_t bits = bits_of(arg);
    uint32_t low = (uint32_t)bits;
    float single;
    double wide;
    memcpy(&single, &low, sizeof single);
    memcpy(&wide, &bits, sizeof wide);
    switch (type_of(arg)) {
    case ARG_SIGNED: return (double)(int64_t)bits;
    case ARG_FLOAT: return single;
    case ARG_DOUBLE: return wide;
    default: return (double)bits;
    }
}

/* ---- printing -------------------------------------------------------------------------------------------------- */

/* The format comes from format_of(), which makes a single conversion of width, precision and this argument. */
static void append_formatted(ip_str *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ip_str_vprintf(out, format, args);
    va_end(args);
}

/* A conversion of a format: "%-8.3lf". */
typedef struct conversion {
    char flags[6];        /* each once */
    int width, precision; /* as printf() takes them for '*': of one that is not there 0, -1 */
    bool star[2];         /* width and precision are arguments */
    int bytes;            /* hh: 1, h: 2; 0: the argument's */
    char letter;          /* 0: there is none, and this is no conversion */
    bool is_known;        /* it can be printed */
    int length;           /* chars of it */
} conversion;

enum { MOST_WIDTH = 99999 };

/* A number or '*' at text[*k]; `none` where there is neither; more than MOST_WIDTH is MOST_WIDTH + 1. */
static int read_width(const char *text, int n, int *k, int none, bool *star)
{
    int value = none, digits = 0;
    *star = *k < n && text[*k] == '*';
    if (*star) ++*k;
    for (; !*star && *k < n && text[*k] >= '0' && text[*k] <= '9'; ++*k) {
        value = (digits++ ? value : 0) * 10 + (text[*k] - '0');
        if (value > MOST_WIDTH) value = MOST_WIDTH + 1;
    }
    return value;
}

/* Reads the conversion that begins with the '%' at text[0]. */
static conversion read_conversion(const char *text, int n)
{
    conversion c = { .precision = -1 };
    int k = 1, n_h = 0;
    for (; k < n && text[k] && strchr("-+ #0", text[k]); k++)
        if (!strchr(c.flags, text[k])) c.flags[strlen(c.flags)] = text[k];
    c.width = read_width(text, n, &k, 0, &c.star[0]);
    if (k < n && text[k] == '.') {
        k++;
        c.precision = read_width(text, n, &k, 0, &c.star[1]);
    }
    for (; k < n && text[k] && strchr("hlzjtL", text[k]); k++)
        n_h += text[k] == 'h';
    c.bytes = n_h == 0 ? 0 : n_h == 1 ? 2 : 1;
    bool is_letter = k < n && ((text[k] >= 'a' && text[k] <= 'z') || (text[k] >= 'A' && text[k] <= 'Z'));
    if (!is_letter) return c;
    c.letter = text[k];
    c.is_known = strchr("diouxXcfFeEgGaAsp", c.letter) && c.width <= MOST_WIDTH && c.precision <= MOST_WIDTH;
    c.length = k + 1;
    return c;
}

/* Where the string of an argument lies, as a record; false where it had no room. */
static bool string_of(const report_text *t, const int32_t *arg, record *out)
{
    size_t at = (size_t)bits_of(arg);
    return at >= HEADER_INTS && at < t->used && next_record(t, &at, out) && out->kind == KIND_TEXT;
}

/* "%-0*.*lld" of a conversion, whose width and precision go before the value. */
static void format_of(const conversion *c, const char *letters, char out[20])
{
    snprintf(out, 20, "%%%s*.*%s", c->flags, letters);
}

/* With %s: a string as it is, a bool as a word, anything else as the number it is. */
static void print_string(ip_str *out, const conversion *c, const report_text *t, const int32_t *arg)
{
    record text;
    char format[20];
    format_of(c, "s", format);
    if (type_of(arg) == ARG_BOOL) {
        append_formatted(out, format, c->width, c->precision, bits_of(arg) ? "true" : "false");
    } else if (type_of(arg) == ARG_STRING && string_of(t, arg, &text)) {
        char *copy = ip_zalloc((size_t)text.n_chars + 1);
        if (copy)
            append_formatted(out, format, c->width, c->precision,
                             (const char *)memcpy(copy, text.chars, (size_t)text.n_chars));
        if (!copy) out->failed = true;
        ip_free(copy);
    } else if (type_of(arg) == ARG_STRING) {
        append_formatted(out, format, c->width, -1, "(no room)"); /* not the user's text: whole */
    } else if (is_real(arg)) {
        ip_str_printf(out, "%g", real_of(arg));
    } else if (type_of(arg) == ARG_SIGNED) {
        ip_str_printf(out, "%lld", (long long)bits_of(arg));
    } else {
        ip_str_printf(out, type_of(arg) == ARG_POINTER ? "0x%llx" : "%llu", (unsigned long long)bits_of(arg));
    }
}

static uint64_t address_of(const report_text *t, const int32_t *arg)
{
    record text;
    if (type_of(arg) != ARG_STRING) return bits_of(arg);
    return string_of(t, arg, &text) ? (uint32_t)text.id[0] | (uint64_t)(uint32_t)text.id[1] << 32 : 0;
}

/* A whole number as an argument of so many bytes has it: cut, and of signed ones with its sign. */
static uint64_t cut(uint64_t bits, int bytes, bool is_signed)
{
    if (bytes >= 8) return bits;
    uint64_t half = UINT64_C(1) << (8 * bytes - 1), low = bits & (2 * half - 1);
    return is_signed && low >= half ? low - 2 * half : low;
}

/* C makes an int of what is smaller, which then is as wide as the conversion says; here the type says what l does. */
static int bytes_of(const conversion *c, const int32_t *arg)
{
    int own = arg[0] >> 4;
    return c->bytes ? c->bytes : own == 0 ? 8 : own < 4 ? 4 : own;
}

static int64_t whole_of(const report_text *t, const int32_t *arg)
{
    return is_real(arg) ? (int64_t)fmin(fmax(real_of(arg), -9e18), 9e18) : (int64_t)address_of(t, arg);
}

static void print_number(ip_str *out, const conversion *c, const report_text *t, const int32_t *arg)
{
    const char letters[] = { 'l', 'l', c->letter == 'p' ? 'x' : c->letter, '\0' };
    char format[20];
    bool makes_real = strchr("fFeEgGaA", c->letter), is_char = c->letter == 'c';
    format_of(c, makes_real || is_char ? letters + 2 : letters, format);
    if (makes_real)
        append_formatted(out, format, c->width, c->precision, real_of(arg));
    else if (is_char)
        append_formatted(out, format, c->width, c->precision, (int)whole_of(t, arg));
    else
        append_formatted(out, format, c->width, c->precision,
                         cut((uint64_t)whole_of(t, arg), bytes_of(c, arg), c->letter == 'd' || c->letter == 'i'));
}

/* The width or precision that is the argument *next. */
static int read_star(const record *r, const report_text *t, int *next)
{
    int64_t v = *next < r->n_args ? whole_of(t, r->args + ARG_INTS * *next) : 0;
    ++*next;
    return v > MOST_WIDTH ? MOST_WIDTH : v < -MOST_WIDTH ? -MOST_WIDTH : (int)v;
}

/* Prints a conversion with its arguments from *next on; false where it is to be shown as it stands. */
static bool print_conversion(ip_str *out, const report_text *t, const record *r, conversion *c, int *next)
{
    if (c->star[0]) c->width = read_star(r, t, next);
    if (c->star[1]) c->precision = read_star(r, t, next);
    int k = (*next)++;
    if (!c->is_known || k >= r->n_args) return false;
    if (c->letter == 'p' && !strchr(c->flags, '#')) c->flags[strlen(c->flags)] = '#'; /* the same on every host */
    if (c->letter == 's')
        print_string(out, c, t, r->args + ARG_INTS * k);
    else
        print_number(out, c, t, r->args + ARG_INTS * k);
    return true;
}

static void print_record(ip_str *out, const report_text *t, const record *r)
{
    int next = 0;
    for (int k = 0; k < r->n_chars; k++) {
        conversion c = { .letter = 0 };
        bool is_percent = r->chars[k] == '%' && k + 1 < r->n_chars && r->chars[k + 1] == '%';
        if (r->chars[k] == '%' && !is_percent) c = read_conversion(r->chars + k, r->n_chars - k);
        if (c.letter && print_conversion(out, t, r, &c, &next)) {
            k += c.length - 1;
            continue;
        }
        ip_str_putc(out, r->chars[k]);
        k += is_percent;
    }
}

/* ---- checks ------------------------------------------------------------ */

/* "scale: text 1:3: index i + 1 = 10 is not in 0 to 9 (work-item 9, 0, 0)". */
static imgpar_status tell_check(const ip_cl_report *report, const record *r, ip_error *err)
{
    const char *end = memchr(r->chars, '\n', (size_t)r->n_chars);
    int n_file = end ? (int)(end - r->chars) : 0, skip = end ? n_file + 1 : 0, n_text = r->n_chars - skip;
    const char *text = r->chars + skip;
    ip_str what = IP_STR_INIT;
    if (r->kind == KIND_INDEX && r->n_args == 2)
        ip_str_printf(&what, "index %.*s = %lld is not in 0 to %lld", n_text, text,
                      (long long)(int64_t)bits_of(r->args), (long long)(int64_t)bits_of(r->args + ARG_INTS) - 1);
    else if (r->kind == KIND_FINITE && r->n_args == 1)
        ip_str_printf(&what, "%.*s = %g is not finite", n_text, text, real_of(r->args));
    else
        ip_str_printf(&what, "assertion failed: %.*s", n_text, text);
    ip_fail(err, IMGPAR_E_CHECK, "%s: %.*s:%d: %s (work-item %d, %d, %d)", report->kernel, n_file, r->chars,
            (int)r->line, ip_str_text(&what), (int)r->id[0], (int)r->id[1], (int)r->id[2]);
    ip_str_free(&what);
    return IMGPAR_E_CHECK;
}

/* ---- all of it ------------------------------------------------------------ */

/* What had no room is counted, once there is somebody to tell. */
static void tell_lost(const ip_cl_report *report, const report_text *t, void (*print)(void *, const char *), void *user)
{
    char text[192];
    int32_t lost = t->ints[3];
    if (lost == 0) return;
    snprintf(text, sizeof text,
             "(%s: %lld more text%s did not fit in %zu bytes; raise imgpar_cl_queue_options.print_buffer_bytes)\n",
             report->kernel, (long long)lost, lost == 1 ? "" : "s", report->n_ints * sizeof(int32_t));
    print(user, text);
}

static imgpar_status deliver(const ip_cl_report *report, const report_text *t, void (*print)(void *, const char *),
                             void *user, ip_error *err)
{
    record r;
    imgpar_status st = IMGPAR_OK;
    for (size_t at = HEADER_INTS; next_record(t, &at, &r);) {
        if (r.kind == KIND_TEXT) continue;
        if (r.kind != KIND_PRINT) {
            st = tell_check(report, &r, err);
            continue;
        }
        ip_str line = IP_STR_INIT;
        if (print) print_record(&line, t, &r);
        if (print && !line.failed) print(user, ip_str_text(&line));
        if (line.failed && !st) st = ip_fail_memory(err, "reading a report");
        ip_str_free(&line);
    }
    if (print) tell_lost(report, t, print, user);
    if (!st && t->ints[2])
        st = ip_fail(err, IMGPAR_E_CHECK, "%s: a check failed; there was no room to tell which", report->kernel);
    return st;
}

size_t ip_cl_report_bytes(const ip_cl_report *r) { return r && r->memory ? r->n_ints * sizeof(int32_t) : 0; }

imgpar_status ip_cl_report_fetch(ip_cl_report *r, ip_error *err)
{
    int32_t header[HEADER_INTS];
    if (!r->memory) return IMGPAR_OK;
    imgpar_status st = ip_buffer_read(r->memory, 0, header, sizeof header, err);
    if (st) return st;
    if (header[0] != 0 || header[2] != 0 || header[3] != 0) { /* most launches have nothing to tell */
        size_t used = (size_t)HEADER_INTS + (uint32_t)header[0];
        if (used > r->n_ints) used = r->n_ints;
        int32_t *ints = ip_alloc_array(used, sizeof *ints);
        st = ints ? ip_buffer_read(r->memory, 0, ints, used * sizeof *ints, err)
                  : ip_fail_memory(err, "reading a report");
        if (st) {
            ip_free(ints);
            return st;
        }
        r->ints = ints;
        r->used = used;
    }
    ip_buffer_release(r->memory);
    r->memory = NULL;
    return IMGPAR_OK;
}

bool ip_cl_report_tells(const ip_cl_report *r, bool prints)
{
    return r->memory || (r->ints && (prints || r->ints[2] != 0));
}

imgpar_status ip_cl_report_deliver(ip_cl_report *report, void (*print)(void *user, const char *text), void *user,
                                   ip_error *err)
{
    imgpar_status st = ip_cl_report_fetch(report, err);
    if (!st && report->ints) st = deliver(report, &(report_text){ report->ints, report->used }, print, user, err);
    ip_cl_report_free(report);
    return st;
}
